//! Checks values of system variables, and converts them.

use squall_row_store::{Engines, TableFeature};
use squall_system_variables::{Effect, Kind, VariableDef};
use squall_types::temporal::Interval;
use squall_types::temporal::names::{CalendarNames, LOCALES};
use squall_types::{Charset, CollationId, ErrorCode, SqlError, SqlMode, SqlResult, Value};

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
///
/// # Errors
/// 1231 and 1232 for values that the variable does not accept; errors of engines, character sets and others; 1235 for a value that
/// would promise a missing feature.
pub fn check(definition: &VariableDef, value: &Value, engines: &Engines, strict: bool) -> SqlResult<Checked> {
    let checked = check_kept(definition, value, engines, strict)?;
    match definition.form {
        Some(form) if !form.accepts(&checked.value) => {
            Err(SqlError::new(ErrorCode::WrongValueForVar, &[&definition.name, &without_password(&text(value))]))
        }
        _ => Ok(checked),
    }
}

/// A text as messages show it: of a URL with a user and a password, or what was meant as one, neither.
fn without_password(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((before, behind)) if before.contains(':') => format!("<secret>@{behind}"),
        _ => text.to_string(),
    }
}

/// As [`check`], without the form of the value: readers of an already stored value know its meaning. A list of what is denied must
/// not become empty because it cannot be read.
///
/// # Errors
/// As [`check`].
pub fn check_kept(definition: &VariableDef, value: &Value, engines: &Engines, strict: bool) -> SqlResult<Checked> {
    let checked = check_kind(definition, value, engines, strict)?;
    match definition.effect {
        Effect::OnlyDefault { instead } if checked.value != definition.default.to_value() => {
            let shown = definition.show(&checked.value);
            let what = format_args!("{} = {shown} (in its place there is: {instead})", definition.name);
            Err(SqlError::unsupported(what))
        }
        _ => Ok(checked),
    }
}

fn check_kind(definition: &VariableDef, value: &Value, engines: &Engines, strict: bool) -> SqlResult<Checked> {
    let wrong = |shown: &str| SqlError::new(ErrorCode::WrongValueForVar, &[&definition.name, &shown]);
    if value.is_null() {
        return match definition.kind {
            Kind::NullableText | Kind::Charset { nullable: true } => Ok(Value::Null.into()),
            // MySQL takes NULL for a text.
            Kind::Int { .. } | Kind::UInt { .. } | Kind::Double { .. } => Err(wrong_type(definition)),
            _ => Err(wrong("NULL")),
        };
    }
    match definition.kind {
        Kind::Bool => switch(definition, value),
        Kind::Int { min, max } => signed(definition, value, min, max, strict),
        Kind::UInt { min, max, block } => unsigned(definition, value, min, max, block, strict),
        Kind::Double { min, max } => double(definition, value, min, max, strict),
        Kind::Engine { temporary } => engine(definition, value, engines, temporary),
        Kind::Enum(words) => word(definition, value, words),
        Kind::Flags(words) => flag_list(definition, value, words),
        Kind::Switches(names) => switches(definition, value, names),
        Kind::Locale => locale(definition, value),
        Kind::Text | Kind::NullableText => match value {
            Value::String(_) => Ok(value.clone().into()),
            _ => Err(wrong_type(definition)),
        },
        Kind::SqlMode => sql_mode(definition, value),
        Kind::Charset { .. } => match value {
            Value::String(name) => Ok(Value::from(Charset::named(name)?.name()).into()),
            other => {
                let id = by_number(definition, other)?;
                let collation = CollationId::from_number(id)
                    .ok_or_else(|| SqlError::new(ErrorCode::UnknownCharacterSet, &[&id]))?;
                Ok(Value::from(collation.charset().name()).into())
            }
        },
        Kind::Collation => match value {
            Value::String(name) => Ok(Value::from(CollationId::named(name)?.name()).into()),
            other => {
                let id = by_number(definition, other)?;
                let collation =
                    CollationId::from_number(id).ok_or_else(|| SqlError::new(ErrorCode::UnknownCollation, &[&id]))?;
                Ok(Value::from(collation.name()).into())
            }
        },
        Kind::TimeZone => time_zone(definition, value),
        Kind::Period => match value {
            Value::String(text) if Interval::parse_period(text).is_some() => Ok(value.clone().into()),
            Value::String(text) => Err(wrong(text)),
            _ => Err(wrong_type(definition)),
        },
    }
}

