//! INSERT and REPLACE.

use super::fill::{IdSource, RowFiller, as_u64, next_auto_increment, of_form};
use super::find::{note_use, with_parameters};
use super::packed::PackedRowReader;
use super::plan::{ColumnAssignment, InsertPlan, InsertRows, NewValue, OnDuplicate, PackedInsert, column_types};
use super::query::{OnLastAttempt, for_each_row_of, with_newer_rows};
use super::target::{RowMaker, Target};
use super::ways::{RowEvent, WayOptions};
use super::{DmlContext, DmlResult, change, foreign_key, ignorable};
use crate::bind::{BoundQuery, TableUse};
use squall_catalog::{Authorized, TriggerEvent};
use squall_functions::build::ExprBuilder;
use squall_functions::expr::BoundExpr;
use squall_row_store::{BulkLoad, DuplicateKey, OnDuplicate as BulkDuplicate, ReadView, Row, StoreError, StoreResult};
use squall_statement_context::TableOperation;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::borrow::Cow;

/// Rows of a query from which on they go around the transaction, if they may.
const BULK_ROWS_MIN: usize = 20_000;
/// Bytes of strings and documents in them that are as much: an index of their words has many entries for each row.
const BULK_BYTES_MIN: usize = 16 << 20;

/// Carries an INSERT or REPLACE out.
pub(super) fn execute_insert(context: &mut DmlContext<'_>, plan: Authorized<&InsertPlan>) -> StoreResult<DmlResult> {
    match plan.optional_part(InsertPlan::query) {
        Some(query) => with_newer_rows(context, OnLastAttempt::Fail(&plan.target.def().name), |context| {
            let mut inserter = Inserter::begin(context, plan.get(), false);
            inserter.stage(true)?;
            inserter.insert_query(query)?;
            inserter.end_staged()?;
            Ok(inserter.finish(true))
        }),
        None => insert_values(context, plan.get(), Vec::new()),
    }
}

/// Carries an INSERT of values out whose plan is not needed again: the literals of its rows are not copied.
pub(super) fn insert_values_once(context: &mut DmlContext<'_>, mut plan: InsertPlan) -> StoreResult<DmlResult> {
    let rows = match &mut plan.source {
        InsertRows::Values(values) => std::mem::take(&mut values.rows),
        InsertRows::Query(_) => Vec::new(),
    };
    insert_values(context, &plan, rows)
}

/// Inserts the rows that were taken out of the plan, and the plan's own rows.
fn insert_values(context: &mut DmlContext<'_>, plan: &InsertPlan, rows: Vec<Vec<NewValue>>) -> StoreResult<DmlResult> {
    let InsertRows::Values(values) = &plan.source else {
        return Err(SqlError::internal("an INSERT of values without values").into());
    };
    context.atomically(|context| {
        let count = values.len() + rows.len();
        let single = count == 1;
        let mut inserter = Inserter::begin(context, plan, single);
        inserter.stage(count >= BULK_ROWS_MIN)?;
        for row in rows {
            inserter.insert_exprs(is_constant(&row), row.into_iter().map(Cow::Owned))?;
        }
        for row in &values.rows {
            inserter.insert_exprs(is_constant(row), row.iter().map(Cow::Borrowed))?;
        }
        if let Some(packed) = &values.packed {
            inserter.insert_packed(packed)?;
        }
        inserter.end_staged()?;
        Ok(inserter.finish(!single))
    })
}

