//! Small queries that run row by row give the same answers as a query plan. An unused common table expression sends a query to the full
//! planner, and changes nothing else.

use super::{connect, run, start, value};
use squall_client::{Client, ClientError, Column, QueryResult};
use squall_test_support::random::Random;

/// Queries of a run.
const QUERIES: u32 = 1000;

/// An error that no client should get.
const INTERNAL_ERROR: u16 = 1105;

/// Makes choices: the same ones for the same seed.
pub(super) struct Choices(pub(super) Random);

impl Choices {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound as u64) as usize
    }

    pub(super) fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    pub(super) fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }
}

pub(super) const TABLES: &str = "CREATE DATABASE d; USE d; SET time_zone = '+02:00';
    CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(10), d DECIMAL(8,2), ts TIMESTAMP NULL, e ENUM('x','y','z'),
                    f DOUBLE, KEY (a), KEY (b), KEY (e, a));
    CREATE TABLE u (x INT, y INT, s VARCHAR(10) COLLATE utf8mb4_bin, dt DATETIME, PRIMARY KEY (x, y), UNIQUE KEY (s),
                    KEY (dt DESC));
    CREATE TABLE v (k BIGINT UNSIGNED, j VARBINARY(8), tm TIME, KEY (k))";

pub(super) fn fill(client: &mut Client, random: &mut Choices) {
    let null_or = |random: &mut Choices, text: String| if random.one_in(6) { "NULL".to_owned() } else { text };
    let word =
        |random: &mut Choices| format!("'{}'", random.of(&["a", "A", "ä", "b", "B ", "ab", "", "abc", "Z", "é"]));
    for id in 0..70 {
        let a = random.below(20).to_string();
        let values = [
            id.to_string(),
            null_or(random, a),
            {
                let word = word(random);
                null_or(random, word)
            },
            format!("{}.{}", random.below(30), random.below(100)),
            format!("'2024-01-{:02} 10:{:02}:00'", random.below(28) + 1, random.below(60)),
            format!("'{}'", random.of(&["x", "y", "z"])),
            format!("{}.5", random.below(9)),
        ];
        run(client, &format!("INSERT INTO t VALUES ({})", values.join(",")));
        let s = format!("'{}{id}'", random.of(&["q", "Q", "r"]));
        let values = [
            random.below(20).to_string(),
            id.to_string(),
            null_or(random, s),
            format!("'2024-02-{:02} 00:00:00'", random.below(28) + 1),
        ];
        run(client, &format!("INSERT INTO u VALUES ({})", values.join(",")));
        let k = random.below(20).to_string();
        let values = [null_or(random, k), word(random), format!("'{:02}:00:00'", random.below(24))];
        run(client, &format!("INSERT INTO v VALUES ({})", values.join(",")));
    }
}

/// Columns by table, with constants of their kind.
const COLUMNS: [(&str, &[&str]); 14] = [
    ("t.id", &["5", "17", "'23'", "200", "-1", "7.5"]),
    ("t.a", &["5", "0", "'7'", "3.0", "NULL"]),
    ("t.b", &["'a'", "'AB'", "'b'", "''", "5"]),
    ("t.d", &["3", "4.50", "'7.25'", "1e1"]),
    ("t.ts", &["'2024-01-10 10:30:00'", "'2024-01-05'"]),
    ("t.e", &["'y'", "2", "'X'"]),
    ("t.f", &["1.5", "3", "'4.5'"]),
    ("u.x", &["5", "11"]),
    ("u.y", &["3", "40"]),
    ("u.s", &["'q3'", "'Q3'", "'r7'"]),
    ("u.dt", &["'2024-02-10'", "20240215"]),
    ("v.k", &["5", "-3", "12"]),
    ("v.j", &["'a'", "'ab'"]),
    ("v.tm", &["'05:00:00'", "120000"]),
];

