//! Deeply nested statements: each pair of input bytes is a form of nesting and its depth.
//!
//! All code that walks a tree (parsing, printing, copying, comparing, dropping) takes stack for each level. Running out of stack ends
//! the process by a signal, which no error handling catches.

use super::{is_limit, statements::is_same};
use crate::input::Input;
use squall_parser::{ParseOptions, digest, parse};

/// What stands before and behind what is nested.
const WAYS: &[(&str, &str)] = &[
    ("(", ")"),
    ("ABS(", ")"),
    ("CONCAT('a', ", ")"),
    ("IF(a, ", ", b)"),
    ("CASE WHEN a THEN ", " ELSE b END"),
    ("CASE ", " WHEN 1 THEN 2 END"),
    ("NOT ", ""),
    ("- ", ""),
    ("~", ""),
    ("! ", ""),
    ("BINARY ", ""),
    ("1 + ", ""),
    ("", " + 1"),
    ("", " * a"),
    ("a AND ", ""),
    ("", " OR b"),
    ("", " XOR b"),
    ("", " || b"),
    ("", " | 1"),
    ("", " IS NULL"),
    ("(", ") IS NOT TRUE"),
    ("(", ") BETWEEN 1 AND 2"),
    ("1 BETWEEN (", ") AND 2"),
    ("", " COLLATE utf8mb4_bin"),
    ("a IN (", ")"),
    ("(a, ", ") = (1, 2)"),
    ("a LIKE (", ")"),
    ("CAST(", " AS CHAR)"),
    ("INTERVAL ", " DAY + a"),
    ("JSON_ARRAY(", ")"),
    ("SUM(", ") OVER (ORDER BY a)"),
    ("GROUP_CONCAT(", " ORDER BY a)"),
    ("(SELECT ", ")"),
    ("EXISTS (SELECT ", ")"),
    ("a = ANY (SELECT ", ")"),
    ("(SELECT 1 FROM (SELECT ", ") t)"),
    ("(SELECT a FROM t JOIN (t JOIN t ON ", "))"),
    ("(SELECT 1 UNION SELECT ", ")"),
    ("(WITH c AS (SELECT ", ") SELECT 1)"),
    ("(SELECT a FROM t GROUP BY ", " WITH ROLLUP)"),
];

/// Where all of it stands.
const STATEMENTS: &[(&str, &str)] = &[
    ("SELECT ", ""),
    ("SELECT a FROM t WHERE ", " ORDER BY 1"),
    ("UPDATE t SET a = ", ""),
    ("INSERT INTO t VALUES (", ")"),
    ("CREATE VIEW v AS SELECT ", ""),
    ("CREATE TABLE t (a INT DEFAULT (", "))"),
    ("BEGIN NOT ATOMIC WHILE ", " DO SELECT 1; END WHILE; END"),
    ("SET @a = ", ""),
];

/// Longest text that is made.
const TEXT_BYTES_MAX: usize = 256 << 10;

fn statement(input: &[u8]) -> String {
    let mut input = Input::new(input);
    let (head, tail) = STATEMENTS[usize::from(input.byte()) % STATEMENTS.len()];
    let (mut before, mut behind) = (head.to_owned(), Vec::new());
    let mut bytes = head.len() + tail.len();
    for pair in input.rest().chunks_exact(2) {
        let (open, close) = WAYS[usize::from(pair[0]) % WAYS.len()];
        // 1, 2, 4, … 32,768 times, so that few bytes reach every limit.
        for _ in 0..1_u32 << (pair[1] % 16) {
            bytes += open.len() + close.len();
            if bytes > TEXT_BYTES_MAX {
                break;
            }
            before += open;
            behind.push(close);
        }
    }
    before.push('a');
    before.extend(behind.into_iter().rev());
    before + tail
}

pub fn run(input: &[u8]) {
    let sql = statement(input);
    let options = ParseOptions::default();
    digest(sql.as_bytes(), &options);
    let Ok(parsed) = parse(&sql, &options) else { return };
    let copy = parsed.statement.clone();
    assert!(copy == parsed.statement, "a copy is equal");
    drop(parsed);
    let text = copy.to_string();
    match parse(&text, &options) {
        Ok(again) => assert!(is_same(&again.statement, &copy), "what is printed is what was read"),
        Err(error) => assert!(is_limit(&error), "what is printed cannot be read: {error}"),
    }
}
