//! Conversions that the binder puts in so that both sides of an operation are of one type.

use super::coerce;
use crate::arrow_map::arrow_type;
use crate::wrong_value;
use crate::wrong_value::report;
use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Float64Array, Float64Builder};
use arrow::compute::cast;
use arrow::compute::kernels::arity::{try_unary, unary};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type, UInt64Type, i256};
use arrow::error::ArrowError;
use squall_registry::ScalarKernel;
use squall_statement_context::StatementContext;
use squall_types::convert::{self, cast_digits};
use squall_types::temporal::DateRules;
use squall_types::{Charset, CollationId, DateTime, Decimal, ErrorCode, SqlError, SqlResult, SqlType, Time, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// Turns values of one type into another's.
#[derive(Debug)]
pub struct ConvertKernel {
    /// The type of the values.
    pub from: SqlType,
    /// The type of the result.
    pub to: SqlType,
}

impl ScalarKernel for ConvertKernel {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        match arguments.first() {
            Some(value) => convert_value(value, &self.from, &self.to, context),
            None => Ok(Value::Null),
        }
    }

    fn has_eval_arrays(&self) -> bool {
        self.from.is_numeric() && self.to.is_numeric() || self.is_json_to_double()
    }

    fn eval_arrays(&self, arguments: &[ArrayRef], _context: &StatementContext) -> Option<SqlResult<ArrayRef>> {
        let array = arguments.first()?;
        if self.is_json_to_double() {
            return json_numbers(array).map(Ok);
        }
        convert_numbers(array, &arrow_type(&self.to)).map(Ok)
    }
}

impl ConvertKernel {
    fn is_json_to_double(&self) -> bool {
        self.from == SqlType::Json && self.to == SqlType::DOUBLE
    }
}

/// Documents that are nothing but numbers; `None` if there are others.
fn json_numbers(array: &ArrayRef) -> Option<ArrayRef> {
    let number = |text: &str| {
        // Infinity and such are no numbers of JSON.
        let begins = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        text.parse::<f64>().ok().filter(|number| begins && number.is_finite())
    };
    let mut numbers = Float64Builder::with_capacity(array.len());
    for text in array.as_string_view_opt()? {
        match text {
            Some(text) => numbers.append_value(number(text)?),
            None => numbers.append_null(),
        }
    }
    Some(Arc::new(numbers.finish()))
}

/// Text that is compared with dates or times: invalid text is the zero date, not NULL.
#[derive(Debug)]
pub struct ComparedDateKernel {
    /// The type of the text.
    pub from: SqlType,
    /// DATETIME or TIME.
    pub to: SqlType,
}

impl ScalarKernel for ComparedDateKernel {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let Some(value) = arguments.first().filter(|value| !value.is_null()) else { return Ok(Value::Null) };
        Ok(match convert_value(value, &self.from, &self.to, context)? {
            Value::Null if matches!(self.to, SqlType::Time { .. }) => Value::Time(Time::default()),
            Value::Null => Value::DateTime(DateTime::ZERO),
            converted => converted,
        })
    }
}

