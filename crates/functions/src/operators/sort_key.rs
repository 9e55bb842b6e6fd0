//! Sort keys: bytes that compare as strings of a collation do, so that DataFusion can join, group and sort by them.

use crate::documents::tree_charge;
use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, make_view};
use arrow::buffer::Buffer;
use rustc_hash::FxHashMap;
use squall_registry::ScalarKernel;
use squall_statement_context::StatementContext;
use squall_types::collation::sort_key as collation_sort_key;
use squall_types::{CollationId, SqlError, SqlResult, Value};
use std::sync::Arc;

/// The sort key of a string in a collation.
#[derive(Debug)]
pub struct SortKeyKernel {
    /// The collation.
    pub collation: CollationId,
}

/// The sort key of a document: its text orders otherwise, and equal documents may have different texts.
#[derive(Debug)]
pub struct JsonSortKeyKernel;

impl ScalarKernel for JsonSortKeyKernel {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        Ok(match arguments.first() {
            Some(Value::Json(document)) => {
                let _charge = tree_charge(document.stored(), context)?;
                let mut key = Vec::with_capacity(document.stored().len());
                squall_types::json::sort_key(document.stored(), &mut key);
                Value::Bytes(key)
            }
            _ => Value::Null,
        })
    }
    fn is_proportional(&self) -> bool {
        true
    }
}

impl ScalarKernel for SortKeyKernel {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        Ok(match arguments.first() {
            Some(Value::String(text)) => {
                let mut key = Vec::with_capacity(text.len() * 2);
                collation_sort_key(self.collation, text, &mut key);
                Value::Bytes(key)
            }
            Some(Value::Bytes(bytes)) => Value::Bytes(bytes.clone()),
            _ => Value::Null,
        })
    }

    fn is_proportional(&self) -> bool {
        true
    }

    fn has_eval_arrays(&self) -> bool {
        true
    }

    fn eval_arrays(&self, arguments: &[ArrayRef], _context: &StatementContext) -> Option<SqlResult<ArrayRef>> {
        let texts = arguments.first()?.as_string_view_opt()?;
        let mut keys = Keys::new(self.collation);
        let mut views = Vec::with_capacity(texts.len());
        for (row, view) in texts.views().iter().enumerate() {
            views.push(if texts.is_null(row) { 0 } else { keys.key_of(*view, texts.value(row))? });
        }
        let nulls = texts.nulls().cloned();
        let keys = BinaryViewArray::try_new(views.into(), [Buffer::from_vec(keys.bytes)], nulls);
        Some(keys.map(|keys| Arc::new(keys) as ArrayRef).map_err(|error| SqlError::internal(error.to_string())))
    }
}

/// Bytes that a view holds by itself.
const INLINE_BYTES: u32 = 12;
/// Short texts whose keys are found without a search.
const RECENT_TEXTS: usize = 256;

/// Keys of texts, as views. Columns that are joined and grouped by often have few different texts, and keys are dear.
struct Keys<'a> {
    collation: CollationId,
    /// Keys that do not fit into views.
    bytes: Vec<u8>,
    /// Short texts, which are their views, and their keys: at the place that a hash of the text tells.
    recent: Vec<(u128, u128)>,
    short: FxHashMap<u128, u128>,
    long: FxHashMap<&'a str, u128>,
}

impl<'a> Keys<'a> {
    fn new(collation: CollationId) -> Self {
        // No short text has this view.
        let recent = vec![(u128::MAX, 0); RECENT_TEXTS];
        Self { collation, bytes: Vec::new(), recent, short: FxHashMap::default(), long: FxHashMap::default() }
    }

    /// The key of a text; `None` if there are too many bytes for views.
    fn key_of(&mut self, view: u128, text: &'a str) -> Option<u128> {
        if view as u32 > INLINE_BYTES {
            if let Some(key) = self.long.get(text) {
                return Some(*key);
            }
            let key = self.new_key(text)?;
            self.long.insert(text, key);
            return Some(key);
        }
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4).
        let hash = (view as u64 ^ (view >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56;
        if let Some((known, key)) = self.recent.get(hash as usize)
            && *known == view
        {
            return Some(*key);
        }
        let key = match self.short.get(&view) {
            Some(key) => *key,
            None => {
                let key = self.new_key(text)?;
                self.short.insert(view, key);
                key
            }
        };
        if let Some(place) = self.recent.get_mut(hash as usize) {
            *place = (view, key);
        }
        Some(key)
    }

    fn new_key(&mut self, text: &str) -> Option<u128> {
        let start = self.bytes.len();
        collation_sort_key(self.collation, text, &mut self.bytes);
        let offset = u32::try_from(start).ok().filter(|_| i32::try_from(self.bytes.len()).is_ok())?;
        let key = make_view(self.bytes.get(start..)?, 0, offset);
        if key as u32 <= INLINE_BYTES {
            self.bytes.truncate(start);
        }
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::StringViewArray;

    #[test]
    fn keys_of_arrays_are_those_of_values() {
        let short = ["", "a", "A ", "straße", "twelve bytes", "\0", "ä"].map(str::to_string);
        let many = (0..2_000).map(|number| format!("{}", number % 700));
        let long = (0..2_000).map(|number| format!("a text of many bytes {}", number % 3));
        let texts: Vec<Option<String>> =
            short.into_iter().chain(many).chain(long).map(Some).chain([None, Some(String::new())]).collect();
        let array: ArrayRef = Arc::new(texts.iter().collect::<StringViewArray>());
        let context = StatementContext::default();
        for collation in [CollationId::UTF8MB4_0900_AI_CI, CollationId::UTF8MB3_GENERAL_CI, CollationId::BINARY] {
            let kernel = SortKeyKernel { collation };
            let keys = kernel.eval_arrays(&[Arc::clone(&array)], &context).unwrap().unwrap();
            for (row, text) in texts.iter().enumerate() {
                let expected = kernel.eval(&[text.clone().map_or(Value::Null, Value::String)], &context).unwrap();
                let found = match keys.is_null(row) {
                    true => Value::Null,
                    false => Value::Bytes(keys.as_binary_view().value(row).to_vec()),
                };
                assert_eq!(found, expected, "{text:?} in {collation:?}");
            }
        }
    }
}
