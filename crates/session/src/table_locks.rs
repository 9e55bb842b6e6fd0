//! LOCK TABLES, FLUSH TABLES WITH READ LOCK and UNLOCK TABLES; LOCK INSTANCE and UNLOCK INSTANCE.

use crate::authorization::lock_needs;
use crate::database::Shared;
use crate::result::Outcome;
use crate::session::{HeldTableLocks, Session, StatementRun};
use squall_catalog::{Catalog, LockedName, LockedNames, Need, TableEntry, TableId};
use squall_definitions::execute::missing;
use squall_parser::ast::{self, LockTables, ObjectName, TableLockKind};
use squall_planner::KeptParameters;
use squall_planner::bind::TableUse;
use squall_row_store::{LockWait, SessionLocks, TableLock, Transaction};
use squall_system_tables as information_schema;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// Tables, and how they are locked.
type Wanted = Vec<(TableId, TableLock)>;

impl Session {
    /// `lock_wait_timeout`.
    pub(crate) fn table_lock_wait(&self) -> LockWait {
        LockWait::Timeout(Duration::from_secs(self.settings.table_lock_wait_seconds))
    }

    /// LOCK INSTANCE FOR BACKUP: no other session's definitions until UNLOCK INSTANCE or the end of the session.
    pub(crate) async fn lock_instance(&mut self) -> SqlResult<Outcome> {
        if self.held_locks.backup.is_none() {
            let (session, wait) = (self.process.id, self.table_lock_wait());
            let lock = self.waiting(move |shared| shared.store.backup_lock(session, wait).map_err(SqlError::from));
            self.held_locks.backup = Some(lock.await?);
        }
        Ok(Outcome::done())
    }

    /// The lock for ending another session's branch, which keeps out a global read lock.
    ///
    /// # Errors
    /// As those of [`definition_pass`](Self::definition_pass).
    pub(crate) async fn read_lock_pass(&self) -> SqlResult<SessionLocks> {
        let (session, wait) = (self.process.id, self.table_lock_wait());
        let place = self.shared.runtime.waiting_threads().take_beyond();
        let pass = move |shared: &Shared| shared.store.read_lock_pass(session, wait).map_err(SqlError::from);
        self.shared.waiting_in(place, pass).await
    }

    /// The lock of a definition while it runs, which keeps out a global read lock and a backup lock.
    ///
    /// # Errors
    /// 1223 where the session itself holds the read lock; those of waiting.
    pub(crate) async fn definition_pass(&self) -> SqlResult<SessionLocks> {
        let (session, wait) = (self.process.id, self.table_lock_wait());
        self.waiting(move |shared| shared.store.definition_pass(session, wait).map_err(SqlError::from)).await
    }

    /// Waits for a global read lock that holds a commit up, also if all threads wait: the transaction would be lost otherwise.
    pub(crate) async fn pass_read_lock(&self, mut transaction: Transaction) -> SqlResult<Transaction> {
        let place = self.shared.runtime.waiting_threads().take_beyond();
        let pass = move |_: &Shared| transaction.pass_read_lock().map(|()| transaction).map_err(SqlError::from);
        self.shared.waiting_in(place, pass).await
    }

    /// FLUSH TABLES WITH READ LOCK: all of them, or those that are named.
    pub(crate) async fn flush_and_lock(&mut self, names: &[ObjectName]) -> SqlResult<()> {
        if self.held_locks.tables.is_some() {
            return Err(SqlError::new(ErrorCode::LockOrActiveTransaction, &[]));
        }
        self.shared.plans.clear();
        if !names.is_empty() {
            return self.lock_named(names).await;
        }
        if self.held_locks.global_read.is_none() {
            let (session, wait) = (self.process.id, self.table_lock_wait());
            let lock = self.waiting(move |shared| shared.store.global_read_lock(session, wait).map_err(SqlError::from));
            self.held_locks.global_read = Some(lock.await?);
        }
        Ok(())
    }

