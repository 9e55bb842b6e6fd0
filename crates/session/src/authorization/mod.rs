//! Authorization: decides whether the session may run a statement. No other module does.
//!
//! The objects that a statement uses are recorded as [`Need`]s. The binder records them for rows ([`squall_planner::needs`]), and
//! [`crate::dispatch`] for all other objects, for every kind of statement. [`Session::authorize`] and [`Session::authorize_statement`]
//! compare them with the current accounts, and give an [`Authorized`] value. A plan runs only with such a value (see
//! [`squall_catalog::authorized`]), so code that skips the check does not compile.

pub(crate) mod accounts;
mod admission;
mod context;
pub(crate) mod definition;
pub(crate) mod grants;
pub(crate) mod programs;
pub(crate) mod show;
pub(crate) mod statement;

pub(crate) use context::SecurityContext;
pub(crate) use statement::{lock_needs, name_need};

use crate::session::{Session, StatementRun};
use squall_catalog::Need;
use squall_types::{SqlError, SqlResult};

/// A statement that the session may run as far as its names say. Only [`AuthorizedStatement::check`] makes one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AuthorizedStatement<'r, 's>(&'r StatementRun<'s>);

impl<'r, 's> AuthorizedStatement<'r, 's> {
    /// Lets a statement be run if the session has what it needs.
    ///
    /// # Errors
    /// MySQL's for the first privilege that is missing.
    pub fn check(security: &SecurityContext<'_>, needs: &[Need], run: &'r StatementRun<'s>) -> SqlResult<Self> {
        security.check_needs(needs)?;
        Ok(AuthorizedStatement(run))
    }

    /// The statement.
    pub fn run(self) -> &'r StatementRun<'s> {
        self.0
    }
}

impl Session {
    /// Whose rights count in it, and what names mean to it.
    pub(crate) fn security(&self) -> SecurityContext<'_> {
        SecurityContext {
            shared: &self.shared,
            account: &self.identity.account,
            user: &self.identity.user,
            access: &self.identity.access,
            default_database: self.default_database(),
            temporary_tables: &self.temporary_tables,
            // LOCK TABLES locks what triggers use, too.
            locked: (self.held_locks.tables.as_ref().map(|held| &held.names)).filter(|_| !self.is_in_trigger()),
        }
    }
}

/// The error of a statement that is declared to need privileges, but whose needs nothing tells. It runs for no account.
pub(crate) fn undeclared() -> SqlError {
    SqlError::internal("the privileges of this statement are not declared")
}
