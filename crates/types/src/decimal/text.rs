//! Parses and prints decimals.

use super::{Decimal, POWERS_128, digit_count, divide_rounding, scaled_up};
use arrow_buffer::i256;
use std::fmt;

/// The result of reading a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParsedDecimal {
    /// The number; 0 without digits, the largest DECIMAL of its sign when there were too many.
    pub value: Decimal,
    /// The text did not begin with a number.
    pub no_number: bool,
    /// Something other than spaces followed the number.
    pub truncated: bool,
    /// More than 65 digits before the point.
    pub overflow: bool,
    /// Digits that were not zero had no room and were rounded away.
    pub rounded: bool,
}

/// Digits kept of a longer text: enough that rounding to 65 is right.
const DIGITS_KEPT: usize = 72;

impl Decimal {
    /// Reads the longest number at the start of the text: spaces, a sign, digits with a point, an exponent.
    pub fn parse(text: &str) -> ParsedDecimal {
        Self::parse_bytes(text.as_bytes())
    }

    /// [`Decimal::parse`] of bytes.
    pub fn parse_bytes(text: &[u8]) -> ParsedDecimal {
        let is_space = |byte: &u8| *byte == b' ' || (b'\t'..=b'\r').contains(byte);
        let start = text.iter().take_while(|byte| is_space(byte)).count();
        let mut rest = &text[start..];
        let negative = match rest.first() {
            Some(b'-') => {
                rest = &rest[1..];
                true
            }
            Some(b'+') => {
                rest = &rest[1..];
                false
            }
            _ => false,
        };
        let integer_length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (integer, after) = rest.split_at(integer_length);
        let (fraction, after) = match after {
            [b'.', after @ ..] => after.split_at(after.iter().take_while(|byte| byte.is_ascii_digit()).count()),
            _ => (&[][..], after),
        };
        if integer.is_empty() && fraction.is_empty() {
            let truncated = !text.iter().all(is_space);
            return ParsedDecimal { value: Decimal::ZERO, no_number: true, truncated, overflow: false, rounded: false };
        }
        let (exponent, after) = read_exponent(after);
        let truncated = !after.iter().all(is_space);
        let (value, overflow, rounded) = assemble(integer, fraction, exponent);
        let value = if negative { value.negate() } else { value };
        ParsedDecimal { value, no_number: false, truncated, overflow, rounded }
    }

    /// Appends the number with all digits of its scale.
    pub fn write_text(self, out: &mut Vec<u8>) {
        if self.is_negative() {
            out.push(b'-');
        }
        let mut digits = [b'0'; 80];
        let length = write_digits(self.unscaled, &mut digits);
        let scale = usize::from(self.scale).min(76);
        let start = digits.len() - length.max(scale + 1);
        let point = digits.len() - scale;
        out.extend_from_slice(&digits[start..point]);
        if scale > 0 {
            out.push(b'.');
            out.extend_from_slice(&digits[point..]);
        }
    }
}

/// `e` with a sign and digits, and what follows; without digits it is no exponent.
fn read_exponent(text: &[u8]) -> (i64, &[u8]) {
    let [b'e' | b'E', body @ ..] = text else { return (0, text) };
    let (negative, body) = match body {
        [b'-', body @ ..] => (true, body),
        [b'+', body @ ..] => (false, body),
        _ => (false, body),
    };
    let length = body.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if length == 0 {
        return (0, text);
    }
    let magnitude = body[..length].iter().fold(0i64, |sum, digit| (sum * 10 + i64::from(digit - b'0')).min(1_000_000));
    (if negative { -magnitude } else { magnitude }, &body[length..])
}

/// The number of digits around a point, its overflow and whether digits were lost.
fn assemble(integer: &[u8], fraction: &[u8], exponent: i64) -> (Decimal, bool, bool) {
    // The usual case: everything fits 128 bits as it stands.
    if exponent == 0 && integer.len() + fraction.len() <= 38 && fraction.len() <= usize::from(Decimal::SCALE_MAX) {
        return (Decimal::new(number_of(integer.iter().chain(fraction)), fraction.len() as u8), false, false);
    }
    let significant = || integer.iter().chain(fraction).skip_while(|digit| **digit == b'0');
    let count = significant().count();
    let kept = count.min(DIGITS_KEPT);
    let lost = significant().skip(kept).any(|digit| *digit != b'0');
    let unscaled = number_of(significant().take(kept));
    if unscaled == i256::ZERO {
        let scale = (fraction.len() as i64 - exponent).clamp(0, i64::from(Decimal::SCALE_MAX)) as u8;
        return (Decimal::new(i256::ZERO, scale), false, false);
    }
    // Scale of the kept digits; negative when zeros are missing before the point.
    let scale = fraction.len() as i64 - exponent - (count - kept) as i64;
    let integer_digits = kept as i64 - scale;
    let largest = i64::from(Decimal::PRECISION_MAX);
    if integer_digits > largest {
        return (Decimal::largest(Decimal::PRECISION_MAX, 0), true, false);
    }
    if scale <= 0 {
        let whole = scaled_up(unscaled, scale.unsigned_abs() as u32).unwrap_or(i256::MAX);
        return (Decimal::new(whole, 0), false, lost);
    }
    let room = (largest - integer_digits.max(0)).min(i64::from(Decimal::SCALE_MAX));
    if scale <= room {
        return (Decimal::new(unscaled, scale as u8), false, lost);
    }
    let surplus = (scale - room).min(1000) as u32;
    let rounded = divide_rounding(unscaled, surplus);
    let exact = !lost && scaled_up(rounded, surplus) == Some(unscaled);
    if digit_count(rounded) > u32::from(Decimal::PRECISION_MAX) {
        // 999…9.9 with 65 nines: rounding carried into a 66th digit.
        return match room {
            0 => (Decimal::largest(Decimal::PRECISION_MAX, 0), true, false),
            _ => (Decimal::new(divide_rounding(rounded, 1), (room - 1) as u8), false, true),
        };
    }
    (Decimal::new(rounded, room as u8), false, !exact)
}

