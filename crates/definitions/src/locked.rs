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

/// So long others wait behind a definition that waits for their table: at first, and at most.
const HELD_UP: (Duration, Duration) = (Duration::from_millis(250), Duration::from_millis(900));
/// So long a definition lets others go before it waits again: at first, and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// How often it looks meanwhile whether it was killed.
const LOOK: Duration = Duration::from_millis(20);

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

    /// A wait that holds others up for so long, and is tried again after a while.
    fn piece(&self, most: Duration) -> LockWait {
        match self.left() {
            LockWait::Timeout(time) => LockWait::Timeout(time.min(most)),
            other => other,
        }
    }

    /// Whether an error is the end of a wait that can be tried again.
    fn can_go_on(&self, error: &SqlError) -> bool {
        let is_left = matches!(self.wait, LockWait::Timeout(time) if self.since.elapsed() < time);
        is_left && error.is(ErrorCode::LockWaitTimeout)
    }
}

/// Locks tables against everyone else: those among `wanted` that are base tables, as the catalog has them once all are
/// locked. `wanted` is asked again after each wait. Names without a table are left to the statement to complain about.
///
/// Who comes while a definition waits for a table waits behind it. So it does not wait for long at a time: it leaves the line, lets the others go, and
/// comes again, up to `lock_wait_timeout` in all.
pub fn lock_tables(
    state: &ServerState,
    env: &DdlEnv,
    wanted: impl Fn(&Catalog) -> SqlResult<Vec<QualifiedName>>,
) -> SqlResult<LockedTables> {
    lock_tables_between(state, env, wanted, &mut || Ok(()))
}

/// The same; `meanwhile` is called after each wait that was in vain.
pub(crate) fn lock_tables_between(
    state: &ServerState,
    env: &DdlEnv,
    wanted: impl Fn(&Catalog) -> SqlResult<Vec<QualifiedName>>,
    meanwhile: &mut dyn FnMut() -> SqlResult<()>,
) -> SqlResult<LockedTables> {
    let budget = WaitBudget::new(env.wait);
    let mut locks = state.store.session_locks(env.session);
    let mut held: Vec<TableId> = Vec::new();
    let (mut held_up, mut pause) = (HELD_UP.0, PAUSE.0);
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
        let mut lock =
            |id: &TableId| locks.lock(*id, TableLock::Exclusive, budget.piece(held_up)).map_err(SqlError::from);
        match held.iter().try_for_each(&mut lock) {
            Ok(()) => {}
            Err(error) if budget.can_go_on(&error) => {
                locks.release();
                held.clear();
                let until = Instant::now() + pause;
                meanwhile()?;
                while Instant::now() < until {
                    env.context.kill.check()?;
                    std::thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
                }
                (held_up, pause) = ((2 * held_up).min(HELD_UP.1), (2 * pause).min(PAUSE.1));
            }
            Err(error) => return Err(error),
        }
    }
}

/// A table whose next definition is prepared: others read and write its rows, and no other session defines it. The lock is given back when this
/// is dropped.
#[derive(Debug)]
pub(crate) struct TableInPreparation {
    pub def: Arc<TableDef>,
    /// The catalog that has this definition.
    pub catalog: Arc<Catalog>,
    // Dropping gives it back.
    _lock: SessionLocks,
}

/// Keeps others from defining a table, which `wanted` finds in the catalog; `None` if it finds none.
pub(crate) fn prepare_table(
    state: &ServerState,
    env: &DdlEnv,
    wanted: impl Fn(&Catalog) -> Option<Arc<TableDef>>,
) -> SqlResult<Option<TableInPreparation>> {
    let budget = WaitBudget::new(env.wait);
    loop {
        let Some(id) = wanted(&state.catalog.load()).map(|def| def.id) else { return Ok(None) };
        let mut locks = state.store.session_locks(env.session);
        locks.lock(id, TableLock::Definition, budget.left()).map_err(SqlError::from)?;
        let catalog = state.catalog.load();
        if let Some(def) = wanted(&catalog).filter(|def| def.id == id) {
            return Ok(Some(TableInPreparation { def, catalog, _lock: locks }));
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
