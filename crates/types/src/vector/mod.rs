//! Vectors: lists of 32-bit numbers, which columns of the type VECTOR(n) hold as their little-endian bytes.

mod distance;
mod text;

pub use distance::Metric;
pub use text::{TextError, parse, print};

/// Dimensions of a column that does not say how many it has.
pub const DIMENSIONS_DEFAULT: u32 = 2048;
/// Most dimensions of a vector.
pub const DIMENSIONS_MAX: u32 = 16_383;
/// Bytes of a dimension.
pub const DIMENSION_BYTES: usize = 4;

/// How many dimensions a value's bytes have; `None` if they are no vector: it has one at least, and all of them are whole.
pub fn dimensions(bytes: &[u8]) -> Option<usize> {
    (!bytes.is_empty() && bytes.len().is_multiple_of(DIMENSION_BYTES)).then_some(bytes.len() / DIMENSION_BYTES)
}

/// A value's numbers.
pub fn numbers(bytes: &[u8]) -> impl ExactSizeIterator<Item = f32> + '_ {
    bytes.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number))
}

/// Whether none of a value's numbers is infinite or NaN, which columns do not hold.
pub fn is_finite(bytes: &[u8]) -> bool {
    numbers(bytes).all(f32::is_finite)
}

/// The text for messages about bytes that are not a vector: the bytes before the first zero.
pub fn shown(bytes: &[u8]) -> String {
    /// Bytes of a message's argument.
    const SHOWN_BYTES_MAX: usize = 460;
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(&text[..text.len().min(SHOWN_BYTES_MAX)]).replace(char::REPLACEMENT_CHARACTER, "?")
}
