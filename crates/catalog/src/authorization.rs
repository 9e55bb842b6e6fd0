//! The needs of a statement, and the one function that checks them.
//!
//! The code that knows what names mean (the binder for rows, the session for definitions and commands) records a [`Need`] for
//! each object that a statement uses: the object, the privileges, and the account. [`Subject::check`] compares them with the
//! accounts' grants as they are now. It must not know what a statement is.

use crate::access::AccessMap;
use crate::account::{AccountKey, Accounts};
use crate::locked_names::LockedNames;
use crate::privilege::Privileges;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

/// As whom an object is touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Invoker {
    /// The session's account with its active roles.
    #[default]
    Session,
    /// The definer of a view with `SQL SECURITY DEFINER`, with its default roles.
    Definer(AccountKey),
}

/// The object of a need.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// The server: static privileges on `*.*`, any of which will do together with the dynamic ones, by name.
    Server {
        /// Any of them will do.
        dynamic: &'static [&'static str],
    },
    /// A database.
    Database(Arc<str>),
    /// A whole table or view.
    Table(Arc<str>, Arc<str>),
    /// A table or view of which no column is named: a privilege on any of them will do.
    AnyColumn(Arc<str>, Arc<str>),
    /// Columns of a table or view, in the order in which they are named.
    Columns(Arc<str>, Arc<str>, Vec<Arc<str>>),
    /// Columns of a table or view whose existence the account may know, so that errors name a column.
    KnownColumns(Arc<str>, Arc<str>, Vec<Arc<str>>),
    /// A procedure or function.
    Routine {
        /// Its database.
        database: Arc<str>,
        /// Whether it is a function.
        is_function: bool,
        /// Its name.
        name: Arc<str>,
    },
}

/// How many of the privileges have to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needed {
    /// Each of them.
    All(Privileges),
    /// One of them.
    Any(Privileges),
}

/// One object that a statement touches, and what that needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// As whom.
    pub invoker: Invoker,
    /// What.
    pub object: Object,
    /// The privileges.
    pub needed: Needed,
    /// The text of the error for the denied action: a command, or if that is empty the missing privileges; for the server the
    /// privileges' names.
    pub command: &'static str,
    /// The outermost view that the object is inside of, which the error then speaks of.
    pub inside_view: Option<(Arc<str>, Arc<str>)>,
}

impl Need {
    /// A need of the session's own account.
    pub fn new(object: Object, privileges: Privileges, command: &'static str) -> Need {
        Need { invoker: Invoker::Session, object, needed: Needed::All(privileges), command, inside_view: None }
    }

    /// Privileges on a table.
    pub fn table(database: &str, table: &str, privileges: Privileges, command: &'static str) -> Need {
        Need::new(Object::Table(database.into(), table.into()), privileges, command)
    }

    /// Privileges on a database.
    pub fn database(database: &str, privileges: Privileges) -> Need {
        Need::new(Object::Database(database.into()), privileges, "")
    }

    /// One of several static privileges or dynamic ones; `names` is what error 1227 asks for.
    pub fn server(any: Privileges, dynamic: &'static [&'static str], names: &'static str) -> Need {
        Need { needed: Needed::Any(any), ..Need::new(Object::Server { dynamic }, any, names) }
    }

    /// The database of what is touched.
    pub fn database_name(&self) -> Option<&str> {
        match &self.object {
            Object::Server { .. } => None,
            Object::Database(database)
            | Object::Table(database, _)
            | Object::AnyColumn(database, _)
            | Object::Columns(database, ..)
            | Object::KnownColumns(database, ..)
            | Object::Routine { database, .. } => Some(database),
        }
    }

    /// The table that is touched.
    pub fn table_name(&self) -> Option<&str> {
        match &self.object {
            Object::Table(_, table)
            | Object::AnyColumn(_, table)
            | Object::Columns(_, table, _)
            | Object::KnownColumns(_, table, _) => Some(table),
            _ => None,
        }
    }

    /// The privileges asked for.
    pub fn privileges(&self) -> Privileges {
        match self.needed {
            Needed::All(privileges) | Needed::Any(privileges) => privileges,
        }
    }
}

impl Needed {
    fn is_met_by(self, own: Privileges) -> bool {
        match self {
            Needed::All(privileges) => own.contains(privileges),
            Needed::Any(privileges) => own.intersects(privileges),
        }
    }
}

