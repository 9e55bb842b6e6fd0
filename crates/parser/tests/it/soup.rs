//! Random sequences of tokens: each is parsed or refused, and a parsed one prints as a text with the same tree.

use proptest::prelude::*;
use squall_parser::{ParseOptions, digest, parse, parse_bytes};

const TOKENS: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "HAVING",
    "ORDER BY",
    "LIMIT",
    "UNION",
    "ALL",
    "DISTINCT",
    "VALUES",
    "ROW",
    "TABLE",
    "WITH",
    "AS",
    "RECURSIVE",
    "INSERT",
    "INTO",
    "REPLACE",
    "UPDATE",
    "SET",
    "DELETE",
    "USING",
    "JOIN",
    "LEFT",
    "RIGHT",
    "NATURAL",
    "ON",
    "AND",
    "OR",
    "NOT",
    "XOR",
    "IS",
    "NULL",
    "TRUE",
    "IN",
    "BETWEEN",
    "LIKE",
    "ESCAPE",
    "REGEXP",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "CAST",
    "CONVERT",
    "INTERVAL",
    "DAY",
    "BINARY",
    "COLLATE",
    "EXISTS",
    "ANY",
    "count(",
    "sum(",
    "f(",
    "OVER",
    "PARTITION BY",
    "ROWS",
    "CREATE",
    "DROP",
    "ALTER",
    "ADD",
    "COLUMN",
    "INDEX",
    "KEY",
    "PRIMARY",
    "UNIQUE",
    "VIEW",
    "PROCEDURE",
    "FUNCTION",
    "TRIGGER",
    "BEGIN",
    "DECLARE",
    "IF",
    "WHILE",
    "DO",
    "RETURN",
    "DEFAULT",
    "INT",
    "VARCHAR(10)",
    "CHARACTER SET",
    "utf8mb4",
    "SHOW",
    "TABLES",
    "VARIABLES",
    "GRANT",
    "REVOKE",
    "TO",
    "EXPLAIN",
    "FOR",
    "DUPLICATE",
    "IGNORE",
    "DIV",
    "MOD",
    "GLOBAL",
    "SESSION",
    "MEMBER",
    "OF",
    "SOUNDS",
    "MATCH",
    "AGAINST",
    "(",
    ")",
    "(",
    ")",
    ",",
    ";",
    ".",
    "*",
    "+",
    "-",
    "/",
    "%",
    "=",
    "<=>",
    "<>",
    ":=",
    "||",
    "&&",
    "!",
    "~",
    "^",
    "->",
    "->>",
    "?",
    "@",
    "@@",
    "@a",
    "@@b",
    "a",
    "b",
    "t",
    "`q`",
    "\"s\"",
    "'s'",
    "1",
    "1.5",
    "1e3",
    "0x41",
    "x'41'",
    "b'1'",
    "_utf8mb4",
    "N'n'",
    "{",
    "}",
    "d",
    "/*",
    "*/",
    "/*!",
    "/*+ h */",
    "-- ",
    "#",
    "\n",
    "\\",
    "\0",
    "é",
    "💥",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(TOKENS), 0..24).prop_map(|tokens| tokens.join(" "))
}

/// Something that parses more often than not.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(
        &[
            "1",
            "2.5",
            "1e1",
            "'s'",
            "NULL",
            "a",
            "t.b",
            "`x y`",
            "@v",
            "@@v",
            "?",
            "now()",
            "count(*)",
            "x'00'",
            "DATE'x'",
            "_latin1'x' COLLATE latin1_bin",
            "CURRENT_USER",
            "(SELECT 1)",
            "EXISTS (SELECT 1)",
            "f(1, a)",
        ][..],
    )
    .prop_map(str::to_string);
    leaf.prop_recursive(6, 64, 3, |inner| {
        let operators = prop::sample::select(
            &[
                " + ",
                " - ",
                " * ",
                " / ",
                " DIV ",
                " % ",
                " ^ ",
                " & ",
                " | ",
                " << ",
                " = ",
                " <=> ",
                " < ",
                " AND ",
                " OR ",
                " XOR ",
                " LIKE ",
                " NOT LIKE ",
                " REGEXP ",
                " SOUNDS LIKE ",
                " BETWEEN 1 AND ",
                " || ",
                " && ",
            ][..],
        );
        let before = prop::sample::select(&["- ", "NOT ", "! ", "~ ", "BINARY ", "@v := ", "+ ", ""][..]);
        let after = prop::sample::select(&[" IS NULL", " IS NOT TRUE", " IN (1, 2)", " COLLATE utf8mb4_bin", ""][..]);
        prop_oneof![
            (inner.clone(), operators, inner.clone()).prop_map(|(left, op, right)| format!("{left}{op}{right}")),
            (before, inner.clone()).prop_map(|(op, operand)| format!("{op}{operand}")),
            (inner.clone(), after).prop_map(|(operand, op)| format!("{operand}{op}")),
            inner.clone().prop_map(|inner| format!("({inner})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("CASE WHEN {a} THEN {b} END")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}, {b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("{a} + INTERVAL {b} DAY")),
        ]
    })
}

/// What is parsed prints as text that parses to the same.
fn check(sql: &str) -> Result<(), TestCaseError> {
    let options = ParseOptions::default();
    digest(sql.as_bytes(), &options);
    if let Ok(parsed) = parse(sql, &options) {
        let text = parsed.statement.to_string();
        match parse(&text, &options) {
            Ok(again) => prop_assert_eq!(again.statement, parsed.statement, "{}", text),
            Err(error) => return Err(TestCaseError::fail(format!("{text}: {error}"))),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn tokens(sql in soup()) {
        check(&sql)?;
        check(&format!("SELECT {sql}"))?;
        check(&format!("CREATE PROCEDURE p() BEGIN {sql} END"))?;
    }

    #[test]
    fn expressions(sql in expression()) {
        check(&format!("SELECT {sql}"))?;
        check(&format!("SELECT 1 FROM t WHERE {sql} GROUP BY {sql}"))?;
    }

    #[test]
    fn bytes(sql in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = parse_bytes(&sql, &ParseOptions::default());
        digest(&sql, &ParseOptions::default());
    }
}
