//! Finds the rows that UPDATE and DELETE change: by an access path, locking row by row.

use super::plan::{Returned, Selection};
use super::segment_rows::FoundRows;
use super::selection::matches;
use super::target::{RowMaker, Target};
use super::{DmlContext, DmlResult};
use crate::point::Lookup;
use squall_catalog::{IndexDef, IndexId};
use squall_executor::access::filter::{constant_of, predicate_of_bound};
use squall_executor::access::fulltext::SnapshotWords;
use squall_executor::access::key::storage_range;
use squall_executor::access::order::order_direction;
use squall_executor::access::path::{AccessPath, COST_LOCK, COST_LOCK_SHORT, IndexHints, choose, whole_index};
use squall_executor::access::predicate::Predicate;
use squall_executor::access::range::EncodedRange;
use squall_executor::access::table::KEYED_ROWS_MAX;
use squall_executor::env::StatementEnv;
use squall_functions::expr::{BoundExpr, EmptyRow, ParameterisedRow};
use squall_row_store::{
    Direction, KeyRange, LockedRow, LockingScan, PiecewiseSearch, ReadView, Row, RowLock, StoreResult, Table,
    Transaction,
};
use squall_statement_context::TableOperation;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;

/// Memory of one remembered row beyond its key and sort values, roughly.
const ENTRY_BYTES: usize = 64;

/// The action on a selected row: the row as stored and its values. Tells whether it counts for LIMIT.
pub type RowChange<'c> = dyn FnMut(&mut DmlContext<'_>, &Row, Vec<Value>) -> StoreResult<bool> + 'c;

/// The same, saying whether to go on.
type RowVisit<'c> = dyn FnMut(&mut DmlContext<'_>, &Row, Vec<Value>) -> StoreResult<bool> + 'c;

/// Calls `change` for every selected row, locked and in its newest version, in the order and up to the limit that the
/// statement asks for. The rows that a scan meets are those of its beginning: changes made meanwhile are not seen.
/// Gives the index by which they were found.
pub fn for_each_selected(
    context: &mut DmlContext<'_>,
    target: &Target,
    selection: &Selection,
    change: &mut RowChange<'_>,
) -> StoreResult<Option<IndexId>> {
    let limit = limit_of(selection, context)?;
    if limit == 0 {
        return Ok(None);
    }
    // Conditions, new values and the order may ask for the relevance.
    let has_words = target.def().indexes.iter().any(IndexDef::is_fulltext);
    let view = has_words.then(|| context.transaction.change_view());
    let env = context.env;
    let _words = view.map(|view| SnapshotWords::read_by(&env.context, &view, env.store.clone()));
    if let Some(key) = &selection.key
        && let Some(lookup) = key.lookup(&target.table, context.parameters)?
    {
        let request = context.write_lock();
        if let Lookup::Row(key) = lookup
            && let Some(row) = context.transaction.get_locked(&target.table, &key, request)?
        {
            context.env.context.examined(1);
            let values = target.read_row(&row, &context.env.context.settings.time_zone)?;
            change(context, &row, values)?;
        }
        let index = selection.key.as_ref().and_then(|key| key.index(target.def()));
        note_use(context, target, index, TableOperation::Fetch, 1);
        return Ok(index);
    }
    let (path, ordered) = choose_path(context, target, selection)?;
    let index = path.used_index(target.def());
    if let Some(found) = find_by_columns(context, target, selection, &path)?
        && !found.are_many()
    {
        let keys = found.keys(context, target, selection)?;
        change_keys(context, target, selection, (keys, limit), change)?;
        return Ok(None);
    }
    match ordered {
        Some(direction) => {
            let mut left = limit;
            let ends = selection.limit.is_some() && !path.repeats();
            scan(context, target, selection, (&path, direction, ends), &mut |context, row, values| {
                left -= u64::from(change(context, row, values)?);
                Ok(left > 0)
            })?;
        }
        None => {
            let mut left = limit;
            for key in sorted_keys(context, target, selection, &path)? {
                let request = context.write_lock();
                if let Some(row) = context.transaction.get_locked(&target.table, &key, request)? {
                    let values = target.read_row(&row, &context.env.context.settings.time_zone)?;
                    left -= u64::from(change(context, &row, values)?);
                    if left == 0 {
                        break;
                    }
                }
            }
        }
    }
    Ok(index)
}

