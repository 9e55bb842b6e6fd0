//! GROUP_CONCAT.

use super::codec::{decode_value, encode_bytes, encode_value, take};
use crate::expr::{datafusion_error, physical_order};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;
use squall_registry::{AggregateKernel, ScalarKernel, StatementContext, ValueAccumulator};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

/// The kernel. Arguments: the text, then what tells it from others for DISTINCT, then what it is ordered by.
#[derive(Debug)]
pub struct GroupConcatKernel {
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
    /// Without any clause.
    pub fn plain() -> Self {
        Self { distinct_count: 0, descending: Vec::new(), separator: ",".to_string(), limit: None }
    }

    /// Whether texts are joined as they come.
    pub fn is_plain(&self) -> bool {
        self.distinct_count == 0 && self.descending.is_empty() && self.limit.is_none()
    }

    /// The state that reads arrays of texts.
    pub fn plain_accumulator(&self, context: Arc<StatementContext>) -> PlainConcat {
        PlainConcat { joined: Joined::new(&self.separator, &context), context, binary: false }
    }
}

impl AggregateKernel for GroupConcatKernel {
    fn accumulator(&self, context: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        Box::new(Concat {
            distinct_count: self.distinct_count,
            descending: self.descending.clone(),
            separator: self.separator.clone(),
            limit: self.limit,
            seen: HashSet::new(),
            rows: Vec::new(),
            bytes: 0,
            binary: false,
            context,
        })
    }
}

/// Texts joined so far, cut at `group_concat_max_len`.
#[derive(Debug)]
struct Joined {
    bytes: Vec<u8>,
    separator: Vec<u8>,
    rows: u64,
    bytes_max: usize,
    cut: bool,
}

impl Joined {
    fn new(separator: &str, context: &StatementContext) -> Self {
        Self {
            bytes: Vec::new(),
            separator: separator.as_bytes().to_vec(),
            rows: 0,
            bytes_max: usize::try_from(context.group_concat_max_len).unwrap_or(usize::MAX),
            cut: false,
        }
    }

    fn push(&mut self, text: &[u8], binary: bool, context: &StatementContext) {
        self.rows += 1;
        if self.cut {
            return;
        }
        if self.rows > 1 {
            self.bytes.extend_from_slice(&self.separator);
        }
        self.bytes.extend_from_slice(text);
        self.cut_if_long(binary, context);
    }

    fn cut_if_long(&mut self, binary: bool, context: &StatementContext) {
        if self.bytes.len() <= self.bytes_max {
            return;
        }
        self.cut = true;
        let mut end = self.bytes_max;
        // Not within a character: UTF-8's continuation bytes are 10xxxxxx.
        while !binary && end > 0 && self.bytes[end] & 0xC0 == 0x80 {
            end -= 1;
        }
        self.bytes.truncate(end);
        context.diagnostics.warn(SqlError::new(ErrorCode::WarnCutValueGroupConcat, &[&self.rows]));
    }

    fn value(&self, binary: bool) -> Value {
        if self.rows == 0 {
            return Value::Null;
        }
        if binary {
            return Value::Bytes(self.bytes.clone());
        }
        Value::String(String::from_utf8_lossy(&self.bytes).into_owned())
    }
}

/// GROUP_CONCAT without clauses.
#[derive(Debug)]
pub struct PlainConcat {
    joined: Joined,
    context: Arc<StatementContext>,
    binary: bool,
}

