//! Decodes stored rows into Arrow arrays, without a value object in between.

use arrow::array::ArrayRef;
use arrow::datatypes::i256;
use squall_functions::arrow_map::ColumnBuilder;
use squall_row_store::{FixedColumn, Physical, Row, Table, ValueRef};
use squall_types::temporal::TimeZone;
use squall_types::{DateTime, Decimal, SqlError, SqlResult, SqlType};

/// Builds the array of one column.
pub struct ColumnDecoder {
    column: ColumnBuilder,
    /// For TIMESTAMP columns, which are stored in UTC.
    zone: Option<TimeZone>,
}

impl ColumnDecoder {
    /// A decoder for a column's type, with room for `capacity` rows.
    pub fn new(sql_type: &SqlType, zone: &TimeZone, capacity: usize) -> ColumnDecoder {
        let is_timestamp = matches!(sql_type, SqlType::Timestamp { .. });
        ColumnDecoder { column: ColumnBuilder::new(sql_type, capacity), zone: is_timestamp.then(|| zone.clone()) }
    }

    /// A decoder that leaves TIMESTAMPs in UTC.
    pub fn stored(sql_type: &SqlType, capacity: usize) -> ColumnDecoder {
        ColumnDecoder { zone: None, ..ColumnDecoder::new(sql_type, &TimeZone::utc(), capacity) }
    }

    /// A decoder for row keys.
    pub fn bytes(capacity: usize) -> ColumnDecoder {
        ColumnDecoder { column: ColumnBuilder::bytes(capacity), zone: None }
    }

    /// Adds a row's value.
    pub fn append(&mut self, value: ValueRef<'_>) -> SqlResult<()> {
        match (&mut self.column, value) {
            (ColumnBuilder::Null(count), _) => *count += 1,
            (column, ValueRef::Null) => column.append_null(),
            (ColumnBuilder::Int(builder), ValueRef::Int(number)) => builder.append_value(number),
            (ColumnBuilder::UInt(builder), ValueRef::UInt(number)) => builder.append_value(number),
            (ColumnBuilder::Double(builder), ValueRef::Double(number)) => builder.append_value(number),
            (ColumnBuilder::Double(builder), ValueRef::Float(number)) => builder.append_value(f64::from(number)),
            (ColumnBuilder::Int(builder), ValueRef::Date(date)) => {
                builder.append_value(i64::from(date.to_packed()) << 37)
            }
            (ColumnBuilder::Int(builder), ValueRef::DateTime(moment)) => {
                let moment = match &self.zone {
                    Some(zone) => from_utc(zone, moment),
                    None => moment,
                };
                builder.append_value(moment.to_packed());
            }
            (ColumnBuilder::Int(builder), ValueRef::Time(time)) => builder.append_value(time.to_micros()),
            (ColumnBuilder::String(builder), ValueRef::String(text) | ValueRef::Json(text)) => {
                builder.append_value(text)
            }
            (ColumnBuilder::Bytes(builder), ValueRef::Bytes(bytes)) => builder.append_value(bytes),
            (ColumnBuilder::Decimal128(builder, scale), ValueRef::Decimal(decimal)) => {
                let unscaled = rescale(decimal, *scale).and_then(i256::to_i128).ok_or_else(|| mismatch(value))?;
                builder.append_value(unscaled);
            }
            (ColumnBuilder::Decimal256(builder, scale), ValueRef::Decimal(decimal)) => {
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
            (ColumnBuilder::Int(to), Signed(1)) => {
                column.read(rows, |bytes| to.append_option(bytes.map(|bytes| i64::from(i8::from_le_bytes(bytes)))))?;
            }
            (ColumnBuilder::Int(to), Signed(2)) => {
                column.read(rows, |bytes| to.append_option(bytes.map(|bytes| i64::from(i16::from_le_bytes(bytes)))))?;
            }
            (ColumnBuilder::Int(to), Signed(4)) => {
                column.read(rows, |bytes| to.append_option(bytes.map(|bytes| i64::from(i32::from_le_bytes(bytes)))))?;
            }
            (ColumnBuilder::Int(to), Signed(8) | Time) => {
                column.read(rows, |bytes| to.append_option(bytes.map(i64::from_le_bytes)))?;
            }
            (ColumnBuilder::Int(to), DateTime) if self.zone.is_none() => {
                column.read(rows, |bytes| to.append_option(bytes.map(i64::from_le_bytes)))?;
            }
            (ColumnBuilder::Int(to), Physical::Date) => {
                let midnight = |bytes| i64::from(u32::from_le_bytes(bytes)) << 37;
                column.read(rows, |bytes| to.append_option(bytes.map(midnight)))?;
            }
            (ColumnBuilder::UInt(to), Unsigned(1)) => {
                column.read(rows, |bytes: Option<[u8; 1]>| to.append_option(bytes.map(|[byte]| u64::from(byte))))?;
            }
            (ColumnBuilder::UInt(to), Unsigned(2)) => {
                column.read(rows, |bytes| to.append_option(bytes.map(|bytes| u64::from(u16::from_le_bytes(bytes)))))?;
            }
            (ColumnBuilder::UInt(to), Unsigned(4)) => {
                column.read(rows, |bytes| to.append_option(bytes.map(|bytes| u64::from(u32::from_le_bytes(bytes)))))?;
            }
            (ColumnBuilder::UInt(to), Unsigned(8)) => {
                column.read(rows, |bytes| to.append_option(bytes.map(u64::from_le_bytes)))?;
            }
            (ColumnBuilder::Double(to), Float) => {
                column.read(rows, |bytes| to.append_option(bytes.map(|bytes| f64::from(f32::from_le_bytes(bytes)))))?;
            }
            (ColumnBuilder::Double(to), Double) => {
                column.read(rows, |bytes| to.append_option(bytes.map(f64::from_le_bytes)))?;
            }
            (ColumnBuilder::Decimal128(to, digits), Decimal { bytes: 4, scale }) if scale == *digits => {
                column
                    .read(rows, |bytes| to.append_option(bytes.map(|bytes| i128::from(i32::from_le_bytes(bytes)))))?;
            }
            (ColumnBuilder::Decimal128(to, digits), Decimal { bytes: 8, scale }) if scale == *digits => {
                column
                    .read(rows, |bytes| to.append_option(bytes.map(|bytes| i128::from(i64::from_le_bytes(bytes)))))?;
            }
            (ColumnBuilder::Decimal128(to, digits), Decimal { bytes: 16, scale }) if scale == *digits => {
                column.read(rows, |bytes| to.append_option(bytes.map(i128::from_le_bytes)))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Adds a NULL.
    pub fn append_null(&mut self) {
        self.column.append_null();
    }

    /// The array; the decoder is empty again.
    pub fn finish(&mut self) -> ArrayRef {
        self.column.finish()
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
