//! Row tables and column tables give equal answers: random rows, changes, conditions and aggregates on both.
//!
//! `SQUALL_RANDOM_QUERIES=5000` asks for as many queries per round, `SQUALL_SEED=7` repeats a run.

use mysql::prelude::Queryable;
use mysql::{Conn, Value};
use squall_test_support::random::{Random, seed};
use squall_test_support::server::TestServer;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rounds of changes and queries, and queries in each unless the environment says otherwise.
const ROUNDS: usize = 6;
const QUERIES: usize = 60;

fn one_in(random: &mut Random, count: u64) -> bool {
    random.below(count) == 0
}

fn pick<'a, T: ?Sized>(random: &mut Random, of: &[&'a T]) -> &'a T {
    of[random.below(of.len() as u64) as usize]
}

/// What the columns have.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Small,
    Wide,
    Decimal,
    Double,
    Text,
    Binary,
    Date,
    Moment,
    Enum,
}

/// `id` comes before these.
const COLUMNS: &[(&str, &str, Kind)] = &[
    ("a", "INT", Kind::Small),
    ("b", "BIGINT", Kind::Wide),
    ("u", "TINYINT UNSIGNED", Kind::Small),
    ("m", "DECIMAL(12,3)", Kind::Decimal),
    ("x", "DOUBLE", Kind::Double),
    ("s", "VARCHAR(20)", Kind::Text),
    ("y", "VARCHAR(20) COLLATE utf8mb4_bin", Kind::Binary),
    ("d", "DATE", Kind::Date),
    ("t", "DATETIME(2)", Kind::Moment),
    ("ts", "TIMESTAMP NULL", Kind::Moment),
    ("e", "ENUM('low', 'Mid', 'high')", Kind::Enum),
];

/// A row, or what it is in, is not what was written.
const CORRUPTED: u16 = 1034;

/// What nobody should be told.
const INTERNAL_ERROR: u16 = 1105;

/// A key that is there, a lock that takes long, a deadlock, a row that was changed since the snapshot.
const IN_THE_WAY: [u16; 4] = [1062, 1205, 1213, 1020];

/// A table that was defined anew since the snapshot.
const DEFINITION_CHANGED: u16 = 1412;

/// [`IN_THE_WAY`] or [`DEFINITION_CHANGED`], an index that is there or is not (1235 for a second copy by column), a server
/// that ends.
const ALIVE: [u16; 9] = [1062, 1205, 1213, 1020, DEFINITION_CHANGED, 1061, 1091, 1235, 1053];

const WORDS: &[&str] = &["", "a", "A", "á", "b ", "b", "Bee", "bee", "zebra", "Ärger", "arger", "a%b", "_", "x'y"];

fn literal(random: &mut Random, kind: Kind) -> String {
    if one_in(random, 12) {
        return "NULL".into();
    }
    match kind {
        Kind::Small => random.below(20).to_string(),
        Kind::Wide => match random.below(6) {
            0 => "9223372036854775807".into(),
            1 => "-9223372036854775808".into(),
            _ => (random.below(1_000_000) as i64 - 500_000).to_string(),
        },
        Kind::Decimal => format!("{}{}.{:03}", pick(random, &["", "-"]), random.below(50), random.below(8) * 125),
        Kind::Double => format!("{}{}e{}", pick(random, &["", "-"]), random.below(9), random.below(4) as i64 - 2),
        Kind::Text | Kind::Binary => format!("'{}'", pick(random, WORDS).replace('\'', "''")),
        Kind::Date => format!("'20{:02}-{:02}-{:02}'", random.below(30), 1 + random.below(12), 1 + random.below(28)),
        Kind::Moment => format!(
            "'20{:02}-{:02}-{:02} {:02}:{:02}:00'",
            random.below(30),
            1 + random.below(12),
            1 + random.below(28),
            random.below(24),
            random.below(60)
        ),
        Kind::Enum => format!("'{}'", pick(random, &["low", "Mid", "high"])),
    }
}

fn row(random: &mut Random, id: u64) -> String {
    let values: Vec<String> = COLUMNS.iter().map(|(_, _, kind)| literal(random, *kind)).collect();
    format!("({id}, {})", values.join(", "))
}

