//! DISTINCT in front of an aggregate that takes rows.

use super::codec::{decode_value, encode_value};
use squall_registry::{AggregateKernel, ValueAccumulator};
use squall_statement_context::StatementContext;
use squall_types::{CollationId, SqlResult, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// Gives each different row of arguments to the inner kernel once. A row with a NULL is one too: most kernels leave it out, an array of
/// JSON has it.
#[derive(Debug)]
pub struct DistinctKernel {
    /// The aggregate.
    pub inner: Arc<dyn AggregateKernel>,
    /// For each argument the collation that tells its strings apart.
    pub collations: Vec<Option<CollationId>>,
}

impl AggregateKernel for DistinctKernel {
    fn accumulator(&self, context: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        Box::new(DistinctAccumulator {
            inner: self.inner.accumulator(context),
            collations: self.collations.clone(),
            seen: HashSet::new(),
            rows: Vec::new(),
            key_bytes: 0,
        })
    }

    fn keeps_order(&self) -> bool {
        self.inner.keeps_order()
    }

    fn is_of_statement(&self) -> bool {
        self.inner.is_of_statement()
    }
}

#[derive(Debug)]
struct DistinctAccumulator {
    inner: Box<dyn ValueAccumulator>,
    collations: Vec<Option<CollationId>>,
    seen: HashSet<Vec<u8>>,
    /// The rows seen, encoded one after another, for `state`.
    rows: Vec<u8>,
    key_bytes: usize,
}

/// The bytes that equal values share.
pub(super) fn distinct_key(value: &Value, collation: Option<CollationId>, key: &mut Vec<u8>) {
    match (value, collation) {
        (Value::String(text), Some(collation)) => {
            let mut sort_key = Vec::new();
            squall_types::collation::sort_key(collation, text, &mut sort_key);
            super::codec::encode_bytes(&sort_key, key);
        }
        (Value::Json(document), _) => {
            let mut sort_key = Vec::new();
            squall_types::json::sort_key(document.stored(), &mut sort_key);
            super::codec::encode_bytes(&sort_key, key);
        }
        (Value::Decimal(number), _) => encode_value(&Value::Decimal(number.normalized()), key),
        _ => encode_value(value, key),
    }
}

impl ValueAccumulator for DistinctAccumulator {
    fn update(&mut self, arguments: &[Value]) -> SqlResult<()> {
        let mut key = Vec::new();
        for (position, value) in arguments.iter().enumerate() {
            distinct_key(value, self.collations.get(position).copied().flatten(), &mut key);
        }
        // A set's places are half empty after it has grown.
        let key_bytes = key.len() + 2 * size_of::<Vec<u8>>();
        if self.seen.insert(key) {
            self.key_bytes += key_bytes;
            arguments.iter().for_each(|value| encode_value(value, &mut self.rows));
            self.inner.update(arguments)?;
        }
        Ok(())
    }

    fn evaluate(&mut self) -> SqlResult<Value> {
        self.inner.evaluate()
    }

    fn state(&mut self) -> SqlResult<Vec<u8>> {
        Ok(std::mem::take(&mut self.rows))
    }

    fn merge(&mut self, state: &[u8]) -> SqlResult<()> {
        let mut input = state;
        let width = self.collations.len().max(1);
        while !input.is_empty() {
            let row = (0..width).map(|_| decode_value(&mut input)).collect::<SqlResult<Vec<_>>>()?;
            self.update(&row)?;
        }
        Ok(())
    }

    fn size(&self) -> usize {
        self.key_bytes + self.rows.capacity() + self.inner.size()
    }
}
