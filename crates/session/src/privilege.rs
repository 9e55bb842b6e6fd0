//! Whether the session may do what it is asked.

use crate::ddl::execute::QualifiedName;
use crate::procedure::SessionStatements;
use crate::session::Session;
use squall_catalog::{AccessMap, Privileges};
use squall_parser::ast::{AlterAction, CreateTable, ObjectName, Statement};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Whether a table holds the jobs, which the job system alone changes.
pub(crate) fn is_of_jobs(database: &str, table: &str) -> bool {
    database == "mysql" && matches!(table, "job" | "job_output")
}

impl Session {
    /// Reads the session's grants anew if its account has changed, or one of its roles.
    pub(crate) fn refresh_access(&mut self) {
        let accounts = self.shared.accounts.load_now();
        if accounts.version == self.accounts_seen {
            return;
        }
        self.accounts_seen = accounts.version;
        // Those of others are no reason to make plans anew.
        if !self.access.holds(&accounts) {
            self.access = Arc::new(AccessMap::new(&accounts, &self.account, &self.active_roles));
            self.password_expired = accounts.get(&self.account).is_some_and(|account| account.password_expired);
        }
    }

    /// 1040 at the place beyond `max_connections`, 1227 at the administrative interface, unless the privilege for it is
    /// there.
    pub(crate) fn check_may_connect(&self) -> SqlResult<()> {
        if self.info.beyond_limit && !self.access.has_dynamic("CONNECTION_ADMIN") {
            self.shared.processes.refused_connections.fetch_add(1, Ordering::Relaxed);
            return Err(SqlError::new(ErrorCode::TooManyConnections, &[]));
        }
        if self.info.administrative {
            self.require_dynamic("SERVICE_CONNECTION_ADMIN", "SERVICE_CONNECTION_ADMIN")?;
        }
        Ok(())
    }

    /// Forgets the grants, because active roles changed.
    pub(crate) fn rebuild_access(&mut self) {
        let accounts = self.shared.accounts.load_now();
        self.accounts_seen = accounts.version;
        self.access = Arc::new(AccessMap::new(&accounts, &self.account, &self.active_roles));
        self.password_expired = accounts.get(&self.account).is_some_and(|account| account.password_expired);
        self.settings_version += 1;
        self.nested = Some(Arc::new(SessionStatements::new(self)));
    }

    /// 1142 unless the privileges are there for a table.
    pub(crate) fn access_to_table(&self, name: &QualifiedName, needed: Privileges, command: &str) -> SqlResult<()> {
        if self.access.on_table(&name.0, &name.1).contains(needed) {
            return Ok(());
        }
        Err(self.table_denied(command, &name.1))
    }

    pub(crate) fn table_denied(&self, command: &str, table: &str) -> SqlError {
        let (user, host) = (&self.account.user, &self.account.host);
        SqlError::new(ErrorCode::TableAccessDenied, &[&command, user, host, &table])
    }

    pub(crate) fn database_denied(&self, database: &str) -> SqlError {
        let (user, host) = (&self.account.user, &self.account.host);
        SqlError::new(ErrorCode::DbAccessDenied, &[user, host, &database])
    }

    fn access_to_database(&self, database: &str, needed: Privileges) -> SqlResult<()> {
        if self.access.on_database(database).contains(needed) {
            return Ok(());
        }
        Err(self.database_denied(database))
    }

    /// 1227 unless a static or a dynamic privilege is there.
    pub(crate) fn require_admin(&self, needed: Privileges, dynamic: &str, names: &str) -> SqlResult<()> {
        if self.access.global.contains(needed) || (!dynamic.is_empty() && self.access.has_dynamic(dynamic)) {
            return Ok(());
        }
        Err(SqlError::new(ErrorCode::SpecificAccessDenied, &[&names]))
    }

    /// 1227 unless a dynamic privilege is there.
    pub(crate) fn require_dynamic(&self, dynamic: &str, names: &str) -> SqlResult<()> {
        if self.access.has_dynamic(dynamic) {
            return Ok(());
        }
        Err(SqlError::new(ErrorCode::SpecificAccessDenied, &[&names]))
    }

    /// 1290 when the server is read-only for this session; 1792 in a read-only transaction.
    pub(crate) fn check_writable(&self) -> SqlResult<()> {
        use crate::settings::{Values, ids};
        if self.transaction.is_open() && self.transaction.is_read_only() {
            return Err(SqlError::new(ErrorCode::ReadOnlyTransaction, &[]));
        }
        let globals = self.shared.globals.load_values();
        let values = Values(&globals);
        if values.on(ids::SUPER_READ_ONLY) {
            return Err(SqlError::new(ErrorCode::OptionPreventsStatement, &[&"--super-read-only"]));
        }
        if values.on(ids::READ_ONLY) && !self.access.has_dynamic("CONNECTION_ADMIN") {
            return Err(SqlError::new(ErrorCode::OptionPreventsStatement, &[&"--read-only"]));
        }
        Ok(())
    }

