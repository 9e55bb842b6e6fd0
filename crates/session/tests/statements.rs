//! Statements through the embedded interface, and their printed results.

use squall_session::api::{ColumnMeta, LocalFuture, OkInfo, ResultWriter, StatusInfo};
use squall_session::{Database, OpenOptions, Session};
use squall_types::{Date, DateTime, Decimal, ErrorCode, RowWriter, SqlError, SqlType, Time};

/// Prints results, a line per row.
#[derive(Default)]
struct Printer {
    text: String,
    cells: Vec<String>,
    columns: Vec<SqlType>,
    file: Option<Vec<u8>>,
}

impl RowWriter for Printer {
    fn begin_row(&mut self) {
        self.cells.clear();
    }
    fn put_null(&mut self) {
        self.cells.push("NULL".into());
    }
    fn put_int(&mut self, value: i64) {
        self.cells.push(value.to_string());
    }
    fn put_uint(&mut self, value: u64) {
        self.cells.push(value.to_string());
    }
    fn put_double(&mut self, value: f64) {
        self.cells.push(value.to_string());
    }
    fn put_decimal(&mut self, value: Decimal) {
        self.cells.push(value.to_string());
    }
    fn put_bytes(&mut self, value: &[u8]) {
        self.cells.push(String::from_utf8_lossy(value).into_owned());
    }
    fn put_date(&mut self, value: Date) {
        self.cells.push(value.to_text());
    }
    fn put_datetime(&mut self, value: DateTime) {
        self.cells.push(value.to_text(0));
    }
    fn put_time(&mut self, value: Time) {
        self.cells.push(value.to_text(0));
    }
    fn end_row(&mut self) {
        assert_eq!(self.cells.len(), self.columns.len(), "a value per column");
        self.text.push_str(&self.cells.join("|"));
        self.text.push('\n');
    }
}

impl ResultWriter for Printer {
    fn begin_result_set(&mut self, columns: &[ColumnMeta]) {
        self.columns = columns.iter().map(|column| column.sql_type.clone()).collect();
        let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        self.text.push_str(&format!("[{}]\n", names.join("|")));
    }
    fn end_result_set(&mut self, status: &StatusInfo) {
        self.end(status);
    }
    fn ok(&mut self, ok: &OkInfo, status: &StatusInfo) {
        self.text.push_str(&format!("ok {}", ok.affected_rows));
        if ok.last_insert_id != 0 {
            self.text.push_str(&format!(" id {}", ok.last_insert_id));
        }
        if !ok.info.is_empty() {
            self.text.push_str(&format!(" {}", ok.info));
        }
        self.text.push('\n');
        self.end(status);
    }
    fn error(&mut self, error: &SqlError) {
        self.text.push_str(&format!("{error}\n"));
    }
    fn needs_flush(&self) -> bool {
        false
    }
    fn flush(&mut self) -> LocalFuture<'_, std::io::Result<()>> {
        Box::pin(async { Ok(()) })
    }
    fn local_infile<'a>(&'a mut self, _name: &'a str) -> LocalFuture<'a, Result<(), SqlError>> {
        let has_file = self.file.is_some();
        Box::pin(async move { if has_file { Ok(()) } else { Err(SqlError::new(ErrorCode::LocalInfileDisabled, &[])) } })
    }
    fn local_infile_chunk(&mut self) -> LocalFuture<'_, Result<Option<Vec<u8>>, SqlError>> {
        let chunk = self.file.take();
        Box::pin(async move { Ok(chunk) })
    }
}

impl Printer {
    fn end(&mut self, status: &StatusInfo) {
        if status.warnings > 0 {
            self.text.push_str(&format!("warnings {}\n", status.warnings));
        }
    }
}

struct Fixture {
    _directory: tempfile::TempDir,
    database: Database,
    session: Session,
    runtime: tokio::runtime::Runtime,
}

impl Fixture {
    fn new() -> Fixture {
        let directory = tempfile::tempdir().expect("a directory");
        let database = Database::open(directory.path(), OpenOptions::default()).expect("a database");
        let session = database.connect().expect("a session");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let mut fixture = Fixture { _directory: directory, database, session, runtime };
        fixture.run("CREATE DATABASE test");
        fixture.run("USE test");
        fixture
    }

    fn run(&mut self, sql: &str) -> String {
        self.run_with_file(sql, None)
    }

