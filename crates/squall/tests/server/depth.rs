//! Statements of the promised depth get an answer on every route.

use super::{connect, error, run, start, value};
use squall_client::Client;

/// Levels of an expression that are answered.
const LEVELS: usize = 20_000;
/// Query blocks inside of each other that are answered.
const BLOCKS: usize = 1000;
/// Members of a UNION that are answered.
const MEMBERS: usize = 10_000;
/// Operators of a chain without parentheses that are answered.
const TERMS: usize = 100_000;

fn nested(open: &str, inside: &str, close: &str, depth: usize) -> String {
    format!("{}{inside}{}", open.repeat(depth), close.repeat(depth))
}

fn tables(client: &mut Client) {
    run(
        client,
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20)); INSERT INTO t VALUES (5, 'a')",
    );
    run(client, "SET max_execution_time = 0");
}

#[test]
fn deep_expressions_have_values() {
    let mut server = start();
    let mut client = connect(&server);
    tables(&mut client);
    for (open, inside, close, expected) in [
        ("(", "1", ")", "1"),
        ("(", "id", ")", "5"),
        ("ABS(", "-3", ")", "3"),
        ("ABS(", "id", ")", "5"),
        ("CASE WHEN id = 5 THEN ", "id", " ELSE 0 END", "5"),
        ("CASE ", "id", " WHEN 1 THEN 2 ELSE 1 END", "2"),
        ("NOT ", "id", "", "1"),
        ("- ", "id", "", "5"),
        ("1 + (", "id", ")", "20005"),
        ("IF(id, ", "7", ", 0)", "7"),
        ("(id AND ", "1", ")", "1"),
        ("(", "id", " BETWEEN 0 AND 9)", "1"),
    ] {
        let expr = nested(open, inside, close, LEVELS);
        assert_eq!(value(&mut client, &format!("SELECT {expr} FROM t")), expected, "{open}");
    }
    let deep = nested("ABS(", "id", ")", LEVELS);
    assert_eq!(value(&mut client, &format!("SELECT COUNT(*) FROM t WHERE {deep} = 5")), "1");
    // Equal deep expressions are equal: the selected one is the one that is grouped by.
    assert_eq!(value(&mut client, &format!("SELECT {deep} FROM t GROUP BY {deep}")), "5");
    assert!(server.is_running());
}

#[test]
fn what_is_deeper_is_refused() {
    let mut server = start();
    let mut client = connect(&server);
    tables(&mut client);
    for (open, inside, close) in [
        ("(", "1", ")"),
        ("ABS(", "id", ")"),
        ("NOT ", "1", ""),
        ("- ", "1", ""),
        ("(1, ", "1", ")"),
        ("1/(", "id", ")"),
    ] {
        let sql = format!("SELECT {} FROM t", nested(open, inside, close, 10 * LEVELS));
        let error = error(&mut client, &sql);
        assert!(error.starts_with("ERROR 1436 (HY000)"), "{open}: {error}");
        assert_eq!(value(&mut client, "SELECT 1"), "1");
    }
    assert!(server.is_running());
}

#[test]
fn long_chains_have_values() {
    let mut server = start();
    let mut client = connect(&server);
    tables(&mut client);
    for (first, term, expected) in [
        ("1", "+1", "100001"),
        ("id", "+1", "100005"),
        ("id", "-id", "-499995"),
        ("id", "|8", "13"),
        ("id", " XOR 0", "1"),
    ] {
        let sql = format!("SELECT {first}{} FROM t", term.repeat(TERMS));
        assert_eq!(value(&mut client, &sql), expected, "{first}{term}");
    }
    run(&mut client, "SET sql_mode = 'PIPES_AS_CONCAT'");
    let sql = format!("SELECT LENGTH(s{}) FROM t", "||s".repeat(TERMS));
    assert_eq!(value(&mut client, &sql), "100001");
    assert!(server.is_running());
}

/// `FROM (… FROM (… FROM t …) t1 …) t0`, as many.
fn derived(open: &str, inside: &str, close: &str) -> String {
    let tail: String = (0..BLOCKS).map(|number| close.replace('#', &number.to_string())).collect();
    open.repeat(BLOCKS) + inside + &tail
}

