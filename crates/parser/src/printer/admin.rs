//! Administration, variables, transactions and prepared statements.

use super::*;

impl Printer {
    pub(super) fn set(&mut self, set: &Set) {
        self.put("SET ");
        match set {
            Set::Items(items) => self.set_items(items),
            Set::Transaction { scope, characteristics } => {
                self.scope(*scope);
                self.put("TRANSACTION ");
                self.characteristics_of(characteristics);
            }
            Set::Password(password) => {
                self.put("PASSWORD");
                if let Some(user) = &password.user {
                    self.put(" FOR ");
                    self.account_name(user);
                }
                match &password.password {
                    Credential::Random => self.put(" TO RANDOM"),
                    Credential::Password(text) | Credential::Hash(text) => {
                        self.put(" = ");
                        self.string(text);
                    }
                }
                self.optional_string(" REPLACE ", &password.replace);
                self.put_if(password.retain_current, " RETAIN CURRENT PASSWORD");
            }
            Set::Role(roles) => {
                self.put("ROLE ");
                self.role_set(roles);
            }
            Set::DefaultRole(set) => {
                self.put("DEFAULT ROLE ");
                self.role_set(&set.roles);
                if !set.users.is_empty() {
                    self.put(" TO ");
                    self.accounts(&set.users);
                }
            }
            Set::ResourceGroup { name, threads } => {
                self.put("RESOURCE GROUP ");
                self.ident(name);
                if !threads.is_empty() {
                    self.put(" FOR ");
                    self.list(threads, ",", |printer, thread| printer.number(thread));
                }
            }
            Set::Statement { items, statement } => {
                self.put("STATEMENT ");
                self.set_items(items);
                self.put(" FOR ");
                self.statement(statement);
            }
            Set::SessionAuthorization(account) => {
                self.put("SESSION AUTHORIZATION ");
                self.account_name(account);
            }
        }
    }

    fn set_items(&mut self, items: &[SetItem]) {
        self.list(items, ", ", |printer, item| match item {
            SetItem::User { name, value } => {
                printer.user_variable(name);
                printer.put(" = ");
                printer.expr(value);
            }
            SetItem::System { variable, value } => {
                // A name without scope may be a local variable's, which has no `@@`.
                let like_column = variable.prefix.as_ref().is_some_and(|prefix| prefix.is("NEW") || prefix.is("OLD"));
                printer.put_if(variable.scope.is_some() || like_column, "@@");
                printer.system_variable(variable);
                printer.put(" = ");
                printer.expr(value);
            }
            SetItem::NewColumn { column, value } => {
                printer.column_name(column);
                printer.put(" = ");
                printer.expr(value);
            }
            SetItem::Names { charset: None, .. } => printer.put("NAMES DEFAULT"),
            SetItem::Names { charset: Some(charset), collation } => {
                printer.put("NAMES ");
                printer.name_or_string(charset);
                if let Some(collation) = collation {
                    printer.put(" COLLATE ");
                    printer.name_or_string(collation);
                }
            }
            SetItem::CharacterSet(None) => printer.put("CHARACTER SET DEFAULT"),
            SetItem::CharacterSet(Some(charset)) => {
                printer.put("CHARACTER SET ");
                printer.name_or_string(charset);
            }
        });
    }

    fn characteristics_of(&mut self, characteristics: &TransactionCharacteristics) {
        if let Some(isolation) = characteristics.isolation {
            self.put("ISOLATION LEVEL ");
            self.put(match isolation {
                IsolationLevel::ReadUncommitted => "READ UNCOMMITTED",
                IsolationLevel::ReadCommitted => "READ COMMITTED",
                IsolationLevel::RepeatableRead => "REPEATABLE READ",
                IsolationLevel::Serializable => "SERIALIZABLE",
            });
            self.put_if(characteristics.access.is_some(), ", ");
        }
        if let Some(access) = characteristics.access {
            self.access(access);
        }
    }

    fn access(&mut self, access: AccessMode) {
        self.put(match access {
            AccessMode::ReadOnly => "READ ONLY",
            AccessMode::ReadWrite => "READ WRITE",
        });
    }

