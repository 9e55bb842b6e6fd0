//! Values as MySQL prints them in "Duplicate entry '…'".

use squall_types::Value;
use std::fmt::Write;

/// Longest part of an entry shown, in characters.
const SHOWN_MAX: usize = 64;

/// Appends a value.
pub(crate) fn push(value: &Value, out: &mut String) {
    // Writing to a String cannot fail.
    let _ = match value {
        Value::Null => write!(out, "NULL"),
        Value::Int(number) => write!(out, "{number}"),
        Value::UInt(number) => write!(out, "{number}"),
        Value::Double(number) => write!(out, "{number}"),
        Value::Decimal(number) => {
            let scale = usize::from(number.scale());
            let text = number.unscaled().to_string();
            let (sign, digits) = text.strip_prefix('-').map_or(("", &text[..]), |digits| ("-", digits));
            let digits = format!("{digits:0>width$}", width = scale + 1);
            let (whole, fraction) = digits.split_at(digits.len() - scale);
            if scale == 0 { write!(out, "{sign}{whole}") } else { write!(out, "{sign}{whole}.{fraction}") }
        }
        Value::String(text) | Value::Json(text) => {
            out.extend(text.chars().take(SHOWN_MAX));
            Ok(())
        }
        Value::Bytes(bytes) => {
            for byte in bytes.iter().take(SHOWN_MAX) {
                if byte.is_ascii_graphic() || *byte == b' ' {
                    out.push(char::from(*byte));
                } else {
                    let _ = write!(out, "\\x{byte:02X}");
                }
            }
            Ok(())
        }
        Value::Date(date) => write!(out, "{:04}-{:02}-{:02}", date.year(), date.month(), date.day()),
        Value::DateTime(at) => {
            let date = at.date();
            let _ = write!(
                out,
                "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
                date.year(),
                date.month(),
                date.day(),
                at.hour(),
                at.minute(),
                at.second()
            );
            push_micros(at.microsecond(), out)
        }
        Value::Time(time) => {
            let micros = time.to_micros();
            let seconds = micros.unsigned_abs() / 1_000_000;
            let sign = if micros < 0 { "-" } else { "" };
            let _ = write!(out, "{sign}{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
            push_micros((micros.unsigned_abs() % 1_000_000) as u32, out)
        }
    };
}

fn push_micros(micros: u32, out: &mut String) -> std::fmt::Result {
    if micros == 0 { Ok(()) } else { write!(out, ".{micros:06}") }
}