fn wrong_type(definition: &VariableDef) -> SqlError {
    SqlError::new(ErrorCode::WrongTypeForVar, &[&definition.name])
}

/// ON or OFF, by its word or as a number; a text `TRUE` is neither.
fn switch(definition: &VariableDef, value: &Value) -> SqlResult<Checked> {
    let is_word = |word: &str| ["ON", "OFF"].iter().any(|known| known.eq_ignore_ascii_case(word));
    match value {
        Value::Double(_) | Value::Decimal(_) => Err(wrong_type(definition)),
        Value::String(word) if !is_word(word) => {
            Err(SqlError::new(ErrorCode::WrongValueForVar, &[&definition.name, &word]))
        }
        other => match boolean(other) {
            Some(on) => Ok(Value::from(on).into()),
            None => Err(SqlError::new(ErrorCode::WrongValueForVar, &[&definition.name, &text(value)])),
        },
    }
}

fn by_number(definition: &VariableDef, value: &Value) -> SqlResult<u64> {
    match value {
        Value::Int(number) if *number >= 0 => Ok(*number as u64),
        Value::UInt(number) => Ok(*number),
        _ => Err(wrong_type(definition)),
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
        _ => Err(wrong_type(definition)),
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
    // What is rounded to a block is told by MySQL's plugins alone, of which InnoDB is one.
    let is_told = clamped != number || (kept != clamped as u64 && definition.name.starts_with("innodb_"));
    if is_told { out_of_range(definition, value, Value::UInt(kept), strict) } else { Ok(Value::UInt(kept).into()) }
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
        _ => return Err(wrong_type(definition)),
    };
    match found {
        Some(word) => Ok(Value::from(*word).into()),
        None => Err(SqlError::new(ErrorCode::WrongValueForVar, &[&definition.name, &text(value)])),
    }
}

/// A storage engine, with a warning where it goes by another name.
fn engine(definition: &VariableDef, value: &Value, engines: &Engines, temporary: bool) -> SqlResult<Checked> {
    let Value::String(name) = value else {
        return Err(wrong_type(definition));
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
        let mask = u64::try_from(whole(definition, value)?).ok().filter(|mask| mask >> words.len() == 0);
        let mask = mask.ok_or_else(|| wrong(&text(value)))?;
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

/// The word of a list that a text is, or the only one that begins with it.
fn word_by_prefix<'a>(words: impl Iterator<Item = &'a str> + Clone, text: &str) -> Option<&'a str> {
    let begins = |word: &&str| word.get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text));
    let mut all = words.clone().filter(begins);
    match (text, all.next(), all.next()) {
        ("", ..) => None,
        (_, Some(only), None) => Some(only),
        _ => words.into_iter().find(|word| word.eq_ignore_ascii_case(text)),
    }
}

/// The changes of a list of switches, by position (switches of another server follow the others), and whether unnamed switches get
/// their defaults.
struct SwitchChanges {
    states: Vec<Option<&'static str>>,
    resets: bool,
}