    pub(super) fn transaction(&mut self, transaction: &Transaction) {
        match transaction {
            Transaction::Begin { consistent_snapshot, access } => {
                self.put("START TRANSACTION");
                self.put_if(*consistent_snapshot, " WITH CONSISTENT SNAPSHOT");
                if let Some(access) = access {
                    self.put(if *consistent_snapshot { ", " } else { " " });
                    self.access(*access);
                }
            }
            Transaction::Commit(completion) => {
                self.put("COMMIT");
                self.completion(*completion);
            }
            Transaction::Rollback(completion) => {
                self.put("ROLLBACK");
                self.completion(*completion);
            }
            Transaction::Savepoint(name) => {
                self.put("SAVEPOINT ");
                self.ident(name);
            }
            Transaction::RollbackTo(name) => {
                self.put("ROLLBACK TO SAVEPOINT ");
                self.ident(name);
            }
            Transaction::ReleaseSavepoint(name) => {
                self.put("RELEASE SAVEPOINT ");
                self.ident(name);
            }
            Transaction::Xa(xa) => self.xa(xa),
        }
    }

    fn completion(&mut self, completion: Completion) {
        self.put(match completion.chain {
            None => "",
            Some(true) => " AND CHAIN",
            Some(false) => " AND NO CHAIN",
        });
        self.put(match completion.release {
            None => "",
            Some(true) => " RELEASE",
            Some(false) => " NO RELEASE",
        });
    }

    fn xa(&mut self, xa: &Xa) {
        let (word, xid, after) = match xa {
            Xa::Start { xid, join } => (
                "START ",
                xid,
                match join {
                    None => "",
                    Some(XaJoin::Join) => " JOIN",
                    Some(XaJoin::Resume) => " RESUME",
                },
            ),
            Xa::End { xid, suspend } => (
                "END ",
                xid,
                match suspend {
                    None => "",
                    Some(XaSuspend::Suspend) => " SUSPEND",
                    Some(XaSuspend::ForMigrate) => " SUSPEND FOR MIGRATE",
                },
            ),
            Xa::Prepare(xid) => ("PREPARE ", xid, ""),
            Xa::Commit { xid, one_phase } => ("COMMIT ", xid, if *one_phase { " ONE PHASE" } else { "" }),
            Xa::Rollback(xid) => ("ROLLBACK ", xid, ""),
            Xa::Recover { convert_xid } => {
                return self.put(if *convert_xid { "XA RECOVER CONVERT XID" } else { "XA RECOVER" });
            }
        };
        self.put("XA ");
        self.put(word);
        self.sql_string(&xid.global);
        self.put(",");
        self.sql_string(&xid.branch);
        self.put(",");
        self.number(xid.format);
        self.put(after);
    }

    pub(super) fn lock_tables(&mut self, lock: &LockTables) {
        self.put("LOCK TABLES ");
        self.list(&lock.locks, ",", |printer, lock| {
            printer.object_name(&lock.table);
            if let Some(alias) = &lock.alias {
                printer.put(" AS ");
                printer.ident_or_string(alias);
            }
            printer.put(match lock.kind {
                TableLockKind::Read => " READ",
                TableLockKind::ReadLocal => " READ LOCAL",
                TableLockKind::Write => " WRITE",
                TableLockKind::LowPriorityWrite => " LOW_PRIORITY WRITE",
            });
        });
        self.lock_wait(lock.wait);
    }

    pub(super) fn explain(&mut self, explain: &Explain) {
        self.put("EXPLAIN ");
        self.put_if(explain.analyze, "ANALYZE ");
        self.put_if(explain.extended, "EXTENDED ");
        self.put_if(explain.partitions, "PARTITIONS ");
        if let Some(format) = &explain.format {
            self.put("FORMAT=");
            self.name_or_string(format);
            self.put(" ");
        }
        if let Some(variable) = &explain.into {
            self.put("INTO ");
            self.user_variable(variable);
            self.put(" ");
        }
        if let Some(schema) = &explain.schema {
            self.put("FOR SCHEMA ");
            self.ident(schema);
            self.put(" ");
        }
        match &explain.target {
            ExplainTarget::Statement(statement) => self.statement(statement),
            ExplainTarget::Connection(id) => {
                self.put("FOR CONNECTION ");
                self.expr(id);
            }
        }
    }

