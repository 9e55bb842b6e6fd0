//! Bounds of a statement: planning takes time in proportion to the text and stops with its statement, and the memory of all operators
//! is charged.

use super::memory::small_server;
use super::{connect, run, start, value, wait_until};
use squall_client::{Client, ClientError};
use std::time::{Duration, Instant};

/// An expression around another one, in each of the ways that the binder and DataFusion have of their own.
const AROUND: &[&str] = &[
    "ABS({})",
    "IF(y, ABS({}), 0)",
    "IFNULL({}, y)",
    "COALESCE({}, y, 3)",
    "NULLIF({}, y)",
    "({} BETWEEN 0 AND 9)",
    "(1 BETWEEN {} AND 9)",
    "CASE {} WHEN 1 THEN 2 ELSE 3 END",
    "CASE WHEN {} > 1 THEN 2 ELSE 3 END",
    "CASE WHEN y THEN ABS({}) ELSE 3 END",
    "(1 + {})",
    "(-{})",
    "({} = 1)",
    "({} <=> 1)",
    "(NOT {})",
    "({} IS NULL)",
    "({} IS TRUE)",
    "({} IN (1, 2, 3))",
    "({} IN (1, y, 'a'))",
    "(({}, 1) < (2, 3))",
    "(({}, 1) IN ((1, 2), (3, 4)))",
    "({} AND y)",
    "({} OR y)",
    "({} XOR y)",
    "({} LIKE '1')",
    "CAST({} AS CHAR(3))",
    "GREATEST({}, 1)",
    "ELT({}, 1, 2)",
    "LEFT(CONCAT({}, 'a'), 3)",
    "LEFT(CONCAT({}, 'a') COLLATE utf8mb4_0900_ai_ci, 3)",
    "YEAR({})",
];

fn nested(around: &str, inside: &str, depth: usize) -> String {
    let (before, after) = around.split_once("{}").expect("a place");
    format!("{}{inside}{}", before.repeat(depth), after.repeat(depth))
}

fn derived(around: &str, depth: usize, levels: usize) -> String {
    (0..levels).fold("t".to_owned(), |from, level| {
        format!("(SELECT {} AS x, y FROM {from} d{level})", nested(around, "x", depth))
    })
}

fn table(client: &mut Client) {
    run(client, "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, x BIGINT, y BIGINT)");
    run(client, "INSERT INTO t VALUES (1, 2, 3), (2, 3, 4), (3, NULL, 0)");
}

/// The rows of a query, or the error's number.
fn rows(client: &mut Client, sql: &str) -> Result<Vec<Vec<Option<Vec<u8>>>>, u16> {
    match client.run(sql) {
        Ok(mut results) => Ok(results.pop().expect("a result").1),
        Err(ClientError::Server(error)) => Err(error.code),
        Err(error) => panic!("{}: {error}", super::beginning(sql)),
    }
}

#[test]
fn nested_expressions_cost_as_much_as_they_are_long() {
    let server = start();
    let mut client = connect(&server);
    table(&mut client);
    // What has powers of two in it does not come to an end: a limit makes an error of it.
    run(&mut client, "SET max_execution_time = 20000, sql_mode = ''");
    for around in AROUND {
        let mut answers = Vec::new();
        for route in ["AUTO", "FULL_PLANNER"] {
            run(&mut client, &format!("SET query_route = {route}"));
            let sql = format!("SELECT {} FROM t ORDER BY id", nested(around, "x", 120));
            answers.push(rows(&mut client, &sql).unwrap_or_else(|code| panic!("{around}: {code}")));
            let filter = format!("SELECT COUNT(*) FROM t WHERE {} OR 1", nested(around, "x", 120));
            assert_eq!(value(&mut client, &filter), "3", "{around}");
        }
        assert_eq!(answers[0], answers[1], "{around}");
    }
}

