//! Very long, deep and wide statements: an answer or an error, never the end of the server.

use super::{connect, error, run, start, value, wait_until};
use squall_client::{Client, ClientError};
use squall_test_support::server::TestServer;

const MEGABYTE: usize = 1 << 20;

/// What a statement may do: give an answer, or one of MySQL's errors for what is too deep or too much.
fn survives(server: &mut TestServer, client: &mut Client, what: &str, sql: &str) -> u16 {
    let code = match client.run(sql) {
        Ok(_) => 0,
        Err(ClientError::Server(error)) => {
            // Too deep for the stack, for queries, for regular expressions, for JSON, or too much for the parser.
            assert!([1436, 1473, 1139, 3157, 3170].contains(&error.code), "{what}: {error}");
            error.code
        }
        Err(error) => panic!("{what}: {error}\n{}", server.log()),
    };
    assert!(server.is_running(), "{what}: the server died\n{}", server.log());
    assert_eq!(value(client, "SELECT 1"), "1", "{what}");
    code
}

fn nested(open: &str, inside: &str, close: &str, depth: usize) -> String {
    format!("SELECT {}{inside}{}", open.repeat(depth), close.repeat(depth))
}

/// Each form with what surrounds it `depth` times.
fn deep_statements(depth: usize) -> Vec<(&'static str, String)> {
    vec![
        ("parentheses", nested("(", "1", ")", depth)),
        ("additions in parentheses", nested("1 + (", "1", ")", depth)),
        ("function calls", nested("ABS(", "1", ")", depth)),
        ("CASE", nested("CASE WHEN 1 THEN ", "1", " ELSE 0 END", depth)),
        ("IF", nested("IF(1, ", "1", ", 0)", depth)),
        ("NOT", nested("NOT ", "1", "", depth)),
        ("minus", nested("- ", "1", "", depth)),
        ("AND in parentheses", nested("(1 AND ", "1", ")", depth)),
        ("AND and OR in turn", nested("(1 AND (0 OR ", "1", "))", depth / 2)),
        ("AND chain", format!("SELECT 1{}", " AND 1".repeat(depth))),
        ("OR chain over a column", format!("SELECT id FROM t WHERE id = 0{}", " OR id = 5".repeat(depth))),
        ("IN list", format!("SELECT id FROM t WHERE id IN (0{})", ", 5".repeat(depth))),
        ("plus chain", format!("SELECT 0{}", " + 1".repeat(depth))),
        ("CONCAT of many", format!("SELECT CONCAT('x'{})", ", 'x'".repeat(depth))),
        ("COALESCE of columns", format!("SELECT COALESCE(id{}) FROM t", ", id".repeat(depth))),
        ("scalar subqueries", nested("(SELECT ", "1", ")", depth)),
        ("correlated subqueries", correlated(depth)),
        ("derived tables", derived(depth)),
        ("EXISTS", exists(depth)),
        ("IN subqueries", in_subqueries(depth)),
        ("UNION chain", format!("SELECT 1{}", " UNION SELECT 1".repeat(depth))),
        ("query in parentheses", format!("{}SELECT 1{}", "(".repeat(depth), ")".repeat(depth))),
        ("joins in parentheses", format!("SELECT * FROM {}t{}", "(".repeat(depth), ")".repeat(depth))),
        ("common table expressions", ctes(depth)),
        ("JSON arrays", format!("SELECT JSON_DEPTH('{}{}')", "[".repeat(depth), "]".repeat(depth))),
        ("JSON_ARRAY calls", nested("JSON_ARRAY(", "1", ")", depth)),
        ("CAST AS JSON", format!("SELECT CAST('{}1{}' AS JSON)", "{\"a\":".repeat(depth), "}".repeat(depth))),
        ("JSON path", format!("SELECT JSON_EXTRACT('[]', '${}')", "[0]".repeat(depth))),
        ("insert of an expression", format!("INSERT INTO u VALUES ({}1{})", "(".repeat(depth), ")".repeat(depth))),
        ("update", format!("UPDATE u SET id = {}1{}", "1 + (".repeat(depth), ")".repeat(depth))),
        ("check constraint", format!("CREATE OR REPLACE VIEW v AS SELECT {}1{}", "(".repeat(depth), ")".repeat(depth))),
        ("SET", format!("SET @a = {}1{}", "(".repeat(depth), ")".repeat(depth))),
        ("EXPLAIN", format!("EXPLAIN SELECT {}1{}", "1 + (".repeat(depth), ")".repeat(depth))),
        ("comment", format!("SELECT 1 {} */", "/* ".repeat(depth))),
        ("regular expression", format!("SELECT 'a' REGEXP '{}a{}'", "(".repeat(depth), ")".repeat(depth))),
        ("LIKE", format!("SELECT '{}' LIKE '{}b'", "a".repeat(depth), "%a".repeat(depth.min(2000)))),
    ]
}

