//! Errors: MySQL's codes and words.

use squall_parser::{ParseOptions, parse};

fn error(sql: &str) -> (u16, String) {
    let error = parse(sql, &ParseOptions::default()).expect_err(sql);
    let message = error.message.replace(
        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the \
         right syntax to use ",
        "",
    );
    (error.code, message)
}

#[test]
fn empty() {
    for sql in ["", "  ", ";", " ;", ";;", "; -- x"] {
        assert_eq!(error(sql), (1065, "Query was empty".to_string()), "{sql:?}");
    }
}

#[test]
fn syntax() {
    for (sql, near) in [
        ("SELEC 1", "near 'SELEC 1' at line 1"),
        ("SELECT", "near '' at line 1"),
        ("SELECT 1 +", "near '' at line 1"),
        ("SELECT 1\nFROM\n  WHERE", "near 'WHERE' at line 3"),
        ("SELECT * FROM t WHERE (a = 1", "near '' at line 1"),
        ("SELECT a, * FROM t", "near '* FROM t' at line 1"),
        ("SELECT 'abc", "near ''abc' at line 1"),
        ("SELECT `abc", "near '`abc' at line 1"),
        ("SELECT 1 /* x", "near '/* x' at line 1"),
        ("SELECT 1 FROM t LIMIT -1", "near '-1' at line 1"),
        ("SELECT INTERVAL 1 DAY", "near '' at line 1"),
        ("SELECT 1 = NOT 1", "near 'NOT 1' at line 1"),
        ("SELECT count (*) FROM t", "near '*) FROM t' at line 1"),
        ("SELECT a FROM t UNION", "near '' at line 1"),
        ("SELECT 1 ORDER BY 1 UNION SELECT 2", "near 'UNION SELECT 2' at line 1"),
        ("INSERT INTO t VALUES (1,)", "near ')' at line 1"),
        ("CREATE TABLE t (a INT,)", "near ')' at line 1"),
        ("CREATE TABLE select (a INT)", "near 'select (a INT)' at line 1"),
        ("CREATE TABLE t (rank INT)", "near 'rank INT)' at line 1"),
        ("DROP TABLE", "near '' at line 1"),
        ("SELECT 1 FROM", "near '' at line 1"),
        ("UPDATE t SET", "near '' at line 1"),
        ("x", "near 'x' at line 1"),
        ("CREATE", "near '' at line 1"),
        ("CREATE TEMPORARY x", "near 'x' at line 1"),
        ("SELECT database FROM t", "near 'FROM t' at line 1"),
        ("SELECT select", "near 'select' at line 1"),
        ("SELECT @@global.", "near '' at line 1"),
        ("SELECT x'4'", "near 'x'4'' at line 1"),
        ("SELECT 1; SELECT", "near '' at line 1"),
    ] {
        let sql = sql.strip_prefix("SELECT 1; ").unwrap_or(sql);
        assert_eq!(error(sql), (1064, near.to_string()), "{sql:?}");
    }
}

#[test]
fn the_text_near_is_cut() {
    let sql = format!("SELECT FROM {}", "é".repeat(200));
    let near = format!("near 'FROM {}' at line 1", "é".repeat(75));
    assert_eq!(error(&sql), (1064, near));
}

#[test]
fn others() {
    assert_eq!(error("SELECT DISTINCT ALL 1"), (1221, "Incorrect usage of ALL and DISTINCT".to_string()));
    assert_eq!(error("CREATE PROCEDURE p() a: BEGIN END b"), (1310, "End-label b without match".to_string()));
    assert_eq!(error("CREATE PROCEDURE p() SIGNAL SQLSTATE '00000'"), (1407, "Bad SQLSTATE: '00000'".to_string()));
}
