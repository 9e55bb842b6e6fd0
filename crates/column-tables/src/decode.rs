//! Decodes stored rows into Arrow arrays, without a value object in between.

use arrow::array::{
    ArrayRef, BinaryViewBuilder, Decimal128Builder, Decimal256Builder, Float64Builder, Int64Builder, NullArray,
    StringViewBuilder, UInt64Builder,
};
use arrow::datatypes::{DataType, i256};
use squall_functions::arrow_map::{arrow_type, finish_views};
use squall_row_store::{FixedColumn, Physical, Row, Table, ValueRef};
use squall_types::temporal::TimeZone;
use squall_types::{DateTime, Decimal, SqlError, SqlResult, SqlType};
use std::sync::Arc;

/// Builds the array of one column.
pub struct ColumnDecoder {
    column: Column,
    /// For TIMESTAMP columns, which are stored in UTC.
    zone: Option<TimeZone>,
}

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

impl ColumnDecoder {
    /// A decoder for a column's type, with room for `capacity` rows.
    pub fn new(sql_type: &SqlType, zone: &TimeZone, capacity: usize) -> ColumnDecoder {
        let data_type = arrow_type(sql_type);
        let scale = |scale: i8| u8::try_from(scale).unwrap_or(0);
        let column = match data_type {
            DataType::Int64 => Column::Int(Int64Builder::with_capacity(capacity)),
            DataType::UInt64 => Column::UInt(UInt64Builder::with_capacity(capacity)),
            DataType::Float64 => Column::Double(Float64Builder::with_capacity(capacity)),
            DataType::Decimal128(_, digits) => {
                Column::Decimal128(Decimal128Builder::with_capacity(capacity).with_data_type(data_type), scale(digits))
            }
            DataType::Decimal256(_, digits) => {
                Column::Decimal256(Decimal256Builder::with_capacity(capacity).with_data_type(data_type), scale(digits))
            }
            DataType::Utf8View => Column::String(StringViewBuilder::with_capacity(capacity)),
            DataType::BinaryView => Column::Bytes(BinaryViewBuilder::with_capacity(capacity)),
            _ => Column::Null(0),
        };
        let is_timestamp = matches!(sql_type, SqlType::Timestamp { .. });
        ColumnDecoder { column, zone: is_timestamp.then(|| zone.clone()) }
    }

    /// A decoder that leaves TIMESTAMPs in UTC.
    pub fn stored(sql_type: &SqlType, capacity: usize) -> ColumnDecoder {
        ColumnDecoder { zone: None, ..ColumnDecoder::new(sql_type, &TimeZone::utc(), capacity) }
    }

    /// A decoder for row keys.
    pub fn bytes(capacity: usize) -> ColumnDecoder {
        ColumnDecoder { column: Column::Bytes(BinaryViewBuilder::with_capacity(capacity)), zone: None }
    }

    /// Adds a row's value.
    pub fn append(&mut self, value: ValueRef<'_>) -> SqlResult<()> {
        match (&mut self.column, value) {
            (Column::Null(count), _) => *count += 1,
            (column, ValueRef::Null) => column.append_null(),
            (Column::Int(builder), ValueRef::Int(number)) => builder.append_value(number),
            (Column::UInt(builder), ValueRef::UInt(number)) => builder.append_value(number),
            (Column::Double(builder), ValueRef::Double(number)) => builder.append_value(number),
            (Column::Double(builder), ValueRef::Float(number)) => builder.append_value(f64::from(number)),
            (Column::Int(builder), ValueRef::Date(date)) => builder.append_value(i64::from(date.to_packed()) << 37),
            (Column::Int(builder), ValueRef::DateTime(moment)) => {
                let moment = match &self.zone {
                    Some(zone) => from_utc(zone, moment),
                    None => moment,
                };
                builder.append_value(moment.to_packed());
            }
            (Column::Int(builder), ValueRef::Time(time)) => builder.append_value(time.to_micros()),
            (Column::String(builder), ValueRef::String(text) | ValueRef::Json(text)) => builder.append_value(text),
            (Column::Bytes(builder), ValueRef::Bytes(bytes)) => builder.append_value(bytes),
            (Column::Decimal128(builder, scale), ValueRef::Decimal(decimal)) => {
                let unscaled = rescale(decimal, *scale).and_then(i256::to_i128).ok_or_else(|| mismatch(value))?;
                builder.append_value(unscaled);
            }
            (Column::Decimal256(builder, scale), ValueRef::Decimal(decimal)) => {
                builder.append_value(rescale(decimal, *scale).ok_or_else(|| mismatch(value))?);
            }
            _ => return Err(mismatch(value)),
        }
        Ok(())
    }

