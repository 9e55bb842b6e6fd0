//! GROUP_CONCAT.

mod joined;
mod plain;

use super::codec::{decode_value, encode_bytes, encode_value};
use crate::expr::physical_order;
use crate::operators::coerce;
use joined::{Joined, Joining};
use plain::ConcatGroups;
pub use plain::PlainConcat;
use squall_registry::{AggregateKernel, ScalarKernel, ValueAccumulator};
use squall_statement_context::StatementContext;
use squall_types::{CollationId, SqlResult, SqlType, Value};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

/// The kernel. Arguments: the texts to join, then the keys of DISTINCT, then the keys of ORDER BY.
#[derive(Debug)]
pub struct GroupConcatKernel {
    /// The type of the joined values: texts, or a type that [`GroupConcatKernel::writes`].
    pub source: SqlType,
    /// How many arguments after the text tell rows apart; 0 without DISTINCT.
    pub distinct_count: usize,
    /// For each of the last arguments whether it orders downwards.
    pub descending: Vec<bool>,
    /// Stands between texts.
    pub separator: String,
    /// Offset and count of the texts joined.
    pub limit: Option<(u64, u64)>,
}

impl GroupConcatKernel {
    /// Without any clause, of texts.
    pub fn plain(source: SqlType) -> Self {
        Self { source, distinct_count: 0, descending: Vec::new(), separator: ",".to_string(), limit: None }
    }

    /// Whether the kernel writes values of a type as texts of a collation itself, so that no texts of them are made first.
    pub fn writes(source: &SqlType, collation: CollationId) -> bool {
        let written = !matches!(source, SqlType::String { .. } | SqlType::Bit { .. } | SqlType::Null);
        written && source.digit_bytes().is_none() && collation != CollationId::BINARY
    }

    /// Whether texts are joined as they come.
    pub fn is_plain(&self) -> bool {
        self.distinct_count == 0 && self.descending.is_empty() && self.limit.is_none()
    }

    fn joining(&self, context: Arc<StatementContext>) -> Joining {
        Joining::new(&self.separator, &self.source, context)
    }

    /// The state of one group that reads arrays.
    pub fn plain_accumulator(&self, context: Arc<StatementContext>) -> PlainConcat {
        PlainConcat::new(self.source.clone(), self.joining(context))
    }

    /// The state of many groups that reads arrays.
    pub fn groups_accumulator(&self, context: Arc<StatementContext>) -> ConcatGroups {
        ConcatGroups::new(self.source.clone(), self.joining(context))
    }
}

impl AggregateKernel for GroupConcatKernel {
    fn keeps_order(&self) -> bool {
        // Behind ORDER BY too: of rows that are equal there.
        true
    }

    fn accumulator(&self, context: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        Box::new(Concat {
            source: self.source.clone(),
            distinct_count: self.distinct_count,
            descending: self.descending.clone(),
            joining: self.joining(context),
            limit: self.limit,
            seen: HashSet::new(),
            rows: Vec::new(),
            bytes: 0,
            bytes_high: 0,
            text_bytes: 0,
            is_full: false,
        })
    }
}

/// GROUP_CONCAT with clauses: keeps the rows until the end.
#[derive(Debug)]
struct Concat {
    source: SqlType,
    distinct_count: usize,
    descending: Vec<bool>,
    joining: Joining,
    limit: Option<(u64, u64)>,
    seen: HashSet<Vec<u8>>,
    /// Texts with what they are ordered by.
    rows: Vec<(Vec<u8>, Vec<Value>)>,
    /// What the rows and the keys of DISTINCT hold.
    bytes: usize,
    /// The most it has been: operators add up what a state has grown by, and take nothing off when it shrinks.
    bytes_high: usize,
    /// The total length of the rows' texts and separators.
    text_bytes: usize,
    /// Whether there are enough rows and none that comes can stand before one of them.
    is_full: bool,
}

impl Concat {
    fn compare(&self, left: &[Value], right: &[Value]) -> Ordering {
        for ((left, right), descending) in left.iter().zip(right).zip(&self.descending) {
            let ordering = match (left.is_null(), right.is_null()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                _ => physical_order(left, right).ok().flatten().unwrap_or(Ordering::Equal),
            };
            if ordering.is_ne() {
                return if *descending { ordering.reverse() } else { ordering };
            }
        }
        Ordering::Equal
    }

    fn row_bytes((text, keys): &(Vec<u8>, Vec<Value>)) -> usize {
        let keys: usize = keys.iter().map(|key| size_of::<Value>() + key.heap_bytes()).sum();
        text.capacity() + size_of::<(Vec<u8>, Vec<Value>)>() + keys
    }

    fn sort(&self, rows: &mut [(Vec<u8>, Vec<Value>)]) {
        if !self.descending.is_empty() {
            rows.sort_by(|(_, left), (_, right)| self.compare(left, right));
        }
    }

