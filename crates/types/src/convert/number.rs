//! Reads numbers from the beginning of texts.

use crate::{Decimal, Value};

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
    use crate::double_text::{write_double, write_float};
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