    /// Adds the values of all rows, which are of the current layout; `false`, with none added, for stored forms that
    /// need more than a copy.
    pub fn append_fixed(&mut self, column: &FixedColumn<'_>, rows: &[Row]) -> SqlResult<bool> {
        use Physical::{DateTime, Decimal, Double, Float, Signed, Time, Unsigned};
        match (&mut self.column, column.physical()) {
            (Column::Int(to), Signed(1)) => {
                column.read(rows, |bytes| to.append_option(bytes.map(|bytes| i64::from(i8::from_le_bytes(bytes)))))?;
            }
            (Column::Int(to), Signed(2)) => {
                column.read(rows, |bytes| to.append_option(bytes.map(|bytes| i64::from(i16::from_le_bytes(bytes)))))?;
            }
            (Column::Int(to), Signed(4)) => {
                column.read(rows, |bytes| to.append_option(bytes.map(|bytes| i64::from(i32::from_le_bytes(bytes)))))?;
            }
            (Column::Int(to), Signed(8) | Time) => {
                column.read(rows, |bytes| to.append_option(bytes.map(i64::from_le_bytes)))?;
            }
            (Column::Int(to), DateTime) if self.zone.is_none() => {
                column.read(rows, |bytes| to.append_option(bytes.map(i64::from_le_bytes)))?;
            }
            (Column::Int(to), Physical::Date) => {
                let midnight = |bytes| i64::from(u32::from_le_bytes(bytes)) << 37;
                column.read(rows, |bytes| to.append_option(bytes.map(midnight)))?;
            }
            (Column::UInt(to), Unsigned(1)) => {
                column.read(rows, |bytes: Option<[u8; 1]>| to.append_option(bytes.map(|[byte]| u64::from(byte))))?;
            }
            (Column::UInt(to), Unsigned(2)) => {
                column.read(rows, |bytes| to.append_option(bytes.map(|bytes| u64::from(u16::from_le_bytes(bytes)))))?;
            }
            (Column::UInt(to), Unsigned(4)) => {
                column.read(rows, |bytes| to.append_option(bytes.map(|bytes| u64::from(u32::from_le_bytes(bytes)))))?;
            }
            (Column::UInt(to), Unsigned(8)) => {
                column.read(rows, |bytes| to.append_option(bytes.map(u64::from_le_bytes)))?;
            }
            (Column::Double(to), Float) => {
                column.read(rows, |bytes| to.append_option(bytes.map(|bytes| f64::from(f32::from_le_bytes(bytes)))))?;
            }
            (Column::Double(to), Double) => {
                column.read(rows, |bytes| to.append_option(bytes.map(f64::from_le_bytes)))?;
            }
            (Column::Decimal128(to, digits), Decimal { bytes: 4, scale }) if scale == *digits => {
                column
                    .read(rows, |bytes| to.append_option(bytes.map(|bytes| i128::from(i32::from_le_bytes(bytes)))))?;
            }
            (Column::Decimal128(to, digits), Decimal { bytes: 8, scale }) if scale == *digits => {
                column
                    .read(rows, |bytes| to.append_option(bytes.map(|bytes| i128::from(i64::from_le_bytes(bytes)))))?;
            }
            (Column::Decimal128(to, digits), Decimal { bytes: 16, scale }) if scale == *digits => {
                column.read(rows, |bytes| to.append_option(bytes.map(i128::from_le_bytes)))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Adds a NULL.
    pub fn append_null(&mut self) {
        match &mut self.column {
            Column::Null(count) => *count += 1,
            column => column.append_null(),
        }
    }

    /// The array; the decoder is empty again.
    pub fn finish(&mut self) -> ArrayRef {
        match &mut self.column {
            Column::Null(count) => Arc::new(NullArray::new(std::mem::take(count))),
            Column::Int(builder) => Arc::new(builder.finish()),
            Column::UInt(builder) => Arc::new(builder.finish()),
            Column::Double(builder) => Arc::new(builder.finish()),
            Column::Decimal128(builder, _) => Arc::new(builder.finish()),
            Column::Decimal256(builder, _) => Arc::new(builder.finish()),
            Column::String(builder) => Arc::new(finish_views(builder)),
            Column::Bytes(builder) => Arc::new(finish_views(builder)),
        }
    }
}

impl Column {
    fn append_null(&mut self) {
        match self {
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
}

/// Adds a column's values in some rows.
pub fn append_column(table: &Table, rows: &[Row], ordinal: usize, decoder: &mut ColumnDecoder) -> SqlResult<()> {
    if let Some(column) = table.fixed_column(ordinal).filter(|_| rows.iter().all(Row::is_current))
        && decoder.append_fixed(&column, rows)?
    {
        return Ok(());
    }
    rows.iter().try_for_each(|row| decoder.append(row.view(table).get(ordinal)?))
}

/// A stored TIMESTAMP as the session sees it; the zero value is the same everywhere.
pub fn from_utc(zone: &TimeZone, moment: DateTime) -> DateTime {
    if moment.is_zero() { moment } else { zone.from_utc(moment).unwrap_or(moment) }
}

/// The unscaled number at another scale; columns are stored with their own, so this is the identity almost always.
fn rescale(decimal: Decimal, scale: u8) -> Option<i256> {
    if decimal.scale() == scale {
        return Some(decimal.unscaled());
    }
    let factor = i256::from_i128(10).checked_pow(u32::from(scale.checked_sub(decimal.scale())?))?;
    decimal.unscaled().checked_mul(factor)
}

fn mismatch(value: ValueRef<'_>) -> SqlError {
    SqlError::internal(format_args!("a stored value {value:?} of another type than its column"))
}
