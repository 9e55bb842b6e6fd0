//! UNIQUE keys under changes of many rows.

use super::{answer, difference, one_in, pick, run};
use mysql::Value;
use mysql::prelude::Queryable;
use squall_test_support::random::{Random, seed};
use squall_test_support::server::TestServer;
use std::path::Path;

/// Rows of tables with UNIQUE keys, and changes of them.
const UNIQUE_ROWS: u64 = 4000;
const UNIQUE_CHANGES: usize = 40;

/// Many rows get other values of UNIQUE keys, in the order of the primary key: what is a duplicate on the way is one for row tables and
/// column tables.
#[test]
fn unique_keys_stay_unique() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let seed = seed("unique_keys_stay_unique");
    let changes = number("SQUALL_RANDOM_QUERIES").map_or(UNIQUE_CHANGES, |queries: u64| queries as usize);
    let mut random = Random::new(seed);
    let server = TestServer::start_with_arguments(Path::new(env!("CARGO_BIN_EXE_squall")), &[]);
    let mut client = server.connect();
    for sql in ["CREATE DATABASE d", "USE d", "SET SESSION cte_max_recursion_depth = 1000000"] {
        run(&mut client, sql);
    }
    let columns = "id INT PRIMARY KEY, n INT, w VARCHAR(20), v INT, ts TIMESTAMP NULL, UNIQUE (n), UNIQUE (w, v)";
    for (table, engine) in [("r", ""), ("c", " ENGINE=COLUMN")] {
        run(&mut client, &format!("CREATE TABLE {table} ({columns}){engine}"));
        run(
            &mut client,
            &format!(
                "INSERT INTO {table} WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < {UNIQUE_ROWS}) SELECT id, IF(id % 11 = 0, NULL, id * 3), CONCAT('w', id DIV 10), id % 10, NULL FROM n"
            ),
        );
    }
    run(&mut client, "OPTIMIZE TABLE c");
    for at in 0..changes {
        let (a, b) = (random.below(UNIQUE_ROWS), 1 + random.below(9));
        let number =
            pick(&mut random, &["n + 1", "n - 1", "n + 3", "-n", "n * 2", "id", "NULL", "n DIV 2", "id * 3 + 1"]);
        let word = pick(&mut random, &["UPPER(w)", "CONCAT(w, 'x')", "CONCAT('w', id DIV 10)", "LEFT(w, 3)", "NULL"]);
        let condition = match random.below(4) {
            0 => "TRUE".to_owned(),
            1 => format!("id > {a} AND id % {b} = 0"),
            2 => format!("id < {a} OR v = {b}"),
            _ => format!("v <> {b}"),
        };
        let ignore = pick(&mut random, &["", "", "IGNORE "]);
        let sql = match random.below(10) {
            0 => format!("INSERT IGNORE INTO $ VALUES ({}, {a}, 'new', {b}, NULL)", UNIQUE_ROWS + at as u64),
            1 if one_in(&mut random, 3) => format!("DELETE FROM $ WHERE id % 50 = {b}"),
            2 => format!("UPDATE {ignore}$ SET w = {word} WHERE {condition}"),
            3 => format!("UPDATE {ignore}$ SET v = v + {b}, n = {number} WHERE {condition}"),
            // A join gives rows in any order, so that these must not meet any that are there.
            4 => format!(
                "UPDATE $ t JOIN (SELECT id + 1 AS i FROM $) x ON t.id = x.i SET t.n = t.id + 1000000000 + {at} * 10000"
            ),
            5 => format!("UPDATE {ignore}$ SET ts = '2024-05-06 07:08:09', n = {number}"),
            _ => format!("UPDATE {ignore}$ SET n = {number} WHERE {condition}"),
        };
        let mut results = Vec::new();
        let within = one_in(&mut random, 3);
        let end = pick(&mut random, &["COMMIT", "ROLLBACK"]);
        for table in ["r", "c"] {
            if within {
                run(&mut client, "BEGIN");
            }
            let result = client.query_iter(sql.replace('$', table)).map(|done| (done.affected_rows(), done.warnings()));
            let result = result.map_err(|error| error.to_string().replace(&format!("{table}."), ""));
            let rows = answer(&mut client, &server, &format!("SELECT * FROM {table} ORDER BY id"));
            let by_key = answer(
                &mut client,
                &server,
                &format!("SELECT n, id FROM {table} FORCE INDEX (n) WHERE n < {a} ORDER BY n"),
            );
            if within {
                run(&mut client, end);
            }
            results.push((result, rows, by_key));
        }
        let of_columns = results.pop();
        let of_rows = results.pop();
        if of_rows != of_columns {
            let (of_rows, rows, _) = of_rows.expect("the row table's");
            let (of_columns, columns, _) = of_columns.expect("the column table's");
            panic!("seed {seed}, change {at}: {sql}\n{of_rows:?}\n{of_columns:?}\n{}", difference(&rows, &columns));
        }
        if one_in(&mut random, 4) {
            run(&mut client, "OPTIMIZE TABLE c");
        }
    }
    assert_eq!(answer(&mut client, &server, "CHECK TABLE c").unwrap()[0][3], Value::from("OK"));
}
