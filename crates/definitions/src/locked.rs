//! Tables that a definition has locked exclusively, and the only way to get them.
//!
//! After each wait for a lock a name may mean another table, and a table may have another definition. So names are looked
//! up again when the locks are taken, until they mean the locked tables. A definition changes tables through the
//! [`LockedTable`]s of this module: nothing else makes them, and none outlives its locks.

use crate::execute::{DdlEnv, QualifiedName, base_table};
use squall_catalog::{Catalog, TableDef, TableEntry, TableId};
use squall_row_store::{HeldTable, LockWait, SessionLocks, TableLock};
use squall_server_state::ServerState;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A table that no other session writes, locks or defines: what a definition may change, empty or drop.
#[derive(Debug)]
pub struct LockedTable {
    name: QualifiedName,
    def: Arc<TableDef>,
}

impl LockedTable {
    /// A TEMPORARY table, which only its session has.
    pub fn of_session(name: QualifiedName, def: &Arc<TableDef>) -> SqlResult<LockedTable> {
        match def.temporary {
            true => Ok(LockedTable { name, def: def.clone() }),
            false => Err(SqlError::internal("a table of everybody's taken for a session's")),
        }
    }

    /// Its database and name.
    pub fn name(&self) -> &QualifiedName {
        &self.name
    }

    /// Its definition, which no other session changes.
    pub fn def(&self) -> &Arc<TableDef> {
        &self.def
    }
}

impl Deref for LockedTable {
    type Target = TableDef;

    fn deref(&self) -> &TableDef {
        &self.def
    }
}

/// The tables of one definition, locked until this is dropped, and the catalog as it was when all of them were.
pub struct LockedTables {
    catalog: Arc<Catalog>,
    tables: BTreeMap<TableId, LockedTable>,
    // Dropping gives them back.
    _locks: SessionLocks,
}

impl LockedTables {
    /// The catalog with the locked tables as they are; others may have changed since.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The table of a name that was asked for (1146, 1049; 1347 for a view).
    pub fn base_table(&self, name: &QualifiedName) -> SqlResult<&LockedTable> {
        self.by_id(base_table(&self.catalog, name)?.id)
    }

    /// The table of a name that was asked for, if there is one.
    pub fn table(&self, name: &QualifiedName) -> Option<&LockedTable> {
        self.tables.get(&self.catalog.table(&name.0, &name.1)?.id)
    }

    /// A table by its id (1412 if it is not among the locked ones).
    pub fn by_id(&self, id: TableId) -> SqlResult<&LockedTable> {
        self.tables.get(&id).ok_or_else(|| SqlError::new(ErrorCode::DoesNotSupportSchemaChange, &[]))
    }
}

/// The rest of the time-out of all waits of a statement together.
struct WaitBudget {
    wait: LockWait,
    since: Instant,
}

impl WaitBudget {
    fn new(wait: LockWait) -> WaitBudget {
        WaitBudget { wait, since: Instant::now() }
    }

    fn left(&self) -> LockWait {
        match self.wait {
            LockWait::Timeout(time) => {
                // Never nothing: a waiter gets the lock when it is free.
                LockWait::Timeout(time.saturating_sub(self.since.elapsed()).max(Duration::from_millis(1)))
            }
            other => other,
        }
    }
}

/// Locks tables against everyone else: those among `wanted` that are base tables, as the catalog has them once all are
/// locked. `wanted` is asked again after each wait. Names without a table are left to the statement to complain about.
pub fn lock_tables(
    state: &ServerState,
    env: &DdlEnv,
    wanted: impl Fn(&Catalog) -> SqlResult<Vec<QualifiedName>>,
) -> SqlResult<LockedTables> {
    let budget = WaitBudget::new(env.wait);
    let mut locks = state.store.session_locks(env.session);
    let mut held: Vec<TableId> = Vec::new();
    loop {
        let catalog = state.catalog.load();
        let mut tables = BTreeMap::new();
        for name in wanted(&catalog)? {
            if let Some(TableEntry::Table(def)) = catalog.entry(&name.0, &name.1) {
                tables.insert(def.id, LockedTable { name, def: def.clone() });
            }
        }
        // In the order of ids, which is one for all, so that two statements cannot wait for each other.
        if tables.keys().eq(&held) {
            return Ok(LockedTables { catalog, tables, _locks: locks });
        }
        locks.release();
        held = tables.into_keys().collect();
        for id in &held {
            locks.lock(*id, TableLock::Exclusive, budget.left()).map_err(SqlError::from)?;
        }
    }
}

/// The table of a name with a lock that keeps its definition as it is while others read and write it (1146, 1049, 1347).
pub fn hold_table(state: &ServerState, session: u64, name: &QualifiedName, wait: LockWait) -> SqlResult<HeldTable> {
    let budget = WaitBudget::new(wait);
    loop {
        let id = base_table(&state.catalog.load(), name)?.id;
        if let Some(table) = state.store.hold_table(session, id, budget.left()).map_err(SqlError::from)?
            && state.catalog.load().table(&name.0, &name.1).is_some_and(|def| def.id == id)
        {
            return Ok(table);
        }
    }
}
