//! `ps_setup_save` and `ps_setup_reload_saved`: what performance_schema gets is changed for a while, and is then again as it was.
//!
//! What can be changed are consumers. They are saved in a TEMPORARY table of the session, and a named lock says that somebody
//! has saved them; both go with the session.

use super::analyzer::drop_temporary;
use super::procedures::{first_number, literal, texts};
use squall_session::{Failure, ProcedureCall};
use squall_types::SqlError;

/// The lock of whoever has saved.
const LOCK: &str = "sys.ps_setup_save";
const TABLE: &str = "sys.tmp_setup_consumers";

/// `ps_setup_save(seconds)`: waits so long for another session to give back what it has saved.
pub(super) async fn save(call: &mut ProcedureCall<'_>, seconds: i64) -> Result<(), Failure> {
    if first_number(call, &format!("SELECT GET_LOCK('{LOCK}', {seconds})")).await? != Some(1) {
        let message = format!("Another session has saved the configuration: it has the lock '{LOCK}'");
        return Err(SqlError::signal(*b"HY000", message).into());
    }
    drop_temporary(call, TABLE).await?;
    let sql = format!("CREATE TEMPORARY TABLE {TABLE} AS SELECT * FROM performance_schema.setup_consumers");
    if let Err(error) = call.query(&sql).await {
        call.query(&format!("DO RELEASE_LOCK('{LOCK}')")).await?;
        return Err(error.into());
    }
    Ok(())
}

/// `ps_setup_reload_saved()`.
pub(super) async fn reload(call: &mut ProcedureCall<'_>) -> Result<(), Failure> {
    if first_number(call, &format!("SELECT IS_USED_LOCK('{LOCK}') = CONNECTION_ID()")).await? != Some(1) {
        let message = "This session has saved no configuration: ps_setup_save() does";
        return Err(SqlError::signal(*b"HY000", message).into());
    }
    let sql = format!(
        "SELECT s.name, s.enabled FROM {TABLE} AS s JOIN performance_schema.setup_consumers AS c ON c.name = s.name AND \
         c.enabled <> s.enabled ORDER BY s.name"
    );
    for row in texts(call, &sql).await? {
        let [name, enabled] = &row[..] else { continue };
        let (name, enabled) = (literal(name), literal(enabled));
        call.query(&format!("UPDATE performance_schema.setup_consumers SET enabled = {enabled} WHERE name = {name}"))
            .await?;
    }
    call.query(&format!("DROP TEMPORARY TABLE {TABLE}")).await?;
    call.query(&format!("DO RELEASE_LOCK('{LOCK}')")).await?;
    Ok(())
}
