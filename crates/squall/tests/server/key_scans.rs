//! Scans of large tables that look up the keys of a join when they are known give the same rows as scans of tables that have no index.

use super::two_ways::{Answer, Choices, answer};
use super::{connect, run, start};
use squall_client::Client;
use squall_test_support::random::Random;

const QUERIES: usize = 150;
/// Queries whose plans look up keys of a join, at least.
const LOOKING_UP_MIN: usize = 20;
/// The database whose tables have keys, and that of the same rows without any.
const DATABASES: [&str; 2] = ["keyed", "plain"];
/// Rows of the large tables: smaller ones are read whole.
const LARGE_ROWS: usize = 12_000;
/// Values of the columns that are joined.
const KEYS: usize = 3_000;
/// Rows of one INSERT.
const ROWS_AT_ONCE: usize = 2_000;

fn fill(client: &mut Client, random: &mut Choices) {
    let keys = [
        ["PRIMARY KEY (id), KEY (k), KEY (w, v)", "PRIMARY KEY (k, id), KEY (u DESC), KEY (v)", "PRIMARY KEY (id)"],
        ["KEY (v)", "KEY (v)", "KEY (v)"],
    ];
    for (database, keys) in DATABASES.iter().zip(keys) {
        run(client, &format!("CREATE DATABASE {database}"));
        for (table, keys) in ["b", "c", "s"].iter().zip(keys) {
            let columns = "id INT NOT NULL, k INT NOT NULL, w INT, u BIGINT UNSIGNED, v SMALLINT, t VARCHAR(8)";
            run(client, &format!("CREATE TABLE {database}.{table} ({columns}, {keys})"));
        }
    }
    for (table, rows) in [("b", LARGE_ROWS), ("c", LARGE_ROWS), ("s", 300)] {
        for first in (0..rows).step_by(ROWS_AT_ONCE) {
            let values: Vec<String> = (first..rows.min(first + ROWS_AT_ONCE)).map(|id| row(random, id)).collect();
            run(client, &format!("INSERT INTO keyed.{table} VALUES {}", values.join(", ")));
        }
        run(client, &format!("INSERT INTO plain.{table} SELECT * FROM keyed.{table}; ANALYZE TABLE keyed.{table}"));
    }
}

fn row(random: &mut Choices, id: usize) -> String {
    let w = if random.one_in(9) { "NULL".to_owned() } else { format!("{}", random.below(KEYS) as i64 - 50) };
    let u = if random.one_in(30) { "18446744073709551615".to_owned() } else { random.below(KEYS).to_string() };
    let (v, t) = (random.below(200), random.of(&["a", "b", "", "zz"]));
    format!("({id}, {}, {w}, {u}, {v}, '{t}')", random.below(KEYS))
}

/// Changes some rows of a large table in both databases.
fn change(client: &mut Client, random: &mut Choices) {
    let table = random.of(&["b", "c"]);
    let (from, key) = (random.below(LARGE_ROWS), random.below(KEYS));
    let change = match random.below(4) {
        0 => format!("DELETE FROM D.{table} WHERE id BETWEEN {from} AND {}", from + 5),
        1 => format!("UPDATE D.{table} SET w = {key} WHERE id BETWEEN {from} AND {}", from + 20),
        2 => format!("UPDATE D.{table} SET u = {key}, k = {key} WHERE id = {from}"),
        _ => format!("INSERT INTO D.{table} SELECT id + 100000, k, w, u, v, t FROM D.s WHERE id = {}", key % 300),
    };
    let answers = DATABASES.map(|database| client.run(&change.replace("D.", &format!("{database}."))).is_ok());
    // A row that is inserted twice is refused by its key alone.
    if answers[0] != answers[1] {
        run(client, "DELETE p FROM plain.b p WHERE id >= 100000; DELETE p FROM plain.c p WHERE id >= 100000");
        run(client, "DELETE k FROM keyed.b k WHERE id >= 100000; DELETE k FROM keyed.c k WHERE id >= 100000");
    }
}

