//! The table of statements and the privileges that they need.

use squall_parser::ast::Statement;

/// A statement, and the privileges that it needs.
pub struct Row {
    /// Its kind: the name of a [`Statement`].
    pub kind: &'static str,
    /// The statement; `{other}` is the number of another account's connection.
    pub sql: &'static str,
    /// What is granted, and the error when just that is missing.
    pub needs: &'static [(&'static str, u16)],
    /// The error that it ends with all the same, where it cannot be carried out here.
    pub fails_with: Option<u16>,
    /// Whether it leaves things otherwise than it found them.
    pub changes: bool,
}

const fn reads(kind: &'static str, sql: &'static str, needs: &'static [(&'static str, u16)]) -> Row {
    Row { kind, sql, needs, fails_with: None, changes: false }
}

const fn changes(kind: &'static str, sql: &'static str, needs: &'static [(&'static str, u16)]) -> Row {
    Row { kind, sql, needs, fails_with: None, changes: true }
}

const fn refused(kind: &'static str, sql: &'static str, needs: &'static [(&'static str, u16)], code: u16) -> Row {
    Row { kind, sql, needs, fails_with: Some(code), changes: false }
}

macro_rules! kinds {
    ($($kind:ident)*) => {
        /// All kinds of statements.
        pub const KINDS: &[&str] = &[$(stringify!($kind)),*];

        /// The kind of a statement. One that is not in the list does not compile.
        pub fn kind_of(statement: &Statement) -> &'static str {
            match statement {
                $(Statement::$kind { .. } => stringify!($kind),)*
            }
        }
    };
}

kinds! {
    Query Insert Update Delete LoadData Do Call Handler CreateDatabase AlterDatabase DropDatabase CreateTable AlterTable
    DropTable TruncateTable RenameTable CreateIndex DropIndex CreateView DropView CreateSequence AlterSequence DropSequence
    CreateServer AlterServer DropServer CreateHttpEndpoint AlterHttpEndpoint DropHttpEndpoint CreateApiToken DropApiToken CreateProcedure CreateFunction CreateLoadableFunction AlterProcedure AlterFunction
    DropProcedure DropFunction CreateTrigger DropTrigger CreateEvent DropEvent Program CreateUser DropUser RenameUser
    CreateRole DropRole Grant Revoke Empty Transaction LockTables UnlockTables LockInstance UnlockInstance Backup Set Use Show Explain
    DescribeTable Help Prepare Execute ExecuteImmediate ExecuteText Deallocate Kill Flush Reset TableMaintenance CacheIndex LoadIndex
    Install Uninstall Replication Shutdown Restart GetDiagnostics Signal
}