/// The rule for a table that the server makes, beside grants or instead of them.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerTableRule {
    /// Grants decide.
    Grants,
    /// No privilege is needed.
    Everybody,
    /// This is asked instead.
    Instead(Need),
    /// No account may: the database is closed (1044).
    ClosedDatabase,
    /// No account may, whatever is granted (1142).
    ClosedTable,
}

/// Tells the tables that the server makes from those of users.
pub trait ServerTables: std::fmt::Debug {
    /// The privileges that a need requires for its object.
    fn rule(&self, need: &Need) -> ServerTableRule;
}

/// Where the server makes no tables.
#[derive(Debug)]
pub struct NoServerTables;

impl ServerTables for NoServerTables {
    fn rule(&self, _: &Need) -> ServerTableRule {
        ServerTableRule::Grants
    }
}

/// The account that asks.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The account that matched.
    pub account: &'a AccountKey,
    /// The host that the client comes from, as errors about tables show it.
    pub client_host: &'a str,
    /// The grants of the account with its active roles.
    pub access: &'a AccessMap,
    /// All accounts, for definers.
    pub accounts: &'a Accounts,
    /// Whether definers have all of their roles and not only the default ones (`activate_all_roles_on_login`).
    pub all_roles: bool,
    /// Rules of tables that the server makes.
    pub server_tables: &'a dyn ServerTables,
    /// The tables that LOCK TABLES allows, while it is in force.
    pub locked: Option<&'a LockedNames>,
}

