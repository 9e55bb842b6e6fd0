//! Prepares texts for an entry: cuts them, hides secrets, puts values in place of `?`, and escapes them.

use squall_parser::ParseOptions;
use squall_types::Value;

/// Appends a number in decimal.
pub fn push_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a statement as logs show it: at most `bytes_max` bytes of it, then `…[n bytes]` where n are left out, and
/// `<secret>` in place of passwords unless the text is wanted `raw`.
pub fn push_statement(out: &mut Vec<u8>, sql: &[u8], options: &ParseOptions, bytes_max: usize, raw: bool) {
    let shown = &sql[..cut(sql, bytes_max)];
    if raw {
        out.extend_from_slice(shown);
    } else {
        let mut at = 0;
        for secret in squall_parser::secrets(shown, options) {
            out.extend_from_slice(&shown[at..secret.start]);
            out.extend_from_slice(squall_parser::SECRET.as_bytes());
            at = secret.end;
        }
        out.extend_from_slice(&shown[at..]);
    }
    push_rest_mark(out, sql.len() - shown.len());
}

/// Appends a prepared statement with its values in place of the `?` at `places`. Stops at about `bytes_max` bytes.
pub fn push_executed(out: &mut Vec<u8>, sql: &[u8], places: &[usize], values: &[Value], bytes_max: usize) {
    let mut at = 0;
    for (place, value) in places.iter().zip(values) {
        if out.len() > bytes_max {
            break;
        }
        out.extend_from_slice(&sql[at..*place]);
        push_literal(out, value, bytes_max);
        at = place + 1;
    }
    out.extend_from_slice(&sql[at..]);
}

fn push_rest_mark(out: &mut Vec<u8>, left_out: usize) {
    if left_out > 0 {
        out.extend_from_slice("…[".as_bytes());
        push_number(out, left_out as u64);
        out.extend_from_slice(b" bytes]");
    }
}

/// Where to cut a text so that no character is cut.
fn cut(text: &[u8], bytes_max: usize) -> usize {
    if text.len() <= bytes_max {
        return text.len();
    }
    let mut end = bytes_max;
    // A UTF-8 character has at most three bytes that begin with 10; other bytes are not text anyway.
    while end > 0 && bytes_max - end < 3 && text[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    end
}

fn push_literal(out: &mut Vec<u8>, value: &Value, bytes_max: usize) {
    let quoted = |out: &mut Vec<u8>, text: &[u8]| {
        let shown = &text[..cut(text, bytes_max)];
        out.push(b'\'');
        for byte in shown {
            match byte {
                b'\'' => out.extend_from_slice(b"\\'"),
                b'\\' => out.extend_from_slice(b"\\\\"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                0 => out.extend_from_slice(b"\\0"),
                0x1a => out.extend_from_slice(b"\\Z"),
                byte => out.push(*byte),
            }
        }
        push_rest_mark(out, text.len() - shown.len());
        out.push(b'\'');
    };
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(number) => {
            if *number < 0 {
                out.push(b'-');
            }
            push_number(out, number.unsigned_abs());
        }
        Value::UInt(number) => push_number(out, *number),
        Value::Double(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Decimal(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::String(text) => quoted(out, text.as_bytes()),
        Value::Json(document) => quoted(out, document.text().as_bytes()),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(_) => quoted(out, bytes),
            Err(_) => push_hex(out, bytes, bytes_max),
        },
        Value::Date(date) => quoted(out, date.to_text().as_bytes()),
        Value::DateTime(at) => quoted(out, at.to_text(if at.to_micros() % 1_000_000 == 0 { 0 } else { 6 }).as_bytes()),
        Value::Time(time) => {
            quoted(out, time.to_text(if time.to_micros() % 1_000_000 == 0 { 0 } else { 6 }).as_bytes())
        }
    }
}

fn push_hex(out: &mut Vec<u8>, bytes: &[u8], bytes_max: usize) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let shown = &bytes[..bytes.len().min(bytes_max / 2)];
    out.extend_from_slice(b"x'");
    for byte in shown {
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    push_rest_mark(out, bytes.len() - shown.len());
    out.push(b'\'');
}

/// Appends text on one line: `\` and control characters are written as `\\`, `\n`, `\r`, `\t`, `\0` and `\xNN`, so that
/// no text can look like the next entry, and every text can be told from every other.
pub fn push_on_one_line(out: &mut Vec<u8>, text: &[u8], quote: Option<u8>) {
    for byte in text {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0 => out.extend_from_slice(b"\\0"),
            0x01..0x20 | 0x7f => out.extend_from_slice(format!("\\x{byte:02X}").as_bytes()),
            byte if Some(*byte) == quote => out.extend_from_slice(&[b'\\', *byte]),
            byte => out.push(*byte),
        }
    }
}

/// Appends a JSON string. Bytes that are no UTF-8 become U+FFFD.
pub fn push_json_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for chunk in text.utf8_chunks() {
        for byte in chunk.valid().bytes() {
            match byte {
                b'"' => out.extend_from_slice(b"\\\""),
                b'\\' => out.extend_from_slice(b"\\\\"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\t' => out.extend_from_slice(b"\\t"),
                0..0x20 | 0x7f => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                byte => out.push(byte),
            }
        }
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(sql: &str, bytes_max: usize) -> String {
        let mut out = Vec::new();
        push_statement(&mut out, sql.as_bytes(), &ParseOptions::default(), bytes_max, false);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn long_statements_are_cut_between_characters() {
        assert_eq!(statement("SELECT 1", 8), "SELECT 1");
        assert_eq!(statement("SELECT '☃'", 9), "SELECT '…[4 bytes]");
        assert_eq!(
            statement("CREATE USER a IDENTIFIED BY 'secret'", 31),
            "CREATE USER a IDENTIFIED BY <secret>…[5 bytes]"
        );
    }

    #[test]
    fn values_take_the_places_of_question_marks() {
        let sql = b"SELECT ?, '?', ?, ?, ?";
        let places = squall_parser::placeholders(sql, &ParseOptions::default());
        let values = [Value::Int(-5), Value::from("it's\n"), Value::Bytes(vec![0xff, 0]), Value::Null];
        let mut out = Vec::new();
        push_executed(&mut out, sql, &places, &values, 1000);
        assert_eq!(String::from_utf8(out).expect("UTF-8"), "SELECT -5, '?', 'it\\'s\\n', x'FF00', NULL");
    }

    #[test]
    fn one_line_whatever_the_text() {
        let mut out = Vec::new();
        push_on_one_line(&mut out, "a\n# b\0☃\\n\u{1}\"".as_bytes(), Some(b'"'));
        assert_eq!(String::from_utf8(out).expect("UTF-8"), "a\\n# b\\0☃\\\\n\\x01\\\"");
        let mut out = Vec::new();
        push_json_string(&mut out, b"a\n\"}\xff\0\xe2\x98\x83");
        assert_eq!(String::from_utf8(out).expect("UTF-8"), "\"a\\n\\\"}\u{fffd}\\u0000☃\"");
    }
}
