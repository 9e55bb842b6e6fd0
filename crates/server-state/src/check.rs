//! Whether a value suits a system variable, and what it becomes.

use crate::charset;
use squall_catalog::AccountKey;
use squall_registry::variables::{Kind, VariableDef};
use squall_row_store::{Engines, TableFeature};
use squall_types::temporal::Interval;
use squall_types::{ErrorCode, SqlError, SqlMode, SqlResult, Value};

/// A value that was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The value as it is kept.
    pub value: Value,
    /// 1292 when a number had to be moved into its range.
    pub warning: Option<SqlError>,
}

impl From<Value> for Checked {
    fn from(value: Value) -> Self {
        Checked { value, warning: None }
    }
}

/// Checks a value; `engines` are those that the server has. With `strict` a number out of range is an error rather than moved into it.
pub fn check(definition: &VariableDef, value: &Value, engines: &Engines, strict: bool) -> SqlResult<Checked> {
    let wrong = |shown: &str| SqlError::new(ErrorCode::WrongValueForVar, &[&definition.name, &shown]);
    if value.is_null() {
        return match definition.kind {
            Kind::NullableText | Kind::Charset { nullable: true } => Ok(Value::Null.into()),
            _ => Err(wrong("NULL")),
        };
    }
    match definition.kind {
        Kind::Bool => boolean(value).map(|on| Value::from(on).into()).ok_or_else(|| wrong(&text(value))),
        Kind::Int { min, max } => signed(definition, value, min, max, strict),
        Kind::UInt { min, max, block } => unsigned(definition, value, min, max, block, strict),
        Kind::Double { min, max } => double(definition, value, min, max, strict),
        Kind::Engine { temporary } => engine(definition, value, engines, temporary),
        Kind::Enum(words) => word(definition, value, words),
        Kind::Flags(words) => flag_list(definition, value, words),
        Kind::Switches(names) => switches(definition, value, names),
        Kind::Text | Kind::NullableText => match value {
            Value::String(list) if definition.name == "mandatory_roles" && AccountKey::list(list).is_none() => {
                Err(wrong(list))
            }
            Value::String(_) => Ok(value.clone().into()),
            _ => Err(SqlError::new(ErrorCode::WrongTypeForVar, &[&definition.name])),
        },
        Kind::SqlMode => sql_mode(definition, value),
        Kind::Charset { .. } => match value {
            Value::String(name) => Ok(Value::from(charset::charset(name)?.name()).into()),
            other => {
                let id = by_number(definition, other)?;
                let collation = charset::collation_by_number(id)
                    .ok_or_else(|| SqlError::new(ErrorCode::UnknownCharacterSet, &[&id]))?;
                Ok(Value::from(charset::charset_name(collation)).into())
            }
        },
        Kind::Collation => match value {
            Value::String(name) => Ok(Value::from(charset::collation_name(charset::collation(name)?)).into()),
            other => {
                let id = by_number(definition, other)?;
                let collation = charset::collation_by_number(id)
                    .ok_or_else(|| SqlError::new(ErrorCode::UnknownCollation, &[&id]))?;
                Ok(Value::from(charset::collation_name(collation)).into())
            }
        },
        Kind::TimeZone => time_zone(definition, value),
        Kind::Period => match value {
            Value::String(text) if Interval::parse_period(text).is_some() => Ok(value.clone().into()),
            Value::String(text) => Err(wrong(text)),
            _ => Err(SqlError::new(ErrorCode::WrongTypeForVar, &[&definition.name])),
        },
    }
}

fn by_number(definition: &VariableDef, value: &Value) -> SqlResult<u64> {
    match value {
        Value::Int(number) if *number >= 0 => Ok(*number as u64),
        Value::UInt(number) => Ok(*number),
        _ => Err(SqlError::new(ErrorCode::WrongTypeForVar, &[&definition.name])),
    }
}

/// A value as an error message repeats it.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_string(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::Decimal(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Json(document) => document.text().into_owned(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Date(date) => date.to_text(),
        Value::DateTime(at) => at.to_text(0),
        Value::Time(time) => time.to_text(0),
    }
}

