//! A table with partitions gives the same answers as one without, after any changes of rows and partitions, and after kills of the
//! server. A definition that a kill interrupts loses no acknowledged row.

use super::{connect, run, start, value};
use squall_client::{Client, ClientError, QueryResult};
use squall_test_support::random::Random;
use squall_test_support::server::TestServer;
use std::collections::BTreeSet;
use std::time::Duration;

/// Statements of a run.
const STATEMENTS: u32 = 600;

/// Between changes of the partitions.
const CHANGE_EVERY: u32 = 25;

/// Between moves of all rows into segments, while it is a column table.
const OPTIMIZE_EVERY: u32 = 15;

/// How the table may be divided: all rows have a place.
const SCHEMES: &[&str] = &[
    "PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (5), PARTITION p1 VALUES LESS THAN (12), PARTITION pm VALUES LESS THAN MAXVALUE)",
    "PARTITION BY HASH (a) PARTITIONS 5",
    "PARTITION BY LINEAR HASH (a + 3) PARTITIONS 6",
    "PARTITION BY KEY (d) PARTITIONS 3",
    "PARTITION BY RANGE (YEAR(d)) (PARTITION p0 VALUES LESS THAN (2021), PARTITION pm VALUES LESS THAN MAXVALUE)",
    "PARTITION BY RANGE (TO_DAYS(d)) SUBPARTITION BY HASH (a) SUBPARTITIONS 3
       (PARTITION p0 VALUES LESS THAN (TO_DAYS('2021-01-01')), PARTITION pm VALUES LESS THAN MAXVALUE)",
    "PARTITION BY RANGE COLUMNS (a, d) (PARTITION p0 VALUES LESS THAN (7, '2021-06-01'), PARTITION p1 VALUES LESS THAN (7, MAXVALUE),
       PARTITION pm VALUES LESS THAN (MAXVALUE, MAXVALUE))",
    "PARTITION BY LIST (a % 4) (PARTITION p0 VALUES IN (0, 1), PARTITION p1 VALUES IN (2), PARTITION p2 VALUES IN (3))",
];

/// Changes that leave every row a place, whichever of the above there are; some are refused.
const CHANGES: &[&str] = &[
    "COALESCE PARTITION 1",
    "ADD PARTITION PARTITIONS 1",
    "REBUILD PARTITION ALL",
    "REORGANIZE PARTITION pm INTO (PARTITION px VALUES LESS THAN MAXVALUE)",
    "REORGANIZE PARTITION p0, p1 INTO (PARTITION pn VALUES LESS THAN (12))",
    "ENGINE = InnoDB",
    "ENGINE = COLUMN",
    "REMOVE PARTITIONING",
];

struct Choices(Random);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound as u64) as usize
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    fn day(&mut self) -> String {
        format!("'{}-{:02}-01'", self.of(&["2020", "2021", "2022"]), self.below(12) + 1)
    }

    fn row(&mut self) -> String {
        let b = if self.below(6) == 0 { "NULL".to_owned() } else { self.below(30).to_string() };
        format!("({}, {b}, '{}', {})", self.below(20), self.of(&["x", "Y", "z", ""]), self.day())
    }

    fn condition(&mut self) -> String {
        let number = self.below(20);
        match self.below(9) {
            0 => format!("a = {number}"),
            1 => format!("a = {number} AND d = {}", self.day()),
            2 => format!("a BETWEEN {number} AND {}", number + self.below(8)),
            3 => format!("d >= {}", self.day()),
            4 => format!("d < {} AND a > {number}", self.day()),
            5 => format!("a IN ({number}, {}, {})", self.below(20), self.below(20)),
            6 => format!("b = {number} OR a = {}", self.below(20)),
            7 => "b IS NULL".to_owned(),
            _ => format!("YEAR(d) = 2021 AND b < {number}"),
        }
    }

    fn statement(&mut self) -> String {
        match self.below(12) {
            0..=2 => {
                let rows: Vec<String> = (0..self.below(4) + 1).map(|_| self.row()).collect();
                format!("INSERT {}INTO t VALUES {}", self.of(&["", "IGNORE "]), rows.join(", "))
            }
            3 => format!(
                "INSERT INTO t VALUES {} ON DUPLICATE KEY UPDATE b = b + 1, d = d + INTERVAL 1 YEAR",
                self.row()
            ),
            4 => format!("REPLACE INTO t VALUES {}", self.row()),
            5 => format!("UPDATE t SET b = b + 1, c = 'u' WHERE {}", self.condition()),
            // In an order, as it tells which rows meet others.
            6 => {
                let (ignore, more) = (self.of(&["", "IGNORE "]), self.below(9));
                format!("UPDATE {ignore}t SET a = a + {more} WHERE {} ORDER BY a DESC, d", self.condition())
            }
            7 => format!("UPDATE t SET d = {} WHERE {}", self.day(), self.condition()),
            8 => format!("DELETE FROM t WHERE {} ORDER BY a, d LIMIT {}", self.condition(), self.below(5)),
            9 => format!("SELECT COUNT(*), SUM(b), MIN(a), MAX(d) FROM t WHERE {}", self.condition()),
            10 => format!(
                "SELECT a, b, d FROM t WHERE {} ORDER BY {} LIMIT 7",
                self.condition(),
                self.of(&["a, d", "d DESC, a", "b, a, d"])
            ),
            _ => format!("SELECT a, d FROM t WHERE {} ORDER BY a, d FOR UPDATE", self.condition()),
        }
    }
}