/// The number that at most 76 digits spell.
fn number_of<'a>(digits: impl Iterator<Item = &'a u8>) -> i256 {
    let mut number = i256::ZERO;
    let (mut chunk, mut length) = (0u64, 0usize);
    let mut first = true;
    let mut append = |number: &mut i256, chunk: u64, length: usize| {
        // The first two chunks fit 128 bits; most numbers have no more.
        let chunk = i256::from_i128(i128::from(chunk));
        *number =
            if first { chunk } else { number.wrapping_mul(i256::from_i128(POWERS_128[length])).wrapping_add(chunk) };
        first = false;
    };
    for digit in digits {
        chunk = chunk * 10 + u64::from(digit - b'0');
        length += 1;
        if length == 18 {
            append(&mut number, chunk, length);
            (chunk, length) = (0, 0);
        }
    }
    if length > 0 {
        append(&mut number, chunk, length);
    }
    number
}

/// Writes the digits of the magnitude to the end of the buffer and returns how many there are.
fn write_digits(number: i256, buffer: &mut [u8; 80]) -> usize {
    let mut end = buffer.len();
    let mut push = |mut chunk: u64, width: usize| {
        let mut written = 0;
        while chunk > 0 || written < width {
            end -= 1;
            buffer[end] = b'0' + (chunk % 10) as u8;
            chunk /= 10;
            written += 1;
        }
    };
    const CHUNK: i128 = 1_000_000_000_000_000_000;
    let mut rest = number;
    loop {
        if let Some(small) = rest.to_i128() {
            let mut magnitude = small.unsigned_abs();
            while magnitude >= CHUNK as u128 {
                push((magnitude % CHUNK as u128) as u64, 18);
                magnitude /= CHUNK as u128;
            }
            push(magnitude as u64, 0);
            return buffer.len() - end;
        }
        let divisor = i256::from_i128(CHUNK);
        push(rest.wrapping_rem(divisor).as_i128().unsigned_abs() as u64, 18);
        rest = rest.wrapping_div(divisor);
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::with_capacity(24);
        self.write_text(&mut out);
        f.write_str(&String::from_utf8_lossy(&out))
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decimal({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let parsed = Decimal::parse(text);
        let mut shown = parsed.value.to_string();
        for (flag, name) in [
            (parsed.no_number, " none"),
            (parsed.truncated, " cut"),
            (parsed.overflow, " overflow"),
            (parsed.rounded, " rounded"),
        ] {
            if flag {
                shown.push_str(name);
            }
        }
        shown
    }

    #[test]
    fn parses_prefixes() {
        let nines = "9".repeat(65);
        for (text, expected) in [
            ("12.340", "12.340"),
            (" -0.5x", "-0.5 cut"),
            ("+7 ", "7"),
            (".5", "0.5"),
            ("5.", "5"),
            ("1e3", "1000"),
            ("1.25e1", "12.5"),
            ("1.5e-3", "0.0015"),
            ("1e", "1 cut"),
            ("1e-40", "0.000000000000000000000000000000 rounded"),
            ("abc", "0 none cut"),
            ("", "0 none"),
            ("-", "0 none cut"),
            ("000000000000000000000000000000000000000000000001.5", "1.5"),
            ("0.1234567890123456789012345678905", "0.123456789012345678901234567891 rounded"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        assert_eq!(read(&nines), nines);
        assert_eq!(read(&format!("-1{nines}")), format!("-{nines} overflow"));
        assert_eq!(read(&format!("{nines}.9")), format!("{nines} overflow"));
        assert_eq!(read("1e999999999999"), format!("{nines} overflow"));
        assert_eq!(read(&format!("1.{}", "3".repeat(100))), format!("1.{} rounded", "3".repeat(30)));
    }

    proptest::proptest! {
        #[test]
        fn text_round_trips(integer in "(0|[1-9][0-9]{0,34})", fraction in "[0-9]{0,30}", sign in "-?") {
            let text = if fraction.is_empty() { format!("{sign}{integer}") } else { format!("{sign}{integer}.{fraction}") };
            let parsed = Decimal::parse(&text);
            let shown = parsed.value.to_string();
            let expected = if parsed.value.is_zero() { text.trim_start_matches('-') } else { &text };
            proptest::prop_assert_eq!(&shown, expected);
        }

        #[test]
        fn nothing_panics(text in "\\PC{0,10}", number in "[-+]?[0-9.]{0,120}e?[-+]?[0-9]{0,8}") {
            let _ = Decimal::parse(&text).value.to_string();
            let _ = Decimal::parse(&number).value.to_string();
        }
    }
}
