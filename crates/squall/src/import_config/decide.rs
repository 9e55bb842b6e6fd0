//! Decides what becomes of each option.

use super::known::HINTS;
use super::names::{Found, Meaning, NotFound, Prefix, find, normalized};
use super::option_file::{OptionLine, Place};
use super::values::{self, SECRET, is_secret, value_of};
use squall_session::DeclaredVariables;
use squall_system_variables::{Effect, Kind, VariableDef};
use squall_types::{Charset, CollationId, ErrorCode, SqlError, Value};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

/// What becomes of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// These statements set it.
    TakenOver(Vec<Assignment>),
    /// `squall serve` has this flag for it.
    StartOption(String),
    /// It does nothing here.
    NoMeaning,
    /// A later line sets it.
    Overridden,
    /// Its value is not one.
    Bad,
    /// No option has this name.
    Unknown,
}

/// A statement that keeps a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assignment {
    /// The variable.
    pub name: String,
    /// Its value, as SQL.
    pub value: String,
    /// It holds from the next start on.
    pub at_start: bool,
}

/// What is found of an option.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    /// Where it is.
    pub place: Place,
    /// As it is written, with `_` for `-`.
    pub name: String,
    /// Its value, as far as it may be shown.
    pub value: Option<String>,
    /// Its value is a secret.
    pub is_secret: bool,
    /// `loose-` is before it.
    pub is_loose: bool,
    /// What becomes of it.
    pub outcome: Outcome,
    /// Why, or what else there is to know.
    pub note: String,
}

impl Finding {
    /// Whether the file is not taken as it was meant.
    pub(super) fn is_fault(&self) -> bool {
        self.outcome == Outcome::Bad || (self.outcome == Outcome::Unknown && !self.is_loose)
    }
}

/// Decides on all options of a server, in their order.
pub(super) fn decide_all(variables: &DeclaredVariables, options: &[OptionLine]) -> Vec<Finding> {
    let options: Vec<OptionLine> = options.iter().flat_map(spelled_out).collect();
    let mut findings: Vec<Finding> = options.iter().map(|option| decide(variables, option)).collect();
    mark_overridden(variables, &mut findings);
    complete_character_set(&mut findings);
    findings
}

/// Of options that set the same, the last one does.
fn mark_overridden(variables: &DeclaredVariables, findings: &mut [Finding]) {
    let mut later: HashMap<String, Place> = HashMap::new();
    for finding in findings.iter_mut().rev() {
        let key = match &finding.outcome {
            Outcome::TakenOver(assignments) => assignments.first().map(|assignment| assignment.name.clone()),
            Outcome::StartOption(flag) => flag.split(' ').next().map(ToOwned::to_owned),
            _ => None,
        };
        let Some(key) = key else { continue };
        // Each line of switches changes what the lines before have left.
        if variables.find(&key).is_some_and(|found| matches!(found.kind, Kind::Switches(_))) {
            continue;
        }
        match later.entry(key) {
            Entry::Occupied(place) => {
                finding.outcome = Outcome::Overridden;
                finding.note = format!("line {} of {} sets it", place.get().line, place.get().file);
            }
            Entry::Vacant(place) => {
                place.insert(finding.place.clone());
            }
        }
    }
}

/// An option that stands for others, as these.
fn spelled_out(option: &OptionLine) -> Vec<OptionLine> {
    let of = |name: &str, value: &str| OptionLine {
        place: option.place.clone(),
        name: name.to_owned(),
        value: Some(value.to_owned()),
    };
    match (normalized(&option.name).0.as_str(), &option.value) {
        ("ansi", None) => vec![of("sql_mode", "ANSI"), of("transaction_isolation", "SERIALIZABLE")],
        _ => vec![option.clone()],
    }
}

