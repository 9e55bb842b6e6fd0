//! DECIMAL: up to 65 digits, up to 30 of them after the point.

use arrow_buffer::i256;

/// A decimal number: `unscaled × 10^-scale`.
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    unscaled: i256,
    scale: u8,
}

impl Decimal {
    /// Most digits a DECIMAL has.
    pub const PRECISION_MAX: u8 = 65;
    /// Most digits after the point.
    pub const SCALE_MAX: u8 = 30;

    /// `unscaled × 10^-scale`; the caller keeps it within 65 digits.
    pub fn new(unscaled: i256, scale: u8) -> Decimal {
        Decimal { unscaled, scale }
    }

    /// The number without its point.
    pub fn unscaled(self) -> i256 {
        self.unscaled
    }

    /// Digits after the point.
    pub fn scale(self) -> u8 {
        self.scale
    }
}

/// Equality of the numbers, whatever their scales.
impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        // Scales are at most 30 apart and numbers have at most 65 digits, so a widened product may wrap only for
        // unequal numbers of very different magnitude; compare after aligning with checked arithmetic.
        let (low, high) = if self.scale <= other.scale { (self, other) } else { (other, self) };
        let factor = i256::from_i128(10).wrapping_pow(u32::from(high.scale - low.scale));
        low.unscaled.checked_mul(factor) == Some(high.unscaled)
    }
}
