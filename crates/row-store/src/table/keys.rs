//! Storage keys of a table's rows, and of the entries of its indexes.

use super::Table;
use crate::index_key::*;
use squall_catalog::IndexId;
use squall_types::{SqlError, SqlResult, Value};
use std::ops::Bound;

impl Table {
    /// A range of an index (0 is the table itself) from bounds by values of the columns' types.
    pub fn range(&self, index: IndexId, bounds: ValueRange<'_>) -> SqlResult<KeyRange> {
        let codec = self.index_codec(index)?;
        let full = codec.full_range();
        let start = match bounds.start {
            Bound::Included(values) => Bound::Included(codec.prefix(values)?),
            Bound::Excluded(values) => match successor(&codec.prefix(values)?) {
                Some(next) => Bound::Included(next),
                None => full.start,
            },
            Bound::Unbounded => full.start,
        };
        let end = match bounds.end {
            Bound::Included(values) => match successor(&codec.prefix(values)?) {
                Some(next) => Bound::Excluded(next),
                None => full.end,
            },
            Bound::Excluded(values) => Bound::Excluded(codec.prefix(values)?),
            Bound::Unbounded => full.end,
        };
        Ok(KeyRange { start, end })
    }

    /// The encoding of one part of an index's keys, for callers that put ranges together by themselves. Bytes for a
    /// character string are its sort key.
    pub fn encode_part(&self, index: IndexId, part: usize, value: &Value) -> SqlResult<Vec<u8>> {
        let codec = self.index_codec(index)?;
        let column = codec.parts.get(part).ok_or_else(|| SqlError::internal("a key part that the index lacks"))?;
        let mut bytes = Vec::with_capacity(16);
        match value {
            Value::Bytes(sort_key) if column.part.sql_type.is_string() && !column.part.sql_type.is_binary_string() => {
                column.part.encode_sort_key(sort_key, &mut bytes);
            }
            value => column.part.encode(value, &mut bytes)?,
        }
        Ok(bytes)
    }

    /// The key of the row with these values of the primary key's columns, in the key's order.
    pub fn row_key(&self, key_values: &[Value]) -> SqlResult<RowKeyBuf> {
        let codec = self.index_codec(IndexId(0))?;
        if key_values.len() != codec.parts.len() {
            return Err(SqlError::internal("a row key of another number of columns"));
        }
        codec.prefix(key_values)
    }

    /// The key of a unique index's entry with these values of all its columns, none of them NULL, for
    /// [`ReadView::get_by_unique`](crate::ReadView::get_by_unique).
    pub fn unique_key(&self, index: IndexId, values: &[Value]) -> SqlResult<Vec<u8>> {
        let codec = self.index_codec(index)?;
        if !codec.unique || values.len() != codec.parts.len() || values.iter().any(Value::is_null) {
            return Err(SqlError::internal("a unique key of other values than its columns take"));
        }
        codec.prefix(values)
    }

    /// The values that a storage key of an index holds, part by part; `None` where the key cannot tell them (texts
    /// are stored by their sort keys).
    pub fn decode_key(&self, index: IndexId, key: &[u8]) -> SqlResult<Vec<Option<Value>>> {
        self.index_codec(index)?.decode(key).ok_or_else(|| crate::error::corrupted(&self.def().name))
    }

    /// The index that a storage key is of, and its values as `performance_schema.data_locks` shows them: texts, of which
    /// keys have only sort keys, as hexadecimal digits.
    pub fn describe_key(&self, key: &[u8]) -> Option<(IndexId, String)> {
        let (id, content) = split_index_id(key)?;
        let codec = self.index_codec(id).ok()?;
        let hex = || content.iter().map(|byte| format!("{byte:02X}")).collect::<String>();
        let values = match codec.decode(key) {
            Some(values) if !values.is_empty() => values,
            _ => return Some((id, format!("0x{}", hex()))),
        };
        let mut text = String::new();
        for (value, column) in values.iter().zip(&codec.parts) {
            if !text.is_empty() {
                text.push_str(", ");
            }
            match value {
                Some(value) => crate::value_text::push(value, &column.part, &mut text),
                None => return Some((id, format!("0x{}", hex()))),
            }
        }
        Some((id, text))
    }

    /// The index that a range of storage keys is of, and its ends likewise.
    pub fn describe_range(&self, range: &KeyRange) -> Option<(IndexId, String)> {
        let (Bound::Included(start) | Bound::Excluded(start)) = &range.start else { return None };
        let (index, content) = split_index_id(start)?;
        let text = |key: &[u8]| self.describe_key(key).map_or_else(String::new, |(_, text)| text);
        let start = match &range.start {
            _ if content.is_empty() => "(infimum pseudo-record".to_owned(),
            Bound::Excluded(key) => format!("({}", text(key)),
            Bound::Included(_) | Bound::Unbounded => format!("[{}", text(start)),
        };
        let is_within = |key: &[u8]| split_index_id(key).is_some_and(|(other, _)| other == index);
        let end = match &range.end {
            Bound::Included(key) if is_within(key) => format!("{}]", text(key)),
            Bound::Excluded(key) if is_within(key) => format!("{})", text(key)),
            _ => "supremum pseudo-record)".to_owned(),
        };
        Some((index, format!("{start}, {end}")))
    }

    /// For each part of an index whether [`Table::decode_key`] gives it back; none of an index of terms, and of a copy of columns.
    pub fn reversible_parts(&self, index: IndexId) -> Vec<bool> {
        self.index_codec(index).map(IndexCodec::reversible_parts).unwrap_or_default()
    }

    /// Whether [`Table::decode_key`] gives all of an index's columns back.
    pub fn is_covering(&self, index: IndexId) -> bool {
        self.index_codec(index).is_ok_and(IndexCodec::is_covering)
    }
}
