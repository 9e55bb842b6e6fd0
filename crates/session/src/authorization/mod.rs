//! Authorization: the one place that decides whether the session may run a statement.
//!
//! The objects that a statement uses are recorded as [`Need`]s: rows by the binder ([`squall_planner::needs`]),
//! everything else by [`statement`], for every kind of statement there is. [`Session::authorize`] and
//! [`Session::authorize_statement`] compare them with the accounts as they are now, and give an [`Authorized`] value.
//! A plan runs only with such a value (see [`squall_catalog::authorized`]), so a way around the check does not
//! compile.

mod accounts;
mod admission;
mod definition;
mod grants;
mod show;
mod statement;

pub(crate) use statement::lock_needs;

use crate::session::{Session, StatementRun};
use squall_catalog::{Authorized, Need, Subject, Touches};
use squall_system_tables::{Who, with_subject};
use squall_types::{SqlError, SqlResult};

/// A statement that the session may run as far as its names say. Only [`Session::authorize_statement`] makes one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AuthorizedStatement<'r, 's>(&'r StatementRun<'s>);

impl<'r, 's> AuthorizedStatement<'r, 's> {
    /// The statement.
    pub fn run(self) -> &'r StatementRun<'s> {
        self.0
    }
}

impl Session {
    /// Asks something of this session as the subject of privileges.
    fn with_subject<T>(&self, ask: impl FnOnce(&Subject<'_>) -> T) -> T {
        let who = Who {
            account: &self.account,
            client_host: self.client_host(),
            access: &self.access,
            locked: self.table_locks.as_ref().map(|held| &held.names),
        };
        with_subject(&self.shared, who, ask)
    }

    /// Lets a bound query or change be run, if the session may do all that it does.
    ///
    /// # Errors
    /// Those of [`Subject::authorize`].
    pub(crate) fn authorize<T: Touches>(&self, value: T) -> SqlResult<Authorized<T>> {
        self.with_subject(|subject| subject.authorize(value))
    }

    /// Whether all needs are met.
    ///
    /// # Errors
    /// Those of [`Subject::check`].
    pub(crate) fn check_needs(&self, needs: &[Need]) -> SqlResult<()> {
        self.with_subject(|subject| subject.check(needs))
    }

    /// The host that the client comes from.
    pub(crate) fn client_host(&self) -> &str {
        self.user.rsplit_once('@').map_or("", |(_, host)| host)
    }

    pub(crate) fn table_denied(&self, command: &str, table: &str) -> SqlError {
        self.with_subject(|subject| subject.table_denied(command, table))
    }

    pub(crate) fn database_denied(&self, database: &str) -> SqlError {
        self.with_subject(|subject| subject.database_denied(database))
    }
}
