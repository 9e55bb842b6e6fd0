//! Arithmetic with MySQL's scales: sums take the larger scale, products the sum of both, quotients the dividend's plus
//! `div_precision_increment`; never more than 30.
//!
//! `None` is an overflow (MySQL's 1690) or, for quotients and remainders, a divisor of zero; the caller knows which.

use super::wide::Wide;
use super::{Decimal, POWERS_256, digit_count, divide_rounding, divide_truncating, power_of_ten, scaled_up};
use arrow_buffer::i256;

/// Digits that MySQL keeps together; its quotients have a multiple of this many after the point.
const DIGITS_PER_GROUP: u32 = 9;

impl Decimal {
    /// Sum.
    pub fn checked_add(self, other: Decimal) -> Option<Decimal> {
        let (left, right, scale) = self.aligned(other)?;
        Decimal { unscaled: left.checked_add(right)?, scale }.within_65_digits()
    }

    /// Difference.
    pub fn checked_sub(self, other: Decimal) -> Option<Decimal> {
        self.checked_add(other.negate())
    }

    /// Product.
    pub fn checked_mul(self, other: Decimal) -> Option<Decimal> {
        let scale = u32::from(self.scale) + u32::from(other.scale);
        let surplus = scale.saturating_sub(u32::from(Decimal::SCALE_MAX));
        let unscaled = match (self.unscaled.to_i128(), other.unscaled.to_i128()) {
            (Some(left), Some(right)) => match left.checked_mul(right) {
                Some(product) => Some(i256::from_i128(product)),
                None => self.unscaled.checked_mul(other.unscaled),
            },
            _ => self.unscaled.checked_mul(other.unscaled),
        };
        let unscaled = match unscaled {
            Some(product) => divide_rounding(product, surplus),
            None => self.wide_product(other, surplus)?,
        };
        Decimal { unscaled, scale: (scale - surplus) as u8 }.within_65_digits()
    }

    fn wide_product(self, other: Decimal, surplus: u32) -> Option<i256> {
        let product = Wide::magnitude(self.unscaled).multiply(Wide::magnitude(other.unscaled))?;
        let (quotient, remainder) = product.divide(Wide::magnitude(power_of_ten(surplus)?))?;
        let quotient = quotient.to_i256(false)?;
        let twice = remainder.multiply(Wide::magnitude(i256::from_i128(2)))?;
        // Half or more of the power: the doubled remainder divides it at least once.
        let (carry, _) = twice.divide(Wide::magnitude(power_of_ten(surplus)?))?;
        let magnitude = quotient.checked_add(carry.to_i256(false)?)?;
        Some(if self.is_negative() != other.is_negative() { magnitude.wrapping_neg() } else { magnitude })
    }

    /// Quotient at the dividend's scale plus `increment` (`div_precision_increment`). The digits computed are a
    /// multiple of nine; surplus ones are rounded, and when there are none the last one is cut, as in MySQL.
    pub fn checked_div(self, other: Decimal, increment: u8) -> Option<Decimal> {
        let scale = self.scale.saturating_add(increment).min(Decimal::SCALE_MAX);
        self.quotient(other, increment, 36)?.rescale(scale)?.within_65_digits()
    }

    /// Quotient with all the digits that MySQL computes and keeps for the rest of the expression: more than
    /// [`Decimal::checked_div`] has, cut and not rounded. `1/3*3` is 1.0000 because of them.
    pub fn div_unrounded(self, other: Decimal, increment: u8) -> Option<Decimal> {
        self.quotient(other, increment, u32::from(Decimal::SCALE_MAX))?.within_65_digits()
    }

