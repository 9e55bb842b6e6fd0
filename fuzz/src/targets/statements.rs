//! Any text as a statement: no panic, and a parsed statement prints as a text that parses to the same tree.

use crate::input::Input;
use squall_parser::ast::Statement;
use squall_parser::{ParseOptions, digest, introduced_strings, parse, parse_bytes};

pub fn run(input: &[u8]) {
    let mut input = Input::new(input);
    let modes = input.byte();
    let sql = input.rest();
    let options = ParseOptions {
        ansi_quotes: modes & 1 != 0,
        pipes_as_concat: modes & 2 != 0,
        no_backslash_escapes: modes & 4 != 0,
        ignore_space: modes & 8 != 0,
        high_not_precedence: modes & 16 != 0,
        real_as_float: modes & 32 != 0,
        ..ParseOptions::default()
    };
    digest(sql, &options);
    for string in introduced_strings(sql, &options) {
        assert!(matches!(sql[string.start], b'\'' | b'"'));
    }
    let Ok(parsed) = parse_bytes(sql, &options) else {
        return;
    };
    // Bytes that are no text are printed as hexadecimal literals; what is printed is read with `||` as OR.
    if std::str::from_utf8(sql).is_ok() && !options.pipes_as_concat {
        let text = parsed.statement.to_string();
        match parse(&text, &ParseOptions::default()) {
            Ok(again) => assert!(is_same(&again.statement, &parsed.statement), "{text}"),
            // Every operator has its parentheses in what is printed, so that a long text without any may be nested too deep, or too long.
            Err(error) if super::is_limit(&error) => {}
            Err(error) => panic!("{text}: {error}"),
        }
    }
}

/// Whether two trees are the same, wherever their deep parts are in boxes of their own: printed text has other levels than what it was
/// made of.
pub(super) fn is_same(one: &Statement, other: &Statement) -> bool {
    one == other || levels(one) == levels(other)
}

/// A tree as text, without the boxes around deep parts and without places in what it was made of.
fn levels(statement: &Statement) -> String {
    let text = format!("{statement:?}").replace("Deep(", "").replace(')', "");
    let mut parts = text.split("span: ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.trim_start_matches(|place: char| place.is_ascii_digit() || place == '.'))
}