/// A row as far as an INSERT gives its values, and which of them it gives.
fn filled<'v>(
    filler: &RowFiller<'_>,
    constant: bool,
    values: impl Iterator<Item = Cow<'v, NewValue>>,
    row_number: u64,
) -> SqlResult<(Vec<Value>, Vec<bool>)> {
    let maker = filler.maker();
    let columns = filler.plan.target.def().columns.len();
    let mut row = if constant { vec![Value::Null; columns] } else { filler.starting_row(&maker)? };
    let mut given = vec![false; row.len()];
    for (column, value) in filler.plan.columns.iter().zip(values) {
        let (raw, sql_type) = match value {
            // It may be long: it is not copied.
            Cow::Owned(NewValue::Expr(BoundExpr::Literal(literal, ty))) => (literal, ty.sql_type),
            value => match value.as_ref() {
                NewValue::Expr(expr) => (maker.eval(expr, &row)?, expr.sql_type()),
                NewValue::Default => continue,
            },
        };
        row[*column] = filler.column_value(&maker, *column, raw, &sql_type, row_number)?;
        given[*column] = true;
    }
    if constant {
        filler.fill_start(&maker, &mut row, &given)?;
    }
    Ok((row, given))
}

/// Whether a row is of literals and parameters. Most of what is inserted is, and none of them looks at another column.
fn is_constant(row: &[NewValue]) -> bool {
    row.iter().all(|value| matches!(value, NewValue::Expr(expr) if expr.is_constant()))
}

impl InsertPlan {
    /// What it does with rows; `assigned` has the columns that ON DUPLICATE KEY UPDATE gives new values.
    pub(super) fn event<'a>(&self, assigned: &'a [usize]) -> RowEvent<'a> {
        match &self.on_duplicate {
            OnDuplicate::Fail => RowEvent::Insert,
            OnDuplicate::Replace => RowEvent::Replace,
            OnDuplicate::Update(_) => RowEvent::InsertOrUpdate(assigned),
        }
    }

    /// The columns that ON DUPLICATE KEY UPDATE gives new values.
    pub(super) fn assigned(&self) -> Vec<usize> {
        match &self.on_duplicate {
            OnDuplicate::Update(assignments) => assignments.iter().map(|assignment| assignment.column).collect(),
            OnDuplicate::Fail | OnDuplicate::Replace => Vec::new(),
        }
    }

    /// Whether the result of each row has to be known before the next one.
    fn is_one_by_one(&self) -> bool {
        self.ignore || !self.returning.is_empty()
    }
}

/// Fills a table that no other session sees yet with a query's rows. Where nothing has to be looked up for a row they go
/// around the transaction, without a bound of memory, and are durable at the end.
pub fn fill_table(context: &mut DmlContext<'_>, plan: Authorized<&InsertPlan>, session: u64) -> StoreResult<DmlResult> {
    let assigned = plan.assigned();
    // No other session can be in the way.
    let options = WayOptions { alone: true, one_by_one: plan.is_one_by_one(), ..WayOptions::from(&context.options) };
    let ways = plan.target.ways(plan.event(&assigned), options);
    let query = match plan.optional_part(InsertPlan::query) {
        Some(query) if ways.bulk => query,
        _ => return execute_insert(context, plan),
    };
    let wait = context.options.lock_wait;
    let load = context.env.store.bulk_load(&plan.target.table);
    let mut inserter = Inserter::begin(context, plan.get(), false);
    inserter.begin_bulk(load);
    inserter.insert_query(query)?;
    let bulk = inserter.take_bulk();
    let result = inserter.finish(true);
    if let Some(bulk) = bulk {
        bulk.finish(session, wait, BulkDuplicate::Fail)?;
    }
    Ok(result)
}

/// Whether a query reads rows of a table that it does not lock.
fn reads_unlocked(query: &BoundQuery, target: &Target) -> bool {
    let is_target = |table: &TableUse| table.definition.as_ref().is_some_and(|def| def.id == target.def().id);
    query.tables.iter().any(|table| is_target(table) && table.lock.is_none())
}

