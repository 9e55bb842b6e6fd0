//! The row codec: it reads one column without the others, and checks everything that it reads.
//!
//! ```text
//! format u8 | layout u16 | checksum u32 | null bitmap | fixed part | ends of variable values | variable values
//! ```
//!
//! A row may also be [packed](crate::table::packing). If it has [large values](crate::table::large_values), there are references in place
//! of them, and the row ends with a bitmap of the variable values that are references.
//!
//! See `docs/formats/row-store.md`.

use crate::engine::{Slice, Snapshot};
use crate::error::corrupted;
use crate::layout::{FORMAT, HEADER_BYTES, LARGE, Place, Projection, RowLayout, Slot, WIDE};
use crate::physical::Physical;
use crate::row_key::RowKey;
use crate::table::Table;
use crate::table::large_values::{LargeValues, REFERENCE_BYTES, ReadChunk, Reference};
use crate::table::packing::is_packed;
use arrow_buffer::i256;
use squall_catalog::ColumnId;
use squall_types::json::Document;
use squall_types::{Date, DateTime, Decimal, SqlError, SqlResult, Time, Value};
use std::sync::Arc;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const CHECKSUM: std::ops::Range<usize> = 3..7;

/// A stored row, checked when it was read. Cloning it copies nothing.
#[derive(Clone, Debug)]
pub struct Row {
    pub(crate) key: Slice,
    pub(crate) value: Slice,
    /// Where columns are, if the row is not of the table's current layout.
    pub(crate) projection: Option<Arc<Projection>>,
    /// The values that lie out of the row. It has some without these until its reader has said where they are.
    large: Option<Arc<LargeValues>>,
}

/// One column of a row, borrowed from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer, also BIT, YEAR, ENUM's ordinal and SET's mask.
    UInt(u64),
    /// FLOAT, in the width it was stored with.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL.
    Decimal(Decimal),
    /// A character string.
    String(&'a str),
    /// A byte string.
    Bytes(&'a [u8]),
    /// DATE.
    Date(Date),
    /// DATETIME or TIMESTAMP.
    DateTime(DateTime),
    /// TIME.
    Time(Time),
    /// A document in its stored form.
    Json(&'a str),
}

impl ValueRef<'_> {
    /// The value as one of its own.
    pub fn to_value(self) -> Value {
        match self {
            ValueRef::Null => Value::Null,
            ValueRef::Int(value) => Value::Int(value),
            ValueRef::UInt(value) => Value::UInt(value),
            ValueRef::Float(value) => Value::Double(f64::from(value)),
            ValueRef::Double(value) => Value::Double(value),
            ValueRef::Decimal(value) => Value::Decimal(value),
            ValueRef::String(value) => Value::String(value.to_string()),
            ValueRef::Bytes(value) => Value::Bytes(value.to_vec()),
            ValueRef::Date(value) => Value::Date(value),
            ValueRef::DateTime(value) => Value::DateTime(value),
            ValueRef::Time(value) => Value::Time(value),
            ValueRef::Json(stored) => Value::Json(Document::from_stored(stored)),
        }
    }

    /// Whether the value is NULL.
    pub fn is_null(self) -> bool {
        matches!(self, ValueRef::Null)
    }
}

impl<'a> From<&'a Value> for ValueRef<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => ValueRef::Null,
            Value::Int(value) => ValueRef::Int(*value),
            Value::UInt(value) => ValueRef::UInt(*value),
            Value::Double(value) => ValueRef::Double(*value),
            Value::Decimal(value) => ValueRef::Decimal(*value),
            Value::String(value) => ValueRef::String(value),
            Value::Bytes(value) => ValueRef::Bytes(value),
            Value::Date(value) => ValueRef::Date(*value),
            Value::DateTime(value) => ValueRef::DateTime(*value),
            Value::Time(value) => ValueRef::Time(*value),
            Value::Json(document) => ValueRef::Json(document.stored()),
        }
    }
}

impl Row {
    /// Whether this is the version of the row that another is.
    pub fn is_same_version(&self, other: &Row) -> bool {
        self.key == other.key && self.value == other.value
    }