fn test(random: &mut Random) -> String {
    let (name, _, kind) = COLUMNS[random.below(COLUMNS.len() as u64) as usize];
    let value = |random: &mut Random| match random.below(10) {
        // Of another type.
        0 => literal(random, Kind::Small),
        1 => literal(random, Kind::Decimal),
        _ => literal(random, kind),
    };
    let in_list = |random: &mut Random| {
        let values: Vec<String> = (0..1 + random.below(4)).map(|_| literal(random, kind)).collect();
        values.join(", ")
    };
    match random.below(12) {
        0 => format!("{name} IS NULL"),
        1 => format!("{name} IS NOT NULL"),
        2 => format!("{name} <=> {}", value(random)),
        3 => format!("{name} BETWEEN {} AND {}", value(random), value(random)),
        4 => format!("{name} IN ({})", in_list(random)),
        5 => format!("{name} NOT IN ({})", in_list(random)),
        6 if matches!(kind, Kind::Text | Kind::Binary) => {
            let pattern = pick(random, &["a%", "%e%", "_", "B%", "", "%", "a\\%b", "z_bra"]);
            format!("{name} {}LIKE '{pattern}'", pick(random, &["", "NOT "]))
        }
        7 => format!("id {} {}", pick(random, &["<", ">=", "="]), random.below(3000)),
        _ => format!("{name} {} {}", pick(random, &["=", "<>", "<", "<=", ">", ">="]), value(random)),
    }
}

fn condition(random: &mut Random, depth: u64) -> String {
    match random.below(6) {
        0 | 1 if depth > 0 => format!("({} AND {})", condition(random, depth - 1), condition(random, depth - 1)),
        2 if depth > 0 => format!("({} OR {})", condition(random, depth - 1), condition(random, depth - 1)),
        3 if depth > 0 => format!("NOT ({})", condition(random, depth - 1)),
        _ => test(random),
    }
}

/// A query whose answer does not depend on the order of rows; `$` stands for the table.
fn query(random: &mut Random) -> String {
    let condition = condition(random, 3);
    let sums = [
        "COUNT(*)",
        "COUNT(s)",
        "SUM(a)",
        "SUM(m)",
        "AVG(m)",
        "MIN(d)",
        "MAX(t)",
        "SUM(a * u)",
        "SUM(a - 3)",
        "MIN(b)",
        "MAX(m)",
        "COUNT(DISTINCT u)",
        "BIT_XOR(id)",
        "MAX(ts)",
        "COUNT(x)",
        "COUNT(ts)",
        "COUNT(e)",
        "COUNT(y)",
        "MIN(id)",
        "MAX(id)",
        "MAX(u)",
    ];
    let some: Vec<&str> = (0..1 + random.below(4)).map(|_| pick(random, &sums)).collect();
    let some = some.join(", ");
    let (column, _, kind) = COLUMNS[random.below(COLUMNS.len() as u64) as usize];
    match random.below(12) {
        0 => format!("SELECT * FROM $ WHERE {condition} ORDER BY id LIMIT {}", 1 + random.below(30)),
        1 => format!("SELECT id, s, ts FROM $ WHERE {condition} ORDER BY id"),
        2 => format!("SELECT {some} FROM $ WHERE {condition}"),
        3 => {
            // Which of the equal texts stands for a group is nobody's promise.
            let by = pick(random, &["u", "d", "e", "s", "y", "a", "YEAR(d)", "u, y"]);
            format!("SELECT {some} FROM $ WHERE {condition} GROUP BY {by} ORDER BY {by}")
        }
        // What zone maps, dictionaries and codes may answer alone.
        4 => format!("SELECT {some} FROM $"),
        5 => format!("SELECT {some}, COUNT({column}) FROM $ WHERE id >= {}", random.below(3000)),
        6 => format!("SELECT COUNT(DISTINCT {column}) FROM $"),
        7 => format!("SELECT COUNT(DISTINCT {column}) FROM $ WHERE {condition}"),
        // Which of the equal texts stands for the others is nobody's promise.
        8 if !matches!(kind, Kind::Text | Kind::Binary) => {
            format!("SELECT DISTINCT {column} FROM $ WHERE {condition} ORDER BY {column}")
        }
        8 | 9 => {
            let condition = if one_in(random, 3) { "TRUE".to_owned() } else { condition };
            format!(
                "{LIST}{} SEPARATOR '|') FROM $ WHERE {condition}",
                pick(random, &["id", "a", "u", "s", "y", column])
            )
        }
        10 => format!("SELECT {some} FROM $ JOIN k ON k.k = a WHERE {condition} GROUP BY k.name ORDER BY k.name"),
        _ => format!(
            "SELECT k.k, {some} FROM $, k, k l WHERE k.k = a AND l.k = u AND l.k < 15 AND {condition} GROUP BY k.k, l.name ORDER BY k.k, l.name"
        ),
    }
}

/// How queries begin whose one value is a list without an order.
const LIST: &str = "SELECT GROUP_CONCAT(";

