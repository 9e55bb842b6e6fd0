//! A table with partitions must answer what one without answers, whatever is done to both and however its partitions are changed
//! meanwhile; also after the server was killed.

use super::{connect, run, start, value};
use squall_client::{Client, ClientError, QueryResult};
use squall_test_support::random::Random;

/// Statements of a run.
const STATEMENTS: u32 = 600;

/// Between changes of the partitions.
const CHANGE_EVERY: u32 = 25;

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

fn in_database(server: &squall_test_support::server::TestServer, database: &str) -> Client {
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
