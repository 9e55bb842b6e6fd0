//! Faster ways of changing rows do what the slow way does, whatever rules a table has: checks, generated columns, keys, foreign keys in both
//! directions, triggers, partitions, views.
//!
//! Each case has two tables with the same rules. One is changed by a statement that a faster way is for, the other by one that only the
//! slow way is for: within a transaction of several statements, by a query, or in another engine.

use super::{connect, run, value};
use squall_client::{Client, ClientError, QueryResult};
use squall_test_support::server::TestServer;
use std::path::Path;

/// Rows and bytes of a text: together more than what goes around a transaction (16 MiB).
const LONG_ROWS: u32 = 600;
const LONG_TEXT: u32 = 30_000;
/// More than the segment rows that are changed at once (1,024).
const SEGMENT_ROWS: u32 = 1_100;

/// The rules of a table.
struct Rules {
    name: &'static str,
    /// Behind the table's columns; `T` is the table, `C` its child and `P` its parent.
    clauses: &'static str,
    /// Behind the table's definition.
    behind: &'static str,
    /// More definitions.
    definitions: &'static [&'static str],
    /// The name to change rows by.
    target: &'static str,
    /// Whether column tables may have them.
    of_columns: bool,
}

const PLAIN: Rules = Rules { name: "plain", clauses: "", behind: "", definitions: &[], target: "T", of_columns: true };

const RULES: &[Rules] = &[
    PLAIN,
    Rules { name: "check", clauses: ", CHECK (v < 1000000)", ..PLAIN },
    Rules { name: "violated check", clauses: ", CONSTRAINT T_c CHECK (v <> 77)", ..PLAIN },
    Rules { name: "generated", clauses: ", g INT AS (v * 2) STORED, w INT DEFAULT (v + 1)", ..PLAIN },
    Rules { name: "unique", clauses: ", UNIQUE (u)", ..PLAIN },
    Rules { name: "unique values that are not", clauses: ", UNIQUE (m)", ..PLAIN },
    Rules { name: "foreign key", clauses: ", FOREIGN KEY (m) REFERENCES P (id)", of_columns: false, ..PLAIN },
    Rules {
        name: "foreign key without a parent",
        clauses: ", CONSTRAINT T_f FOREIGN KEY (u) REFERENCES P (id)",
        of_columns: false,
        ..PLAIN
    },
    Rules {
        name: "referenced",
        definitions: &["CREATE TABLE C (id INT PRIMARY KEY, p INT, CONSTRAINT C_f FOREIGN KEY (p) REFERENCES T (id))"],
        of_columns: false,
        ..PLAIN
    },
    Rules {
        name: "referenced with actions",
        definitions: &[
            "CREATE TABLE C (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES T (id) ON DELETE CASCADE ON UPDATE CASCADE)",
        ],
        of_columns: false,
        ..PLAIN
    },
    Rules {
        name: "triggers before",
        definitions: &[
            "CREATE TRIGGER T_bi BEFORE INSERT ON T FOR EACH ROW SET NEW.v = NEW.v + 1000",
            "CREATE TRIGGER T_bu BEFORE UPDATE ON T FOR EACH ROW SET NEW.v = NEW.v + 2000",
        ],
        ..PLAIN
    },
    Rules {
        name: "triggers behind",
        definitions: &[
            "CREATE TABLE C (id INT AUTO_INCREMENT PRIMARY KEY, p INT)",
            "CREATE TRIGGER T_ai AFTER INSERT ON T FOR EACH ROW INSERT INTO C (p) VALUES (NEW.id)",
            "CREATE TRIGGER T_au AFTER UPDATE ON T FOR EACH ROW INSERT INTO C (p) VALUES (NEW.v)",
            "CREATE TRIGGER T_ad AFTER DELETE ON T FOR EACH ROW INSERT INTO C (p) VALUES (-OLD.id)",
        ],
        ..PLAIN
    },
    Rules { name: "partitions", behind: "PARTITION BY HASH (id) PARTITIONS 3", of_columns: false, ..PLAIN },
    Rules {
        name: "view",
        definitions: &["CREATE VIEW V_T AS SELECT * FROM T WHERE v < 500 WITH CHECK OPTION"],
        target: "V_T",
        ..PLAIN
    },
];