fn run(client: &mut Conn, sql: &str) {
    client.query_drop(sql).unwrap_or_else(|error| panic!("{sql}\n{error}"));
}

/// The rows of a query, or its error's number.
fn answer(client: &mut Conn, server: &TestServer, sql: &str) -> Result<Vec<Vec<Value>>, u16> {
    match client.query::<mysql::Row, _>(sql) {
        Ok(rows) => {
            let mut rows: Vec<Vec<Value>> = rows.into_iter().map(mysql::Row::unwrap).collect();
            if sql.starts_with(LIST) {
                rows.iter_mut().flatten().for_each(sort_list);
            }
            Ok(rows)
        }
        Err(mysql::Error::MySqlError(error)) if error.code != INTERNAL_ERROR => Err(error.code),
        Err(error) => panic!("{sql}\n{error}\n{}", server.log()),
    }
}

fn sort_list(value: &mut Value) {
    if let Value::Bytes(list) = value {
        let mut parts: Vec<&[u8]> = list.split(|byte| *byte == b'|').collect();
        parts.sort_unstable();
        *list = parts.join(&b'|');
    }
}

fn difference(rows: &Result<Vec<Vec<Value>>, u16>, columns: &Result<Vec<Vec<Value>>, u16>) -> String {
    let (Ok(of_rows), Ok(of_columns)) = (rows, columns) else { return format!("{rows:?}\n{columns:?}") };
    let at = of_rows.iter().zip(of_columns).position(|(a, b)| a != b).unwrap_or(of_rows.len().min(of_columns.len()));
    let (count, counted) = (of_rows.len(), of_columns.len());
    format!("{count} rows, {counted} by column; row {at}: {:?}\n{:?}", of_rows.get(at), of_columns.get(at))
}

/// The three tables, and what became of the changes of them.
struct Tables<'a> {
    client: Conn,
    server: &'a TestServer,
    changes: u64,
    /// Those that failed on all three.
    failed: u64,
}

impl Tables<'_> {
    /// Changes each table; what fails on one fails on the others with the same error, and what does not changes as many rows.
    fn change(&mut self, sql: &str) {
        let mut changed = |table: &str| match self.client.query_iter(sql.replace('$', table)) {
            Ok(done) => Ok(done.affected_rows()),
            Err(mysql::Error::MySqlError(error)) if error.code != INTERNAL_ERROR => Err(error.code),
            Err(error) => panic!("{sql}\n{error}\n{}", self.server.log()),
        };
        let of_rows = changed("r");
        for table in ["c", "p"] {
            assert_eq!(changed(table), of_rows, "{sql} ({table})");
        }
        self.changes += 1;
        self.failed += u64::from(of_rows.is_err());
    }
}

fn change(tables: &mut Tables<'_>, random: &mut Random, next_id: &mut u64) {
    for _ in 0..1 + random.below(4) {
        match random.below(11) {
            8 => {
                let (name, _, kind) = COLUMNS[random.below(COLUMNS.len() as u64) as usize];
                let (value, condition) = (literal(random, kind), condition(random, 1));
                // A row that has several partners is changed once.
                let on = pick(random, &["k.k = t.a", "k.k <= t.u", "k.k = t.u AND t.id > 100", "TRUE"]);
                tables.change(&format!(
                    "UPDATE $ t LEFT JOIN k ON {on} SET t.{name} = {value}, t.e = 'high' WHERE {condition}"
                ));
                tables.change(&format!(
                    "UPDATE $ t JOIN k ON k.k = t.a SET t.s = k.name, t.b = t.b DIV 2, t.u = k.k WHERE {condition}"
                ));
            }
            9 => {
                let (name, _, kind) = COLUMNS[random.below(COLUMNS.len() as u64) as usize];
                let (value, condition) = (literal(random, kind), condition(random, 2));
                tables.change(&format!(
                    "UPDATE $ SET {name} = {value} WHERE id IN (SELECT id FROM (SELECT * FROM $) x WHERE {condition})"
                ));
            }
            10 => {
                let condition = condition(random, 1);
                tables.change(&format!(
                    "DELETE t FROM $ t LEFT JOIN k ON k.k = t.a WHERE t.id % 5 = {} AND {condition}",
                    random.below(5)
                ));
            }
            // Enough rows that conditions find many.
            6 | 7 if (200..3000).contains(next_id) => {
                let names: Vec<&str> = COLUMNS.iter().map(|(name, ..)| *name).collect();
                let names = names.join(", ");
                tables.change(&format!("INSERT INTO $ (id, {names}) SELECT id + {next_id}, {names} FROM $"));
                *next_id *= 2;
            }
            0 | 1 | 7 => {
                let rows: Vec<String> = (0..1 + random.below(200)).map(|at| row(random, *next_id + at)).collect();
                *next_id += rows.len() as u64;
                tables.change(&format!("INSERT INTO $ VALUES {}", rows.join(", ")));
            }
            2 => {
                let (name, _, kind) = COLUMNS[random.below(COLUMNS.len() as u64) as usize];
                let value = literal(random, kind);
                tables.change(&format!("UPDATE $ SET {name} = {value} WHERE {}", condition(random, 1)));
            }
            3 if one_in(random, 4) => tables.change(&format!("DELETE FROM $ WHERE {}", condition(random, 2))),
            3 => {
                tables.change(&format!("DELETE FROM $ WHERE id % 7 = {} AND {}", random.below(7), condition(random, 1)))
            }
            4 => {
                let id = random.below((*next_id).max(1));
                tables.change(&format!("REPLACE INTO $ VALUES {}", row(random, id)));
            }
            _ => run(&mut tables.client, "OPTIMIZE TABLE c, p"),
        }
    }
}

