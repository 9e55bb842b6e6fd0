//! The table that a statement changes, and the order of its columns in the statement's rows.

use super::DmlContext;
use super::rules::{DefaultRule, TableRules};
use crate::bind::RowTriggers;
use crate::bind::updatable::ViewLevel;
use squall_catalog::name::eq_ignore_case;
use squall_catalog::{ColumnDef, TableDef, TriggerEvent};
use squall_column_tables::from_utc;
use squall_executor::env::StatementEnv;
use squall_functions::expr::{BoundExpr, ParameterisedRow};
use squall_row_store::{Row, Table};
use squall_types::json::Document;
use squall_types::temporal::TimeZone;
use squall_types::{Date, DateTime, Decimal, ErrorCode, SqlError, SqlResult, SqlType, Time, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// A table that a statement changes.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its database.
    pub database: Arc<str>,
    /// Its alias in the statement.
    pub alias: Arc<str>,
    /// The store's table.
    pub table: Arc<Table>,
    /// Its bound rules.
    pub rules: Arc<TableRules>,
    /// The view that the statement names instead.
    pub view: Option<Arc<TargetView>>,
    /// The triggers of the statement's own changes; actions of foreign keys have none.
    pub triggers: Option<Arc<dyn RowTriggers>>,
}

/// A view through which a table is changed.
#[derive(Clone, Debug)]
pub struct TargetView {
    /// Its database.
    pub database: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Which of the tables that it joins is changed; 0 for a view of one table.
    pub part: usize,
    /// Its columns, but for those of other tables: the name, and the ordinal in the table of those that are no expressions.
    pub columns: Vec<(Arc<str>, Option<usize>)>,
    /// The condition of WITH CHECK OPTION on the row of a view of one table.
    pub checks: Vec<BoundExpr>,
    /// Whether there is such a condition on joined rows.
    pub lacks_checks: bool,
    /// This view and those below, down to the table.
    pub levels: Vec<ViewLevel>,
}

/// How the values of one statement are stored.
#[derive(Clone, Copy)]
pub struct RowMaker<'a> {
    /// The table.
    pub target: &'a Target,
    /// The statement.
    pub env: &'a StatementEnv,
    /// Its parameters.
    pub parameters: &'a [Value],
    /// Whether bad values are errors: strict sql_mode without IGNORE.
    pub strict: bool,
    /// Whether NULL for a NOT NULL column becomes a warning: IGNORE, or several rows without strict mode.
    pub null_becomes_zero: bool,
    /// Whether NULL stays NULL for now: a trigger runs before the row is looked at.
    pub null_waits: bool,
}

impl Target {
    /// Which of the tables that its view joins it is; 0 without a view.
    pub fn part(&self) -> usize {
        self.view.as_ref().map_or(0, |view| view.part)
    }

    /// The definition.
    pub fn def(&self) -> &Arc<TableDef> {
        self.table.def()
    }

    /// The ordinal of the column that the statement calls so; error 1348 for a view's expression.
    pub fn column(&self, name: &str) -> SqlResult<Option<usize>> {
        let Some(view) = &self.view else { return Ok(self.def().column(name).map(|(ordinal, _)| ordinal)) };
        match view.columns.iter().find(|(column, _)| eq_ignore_case(column, name)) {
            Some((column, None)) => Err(SqlError::new(ErrorCode::NonupdateableColumn, &[column])),
            Some((_, ordinal)) => Ok(*ordinal),
            None => Ok(None),
        }
    }

    /// A stored row as statements see it: TIMESTAMP in the session's time zone.
    pub fn read_row(&self, row: &Row, zone: &TimeZone) -> SqlResult<Vec<Value>> {
        let mut values = row.values(&self.table)?;
        for ordinal in &self.rules.timestamps {
            if let Some(Value::DateTime(moment)) = values.get_mut(*ordinal) {
                *moment = from_utc(zone, *moment);
            }
        }
        Ok(values)
    }

    /// A row as it is stored.
    pub fn stored_row<'v>(&self, values: &'v [Value], zone: &TimeZone) -> Cow<'v, [Value]> {
        if self.rules.timestamps.is_empty() {
            return Cow::Borrowed(values);
        }
        let mut stored = values.to_vec();
        for ordinal in &self.rules.timestamps {
            if let Some(Value::DateTime(moment)) = stored.get_mut(*ordinal)
                && !moment.is_zero()
            {
                *moment = zone.to_utc(*moment).unwrap_or(*moment);
            }
        }
        Cow::Owned(stored)
    }
}

impl<'a> RowMaker<'a> {
    /// For the new values of the rows of an UPDATE; `strict` says whether bad values are errors.
    pub(super) fn of_update(context: &DmlContext<'a>, target: &'a Target, strict: bool) -> RowMaker<'a> {
        let null_waits = target.before(TriggerEvent::Update).is_some();
        let (env, parameters) = (context.env, context.parameters);
        RowMaker { target, env, parameters, strict, null_becomes_zero: !strict, null_waits }
    }
}

