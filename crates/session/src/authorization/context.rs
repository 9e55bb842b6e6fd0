//! The account whose privileges count in a session, and the default database for names.

use crate::database::Shared;
use crate::session::TemporaryTables;
use squall_catalog::{AccessMap, AccountKey, Authorized, LockedNames, Need, Subject, TableDef, Touches};
use squall_definitions::execute::QualifiedName;
use squall_parser::ast::{AccountName, ObjectName};
use squall_registry::VirtualTable;
use squall_statement_context::StatementContext;
use squall_system_tables::{Source, Who, with_subject};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

/// Longest name of an account (`CHAR_LENGTH(User)`), and of its host, in characters.
const USER_CHARACTERS_MAX: usize = 32;
const HOST_CHARACTERS_MAX: usize = 255;

/// Whose rights count in a session, and what names mean to it: its account, its default database and its TEMPORARY tables.
///
/// It is borrowed of the session for as long as something is looked up; nothing is changed through it. What only reads the catalog in
/// the name of a session takes this instead of the session: privileges of statements, SHOW, DESCRIBE. MySQL has the term.
#[derive(Clone, Copy)]
pub(crate) struct SecurityContext<'s> {
    pub shared: &'s Arc<Shared>,
    /// The account that matched.
    pub account: &'s AccountKey,
    /// `USER()`.
    pub user: &'s str,
    /// What the account may do with the roles that are active.
    pub access: &'s Arc<AccessMap>,
    pub default_database: Option<&'s Arc<str>>,
    pub temporary_tables: &'s TemporaryTables,
    /// What LOCK TABLES lets be used, where it is in force.
    pub locked: Option<&'s LockedNames>,
}

impl<'s> SecurityContext<'s> {
    /// Asks something of the session as the subject of privileges.
    fn with_subject<T>(&self, ask: impl FnOnce(&Subject<'_>) -> T) -> T {
        let who =
            Who { account: self.account, client_host: self.client_host(), access: self.access, locked: self.locked };
        with_subject(self.shared, who, ask)
    }

    /// Lets a bound query or change be run, if the session may do all that it does.
    ///
    /// # Errors
    /// Those of [`Subject::authorize`].
    pub fn authorize<T: Touches>(&self, value: T) -> SqlResult<Authorized<T>> {
        self.with_subject(|subject| subject.authorize(value))
    }

    /// Whether all needs are met.
    ///
    /// # Errors
    /// Those of [`Subject::check`].
    pub fn check_needs(&self, needs: &[Need]) -> SqlResult<()> {
        self.with_subject(|subject| subject.check(needs))
    }

    /// The user as the client named it.
    pub fn client_user(&self) -> &'s str {
        self.user.rsplit_once('@').map_or(self.user, |(user, _)| user)
    }

    /// The host that the client comes from.
    pub fn client_host(&self) -> &'s str {
        self.user.rsplit_once('@').map_or("", |(_, host)| host)
    }

    /// 1142: a command is denied for a table.
    pub fn table_denied(&self, command: &str, table: &str) -> SqlError {
        self.with_subject(|subject| subject.table_denied(command, table))
    }

    /// 1044: a database may not be used.
    pub fn database_denied(&self, database: &str) -> SqlError {
        self.with_subject(|subject| subject.database_denied(database))
    }

    /// The name with its database.
    ///
    /// # Errors
    /// 1046 where there is no default database.
    pub fn qualify(&self, name: &ObjectName) -> SqlResult<QualifiedName> {
        match (&name.schema, self.default_database) {
            (Some(schema), _) => Ok((schema.to_string(), name.name.to_string())),
            (None, Some(database)) => Ok((database.to_string(), name.name.to_string())),
            (None, None) => Err(SqlError::new(ErrorCode::NoDatabase, &[])),
        }
    }

    /// The TEMPORARY table that a name stands for.
    pub fn temporary_table_named(&self, name: &ObjectName) -> Option<Arc<TableDef>> {
        if self.temporary_tables.is_empty() {
            return None;
        }
        let (database, table) = self.qualify(name).ok()?;
        self.temporary_tables.get(&(database, table)).cloned()
    }

    /// The virtual table that a name stands for, unless a table is in front of it.
    pub fn virtual_table_named(&self, name: &ObjectName) -> Option<Arc<dyn VirtualTable>> {
        let database = name.schema.as_deref().or(self.default_database.map(|name| &**name))?;
        if self.shared.catalog.load().entry(database, &name.name).is_some() {
            return None;
        }
        self.shared.registry.virtual_table(database, &name.name).cloned()
    }

    /// The account that a name stands for.
    ///
    /// # Errors
    /// 1470 for names that are too long.
    pub fn account_key(&self, name: &AccountName) -> SqlResult<AccountKey> {
        let key = match name {
            AccountName::Named { user, host } => {
                AccountKey::new(&**user, host.as_deref().unwrap_or("%").to_lowercase())
            }
            AccountName::CurrentUser => self.account.clone(),
            AccountName::CurrentRole => return Err(SqlError::unsupported("CURRENT_ROLE")),
        };
        if key.user.chars().count() > USER_CHARACTERS_MAX {
            let error = ErrorCode::WrongStringLength;
            return Err(SqlError::new(error, &[&key.user, &"user name", &USER_CHARACTERS_MAX]));
        }
        if key.host.chars().count() > HOST_CHARACTERS_MAX {
            let error = ErrorCode::WrongStringLength;
            return Err(SqlError::new(error, &[&key.host, &"host name", &HOST_CHARACTERS_MAX]));
        }
        Ok(key)
    }

    /// The account that a definition names as its definer: the session's own, where it names none.
    ///
    /// # Errors
    /// Those of [`SecurityContext::account_key`].
    pub fn definer(&self, given: Option<&AccountName>) -> SqlResult<AccountKey> {
        match given {
            Some(definer @ AccountName::Named { .. }) => self.account_key(definer),
            _ => Ok(self.account.clone()),
        }
    }

    /// What rows of information_schema are made from, with the session's grants.
    pub fn source<'a>(&'a self, context: &'a Arc<StatementContext>) -> Source<'a> {
        Source {
            state: &self.shared.state,
            server: &**self.shared,
            catalog: self.shared.catalog.load(),
            access: self.access.clone(),
            context,
        }
    }
}
