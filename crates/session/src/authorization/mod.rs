//! Whether the session may do what it is asked: in one place.
//!
//! What a statement touches is written down as [`Need`]s: rows by the binder ([`squall_planner::needs`]), everything else
//! by [`statement`], for every kind of statement there is. [`Session::authorize`] and [`Session::authorize_statement`]
//! compare them with the accounts as they are now, and give an [`Authorized`] value. Nothing runs from anything else, so a
//! way around the check does not compile.

mod accounts;
mod definition;
mod grants;
mod show;
mod statement;

pub(crate) use statement::lock_needs;

use crate::session::Session;
use squall_catalog::{Need, Privileges, Subject};
use squall_planner::dml::DmlPlan;
use squall_planner::dml::plan::{InsertPlan, InsertRows};
use squall_planner::dml::target::Target;
use squall_planner::point::PointSelect;
use squall_planner::rowwise::RowPlan;
use squall_planner::{BoundQuery, needs};
use squall_server_state::variables::{Values, ids};
use squall_system_tables::is_system_table;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::ops::Deref;
use std::sync::Arc;

/// What the session may run. Only this module makes one.
#[derive(Clone, Debug)]
pub(crate) struct Authorized<T>(T);

impl<T> Authorized<T> {
    /// What may be run.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Authorized<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// What touches tables once it is run.
pub(crate) trait Touches {
    /// What it needs.
    fn needs(&self) -> Vec<Need>;

    /// What is asked of LOCK TABLES, where that is in force.
    fn check_locks(&self, _session: &Session) -> SqlResult<()> {
        Ok(())
    }
}

impl<T: Touches> Touches for Arc<T> {
    fn needs(&self) -> Vec<Need> {
        (**self).needs()
    }

    fn check_locks(&self, session: &Session) -> SqlResult<()> {
        (**self).check_locks(session)
    }
}

impl Touches for BoundQuery {
    fn needs(&self) -> Vec<Need> {
        needs::of_query(self)
    }

    fn check_locks(&self, session: &Session) -> SqlResult<()> {
        let tables = self.tables.iter().filter(|table| table.inside_view.is_none());
        for table in tables {
            if table.definition.as_ref().is_some_and(|definition| !definition.temporary) {
                session.check_locked(&table.database, &table.name, false)?;
            }
        }
        Ok(())
    }
}

impl Touches for DmlPlan {
    fn needs(&self) -> Vec<Need> {
        needs::of_change(self)
    }

    fn check_locks(&self, session: &Session) -> SqlResult<()> {
        match self {
            DmlPlan::Insert(insert) => insert.check_locks(session),
            DmlPlan::ByQuery(change) => {
                change.changes.iter().try_for_each(|change| check_written(session, &change.target))?;
                change.query.check_locks(session)
            }
            DmlPlan::Update(update) => check_written(session, &update.target),
            DmlPlan::Delete(delete) => check_written(session, &delete.target),
        }
    }
}

impl Touches for InsertPlan {
    fn needs(&self) -> Vec<Need> {
        needs::of_insert(self)
    }

