//! Values as text, as the text protocol and string functions show them.

use crate::digits::{write_int, write_uint};
use crate::double_text::{write_double, write_fixed, write_float};
use crate::hex::{write_hex, write_uuid};
use crate::{SqlType, Value};

/// Width of a ZEROFILL FLOAT without digits.
const FLOAT_WIDTH: usize = 12;
/// Width of a ZEROFILL DOUBLE without digits.
const DOUBLE_WIDTH: usize = 22;

/// Appends the text of a value of a type; nothing for NULL. Text is UTF-8, HEX and UUID their digits, byte strings and BIT their
/// bytes.
pub fn write_text(value: &Value, sql_type: &SqlType, out: &mut Vec<u8>) {
    let start = out.len();
    match (value, sql_type) {
        (Value::Null, _) => {}
        (Value::UInt(bits), SqlType::Bit { width }) => {
            let bytes = usize::from(*width).div_ceil(8).clamp(1, 8);
            out.extend_from_slice(&bits.to_be_bytes()[8 - bytes..]);
        }
        (Value::UInt(year), SqlType::Year) => {
            write_uint(*year, out);
            pad_with_zeros(out, start, 4);
        }
        (Value::UInt(ordinal), SqlType::Enum { members, .. }) => {
            let member = usize::try_from(*ordinal).ok().and_then(|ordinal| members.get(ordinal.checked_sub(1)?));
            out.extend_from_slice(member.map_or("", String::as_str).as_bytes());
        }
        (Value::UInt(mask), SqlType::Set { members, .. }) => {
            let chosen = members.iter().take(64).enumerate().filter(|(bit, _)| mask >> bit & 1 == 1);
            for (at, (_, member)) in chosen.enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(member.as_bytes());
            }
        }
        (Value::Int(number), sql_type) => {
            write_int(*number, out);
            pad_integer(sql_type, out, start);
        }
        (Value::UInt(number), sql_type) => {
            write_uint(*number, out);
            pad_integer(sql_type, out, start);
        }
        (Value::Double(number), sql_type) => {
            let (digits, zerofill, width) = match sql_type {
                SqlType::Float { digits, zerofill, .. } => (*digits, *zerofill, FLOAT_WIDTH),
                SqlType::Double { digits, zerofill, .. } => (*digits, *zerofill, DOUBLE_WIDTH),
                _ => (None, false, 0),
            };
            match (digits, sql_type) {
                (Some((_, decimals)), _) => write_fixed(*number, decimals, out),
                (None, SqlType::Float { .. }) => write_float(*number, out),
                _ => write_double(*number, out),
            }
            if zerofill {
                pad_with_zeros(out, start, digits.map_or(width, |(width, _)| usize::from(width)));
            }
        }
        (Value::Decimal(number), SqlType::Decimal { precision, scale, zerofill, .. }) => {
            number.rescale(*scale).unwrap_or(*number).write_text(out);
            if *zerofill {
                let point = usize::from(*scale > 0);
                pad_with_zeros(out, start, usize::from(*precision) + point);
            }
        }
        (Value::Decimal(number), _) => number.write_text(out),
        (Value::String(text), _) => out.extend_from_slice(text.as_bytes()),
        (Value::Json(document), _) => out.extend_from_slice(document.text().as_bytes()),
        (Value::Bytes(bytes), SqlType::Hex { .. }) => write_hex(bytes, out),
        (Value::Bytes(bytes), SqlType::Uuid) => write_uuid(bytes, out),
        (Value::Bytes(bytes), _) => out.extend_from_slice(bytes),
        (Value::Date(date), SqlType::DateTime { fsp } | SqlType::Timestamp { fsp }) => {
            date.at_midnight().write_text(*fsp, out);
        }
        (Value::Date(date), _) => date.write_text(out),
        (Value::DateTime(moment), sql_type) => {
            let fsp = match sql_type {
                SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => *fsp,
                _ => natural_fsp(moment.microsecond()),
            };
            moment.write_text(fsp, out);
        }
        (Value::Time(time), sql_type) => {
            let fsp = if let SqlType::Time { fsp } = sql_type { *fsp } else { natural_fsp(time.microsecond()) };
            time.write_text(fsp, out);
        }
    }
}