/// Rows or the number of rows changed, or the error's code.
fn answer(client: &mut Client, sql: &str) -> Result<String, u16> {
    match client.run(sql) {
        Err(ClientError::Server(error)) => {
            assert_ne!(error.code, 1105, "{sql}: {error}");
            Err(error.code)
        }
        Err(error) => panic!("{sql}: {error}"),
        Ok(mut results) => Ok(match results.remove(0) {
            (QueryResult::Rows(_), rows) => format!("{rows:?}"),
            (QueryResult::Ok(ok), _) => format!("{} changed", ok.affected_rows),
        }),
    }
}

fn everything(client: &mut Client) -> String {
    let all = answer(client, "SELECT a, b, c, d FROM t ORDER BY a, d");
    let by_key = answer(client, "SELECT b, a, d FROM t FORCE INDEX (b) ORDER BY b, a, d");
    format!("{all:?} {by_key:?}")
}

/// Definitions that move storages and rows about and lose none; some are refused, as the tables differ for a while.
const DEFINITIONS: &[&str] = &[
    "ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE e",
    "ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE e",
    "ALTER TABLE t REORGANIZE PARTITION pm INTO (PARTITION pn VALUES LESS THAN (200000), PARTITION pm VALUES LESS THAN MAXVALUE)",
    "ALTER TABLE t REORGANIZE PARTITION pn, pm INTO (PARTITION pm VALUES LESS THAN MAXVALUE)",
    "ALTER TABLE t REBUILD PARTITION ALL",
    "ALTER TABLE t TRUNCATE PARTITION pm",
    "ALTER TABLE e ADD COLUMN z INT",
    "ALTER TABLE e DROP COLUMN z",
    "ALTER TABLE t ADD KEY k (v, id)",
    "ALTER TABLE t DROP KEY k",
    "OPTIMIZE TABLE t, e",
];

/// Kills of a run.
const KILLS: u32 = 8;

fn in_database(server: &TestServer, database: &str) -> Client {
    let mut client = connect(server);
    run(&mut client, &format!("USE {database}; SET SESSION sql_mode = ''"));
    client
}