/// The two tables of a case, with the statements that change them.
struct Case<'c> {
    client: &'c mut Client,
    rules: &'c Rules,
}

impl Case<'_> {
    /// A text with the names of one of the two tables.
    fn named(text: &str, table: &str) -> String {
        let word = |word: &str| match word {
            "T" => table.to_owned(),
            "P" => format!("{table}_parent"),
            "C" => format!("{table}_child"),
            "V_T" => format!("{table}_view"),
            // Names that all tables of a database share.
            name if name.starts_with("T_") || name.starts_with("C_") => format!("{table}_{name}"),
            other => other.to_owned(),
        };
        let is_part = |character: char| character.is_alphanumeric() || character == '_';
        let (mut out, mut start) = (String::new(), None);
        for (at, character) in text.char_indices().chain([(text.len(), ' ')]) {
            match (start, is_part(character)) {
                (None, true) => start = Some(at),
                (Some(from), false) => {
                    out.push_str(&word(&text[from..at]));
                    start = None;
                }
                _ => {}
            }
            if start.is_none() && at < text.len() {
                out.push(character);
            }
        }
        out
    }

    fn create(&mut self, table: &str, engine: &str) {
        let parent = "CREATE TABLE P (id INT PRIMARY KEY)";
        run(self.client, &Self::named(parent, table));
        run(self.client, &Self::named("INSERT INTO P SELECT DISTINCT m FROM source", table));
        let columns = "id INT PRIMARY KEY, v INT, m INT, u INT, a TIMESTAMP NULL, s MEDIUMTEXT";
        let clauses = self.rules.clauses;
        let definition = format!("CREATE TABLE T ({columns}{clauses}) ENGINE={engine} {}", self.rules.behind);
        run(self.client, &Self::named(&definition, table));
        for definition in self.rules.definitions {
            run(self.client, &Self::named(definition, table));
        }
    }

    /// Children of some rows, where a child refers to them.
    fn add_children(&mut self, table: &str) {
        if self.rules.name.starts_with("referenced") {
            run(self.client, &Self::named("INSERT INTO C SELECT id, id FROM T WHERE id % 50 = 7", table));
        }
    }

    /// Carries a change out; its affected rows or its error's code.
    fn change(&mut self, sql: &str, table: &str) -> String {
        let sql = Self::named(sql, table);
        match self.client.run(&sql) {
            Ok(results) => match results.first() {
                Some((QueryResult::Ok(ok), _)) => format!("{} rows", ok.affected_rows),
                _ => panic!("{sql}: rows"),
            },
            Err(ClientError::Server(error)) => format!("error {}", error.code),
            Err(error) => panic!("{sql}: {error}"),
        }
    }

    /// Everything that a change may have changed.
    fn state(&mut self, table: &str) -> String {
        let rows = "SELECT CONCAT_WS(' ', COUNT(*), SUM(id), SUM(v), SUM(m), SUM(u), SUM(LENGTH(s)), SUM(UNIX_TIMESTAMP(a)), \
                    BIT_XOR(CRC32(CONCAT_WS(',', id, v, m, u, a, LEFT(s, 20))))) FROM T";
        let mut state = value(self.client, &Self::named(rows, table));
        if self.rules.clauses.contains("g INT") {
            state += &value(self.client, &Self::named("SELECT CONCAT(' ', SUM(g), ' ', SUM(w)) FROM T", table));
        }
        if self.rules.definitions.iter().any(|definition| definition.contains("TABLE C")) {
            let children = "SELECT CONCAT(' ', COUNT(*), ' ', COALESCE(SUM(p), 0)) FROM C";
            state += &value(self.client, &Self::named(children, table));
        }
        let check = value(self.client, &Self::named("SELECT COUNT(*) FROM T WHERE v IS NOT NULL AND id >= 0", table));
        format!("{state} ({check})")
    }

    /// Changes one table the fast way and the other the slow way.
    fn compare(&mut self, fast: &str, slow: &[&str]) {
        let done = self.change(fast, "fast");
        let mut slowly = String::new();
        for sql in slow {
            let done = self.change(sql, "slow");
            if !matches!(*sql, "BEGIN" | "COMMIT") {
                slowly = done;
            }
        }
        assert_eq!(done, slowly, "{}: {fast}", self.rules.name);
        assert_eq!(self.state("fast"), self.state("slow"), "{}: {fast}: {done}", self.rules.name);
    }

    fn drop_all(&mut self) {
        for table in ["fast", "slow"] {
            run(self.client, &Self::named("DROP VIEW IF EXISTS V_T", table));
            run(self.client, &Self::named("DROP TABLE IF EXISTS C", table));
            run(self.client, &Self::named("DROP TABLE T, P", table));
        }
    }
}

