//! IN with a long list of constants: a search in a sorted set, which takes a few bytes more than the constants.

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{Int64Type, UInt64Type};
use squall_registry::ScalarKernel;
use squall_statement_context::StatementContext;
use squall_types::collation::sort_key;
use squall_types::{CollationId, SqlError, SqlResult, Value};
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// How many numbers, at most, a bitmap has bits for by each that is in a set.
const SPARSE_MAX: u64 = 128;

/// The number of values from which duplicates are removed before the set grows.
const NUMBERS_MANY: usize = 1 << 16;

/// `operand [NOT] IN (constants)`, all of one physical type.
#[derive(Debug)]
pub struct InSetKernel {
    /// Where is looked.
    pub set: Arc<ValueSet>,
    /// NOT IN.
    pub negated: bool,
    /// Whether the operand is an integer.
    pub is_integer: bool,
}

impl ScalarKernel for InSetKernel {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        let Some(operand) = arguments.first().filter(|operand| !operand.is_null()) else { return Ok(Value::Null) };
        Ok(match self.set.contains(operand) {
            true => Value::from(!self.negated),
            false if self.set.has_null => Value::Null,
            false => Value::from(self.negated),
        })
    }

    fn has_eval_arrays(&self) -> bool {
        self.is_integer
    }

    fn eval_arrays(&self, arguments: &[ArrayRef], _context: &StatementContext) -> Option<SqlResult<ArrayRef>> {
        let [operands] = arguments else { return None };
        let found = |number: i64| match self.set.contains_number(number) {
            true => Some(i64::from(!self.negated)),
            false if self.set.has_null => None,
            false => Some(i64::from(self.negated)),
        };
        let results: Int64Array = if let Some(operands) = operands.as_primitive_opt::<Int64Type>() {
            operands.iter().map(|operand| operand.and_then(found)).collect()
        } else {
            // Larger ones have keys of another kind.
            let operands = operands.as_primitive_opt::<UInt64Type>()?;
            if operands.iter().flatten().any(|operand| i64::try_from(operand).is_err()) {
                return None;
            }
            operands.iter().map(|operand| operand.and_then(|operand| found(operand as i64))).collect()
        };
        Some(Ok(Arc::new(results)))
    }
}

/// Values of one physical type, to be looked up by.
#[derive(Default)]
pub struct ValueSet {
    /// How strings compare; `None`: byte by byte.
    collation: Option<CollationId>,
    /// Keys that are numbers of 64 bits, in their order.
    numbers: Vec<i64>,
    /// A bit for each number from the first one to the last, where they are dense.
    bits: Vec<u64>,
    /// The bytes of other keys.
    bytes: Vec<u8>,
    /// Where those begin and end in `bytes`, in the order of the keys.
    ranges: Vec<(u32, u32)>,
    /// Whether NULL is among them.
    has_null: bool,
    /// Of all keys: calls are the same if their kernels print alike, and the keys are too many to print.
    digest: u128,
}

impl fmt::Debug for ValueSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values {:032x} {:?} {}", self.len(), self.digest, self.collation, self.has_null)
    }
}

/// A bit for each number from the first of some in order to the last; none, if they are not dense.
fn bitmap(numbers: &[i64]) -> Vec<u64> {
    let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return Vec::new() };
    let distance = |number: &i64| number.wrapping_sub(*first) as u64;
    if distance(last) / SPARSE_MAX > numbers.len() as u64 {
        return Vec::new();
    }
    let mut bits = vec![0; (distance(last) / 64 + 1) as usize];
    for number in numbers {
        let bit = distance(number);
        bits[(bit / 64) as usize] |= 1 << (bit % 64);
    }
    bits
}

/// What a value is looked up by: equal values have equal keys.
enum Key {
    Number(i64),
    /// In the buffer that was given.
    Bytes,
}

impl ValueSet {
    /// An empty set for strings of that collation, or for other values.
    pub fn new(collation: Option<CollationId>) -> ValueSet {
        ValueSet { collation, ..ValueSet::default() }
    }