    fn run_with_file(&mut self, sql: &str, file: Option<&[u8]>) -> String {
        run_in(&self.runtime, &mut self.session, sql, file)
    }

    /// Runs statements and compares all that came back.
    fn check(&mut self, sql: &str, expected: &str) {
        let printed = self.run(sql);
        assert_eq!(printed.trim_end(), expected.trim_end(), "{sql}");
    }
}

fn run_in(runtime: &tokio::runtime::Runtime, session: &mut Session, sql: &str, file: Option<&[u8]>) -> String {
    let mut printer = Printer { file: file.map(<[u8]>::to_vec), ..Default::default() };
    runtime.block_on(session.run_text(sql.as_bytes(), &mut printer)).expect("a client that stays");
    printer.text
}

#[test]
fn select_one_and_multi_statements() {
    let mut fixture = Fixture::new();
    fixture.check("SELECT 1", "[1]\n1");
    fixture.check("SELECT 1 AS a; SELECT 'x' AS b", "[a]\n1\n[b]\nx");
    fixture.check("SELECT @@autocommit, @@version_comment", "[@@autocommit|@@version_comment]\n1|Squall");
    fixture.check(
        "SELEC 1",
        "ERROR 1064 (42000): You have an error in your SQL syntax; check the manual that corresponds to your MySQL \
         server version for the right syntax to use near 'SELEC 1' at line 1",
    );
}

#[test]
fn tables_and_rows() {
    let mut fixture = Fixture::new();
    fixture.check("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10))", "ok 0");
    fixture.check("INSERT INTO t VALUES (1, 'x'), (2, 'y')", "ok 2 Records: 2  Duplicates: 0  Warnings: 0");
    fixture.check("SELECT * FROM t ORDER BY a DESC", "[a|b]\n2|y\n1|x");
    fixture.check("SELECT b FROM t WHERE a = 2", "[b]\ny");
    fixture.check("UPDATE t SET b = 'z' WHERE a = 1", "ok 1 Rows matched: 1  Changed: 1  Warnings: 0");
    fixture.check("INSERT INTO t VALUES (1, 'q')", "ERROR 1062 (23000): Duplicate entry '1' for key 't.PRIMARY'");
    fixture.check("DELETE FROM t WHERE a = 2", "ok 1");
    fixture.check("SELECT * FROM t", "[a|b]\n1|z");
    fixture.check("CREATE TABLE t (a INT)", "ERROR 1050 (42S01): Table 't' already exists");
    fixture.check("DROP TABLE t, u", "ERROR 1051 (42S02): Unknown table 'test.u'");
    fixture.check("DROP TABLE IF EXISTS t, u", "ok 0\nwarnings 1");
    fixture.check("SHOW WARNINGS", "[Level|Code|Message]\nNote|1051|Unknown table 'test.u'");
    fixture.check("SELECT * FROM t", "ERROR 1146 (42S02): Table 'test.t' doesn't exist");
}

#[test]
fn transactions() {
    let mut fixture = Fixture::new();
    fixture.run("CREATE TABLE t (a INT PRIMARY KEY)");
    fixture.check("BEGIN; INSERT INTO t VALUES (1); SAVEPOINT s; INSERT INTO t VALUES (2)", "ok 0\nok 1\nok 0\nok 1");
    fixture.check("ROLLBACK TO s; SELECT * FROM t; ROLLBACK; SELECT * FROM t", "ok 0\n[a]\n1\nok 0\n[a]");
    fixture.check("ROLLBACK TO s", "ERROR 1305 (42000): SAVEPOINT s does not exist");
    fixture.check("SET autocommit = 0; INSERT INTO t VALUES (5); ROLLBACK; SELECT * FROM t", "ok 0\nok 1\nok 0\n[a]");
    fixture.check("INSERT INTO t VALUES (6); SET autocommit = 1; SELECT * FROM t", "ok 1\nok 0\n[a]\n6");
    fixture.check(
        "START TRANSACTION READ ONLY; INSERT INTO t VALUES (7)",
        "ok 0\nERROR 1792 (25006): Cannot execute statement in a READ ONLY transaction.",
    );
    fixture.check("COMMIT", "ok 0");
}