/// Notes what was done with rows of a table, for performance_schema.
pub(super) fn note_use(
    context: &DmlContext<'_>,
    target: &Target,
    index: Option<IndexId>,
    operation: TableOperation,
    rows: u64,
) {
    if rows > 0 {
        context.env.context.table_uses.note(target.def().id, index, operation, rows, None);
    }
}

/// All keys of a table's rows.
fn whole_range(target: &Target) -> SqlResult<KeyRange> {
    storage_range(&target.table, IndexId(0), &EncodedRange::all())
}

/// The rows of a column table that satisfy the condition, unless the path finds a few of them by a key or the statement wants
/// them in an order.
pub fn find_by_columns(
    context: &mut DmlContext<'_>,
    target: &Target,
    selection: &Selection,
    path: &AccessPath,
) -> StoreResult<Option<FoundRows>> {
    if !selection.order.is_empty()
        || context.env.context.programs.are_called()
        || !path.is_full() && path.rows <= KEYED_ROWS_MAX
    {
        return Ok(None);
    }
    if target.table.traits().changes_at_once {
        let everything = whole_range(target)?;
        context.transaction.lock_ranges(&target.table, &[everything], context.write_lock())?;
    }
    FoundRows::find(context, target, selection)
}

/// Calls `change` for the rows with these keys, up to a limit, that satisfy the condition when they are locked.
pub fn change_keys(
    context: &mut DmlContext<'_>,
    target: &Target,
    selection: &Selection,
    (keys, mut limit): (Vec<Vec<u8>>, u64),
    change: &mut RowChange<'_>,
) -> StoreResult<()> {
    note_use(context, target, None, TableOperation::Fetch, keys.len() as u64);
    for key in keys {
        context.env.context.kill.check()?;
        let request = context.write_lock();
        let Some(LockedRow { row, lock }) = context.transaction.find_locked(&target.table, &key, request)? else {
            continue;
        };
        context.env.context.examined(1);
        let values = target.read_row(&row, &context.env.context.settings.time_zone)?;
        if !context.evaluate(|context| matches(selection, context, &values))? {
            leave(context, lock);
            continue;
        }
        limit -= u64::from(change(context, &row, values)?);
        if limit == 0 {
            break;
        }
    }
    Ok(())
}

fn is_never_true(condition: &BoundExpr) -> bool {
    condition
        .as_literal()
        .is_some_and(|value| !squall_functions::expr::truth_of(value).is_ok_and(|truth| truth == Some(true)))
}

/// The path to read along, and the direction if it gives the rows in the statement's order.
///
/// # Errors
/// 1175 where `sql_safe_updates` wants a condition that a key can find rows by, or LIMIT; those of the store.
pub fn choose_path(
    context: &mut DmlContext<'_>,
    target: &Target,
    selection: &Selection,
) -> StoreResult<(AccessPath, Option<Direction>)> {
    let env = context.env;
    let def = target.def();
    let predicate = match &selection.condition {
        Some(condition) => predicate_of_bound(
            def,
            condition,
            &env.context.settings.time_zone,
            &|column| Some(column.ordinal),
            &|expr| constant_of(expr, context.parameters),
        ),
        None => Predicate::Unknown,
    };
    // To estimate by: the transaction gets no snapshot for it, which the rows that it will lock could be newer than.
    let view = context.transaction.change_view();
    let lock_cost = if context.transaction.options().autocommit { COST_LOCK_SHORT } else { COST_LOCK };
    // Rows are changed, so all of each is needed.
    let all: Vec<usize> = (0..def.columns.len()).collect();
    let path = choose(&*env.store, &view, &target.table, &predicate, &all, &IndexHints::default(), lock_cost)?;
    let finds_nothing = selection.condition.as_ref().is_some_and(is_never_true);
    if env.context.settings.safe_updates && selection.limit.is_none() && path.possible.is_empty() && !finds_nothing {
        return Err(SqlError::new(ErrorCode::UpdateWithoutKeyInSafeMode, &[]).into());
    }
    if selection.order.is_empty() {
        return Ok((path, Some(Direction::Forward)));
    }
    let order: Vec<(&BoundExpr, bool)> = selection.order.iter().map(|(expr, descending)| (expr, *descending)).collect();
    let direction_of =
        |path: &AccessPath| order_direction(def, path.index_def(def)?, &order, 0, &path.constant_columns(def));
    if let Some(direction) = direction_of(&path) {
        return Ok((path, Some(direction)));
    }
    if selection.limit.is_some() {
        let limit = limit_of(selection, context)?;
        let table_rows = env.store.table_stats(&target.table).row_count as f64;
        let rows_read = path.rows_read_in_order(limit as f64, table_rows, selection.condition.is_some());
        for position in 0..def.indexes.len() {
            if let Some(ordered) = whole_index(&*env.store, &target.table, position, &all)
                && rows_read * (ordered.cost_per_row() + lock_cost) <= path.cost
                && let Some(direction) = direction_of(&ordered)
            {
                return Ok((ordered, Some(direction)));
            }
        }
    }
    Ok((path, None))
}

