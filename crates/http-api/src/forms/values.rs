//! Values as texts and as JSON.

use super::Cell;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use squall_file_formats::text::push_json_string;
use squall_session::api::ColumnMeta;
use squall_types::convert::write_text;
use squall_types::{SqlType, Value};
use std::borrow::Cow;
use std::io::Write as _;

/// The greatest integer up to which all integers are numbers of JavaScript.
const SAFE_MAX: u64 = (1 << 53) - 1;

/// Appends a value's text, as SQL prints it; bytes as they are, BIT as a number.
pub fn push_text(cell: Cell<'_>, sql_type: &SqlType, out: &mut Vec<u8>) {
    let value = match cell {
        Cell::Null => return,
        Cell::Bytes(bytes) => return out.extend_from_slice(bytes),
        Cell::UInt(bits) if matches!(sql_type, SqlType::Bit { .. }) => {
            // Writing to memory cannot fail.
            let _ = write!(out, "{bits}");
            return;
        }
        Cell::Int(value) => Value::Int(value),
        Cell::UInt(value) => Value::UInt(value),
        Cell::Double(value) => Value::Double(value),
        Cell::Decimal(value) => Value::Decimal(value),
        Cell::Date(value) => Value::Date(value),
        Cell::DateTime(value) => Value::DateTime(value),
        Cell::Time(value) => Value::Time(value),
    };
    write_text(&value, sql_type, out);
}

/// Whether values of a type are sent in base64.
pub fn is_binary(sql_type: &SqlType) -> bool {
    sql_type.is_binary_string()
}

/// Appends bytes as a JSON string in base64.
pub fn push_base64(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    // The room is exactly what is needed.
    let written = STANDARD.encode_slice(bytes, &mut out[start..]).unwrap_or(0);
    out.truncate(start + written);
    out.push(b'"');
}

/// Appends a value as JSON: numbers that JavaScript has exactly as numbers, others and DECIMAL as strings unless `exact`; bytes in base64;
/// JSON as it is.
pub fn push_json_value(cell: Cell<'_>, sql_type: &SqlType, exact: bool, out: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    match cell {
        Cell::Null => out.extend_from_slice(b"null"),
        Cell::Int(value) if exact || value.unsigned_abs() <= SAFE_MAX => drop(write!(out, "{value}")),
        Cell::Int(value) => drop(write!(out, "\"{value}\"")),
        Cell::UInt(value) if exact || value <= SAFE_MAX => drop(write!(out, "{value}")),
        Cell::UInt(value) => drop(write!(out, "\"{value}\"")),
        Cell::Double(value) if !value.is_finite() => out.extend_from_slice(b"null"),
        Cell::Double(_) => push_text(cell, &without_zerofill(sql_type), out),
        Cell::Decimal(_) if exact => push_text(cell, &without_zerofill(sql_type), out),
        Cell::Bytes(bytes) if *sql_type == SqlType::Json => out.extend_from_slice(bytes),
        Cell::Bytes(bytes) if is_binary(sql_type) => push_base64(bytes, out),
        Cell::Bytes(bytes) => match String::from_utf8_lossy(bytes) {
            Cow::Borrowed(text) => push_json_string(text, out),
            Cow::Owned(text) => push_json_string(&text, out),
        },
        Cell::Decimal(_) | Cell::Date(_) | Cell::DateTime(_) | Cell::Time(_) => {
            // Digits and marks need no escapes.
            out.push(b'"');
            push_text(cell, sql_type, out);
            out.push(b'"');
        }
    }
}

/// A number with zeros before it is no JSON.
pub fn without_zerofill(sql_type: &SqlType) -> Cow<'_, SqlType> {
    if matches!(sql_type, SqlType::Int { zerofill: true, .. } | SqlType::Year) {
        // As which integers are printed alike, but for the zeros.
        return Cow::Owned(SqlType::BIGINT);
    }
    let mut sql_type = Cow::Borrowed(sql_type);
    if let SqlType::Decimal { zerofill: true, .. }
    | SqlType::Float { zerofill: true, .. }
    | SqlType::Double { zerofill: true, .. } = &*sql_type
        && let SqlType::Decimal { zerofill, .. } | SqlType::Float { zerofill, .. } | SqlType::Double { zerofill, .. } =
            sql_type.to_mut()
    {
        *zerofill = false;
    }
    sql_type
}

/// How the members of an object begin that is a row: with what stands before the value, and the value's type.
pub fn members(columns: &[ColumnMeta]) -> Vec<(Vec<u8>, SqlType)> {
    let member = |(at, column): (usize, &ColumnMeta)| {
        let mut text = vec![if at == 0 { b'{' } else { b',' }];
        push_json_string(&column.name, &mut text);
        text.push(b':');
        (text, column.sql_type.clone())
    };
    columns.iter().enumerate().map(member).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_types::{CollationId, Decimal};

    fn json(cell: Cell<'_>, sql_type: &SqlType, exact: bool) -> String {
        let mut out = Vec::new();
        push_json_value(cell, sql_type, exact, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn values_are_json() {
        let text = SqlType::longtext(CollationId::UTF8MB4_BIN);
        let decimal = Cell::Decimal(Decimal::parse("-1.50").value);
        let zerofill = SqlType::Decimal { precision: 6, scale: 2, unsigned: true, zerofill: true };
        for (cell, sql_type, plain, exact) in [
            (Cell::Null, &text, "null", "null"),
            (Cell::Int(-9_007_199_254_740_991), &SqlType::BIGINT, "-9007199254740991", "-9007199254740991"),
            (Cell::Int(-9_007_199_254_740_992), &SqlType::BIGINT, "\"-9007199254740992\"", "-9007199254740992"),
            (Cell::UInt(u64::MAX), &SqlType::BIGINT_UNSIGNED, "\"18446744073709551615\"", "18446744073709551615"),
            (Cell::Double(1.5), &SqlType::DOUBLE, "1.5", "1.5"),
            (Cell::Double(1e300), &SqlType::DOUBLE, "1e300", "1e300"),
            (decimal, &SqlType::decimal(4, 2), "\"-1.50\"", "-1.50"),
            (Cell::Decimal(Decimal::parse("1.5").value), &zerofill, "\"0001.50\"", "1.50"),
            (Cell::Bytes(b"a\"\n\x01\xc3\xa9"), &text, "\"a\\\"\\n\\u0001\u{e9}\"", "\"a\\\"\\n\\u0001\u{e9}\""),
            (Cell::Bytes(b"\0\xffa"), &SqlType::longtext(CollationId::BINARY), "\"AP9h\"", "\"AP9h\""),
            (Cell::Bytes(b"{\"a\": 1}"), &SqlType::Json, "{\"a\": 1}", "{\"a\": 1}"),
            (Cell::UInt(5), &SqlType::Bit { width: 8 }, "5", "5"),
        ] {
            assert_eq!((json(cell, sql_type, false).as_str(), json(cell, sql_type, true).as_str()), (plain, exact));
        }
    }
}