fn columns_of(tables: &[&str]) -> Vec<(&'static str, &'static [&'static str])> {
    COLUMNS.into_iter().filter(|(column, _)| tables.contains(&&column[..1])).collect()
}

fn condition(random: &mut Choices, tables: &[&str], depth: usize) -> String {
    let columns = columns_of(tables);
    let (column, constants) = columns[random.below(columns.len())];
    let constant = random.of(constants);
    if random.one_in(12) {
        return random.of(&["1 = 1", "1 = 0", "NULL"]).to_owned();
    }
    match random.below(if depth == 0 { 8 } else { 11 }) {
        0..=2 => format!("{column} = {constant}"),
        3 => format!("{column} {} {constant}", random.of(&["<", ">", "<=", ">=", "<>", "<=>"])),
        4 => format!("{column} IN ({constant}, {})", random.of(constants)),
        5 => format!("{column} BETWEEN {constant} AND {}", random.of(constants)),
        6 => format!("{column} IS {}NULL", random.of(&["", "NOT "])),
        7 if column == "t.b" => format!("t.b LIKE '{}'", random.of(&["a%", "%b", "_", "A%"])),
        7 => format!("{constant} = {column}"),
        8 => format!("NOT ({})", condition(random, tables, depth - 1)),
        9 => format!("({} OR {})", condition(random, tables, depth - 1), condition(random, tables, depth - 1)),
        _ => format!("{} AND {}", condition(random, tables, depth - 1), condition(random, tables, depth - 1)),
    }
}

const JOINS: [(&str, &str, &str); 7] = [
    ("t", "u", "u.x = t.a"),
    ("t", "u", "u.x = t.id AND u.y > 3"),
    ("t", "v", "v.k = t.a"),
    ("u", "v", "u.x = v.k"),
    ("u", "t", "t.b = u.s"),
    ("u", "t", "t.id = u.x + 1"),
    ("v", "t", "t.b = v.j"),
];

/// FROM of a query: its tables, and its text.
fn joined_tables(random: &mut Choices) -> (Vec<&'static str>, String) {
    let (mut tables, from) = match random.below(3) {
        0 => {
            let table = random.of(&["t", "u", "v"]);
            (vec![table], table.to_owned())
        }
        kind => {
            let (left, right, on) = JOINS[random.below(JOINS.len())];
            let join = if kind == 1 { "JOIN" } else { "LEFT JOIN" };
            (vec![left, right], format!("{left} {join} {right} ON {on}"))
        }
    };
    if tables.len() < 2 || !random.one_in(4) {
        return (tables, from);
    }
    let third = ["t", "u", "v"].into_iter().find(|table| !tables.contains(table)).unwrap_or("t");
    let on = match third {
        "t" => "t.id = u.y",
        "u" => "u.y = t.id",
        _ if tables.contains(&"t") => "v.k = t.a",
        _ => "v.k = u.x",
    };
    let from = format!("{from} {} {third} ON {on}", random.of(&["JOIN", "LEFT JOIN"]));
    tables.push(third);
    (tables, from)
}

/// A column of the tables, whatever it is.
fn any_column(random: &mut Choices, tables: &[&str]) -> &'static str {
    let columns = columns_of(tables);
    columns[random.below(columns.len())].0
}

/// A column whose equal values are the same: which of several equal texts stands for them all is not promised.
fn exact_column(random: &mut Choices, tables: &[&str]) -> &'static str {
    loop {
        let column = any_column(random, tables);
        if column != "t.b" {
            return column;
        }
    }
}

/// A query; whether its rows come in an order that it says wholly.
fn query(random: &mut Choices) -> (String, bool) {
    let (tables, from) = joined_tables(random);
    let selection = match random.below(6) {
        0 => String::new(),
        _ => format!(" WHERE {}", condition(random, &tables, 2)),
    };
    match random.one_in(3) {
        true => grouped_query(random, &tables, &from, &selection),
        false => plain_query(random, &tables, &from, &selection),
    }
}

