//! Floating point numbers as text.

use crate::digits::write_int;
use std::fmt::Write;

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
        // Rounded to this many digits: `d.ddde±n`.
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

/// Appends a number with this many digits behind the point.
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