    /// How many values are in the set; before [`ValueSet::finish`] with those that are equal.
    pub fn len(&self) -> usize {
        self.numbers.len() + self.ranges.len() + usize::from(self.has_null)
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a value; [`ValueSet::finish`] makes it one that is found.
    pub fn add(&mut self, value: &Value) -> SqlResult<()> {
        if value.is_null() {
            self.has_null = true;
            return Ok(());
        }
        let start = self.bytes.len();
        let mut bytes = std::mem::take(&mut self.bytes);
        match self.key(value, &mut bytes) {
            Key::Number(number) => self.add_number(number),
            Key::Bytes => match (u32::try_from(start), u32::try_from(bytes.len())) {
                (Ok(start), Ok(end)) => self.ranges.push((start, end)),
                _ => return Err(SqlError::unsupported("more than 4 GB of strings behind IN")),
            },
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Adds an integer.
    pub fn add_number(&mut self, number: i64) {
        // A list of the same few over and over takes no more than these.
        if self.numbers.len() == self.numbers.capacity() && self.numbers.len() >= NUMBERS_MANY {
            self.numbers.sort_unstable();
            self.numbers.dedup();
        }
        self.numbers.push(number);
    }

    /// All values have been added.
    pub fn finish(&mut self) {
        self.numbers.sort_unstable();
        self.numbers.dedup();
        self.numbers.shrink_to_fit();
        self.bits = bitmap(&self.numbers);
        let bytes = &self.bytes;
        let key = |range: &(u32, u32)| &bytes[range.0 as usize..range.1 as usize];
        self.ranges.sort_unstable_by(|a, b| key(a).cmp(key(b)));
        self.ranges.dedup_by(|a, b| key(a) == key(b));
        self.ranges.shrink_to_fit();
        let mut hasher = Xxh3::new();
        self.numbers.hash(&mut hasher);
        self.ranges.iter().for_each(|range| key(range).hash(&mut hasher));
        self.digest = hasher.digest128();
    }

    /// Whether an equal value is in the set; NULL never is.
    pub fn contains(&self, value: &Value) -> bool {
        let mut buffer = Vec::new();
        match self.key(value, &mut buffer) {
            Key::Number(number) => self.contains_number(number),
            Key::Bytes => self
                .ranges
                .binary_search_by(|range| self.bytes[range.0 as usize..range.1 as usize].cmp(&buffer))
                .is_ok(),
        }
    }

    /// Whether a value whose key is a number is in the set.
    fn contains_number(&self, number: i64) -> bool {
        match (self.numbers.first(), self.bits.is_empty()) {
            (Some(first), false) => {
                let bit = number.wrapping_sub(*first) as u64;
                self.bits.get((bit / 64) as usize).is_some_and(|word| word >> (bit % 64) & 1 == 1)
            }
            _ => self.numbers.binary_search(&number).is_ok(),
        }
    }

    /// The key of a value. If it is not a number, it is appended to `buffer`.
    fn key(&self, value: &Value, buffer: &mut Vec<u8>) -> Key {
        match value {
            Value::Int(number) => return Key::Number(*number),
            Value::UInt(number) => match i64::try_from(*number) {
                Ok(number) => return Key::Number(number),
                Err(_) => buffer.extend_from_slice(&number.to_be_bytes()),
            },
            // Zero has two signs.
            Value::Double(number) => return Key::Number((number + 0.0).to_bits() as i64),
            Value::Date(date) => return Key::Number(i64::from(date.to_packed()) << 37),
            Value::DateTime(value) => return Key::Number(value.to_packed()),
            Value::Time(time) => return Key::Number(time.to_micros()),
            Value::Decimal(number) => number.normalized().write_text(buffer),
            Value::String(text) => match self.collation {
                Some(collation) => sort_key(collation, text, buffer),
                None => buffer.extend_from_slice(text.as_bytes()),
            },
            Value::Bytes(bytes) => buffer.extend_from_slice(bytes),
            Value::Json(document) => buffer.extend_from_slice(document.text().as_bytes()),
            Value::Null => {}
        }
        Key::Bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_context::context;
    use arrow::array::UInt64Array;

    fn set(numbers: &[i64]) -> ValueSet {
        let mut set = ValueSet::new(None);
        numbers.iter().for_each(|number| set.add(&Value::Int(*number)).expect("a number"));
        set.finish();
        set
    }

    #[test]
    fn numbers_are_found_in_dense_and_sparse_sets() {
        let dense: Vec<i64> = (-300..300).filter(|number| number % 7 == 0).collect();
        let sparse = [i64::MIN, -1, 0, 1 << 40, i64::MAX];
        assert!(!set(&dense).bits.is_empty() && set(&sparse).bits.is_empty());
        for numbers in [&dense[..], &sparse, &[5], &[]] {
            let set = set(numbers);
            let around = numbers.iter().flat_map(|number| (-65..66).map(|by| number.wrapping_add(by)));
            for number in around.chain([i64::MIN, i64::MAX]) {
                assert_eq!(set.contains(&Value::Int(number)), numbers.contains(&number), "{number} in {numbers:?}");
            }
        }
    }

    #[test]
    fn arrays_are_answered_as_single_values() {
        let mut with_null = ValueSet::new(None);
        [Value::Int(3), Value::Int(9), Value::Null].iter().for_each(|value| with_null.add(value).expect("a value"));
        with_null.finish();
        let with_null = Arc::new(with_null);
        let context = context();
        for (set, negated) in [(Arc::new(set(&[3, 9])), false), (Arc::new(set(&[3, 9])), true), (with_null, false)] {
            let kernel = InSetKernel { set, negated, is_integer: true };
            let operands = [Some(3), None, Some(4), Some(9)];
            let single = |operand: Option<i64>| operand.map_or(Value::Null, Value::Int);
            let expected: Int64Array = operands
                .iter()
                .map(|operand| match kernel.eval(&[single(*operand)], &context) {
                    Ok(Value::Int(found)) => Some(found),
                    _ => None,
                })
                .collect();
            let signed: ArrayRef = Arc::new(Int64Array::from(operands.to_vec()));
            let unsigned: ArrayRef =
                Arc::new(operands.iter().map(|operand| operand.map(|number| number as u64)).collect::<UInt64Array>());
            for array in [signed, unsigned] {
                let found = kernel.eval_arrays(&[array], &context).expect("integers").expect("an answer");
                assert_eq!(found.as_primitive::<Int64Type>(), &expected);
            }
        }
    }
}