    /// Drops the rows behind the cut at `group_concat_max_len` or behind LIMIT, whatever rows come.
    fn prune(&mut self) {
        let mut rows = std::mem::take(&mut self.rows);
        self.sort(&mut rows);
        let (offset, count) = self.limit.unwrap_or((0, u64::MAX));
        let (mut kept, mut joined_bytes) = (0, 0_usize);
        for (text, _) in &rows {
            let at = kept as u64;
            if joined_bytes > self.joining.bytes_max || at >= offset.saturating_add(count) {
                self.is_full = self.descending.is_empty();
                break;
            }
            if at >= offset {
                joined_bytes += text.len() + if at > offset { self.joining.separator.len() } else { 0 };
            }
            kept += 1;
        }
        for row in rows.drain(kept..) {
            self.bytes -= Self::row_bytes(&row);
            self.text_bytes -= row.0.len() + self.joining.separator.len();
        }
        self.rows = rows;
    }
}

impl ValueAccumulator for Concat {
    fn update(&mut self, arguments: &[Value]) -> SqlResult<()> {
        /// Rows that are not worth looking through.
        const ROWS_MIN: usize = 1024;
        if self.is_full {
            return Ok(());
        }
        let Some((text, keys)) = arguments.split_first() else { return Ok(()) };
        let text = match text {
            Value::Bytes(bytes) => bytes.clone(),
            text => match coerce::to_text(text, &self.source) {
                Some(text) => text.into_owned().into_bytes(),
                None => return Ok(()),
            },
        };
        let (distinct, order) = keys.split_at(self.distinct_count.min(keys.len()));
        if self.distinct_count > 0 {
            let mut key = Vec::new();
            distinct.iter().for_each(|value| super::distinct::distinct_key(value, None, &mut key));
            // A set's places are half empty after it has grown.
            let key_bytes = key.len() + 2 * size_of::<Vec<u8>>();
            if !self.seen.insert(key) {
                return Ok(());
            }
            self.bytes += key_bytes;
        }
        let mut row_keys = order.to_vec();
        // A merged state needs what tells rows apart again.
        row_keys.extend_from_slice(distinct);
        let row = (text, row_keys);
        self.bytes += Self::row_bytes(&row);
        self.text_bytes += row.0.len() + self.joining.separator.len();
        self.rows.push(row);
        self.bytes_high = self.bytes_high.max(self.bytes);
        // Sorting is paid for by twice as many rows as are kept.
        let (rows, text) = (self.rows.len().max(ROWS_MIN), self.joining.bytes_max.max(ROWS_MIN));
        let enough =
            self.limit.is_some_and(|(offset, count)| rows as u64 > offset.saturating_add(count).saturating_mul(2));
        if self.rows.len() >= ROWS_MIN && (enough || self.text_bytes > text.saturating_mul(2))
            || self.text_bytes > text.saturating_mul(ROWS_MIN)
        {
            self.prune();
        }
        Ok(())
    }

    fn evaluate(&mut self) -> SqlResult<Value> {
        let mut rows = std::mem::take(&mut self.rows);
        self.sort(&mut rows);
        let mut joined = Joined::default();
        let (offset, count) = self.limit.unwrap_or((0, u64::MAX));
        let skip = usize::try_from(offset).unwrap_or(usize::MAX);
        let take = usize::try_from(count).unwrap_or(usize::MAX);
        for (text, _) in rows.iter().skip(skip).take(take) {
            joined.push(text.as_slice(), &self.joining);
        }
        self.rows = rows;
        self.joining.check()?;
        Ok(joined.value(&self.joining))
    }

    fn state(&mut self) -> SqlResult<Vec<u8>> {
        let mut state = Vec::new();
        let order_count = self.descending.len();
        for (text, keys) in &self.rows {
            encode_bytes(text, &mut state);
            let (order, distinct) = keys.split_at(order_count.min(keys.len()));
            distinct.iter().chain(order).for_each(|key| encode_value(key, &mut state));
        }
        Ok(state)
    }

    fn merge(&mut self, mut state: &[u8]) -> SqlResult<()> {
        let key_count = self.distinct_count + self.descending.len();
        while !state.is_empty() {
            let text = super::codec::decode_bytes(&mut state)?.to_vec();
            let mut row = Vec::with_capacity(key_count + 1);
            row.push(Value::Bytes(text));
            for _ in 0..key_count {
                row.push(decode_value(&mut state)?);
            }
            self.update(&row)?;
        }
        Ok(())
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.bytes_high
    }
}

/// Joins the texts of one row; NULL if any is.
#[derive(Debug)]
pub struct JoinKernel;

impl ScalarKernel for JoinKernel {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        let mut text = String::new();
        let mut bytes: Option<Vec<u8>> = None;
        for argument in arguments {
            match argument {
                Value::String(part) => text.push_str(part),
                Value::Json(part) => text.push_str(&part.text()),
                Value::Bytes(part) => bytes.get_or_insert_default().extend_from_slice(part),
                _ => return Ok(Value::Null),
            }
        }
        Ok(bytes.map_or(Value::String(text), Value::Bytes))
    }
}