/// Vectorised conversions between numbers that lose nothing; `None` leaves the rest to the row-wise form.
fn convert_numbers(array: &ArrayRef, to: &DataType) -> Option<ArrayRef> {
    match (array.data_type(), to) {
        (from, to) if from == to => Some(array.clone()),
        (DataType::Int64 | DataType::UInt64, DataType::Float64) => cast(array, to).ok(),
        (DataType::Int64 | DataType::UInt64, DataType::Decimal128(precision, scale)) => {
            let factor = 10_i128.checked_pow(u32::try_from(*scale).ok()?)?;
            let limit = 10_i128.checked_pow(u32::from(*precision))?;
            let scaled = |value: i128| {
                value
                    .checked_mul(factor)
                    .filter(|value| value.abs() < limit)
                    .ok_or_else(|| ArrowError::ArithmeticOverflow(String::new()))
            };
            let result = match array.data_type() {
                DataType::Int64 => try_unary::<Int64Type, _, Decimal128Type>(array.as_primitive_opt()?, |value| {
                    scaled(i128::from(value))
                }),
                _ => try_unary::<UInt64Type, _, Decimal128Type>(array.as_primitive_opt()?, |value| {
                    scaled(i128::from(value))
                }),
            };
            Some(Arc::new(result.ok()?.with_data_type(to.clone())))
        }
        (DataType::Decimal128(_, scale), DataType::Float64) => {
            let scale = u32::try_from(*scale).ok()?;
            // Both doubles are exact and their quotient is rounded once.
            let divisor = if scale <= 22 { 10_f64.powi(scale as i32) } else { return None };
            let decimals = array.as_primitive_opt::<Decimal128Type>()?;
            let exact = |value: &i128| value.unsigned_abs() < 1 << 53;
            if !decimals.values().iter().all(exact) {
                return None;
            }
            let doubles: Float64Array =
                unary::<Decimal128Type, _, Float64Type>(decimals, |value| value as f64 / divisor);
            Some(Arc::new(doubles))
        }
        (from, DataType::Decimal256(precision, scale)) => {
            let numbers = integers_or_decimals(array)?;
            let own = if let DataType::Decimal128(_, own) = from { *own } else { 0 };
            let factor = 10_i128.checked_pow(u32::try_from(scale.checked_sub(own)?).ok()?)?;
            // What 128 bits hold, a type of at least 39 digits does.
            let wide = try_unary::<Decimal128Type, _, Decimal256Type>(&numbers, |value| {
                value
                    .checked_mul(factor)
                    .map(i256::from_i128)
                    .ok_or_else(|| ArrowError::ArithmeticOverflow(String::new()))
            });
            Some(Arc::new(wide.ok()?.with_precision_and_scale(*precision, *scale).ok()?))
        }
        (DataType::Decimal128(_, from), DataType::Decimal128(precision, scale)) if scale >= from => {
            let factor = 10_i128.checked_pow(u32::try_from(scale - from).ok()?)?;
            let limit = 10_i128.checked_pow(u32::from(*precision))?;
            let decimals = array.as_primitive_opt::<Decimal128Type>()?;
            let result = try_unary::<Decimal128Type, _, Decimal128Type>(decimals, |value| {
                value
                    .checked_mul(factor)
                    .filter(|value| value.abs() < limit)
                    .ok_or_else(|| ArrowError::ArithmeticOverflow(String::new()))
            });
            Some(Arc::new(result.ok()?.with_data_type(to.clone())))
        }
        _ => None,
    }
}

/// Numbers without their point; `None` if they are of other types, or may take more than 128 bits.
fn integers_or_decimals(array: &ArrayRef) -> Option<Cow<'_, Decimal128Array>> {
    Some(match array.data_type() {
        DataType::Int64 => Cow::Owned(unary(array.as_primitive::<Int64Type>(), i128::from)),
        DataType::UInt64 => Cow::Owned(unary(array.as_primitive::<UInt64Type>(), i128::from)),
        DataType::Decimal128(..) => Cow::Borrowed(array.as_primitive::<Decimal128Type>()),
        _ => return None,
    })
}