#[test]
fn definitions_are_shown_as_mysql_shows_them() {
    let mut fixture = Fixture::new();
    fixture.run(
        "CREATE TABLE t (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, name VARCHAR(20) NOT NULL DEFAULT 'a''b', \
         at TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, d DECIMAL(10,2) DEFAULT 1.5, \
         e ENUM('x','y') DEFAULT 'y', txt TEXT, PRIMARY KEY (id), UNIQUE KEY n (name), KEY (d, txt(5))) COMMENT 'hi'",
    );
    fixture.check(
        "SHOW CREATE TABLE t",
        "[Table|Create Table]\nt|CREATE TABLE `t` (\n  `id` bigint unsigned NOT NULL AUTO_INCREMENT,\n  `name` varchar(20) NOT NULL DEFAULT 'a''b',\n  \
         `at` timestamp NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,\n  `d` decimal(10,2) DEFAULT '1.50',\n  \
         `e` enum('x','y') DEFAULT 'y',\n  `txt` text,\n  PRIMARY KEY (`id`),\n  UNIQUE KEY `n` (`name`),\n  \
         KEY `d` (`d`,`txt`(5))\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='hi'",
    );
    fixture.check(
        "DESCRIBE t",
        "[Field|Type|Null|Key|Default|Extra]\nid|bigint unsigned|NO|PRI|NULL|auto_increment\n\
         name|varchar(20)|NO|UNI|a'b|\nat|timestamp|YES||CURRENT_TIMESTAMP|DEFAULT_GENERATED on update CURRENT_TIMESTAMP\n\
         d|decimal(10,2)|YES|MUL|1.50|\ne|enum('x','y')|YES||y|\ntxt|text|YES||NULL|",
    );
    fixture.check("SHOW TABLES", "[Tables_in_test]\nt");
    fixture.check(
        "SHOW COLUMNS FROM t WHERE Field = 'd'",
        "[Field|Type|Null|Key|Default|Extra]\nd|decimal(10,2)|YES|MUL|1.50|",
    );
    fixture.check("SHOW VARIABLES LIKE 'autocommit'", "[Variable_name|Value]\nautocommit|ON");
    fixture.check(
        "SELECT table_name, engine FROM information_schema.tables WHERE table_schema = 'test'",
        "[table_name|engine]\nt|InnoDB",
    );
}

#[test]
fn alter_table() {
    let mut fixture = Fixture::new();
    fixture.run("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10)); INSERT INTO t VALUES (1,'x'),(2,'y')");
    fixture.check(
        "ALTER TABLE t ADD c INT NOT NULL DEFAULT 7 AFTER a, ADD INDEX (b)",
        "ok 0 Records: 0  Duplicates: 0  Warnings: 0",
    );
    fixture.check("SELECT * FROM t", "[a|c|b]\n1|7|x\n2|7|y");
    fixture.check(
        "ALTER TABLE t MODIFY b INT",
        "ERROR 1366 (HY000): Incorrect integer value: 'x' for column 'b' at row 1",
    );
    fixture
        .check("ALTER TABLE t MODIFY a BIGINT, RENAME COLUMN b TO bb", "ok 2 Records: 2  Duplicates: 0  Warnings: 0");
    fixture.check("SELECT bb FROM t WHERE bb = 'y'", "[bb]\ny");
    fixture.check("ALTER TABLE t DROP COLUMN c, RENAME TO u", "ok 0 Records: 0  Duplicates: 0  Warnings: 0");
    fixture.check("SELECT * FROM u", "[a|bb]\n1|x\n2|y");
    fixture
        .check("ALTER TABLE u DROP COLUMN nope", "ERROR 1091 (42000): Can't DROP 'nope'; check that column/key exists");
    fixture.check(
        "CREATE UNIQUE INDEX k ON u (bb); DROP INDEX k ON u",
        "ok 0 Records: 0  Duplicates: 0  Warnings: 0\nok 0 Records: 0  Duplicates: 0  Warnings: 0",
    );
    fixture.check("RENAME TABLE u TO v, v TO w; TRUNCATE w; SELECT * FROM w", "ok 0\nok 0\n[a|bb]");
}