/// A switch, by its words or as a number; `None` if it is neither.
pub fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Int(0) | Value::UInt(0) => Some(false),
        Value::Int(1) | Value::UInt(1) => Some(true),
        Value::String(word) => match word.to_ascii_uppercase().as_str() {
            "ON" | "TRUE" => Some(true),
            "OFF" | "FALSE" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn out_of_range(definition: &VariableDef, value: &Value, kept: Value, strict: bool) -> SqlResult<Checked> {
    if strict {
        return Err(SqlError::new(ErrorCode::WrongValueForVar, &[&definition.name, &text(value)]));
    }
    let warning = SqlError::with_message(
        ErrorCode::TruncatedWrongValue,
        format!("Truncated incorrect {} value: '{}'", definition.name, text(value)),
    );
    Ok(Checked { value: kept, warning: Some(warning) })
}

/// The whole number of a value, with room for both signs.
fn whole(definition: &VariableDef, value: &Value) -> SqlResult<i128> {
    match value {
        Value::Int(number) => Ok(i128::from(*number)),
        Value::UInt(number) => Ok(i128::from(*number)),
        _ => Err(SqlError::new(ErrorCode::WrongTypeForVar, &[&definition.name])),
    }
}

fn signed(definition: &VariableDef, value: &Value, min: i64, max: i64, strict: bool) -> SqlResult<Checked> {
    let number = whole(definition, value)?;
    let kept = number.clamp(i128::from(min), i128::from(max));
    let value_kept = Value::Int(kept as i64);
    if kept == number { Ok(value_kept.into()) } else { out_of_range(definition, value, value_kept, strict) }
}

fn unsigned(
    definition: &VariableDef,
    value: &Value,
    min: u64,
    max: u64,
    block: u64,
    strict: bool,
) -> SqlResult<Checked> {
    let number = whole(definition, value)?;
    let clamped = number.clamp(i128::from(min), i128::from(max));
    let kept = (clamped as u64 / block * block).max(min);
    let value_kept = Value::UInt(kept);
    if i128::from(kept) == number { Ok(value_kept.into()) } else { out_of_range(definition, value, value_kept, strict) }
}

fn double(definition: &VariableDef, value: &Value, min: f64, max: f64, strict: bool) -> SqlResult<Checked> {
    let number = match value {
        Value::Double(number) => *number,
        Value::Decimal(number) => number.to_f64(),
        other => whole(definition, other)? as f64,
    };
    let kept = number.clamp(min, max);
    if kept == number {
        Ok(Value::Double(kept).into())
    } else {
        out_of_range(definition, value, Value::Double(kept), strict)
    }
}

fn word(definition: &VariableDef, value: &Value, words: &[&'static str]) -> SqlResult<Checked> {
    let found = match value {
        Value::String(text) => words.iter().find(|word| word.eq_ignore_ascii_case(text)),
        Value::Int(_) | Value::UInt(_) => usize::try_from(whole(definition, value)?).ok().and_then(|at| words.get(at)),
        _ => return Err(SqlError::new(ErrorCode::WrongTypeForVar, &[&definition.name])),
    };
    match found {
        Some(word) => Ok(Value::from(*word).into()),
        None => Err(SqlError::new(ErrorCode::WrongValueForVar, &[&definition.name, &text(value)])),
    }
}

/// A storage engine, with a warning where it goes by another name.
fn engine(definition: &VariableDef, value: &Value, engines: &Engines, temporary: bool) -> SqlResult<Checked> {
    let Value::String(name) = value else {
        return Err(SqlError::new(ErrorCode::WrongTypeForVar, &[&definition.name]));
    };
    let used = match engines.named(name) {
        Some(engine) => Some(engine).filter(|engine| !temporary || !engine.traits().refuses(TableFeature::Temporary)),
        None => engines.in_place_of(name, temporary).map(|(engine, _)| engine),
    };
    let used = used.ok_or_else(|| SqlError::new(ErrorCode::UnknownStorageEngine, &[name]))?.name();
    let warning = (!used.eq_ignore_ascii_case(name)).then(|| {
        let message = format!("Using storage engine {used} for new tables, in place of '{name}'");
        SqlError::with_message(ErrorCode::WarnUsingOtherHandler, message)
    });
    Ok(Checked { value: Value::from(used), warning })
}

fn flag_list(definition: &VariableDef, value: &Value, words: &[&'static str]) -> SqlResult<Checked> {
    let wrong = |shown: &str| SqlError::new(ErrorCode::WrongValueForVar, &[&definition.name, &shown]);
    let Value::String(list) = value else {
        let mask = by_number(definition, value)?;
        if mask >= 1 << words.len() {
            return Err(wrong(&mask.to_string()));
        }
        let chosen: Vec<&str> =
            words.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1).map(|(_, word)| *word).collect();
        return Ok(Value::from(chosen.join(",").as_str()).into());
    };
    let mut chosen = vec![false; words.len()];
    for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match words.iter().position(|word| word.eq_ignore_ascii_case(part)) {
            Some(at) => chosen[at] = true,
            None => return Err(wrong(part)),
        }
    }
    let chosen: Vec<&str> = words.iter().zip(chosen).filter(|(_, chosen)| *chosen).map(|(word, _)| *word).collect();
    Ok(Value::from(chosen.join(",").as_str()).into())
}

/// `name=on,other=off`; the session merges them with the value before, so only the form is checked here.
fn switches(definition: &VariableDef, value: &Value, names: &[&'static str]) -> SqlResult<Checked> {
    let Value::String(list) = value else {
        return Err(SqlError::new(ErrorCode::WrongTypeForVar, &[&definition.name]));
    };
    let mut met = vec![false; names.len()];
    for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        if part.eq_ignore_ascii_case("default") {
            continue;
        }
        let known = part.split_once('=').and_then(|(name, state)| {
            let is_state = ["on", "off", "default"].iter().any(|word| word.eq_ignore_ascii_case(state));
            names.iter().position(|word| word.eq_ignore_ascii_case(name)).filter(|_| is_state)
        });
        match known {
            Some(at) if !met[at] => met[at] = true,
            // Neither an unknown one, nor one twice.
            _ => return Err(SqlError::new(ErrorCode::WrongValueForVar, &[&definition.name, &part])),
        }
    }
    Ok(value.clone().into())
}

/// Changes some switches of a list and keeps the others.
pub fn merge_switches(names: &[&str], default: &str, before: &str, change: &str) -> String {
    let state = |list: &str, name: &str| {
        list.split(',')
            .filter_map(|part| part.trim().split_once('='))
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, state)| state.to_ascii_lowercase())
    };
    let reset = change.split(',').any(|part| part.trim().eq_ignore_ascii_case("default"));
    let merged: Vec<String> = names
        .iter()
        .map(|name| {
            let own_default = || state(default, name).unwrap_or_else(|| "on".to_string());
            let new = match state(change, name).as_deref() {
                Some("default") => own_default(),
                Some(state) => state.to_string(),
                None if reset => own_default(),
                None => state(before, name).unwrap_or_else(own_default),
            };
            format!("{name}={new}")
        })
        .collect();
    merged.join(",")
}