#[test]
fn deep_queries_have_rows() {
    let mut server = start();
    let mut client = connect(&server);
    tables(&mut client);
    let correlated: String = (0..BLOCKS).map(|number| format!("(SELECT t{number}.id + ")).collect::<String>()
        + "1"
        + &(1..BLOCKS)
            .rev()
            .map(|number| format!(" FROM t t{number} WHERE t{number}.id = t{}.id)", number - 1))
            .collect::<String>()
        + " FROM t t0)";
    let expressions: String =
        (1..BLOCKS).map(|n| format!(", c{n} AS (SELECT a FROM c{} WHERE a > 1)", n - 1)).collect();
    let mut queries = vec![
        ("scalar", format!("SELECT {}", nested("(SELECT ", "1", ")", BLOCKS)), "1".to_owned()),
        ("of rows", format!("SELECT {}", nested("(SELECT ", "id", " FROM t)", BLOCKS)), "5".to_owned()),
        ("correlated", format!("SELECT {correlated}"), (5 * BLOCKS + 1).to_string()),
        (
            "EXISTS",
            format!("SELECT 1 FROM t WHERE {}", nested("EXISTS (SELECT 1 FROM t WHERE ", "id = 5", ")", BLOCKS)),
            "1".to_owned(),
        ),
        (
            "IN",
            format!("SELECT 1 FROM t WHERE {}", nested("id IN (SELECT id FROM t WHERE ", "id = 5", ")", BLOCKS)),
            "1".to_owned(),
        ),
        ("derived", format!("SELECT id FROM {}", derived("(SELECT * FROM ", "t", ") t#")), "5".to_owned()),
        (
            "conditions",
            format!("SELECT id FROM {}", derived("(SELECT * FROM ", "t", " WHERE id > 1) t#")),
            "5".to_owned(),
        ),
        (
            "joined",
            format!("SELECT x.id FROM {}", derived("(SELECT t.id FROM t JOIN ", "t x", " ON t.id = x.id) x")),
            "5".to_owned(),
        ),
        ("grouped", format!("SELECT id FROM {}", derived("(SELECT MAX(id) id FROM ", "t", ") t#")), "5".to_owned()),
        (
            "table expressions",
            format!("WITH c0 AS (SELECT id a FROM t){expressions} SELECT a FROM c{}", BLOCKS - 1),
            "5".to_owned(),
        ),
        (
            "UNION",
            format!("SELECT MAX(a) FROM ({}) t", nested("(SELECT 1 AS a UNION ", "SELECT 2", ")", BLOCKS - 1)),
            "2".to_owned(),
        ),
    ];
    for kind in ["UNION", "UNION ALL"] {
        let union = vec!["SELECT id FROM t"; MEMBERS].join(&format!(" {kind} "));
        let rows = if kind == "UNION" { 1 } else { MEMBERS };
        queries.push((kind, format!("SELECT COUNT(*) FROM ({union}) t WHERE id = 5"), rows.to_string()));
    }
    for (what, query, expected) in queries {
        assert_eq!(value(&mut client, &query), expected, "{what}");
    }
    assert!(server.is_running());
}

#[test]
fn deep_expressions_are_stored() {
    let mut server = start();
    let mut client = connect(&server);
    tables(&mut client);
    let deep = nested("ABS(", "id", ")", 10_000);
    let sum = format!("id{}", " + 1".repeat(2000));
    let any = format!("id = 0{}", " OR id = 5".repeat(2000));
    run(&mut client, &format!("CREATE VIEW v AS SELECT {deep} AS a, {sum} AS b, {any} AS c FROM t"));
    assert_eq!(value(&mut client, "SELECT CONCAT(a, ' ', b, ' ', c) FROM v"), "5 2005 1");
    // The text of the view is one that can be read again.
    let text = value(&mut client, "SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_NAME = 'v'");
    assert_eq!(value(&mut client, &format!("SELECT b FROM ({text}) x")), "2005");
    // What could not is refused: printed, each NOT has parentheses.
    let nots = "NOT ".repeat(40_000);
    for definition in [
        format!("CREATE VIEW w AS SELECT {nots}id FROM t"),
        format!("CREATE TABLE w (id INT, b INT AS ({nots}id))"),
        format!("CREATE TABLE w (id INT DEFAULT ({nots}1))"),
        format!("CREATE TABLE w (id INT, CHECK ({nots}id))"),
        format!("CREATE TABLE w (id INT, KEY (({nots}id)))"),
    ] {
        let error = error(&mut client, &definition);
        assert!(error.starts_with("ERROR 1436 (HY000)"), "{}: {error}", &definition[..40]);
    }
    assert_eq!(error(&mut client, "SELECT 1 FROM w"), "ERROR 1146 (42S02): Table 'd.w' doesn't exist");
    run(&mut client, &format!("BEGIN NOT ATOMIC DECLARE id INT DEFAULT 3; SET @b = {deep}; END"));
    assert_eq!(value(&mut client, "SELECT @b"), "3");
    run(&mut client, &format!("PREPARE p FROM 'SELECT {} FROM t WHERE id = 5'", nested("ABS(", "?", ")", LEVELS)));
    run(&mut client, "SET @a = -4");
    assert_eq!(value(&mut client, "EXECUTE p USING @a"), "4");
    assert!(server.is_running());
}
