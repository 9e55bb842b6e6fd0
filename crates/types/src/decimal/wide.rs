//! 512-bit magnitudes for products and quotients that exceed 256 bits. The code is simple rather than fast, since operands of more than
//! thirty digits each are rare.

use arrow_buffer::i256;

/// A magnitude in little-endian 64-bit limbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wide([u64; 8]);

impl Wide {
    /// The magnitude of a number.
    pub(super) fn magnitude(number: i256) -> Wide {
        let (low, high) = number.wrapping_abs().to_parts();
        let high = high as u128;
        let mut limbs = [0; 8];
        limbs[..4].copy_from_slice(&[low as u64, (low >> 64) as u64, high as u64, (high >> 64) as u64]);
        Wide(limbs)
    }

    /// The product; `None` over 512 bits.
    pub(super) fn multiply(self, other: Wide) -> Option<Wide> {
        let mut product = [0u64; 8];
        for (at, &limb) in self.0.iter().enumerate().filter(|(_, limb)| **limb != 0) {
            let mut carry = 0u128;
            for (other_at, &other_limb) in other.0.iter().enumerate() {
                let sum = u128::from(limb) * u128::from(other_limb) + carry;
                let Some(place) = product.get_mut(at + other_at) else {
                    if sum != 0 {
                        return None;
                    }
                    continue;
                };
                let sum = sum + u128::from(*place);
                *place = sum as u64;
                carry = sum >> 64;
            }
            if carry != 0 {
                return None;
            }
        }
        Some(Wide(product))
    }

    /// Quotient and remainder by shifting and subtracting; `None` for a divisor of zero.
    pub(super) fn divide(self, divisor: Wide) -> Option<(Wide, Wide)> {
        if divisor.0 == [0; 8] {
            return None;
        }
        let (mut quotient, mut remainder) = (Wide([0; 8]), Wide([0; 8]));
        for bit in (0..512).rev() {
            let overflow = remainder.0[7] >> 63 == 1;
            remainder.shift_left_one();
            remainder.0[0] |= self.0[bit / 64] >> (bit % 64) & 1;
            if overflow || remainder.is_at_least(&divisor) {
                remainder.subtract(&divisor);
                quotient.0[bit / 64] |= 1 << (bit % 64);
            }
        }
        Some((quotient, remainder))
    }

    /// As a number of the sign; `None` if it has no room.
    pub(super) fn to_i256(self, negative: bool) -> Option<i256> {
        if self.0[4..] != [0; 4] || self.0[3] >> 63 == 1 {
            return None;
        }
        let pair = |low: u64, high: u64| u128::from(low) | u128::from(high) << 64;
        let number = i256::from_parts(pair(self.0[0], self.0[1]), pair(self.0[2], self.0[3]) as i128);
        Some(if negative { number.wrapping_neg() } else { number })
    }

    fn shift_left_one(&mut self) {
        let mut carry = 0;
        for limb in &mut self.0 {
            let next = *limb >> 63;
            *limb = *limb << 1 | carry;
            carry = next;
        }
    }

    fn is_at_least(&self, other: &Wide) -> bool {
        self.0.iter().rev().cmp(other.0.iter().rev()).is_ge()
    }

    fn subtract(&mut self, other: &Wide) {
        let mut borrow = false;
        for (limb, other) in self.0.iter_mut().zip(other.0) {
            let (difference, first) = limb.overflowing_sub(other);
            let (difference, second) = difference.overflowing_sub(u64::from(borrow));
            *limb = difference;
            borrow = first || second;
        }
    }
}