    fn quotient(self, other: Decimal, increment: u8, scale_max: u32) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let (own, others) = (u32::from(self.scale), u32::from(other.scale));
        let (own_groups, other_groups) = (full_groups(own), full_groups(others));
        let increment = u32::from(increment).saturating_sub(own_groups - own + other_groups - others);
        let scale = full_groups(own_groups + other_groups + increment).min(scale_max.max(own));
        // self / other = unscaled × 10^(scale + others - own) / other.unscaled × 10^-scale
        let factor = scale + others - own;
        if let (Some(dividend), Some(divisor)) =
            (scaled_up(self.unscaled, factor).and_then(i256::to_i128), other.unscaled.to_i128())
        {
            // The quotient of i128::MIN and -1 has no room there.
            if let Some(quotient) = dividend.checked_div(divisor) {
                return Some(Decimal { unscaled: i256::from_i128(quotient), scale: scale as u8 });
            }
        }
        let unscaled = match scaled_up(self.unscaled, factor) {
            Some(dividend) => dividend.checked_div(other.unscaled)?,
            None => {
                let power = Wide::magnitude(power_of_ten(factor)?);
                let dividend = Wide::magnitude(self.unscaled).multiply(power)?;
                let (quotient, _) = dividend.divide(Wide::magnitude(other.unscaled))?;
                quotient.to_i256(self.is_negative() != other.is_negative())?
            }
        };
        Some(Decimal { unscaled, scale: scale as u8 })
    }

    /// `DIV`: the quotient without its fraction.
    pub fn integer_div(self, other: Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let unscaled = match self.aligned(other) {
            Some((left, right, _)) => left.checked_div(right)?,
            None => {
                let (left, right) = (Wide::magnitude(self.unscaled), Wide::magnitude(other.unscaled));
                let power = |digits: u8| power_of_ten(u32::from(digits)).map(Wide::magnitude);
                let left = left.multiply(power(other.scale.saturating_sub(self.scale))?)?;
                let right = right.multiply(power(self.scale.saturating_sub(other.scale))?)?;
                left.divide(right)?.0.to_i256(self.is_negative() != other.is_negative())?
            }
        };
        Decimal { unscaled, scale: 0 }.within_65_digits()
    }

    /// `MOD`: the remainder, with the dividend's sign.
    pub fn checked_rem(self, other: Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        if let Some((left, right, scale)) = self.aligned(other) {
            return Decimal { unscaled: left.checked_rem(right)?, scale }.within_65_digits();
        }
        let scale = self.scale.max(other.scale);
        let power = |digits: u8| power_of_ten(u32::from(digits)).map(Wide::magnitude);
        let left = Wide::magnitude(self.unscaled).multiply(power(scale - self.scale)?)?;
        let right = Wide::magnitude(other.unscaled).multiply(power(scale - other.scale)?)?;
        let unscaled = left.divide(right)?.1.to_i256(self.is_negative())?;
        Decimal { unscaled, scale }.within_65_digits()
    }

    /// `ROUND(self, places)`, half away from zero. `places` may be negative; the scale is at most the old one.
    pub fn round(self, places: i32) -> Option<Decimal> {
        self.at_places(places, divide_rounding)
    }

    /// `TRUNCATE(self, places)`.
    pub fn truncate(self, places: i32) -> Option<Decimal> {
        self.at_places(places, divide_truncating)
    }

    fn at_places(self, places: i32, divide: fn(i256, u32) -> i256) -> Option<Decimal> {
        if places >= i32::from(self.scale) {
            return Some(self);
        }
        let drop = i32::from(self.scale).saturating_sub(places) as u32;
        let kept = divide(self.unscaled, drop.min(POWERS_256.len() as u32));
        if places >= 0 {
            return Decimal { unscaled: kept, scale: places as u8 }.within_65_digits();
        }
        Decimal { unscaled: scaled_up(kept, places.unsigned_abs())?, scale: 0 }.within_65_digits()
    }

    /// `CEILING`.
    pub fn ceil(self) -> Option<Decimal> {
        let whole = self.truncate(0)?;
        if whole < self { whole.checked_add(Decimal::from(1i64)) } else { Some(whole) }
    }

    /// `FLOOR`.
    pub fn floor(self) -> Option<Decimal> {
        let whole = self.truncate(0)?;
        if whole > self { whole.checked_sub(Decimal::from(1i64)) } else { Some(whole) }
    }

    /// Both numbers at the larger scale.
    fn aligned(self, other: Decimal) -> Option<(i256, i256, u8)> {
        let scale = self.scale.max(other.scale);
        let left = scaled_up(self.unscaled, u32::from(scale - self.scale))?;
        let right = scaled_up(other.unscaled, u32::from(scale - other.scale))?;
        Some((left, right, scale))
    }

    /// The number if it has at most 65 digits; digits after the point give way to those before it.
    fn within_65_digits(self) -> Option<Decimal> {
        let surplus = digit_count(self.unscaled).saturating_sub(u32::from(Decimal::PRECISION_MAX));
        if surplus == 0 {
            return Some(self);
        }
        let scale = u32::from(self.scale).checked_sub(surplus)?;
        let rounded = Decimal { unscaled: divide_rounding(self.unscaled, surplus), scale: scale as u8 };
        (digit_count(rounded.unscaled) <= u32::from(Decimal::PRECISION_MAX)).then_some(rounded)
    }
}

/// The next multiple of nine.
fn full_groups(digits: u32) -> u32 {
    digits.div_ceil(DIGITS_PER_GROUP) * DIGITS_PER_GROUP
}

#[cfg(test)]
#[path = "arithmetic_tests.rs"]
mod tests;