/// Scans a path; `visit` gets each row that satisfies the condition and says whether to go on. If it may be that it does not, rows and what
/// lies between them are locked as the scan comes to them.
fn scan(
    context: &mut DmlContext<'_>,
    target: &Target,
    selection: &Selection,
    (path, direction, ends_early): (&AccessPath, Direction, bool),
    visit: &mut RowVisit<'_>,
) -> StoreResult<()> {
    let mut ranges = path.encoded_ranges();
    if direction == Direction::Backward {
        ranges.reverse();
    }
    let ranges: SqlResult<Vec<KeyRange>> =
        ranges.iter().map(|range| storage_range(&target.table, path.index_id, range)).collect();
    let ranges = ranges?;
    if !path.unique && !ends_early {
        context.transaction.lock_ranges(&target.table, &ranges, context.write_lock())?;
    }
    let seen = path.repeats().then(HashSet::new);
    let table = match &path.partitions {
        Some(partitions) => target.table.restricted(partitions),
        None => target.table.clone(),
    };
    let mut scan = Scan { target, table, selection, direction, seen, read: 0 };
    for range in &ranges {
        if !path.unique && ends_early {
            if scan.visit_pieces(context, range, visit)? == Found::Enough {
                break;
            }
            continue;
        }
        let mut found = scan.visit_range(context, range, visit)?;
        if path.unique
            && found == Found::Nothing
            && let Bound::Included(key) = &range.start
            && context.transaction.lock_absent(&target.table, key, context.write_lock())?
        {
            // Another transaction may have put it there before it was locked.
            found = scan.visit_range(context, range, visit)?;
        }
        if found == Found::Enough {
            break;
        }
    }
    note_use(context, target, path.used_index(target.def()), TableOperation::Fetch, scan.read.max(1));
    Ok(())
}

/// A scan for rows to change.
struct Scan<'a> {
    target: &'a Target,
    /// With the partitions that rows can be in.
    table: Arc<Table>,
    selection: &'a Selection,
    direction: Direction,
    /// Rows that were met, where one may be met again.
    seen: Option<HashSet<Vec<u8>>>,
    /// How many were met.
    read: u64,
}

/// The result of reading a range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// No row that satisfies the condition.
    Nothing,
    Rows,
    /// No more are wanted.
    Enough,
}

impl Scan<'_> {
    fn visit_pieces(
        &mut self,
        context: &mut DmlContext<'_>,
        range: &KeyRange,
        visit: &mut RowVisit<'_>,
    ) -> StoreResult<Found> {
        let mut search = PiecewiseSearch::new(range.clone(), self.direction);
        let table = &self.table.clone();
        let mut found = Found::Nothing;
        loop {
            let (request, count) = (context.write_lock(), search.next_count());
            let Some(piece) = context.transaction.lock_piece(table, &mut search, count, request)? else {
                return Ok(found);
            };
            let rows = context.transaction.scan_piece(table, &mut search, &piece, request);
            match self.visit_rows(context, rows, visit)? {
                Found::Enough => return Ok(Found::Enough),
                Found::Rows => found = Found::Rows,
                Found::Nothing => {}
            }
        }
    }

    fn visit_range(
        &mut self,
        context: &mut DmlContext<'_>,
        range: &KeyRange,
        visit: &mut RowVisit<'_>,
    ) -> StoreResult<Found> {
        let request = context.write_lock();
        let rows = context.transaction.scan_locked(&self.table, range, self.direction, request);
        self.visit_rows(context, rows, visit)
    }

    fn visit_rows(
        &mut self,
        context: &mut DmlContext<'_>,
        mut rows: LockingScan,
        visit: &mut RowVisit<'_>,
    ) -> StoreResult<Found> {
        let mut found = Found::Nothing;
        while let Some(LockedRow { row, lock }) = rows.next(context.transaction)? {
            context.env.context.kill.check()?;
            if let Some(seen) = &mut self.seen
                && !seen.insert(row.key_bytes().to_vec())
            {
                continue;
            }
            context.env.context.examined(1);
            self.read += 1;
            let values = self.target.read_row(&row, &context.env.context.settings.time_zone)?;
            if !context.evaluate(|context| matches(self.selection, context, &values))? {
                leave(context, lock);
                continue;
            }
            if !visit(context, &row, values)? {
                return Ok(Found::Enough);
            }
            found = Found::Rows;
        }
        Ok(found)
    }
}