/// MySQL's start chooses the collation of a character set, and the character set of a collation; SET GLOBAL does not.
fn complete_character_set(findings: &mut [Finding]) {
    const CHARSET: &str = "character_set_server";
    const COLLATION: &str = "collation_server";
    let of = |findings: &[Finding], name: &str| {
        findings.iter().position(
            |finding| matches!(&finding.outcome, Outcome::TakenOver(found) if found.iter().any(|one| one.name == name)),
        )
    };
    let (at, name, value) = match (of(findings, CHARSET), of(findings, COLLATION)) {
        (Some(at), None) => {
            let charset = findings[at].value.as_deref().and_then(|name| Charset::named(name).ok());
            (at, COLLATION, charset.map(|charset| charset.default_collation().name()))
        }
        (None, Some(at)) => {
            let collation = findings[at].value.as_deref().and_then(|name| CollationId::named(name).ok());
            (at, CHARSET, collation.map(|collation| collation.charset().name()))
        }
        _ => return,
    };
    if let (Outcome::TakenOver(assignments), Some(value)) = (&mut findings[at].outcome, value) {
        assignments.push(Assignment { name: name.to_owned(), value: values::quoted(value), at_start: false });
    }
}

fn decide(variables: &DeclaredVariables, option: &OptionLine) -> Finding {
    let (name, is_loose) = normalized(&option.name);
    let found = find(variables, &name);
    let mut is_secret = option.value.as_deref().is_some_and(|value| is_secret(&name, value));
    let (outcome, note) = match &found {
        Err(NotFound::Unknown) => {
            // A name with a mistake in it may be that of a secret.
            is_secret |= option.value.is_some();
            (Outcome::Unknown, format!("unknown variable '{name}'"))
        }
        Err(NotFound::Ambiguous(first, second)) => {
            is_secret |= option.value.is_some();
            (Outcome::Bad, format!("ambiguous option '--{name}' (could be '--{first}' or '--{second}')"))
        }
        Ok(Found { prefix: Prefix::Maximum, .. }) => {
            (Outcome::NoMeaning, "sessions' values have the limits of their variables alone".to_owned())
        }
        Ok(Found { meaning: Meaning::Known(reason), .. }) => (Outcome::NoMeaning, (*reason).to_owned()),
        Ok(Found { meaning: Meaning::Variable(definition), prefix, .. }) => {
            is_secret |= definition.secret;
            of_variable(variables, definition, &name, option.value.as_deref(), *prefix)
        }
    };
    let mut note = note;
    if let Ok(Found { instead: Some(whole), .. }) = &found {
        note = if note.is_empty() { format!("meant is {whole}") } else { format!("meant is {whole}; {note}") };
    }
    if is_secret && let Some(value) = option.value.as_deref().filter(|value| !value.is_empty()) {
        note = note.replace(value, SECRET);
    }
    let value = if is_secret { Some(SECRET.to_owned()) } else { option.value.clone() };
    let name = if is_loose { format!("loose_{name}") } else { name };
    Finding { place: option.place.clone(), name, value, is_secret, is_loose, outcome, note }
}

fn of_variable(
    variables: &DeclaredVariables,
    definition: &VariableDef,
    name: &str,
    text: Option<&str>,
    prefix: Prefix,
) -> (Outcome, String) {
    let value = match prefix {
        Prefix::Off => values::off(definition, name, text),
        _ => value_of(definition, name, text),
    };
    if let Some(start) = start_option(variables, definition, &value) {
        return start.unwrap_or_else(|error| (Outcome::Bad, error));
    }
    if definition.effect == Effect::ReadOnly {
        return (Outcome::NoMeaning, what_is_fixed(definition));
    }
    let checked = value
        .and_then(|value| variables.check(definition, &value).map_err(|error| error.message))
        .and_then(|checked| checked_file(definition, checked));
    let (value, warning) = match checked {
        Ok(checked) => checked,
        Err(error) => return (Outcome::Bad, error),
    };
    let moved = warning.map(|_| format!("the nearest value that is allowed: {}", values::sql(definition, &value)));
    match definition.effect {
        Effect::Live | Effect::AtStart if definition.persistable => {
            let assignment = Assignment {
                name: definition.name.to_owned(),
                value: values::sql(definition, &value),
                at_start: definition.effect == Effect::AtStart,
            };
            (Outcome::TakenOver(vec![assignment]), moved.unwrap_or_default())
        }
        Effect::OnlyDefault { .. } => (Outcome::NoMeaning, "it is so here".to_owned()),
        _ => (Outcome::NoMeaning, hint(definition).unwrap_or(definition.doc).to_owned()),
    }
}

