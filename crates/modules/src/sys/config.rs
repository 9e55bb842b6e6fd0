//! `sys.sys_config`: settings of the schema's own functions and procedures.
//!
//! Values that differ from the defaults are kept in one variable, and so persist like any other setting.

use super::DATABASE;
use super::source::Source;
use crate::views::form::{Form, STATEMENT_CHARACTERS, Style};
use squall_functions::library::support::{Def, result};
use squall_registry::{VirtualChange, VirtualColumn, VirtualScan, VirtualTable};
use squall_statement_context::StatementContext;
use squall_system_variables::{ValueTable, VariableId};
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, Value};

/// The table's name.
const TABLE: &str = "sys_config";
/// The variable that has the changed settings.
const STORED: &str = "sys_config";
const STORED_ID: VariableId = VariableId::of(STORED);
const TRUNCATE_LENGTH: &str = "statement_truncate_len";
/// Characters of a name, a value or an account.
const LENGTH: u32 = 128;

/// The settings with their defaults, as MySQL 8.4 has them.
const DEFAULTS: &[(&str, Option<&str>)] = &[
    ("diagnostics.allow_i_s_tables", Some("OFF")),
    ("diagnostics.include_raw", Some("OFF")),
    ("ps_thread_trx_info.max_length", Some("65535")),
    ("statement_performance_analyzer.limit", Some("100")),
    ("statement_performance_analyzer.view", None),
    (TRUNCATE_LENGTH, Some("64")),
];

/// `sys.sys_get_config(name, default)`.
pub(super) const FUNCTIONS: &[Def] = &[Def::new("SYS_GET_CONFIG", (2, 2), result::utf8mb4_text, |args| {
    let name = args.text_or_null(0).unwrap_or_default().into_owned();
    Ok(match get(&args.context.variables.global, &name) {
        Some(Some(value)) => Value::String(value),
        // A setting without a value, or none at all.
        _ => args.text_or_null(1).map_or(Value::Null, |text| Value::String(text.into_owned())),
    })
})
.takes_null()
.in_database(DATABASE)];

/// How many characters of a statement functions show: the session's `@sys.statement_truncate_len`, or the setting.
pub(super) fn statement_characters(context: &StatementContext) -> usize {
    setting(context, TRUNCATE_LENGTH).and_then(|text| text.trim().parse().ok()).unwrap_or(STATEMENT_CHARACTERS)
}

/// The value of a setting for a session: its variable `@sys.…`, or the value in the table.
pub(super) fn setting(context: &StatementContext, name: &str) -> Option<String> {
    let own = context.user_variables.lock().get(&squall_catalog::NameKey::new(&format!("sys.{name}"))).cloned();
    let own = own.and_then(|(value, _)| match value {
        Value::Int(number) => Some(number.to_string()),
        Value::UInt(number) => Some(number.to_string()),
        Value::String(text) => Some(text),
        _ => None,
    });
    own.or_else(|| get(&context.variables.global, name).flatten())
}

/// Directories that paths are shown without, and the variables that stand for them.
pub(crate) fn directories(context: &StatementContext) -> Vec<(String, &'static str)> {
    const DATADIR: VariableId = VariableId::of("datadir");
    const TMPDIR: VariableId = VariableId::of("tmpdir");
    let directory = |(id, name): (VariableId, &'static str)| match context.variables.global.get(id) {
        Value::String(directory) => Some((directory.trim_end_matches('/').to_string(), name)),
        _ => None,
    };
    let named = [(DATADIR, "@@datadir"), (TMPDIR, "@@tmpdir")].into_iter().filter_map(directory);
    named.filter(|(directory, _)| !directory.is_empty()).collect()
}

/// How the schema's views show values to a session.
pub(super) fn form(context: &StatementContext) -> Form {
    Form { style: Style::Units, statement_characters: statement_characters(context), directories: directories(context) }
}

/// A setting that was changed.
#[derive(Clone, Debug, PartialEq)]
struct Changed {
    name: String,
    value: Option<String>,
    /// Microseconds since 1970 UTC.
    micros: i64,
    by: String,
}

/// NULL, as it is kept.
const NULL: &str = "\\N";

fn changed(globals: &ValueTable) -> Vec<Changed> {
    match globals.get(STORED_ID) {
        Value::String(stored) => parse(stored),
        _ => Vec::new(),
    }
}

