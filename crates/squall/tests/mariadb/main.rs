//! Row tables, column tables and a mix of them give MariaDB's answers: random rows, changes and queries on both servers.
//!
//! `SQUALL_RANDOM_QUERIES=5000` asks for as many queries, `SQUALL_SEED=7` repeats a run, `SQUALL_RANDOM_ROWS=100000` makes larger
//! tables. A difference is shown with the smallest query that still has it.

mod answers;
mod data;
mod generate;
mod query;

use answers::{Answer, are_equal, are_one_error, ask, shown};
use data::{Kind, TABLES, TableDef, literal, pick, row};
use mysql::Conn;
use mysql::prelude::Queryable;
use query::{Compare, Engines, Item, Query};
use squall_test_support::mariadb::MariaDb;
use squall_test_support::random::{Random, seed};
use squall_test_support::server::{TestServer, error_code};
use std::path::Path;

/// Queries unless the environment says otherwise, and rounds of changes between them.
const QUERIES: u64 = 240;
const ROUNDS: u64 = 6;

/// Rows of the greatest table.
const ROWS: u64 = 1500;

/// Differences that are shown before the test ends.
const DIFFERENCES_MAX: usize = 10;

/// Smaller queries that are tried for each.
const TRIES_MAX: usize = 400;

/// Engines of Squall's tables.
const ENGINES: [&str; 3] = ["r", "c", "p"];

struct Servers {
    squall: Conn,
    mariadb: Conn,
    /// What differs.
    found: Vec<String>,
    asked: u64,
    /// Queries that MariaDB refused or that have an empty answer.
    refused: u64,
    empty: u64,
    /// Changes of rows, and those that MariaDB refused.
    changes: u64,
    failed: u64,
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn answers_are_those_of_mariadb() {
    let Some(mariadb) = MariaDb::start("answers_are_those_of_mariadb") else { return };
    let squall = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let seed = seed("answers_are_those_of_mariadb");
    let queries = number("SQUALL_RANDOM_QUERIES", QUERIES);
    let mut random = Random::new(seed);
    let mut servers = Servers {
        squall: squall.connect(),
        mariadb: mariadb.connect(),
        found: Vec::new(),
        asked: 0,
        refused: 0,
        empty: 0,
        changes: 0,
        failed: 0,
    };
    servers.create(&mut random, number("SQUALL_RANDOM_ROWS", ROWS));
    for round in 0..ROUNDS {
        // Half of the rounds ask for what no other round sees.
        let within = round % 2 == 1;
        if within {
            servers.run_on_both("BEGIN");
        }
        for _ in 0..1 + random.below(3) {
            servers.change(&mut random, within);
        }
        for _ in 0..queries.div_ceil(ROUNDS) {
            let query = generate::query(&mut random);
            let mix = random.number();
            servers.compare(&query, &[Engines::Rows, Engines::Columns, Engines::Mixed(mix)]);
            assert!(
                servers.found.len() < DIFFERENCES_MAX,
                "seed {seed}\n{}\n{}",
                servers.found.join("\n"),
                squall.log()
            );
        }
        if within {
            servers.run_on_both(pick(&mut random, &["COMMIT", "ROLLBACK"]));
        }
    }
    let Servers { asked, refused, empty, changes, failed, .. } = servers;
    println!(
        "seed {seed}: {asked} queries; refused {refused}, without rows {empty}; {changes} changes, {failed} failed"
    );
    // What says nothing must be the exception.
    assert!(refused * 10 <= asked, "MariaDB has refused {refused} of {asked} queries");
    assert!(empty * 3 <= asked, "{empty} of {asked} queries have found no rows");
    assert!(failed * 3 <= changes, "MariaDB has refused {failed} of {changes} changes");
    assert!(servers.found.is_empty(), "seed {seed}\n{}\n{}", servers.found.join("\n"), squall.log());
}

/// A statement on one server that must not fail.
fn run(client: &mut Conn, sql: &str) {
    client.query_drop(sql).unwrap_or_else(|error| panic!("{sql}\n{error}"));
}

impl Servers {
    fn run_on_both(&mut self, sql: &str) {
        run(&mut self.mariadb, sql);
        run(&mut self.squall, sql);
    }