    /// Checks a stored row's checksum and finds its layout.
    pub(crate) fn check(table: &Table, key: Slice, value: Slice) -> SqlResult<Row> {
        let damaged = || corrupted(&table.def().name);
        let value = match value.first() {
            Some(format) if is_packed(*format) => table.data.packing.unpack(&key, &value).ok_or_else(damaged)?,
            Some(format) if format & !(WIDE | LARGE) == FORMAT && value.len() >= HEADER_BYTES => {
                if value[CHECKSUM] != checksum(&key, &value).to_le_bytes() {
                    return Err(damaged());
                }
                value
            }
            _ => return Err(damaged()),
        };
        let projection = table.projection(u16::from_le_bytes([value[1], value[2]]))?;
        Ok(Row { key, value, projection, large: None })
    }

    /// Whether values lie out of the row.
    pub(crate) fn has_large_values(&self) -> bool {
        has_large_values(&self.value)
    }

    /// Lets the values that lie out of a committed row be read when they are asked for, in the snapshot that the row was read in.
    /// `table` is the storage that has it.
    pub(crate) fn in_snapshot(mut self, table: &Table, snapshot: &Snapshot) -> Row {
        if self.has_large_values() {
            let count = self.layout(table).variable_count;
            let (key, keyspace) = (self.key.clone(), table.data.keyspace.clone());
            self.large = Some(Arc::new(LargeValues::in_snapshot(key, count, keyspace, snapshot.clone())));
        }
        self
    }

    /// Reads the values that lie out of the row now.
    pub(crate) fn with_large_values(mut self, table: &Table, read: ReadChunk<'_>) -> SqlResult<Row> {
        let references = self.references(table)?;
        if !references.is_empty() {
            let count = self.layout(table).variable_count;
            let values = LargeValues::read_now(self.key.clone(), count, &references, read)?;
            self.large = Some(Arc::new(values.ok_or_else(|| corrupted(&table.def().name))?));
        }
        Ok(self)
    }

    /// The columns whose values lie out of the row, with their numbers among those of any length: also columns that the table has no
    /// more.
    pub(crate) fn references(&self, table: &Table) -> SqlResult<Vec<(usize, ColumnId, Reference)>> {
        if !self.has_large_values() {
            return Ok(Vec::new());
        }
        let layout = self.layout(table);
        let mut references = Vec::new();
        for (column, place) in layout.columns.iter().zip(&layout.places) {
            let Place::Variable(number) = *place else { continue };
            let number = number as usize;
            match variable(&self.value, layout, number).ok_or_else(|| corrupted(&table.def().name))? {
                Variable::InRow(_) => {}
                Variable::Large(reference) => references.push((number, column.id, reference)),
            }
        }
        Ok(references)
    }

    fn layout<'a>(&'a self, table: &'a Table) -> &'a RowLayout {
        &self.projection.as_deref().unwrap_or_else(|| table.current_projection()).layout
    }

    /// Where the row lies.
    pub fn key(&self) -> RowKey {
        RowKey(self.key.clone())
    }

    /// The bytes of the key without its own handle.
    pub fn key_bytes(&self) -> &[u8] {
        &self.key
    }

    /// Whether the row is of its table's current layout.
    pub fn is_current(&self) -> bool {
        self.projection.is_none()
    }

    /// Bytes the row takes.
    pub fn size_bytes(&self) -> usize {
        self.key.len() + self.value.len()
    }

    /// The columns of the row, by ordinals of `table`'s definition; `table` is the one it was read with.
    pub fn view<'a>(&'a self, table: &'a Table) -> RowView<'a> {
        debug_assert!(
            self.projection.is_some() || self.value[1..3] == table.current_projection().layout.number.to_le_bytes(),
            "a row is looked at with the definition that it was read with"
        );
        RowView {
            bytes: &self.value,
            projection: self.projection.as_deref().unwrap_or_else(|| table.current_projection()),
            large: self.large.as_deref(),
            table,
        }
    }

    /// All columns as values.
    pub fn values(&self, table: &Table) -> SqlResult<Vec<Value>> {
        let view = self.view(table);
        (0..table.def().columns.len()).map(|ordinal| view.get_value(ordinal)).collect()
    }
}

/// A row's columns.
#[derive(Clone, Copy)]
pub struct RowView<'a> {
    bytes: &'a [u8],
    projection: &'a Projection,
    large: Option<&'a LargeValues>,
    table: &'a Table,
}

/// A value of any length in a row.
pub(crate) enum Variable<'a> {
    InRow(&'a [u8]),
    Large(Reference),
}