#[test]
fn row_and_column_tables_answer_alike() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let queries = number("SQUALL_RANDOM_QUERIES").map_or(QUERIES, |queries: u64| queries as usize);
    let seed = seed("row_and_column_tables_answer_alike");
    let mut random = Random::new(seed);
    let server = TestServer::start_with_arguments(Path::new(env!("CARGO_BIN_EXE_squall")), &[]);
    let mut client = server.connect();
    run(&mut client, "CREATE DATABASE d");
    run(&mut client, "USE d");
    run(
        &mut client,
        "SET sql_mode = 'NO_ENGINE_SUBSTITUTION', time_zone = 'Europe/Berlin', group_concat_max_len = 1000000",
    );
    let columns: Vec<String> = COLUMNS.iter().map(|(name, sql_type, _)| format!("{name} {sql_type}")).collect();
    let columns = columns.join(", ");
    run(&mut client, &format!("CREATE TABLE r (id INT PRIMARY KEY, {columns})"));
    run(
        &mut client,
        &format!("CREATE TABLE c (id INT PRIMARY KEY, {columns}, KEY (a), KEY (s), KEY (d, m)) ENGINE=COLUMN"),
    );
    run(&mut client, &format!("CREATE TABLE p (id INT PRIMARY KEY, {columns}, KEY (a), COLUMNAR KEY copy)"));
    run(&mut client, "CREATE TABLE k (k INT PRIMARY KEY, name VARCHAR(10))");
    run(
        &mut client,
        "INSERT INTO k VALUES (1, 'one'), (2, 'One'), (3, NULL), (4, 'four'), (5, 'one'), (9, 'x'), (12, 'y')",
    );
    let mut tables = Tables { client, server: &server, changes: 0, failed: 0 };
    let (mut next_id, mut refused) = (0, 0);
    for round in 0..ROUNDS {
        change(&mut tables, &mut random, &mut next_id);
        for _ in 0..queries {
            let sql = query(&mut random);
            let expected = answer(&mut tables.client, &server, &sql.replace('$', "r"));
            refused += usize::from(expected.is_err());
            // A column table, and a row table with a copy of columns.
            for table in ["c", "p"] {
                let found = answer(&mut tables.client, &server, &sql.replace('$', table));
                let difference = difference(&expected, &found);
                assert!(found == expected, "seed {seed}, round {round}: {sql} ({table})\n{difference}");
            }
        }
    }
    let Tables { changes, failed, .. } = tables;
    println!("{changes} changes, {failed} failed; {} queries, {refused} refused", queries * ROUNDS);
    assert!(failed * 3 <= changes, "{failed} of {changes} changes have failed");
    assert!(refused * 20 <= queries * ROUNDS, "{refused} of {} queries were refused", queries * ROUNDS);
}

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

/// Statements of each writer, and reads and rounds of new copies beside them.
const WRITES: u64 = 300;
const READS: u64 = 60;
const DEFINITIONS: u64 = 30;

