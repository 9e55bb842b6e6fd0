//! Copies a table's rows into a new table that has another definition, alone or beside writers.
//!
//! Beside writers the rows of a snapshot are copied first. Meanwhile commits note which rows they change. Those are changed in the
//! copy, round by round; the last time when nobody else uses the table. Where another unique key than the primary key could stand in the way, they are
//! all taken out first and put in again as they are by then.

use crate::copy::RowCopier;
use crate::edit::{ReservedId, reserve_table_id};
use crate::execute::DdlEnv;
use crate::progress::Progress;
use crate::sorted_rows::for_each_sorted_row;
use squall_catalog::{IndexId, TableDef};
use squall_parser::ast::{AlterAction, AlterTable, OrderItem};
use squall_row_store::{
    ChangedPiece, ChangedRows, Direction, IsolationLevel, LockMode, LockRequest, LockWait, OnDuplicate, ReadView, Row,
    RowCapture, Table, Transaction, ValueRange,
};
use squall_server_state::ServerState;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;
use std::time::Instant;

/// Rows that are copied between two looks of others at how far it is.
const ROWS_PER_NOTE: u64 = 256;
/// So few changed rows are left to the exclusive lock.
const ROWS_LEFT: usize = 256;
/// After so many rounds the exclusive lock is taken, however many rows change; sooner if that does not become less.
const ROUNDS_MAX: usize = 16;
/// Changed rows of one transaction.
const ROWS_AT_ONCE: usize = 1024;

/// A table that no catalog has yet. Its files go when this is dropped.
pub(crate) struct CopiedTable<'s> {
    state: &'s ServerState,
    reserved: Option<ReservedId>,
    table: Arc<TableDef>,
    is_kept: bool,
    /// Rows that were copied.
    pub rows: u64,
}

impl<'s> CopiedTable<'s> {
    fn new(state: &'s ServerState, def: TableDef, reserved: Option<ReservedId>) -> CopiedTable<'s> {
        CopiedTable { state, reserved, table: Arc::new(def), is_kept: false, rows: 0 }
    }

    /// Its definition.
    pub fn table(&self) -> &Arc<TableDef> {
        &self.table
    }

    /// Its number.
    pub fn reserved(&self) -> SqlResult<&ReservedId> {
        self.reserved.as_ref().ok_or_else(|| SqlError::internal("a copy without a number of its own"))
    }

    /// Its files stay.
    pub fn keep(mut self) -> Arc<TableDef> {
        self.is_kept = true;
        self.table.clone()
    }
}

impl Drop for CopiedTable<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            // The next start removes what no catalog names.
            let _ = self.state.store.drop_data(&self.table);
        }
    }
}

/// ORDER BY.
fn order_of(statement: &AlterTable) -> &[OrderItem] {
    let order = statement.actions.iter().rev().find_map(|action| match action {
        AlterAction::OrderBy(items) => Some(items.as_slice()),
        _ => None,
    });
    order.unwrap_or_default()
}

/// What a copy is made for.
#[derive(Clone, Copy)]
pub(crate) struct CopyEnv<'s> {
    pub state: &'s ServerState,
    pub env: &'s DdlEnv,
    /// Whether bad values are errors.
    pub strict: bool,
    /// The table's database.
    pub database: &'s str,
}

/// Copies all rows of a table that nobody else uses into a new one, converted on the way. The new one has a number already if it is TEMPORARY.
pub(crate) fn copy_rows<'s>(
    on: CopyEnv<'s>,
    statement: &AlterTable,
    old: &Arc<TableDef>,
    mut new: TableDef,
) -> SqlResult<CopiedTable<'s>> {
    let reserved = if new.temporary { None } else { Some(reserve_table_id(on.state, &mut new)?) };
    let order_by = order_of(statement);
    if !order_by.is_empty() && new.primary_key().is_some() {
        let reason = format!("ORDER BY ignored as there is a user-defined clustered index in the table '{}'", new.name);
        on.env.context.diagnostics.warn(SqlError::with_message(ErrorCode::UnknownError, reason));
    }
    let order_by = if new.primary_key().is_some() { &[] } else { order_by };
    let mut copied = CopiedTable::new(on.state, new, reserved);
    let source = on.state.store.table(old)?;
    let target = on.state.store.create_data(&copied.table)?;
    let mut copier = RowCopier::new(on.state, on.env, on.database, old, &target, on.strict)?;
    let on_duplicate = if statement.ignore { OnDuplicate::Skip } else { OnDuplicate::Fail };
    let view = on.state.store.read_view();
    copied.rows = fill(on, &mut copier, (&source, &view), &target, (order_by, on_duplicate))?;
    take_counter_over(on.state, &source, &target)?;
    Ok(copied)
}