impl<'a> RowView<'a> {
    /// Whether the column is NULL.
    pub fn is_null(&self, ordinal: usize) -> bool {
        match self.projection.slots[ordinal] {
            Slot::Stored { null_offset, null_mask, .. } => {
                self.bytes.get(null_offset as usize).is_none_or(|byte| byte & null_mask != 0)
            }
            Slot::Missing => self.table.def().columns[ordinal].value_for_older_rows.is_null(),
        }
    }

    /// The column's value, borrowed.
    pub fn get(&self, ordinal: usize) -> SqlResult<ValueRef<'a>> {
        self.get_by(ordinal, decode_variable)
    }

    /// The same for a reader that only copies strings: a character string is given as its bytes. They were UTF-8 when the row was
    /// written, and the row's checksum says that they are what was written.
    pub fn get_as_bytes(&self, ordinal: usize) -> SqlResult<ValueRef<'a>> {
        self.get_by(ordinal, |physical, bytes| match physical {
            Physical::String => Some(ValueRef::Bytes(bytes)),
            _ => decode_variable(physical, bytes),
        })
    }

    #[inline]
    fn get_by(
        &self,
        ordinal: usize,
        decode_variable: impl FnOnce(Physical, &'a [u8]) -> Option<ValueRef<'a>>,
    ) -> SqlResult<ValueRef<'a>> {
        match self.projection.slots[ordinal] {
            Slot::Stored { null_offset, null_mask, physical, place } => {
                let damaged = || corrupted(&self.table.def().name);
                if self.bytes.get(null_offset as usize).ok_or_else(damaged)? & null_mask != 0 {
                    return Ok(ValueRef::Null);
                }
                match place {
                    Place::Fixed(offset) => self.fixed(physical, offset as usize),
                    Place::Variable(number) => {
                        let bytes = match variable(self.bytes, &self.projection.layout, number as usize) {
                            Some(Variable::InRow(bytes)) => Some(bytes),
                            Some(Variable::Large(reference)) => self.large(ordinal, number as usize, reference)?,
                            None => None,
                        };
                        bytes.and_then(|bytes| decode_variable(physical, bytes))
                    }
                }
                .ok_or_else(damaged)
            }
            Slot::Missing => Ok(ValueRef::from(&self.table.def().columns[ordinal].value_for_older_rows)),
        }
    }

    /// The column's value.
    pub fn get_value(&self, ordinal: usize) -> SqlResult<Value> {
        Ok(self.get(ordinal)?.to_value())
    }

    /// The column as a signed integer; `None` for NULL and for values that are none.
    pub fn get_i64(&self, ordinal: usize) -> SqlResult<Option<i64>> {
        Ok(match self.get(ordinal)? {
            ValueRef::Int(value) => Some(value),
            ValueRef::UInt(value) => i64::try_from(value).ok(),
            _ => None,
        })
    }

    /// The column as an unsigned integer; `None` for NULL and for values that are none.
    pub fn get_u64(&self, ordinal: usize) -> SqlResult<Option<u64>> {
        Ok(match self.get(ordinal)? {
            ValueRef::UInt(value) => Some(value),
            ValueRef::Int(value) => u64::try_from(value).ok(),
            _ => None,
        })
    }

    /// The column as text; `None` for NULL and for values that are not text.
    pub fn get_str(&self, ordinal: usize) -> SqlResult<Option<&'a str>> {
        Ok(match self.get(ordinal)? {
            ValueRef::String(value) | ValueRef::Json(value) => Some(value),
            _ => None,
        })
    }

    /// The column as bytes; `None` for NULL and for values that are not strings.
    pub fn get_bytes(&self, ordinal: usize) -> SqlResult<Option<&'a [u8]>> {
        Ok(match self.get(ordinal)? {
            ValueRef::String(value) | ValueRef::Json(value) => Some(value.as_bytes()),
            ValueRef::Bytes(value) => Some(value),
            _ => None,
        })
    }

    /// Where the bytes of a string are; `None` for NULL, and for values that are not stored as strings are read.
    pub(crate) fn string_place(&self, ordinal: usize) -> SqlResult<Option<Variable<'a>>> {
        let Slot::Stored { physical: Physical::String | Physical::Bytes, place: Place::Variable(number), .. } =
            self.projection.slots[ordinal]
        else {
            return Ok(None);
        };
        if self.is_null(ordinal) {
            return Ok(None);
        }
        let place = variable(self.bytes, &self.projection.layout, number as usize);
        place.map(Some).ok_or_else(|| corrupted(&self.table.def().name))
    }

    /// A part of a string that lies out of the row; `None` if it is damaged.
    pub(crate) fn large_part(
        &self,
        ordinal: usize,
        reference: Reference,
        part: std::ops::Range<u64>,
    ) -> SqlResult<Option<Vec<u8>>> {
        let (Slot::Stored { place: Place::Variable(number), .. }, Some(large)) =
            (self.projection.slots[ordinal], self.large)
        else {
            return Err(SqlError::internal("a row whose large values cannot be read"));
        };
        large.part(number as usize, self.table.def().columns[ordinal].id, reference, part)
    }

    fn fixed(&self, physical: Physical, offset: usize) -> Option<ValueRef<'a>> {
        decode_fixed(physical, self.bytes.get(offset..offset + physical.fixed_bytes()?)?)
    }

    /// A value that lies out of the row; `None` if it is damaged.
    fn large(&self, ordinal: usize, number: usize, reference: Reference) -> SqlResult<Option<&'a [u8]>> {
        let no_place = || SqlError::internal("a row whose large values cannot be read");
        self.large.ok_or_else(no_place)?.get(number, self.table.def().columns[ordinal].id, reference)
    }
}