fn correlated(depth: usize) -> String {
    let mut sql = "SELECT 1 FROM t t0".to_owned();
    for level in 1..=depth {
        sql += &format!(" WHERE t{}.id = (SELECT MAX(t{level}.id) FROM t t{level}", level - 1);
    }
    sql + &")".repeat(depth)
}

fn derived(depth: usize) -> String {
    let mut sql = "SELECT * FROM ".to_owned();
    sql += &"(SELECT * FROM ".repeat(depth);
    sql += "t";
    for level in 0..depth {
        sql += &format!(") d{level}");
    }
    sql
}

fn exists(depth: usize) -> String {
    let mut sql = "SELECT 1 FROM t WHERE ".to_owned();
    sql += &"EXISTS (SELECT 1 FROM t WHERE ".repeat(depth);
    sql + "1" + &")".repeat(depth)
}

fn in_subqueries(depth: usize) -> String {
    let mut sql = "SELECT 1 FROM t WHERE ".to_owned();
    sql += &"id IN (SELECT id FROM t WHERE ".repeat(depth);
    sql + "1" + &")".repeat(depth)
}

fn ctes(depth: usize) -> String {
    let mut sql = "WITH c0 AS (SELECT 1 AS x)".to_owned();
    for level in 1..=depth {
        sql += &format!(", c{level} AS (SELECT x FROM c{})", level - 1);
    }
    sql + &format!(" SELECT * FROM c{depth}")
}

fn tables(client: &mut Client) {
    run(client, "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (5)");
    run(client, "CREATE TABLE u (id BIGINT)");
}

#[test]
fn thirty_levels_are_answered() {
    let mut server = start();
    let mut client = connect(&server);
    tables(&mut client);
    for (what, sql) in deep_statements(30) {
        assert_eq!(survives(&mut server, &mut client, what, &sql), 0, "{what}");
    }
}

#[test]
fn a_thousand_levels_are_answered_or_refused() {
    let mut server = start();
    let mut client = connect(&server);
    tables(&mut client);
    for (what, sql) in deep_statements(1000) {
        survives(&mut server, &mut client, what, &sql);
    }
    assert_eq!(value(&mut client, &nested("(", "7", ")", 1000)), "7");
    assert_eq!(value(&mut client, &format!("SELECT 0{}", " + 1".repeat(1000))), "1000");
}

#[test]
fn a_hundred_thousand_levels_are_answered_or_refused() {
    let mut server = start();
    let mut client = connect(&server);
    tables(&mut client);
    for (what, sql) in deep_statements(100_000) {
        survives(&mut server, &mut client, what, &sql);
    }
}

#[test]
fn sixty_one_tables_are_joined_and_sixty_two_are_not() {
    let mut server = start();
    let mut client = connect(&server);
    tables(&mut client);
    let comma = |tables: usize| {
        let names: Vec<String> = (0..tables).map(|number| format!("t t{number}")).collect();
        let conditions: Vec<String> = (1..tables).map(|number| format!("t{}.id = t{number}.id", number - 1)).collect();
        format!("SELECT COUNT(*) FROM {} WHERE {}", names.join(", "), conditions.join(" AND "))
    };
    let join = |tables: usize, kind: &str| {
        let mut sql = "SELECT COUNT(*) FROM t t0".to_owned();
        for number in 1..tables {
            sql += &format!(" {kind} JOIN t t{number} ON t{}.id = t{number}.id", number - 1);
        }
        sql
    };
    for sql in [comma(61), join(61, ""), join(61, "LEFT")] {
        assert_eq!(value(&mut client, &sql), "2");
    }
    for sql in [comma(62), join(62, ""), join(62, "LEFT")] {
        let expected = "ERROR 1116 (HY000): Too many tables; MySQL can only use 61 tables in a join";
        assert_eq!(error(&mut client, &sql), expected);
    }
    assert!(server.is_running());
}

