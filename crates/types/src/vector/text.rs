//! Vectors as text: `[1,2.5,-3e2]`.

use super::DIMENSIONS_MAX;
use std::fmt::Write;

/// Why a text is no vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextError {
    /// It is not a list of numbers in brackets, or a number does not fit 32 bits.
    Malformed,
    /// It has more than [`DIMENSIONS_MAX`] numbers.
    TooManyDimensions,
}

/// The bytes of the vector that a text writes: numbers with commas between them in brackets, with blanks around each. Numbers are those
/// of C: decimal or hexadecimal, neither infinite nor too small for all their digits.
///
/// # Errors
/// When the text is none.
pub fn parse(text: &str) -> Result<Vec<u8>, TextError> {
    let list = trimmed(text).strip_prefix('[').ok_or(TextError::Malformed)?;
    let list = list.strip_suffix(']').ok_or(TextError::Malformed)?;
    let mut bytes = Vec::new();
    for (count, number) in list.split(',').enumerate() {
        if count == DIMENSIONS_MAX as usize {
            return Err(TextError::TooManyDimensions);
        }
        let number = parse_number(trimmed(number)).ok_or(TextError::Malformed)?;
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    Ok(bytes)
}

/// Without C's blanks around it.
fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r'])
}

fn parse_number(text: &str) -> Option<f32> {
    let (negative, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    let (number, is_zero) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => hexadecimal(digits)?,
        None => decimal(digits)?,
    };
    let is_held = number.is_normal() || number == 0.0 && is_zero;
    is_held.then_some(if negative { -number } else { number })
}

/// The number, and whether it is written as zero.
fn decimal(digits: &str) -> Option<(f32, bool)> {
    // Rust also reads the names of infinity and NaN, and a second sign.
    let is_decimal = |digit: char| digit.is_ascii_digit() || matches!(digit, '.' | 'e' | 'E' | '+' | '-');
    if !digits.chars().all(is_decimal) || digits.starts_with(['+', '-']) {
        return None;
    }
    let mantissa = digits.split(['e', 'E']).next().unwrap_or_default();
    Some((digits.parse().ok()?, mantissa.chars().all(|digit| matches!(digit, '0' | '.'))))
}

/// The same of C's hexadecimal form `1.8p3`, behind `0x`.
fn hexadecimal(text: &str) -> Option<(f32, bool)> {
    /// Digits that a double holds without loss; all that come after them only say how large the number is.
    const EXACT: u32 = 13;
    /// Beyond this every number is infinite or zero.
    const EXPONENT_MAX: i32 = 10_000;
    let (digits, exponent) = match text.split_once(['p', 'P']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?.clamp(-EXPONENT_MAX, EXPONENT_MAX)),
        None => (text, 0),
    };
    let (mut mantissa, mut significant, mut scale) = (0_u64, 0, 0_i32);
    let (mut count, mut after_point) = (0, false);
    for digit in digits.chars() {
        if digit == '.' && !after_point {
            after_point = true;
            continue;
        }
        let digit = digit.to_digit(16)?;
        count += 1;
        scale = scale.saturating_sub(if after_point { 4 } else { 0 });
        if significant == EXACT {
            scale = scale.saturating_add(4);
            continue;
        }
        mantissa = mantissa * 16 + u64::from(digit);
        significant += u32::from(mantissa > 0);
    }
    let number = mantissa as f64 * f64::from(exponent.saturating_add(scale)).exp2();
    (count > 0).then_some((number as f32, mantissa == 0))
}

/// The text of a vector's numbers, each with six digits, as C's `%.5e` writes it.
pub fn print(numbers: impl Iterator<Item = f32>) -> String {
    let mut text = String::from("[");
    for (at, number) in numbers.enumerate() {
        if at > 0 {
            text.push(',');
        }
        let sign = if number.is_sign_negative() { "-" } else { "" };
        // Writing to a String cannot fail.
        let _ = match number.abs() {
            number if number.is_nan() => write!(text, "{sign}nan"),
            number if number.is_infinite() => write!(text, "{sign}inf"),
            number => write_number(&mut text, sign, number),
        };
    }
    text.push(']');
    text
}

fn write_number(text: &mut String, sign: &str, number: f32) -> std::fmt::Result {
    let start = text.len();
    write!(text, "{sign}{number:.5e}")?;
    let Some(end) = text[start..].find('e').map(|at| start + at) else { return Ok(()) };
    let exponent: i32 = text[end + 1..].parse().unwrap_or_default();
    text.truncate(end);
    write!(text, "e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::numbers;

    fn read(text: &str) -> Option<Vec<f32>> {
        parse(text).ok().map(|bytes| numbers(&bytes).collect())
    }

    #[test]
    fn texts_are_read_as_c_reads_numbers() {
        assert_eq!(read("[1.05, -17.8, 32]"), Some(vec![1.05, -17.8, 32.0]));
        assert_eq!(read(" \t[ 1. ,\n.5,+2 ] \u{b}"), Some(vec![1.0, 0.5, 2.0]));
        assert_eq!(read("[0x10,0x1.8p3,-0X.8,0x1P-2]"), Some(vec![16.0, 12.0, -0.5, 0.25]));
        assert_eq!(read("[0x123456789abcdef01p-60]"), Some(vec![18.204_445]));
        assert_eq!(read("[0,-0.0e9,0x0]"), Some(vec![0.0, -0.0, 0.0]));
        let wrong =
            ["", "[", "]", "[]", "1,2", "[1", "1]", "[1,]", "[,1]", "[1 2]", "[1x]", "[inf]", "[nan]", "[1e]", "[--1]"];
        let outside =
            ["[3.5e38]", "[1e-40]", "[1e-400]", "[0x1p128]", "[0x1p-200]", "[0x]", "[0x.]", "[0x1p]", "[[1]]", "[1]]"];
        for text in wrong.into_iter().chain(outside) {
            assert_eq!(parse(text), Err(TextError::Malformed), "{text}");
        }
    }

    #[test]
    fn there_are_no_more_dimensions_than_a_column_has() {
        let list = |count: usize| format!("[{}]", vec!["1"; count].join(","));
        assert!(parse(&list(DIMENSIONS_MAX as usize)).is_ok());
        assert_eq!(parse(&list(DIMENSIONS_MAX as usize + 1)), Err(TextError::TooManyDimensions));
    }

    #[test]
    fn numbers_are_written_with_six_digits() {
        let numbers = [0.1, 99_999.95, 0.000_015, 123_456.0, -0.0, f32::MAX, f32::NEG_INFINITY, f32::NAN];
        let expected = "[1.00000e-01,1.00000e+05,1.50000e-05,1.23456e+05,-0.00000e+00,3.40282e+38,-inf,nan]";
        assert_eq!(print(numbers.into_iter()), expected);
    }
}