#[test]
fn a_table_with_partitions_is_as_one_without() {
    let mut server = start();
    let mut random = Choices(Random::of_run("a_table_with_partitions_is_as_one_without"));
    let mut client = connect(&server);
    for database in ["plain", "divided"] {
        run(&mut client, &format!("CREATE DATABASE {database}; USE {database}"));
        run(
            &mut client,
            "CREATE TABLE t (a INT NOT NULL, b INT, c VARCHAR(10), d DATE NOT NULL, PRIMARY KEY (a, d), KEY (b), KEY (d, b))",
        );
    }
    let (mut plain, mut divided) = (in_database(&server, "plain"), in_database(&server, "divided"));
    let mut in_transaction = false;
    for number in 0..STATEMENTS {
        if number % OPTIMIZE_EVERY == 1 && !in_transaction {
            answer(&mut divided, "OPTIMIZE TABLE t").expect("a result");
        }
        if number.is_multiple_of(CHANGE_EVERY) {
            if std::mem::take(&mut in_transaction) {
                run(&mut plain, "COMMIT");
                run(&mut divided, "COMMIT");
            }
            let change = if random.below(2) == 0 { random.of(SCHEMES) } else { random.of(CHANGES) };
            let changed = answer(&mut divided, &format!("ALTER TABLE t {change}"));
            assert!(!matches!(changed, Err(1526 | 1062)), "{change}: {changed:?}");
        }
        if random.below(20) == 0 {
            let word = match (in_transaction, random.below(2)) {
                (false, _) => "BEGIN",
                (true, 0) => "COMMIT",
                (true, _) => "ROLLBACK",
            };
            in_transaction = !in_transaction;
            run(&mut plain, word);
            run(&mut divided, word);
        }
        let sql = random.statement();
        let (expected, found) = (answer(&mut plain, &sql), answer(&mut divided, &sql));
        assert_eq!(found, expected, "{number}: {sql}");
        if number % 10 == 0 {
            assert_eq!(everything(&mut divided), everything(&mut plain), "{number}: after {sql}");
        }
    }
    run(&mut plain, "COMMIT");
    run(&mut divided, "COMMIT");
    let before = everything(&mut divided);
    drop((plain, divided, client));
    server.kill();
    server.restart();
    let (mut plain, mut divided) = (in_database(&server, "plain"), in_database(&server, "divided"));
    assert_eq!(everything(&mut divided), before);
    assert_eq!(everything(&mut plain), before);
    assert_eq!(value(&mut divided, "SELECT COUNT(*) FROM t"), value(&mut plain, "SELECT COUNT(*) FROM t"));
    let checked = answer(&mut divided, "CHECK TABLE t").expect("a result");
    assert!(checked.contains(&format!("{:?}", Some(b"OK".to_vec()))), "{checked}");
}

/// Inserts rows until the server is gone; the first ids of the pairs that were acknowledged.
fn insert_until_killed(client: &mut Client) -> Vec<u64> {
    let mut acknowledged = Vec::new();
    loop {
        match client.run("INSERT INTO t (v) VALUES (7), (8)") {
            Ok(results) => match &results[0].0 {
                QueryResult::Ok(ok) => acknowledged.push(ok.last_insert_id),
                QueryResult::Rows(_) => panic!("rows of an INSERT"),
            },
            Err(ClientError::Server(error)) if error.code == 1053 || error.code == 1317 => return acknowledged,
            Err(ClientError::Server(error)) => assert_eq!(error.code, 1412, "{error}"),
            Err(_) => return acknowledged,
        }
    }
}

/// What the definitions of a run meet that is no death of the server.
fn define_until_killed(client: &mut Client, random: &mut Choices) {
    loop {
        match client.run(random.of(DEFINITIONS)) {
            Err(ClientError::Server(error)) => assert_ne!(error.code, 1105, "{error}"),
            Err(_) => return,
            Ok(_) => {}
        }
    }
}

#[test]
fn definitions_of_partitions_survive_kills() {
    definitions_survive_kills("definitions_of_partitions_survive_kills", "InnoDB");
}

#[test]
fn definitions_of_partitions_of_column_tables_survive_kills() {
    definitions_survive_kills("definitions_of_partitions_of_column_tables_survive_kills", "COLUMN");
}

