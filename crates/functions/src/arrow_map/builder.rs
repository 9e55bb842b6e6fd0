//! Builds arrays of values.

use super::column_builder::ColumnBuilder;
use arrow::array::ArrayRef;
use arrow_buffer::i256;
use squall_types::{Decimal, SqlError, SqlResult, SqlType, Value};

/// Builds the array of a MySQL type from its values.
#[derive(Debug)]
pub struct ValueArrayBuilder {
    sql_type: SqlType,
    column: ColumnBuilder,
}

impl ValueArrayBuilder {
    /// A builder with room for `capacity` values.
    pub fn new(sql_type: &SqlType, capacity: usize) -> Self {
        Self { sql_type: sql_type.clone(), column: ColumnBuilder::new(sql_type, capacity) }
    }

    /// Adds a value of the builder's type. A number of another kind is converted if that loses nothing; anything else
    /// is a bug of the caller, reported as error 1105.
    pub fn append(&mut self, value: &Value) -> SqlResult<()> {
        match (&mut self.column, value) {
            (ColumnBuilder::Null(count), _) => *count += 1,
            (_, Value::Null) => self.append_null(),
            (ColumnBuilder::Int(builder), Value::Int(value)) => builder.append_value(*value),
            (ColumnBuilder::UInt(builder), Value::UInt(value)) => builder.append_value(*value),
            (ColumnBuilder::Double(builder), Value::Double(value)) => builder.append_value(*value),
            (ColumnBuilder::Int(builder), Value::Date(date)) => builder.append_value(i64::from(date.to_packed()) << 37),
            (ColumnBuilder::Int(builder), Value::DateTime(value)) => builder.append_value(value.to_packed()),
            (ColumnBuilder::Int(builder), Value::Time(value)) => builder.append_value(value.to_micros()),
            (ColumnBuilder::String(builder), Value::String(value)) => builder.append_value(value),
            (ColumnBuilder::String(builder), Value::Json(document)) => builder.append_value(document.stored()),
            (ColumnBuilder::Bytes(builder), Value::Bytes(value)) => builder.append_value(value),
            (ColumnBuilder::Bytes(builder), Value::String(value)) => builder.append_value(value),
            (ColumnBuilder::Decimal128(builder, scale), value) => {
                match decimal_of(value, *scale).and_then(i256::to_i128) {
                    Some(unscaled) => builder.append_value(unscaled),
                    None => return Err(mismatch(value, &self.sql_type)),
                }
            }
            (ColumnBuilder::Decimal256(builder, scale), value) => match decimal_of(value, *scale) {
                Some(unscaled) => builder.append_value(unscaled),
                None => return Err(mismatch(value, &self.sql_type)),
            },
            (ColumnBuilder::Int(builder), Value::UInt(value)) => match i64::try_from(*value) {
                Ok(value) => builder.append_value(value),
                Err(_) => return Err(mismatch(&Value::UInt(*value), &self.sql_type)),
            },
            (ColumnBuilder::UInt(builder), Value::Int(value)) => match u64::try_from(*value) {
                Ok(value) => builder.append_value(value),
                Err(_) => return Err(mismatch(&Value::Int(*value), &self.sql_type)),
            },
            (_, value) => return Err(mismatch(value, &self.sql_type)),
        }
        Ok(())
    }

    /// Adds a NULL.
    pub fn append_null(&mut self) {
        self.column.append_null();
    }

    /// Adds a string to a string column without making a [`Value`] of it first.
    pub fn append_str(&mut self, text: &str) -> SqlResult<()> {
        match &mut self.column {
            ColumnBuilder::String(builder) => builder.append_value(text),
            ColumnBuilder::Bytes(builder) => builder.append_value(text),
            _ => return Err(mismatch(&Value::from(text), &self.sql_type)),
        }
        Ok(())
    }

    /// Adds bytes to a byte string column.
    pub fn append_bytes(&mut self, bytes: &[u8]) -> SqlResult<()> {
        match &mut self.column {
            ColumnBuilder::Bytes(builder) => builder.append_value(bytes),
            _ => return Err(mismatch(&Value::Bytes(bytes.to_vec()), &self.sql_type)),
        }
        Ok(())
    }

    /// The array; the builder is empty again after it.
    pub fn finish(&mut self) -> ArrayRef {
        self.column.finish()
    }
}

fn mismatch(value: &Value, sql_type: &SqlType) -> SqlError {
    SqlError::internal(format!("a value {value:?} met a column of type {sql_type:?}"))
}

/// The unscaled number at `scale`, if the value has it exactly.
pub(super) fn decimal_of(value: &Value, scale: u8) -> Option<i256> {
    let decimal = match value {
        Value::Decimal(decimal) => *decimal,
        Value::Int(value) => Decimal::new(i256::from_i128(i128::from(*value)), 0),
        Value::UInt(value) => Decimal::new(i256::from_i128(i128::from(*value)), 0),
        _ => return None,
    };
    rescale_exactly(decimal, scale)
}

/// The unscaled number of a decimal at another scale, if no digit is lost.
pub(crate) fn rescale_exactly(decimal: Decimal, scale: u8) -> Option<i256> {
    let ten = i256::from_i128(10);
    if scale >= decimal.scale() {
        decimal.unscaled().checked_mul(ten.checked_pow(u32::from(scale - decimal.scale()))?)
    } else {
        let factor = ten.checked_pow(u32::from(decimal.scale() - scale))?;
        let quotient = decimal.unscaled().checked_div(factor)?;
        (quotient.checked_mul(factor)? == decimal.unscaled()).then_some(quotient)
    }
}
