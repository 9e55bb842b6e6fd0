//! Arrow builders for columns of MySQL's types.

use super::arrow_type;
use arrow::array::{
    ArrayRef, BinaryViewBuilder, Decimal128Builder, Decimal256Builder, Float64Builder, GenericByteViewArray,
    GenericByteViewBuilder, Int64Builder, NullArray, StringViewBuilder, UInt64Builder,
};
use arrow::datatypes::{ByteViewType, DataType};
use squall_types::SqlType;
use std::sync::Arc;

/// Builds the array of one column. Who has values appends them to the builder of the type.
#[derive(Debug)]
pub enum ColumnBuilder {
    /// This many NULLs, of a column that has nothing else.
    Null(usize),
    /// Signed integers, dates and times (as packed numbers).
    Int(Int64Builder),
    /// Unsigned integers, BIT, YEAR, ENUM and SET.
    UInt(UInt64Builder),
    /// FLOAT and DOUBLE.
    Double(Float64Builder),
    /// DECIMAL of up to 38 digits, and its scale.
    Decimal128(Decimal128Builder, u8),
    /// DECIMAL of more digits, and its scale.
    Decimal256(Decimal256Builder, u8),
    /// Texts and documents.
    String(StringViewBuilder),
    /// Byte strings.
    Bytes(BinaryViewBuilder),
}

impl ColumnBuilder {
    /// A builder for a MySQL type, with room for `capacity` values.
    pub fn new(sql_type: &SqlType, capacity: usize) -> ColumnBuilder {
        let data_type = arrow_type(sql_type);
        let scale = |scale: i8| u8::try_from(scale).unwrap_or(0);
        match data_type {
            DataType::Int64 => ColumnBuilder::Int(Int64Builder::with_capacity(capacity)),
            DataType::UInt64 => ColumnBuilder::UInt(UInt64Builder::with_capacity(capacity)),
            DataType::Float64 => ColumnBuilder::Double(Float64Builder::with_capacity(capacity)),
            DataType::Decimal128(_, digits) => {
                let builder = Decimal128Builder::with_capacity(capacity).with_data_type(data_type);
                ColumnBuilder::Decimal128(builder, scale(digits))
            }
            DataType::Decimal256(_, digits) => {
                let builder = Decimal256Builder::with_capacity(capacity).with_data_type(data_type);
                ColumnBuilder::Decimal256(builder, scale(digits))
            }
            DataType::Utf8View => ColumnBuilder::String(StringViewBuilder::with_capacity(capacity)),
            DataType::BinaryView => ColumnBuilder::bytes(capacity),
            _ => ColumnBuilder::Null(0),
        }
    }

    /// A builder for byte strings.
    pub fn bytes(capacity: usize) -> ColumnBuilder {
        ColumnBuilder::Bytes(BinaryViewBuilder::with_capacity(capacity))
    }

    /// Adds a NULL.
    pub fn append_null(&mut self) {
        match self {
            ColumnBuilder::Null(count) => *count += 1,
            ColumnBuilder::Int(builder) => builder.append_null(),
            ColumnBuilder::UInt(builder) => builder.append_null(),
            ColumnBuilder::Double(builder) => builder.append_null(),
            ColumnBuilder::Decimal128(builder, _) => builder.append_null(),
            ColumnBuilder::Decimal256(builder, _) => builder.append_null(),
            ColumnBuilder::String(builder) => builder.append_null(),
            ColumnBuilder::Bytes(builder) => builder.append_null(),
        }
    }

    /// The array. The builder is empty again after it.
    pub fn finish(&mut self) -> ArrayRef {
        match self {
            ColumnBuilder::Null(count) => Arc::new(NullArray::new(std::mem::take(count))),
            ColumnBuilder::Int(builder) => Arc::new(builder.finish()),
            ColumnBuilder::UInt(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Double(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Decimal128(builder, _) => Arc::new(builder.finish()),
            ColumnBuilder::Decimal256(builder, _) => Arc::new(builder.finish()),
            ColumnBuilder::String(builder) => Arc::new(finish_views(builder)),
            ColumnBuilder::Bytes(builder) => Arc::new(finish_views(builder)),
        }
    }
}

/// The array of a builder, which is empty again after it and begins with small blocks: one that goes on takes a block of 2 MB for each array,
/// however little that has, and counts it as its memory.
pub fn finish_views<T: ByteViewType + ?Sized>(builder: &mut GenericByteViewBuilder<T>) -> GenericByteViewArray<T> {
    std::mem::take(builder).finish()
}