fn parse(stored: &str) -> Vec<Changed> {
    let entry = |line: &str| {
        let mut fields = line.split('\t');
        let (name, value) = (fields.next()?.to_string(), fields.next()?);
        let value = (value != NULL).then(|| value.to_string());
        Some(Changed { name, value, micros: fields.next()?.parse().ok()?, by: fields.next()?.to_string() })
    };
    stored.lines().filter_map(entry).collect()
}

fn stored(changed: &[Changed]) -> String {
    let line = |entry: &Changed| {
        let value = entry.value.as_deref().unwrap_or(NULL);
        format!("{}\t{value}\t{}\t{}", entry.name, entry.micros, entry.by)
    };
    changed.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The value of a setting; `None` if there is no such setting.
fn get(globals: &ValueTable, name: &str) -> Option<Option<String>> {
    if let Some(entry) = changed(globals).into_iter().find(|entry| entry.name == name) {
        return Some(entry.value);
    }
    let (_, value) = DEFAULTS.iter().find(|(known, _)| *known == name)?;
    Some(value.map(str::to_string))
}

/// The table.
#[derive(Debug)]
pub(super) struct ConfigTable {
    source: Source,
    columns: Vec<VirtualColumn>,
}

impl ConfigTable {
    pub fn new(source: &Source) -> ConfigTable {
        let text = SqlType::varchar(LENGTH, CollationId::UTF8MB4_0900_AI_CI);
        let column = |name: &'static str, sql_type: &SqlType, nullable| VirtualColumn {
            name: name.into(),
            sql_type: sql_type.clone(),
            nullable,
            invisible: false,
        };
        let columns = vec![
            column("variable", &text, false),
            column("value", &text, true),
            column("set_time", &SqlType::Timestamp { fsp: 0 }, true),
            column("set_by", &text, true),
        ];
        ConfigTable { source: source.clone(), columns }
    }
}

impl VirtualTable for ConfigTable {
    fn database(&self) -> &str {
        DATABASE
    }

    fn name(&self) -> &str {
        TABLE
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn rows(&self, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
        let changed = changed(&self.source.database()?.globals());
        let or_null = |value: Option<&str>| value.map_or(Value::Null, Value::from);
        let row = |(name, default): &(&str, Option<&str>)| match changed.iter().find(|entry| entry.name == *name) {
            None => vec![Value::from(*name), or_null(*default), Value::Null, Value::Null],
            Some(entry) => {
                let micros = entry.micros - entry.micros.rem_euclid(1_000_000);
                let moment =
                    scan.context.settings.time_zone.from_unix_micros(micros).map_or(Value::Null, Value::DateTime);
                vec![Value::from(*name), or_null(entry.value.as_deref()), moment, Value::from(&*entry.by)]
            }
        };
        Ok(DEFAULTS.iter().map(row).collect())
    }

    fn takes_changes(&self) -> bool {
        true
    }

    fn change(&self, change: VirtualChange<'_>, context: &StatementContext) -> SqlResult<()> {
        let VirtualChange::Update { old, new } = change else {
            return Err(SqlError::unsupported("other settings in sys.sys_config than those that are there"));
        };
        let ([Value::String(name), ..], [new_name, value, ..]) = (old, new) else {
            return Err(SqlError::internal("a setting without a name"));
        };
        if *new_name != old[0] {
            return Err(SqlError::unsupported("new names of settings in sys.sys_config"));
        }
        let value = match value {
            Value::String(text) => Some(text.clone()),
            _ => None,
        };
        if value.as_deref().is_some_and(|text| text == NULL || text.contains(['\t', '\n', '\r'])) {
            return Err(SqlError::new(ErrorCode::WrongValueForVar, &[name, &value.unwrap_or_default()]));
        }
        let database = self.source.database()?;
        let mut all = changed(&database.globals());
        all.retain(|entry| entry.name != *name);
        let is_default =
            DEFAULTS.iter().any(|(known, default)| *known == name.as_str() && *default == value.as_deref());
        if !is_default {
            let (micros, by) = (context.now_micros, context.user.to_string());
            all.push(Changed { name: name.clone(), value, micros, by });
        }
        database.persist_global(STORED, Value::String(stored(&all)), &context.user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_again() {
        let entry = |name: &str, value: Option<&str>| Changed {
            name: name.to_string(),
            value: value.map(str::to_string),
            micros: 5,
            by: "root@localhost".to_string(),
        };
        let all = vec![entry(TRUNCATE_LENGTH, Some("32")), entry("diagnostics.include_raw", None)];
        assert_eq!(parse(&stored(&all)), all);
        assert!(parse("").is_empty() && parse("no setting").is_empty());
    }
}