#[test]
fn names_that_double_are_refused() {
    let mut server = start();
    let mut client = connect(&server);
    tables(&mut client);
    let expected = "ERROR 1473 (HY000): Too high level of nesting for select";
    for together in [
        "SELECT a.x FROM {} a, {} b",
        "SELECT x FROM {} UNION ALL SELECT x FROM {}",
        "SELECT (SELECT x FROM {}) + (SELECT x FROM {}) AS x",
    ] {
        let mut with = "WITH c0 AS (SELECT 1 AS x)".to_owned();
        for level in 1..=30 {
            with += &format!(", c{level} AS ({})", together.replace("{}", &format!("c{}", level - 1)));
        }
        assert_eq!(error(&mut client, &format!("{with} SELECT * FROM c30")), expected);
        assert!(server.is_running());
    }
}

#[test]
fn too_many_columns_are_refused() {
    let server = start();
    let mut client = connect(&server);
    tables(&mut client);
    let columns: Vec<String> = (0..4097).map(|number| format!("c{number} TINYINT")).collect();
    let create = format!("CREATE TABLE w ({})", columns.join(", "));
    assert_eq!(error(&mut client, &create), "ERROR 1117 (HY000): Too many columns");
    // So may a result have.
    let wide = format!("SELECT 1{}", ", 1".repeat(4095));
    assert_eq!(value(&mut client, &wide), "1");
    assert_eq!(error(&mut client, &(wide + ", 1")), "ERROR 1117 (HY000): Too many columns");
    let parameters = format!("SELECT COALESCE(?{})", ", ?".repeat(65_535));
    match client.prepare(&parameters) {
        Err(ClientError::Server(error)) => {
            assert_eq!(error.to_string(), "ERROR 1390 (HY000): Prepared statement contains too many placeholders")
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("65536 parameters"),
    }
}

#[test]
fn a_statement_of_64_megabytes_is_answered_and_its_memory_given_back() {
    let server = start();
    let mut client = connect(&server);
    tables(&mut client);
    run(&mut client, "CREATE TABLE b (id INT PRIMARY KEY, t LONGTEXT); SELECT LENGTH(REPEAT('x', 1000))");
    let before = server.resident_bytes();
    let head = "INSERT INTO b VALUES (1, '";
    let text = "x".repeat(64 * MEGABYTE - head.len() - 2 - 1);
    run(&mut client, &format!("{head}{text}')"));
    assert_eq!(value(&mut client, "SELECT LENGTH(t) FROM b"), text.len().to_string());
    // One byte more than `max_allowed_packet`, which counts the command's byte too.
    match client.run(&format!("{head}{text}x')")) {
        Err(ClientError::Server(error)) => {
            assert_eq!(error.to_string(), "ERROR 1153 (08S01): Got a packet bigger than 'max_allowed_packet' bytes")
        }
        // The server hangs up while the client still writes, so that the error may not be read.
        Err(ClientError::Io(_)) => {}
        other => panic!("{other:?}"),
    }
    let mut client = connect(&server);
    run(&mut client, "USE d");
    // Many small things instead of a big one.
    let rows = "(1),".repeat(300_000);
    run(&mut client, &format!("INSERT INTO u VALUES {rows}(2)"));
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM u"), "300001");
    let list = "1,".repeat(200_000);
    assert_eq!(value(&mut client, &format!("SELECT COUNT(*) FROM t WHERE id IN ({list}2)")), "1");
    let garbage = "1 ".repeat(30 * MEGABYTE);
    assert!(error(&mut client, &format!("SELECT {garbage}")).starts_with("ERROR 1064 (42000): You have an error"));
    run(&mut client, "DROP TABLE b; DROP TABLE u");
    if let Some(before) = before {
        let mut resident = 0;
        wait_until(&format!("memory given back ({} MB before)", before >> 20), || {
            resident = server.resident_bytes().unwrap_or_default();
            resident < before + (400 << 20)
        });
    }
}
