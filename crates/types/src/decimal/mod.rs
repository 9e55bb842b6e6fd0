//! DECIMAL: up to 65 digits, up to 30 of them after the point.
//!
//! [`Decimal`] with its order and conversions is here; [`text`] reads and writes it, [`arithmetic`] computes with
//! MySQL's scale rules.

pub mod arithmetic;
pub mod text;
mod wide;

pub use text::ParsedDecimal;

use arrow_buffer::i256;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// A decimal number: `unscaled × 10^-scale`.
#[derive(Clone, Copy)]
pub struct Decimal {
    unscaled: i256,
    scale: u8,
}

/// Powers of ten that fit 128 bits.
const POWERS_128: [i128; 39] = {
    let mut powers = [1i128; 39];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// Powers of ten that fit 256 bits.
const POWERS_256: [i256; 77] = {
    let mut powers = [i256::ONE; 77];
    let ten = i256::from_i128(10);
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1].wrapping_mul(ten);
        at += 1;
    }
    powers
};

/// `10^exponent`, if it fits 256 bits.
fn power_of_ten(exponent: u32) -> Option<i256> {
    POWERS_256.get(exponent as usize).copied()
}

/// Digits of the magnitude of a number; zero has none.
fn digit_count(number: i256) -> u32 {
    if let Some(small) = number.to_i128() {
        let magnitude = small.unsigned_abs();
        return if magnitude == 0 { 0 } else { magnitude.ilog10() + 1 };
    }
    let magnitude = number.wrapping_abs();
    POWERS_256.partition_point(|power| *power <= magnitude) as u32
}

/// A number after it was made to fit DECIMAL(precision, scale).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// The number at the scale asked for, at most the largest one there.
    pub value: Decimal,
    /// Digits that were not zero were rounded away.
    pub rounded: bool,
    /// The number was too large and became the largest (smallest) one.
    pub clamped: bool,
}

impl Decimal {
    /// Most digits a DECIMAL has.
    pub const PRECISION_MAX: u8 = 65;
    /// Most digits after the point.
    pub const SCALE_MAX: u8 = 30;
    /// Zero.
    pub const ZERO: Decimal = Decimal { unscaled: i256::ZERO, scale: 0 };

    /// `unscaled × 10^-scale`; the caller keeps it within 65 digits.
    pub fn new(unscaled: i256, scale: u8) -> Decimal {
        Decimal { unscaled, scale }
    }

    /// `unscaled × 10^-scale` from 128 bits.
    pub fn from_i128(unscaled: i128, scale: u8) -> Decimal {
        Decimal { unscaled: i256::from_i128(unscaled), scale }
    }

    /// The number without its point.
    pub fn unscaled(self) -> i256 {
        self.unscaled
    }

    /// Digits after the point.
    pub fn scale(self) -> u8 {
        self.scale
    }

    /// Digits in all, at least one and at least the scale.
    pub fn precision(self) -> u8 {
        digit_count(self.unscaled).max(u32::from(self.scale)).clamp(1, 255) as u8
    }

    /// Whether the number is zero.
    pub fn is_zero(self) -> bool {
        self.unscaled == i256::ZERO
    }

    /// Whether the number is below zero.
    pub fn is_negative(self) -> bool {
        self.unscaled.is_negative()
    }

    /// The largest number of DECIMAL(precision, scale).
    pub fn largest(precision: u8, scale: u8) -> Decimal {
        let power = power_of_ten(u32::from(precision.min(Self::PRECISION_MAX))).unwrap_or(i256::MAX);
        Decimal { unscaled: power.wrapping_sub(i256::ONE), scale }
    }

    /// The number in DECIMAL(precision, scale): rounded half away from zero, clamped to the largest.
    pub fn fit(self, precision: u8, scale: u8) -> Fitted {
        let largest = Decimal::largest(precision, scale);
        let rounded = self.rescale(scale);
        match rounded {
            Some(value) if value.unscaled.wrapping_abs() <= largest.unscaled => {
                Fitted { value, rounded: scale < self.scale && value != self, clamped: false }
            }
            _ => {
                let value = if self.is_negative() { largest.negate() } else { largest };
                Fitted { value, rounded: false, clamped: true }
            }
        }
    }

