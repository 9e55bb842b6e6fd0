//! Values of options: from their texts to those of variables, and to SQL.

use squall_system_variables::{Kind, VariableDef};
use squall_types::Value;

/// What stands for a secret.
pub(super) use squall_system_variables::definition::SECRET;

/// Words of names whose values are secrets.
const SECRET_NAMES: &[&str] = &["passw", "secret", "token", "auth", "passphrase", "credential"];
/// Words of values that hold a secret.
const SECRET_VALUES: &[&str] = &["password", "identified", "secret", "token"];

/// Whether the value of an option must not be shown, as far as its name and its text tell.
pub(super) fn is_secret(name: &str, value: &str) -> bool {
    let (name, value) = (name.to_ascii_lowercase(), value.to_ascii_lowercase());
    let has_user = value.split_once("://").is_some_and(|(_, rest)| rest.contains('@'));
    has_user
        || SECRET_NAMES.iter().any(|word| name.contains(word))
        || SECRET_VALUES.iter().any(|word| value.contains(word))
}

/// The value of an option of this variable, before SET's checks of it. `None` for an option without a value.
///
/// # Errors
/// A value that has not the form of the variable's kind, with MySQL's text.
pub(super) fn value_of(definition: &VariableDef, name: &str, text: Option<&str>) -> Result<Value, String> {
    let Some(text) = text else {
        return match definition.kind {
            Kind::Bool => Ok(Value::Int(1)),
            Kind::Enum(words) if words.contains(&"ON") => Ok(Value::from("ON")),
            _ => Err(format!("option '--{name}' requires an argument")),
        };
    };
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match definition.kind {
        Kind::Bool => Ok(match text.to_ascii_lowercase().as_str() {
            "1" | "on" | "true" | "" => Value::Int(1),
            "0" | "off" | "false" => Value::Int(0),
            _ => Value::from(text),
        }),
        Kind::Int { .. } | Kind::UInt { .. } => whole_number(name, text),
        Kind::Double { .. } => text.parse().map(Value::Double).map_err(|_| not_a_number(name, text)),
        Kind::Enum(words) if is_number && !words.contains(&text) => whole_number(name, text),
        Kind::Flags(_) | Kind::SqlMode | Kind::Switches(_) if is_number => whole_number(name, text),
        _ => Ok(Value::from(text)),
    }
}

/// The value of an option with `skip-` or `disable-` before it.
///
/// # Errors
/// An option that cannot be switched off, or has a value as well.
pub(super) fn off(definition: &VariableDef, name: &str, text: Option<&str>) -> Result<Value, String> {
    if text.is_some() {
        return Err(format!("option '--{name}' cannot take an argument"));
    }
    match definition.kind {
        Kind::Bool => Ok(Value::Int(0)),
        Kind::Enum(words) | Kind::Flags(words) if words.contains(&"OFF") => Ok(Value::from("OFF")),
        Kind::Int { min: ..=0, .. } => Ok(Value::Int(0)),
        Kind::UInt { min: 0, .. } => Ok(Value::UInt(0)),
        _ => Err(format!("option '--{name}' cannot be switched off")),
    }
}

fn not_a_number(name: &str, text: &str) -> String {
    format!("Incorrect argument value '{text}' for option '--{name}'")
}

/// A whole number, perhaps with a suffix such as M; the nearest one that 64 bits have.
fn whole_number(name: &str, text: &str) -> Result<Value, String> {
    let digits_end =
        text.char_indices().find(|(at, char)| !(char.is_ascii_digit() || *at == 0 && "+-".contains(*char)));
    let (digits, suffix) = text.split_at(digits_end.map_or(text.len(), |(at, _)| at));
    // More digits than 128 bits have are more than the limit, too.
    let number = match digits.parse::<i128>() {
        Ok(number) => number,
        Err(_) if digits.trim_start_matches(['+', '-']).is_empty() => return Err(not_a_number(name, text)),
        Err(_) if digits.starts_with('-') => i128::MIN,
        Err(_) => i128::MAX,
    };
    let power = match suffix.to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        "P" => 5,
        "E" => 6,
        _ => return Err(format!("Unknown suffix '{suffix}' used for variable '{name}' (value '{text}')")),
    };
    let number = number.saturating_mul(1 << (10 * power));
    Ok(match u64::try_from(number) {
        Ok(number) => Value::UInt(number),
        Err(_) if number > 0 => Value::UInt(u64::MAX),
        Err(_) => Value::Int(i64::try_from(number).unwrap_or(i64::MIN)),
    })
}

/// A checked value as SQL.
pub(super) fn sql(definition: &VariableDef, value: &Value) -> String {
    match (definition.kind, value) {
        (Kind::Bool, Value::Int(0)) => "OFF".to_owned(),
        (Kind::Bool, Value::Int(_)) => "ON".to_owned(),
        (_, Value::Null) => "NULL".to_owned(),
        (_, Value::Int(number)) => number.to_string(),
        (_, Value::UInt(number)) => number.to_string(),
        (_, Value::Double(number)) => number.to_string(),
        (_, Value::String(text)) => quoted(text),
        (_, other) => quoted(&format!("{other:?}")),
    }
}

/// A text as a literal of one line.
pub(super) fn quoted(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('\'');
    for char in text.chars() {
        match char {
            '\'' => literal.push_str("''"),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            '\0' => literal.push_str("\\0"),
            other => literal.push(other),
        }
    }
    literal.push('\'');
    literal
}

/// A text as one line of a terminal or of a comment.
pub(super) fn one_line(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { '\u{fffd}' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_suffixes() {
        let number = |text: &str| whole_number("x", text);
        assert_eq!(number("64M"), Ok(Value::UInt(64 << 20)));
        assert_eq!(number("1e"), Ok(Value::UInt(1 << 60)));
        assert_eq!(number("-1"), Ok(Value::Int(-1)));
        assert_eq!(number("16E"), Ok(Value::UInt(u64::MAX)));
        assert_eq!(number(&"9".repeat(60)), Ok(Value::UInt(u64::MAX)));
        assert_eq!(number(&format!("-{}", "9".repeat(60))), Ok(Value::Int(i64::MIN)));
        let unknown = "Unknown suffix 'MB' used for variable 'x' (value '10MB')";
        assert_eq!(number("10MB"), Err(unknown.to_owned()));
        for text in ["", "-", "K", "ten", "+"] {
            assert_eq!(number(text), Err(format!("Incorrect argument value '{text}' for option '--x'")), "{text}");
        }
    }

    #[test]
    fn literals_are_one_line() {
        assert_eq!(quoted("it's a\nC:\\"), r"'it''s a\nC:\\'");
        assert_eq!(one_line("a\u{1b}[2J\rb"), "a\u{fffd}[2J\u{fffd}b");
    }
}
