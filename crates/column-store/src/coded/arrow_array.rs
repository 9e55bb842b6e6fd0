//! Converts Arrow arrays, as execution holds MySQL's types, to codes and back.
//!
//! Execution's forms (`docs/decisions/0002-arrow-types.md`): `Int64`, `UInt64`, `Float64`, `Decimal128` and `Decimal256`,
//! packed dates and microseconds as `Int64`, `Utf8View`, `BinaryView`.

use super::encode::{integers, some_nulls, strings};
use super::{CodedColumn, CodedValues};
use crate::domain::{ColumnType, Domain};
use crate::error::{Error, Result};
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryViewBuilder, Decimal128Array, Decimal256Array, Float64Array,
    Int64Array, NullBufferBuilder, PrimitiveArray, StringViewBuilder, UInt64Array,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type, UInt64Type, i256,
};
use std::sync::Arc;

/// The parts of a column one after another, with NULL for missing.
type Strings<'a> = Vec<Option<&'a [u8]>>;

impl CodedColumn {
    /// Codes the parts of a column, one after another, from arrays in execution's form for its type.
    ///
    /// # Errors
    /// [`Error::Invalid`] if an array is not of that form, or the column's strings exceed 4 GiB.
    pub fn from_arrays(column_type: ColumnType, parts: &[ArrayRef]) -> Result<CodedColumn> {
        let validity = validity_of(parts);
        let nulls = validity.as_ref();
        let values = match column_type.domain() {
            Domain::Integer if matches!(column_type, ColumnType::Unsigned(_)) => {
                let mut values = Vec::with_capacity(rows_of(parts));
                for part in parts {
                    values.extend_from_slice(primitive::<UInt64Type>(column_type, part)?.values());
                }
                CodedValues::Integers(integers(&values, nulls))
            }
            Domain::Integer => {
                let mut values: Vec<i64> = Vec::with_capacity(rows_of(parts));
                for part in parts {
                    match column_type {
                        // At most 18 digits, so 64 bits hold every value; what stands behind a NULL does not matter.
                        ColumnType::Decimal { .. } => {
                            let part = primitive::<Decimal128Type>(column_type, part)?;
                            values.extend(part.values().iter().map(|value| *value as i64));
                        }
                        _ => values.extend_from_slice(primitive::<Int64Type>(column_type, part)?.values()),
                    }
                }
                CodedValues::Integers(integers(&values, nulls))
            }
            Domain::Float => {
                let mut values = Vec::with_capacity(rows_of(parts));
                for part in parts {
                    let part = primitive::<Float64Type>(column_type, part)?;
                    values.extend(part.iter().map(|value| value.unwrap_or_default()));
                }
                CodedValues::Floats(values)
            }
            Domain::Bytes => byte_strings(column_type, parts)?,
        };
        Ok(CodedColumn { validity: some_nulls(validity), values })
    }

    /// The values of some rows, in that order, in execution's form.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the column is not of that type, or a value is not one of it.
    ///
    /// # Panics
    /// If a row does not exist.
    pub fn to_array(&self, column_type: ColumnType, rows: impl Iterator<Item = u32> + Clone) -> Result<ArrayRef> {
        let mismatch = || Error::invalid(format!("a column of {:?} cannot be read as {column_type:?}", self.domain()));
        let invalid = |error: arrow::error::ArrowError| Error::invalid(error.to_string());
        Ok(match (&self.values, column_type) {
            (CodedValues::Integers(integers), ColumnType::Unsigned(_)) => {
                let values = integers.decode(rows.clone(), |value| value as u64);
                Arc::new(UInt64Array::new(values.into(), self.nulls_at(rows)))
            }
            (CodedValues::Integers(integers), ColumnType::Decimal { precision, scale }) => {
                let values = integers.decode(rows.clone(), |value| value);
                let array = Decimal128Array::new(values.into(), self.nulls_at(rows));
                Arc::new(array.with_precision_and_scale(precision, scale as i8).map_err(invalid)?)
            }
            (CodedValues::Integers(integers), column_type) if column_type.domain() == Domain::Integer => {
                let values = integers.decode(rows.clone(), |value| value as i64);
                Arc::new(Int64Array::new(values.into(), self.nulls_at(rows)))
            }
            (CodedValues::Floats(values), ColumnType::Float | ColumnType::Double) => {
                let values: Vec<f64> = rows.clone().map(|row| values[row as usize]).collect();
                Arc::new(Float64Array::new(values.into(), self.nulls_at(rows)))
            }
            (CodedValues::Dictionary { .. } | CodedValues::Bytes(_), ColumnType::Text | ColumnType::Document) => {
                let mut builder = StringViewBuilder::new();
                for row in rows {
                    match self.string(row) {
                        Some(bytes) => builder.append_value(
                            std::str::from_utf8(bytes).map_err(|_| Error::invalid("a text is not UTF-8"))?,
                        ),
                        None => builder.append_null(),
                    }
                }
                Arc::new(builder.finish())
            }
            (CodedValues::Dictionary { .. } | CodedValues::Bytes(_), ColumnType::Bytes) => {
                let mut builder = BinaryViewBuilder::new();
                rows.for_each(|row| builder.append_option(self.string(row)));
                Arc::new(builder.finish())
            }
            (CodedValues::Dictionary { .. } | CodedValues::Bytes(_), ColumnType::Decimal { precision, scale }) => {
                let wrong = || Error::invalid("a decimal is not of the width of its type");
                if precision <= DECIMAL128_MAX_PRECISION {
                    let values =
                        rows.map(|row| self.string(row).map(|key| decode_i128(key).ok_or_else(wrong)).transpose());
                    let array = values.collect::<Result<Decimal128Array>>()?;
                    Arc::new(array.with_precision_and_scale(precision, scale as i8).map_err(invalid)?)
                } else {
                    let values =
                        rows.map(|row| self.string(row).map(|key| decode_i256(key).ok_or_else(wrong)).transpose());
                    let array = values.collect::<Result<Decimal256Array>>()?;
                    Arc::new(array.with_precision_and_scale(precision, scale as i8).map_err(invalid)?)
                }
            }
            _ => return Err(mismatch()),
        })
    }