    /// Makes the tables and their first rows.
    fn create(&mut self, random: &mut Random, rows: u64) {
        self.run_on_both("CREATE DATABASE d CHARACTER SET utf8mb4");
        self.run_on_both("USE d");
        self.run_on_both("SET NAMES utf8mb4 COLLATE utf8mb4_general_ci");
        // MariaDB may have no names of time zones.
        self.run_on_both("SET sql_mode = 'NO_ENGINE_SUBSTITUTION', time_zone = '+02:00'");
        for table in TABLES {
            let columns: Vec<String> =
                table.columns.iter().map(|(name, sql_type, _)| format!("{name} {sql_type}")).collect();
            let create = |name: &str, keys: &str, engine: &str| {
                format!("CREATE TABLE {name} (id INT PRIMARY KEY, {}{keys}){engine}", columns.join(", "))
            };
            let (name, keys) = (table.name, table.row_keys);
            run(&mut self.mariadb, &create(name, keys, " ENGINE=InnoDB"));
            run(&mut self.squall, &create(&format!("{name}_r"), keys, ""));
            run(&mut self.squall, &create(&format!("{name}_c"), table.column_keys, " ENGINE=COLUMN"));
            run(&mut self.squall, &create(&format!("{name}_p"), ", COLUMNAR KEY copy", ""));
            let count = match table.name {
                "f" => rows,
                "g" => rows / 5,
                _ => 18,
            };
            self.insert(random, table, 0, count);
        }
        run(&mut self.squall, "OPTIMIZE TABLE f_c, f_p, g_c");
    }

    fn insert(&mut self, random: &mut Random, table: &TableDef, first: u64, count: u64) {
        let ids: Vec<u64> = (first..first + count).collect();
        for ids in ids.chunks(1000) {
            let rows: Vec<String> = ids.iter().map(|id| row(random, *id, table.columns)).collect();
            self.change_all(table.name, &format!("INSERT INTO {} VALUES {}", table.name, rows.join(", ")), |name| {
                format!("INSERT INTO {name} VALUES {}", rows.join(", "))
            });
        }
    }

    /// A change of a table on MariaDB, and of all of its kinds on Squall; afterwards they have the same rows.
    fn change_all(&mut self, table: &'static str, sql: &str, of: impl Fn(&str) -> String) {
        let expected = error_code(self.mariadb.query_drop(sql));
        self.changes += 1;
        self.failed += u64::from(expected.is_some());
        for engine in ENGINES {
            let sql = of(&format!("{table}_{engine}"));
            let result = error_code(self.squall.query_drop(&sql));
            let alike = match (expected, result) {
                (Some(expected), Some(found)) => are_one_error(expected, found),
                (expected, found) => expected == found,
            };
            if !alike {
                let sql: String = sql.chars().take(2000).collect();
                panic!("{sql}\n  MariaDB: {expected:?}\n  Squall: {result:?}");
            }
        }
        let mut all = Query::of(table, "t0".into());
        all.items = data::columns_of(table).iter().map(|column| whole_column(column.0, column.2)).collect();
        all.order.push("t0.id".into());
        let expected = ask(&mut self.mariadb, &all.sql(Engines::Peer));
        for (engine, name) in [(Engines::Rows, "r"), (Engines::Columns, "c"), (Engines::Mixed(0), "copy")] {
            let found = ask(&mut self.squall, &all.sql(engine));
            if !are_equal(&all, &expected, &found) {
                let rows = |answer: &Answer| answer.clone().unwrap_or_default();
                let (expected, found) = (rows(&expected), rows(&found));
                let at = expected.iter().zip(&found).position(|(a, b)| a != b);
                let pair = at.map(|at| format!("{:?}\n{:?}", expected[at], found[at]));
                let sql: String = sql.chars().take(2000).collect();
                panic!(
                    "{} rows and {} ({name}) after\n{sql}\n{}",
                    expected.len(),
                    found.len(),
                    pair.unwrap_or_default()
                );
            }
        }
    }