fn sql_mode(definition: &VariableDef, value: &Value) -> SqlResult<Checked> {
    let mode = match value {
        Value::String(list) => SqlMode::parse(list)
            .map_err(|name| SqlError::new(ErrorCode::WrongValueForVar, &[&definition.name, &name]))?,
        other => {
            let bits = by_number(definition, other)?;
            let known = SqlMode::parse(&SqlMode(bits).to_string()).unwrap_or_default();
            if SqlMode(bits).expanded() != known {
                return Err(SqlError::new(ErrorCode::WrongValueForVar, &[&definition.name, &bits]));
            }
            known
        }
    };
    Ok(Value::from(mode.to_string().as_str()).into())
}

fn time_zone(definition: &VariableDef, value: &Value) -> SqlResult<Checked> {
    let Value::String(name) = value else {
        return Err(SqlError::new(ErrorCode::WrongTypeForVar, &[&definition.name]));
    };
    if squall_types::temporal::TimeZone::parse(name).is_none() {
        return Err(SqlError::new(ErrorCode::UnknownTimeZone, &[&name]));
    }
    let kept = if name.eq_ignore_ascii_case("SYSTEM") { "SYSTEM" } else { name.as_str() };
    Ok(Value::from(kept).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_registry::VariableRegistry;

    fn check_named(name: &str, value: Value) -> Result<Checked, u16> {
        let registry = VariableRegistry::default();
        let id = registry.find(name).expect("a variable");
        check(registry.definition(id), &value, &Engines::default(), false).map_err(|error| error.code)
    }

    #[test]
    fn values_become_what_mysql_makes_of_them() {
        assert_eq!(check_named("autocommit", Value::from("on")), Ok(Value::Int(1).into()));
        assert_eq!(check_named("autocommit", Value::Int(2)), Err(1231));
        assert_eq!(check_named("autocommit", Value::Null), Err(1231));
        assert_eq!(check_named("wait_timeout", Value::from("x")), Err(1232));
        assert_eq!(check_named("wait_timeout", Value::Double(1.5)), Err(1232));
        let moved = check_named("wait_timeout", Value::Int(0)).expect("moved into range");
        assert_eq!(
            (moved.value, moved.warning.map(|w| w.message)),
            (Value::UInt(1), Some("Truncated incorrect wait_timeout value: '0'".to_string()),)
        );
        assert_eq!(
            check_named("transaction_isolation", Value::from("serializable")),
            Ok(Value::from("SERIALIZABLE").into())
        );
        assert_eq!(check_named("transaction_isolation", Value::Int(1)), Ok(Value::from("READ-COMMITTED").into()));
        assert_eq!(check_named("character_set_client", Value::from("utf8")), Ok(Value::from("utf8mb3").into()));
        assert_eq!(check_named("character_set_client", Value::from("klingon")), Err(1115));
        assert_eq!(check_named("character_set_results", Value::Null), Ok(Value::Null.into()));
        assert_eq!(check_named("time_zone", Value::from("+25:00")), Err(1298));
        assert_eq!(check_named("sql_mode", Value::from("nonsense")), Err(1231));
        assert_eq!(check_named("sql_mode", Value::from("ansi_quotes")), Ok(Value::from("ANSI_QUOTES").into()));
    }

    #[test]
    fn switches_merge() {
        let names = ["a", "b"];
        assert_eq!(merge_switches(&names, "a=on,b=off", "a=off,b=off", "b=on"), "a=off,b=on");
        assert_eq!(merge_switches(&names, "a=on,b=off", "a=off,b=on", "default"), "a=on,b=off");
    }
}
