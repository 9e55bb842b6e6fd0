//! Random queries of three tables with the same rows.

use super::{INTERNAL_ERROR, LIST, answer, difference, one_in, pick, run};
use mysql::Conn;
use mysql::prelude::Queryable;
use squall_test_support::random::{Random, seed};
use squall_test_support::server::TestServer;
use std::path::Path;

/// Rounds of changes and queries, and queries in each unless the environment says otherwise.
const ROUNDS: usize = 6;
const QUERIES: usize = 60;

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
        "SUM(m * (1 - m))",
        "SUM(m * a * m * m)",
        "AVG(m * (1 + u))",
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
    match random.below(15) {
        0 => format!("SELECT * FROM $ WHERE {condition} ORDER BY id LIMIT {}", 1 + random.below(30)),
        1 => format!("SELECT id, s, ts FROM $ WHERE {condition} ORDER BY id"),
        2 => format!("SELECT {some} FROM $ WHERE {condition}"),
        3 => {
            // Which of the equal texts stands for a group is not promised.
            let by = pick(random, &["u", "d", "e", "s", "y", "a", "YEAR(d)", "u, y"]);
            format!("SELECT {some} FROM $ WHERE {condition} GROUP BY {by} ORDER BY {by}")
        }
        // What zone maps, dictionaries and codes may answer alone.
        4 => format!("SELECT {some} FROM $"),
        5 => format!("SELECT {some}, COUNT({column}) FROM $ WHERE id >= {}", random.below(3000)),
        6 => format!("SELECT COUNT(DISTINCT {column}) FROM $"),
        7 => format!("SELECT COUNT(DISTINCT {column}) FROM $ WHERE {condition}"),
        // Which of the equal texts stands for the others is not promised.
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
        11..14 => joins(random),
        _ => format!(
            "SELECT k.k, {some} FROM $, k, k l WHERE k.k = a AND l.k = u AND l.k < 15 AND {condition} GROUP BY k.k, l.name ORDER BY k.k, l.name"
        ),
    }
}

/// A join of several tables in any order, with subqueries that become joins.
fn joins(random: &mut Random) -> String {
    let mut tables = vec!["$ x", "$ y", "k", "k l"];
    if one_in(random, 2) {
        tables.push("$ z");
    }
    let mut conditions = vec![
        pick(random, &["x.id = y.id", "x.b = y.b", "x.id = y.id AND x.a = y.a"]).to_owned(),
        pick(random, &["k.k = x.a", "k.k = y.a", "k.k = y.u"]).to_owned(),
        pick(random, &["l.k = k.k", "l.k = x.a", "l.k = y.u", "l.k = x.u AND l.k < 6"]).to_owned(),
    ];
    if tables.len() > 4 {
        conditions.push(
            pick(random, &["z.id = x.id", "z.id = y.id + 1 AND y.id < 40", "z.id = y.id AND z.u = k.k"]).to_owned(),
        );
    }
    let subqueries = [
        "EXISTS (SELECT * FROM $ i WHERE i.a = x.a AND i.id <> x.id AND i.u = 3)",
        "NOT EXISTS (SELECT * FROM $ i WHERE i.a = x.a AND i.m > x.m + 40)",
        "NOT EXISTS (SELECT * FROM $ i WHERE i.u = l.k AND i.s = 'zebra')",
        "NOT EXISTS (SELECT * FROM $ i WHERE i.u = l.k AND i.u = x.a AND i.m > 10)",
        "NOT EXISTS (SELECT * FROM $ i WHERE i.u = l.k AND i.a = y.a AND i.m > 10)",
        "x.a IN (SELECT a FROM $ GROUP BY a HAVING COUNT(*) > 20)",
        "y.u IN (SELECT u FROM $ WHERE e = 'Mid')",
        "x.a NOT IN (SELECT a FROM $ WHERE a > 15)",
        "y.m < (SELECT AVG(m) FROM $ i WHERE i.a = x.a)",
        "y.m * 5 < (SELECT SUM(m * (1 - m)) FROM $ i WHERE i.a = x.a AND i.u = k.k)",
        "(x.m > y.m OR k.name = 'one')",
        "x.s = y.s",
        "x.id < 50",
    ];
    for _ in 0..random.below(3) {
        conditions.push(pick(random, &subqueries).to_owned());
    }
    for at in (1..tables.len()).rev() {
        tables.swap(at, random.below(at as u64 + 1) as usize);
    }
    let (tables, conditions) = (tables.join(", "), conditions.join(" AND "));
    let values = "COUNT(*), SUM(x.m * (1 - y.m)), SUM(x.a * y.m), MIN(x.id), MAX(y.d), COUNT(DISTINCT k.name)";
    match random.below(3) {
        0 => format!("SELECT {values} FROM {tables} WHERE {conditions}"),
        1 => format!("SELECT k.k, {values} FROM {tables} WHERE {conditions} GROUP BY k.k ORDER BY k.k"),
        _ => format!("SELECT x.id, y.id, k.k, l.k FROM {tables} WHERE {conditions} ORDER BY 1, 2, 3, 4 LIMIT 20"),
    }
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