#[test]
fn nested_derived_tables_cost_as_much_as_they_are_long() {
    let server = start();
    let mut client = connect(&server);
    table(&mut client);
    run(&mut client, "SET max_execution_time = 30000, sql_mode = ''");
    for around in AROUND {
        let sql = format!("SELECT x, y FROM {} z ORDER BY y", derived(around, 2, 25));
        rows(&mut client, &sql).unwrap_or_else(|code| panic!("{around}: {code}"));
        // Conditions that name the column more than once.
        let sql = format!("SELECT COUNT(*) FROM {} z WHERE x > 0 OR x < 1 OR x IS NULL", derived(around, 2, 25));
        rows(&mut client, &sql).unwrap_or_else(|code| panic!("{around}: {code}"));
    }
    let deep = format!("SELECT x FROM {} z ORDER BY y", derived("ABS({})", 1000, 5));
    assert_eq!(rows(&mut client, &deep), Ok(vec![vec![None], vec![Some(b"2".to_vec())], vec![Some(b"3".to_vec())]]));
}

#[test]
fn planning_stops_with_its_statement() {
    let server = start();
    let mut observer = connect(&server);
    table(&mut observer);
    let mut victim = connect(&server);
    run(&mut victim, "USE d; SET query_route = FULL_PLANNER");
    // Long to plan whichever way it is done: many joins of many columns, many times.
    let columns: Vec<String> = (0..300).map(|number| format!("x + {number} AS c{number}")).collect();
    let wide = format!("(SELECT {} FROM t)", columns.join(", "));
    let joined: Vec<String> = (0..60).map(|number| format!("{wide} w{number}")).collect();
    let sql = format!("SELECT * FROM {}", joined.join(" JOIN "));
    for by_limit in [false, true] {
        victim
            .query(if by_limit {
                sql.replacen("SELECT", "SELECT /*+ MAX_EXECUTION_TIME(300) */", 1)
            } else {
                sql.clone()
            })
            .expect("sent");
        let id = victim.connection_id();
        let running =
            format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND command = 'Query'");
        wait_until("the statement runs", || value(&mut observer, &running) == "1");
        std::thread::sleep(Duration::from_millis(300));
        let stopped = Instant::now();
        if !by_limit {
            run(&mut observer, &format!("KILL QUERY {id}"));
        }
        let code = match victim.next_result().and_then(|_| victim.next_row()) {
            Err(ClientError::Server(error)) => error.code,
            other => panic!("{other:?}"),
        };
        assert_eq!(code, if by_limit { 3024 } else { 1317 });
        // A tenth of a second on a machine that has nothing else to do.
        assert!(stopped.elapsed() < Duration::from_secs(5), "{:?}", stopped.elapsed());
        assert_eq!(value(&mut victim, "SELECT 1"), "1");
    }
}

#[test]
fn products_of_many_tables_take_no_memory() {
    let server = start();
    let mut client = connect(&server);
    table(&mut client);
    let tables: Vec<String> = (0..61).map(|number| format!("t t{number}")).collect();
    let product = format!("SELECT /*+ MAX_EXECUTION_TIME(3000) */ COUNT(*) FROM {}", tables.join(" CROSS JOIN "));
    let before = server.resident_bytes();
    assert_eq!(rows(&mut client, &product), Err(3024));
    if let (Some(before), Some(after)) = (before, server.resident_bytes()) {
        assert!(after < before + (200 << 20), "{} MB after {} MB", after >> 20, before >> 20);
    }
}

