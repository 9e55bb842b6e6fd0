//! Digests.

use squall_parser::{ParseOptions, digest};

fn text(sql: &str) -> String {
    digest(sql.as_bytes(), &ParseOptions::default()).text
}

#[test]
fn texts() {
    for (sql, expected) in [
        ("select c from t where id=42", "SELECT `c` FROM `t` WHERE `id` = ?"),
        ("select /* x */ c -- y\n from t where id in (1, 2, 'a')", "SELECT `c` FROM `t` WHERE `id` IN (...)"),
        ("select 1 where a in (1)", "SELECT ? WHERE `a` IN (?)"),
        ("insert into t values (1,2),(3,-4),(5,6)", "INSERT INTO `t` VALUES (...) /* , ... */"),
        ("select a in (1,2 , 3,4.5,6e7,8,0x9,10, -11,12)", "SELECT `a` IN (...)"),
        ("select 1, 2,3 ,4,5x,6,7,8 from t", "SELECT ?, ... , `5x` , ?, ... FROM `t`"),
        ("select 1, 2, 3, 4, 5", "SELECT ?, ..."),
        ("insert into t values (1),(null)", "INSERT INTO `t` VALUES (?) /* , ... */"),
        ("insert into t values (1, now()),(3, now())", "INSERT INTO `t` VALUES ( ? , NOW ( ) ) , ( ? , NOW ( ) )"),
        ("select a - 1, -1, a from t limit 1, 2", "SELECT `a` - ?, ... , `a` FROM `t` LIMIT ?, ..."),
        ("select a is null, a is not null, null", "SELECT `a` IS NULL , `a` IS NOT NULL , ?"),
        ("select count(*) from a.b where x'00' = \"x\" 'y'", "SELECT COUNT ( * ) FROM `a` . `b` WHERE ? = ?"),
        ("select @a, @@global.b, ?", "SELECT @ a , @@ GLOBAL . `b` , ?"),
        ("select 1; select 2", "SELECT ?"),
        ("select 'abc", "SELECT"),
        ("", ""),
    ] {
        assert_eq!(text(sql), expected, "{sql}");
    }
}

#[test]
fn hashes() {
    let hash = |sql: &str| digest(sql.as_bytes(), &ParseOptions::default()).hash;
    assert_eq!(hash("select 1"), hash("SELECT  'x'"));
    assert_ne!(hash("select 1"), hash("select 1 + 1"));
}

/// What comes behind 1024 bytes of tokens is in no digest, however long the statement is.
#[test]
fn long_statements_are_cut() {
    let sums = |count: usize| format!("SELECT {}1", "a + ".repeat(count));
    // SELECT has two bytes, a name five, a sign two.
    let expected = format!("SELECT {}`a`", "`a` + ".repeat(145));
    assert_eq!(text(&sums(1000)), text(&sums(1_000_000)));
    assert_eq!(text(&sums(1000)), format!("{expected} +"));
    // Rows of values are one piece, and what follows them counts.
    let rows = |tail: &str| format!("INSERT INTO t VALUES {}(1){tail}", "(1),".repeat(100_000));
    assert_ne!(text(&rows("")), text(&rows(" ON DUPLICATE KEY UPDATE a = 1")));
}