#[test]
fn variables() {
    let mut fixture = Fixture::new();
    fixture.check("SET @a = 5, @b = 'x'; SELECT @a, @b", "ok 0\n[@a|@b]\n5|x");
    fixture.check("SET nonsense = 1", "ERROR 1193 (HY000): Unknown system variable 'nonsense'");
    fixture.check(
        "SET max_connections = 5",
        "ERROR 1229 (HY000): Variable 'max_connections' is a GLOBAL variable and should be set with SET GLOBAL",
    );
    fixture.check(
        "SET GLOBAL timestamp = 5",
        "ERROR 1228 (HY000): Variable 'timestamp' is a SESSION variable and can't be used with SET GLOBAL",
    );
    fixture.check("SET GLOBAL version = 'x'", "ERROR 1238 (HY000): Variable 'version' is a read only variable");
    fixture.check("SET wait_timeout = 'x'", "ERROR 1232 (42000): Incorrect argument type to variable 'wait_timeout'");
    fixture.check(
        "SET wait_timeout = 0; SHOW WARNINGS",
        "ok 0\nwarnings 1\n[Level|Code|Message]\nWarning|1292|Truncated incorrect wait_timeout value: '0'",
    );
    fixture.check(
        "SET PERSIST max_connections = 77; SELECT @@global.max_connections",
        "ok 0\n[@@global.max_connections]\n77",
    );
    fixture.check(
        "SET NAMES latin1; SELECT @@character_set_client, @@collation_connection",
        "ok 0\n[@@character_set_client|@@collation_connection]\nlatin1|latin1_swedish_ci",
    );
    fixture.check("SET sql_mode = ''; SELECT @@sql_mode; SET sql_mode = DEFAULT", "ok 0\n[@@sql_mode]\n\nok 0");
    let directory = fixture.database.directory().to_path_buf();
    let Fixture { _directory, database, session, runtime } = fixture;
    drop(session);
    database.close().expect("closed");
    drop(database);
    let database = Database::open(directory, OpenOptions::default()).expect("opened again");
    let mut session = database.connect().expect("a session");
    assert_eq!(run_in(&runtime, &mut session, "SELECT @@max_connections", None), "[@@max_connections]\n77\n");
}

#[test]
fn prepared_statements() {
    let mut fixture = Fixture::new();
    fixture.run("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10)); INSERT INTO t VALUES (1,'x'),(2,'y')");
    fixture.check(
        "PREPARE p FROM 'SELECT b FROM t WHERE a = ?'; SET @x = 2; EXECUTE p USING @x",
        "ok 0 Statement prepared\nok 0\n[b]\ny",
    );
    fixture.check("EXECUTE p", "ERROR 1210 (HY000): Incorrect arguments to EXECUTE");
    fixture.check(
        "DEALLOCATE PREPARE p; EXECUTE p",
        "ok 0\nERROR 1243 (HY000): Unknown prepared statement handler (p) given to EXECUTE",
    );
}

#[test]
fn accounts_and_privileges() {
    let mut fixture = Fixture::new();
    fixture.run("CREATE TABLE t (a INT, b INT)");
    fixture.check("CREATE USER 'u'@'%' IDENTIFIED BY 'secret'", "ok 0");
    fixture.check("GRANT SELECT, INSERT (a) ON test.t TO 'u'@'%'", "ok 0");
    fixture.check(
        "SHOW GRANTS FOR 'u'@'%'",
        "[Grants for u@%]\nGRANT USAGE ON *.* TO `u`@`%`\nGRANT SELECT, INSERT (`a`) ON `test`.`t` TO `u`@`%`",
    );
    fixture.check("CREATE USER 'u'@'%'", "ERROR 1396 (HY000): Operation CREATE USER failed for 'u'@'%'");
    fixture.check(
        "REVOKE SELECT ON test.t FROM u; DROP USER u; DROP USER u",
        "ok 0\nok 0\nERROR 1396 (HY000): Operation DROP USER failed for 'u'@'%'",
    );
}

