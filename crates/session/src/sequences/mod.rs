//! Sequences: NEXTVAL, LASTVAL, SETVAL, and the row that they go on from.
//!
//! Values are reserved `CACHE` at a time by a transaction of their own, which changes the sequence's row and is durable before the first of
//! them is handed out. So a value is never handed out twice, whatever becomes of the statement that asked for it. All values of a
//! sequence are handed out under one lock.

mod reserved;

use parking_lot::{Mutex, MutexGuard};
use reserved::Reserved;
use rustc_hash::FxHashMap;
use squall_catalog::{Catalog, IndexId, SequenceRow, TableDef, TableEntry, TableId};
use squall_row_store::{
    Direction, LockWait, ReadView, Row, Table, TableLock, Transaction, TransactionOptions, ValueRange,
};
use squall_server_state::ServerState;
use squall_statement_context::{SequenceCall, StatementContext};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;
use std::time::Duration;

/// How often a call that waits for others looks whether it was killed.
const KILL_CHECK: Duration = Duration::from_millis(50);

/// The last value that a session got of each sequence.
pub(crate) type LastValues = Mutex<FxHashMap<TableId, i64>>;

/// The sequences that have been used since the server's start.
#[derive(Debug, Default)]
pub(crate) struct Sequences {
    used: Mutex<FxHashMap<TableId, Arc<Sequence>>>,
}

/// `None` until its row has been read, and again when the row was changed.
#[derive(Debug, Default)]
struct Sequence(Mutex<Option<Reserved>>);

impl Sequence {
    /// Its lock.
    ///
    /// # Errors
    /// 1317 and 3024 when the statement is to end.
    fn lock(&self, context: &StatementContext) -> SqlResult<MutexGuard<'_, Option<Reserved>>> {
        loop {
            if let Some(guard) = self.0.try_lock_for(KILL_CHECK) {
                return Ok(guard);
            }
            context.kill.check()?;
        }
    }
}

/// A sequence as its name was found.
#[derive(Clone, Debug)]
pub(crate) struct FoundSequence {
    pub database: String,
    pub table: Arc<TableDef>,
}

impl FoundSequence {
    fn error(&self, code: ErrorCode) -> SqlError {
        SqlError::new(code, &[&self.database, &self.table.name])
    }
}

/// The sequence of a name.
///
/// # Errors
/// 4091 if there is nothing, 4089 for what is no sequence.
pub(crate) fn find_sequence(catalog: &Catalog, database: &str, name: &str) -> SqlResult<FoundSequence> {
    match catalog.entry(database, name) {
        Some(TableEntry::Table(table)) if table.is_sequence() => {
            Ok(FoundSequence { database: database.to_string(), table: table.clone() })
        }
        Some(_) => Err(SqlError::new(ErrorCode::NotSequence, &[&database, &name])),
        None => Err(SqlError::new(ErrorCode::UnknownSequence, &[&format_args!("{database}.{name}")])),
    }
}

/// Who asks for a value.
pub(crate) struct SequenceUse<'a> {
    pub state: &'a ServerState,
    pub context: &'a StatementContext,
    pub lock_wait: Duration,
}

impl Sequences {
    fn get(&self, state: &ServerState, table: &TableDef) -> Arc<Sequence> {
        let mut used = self.used.lock();
        if let Some(known) = used.get(&table.id) {
            return known.clone();
        }
        // Each time that it would grow those are forgotten that were dropped.
        if used.len() == used.capacity() {
            let catalog = state.catalog.load();
            used.retain(|id, _| catalog.table_by_id(*id).is_some());
        }
        used.entry(table.id).or_default().clone()
    }