impl Subject<'_> {
    /// Whether all of it may be done.
    ///
    /// # Errors
    /// MySQL's for the first need that is not met: 1142, 1143, 1044, 1227, 1370; 1356 inside of a view, where a definer that
    /// is gone is 1449, or 1045 for accounts that may not know; 1044 for changes in databases whose tables are made when they
    /// are read.
    pub fn check<'n>(&self, needs: impl IntoIterator<Item = &'n Need>) -> SqlResult<()> {
        needs.into_iter().try_for_each(|need| self.check_one(need))
    }

    fn check_one(&self, need: &Need) -> SqlResult<()> {
        match self.server_tables.rule(need) {
            ServerTableRule::Grants => self.check_grants(need),
            ServerTableRule::Everybody => Ok(()),
            ServerTableRule::Instead(other) => self.check_grants(&other),
            ServerTableRule::ClosedDatabase => Err(self.database_denied(need.database_name().unwrap_or_default())),
            ServerTableRule::ClosedTable => {
                self.check_grants(need)?;
                let word = need.privileges().names().join(", ");
                let command = if need.command.is_empty() { &word } else { need.command };
                Err(self.table_denied(command, need.table_name().unwrap_or_default()))
            }
        }
    }

    /// 1142 for the session's account.
    pub fn table_denied(&self, command: &str, table: &str) -> SqlError {
        SqlError::new(ErrorCode::TableAccessDenied, &[&command, &self.account.user, &self.client_host, &table])
    }

    /// 1044 for the session's account.
    pub fn database_denied(&self, database: &str) -> SqlError {
        SqlError::new(ErrorCode::DbAccessDenied, &[&self.account.user, &self.account.host, &database])
    }

    fn check_grants(&self, need: &Need) -> SqlResult<()> {
        let denied = match &need.invoker {
            Invoker::Session => self.denied(self.access, need),
            Invoker::Definer(definer) => self.denied(&self.access_of_definer(definer)?, need),
        };
        match (denied, &need.inside_view) {
            (None, _) => Ok(()),
            (Some(error), None) => Err(error),
            (Some(_), Some((database, view))) => Err(SqlError::new(ErrorCode::ViewInvalid, &[database, view])),
        }
    }

    fn access_of_definer(&self, definer: &AccountKey) -> SqlResult<AccessMap> {
        let Some(account) = self.accounts.get(definer) else {
            return Err(match self.access.has_dynamic("SET_ANY_DEFINER") {
                true => SqlError::new(ErrorCode::NoSuchUser, &[&definer.user, &definer.host]),
                false => self.accounts.access_denied(self.account),
            });
        };
        let roles = self.accounts.roles_at_first(account, self.all_roles);
        Ok(AccessMap::new(self.accounts, definer, &roles.into()))
    }

    /// The error of a need that grants do not meet.
    fn denied(&self, access: &AccessMap, need: &Need) -> Option<SqlError> {
        // A definer is named where it asks for itself.
        let (user, host) = match &need.invoker {
            Invoker::Session => (&self.account.user, self.client_host),
            Invoker::Definer(definer) => (&definer.user, &*definer.host),
        };
        let table_denied = |database: &str, table: &str, own: Privileges| {
            let missing = need.privileges().without(own).names().join(", ");
            let command = if need.command.is_empty() { &missing } else { need.command };
            // The parent of a foreign key is named with its database.
            let qualified = format!("{database}.{table}");
            let table = if need.privileges() == Privileges::REFERENCES { &qualified } else { table };
            SqlError::new(ErrorCode::TableAccessDenied, &[&command, user, &host, &table])
        };
        match &need.object {
            Object::Server { dynamic } => {
                let met = need.needed.is_met_by(access.global) || dynamic.iter().any(|name| access.has_dynamic(name));
                (!met).then(|| SqlError::new(ErrorCode::SpecificAccessDenied, &[&need.command]))
            }
            Object::Database(database) => {
                (!need.needed.is_met_by(access.on_database(database))).then(|| self.database_denied(database))
            }
            Object::Table(database, table) => {
                let own = access.on_table(database, table);
                (!need.needed.is_met_by(own)).then(|| table_denied(database, table, own))
            }
            Object::AnyColumn(database, table) => {
                let own = access.on_any_column(database, table);
                (!need.needed.is_met_by(own)).then(|| table_denied(database, table, own))
            }
            Object::Columns(database, table, columns) | Object::KnownColumns(database, table, columns) => {
                if need.needed.is_met_by(access.on_table(database, table)) {
                    return None;
                }
                let own = access.on_any_column(database, table);
                if !need.needed.is_met_by(own) && matches!(need.object, Object::Columns(..)) {
                    return Some(table_denied(database, table, own));
                }
                let missing =
                    columns.iter().find(|column| !need.needed.is_met_by(access.on_column(database, table, column)))?;
                let arguments: [&dyn std::fmt::Display; 5] = [&need.command, user, &host, missing, table];
                Some(SqlError::new(ErrorCode::ColumnAccessDenied, &arguments))
            }
            Object::Routine { database, is_function, name } => {
                let met = need.needed.is_met_by(access.on_routine(database, *is_function, name));
                let shown = format!("{database}.{name}");
                (!met).then(|| SqlError::new(ErrorCode::ProcAccessDenied, &[&need.command, user, &host, &shown]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::{AccountDef, TableGrant};
    use crate::active_grants::ActiveGrants;
    use std::collections::BTreeMap;

    fn account(user: &str) -> AccountDef {
        AccountDef { user: user.into(), host: "%".into(), ..AccountDef::default() }
    }

    fn code(accounts: &Accounts, user: &str, need: &Need) -> Option<u16> {
        let key = AccountKey::new(user, "%");
        let access = AccessMap::new(accounts, &key, &ActiveGrants::default());
        let subject = Subject {
            account: &key,
            client_host: "client",
            access: &access,
            accounts,
            all_roles: false,
            server_tables: &NoServerTables,
            locked: None,
        };
        subject.check([need]).err().map(|error| error.code)
    }

    #[test]
    fn columns_are_asked_for_one_by_one_and_definers_for_themselves() {
        let mut accounts = Accounts::default();
        let (mut reader, mut definer) = (account("reader"), account("definer"));
        let columns = BTreeMap::from([("a".to_string(), Privileges::SELECT)]);
        reader.tables.insert(("d".into(), "t".into()), TableGrant { table: Privileges::NONE, columns });
        definer.databases.insert("d".into(), Privileges::SELECT);
        for account in [reader, definer] {
            accounts.accounts.insert(account.key(), Arc::new(account));
        }
        let of = |columns: &[&str]| {
            let columns = columns.iter().map(|column| Arc::from(*column)).collect();
            Need::new(Object::Columns("d".into(), "t".into(), columns), Privileges::SELECT, "SELECT")
        };
        assert_eq!(code(&accounts, "reader", &of(&["A"])), None);
        assert_eq!(code(&accounts, "reader", &of(&["a", "b"])), Some(1143));
        assert_eq!(code(&accounts, "nobody", &of(&["a"])), Some(1142));
        let any = Need { object: Object::AnyColumn("d".into(), "t".into()), ..of(&[]) };
        assert_eq!(code(&accounts, "reader", &any), None);
        let view = Some(("d".into(), "v".into()));
        let inside = |definer: &str| Need {
            invoker: Invoker::Definer(AccountKey::new(definer, "%")),
            inside_view: view.clone(),
            ..of(&["b"])
        };
        assert_eq!(code(&accounts, "nobody", &inside("definer")), None);
        assert_eq!(code(&accounts, "definer", &inside("reader")), Some(1356));
        assert_eq!(code(&accounts, "nobody", &inside("gone")), Some(1045));
    }
}