#[test]
fn load_data_local() {
    let mut fixture = Fixture::new();
    fixture.run("SET GLOBAL local_infile = 1; CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10), c INT)");
    let sql = "LOAD DATA LOCAL INFILE 'x' INTO TABLE t FIELDS TERMINATED BY ',' (a, b, c)";
    let printed = fixture.run_with_file(sql, Some(b"1,x,10\n2,y,\\N\n1,z,3\n"));
    assert_eq!(printed, "ok 2 Records: 3  Deleted: 0  Skipped: 1  Warnings: 1\nwarnings 1\n");
    fixture.check("SELECT * FROM t", "[a|b|c]\n1|x|10\n2|y|NULL");
    let sql = "LOAD DATA LOCAL INFILE 'x' REPLACE INTO TABLE t FIELDS TERMINATED BY ',' (a, @b) SET b = CONCAT(@b, '!'), c = a * 2";
    let printed = fixture.run_with_file(sql, Some(b"2,n\n3,m\n"));
    assert_eq!(printed, "ok 3 Records: 2  Deleted: 1  Skipped: 0  Warnings: 0\n");
    fixture.check("SELECT * FROM t", "[a|b|c]\n1|x|10\n2|n!|4\n3|m!|6");
}

#[test]
fn views_and_created_as_select() {
    let mut fixture = Fixture::new();
    fixture.run("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10)); INSERT INTO t VALUES (1,'x'),(2,'y')");
    fixture.check("CREATE VIEW v AS SELECT a, b FROM t WHERE a > 1; SELECT * FROM v", "ok 0\n[a|b]\n2|y");
    fixture.check(
        "CREATE TABLE s AS SELECT a, b FROM t; SELECT * FROM s ORDER BY a",
        "ok 2 Records: 2  Duplicates: 0  Warnings: 0\n[a|b]\n1|x\n2|y",
    );
    fixture.check(
        "CREATE TEMPORARY TABLE t LIKE s; SELECT * FROM t; DROP TEMPORARY TABLE t; SELECT COUNT(*) FROM t",
        "ok 0\n[a|b]\nok 0\n[COUNT(*)]\n2",
    );
    fixture.check("DROP VIEW v; SELECT * FROM v", "ok 0\nERROR 1146 (42S02): Table 'test.v' doesn't exist");
}

#[test]
fn alter_table_checks_and_computes() {
    let mut fixture = Fixture::new();
    fixture.run("CREATE TABLE p (id INT PRIMARY KEY); INSERT INTO p VALUES (1),(2)");
    fixture.run("CREATE TABLE t (a INT PRIMARY KEY, b INT); INSERT INTO t VALUES (1,1),(2,2)");
    fixture.check("ALTER TABLE t ADD CHECK (b < 2)", "ERROR 3819 (HY000): Check constraint 't_chk_1' is violated.");
    fixture.check(
        "ALTER TABLE t ADD c INT AS (a + b) STORED, ADD CHECK (b < 5)",
        "ok 2 Records: 2  Duplicates: 0  Warnings: 0",
    );
    fixture.check("SELECT * FROM t", "[a|b|c]\n1|1|2\n2|2|4");
    fixture.check(
        "ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (b) REFERENCES p (id)",
        "ok 2 Records: 2  Duplicates: 0  Warnings: 0",
    );
    fixture.check("INSERT INTO t (a, b) VALUES (3, 4)", "ERROR 1452 (23000): Cannot add or update a child row: a foreign key constraint fails (`test`.`t`, CONSTRAINT `f` FOREIGN KEY (`b`) REFERENCES `p` (`id`))");
    fixture.check("INSERT INTO t (a, b) VALUES (3, 9)", "ERROR 3819 (HY000): Check constraint 't_chk_1' is violated.");
    fixture.check(
        "DROP TABLE p",
        "ERROR 3730 (HY000): Cannot drop table 'p' referenced by a foreign key constraint 'f' on table 't'.",
    );
    fixture
        .check("ALTER TABLE t DROP FOREIGN KEY f; DROP TABLE p", "ok 0 Records: 0  Duplicates: 0  Warnings: 0\nok 0");
}