#[test]
fn what_gathers_is_charged() {
    let (mut server, mut client) = small_server();
    let before = server.resident_bytes();
    run(&mut client, "SET group_concat_max_len = 4294967295");
    let cursor = "BEGIN NOT ATOMIC DECLARE c CURSOR FOR SELECT filler FROM big; OPEN c; CLOSE c; END";
    for sql in [
        "SELECT LENGTH(GROUP_CONCAT(filler ORDER BY k)) FROM big",
        "SELECT LENGTH(GROUP_CONCAT(DISTINCT filler)) FROM big",
        "SELECT JSON_LENGTH(JSON_ARRAYAGG(filler)) FROM big",
        "SELECT JSON_LENGTH(JSON_OBJECTAGG(id, filler)) FROM big",
        "SELECT COUNT(DISTINCT filler, k) FROM big",
        "SELECT MAX(l) FROM (SELECT LENGTH(GROUP_CONCAT(filler) OVER (ORDER BY id)) AS l FROM big WHERE id < 20000) w",
        "SELECT MAX(l) FROM (SELECT LENGTH(GROUP_CONCAT(filler) OVER (ORDER BY id ROWS BETWEEN 3000 PRECEDING AND CURRENT ROW)) AS l FROM big WHERE id < 20000) w",
        "SELECT MAX(l) FROM (SELECT LENGTH(JSON_ARRAYAGG(filler) OVER (ORDER BY id)) AS l FROM big WHERE id < 20000) w",
        "SELECT MAX(l) FROM (SELECT LENGTH(JSON_OBJECTAGG(id, filler) OVER (ORDER BY id)) AS l FROM big WHERE id < 20000) w",
        "SELECT MAX(l) FROM (SELECT LENGTH(MAX(REPEAT(filler, 1000)) OVER (ORDER BY id)) AS l FROM big WHERE id < 20000) w",
        "SELECT MAX(LENGTH(REPEAT(filler, 2000))) FROM big",
        "SELECT COUNT(*) FROM (SELECT RPAD(filler, 1000000 + id, 'y') AS x FROM big ORDER BY x LIMIT 100000) s",
        "SELECT id, (SELECT JSON_LENGTH(JSON_ARRAYAGG(filler)) FROM big b WHERE b.id >= a.id) FROM big a LIMIT 1",
        "SELECT JSON_LENGTH(JSON_ARRAYAGG(filler)) FROM big INTO @x",
        "SET @x = (SELECT JSON_LENGTH(JSON_ARRAYAGG(filler)) FROM big)",
        cursor,
    ] {
        assert_eq!(rows(&mut client, sql).map(|_| ()), Err(1041), "{sql}");
    }
    // A second row is an error, and what comes after it is not waited for.
    assert_eq!(rows(&mut client, "SELECT filler FROM big INTO @x").map(|_| ()), Err(1172));
    let mut refused = 0;
    for number in 0..100 {
        match rows(&mut client, &format!("SET @v{number} = REPEAT('x', 1000000)")) {
            Ok(_) => assert_eq!(refused, 0, "@v{number}"),
            Err(code) => {
                assert_eq!(code, 1041);
                refused += 1;
            }
        }
    }
    assert!((30..70).contains(&refused), "{refused} values were refused");
    assert!(server.is_running());
    if let (Some(before), Some(after)) = (before, server.resident_bytes()) {
        assert!(after < before + (400 << 20), "{} MB after {} MB", after >> 20, before >> 20);
    }
    // What was charged is released, the variables when their session ends.
    drop(client);
    let mut client = connect(&server);
    run(&mut client, "USE d; SET group_concat_max_len = 1000");
    let sorted = "SELECT COUNT(*), SUM(LENGTH(filler)) FROM (SELECT filler FROM big ORDER BY k LIMIT 190000) f";
    wait_until("the variables' memory is given back", || rows(&mut client, sorted).is_ok());
    for sql in [
        "SELECT LENGTH(GROUP_CONCAT(filler)) FROM big",
        "SELECT LENGTH(GROUP_CONCAT(filler ORDER BY k DESC)) FROM big",
        "SELECT LENGTH(GROUP_CONCAT(filler ORDER BY k LIMIT 20)) FROM big",
    ] {
        assert_eq!(value(&mut client, sql), "1000", "{sql}");
    }
}

