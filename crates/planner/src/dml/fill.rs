//! Completes rows: adds defaults, AUTO_INCREMENT values and generated columns.

use super::plan::InsertPlan;
use super::rules::DefaultRule;
use super::target::{RowMaker, zero_value};
use squall_catalog::TriggerEvent;
use squall_executor::env::StatementEnv;
use squall_row_store::{Table, TableStore};
use squall_types::{ErrorCode, SqlError, SqlMode, SqlResult, SqlType, Value};

/// Makes rows of an INSERT, a REPLACE or a LOAD DATA complete.
#[derive(Clone, Copy)]
pub(super) struct RowFiller<'a> {
    pub env: &'a StatementEnv,
    pub plan: &'a InsertPlan,
    pub parameters: &'a [Value],
    /// The statement gives one row only, so that NULL for a NOT NULL column is an error in any mode.
    pub single: bool,
}

/// Where a row's AUTO_INCREMENT value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdSource {
    /// The table has no such column.
    None,
    /// The statement has given it.
    Given(Option<u64>),
    /// It was the next one.
    Generated(u64),
}

impl<'a> RowFiller<'a> {
    pub fn strict(&self) -> bool {
        self.env.context.settings.sql_mode.is_strict() && !self.plan.ignore
    }

    pub fn maker(&self) -> RowMaker<'a> {
        let strict = self.strict();
        RowMaker {
            target: &self.plan.target,
            env: self.env,
            parameters: self.parameters,
            strict,
            null_becomes_zero: self.plan.ignore || (!strict && !self.single),
            null_waits: self.plan.target.before(TriggerEvent::Insert).is_some(),
        }
    }

    /// A row of values with their types, and which columns they are of; `None` is DEFAULT.
    pub fn row_of_values<'t>(
        &self,
        values: impl Iterator<Item = Option<(Value, &'t SqlType)>>,
        row_number: u64,
    ) -> SqlResult<(Vec<Value>, Vec<bool>)> {
        let maker = self.maker();
        let mut row = vec![Value::Null; self.plan.target.def().columns.len()];
        let mut given = vec![false; row.len()];
        for (column, value) in self.plan.columns.iter().zip(values) {
            if let Some((value, sql_type)) = value {
                row[*column] = self.column_value(&maker, *column, value, sql_type, row_number)?;
                given[*column] = true;
            }
        }
        self.fill_start(&maker, &mut row, &given)?;
        Ok((row, given))
    }

    /// Constant defaults, which expressions may read before their column is set; NULL elsewhere.
    pub fn starting_row(&self, maker: &RowMaker<'_>) -> SqlResult<Vec<Value>> {
        let def = self.plan.target.def();
        def.columns
            .iter()
            .zip(&self.plan.target.rules.defaults)
            .map(|(column, rule)| match rule {
                DefaultRule::Value(value) => Ok(value.clone()),
                DefaultRule::Now => maker.now_value(column),
                _ if column.nullable => Ok(Value::Null),
                _ => Ok(zero_value(&column.sql_type)),
            })
            .collect()
    }

    /// The starting values of columns that were not given.
    pub fn fill_start(&self, maker: &RowMaker<'_>, row: &mut [Value], given: &[bool]) -> SqlResult<()> {
        if given.contains(&false) {
            let start = self.starting_row(maker)?;
            for ((value, start), _) in row.iter_mut().zip(start).zip(given).filter(|(_, given)| !**given) {
                *value = start;
            }
        }
        Ok(())
    }

    pub fn column_value(
        &self,
        maker: &RowMaker<'_>,
        ordinal: usize,
        value: Value,
        from: &SqlType,
        row_number: u64,
    ) -> SqlResult<Value> {
        let column = &self.plan.target.def().columns[ordinal];
        if column.generated.is_some() {
            let table = &self.plan.target.def().name;
            if maker.strict {
                return Err(SqlError::new(ErrorCode::BadValueForGeneratedColumn, &[&column.name, table]));
            }
            // MariaDB's dumps have values of these columns, and a mode that is not strict.
            maker.env.context.diagnostics.warn(SqlError::new(ErrorCode::GeneratedValueIgnored, &[&column.name, table]));
            return Ok(Value::Null);
        }
        // NULL asks for the next AUTO_INCREMENT value.
        if column.auto_increment && value.is_null() {
            return Ok(Value::Null);
        }
        maker.convert(column, value, from, row_number)
    }

    /// Fills in the missing values: defaults, values of triggers, the AUTO_INCREMENT value from `next_id`, generated columns.
    pub fn complete(
        &self,
        row: &mut [Value],
        given: &[bool],
        row_number: u64,
        next_id: impl FnOnce() -> SqlResult<u64>,
    ) -> SqlResult<IdSource> {
        if let Some(triggers) = self.plan.target.before(TriggerEvent::Insert) {
            let mut given = given.to_vec();
            self.before_insert(triggers, row, &mut given, row_number)?;
            let source = self.set_auto_increment(row, &given, next_id)?;
            RowMaker { null_waits: false, ..self.maker() }.generate(row, row_number)?;
            return Ok(source);
        }
        let maker = self.maker();
        for ordinal in 0..row.len() {
            let column = &self.plan.target.def().columns[ordinal];
            if !given[ordinal] && column.generated.is_none() && !column.auto_increment {
                row[ordinal] = maker.default_value(ordinal, row)?;
            }
        }
        let source = self.set_auto_increment(row, given, next_id)?;
        maker.generate(row, row_number)?;
        Ok(source)
    }

    fn set_auto_increment(
        &self,
        row: &mut [Value],
        given: &[bool],
        next_id: impl FnOnce() -> SqlResult<u64>,
    ) -> SqlResult<IdSource> {
        let Some(ordinal) = self.plan.target.rules.auto_increment else { return Ok(IdSource::None) };
        let zero_generates = !self.env.context.settings.sql_mode.contains(SqlMode::NO_AUTO_VALUE_ON_ZERO);
        let generate = match &row[ordinal] {
            _ if !given[ordinal] => true,
            Value::Null => true,
            Value::Int(0) | Value::UInt(0) => zero_generates,
            Value::Double(number) => *number == 0.0 && zero_generates,
            _ => false,
        };
        if !generate {
            return Ok(IdSource::Given(as_u64(&row[ordinal])));
        }
        let value = next_id()?;
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
        Ok(IdSource::Generated(value))
    }
}