/// Inserts rows one after another; LOAD DATA uses it directly.
pub struct Inserter<'c, 'p, 'a> {
    context: &'c mut DmlContext<'a>,
    plan: &'p InsertPlan,
    /// Whether the statement gives one row only, so that NULL for a NOT NULL column is an error in any mode.
    single: bool,
    row_number: u64,
    result: DmlResult,
    records: u64,
    duplicates: u64,
    /// The AUTO_INCREMENT value that was generated for the current row.
    row_id: Option<u64>,
    /// The next value that is generated, if the statement does not take it from the table's counter (`insert_id`).
    next_id: Option<u64>,
    /// That of the last row that had its own, or was changed in the place of a new one.
    last_id: Option<u64>,
    /// Whether any row was stored or changed.
    stores_any: bool,
    /// The view in which the query reads the table itself, if it does and does not lock its rows: they may be others when they are changed.
    found_in: Option<ReadView>,
    /// Values of the query's row that ON DUPLICATE KEY UPDATE reads.
    source_row: Vec<Value>,
    bulk: Option<BulkLoad>,
    /// Rows that wait until it is known whether they are many.
    staged: Option<Vec<Vec<Value>>>,
    /// Bytes of strings and documents in them.
    staged_bytes: usize,
}

impl<'c, 'p, 'a> Inserter<'c, 'p, 'a> {
    /// Begins; `single` says whether the statement gives one row only.
    pub fn new(context: &'c mut DmlContext<'a>, plan: Authorized<&'p InsertPlan>, single: bool) -> Self {
        Inserter::begin(context, plan.get(), single)
    }

    fn begin(context: &'c mut DmlContext<'a>, plan: &'p InsertPlan, single: bool) -> Self {
        let next_id = Some(context.options.insert_id).filter(|id| *id != 0);
        Inserter {
            context,
            plan,
            single,
            row_number: 0,
            result: DmlResult::default(),
            records: 0,
            duplicates: 0,
            row_id: None,
            next_id,
            last_id: None,
            stores_any: false,
            found_in: None,
            source_row: Vec::new(),
            bulk: None,
            staged: None,
            staged_bytes: 0,
        }
    }

    /// Rows go into a bulk load instead of the transaction from now on; duplicates are found when that ends.
    pub fn begin_bulk(&mut self, load: BulkLoad) {
        self.bulk = Some(load);
    }

    /// The bulk load with all rows so far, for the caller to end.
    pub fn take_bulk(&mut self) -> Option<BulkLoad> {
        self.bulk.take()
    }

    /// Rows that met a row with the same key: left out, or with REPLACE put in its place.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// The result; `with_info` for statements that may insert several rows.
    pub fn finish(mut self, with_info: bool) -> DmlResult {
        self.note_uses();
        self.result.explicit_id = self.last_id.filter(|_| self.stores_any);
        if with_info {
            self.result.info = format!("Records: {}  Duplicates: {}", self.records, self.duplicates);
        }
        self.result
    }

    fn note_uses(&self) {
        let (target, duplicates) = (&self.plan.target, self.duplicates);
        let note = |operation, rows| note_use(self.context, target, None, operation, rows);
        match &self.plan.on_duplicate {
            OnDuplicate::Replace => {
                note(TableOperation::Insert, self.records);
                note(TableOperation::Delete, duplicates);
            }
            OnDuplicate::Update(_) => {
                note(TableOperation::Insert, self.records.saturating_sub(duplicates));
                note(TableOperation::Update, duplicates);
            }
            OnDuplicate::Fail => note(TableOperation::Insert, self.records.saturating_sub(duplicates)),
        }
    }

    /// Rows given so far.
    pub fn row_number(&self) -> u64 {
        self.row_number
    }

