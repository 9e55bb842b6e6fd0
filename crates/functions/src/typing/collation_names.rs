//! Facts of the collations that the type rules ask for.

use squall_types::{Charset, CollationId};
use std::cmp::Ordering;

/// Facts of a collation.
pub trait CollationFacts {
    /// Its character set.
    fn charset(self) -> Charset;
    /// Its name.
    fn name(self) -> &'static str;
    /// Whether it orders by code point.
    fn is_code_point_order(self) -> bool;
    /// Compares two texts.
    fn compare(self, left: &str, right: &str) -> Ordering;
    /// The bytes that order as the texts do.
    fn sort_key(self, text: &str, out: &mut Vec<u8>);
}

impl CollationFacts for CollationId {
    fn charset(self) -> Charset {
        match self.0 {
            63 => Charset::Binary,
            5 | 8 | 15 | 31 | 47 | 48 | 49 | 94 => Charset::Latin1,
            11 | 65 => Charset::Ascii,
            33 | 76 | 83 | 192..=223 => Charset::Utf8mb3,
            _ => Charset::Utf8mb4,
        }
    }

    fn name(self) -> &'static str {
        match self.0 {
            63 => "binary",
            8 => "latin1_swedish_ci",
            11 => "ascii_general_ci",
            45 => "utf8mb4_general_ci",
            46 => "utf8mb4_bin",
            _ => "utf8mb4_0900_ai_ci",
        }
    }

    fn is_code_point_order(self) -> bool {
        matches!(self.0, 46 | 47 | 63 | 65 | 83 | 309)
    }

    fn compare(self, left: &str, right: &str) -> Ordering {
        left.cmp(right)
    }

    fn sort_key(self, text: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(text.as_bytes());
    }
}