    /// Base tables only (1347); otherwise as LOCK TABLES … READ.
    async fn lock_named(&mut self, names: &[ObjectName]) -> SqlResult<()> {
        let catalog = self.shared.catalog.load();
        let mut locks = Vec::with_capacity(names.len());
        for table in names {
            let name = self.security().qualify(table)?;
            if let Some(TableEntry::View(_)) = catalog.entry(&name.0, &name.1) {
                return Err(SqlError::new(ErrorCode::WrongObject, &[&name.0, &name.1, &"BASE TABLE"]));
            }
            locks.push(ast::TableLock { table: table.clone(), alias: None, kind: TableLockKind::Read });
        }
        drop(catalog);
        self.take_table_locks(&locks).await
    }

    /// LOCK TABLES.
    pub(crate) async fn lock_tables(&mut self, statement: &LockTables) -> SqlResult<Outcome> {
        self.held_locks.tables = None;
        let is_write = |lock: &ast::TableLock| !matches!(lock.kind, TableLockKind::Read | TableLockKind::ReadLocal);
        if statement.locks.iter().any(is_write) && self.is_read_only_now() {
            return Err(SqlError::new(ErrorCode::ReadOnlyTransaction, &[]));
        }
        self.take_table_locks(&statement.locks).await?;
        Ok(Outcome::done())
    }

    /// UNLOCK TABLES.
    ///
    /// # Errors
    /// Those of the commit.
    pub(crate) async fn unlock_tables(&mut self) -> SqlResult<Outcome> {
        // Only a LOCK TABLES that is in force is ended with a commit.
        if self.held_locks.tables.is_some() {
            self.commit().await?;
            self.held_locks.tables = None;
        }
        // A backup ends at its own statement.
        if self.held_locks.backup_stage.is_none() {
            self.held_locks.global_read = None;
        }
        Ok(Outcome::done())
    }

    /// The needs of locking a table behind a view, for the view's account and for the session's.
    fn check_lock_inside_view(&self, table: &TableUse) -> SqlResult<()> {
        if information_schema::virtual_database(&table.database).is_some() {
            return Ok(());
        }
        let needs = lock_needs(&table.database, &table.name);
        let inside = needs.clone().map(|need| Need {
            invoker: table.invoker.clone(),
            inside_view: table.inside_view.clone(),
            ..need
        });
        self.security().check_needs(&inside)?;
        self.security().check_needs(&needs)
    }

    async fn take_table_locks(&mut self, tables: &[ast::TableLock]) -> SqlResult<()> {
        let mut catalog = self.shared.catalog.load();
        let (mut wanted, mut locked) = self.tables_to_lock(tables, &catalog)?;
        loop {
            let (session, wait, ids) = (self.process.id, self.table_lock_wait(), wanted.clone());
            let locks = self
                .waiting(move |shared| {
                    let mut locks = shared.store.session_locks(session);
                    for (id, mode) in ids {
                        locks.lock(id, mode, wait).map_err(SqlError::from)?;
                    }
                    Ok(locks)
                })
                .await?;
            // While it waited, names may have come to stand for other tables.
            let now = self.shared.catalog.load();
            if now.version != catalog.version {
                catalog = now;
                let (again, names) = self.tables_to_lock(tables, &catalog)?;
                locked = names;
                if again != wanted {
                    wanted = again;
                    continue;
                }
            }
            let written = wanted.iter().filter(|(_, mode)| *mode == TableLock::Exclusive).map(|(id, _)| *id).collect();
            let _write_locked = self.shared.write_locked.add(written);
            self.held_locks.tables =
                Some(HeldTableLocks { _locks: locks, _write_locked, names: LockedNames::new(locked) });
            return Ok(());
        }
    }