    fn change(&mut self, random: &mut Random, within: bool) {
        let table = &TABLES[random.below(TABLES.len() as u64 - 1) as usize];
        let name = table.name;
        let (column, _, kind) = table.columns[random.below(table.columns.len() as u64) as usize];
        let condition = generate::change_condition(random, name).sql(Engines::Peer);
        match random.below(12) {
            0 | 1 => {
                let next = self.mariadb.query_first::<u64, _>(format!("SELECT MAX(id) + 1 FROM {name}"));
                let next = next.ok().flatten().unwrap_or(0);
                let count = 1 + random.below(150);
                self.insert(random, table, next, count);
            }
            2 => {
                let value = literal(random, kind);
                let rest = format!("SET {column} = {value} WHERE {condition}");
                self.change_all(name, &format!("UPDATE {name} {rest}"), |name| format!("UPDATE {name} {rest}"));
            }
            3 => {
                let rest = format!("SET u = a % 20, b = NULL, m = m + 1 WHERE {condition}");
                self.change_all(name, &format!("UPDATE {name} {rest}"), |name| format!("UPDATE {name} {rest}"));
            }
            4 => {
                let rest = format!("WHERE id % 5 = {} AND {condition}", random.below(5));
                self.change_all(name, &format!("DELETE FROM {name} {rest}"), |name| {
                    format!("DELETE FROM {name} {rest}")
                });
            }
            5 => {
                // By the dimension's key: each row meets at most one.
                let join = |name: &str, other: &str| {
                    format!(
                        "UPDATE {name} z JOIN {other} o ON z.a = o.id SET z.s = o.name, z.m = o.price, z.u = 7 WHERE o.size < 12"
                    )
                };
                self.change_all(name, &join(name, "k"), |name| join(name, "k_c"));
            }
            6 => {
                let size = random.below(20);
                let join = |name: &str, other: &str| {
                    format!(
                        "DELETE z FROM {name} z JOIN {other} o ON z.u = o.id WHERE o.size = {size} AND z.id % 3 = 1"
                    )
                };
                self.change_all(name, &join(name, "k"), |name| join(name, "k_r"));
            }
            7 => {
                // Almost all rows, some of them with several partners that are all alike.
                let join = |name: &str, other: &str| {
                    format!(
                        "UPDATE {name} z LEFT JOIN {other} o ON o.id < z.a SET z.s = IF(o.id IS NULL, 'none', 'some'), \
                         z.b = z.u * 2, z.x = 1.5 WHERE z.id % 20 <> 3"
                    )
                };
                self.change_all(name, &join(name, "k"), |name| join(name, "k_p"));
            }
            8 => {
                let size = random.below(20);
                let change = |name: &str, other: &str| {
                    format!(
                        "UPDATE {name} SET m = (SELECT MAX(price) FROM {other} o WHERE o.id = {name}.a), y = 'q' \
                         WHERE {condition} OR u IN (SELECT id FROM {other} WHERE size <> {size}) OR id % 3 = 0"
                    )
                };
                self.change_all(name, &change(name, "k"), |name| change(name, "k_c"));
            }
            9 if random.below(3) == 0 => {
                let rest =
                    |other: &str| format!("WHERE {condition} AND u IN (SELECT id FROM {other} WHERE size IS NOT NULL)");
                self.change_all(name, &format!("DELETE FROM {name} {}", rest("k")), |name| {
                    format!("DELETE FROM {name} {}", rest("k_r"))
                });
            }
            // It commits.
            _ if within => {}
            _ => run(&mut self.squall, "OPTIMIZE TABLE f_c, f_p, g_c, g_p"),
        }
    }

    /// Asks a query of MariaDB's tables and of several kinds of Squall's.
    fn compare(&mut self, query: &Query, of: &[Engines]) {
        let expected = ask(&mut self.mariadb, &query.sql(Engines::Peer));
        self.asked += 1;
        self.refused += u64::from(expected.is_err());
        self.empty += u64::from(expected.as_ref().is_ok_and(Vec::is_empty));
        for engines in of {
            let found = ask(&mut self.squall, &query.sql(*engines));
            if !are_equal(query, &expected, &found) {
                let shown = self.explain_difference(query, *engines);
                // Seen at once, also by who ends a long run early.
                eprintln!("{shown}");
                self.found.push(shown);
                return;
            }
        }
    }

    fn differs(&mut self, query: &Query, engines: Engines) -> bool {
        let expected = ask(&mut self.mariadb, &query.sql(Engines::Peer));
        let found = ask(&mut self.squall, &query.sql(engines));
        // A query that MariaDB refuses has lost what it was about.
        expected.is_ok() && !are_equal(query, &expected, &found)
    }

    /// The query that differs, the smallest that does, too, both answers and the plan.
    fn explain_difference(&mut self, query: &Query, engines: Engines) -> String {
        let mut smallest = query.clone();
        let mut tries = 0;
        loop {
            let smaller = smallest.smaller().into_iter().find(|smaller| {
                tries += 1;
                tries <= TRIES_MAX && self.differs(smaller, engines)
            });
            match smaller {
                Some(smaller) => smallest = smaller,
                None => break,
            }
        }
        let sql = smallest.sql(engines);
        let expected = ask(&mut self.mariadb, &smallest.sql(Engines::Peer));
        let found = ask(&mut self.squall, &sql);
        let plan = ask(&mut self.squall, &format!("EXPLAIN FORMAT=TREE {sql}"));
        format!(
            "{}\n  as {engines:?}, smaller: {sql}\n  MariaDB: {}\n  Squall: {}\n  EXPLAIN: {}",
            query.sql(engines),
            shown(&expected),
            shown(&found),
            shown(&plan)
        )
    }
}

fn whole_column(name: &str, kind: Kind) -> Item {
    Item { sql: format!("t0.{name}"), compare: if kind == Kind::Double { Compare::Number } else { Compare::Exact } }
}
