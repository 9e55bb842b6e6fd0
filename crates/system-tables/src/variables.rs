//! Tables that describe system variables: `data_dictionary.configuration` and its history, MySQL's `variables_info` and `variables_metadata`, MariaDB's
//! `SYSTEM_VARIABLES`.

use super::{
    PERFORMANCE, Source, TableSpec, choice, local_micros, long_text, moment, s, s_or_null, text, u, uint, yes_no,
};
use squall_registry::VirtualScan;
use squall_server_state::globals::shown_record;
use squall_server_state::variable_origin::{VariableOrigin, VariableSource};
use squall_system_variables::{Effect, Kind, ReadScope, Scope, Unit, VariableDef, VariableId};
use squall_types::{SqlResult, Value};

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: "data_dictionary",
        name: "configuration",
        columns: &[
            text("NAME", 64),
            text("SCOPE", 7),
            text("TYPE", 16),
            long_text("VALUE").or_null(),
            long_text("DEFAULT_VALUE").or_null(),
            text("MIN_VALUE", 64).or_null(),
            text("MAX_VALUE", 64).or_null(),
            long_text("ALLOWED_VALUES").or_null(),
            text("UNIT", 16).or_null(),
            text("APPLIES", 16).or_null(),
            text("SOURCE", 16),
            moment("SET_TIME").or_null(),
            text("SET_USER", 32).or_null(),
            text("SET_HOST", 255).or_null(),
            text("MODULE", 64).or_null(),
            text("IS_SECRET", 3),
            text("DOCUMENTATION", 2048),
        ],
        rows: |source, _| Ok(shown(source).map(|variable| variable.configuration(source)).collect()),
    },
    TableSpec {
        database: "data_dictionary",
        name: "configuration_history",
        columns: &[
            uint("VERSION"),
            moment("CHANGED_AT"),
            text("CHANGED_BY", 288),
            text("STATEMENT", 1024),
            text("NAME", 64),
            text("NODE", 64).or_null(),
            text("SCOPE", 12),
            long_text("OLD_VALUE").or_null(),
            long_text("NEW_VALUE").or_null(),
            choice("STATE", &["applied", "rolled_back"]),
            text("ERROR", 512).or_null(),
        ],
        rows: history,
    },
    TableSpec {
        database: PERFORMANCE,
        name: "variables_info",
        columns: &[
            text("VARIABLE_NAME", 64),
            text("VARIABLE_SOURCE", 16).or_null(),
            text("VARIABLE_PATH", 1024).or_null(),
            text("MIN_VALUE", 64).or_null(),
            text("MAX_VALUE", 64).or_null(),
            moment("SET_TIME").or_null(),
            text("SET_USER", 32).or_null(),
            text("SET_HOST", 255).or_null(),
        ],
        rows: variables_info,
    },
    TableSpec {
        database: PERFORMANCE,
        name: "variables_metadata",
        columns: &[
            text("VARIABLE_NAME", 64),
            text("VARIABLE_SCOPE", 7),
            text("DATA_TYPE", 11),
            text("MIN_VALUE", 64),
            text("MAX_VALUE", 64),
            text("DOCUMENTATION", 2048),
        ],
        rows: |source, _| Ok(shown(source).map(|variable| variable.metadata()).collect()),
    },
    TableSpec {
        database: "information_schema",
        name: "SYSTEM_VARIABLES",
        columns: &[
            text("VARIABLE_NAME", 64),
            text("SESSION_VALUE", 2048).or_null(),
            text("GLOBAL_VALUE", 2048).or_null(),
            text("GLOBAL_VALUE_ORIGIN", 64),
            text("DEFAULT_VALUE", 2048).or_null(),
            text("VARIABLE_SCOPE", 64),
            text("VARIABLE_TYPE", 64),
            text("VARIABLE_COMMENT", 2048),
            text("NUMERIC_MIN_VALUE", 21).or_null(),
            text("NUMERIC_MAX_VALUE", 21).or_null(),
            text("NUMERIC_BLOCK_SIZE", 21).or_null(),
            long_text("ENUM_VALUE_LIST").or_null(),
            text("READ_ONLY", 3),
            text("COMMAND_LINE_ARGUMENT", 64).or_null(),
            text("GLOBAL_VALUE_PATH", 2048).or_null(),
        ],
        rows: |source, _| Ok(shown(source).map(|variable| variable.of_mariadb(source)).collect()),
    },
];