#[test]
fn ddl_errors() {
    let mut fixture = Fixture::new();
    fixture.check("CREATE TABLE t (a INT, a INT)", "ERROR 1060 (42S21): Duplicate column name 'a'");
    fixture.check("CREATE TABLE t (a INT, KEY k (a), KEY k (a))", "ERROR 1061 (42000): Duplicate key name 'k'");
    fixture.check("CREATE TABLE t (a INT DEFAULT 'x')", "ERROR 1067 (42000): Invalid default value for 'a'");
    fixture.check(
        "CREATE TABLE t (a INT PRIMARY KEY, b INT PRIMARY KEY)",
        "ERROR 1068 (42000): Multiple primary key defined",
    );
    fixture.check("CREATE TABLE t (a INT, KEY (b))", "ERROR 1072 (42000): Key column 'b' doesn't exist in table");
    fixture.check(
        "CREATE TABLE t (a VARCHAR(20000))",
        "ERROR 1074 (42000): Column length too big for column 'a' (max = 16383); use BLOB or TEXT instead",
    );
    fixture.check("CREATE TABLE t (a INT AUTO_INCREMENT)", "ERROR 1075 (42000): Incorrect table definition; there can be only one auto column and it must be defined as a key");
    fixture.check(
        "CREATE TABLE t (a TEXT DEFAULT 'x')",
        "ERROR 1101 (42000): BLOB, TEXT, GEOMETRY or JSON column 'a' can't have a default value",
    );
    fixture.check(
        "CREATE TABLE t (a TEXT, KEY (a))",
        "ERROR 1170 (42000): BLOB/TEXT column 'a' used in key specification without a key length",
    );
    fixture.check("CREATE TABLE t (a INT NULL PRIMARY KEY)", "ERROR 1171 (42000): All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead");
    fixture.check("CREATE TABLE t (a INT) ENGINE=nope", "ERROR 1286 (42000): Unknown storage engine 'nope'");
    fixture.check("CREATE TABLE nodb.t (a INT)", "ERROR 1049 (42000): Unknown database 'nodb'");
    fixture.check("CREATE DATABASE test", "ERROR 1007 (HY000): Can't create database 'test'; database exists");
    fixture.check("DROP DATABASE nope", "ERROR 1008 (HY000): Can't drop database 'nope'; database doesn't exist");
    let long = "x".repeat(65);
    fixture.check(
        &format!("CREATE TABLE {long} (a INT)"),
        &format!("ERROR 1059 (42000): Identifier name '{long}' is too long"),
    );
    let ok = "ж".repeat(64);
    fixture.check(&format!("CREATE TABLE {ok} (a INT); DROP TABLE {ok}"), "ok 0\nok 0");
    fixture.check("CREATE TABLE t (e ENUM('a','b') NOT NULL, s SET('x','y') DEFAULT 'x,y', b BIT(4) DEFAULT b'101', y YEAR, n BINARY(3) DEFAULT 'ab')", "ok 0");
    fixture.check("SHOW CREATE TABLE t", "[Table|Create Table]\nt|CREATE TABLE `t` (\n  `e` enum('a','b') NOT NULL,\n  `s` set('x','y') DEFAULT 'x,y',\n  `b` bit(4) DEFAULT b'101',\n  `y` year DEFAULT NULL,\n  `n` binary(3) DEFAULT 'ab\\0'\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci");
}

/// Two rows.
const TWO_ROWS: &str = "CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY (b)); INSERT INTO t VALUES (1,1),(2,2)";

#[test]
fn tables_of_information_schema_have_rows() {
    let mut fixture = Fixture::new();
    fixture.run(TWO_ROWS);
    for table in [
        "SCHEMATA",
        "TABLES",
        "COLUMNS",
        "STATISTICS",
        "KEY_COLUMN_USAGE",
        "TABLE_CONSTRAINTS",
        "REFERENTIAL_CONSTRAINTS",
        "CHECK_CONSTRAINTS",
        "VIEWS",
        "ENGINES",
        "COLLATIONS",
        "CHARACTER_SETS",
        "PROCESSLIST",
        "ROUTINES",
        "TRIGGERS",
        "EVENTS",
        "PARTITIONS",
        "PLUGINS",
        "USER_PRIVILEGES",
        "SCHEMA_PRIVILEGES",
        "TABLE_PRIVILEGES",
        "COLUMN_PRIVILEGES",
        "FILES",
        "PARAMETERS",
    ] {
        let printed = fixture.run(&format!("SELECT COUNT(*) >= 0 FROM information_schema.{table}"));
        assert!(printed.ends_with("]\n1\n"), "{table}: {printed}");
    }
}

