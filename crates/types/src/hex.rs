//! Bytes as hexadecimal digits: HEX(n) and UUID.

use crate::SqlType;
use std::borrow::Cow;

/// Most digits of a HEX column.
pub const HEX_DIGITS_MAX: u16 = 510;
/// Digits of a HEX column that does not say how many.
pub const HEX_DIGITS_DEFAULT: u16 = 32;
/// Bytes of a UUID.
pub const UUID_BYTES: usize = 16;
/// Bytes of a UUID before which its text has a hyphen.
const UUID_GROUPS: [usize; 4] = [4, 6, 8, 10];

/// Appends two lower-case digits for each byte.
pub fn write_hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend(bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]));
}

/// Appends the canonical text of a UUID: lower-case digits in groups of 8, 4, 4, 4 and 12.
pub fn write_uuid(bytes: &[u8], out: &mut Vec<u8>) {
    for (at, byte) in bytes.iter().enumerate() {
        if UUID_GROUPS.contains(&at) {
            out.push(b'-');
        }
        write_hex(&[*byte], out);
    }
}

/// The bytes of pairs of hexadecimal digits of any case; `None` for anything else.
pub fn parse_hex(digits: &[u8]) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    digits.chunks_exact(2).map(|pair| Some(value(pair[0])? << 4 | value(pair[1])?)).collect()
}

/// The bytes of a UUID's text: 32 digits of any case, with hyphens after the 8th, 12th, 16th and 20th or without any.
pub fn parse_uuid(text: &[u8]) -> Option<[u8; UUID_BYTES]> {
    let mut digits = [0; 2 * UUID_BYTES];
    let digits: &[u8] = match text.len() {
        32 => text,
        36 => {
            let mut filled = 0;
            for (group, part) in text.split(|byte| *byte == b'-').enumerate() {
                if part.len() != *[8, 4, 4, 4, 12].get(group)? {
                    return None;
                }
                digits[filled..filled + part.len()].copy_from_slice(part);
                filled += part.len();
            }
            &digits
        }
        _ => return None,
    };
    parse_hex(digits)?.try_into().ok()
}

/// A text that may begin one of a UUID, without the hyphens at their places.
pub fn uuid_digits(text: &str) -> Cow<'_, str> {
    /// Places of the hyphens among the characters.
    const HYPHENS: [usize; 4] = [8, 13, 18, 23];
    if !text.contains('-') {
        return Cow::Borrowed(text);
    }
    let is_hyphen = |(at, character): &(usize, char)| *character == '-' && HYPHENS.contains(at);
    Cow::Owned(text.char_indices().filter(|place| !is_hyphen(place)).map(|(_, character)| character).collect())
}

/// HEX of a number of digits that it cannot have, or a UUID with any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidDigits;

impl SqlType {
    /// The type that is written `HEX`, `HEX(digits)` or `UUID`, in any case; `None` for other names.
    pub fn of_digits(name: &str, parameters: &[u64]) -> Option<Result<SqlType, InvalidDigits>> {
        let is_hex = name.eq_ignore_ascii_case("hex");
        if !is_hex && !name.eq_ignore_ascii_case("uuid") {
            return None;
        }
        Some(match (is_hex, parameters) {
            (false, []) => Ok(SqlType::Uuid),
            (true, []) => Ok(SqlType::Hex { digits: HEX_DIGITS_DEFAULT }),
            (true, [digits]) => match u16::try_from(*digits) {
                Ok(digits @ 2..=HEX_DIGITS_MAX) if digits.is_multiple_of(2) => Ok(SqlType::Hex { digits }),
                _ => Err(InvalidDigits),
            },
            _ => Err(InvalidDigits),
        })
    }

    /// The bytes that each value of HEX and UUID has; `None` for other types.
    pub fn digit_bytes(&self) -> Option<usize> {
        match self {
            SqlType::Hex { digits } => Some(usize::from(*digits) / 2),
            SqlType::Uuid => Some(UUID_BYTES),
            _ => None,
        }
    }

    /// The bytes that a text stands for in a HEX or UUID; `None` if it is none, or the type is another.
    ///
    /// HEX takes exactly its digits, after `0x` if that is there; UUID what [`parse_uuid`] does.
    pub fn parse_digits(&self, text: &[u8]) -> Option<Vec<u8>> {
        match self {
            SqlType::Hex { digits } => {
                let text = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
                if text.len() == usize::from(*digits) { parse_hex(text) } else { None }
            }
            SqlType::Uuid => parse_uuid(text).map(Vec::from),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_bytes() {
        let hex = SqlType::Hex { digits: 4 };
        for (text, bytes) in [
            ("00fF", Some(vec![0, 255])),
            ("0x00ff", Some(vec![0, 255])),
            ("0X12ab", Some(vec![0x12, 0xAB])),
            ("00f", None),
            ("00ff0", None),
            ("0x0x", None),
            ("zz00", None),
            ("", None),
            ("ß00", None),
        ] {
            assert_eq!(hex.parse_digits(text.as_bytes()), bytes, "{text}");
        }
        let canonical = "00112233-4455-6677-8899-aabbccddeeff";
        let bytes = parse_uuid(canonical.as_bytes()).unwrap();
        let mut text = Vec::new();
        write_uuid(&bytes, &mut text);
        assert_eq!(text, canonical.as_bytes());
        for (text, good) in [
            ("00112233445566778899AABBCCDDEEFF", true),
            ("00112233-4455-6677-8899-AABBCCDDEEFF", true),
            ("{00112233-4455-6677-8899-aabbccddeeff}", false),
            ("0011223-34455-6677-8899-aabbccddeeff", false),
            ("00112233-4455-6677-8899-aabbccddee-f", false),
            ("00112233-4455-6677-8899aabbccddeeff-", false),
            ("------------------------------------", false),
            ("00112233-4455-6677-8899-aabbccddeefg", false),
            ("", false),
        ] {
            assert_eq!(SqlType::Uuid.parse_digits(text.as_bytes()), good.then(|| bytes.to_vec()), "{text}");
        }
    }
}