    fn table_command(&self, name: &ObjectName, needed: Privileges, command: &str) -> SqlResult<()> {
        let name = self.qualify(name)?;
        if crate::information_schema::virtual_database(&name.0).is_some() {
            return Err(self.database_denied(&name.0));
        }
        self.access_to_table(&name, needed, command)?;
        if is_of_jobs(&name.0, &name.1) {
            return Err(self.table_denied(command, &name.1));
        }
        if self.shared.registry.virtual_table(&name.0, &name.1).is_some() {
            match command {
                "ALTER" | "INDEX" => return Err(self.table_denied(command, &name.1)),
                command if command.starts_with("CREATE") => {
                    return Err(SqlError::new(ErrorCode::TableExists, &[&name.1]));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn is_virtual_named(&self, name: &ObjectName) -> bool {
        self.qualify(name).is_ok_and(|name| self.shared.registry.virtual_table(&name.0, &name.1).is_some())
    }

    /// Whether CREATE TABLE IF NOT EXISTS names a table whose rows are made when they are read.
    pub(crate) fn is_virtual_already(&self, create: &CreateTable) -> bool {
        let exists = self.is_virtual_named(&create.name);
        exists && create.if_not_exists && !create.temporary && !create.or_replace
    }

    /// Privileges of CREATE, ALTER, DROP, RENAME and TRUNCATE.
    pub(crate) fn check_definition_privileges(&self, statement: &Statement) -> SqlResult<()> {
        match statement {
            Statement::CreateDatabase(create) => self.access_to_database(&create.name, Privileges::CREATE),
            Statement::AlterDatabase(alter) => match (&alter.name, &self.database) {
                (Some(name), _) => self.access_to_database(name, Privileges::ALTER),
                (None, Some(database)) => self.access_to_database(database, Privileges::ALTER),
                (None, None) => Ok(()),
            },
            Statement::DropDatabase(drop) => self.access_to_database(&drop.name, Privileges::DROP),
            Statement::CreateTable(create) if create.temporary => {
                let name = self.qualify(&create.name)?;
                self.access_to_database(&name.0, Privileges::CREATE_TEMPORARY_TABLES)
            }
            Statement::CreateTable(create) if self.is_virtual_already(create) => Ok(()),
            Statement::CreateTable(create) => self.table_command(&create.name, Privileges::CREATE, "CREATE"),
            Statement::AlterTable(alter) => {
                if self.temporary_table_named(&alter.name).is_some() {
                    return Ok(());
                }
                self.table_command(&alter.name, Privileges::ALTER, "ALTER")?;
                for action in &alter.actions {
                    if let AlterAction::RenameTable(to) = action {
                        self.table_command(&alter.name, Privileges::DROP, "DROP")?;
                        self.table_command(to, Privileges::CREATE.union(Privileges::INSERT), "CREATE")?;
                    }
                }
                Ok(())
            }
            Statement::DropTable(drop) => {
                let own = |name: &&ObjectName| {
                    self.temporary_table_named(name).is_none() && !(drop.if_exists && self.is_virtual_named(name))
                };
                drop.names.iter().filter(own).try_for_each(|name| self.table_command(name, Privileges::DROP, "DROP"))
            }
            Statement::TruncateTable(name) if self.is_counted(name)? => {
                self.access_to_table(&self.qualify(name)?, Privileges::DROP, "DROP")
            }
            Statement::TruncateTable(name) => self.table_command(name, Privileges::DROP, "DROP"),
            Statement::RenameTable(rename) => rename.renames.iter().try_for_each(|(from, to)| {
                self.table_command(from, Privileges::ALTER.union(Privileges::DROP), "ALTER")?;
                self.table_command(to, Privileges::CREATE.union(Privileges::INSERT), "CREATE")
            }),
            Statement::CreateIndex(create) => self.table_command(&create.table, Privileges::INDEX, "INDEX"),
            Statement::DropIndex(drop) => self.table_command(&drop.table, Privileges::INDEX, "INDEX"),
            Statement::CreateView(create) => {
                self.table_command(&create.name, Privileges::CREATE_VIEW, "CREATE VIEW")?;
                if create.alter || create.or_replace {
                    self.table_command(&create.name, Privileges::DROP, "DROP")?;
                }
                Ok(())
            }
            Statement::DropView(drop) => {
                drop.names.iter().try_for_each(|name| self.table_command(name, Privileges::DROP, "DROP"))
            }
            _ => Ok(()),
        }
    }
}
