//! The result of a query: the status, and files of rows that are read again as SQL.
//!
//! A file has a row per line, its values separated by comma and blank, texts in double quotes with quotes in them doubled,
//! and `NULL` where there is no value.

use crate::quote::{self, Dialect};

/// The status of a query that succeeded: the rows written, and names and types of the columns.
pub fn status<'a>(rows: u64, columns: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = format!("QUERY_OK {rows} (");
    for (at, (name, type_text)) in columns.into_iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        quote::push_name(name, &mut out);
        out.push(' ');
        out.push_str(type_text);
    }
    out.push(')');
    out
}

/// The status of a query whose file is there already.
pub const FILE_EXISTS: &str = "QUERY_ERROR Output file exists";
/// The status of a query of a path that is no table.
pub const NO_TABLE: &str = "QUERY_ERROR: No data partitions found";

/// The status of a query that failed.
pub fn failed(code: i32) -> String {
    format!("QUERY_ERROR processSelect reported error: {code}")
}

/// A value of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FileValue<'a> {
    /// A number or NULL, as it stands there.
    Word(&'a str),
    /// A text.
    Text(String),
}

/// The rows of a file as `INSERT INTO target VALUES (…),(…)`; `None` if there is none.
pub fn insert_statement(content: &str, target: &str, dialect: Dialect) -> Option<String> {
    let mut out = String::from("INSERT INTO ");
    push_target(target, &mut out);
    out.push_str(" VALUES ");
    let mut rows = 0;
    for row in rows_of(content) {
        out.push_str(if rows > 0 { ",(" } else { "(" });
        push_values(&row, dialect, &mut out);
        out.push(')');
        rows += 1;
    }
    (rows > 0).then_some(out)
}

/// All values of a file as `(v,v,…)`; `None` if there is none.
pub fn in_list(content: &str, dialect: Dialect) -> Option<String> {
    let values: Vec<FileValue<'_>> = rows_of(content).into_iter().flatten().collect();
    if values.is_empty() {
        return None;
    }
    let mut out = String::from("(");
    push_values(&values, dialect, &mut out);
    out.push(')');
    Some(out)
}

/// `schema.table` with whatever quotes it needs.
fn push_target(target: &str, out: &mut String) {
    for (at, part) in target.splitn(2, '.').enumerate() {
        if at > 0 {
            out.push('.');
        }
        let plain = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if plain && !part.bytes().all(|byte| byte.is_ascii_digit()) {
            out.push_str(part);
        } else {
            quote::push_name(part, out);
        }
    }
}

fn push_values(values: &[FileValue<'_>], dialect: Dialect, out: &mut String) {
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        match value {
            FileValue::Word(word) => out.push_str(word),
            FileValue::Text(text) => push_line_text(text, dialect, out),
        }
    }
}

/// A text as a literal that stays on one line where backslashes are escapes.
fn push_line_text(text: &str, dialect: Dialect, out: &mut String) {
    if dialect.no_backslash_escapes {
        return dialect.push_text(text, out);
    }
    let mut literal = String::with_capacity(text.len() + 2);
    dialect.push_text(text, &mut literal);
    out.push_str(&literal.replace('\n', "\\n"));
}

fn rows_of(content: &str) -> Vec<Vec<FileValue<'_>>> {
    let mut rows = Vec::new();
    let mut rest = content;
    while !rest.is_empty() {
        let mut row = Vec::new();
        loop {
            let (value, behind) = value(rest);
            row.push(value);
            rest = behind.strip_prefix(',').unwrap_or(behind);
            if rest.len() == behind.len() {
                break;
            }
            rest = rest.trim_start_matches(' ');
        }
        rest = rest.strip_prefix('\n').unwrap_or(rest);
        rows.push(row);
    }
    rows
}

/// The value at the beginning of a text, and what follows it: a comma, a line end, or nothing.
fn value(text: &str) -> (FileValue<'_>, &str) {
    let end_of = |text: &str| text.find([',', '\n']).unwrap_or(text.len());
    let Some(inner) = text.strip_prefix('"') else {
        let (word, behind) = text.split_at(end_of(text));
        let word = word.trim();
        let value = if is_word(word) { FileValue::Word(word) } else { FileValue::Text(word.to_string()) };
        return (value, behind);
    };
    let mut content = String::new();
    let mut rest = inner;
    loop {
        let Some(at) = rest.find('"') else {
            content.push_str(rest);
            return (FileValue::Text(content), "");
        };
        content.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.strip_prefix('"') {
            Some(behind) => {
                content.push('"');
                rest = behind;
            }
            None => return (FileValue::Text(content), &rest[end_of(rest)..]),
        }
    }
}

/// Whether a word is a number or NULL, which SQL reads as it stands.
fn is_word(word: &str) -> bool {
    let plain = word.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E'));
    word == "NULL" || plain && word.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILE: &str = "1, \"it's\", NULL\n-2.5e3, \"a\"\"b, \\\nc\", x'y\n";

    #[test]
    fn statements_and_lists() {
        let dialect = Dialect::default();
        assert_eq!(
            insert_statement(FILE, "test.t", dialect).unwrap(),
            r#"INSERT INTO test.t VALUES (1,'it''s',NULL),(-2.5e3,'a"b, \\\nc','x''y')"#
        );
        assert_eq!(in_list("1\n20\n", dialect).unwrap(), "(1,20)");
        assert_eq!(in_list("", dialect), None);
        assert_eq!(insert_statement("1\n", "a b.c`d", dialect).unwrap(), "INSERT INTO `a b`.`c``d` VALUES (1)");
        let plain = Dialect { no_backslash_escapes: true };
        assert_eq!(in_list("\"a\\\nb\"", plain).unwrap(), "('a\\\nb')");
    }

    #[test]
    fn statuses() {
        assert_eq!(status(1, [("c2", "INT"), ("a`b", "DOUBLE")]), "QUERY_OK 1 (`c2` INT, `a``b` DOUBLE)");
        assert_eq!(failed(-100), "QUERY_ERROR processSelect reported error: -100");
    }

    proptest! {
        #[test]
        fn texts_come_back(values in prop::collection::vec("[a,\"'\\\\\n é]{0,8}", 1..5)) {
            let line: Vec<String> = values.iter().map(|value| format!("\"{}\"", value.replace('"', "\"\""))).collect();
            let content = format!("{}\n", line.join(", "));
            prop_assert_eq!(rows_of(&content), [values.into_iter().map(FileValue::Text).collect::<Vec<_>>()]);
        }

        #[test]
        fn any_file_is_read(content in "[1a,\"'\\\\\n N]{0,30}") {
            let _ = (insert_statement(&content, "t", Dialect::default()), in_list(&content, Dialect::default()));
        }
    }
}
