//! MIN and MAX on rows, of strings by their collation, and of documents in their order.

use super::codec::{decode_value, encode_value};
use crate::expr::physical_order;
use arrow::array::{ArrayRef, AsArray};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;
use squall_registry::{AggregateKernel, ValueAccumulator};
use squall_statement_context::StatementContext;
use squall_types::collation::compare;
use squall_types::{CollationId, SqlResult, Value};
use std::cmp::Ordering;
use std::sync::Arc;

/// MIN and MAX of values that order as Arrow orders them. DataFusion has its own; this is the row-wise meaning.
#[derive(Debug)]
pub struct ExtremeKernel {
    /// MAX.
    pub max: bool,
}

impl AggregateKernel for ExtremeKernel {
    fn accumulator(&self, _context: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        Box::new(Extreme { max: self.max, collation: None, value: Value::Null })
    }
}

/// MIN and MAX of character strings.
#[derive(Debug)]
pub struct StringExtremeKernel {
    /// MAX.
    pub max: bool,
    /// The order.
    pub collation: CollationId,
}

impl AggregateKernel for StringExtremeKernel {
    fn accumulator(&self, _context: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        Box::new(Extreme { max: self.max, collation: Some(self.collation), value: Value::Null })
    }
}

/// MIN and MAX of documents.
#[derive(Debug)]
pub struct JsonExtremeKernel {
    /// MAX.
    pub max: bool,
}

impl AggregateKernel for JsonExtremeKernel {
    fn accumulator(&self, _context: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        Box::new(Extreme { max: self.max, collation: None, value: Value::Null })
    }
}

#[derive(Debug)]
struct Extreme {
    max: bool,
    collation: Option<CollationId>,
    value: Value,
}

/// The order of two stored documents.
fn compare_documents(left: &str, right: &str) -> Ordering {
    let key = |text| {
        let mut key = Vec::new();
        squall_types::json::sort_key(text, &mut key);
        key
    };
    if left == right { Ordering::Equal } else { key(left).cmp(&key(right)) }
}

impl ValueAccumulator for Extreme {
    fn update(&mut self, arguments: &[Value]) -> SqlResult<()> {
        let Some(value) = arguments.first() else { return Ok(()) };
        let ordering = match (value, &self.value, self.collation) {
            (Value::Null, _, _) => return Ok(()),
            (_, Value::Null, _) => None,
            (Value::String(value), Value::String(best), Some(collation)) => Some(compare(collation, value, best)),
            (Value::Json(value), Value::Json(best), _) => Some(compare_documents(value.stored(), best.stored())),
            (value, best, _) => physical_order(value, best)?,
        };
        let better = if self.max { Ordering::Greater } else { Ordering::Less };
        if ordering.is_none_or(|ordering| ordering == better) {
            self.value = value.clone();
        }
        Ok(())
    }

    fn evaluate(&mut self) -> SqlResult<Value> {
        Ok(self.value.clone())
    }

    fn state(&mut self) -> SqlResult<Vec<u8>> {
        let mut state = Vec::new();
        encode_value(&self.value, &mut state);
        Ok(state)
    }

    fn merge(&mut self, mut state: &[u8]) -> SqlResult<()> {
        let value = decode_value(&mut state)?;
        self.update(&[value])
    }

    fn size(&self) -> usize {
        match &self.value {
            Value::String(text) => size_of::<Self>() + text.capacity(),
            Value::Json(document) => size_of::<Self>() + document.capacity(),
            _ => size_of::<Self>(),
        }
    }
}

impl StringExtremeKernel {
    /// The state that reads arrays of strings.
    pub fn datafusion_accumulator(&self) -> StringExtreme {
        StringExtreme { max: self.max, collation: self.collation, best: None }
    }
}

/// The best string so far.
#[derive(Debug)]
pub struct StringExtreme {
    max: bool,
    collation: CollationId,
    best: Option<String>,
}

impl Accumulator for StringExtreme {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(texts) = values.first().and_then(|values| values.as_string_view_opt()) else {
            return datafusion::common::internal_err!("strings in another layout");
        };
        let better = if self.max { Ordering::Greater } else { Ordering::Less };
        let mut best: Option<&str> = self.best.as_deref();
        let mut changed = false;
        for text in texts.iter().flatten() {
            if best.is_none_or(|best| text != best && compare(self.collation, text, best) == better) {
                best = Some(text);
                changed = true;
            }
        }
        if changed {
            self.best = best.map(str::to_string);
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Utf8View(self.best.clone()))
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.best.as_ref().map_or(0, String::capacity)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}