/// Reads `name=on,other=off,default`. Names and states may be cut short as long as they are told apart, names of `foreign` switches may
/// not. The error has the list from the first part that cannot be read.
fn switch_changes<'a>(names: &[&str], foreign: &[&str], list: &'a str) -> Result<SwitchChanges, &'a str> {
    let mut changes = SwitchChanges { states: vec![None; names.len() + foreign.len()], resets: false };
    let mut left = Some(list).filter(|list| !list.is_empty());
    while let Some(rest) = left {
        let (part, behind) = rest.split_once(',').map_or((rest, None), |(part, behind)| (part, Some(behind)));
        let (name, state) = part.split_once('=').map_or((part, None), |(name, state)| (name, Some(state)));
        let known = word_by_prefix(names.iter().copied().chain(["default"]), name);
        let name =
            known.or_else(|| foreign.iter().copied().find(|other| other.eq_ignore_ascii_case(name))).ok_or(rest)?;
        let state = state.map(|state| word_by_prefix(["on", "off", "default"].into_iter(), state).ok_or(rest));
        match (names.iter().chain(foreign).position(|known| *known == name), state.transpose()?) {
            (Some(at), Some(state)) if changes.states[at].is_none() => changes.states[at] = Some(state),
            (None, None) if !changes.resets => changes.resets = true,
            // One without a state, or one twice.
            _ => return Err(rest),
        }
        left = behind;
    }
    Ok(changes)
}

