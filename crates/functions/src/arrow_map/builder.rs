//! Builds arrays of values.

use super::arrow_type;
use arrow::array::{
    Array, ArrayRef, BinaryViewBuilder, Decimal128Builder, Decimal256Builder, Float64Builder, GenericByteViewArray,
    GenericByteViewBuilder, Int64Builder, NullArray, StringViewBuilder, UInt64Builder,
};
use arrow::datatypes::{ByteViewType, DataType};
use arrow_buffer::i256;
use squall_types::{Decimal, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// Builds the array of a MySQL type from its values.
#[derive(Debug)]
pub struct ValueArrayBuilder {
    sql_type: SqlType,
    column: Column,
}

#[derive(Debug)]
enum Column {
    Null(usize),
    Int(Int64Builder),
    UInt(UInt64Builder),
    Double(Float64Builder),
    Decimal128(Decimal128Builder, u8),
    Decimal256(Decimal256Builder, u8),
    String(StringViewBuilder),
    Bytes(BinaryViewBuilder),
}

impl ValueArrayBuilder {
    /// A builder with room for `capacity` values.
    pub fn new(sql_type: &SqlType, capacity: usize) -> Self {
        let data_type = arrow_type(sql_type);
        let column = match data_type {
            DataType::Int64 => Column::Int(Int64Builder::with_capacity(capacity)),
            DataType::UInt64 => Column::UInt(UInt64Builder::with_capacity(capacity)),
            DataType::Float64 => Column::Double(Float64Builder::with_capacity(capacity)),
            DataType::Decimal128(_, scale) => Column::Decimal128(
                Decimal128Builder::with_capacity(capacity).with_data_type(data_type),
                u8::try_from(scale).unwrap_or(0),
            ),
            DataType::Decimal256(_, scale) => Column::Decimal256(
                Decimal256Builder::with_capacity(capacity).with_data_type(data_type),
                u8::try_from(scale).unwrap_or(0),
            ),
            DataType::Utf8View => Column::String(StringViewBuilder::with_capacity(capacity)),
            DataType::BinaryView => Column::Bytes(BinaryViewBuilder::with_capacity(capacity)),
            _ => Column::Null(0),
        };
        Self { sql_type: sql_type.clone(), column }
    }

    /// Adds a value of the builder's type. A number of another kind is converted if that loses nothing; anything else
    /// is a bug of the caller, reported as error 1105.
    pub fn append(&mut self, value: &Value) -> SqlResult<()> {
        match (&mut self.column, value) {
            (Column::Null(count), _) => *count += 1,
            (_, Value::Null) => self.append_null(),
            (Column::Int(builder), Value::Int(value)) => builder.append_value(*value),
            (Column::UInt(builder), Value::UInt(value)) => builder.append_value(*value),
            (Column::Double(builder), Value::Double(value)) => builder.append_value(*value),
            (Column::Int(builder), Value::Date(date)) => builder.append_value(i64::from(date.to_packed()) << 37),
            (Column::Int(builder), Value::DateTime(value)) => builder.append_value(value.to_packed()),
            (Column::Int(builder), Value::Time(value)) => builder.append_value(value.to_micros()),
            (Column::String(builder), Value::String(value)) => builder.append_value(value),
            (Column::String(builder), Value::Json(document)) => builder.append_value(document.stored()),
            (Column::Bytes(builder), Value::Bytes(value)) => builder.append_value(value),
            (Column::Bytes(builder), Value::String(value)) => builder.append_value(value),
            (Column::Decimal128(builder, scale), value) => match decimal_of(value, *scale).and_then(i256::to_i128) {
                Some(unscaled) => builder.append_value(unscaled),
                None => return Err(mismatch(value, &self.sql_type)),
            },
            (Column::Decimal256(builder, scale), value) => match decimal_of(value, *scale) {
                Some(unscaled) => builder.append_value(unscaled),
                None => return Err(mismatch(value, &self.sql_type)),
            },
            (Column::Int(builder), Value::UInt(value)) => match i64::try_from(*value) {
                Ok(value) => builder.append_value(value),
                Err(_) => return Err(mismatch(&Value::UInt(*value), &self.sql_type)),
            },
            (Column::UInt(builder), Value::Int(value)) => match u64::try_from(*value) {
                Ok(value) => builder.append_value(value),
                Err(_) => return Err(mismatch(&Value::Int(*value), &self.sql_type)),
            },
            (_, value) => return Err(mismatch(value, &self.sql_type)),
        }
        Ok(())
    }

    /// Adds a NULL.
    pub fn append_null(&mut self) {
        match &mut self.column {
            Column::Null(count) => *count += 1,
            Column::Int(builder) => builder.append_null(),
            Column::UInt(builder) => builder.append_null(),
            Column::Double(builder) => builder.append_null(),
            Column::Decimal128(builder, _) => builder.append_null(),
            Column::Decimal256(builder, _) => builder.append_null(),
            Column::String(builder) => builder.append_null(),
            Column::Bytes(builder) => builder.append_null(),
        }
    }

    /// Adds a string to a string column without making a [`Value`] of it first.
    pub fn append_str(&mut self, text: &str) -> SqlResult<()> {
        match &mut self.column {
            Column::String(builder) => builder.append_value(text),
            Column::Bytes(builder) => builder.append_value(text),
            _ => return Err(mismatch(&Value::from(text), &self.sql_type)),
        }
        Ok(())
    }

    /// Adds bytes to a byte string column.
    pub fn append_bytes(&mut self, bytes: &[u8]) -> SqlResult<()> {
        match &mut self.column {
            Column::Bytes(builder) => builder.append_value(bytes),
            _ => return Err(mismatch(&Value::Bytes(bytes.to_vec()), &self.sql_type)),
        }
        Ok(())
    }

    /// The array; the builder is empty again after it.
    pub fn finish(&mut self) -> ArrayRef {
        let array: Box<dyn Array> = match &mut self.column {
            Column::Null(count) => Box::new(NullArray::new(std::mem::take(count))),
            Column::Int(builder) => Box::new(builder.finish()),
            Column::UInt(builder) => Box::new(builder.finish()),
            Column::Double(builder) => Box::new(builder.finish()),
            Column::Decimal128(builder, _) => Box::new(builder.finish()),
            Column::Decimal256(builder, _) => Box::new(builder.finish()),
            Column::String(builder) => Box::new(finish_views(builder)),
            Column::Bytes(builder) => Box::new(finish_views(builder)),
        };
        Arc::from(array)
    }
}

/// The array of a builder, which is empty again after it and begins with small blocks: one that goes on takes a block of 2 MB for each array,
/// however little that has, and counts it as its memory.
pub fn finish_views<T: ByteViewType + ?Sized>(builder: &mut GenericByteViewBuilder<T>) -> GenericByteViewArray<T> {
    std::mem::take(builder).finish()
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