/// Whether values of a stored row lie out of it.
pub(crate) fn has_large_values(row: &[u8]) -> bool {
    row.first().is_some_and(|format| format & LARGE != 0)
}

/// The value of any length with a number; `None` if the row is damaged.
fn variable<'a>(row: &'a [u8], layout: &RowLayout, number: usize) -> Option<Variable<'a>> {
    let end_bytes = if row[0] & WIDE == 0 { 2 } else { 4 };
    let data = row.get(layout.ends_offset + layout.variable_count * end_bytes..)?;
    let end_of = |number: usize| {
        let at = layout.ends_offset + number * end_bytes;
        let bytes = row.get(at..at + end_bytes)?;
        Some(bytes.iter().rev().fold(0usize, |value, byte| value << 8 | usize::from(*byte)))
    };
    let start = if number == 0 { 0 } else { end_of(number - 1)? };
    let bytes = data.get(start..end_of(number)?)?;
    if !has_large_values(row) {
        return Some(Variable::InRow(bytes));
    }
    let large = data.get(end_of(layout.variable_count.checked_sub(1)?)?..)?;
    match large.get(number / 8)? & 1 << (number % 8) {
        0 => Some(Variable::InRow(bytes)),
        _ => Reference::decode(bytes).map(Variable::Large),
    }
}

fn decode_variable(physical: Physical, bytes: &[u8]) -> Option<ValueRef<'_>> {
    match physical {
        Physical::Bytes => Some(ValueRef::Bytes(bytes)),
        Physical::String => Some(ValueRef::String(std::str::from_utf8(bytes).ok()?)),
        Physical::Json => Some(ValueRef::Json(std::str::from_utf8(bytes).ok()?)),
        _ => None,
    }
}

/// The sum ties a row to its key, so that a row filed under another key is found out too.
fn checksum(key: &[u8], row: &[u8]) -> u32 {
    let head = u64::from(row[0]) | u64::from(row[1]) << 8 | u64::from(row[2]) << 16;
    xxh3_64_with_seed(row.get(HEADER_BYTES..).unwrap_or_default(), xxh3_64(key) ^ head) as u32
}

fn decode_fixed(physical: Physical, bytes: &[u8]) -> Option<ValueRef<'_>> {
    Some(match physical {
        Physical::Signed(_) => ValueRef::Int(signed(bytes)),
        Physical::Unsigned(_) => ValueRef::UInt(unsigned(bytes)),
        Physical::Float => ValueRef::Float(f32::from_le_bytes(bytes.try_into().ok()?)),
        Physical::Double => ValueRef::Double(f64::from_le_bytes(bytes.try_into().ok()?)),
        Physical::Decimal { scale, .. } => {
            let unscaled = match bytes.len() {
                4 | 8 => i256::from_i128(i128::from(signed(bytes))),
                16 => i256::from_i128(i128::from_le_bytes(bytes.try_into().ok()?)),
                _ => i256::from_le_bytes(bytes.try_into().ok()?),
            };
            ValueRef::Decimal(Decimal::new(unscaled, scale))
        }
        Physical::Date => ValueRef::Date(Date::from_packed(u32::from_le_bytes(bytes.try_into().ok()?))),
        Physical::DateTime => ValueRef::DateTime(DateTime::from_packed(signed(bytes))),
        Physical::Time => ValueRef::Time(Time::from_micros(signed(bytes))?),
        Physical::Digits(_) => ValueRef::Bytes(bytes),
        Physical::String | Physical::Bytes | Physical::Json => return None,
    })
}