/// Whoever reads a copy of columns sees what the rows are at the same moment, while rows change, the copy is sealed and merged, and
/// others are made and dropped.
#[test]
fn a_copy_is_what_the_rows_are() {
    let server = TestServer::start_with_arguments(Path::new(env!("CARGO_BIN_EXE_squall")), &[]);
    let mut client = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, v INT, s VARCHAR(20), w INT, COLUMNAR KEY copy (v, s))",
        "SET SESSION cte_max_recursion_depth = 1000000",
        "INSERT INTO d.t WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < 4000) SELECT id, id % 50, CONCAT('s', id % 9), 0 FROM n",
    ] {
        run(&mut client, sql);
    }
    let port = server.port();
    let connect = move || {
        let mut client = squall_test_support::server::connect("127.0.0.1", port, std::time::Duration::from_secs(5))
            .expect("a connection");
        run(&mut client, "USE d");
        client
    };
    let write = move |seed: u64| {
        let (mut client, mut random, mut written) = (connect(), Random::new(seed), 0);
        for _ in 0..WRITES {
            let id = 1 + random.below(4100);
            let value = random.below(60);
            let sql = match random.below(6) {
                0 => format!("REPLACE INTO t VALUES ({id}, {value}, 's{}', 1)", value % 11),
                1 => format!("DELETE FROM t WHERE id = {id}"),
                2 => format!("UPDATE t SET w = w + 1 WHERE id BETWEEN {id} AND {id} + 20"),
                3 => format!("UPDATE t SET v = v + 1 WHERE id BETWEEN {id} AND {id} + 20"),
                4 => format!("UPDATE t SET id = id + 5000 WHERE id = {id}"),
                _ => format!("UPDATE t SET s = 'x' WHERE v = {value} AND id % 40 = {}", id % 40),
            };
            // Another writer's key or lock may be in the way.
            match client.query_drop(&sql) {
                Ok(()) => written += 1,
                Err(mysql::Error::MySqlError(error)) if IN_THE_WAY.contains(&error.code) => {}
                Err(error) => panic!("{sql}\n{error}"),
            }
        }
        assert!(written * 2 > WRITES, "only {written} of {WRITES} changes were made");
    };
    let defined = Arc::new(AtomicU64::new(0));
    let last = defined.clone();
    let define = move || {
        let mut client = connect();
        for _ in 0..DEFINITIONS {
            for sql in [
                "OPTIMIZE TABLE t",
                "ALTER TABLE t DROP INDEX copy, ADD COLUMNAR INDEX copy (s, v)",
                "OPTIMIZE TABLE t",
                "DROP INDEX copy ON t",
                "CREATE COLUMN INDEX copy ON t (v, s)",
            ] {
                run(&mut client, sql);
            }
            let checked: (String, String, String, String) = client.query_first("CHECK TABLE t").unwrap().unwrap();
            assert_eq!(checked.3, "OK");
            defined.fetch_add(1, Ordering::Relaxed);
        }
    };
    // Copies are sealed while they are being made, too.
    let seal = move || {
        let mut client = connect();
        while last.load(Ordering::Relaxed) < DEFINITIONS {
            run(&mut client, "OPTIMIZE TABLE t");
        }
    };
    let mut random = Random::of_run("a_copy_is_what_the_rows_are");
    let (one, other) = (random.number(), random.number());
    let threads = [
        std::thread::spawn(move || write(one)),
        std::thread::spawn(move || write(other)),
        std::thread::spawn(define),
        std::thread::spawn(seal),
    ];
    run(&mut client, "USE d");
    let (mut by_copy, mut compared) = (0, 0);
    for read in 0..READS {
        let query = [
            "SELECT COUNT(*), SUM(v), MIN(v), COUNT(DISTINCT s) FROM $",
            "SELECT s, COUNT(*), SUM(v) FROM $ GROUP BY s ORDER BY s",
            "SELECT id, v, s FROM $ WHERE v > 30 ORDER BY id",
        ][read as usize % 3];
        run(&mut client, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
        let plan: Vec<mysql::Row> = client.query(format!("EXPLAIN {}", query.replace('$', "t"))).unwrap_or_default();
        by_copy += u64::from(
            plan.iter()
                .any(|row| row.get_opt::<String, _>("key").is_some_and(|key| key.is_ok_and(|key| key == "copy"))),
        );
        let found = client.query::<mysql::Row, _>(query.replace('$', "t"));
        let expected = client.query::<mysql::Row, _>(query.replace('$', "t USE INDEX ()"));
        match (found, expected) {
            (Ok(found), Ok(expected)) => {
                let values = |rows: Vec<mysql::Row>| rows.into_iter().map(mysql::Row::unwrap).collect::<Vec<_>>();
                let (found, expected) = (Ok(values(found)), Ok(values(expected)));
                assert!(found == expected, "{query}\n{}", difference(&expected, &found));
                compared += 1;
            }
            // A definition may be younger than the snapshot, then or a moment later.
            results => {
                let errors = [results.0.err(), results.1.err()];
                for error in errors.iter().flatten() {
                    let younger = matches!(error, mysql::Error::MySqlError(error) if error.code == DEFINITION_CHANGED);
                    assert!(younger, "{query}\n{error}");
                }
            }
        }
        run(&mut client, "COMMIT");
    }
    threads.into_iter().for_each(|thread| thread.join().expect("a client's thread"));
    assert!(by_copy > 0, "no query has used the copy");
    assert!(compared * 2 > READS, "only {compared} of {READS} answers could be compared");
    let checked: (String, String, String, String) = client.query_first("CHECK TABLE t").unwrap().unwrap();
    assert_eq!(checked.3, "OK");
}