#[test]
fn what_transactions_write_and_lock_is_charged() {
    let (mut server, mut client) = small_server();
    run(&mut client, "CREATE TABLE few (id INT PRIMARY KEY)");
    for sql in [
        "REPLACE INTO big SELECT id, k, REVERSE(filler) FROM big",
        "UPDATE big SET filler = REVERSE(filler)",
        "UPDATE big JOIN n ON n.i = big.k SET filler = REVERSE(filler) WHERE big.id >= 0",
        "INSERT INTO big SELECT id + 1000000, k, filler FROM big",
    ] {
        run(&mut client, "BEGIN; INSERT INTO few VALUES (1)");
        let before = server.resident_bytes();
        let failed = rows(&mut client, sql).map(|_| ());
        if sql.contains("JOIN") {
            assert_eq!(failed, Ok(()), "{sql}");
        } else {
            assert_eq!(failed, Err(1041), "{sql}");
        }
        if let (Some(before), Some(after)) = (before, server.resident_bytes()) {
            assert!(after < before + (200 << 20), "{sql}: {} MB after {} MB", after >> 20, before >> 20);
        }
        // The statement alone was taken back.
        assert_eq!(value(&mut client, "SELECT COUNT(*) FROM few"), "1", "{sql}");
        run(&mut client, "ROLLBACK");
    }
    // Transactions share the memory, and give it back.
    let part = "UPDATE big SET filler = REVERSE(filler) WHERE id < 64000";
    let mut others: Vec<Client> = (0..3).map(|_| connect(&server)).collect();
    run(&mut client, &format!("BEGIN; {part}"));
    let mut refused = 0;
    for (number, other) in others.iter_mut().enumerate() {
        run(other, "USE d; BEGIN");
        let (first, last) = (64_000 + 45_000 * number, 64_000 + 45_000 * (number + 1));
        let sql = format!("UPDATE big SET filler = REVERSE(filler) WHERE id >= {first} AND id < {last}");
        refused += u32::from(rows(other, &sql) == Err(1041));
    }
    assert!((1..4).contains(&refused), "{refused} transactions were refused");
    // Rows are skipped because others hold them, not because there is no memory for their locks.
    let skipping = "SELECT COUNT(*) FROM (SELECT id FROM big WHERE id >= 64000 FOR UPDATE SKIP LOCKED) b";
    let mut one = connect(&server);
    run(&mut one, "USE d; BEGIN");
    assert_eq!(rows(&mut one, skipping), Err(1041));
    drop((one, others));
    run(&mut client, "COMMIT");
    wait_until("the memory is given back", || rows(&mut client, &format!("BEGIN; {part}; COMMIT")).is_ok());
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM big WHERE filler LIKE 'x%' AND id < 64000"), "0");
    assert!(server.is_running());
}