/// Conditions on one table, most of which leave few rows.
fn condition(random: &mut Choices, table: &str) -> String {
    let (from, few) = (random.below(KEYS), 1 + random.below(40));
    match random.below(8) {
        0 => format!("{table}.v = {}", random.below(200)),
        1 => format!("{table}.k BETWEEN {from} AND {}", from + few),
        2 => format!("{table}.w < {few} AND {table}.v < 100"),
        3 => format!("{table}.v * 3 = {}", 3 * random.below(200)),
        4 => format!("{table}.w IS NULL AND {table}.v < 20"),
        5 => format!("{table}.u > 3000"),
        _ => format!("{table}.id BETWEEN {from} AND {}", from + few),
    }
}

/// Columns whose equality a join may ask for.
fn key(random: &mut Choices) -> &'static str {
    random.of(&["k", "w", "u", "k", "w", "id"])
}

/// A table or subquery that has a column `j` to join by, and `x`.
fn inner(random: &mut Choices) -> String {
    let (table, j) = (random.of(&["b", "c"]), key(random));
    let selection = match random.below(3) {
        0 => format!(" WHERE i.v < {}", 50 + random.below(150)),
        1 => " WHERE i.t <> 'zz'".to_owned(),
        _ => String::new(),
    };
    let aggregate = random.of(&["COUNT(*)", "SUM(i.v)", "MAX(i.id)", "COUNT(DISTINCT i.v)", "MIN(i.t)", "AVG(i.v)"]);
    match random.below(11) {
        0..=2 => format!("(SELECT i.{j} AS j, {aggregate} AS x FROM {table} i{selection} GROUP BY i.{j})"),
        3 => format!(
            "(SELECT i.{j} AS j, {aggregate} AS x FROM {table} i{selection} GROUP BY i.{j}, i.v HAVING COUNT(*) < 9)"
        ),
        4 => format!("(SELECT DISTINCT i.{j} AS j, i.t AS x FROM {table} i{selection})"),
        5 => format!(
            "(SELECT i.{j} AS j, ROW_NUMBER() OVER (PARTITION BY i.{} ORDER BY i.id) AS x FROM {table} i{selection})",
            random.of(&["k", "w", j])
        ),
        6 => format!(
            "(SELECT i.{j} AS j, i.id AS x FROM {table} i{selection} ORDER BY i.id{} LIMIT {})",
            random.of(&["", " DESC"]),
            random.below(9000)
        ),
        7 => format!(
            "(SELECT i.{j} AS j, i.v AS x FROM {table} i{selection} UNION {}SELECT i.{}, i.id FROM c i)",
            random.of(&["ALL ", ""]),
            key(random)
        ),
        8 => format!(
            "(SELECT i.{j} AS j, n.v AS x FROM {table} i {} c n ON n.{} = i.{}{selection})",
            random.of(&["JOIN", "LEFT JOIN"]),
            key(random),
            random.of(&["id", "k"])
        ),
        9 => format!("(SELECT i.{j} AS j, {aggregate} AS x FROM {table} i{selection} GROUP BY i.{j} WITH ROLLUP)"),
        _ => format!("(SELECT i.{j} AS j, i.v AS x FROM {table} i{selection})"),
    }
}

