//! `ps_setup_enable_*`, `ps_setup_disable_*`, `ps_setup_show_*` and `ps_setup_reset_to_default`: change and show the setup of
//! performance_schema.

use super::statements::{literal, message};
use squall_session::api::OkInfo;
use squall_session::{Failure, ProcedureCall};

pub(super) const CONSUMERS: &str = "setup_consumers";
pub(super) const INSTRUMENTS: &str = "setup_instruments";

fn yes_no(enabled: bool) -> &'static str {
    if enabled { "YES" } else { "NO" }
}

/// Carries a change out, and tells how many things it has changed.
async fn change(call: &mut ProcedureCall<'_>, sql: &str, enabled: bool, what: &str) -> Result<(), Failure> {
    let changed: u64 = call.query(sql).await?.iter().map(|result| result.affected_rows).sum();
    let verb = if enabled { "Enabled" } else { "Disabled" };
    let plural = if changed == 1 { "" } else { "s" };
    message(call, "summary", &format!("{verb} {changed} {what}{plural}")).await
}

/// `ps_setup_enable_consumer(pattern)` and the like.
pub(super) async fn turn(call: &mut ProcedureCall<'_>, table: &str, enabled: bool) -> Result<(), Failure> {
    let pattern = literal(&format!("%{}%", call.text(0).unwrap_or_default()));
    let value = yes_no(enabled);
    let timed = if table == INSTRUMENTS { format!(", timed = '{value}'") } else { String::new() };
    let sql = format!("UPDATE performance_schema.{table} SET enabled = '{value}'{timed} WHERE name LIKE {pattern}");
    change(call, &sql, enabled, table.trim_start_matches("setup_").trim_end_matches('s')).await
}

/// `ps_setup_enable_thread(connection)` and its counterpart.
pub(super) async fn turn_thread(call: &mut ProcedureCall<'_>, enabled: bool) -> Result<(), Failure> {
    let (connection, value) = (call.number(0).unwrap_or(0), yes_no(enabled));
    let sql =
        format!("UPDATE performance_schema.threads SET instrumented = '{value}' WHERE processlist_id = {connection}");
    change(call, &sql, enabled, "thread").await
}

/// `ps_setup_enable_background_threads()` and its counterpart.
pub(super) async fn turn_background_threads(call: &mut ProcedureCall<'_>, enabled: bool) -> Result<(), Failure> {
    let value = yes_no(enabled);
    let sql = format!("UPDATE performance_schema.threads SET instrumented = '{value}' WHERE type = 'BACKGROUND'");
    change(call, &sql, enabled, "background thread").await
}

/// `ps_setup_show_enabled_consumers()` and the like.
pub(super) async fn show(call: &mut ProcedureCall<'_>, table: &str, enabled: bool) -> Result<OkInfo, Failure> {
    let columns = match (table, enabled) {
        (INSTRUMENTS, _) => "name, timed",
        (_, true) => "name AS enabled_consumers",
        (_, false) => "name AS disabled_consumers",
    };
    let value = yes_no(enabled);
    call.send(&format!("SELECT {columns} FROM performance_schema.{table} WHERE enabled = '{value}' ORDER BY name"))
        .await
}

/// `ps_setup_show_enabled(instruments, threads)` and its counterpart.
pub(super) async fn show_all(call: &mut ProcedureCall<'_>, enabled: bool) -> Result<OkInfo, Failure> {
    let (with_instruments, with_threads) = (call.number(0).unwrap_or(0) != 0, call.number(1).unwrap_or(0) != 0);
    let (word, value) = (if enabled { "enabled" } else { "disabled" }, yes_no(enabled));
    let mut shown = vec![
        "SELECT @@performance_schema AS performance_schema_enabled".to_string(),
        format!(
            "SELECT CONCAT(QUOTE(user), '@', QUOTE(host)) AS {word}_users FROM performance_schema.setup_actors WHERE enabled = \
             '{value}' ORDER BY {word}_users"
        ),
        format!(
            "SELECT object_type, CONCAT(object_schema, '.', object_name) AS objects, enabled, timed FROM \
             performance_schema.setup_objects WHERE enabled = '{value}' ORDER BY object_type, objects"
        ),
        format!(
            "SELECT name AS {word}_consumers FROM performance_schema.setup_consumers WHERE enabled = '{value}' ORDER BY \
             {word}_consumers"
        ),
    ];
    if with_threads {
        shown.push(format!(
            "SELECT IF(name = 'thread/sql/one_connection', CONCAT(processlist_user, '@', processlist_host), REPLACE(name, \
             'thread/', '')) AS {word}_threads, type AS thread_type FROM performance_schema.threads WHERE instrumented = \
             '{value}' ORDER BY {word}_threads"
        ));
    }
    if with_instruments {
        shown.push(format!(
            "SELECT name AS {word}_instruments, timed FROM performance_schema.setup_instruments WHERE enabled = '{value}' \
             ORDER BY {word}_instruments"
        ));
    }
    let mut done = OkInfo::default();
    for sql in shown {
        done = call.send(&sql).await?;
    }
    Ok(done)
}

/// `ps_setup_reset_to_default(verbose)`: all is counted, as at the start.
pub(super) async fn reset(call: &mut ProcedureCall<'_>) -> Result<(), Failure> {
    const ALL: [&str; 2] = [
        "UPDATE performance_schema.setup_consumers SET enabled = IF(name = 'events_statements_cpu', 'NO', 'YES') WHERE name IN \
         ('events_statements_cpu', 'global_instrumentation') OR name LIKE 'events_waits%'",
        "UPDATE performance_schema.threads SET instrumented = 'YES' WHERE processlist_id IS NOT NULL",
    ];
    let is_verbose = call.number(0).unwrap_or(0) != 0;
    for (sql, table) in ALL.into_iter().zip(["setup_consumers", "threads"]) {
        if is_verbose {
            message(call, "status", &format!("Resetting: {table}\n{sql}")).await?;
        }
        call.query(sql).await?;
    }
    Ok(())
}