/// Rows that a statement of many rows brings.
const MANY: u64 = 30_000;
/// The row that counts transactions, which no other change takes.
const LAST_ID: u64 = 1_000_000;
const LAST: &str = "SELECT MAX(v) - 1000000 FROM d.r WHERE id = 1000000";

fn number(client: &mut Conn, sql: &str) -> u64 {
    client.query_first::<Option<u64>, _>(sql).expect(sql).flatten().unwrap_or(0)
}

/// Changes of a row table and of a column table in one transaction, while the second one is sealed, merged, loaded and made
/// another engine's, until the server is killed: afterwards both have the same rows, and loads have happened or have not.
/// `SQUALL_CRASH_ROUNDS=500` makes the long run.
#[test]
fn killed_servers_keep_column_tables() {
    let rounds = squall_test_support::crash_rounds(10);
    let mut server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut client = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.r (id INT PRIMARY KEY, v INT, s VARCHAR(20), COLUMNAR KEY copy (v, s))",
        "CREATE TABLE d.c (id INT PRIMARY KEY, v INT, s VARCHAR(20), KEY (v)) ENGINE=COLUMN",
        "CREATE TABLE d.many (id INT, s VARCHAR(20)) ENGINE=COLUMN",
        "CREATE TABLE d.changing (id INT PRIMARY KEY, s VARCHAR(20))",
        "CREATE TABLE d.swept (id INT PRIMARY KEY, v INT) ENGINE=COLUMN",
    ] {
        run(&mut client, sql);
    }
    run(&mut client, "SET SESSION cte_max_recursion_depth = 1000000");
    let numbers = |table: &str| {
        format!(
            "INSERT INTO {table} WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < {MANY}) SELECT id, MD5(id % 1000) FROM n"
        )
    };
    run(&mut client, &numbers("d.changing").replace("MD5(id % 1000)", "LEFT(MD5(id % 1000), 20)"));
    run(&mut client, &numbers("d.swept").replace("MD5(id % 1000)", "0"));
    drop(client);
    let mut random = Random::of_run("killed_servers_keep_column_tables");
    let mut done = [0; 4];
    for round in 1..=rounds {
        // What was acknowledged: loads, changes of many rows, changes of the engine, transactions.
        let told: [Arc<AtomicU64>; 4] = Default::default();
        let swept_before = number(&mut server.connect(), "SELECT MAX(v) FROM d.swept");
        let works: Vec<Vec<String>> = vec![
            vec!["OPTIMIZE TABLE d.c, d.r".into()],
            vec![
                "ALTER TABLE d.r ADD COLUMNAR INDEX copy (s, v)".into(),
                "OPTIMIZE TABLE d.r".into(),
                "DROP INDEX copy ON d.r".into(),
            ],
            vec![
                "SET SESSION cte_max_recursion_depth = 1000000".into(),
                numbers("d.many").replace("MD5(id % 1000)", "LEFT(MD5(id % 1000), 20)"),
            ],
            // Many rows at a time, by lists of segments.
            vec![
                "UPDATE d.swept SET v = v + 1".into(),
                "BEGIN".into(),
                "UPDATE d.swept SET v = v + 1".into(),
                "DELETE FROM d.swept WHERE id % 2 = 0".into(),
                "ROLLBACK".into(),
                "BEGIN".into(),
                "DELETE FROM d.swept WHERE id % 3 = 0".into(),
                "INSERT INTO d.swept SELECT id + 1, v FROM d.swept WHERE id % 3 = 2".into(),
                "COMMIT".into(),
            ],
            vec![
                "ALTER TABLE d.changing ENGINE=COLUMN".into(),
                "OPTIMIZE TABLE d.changing".into(),
                "ALTER TABLE d.changing ENGINE=InnoDB".into(),
            ],
        ];
        let port = server.port();
        let mut threads: Vec<_> = works
            .into_iter()
            .map(|work| {
                let [loads, sweeps, engines, _] = told.clone();
                std::thread::spawn(move || {
                    while_alive(port, |client, _| {
                        work.iter().enumerate().try_for_each(|(step, sql)| {
                            client.query_drop(sql)?;
                            let told = match sql {
                                sql if sql.starts_with("INSERT INTO d.many") => &loads,
                                // The others are rolled back.
                                sql if sql.starts_with("UPDATE d.swept") && step == 0 => &sweeps,
                                sql if sql.starts_with("ALTER TABLE d.changing") => &engines,
                                _ => return Ok(()),
                            };
                            told.fetch_add(1, Ordering::Relaxed);
                            Ok(())
                        })
                    })
                })
            })
            .collect();
        let seed = random.number();
        let transactions = told[3].clone();
        let last_before = number(&mut server.connect(), LAST);
        transactions.store(last_before, Ordering::Relaxed);
        threads.push(std::thread::spawn(move || {
            let mut random = Random::new(seed);
            while_alive(port, |client, _| {
                let next = transactions.load(Ordering::Relaxed) + 1;
                client.query_drop("BEGIN")?;
                for table in ["d.r", "d.c"] {
                    client
                        .query_drop(format!("REPLACE INTO {table} VALUES ({LAST_ID}, {LAST_ID} + {next}, 'last')"))?;
                }
                let (first, count, value) = (random.below(5000), 1 + random.below(300), random.below(1000));
                for table in ["d.r", "d.c"] {
                    let rows: Vec<String> =
                        (first..first + count).map(|id| format!("({id}, {value}, 'v{}')", id % 50)).collect();
                    client.query_drop(format!("REPLACE INTO {table} VALUES {}", rows.join(",")))?;
                    client.query_drop(format!("UPDATE {table} SET v = v + 1 WHERE v = {}", value / 2))?;
                    client.query_drop(format!(
                        "DELETE FROM {table} WHERE id % 31 = {} AND v < {}",
                        value % 31,
                        value
                    ))?;
                }
                client.query_drop("COMMIT")?;
                transactions.store(next, Ordering::Relaxed);
                Ok(())
            })
        }));
        // One kind in each round, so that slow machines do some of all.
        let awaited = (round % 4) as usize;
        let before = if awaited == 3 { last_before } else { 0 };
        let is_done = || told[awaited].load(Ordering::Relaxed) > before;
        squall_test_support::let_work(std::time::Duration::from_millis(100 + random.below(900)), is_done);
        server.kill();
        threads.into_iter().for_each(|thread| thread.join().expect("a client's thread"));
        server.restart();
        let mut client = server.connect();
        for query in [
            "SELECT * FROM d.$ ORDER BY id",
            "SELECT COUNT(*), SUM(v), SUM(id), MIN(s), MAX(v) FROM d.$",
            "SELECT s, COUNT(*) FROM d.$ WHERE v > 100 GROUP BY s ORDER BY s",
        ] {
            let expected = answer(&mut client, &server, &query.replace('$', "r"));
            for table in ["c", "r USE INDEX ()"] {
                let found = answer(&mut client, &server, &query.replace('$', table));
                assert!(found == expected, "round {round}: {query} ({table})\n{}", difference(&expected, &found));
            }
        }
        let [loads, sweeps, engines, last] = told.each_ref().map(|told| told.load(Ordering::Relaxed));
        let many = number(&mut client, "SELECT COUNT(*) FROM d.many");
        assert!(many.is_multiple_of(MANY), "round {round}: a load of {MANY} rows has left {many}");
        let loaded = many / MANY;
        assert!(
            loaded == loads || loaded == loads + 1,
            "round {round}: {loads} loads were acknowledged, {loaded} are there"
        );
        let found = number(&mut client, LAST);
        assert!(
            found == last || found == last + 1,
            "round {round}: transaction {last} was acknowledged, {found} is there"
        );
        let swept = number(&mut client, "SELECT MAX(v) FROM d.swept") - swept_before;
        assert!(
            swept == sweeps || swept == sweeps + 1,
            "round {round}: {sweeps} changes of all rows, {swept} are there"
        );
        for (done, told) in done.iter_mut().zip([loads, sweeps, engines, last - last_before]) {
            *done += told;
        }
        let changing: (u64, u64) = client.query_first("SELECT COUNT(*), SUM(id) FROM d.changing").unwrap().unwrap();
        assert_eq!(changing, (MANY, MANY * (MANY + 1) / 2), "round {round}");
        let swept: (u64, u64, u64) =
            client.query_first("SELECT COUNT(*), SUM(id), COUNT(DISTINCT v) FROM d.swept").unwrap().unwrap();
        assert_eq!(swept, (MANY, MANY * (MANY + 1) / 2, 1), "round {round}");
        for table in ["d.c", "d.r", "d.many", "d.changing", "d.swept"] {
            let checked: Vec<(String, String, String, String)> = client.query(format!("CHECK TABLE {table}")).unwrap();
            assert!(checked.iter().all(|(.., text)| text == "OK"), "round {round}: {checked:?}");
        }
        run(&mut client, "TRUNCATE TABLE d.many");
        // What no list names is gone, once the background has done what it is at.
        let listed = "SELECT COALESCE(SUM(segments), 0) FROM information_schema.column_tables";
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        loop {
            let listed: u64 = client.query_first(listed).unwrap().unwrap();
            let files = segment_files(&server.data_directory().join("columns"));
            if files == listed {
                break;
            }
            assert!(std::time::Instant::now() < deadline, "round {round}: {files} files, {listed} in lists");
        }
    }
    let [loads, sweeps, engines, transactions] = done;
    println!(
        "{rounds} kills, {loads} loads, {sweeps} changes of all rows, {engines} of the engine, {transactions} transactions"
    );
    assert!(done.iter().all(|done| *done > 0), "too little was done for the run to mean anything: {done:?}");
}

