//! Marks of values in stored documents, by which they keep the SQL types that JSON text does not have.
//!
//! ```text
//! mark  01 | N DECIMAL, D DATE, T TIME, M DATETIME or TIMESTAMP, B bytes
//! ```
//!
//! The byte 01 is nowhere else in a document, since control characters in strings are escaped.

use super::Json;

/// The first byte of a mark.
pub(super) const MARK: u8 = 1;

/// Bytes of a mark.
pub(super) const MARK_BYTES: usize = 2;

/// The types that have marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeMark {
    /// DECIMAL; a number follows.
    Decimal,
    /// DATE; of this and the others a string follows.
    Date,
    /// TIME.
    Time,
    /// DATETIME and TIMESTAMP.
    DateTime,
    /// Bytes of any type.
    Bytes,
}

impl TypeMark {
    pub(super) fn from_letter(letter: u8) -> Option<TypeMark> {
        Some(match letter {
            b'N' => TypeMark::Decimal,
            b'D' => TypeMark::Date,
            b'T' => TypeMark::Time,
            b'M' => TypeMark::DateTime,
            b'B' => TypeMark::Bytes,
            _ => return None,
        })
    }

    fn letter(self) -> char {
        match self {
            TypeMark::Decimal => 'N',
            TypeMark::Date => 'D',
            TypeMark::Time => 'T',
            TypeMark::DateTime => 'M',
            TypeMark::Bytes => 'B',
        }
    }

    pub(super) fn write(self, out: &mut String) {
        out.push(char::from(MARK));
        out.push(self.letter());
    }
}

impl Json {
    /// The mark of the value's type, if it has one.
    pub(super) fn type_mark(&self) -> Option<TypeMark> {
        Some(match self {
            Json::Decimal(_) => TypeMark::Decimal,
            Json::Date(_) => TypeMark::Date,
            Json::Time(_) => TypeMark::Time,
            Json::DateTime(_) => TypeMark::DateTime,
            Json::Opaque(..) => TypeMark::Bytes,
            _ => return None,
        })
    }
}