/// Fills a new table with the rows of a view.
fn fill(
    on: CopyEnv<'_>,
    copier: &mut RowCopier<'_>,
    (source, view): (&Arc<Table>, &ReadView),
    target: &Arc<Table>,
    (order_by, on_duplicate): (&[OrderItem], OnDuplicate),
) -> SqlResult<u64> {
    let CopyEnv { state, env, database, .. } = on;
    let began = Instant::now();
    let mut load = state.store.bulk_load(target);
    let progress = Progress::begin(state, env.session, source);
    let mut copy = |row: Vec<Value>| -> SqlResult<()> {
        env.context.kill.check()?;
        if load.pushed() % ROWS_PER_NOTE == ROWS_PER_NOTE - 1 {
            progress.add(ROWS_PER_NOTE);
        }
        let values = copier.convert(row, load.pushed() + 1)?;
        load.push(values)
    };
    if order_by.is_empty() {
        let range = source.range(IndexId(0), ValueRange::ALL)?;
        let mut cursor = view.scan(source, &range, Direction::Forward);
        while let Some(row) = cursor.next_row()? {
            copy(row.values(source)?)?;
        }
    } else {
        for_each_sorted_row(state, env, database, source.def(), order_by, copy)?;
    }
    let outcome = load.finish(env.session, env.wait, on_duplicate).map_err(SqlError::from)?;
    state.definition_times.copy_rows.note(outcome.loaded, began.elapsed());
    Ok(outcome.loaded)
}

/// The copy goes on with the AUTO_INCREMENT values of the table before.
fn take_counter_over(state: &ServerState, source: &Table, target: &Table) -> SqlResult<()> {
    let next = state.store.peek_auto_increment(source);
    match state.store.peek_auto_increment(target) < next {
        true => state.store.set_auto_increment(target, next),
        false => Ok(()),
    }
}

/// A copy of a table's rows that others go on changing. Both tables have primary keys.
pub(crate) struct RowsInCopy<'s> {
    on: CopyEnv<'s>,
    copier: RowCopier<'s>,
    source: Arc<Table>,
    target: Arc<Table>,
    capture: RowCapture,
    copied: CopiedTable<'s>,
    /// Rows that have been converted.
    converted: u64,
}

impl<'s> RowsInCopy<'s> {
    /// Copies rows up to the last changes. The caller keeps other definitions of the table away.
    ///
    /// # Errors
    /// A row that cannot be converted, or has a unique key of another; 1317; those of reading and writing.
    pub fn begin(on: CopyEnv<'s>, old: &Arc<TableDef>, mut new: TableDef) -> SqlResult<RowsInCopy<'s>> {
        let reserved = reserve_table_id(on.state, &mut new)?;
        let copied = CopiedTable::new(on.state, new, Some(reserved));
        let source = on.state.store.table(old)?;
        let target = on.state.store.create_data(copied.table())?;
        let copier = RowCopier::new(on.state, on.env, on.database, old, &target, on.strict)?;
        let capture = on.state.store.capture_rows(&source);
        let mut copy = RowsInCopy { on, copier, source, target, capture, copied, converted: 0 };
        let rows = (&copy.source, copy.capture.view());
        copy.copied.rows = fill(on, &mut copy.copier, rows, &copy.target, (&[], OnDuplicate::Fail))?;
        copy.converted = copy.copied.rows;
        let mut before = usize::MAX;
        for _ in 0..ROUNDS_MAX {
            match copy.catch_up()? {
                // Others are about as fast.
                Some(rows) if rows > ROWS_LEFT && rows < before / 5 * 4 => before = rows,
                _ => break,
            }
        }
        Ok(copy)
    }

    /// Takes over what has changed since the last time. Gives the number of rows; `None` if it is not known which they are: then the copy is of no
    /// use.
    pub fn catch_up(&mut self) -> SqlResult<Option<usize>> {
        let Some(changed) = self.capture.take() else { return Ok(None) };
        if is_unique_by_same_key(self.source.def(), self.target.def()) {
            for piece in changed.pieces(ROWS_AT_ONCE) {
                self.change(&changed, piece)?;
            }
            return Ok(Some(changed.count()));
        }
        // A unique key that one row has given up may be another's: first all rows go as they were.
        for piece in changed.pieces(ROWS_AT_ONCE) {
            self.remove(&changed, piece)?;
        }
        for piece in changed.pieces(ROWS_AT_ONCE) {
            self.insert(&changed, piece)?;
        }
        Ok(Some(changed.count()))
    }

    /// Takes the last changes over, when nobody else uses the table; `None` if the copy is of no use.
    pub fn finish(mut self) -> SqlResult<Option<CopiedTable<'s>>> {
        if self.catch_up()?.is_none() {
            return Ok(None);
        }
        take_counter_over(self.on.state, &self.source, &self.target)?;
        Ok(Some(self.copied))
    }