fn definitions_survive_kills(test: &str, engine: &str) {
    let mut server = start();
    let mut random = Choices(Random::of_run(test));
    let mut client = connect(&server);
    run(&mut client, "CREATE DATABASE d; USE d");
    let table = format!(
        "CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT, v INT, PRIMARY KEY (id), KEY (v)) ENGINE = {engine} PARTITION BY RANGE (id)
           (PARTITION p0 VALUES LESS THAN (100000), PARTITION pm VALUES LESS THAN MAXVALUE)"
    );
    run(&mut client, &table);
    run(&mut client, "CREATE TABLE e LIKE t; ALTER TABLE e REMOVE PARTITIONING");
    drop(client);
    let mut acknowledged: BTreeSet<u64> = BTreeSet::new();
    for kill in 0..KILLS {
        let (mut writer, mut definer) = (in_database(&server, "d"), in_database(&server, "d"));
        let time = Duration::from_millis(random.below(700) as u64);
        let firsts = std::thread::scope(|scope| {
            let writing = scope.spawn(|| insert_until_killed(&mut writer));
            let defining = scope.spawn(|| define_until_killed(&mut definer, &mut random));
            std::thread::sleep(time);
            server.kill();
            defining.join().expect("definitions");
            writing.join().expect("a writer")
        });
        acknowledged.extend(firsts.iter().flat_map(|first| [*first, first + 1]));
        server.restart();
        let mut client = in_database(&server, "d");
        let all = "(SELECT id, v FROM t UNION ALL SELECT id, v FROM e) both_tables";
        let found = value(&mut client, &format!("SELECT COUNT(*) FROM {all}"));
        assert_eq!(value(&mut client, &format!("SELECT COUNT(DISTINCT id) FROM {all}")), found, "{kill}: a row twice");
        let by_key = "SELECT (SELECT COUNT(*) FROM t FORCE INDEX (v) WHERE v > 0) + (SELECT COUNT(*) FROM e FORCE INDEX (v) WHERE v > 0)";
        assert_eq!(value(&mut client, by_key), found, "{kill}: entries of an index");
        let ids: Vec<String> = acknowledged.iter().map(u64::to_string).collect();
        if !ids.is_empty() {
            let here = value(&mut client, &format!("SELECT COUNT(*) FROM {all} WHERE id IN ({})", ids.join(",")));
            assert_eq!(here, ids.len().to_string(), "{kill}: acknowledged rows");
        }
        let checked = answer(&mut client, "CHECK TABLE t, e").expect("a result");
        assert_eq!(checked.matches(&format!("{:?}", Some(b"OK".to_vec()))).count(), 2, "{kill}: {checked}");
    }
    assert!(!acknowledged.is_empty(), "no row was written");
}

#[test]
fn added_partitions_outlive_a_stop_and_a_kill() {
    let mut server = start();
    let mut client = connect(&server);
    run(
        &mut client,
        "CREATE DATABASE d; USE d; \
         CREATE TABLE r (a INT PRIMARY KEY, b INT) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10)); \
         CREATE TABLE l (a INT PRIMARY KEY, b INT) PARTITION BY LIST (a) (PARTITION p0 VALUES IN (1)); \
         CREATE TABLE s (a INT PRIMARY KEY, b INT) PARTITION BY RANGE (a) SUBPARTITION BY HASH (a) SUBPARTITIONS 2 \
           (PARTITION p0 VALUES LESS THAN (10)); \
         CREATE TABLE e (a INT PRIMARY KEY, b INT); INSERT INTO e VALUES (21, 5)",
    );
    for stops in [true, false, true] {
        for table in ["r", "l", "s"] {
            let count = value(&mut client, &format!("SELECT COUNT(*) FROM {table}")).parse::<u32>().expect("a number");
            let number = count + 1;
            let place = match table {
                "l" => format!("IN ({})", number * 10 + 1),
                _ => format!("LESS THAN ({})", (number + 1) * 10),
            };
            run(&mut client, &format!("ALTER TABLE {table} ADD PARTITION (PARTITION p{number} VALUES {place})"));
            run(&mut client, &format!("INSERT INTO {table} VALUES ({}, {number})", number * 10 + 1));
        }
        match stops {
            true => assert_eq!(server.terminate(), Some(0), "{}", server.log()),
            false => server.kill(),
        }
        server.restart();
        client = connect(&server);
        run(&mut client, "USE d");
    }
    for table in ["r", "l", "s"] {
        let rows = format!("SELECT GROUP_CONCAT(CONCAT(a, ' ', b) ORDER BY a) FROM {table}");
        assert_eq!(value(&mut client, &rows), "11 1,21 2,31 3", "{table}");
    }
    run(&mut client, "ALTER TABLE r ADD PARTITION (PARTITION p4 VALUES LESS THAN (50))");
    run(&mut client, "CREATE TABLE f (a INT PRIMARY KEY, b INT); INSERT INTO f VALUES (41, 4)");
    run(
        &mut client,
        "ALTER TABLE r EXCHANGE PARTITION p4 WITH TABLE f; ALTER TABLE r EXCHANGE PARTITION p2 WITH TABLE e",
    );
    run(&mut client, "DROP TABLE f; DROP DATABASE IF EXISTS other");
    assert_eq!(server.terminate(), Some(0), "{}", server.log());
    server.restart();
    client = connect(&server);
    assert_eq!(value(&mut client, "SELECT GROUP_CONCAT(CONCAT(a, ' ', b) ORDER BY a) FROM d.r"), "11 1,21 5,31 3,41 4");
    assert_eq!(value(&mut client, "SELECT GROUP_CONCAT(CONCAT(a, ' ', b) ORDER BY a) FROM d.e"), "21 2");
}