#[test]
fn show_statements_answer_with_rows() {
    let mut fixture = Fixture::new();
    fixture.run(TWO_ROWS);
    for show in [
        "DATABASES",
        "TABLES",
        "FULL TABLES",
        "TABLE STATUS",
        "FULL COLUMNS FROM t",
        "INDEX FROM t",
        "VARIABLES",
        "GLOBAL STATUS",
        "WARNINGS",
        "ERRORS",
        "PROCESSLIST",
        "FULL PROCESSLIST",
        "ENGINES",
        "CHARSET",
        "COLLATION",
        "PLUGINS",
        "PRIVILEGES",
        "GRANTS",
        "OPEN TABLES",
        "TRIGGERS",
        "EVENTS",
        "PROCEDURE STATUS",
        "FUNCTION STATUS",
        "PROFILES",
        "CREATE DATABASE test",
        "CREATE USER root@localhost",
        "ENGINE InnoDB STATUS",
        "REPLICA STATUS",
        "COUNT(*) WARNINGS",
        "STATUS LIKE 'Com_%'",
        "COLLATION WHERE Charset = 'latin1'",
    ] {
        let printed = fixture.run(&format!("SHOW {show}"));
        assert!(printed.starts_with('['), "SHOW {show}: {printed}");
    }
}

#[test]
fn queries_about_a_table_and_of_it() {
    let mut fixture = Fixture::new();
    fixture.run(TWO_ROWS);
    let explained = fixture.run("EXPLAIN SELECT * FROM t WHERE a = 1");
    assert!(explained.starts_with("[id|select_type|table|"), "{explained}");
    assert!(explained.contains("PRIMARY"), "{explained}");
    fixture.check(
        "SELECT COLUMN_NAME, COLUMN_KEY, DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 't' ORDER BY ORDINAL_POSITION",
        "[COLUMN_NAME|COLUMN_KEY|DATA_TYPE]\na|PRI|int\nb|MUL|int",
    );
    fixture.check(
        "UPDATE t SET b = 5 WHERE a = 2; SELECT * FROM t WHERE b = 5 FOR UPDATE",
        "ok 1 Rows matched: 1  Changed: 1  Warnings: 0\n[a|b]\n2|5",
    );
    fixture.check("SELECT a FROM t WHERE a = 1 INTO @x; SELECT @x", "ok 1\n[@x]\n1");
    fixture.check("SELECT SQL_CALC_FOUND_ROWS * FROM t LIMIT 1; SELECT FOUND_ROWS()", "[a|b]\n1|1\n[FOUND_ROWS()]\n2");
    fixture.check(
        "ANALYZE TABLE t; CHECK TABLE t",
        "[Table|Op|Msg_type|Msg_text]\ntest.t|analyze|status|OK\n[Table|Op|Msg_type|Msg_text]\ntest.t|check|status|OK",
    );
}

#[test]
fn lock_tables_and_safe_updates() {
    let mut fixture = Fixture::new();
    fixture.run("CREATE TABLE t (a INT); CREATE TABLE u (a INT)");
    fixture.check("LOCK TABLES t READ; SELECT * FROM t", "ok 0\n[a]");
    fixture.check(
        "INSERT INTO t VALUES (1)",
        "ERROR 1099 (HY000): Table 't' was locked with a READ lock and can't be updated",
    );
    fixture.check("SELECT * FROM u", "ERROR 1100 (HY000): Table 'u' was not locked with LOCK TABLES");
    fixture.check(
        "LOCK TABLES t WRITE; INSERT INTO t VALUES (1); UNLOCK TABLES; SELECT * FROM u",
        "ok 0\nok 1\nok 0\n[a]",
    );
    fixture.check("SET sql_safe_updates = 1", "ok 0");
    fixture.check("DELETE FROM t", "ERROR 1175 (HY000): You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column.");
}

#[test]
fn two_sessions_wait_and_deadlock() {
    let mut fixture = Fixture::new();
    fixture.run("CREATE TABLE t (a INT PRIMARY KEY, b INT); INSERT INTO t VALUES (1,1),(2,2)");
    let mut other = fixture.database.connect().expect("a second session");
    run_in(&fixture.runtime, &mut other, "USE test; SET innodb_lock_wait_timeout = 1", None);
    fixture.check("BEGIN; SELECT * FROM t WHERE a = 1 FOR UPDATE", "ok 0\n[a|b]\n1|1");
    let waited = run_in(&fixture.runtime, &mut other, "UPDATE t SET b = 9 WHERE a = 1", None);
    assert_eq!(waited, "ERROR 1205 (HY000): Lock wait timeout exceeded; try restarting transaction\n");
    let refused = run_in(&fixture.runtime, &mut other, "SELECT * FROM t WHERE a = 1 FOR UPDATE NOWAIT", None);
    assert!(refused.starts_with("ERROR 3572"), "{refused}");
    let skipped = run_in(&fixture.runtime, &mut other, "SELECT a FROM t FOR UPDATE SKIP LOCKED", None);
    assert_eq!(skipped, "[a]\n2\n");
    fixture.check("UPDATE t SET b = 5 WHERE a = 1; COMMIT", "ok 1 Rows matched: 1  Changed: 1  Warnings: 0\nok 0");
    let seen = run_in(&fixture.runtime, &mut other, "SELECT b FROM t WHERE a = 1", None);
    assert_eq!(seen, "[b]\n5\n");
    let id = fixture.session.id();
    let killed = run_in(&fixture.runtime, &mut other, &format!("KILL QUERY {id}"), None);
    assert_eq!(killed, "ok 0\n");
}