/// A variable that the tables show.
pub(crate) struct Variable<'a> {
    pub id: VariableId,
    pub definition: &'a VariableDef,
}

/// All but names that are there for other programs and do nothing.
pub(crate) fn shown<'a>(source: &'a Source<'_>) -> impl Iterator<Item = Variable<'a>> {
    let all = source.state.registry.variables.all().iter().enumerate();
    let variables = all.map(|(id, definition)| Variable { id: VariableId(id as u16), definition });
    variables.filter(|variable| !variable.definition.hidden || variable.definition.effect == Effect::Live)
}

/// Least and greatest value, for numbers.
pub(crate) fn range(kind: Kind) -> Option<(String, String)> {
    match kind {
        Kind::Int { min, max } => Some((min.to_string(), max.to_string())),
        Kind::UInt { min, max, .. } => Some((min.to_string(), max.to_string())),
        Kind::Double { min, max } => Some((min.to_string(), max.to_string())),
        _ => None,
    }
}

/// The words that a value is, or is made of.
fn words(kind: Kind) -> Option<String> {
    match kind {
        Kind::Bool => Some("OFF,ON".to_owned()),
        Kind::Enum(words) | Kind::Flags(words) | Kind::Switches(words) => Some(words.join(",")),
        _ => None,
    }
}

/// The type of values, in MySQL's words.
pub(crate) fn data_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "Boolean",
        Kind::Int { .. } | Kind::UInt { .. } => "Integer",
        Kind::Double { .. } => "Numeric",
        Kind::Enum(_) | Kind::Engine { .. } => "Enumeration",
        Kind::Flags(_) | Kind::Switches(_) | Kind::SqlMode => "Set",
        _ => "String",
    }
}

