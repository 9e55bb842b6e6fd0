//! Dates and times plus and minus intervals.

use super::coerce;
use crate::wrong_value::report;
use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::Int64Type;
use squall_registry::ScalarKernel;
use squall_statement_context::StatementContext;
use squall_types::temporal::parse::parse_datetime;
use squall_types::temporal::{Interval, IntervalUnit};
use squall_types::{DateTime, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// `date ± INTERVAL amount unit`: the first argument is the date, the second the amount.
#[derive(Debug)]
pub struct AddIntervalKernel {
    /// The unit.
    pub unit: IntervalUnit,
    /// Minus.
    pub subtract: bool,
    /// The type of the date.
    pub from: SqlType,
    /// The type of the amount.
    pub amount: SqlType,
    /// The type of the result: DATE, DATETIME, TIME, or text for text.
    pub to: SqlType,
}

impl ScalarKernel for AddIntervalKernel {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let [base, amount] = arguments else { return Ok(Value::Null) };
        if base.is_null() || amount.is_null() {
            return Ok(Value::Null);
        }
        let interval = interval_of(amount, &self.amount, self.unit, context)?;
        let interval = if self.subtract { interval.negate() } else { interval };
        match &self.to {
            SqlType::Time { .. } => {
                let Some(time) = coerce::to_time(base, &self.from, context)? else { return Ok(Value::Null) };
                self.in_range(time.add_interval(interval).map(Value::Time), "time", context)
            }
            SqlType::Date => {
                let Some(date) = coerce::to_date(base, &self.from, context)? else { return Ok(Value::Null) };
                if date.has_zero_part() {
                    return Ok(Value::Null);
                }
                self.in_range(date.add_interval(interval).map(Value::Date), "datetime", context)
            }
            SqlType::String { .. } => self.add_to_text(base, interval, context),
            _ => {
                let Some(value) = coerce::to_datetime(base, &self.from, context)? else { return Ok(Value::Null) };
                if value.date().has_zero_part() {
                    return Ok(Value::Null);
                }
                self.in_range(value.add_interval(interval).map(Value::DateTime), "datetime", context)
            }
        }
    }

    fn has_eval_arrays(&self) -> bool {
        let is_moment = matches!(self.from, SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. });
        let is_whole = matches!(self.amount, SqlType::Int { unsigned: false, .. }) && !self.unit.is_composite();
        is_moment && is_whole && matches!(self.to, SqlType::Date | SqlType::DateTime { .. })
    }

    /// `None` where a result has a warning.
    fn eval_arrays(&self, arguments: &[ArrayRef], context: &StatementContext) -> Option<SqlResult<ArrayRef>> {
        let [bases, amounts] = arguments else { return None };
        let (bases, amounts) = (bases.as_primitive_opt::<Int64Type>()?, amounts.as_primitive_opt::<Int64Type>()?);
        if let Err(error) = context.kill.check() {
            return Some(Err(error));
        }
        let mut results = Vec::with_capacity(bases.len());
        for (base, amount) in bases.iter().zip(amounts) {
            let (Some(base), Some(amount)) = (base, amount) else {
                results.push(None);
                continue;
            };
            let interval = Interval::from_integer(amount, self.unit);
            let interval = if self.subtract { interval.negate() } else { interval };
            // Dates are packed as their midnights.
            let base = DateTime::from_packed(base);
            results.push(match base.date().has_zero_part() {
                true => None,
                false if self.to == SqlType::Date => {
                    Some(base.date().add_interval(interval)?.at_midnight().to_packed())
                }
                false => Some(base.add_interval(interval)?.to_packed()),
            });
        }
        Some(Ok(Arc::new(Int64Array::from(results))))
    }
}

impl AddIntervalKernel {
    fn in_range(&self, value: Option<Value>, field: &str, context: &StatementContext) -> SqlResult<Value> {
        match value {
            Some(value) => Ok(value),
            None => {
                report(SqlError::new(ErrorCode::DatetimeFunctionOverflow, &[&field]), context)?;
                Ok(Value::Null)
            }
        }
    }

    /// Text stays text: of a date if it is one and the unit is one of days or more, else of a date and time.
    fn add_to_text(&self, base: &Value, interval: Interval, context: &StatementContext) -> SqlResult<Value> {
        let Some(text) = coerce::to_text(base, &self.from) else { return Ok(Value::Null) };
        let rules = coerce::argument_rules(context);
        let is_date = parse_datetime(&text, rules).is_ok_and(|parsed| !parsed.has_other_part);
        let Some(value) = coerce::to_datetime(base, &self.from, context)? else { return Ok(Value::Null) };
        if value.date().has_zero_part() {
            return Ok(Value::Null);
        }
        let Some(result) = value.add_interval(interval) else {
            return self.in_range(None, "datetime", context);
        };
        if is_date && self.unit.is_date_unit() {
            return Ok(Value::String(result.date().to_text()));
        }
        let has_fraction = result.microsecond() != 0
            || parse_datetime(&text, rules).is_ok_and(|parsed| parsed.value.microsecond() != 0);
        Ok(Value::String(result.to_text(if has_fraction { 6 } else { 0 })))
    }
}

/// The interval that an amount of a unit is.
pub fn interval_of(
    amount: &Value,
    ty: &SqlType,
    unit: IntervalUnit,
    context: &StatementContext,
) -> SqlResult<Interval> {
    Ok(match amount {
        Value::String(_) | Value::Bytes(_) => {
            let text = coerce::to_text(amount, ty).unwrap_or_default();
            if unit.is_composite() || unit == IntervalUnit::Second {
                Interval::parse(&text, unit)
            } else {
                Interval::from_integer(coerce::to_i64(amount, ty, context)?.unwrap_or(0), unit)
            }
        }
        Value::Decimal(_) | Value::Double(_) if unit == IntervalUnit::Second => {
            let number = coerce::to_decimal(amount, ty, context)?;
            let micros = number.and_then(|number| number.to_i128_at(6)).and_then(|micros| i64::try_from(micros).ok());
            match micros {
                Some(micros) => Interval::from_micros(micros),
                None => Interval::from_integer(i64::MAX, unit),
            }
        }
        Value::Decimal(_) | Value::Double(_) if unit.is_composite() => {
            Interval::parse(&coerce::to_text(amount, ty).unwrap_or_default(), unit)
        }
        _ => Interval::from_integer(coerce::to_i64(amount, ty, context)?.unwrap_or(0), unit),
    })
}

/// The type of a date plus an interval.
pub fn result_type(from: &SqlType, unit: IntervalUnit, amount_scale: u8) -> Option<SqlType> {
    let unit_fsp = match unit {
        IntervalUnit::Second => amount_scale.min(6),
        unit if unit.has_microseconds() => 6,
        _ => 0,
    };
    Some(match from {
        SqlType::Date if unit.is_date_unit() => SqlType::Date,
        SqlType::Date => SqlType::DateTime { fsp: unit_fsp },
        SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => SqlType::DateTime { fsp: unit_fsp.max(*fsp) },
        // Days or months make a TIME a DATETIME, from today.
        SqlType::Time { fsp } if unit.is_month_unit() => SqlType::DateTime { fsp: *fsp },
        SqlType::Time { fsp } => SqlType::Time { fsp: unit_fsp.max(*fsp) },
        _ => return None,
    })
}
