//! What belongs together: a request's changes are one transaction, whatever `autocommit` is.
//!
//! A request that fails just ends its session, which rolls back.

use super::resource::Resource;
use crate::problem::Problem;
use crate::running::RequestSession;

/// Begins a request's transaction.
///
/// # Errors
/// The statement's.
pub(super) async fn begin(session: &mut RequestSession) -> Result<(), Problem> {
    session.run_command("START TRANSACTION", Vec::new()).await
}

/// The same for reading what belongs together: all of it from one snapshot, whatever the isolation of sessions is.
///
/// # Errors
/// The statement's.
pub(super) async fn begin_reading(session: &mut RequestSession) -> Result<(), Problem> {
    session.run_command("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", Vec::new()).await?;
    session.run_command("START TRANSACTION READ ONLY", Vec::new()).await
}

/// Ends one that has changed a row by its key. The table that it has changed is locked, so no other definition comes any more.
///
/// # Errors
/// See [`Resource::check_is_same`] and [`commit`]: then nothing has been changed.
pub(super) async fn commit_row(session: &mut RequestSession, resource: &Resource) -> Result<(), Problem> {
    resource.check_is_same(session)?;
    commit(session).await
}

/// Ends it. From here on its changes are there for good.
///
/// # Errors
/// The statement's: then nothing has been changed.
pub(super) async fn commit(session: &mut RequestSession) -> Result<(), Problem> {
    session.run_command("COMMIT", Vec::new()).await
}
