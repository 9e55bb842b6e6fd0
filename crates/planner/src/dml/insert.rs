//! INSERT and REPLACE.

use super::find::with_parameters;
use super::plan::{ColumnAssignment, InsertPlan, InsertRows, NewValue, OnDuplicate, column_types};
use super::query::for_each_row;
use super::target::RowMaker;
use super::{DmlContext, DmlResult, change, foreign_key, ignorable};
use squall_row_store::{BulkLoad, DuplicateKey, Row, StoreError, StoreResult};
use squall_types::{ErrorCode, SqlError, SqlMode, SqlResult, SqlType, Value};
use std::borrow::Cow;

/// Carries an INSERT or REPLACE out.
pub fn execute_insert(context: &mut DmlContext<'_>, plan: &InsertPlan) -> StoreResult<DmlResult> {
    context.atomically(|context| {
        let single = matches!(&plan.source, InsertRows::Values(rows) if rows.len() == 1);
        let mut inserter = Inserter::new(context, plan, single);
        match &plan.source {
            InsertRows::Values(rows) => {
                for row in rows {
                    inserter.insert_exprs(row)?;
                }
            }
            InsertRows::Query(query) => {
                let env = with_parameters(inserter.context);
                let (runtime, types) = (inserter.context.runtime.clone(), column_types(query));
                for_each_row(&runtime, &env, query.plan.clone(), &types, |values| {
                    inserter.insert_values(values.into_iter().zip(&types).map(|(value, ty)| Some((value, ty))))
                })?;
            }
        }
        Ok(inserter.finish(!single))
    })
}

/// Fills a table that nobody else sees yet with a query's rows. Where nothing has to be looked up for a row they go
/// around the transaction, without a bound of memory, and are durable at the end.
pub fn fill_table(context: &mut DmlContext<'_>, plan: &InsertPlan, session: u64) -> StoreResult<DmlResult> {
    let alone = matches!(plan.on_duplicate, OnDuplicate::Fail) && !plan.ignore;
    let InsertRows::Query(query) = &plan.source else { return execute_insert(context, plan) };
    if !alone || !plan.target.def().foreign_keys.is_empty() {
        return execute_insert(context, plan);
    }
    let wait = context.options.lock_wait;
    let load = context.env.store.bulk_load(&plan.target.table);
    let mut inserter = Inserter::new(context, plan, false);
    inserter.begin_bulk(load);
    let env = with_parameters(inserter.context);
    let (runtime, types) = (inserter.context.runtime.clone(), column_types(query));
    for_each_row(&runtime, &env, query.plan.clone(), &types, |values| {
        inserter.insert_values(values.into_iter().zip(&types).map(|(value, ty)| Some((value, ty))))
    })?;
    let bulk = inserter.take_bulk();
    let result = inserter.finish(true);
    if let Some(bulk) = bulk {
        bulk.finish(session, wait, squall_row_store::OnDuplicate::Fail)?;
    }
    Ok(result)
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
    bulk: Option<BulkLoad>,
}