fn source(client: &mut Client, rows: u32, text: u32) {
    run(client, "DROP TABLE IF EXISTS source");
    run(client, "CREATE TABLE source (id INT PRIMARY KEY, v INT, m INT, u INT, a TIMESTAMP NULL, s MEDIUMTEXT)");
    run(
        client,
        &format!(
            "INSERT INTO source WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < {rows}) \
             SELECT id, id % 100, id % 10, id + 5, FROM_UNIXTIME(1000000000 + id), CONCAT(id, REPEAT('x', {text})) FROM n"
        ),
    );
}

fn server() -> (TestServer, Client) {
    let binary = Path::new(env!("CARGO_BIN_EXE_squall"));
    let server = TestServer::start_with_arguments(binary, &["--secure-file-priv="]);
    let mut client = connect(&server);
    run(&mut client, "CREATE DATABASE d");
    run(&mut client, "USE d");
    run(&mut client, "SET cte_max_recursion_depth = 100000");
    (server, client)
}

#[test]
fn new_rows_around_the_transaction_follow_the_rules() {
    let (_server, mut client) = server();
    source(&mut client, LONG_ROWS, LONG_TEXT);
    for rules in RULES {
        let target = rules.target;
        let mut case = Case { client: &mut client, rules };
        case.create("fast", "InnoDB");
        case.create("slow", "InnoDB");
        for verb in ["INSERT INTO", "INSERT IGNORE INTO", "REPLACE INTO"] {
            let sql = format!("{verb} {target} (id, v, m, u, a, s) SELECT id, v, m, u, a, s FROM source");
            case.compare(&sql, &["BEGIN", &sql, "COMMIT"]);
        }
        case.add_children("fast");
        case.add_children("slow");
        let replace = format!("REPLACE INTO {target} (id, v, m, u, a, s) SELECT id, v, m, u, a, s FROM source");
        case.compare(&replace, &["BEGIN", &replace, "COMMIT"]);
        case.drop_all();
    }
}

#[test]
fn rows_of_files_follow_the_rules() {
    let (_server, mut client) = server();
    source(&mut client, LONG_ROWS, 3_000);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("rows").display().to_string();
    run(&mut client, &format!("SELECT id, v, m, u, a, s FROM source ORDER BY id INTO OUTFILE '{file}'"));
    for rules in RULES {
        let mut case = Case { client: &mut client, rules };
        case.create("fast", "InnoDB");
        case.create("slow", "InnoDB");
        for duplicates in ["", "IGNORE", "REPLACE"] {
            let sql = format!("LOAD DATA INFILE '{file}' {duplicates} INTO TABLE {} (id, v, m, u, a, s)", rules.target);
            case.compare(&sql, &["BEGIN", &sql, "COMMIT"]);
        }
        case.drop_all();
    }
}

