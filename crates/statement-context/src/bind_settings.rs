//! The settings of a session that change the meaning of its statements.

use squall_system_variables::{ValueTable, VariableId};
use squall_types::collation::Charset;
use squall_types::temporal::TimeZone;
use squall_types::temporal::names::CalendarNames;
use squall_types::{CollationId, SqlMode, Value};
use std::sync::Arc;

/// Declares the settings that are variables: field, type, default, variable, and how its value is read.
macro_rules! bind_settings {
    ($($(#[$doc:meta])* $field:ident: $type:ty = $default:expr, $variable:literal, $read:path;)*) => {
        /// The settings that parsing, binding and evaluation read, and the default database. A statement has its session's settings
        /// at its beginning, and shares them with its parts and nested statements. Sessions with equal settings share plans.
        ///
        /// A variable that changes plans must be a line here, so that no plan outlives its value. Privileges and TEMPORARY tables
        /// are no settings: plans that depend on them are not shared.
        #[derive(Clone, Debug, PartialEq)]
        pub struct BindSettings {
            /// `DATABASE()`: the default database.
            pub database: Option<Arc<str>>,
            /// CLIENT_IGNORE_SPACE: blanks may stand between a function's name and its parenthesis.
            pub ignore_space: bool,
            $($(#[$doc])* pub $field: $type,)*
        }

        /// MySQL's defaults.
        impl Default for BindSettings {
            fn default() -> Self {
                BindSettings { database: None, ignore_space: false, $($field: $default,)* }
            }
        }

        impl BindSettings {
            /// The settings of a session with these variables.
            pub fn of_variables(values: &ValueTable, database: Option<Arc<str>>, ignore_space: bool) -> BindSettings {
                BindSettings {
                    database,
                    ignore_space,
                    $($field: $read(values.get(const { VariableId::of($variable) })).unwrap_or_else(|| $default),)*
                }
            }
        }
    };
}

bind_settings! {
    /// `sql_mode`.
    sql_mode: SqlMode = SqlMode::DEFAULT, "sql_mode", sql_mode;
    /// `parser_max_mem_size`, bytes.
    parser_memory_max: u64 = u64::MAX, "parser_max_mem_size", number;
    /// `time_zone`.
    time_zone: Arc<TimeZone> = Arc::new(TimeZone::system()), "time_zone", time_zone;
    /// `collation_connection`: of literals and of numbers turned into strings.
    collation: CollationId = CollationId::UTF8MB4_0900_AI_CI, "collation_connection", collation;
    /// The default collation of `character_set_client`.
    client_collation: CollationId = CollationId::UTF8MB4_0900_AI_CI, "character_set_client", default_collation;
    /// `max_allowed_packet`, bytes: the longest string a function may build.
    max_allowed_packet: u64 = 64 << 20, "max_allowed_packet", number;
    /// `group_concat_max_len`, bytes.
    group_concat_max_len: u64 = 1024, "group_concat_max_len", number;
    /// `div_precision_increment`, digits.
    div_precision_increment: u8 = 4, "div_precision_increment", small_number;
    /// `block_encryption_mode`.
    block_encryption_mode: Arc<str> = "aes-128-ecb".into(), "block_encryption_mode", shared_text;
    /// `default_week_format`.
    default_week_format: u8 = 0, "default_week_format", small_number;
    /// `lc_time_names`.
    time_names: CalendarNames = CalendarNames::ENGLISH, "lc_time_names", time_names;
    /// `cte_max_recursion_depth`.
    cte_max_recursion_depth: u64 = 1000, "cte_max_recursion_depth", number;
    /// `sql_safe_updates`.
    safe_updates: bool = false, "sql_safe_updates", switch;
    /// `drizzle_type_names`: TYPEOF says types by Drizzle's names.
    drizzle_type_names: bool = false, "drizzle_type_names", switch;
}

impl BindSettings {
    /// The settings of a stored program's body: those of the statement that runs it, with the program's database and its creator's
    /// settings.
    pub fn of_program(self: &Arc<Self>, database: &Arc<str>, sql_mode: SqlMode, collation: CollationId) -> Arc<Self> {
        let settings = BindSettings { database: Some(database.clone()), sql_mode, collation, ..(**self).clone() };
        // Mostly they are the statement's.
        if settings == **self { self.clone() } else { Arc::new(settings) }
    }
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::UInt(value) => Some(*value),
        Value::Int(value) => u64::try_from(*value).ok(),
        _ => None,
    }
}

fn small_number(value: &Value) -> Option<u8> {
    number(value).and_then(|number| u8::try_from(number).ok())
}

fn switch(value: &Value) -> Option<bool> {
    number(value).map(|number| number != 0)
}

fn shared_text(value: &Value) -> Option<Arc<str>> {
    text(value).map(Arc::from)
}

fn time_names(value: &Value) -> Option<CalendarNames> {
    text(value).and_then(CalendarNames::of)
}

fn sql_mode(value: &Value) -> Option<SqlMode> {
    text(value).and_then(|text| SqlMode::parse(text).ok())
}

fn time_zone(value: &Value) -> Option<Arc<TimeZone>> {
    text(value).and_then(TimeZone::parse).map(Arc::new)
}

fn collation(value: &Value) -> Option<CollationId> {
    text(value).and_then(CollationId::from_name)
}

fn default_collation(value: &Value) -> Option<CollationId> {
    text(value).and_then(Charset::from_name).map(Charset::default_collation)
}