type Checked = (Value, Option<SqlError>);

/// The file of a log has to be in a folder that is there on the server, which is asked there; here only its form is.
fn checked_file(definition: &VariableDef, (value, warning): Checked) -> Result<Checked, String> {
    let is_empty_file = definition.name.ends_with("_log_file") && value == Value::from("");
    if is_empty_file {
        return Err(SqlError::new(ErrorCode::WrongValueForVar, &[&definition.name, &""]).message);
    }
    Ok((value, warning))
}

fn hint(definition: &VariableDef) -> Option<&'static str> {
    HINTS.iter().find(|(name, _)| *name == definition.name).map(|(_, hint)| *hint)
}

/// What a variable that cannot be set always is.
fn what_is_fixed(definition: &VariableDef) -> String {
    if let Some(hint) = hint(definition) {
        return hint.to_owned();
    }
    match definition.kind {
        Kind::Bool | Kind::Enum(_) => format!("always {} here", definition.show(&definition.default.to_value())),
        _ => definition.doc.to_owned(),
    }
}

/// The flag of `squall serve` for an option, if there is one; an error for a bad value.
fn start_option(
    variables: &DeclaredVariables,
    definition: &VariableDef,
    value: &Result<Value, String>,
) -> Option<Result<(Outcome, String), String>> {
    let flag = match definition.name {
        "datadir" => "--datadir",
        "port" => "--port",
        "bind_address" => "--bind-address",
        "socket" => "--socket",
        "admin_address" => "--admin-address",
        "admin_port" => "--admin-port",
        "secure_file_priv" => "--secure-file-priv",
        "skip_networking" => {
            let outcome = match value {
                Ok(Value::Int(0)) => (Outcome::NoMeaning, "it is so here".to_owned()),
                Ok(Value::Int(_)) => (Outcome::StartOption("--bind-address ''".to_owned()), String::new()),
                Ok(other) => return Some(Err(wrong(definition, other))),
                Err(error) => return Some(Err(error.clone())),
            };
            return Some(Ok(outcome));
        }
        _ => return None,
    };
    Some(value.clone().and_then(|value| flag_of(variables, definition, flag, &value)))
}

fn flag_of(
    variables: &DeclaredVariables,
    definition: &VariableDef,
    flag: &str,
    value: &Value,
) -> Result<(Outcome, String), String> {
    let (checked, warning) = variables.check(definition, value).map_err(|error| error.message)?;
    if warning.is_some() {
        return Err(wrong(definition, value));
    }
    let text = match &checked {
        Value::String(text) => text.clone(),
        other => values::sql(definition, other),
    };
    if flag == "--secure-file-priv" && text.eq_ignore_ascii_case("NULL") {
        return Ok((Outcome::NoMeaning, "it is so here".to_owned()));
    }
    // An empty one is the default there, but for these; so is the port 0, which is any that is free here.
    let is_port = matches!(flag, "--port" | "--admin-port");
    if is_port && text == "0" || text.is_empty() && !matches!(flag, "--secure-file-priv" | "--bind-address") {
        return Ok((Outcome::NoMeaning, "the default".to_owned()));
    }
    let note = match flag {
        "--datadir" if Path::new(&text).join("ibdata1").exists() => "this one has MySQL's files: take an empty one",
        "--datadir" => "an empty one at first: MySQL's files are of another form",
        "--socket" if !text.starts_with('/') => "relative to the folder in which squall is started",
        _ => "",
    };
    Ok((Outcome::StartOption(format!("{flag} {}", shell_word(&text))), note.to_owned()))
}

fn wrong(definition: &VariableDef, value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => values::sql(definition, other),
    };
    SqlError::new(ErrorCode::WrongValueForVar, &[&definition.name, &text]).message
}

/// A text as one word of a shell.
fn shell_word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-:,@%+=".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
