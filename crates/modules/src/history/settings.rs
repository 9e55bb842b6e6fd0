//! The module's variables, and the tables that show them under the original's names.

use super::{History, NAME, set_period};
use squall_registry::{VirtualChange, VirtualColumn, VirtualScan, VirtualTable};
use squall_session::Database;
use squall_statement_context::StatementContext;
use squall_system_variables::definition::{Unit, boolean, special, unsigned};
use squall_system_variables::{Kind, Scope, VariableDef};
use squall_types::temporal::Interval;
use squall_types::{CollationId, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

const ENABLED: &str = "ps_history_enabled";
const INTERVAL: &str = "ps_history_interval";
pub(super) const PERIOD: &str = "ps_history_retention_period";
/// The table of settings.
pub(super) const SETTINGS: &str = "psh_settings";
const INTERVAL_SECONDS_MAX: u64 = 365 * 24 * 3600;

/// The variables.
pub(super) const VARIABLES: &[VariableDef] = &[
    boolean(ENABLED, Scope::Global, true, "Whether performance_schema is copied to ps_history at intervals."),
    unsigned(
        INTERVAL,
        Scope::Global,
        30,
        1,
        INTERVAL_SECONDS_MAX,
        "Seconds from one copy of performance_schema in ps_history to the next.",
    )
    .unit(Unit::Seconds),
    special(
        PERIOD,
        Scope::Global,
        Kind::Period,
        "1 WEEK",
        "How long copies of performance_schema are kept in ps_history.",
    ),
];

/// What the variables say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub is_enabled: bool,
    pub interval: Duration,
    pub period: Option<Interval>,
    pub server_id: u32,
}

impl Settings {
    pub fn of(database: &Database) -> Settings {
        let number = |name: &str| match value(database, name) {
            Value::UInt(number) => number,
            Value::Int(number) => number.max(0) as u64,
            _ => 0,
        };
        Settings {
            is_enabled: number(ENABLED) != 0,
            interval: Duration::from_secs(number(INTERVAL).max(1)),
            period: match value(database, PERIOD) {
                Value::String(text) => Interval::parse_period(&text),
                _ => None,
            },
            server_id: u32::try_from(number("server_id")).unwrap_or(u32::MAX),
        }
    }
}

fn value(database: &Database, name: &str) -> Value {
    let id = database.registry().variables.find(name);
    id.map_or(Value::Null, |id| database.globals().get(id).clone())
}

/// Sets the seconds from one copy to the next, for good.
pub(super) fn set_interval(database: &Database, seconds: Option<i64>, user: &str) -> SqlResult<()> {
    let Some(seconds) = seconds.and_then(|seconds| u64::try_from(seconds).ok()).filter(|seconds| *seconds >= 1) else {
        return Err(SqlError::signal(*b"99999", "Interval must be greater than or equal to 1"));
    };
    if seconds > INTERVAL_SECONDS_MAX {
        let message = format!("Interval must be less than or equal to {INTERVAL_SECONDS_MAX}");
        return Err(SqlError::signal(*b"99999", message));
    }
    database.persist_global(INTERVAL, Value::UInt(seconds), user)
}

/// The tables.
pub(super) fn tables(history: &Arc<History>) -> Vec<Arc<dyn VirtualTable>> {
    let text = SqlType::varchar(64, CollationId::UTF8MB4_0900_AI_CI);
    let column = |name: &'static str, sql_type: &SqlType, nullable| VirtualColumn {
        name: name.into(),
        sql_type: sql_type.clone(),
        nullable,
        invisible: false,
    };
    let pair = || vec![column("variable", &text, true), column("value", &text, true)];
    let refreshed = vec![column("last_refreshed_at", &SqlType::DateTime { fsp: 6 }, false)];
    let table = |kind, name, columns| {
        Arc::new(SettingsTable { kind, name, columns, history: history.clone() }) as Arc<dyn VirtualTable>
    };
    vec![
        table(Shown::Settings, SETTINGS, pair()),
        table(Shown::LastRefresh, "psh_last_refresh", refreshed),
        table(Shown::Status, "psh_status", pair()),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shown {
    Settings,
    LastRefresh,
    Status,
}

/// One of the module's own tables.
#[derive(Debug)]
struct SettingsTable {
    kind: Shown,
    name: &'static str,
    columns: Vec<VirtualColumn>,
    history: Arc<History>,
}

impl VirtualTable for SettingsTable {
    fn database(&self) -> &str {
        NAME
    }

    fn name(&self) -> &str {
        self.name
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn rows(&self, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
        let collector = self.history.collector()?;
        let row = |name: &str, value: String| vec![Value::from(name), Value::String(value)];
        match self.kind {
            Shown::Settings => {
                let database = collector.database()?;
                let shown = |name: &str| match value(&database, name) {
                    Value::String(text) => text,
                    Value::UInt(number) => number.to_string(),
                    _ => String::new(),
                };
                Ok(vec![row("interval", shown(INTERVAL)), row("retention_period", shown(PERIOD))])
            }
            Shown::LastRefresh => {
                let moment = scan.context.settings.time_zone.from_unix_micros(collector.last_refresh_micros());
                Ok(vec![vec![moment.map_or(Value::Null, Value::DateTime)]])
            }
            Shown::Status => {
                let count = |number: &std::sync::atomic::AtomicU64| number.load(Ordering::Relaxed).to_string();
                Ok(vec![
                    row("collected", count(&collector.collected)),
                    row("skipped", count(&collector.skipped)),
                    row("failed", count(&collector.failed)),
                    row("last_duration_micros", count(&collector.last_duration_micros)),
                    row("slices", collector.store.slice_count().to_string()),
                    row("size_bytes", collector.store.size_bytes().to_string()),
                ])
            }
        }
    }

    fn change(&self, change: VirtualChange<'_>, context: &StatementContext) -> SqlResult<()> {
        let refused = |message: &str| Err(SqlError::signal(*b"99999", message));
        match change {
            VirtualChange::Insert => refused("You may not insert rows in this table"),
            VirtualChange::Delete { .. } => refused("You may not delete rows in this table"),
            VirtualChange::Update { old, new } => {
                let [Value::String(variable), value] = new else {
                    return refused("Only the interval and retention_period variables are supported at this time");
                };
                if old.first() != new.first() {
                    return refused("Only the interval and retention_period variables are supported at this time");
                }
                let text = match value {
                    Value::String(text) => Some(text.as_str()),
                    _ => None,
                };
                let database = self.history.collector()?.database()?;
                match variable.as_str() {
                    "interval" => {
                        set_interval(&database, text.and_then(|text| text.trim().parse().ok()), &context.user)
                    }
                    _ => set_period(&database, text, &context.user),
                }
            }
        }
    }

    fn takes_changes(&self) -> bool {
        self.kind == Shown::Settings
    }
}