#[test]
fn segment_rows_at_once_follow_the_rules() {
    let (_server, mut client) = server();
    source(&mut client, SEGMENT_ROWS, 10);
    for rules in RULES.iter().filter(|rules| rules.of_columns) {
        let target = rules.target;
        let mut case = Case { client: &mut client, rules };
        case.create("fast", "COLUMN");
        case.create("slow", "InnoDB");
        for table in ["fast", "slow"] {
            case.change(
                &format!("INSERT IGNORE INTO {target} (id, v, m, u, a, s) SELECT id, v, m, u, a, s FROM source"),
                table,
            );
        }
        run(case.client, "OPTIMIZE TABLE fast");
        for change in [
            format!("UPDATE {target} SET v = v + 1, s = UPPER(s) WHERE m < 1000"),
            format!("UPDATE IGNORE {target} SET v = v + 75 WHERE u > 0"),
            format!("UPDATE {target} JOIN source b ON b.id = {target}.id SET {target}.v = b.v + 3"),
            format!("UPDATE {target} SET m = m + 10"),
            format!("UPDATE {target} SET id = id + 100000 ORDER BY id DESC"),
            format!("DELETE {target} FROM {target} JOIN source b ON b.id + 100000 = {target}.id WHERE b.id < 20"),
            format!("DELETE FROM {target} WHERE id > 100000 AND m > 0"),
        ] {
            case.compare(&change, &[&change]);
        }
        case.drop_all();
    }
}

#[test]
fn single_rows_on_the_connections_thread_follow_the_rules() {
    let (_server, mut client) = server();
    source(&mut client, 60, 10);
    for rules in RULES {
        let target = rules.target;
        let mut case = Case { client: &mut client, rules };
        case.create("fast", "InnoDB");
        case.create("slow", "InnoDB");
        for table in ["fast", "slow"] {
            case.change(
                &format!("INSERT IGNORE INTO {target} (id, v, m, u, a, s) SELECT id, v, m, u, a, s FROM source"),
                table,
            );
            case.add_children(table);
        }
        let columns = "(id, v, m, u, a, s)";
        for (fast, slow) in [
            (
                format!("INSERT INTO {target} {columns} VALUES (200, 7, 8, 2, NULL, 'x')"),
                format!("INSERT INTO {target} {columns} SELECT 200, 7, 8, 2, NULL, 'x'"),
            ),
            (
                format!("INSERT INTO {target} {columns} VALUES (201, 77, 800, 2, NULL, 'x')"),
                format!("INSERT INTO {target} {columns} SELECT 201, 77, 800, 2, NULL, 'x'"),
            ),
            (
                format!("REPLACE INTO {target} {columns} VALUES (7, 7, 8, 3, NULL, 'x')"),
                format!("REPLACE INTO {target} {columns} SELECT 7, 7, 8, 3, NULL, 'x'"),
            ),
            (
                format!(
                    "INSERT INTO {target} {columns} VALUES (57, 7, 8, 3, NULL, 'x') ON DUPLICATE KEY UPDATE v = 9, id = 300"
                ),
                format!(
                    "INSERT INTO {target} {columns} SELECT 57, 7, 8, 3, NULL, 'x' ON DUPLICATE KEY UPDATE v = 9, id = 300"
                ),
            ),
            (
                format!("UPDATE {target} SET v = 77 WHERE id = 5"),
                format!("UPDATE {target} SET v = 77 WHERE id = (SELECT 5)"),
            ),
            (
                format!("UPDATE {target} SET v = 8, m = 3 WHERE id = 6"),
                format!("UPDATE {target} SET v = 8, m = 3 WHERE id = (SELECT 6)"),
            ),
            (
                format!("UPDATE {target} SET id = 400 WHERE id = 57"),
                format!("UPDATE {target} SET id = 400 WHERE id = (SELECT 57)"),
            ),
            (
                format!("UPDATE {target} SET m = 800 WHERE id = 8"),
                format!("UPDATE {target} SET m = 800 WHERE id = (SELECT 8)"),
            ),
            (format!("DELETE FROM {target} WHERE id = 57"), format!("DELETE FROM {target} WHERE id = (SELECT 57)")),
            (format!("DELETE FROM {target} WHERE id = 7"), format!("DELETE FROM {target} WHERE id = (SELECT 7)")),
            (format!("DELETE FROM {target} WHERE id = 9"), format!("DELETE FROM {target} WHERE id = (SELECT 9)")),
        ] {
            case.compare(&fast, &[&slow]);
        }
        case.drop_all();
    }
}