fn unsigned(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(wide)
}

fn signed(bytes: &[u8]) -> i64 {
    let unused = 64 - 8 * bytes.len() as u32;
    (unsigned(bytes) << unused) as i64 >> unused
}

/// The values of a row that lie out of it, by the columns' places in the layout, in order.
pub(crate) type References = [(usize, Reference)];

/// Encodes a row; `values` are those of the layout's columns in order, already of the columns' types.
pub(crate) fn encode_row(layout: &RowLayout, key: &[u8], values: &[Value], large: &References) -> SqlResult<Vec<u8>> {
    if values.len() != layout.columns.len() {
        return Err(other_count(values.len(), layout));
    }
    let mut row = Vec::new();
    append_row(layout, key, |at| ValueRef::from(&values[at]), large, &mut row)?;
    Ok(row)
}

/// Appends a row likewise to others.
pub(crate) fn append_borrowed(
    layout: &RowLayout,
    key: &[u8],
    values: &[ValueRef<'_>],
    large: &References,
    out: &mut Vec<u8>,
) -> SqlResult<()> {
    if values.len() != layout.columns.len() {
        return Err(other_count(values.len(), layout));
    }
    append_row(layout, key, |at| values[at], large, out)
}

fn append_row<'v>(
    layout: &RowLayout,
    key: &[u8],
    value_at: impl Fn(usize) -> ValueRef<'v>,
    large: &References,
    out: &mut Vec<u8>,
) -> SqlResult<()> {
    let reference_at = |at: usize| large.iter().find(|(large, _)| *large == at).map(|(_, reference)| *reference);
    let variable_bytes: usize = layout
        .places
        .iter()
        .enumerate()
        .map(|(at, place)| match place {
            Place::Variable(_) if reference_at(at).is_some() => REFERENCE_BYTES,
            Place::Variable(_) => variable_part(value_at(at)).map_or(0, <[u8]>::len),
            Place::Fixed(_) => 0,
        })
        .sum();
    let wide = variable_bytes > usize::from(u16::MAX);
    let end_bytes = if wide { 4 } else { 2 };
    let data_offset = layout.ends_offset + layout.variable_count * end_bytes;
    let mut large_bitmap = vec![0; if large.is_empty() { 0 } else { layout.variable_count.div_ceil(8) }];
    if u32::try_from(data_offset + variable_bytes + large_bitmap.len()).is_err() {
        return Err(SqlError::new(squall_types::ErrorCode::TooBigRowSize, &[&u32::MAX]));
    }
    let start = out.len();
    out.reserve(data_offset + variable_bytes + large_bitmap.len());
    out.resize(start + data_offset, 0);
    let (mut data_bytes, data_start) = (0, start + data_offset);
    out[start] = FORMAT | if wide { WIDE } else { 0 } | if large.is_empty() { 0 } else { LARGE };
    out[start + 1..start + 3].copy_from_slice(&layout.number.to_le_bytes());
    for (at, (column, place)) in layout.columns.iter().zip(&layout.places).enumerate() {
        let value = value_at(at);
        if value.is_null() {
            out[start + HEADER_BYTES + at / 8] |= 1 << (at % 8);
        } else if let Place::Fixed(offset) = place {
            let offset = start + *offset as usize;
            let bytes = column.physical.fixed_bytes().unwrap_or(0);
            encode_fixed(column.physical, value, &mut out[offset..offset + bytes])
                .ok_or_else(|| mismatch(column.physical, value))?;
        }
        if let Place::Variable(number) = place {
            let number = *number as usize;
            if let Some(reference) = reference_at(at) {
                out.extend_from_slice(&reference.encode());
                large_bitmap[number / 8] |= 1 << (number % 8);
                data_bytes = out.len() - data_start;
            } else if !value.is_null() {
                out.extend_from_slice(variable_part(value).ok_or_else(|| mismatch(column.physical, value))?);
                data_bytes = out.len() - data_start;
            }
            let at = start + layout.ends_offset + number * end_bytes;
            out[at..at + end_bytes].copy_from_slice(&(data_bytes as u32).to_le_bytes()[..end_bytes]);
        }
    }
    out.extend_from_slice(&large_bitmap);
    let sum = checksum(key, &out[start..]);
    out[start + CHECKSUM.start..start + CHECKSUM.end].copy_from_slice(&sum.to_le_bytes());
    Ok(())
}

