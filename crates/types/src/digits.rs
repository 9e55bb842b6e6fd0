//! Prints integers as decimal text, in a few nanoseconds each.

/// Appends a signed integer.
#[inline]
pub fn write_int(number: i64, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    write_uint(number.unsigned_abs(), out);
}

/// One more than the greatest number of eight digits.
const EIGHT_DIGITS: u64 = 100_000_000;

/// Appends an unsigned integer.
#[inline]
pub fn write_uint(number: u64, out: &mut Vec<u8>) {
    if number < EIGHT_DIGITS {
        write_small(number, out);
    } else {
        write_long(number, out);
    }
}

fn write_long(number: u64, out: &mut Vec<u8>) {
    let (rest, low) = (number / EIGHT_DIGITS, number % EIGHT_DIGITS);
    if rest < EIGHT_DIGITS {
        write_small(rest, out);
    } else {
        write_small(rest / EIGHT_DIGITS, out);
        out.extend_from_slice(&(eight_digits(rest % EIGHT_DIGITS) | ZEROS).to_le_bytes());
    }
    out.extend_from_slice(&(eight_digits(low) | ZEROS).to_le_bytes());
}

/// The digit 0, eight times.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// A number of up to eight digits without leading zeros.
#[inline]
fn write_small(number: u64, out: &mut Vec<u8>) {
    let digits = eight_digits(number);
    // Bytes of leading zeros, but for the last digit.
    let zeros = ((digits | 1 << 56).trailing_zeros() / 8) as usize;
    // Eight bytes always, which is one store, and those too many are forgotten.
    out.extend_from_slice(&((digits | ZEROS) >> (8 * zeros)).to_le_bytes());
    out.truncate(out.len() - zeros);
}

/// The digits of a number below 10⁸, a byte each, the highest in the lowest byte: all of them at once in one word, each step
/// splitting every part of it in two (after Mula and Khuong).
#[inline]
fn eight_digits(number: u64) -> u64 {
    let (high, low) = (number / 10_000, number % 10_000);
    // Two numbers of four digits, in 32 bits each.
    let fours = high | low << 32;
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    // Four numbers of two digits, in 16 bits each.
    let twos = hundreds | (fours - hundreds * 100) << 16;
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    // Eight digits, a byte each.
    tens | (twos - tens * 10) << 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(number: i64) -> String {
        let mut out = Vec::new();
        write_int(number, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn around_every_power_of_ten() {
        for power in 0..19 {
            let power = 10_i64.pow(power);
            for number in [power - 1, power, power + 1, -power, 1 - power] {
                assert_eq!(text(number), number.to_string());
            }
        }
        assert_eq!(text(i64::MIN), i64::MIN.to_string());
        let mut out = b"x".to_vec();
        write_uint(u64::MAX, &mut out);
        assert_eq!(out, format!("x{}", u64::MAX).into_bytes());
    }

    proptest! {
        #[test]
        fn any_number(number: u64, shift in 0_u32..64) {
            let mut out = Vec::new();
            write_uint(number >> shift, &mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), (number >> shift).to_string());
        }
    }
}
