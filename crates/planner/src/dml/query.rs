//! Data changes whose rows come from a query.

use super::change::{delete_row, new_values, update_result, update_row};
use super::find::{note_use, with_parameters, with_view};
use super::plan::{QueryChangePlan, TableChange, column_types};
use super::segment_rows::BulkByQuery;
use super::target::RowMaker;
use super::{DmlContext, DmlResult};
use crate::bind::BoundQuery;
use datafusion::execution::memory_pool::MemoryReservation;
use squall_catalog::Authorized;
use squall_column_tables::{BULK_ROWS_MIN, FoundPlaces, Place, RowAddress};
use squall_executor::env::StatementEnv;
use squall_executor::runtime::QueryRuntime;
use squall_functions::arrow_map::value_at;
use squall_row_store::{StoreError, StoreResult, Transaction};
use squall_statement_context::TableOperation;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// How often a statement of its own is started again because a row changed between finding and locking it.
const ATTEMPTS_MAX: usize = 10;

/// Runs a query and calls `take` for each of its rows, which are values of `types`, on the calling thread.
///
/// # Errors
/// Those of the query and of `take`.
pub fn for_each_row(
    runtime: &Arc<QueryRuntime>,
    env: &Arc<StatementEnv>,
    query: Authorized<&BoundQuery>,
    types: &[SqlType],
    mut take: impl FnMut(Vec<Value>) -> StoreResult<()>,
) -> StoreResult<()> {
    let mut stream = futures::executor::block_on(runtime.query(env, query.part(|query| &query.plan)))?;
    while let Some(batch) = stream.next_blocking() {
        let batch = batch?;
        for row in 0..batch.num_rows() {
            let values = batch
                .columns()
                .iter()
                .zip(types)
                .map(|(array, sql_type)| value_at(array.as_ref(), row, sql_type))
                .collect::<Result<Vec<_>, SqlError>>()?;
            take(values)?;
        }
    }
    Ok(())
}

/// Calls `take` for each row of the query of a data change, which reads in `env`. A query that locks its reads, or calls stored
/// programs, needs the transaction alone until it ends. So its rows are collected first, in charged memory.
pub(super) fn for_each_row_of<'a, C>(
    context: &mut C,
    env: &Arc<StatementEnv>,
    query: Authorized<&BoundQuery>,
    types: &[SqlType],
    dml: impl Fn(&mut C) -> &mut DmlContext<'a>,
    mut take: impl FnMut(&mut C, Vec<Value>) -> StoreResult<()>,
) -> StoreResult<()> {
    let runtime = dml(context).runtime.clone();
    if !has_transaction(dml(context), query) {
        return for_each_row(&runtime, env, query, types, |values| take(context, values));
    }
    let GatheredRows { rows, memory: _memory } = gathered_rows(dml(context), query, types)?;
    rows.into_iter().try_for_each(|values| take(context, values))
}

/// Whether a query has the statement's transaction while it runs.
fn has_transaction(context: &DmlContext<'_>, query: Authorized<&BoundQuery>) -> bool {
    query.locks() || context.env.context.programs.are_called()
}

/// The rows of a query that has the transaction.
struct GatheredRows {
    rows: Vec<Vec<Value>>,
    /// Their memory.
    memory: MemoryReservation,
}

/// Runs a query that has the transaction.
fn gathered_rows(
    context: &mut DmlContext<'_>,
    query: Authorized<&BoundQuery>,
    types: &[SqlType],
) -> StoreResult<GatheredRows> {
    let all_locked = query.locks() && query.tables.iter().all(|table| table.lock.is_some());
    if query.locks() {
        context.transaction.lock_searched();
    }
    let view = if all_locked { context.transaction.change_view() } else { context.transaction.read_view() };
    let memory = context.runtime.reserve(&context.env.context.memory, "rows to change");
    // Its operators run on other threads: they have the transaction, and this thread another one that does nothing.
    let lent = context.lend();
    lent.shared.lend_to_programs(&context.env.context);
    let transaction = query.locks().then(|| lent.shared.clone());
    let env = Arc::new(StatementEnv { view: Some(view), transaction, ..(**context.env).clone() });
    let mut rows = Vec::new();
    let read = for_each_row(context.runtime, &env, query, types, |values| {
        let bytes: usize = values.iter().map(|value| std::mem::size_of::<Value>() + text_bytes(value)).sum();
        memory.try_grow(bytes).map_err(squall_functions::expr::sql_error_from)?;
        rows.push(values);
        Ok(())
    });
    drop(env);
    context.take_back(lent)?;
    read.map(|()| GatheredRows { rows, memory })
}

fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Json(document) => document.stored().len(),
        _ => 0,
    }
}

/// Carries out an UPDATE or DELETE whose rows a query finds.
pub(super) fn execute_by_query(
    context: &mut DmlContext<'_>,
    plan: Authorized<&QueryChangePlan>,
) -> StoreResult<DmlResult> {
    let table = plan.changes.first().map_or("", |change| change.target.def().name.as_str());
    with_newer_rows(context, OnLastAttempt::Fail(table), |context| attempt(context, plan))
}

/// What is done when rows have changed again and again.
#[derive(Clone, Copy)]
pub(super) enum OnLastAttempt<'t> {
    /// 1020 for a table: values that were read belong to the rows as they were.
    Fail(&'t str),
    /// The newest versions of the rows that were found are changed.
    TakeNewest,
}

/// Runs a statement that first reads rows of a table and then locks and changes them. Where the transaction lets it begin again, it does so
/// if it meets a row that others have changed between the two (1020).
pub(super) fn with_newer_rows<T>(
    context: &mut DmlContext<'_>,
    last: OnLastAttempt<'_>,
    mut attempt: impl FnMut(&mut DmlContext<'_>) -> StoreResult<T>,
) -> StoreResult<T> {
    let retry = context.transaction.may_begin_again();
    context.transaction.retry_on_change();
    let told = context.env.context.diagnostics.count();
    let variables = context.env.context.user_variables.remember();
    for _ in 0..ATTEMPTS_MAX {
        match context.atomically(&mut attempt) {
            Err(StoreError::Sql(error))
                if retry && error.is(ErrorCode::RecordChanged) && !context.transaction.is_aborted() =>
            {
                // With the rows as they are now.
                context.transaction.begin_again();
                context.env.context.begin_again();
                variables.restore();
                context.env.context.diagnostics.truncate(told);
            }
            other => return other,
        }
    }
    match last {
        OnLastAttempt::Fail(table) => Err(SqlError::new(ErrorCode::RecordChanged, &[&table]).into()),
        OnLastAttempt::TakeNewest => {
            context.transaction.take_changes();
            context.atomically(attempt)
        }
    }
}

fn attempt(context: &mut DmlContext<'_>, plan: Authorized<&QueryChangePlan>) -> StoreResult<DmlResult> {
    let query = plan.part(|plan| &*plan.query);
    let plan = plan.get();
    let types = column_types(&query);
    let gathered = has_transaction(context, query).then(|| gathered_rows(context, query, &types)).transpose()?;
    let env = match &gathered {
        // The rows as they were found, which may be newer than the snapshot.
        Some(_) if query.locks() => with_view(context, Transaction::change_view),
        _ => with_parameters(context),
    };
    let runtime = context.runtime.clone();
    let mut changes: Vec<RowChanges<'_>> =
        plan.changes.iter().map(|change| RowChanges::new(&env, plan, change, &types)).collect();
    let reservation = runtime.reserve(&env.context.memory, "rows to change");
    let mut matched = 0u64;
    let mut take = |context: &mut DmlContext<'_>, values: Vec<Value>| {
        let values = Arc::new(values);
        changes.iter_mut().try_for_each(|change| change.found(context, &values, &mut matched, &reservation))
    };
    match gathered {
        Some(GatheredRows { rows, memory: _memory }) => {
            rows.into_iter().try_for_each(|values| take(context, values))?
        }
        None => for_each_row(&runtime, &env, query, &types, |values| take(context, values))?,
    }
    let operation = if plan.delete { TableOperation::Delete } else { TableOperation::Update };
    let mut changed = 0;
    for (change, table) in changes.into_iter().zip(&plan.changes) {
        let rows = change.finish(context)?;
        changed += rows;
        note_use(context, &table.target, None, operation, rows);
    }
    Ok(if plan.delete {
        DmlResult { affected_rows: changed, ..DmlResult::default() }
    } else {
        update_result(matched, changed, context.options.found_rows)
    })
}