#[test]
fn a_statement_that_cannot_be_prepared_is_one_that_failed() {
    use squall_session::api::Connection;
    let mut fixture = Fixture::new();
    for (sql, code) in [("SELECT a FROM nowhere WHERE b = ?", 1146), ("SELECT a FRM nowhere", 1064)] {
        let prepared = fixture.runtime.block_on(fixture.session.prepare(sql.as_bytes()));
        assert_eq!(prepared.err().map(|error| error.code), Some(code), "{sql}");
    }
    fixture.check(
        "SELECT event_name, sql_text, mysql_errno, errors FROM performance_schema.events_statements_history WHERE errors > 0",
        "[event_name|sql_text|mysql_errno|errors]\n\
         statement/com/Prepare|SELECT a FROM nowhere WHERE b = ?|1146|1\n\
         statement/com/Prepare|NULL|1064|1",
    );
    fixture.check(
        "SELECT digest_text, sum_errors FROM performance_schema.events_statements_summary_by_digest WHERE sum_errors > 0",
        "[digest_text|sum_errors]\nSELECT `a` FROM `nowhere` WHERE `b` = ?|1",
    );
    fixture.check(
        "SELECT sum_errors FROM performance_schema.events_statements_summary_global_by_event_name \
         WHERE event_name = 'statement/com/Prepare'",
        "[sum_errors]\n2",
    );
}

/// Large values are off until somebody asks for them: servers of earlier versions can open the data directory until then.
#[test]
fn the_data_directory_keeps_its_format_until_a_limit_of_large_values_holds() {
    let directory = tempfile::tempdir().expect("a directory");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let run = |statements: &[&str]| {
        let database = Database::open(directory.path(), OpenOptions::default()).expect("a database");
        let mut session = database.connect().expect("a session");
        for sql in statements {
            let printed = run_in(&runtime, &mut session, sql, None);
            assert!(!printed.contains("ERROR"), "{sql}: {printed}");
        }
    };
    let may_have_large_values = || {
        let store = squall_row_store::RowStore::open(directory.path().join("rows"), Default::default());
        store.expect("a store").may_have_large_values()
    };
    run(&["CREATE DATABASE test; CREATE TABLE test.t (b LONGBLOB); INSERT INTO test.t VALUES (REPEAT('b', 100000))"]);
    assert!(!may_have_large_values());
    // The longest value that there is turns it off.
    run(&["SET GLOBAL blob_inline_limit = 4294967295; INSERT INTO test.t VALUES (REPEAT('c', 100000))"]);
    assert!(!may_have_large_values());
    run(&["SET PERSIST_ONLY blob_inline_limit = 1000"]);
    assert!(!may_have_large_values());
    // A persisted one holds from the start on.
    run(&[]);
    assert!(may_have_large_values());
}

#[test]
fn a_limit_of_large_values_changes_the_format_when_it_is_set() {
    let mut fixture = Fixture::new();
    fixture.check("SET GLOBAL blob_inline_limit = 4294967294", "ok 0");
    fixture.check(
        "SET GLOBAL blob_inline_limit = DEFAULT; SELECT @@blob_inline_limit",
        "ok 0\n[@@blob_inline_limit]\n4294967295",
    );
    let Fixture { _directory: directory, database, session, runtime } = fixture;
    drop((session, database, runtime));
    let store = squall_row_store::RowStore::open(directory.path().join("rows"), Default::default()).expect("a store");
    assert!(store.may_have_large_values());
}