/// A value of one type as a value of another.
pub fn convert_value(value: &Value, from: &SqlType, to: &SqlType, context: &StatementContext) -> SqlResult<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    // Other types take the text of a HEX or UUID.
    let spelled_out;
    let value = if from.digit_bytes().is_some() && to.digit_bytes().is_none() {
        spelled_out = Value::String(convert::to_text(value, from));
        &spelled_out
    } else {
        value
    };
    let value = match to {
        SqlType::Null => Some(Value::Null),
        SqlType::Int { unsigned: false, .. } => Some(signed(value, from, context)?),
        SqlType::Int { .. } | SqlType::Bit { .. } | SqlType::Year | SqlType::Enum { .. } | SqlType::Set { .. } => {
            Some(unsigned(value, from, context)?)
        }
        SqlType::Float { .. } | SqlType::Double { .. } => coerce::to_double(value, from, context)?.map(Value::Double),
        SqlType::Decimal { precision, scale, .. } => coerce::to_decimal(value, from, context)?
            .map(|number| fit(number, *precision, *scale, context))
            .transpose()?,
        SqlType::Date => coerce::to_date(value, from, context)?.map(Value::Date),
        SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => {
            let fraction = DateRules::from(context.settings.sql_mode).fraction;
            coerce::to_datetime(value, from, context)?
                .and_then(|value| value.with_fsp(0, *fsp, fraction))
                .map(Value::DateTime)
        }
        SqlType::Time { fsp } => {
            let fraction = DateRules::from(context.settings.sql_mode).fraction;
            coerce::to_time(value, from, context)?.map(|value| Value::Time(value.with_fsp(0, *fsp, fraction)))
        }
        SqlType::String { collation, .. } if *collation == CollationId::BINARY => {
            coerce::to_bytes(value, from).map(|bytes| Value::Bytes(bytes.into_owned()))
        }
        SqlType::String { collation, .. } => match value {
            Value::Bytes(bytes) => Some(text_of_bytes(bytes, collation.charset())?),
            _ => coerce::to_text(value, from).map(|text| Value::String(text.into_owned())),
        },
        SqlType::Json => Some(super::json_compare::to_json(value, from).to_value()),
        SqlType::Hex { .. } | SqlType::Uuid => Some(digits(value, from, to, context)?),
    };
    Ok(value.unwrap_or(Value::Null))
}

/// Bytes as characters of a set; error 1300 if they are none.
fn text_of_bytes(bytes: &[u8], charset: Charset) -> SqlResult<Value> {
    let decoded = charset.decode_padded(bytes);
    match decoded.invalid_at {
        None => Ok(Value::String(decoded.text.into_owned())),
        Some(at) => {
            let bad: String = bytes[at..].iter().take(6).map(|byte| format!("\\x{byte:02X}")).collect();
            Err(SqlError::new(ErrorCode::InvalidCharacterString, &[&charset.name(), &bad]))
        }
    }
}

/// A HEX or UUID of a string; NULL, with a warning, of one that is none.
fn digits(value: &Value, from: &SqlType, to: &SqlType, context: &StatementContext) -> SqlResult<Value> {
    cast_digits(value, from, to).or_else(|error| wrong_value::report_once(error, context).map(|()| Value::Null))
}

fn signed(value: &Value, from: &SqlType, context: &StatementContext) -> SqlResult<Value> {
    let Some(number) = coerce::to_integer(value, from, context)? else { return Ok(Value::Null) };
    match i64::try_from(number) {
        Ok(number) => Ok(Value::Int(number)),
        Err(_) => {
            let text = coerce::to_text(value, from).unwrap_or_default();
            report(SqlError::new(ErrorCode::TruncatedWrongValue, &[&"INTEGER", &text]), context)?;
            Ok(Value::Int(if number < 0 { i64::MIN } else { i64::MAX }))
        }
    }
}

fn unsigned(value: &Value, from: &SqlType, context: &StatementContext) -> SqlResult<Value> {
    let Some(number) = coerce::to_integer(value, from, context)? else { return Ok(Value::Null) };
    match u64::try_from(number) {
        Ok(number) => Ok(Value::UInt(number)),
        Err(_) => {
            let text = coerce::to_text(value, from).unwrap_or_default();
            report(SqlError::new(ErrorCode::TruncatedWrongValue, &[&"INTEGER", &text]), context)?;
            Ok(Value::UInt(if number < 0 { 0 } else { u64::MAX }))
        }
    }
}

fn fit(number: Decimal, precision: u8, scale: u8, context: &StatementContext) -> SqlResult<Value> {
    let fitted = number.fit(precision, scale);
    if fitted.clamped {
        report(SqlError::new(ErrorCode::TruncatedWrongValue, &[&"DECIMAL", &number]), context)?;
    }
    Ok(Value::Decimal(fitted.value))
}