/// A list of switches, or a number with a bit for each. The session merges a list with the value before, so its form alone is checked.
fn switches(definition: &VariableDef, value: &Value, names: &[&'static str]) -> SqlResult<Checked> {
    let wrong = |shown: &str| SqlError::new(ErrorCode::WrongValueForVar, &[&definition.name, &shown]);
    match value {
        Value::String(list) => match switch_changes(names, definition.foreign_switches, list) {
            Ok(_) => Ok(value.clone().into()),
            Err(rest) => Err(wrong(rest)),
        },
        Value::Int(_) | Value::UInt(_) => {
            // The word `default` has a bit, too, which says nothing.
            let bits = u64::try_from(whole(definition, value)?).ok().filter(|bits| bits >> names.len() < 2);
            let bits = bits.ok_or_else(|| wrong(&text(value)))?;
            let state = |at: usize| if bits >> at & 1 == 1 { "on" } else { "off" };
            let all: Vec<String> = names.iter().enumerate().map(|(at, name)| format!("{name}={}", state(at))).collect();
            Ok(Value::String(all.join(",")).into())
        }
        _ => Err(wrong_type(definition)),
    }
}

/// Changes some switches of a list and keeps the others. A `foreign` switch is in the list from when it is set until it gets its default.
pub fn merge_switches(names: &[&str], foreign: &[&str], default: &str, before: &str, change: &str) -> String {
    let held = |list: &str, name: &str| {
        let mut pairs = list.split(',').filter_map(|part| part.split_once('='));
        pairs.find(|(other, _)| *other == name).map(|(_, state)| if state == "off" { "off" } else { "on" })
    };
    let state = |list: &str, name: &str| held(list, name).unwrap_or("on");
    let Ok(changes) = switch_changes(names, foreign, change) else { return before.to_string() };
    let merged = names.iter().zip(&changes.states).map(|(name, changed)| {
        let new = match changed {
            Some("default") => state(default, name),
            Some(changed) => changed,
            None if changes.resets => state(default, name),
            None => state(before, name),
        };
        format!("{name}={new}")
    });
    let others = foreign.iter().zip(&changes.states[names.len()..]).filter_map(|(name, changed)| {
        let new = match changed {
            Some("default") => None,
            Some(changed) => Some(*changed),
            None if changes.resets => None,
            None => held(before, name),
        };
        new.map(|new| format!("{name}={new}"))
    });
    merged.chain(others).collect::<Vec<_>>().join(",")
}

/// A locale by its name, in any letter case.
fn locale(definition: &VariableDef, value: &Value) -> SqlResult<Checked> {
    let Value::String(name) = value else { return Err(wrong_type(definition)) };
    let found = LOCALES.iter().find(|known| known.eq_ignore_ascii_case(name));
    let name = found.ok_or_else(|| SqlError::new(ErrorCode::UnknownLocale, &[name]))?;
    if definition.name == "lc_time_names" && CalendarNames::of(name).is_none() {
        return Err(SqlError::unsupported(format_args!("{} = {name}", definition.name)));
    }
    Ok(Value::from(*name).into())
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
        return Err(wrong_type(definition));
    };
    let zone = squall_types::temporal::TimeZone::parse(name)
        .ok_or_else(|| SqlError::new(ErrorCode::UnknownTimeZone, &[&name]))?;
    let kept = match name {
        name if name.eq_ignore_ascii_case("SYSTEM") => "SYSTEM",
        // `+2:0` is +02:00.
        name if name.starts_with(['+', '-']) => zone.name(),
        name => name,
    };
    Ok(Value::from(kept).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_system_variables::VariableRegistry;

    fn check_named(name: &str, value: Value) -> Result<Checked, u16> {
        let registry = VariableRegistry::default();
        let id = registry.find(name).expect("a variable");
        check(registry.definition(id), &value, &Engines::default(), false).map_err(|error| error.code)
    }

    #[test]
    fn values_become_what_mysql_makes_of_them() {
        assert_eq!(check_named("autocommit", Value::from("on")), Ok(Value::Int(1).into()));
        assert_eq!(check_named("autocommit", Value::Int(2)), Err(1231));
        assert_eq!(check_named("autocommit", Value::from("TRUE")), Err(1231));
        assert_eq!(check_named("autocommit", Value::Double(1.0)), Err(1232));
        assert_eq!(check_named("autocommit", Value::Null), Err(1231));
        assert_eq!(check_named("wait_timeout", Value::Null), Err(1232));
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
    fn what_would_promise_too_much_is_its_default_alone() {
        assert_eq!(check_named("idle_transaction_timeout", Value::Int(0)), Ok(Value::UInt(0).into()));
        assert_eq!(check_named("idle_transaction_timeout", Value::Int(5)), Err(1235));
        assert_eq!(check_named("idle_transaction_timeout", Value::from("5")), Err(1232));
    }

    #[test]
    fn values_have_the_form_of_their_variable() {
        assert_eq!(check_named("mandatory_roles", Value::from("a, b")), Ok(Value::from("a, b").into()));
        assert_eq!(check_named("mandatory_roles", Value::from("a,")), Err(1231));
        // One that is kept already is what it is.
        let registry = VariableRegistry::default();
        let definition = registry.definition(registry.find("mandatory_roles").expect("a variable"));
        let kept = check_kept(definition, &Value::from("a,"), &Engines::default(), false);
        assert_eq!(kept, Ok(Value::from("a,").into()));
        assert_eq!(without_password("http://u:p@h:1"), "<secret>@h:1");
        assert_eq!(without_password("a@b, c"), "a@b, c");
    }

    #[test]
    fn switches_merge() {
        let names = ["a", "b"];
        assert_eq!(merge_switches(&names, &[], "a=on,b=off", "a=off,b=off", "b=on"), "a=off,b=on");
        assert_eq!(merge_switches(&names, &[], "a=on,b=off", "a=off,b=on", "default"), "a=on,b=off");
        assert_eq!(merge_switches(&names, &[], "a=on,b=off", "a=off,b=on", "b=default,default,a=of"), "a=off,b=off");
    }

    #[test]
    fn a_list_of_switches_is_an_error_from_where_it_cannot_be_read() {
        let names = ["index_merge", "index_merge_union", "mrr"];
        let wrong = |list: &'static str| switch_changes(&names, &[], list).err();
        assert_eq!(wrong(""), None);
        assert_eq!(wrong("mrr=on,index_merge=default,d"), None);
        assert_eq!(wrong("m=on,index_merge_u=of"), None);
        assert_eq!(wrong("index=on"), Some("index=on"));
        assert_eq!(wrong("mrr=o"), Some("mrr=o"));
        assert_eq!(wrong("mrr=on,"), Some(""));
        assert_eq!(wrong("mrr=on,,index_merge=on"), Some(",index_merge=on"));
        assert_eq!(wrong("default,mrr=on,mrr=off,default"), Some("mrr=off,default"));
        assert_eq!(wrong("default=on"), Some("default=on"));
    }

    #[test]
    fn what_is_rounded_to_a_block_is_not_told() {
        assert_eq!(check_named("binlog_cache_size", Value::Int(10_000)), Ok(Value::UInt(8192).into()));
        assert!(check_named("binlog_cache_size", Value::Int(1)).expect("moved").warning.is_some());
    }
}