fn grouped_query(random: &mut Choices, tables: &[&str], from: &str, selection: &str) -> (String, bool) {
    let grouped = match random.below(4) {
        0 => format!("LENGTH({})", exact_column(random, tables)),
        _ => exact_column(random, tables).to_owned(),
    };
    let function = random.of(&["COUNT", "SUM", "MIN", "MAX", "AVG"]);
    let aggregate = match random.below(8) {
        0 => format!("{function}(DISTINCT {})", exact_column(random, tables)),
        1 => format!("IFNULL(SUM({}), 0)", exact_column(random, tables)),
        2 => format!("SUM({}) / COUNT(*)", exact_column(random, tables)),
        3 => format!("CONCAT({function}({}), '-', COUNT(*))", exact_column(random, tables)),
        _ => format!("{function}({})", exact_column(random, tables)),
    };
    let having = match random.below(8) {
        0 => " HAVING COUNT(*) > 1".to_owned(),
        1 => format!(" HAVING {aggregate} IS NOT NULL"),
        2 => format!(" HAVING MAX({}) > MIN({})", exact_column(random, tables), exact_column(random, tables)),
        3 => " HAVING s > 2".to_owned(),
        _ => String::new(),
    };
    let rows = format!("FROM {from}{selection}");
    if random.one_in(4) {
        let by = random.of(&["g", "1"]);
        let order = random.of(&["g", "1", "s DESC, g", "2, 1", "COUNT(*) * 2, 1"]);
        let items = format!("{grouped} AS g, {aggregate} AS s");
        return (format!("SELECT {items} {rows} GROUP BY {by}{having} ORDER BY {order}"), true);
    }
    if !having.is_empty() && !having.contains("s >") {
        return (format!("SELECT {grouped}, {aggregate} {rows} GROUP BY {grouped}{having}"), false);
    }
    match random.below(6) {
        // An order by what is not shown: of the group's key, or an aggregate.
        5 if tables[0] == "t" => {
            let (shown, key) = (random.of(&["t.b", "t.f", "t.ts"]), random.of(&["t.a", "t.d", "t.f"]));
            let items = format!("t.id, {shown}, {aggregate}");
            (format!("SELECT {items} {rows} GROUP BY t.id ORDER BY {key} DESC, t.id"), true)
        }
        4 | 5 => {
            let order = random.of(&["COUNT(*)", &aggregate]).to_owned();
            let order = format!("{order} DESC, {grouped}");
            (format!("SELECT {grouped}, {aggregate} {rows} GROUP BY {grouped} ORDER BY {order}"), true)
        }
        3 => (format!("SELECT {aggregate} {rows}"), false),
        0 => (format!("SELECT COUNT(*), {aggregate} {rows}"), false),
        1 => (format!("SELECT {grouped}, COUNT(*) AS n, {aggregate} {rows} GROUP BY {grouped}"), false),
        _ => (format!("SELECT {grouped} AS g, {aggregate} {rows} GROUP BY {grouped} ORDER BY {grouped}"), false),
    }
}

fn plain_query(random: &mut Choices, tables: &[&str], from: &str, selection: &str) -> (String, bool) {
    let first = any_column(random, tables);
    let items = match random.below(6) {
        0 => "*".to_owned(),
        1 => format!("{first}, {}.*", tables[0]),
        2 => format!("{first}, COALESCE({}, 1) AS c", any_column(random, tables)),
        3 => format!("CONCAT({first}, '-', {}) AS c, {first}", any_column(random, tables)),
        4 => format!("{first} + 1, LENGTH({})", any_column(random, tables)),
        _ => format!("{first}, {}", any_column(random, tables)),
    };
    let rows = format!("FROM {from}{selection}");
    if random.one_in(5) {
        let (first, second) = (exact_column(random, tables), exact_column(random, tables));
        return (format!("SELECT DISTINCT {first}, {second} {rows}"), false);
    }
    let key = |table: &&str| match *table {
        "t" => "t.id",
        "u" => "u.x, u.y",
        _ => "v.k, v.j, v.tm",
    };
    let keys: Vec<&str> = tables.iter().map(key).collect();
    let direction = random.of(&["", " DESC"]);
    let by_first = format!("{items} {rows} ORDER BY {first}{direction}");
    match random.below(4) {
        0 => (format!("SELECT {items} {rows}"), false),
        // Rows of v may be alike.
        _ if tables.contains(&"v") => (format!("SELECT {by_first}"), false),
        1 => (format!("SELECT {by_first}, {}", keys.join(", ")), true),
        2 => {
            let keys = keys.join(", ").replace(", ", &format!("{direction}, "));
            let all = if random.one_in(3) { "SQL_CALC_FOUND_ROWS " } else { "" };
            let limit = random.below(8);
            (format!("SELECT {all}{items} {rows} ORDER BY {keys}{direction} LIMIT {limit}"), true)
        }
        _ => {
            let (offset, limit) = (random.below(4), random.below(9));
            (format!("SELECT {by_first}, {} LIMIT {offset}, {limit}", keys.join(", ")), true)
        }
    }
}

