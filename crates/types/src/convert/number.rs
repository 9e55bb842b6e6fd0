//! Numbers from the beginning of text, and floating point numbers as text.

use super::digits::write_int;
use crate::{Decimal, Value};
use std::fmt::Write;

/// A number read from the beginning of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParsedNumber<T> {
    /// The number; 0 where there is none, the nearest limit where it is out of range.
    pub value: T,
    /// The text does not begin with a number.
    pub no_number: bool,
    /// Something other than spaces follows the number (or stands in its place): MySQL's 1292 "Truncated incorrect …".
    pub truncated: bool,
    /// The number is out of range.
    pub overflow: bool,
}

fn is_space(byte: u8) -> bool {
    byte == b' ' || (b'\t'..=b'\r').contains(&byte)
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Length of the number at the start: sign, digits with a point, exponent. 0 without digits.
fn number_length(text: &[u8]) -> usize {
    let sign = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let integer = digits(&text[sign..]);
    let mut end = sign + integer;
    let mut fraction = 0;
    if text.get(end) == Some(&b'.') {
        fraction = digits(&text[end + 1..]);
        end += 1 + fraction;
    }
    if integer + fraction == 0 {
        return 0;
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let exponent_sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(&text[end + 1 + exponent_sign..]);
        if exponent > 0 {
            end += 1 + exponent_sign + exponent;
        }
    }
    end
}

/// The DOUBLE at the beginning of a text.
pub fn parse_f64(text: &str) -> ParsedNumber<f64> {
    let bytes = text.as_bytes();
    let start = bytes.iter().take_while(|byte| is_space(**byte)).count();
    let length = number_length(&bytes[start..]);
    let truncated = !bytes[start + length..].iter().all(|byte| is_space(*byte));
    if length == 0 {
        return ParsedNumber { value: 0.0, no_number: true, truncated, overflow: false };
    }
    // What was measured is ASCII and of a form that the standard library reads, too.
    let value: f64 = text.get(start..start + length).and_then(|number| number.parse().ok()).unwrap_or(0.0);
    let overflow = value.is_infinite();
    let value = if overflow { f64::MAX.copysign(value) } else { value };
    ParsedNumber { value, no_number: false, truncated, overflow }
}

/// The integer at the beginning of a text, as `CAST(… AS SIGNED)` reads it: up to the first character that is no digit.
pub fn parse_integer(text: &str) -> ParsedNumber<i128> {
    let bytes = text.as_bytes();
    let start = bytes.iter().take_while(|byte| is_space(**byte)).count();
    let rest = &bytes[start..];
    let negative = rest.first() == Some(&b'-');
    let sign = usize::from(matches!(rest.first(), Some(b'+' | b'-')));
    let length = digits(&rest[sign..]);
    if length == 0 {
        let truncated = !rest.iter().all(|byte| is_space(*byte));
        return ParsedNumber { value: 0, no_number: true, truncated, overflow: false };
    }
    let after = &rest[sign + length..];
    let magnitude = rest[sign..sign + length]
        .iter()
        .fold(0i128, |number, digit| number.saturating_mul(10).saturating_add(i128::from(digit - b'0')));
    let limit = if negative { -i128::from(i64::MIN) } else { i128::from(u64::MAX) };
    let overflow = magnitude > limit;
    let magnitude = magnitude.min(limit);
    ParsedNumber {
        value: if negative { -magnitude } else { magnitude },
        no_number: false,
        truncated: !after.iter().all(|byte| is_space(*byte)),
        overflow,
    }
}

/// The number at the beginning of a text rounded to an integer, as it is stored into an integer column.
pub fn parse_integer_rounded(text: &str) -> ParsedNumber<i128> {
    let parsed = Decimal::parse(text);
    let whole = parsed.value.to_i128();
    let limit = if parsed.value.is_negative() { i128::from(i64::MIN) } else { i128::from(u64::MAX) };
    let in_range = whole.filter(|number| (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(number));
    ParsedNumber {
        value: in_range.unwrap_or(limit),
        no_number: parsed.no_number,
        truncated: parsed.truncated,
        overflow: parsed.overflow || in_range.is_none(),
    }
}

/// A double rounded to an integer as MySQL does in stores and casts (half to even); `None` if it is none.
pub fn round_f64(number: f64) -> Option<i128> {
    let rounded = number.round_ties_even();
    (rounded.abs() < 1e38).then_some(rounded as i128)
}

/// A small buffer to format into.
struct Buffer {
    bytes: [u8; 40],
    length: usize,
}

impl Write for Buffer {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(std::fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// Places of the point beyond which numbers get an exponent.
const POINT_MAX: i32 = 15;

/// Appends a DOUBLE with the fewest digits that read back as the same number, as MySQL prints it: with an exponent when
/// the point would stand more than fourteen places to the left, or more than fifteen to the right with no digit behind it.
pub fn write_double(number: f64, out: &mut Vec<u8>) {
    if !number.is_finite() {
        return out.push(b'0');
    }
    let mut buffer = Buffer { bytes: [0; 40], length: 0 };
    if write!(buffer, "{number:e}").is_err() {
        return out.push(b'0');
    }
    let shortest = &buffer.bytes[..buffer.length];
    // Of two numbers of sixteen digits that are as near, MySQL takes the even one.
    let digits = shortest.iter().take_while(|byte| **byte != b'e').filter(|byte| byte.is_ascii_digit()).count();
    if digits == 16 {
        let mut even = Buffer { bytes: [0; 40], length: 0 };
        let exact = write!(even, "{number:.15e}").is_ok();
        let even = &even.bytes[..even.length];
        let same = std::str::from_utf8(even).is_ok_and(|text| text.parse() == Ok(number));
        if exact && same {
            return write_scientific(even, out);
        }
    }
    write_scientific(shortest, out);
}

/// The text of a double in at most `width` characters, with as many digits as fit; `None` if none do.
pub fn double_within(number: f64, width: usize) -> Option<String> {
    let mut full = Vec::new();
    write_double(number, &mut full);
    let full = String::from_utf8(full).ok()?;
    if full.len() <= width || !number.is_finite() {
        return (full.len() <= width).then_some(full);
    }
    let sign = if number < 0.0 { "-" } else { "" };
    (1..=17_usize).rev().find_map(|digits| {
        // Rounded to so many digits: `d.ddde±n`.
        let scientific = format!("{:.*e}", digits - 1, number.abs());
        let (mantissa, exponent) = scientific.split_once('e')?;
        let exponent: i32 = exponent.parse().ok()?;
        let significant = mantissa.replace('.', "");
        let significant = significant.trim_end_matches('0');
        let significant = if significant.is_empty() { "0" } else { significant };
        let fixed = match usize::try_from(exponent) {
            Err(_) => Some(format!("0.{}{significant}", "0".repeat(exponent.unsigned_abs() as usize - 1))),
            // Digits before the point may not be lost.
            Ok(whole) if whole >= digits => None,
            Ok(whole) if significant.len() <= whole + 1 => Some(format!("{significant:0<places$}", places = whole + 1)),
            Ok(whole) => Some(format!("{}.{}", &significant[..=whole], &significant[whole + 1..])),
        };
        let (first, rest) = significant.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let candidates = [fixed, Some(format!("{first}{point}{rest}e{exponent}"))];
        candidates.into_iter().flatten().map(|text| format!("{sign}{text}")).find(|text| text.len() <= width)
    })
}

/// Appends a FLOAT with six significant digits, as MySQL prints it.
pub fn write_float(number: f64, out: &mut Vec<u8>) {
    let mut buffer = Buffer { bytes: [0; 40], length: 0 };
    if !number.is_finite() || write!(buffer, "{:.5e}", number as f32).is_err() {
        out.extend_from_slice(b"0");
        return;
    }
    write_scientific(&buffer.bytes[..buffer.length], out);
}

/// Appends a number with so many digits behind the point.
pub fn write_fixed(number: f64, decimals: u8, out: &mut Vec<u8>) {
    // Up to 309 digits do not fit the small buffer.
    let _ = std::io::Write::write_fmt(out, format_args!("{number:.*}", usize::from(decimals)));
}

/// Turns `-1.25e-3` into MySQL's form.
fn write_scientific(text: &[u8], out: &mut Vec<u8>) {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let at = text.iter().position(|byte| *byte == b'e').unwrap_or(text.len());
    let exponent = text.get(at + 1..).and_then(|text| std::str::from_utf8(text).ok()?.parse::<i32>().ok()).unwrap_or(0);
    let mut digits = [b'0'; 20];
    let mut count = 0;
    for digit in text[..at].iter().filter(|byte| byte.is_ascii_digit()).take(20) {
        digits[count] = *digit;
        count += 1;
    }
    while count > 1 && digits[count - 1] == b'0' {
        count -= 1;
    }
    let digits = &digits[..count];
    // Zero has no sign.
    if negative && digits != b"0" {
        out.push(b'-');
    }
    // Where the point stands, counted from the first digit.
    let point = exponent + 1;
    if digits == b"0" {
        out.push(b'0');
    } else if point < 1 - POINT_MAX || (point > POINT_MAX && count as i32 <= point) {
        out.push(digits[0]);
        if count > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.push(b'e');
        write_int(i64::from(exponent), out);
    } else if point <= 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', point.unsigned_abs() as usize));
        out.extend_from_slice(digits);
    } else {
        let point = point as usize;
        out.extend_from_slice(&digits[..point.min(count)]);
        if count > point {
            out.push(b'.');
            out.extend_from_slice(&digits[point..]);
        } else {
            out.extend(std::iter::repeat_n(b'0', point - count));
        }
    }
}

/// A value as a DOUBLE, as arithmetic and comparisons take it; text and bytes by their beginning, dates as numbers.
/// The flag tells that text was not all a number. NULL is `None`.
pub fn value_to_f64(value: &Value) -> Option<(f64, bool)> {
    let exact = |number: f64| Some((number, false));
    match value {
        Value::Null => None,
        Value::Int(number) => exact(*number as f64),
        Value::UInt(number) => exact(*number as f64),
        Value::Double(number) => exact(*number),
        Value::Decimal(number) => exact(number.to_f64()),
        Value::String(text) => {
            let parsed = parse_f64(text);
            Some((parsed.value, parsed.truncated || parsed.no_number))
        }
        Value::Bytes(bytes) => {
            let parsed = parse_f64(&String::from_utf8_lossy(bytes));
            Some((parsed.value, parsed.truncated || parsed.no_number))
        }
        Value::Date(date) => exact(date.to_number() as f64),
        Value::DateTime(_) | Value::Time(_) => exact(temporal_to_decimal(value)?.to_f64()),
        Value::Json(document) => {
            let parsed = parse_f64(document.text().trim_matches('"'));
            Some((parsed.value, parsed.truncated || parsed.no_number))
        }
    }
}

/// A date or time as the number 20200131235959.123456; `None` for other values.
pub fn temporal_to_decimal(value: &Value) -> Option<Decimal> {
    let with_micros = |whole: i64, micros: u32| {
        let micros = if whole < 0 { -i128::from(micros) } else { i128::from(micros) };
        Decimal::from_i128(i128::from(whole) * 1_000_000 + micros, 6)
    };
    Some(match value {
        Value::Date(date) => Decimal::from(date.to_number()),
        Value::DateTime(moment) => with_micros(moment.to_number(), moment.microsecond()),
        Value::Time(time) if time.to_number() == 0 && time.is_negative() => {
            Decimal::from_i128(-i128::from(time.microsecond()), 6)
        }
        Value::Time(time) => with_micros(time.to_number(), time.microsecond()),
        _ => return None,
    })
}

/// A value as a DECIMAL; text by its beginning. `None` for NULL and for doubles that have none.
pub fn value_to_decimal(value: &Value) -> Option<Decimal> {
    match value {
        Value::Null => None,
        Value::Int(number) => Some(Decimal::from(*number)),
        Value::UInt(number) => Some(Decimal::from(*number)),
        Value::Double(number) => Decimal::from_f64(*number),
        Value::Decimal(number) => Some(*number),
        Value::String(text) => Some(Decimal::parse(text).value),
        Value::Bytes(bytes) => Some(Decimal::parse_bytes(bytes).value),
        Value::Json(document) => Some(Decimal::parse(document.text().trim_matches('"')).value),
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => temporal_to_decimal(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn double(number: f64) -> String {
        let mut out = Vec::new();
        write_double(number, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn float(number: f32) -> String {
        let mut out = Vec::new();
        write_float(f64::from(number), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn doubles_print_as_in_mysql() {
        for (number, expected) in [
            (1e15, "1e15"),
            (1e14, "100000000000000"),
            (1.234_567_890_123_456_8e17, "1.2345678901234568e17"),
            (123_456_789_012_345e0, "123456789012345"),
            (1_234_567_890_123_456e0, "1.234567890123456e15"),
            (-1_746_777_483_412_119.5, "-1746777483412119.5"),
            (7.651472487569613e13, "76514724875696.12"),
            (1e-5, "0.00001"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (0.1, "0.1"),
            (1e20, "1e20"),
            (-1.5e-20, "-1.5e-20"),
            (1e22 / 3.0, "3.3333333333333335e21"),
            (0.0, "0"),
            (-0.0, "0"),
            (2.5, "2.5"),
            (100.25, "100.25"),
            (f64::MAX, "1.7976931348623157e308"),
            (f64::NAN, "0"),
        ] {
            assert_eq!(double(number), expected);
        }
        assert_eq!(float(3.141_599_1), "3.1416");
        assert_eq!(float(16_777_216.0), "16777200");
        assert_eq!(float(1e10), "10000000000");
        assert_eq!(float(1e20), "1e20");
        assert_eq!(float(0.000_123_456_7), "0.000123457");
        assert_eq!(float(0.0), "0");
    }

    #[test]
    fn prefixes_of_text() {
        let read = |text| {
            let parsed = parse_f64(text);
            (parsed.value, parsed.no_number, parsed.truncated, parsed.overflow)
        };
        assert_eq!(read(" 12.5e1x"), (125.0, false, true, false));
        assert_eq!(read("1e"), (1.0, false, true, false));
        assert_eq!(read(".5 "), (0.5, false, false, false));
        assert_eq!(read("abc"), (0.0, true, true, false));
        assert_eq!(read(""), (0.0, true, false, false));
        assert_eq!(read("-1e400"), (f64::MIN, false, false, true));
        assert_eq!(read("inf"), (0.0, true, true, false));
        assert_eq!(read("0x10"), (0.0, false, true, false));
        assert_eq!(parse_integer("12abc").value, 12);
        assert!(parse_integer("1.5").truncated);
        assert_eq!(parse_integer("99999999999999999999").value, i128::from(u64::MAX));
        assert_eq!(parse_integer("-99999999999999999999").value, i128::from(i64::MIN));
        assert_eq!(parse_integer_rounded("1e3").value, 1000);
        assert_eq!(parse_integer_rounded("-1.5").value, -2);
        assert!(parse_integer_rounded("1e30").overflow);
    }

    #[test]
    fn temporals_are_numbers() {
        let time = crate::Time::from_micros(-500_000).unwrap();
        assert_eq!(temporal_to_decimal(&Value::Time(time)).unwrap().to_string(), "-0.500000");
    }

    proptest! {
        #[test]
        fn printed_doubles_read_back(number in any::<f64>()) {
            if number.is_finite() {
                prop_assert_eq!(parse_f64(&double(number)).value, number);
            }
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,12}", number in "[-+ 0-9.eE]{0,30}") {
            for text in [text, number] {
                let _ = (parse_f64(&text), parse_integer(&text), parse_integer_rounded(&text));
            }
        }
    }
}
