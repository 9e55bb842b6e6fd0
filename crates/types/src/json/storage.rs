//! The size of a document in MySQL's binary form, for `JSON_STORAGE_SIZE`.
//!
//! A container has its number of elements and its size, an entry for each name (offset and length) and for each value
//! (type and offset), then the names and the values. Offsets have two bytes, or four in a container of 64 KB and more.
//! Literals and small integers are in the entry itself.

use super::walk::{Event, walk_stored};
use super::{Json, JsonError};

/// Bytes of an offset, and of the size, in small containers and in large ones.
const SMALL: usize = 2;
const LARGE: usize = 4;
/// Where a container is large.
const SMALL_BYTES_MAX: usize = 65_535;

/// Bytes of MySQL's binary form of a document in its stored form.
///
/// # Errors
/// If it is no document.
pub fn storage_size(stored: &str) -> Result<usize, JsonError> {
    let mut open: Vec<Container> = vec![Container::default()];
    walk_stored(stored, |event| {
        let value = match event {
            Event::BeginObject | Event::BeginArray => return open.push(Container::default()),
            Event::Name(name) => {
                if let Some(object) = open.last_mut() {
                    object.names += 1;
                    object.name_bytes += name.len();
                }
                return;
            }
            Event::EndObject | Event::EndArray => Entry::outside(open.pop().unwrap_or_default().bytes()),
            Event::Null | Event::Bool(_) => Entry { bytes: 1, inlined_from: 0 },
            Event::Number(number) => Entry::of(&number.value()),
            Event::String(text) => Entry::outside(length_size(text.len()) + text.len()),
            Event::Typed(text) => Entry::of(&text.value()),
        };
        if let Some(container) = open.last_mut() {
            container.add(&value);
        }
    })?;
    // The document itself has a type, and is in no entry.
    Ok(1 + open.first().map_or(0, |root| root.value_bytes))
}

/// A value in a container.
struct Entry {
    bytes: usize,
    /// Its value is in its entry, if an offset has this many bytes.
    inlined_from: usize,
}

impl Entry {
    fn outside(bytes: usize) -> Entry {
        Entry { bytes, inlined_from: usize::MAX }
    }

    fn of(scalar: &Json) -> Entry {
        match scalar {
            Json::Int(number) if i16::try_from(*number).is_ok() => Entry { bytes: 2, inlined_from: 2 },
            Json::Int(number) if i32::try_from(*number).is_ok() => Entry { bytes: 4, inlined_from: 4 },
            // Type, length, precision, scale, and four bytes for nine digits.
            Json::Decimal(number) => Entry::outside(4 + number.to_string().len().div_ceil(2)),
            // Type, length, and eight bytes.
            Json::Date(_) | Json::Time(_) | Json::DateTime(_) => Entry::outside(10),
            Json::Opaque(_, bytes) => Entry::outside(1 + length_size(bytes.len()) + bytes.len()),
            _ => Entry::outside(8),
        }
    }
}

/// An array or object that is not yet ended.
#[derive(Default)]
struct Container {
    names: usize,
    name_bytes: usize,
    values: usize,
    /// Bytes of all values.
    value_bytes: usize,
    /// Of those that are in their entries, by the bytes of an offset.
    inlined_small: usize,
    inlined_large: usize,
}

impl Container {
    fn add(&mut self, value: &Entry) {
        self.values += 1;
        self.value_bytes += value.bytes;
        self.inlined_small += if value.inlined_from <= SMALL { value.bytes } else { 0 };
        self.inlined_large += if value.inlined_from <= LARGE { value.bytes } else { 0 };
    }

    fn bytes(&self) -> usize {
        let with = |offset: usize, inlined: usize| {
            let entries = self.names * (offset + 2) + self.values * (offset + 1);
            2 * offset + entries + self.name_bytes + self.value_bytes - inlined
        };
        match with(SMALL, self.inlined_small) {
            small if small <= SMALL_BYTES_MAX => small,
            _ => with(LARGE, self.inlined_large),
        }
    }
}

/// Bytes of a string's length: seven bits in each.
fn length_size(length: usize) -> usize {
    let bits = usize::BITS - length.leading_zeros();
    bits.div_ceil(7).max(1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_manual() {
        for (text, size) in [
            (r#"[100, "sakila", [1, 3, 5], 425.05]"#, 45),
            (r#"{"a": 1000, "b": "wxyz", "c": "[1, 3, 5, 7]"}"#, 47),
            (r#"{"a": 1000, "b": "wxyz", "c": "[1, 3, 5, 7]", "d": true}"#, 55),
            ("1", 3),
            ("null", 2),
        ] {
            assert_eq!(storage_size(&super::super::normalize(text).expect(text)), Ok(size), "{text}");
        }
    }
    #[test]
    fn each_level_is_measured_once() {
        let deep = format!("{}\"{}\"{}", "[".repeat(99), "a".repeat(70_000), "]".repeat(99));
        let large = 99 * (2 * LARGE + LARGE + 1);
        assert_eq!(storage_size(&deep), Ok(1 + large + 3 + 70_000));
    }
}