/// The text of a value of a type; what is no UTF-8 is replaced. Empty for NULL.
pub fn to_text(value: &Value, sql_type: &SqlType) -> String {
    match value {
        Value::String(text) => return text.clone(),
        Value::Json(document) => return document.text().into_owned(),
        _ => {}
    }
    let mut out = Vec::new();
    write_text(value, sql_type, &mut out);
    String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// A HEX or UUID as its text; every other value as it is.
pub fn spelled_out(value: Value, sql_type: &SqlType) -> Value {
    match value {
        Value::Bytes(_) if sql_type.digit_bytes().is_some() => Value::String(to_text(&value, sql_type)),
        other => other,
    }
}

/// Fractional digits to show where the type does not say.
fn natural_fsp(microsecond: u32) -> u8 {
    if microsecond == 0 { 0 } else { 6 }
}

fn pad_integer(sql_type: &SqlType, out: &mut Vec<u8>, start: usize) {
    if let SqlType::Int { zerofill: true, display_width: Some(width), .. } = sql_type {
        pad_with_zeros(out, start, usize::from(*width));
    }
}

/// Puts zeros in front of what was written from `start` on.
fn pad_with_zeros(out: &mut Vec<u8>, start: usize, width: usize) {
    let missing = width.saturating_sub(out.len() - start);
    if missing > 0 {
        out.splice(start..start, std::iter::repeat_n(b'0', missing));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CollationId, Date, Decimal, IntWidth, Time};

    #[test]
    fn text_by_type() {
        let members: std::sync::Arc<[String]> = vec!["x".to_string(), "y".to_string()].into();
        let collation = CollationId::UTF8MB4_0900_AI_CI;
        let zerofill = SqlType::Int { width: IntWidth::Int, unsigned: true, zerofill: true, display_width: Some(5) };
        let decimal = |zerofill| SqlType::Decimal { precision: 5, scale: 2, unsigned: zerofill, zerofill };
        let float = |digits, zerofill| SqlType::Float { unsigned: false, zerofill, digits };
        for (value, sql_type, expected) in [
            (Value::Int(-5), SqlType::INT, "-5"),
            (Value::UInt(42), zerofill, "00042"),
            (Value::UInt(0x41), SqlType::Bit { width: 9 }, "\0A"),
            (Value::UInt(0), SqlType::Year, "0000"),
            (Value::UInt(2), SqlType::Enum { members: members.clone(), collation }, "y"),
            (Value::UInt(0), SqlType::Enum { members: members.clone(), collation }, ""),
            (Value::UInt(3), SqlType::Set { members, collation }, "x,y"),
            (Value::Decimal(Decimal::parse("1.5").value), decimal(false), "1.50"),
            (Value::Decimal(Decimal::parse("1.5").value), decimal(true), "001.50"),
            (Value::Double(1234.5678), float(Some((7, 3)), false), "1234.568"),
            (Value::Double(1.5), float(None, true), "0000000001.5"),
            (Value::Double(0.1), SqlType::DOUBLE, "0.1"),
            (Value::Time(Time::from_micros(1_500_000).unwrap()), SqlType::Time { fsp: 1 }, "00:00:01.5"),
            (Value::Date(Date::from_parts(2020, 1, 2).unwrap()), SqlType::Date, "2020-01-02"),
            (
                Value::DateTime(Date::from_parts(2020, 1, 2).unwrap().at_midnight()),
                SqlType::DateTime { fsp: 3 },
                "2020-01-02 00:00:00.000",
            ),
            (Value::Null, SqlType::Null, ""),
        ] {
            assert_eq!(to_text(&value, &sql_type), expected);
        }
    }
}
