//! Golden files: below each statement is the printed text of its tree, or its error.
//!
//! `UPDATE_GOLDEN=1 cargo test -p squall-parser` writes the files again; read the difference.

use std::fmt::Write;
use std::path::Path;

use squall_parser::{ParseOptions, parse};

/// Statements are parted by empty lines; lines that begin with `#` say something, those with `=` answer.
fn run(name: &str, options: &ParseOptions) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let expected = std::fs::read_to_string(&path).unwrap();
    let mut actual = String::new();
    for (index, block) in expected.trim_end().split("\n\n").enumerate() {
        if index > 0 {
            actual.push('\n');
        }
        let mut sql = String::new();
        for line in block.lines().filter(|line| !line.starts_with("= ")) {
            writeln!(actual, "{line}").unwrap();
            if !line.starts_with("# ") {
                sql.push_str(line);
                sql.push('\n');
            }
        }
        if sql.is_empty() {
            continue;
        }
        match parse(sql.trim_end(), options) {
            Ok(parsed) => {
                let text = parsed.statement.to_string();
                writeln!(actual, "= {text}").unwrap();
                // What is printed is read in the default sql_mode, where `||` is OR.
                let modes = ParseOptions { pipes_as_concat: options.pipes_as_concat, ..ParseOptions::default() };
                let again = parse(&text, &modes).unwrap_or_else(|error| panic!("{text}: {error}"));
                assert_eq!(again.statement, parsed.statement, "{text}");
            }
            Err(error) => {
                let message = error.message.split("to use ").last().unwrap_or_default();
                writeln!(actual, "= error {}: {message}", error.code).unwrap();
            }
        }
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).unwrap();
    } else {
        for (actual, expected) in actual.lines().zip(expected.lines()) {
            assert_eq!(actual, expected, "{name}");
        }
        assert_eq!(actual.len(), expected.len(), "{name}");
    }
}

macro_rules! golden {
    ($($test:ident => $file:literal,)*) => {
        $(#[test]
        fn $test() {
            run($file, &ParseOptions::default());
        })*
    };
}

golden! {
    expressions => "expressions.txt",
    functions => "functions.txt",
    queries => "queries.txt",
    joins => "joins.txt",
    rows => "rows.txt",
    tables => "tables.txt",
    objects => "objects.txt",
    accounts => "accounts.txt",
    programs => "programs.txt",
    sessions => "sessions.txt",
    lexical => "lexical.txt",
}

#[test]
fn modes() {
    let options = ParseOptions {
        ansi_quotes: true,
        pipes_as_concat: true,
        no_backslash_escapes: true,
        ignore_space: true,
        high_not_precedence: true,
        real_as_float: true,
        ..ParseOptions::default()
    };
    run("modes.txt", &options);
}