    fn filler(&self) -> RowFiller<'_> {
        RowFiller { env: self.context.env, plan: self.plan, parameters: self.context.parameters, single: self.single }
    }

    /// Inserts a row of VALUES: each expression sees the columns set before it, and the defaults of the others. `constant` says that all
    /// are [constants](is_constant).
    fn insert_exprs<'v>(
        &mut self,
        constant: bool,
        values: impl ExactSizeIterator<Item = Cow<'v, NewValue>>,
    ) -> StoreResult<()> {
        self.row_number += 1;
        if values.len() != self.plan.columns.len() {
            return Err(SqlError::new(ErrorCode::WrongValueCountOnRow, &[&self.row_number]).into());
        }
        let (plan, single, number) = (self.plan, self.single, self.row_number);
        let (mut row, given) = self.context.evaluate(|context| {
            let filler = RowFiller { env: context.env, plan, parameters: context.parameters, single };
            filled(&filler, constant, values, number)
        })?;
        self.complete(&mut row, &given)?;
        self.store(row)
    }

    /// Inserts the rows of a long VALUES.
    fn insert_packed(&mut self, packed: &PackedInsert) -> StoreResult<()> {
        let statement = self.context.env.context.clone();
        let builder = ExprBuilder::new(self.context.registry, &statement);
        let mut reader = PackedRowReader::new(self.plan, packed, builder, self.context.parameters);
        let mut row = Vec::new();
        while reader.next_row(&mut row)? {
            self.insert_exprs(is_constant(&row), row.drain(..).map(Cow::Owned))?;
        }
        Ok(())
    }

    /// The context in which values of rows are evaluated.
    pub fn context(&mut self) -> &mut DmlContext<'a> {
        self.context
    }

    /// Inserts a row of values with their types; `None` is DEFAULT.
    pub fn insert_values<'t>(&mut self, values: impl Iterator<Item = Option<(Value, &'t SqlType)>>) -> StoreResult<()> {
        self.row_number += 1;
        let (mut row, given) = self.filler().row_of_values(values, self.row_number)?;
        self.complete(&mut row, &given)?;
        self.store(row)
    }

    /// Inserts the rows of a query.
    fn insert_query(&mut self, query: Authorized<&BoundQuery>) -> StoreResult<()> {
        let env = with_parameters(self.context);
        let types = column_types(&query);
        self.found_in = if reads_unlocked(&query, &self.plan.target) { env.view.clone() } else { None };
        if let Some(view) = &self.found_in {
            self.context.transaction.insert_as_found(&self.plan.target.table, view);
        }
        for_each_row_of(
            self,
            &env,
            query,
            &types,
            |inserter| &mut *inserter.context,
            |inserter, mut values| {
                inserter.source_row = values.split_off(inserter.plan.columns.len().min(values.len()));
                inserter.insert_values(values.into_iter().zip(&types).map(|(value, ty)| Some((value, ty))))
            },
        )
    }

    fn complete(&mut self, row: &mut [Value], given: &[bool]) -> StoreResult<()> {
        let (plan, single, number, next_id) = (self.plan, self.single, self.row_number, self.next_id);
        // Defaults may call stored programs, triggers may be some.
        let source = self.context.evaluate(|context| {
            let (options, store) = (&context.options, &*context.env.store);
            let (increment, offset) = (options.auto_increment_increment, options.auto_increment_offset);
            let next = || match next_id {
                Some(id) => Ok(id),
                None => next_auto_increment(store, &plan.target.table, increment, offset),
            };
            let filler = RowFiller { env: context.env, plan, parameters: context.parameters, single };
            filler.complete(row, given, number, next)
        })?;
        match source {
            IdSource::None => self.row_id = None,
            IdSource::Given(id) => (self.row_id, self.last_id) = (None, id),
            IdSource::Generated(id) => {
                self.row_id = Some(id);
                if self.next_id.is_some() {
                    let options = &self.context.options;
                    let (increment, offset) = (options.auto_increment_increment, options.auto_increment_offset);
                    self.next_id = Some(of_form(id.saturating_add(1), increment, offset));
                }
            }
        }
        Ok(())
    }

    /// Stores a complete row, or does what the statement wants with a duplicate.
    fn store(&mut self, mut row: Vec<Value>) -> StoreResult<()> {
        self.context.env.context.kill.check()?;
        let ignore = self.plan.ignore;
        let savepoint = ignore.then(|| self.context.transaction.savepoint());
        match self.try_store(&mut row) {
            Ok(()) => {
                self.records += 1;
                self.stores_any = true;
                self.result.generated_id = self.result.generated_id.or(self.row_id);
                if !self.plan.returning.is_empty() {
                    let returned = self.returned(&row)?;
                    self.result.returned.push(returned);
                }
                Ok(())
            }
            Err(error) if ignore && ignorable(&error) => {
                if let Some(savepoint) = savepoint
                    && !self.context.transaction.is_aborted()
                {
                    self.context.transaction.rollback_to(savepoint);
                }
                self.records += 1;
                self.duplicates += 1;
                self.context.env.context.diagnostics.warn(error.into());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Rows wait from now on until it is known whether they are many, if they may go around the transaction then.
    fn stage(&mut self, may_be_many: bool) -> SqlResult<()> {
        let goes_around = may_be_many && {
            let (plan, assigned) = (self.plan, self.plan.assigned());
            self.context.ways(&plan.target, plan.event(&assigned), plan.is_one_by_one())?.bulk
        };
        self.staged = goes_around.then(Vec::new);
        self.staged_bytes = 0;
        Ok(())
    }

    /// Stores the rows that have waited, on the way that their number asks for.
    fn end_staged(&mut self) -> StoreResult<()> {
        self.store_staged()?;
        if let (Some(bulk), Some(session)) = (self.take_bulk(), self.context.options.bulk_session) {
            self.context.env.context.kill.check()?;
            bulk.finish(session, self.context.options.lock_wait, BulkDuplicate::Fail)?;
        }
        Ok(())
    }

    /// Puts rows that have waited into the transaction, as they are not many.
    fn store_staged(&mut self) -> StoreResult<()> {
        for row in self.staged.take().unwrap_or_default() {
            self.context.env.context.kill.check()?;
            self.context.transaction.insert(&self.plan.target.table, &row)?;
        }
        Ok(())
    }

    /// A bulk load takes the values with it.
    fn try_store(&mut self, row: &mut Vec<Value>) -> StoreResult<()> {
        self.filler().maker().check(row)?;
        let target = &self.plan.target;
        let stored = target.stored_row(row, &self.context.env.context.settings.time_zone);
        if self.bulk.is_some() || self.staged.is_some() {
            let stored = match stored {
                Cow::Owned(stored) => stored,
                Cow::Borrowed(_) => std::mem::take(row),
            };
            self.result.affected_rows += 1;
            if let Some(staged) = &mut self.staged {
                self.staged_bytes += stored.iter().map(Value::heap_bytes).sum::<usize>();
                staged.push(stored);
                if staged.len() == BULK_ROWS_MIN || self.staged_bytes >= BULK_BYTES_MIN {
                    let mut bulk = self.context.env.store.bulk_load(&target.table);
                    self.staged.take().into_iter().flatten().try_for_each(|row| bulk.push(row))?;
                    self.bulk = Some(bulk);
                }
            } else if let Some(bulk) = &mut self.bulk {
                bulk.push(stored)?;
            }
            return Ok(());
        }
        // The key of a row in the way that was gone when it was locked.
        let mut gone = None;
        // REPLACE may find one row in the way per unique key.
        loop {
            match self.context.transaction.insert(&target.table, &stored) {
                Ok(_) => {
                    if self.context.options.foreign_key_checks {
                        foreign_key::check_parents(self.context, target, row, None)?;
                    }
                    self.result.affected_rows += 1;
                    if let Some(triggers) = target.after(TriggerEvent::Insert) {
                        let run = |context: &DmlContext<'_>| {
                            triggers.after(TriggerEvent::Insert, &[], row, &context.env.context)
                        };
                        self.context.evaluate(run)?;
                    }
                    return Ok(());
                }
                Err(StoreError::Duplicate(duplicate)) => {
                    if matches!(self.plan.on_duplicate, OnDuplicate::Fail) {
                        return Err(StoreError::Duplicate(duplicate));
                    }
                    let Some(existing) = self.existing(&duplicate)? else {
                        // Its place is locked now: the next attempt meets another row, or none.
                        if gone.as_ref() == Some(&duplicate.existing) {
                            return Err(StoreError::Duplicate(duplicate));
                        }
                        gone = Some(duplicate.existing);
                        continue;
                    };
                    match &self.plan.on_duplicate {
                        OnDuplicate::Update(assignments) => return self.update_existing(&existing, row, assignments),
                        _ if self.is_replaced_by_itself(&existing, row)? => {
                            self.result.affected_rows += 1;
                            return Ok(());
                        }
                        _ => self.remove_existing(&existing)?,
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The row in the way, locked; `None` if it has gone or moved meanwhile.
    fn existing(&mut self, duplicate: &DuplicateKey) -> StoreResult<Option<Row>> {
        let request = self.context.write_lock();
        let table = &self.plan.target.table;
        let key = duplicate.existing.as_bytes();
        let row = self.context.transaction.get_locked(table, key, request)?;
        if let Some(view) = &self.found_in
            && self.context.transaction.is_changed_since(view, table, key)?
        {
            return Err(SqlError::new(ErrorCode::RecordChanged, &[&table.def().name]).into());
        }
        Ok(row)
    }

    /// Whether REPLACE finds the very row that it would store. As in MySQL that is no row deleted and one inserted, if no other key can have
    /// a row in the way, and neither triggers nor foreign keys are to see the row go.
    fn is_replaced_by_itself(&self, existing: &Row, row: &[Value]) -> SqlResult<bool> {
        let target = &self.plan.target;
        let is_seen = !target.rules.triggers.is_empty()
            || (self.context.options.foreign_key_checks && !target.rules.referenced_by.is_empty());
        if is_seen || target.rules.unique.len() > 1 {
            return Ok(false);
        }
        let old = target.read_row(existing, &self.context.env.context.settings.time_zone)?;
        Ok(old == row)
    }

    fn remove_existing(&mut self, existing: &Row) -> StoreResult<()> {
        change::delete_row(self.context, &self.plan.target, existing)?;
        self.duplicates += 1;
        self.result.affected_rows += 1;
        Ok(())
    }

    fn update_existing(
        &mut self,
        existing: &Row,
        new_row: &[Value],
        assignments: &[ColumnAssignment],
    ) -> StoreResult<()> {
        let target = &self.plan.target;
        let old = target.read_row(existing, &self.context.env.context.settings.time_zone)?;
        let strict = self.filler().strict();
        let (maker, number) = (RowMaker::of_update(self.context, target, strict), self.row_number);
        let beside = [new_row, &self.source_row].concat();
        let updated = self.context.evaluate(|_| {
            let updated = change::assign(&maker, assignments, &old, &beside, number)?;
            maker.before_update(&old, updated, number)
        })?;
        let changed = change::update_row(self.context, &maker, existing, &old, &updated)?;
        // The value that was generated for this row is not reported.
        self.row_id = None;
        self.duplicates += 1;
        if let Some(ordinal) = target.rules.auto_increment {
            self.last_id = as_u64(&updated[ordinal]);
        }
        if changed {
            self.result.affected_rows += 2;
        } else if self.context.options.found_rows {
            self.result.affected_rows += 1;
        }
        Ok(())
    }

    fn returned(&mut self, row: &[Value]) -> SqlResult<Vec<Value>> {
        let (plan, single) = (self.plan, self.single);
        self.context.evaluate(|context| {
            let filler = RowFiller { env: context.env, plan, parameters: context.parameters, single };
            let maker = filler.maker();
            plan.returning.iter().map(|returned| maker.eval(&returned.expr, row)).collect()
        })
    }
}