    /// Which of some rows are not NULL.
    fn nulls_at(&self, rows: impl Iterator<Item = u32>) -> Option<NullBuffer> {
        let validity = self.validity.as_ref()?;
        some_nulls(Some(rows.map(|row| validity.is_valid(row as usize)).collect()))
    }

    /// A row's byte string; `None` for NULL and for columns of other domains.
    #[inline]
    pub fn string(&self, row: u32) -> Option<&[u8]> {
        if self.is_null(row as usize) {
            return None;
        }
        match &self.values {
            CodedValues::Dictionary { dictionary, codes } => Some(dictionary.value(codes.get(row as usize) as usize)),
            CodedValues::Bytes(strings) => Some(strings.value(row as usize)),
            _ => None,
        }
    }
}

fn rows_of(parts: &[ArrayRef]) -> usize {
    parts.iter().map(|part| part.len()).sum()
}

/// Which rows of a column in parts are not NULL.
fn validity_of(parts: &[ArrayRef]) -> Option<NullBuffer> {
    if parts.iter().all(|part| part.null_count() == 0) {
        return None;
    }
    let mut validity = NullBufferBuilder::new(rows_of(parts));
    for part in parts {
        match part.nulls() {
            Some(nulls) => validity.append_buffer(nulls),
            None => validity.append_n_non_nulls(part.len()),
        }
    }
    validity.finish()
}

fn mismatch(column_type: ColumnType, array: &ArrayRef) -> Error {
    Error::invalid(format!("{column_type:?} cannot be coded from {}", array.data_type()))
}

fn primitive<T: ArrowPrimitiveType>(column_type: ColumnType, array: &ArrayRef) -> Result<&PrimitiveArray<T>> {
    array.as_primitive_opt::<T>().ok_or_else(|| mismatch(column_type, array))
}

fn byte_strings(column_type: ColumnType, parts: &[ArrayRef]) -> Result<CodedValues> {
    let too_long = || Error::invalid("a column's strings exceed 4 GiB");
    if let ColumnType::Decimal { precision, .. } = column_type {
        let mut keys: Vec<Option<[u8; 32]>> = Vec::with_capacity(rows_of(parts));
        // 38 digits need sixteen bytes of the key, more need all.
        let width = if precision <= DECIMAL128_MAX_PRECISION { 16 } else { 32 };
        for part in parts {
            if width == 16 {
                let part = primitive::<Decimal128Type>(column_type, part)?;
                keys.extend(part.iter().map(|value| value.map(|value| padded(ordered_i128(value)))));
            } else {
                let part = primitive::<Decimal256Type>(column_type, part)?;
                keys.extend(part.iter().map(|value| value.map(ordered_i256)));
            }
        }
        return strings(keys.iter().map(|key| key.as_ref().map(|key| &key[..width]))).ok_or_else(too_long);
    }
    let mut values: Strings<'_> = Vec::with_capacity(rows_of(parts));
    for part in parts {
        match part.data_type() {
            DataType::Utf8View => values.extend(part.as_string_view().iter().map(|value| value.map(str::as_bytes))),
            DataType::Utf8 => values.extend(part.as_string::<i32>().iter().map(|value| value.map(str::as_bytes))),
            DataType::BinaryView => values.extend(part.as_binary_view().iter()),
            DataType::Binary => values.extend(part.as_binary::<i32>().iter()),
            _ => return Err(mismatch(column_type, part)),
        }
    }
    strings(values.iter().copied()).ok_or_else(too_long)
}

fn padded(key: [u8; 16]) -> [u8; 32] {
    let mut padded = [0; 32];
    padded[..16].copy_from_slice(&key);
    padded
}

/// Big-endian with the sign bit turned: memcmp order is numeric order.
pub fn ordered_i128(value: i128) -> [u8; 16] {
    (value ^ i128::MIN).to_be_bytes()
}

/// As [`ordered_i128`], for 256 bits.
pub fn ordered_i256(value: i256) -> [u8; 32] {
    let mut bytes = value.to_be_bytes();
    bytes[0] ^= 0x80;
    bytes
}

fn decode_i128(key: &[u8]) -> Option<i128> {
    Some(i128::from_be_bytes(key.try_into().ok()?) ^ i128::MIN)
}

fn decode_i256(key: &[u8]) -> Option<i256> {
    let mut bytes: [u8; 32] = key.try_into().ok()?;
    bytes[0] ^= 0x80;
    Some(i256::from_be_bytes(bytes))
}