/// 1142, 1143: on a table, on a column. 1044: on a database. 1227: on the server.
pub const ROWS: &[Row] = &[
    // ---- queries ----
    reads("Query", "SELECT 1", &[]),
    reads("Query", "SELECT a FROM d.t", &[("SELECT (a) ON d.t", 1142)]),
    reads("Query", "SELECT a FROM d.t WHERE id = 1", &[("SELECT (a) ON d.t", 1143), ("SELECT (id) ON d.t", 1143)]),
    reads("Query", "SELECT a, b FROM d.t", &[("SELECT (a) ON d.t", 1143), ("SELECT (b) ON d.t", 1143)]),
    reads("Query", "SELECT * FROM d.t", &[("SELECT ON d.t", 1142)]),
    reads("Query", "SELECT COUNT(*) FROM d.t", &[("SELECT (b) ON d.t", 1142)]),
    reads("Query", "TABLE d.t", &[("SELECT ON d.*", 1142)]),
    reads("Query", "SELECT s.a FROM d.t NATURAL JOIN d.s", &[("SELECT ON d.t", 1142), ("SELECT ON d.s", 1142)]),
    reads("Query", "SELECT a FROM d.t ORDER BY b", &[("SELECT (a) ON d.t", 1143), ("SELECT (b) ON d.t", 1143)]),
    reads("Query", "SELECT 1 FROM d.t GROUP BY a HAVING MAX(b) > 0", &[("SELECT (a, b) ON d.t", 1142)]),
    reads(
        "Query",
        "SELECT (SELECT MAX(a) FROM d.s) FROM d.t",
        &[("SELECT (a) ON d.s", 1142), ("SELECT (a) ON d.t", 1142)],
    ),
    reads("Query", "SELECT 1 WHERE EXISTS (SELECT 1 FROM d.s WHERE a = 1)", &[("SELECT (a) ON d.s", 1142)]),
    reads("Query", "WITH c AS (SELECT a FROM d.t) SELECT * FROM c", &[("SELECT (a) ON d.t", 1142)]),
    reads("Query", "SELECT x.a FROM (SELECT a FROM d.t) x", &[("SELECT (a) ON d.t", 1142)]),
    reads("Query", "SELECT a FROM d.t UNION SELECT b FROM d.s", &[("SELECT ON d.t", 1142), ("SELECT ON d.s", 1142)]),
    reads("Query", "VALUES ROW((SELECT MAX(a) FROM d.t))", &[("SELECT (a) ON d.t", 1142)]),
    reads("Handler", "HANDLER d.t OPEN AS opened", &[("SELECT ON d.t", 1142)]),
    refused("Handler", "HANDLER nothing READ FIRST", &[], 1109),
    refused("Handler", "HANDLER nothing CLOSE", &[], 1109),
    reads("Query", "SELECT a FROM d.v", &[("SELECT (a) ON d.v", 1142)]),
    reads("Query", "SELECT id, a FROM d.v", &[("SELECT (a) ON d.v", 1143), ("SELECT (id) ON d.v", 1143)]),
    reads("Query", "SELECT a FROM d.invoked", &[("SELECT ON d.invoked", 1142), ("SELECT (id, a) ON d.t", 1356)]),
    reads("Query", "SELECT a FROM d.t FOR UPDATE", &[("SELECT (a) ON d.t", 1142), ("UPDATE (b) ON d.t", 1142)]),
    reads("Query", "SELECT a FROM d.t FOR UPDATE", &[("SELECT (a) ON d.t", 1142), ("LOCK TABLES ON d.*", 1142)]),
    reads("Query", "SELECT a FROM d.t FOR SHARE", &[("SELECT (a) ON d.t", 1142)]),
    reads("Query", "SELECT MAX(a) INTO @a FROM d.t", &[("SELECT (a) ON d.t", 1142)]),
    refused("Query", "SELECT a INTO OUTFILE 'f' FROM d.t", &[("SELECT (a) ON d.t", 1142), ("FILE ON *.*", 1227)], 1290),
    reads("Query", "SELECT TABLE_NAME FROM information_schema.tables", &[]),
    reads("Query", "SELECT FILE_NAME FROM information_schema.files", &[("PROCESS ON *.*", 1227)]),
    reads("Query", "SELECT TRX_ID FROM information_schema.innodb_trx", &[("PROCESS ON *.*", 1227)]),
    // ---- changes of rows ----
    changes(
        "Insert",
        "INSERT INTO d.t (id, a) VALUES (9, 1)",
        &[("INSERT (id) ON d.t", 1143), ("INSERT (a) ON d.t", 1143)],
    ),
    changes("Insert", "INSERT INTO d.t VALUES (9, 1, 1)", &[("INSERT ON d.t", 1142)]),
    changes(
        "Insert",
        "INSERT INTO d.t SET id = 9, b = id",
        &[("INSERT (id, b) ON d.t", 1142), ("SELECT (id) ON d.t", 1143)],
    ),
    changes("Insert", "INSERT INTO d.t SELECT * FROM d.s", &[("INSERT ON d.t", 1142), ("SELECT ON d.s", 1142)]),
    changes(
        "Insert",
        "INSERT INTO d.t VALUES (9, (SELECT MAX(a) FROM d.s), 1)",
        &[("INSERT ON d.t", 1142), ("SELECT (a) ON d.s", 1142)],
    ),
    changes(
        "Insert",
        "INSERT INTO d.t VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE b = a + 1",
        &[("INSERT ON d.t", 1142), ("UPDATE (b) ON d.t", 1142), ("SELECT (a) ON d.t", 1143)],
    ),
    changes(
        "Insert",
        "INSERT INTO d.t VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE b = VALUES(b)",
        &[("INSERT ON d.t", 1142), ("UPDATE (b) ON d.t", 1142)],
    ),
    changes(
        "Insert",
        "INSERT INTO d.t VALUES (9, 1, 1) RETURNING a",
        &[("INSERT ON d.t", 1142), ("SELECT (a) ON d.t", 1143)],
    ),
    changes("Insert", "REPLACE INTO d.t VALUES (1, 1, 1)", &[("INSERT ON d.t", 1142), ("DELETE ON d.t", 1142)]),
    changes(
        "Insert",
        "REPLACE INTO d.t VALUES (1, 1, 1) RETURNING b",
        &[("INSERT ON d.t", 1142), ("DELETE ON d.t", 1142), ("SELECT (b) ON d.t", 1143)],
    ),
    changes(
        "Insert",
        "INSERT INTO d.v (id, a) VALUES (9, 1)",
        &[("INSERT (id) ON d.v", 1143), ("INSERT (a) ON d.v", 1143)],
    ),
    changes(
        "Insert",
        "INSERT INTO d.invoked VALUES (9, 1)",
        &[("INSERT ON d.invoked", 1142), ("INSERT (id, a) ON d.t", 1356)],
    ),
    changes("Update", "UPDATE d.t SET a = 1", &[("UPDATE (a) ON d.t", 1142)]),
    changes("Update", "UPDATE d.t SET a = 1, b = 2", &[("UPDATE (a) ON d.t", 1143), ("UPDATE (b) ON d.t", 1143)]),
    changes(
        "Update",
        "UPDATE d.t SET a = b WHERE id = 1",
        &[("UPDATE (a) ON d.t", 1142), ("SELECT (b) ON d.t", 1143), ("SELECT (id) ON d.t", 1143)],
    ),
    changes(
        "Update",
        "UPDATE d.t SET a = 1 ORDER BY b LIMIT 1",
        &[("UPDATE (a) ON d.t", 1142), ("SELECT (b) ON d.t", 1143)],
    ),
    changes(
        "Update",
        "UPDATE d.t SET a = (SELECT MAX(a) FROM d.s)",
        &[("UPDATE (a) ON d.t", 1142), ("SELECT (a) ON d.s", 1142)],
    ),
    changes(
        "Update",
        "UPDATE d.t, d.s SET t.a = s.b WHERE t.id = s.id",
        &[
            ("UPDATE (a) ON d.t", 1143),
            ("SELECT (id) ON d.t", 1142),
            ("SELECT (b) ON d.s", 1143),
            ("SELECT (id) ON d.s", 1143),
        ],
    ),
    changes("Update", "UPDATE d.t, d.s SET s.a = 1", &[("UPDATE (a) ON d.s", 1142), ("SELECT (a) ON d.t", 1142)]),
    changes("Update", "UPDATE d.v SET a = 1", &[("UPDATE (a) ON d.v", 1142)]),
    changes(
        "Update",
        "UPDATE d.v SET a = 1 WHERE id = 1",
        &[("UPDATE (a) ON d.v", 1142), ("SELECT (id) ON d.v", 1142)],
    ),
    changes(
        "Update",
        "UPDATE d.invoked SET a = 1",
        &[("UPDATE ON d.invoked", 1142), ("SELECT (id, a) ON d.t", 1356), ("UPDATE (a) ON d.t", 1356)],
    ),
    changes("Delete", "DELETE FROM d.t", &[("DELETE ON d.t", 1142)]),
    changes("Delete", "DELETE FROM d.t WHERE a = 1", &[("DELETE ON d.t", 1142), ("SELECT (a) ON d.t", 1143)]),
    changes("Delete", "DELETE FROM d.t ORDER BY b LIMIT 1", &[("DELETE ON d.t", 1142), ("SELECT (b) ON d.t", 1143)]),
    changes(
        "Delete",
        "DELETE FROM d.t WHERE a IN (SELECT a FROM d.s)",
        &[("DELETE ON d.t", 1142), ("SELECT (a) ON d.t", 1142), ("SELECT (a) ON d.s", 1142)],
    ),
    changes("Delete", "DELETE FROM d.t RETURNING b", &[("DELETE ON d.t", 1142), ("SELECT (b) ON d.t", 1143)]),
    changes(
        "Delete",
        "DELETE d.t FROM d.t JOIN d.s ON t.id = s.id",
        &[("DELETE ON d.t", 1142), ("SELECT (id) ON d.t", 1142), ("SELECT (id) ON d.s", 1142)],
    ),
    changes("Delete", "DELETE FROM d.v", &[("DELETE ON d.v", 1142)]),
    changes(
        "Delete",
        "DELETE FROM d.invoked",
        &[("DELETE ON d.invoked", 1142), ("DELETE ON d.t", 1356), ("SELECT (id, a) ON d.t", 1356)],
    ),
    refused("LoadData", "LOAD DATA INFILE 'f' INTO TABLE d.t", &[("FILE ON *.*", 1045), ("INSERT ON d.t", 1142)], 1290),
    // ---- databases, tables, keys ----
    changes("CreateDatabase", "CREATE DATABASE new", &[("CREATE ON new.*", 1044)]),
    changes("CreateDatabase", "CREATE OR REPLACE DATABASE e", &[("CREATE ON e.*", 1044), ("DROP ON e.*", 1044)]),
    changes("AlterDatabase", "ALTER DATABASE d CHARACTER SET latin1", &[("ALTER ON d.*", 1044)]),
    changes("DropDatabase", "DROP DATABASE e", &[("DROP ON e.*", 1044)]),
    // ---- sequences ----
    changes("CreateSequence", "CREATE SEQUENCE d.n", &[("CREATE ON d.n", 1142)]),
    changes(
        "CreateSequence",
        "CREATE OR REPLACE SEQUENCE d.seq",
        &[("CREATE ON d.seq", 1142), ("DROP ON d.seq", 1142)],
    ),
    changes("AlterSequence", "ALTER SEQUENCE d.seq RESTART 1", &[("ALTER ON d.seq", 1142)]),
    changes("DropSequence", "DROP SEQUENCE d.seq", &[("DROP ON d.seq", 1142)]),
    reads("Show", "SHOW CREATE SEQUENCE d.seq", &[("SELECT ON d.seq", 1142)]),
    changes("Query", "SELECT NEXTVAL(d.seq)", &[("INSERT ON d.seq", 1142)]),
    changes("Query", "SELECT SETVAL(d.seq, 9)", &[("INSERT ON d.seq", 1142)]),
    reads("Query", "SELECT LASTVAL(d.seq)", &[("SELECT ON d.seq", 1142)]),
    changes("Do", "DO NEXTVAL(d.seq)", &[("INSERT ON d.seq", 1142)]),
    changes("Query", "SELECT n FROM d.next", &[("SELECT ON d.next", 1142)]),
    changes("Query", "SELECT n FROM d.invoked_next", &[("SELECT ON d.invoked_next", 1142), ("INSERT ON d.seq", 1142)]),
    changes("Query", "SELECT d.next_of()", &[("EXECUTE ON FUNCTION d.next_of", 1370)]),
    // ---- tables ----
    changes("CreateTable", "CREATE TABLE d.n (i INT)", &[("CREATE ON d.n", 1142)]),
    changes("CreateTable", "CREATE OR REPLACE TABLE d.t (i INT)", &[("CREATE ON d.t", 1142), ("DROP ON d.t", 1142)]),
    changes("CreateTable", "CREATE TABLE d.n LIKE d.s", &[("CREATE ON d.n", 1142), ("SELECT ON d.s", 1142)]),
    changes(
        "CreateTable",
        "CREATE TABLE d.n SELECT a FROM d.s",
        &[("CREATE ON d.n", 1142), ("INSERT ON d.*", 1142), ("SELECT (a) ON d.s", 1142)],
    ),
    changes(
        "CreateTable",
        "CREATE TABLE d.n (i INT, FOREIGN KEY (i) REFERENCES parent (id))",
        &[("CREATE ON d.n", 1142), ("REFERENCES ON d.parent", 1142)],
    ),
    changes(
        "CreateTable",
        "CREATE TABLE d.n (i INT REFERENCES parent (id))",
        &[("CREATE ON d.n", 1142), ("REFERENCES ON d.parent", 1142)],
    ),
    changes(
        "AlterTable",
        "ALTER TABLE d.t ADD COLUMN c INT REFERENCES parent (id)",
        &[("ALTER ON d.t", 1142), ("REFERENCES ON d.parent", 1142)],
    ),
    changes("CreateTable", "CREATE TEMPORARY TABLE d.temporary (i INT)", &[("CREATE TEMPORARY TABLES ON d.*", 1044)]),
    changes("AlterTable", "ALTER TABLE d.t ADD COLUMN c INT", &[("ALTER ON d.t", 1142)]),
    changes(
        "AlterTable",
        "ALTER TABLE d.t ADD FOREIGN KEY (b) REFERENCES d.parent (id)",
        &[("ALTER ON d.t", 1142), ("REFERENCES ON d.parent", 1142)],
    ),
    changes(
        "AlterTable",
        "ALTER TABLE d.t RENAME TO e.t",
        &[("ALTER ON d.t", 1142), ("DROP ON d.t", 1142), ("CREATE ON e.*", 1142), ("INSERT ON e.*", 1142)],
    ),
    refused("AlterTable", "ALTER TABLE d.t PARTITION BY HASH (a)", &[("ALTER ON d.t", 1142)], 1503),
    refused("AlterTable", "ALTER TABLE d.t DROP PARTITION p", &[("ALTER ON d.t", 1142), ("DROP ON d.t", 1142)], 1505),
    refused(
        "AlterTable",
        "ALTER TABLE d.t TRUNCATE PARTITION p",
        &[("ALTER ON d.t", 1142), ("DROP ON d.t", 1142)],
        1505,
    ),
    refused(
        "AlterTable",
        "ALTER TABLE d.t EXCHANGE PARTITION p WITH TABLE d.s",
        &[
            ("ALTER ON d.t", 1142),
            ("INSERT ON d.t", 1142),
            ("CREATE ON d.t", 1142),
            ("DROP ON d.t", 1142),
            ("ALTER ON d.s", 1142),
            ("INSERT ON d.s", 1142),
            ("CREATE ON d.s", 1142),
            ("DROP ON d.s", 1142),
        ],
        1505,
    ),
    changes("DropTable", "DROP TABLE d.t, d.s", &[("DROP ON d.t", 1142), ("DROP ON d.s", 1142)]),
    changes("TruncateTable", "TRUNCATE TABLE d.t", &[("DROP ON d.t", 1142)]),
    changes(
        "RenameTable",
        "RENAME TABLE d.t TO e.t",
        &[("ALTER ON d.t", 1142), ("DROP ON d.t", 1142), ("CREATE ON e.*", 1142), ("INSERT ON e.*", 1142)],
    ),
    changes("CreateIndex", "CREATE INDEX n ON d.t (a)", &[("INDEX ON d.t", 1142)]),
    changes("DropIndex", "DROP INDEX k ON d.t", &[("INDEX ON d.t", 1142)]),
    // ---- views, events, routines ----
    changes(
        "CreateView",
        "CREATE VIEW d.n AS SELECT a FROM d.t",
        &[("CREATE VIEW ON d.*", 1142), ("SELECT (a) ON d.t", 1142)],
    ),
    changes(
        "CreateView",
        "CREATE OR REPLACE VIEW d.v AS SELECT a FROM d.t",
        &[("CREATE VIEW ON d.v", 1142), ("DROP ON d.v", 1142), ("SELECT (a) ON d.t", 1142)],
    ),
    changes("CreateView", "ALTER VIEW d.v AS SELECT 1 AS one", &[("CREATE VIEW ON d.v", 1142), ("DROP ON d.v", 1142)]),
    changes(
        "CreateView",
        "CREATE DEFINER = x VIEW d.n AS SELECT 1 AS one",
        &[("CREATE VIEW ON d.*", 1142), ("SET_ANY_DEFINER ON *.*", 1227)],
    ),
    changes(
        "CreateView",
        "CREATE DEFINER = gone VIEW d.n AS SELECT 1 AS one",
        &[("CREATE VIEW ON d.*", 1142), ("SET_ANY_DEFINER ON *.*", 1227), ("ALLOW_NONEXISTENT_DEFINER ON *.*", 1227)],
    ),
    changes(
        "CreateView",
        "CREATE DEFINER = root@localhost VIEW d.n AS SELECT 1 AS one",
        &[("CREATE VIEW ON d.*", 1142), ("SET_ANY_DEFINER ON *.*", 1227), ("SYSTEM_USER ON *.*", 1227)],
    ),
    changes("DropView", "DROP VIEW d.v", &[("DROP ON d.v", 1142)]),
    changes(
        "CreateEvent",
        "CREATE EVENT d.n ON SCHEDULE EVERY 1 YEAR DISABLE DO SET @x = 1",
        &[("EVENT ON d.*", 1044)],
    ),
    changes("CreateEvent", "ALTER EVENT d.event RENAME TO e.event", &[("EVENT ON d.*", 1044), ("EVENT ON e.*", 1044)]),
    changes(
        "CreateEvent",
        "CREATE DEFINER = gone EVENT d.n ON SCHEDULE EVERY 1 YEAR DISABLE DO SET @x = 1",
        &[("EVENT ON d.*", 1044), ("SET_ANY_DEFINER ON *.*", 1227), ("ALLOW_NONEXISTENT_DEFINER ON *.*", 1227)],
    ),
    changes(
        "CreateEvent",
        "CREATE DEFINER = x EVENT d.n ON SCHEDULE EVERY 1 YEAR DISABLE DO SET @x = 1",
        &[("EVENT ON d.*", 1044), ("SET_ANY_DEFINER ON *.*", 1227)],
    ),
    changes("DropEvent", "DROP EVENT d.event", &[("EVENT ON d.*", 1044)]),
    reads("Call", "CALL demo.nothing()", &[("EXECUTE ON PROCEDURE demo.nothing", 1370)]),
    reads("Program", "BEGIN NOT ATOMIC DO (SELECT MAX(a) FROM d.t); END", &[("SELECT (a) ON d.t", 1142)]),
    reads("Call", "CALL d.proc()", &[("EXECUTE ON PROCEDURE d.proc", 1370)]),
    reads(
        "Call",
        "CALL d.invoked_proc()",
        &[("EXECUTE ON PROCEDURE d.invoked_proc", 1370), ("SELECT (a) ON d.s", 1142)],
    ),
    reads("Query", "SELECT d.f(1)", &[("EXECUTE ON FUNCTION d.f", 1370)]),
    reads("Query", "SELECT d.g(1)", &[("EXECUTE ON FUNCTION d.g", 1370)]),
    reads(
        "Query",
        "SELECT d.invoked_g(1)",
        &[("EXECUTE ON FUNCTION d.invoked_g", 1370), ("EXECUTE ON FUNCTION d.f", 1370)],
    ),
    reads(
        "Query",
        "SELECT a FROM d.t WHERE id = d.f(0)",
        &[("SELECT (id, a) ON d.t", 1142), ("EXECUTE ON FUNCTION d.f", 1370)],
    ),
    reads("Query", "SELECT one FROM d.calling", &[("SELECT (one) ON d.calling", 1142)]),
    reads(
        "Query",
        "SELECT one FROM d.invoked_calling",
        &[("SELECT (one) ON d.invoked_calling", 1142), ("EXECUTE ON FUNCTION d.f", 1356)],
    ),
    changes(
        "Insert",
        "INSERT INTO d.t VALUES (d.f(8), 1, 1)",
        &[("INSERT ON d.t", 1142), ("EXECUTE ON FUNCTION d.f", 1370)],
    ),
    reads("Query", "SELECT d.reading()", &[("EXECUTE ON FUNCTION d.reading", 1370)]),
    reads(
        "Query",
        "SELECT d.invoked_reading()",
        &[("EXECUTE ON FUNCTION d.invoked_reading", 1370), ("SELECT (a) ON d.s", 1142)],
    ),
    changes(
        "Query",
        "SELECT id, d.invoked_writing() FROM d.t LIMIT 1",
        &[("EXECUTE ON FUNCTION d.invoked_writing", 1370), ("SELECT (id) ON d.t", 1142), ("INSERT (id) ON d.s", 1142)],
    ),
    changes(
        "Insert",
        "INSERT INTO d.t VALUES (d.invoked_writing(), 1, 1)",
        &[("INSERT ON d.t", 1142), ("EXECUTE ON FUNCTION d.invoked_writing", 1370), ("INSERT (id) ON d.s", 1142)],
    ),
    reads("Set", "SET @x = d.f(1)", &[("EXECUTE ON FUNCTION d.f", 1370)]),
    changes("CreateProcedure", "CREATE PROCEDURE d.n() SELECT 1", &[("CREATE ROUTINE ON d.*", 1044)]),
    changes(
        "CreateProcedure",
        "CREATE OR REPLACE PROCEDURE d.proc() SELECT 1",
        &[("CREATE ROUTINE ON d.*", 1044), ("ALTER ROUTINE ON PROCEDURE d.proc", 1370)],
    ),
    changes(
        "CreateProcedure",
        "CREATE DEFINER = definer PROCEDURE d.n() SELECT 1",
        &[("CREATE ROUTINE ON d.*", 1044), ("SET_ANY_DEFINER ON *.*", 1227)],
    ),
    changes("CreateFunction", "CREATE FUNCTION d.n() RETURNS INT RETURN 1", &[("CREATE ROUTINE ON d.*", 1044)]),
    changes(
        "CreateFunction",
        "CREATE DEFINER = definer FUNCTION d.n() RETURNS INT RETURN 1",
        &[("CREATE ROUTINE ON d.*", 1044), ("SET_ANY_DEFINER ON *.*", 1227)],
    ),
    changes(
        "CreateTrigger",
        "CREATE TRIGGER d.n BEFORE INSERT ON d.t FOR EACH ROW SET @x = 1",
        &[("TRIGGER ON d.t", 1142)],
    ),
    changes(
        "CreateTrigger",
        "CREATE DEFINER = definer TRIGGER d.n BEFORE INSERT ON d.t FOR EACH ROW SET @x = 1",
        &[("TRIGGER ON d.t", 1142), ("SET_ANY_DEFINER ON *.*", 1227)],
    ),
    changes("DropTrigger", "DROP TRIGGER d.trg", &[("TRIGGER ON d.triggered", 1142)]),
    reads("Show", "SHOW CREATE TRIGGER d.trg", &[("TRIGGER ON d.triggered", 1227)]),
    changes("Insert", "INSERT INTO d.triggered VALUES (1, 1)", &[("INSERT ON d.triggered", 1142)]),
    changes("AlterProcedure", "ALTER PROCEDURE d.proc COMMENT 'c'", &[("ALTER ROUTINE ON PROCEDURE d.proc", 1370)]),
    changes("AlterFunction", "ALTER FUNCTION d.f COMMENT 'c'", &[("ALTER ROUTINE ON FUNCTION d.f", 1370)]),
    changes("DropProcedure", "DROP PROCEDURE d.proc", &[("ALTER ROUTINE ON PROCEDURE d.proc", 1370)]),
    changes("DropFunction", "DROP FUNCTION d.f", &[("ALTER ROUTINE ON FUNCTION d.f", 1370)]),
    // ---- accounts ----
    changes("CreateUser", "CREATE USER z", &[("CREATE USER ON *.*", 1227)]),
    changes(
        "CreateUser",
        "CREATE USER gone",
        &[("CREATE USER ON *.*", 1227), ("ALLOW_NONEXISTENT_DEFINER ON *.*", 4006)],
    ),
    changes("CreateUser", "CREATE USER z DEFAULT ROLE r", &[("CREATE USER ON *.*", 1227), ("ROLE_ADMIN ON *.*", 1227)]),
    changes(
        "CreateUser",
        "CREATE USER z DEFAULT ROLE root@localhost",
        &[("CREATE USER ON *.*", 1227), ("ROLE_ADMIN ON *.*", 1227), ("SYSTEM_USER ON *.*", 1227)],
    ),
    changes("CreateUser", "ALTER USER x IDENTIFIED BY 'p'", &[("CREATE USER ON *.*", 1227)]),
    changes(
        "CreateUser",
        "ALTER USER root@localhost ACCOUNT UNLOCK",
        &[("CREATE USER ON *.*", 1227), ("SYSTEM_USER ON *.*", 1227)],
    ),
    reads("CreateUser", "ALTER USER u IDENTIFIED BY ''", &[]),
    changes("DropUser", "DROP USER x", &[("CREATE USER ON *.*", 1227)]),
    changes(
        "DropUser",
        "DROP USER definer",
        &[("CREATE USER ON *.*", 1227), ("ALLOW_NONEXISTENT_DEFINER ON *.*", 4006)],
    ),
    refused(
        "DropUser",
        "DROP USER root@localhost, missing",
        &[("CREATE USER ON *.*", 1227), ("SYSTEM_USER ON *.*", 1227)],
        1396,
    ),
    changes("RenameUser", "RENAME USER x TO y", &[("CREATE USER ON *.*", 1227)]),
    changes(
        "RenameUser",
        "RENAME USER definer TO y",
        &[("CREATE USER ON *.*", 1227), ("ALLOW_NONEXISTENT_DEFINER ON *.*", 4006)],
    ),
    changes(
        "RenameUser",
        "RENAME USER x TO gone",
        &[("CREATE USER ON *.*", 1227), ("ALLOW_NONEXISTENT_DEFINER ON *.*", 4006)],
    ),
    refused(
        "RenameUser",
        "RENAME USER root@localhost TO x",
        &[("CREATE USER ON *.*", 1227), ("SYSTEM_USER ON *.*", 1227)],
        1396,
    ),
    changes("CreateRole", "CREATE ROLE q", &[("CREATE ROLE ON *.*", 1227)]),
    changes(
        "CreateRole",
        "CREATE ROLE gone",
        &[("CREATE ROLE ON *.*", 1227), ("ALLOW_NONEXISTENT_DEFINER ON *.*", 4006)],
    ),
    changes("DropRole", "DROP ROLE r", &[("DROP ROLE ON *.*", 1227)]),
    changes("DropRole", "DROP ROLE definer", &[("DROP ROLE ON *.*", 1227), ("ALLOW_NONEXISTENT_DEFINER ON *.*", 4006)]),
    changes("Grant", "GRANT SELECT ON d.t TO x", &[("SELECT ON d.t", 1142), ("GRANT OPTION ON d.t", 1142)]),
    changes("Grant", "GRANT SELECT ON d.* TO x", &[("SELECT ON d.*", 1044), ("GRANT OPTION ON d.*", 1044)]),
    changes("Grant", "GRANT r TO x", &[("ROLE_ADMIN ON *.*", 1227)]),
    changes("Grant", "GRANT r TO x", &[("r WITH ADMIN OPTION", 1227)]),
    changes("Grant", "GRANT BACKUP_ADMIN ON *.* TO x", &[("BACKUP_ADMIN ON *.* WITH GRANT OPTION", 1045)]),
    changes(
        "Grant",
        "GRANT SELECT ON d.t TO root@localhost",
        &[("SELECT ON d.t", 1142), ("GRANT OPTION ON d.t", 1142), ("SYSTEM_USER ON *.*", 1227)],
    ),
    changes("Revoke", "REVOKE SELECT ON d.t FROM x", &[("SELECT ON d.t", 1142), ("GRANT OPTION ON d.t", 1142)]),
    changes("Revoke", "REVOKE ALL PRIVILEGES, GRANT OPTION FROM x", &[("CREATE USER ON *.*", 1227)]),
    changes("Revoke", "REVOKE r FROM x", &[("ROLE_ADMIN ON *.*", 1227)]),
    // ---- the session and the server ----
    reads("Do", "DO (SELECT MAX(a) FROM d.t)", &[("SELECT (a) ON d.t", 1142)]),
    reads("Set", "SET @a = (SELECT MAX(a) FROM d.t)", &[("SELECT (a) ON d.t", 1142)]),
    reads("Set", "SET SESSION sort_buffer_size = 100000", &[]),
    reads("Set", "SET GLOBAL sort_buffer_size = 100000", &[("SYSTEM_VARIABLES_ADMIN ON *.*", 1227)]),
    reads(
        "Set",
        "SET GLOBAL mandatory_roles = ''",
        &[("SYSTEM_VARIABLES_ADMIN ON *.*", 1227), ("ROLE_ADMIN ON *.*", 1227)],
    ),
    changes("Set", "SET PASSWORD FOR x = 'p'", &[("CREATE USER ON *.*", 1227)]),
    refused(
        "Set",
        "SET PASSWORD FOR root@localhost = 'p' REPLACE 'wrong'",
        &[("CREATE USER ON *.*", 1227), ("SYSTEM_USER ON *.*", 1227)],
        3893,
    ),
    changes("Set", "SET DEFAULT ROLE r TO x", &[("CREATE USER ON *.*", 1227)]),
    reads("Use", "USE d", &[("SELECT ON d.t", 1044)]),
    reads("Show", "SHOW DATABASES", &[]),
    reads("Show", "SHOW VARIABLES WHERE (SELECT MAX(a) FROM d.t) = 1", &[("SELECT (a) ON d.t", 1142)]),
    reads("Show", "SHOW CHARACTER SET WHERE (SELECT MAX(a) FROM d.t) = 1", &[("SELECT (a) ON d.t", 1142)]),
    reads("Show", "SHOW COLUMNS FROM d.t", &[("INSERT (a) ON d.t", 1142)]),
    reads("Show", "SHOW CREATE TABLE d.t", &[("INSERT ON d.t", 1142)]),
    reads("Show", "SHOW ENGINE INNODB STATUS", &[("PROCESS ON *.*", 1227)]),
    refused("Show", "SHOW BINARY LOGS", &[("REPLICATION CLIENT ON *.*", 1227)], 1381),
    reads("Show", "SHOW BINARY LOG STATUS", &[("REPLICATION CLIENT ON *.*", 1227)]),
    reads("Show", "SHOW BINLOG EVENTS", &[("REPLICATION SLAVE ON *.*", 1227)]),
    reads("Show", "SHOW REPLICA STATUS", &[("REPLICATION CLIENT ON *.*", 1227)]),
    reads("Show", "SHOW REPLICAS", &[("REPLICATION SLAVE ON *.*", 1227)]),
    reads("Show", "SHOW CREATE VIEW d.v", &[("SELECT ON d.v", 1142), ("SHOW VIEW ON d.v", 1142)]),
    reads("Show", "SHOW TABLES FROM d", &[("SELECT ON d.t", 1044)]),
    reads("Show", "SHOW EVENTS FROM d", &[("EVENT ON d.*", 1044)]),
    reads("Show", "SHOW GRANTS FOR x", &[("SELECT ON mysql.*", 1044)]),
    reads("Show", "SHOW CREATE USER x", &[("SELECT ON mysql.*", 1044)]),
    refused("Show", "SHOW GRANTS FOR CURRENT_USER USING root@localhost", &[], 3530),
    reads("Explain", "EXPLAIN SELECT a FROM d.t", &[("SELECT (a) ON d.t", 1142)]),
    reads(
        "Explain",
        "EXPLAIN SELECT a FROM d.v",
        &[("SELECT ON d.v", 1142), ("SHOW VIEW ON d.v", 1345), ("SELECT ON d.t", 1345)],
    ),
    reads("Query", "SELECT a FROM d.v FOR UPDATE", &[("SELECT (a) ON d.v", 1142), ("UPDATE ON d.v", 1142)]),
    reads("Query", "SELECT DEFAULT(a) FROM d.t", &[("SELECT (a) ON d.t", 1142)]),
    reads("Explain", "EXPLAIN UPDATE d.t SET a = b", &[("UPDATE (a) ON d.t", 1142), ("SELECT (b) ON d.t", 1143)]),
    reads("DescribeTable", "DESCRIBE d.t", &[("SELECT (a) ON d.t", 1142)]),
    reads("Prepare", "PREPARE p FROM 'SELECT a FROM d.t'", &[("SELECT (a) ON d.t", 1142)]),
    refused("Execute", "EXECUTE missing", &[], 1243),
    refused("Deallocate", "DEALLOCATE PREPARE missing", &[], 1243),
    reads("ExecuteText", "EXECUTE 'SELECT a FROM d.t'", &[("SELECT (a) ON d.t", 1142)]),
    reads("ExecuteText", "EXECUTE 'DO 1; SELECT a FROM d.t' WITH NO RETURN", &[("SELECT (a) ON d.t", 1142)]),
    reads("ExecuteImmediate", "EXECUTE IMMEDIATE 'SELECT a FROM d.t'", &[("SELECT (a) ON d.t", 1142)]),
    reads("Transaction", "START TRANSACTION", &[]),
    reads("Transaction", "XA RECOVER", &[("XA_RECOVER_ADMIN ON *.*", 1401)]),
    refused("Transaction", "XA START 'x' JOIN", &[], 1398),
    refused("Transaction", "XA END 'x'", &[], 1399),
    refused("Transaction", "XA PREPARE 'x'", &[], 1399),
    refused("Transaction", "XA COMMIT 'x'", &[], 1397),
    refused("Transaction", "XA ROLLBACK 'x'", &[], 1397),
    reads("LockTables", "LOCK TABLES d.t READ", &[("LOCK TABLES ON d.*", 1044), ("SELECT ON d.t", 1142)]),
    reads(
        "LockTables",
        "LOCK TABLES d.v READ",
        &[("LOCK TABLES ON d.*", 1044), ("SELECT ON d.v", 1142), ("SELECT ON d.t", 1142)],
    ),
    reads("UnlockTables", "UNLOCK TABLES", &[]),
    reads("LockInstance", "LOCK INSTANCE FOR BACKUP", &[("BACKUP_ADMIN ON *.*", 1227)]),
    reads("UnlockInstance", "UNLOCK INSTANCE", &[("BACKUP_ADMIN ON *.*", 1227)]),
    reads("Backup", "BACKUP STAGE START", &[("RELOAD ON *.*", 1227)]),
    reads("Backup", "BACKUP LOCK d.t", &[("RELOAD ON *.*", 1227)]),
    reads("Backup", "BACKUP UNLOCK", &[("RELOAD ON *.*", 1227)]),
    reads("Empty", "/* nothing */", &[]),
    reads("Kill", "KILL {other}", &[("CONNECTION_ADMIN ON *.*", 1095)]),
    reads("Flush", "FLUSH TABLES", &[("FLUSH_TABLES ON *.*", 1227)]),
    reads("Flush", "FLUSH STATUS", &[("RELOAD ON *.*", 1227)]),
    reads(
        "Flush",
        "FLUSH TABLES d.t WITH READ LOCK",
        &[("RELOAD ON *.*", 1227), ("LOCK TABLES ON d.*", 1044), ("SELECT ON d.t", 1142)],
    ),
    reads("Reset", "RESET PERSIST", &[("SYSTEM_VARIABLES_ADMIN ON *.*", 1227)]),
    reads("TableMaintenance", "CHECK TABLE d.t", &[("SELECT ON d.t", 1142)]),
    reads("TableMaintenance", "CHECKSUM TABLE d.t", &[("SELECT ON d.t", 1142)]),
    reads("TableMaintenance", "ANALYZE TABLE d.t", &[("SELECT ON d.t", 1142), ("INSERT ON d.t", 1142)]),
    reads("TableMaintenance", "OPTIMIZE TABLE d.t", &[("SELECT ON d.t", 1142), ("INSERT ON d.t", 1142)]),
    refused("Shutdown", "SHUTDOWN", &[("SHUTDOWN ON *.*", 1227)], 1235),
    changes("CreateServer", "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'h')", &[("SUPER ON *.*", 1227)]),
    refused("AlterServer", "ALTER SERVER missing OPTIONS (USER 'u')", &[("SUPER ON *.*", 1227)], 1477),
    refused("DropServer", "DROP SERVER missing", &[("SUPER ON *.*", 1227)], 1477),
    // Without the module that keeps them; those of modules are in `crates/squall/tests/module_privileges.rs`.
    refused("CreateHttpEndpoint", "CREATE HTTP ENDPOINT e URL 'https://example.com'", &[], 1235),
    refused("AlterHttpEndpoint", "ALTER HTTP ENDPOINT e SECRET 's'", &[], 1235),
    refused("DropHttpEndpoint", "DROP HTTP ENDPOINT IF EXISTS e", &[], 1235),
    refused("CreateApiToken", "CREATE API TOKEN FOR u", &[], 1235),
    refused("DropApiToken", "DROP API TOKEN 'x'", &[], 1235),
    refused("Restart", "RESTART", &[("SHUTDOWN ON *.*", 1227)], 3707),
    reads("GetDiagnostics", "GET DIAGNOSTICS @n = NUMBER", &[]),
    refused("Signal", "SIGNAL SQLSTATE '45000'", &[], 1644),
    // ---- what is refused for all accounts ----
    refused("CreateLoadableFunction", "CREATE FUNCTION n RETURNS INTEGER SONAME 'f.so'", &[], 1235),
    reads("Help", "HELP 'SELECT'", &[]),
    reads("CacheIndex", "CACHE INDEX d.t IN DEFAULT", &[("INDEX ON d.t", 1142)]),
    reads("LoadIndex", "LOAD INDEX INTO CACHE d.t", &[("INDEX ON d.t", 1142)]),
    refused("Install", "INSTALL COMPONENT 'file://c'", &[], 1235),
    refused("Uninstall", "UNINSTALL COMPONENT 'file://c'", &[], 3537),
    refused("Replication", "STOP REPLICA", &[], 1235),
];
