//! Floating-point numbers as whole numbers that have the same order.

/// A whole number that orders as the number does; both zeros have one.
pub(super) fn ordered_bits(value: f64) -> i64 {
    let bits = (value + 0.0).to_bits() as i64;
    // Negative numbers order backwards by their other bits.
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// The number that `ordered_bits` were of.
pub fn float_of(ordered: i128) -> f64 {
    let bits = ordered as i64;
    f64::from_bits((bits ^ (((bits >> 63) as u64) >> 1) as i64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_order_as_numbers_do() {
        let numbers = [f64::MIN, -2.5, -1.0, -f64::MIN_POSITIVE, 0.0, f64::MIN_POSITIVE, 0.1, 1.0, 2.5, f64::MAX];
        assert!(numbers.windows(2).all(|pair| ordered_bits(pair[0]) < ordered_bits(pair[1])));
        assert!(numbers.iter().all(|number| float_of(i128::from(ordered_bits(*number))) == *number));
        assert_eq!(ordered_bits(-0.0), ordered_bits(0.0));
    }
}
