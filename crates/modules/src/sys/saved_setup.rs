//! `ps_setup_save` and `ps_setup_reload_saved`: saves the setup of performance_schema, and restores it.
//!
//! The setup that can be changed are consumers and threads. They are saved in TEMPORARY tables of the session, which holds a named lock
//! meanwhile. Both end with the session.

use super::analyzer::drop_temporary;
use super::statements::{first_number, literal, texts};
use squall_session::{Failure, ProcedureCall};
use squall_types::SqlError;

/// The lock of the session that saved.
const LOCK: &str = "sys.ps_setup_save";

/// A table of performance_schema that is saved.
struct Saved {
    table: &'static str,
    /// Where it is saved.
    copy: &'static str,
    /// The key of a row, and its changeable columns.
    key: &'static str,
    setting: &'static str,
}

const SAVED: [Saved; 2] = [
    Saved { table: "setup_consumers", copy: "sys.tmp_setup_consumers", key: "name", setting: "enabled" },
    Saved { table: "threads", copy: "sys.tmp_threads", key: "thread_id", setting: "instrumented" },
];

/// `ps_setup_save(seconds)`: waits so long for another session to give back what it has saved.
pub(super) async fn save(call: &mut ProcedureCall<'_>, seconds: i64) -> Result<(), Failure> {
    if first_number(call, &format!("SELECT GET_LOCK('{LOCK}', {seconds})")).await? != Some(1) {
        let message = format!("Another session has saved the configuration: it has the lock '{LOCK}'");
        return Err(SqlError::signal(*b"HY000", message).into());
    }
    for Saved { table, copy, key, setting } in SAVED {
        drop_temporary(call, copy).await?;
        let sql = format!(
            "CREATE TEMPORARY TABLE {copy} AS SELECT {key} AS k, {setting} AS v FROM performance_schema.{table}"
        );
        if let Err(error) = call.query(&sql).await {
            call.query(&format!("DO RELEASE_LOCK('{LOCK}')")).await?;
            return Err(error.into());
        }
    }
    Ok(())
}

/// `ps_setup_reload_saved()`.
pub(super) async fn reload(call: &mut ProcedureCall<'_>) -> Result<(), Failure> {
    if first_number(call, &format!("SELECT IS_USED_LOCK('{LOCK}') = CONNECTION_ID()")).await? != Some(1) {
        let message = "This session has saved no configuration: ps_setup_save() does";
        return Err(SqlError::signal(*b"HY000", message).into());
    }
    for Saved { table, copy, key, setting } in SAVED {
        let sql = format!(
            "SELECT s.k, s.v FROM {copy} AS s JOIN performance_schema.{table} AS c ON c.{key} = s.k AND c.{setting} <> s.v \
             ORDER BY s.k"
        );
        for row in texts(call, &sql).await? {
            let [name, value] = &row[..] else { continue };
            let (name, value) = (literal(name), literal(value));
            call.query(&format!("UPDATE performance_schema.{table} SET {setting} = {value} WHERE {key} = {name}"))
                .await?;
        }
        call.query(&format!("DROP TEMPORARY TABLE {copy}")).await?;
    }
    call.query(&format!("DO RELEASE_LOCK('{LOCK}')")).await?;
    Ok(())
}
