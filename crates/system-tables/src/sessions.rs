//! `data_dictionary.sessions`: the sessions, their accounts, parents and protocols.

use crate::source::Source;
use crate::spec::{TableSpec, flag, long_text, s, s_or_null, text, u, uint};
use squall_registry::VirtualScan;
use squall_types::{SqlResult, Value};

/// The only catalog.
const CATALOG: &str = "LOCAL";

/// The table.
pub(crate) const TABLES: &[TableSpec] = &[TableSpec {
    database: "data_dictionary",
    name: "sessions",
    columns: &[
        uint("SESSION_ID"),
        text("SESSION_USERNAME", 32),
        text("SESSION_HOST", 261),
        text("SESSION_CATALOG", 64),
        text("SESSION_SCHEMA", 64).or_null(),
        text("COMMAND", 16),
        text("STATE", 64).or_null(),
        long_text("QUERY").or_null(),
        flag("HAS_GLOBAL_LOCK"),
        flag("IS_INTERACTIVE"),
        flag("IS_CONSOLE"),
        uint("PARENT_ID").or_null(),
        text("PROTOCOL", 16).or_null(),
    ],
    rows: sessions,
}];

/// Everybody sees the own sessions; those of others need PROCESS, as in the process list.
fn sessions(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let processes = source.state.processes.all();
    let seen = processes.iter().filter(|process| source.sees_process(process));
    let row = |process: &std::sync::Arc<squall_instrumentation::process::Process>| {
        let activity = process.activity.lock();
        let shown = |text: &str| s_or_null(Some(text).filter(|text| !text.is_empty()));
        vec![
            u(process.id),
            s(&process.user),
            s(&process.host),
            s(CATALOG),
            shown(&activity.database),
            s(activity.command),
            process.transfer.shown().map_or_else(|| shown(activity.state), Value::String),
            shown(&activity.statement),
            Value::from(source.state.store.holds_read_lock(process.id)),
            Value::from(process.is_interactive),
            // No session belongs to the process that serves it.
            Value::from(false),
            process.parent.map_or(Value::Null, Value::UInt),
            s_or_null(process.is_client().then_some("mysql")),
        ]
    };
    Ok(seen.map(row).collect())
}