fn query(random: &mut Choices) -> String {
    let outer = random.of(&["s", "s", "b"]);
    let selection = condition(random, "o");
    let by = key(random);
    match random.below(8) {
        0..=2 => {
            let join = random.of(&["JOIN", "LEFT JOIN", "RIGHT JOIN"]);
            let more = if random.one_in(4) { " AND q.x <> o.v" } else { "" };
            let inner = inner(random);
            // A join that keeps all rows of the large side is summed up, so that little is sent.
            match join {
                "RIGHT JOIN" => format!(
                    "SELECT COUNT(*), SUM(o.id), SUM(q.j), MAX(q.x) FROM {outer} o {join} {inner} q ON q.j = o.{by} AND {selection}{more}"
                ),
                _ => format!(
                    "SELECT o.id, o.{by}, q.j, q.x FROM {outer} o {join} {inner} q ON q.j = o.{by}{more} WHERE {selection}"
                ),
            }
        }
        3 => {
            let (table, j) = (random.of(&["b", "c"]), key(random));
            let aggregate = random.of(&["COUNT(*)", "SUM(q.v)", "MAX(q.id)", "AVG(q.v)", "COUNT(q.w)"]);
            let more = random.of(&["", " AND q.v < o.v", " AND q.t = o.t", " AND q.v > 100"]);
            format!(
                "SELECT o.id, (SELECT {aggregate} FROM {table} q WHERE q.{j} = o.{by}{more}) FROM {outer} o WHERE {selection}"
            )
        }
        4 => {
            let (table, j) = (random.of(&["b", "c"]), key(random));
            let aggregate = random.of(&["COUNT(*)", "AVG(q.v)", "MIN(q.v)"]);
            let compare = random.of(&["<", ">=", "="]);
            format!(
                "SELECT o.id FROM {outer} o WHERE {selection} AND o.v {compare} (SELECT {aggregate} FROM {table} q WHERE q.{j} = o.{by})"
            )
        }
        5 => {
            let (table, j) = (random.of(&["b", "c"]), key(random));
            let (not, more) = (random.of(&["", "NOT "]), random.of(&["", " AND q.v < 100", " AND q.v < o.v"]));
            format!(
                "SELECT o.id, o.{by} FROM {outer} o WHERE {selection} AND {not}EXISTS (SELECT 1 FROM {table} q WHERE q.{j} = o.{by}{more})"
            )
        }
        6 => {
            let not = random.of(&["", "NOT "]);
            let inner = inner(random);
            format!(
                "SELECT o.id, o.{by} FROM {outer} o WHERE {selection} AND o.{by} {not}IN (SELECT q.j FROM {inner} q)"
            )
        }
        _ => {
            let (first, second) = (inner(random), inner(random));
            let join = random.of(&["JOIN", "LEFT JOIN"]);
            format!(
                "SELECT COUNT(*), SUM(o.id), SUM(p.j), MAX(p.x), MAX(q.x), SUM(q.j) FROM {outer} o JOIN {first} p ON p.j = o.{by} {join} {second} q ON q.j = o.{} WHERE {selection}",
                key(random)
            )
        }
    }
}

fn answers(client: &mut Client, sql: &str) -> [Answer; 2] {
    DATABASES.map(|database| {
        run(client, &format!("USE {database}"));
        answer(client, sql).map(|(columns, mut rows)| {
            rows.sort();
            (columns, rows)
        })
    })
}

#[test]
fn keys_of_joins_change_no_answer() {
    let server = start();
    let mut client = connect(&server);
    let mut random = Choices(Random::of_run("keys_of_joins_change_no_answer"));
    fill(&mut client, &mut random);
    let mut looking_up = 0;
    for number in 0..QUERIES {
        // Some rows are seen by their transaction alone.
        match random.below(6) {
            0 => run(&mut client, "BEGIN"),
            1 => run(&mut client, "COMMIT"),
            2 => run(&mut client, "ROLLBACK"),
            3 => change(&mut client, &mut random),
            _ => {}
        }
        let sql = query(&mut random);
        let [keyed, plain] = answers(&mut client, &sql).map(|answer| answer.map(|(_, rows)| rows));
        assert_eq!(keyed, plain, "{number}: {sql}");
        run(&mut client, "USE keyed");
        let plan = answer(&mut client, &format!("EXPLAIN FORMAT=TREE {sql}"));
        let (_, plan) = plan.unwrap_or_else(|error| panic!("{sql}: {error}"));
        let looks_up = |line: &Vec<Option<Vec<u8>>>| {
            line.iter().flatten().any(|text| String::from_utf8_lossy(text).contains("by keys of the join"))
        };
        looking_up += usize::from(plan.iter().any(looks_up));
    }
    assert!(looking_up >= LOOKING_UP_MIN, "only {looking_up} of {QUERIES} queries look up keys of a join");
}