pub(super) type Answer = Result<(Vec<Column>, Vec<Vec<Option<Vec<u8>>>>), String>;

pub(super) fn answer(client: &mut Client, sql: &str) -> Answer {
    match client.run(sql) {
        // Two internal errors are alike, and neither is an answer.
        Err(ClientError::Server(error)) if error.code != INTERNAL_ERROR => Err(error.to_string()),
        Err(error) => panic!("{sql}: {error}"),
        Ok(mut results) => match results.remove(0) {
            (QueryResult::Rows(columns), mut rows) => {
                if sql.contains("SQL_CALC_FOUND_ROWS") {
                    rows.push(vec![Some(value(client, "SELECT FOUND_ROWS()").into_bytes())]);
                }
                Ok((columns, rows))
            }
            (QueryResult::Ok(_), _) => Err("no rows".to_owned()),
        },
    }
}

#[test]
fn row_by_row_and_by_plan_are_the_same() {
    let server = start();
    let mut client = connect(&server);
    let mut random = Choices(Random::of_run("row_by_row_and_by_plan_are_the_same"));
    run(&mut client, TABLES);
    fill(&mut client, &mut random);
    let mut cached = 0;
    for _ in 0..QUERIES {
        let (sql, ordered) = query(&mut random);
        let planned = answer(&mut client, &format!("WITH unused AS (SELECT 1) {sql}"));
        let warnings = value(&mut client, "SELECT @@warning_count");
        // From the third time on its plan is cached.
        for time in 0..3 {
            let mut small = answer(&mut client, &sql);
            // A query that stops at the first rows of an index does not see errors of others, nor does one that reads partners
            // only.
            let warned = value(&mut client, "SELECT @@warning_count");
            let sees_all = ![" LIMIT ", " JOIN "].iter().any(|word| sql.contains(word));
            // Which these are may differ from one time to the next, as the ways that the query is run by do.
            assert!(!sees_all || warned == warnings, "{time}: {warned} warnings, not {warnings}: {sql}");
            // What warns row by row is met by the plan, too: it looks at no fewer rows with any condition.
            assert!(warned == "0" || warnings != "0", "{warned} warnings, not 0: {sql}");
            let mut planned = planned.clone();
            if let (false, Ok((_, small)), Ok((_, planned))) = (ordered, &mut small, &mut planned) {
                small.sort();
                planned.sort();
            }
            match (&small, &planned) {
                (Ok((small_columns, small_rows)), Ok((planned_columns, planned_rows))) => {
                    assert_eq!(small_rows, planned_rows, "{time}: {sql}");
                    assert_eq!(small_columns, planned_columns, "{time}: {sql}");
                }
                _ => assert_eq!(small, planned, "{time}: {sql}"),
            }
        }
        cached += 1;
    }
    let small: u32 = value(
        &mut client,
        "SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME = 'Rowwise_queries'",
    )
    .parse()
    .unwrap_or(0);
    assert!(small > cached, "{small} of {} queries were small", cached * 3);
}