#[test]
fn trees_of_documents_are_charged() {
    let (mut server, mut client) = small_server();
    let list = |element: &str| format!("CONCAT('[', REPEAT('{element},', 6000000 / LENGTH('{element}')), '1]')");
    let (ones, words, members) = (list("1"), list("\"abc\""), list("{\"a\":1}"));
    for sql in [
        format!("SELECT JSON_EXTRACT({ones}, '$**[5]')"),
        format!("SELECT JSON_SEARCH({words}, 'one', 'b', NULL, '$[*]')"),
        format!("SELECT JSON_OVERLAPS({ones}, {words})"),
        format!("SELECT COUNT(*) FROM JSON_TABLE({ones}, '$**[0]' COLUMNS (a INT PATH '$')) t"),
        format!("SELECT JSON_SCHEMA_VALID('{{}}', {ones})"),
        format!(
            "SELECT JSON_CONTAINS(CAST({ones} AS JSON), '[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]')"
        ),
        format!("SELECT COUNT(*) FROM (SELECT CAST({ones} AS JSON) j UNION SELECT CAST('1' AS JSON)) t"),
    ] {
        assert_eq!(rows(&mut client, &sql).map(|_| ()), Err(1041), "{sql}");
    }
    // Documents are changed, merged, compared and searched as text.
    for (sql, answer) in [
        (format!("SELECT LENGTH(JSON_SET({ones}, '$[0]', 3))"), "18000003"),
        (format!("SELECT JSON_SEARCH({words}, 'one', 'b') IS NULL"), "1"),
        (format!("SELECT JSON_LENGTH(JSON_MERGE_PRESERVE({members}, {members}))"), "1714288"),
        (format!("SELECT LENGTH(JSON_ARRAY(CAST({words} AS JSON)))"), "8400005"),
        (format!("SELECT LENGTH(JSON_OBJECT('a', CAST({words} AS JSON)))"), "8400010"),
        (format!("SELECT LENGTH(JSON_ARRAY_APPEND('[1]', '$', CAST({words} AS JSON)))"), "8400008"),
        (format!("SELECT CAST({members} AS JSON) = CAST({words} AS JSON)"), "0"),
        (format!("SELECT CAST({words} AS JSON) MEMBER OF ('[1, 2]')"), "0"),
    ] {
        assert_eq!(value(&mut client, &sql), answer, "{sql}");
    }
    // What is at a path is read where it lies.
    assert_eq!(value(&mut client, &format!("SELECT JSON_EXTRACT({ones}, '$[5]')")), "1");
    assert_eq!(value(&mut client, &format!("SELECT JSON_EXTRACT(CAST({ones} AS JSON), '$[last]')")), "1");
    assert_eq!(value(&mut client, &format!("SELECT JSON_VALUE({ones}, '$[5]')")), "1");
    assert_eq!(value(&mut client, &format!("SELECT JSON_CONTAINS({ones}, '5')")), "0");
    assert_eq!(value(&mut client, &format!("SELECT JSON_LENGTH(CAST({ones} AS JSON), '$[5]')")), "1");
    assert_eq!(value(&mut client, &format!("SELECT JSON_KEYS({members}, '$[5]')")), "[\"a\"]");
    let pretty = format!("SELECT JSON_LENGTH(JSON_PRETTY({members})) = JSON_LENGTH({members})");
    assert_eq!(value(&mut client, &pretty), "1");
    let fewer = "CONCAT('[', REPEAT('1,', 1200000), '1]')";
    let table = format!("SELECT COUNT(*) FROM JSON_TABLE({fewer}, '$[*]' COLUMNS (a INT PATH '$')) t");
    assert_eq!(value(&mut client, &table), "1200001");
    // What needs no tree, and what is small, has an answer, again and again.
    for _ in 0..3 {
        assert_eq!(value(&mut client, &format!("SELECT JSON_LENGTH({ones})")), "6000001");
        assert_eq!(value(&mut client, &format!("SELECT JSON_DEPTH({members})")), "3");
        assert_eq!(value(&mut client, &format!("SELECT JSON_VALID({words})")), "1");
        assert_eq!(value(&mut client, &format!("SELECT JSON_TYPE({words})")), "ARRAY");
        let small = "CONCAT('[', REPEAT('{\"a\":1},', 20000), '1]')";
        assert_eq!(value(&mut client, &format!("SELECT JSON_EXTRACT({small}, '$[5].a')")), "1");
        let each = format!("SELECT SUM(JSON_EXTRACT(CONCAT({small}, SPACE(id)), '$[5].a')) FROM big WHERE id < 9");
        assert_eq!(value(&mut client, &each), "9");
        let table = format!("SELECT COUNT(a) FROM JSON_TABLE({small}, '$[*]' COLUMNS (a INT PATH '$.a')) t");
        assert_eq!(value(&mut client, &table), "20000");
    }
    assert!(server.is_running());
    assert!(server.resident_bytes().is_none_or(|now| now < 700 << 20));
}

#[test]
fn temporary_tables_leave_no_memory_behind() {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, "CREATE DATABASE d; USE d");
    let mut tables = |numbers: std::ops::Range<u32>| {
        for number in numbers {
            run(
                &mut client,
                &format!(
                    "CREATE TEMPORARY TABLE t{number} (id INT PRIMARY KEY, a{number} INT, b VARCHAR(20), KEY (b)); \
                     INSERT INTO t{number} VALUES (1, {number}, 'x'), (2, {number}, 'y'); \
                     SELECT id x{number}, COUNT(*) FROM t{number} WHERE id > 0 GROUP BY id ORDER BY id LIMIT 3; \
                     DROP TEMPORARY TABLE t{number}"
                ),
            );
        }
    };
    // What is kept of statements is full by then, and what the allocator holds is there.
    tables(0..200);
    let before = server.resident_bytes();
    tables(200..600);
    if let (Some(before), Some(after)) = (before, server.resident_bytes()) {
        assert!(after < before + (14 << 20), "{} KB after {} KB", after >> 10, before >> 10);
    }
}
