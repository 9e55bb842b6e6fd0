//! Floating-point numbers as MySQL prints them.
//!
//! A DOUBLE takes the fewest digits that give it back, a FLOAT at most six; both as plain decimals while the point is
//! within fifteen places, else with an exponent.

/// Decimal places up to which there is no exponent (`DBL_DIG`).
const POINT_PLACES_MAX: i32 = 15;
/// Digits after the first of a FLOAT (`FLT_DIG` − 1).
const FLOAT_FRACTION_DIGITS: usize = 5;

/// Appends a DOUBLE.
pub(crate) fn print_double(text: &mut Vec<u8>, value: f64) {
    lay_out(text, &format!("{value:e}"));
}

/// Appends a FLOAT.
pub(crate) fn print_float(text: &mut Vec<u8>, value: f64) {
    lay_out(text, &format!("{value:.FLOAT_FRACTION_DIGITS$e}"));
}

/// Lays `d.ddde±n` out as MySQL does.
fn lay_out(text: &mut Vec<u8>, scientific: &str) {
    let (sign, unsigned) = match scientific.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", scientific),
    };
    let Some((mantissa, exponent)) = unsigned.split_once('e') else {
        // Infinities and NaN, which no MySQL value is.
        text.extend_from_slice(scientific.as_bytes());
        return;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(|character| *character != '.').collect();
    let digits = match digits.trim_end_matches('0') {
        "" => return text.push(b'0'),
        digits => digits,
    };
    let point = exponent + 1;
    text.extend_from_slice(sign.as_bytes());
    if !(1 - POINT_PLACES_MAX..=POINT_PLACES_MAX).contains(&point) {
        text.extend_from_slice(&digits.as_bytes()[..1]);
        if digits.len() > 1 {
            text.push(b'.');
            text.extend_from_slice(&digits.as_bytes()[1..]);
        }
        text.push(b'e');
        text.extend_from_slice(exponent.to_string().as_bytes());
    } else if point <= 0 {
        text.extend_from_slice(b"0.");
        text.extend(std::iter::repeat_n(b'0', point.unsigned_abs() as usize));
        text.extend_from_slice(digits.as_bytes());
    } else {
        let point = point as usize;
        if digits.len() <= point {
            text.extend_from_slice(digits.as_bytes());
            text.extend(std::iter::repeat_n(b'0', point - digits.len()));
        } else {
            text.extend_from_slice(&digits.as_bytes()[..point]);
            text.push(b'.');
            text.extend_from_slice(&digits.as_bytes()[point..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_print_as_mysql_prints_them() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (0.1, "0.1"),
            (-1.5, "-1.5"),
            (1e14, "100000000000000"),
            (1e15, "1e15"),
            (1e20, "1e20"),
            (123_456_789_012_345_680.0, "1.2345678901234568e17"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (1.5e300, "1.5e300"),
            (1234.5678, "1234.5678"),
        ] {
            let mut text = Vec::new();
            print_double(&mut text, value);
            assert_eq!(String::from_utf8_lossy(&text), expected);
        }
    }

    #[test]
    fn floats_have_six_digits() {
        for (value, expected) in
            [(0.1_f32, "0.1"), (16_777_216.0, "16777200"), (2.718_281_8, "2.71828"), (1e20, "1e20")]
        {
            let mut text = Vec::new();
            print_float(&mut text, f64::from(value));
            assert_eq!(String::from_utf8_lossy(&text), expected);
        }
    }
}