    /// Carries out a call.
    ///
    /// # Errors
    /// Those of `NestedStatements::sequence_value`.
    pub fn call(
        &self,
        found: &FoundSequence,
        call: SequenceCall,
        last: &LastValues,
        by: &SequenceUse<'_>,
    ) -> SqlResult<Option<i64>> {
        let id = found.table.id;
        if call == SequenceCall::Previous {
            return Ok(last.lock().get(&id).copied());
        }
        let sequence = self.get(by.state, &found.table);
        let mut reserved = sequence.lock(by.context)?;
        let known = match &mut *reserved {
            Some(known) => known,
            unknown => unknown.insert(Reserved::nothing(by.change(found, |_| Ok(None))?)),
        };
        match call {
            SequenceCall::Set { value, is_used, round } => {
                let Some(set) = known.set_to(value, is_used, round) else { return Ok(None) };
                by.change(found, |_| Ok(Some(set.row.clone())))?;
                *known = set;
                Ok(Some(value))
            }
            SequenceCall::Next | SequenceCall::Previous => {
                let value = match known.take() {
                    Some(value) => value,
                    None => {
                        let mut more = known.more().ok_or_else(|| found.error(ErrorCode::SequenceRunOut))?;
                        by.change(found, |_| Ok(Some(more.row.clone())))?;
                        let first = more.take().ok_or_else(|| found.error(ErrorCode::SequenceRunOut))?;
                        *known = more;
                        first
                    }
                };
                last.lock().insert(id, value);
                Ok(Some(value))
            }
        }
    }

    /// ALTER SEQUENCE: what was reserved and not handed out is lost.
    ///
    /// # Errors
    /// Those of `alter`, of waiting for the table, and of the log.
    pub fn alter(
        &self,
        found: &FoundSequence,
        by: &SequenceUse<'_>,
        alter: impl FnOnce(&SequenceRow) -> SqlResult<SequenceRow>,
    ) -> SqlResult<()> {
        let sequence = self.get(by.state, &found.table);
        let mut reserved = sequence.lock(by.context)?;
        let row = by.change(found, |row| alter(row).map(Some))?;
        *reserved = Some(Reserved::nothing(row));
        Ok(())
    }
}

impl SequenceUse<'_> {
    fn begin(&self) -> Transaction {
        let options = TransactionOptions { durability: self.state.durability(), ..TransactionOptions::autocommit() };
        // As one of the session's own it does not wait for what the session has locked, and KILL ends its waiting.
        self.state.store.begin_with(options, Some(self.context.connection_id))
    }

    /// Reads the row, and gives it the values that `change` says; what it has then. The change is durable.
    fn change(
        &self,
        found: &FoundSequence,
        change: impl FnOnce(&SequenceRow) -> SqlResult<Option<SequenceRow>>,
    ) -> SqlResult<SequenceRow> {
        let table = self.state.store.table(&found.table)?;
        let mut transaction = self.begin();
        let wait = LockWait::Timeout(self.lock_wait);
        transaction.begin_statement(wait);
        // Keeps the table from being dropped meanwhile.
        transaction.lock_table(&table, TableLock::Write, wait)?;
        let (stored, row) = read_row(&transaction.newest_view(), &found.database, &table)?;
        let Some(changed) = change(&row)? else {
            transaction.rollback();
            return Ok(row);
        };
        transaction.update(&table, &stored, &changed.values())?;
        transaction.pass_read_lock()?;
        transaction.commit()?;
        Ok(changed)
    }
}

/// The row as it is stored.
///
/// # Errors
/// Those of the store.
pub(crate) fn stored_row(state: &ServerState, database: &str, definition: &Arc<TableDef>) -> SqlResult<SequenceRow> {
    let table = state.store.table(definition)?;
    read_row(&state.store.read_view(), database, &table).map(|(_, row)| row)
}

/// The row in a view.
fn read_row(view: &ReadView, database: &str, table: &Arc<Table>) -> SqlResult<(Row, SequenceRow)> {
    let invalid = || SqlError::new(ErrorCode::SequenceInvalidTable, &[&database, &table.def().name, &"its row"]);
    let range = table.range(IndexId(0), ValueRange::ALL)?;
    let mut rows = view.scan(table, &range, Direction::Forward);
    let stored = rows.next_row()?.ok_or_else(invalid)?;
    let row = SequenceRow::of_values(&stored.values(table)?).ok_or_else(invalid)?;
    Ok((stored, row))
}

/// Writes the row of a new sequence, durably.
///
/// # Errors
/// Those of the store.
pub(crate) fn write_first_row(state: &ServerState, table: &Arc<TableDef>, values: &[Value]) -> SqlResult<()> {
    let table = state.store.table(table)?;
    let options = TransactionOptions { durability: state.durability(), ..TransactionOptions::autocommit() };
    let mut transaction = state.store.begin_with(options, None);
    transaction.insert(&table, values)?;
    transaction.commit()
}
