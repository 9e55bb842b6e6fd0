//! How many bytes MySQL's binary form of a document takes, which `JSON_STORAGE_SIZE` tells.
//!
//! A container has its number of elements and its size, an entry for each name (offset and length) and for each value
//! (type and offset), then the names and the values. Offsets have two bytes, or four in a container of 64 KB and more.
//! Literals and small integers stand in the entry itself.

use super::Json;

/// Bytes of an offset, and of the size, in small containers and in large ones.
const SMALL: usize = 2;
const LARGE: usize = 4;
/// Where a container is large.
const SMALL_BYTES_MAX: usize = 65_535;

impl Json {
    /// Bytes of MySQL's binary form.
    pub fn storage_size(&self) -> usize {
        1 + self.body_size()
    }

    fn body_size(&self) -> usize {
        match self {
            Json::Null | Json::Bool(_) => 1,
            Json::Int(number) if i16::try_from(*number).is_ok() => 2,
            Json::Int(number) if i32::try_from(*number).is_ok() => 4,
            Json::Int(_) | Json::UInt(_) | Json::Double(_) => 8,
            // Type, length, precision, scale, and four bytes for nine digits.
            Json::Decimal(number) => 4 + number.to_string().len().div_ceil(2),
            Json::String(text) => length_size(text.len()) + text.len(),
            // Type, length, and eight bytes.
            Json::Date(_) | Json::Time(_) | Json::DateTime(_) => 10,
            Json::Opaque(_, bytes) => 1 + length_size(bytes.len()) + bytes.len(),
            Json::Array(elements) => container_size(0, 0, &elements.iter().collect::<Vec<_>>()),
            Json::Object(object) => {
                let names = object.iter().map(|(name, _)| name.len()).sum();
                container_size(object.len(), names, &object.iter().map(|(_, value)| value).collect::<Vec<_>>())
            }
        }
    }

    /// Whether the value stands in its entry.
    fn is_inlined(&self, offset_bytes: usize) -> bool {
        match self {
            Json::Null | Json::Bool(_) => true,
            Json::Int(_) => self.body_size() <= offset_bytes,
            _ => false,
        }
    }
}

fn container_size(names: usize, name_bytes: usize, values: &[&Json]) -> usize {
    let with = |offset_bytes: usize| {
        let entries = names * (offset_bytes + 2) + values.len() * (offset_bytes + 1);
        let outside = values.iter().filter(|value| !value.is_inlined(offset_bytes)).map(|value| value.body_size());
        2 * offset_bytes + entries + name_bytes + outside.sum::<usize>()
    };
    match with(SMALL) {
        small if small <= SMALL_BYTES_MAX => small,
        _ => with(LARGE),
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
            assert_eq!(Json::parse(text).unwrap().storage_size(), size, "{text}");
        }
    }
}