/// A byte of a segment that is another, or a file that ends early, is an error that names the file, for whoever reads it and for CHECK
/// TABLE; what does not need it is answered, and it is never data.
#[test]
fn damaged_segments_are_named() {
    let mut server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut client = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, v INT, s VARCHAR(40), KEY (v)) ENGINE=COLUMN",
        "SET SESSION cte_max_recursion_depth = 100000",
        "INSERT INTO d.t WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < 3000) SELECT id, id % 40, MD5(id) FROM n",
        "OPTIMIZE TABLE d.t",
    ] {
        run(&mut client, sql);
    }
    let queries = [
        "SELECT SUM(id), SUM(v), COUNT(*) FROM d.t",
        "SELECT SUM(id) FROM d.t WHERE v IN (3, 7)",
        "SELECT * FROM d.t ORDER BY id",
        "SELECT s FROM d.t WHERE id = 77",
    ];
    let right: Vec<_> = queries.iter().map(|sql| answer(&mut client, &server, sql)).collect();
    drop(client);
    let folders = std::fs::read_dir(server.data_directory().join("columns")).expect("the folder");
    let files = folders.flatten().flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
    let path = files.map(|file| file.path()).next().expect("a segment");
    let whole = std::fs::read(&path).expect("its bytes");
    let mut random = Random::of_run("damaged_segments_are_named");
    for round in 0..12 {
        server.kill();
        let mut damaged = whole.clone();
        // The first four bytes are Parquet's mark, which the footer has, too: we do not read them.
        let at = 4 + random.below(whole.len() as u64 - 4) as usize;
        if round % 4 == 3 {
            damaged.truncate(at);
        } else {
            damaged[at] ^= 1 << random.below(8);
        }
        std::fs::write(&path, &damaged).expect("damage");
        server.restart();
        let mut client = server.connect();
        for (sql, right) in queries.iter().zip(&right) {
            let found = answer(&mut client, &server, sql);
            assert!(&found == right || found == Err(CORRUPTED), "byte {at}: {sql}: {found:?}");
        }
        let checked: Vec<(String, String, String, String)> = client.query("CHECK TABLE d.t").expect("a report");
        let named =
            checked.iter().any(|(.., kind, text)| kind.eq_ignore_ascii_case("error") && text.contains(".parquet"));
        assert!(named, "byte {at} of {}: {checked:?}", whole.len());
    }
    server.kill();
    std::fs::write(&path, &whole).expect("whole again");
    server.restart();
    let mut client = server.connect();
    for (sql, right) in queries.iter().zip(&right) {
        assert_eq!(&answer(&mut client, &server, sql), right, "{sql}");
    }
    let checked: Vec<(String, String, String, String)> = client.query("CHECK TABLE d.t").expect("a report");
    assert!(checked.iter().all(|(.., text)| text == "OK"), "{checked:?}");
}

fn while_alive(port: u16, mut work: impl FnMut(&mut Conn, u64) -> mysql::Result<()>) {
    let Ok(mut client) = squall_test_support::server::connect("127.0.0.1", port, std::time::Duration::from_secs(5))
    else {
        return;
    };
    for time in 0.. {
        match work(&mut client, time) {
            Ok(()) => {}
            // Another client's definition or lock was in the way, or the last try got half of the way.
            Err(mysql::Error::MySqlError(error)) if ALIVE.contains(&error.code) => {
                let _ = client.query_drop("ROLLBACK");
            }
            Err(mysql::Error::MySqlError(error)) => panic!("{error}"),
            Err(_) => return,
        }
    }
}

fn segment_files(folder: &Path) -> u64 {
    let folders = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
    files.filter(|file| file.path().extension().is_some_and(|extension| extension == "parquet")).count() as u64
}