    fn convert(&mut self, row: Vec<Value>) -> SqlResult<Vec<Value>> {
        self.on.env.context.kill.check()?;
        self.converted += 1;
        self.copier.convert(row, self.converted)
    }

    /// The row of the copy that has the primary key of these values, which are all of the row.
    fn find(&self, txn: &mut Transaction, row: &[Value]) -> SqlResult<Row> {
        let key = self.target.def().primary_key().map(|key| self.target.def().index_ordinals(key)).unwrap_or_default();
        let values: Vec<Value> = key.iter().map(|ordinal| row[*ordinal].clone()).collect();
        let key = self.target.row_key(&values)?;
        let found = txn.get_locked(&self.target, &key, LOCK).map_err(SqlError::from)?;
        found.ok_or_else(|| SqlError::internal("a row is not in its copy"))
    }

    /// Each row by itself.
    fn change(&mut self, changed: &ChangedRows, piece: ChangedPiece<'_>) -> SqlResult<()> {
        let mut txn = self.on.state.store.begin(IsolationLevel::ReadCommitted, false);
        for pair in changed.pairs(piece) {
            match pair? {
                [None, None] => {}
                [None, Some(now)] => {
                    let now = self.convert(now)?;
                    txn.insert(&self.target, &now).map_err(SqlError::from)?;
                }
                [Some(_), Some(now)] => {
                    let now = self.convert(now)?;
                    let found = self.find(&mut txn, &now)?;
                    txn.update(&self.target, &found, &now).map_err(SqlError::from)?;
                }
                [Some(before), None] => {
                    let before = self.convert(before)?;
                    let found = self.find(&mut txn, &before)?;
                    txn.delete(&self.target, &found).map_err(SqlError::from)?;
                }
            }
        }
        txn.commit()
    }

    fn remove(&mut self, changed: &ChangedRows, piece: ChangedPiece<'_>) -> SqlResult<()> {
        let mut txn = self.on.state.store.begin(IsolationLevel::ReadCommitted, false);
        for row in changed.rows(&changed.before, piece) {
            let row = self.convert(row?)?;
            let found = self.find(&mut txn, &row)?;
            txn.delete(&self.target, &found).map_err(SqlError::from)?;
        }
        txn.commit()
    }

    fn insert(&mut self, changed: &ChangedRows, piece: ChangedPiece<'_>) -> SqlResult<()> {
        let mut txn = self.on.state.store.begin(IsolationLevel::ReadCommitted, false);
        for row in changed.rows(&changed.now, piece) {
            let row = self.convert(row?)?;
            txn.insert(&self.target, &row).map_err(SqlError::from)?;
        }
        txn.commit()
    }
}

/// Whether a row's primary key is the same in a copy, and the only key that tells rows apart: then no row stands in the way of another.
fn is_unique_by_same_key(source: &TableDef, target: &TableDef) -> bool {
    let parts = |def: &TableDef| {
        let key = def.primary_key()?;
        let parts = key.parts.iter().zip(def.index_ordinals(key)).map(|(part, ordinal)| {
            let column = &def.columns[ordinal];
            let is_given = column.generated.is_none();
            is_given.then(|| (column.name.to_lowercase(), column.sql_type.clone(), part.prefix))
        });
        parts.collect::<Option<Vec<_>>>()
    };
    let has_another = target.indexes.iter().any(|index| index.unique && !index.primary);
    !has_another && parts(source).is_some_and(|source| parts(target).is_some_and(|target| target == source))
}

/// Nobody else knows the copy.
const LOCK: LockRequest = LockRequest { mode: LockMode::Exclusive, wait: LockWait::Nowait };