/// A query that the full planner answers; whether its rows come in an order that it says wholly.
pub(super) fn query_of_planner(random: &mut Choices) -> (String, bool) {
    let of = |random: &mut Choices, table: &str| condition(random, &[table], 1);
    match random.below(7) {
        0 | 1 => {
            let (sql, ordered) = query(random);
            (format!("WITH unused AS (SELECT 1) {}", sql.replace("SQL_CALC_FOUND_ROWS ", "")), ordered)
        }
        2 => (format!("SELECT COUNT(*) FROM (SELECT t.id, t.a FROM t WHERE {}) q", of(random, "t")), true),
        3 => {
            let (outer, inner) = (of(random, "t"), of(random, "u"));
            let not = random.of(&["", "NOT "]);
            (
                format!("SELECT * FROM t WHERE {outer} AND {not}EXISTS (SELECT 1 FROM u WHERE u.x = t.a AND {inner})"),
                false,
            )
        }
        4 => {
            let (outer, inner) = (of(random, "t"), of(random, "u"));
            let correlated = random.of(&["u.x = t.a", "u.y < t.a", "1 = 1"]);
            let value = format!("(SELECT MAX(u.y) FROM u WHERE {correlated} AND ({inner}))");
            (format!("SELECT t.id, {value} FROM t WHERE {outer} ORDER BY t.id"), true)
        }
        5 => {
            let (outer, inner) = (of(random, "t"), of(random, "u"));
            (
                format!("SELECT t.* FROM t WHERE {outer} AND t.a IN (SELECT u.x FROM u WHERE {inner}) ORDER BY t.id"),
                true,
            )
        }
        _ => {
            let (first, second) = (of(random, "t"), of(random, "u"));
            let all = random.of(&["", " ALL"]);
            (format!("SELECT t.a FROM t WHERE {first} UNION{all} SELECT u.x FROM u WHERE {second}"), false)
        }
    }
}

/// Changes rows, and now and then a definition.
pub(super) fn change(client: &mut Client, random: &mut Choices, number: usize) {
    let id = random.below(90);
    let sql = match random.below(12) {
        0 | 1 => format!("DELETE FROM t WHERE id = {id}"),
        2 | 3 => format!("REPLACE INTO t VALUES ({id}, {}, 'n{id}', 1.5, NULL, 'y', 2.5)", random.below(20)),
        4 => format!("UPDATE t SET a = {} WHERE id < {id}", random.below(20)),
        5 => format!("UPDATE u SET y = y + 100 WHERE y = {id}"),
        6 | 7 => format!("INSERT INTO u VALUES ({}, {}, NULL, '2024-03-01')", random.below(20), 1000 + number),
        8 => format!("INSERT INTO v SELECT a, 'c', '10:00:00' FROM t WHERE id < {id}"),
        9 => format!("DELETE FROM v WHERE k > {}", random.below(20)),
        10 if number.is_multiple_of(5) => "ALTER TABLE t DROP KEY a, ADD KEY a (a)".to_owned(),
        _ => "TRUNCATE TABLE v".to_owned(),
    };
    run(client, &sql);
}

/// A cached plan must give the same answer as a new one, after any changes of the rows that it was made for.
#[test]
fn cached_plans_answer_as_new_ones() {
    let server = start();
    let (mut client, mut other) = (connect(&server), connect(&server));
    let mut random = Choices(Random::of_run("cached_plans_answer_as_new_ones"));
    run(&mut client, TABLES);
    run(&mut other, "USE d; SET time_zone = '+02:00'");
    fill(&mut client, &mut random);
    let queries: Vec<_> = (0..100).map(|_| query_of_planner(&mut random)).collect();
    for round in 0..10 {
        for (sql, ordered) in &queries {
            // The plan of a text that comes once is not cached.
            let mut new = answer(&mut client, &format!("{sql} -- {round}"));
            let warnings = value(&mut client, "SELECT @@warning_count");
            for asking in [&mut client, &mut other] {
                let mut cached = answer(asking, sql);
                assert_eq!(value(asking, "SELECT @@warning_count"), warnings, "{round}: warnings of {sql}");
                if let (false, Ok((_, cached)), Ok((_, new))) = (*ordered, &mut cached, &mut new) {
                    cached.sort();
                    new.sort();
                }
                assert_eq!(cached, new, "{round}: {sql}");
            }
        }
        for number in 0..random.below(12) {
            change(&mut client, &mut random, round * 12 + number);
        }
    }
    let hits = "SELECT SUM(HITS) FROM information_schema.PLAN_CACHE WHERE DIGEST_TEXT NOT LIKE '%warning_count%'";
    let hits: u32 = value(&mut client, hits).parse().unwrap_or(0);
    assert!(hits > 300, "{hits} of 2000 executions were by a cached plan");
}