/// Changes of one table's rows. A row that a join finds several times is changed once, by the first match.
struct RowChanges<'a> {
    env: &'a StatementEnv,
    plan: &'a QueryChangePlan,
    change: &'a TableChange,
    types: &'a [SqlType],
    way: Way<'a>,
    /// Where the rows of a column table are, once that is asked for.
    places: Option<FoundPlaces>,
    /// Rows that were changed one by one.
    changed: u64,
}

/// How rows are changed.
enum Way<'a> {
    /// One by one; the keys of those that have been found.
    OneByOne(HashSet<Vec<u8>>),
    /// Not known until it is known that they are many. They wait, in the order that they were found.
    Unknown(HashSet<Vec<u8>>, Vec<FoundRow>),
    /// Many at a time, but for those that are in no segment.
    Bulk(Box<BulkByQuery<'a>>),
}

/// A row that waits.
struct FoundRow {
    key: Vec<u8>,
    values: Arc<Vec<Value>>,
    /// Which of the rows it is.
    number: u64,
}

impl<'a> RowChanges<'a> {
    fn new(
        env: &'a StatementEnv,
        plan: &'a QueryChangePlan,
        change: &'a TableChange,
        types: &'a [SqlType],
    ) -> RowChanges<'a> {
        let way = match change.target.table.traits().changes_at_once {
            true => Way::Unknown(HashSet::new(), Vec::new()),
            false => Way::OneByOne(HashSet::new()),
        };
        RowChanges { env, plan, change, types, way, places: None, changed: 0 }
    }

    fn take_places(&mut self) -> SqlResult<FoundPlaces> {
        match self.places.take() {
            Some(places) => Ok(places),
            None => FoundPlaces::of(self.env.view()?, &self.change.target.table),
        }
    }

    /// Takes what the query has found of the table.
    fn found(
        &mut self,
        context: &mut DmlContext<'_>,
        values: &Arc<Vec<Value>>,
        matched: &mut u64,
        reservation: &MemoryReservation,
    ) -> StoreResult<()> {
        let Some(Value::Bytes(key)) = values.get(self.change.key_column) else { return Ok(()) };
        let seen = match &mut self.way {
            Way::OneByOne(seen) | Way::Unknown(seen, _) => seen,
            Way::Bulk(bulk) => {
                let Some(place) = bulk.take(key)? else { return Ok(()) };
                *matched += 1;
                return self.change_at(context, place, values, *matched);
            }
        };
        if seen.contains(key) {
            return Ok(());
        }
        reservation.try_grow(key.len() + 64).map_err(squall_functions::expr::sql_error_from)?;
        seen.insert(key.clone());
        *matched += 1;
        if let Way::Unknown(_, waiting) = &mut self.way {
            waiting.push(FoundRow { key: key.clone(), values: values.clone(), number: *matched });
            return if waiting.len() as u64 >= BULK_ROWS_MIN { self.choose(context) } else { Ok(()) };
        }
        self.one_by_one(context, key, values, *matched)
    }

    /// Changes the rows that wait, which are many, and chooses the way for the others.
    fn choose(&mut self, context: &mut DmlContext<'_>) -> StoreResult<()> {
        let way = std::mem::replace(&mut self.way, Way::OneByOne(HashSet::new()));
        let Way::Unknown(seen, waiting) = way else { return Ok(()) };
        let places = self.take_places()?;
        match BulkByQuery::begin(context, self.env.view()?, (self.plan, self.change), self.types, places)? {
            Ok(mut bulk) => {
                let mut found = Vec::with_capacity(waiting.len());
                for row in waiting {
                    found.extend(bulk.take(&row.key)?.map(|place| (place, row)));
                }
                self.way = Way::Bulk(Box::new(bulk));
                found.into_iter().try_for_each(|(place, row)| self.change_at(context, place, &row.values, row.number))
            }
            Err(places) => {
                (self.way, self.places) = (Way::OneByOne(seen), Some(places));
                self.change_waiting(context, waiting)
            }
        }
    }

    fn change_waiting(&mut self, context: &mut DmlContext<'_>, waiting: Vec<FoundRow>) -> StoreResult<()> {
        waiting.into_iter().try_for_each(|row| self.one_by_one(context, &row.key, &row.values, row.number))
    }

    /// Changes a row of a table whose rows are changed many at a time.
    fn change_at(
        &mut self,
        context: &mut DmlContext<'_>,
        place: Place,
        values: &Arc<Vec<Value>>,
        number: u64,
    ) -> StoreResult<()> {
        match (place, &mut self.way) {
            (Place::InSegment(row), Way::Bulk(bulk)) => bulk.change(context, row, values, number),
            (Place::Delta(key), _) => self.one_by_one(context, &key, values, number),
            (Place::InSegment(_), _) => Err(SqlError::internal("a place without a list").into()),
        }
    }

    /// Changes a row by its key or address.
    fn one_by_one(
        &mut self,
        context: &mut DmlContext<'_>,
        found: &[u8],
        values: &[Value],
        number: u64,
    ) -> StoreResult<()> {
        let key = match RowAddress::decode(found) {
            None => Cow::Borrowed(found),
            Some(address) => {
                let places = self.take_places()?;
                let key = places.key(address)?;
                self.places = Some(places);
                Cow::Owned(key)
            }
        };
        let done = context.one_row(self.plan.ignore, |context| {
            change_row(context, self.env, self.plan, self.change, &key, values, number)
        })?;
        self.changed += u64::from(done == Some(true));
        Ok(())
    }

    /// Ends the changes; gives how many rows are others now, or gone.
    fn finish(mut self, context: &mut DmlContext<'_>) -> StoreResult<u64> {
        match std::mem::replace(&mut self.way, Way::OneByOne(HashSet::new())) {
            Way::OneByOne(_) => {}
            Way::Unknown(_, waiting) => self.change_waiting(context, waiting)?,
            Way::Bulk(bulk) => self.changed += bulk.finish(context)?,
        }
        Ok(self.changed)
    }
}