    /// The tables that are to be locked and how, in one order for all sessions; and the names that then may be read and,
    /// or, written.
    fn tables_to_lock(
        &mut self,
        tables: &[ast::TableLock],
        catalog: &Arc<Catalog>,
    ) -> SqlResult<(Wanted, Vec<LockedName>)> {
        let mut wanted = Vec::with_capacity(tables.len());
        let mut locked = Vec::with_capacity(tables.len());
        let mut named = HashSet::with_capacity(tables.len());
        for lock in tables {
            if self.security().temporary_table_named(&lock.table).is_some() {
                continue;
            }
            let name = self.security().qualify(&lock.table)?;
            let mode = match lock.kind {
                TableLockKind::Read | TableLockKind::ReadLocal => TableLock::ReadOnly,
                TableLockKind::Write | TableLockKind::LowPriorityWrite => TableLock::Exclusive,
            };
            let alias = lock.alias.as_ref().unwrap_or(&lock.table.name);
            if !named.insert((name.0.clone(), alias.to_string())) {
                return Err(SqlError::new(ErrorCode::NonUniqueTable, &[&alias.as_str()]));
            }
            let writable = mode == TableLock::Exclusive;
            locked.push(LockedName { table: name.clone(), alias: alias.to_string(), writable });
            match catalog.entry(&name.0, &name.1) {
                Some(TableEntry::Table(table)) => wanted.push((table.id, mode)),
                Some(TableEntry::View(_)) => {
                    // The tables behind a view are locked in its place, and may be used by their own names, too.
                    let query = crate::query::select_all(lock.table.clone());
                    let context = Arc::new(self.query_context());
                    let bound = self.bind_query(&query, b"", &[], catalog, &context, None)?;
                    let bound = self.security().authorize(bound)?;
                    for table in bound.tables.iter().filter(|table| table.view.is_none()) {
                        self.check_lock_inside_view(table)?;
                        let base = table.definition.as_ref().filter(|definition| !definition.temporary);
                        wanted.extend(base.map(|definition| (definition.id, mode)));
                        locked.extend(base.map(|_| LockedName {
                            table: (table.database.to_string(), table.name.to_string()),
                            alias: table.alias.to_string(),
                            writable,
                        }));
                    }
                }
                // Rows that are made when they are read need no lock.
                None if self.shared.registry.virtual_table(&name.0, &name.1).is_some() => {}
                None if information_schema::virtual_database(&name.0).is_some() => {
                    return Err(self.security().database_denied(&name.0));
                }
                None => return Err(missing(catalog, &name)),
            }
        }
        // Of two modes for a table the stronger one first.
        wanted.sort_by_key(|(id, mode)| (*id, *mode == TableLock::ReadOnly));
        Ok((wanted, locked))
    }

    /// Waits for the ends of LOCK TABLES … WRITE of other sessions on the tables that a statement reads.
    ///
    /// # Errors
    /// Those of waiting. What is wrong with the statement itself is said when it runs.
    pub(crate) async fn wait_for_write_locks(&self, run: &StatementRun<'_>) -> SqlResult<()> {
        if !self.shared.write_locked.any() || self.held_locks.tables.is_some() {
            return Ok(());
        }
        let told = run.context.diagnostics.count();
        let mut ids = self.tables_read(run).unwrap_or_default();
        run.context.diagnostics.truncate(told);
        ids.retain(|id| self.shared.write_locked.has(*id));
        if ids.is_empty() {
            return Ok(());
        }
        let (session, wait) = (self.process.id, self.table_lock_wait());
        self.waiting(move |shared| {
            for id in ids {
                // It is not kept: the statement reads what is committed when the lock has ended.
                let mut lock = shared.store.session_locks(session);
                lock.lock(id, TableLock::Read, wait).map_err(SqlError::from)?;
            }
            Ok(())
        })
        .await
    }

    /// The tables that a query or the query of a change reads.
    fn tables_read(&self, run: &StatementRun<'_>) -> SqlResult<BTreeSet<TableId>> {
        let catalog = self.shared.catalog.load();
        let base = |tables: &[TableUse]| {
            let definitions = tables.iter().filter_map(|table| table.definition.as_ref());
            definitions.filter(|definition| !definition.temporary).map(|definition| definition.id).collect()
        };
        match run.request.statement {
            ast::Statement::Query(query) => {
                let (sql, parameters) = (run.request.sql, run.request.parameters);
                Ok(base(&self.bind_query(query, sql, parameters, &catalog, &run.context, None)?.tables))
            }
            ast::Statement::Insert(insert) if self.sequence_of(&insert.table).is_some() => Ok(BTreeSet::new()),
            ast::Statement::Insert(_) | ast::Statement::Update(_) | ast::Statement::Delete(_) => {
                let plan = self.bind_change(run, &catalog, KeptParameters::None)?;
                Ok(plan.as_ref().get().query().map_or_else(BTreeSet::new, |query| base(&query.tables)))
            }
            _ => Ok(BTreeSet::new()),
        }
    }
}
