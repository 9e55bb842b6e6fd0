//! The hash of PARTITION BY KEY.
//!
//! It is the hash of MySQL's binary collation over the stored bytes of a value in MySQL (`Field::hash`, ALGORITHM = 2). Texts are
//! hashed by their sort keys, so that equal values are in one partition.

use squall_types::collation::sort_key;
use squall_types::convert::to_text;
use squall_types::{SqlType, Value};

/// A hash that values are added to.
pub struct KeyHash {
    first: u64,
    second: u64,
}

impl KeyHash {
    pub fn new() -> KeyHash {
        KeyHash { first: 1, second: 4 }
    }

    /// Adds a column's value.
    pub fn add(&mut self, value: &Value, sql_type: &SqlType) {
        match value {
            Value::Null => self.first ^= (self.first << 1) | 1,
            Value::Int(number) => self.add_integer(number.to_le_bytes(), sql_type),
            Value::UInt(number) => self.add_integer(number.to_le_bytes(), sql_type),
            Value::String(text) => match sql_type {
                SqlType::String { collation, .. } => {
                    let mut key = Vec::new();
                    sort_key(*collation, text, &mut key);
                    self.add_bytes(&key);
                }
                _ => self.add_bytes(text.as_bytes()),
            },
            // Both zeros are equal.
            Value::Double(number) => self.add_bytes(&(number + 0.0).to_le_bytes()),
            Value::Bytes(bytes) => self.add_bytes(bytes),
            other => self.add_bytes(to_text(other, sql_type).as_bytes()),
        }
    }

    fn add_integer(&mut self, bytes: [u8; 8], sql_type: &SqlType) {
        let width = match sql_type {
            SqlType::Int { width, .. } => width.bits() as usize / 8,
            SqlType::Year => 1,
            _ => 8,
        };
        self.add_bytes(&bytes[..width]);
    }

    fn add_bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let mixed = (self.first & 63).wrapping_add(self.second).wrapping_mul(u64::from(*byte));
            self.first ^= mixed.wrapping_add(self.first << 8);
            self.second = self.second.wrapping_add(3);
        }
    }

    pub fn finish(&self) -> u64 {
        self.first
    }
}