fn change_row(
    context: &mut DmlContext<'_>,
    env: &StatementEnv,
    plan: &QueryChangePlan,
    change: &TableChange,
    key: &[u8],
    values: &[Value],
    row_number: u64,
) -> StoreResult<bool> {
    let target = &change.target;
    let request = context.write_lock();
    let row = context.transaction.get_locked(&target.table, key, request)?;
    // The query's values are of the row as it was found. What the statement itself has changed since, by another name of the table or by an
    // action of a foreign key, is no reason to begin again.
    if context.transaction.is_changed_since(env.view()?, &target.table, key)? {
        return Err(SqlError::new(ErrorCode::RecordChanged, &[&target.def().name]).into());
    }
    // A row may have gone by a foreign key's CASCADE meanwhile.
    let Some(row) = row else { return Ok(false) };
    if plan.delete {
        delete_row(context, target, &row)?;
        return Ok(true);
    }
    let old = target.read_row(&row, &context.env.context.settings.time_zone)?;
    let strict = context.env.context.settings.sql_mode.is_strict() && !plan.ignore;
    let maker = RowMaker::of_update(context, target, strict);
    let updated = context.evaluate(|_| {
        let updated = new_values(&maker, change, &column_types(&plan.query), &old, values, row_number)?;
        maker.before_update(&old, updated, row_number)
    })?;
    update_row(context, &maker, &row, &old, &updated)
}