/// A row that is left as it is needs no lock, unless a stored program has locked it, too.
fn leave(context: &mut DmlContext<'_>, lock: RowLock) {
    if !context.env.context.programs.are_called() {
        context.transaction.give_back(lock);
    }
}

/// Keys of the selected rows in the statement's order.
fn sorted_keys(
    context: &mut DmlContext<'_>,
    target: &Target,
    selection: &Selection,
    path: &AccessPath,
) -> StoreResult<Vec<Vec<u8>>> {
    let reservation = context.runtime.reserve(&context.env.context.memory, "rows to change");
    let mut found: Vec<(Vec<Value>, Vec<u8>)> = Vec::new();
    scan(context, target, selection, (path, Direction::Forward, false), &mut |context, row, values| {
        let (env, parameters) = (context.env, context.parameters);
        let maker = RowMaker { target, env, parameters, strict: true, null_becomes_zero: false, null_waits: false };
        let order = selection.order.iter();
        let keys =
            context.evaluate(|_| order.map(|(expr, _)| maker.eval(expr, &values)).collect::<SqlResult<Vec<_>>>())?;
        reservation
            .try_grow(ENTRY_BYTES + row.key_bytes().len() + keys.len() * 2 * ENTRY_BYTES)
            .map_err(squall_functions::expr::sql_error_from)?;
        found.push((keys, row.key_bytes().to_vec()));
        Ok(true)
    })?;
    found.sort_by(|(a, _), (b, _)| {
        let by_key = a.iter().zip(b).zip(&selection.order).map(|((a, b), (_, descending))| {
            let ordering = a.total_cmp(b);
            if *descending { ordering.reverse() } else { ordering }
        });
        by_key.into_iter().find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
    });
    Ok(found.into_iter().map(|(_, key)| key).collect())
}

/// LIMIT as a number.
pub fn limit_of(selection: &Selection, context: &DmlContext<'_>) -> SqlResult<u64> {
    let Some(limit) = &selection.limit else { return Ok(u64::MAX) };
    let source = ParameterisedRow { row: &EmptyRow, parameters: context.parameters };
    match limit.eval(&source, &context.env.context)? {
        Value::UInt(number) => Ok(number),
        Value::Int(number) => u64::try_from(number).map_err(|_| SqlError::new(ErrorCode::WrongArguments, &[&"LIMIT"])),
        _ => Err(SqlError::new(ErrorCode::WrongArguments, &[&"LIMIT"])),
    }
}

/// The statement's environment for a query inside it, which also reads the transaction's writes up to now.
pub fn with_parameters(context: &mut DmlContext<'_>) -> Arc<StatementEnv> {
    with_view(context, Transaction::read_view)
}

/// The statement's environment for a query inside it, which reads in a view of the transaction.
pub fn with_view(context: &mut DmlContext<'_>, view: impl FnOnce(&mut Transaction) -> ReadView) -> Arc<StatementEnv> {
    let view = view(context.transaction);
    Arc::new(StatementEnv { view: Some(view), transaction: None, ..(**context.env).clone() })
}

/// Adds RETURNING's values to a result.
pub fn push_returned(
    result: &mut DmlResult,
    context: &mut DmlContext<'_>,
    target: &Target,
    returning: &[Returned],
    row: &[Value],
) -> SqlResult<()> {
    if returning.is_empty() {
        return Ok(());
    }
    let (env, parameters) = (context.env, context.parameters);
    let maker = RowMaker { target, env, parameters, strict: true, null_becomes_zero: false, null_waits: false };
    let values = returning.iter().map(|returned| maker.eval(&returned.expr, row));
    result.returned.push(context.evaluate(|_| values.collect::<SqlResult<_>>())?);
    Ok(())
}