fn other_count(values: usize, layout: &RowLayout) -> SqlError {
    SqlError::internal(format_args!("a row of {values} values for {} columns", layout.columns.len()))
}

fn mismatch(physical: Physical, value: ValueRef<'_>) -> SqlError {
    SqlError::internal(format_args!("value {value:?} in a column stored as {physical:?}"))
}

/// The bytes of a value of any length; `None` for NULL and for other values.
pub(crate) fn variable_part(value: ValueRef<'_>) -> Option<&[u8]> {
    match value {
        ValueRef::String(text) | ValueRef::Json(text) => Some(text.as_bytes()),
        ValueRef::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

/// `None` if the value does not belong into such a column.
fn encode_fixed(physical: Physical, value: ValueRef<'_>, out: &mut [u8]) -> Option<()> {
    match (physical, value) {
        (Physical::Signed(_), _) => {
            let number = match value {
                ValueRef::Int(number) => number,
                ValueRef::UInt(number) => i64::try_from(number).ok()?,
                _ => return None,
            };
            out.copy_from_slice(&number.to_le_bytes()[..out.len()]);
            (signed(out) == number).then_some(())
        }
        (Physical::Unsigned(_), _) => {
            let number = match value {
                ValueRef::UInt(number) => number,
                ValueRef::Int(number) => u64::try_from(number).ok()?,
                _ => return None,
            };
            out.copy_from_slice(&number.to_le_bytes()[..out.len()]);
            (unsigned(out) == number).then_some(())
        }
        (Physical::Float, ValueRef::Double(number)) => {
            out.copy_from_slice(&(number as f32).to_le_bytes());
            Some(())
        }
        (Physical::Double, ValueRef::Double(number)) => {
            out.copy_from_slice(&number.to_le_bytes());
            Some(())
        }
        (Physical::Decimal { scale, .. }, ValueRef::Decimal(number)) => {
            let unscaled = unscaled_at(number, scale)?;
            match out.len() {
                4 | 8 => {
                    let number = i64::try_from(unscaled.to_i128()?).ok()?;
                    out.copy_from_slice(&number.to_le_bytes()[..out.len()]);
                    (signed(out) == number).then_some(())
                }
                16 => {
                    out.copy_from_slice(&unscaled.to_i128()?.to_le_bytes());
                    Some(())
                }
                _ => {
                    out.copy_from_slice(&unscaled.to_le_bytes());
                    Some(())
                }
            }
        }
        (Physical::Date, ValueRef::Date(date)) => {
            out.copy_from_slice(&date.to_packed().to_le_bytes());
            Some(())
        }
        (Physical::DateTime, ValueRef::DateTime(at)) => {
            out.copy_from_slice(&at.to_packed().to_le_bytes());
            Some(())
        }
        (Physical::Digits(_), ValueRef::Bytes(bytes)) if bytes.len() == out.len() => {
            out.copy_from_slice(bytes);
            Some(())
        }
        (Physical::Time, ValueRef::Time(time)) => {
            out.copy_from_slice(&time.to_micros().to_le_bytes());
            Some(())
        }
        _ => None,
    }
}

/// The unscaled number at a column's scale, if it is exact there.
fn unscaled_at(number: Decimal, scale: u8) -> Option<i256> {
    if number.scale() == scale {
        return Some(number.unscaled());
    }
    let ten = i256::from_i128(10);
    if number.scale() < scale {
        return number.unscaled().checked_mul(ten.checked_pow(u32::from(scale - number.scale()))?);
    }
    let divisor = ten.checked_pow(u32::from(number.scale() - scale))?;
    let quotient = number.unscaled().checked_div(divisor)?;
    (quotient.checked_mul(divisor)? == number.unscaled()).then_some(quotient)
}
