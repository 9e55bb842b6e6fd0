//! IN with a long list of constants: a look into a sorted set, which takes a few bytes more than the constants do.

use squall_registry::{ScalarKernel, StatementContext};
use squall_types::collation::sort_key;
use squall_types::{CollationId, SqlError, SqlResult, Value};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Numbers from which on those that are there twice are looked for before there is more room for them.
const NUMBERS_MANY: usize = 1 << 16;

/// `operand [NOT] IN (constants)`, all of one physical type.
#[derive(Debug)]
pub struct InSetKernel {
    /// Where is looked.
    pub set: Arc<ValueSet>,
    /// NOT IN.
    pub negated: bool,
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
}

/// Values of one physical type, to be looked up by.
#[derive(Default)]
pub struct ValueSet {
    /// How strings compare; `None`: byte by byte.
    collation: Option<CollationId>,
    /// Keys that are numbers of 64 bits, in their order.
    numbers: Vec<i64>,
    /// The bytes of other keys.
    bytes: Vec<u8>,
    /// Where those begin and end in `bytes`, in the order of the keys.
    ranges: Vec<(u32, u32)>,
    /// Whether NULL is among them.
    has_null: bool,
    /// Of all keys: calls are the same if their kernels print alike, and nobody should print the keys.
    digest: (u64, u64),
}

impl fmt::Debug for ValueSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = self.digest;
        write!(f, "{} values {first:016x}{second:016x} {:?} {}", self.len(), self.collation, self.has_null)
    }
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
            Key::Number(number) => {
                // A list of the same few over and over takes no more than these.
                if self.numbers.len() == self.numbers.capacity() && self.numbers.len() >= NUMBERS_MANY {
                    self.numbers.sort_unstable();
                    self.numbers.dedup();
                }
                self.numbers.push(number);
            }
            Key::Bytes => match (u32::try_from(start), u32::try_from(bytes.len())) {
                (Ok(start), Ok(end)) => self.ranges.push((start, end)),
                _ => return Err(SqlError::unsupported("more than 4 GB of strings behind IN")),
            },
        }
        self.bytes = bytes;
        Ok(())
    }

    /// All values have been added.
    pub fn finish(&mut self) {
        self.numbers.sort_unstable();
        self.numbers.dedup();
        self.numbers.shrink_to_fit();
        let bytes = &self.bytes;
        let key = |range: &(u32, u32)| &bytes[range.0 as usize..range.1 as usize];
        self.ranges.sort_unstable_by(|a, b| key(a).cmp(key(b)));
        self.ranges.dedup_by(|a, b| key(a) == key(b));
        self.ranges.shrink_to_fit();
        let digest = |seed: u8| {
            let mut hasher = DefaultHasher::new();
            seed.hash(&mut hasher);
            self.numbers.hash(&mut hasher);
            self.ranges.iter().for_each(|range| key(range).hash(&mut hasher));
            hasher.finish()
        };
        self.digest = (digest(0), digest(1));
    }

    /// Whether an equal value is in the set; NULL never is.
    pub fn contains(&self, value: &Value) -> bool {
        let mut buffer = Vec::new();
        match self.key(value, &mut buffer) {
            Key::Number(number) => self.numbers.binary_search(&number).is_ok(),
            Key::Bytes => self
                .ranges
                .binary_search_by(|range| self.bytes[range.0 as usize..range.1 as usize].cmp(&buffer))
                .is_ok(),
        }
    }

    /// The key of a value, behind what is in `buffer` if it is no number.
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