    /// The number at another scale, rounded half away from zero; `None` if it has no room in 256 bits.
    pub fn rescale(self, scale: u8) -> Option<Decimal> {
        let unscaled = match scale.cmp(&self.scale) {
            Ordering::Equal => self.unscaled,
            Ordering::Greater => scaled_up(self.unscaled, u32::from(scale - self.scale))?,
            Ordering::Less => divide_rounding(self.unscaled, u32::from(self.scale - scale)),
        };
        Some(Decimal { unscaled, scale })
    }

    /// The number without its sign.
    pub fn abs(self) -> Decimal {
        if self.is_negative() { self.negate() } else { self }
    }

    /// The number with the other sign.
    pub fn negate(self) -> Decimal {
        Decimal { unscaled: self.unscaled.wrapping_neg(), scale: self.scale }
    }

    /// As 128 bits at a scale (Arrow's Decimal128), rounded; `None` if it has no room.
    pub fn to_i128_at(self, scale: u8) -> Option<i128> {
        self.rescale(scale)?.unscaled.to_i128()
    }

    /// As 256 bits at a scale (Arrow's Decimal256), rounded; `None` if it has no room.
    pub fn to_i256_at(self, scale: u8) -> Option<i256> {
        Some(self.rescale(scale)?.unscaled)
    }

    /// The nearest integer; `None` outside 128 bits.
    pub fn to_i128(self) -> Option<i128> {
        divide_rounding(self.unscaled, u32::from(self.scale)).to_i128()
    }

    /// The nearest BIGINT; the flag tells that the number was outside and became the limit.
    pub fn to_i64(self) -> (i64, bool) {
        match self.to_i128().map(i64::try_from) {
            Some(Ok(number)) => (number, false),
            _ if self.is_negative() => (i64::MIN, true),
            _ => (i64::MAX, true),
        }
    }

    /// The nearest BIGINT UNSIGNED; the flag tells that the number was outside and became the limit.
    pub fn to_u64(self) -> (u64, bool) {
        match self.to_i128().map(u64::try_from) {
            Some(Ok(number)) => (number, false),
            _ if self.is_negative() => (0, true),
            _ => (u64::MAX, true),
        }
    }

    /// The nearest DOUBLE.
    pub fn to_f64(self) -> f64 {
        // A quotient of two exact doubles is rounded once, so it is the nearest.
        if let Some(small) = self.unscaled.to_i128()
            && small.unsigned_abs() < 1 << 53
            && self.scale <= 22
        {
            return small as f64 / POWERS_128[usize::from(self.scale)] as f64;
        }
        self.to_string().parse().unwrap_or(0.0)
    }

    /// The decimal that the double's shortest text spells; `None` for infinities, NaN and what has over 65 digits.
    pub fn from_f64(number: f64) -> Option<Decimal> {
        if !number.is_finite() {
            return None;
        }
        let parsed = Decimal::parse(&format!("{number:e}"));
        (!parsed.overflow).then_some(parsed.value)
    }

    /// Without zeros at the end of the fraction.
    pub fn normalized(self) -> Decimal {
        let mut normal = self;
        let ten = i256::from_i128(10);
        while normal.scale > 0 {
            if let Some(small) = normal.unscaled.to_i128() {
                if small % 10 != 0 {
                    break;
                }
                normal.unscaled = i256::from_i128(small / 10);
            } else {
                if normal.unscaled.wrapping_rem(ten) != i256::ZERO {
                    break;
                }
                normal.unscaled = normal.unscaled.wrapping_div(ten);
            }
            normal.scale -= 1;
        }
        normal
    }
}

/// `number × 10^digits`, if it fits.
fn scaled_up(number: i256, digits: u32) -> Option<i256> {
    if let (Some(small), Some(factor)) = (number.to_i128(), POWERS_128.get(digits as usize))
        && let Some(product) = small.checked_mul(*factor)
    {
        return Some(i256::from_i128(product));
    }
    if number == i256::ZERO {
        return Some(number);
    }
    number.checked_mul(power_of_ten(digits)?)
}