/// The next AUTO_INCREMENT value of the form `offset + n × increment`.
pub(super) fn next_auto_increment(
    store: &dyn TableStore,
    table: &Table,
    increment: u64,
    offset: u64,
) -> SqlResult<u64> {
    let mut value = store.next_auto_increment(table, 1);
    let skip = of_form(value, increment, offset) - value;
    if skip > 0 {
        value += skip;
        store.next_auto_increment(table, skip);
    }
    if value == u64::MAX { Err(SqlError::new(ErrorCode::AutoIncrementReadFailed, &[])) } else { Ok(value) }
}

/// The first value of the form `offset + n × increment` that is not below another one.
pub(super) fn of_form(value: u64, increment: u64, offset: u64) -> u64 {
    if increment <= 1 {
        return value;
    }
    let offset = if offset > increment { 1 } else { offset };
    let past = value.saturating_sub(offset) % increment;
    let skip = if value < offset { offset - value } else { (increment - past) % increment };
    value.saturating_add(skip)
}

pub(super) fn as_u64(value: &Value) -> Option<u64> {
    match value {
        Value::UInt(number) => Some(*number),
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// Whether an integer column can hold a generated value.
fn fits_width(sql_type: &SqlType, value: u64) -> bool {
    let SqlType::Int { width, unsigned, .. } = sql_type else { return true };
    let bits = width.bits() - u32::from(!unsigned);
    bits >= 64 || value < 1 << bits
}