impl Accumulator for PlainConcat {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(values) = values.first() else { return Ok(()) };
        self.context.kill.check().map_err(datafusion_error)?;
        match values.data_type() {
            DataType::Utf8View => {
                for text in values.as_string_view().iter().flatten() {
                    self.joined.push(text.as_bytes(), false, &self.context);
                }
            }
            DataType::BinaryView => {
                self.binary = true;
                for bytes in values.as_binary_view().iter().flatten() {
                    self.joined.push(bytes, true, &self.context);
                }
            }
            DataType::Null => {}
            other => return datafusion::common::internal_err!("GROUP_CONCAT of {other}"),
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(match self.joined.value(self.binary) {
            Value::String(text) => ScalarValue::Utf8View(Some(text)),
            Value::Bytes(bytes) => ScalarValue::BinaryView(Some(bytes)),
            _ => ScalarValue::Utf8View(None),
        })
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.joined.bytes.capacity()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let mut state = vec![u8::from(self.binary), u8::from(self.joined.cut)];
        state.extend_from_slice(&self.joined.rows.to_le_bytes());
        encode_bytes(&self.joined.bytes, &mut state);
        Ok(vec![ScalarValue::Binary(Some(state))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(states) = states.first().and_then(|states| states.as_binary_opt::<i32>()) else {
            return datafusion::common::internal_err!("a state of another aggregate");
        };
        for state in states.iter().flatten() {
            self.merge(state).map_err(datafusion_error)?;
        }
        Ok(())
    }
}

impl PlainConcat {
    fn merge(&mut self, mut state: &[u8]) -> SqlResult<()> {
        let [binary, cut] = take::<2>(&mut state)?;
        let rows = u64::from_le_bytes(take(&mut state)?);
        let bytes = super::codec::decode_bytes(&mut state)?;
        if rows == 0 {
            return Ok(());
        }
        self.binary |= binary == 1;
        let warned = self.joined.cut;
        self.joined.push(bytes, self.binary, &self.context);
        self.joined.rows += rows - 1;
        // What was cut before had its warning then.
        self.joined.cut |= warned || cut == 1;
        Ok(())
    }
}

/// GROUP_CONCAT with clauses: keeps the rows until the end.
#[derive(Debug)]
struct Concat {
    distinct_count: usize,
    descending: Vec<bool>,
    separator: String,
    limit: Option<(u64, u64)>,
    seen: HashSet<Vec<u8>>,
    /// Texts with what they are ordered by.
    rows: Vec<(Vec<u8>, Vec<Value>)>,
    bytes: usize,
    binary: bool,
    context: Arc<StatementContext>,
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
}

impl ValueAccumulator for Concat {
    fn update(&mut self, arguments: &[Value]) -> SqlResult<()> {
        let Some((text, keys)) = arguments.split_first() else { return Ok(()) };
        let text = match text {
            Value::String(text) | Value::Json(text) => text.as_bytes(),
            Value::Bytes(bytes) => {
                self.binary = true;
                bytes
            }
            _ => return Ok(()),
        };
        let (distinct, order) = keys.split_at(self.distinct_count.min(keys.len()));
        if self.distinct_count > 0 {
            let mut key = Vec::new();
            distinct.iter().for_each(|value| super::distinct::distinct_key(value, None, &mut key));
            self.bytes += key.len();
            if !self.seen.insert(key) {
                return Ok(());
            }
        }
        self.bytes += text.len() + size_of::<(Vec<u8>, Vec<Value>)>() + order.len() * 2 * size_of::<Value>();
        let mut row_keys = order.to_vec();
        // A merged state needs what tells rows apart again.
        row_keys.extend_from_slice(distinct);
        self.rows.push((text.to_vec(), row_keys));
        Ok(())
    }

    fn evaluate(&mut self) -> SqlResult<Value> {
        let mut rows = std::mem::take(&mut self.rows);
        if !self.descending.is_empty() {
            rows.sort_by(|(_, left), (_, right)| self.compare(left, right));
        }
        let mut joined = Joined::new(&self.separator, &self.context);
        let (offset, count) = self.limit.unwrap_or((0, u64::MAX));
        let skip = usize::try_from(offset).unwrap_or(usize::MAX);
        let take = usize::try_from(count).unwrap_or(usize::MAX);
        for (text, _) in rows.iter().skip(skip).take(take) {
            joined.push(text, self.binary, &self.context);
        }
        self.rows = rows;
        Ok(joined.value(self.binary))
    }

    fn state(&mut self) -> SqlResult<Vec<u8>> {
        let mut state = vec![u8::from(self.binary)];
        let order_count = self.descending.len();
        for (text, keys) in &self.rows {
            encode_bytes(text, &mut state);
            let (order, distinct) = keys.split_at(order_count.min(keys.len()));
            distinct.iter().chain(order).for_each(|key| encode_value(key, &mut state));
        }
        Ok(state)
    }

    fn merge(&mut self, mut state: &[u8]) -> SqlResult<()> {
        let [binary] = take::<1>(&mut state)?;
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
        self.binary = binary == 1;
        Ok(())
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.bytes
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
                Value::String(part) | Value::Json(part) => text.push_str(part),
                Value::Bytes(part) => bytes.get_or_insert_default().extend_from_slice(part),
                _ => return Ok(Value::Null),
            }
        }
        Ok(bytes.map_or(Value::String(text), Value::Bytes))
    }
}