/// `number / 10^digits` without its fraction.
fn divide_truncating(number: i256, digits: u32) -> i256 {
    if let (Some(small), Some(divisor)) = (number.to_i128(), POWERS_128.get(digits as usize)) {
        return i256::from_i128(small / divisor);
    }
    match power_of_ten(digits) {
        Some(divisor) => number.wrapping_div(divisor),
        None => i256::ZERO,
    }
}

/// `number / 10^digits`, rounded half away from zero.
fn divide_rounding(number: i256, digits: u32) -> i256 {
    if digits == 0 {
        return number;
    }
    // The digit behind the last one kept decides.
    let with_digit = divide_truncating(number, digits - 1);
    let ten = i256::from_i128(10);
    let (whole, digit) = (with_digit.wrapping_div(ten), with_digit.wrapping_rem(ten).as_i128());
    match digit {
        5.. => whole.wrapping_add(i256::ONE),
        ..=-5 => whole.wrapping_sub(i256::ONE),
        _ => whole,
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.scale == other.scale {
            return self.unscaled.cmp(&other.unscaled);
        }
        if self.scale > other.scale {
            return other.cmp(self).reverse();
        }
        match scaled_up(self.unscaled, u32::from(other.scale - self.scale)) {
            Some(aligned) => aligned.cmp(&other.unscaled),
            // What has no room at the other's scale is farther from zero than anything there.
            None if self.is_negative() => Ordering::Less,
            None => Ordering::Greater,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Equality of the numbers, whatever their scales.
impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let normal = self.normalized();
        (normal.unscaled.to_parts(), normal.scale).hash(state);
    }
}

impl From<i64> for Decimal {
    fn from(number: i64) -> Self {
        Decimal::from_i128(i128::from(number), 0)
    }
}

impl From<u64> for Decimal {
    fn from(number: u64) -> Self {
        Decimal::from_i128(i128::from(number), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).value
    }

    #[test]
    fn fitting_rounds_and_clamps() {
        let fitted = decimal("123.456").fit(5, 2);
        assert_eq!((fitted.value.to_string().as_str(), fitted.rounded, fitted.clamped), ("123.46", true, false));
        let fitted = decimal("-1234.5").fit(5, 2);
        assert_eq!((fitted.value.to_string().as_str(), fitted.clamped), ("-999.99", true));
        let fitted = decimal("999.999").fit(5, 2);
        assert_eq!((fitted.value.to_string().as_str(), fitted.clamped), ("999.99", true));
        assert!(!decimal("1.50").fit(5, 1).rounded);
    }

    #[test]
    fn conversions() {
        assert_eq!(decimal("2.5").to_i64(), (3, false));
        assert_eq!(decimal("-2.5").to_i64(), (-3, false));
        assert_eq!(decimal("18446744073709551615.4").to_u64(), (u64::MAX, false));
        assert_eq!(decimal("18446744073709551615.5").to_u64(), (u64::MAX, true));
        assert_eq!(decimal("-0.4").to_u64(), (0, false));
        assert_eq!(decimal("0.1").to_f64(), 0.1);
        assert_eq!(decimal("12345678901234567890123456789.5").to_f64(), 12345678901234567890123456789.5);
        assert_eq!(Decimal::from_f64(0.1).unwrap().to_string(), "0.1");
        assert_eq!(Decimal::from_f64(1e20).unwrap().to_string(), "100000000000000000000");
        assert_eq!(Decimal::from_f64(1e70), None);
        assert_eq!(Decimal::from_f64(f64::NAN), None);
        assert_eq!(decimal("1.5").to_i128_at(3), Some(1500));
    }

    #[test]
    fn order_and_hash_ignore_the_scale() {
        use std::hash::BuildHasher;
        let hash = |d: Decimal| std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default().hash_one(d);
        assert_eq!(decimal("1.50"), decimal("1.5"));
        assert_eq!(hash(decimal("1.50")), hash(decimal("1.5")));
        assert!(decimal("-1.5") < decimal("-1.49"));
        let huge = Decimal::largest(65, 0);
        assert!(huge > Decimal::largest(65, 30) && huge.negate() < Decimal::largest(65, 30).negate());
        assert_eq!(huge.precision(), 65);
        assert_eq!(decimal("0.001").precision(), 3);
    }
}