    pub(super) fn kill(&mut self, kill: &Kill) {
        self.put("KILL ");
        self.put_if(kill.soft, "SOFT ");
        self.put(if kill.kind == KillKind::Query { "QUERY " } else { "CONNECTION " });
        match &kill.target {
            KillTarget::Id { id, query_id } => {
                self.put_if(*query_id, "ID ");
                self.expr(id);
            }
            KillTarget::User(user) => {
                self.put("USER ");
                self.account_name(user);
            }
        }
    }

    pub(super) fn flush(&mut self, flush: &Flush) {
        self.put("FLUSH ");
        self.put_if(flush.local, "LOCAL ");
        self.list(&flush.targets, ", ", |printer, target| match target {
            FlushTarget::BinaryLogs => printer.put("BINARY LOGS"),
            FlushTarget::EngineLogs => printer.put("ENGINE LOGS"),
            FlushTarget::ErrorLogs => printer.put("ERROR LOGS"),
            FlushTarget::GeneralLogs => printer.put("GENERAL LOGS"),
            FlushTarget::RelayLogs { channel } => {
                printer.put("RELAY LOGS");
                printer.optional_string(" FOR CHANNEL ", channel);
            }
            FlushTarget::SlowLogs => printer.put("SLOW LOGS"),
            FlushTarget::Hosts => printer.put("HOSTS"),
            FlushTarget::Logs => printer.put("LOGS"),
            FlushTarget::OptimizerCosts => printer.put("OPTIMIZER_COSTS"),
            FlushTarget::Privileges => printer.put("PRIVILEGES"),
            FlushTarget::Status => printer.put("STATUS"),
            FlushTarget::UserResources => printer.put("USER_RESOURCES"),
            FlushTarget::Tables { names, lock } => {
                printer.put("TABLES ");
                printer.list(names, ",", Self::object_name);
                printer.put(match lock {
                    None => "",
                    Some(FlushLock::ReadLock) => " WITH READ LOCK",
                    Some(FlushLock::ReadLockDisableCheckpoint) => " WITH READ LOCK AND DISABLE CHECKPOINT",
                    Some(FlushLock::Export) => " FOR EXPORT",
                });
            }
            FlushTarget::Other(name) => printer.put(name),
        });
    }

    pub(super) fn reset(&mut self, reset: &Reset) {
        self.put("RESET ");
        match reset {
            Reset::BinaryLogs { to } => {
                self.put("BINARY LOGS AND GTIDS");
                if let Some(to) = to {
                    self.put(" TO ");
                    self.number(to);
                }
            }
            Reset::Replica { all, channel } => {
                self.put(if *all { "REPLICA ALL" } else { "REPLICA" });
                self.optional_string(" FOR CHANNEL ", channel);
            }
            Reset::QueryCache => self.put("QUERY CACHE"),
            Reset::PersistVersion { version } => {
                self.put("PERSIST TO VERSION ");
                self.number(version);
            }
            Reset::Persist { if_exists, variable } => {
                self.put("PERSIST ");
                self.put_if(*if_exists, "IF EXISTS ");
                if let Some(variable) = variable {
                    self.system_variable(variable);
                }
            }
        }
    }