impl<'c, 'p, 'a> Inserter<'c, 'p, 'a> {
    /// Begins.
    pub fn new(context: &'c mut DmlContext<'a>, plan: &'p InsertPlan, single: bool) -> Self {
        Inserter {
            context,
            plan,
            single,
            row_number: 0,
            result: DmlResult::default(),
            records: 0,
            duplicates: 0,
            bulk: None,
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

    /// What was done; `with_info` for statements that may insert several rows.
    pub fn finish(mut self, with_info: bool) -> DmlResult {
        if with_info {
            self.result.info = format!("Records: {}  Duplicates: {}", self.records, self.duplicates);
        }
        self.result
    }

    /// Rows given so far.
    pub fn row_number(&self) -> u64 {
        self.row_number
    }

    fn strict(&self) -> bool {
        self.context.env.context.sql_mode.is_strict() && !self.plan.ignore
    }

    fn maker(&self) -> RowMaker<'_> {
        let strict = self.strict();
        RowMaker {
            target: &self.plan.target,
            env: self.context.env,
            parameters: self.context.parameters,
            strict,
            null_becomes_zero: self.plan.ignore || (!strict && !self.single),
        }
    }

    /// Inserts a row of VALUES: each expression sees the columns set before it, and the defaults of the others.
    fn insert_exprs(&mut self, values: &[NewValue]) -> StoreResult<()> {
        self.row_number += 1;
        if values.len() != self.plan.columns.len() {
            return Err(SqlError::new(ErrorCode::WrongValueCountOnRow, &[&self.row_number]).into());
        }
        let (mut row, given) = {
            let maker = self.maker();
            // Rows of literals are most of what is inserted, and none of them looks at another column.
            let constant = values.iter().all(|value| matches!(value, NewValue::Expr(expr) if expr.is_constant()));
            let columns = self.plan.target.def().columns.len();
            let mut row = if constant { vec![Value::Null; columns] } else { self.starting_row(&maker)? };
            let mut given = vec![false; row.len()];
            for (column, value) in self.plan.columns.iter().zip(values) {
                if let NewValue::Expr(expr) = value {
                    let raw = maker.eval(expr, &row)?;
                    row[*column] = self.column_value(&maker, *column, raw, &expr.sql_type())?;
                    given[*column] = true;
                }
            }
            if constant {
                self.fill_start(&maker, &mut row, &given)?;
            }
            (row, given)
        };
        self.complete(&mut row, &given)?;
        self.store(row)
    }

    /// Inserts a row of values with their types; `None` is DEFAULT.
    pub fn insert_values<'t>(&mut self, values: impl Iterator<Item = Option<(Value, &'t SqlType)>>) -> StoreResult<()> {
        self.row_number += 1;
        let (mut row, given) = {
            let maker = self.maker();
            let mut row = vec![Value::Null; self.plan.target.def().columns.len()];
            let mut given = vec![false; row.len()];
            for (column, value) in self.plan.columns.iter().zip(values) {
                if let Some((value, sql_type)) = value {
                    row[*column] = self.column_value(&maker, *column, value, sql_type)?;
                    given[*column] = true;
                }
            }
            self.fill_start(&maker, &mut row, &given)?;
            (row, given)
        };
        self.complete(&mut row, &given)?;
        self.store(row)
    }

    /// Constant defaults, which expressions may read before their column is set; NULL elsewhere.
    fn starting_row(&self, maker: &RowMaker<'_>) -> SqlResult<Vec<Value>> {
        let def = self.plan.target.def();
        def.columns
            .iter()
            .zip(&self.plan.target.rules.defaults)
            .map(|(column, rule)| match rule {
                super::rules::DefaultRule::Value(value) => Ok(value.clone()),
                super::rules::DefaultRule::Now => maker.now_value(column),
                _ if column.nullable => Ok(Value::Null),
                _ => Ok(super::target::zero_value(&column.sql_type)),
            })
            .collect()
    }

    /// The starting values of columns that were not given.
    fn fill_start(&self, maker: &RowMaker<'_>, row: &mut [Value], given: &[bool]) -> SqlResult<()> {
        if given.contains(&false) {
            let start = self.starting_row(maker)?;
            for ((value, start), _) in row.iter_mut().zip(start).zip(given).filter(|(_, given)| !**given) {
                *value = start;
            }
        }
        Ok(())
    }

    fn column_value(&self, maker: &RowMaker<'_>, ordinal: usize, value: Value, from: &SqlType) -> SqlResult<Value> {
        let column = &self.plan.target.def().columns[ordinal];
        if column.generated.is_some() {
            let table = &self.plan.target.def().name;
            return Err(SqlError::new(ErrorCode::BadValueForGeneratedColumn, &[&column.name, table]));
        }
        // NULL asks for the next AUTO_INCREMENT value.
        if column.auto_increment && value.is_null() {
            return Ok(Value::Null);
        }
        maker.convert(column, value, from, self.row_number)
    }

    /// Fills in what the statement did not give: defaults, the AUTO_INCREMENT value, generated columns.
    fn complete(&mut self, row: &mut [Value], given: &[bool]) -> StoreResult<()> {
        {
            let maker = self.maker();
            for ordinal in 0..row.len() {
                let column = &self.plan.target.def().columns[ordinal];
                if !given[ordinal] && column.generated.is_none() && !column.auto_increment {
                    row[ordinal] = maker.default_value(ordinal, row)?;
                }
            }
        }
        self.set_auto_increment(row, given)?;
        let maker = self.maker();
        maker.generate(row, self.row_number)?;
        Ok(())
    }

    fn set_auto_increment(&mut self, row: &mut [Value], given: &[bool]) -> SqlResult<()> {
        let Some(ordinal) = self.plan.target.rules.auto_increment else { return Ok(()) };
        let zero_generates = !self.context.env.context.sql_mode.contains(SqlMode::NO_AUTO_VALUE_ON_ZERO);
        let generate = match &row[ordinal] {
            _ if !given[ordinal] => true,
            Value::Null => true,
            Value::Int(0) | Value::UInt(0) => zero_generates,
            Value::Double(number) => *number == 0.0 && zero_generates,
            _ => false,
        };
        if !generate {
            self.result.explicit_id = as_u64(&row[ordinal]);
            return Ok(());
        }
        let value = self.next_auto_increment()?;
        let column = &self.plan.target.def().columns[ordinal];
        let typed = match &column.sql_type {
            SqlType::Int { unsigned: false, .. } => i64::try_from(value).ok().map(Value::Int),
            SqlType::Int { .. } => Some(Value::UInt(value)),
            _ => Some(Value::Double(value as f64)),
        };
        let typed = typed.ok_or_else(|| SqlError::new(ErrorCode::AutoIncrementReadFailed, &[]))?;
        if !fits_width(&column.sql_type, value) {
            return Err(SqlError::new(ErrorCode::AutoIncrementReadFailed, &[]));
        }
        row[ordinal] = typed;
        self.result.generated_id.get_or_insert(value);
        Ok(())
    }

    /// The next value of the form `offset + n × increment`.
    fn next_auto_increment(&self) -> SqlResult<u64> {
        let options = &self.context.options;
        let (store, table) = (&self.context.env.store, &self.plan.target.table);
        let increment = options.auto_increment_increment.max(1);
        let mut value = store.next_auto_increment(table, 1);
        if increment > 1 {
            let offset = if options.auto_increment_offset > increment { 1 } else { options.auto_increment_offset };
            let past = value.saturating_sub(offset) % increment;
            let skip = if value < offset { offset - value } else { (increment - past) % increment };
            if skip > 0 {
                value = value.saturating_add(skip);
                store.next_auto_increment(table, skip);
            }
        }
        if value == u64::MAX { Err(SqlError::new(ErrorCode::AutoIncrementReadFailed, &[])) } else { Ok(value) }
    }

    /// Stores a complete row, or does what the statement wants with a duplicate.
    fn store(&mut self, mut row: Vec<Value>) -> StoreResult<()> {
        self.context.env.context.kill.check()?;
        let generated_before = self.result.generated_id;
        match self.try_store(&mut row) {
            Ok(()) => {
                self.records += 1;
                if !self.plan.returning.is_empty() {
                    let returned = self.returned(&row)?;
                    self.result.returned.push(returned);
                }
                Ok(())
            }
            Err(error) if self.plan.ignore && ignorable(&error) => {
                self.records += 1;
                self.duplicates += 1;
                if self.result.affected_rows == 0 {
                    // MySQL reports only ids of rows that were stored.
                    self.result.generated_id = generated_before.filter(|_| self.records > 1);
                }
                self.context.env.context.diagnostics.warn(error.into());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// A bulk load takes the values with it.
    fn try_store(&mut self, row: &mut Vec<Value>) -> StoreResult<()> {
        self.maker().check(row)?;
        let target = &self.plan.target;
        if self.context.options.foreign_key_checks {
            foreign_key::check_parents(self.context, target, row, None)?;
        }
        let stored = target.stored_row(row, &self.context.env.context.time_zone);
        if let Some(bulk) = &mut self.bulk {
            let stored = match stored {
                Cow::Owned(stored) => stored,
                Cow::Borrowed(_) => std::mem::take(row),
            };
            bulk.push(stored)?;
            self.result.affected_rows += 1;
            return Ok(());
        }
        // REPLACE may find one row in the way per unique key.
        loop {
            match self.context.transaction.insert(&target.table, &stored) {
                Ok(_) => {
                    self.result.affected_rows += 1;
                    return Ok(());
                }
                Err(StoreError::Duplicate(duplicate)) => match &self.plan.on_duplicate {
                    OnDuplicate::Fail => return Err(StoreError::Duplicate(duplicate)),
                    OnDuplicate::Replace => self.remove_existing(&duplicate)?,
                    OnDuplicate::Update(assignments) => {
                        return self.update_existing(&duplicate, row, assignments);
                    }
                },
                Err(error) => return Err(error),
            }
        }
    }

    fn existing(&mut self, duplicate: &DuplicateKey) -> StoreResult<Row> {
        let request = self.context.write_lock();
        let table = &self.plan.target.table;
        let row = self.context.transaction.get_locked(table, duplicate.existing.as_bytes(), request)?;
        row.ok_or_else(|| StoreError::Duplicate(Box::new(duplicate.clone())))
    }

    fn remove_existing(&mut self, duplicate: &DuplicateKey) -> StoreResult<()> {
        let existing = self.existing(duplicate)?;
        change::delete_row(self.context, &self.plan.target, &existing)?;
        self.duplicates += 1;
        self.result.affected_rows += 1;
        Ok(())
    }

    fn update_existing(
        &mut self,
        duplicate: &DuplicateKey,
        new_row: &[Value],
        assignments: &[ColumnAssignment],
    ) -> StoreResult<()> {
        let existing = self.existing(duplicate)?;
        let target = &self.plan.target;
        let old = target.read_row(&existing, &self.context.env.context.time_zone)?;
        let strict = self.strict();
        let updated = change::assign(
            &RowMaker {
                target,
                env: self.context.env,
                parameters: self.context.parameters,
                strict,
                null_becomes_zero: !strict,
            },
            assignments,
            &old,
            new_row,
            self.row_number,
        )?;
        // A value generated for the row that was not stored is not reported, unless the update stores it.
        self.result.generated_id = None;
        self.duplicates += 1;
        if let Some(ordinal) = target.rules.auto_increment {
            self.result.explicit_id = as_u64(&updated[ordinal]);
        }
        if change::update_row(self.context, target, &existing, &old, &updated, strict)? {
            self.result.affected_rows += 2;
        } else if self.context.options.found_rows {
            self.result.affected_rows += 1;
        }
        Ok(())
    }

    fn returned(&self, row: &[Value]) -> SqlResult<Vec<Value>> {
        let maker = self.maker();
        self.plan.returning.iter().map(|returned| maker.eval(&returned.expr, row)).collect()
    }
}

fn as_u64(value: &Value) -> Option<u64> {
    match value {
        Value::UInt(number) => Some(*number),
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// Whether an integer column can hold a generated value.
fn fits_width(sql_type: &SqlType, value: u64) -> bool {
    use squall_types::IntWidth;
    let SqlType::Int { width, unsigned, .. } = sql_type else { return true };
    let bits = match width {
        IntWidth::Tiny => 8,
        IntWidth::Small => 16,
        IntWidth::Medium => 24,
        IntWidth::Int => 32,
        IntWidth::Big => 64,
    } - u32::from(!unsigned);
    bits >= 64 || value < 1 << bits
}