impl RowMaker<'_> {
    /// Evaluates an expression over a row.
    pub fn eval(&self, expr: &BoundExpr, row: &[Value]) -> SqlResult<Value> {
        let source = ParameterisedRow { row, parameters: self.parameters };
        expr.eval(&source, &self.env.context)
    }

    /// NULL as a column holds it (1048).
    pub(super) fn null(&self, column: &ColumnDef) -> SqlResult<Value> {
        if column.nullable || self.null_waits {
            return Ok(Value::Null);
        }
        let error = SqlError::new(ErrorCode::BadNull, &[&column.name]);
        if !self.null_becomes_zero {
            return Err(error);
        }
        self.env.context.diagnostics.warn(error);
        implicit_default(&column.sql_type)
    }

    /// The value of a column that the statement does not name.
    pub fn default_value(&self, ordinal: usize, row: &[Value]) -> SqlResult<Value> {
        let column = &self.target.def().columns[ordinal];
        match &self.target.rules.defaults[ordinal] {
            DefaultRule::Value(value) => Ok(value.clone()),
            DefaultRule::Now => self.now_value(column),
            DefaultRule::Expr(expr) => {
                let value = self.eval(expr, row)?;
                self.convert(column, value, &expr.sql_type(), 1)
            }
            DefaultRule::None if column.nullable => Ok(Value::Null),
            DefaultRule::None if column.auto_increment || column.generated.is_some() => {
                Ok(zero_value(&column.sql_type))
            }
            DefaultRule::None => {
                let error = SqlError::new(ErrorCode::NoDefaultForField, &[&column.name]);
                // An ENUM without a default has its first member.
                if self.strict && !matches!(column.sql_type, SqlType::Enum { .. }) {
                    return Err(error);
                }
                if !matches!(column.sql_type, SqlType::Enum { .. }) {
                    self.env.context.diagnostics.warn(error);
                }
                implicit_default(&column.sql_type)
            }
        }
    }

    /// CURRENT_TIMESTAMP as the column holds it.
    pub fn now_value(&self, column: &ColumnDef) -> SqlResult<Value> {
        let fsp = match column.sql_type {
            SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } | SqlType::Time { fsp } => fsp,
            _ => 0,
        };
        let unit = 10i64.pow(u32::from(6 - fsp.min(6)));
        let micros = self.env.context.now_micros;
        let now = self
            .env
            .context
            .settings
            .time_zone
            .from_unix_micros(micros - micros.rem_euclid(unit))
            .ok_or_else(|| SqlError::internal("the time is out of range"))?;
        Ok(match column.sql_type {
            SqlType::Date => Value::Date(now.date()),
            SqlType::Time { .. } => Value::Time(now.time()),
            _ => Value::DateTime(now),
        })
    }

    /// Checks the CHECK constraints, where unknown passes, and a view's CHECK OPTION, where it does not.
    pub fn check(&self, row: &[Value]) -> SqlResult<()> {
        let source = ParameterisedRow { row, parameters: self.parameters };
        if let Some(view) = &self.target.view {
            for condition in &view.checks {
                if condition.eval_condition(&source, &self.env.context)? != Some(true) {
                    return Err(SqlError::new(ErrorCode::ViewCheckFailed, &[&view.database, &view.name]));
                }
            }
        }
        for (name, condition) in &self.target.rules.checks {
            if condition.eval_condition(&source, &self.env.context)? == Some(false) {
                return Err(SqlError::new(ErrorCode::CheckConstraintViolated, &[name]));
            }
        }
        Ok(())
    }
}

/// The value of a NOT NULL column when the statement gives none.
///
/// # Errors
/// 1416 for a geometry, 6138 for a vector: there is none that could stand for nothing.
pub fn implicit_default(sql_type: &SqlType) -> SqlResult<Value> {
    match sql_type.has_no_zero() {
        true if sql_type.is_vector() => Err(SqlError::new(ErrorCode::ToVectorConversion, &[&""])),
        true => Err(SqlError::new(ErrorCode::CannotCreateGeometryObject, &[])),
        false => Ok(zero_value(sql_type)),
    }
}

/// The implicit default of a NOT NULL column.
pub fn zero_value(sql_type: &SqlType) -> Value {
    match sql_type {
        SqlType::Null => Value::Null,
        SqlType::Int { unsigned: false, .. } => Value::Int(0),
        SqlType::Enum { .. } => Value::UInt(1),
        SqlType::Int { .. } | SqlType::Bit { .. } | SqlType::Year | SqlType::Set { .. } => Value::UInt(0),
        SqlType::Decimal { scale, .. } => Value::Decimal(Decimal::new(arrow::datatypes::i256::ZERO, *scale)),
        SqlType::Float { .. } | SqlType::Double { .. } => Value::Double(0.0),
        SqlType::Date => Value::Date(Date::ZERO),
        SqlType::Time { .. } => Value::Time(Time::default()),
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => Value::DateTime(DateTime::ZERO),
        SqlType::String { .. } if sql_type.is_binary_string() => Value::Bytes(Vec::new()),
        SqlType::String { .. } => Value::String(String::new()),
        SqlType::Json => Value::Json(Document::from_stored("null")),
        SqlType::Hex { .. } | SqlType::Uuid => Value::Bytes(vec![0; sql_type.digit_bytes().unwrap_or_default()]),
    }
}
