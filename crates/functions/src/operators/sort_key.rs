//! Sort keys: bytes that compare as strings of a collation do, so that DataFusion can join, group and sort by them.

use crate::documents::tree_charge;
use arrow::array::{Array, ArrayRef, AsArray, BinaryViewBuilder};
use rustc_hash::FxHashMap;
use squall_registry::ScalarKernel;
use squall_statement_context::StatementContext;
use squall_types::collation::sort_key as collation_sort_key;
use squall_types::{CollationId, SqlResult, Value};
use std::ops::Range;
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
        let mut keys = BinaryViewBuilder::with_capacity(texts.len());
        // Columns that are joined and grouped by often have few different texts, and keys are dear.
        let mut known: FxHashMap<&str, Range<usize>> = FxHashMap::default();
        let mut all = Vec::new();
        for text in texts {
            match text {
                Some(text) => {
                    let range = known.entry(text).or_insert_with(|| {
                        let start = all.len();
                        collation_sort_key(self.collation, text, &mut all);
                        start..all.len()
                    });
                    keys.append_value(&all[range.clone()]);
                }
                None => keys.append_null(),
            }
        }
        Some(Ok(Arc::new(keys.finish())))
    }
}