    pub(super) fn maintenance(&mut self, maintenance: &TableMaintenance) {
        self.put(match maintenance.kind {
            MaintenanceKind::Analyze => "ANALYZE ",
            MaintenanceKind::Check => "CHECK ",
            MaintenanceKind::Checksum => "CHECKSUM ",
            MaintenanceKind::Optimize => "OPTIMIZE ",
            MaintenanceKind::Repair => "REPAIR ",
        });
        self.put_if(maintenance.local, "LOCAL ");
        self.put(if maintenance.view { "VIEW " } else { "TABLE " });
        self.list(&maintenance.tables, ",", Self::object_name);
        for option in &maintenance.options {
            self.put(" ");
            self.put(option);
        }
        if let Some(histogram) = &maintenance.histogram {
            self.put(if histogram.update { " UPDATE HISTOGRAM ON " } else { " DROP HISTOGRAM ON " });
            self.list(&histogram.columns, ",", Self::ident);
            if let Some(buckets) = histogram.buckets {
                self.put(" WITH ");
                self.number(buckets);
                self.put(" BUCKETS");
            }
            self.put(match histogram.automatic {
                None => "",
                Some(true) => " AUTO UPDATE",
                Some(false) => " MANUAL UPDATE",
            });
            self.optional_string(" USING DATA ", &histogram.data);
        }
    }

    pub(super) fn cached_table(&mut self, table: &CachedTable) {
        self.object_name(&table.name);
        match &table.partitions {
            None => {}
            Some(PartitionNames::All) => self.put(" PARTITION (ALL)"),
            Some(PartitionNames::Names(names)) => {
                self.put(" PARTITION ");
                self.idents(names);
            }
        }
        if !table.indexes.is_empty() {
            self.put(" INDEX ");
            self.idents(&table.indexes);
        }
        self.put_if(table.ignore_leaves, " IGNORE LEAVES");
    }

    pub(super) fn install(&mut self, install: &Install) {
        match install {
            Install::Plugin { name, library } => {
                self.put("INSTALL PLUGIN ");
                self.ident(name);
                self.put(" SONAME ");
                self.string(library);
            }
            Install::Library(library) => {
                self.put("INSTALL SONAME ");
                self.string(library);
            }
            Install::Components { names, settings } => {
                self.put("INSTALL COMPONENT ");
                self.list(names, ",", |printer, name| printer.string(name));
                if !settings.is_empty() {
                    self.put(" SET ");
                    self.set_items(settings);
                }
            }
        }
    }

    pub(super) fn uninstall(&mut self, uninstall: &Uninstall) {
        match uninstall {
            Uninstall::Plugin { if_exists, name } => {
                self.put("UNINSTALL PLUGIN ");
                self.put_if(*if_exists, "IF EXISTS ");
                self.ident(name);
            }
            Uninstall::Library { if_exists, library } => {
                self.put("UNINSTALL SONAME ");
                self.put_if(*if_exists, "IF EXISTS ");
                self.string(library);
            }
            Uninstall::Components(names) => {
                self.put("UNINSTALL COMPONENT ");
                self.list(names, ",", |printer, name| printer.string(name));
            }
        }
    }

    pub(super) fn using(&mut self, values: &[Expr]) {
        if !values.is_empty() {
            self.put(" USING ");
            self.exprs(values);
        }
    }

    pub(super) fn diagnostics(&mut self, get: &GetDiagnostics) {
        self.put(if get.stacked { "GET STACKED DIAGNOSTICS " } else { "GET DIAGNOSTICS " });
        let items = match &get.what {
            DiagnosticsItems::Statement(items) => items,
            DiagnosticsItems::Condition { number, items } => {
                self.put("CONDITION ");
                self.expr(number);
                self.put(" ");
                items
            }
        };
        self.list(items, ", ", |printer, item| {
            printer.variable_target(&item.target);
            printer.put(" = ");
            printer.put(&item.name);
        });
    }

    pub(super) fn signal(&mut self, signal: &Signal) {
        self.put(if signal.resignal { "RESIGNAL" } else { "SIGNAL" });
        match &signal.condition {
            None => {}
            Some(SignalCondition::SqlState(state)) => {
                self.put(" SQLSTATE ");
                self.string(state);
            }
            Some(SignalCondition::Name(name)) => {
                self.put(" ");
                self.ident(name);
            }
        }
        if !signal.items.is_empty() {
            self.put(" SET ");
            self.list(&signal.items, ", ", |printer, (name, value)| {
                printer.put(name);
                printer.put(" = ");
                printer.expr(value);
            });
        }
    }
}