impl Variable<'_> {
    fn scope(&self) -> &'static str {
        match self.definition.scope {
            Scope::Both => "ALL",
            Scope::Global => "GLOBAL",
            Scope::Session => "SESSION",
        }
    }

    fn show(&self, value: &Value) -> Value {
        match value {
            Value::Null => Value::Null,
            value => s(self.definition.show(value)),
        }
    }

    pub fn default_value(&self) -> Value {
        self.show(&self.definition.default.to_value())
    }

    pub fn global_value(&self, source: &Source<'_>) -> Value {
        match self.definition.has_global() {
            true => self.show(source.state.globals.load_values().get(self.id)),
            false => Value::Null,
        }
    }

    fn session_value(&self, source: &Source<'_>) -> Value {
        match self.definition.has_session() {
            true => self.show(&source.context.system_variable(self.id, ReadScope::Any, self.definition)),
            false => Value::Null,
        }
    }

    fn configuration(&self, source: &Source<'_>) -> Vec<Value> {
        let definition = self.definition;
        let value = match definition.has_global() {
            true => self.global_value(source),
            false => self.session_value(source),
        };
        let (min, max) = range(definition.kind).unzip();
        let origin = source.state.globals.origin(self.id);
        let mut row = vec![s(definition.name), s(self.scope()), s(data_type(definition.kind)), value];
        row.extend([self.default_value(), s_or_null(min), s_or_null(max), s_or_null(words(definition.kind))]);
        row.extend([s_or_null(definition.unit.map(Unit::name)), s_or_null(definition.applies())]);
        row.push(s(origin.source.name()));
        row.extend(set_by(source, &origin));
        row.push(s_or_null(source.state.registry.variables.module_of(self.id)));
        row.extend([yes_no(definition.secret), s(definition.doc)]);
        row
    }

    fn metadata(&self) -> Vec<Value> {
        let definition = self.definition;
        let (min, max) = range(definition.kind).unwrap_or_default();
        vec![s(definition.name), s(self.scope()), s(data_type(definition.kind)), s(min), s(max), s(definition.doc)]
    }

    fn of_mariadb(&self, source: &Source<'_>) -> Vec<Value> {
        let definition = self.definition;
        let origin = match source.state.globals.origin(self.id).source {
            VariableSource::Compiled => "COMPILE-TIME",
            VariableSource::CommandLine => "COMMAND-LINE",
            VariableSource::Persisted | VariableSource::Dynamic => "SQL",
        };
        let scope = match definition.scope {
            Scope::Global => "GLOBAL",
            Scope::Both => "SESSION",
            Scope::Session => "SESSION ONLY",
        };
        let sql_type = match definition.kind {
            Kind::Bool => "BOOLEAN",
            Kind::Int { .. } => "BIGINT",
            Kind::UInt { .. } => "BIGINT UNSIGNED",
            Kind::Double { .. } => "DOUBLE",
            Kind::Enum(_) => "ENUM",
            Kind::Flags(_) | Kind::SqlMode => "SET",
            Kind::Switches(_) => "FLAGSET",
            _ => "VARCHAR",
        };
        let block = match definition.kind {
            Kind::UInt { block, .. } => Some(block.to_string()),
            Kind::Int { .. } => Some("1".to_owned()),
            _ => None,
        };
        let (min, max) = range(definition.kind).unzip();
        let mut row = vec![s(definition.name.to_ascii_uppercase()), self.session_value(source)];
        row.extend([self.global_value(source), s(origin), self.default_value(), s(scope), s(sql_type)]);
        row.extend([s(definition.doc), s_or_null(min), s_or_null(max), s_or_null(block)]);
        row.push(s_or_null(words(definition.kind)));
        row.push(yes_no(matches!(definition.effect, Effect::ReadOnly | Effect::AtStart)));
        // There are no files of options; those of the command line are in `squall serve --help`.
        row.extend([Value::Null, Value::Null]);
        row
    }
}

/// When and by whom a value was set.
fn set_by(source: &Source<'_>, origin: &VariableOrigin) -> [Value; 3] {
    match &origin.set {
        Some(set) => [local_micros(source.context, set.at_micros), s(&set.user), s(&set.host)],
        None => [Value::Null, Value::Null, Value::Null],
    }
}

/// Accounts that may set global variables see the history; for others it is empty.
fn history(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    if !source.access.has_dynamic("SYSTEM_VARIABLES_ADMIN") {
        return Ok(Vec::new());
    }
    let registry = &source.state.registry.variables;
    let mut rows = Vec::new();
    for entry in source.state.globals.history(&*source.state.store)? {
        let definition = registry.find(&entry.change.name).map(|id| registry.definition(id));
        let shown = |record: Option<Vec<u8>>| s_or_null(record.map(|record| shown_record(definition, &record)));
        let scopes = [("GLOBAL", entry.change.running), ("PERSIST", entry.change.persisted)];
        for (scope, values) in scopes.into_iter().filter_map(|(scope, values)| Some((scope, values?))) {
            rows.push(vec![
                u(entry.version),
                local_micros(source.context, entry.at_micros),
                s(&entry.user),
                s(&entry.statement),
                s(&entry.change.name),
                Value::Null,
                s(scope),
                shown(values.before),
                shown(values.after),
                s(if entry.error.is_some() { "rolled_back" } else { "applied" }),
                s_or_null(entry.error.clone()),
            ]);
        }
    }
    Ok(rows)
}

fn variables_info(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let rows = source.state.registry.variables.all().iter().enumerate().map(|(id, definition)| {
        let number = || "0".to_string();
        let (min, max) = range(definition.kind).unwrap_or_else(|| (number(), number()));
        let origin = source.state.globals.origin(VariableId(id as u16));
        let mut row = vec![s(definition.name), s(origin.source.name()), s(""), s(min), s(max)];
        row.extend(set_by(source, &origin));
        row
    });
    Ok(rows.collect())
}