    fn check_locks(&self, session: &Session) -> SqlResult<()> {
        check_written(session, &self.target)?;
        match &self.source {
            InsertRows::Query(query) => query.check_locks(session),
            InsertRows::Values(_) => Ok(()),
        }
    }
}

/// PROCESS, to read a table of information_schema that tells of everybody's data.
fn process_need(need: &Need) -> Option<Need> {
    let (database, table) = (need.database_name()?, need.table_name()?);
    squall_system_tables::needs_process(database, table)
        .then(|| Need { invoker: need.invoker.clone(), ..Need::server(Privileges::PROCESS, &[], "PROCESS") })
}

/// Whether LOCK TABLES has locked what a statement calls its table for writing.
fn check_written(session: &Session, target: &Target) -> SqlResult<()> {
    match &target.view {
        _ if target.def().temporary => Ok(()),
        Some(view) => session.check_locked(&view.database, &view.name, true),
        None => session.check_locked(&target.database, &target.def().name, true),
    }
}

impl Touches for PointSelect {
    fn needs(&self) -> Vec<Need> {
        needs::of_columns(self.database(), self.table().def(), &self.columns_read()).into_iter().collect()
    }
}

impl Touches for RowPlan {
    fn needs(&self) -> Vec<Need> {
        self.reads().filter_map(|(database, table, columns)| needs::of_columns(database, table, columns)).collect()
    }
}

/// What changes a table or what is in it.
const WRITES: Privileges = Privileges::INSERT
    .union(Privileges::UPDATE)
    .union(Privileges::DELETE)
    .union(Privileges::CREATE)
    .union(Privileges::DROP)
    .union(Privileges::ALTER)
    .union(Privileges::INDEX)
    .union(Privileges::CREATE_VIEW)
    .union(Privileges::TRIGGER)
    .union(Privileges::REFERENCES)
    .union(Privileges::LOCK_TABLES);

impl Session {
    /// Lets a bound query or change be run, if the session may do all that it does.
    ///
    /// # Errors
    /// Those of [`Subject::check`]; 1099 and 1100 under LOCK TABLES.
    pub(crate) fn authorize<T: Touches>(&self, value: T) -> SqlResult<Authorized<T>> {
        self.check_needs(&value.needs())?;
        if self.table_locks.is_some() {
            value.check_locks(self)?;
        }
        Ok(Authorized(value))
    }

    /// Whether all needs are met.
    ///
    /// # Errors
    /// Those of [`Subject::check`]; 1044 for changes in databases whose tables are made when they are read.
    pub(crate) fn check_needs(&self, needs: &[Need]) -> SqlResult<()> {
        let accounts = self.shared.accounts.load_now();
        let globals = self.shared.globals.load_values();
        let subject = Subject {
            account: &self.account,
            client_host: self.client_host(),
            access: &self.access,
            accounts: &accounts,
            all_roles: Values(&globals).on(ids::ACTIVATE_ALL_ROLES_ON_LOGIN),
        };
        for need in needs {
            if self.is_public(need)? {
                if let Some(need) = process_need(need) {
                    subject.check([&need])?;
                }
                continue;
            }
            subject.check([need])?;
            self.check_system_table(need)?;
        }
        Ok(())
    }

    /// Whether everybody may do it: read what the server makes for each session.
    fn is_public(&self, need: &Need) -> SqlResult<bool> {
        let (Some(database), Some(table)) = (need.database_name(), need.table_name()) else { return Ok(false) };
        if database == crate::query::RowsTable::DATABASE {
            return Ok(true);
        }
        if squall_system_tables::virtual_database(database).is_none() {
            return Ok(false);
        }
        let reads = need.privileges().without(Privileges::SELECT.union(Privileges::SHOW_VIEW)).is_empty();
        if reads {
            return Ok(squall_system_tables::is_public(database, table));
        }
        match self.shared.registry.virtual_table(database, table) {
            // What may be granted is another question.
            _ if need.privileges() == Privileges::GRANT_OPTION => Ok(false),
            Some(table) if table.takes_changes() => Ok(false),
            // TRUNCATE makes it forget.
            Some(table)
                if need.privileges() == Privileges::DROP
                    && squall_system_tables::is_counted_table(database, table.name()) =>
            {
                Ok(false)
            }
            _ => Err(self.database_denied(database)),
        }
    }

    fn check_system_table(&self, need: &Need) -> SqlResult<()> {
        match (need.database_name(), need.table_name()) {
            (Some(database), Some(table))
                if is_system_table(database, table) && need.privileges().intersects(WRITES) =>
            {
                let word = need.privileges().names().join(", ");
                Err(self.table_denied(if need.command.is_empty() { &word } else { need.command }, table))
            }
            _ => Ok(()),
        }
    }

    /// The host that the client comes from.
    pub(crate) fn client_host(&self) -> &str {
        self.user.rsplit_once('@').map_or("", |(_, host)| host)
    }

    pub(crate) fn table_denied(&self, command: &str, table: &str) -> SqlError {
        SqlError::new(ErrorCode::TableAccessDenied, &[&command, &self.account.user, &self.client_host(), &table])
    }

    pub(crate) fn database_denied(&self, database: &str) -> SqlError {
        let (user, host) = (&self.account.user, &self.account.host);
        SqlError::new(ErrorCode::DbAccessDenied, &[user, host, &database])
    }
}
