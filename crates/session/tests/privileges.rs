//! Each kind of statement with the privileges that MySQL 8.4's manual names for it. It runs with exactly these, and fails with the
//! right error if any one of them is missing. The table is in `privileges/table.rs`.

#[path = "privileges/table.rs"]
mod table;

use bytes::Bytes;
use squall_parser::{ParseOptions, ast::Statement};
use squall_registry::Registry;
use squall_session::api::{Backend, Connection, ConnectionInfo, FrontEndContext, LocalFuture, OkInfo, Unanswered};
use squall_session::collector::Collector;
use squall_session::procedure::{ProcedureCall, ProcedureHead};
use squall_session::{Database, Failure, Module, OpenOptions, Procedure, Session};
use std::sync::Arc;
use table::{KINDS, ROWS, Row, kind_of};

/// A module with a procedure that does nothing.
#[derive(Debug)]
struct Demo;

#[derive(Debug)]
struct Nothing(ProcedureHead);

impl Module for Demo {
    fn name(&self) -> &str {
        "demo"
    }
    fn databases(&self) -> &[&str] {
        &["demo"]
    }
    fn declare(&self, _registry: &mut Registry) {}
    fn procedures(&self) -> Vec<Arc<dyn Procedure>> {
        let head = ProcedureHead { database: "demo", name: "nothing", parameters: Vec::new(), comment: "" };
        vec![Arc::new(Nothing(head))]
    }
}

impl Procedure for Nothing {
    fn head(&self) -> &ProcedureHead {
        &self.0
    }
    fn call<'a>(&'a self, _call: &'a mut ProcedureCall<'_>) -> LocalFuture<'a, Result<OkInfo, Failure>> {
        Box::pin(async { Ok(OkInfo::default()) })
    }
}

/// What every statement of the table finds there.
const OBJECTS: &str = "
    DROP DATABASE IF EXISTS d; DROP DATABASE IF EXISTS e; DROP DATABASE IF EXISTS new; CREATE DATABASE d; CREATE DATABASE e;
    CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b INT, KEY k (b)); INSERT INTO d.t VALUES (1, 1, 1), (2, 2, 2);
    CREATE TABLE d.s (id INT PRIMARY KEY, a INT, b INT); INSERT INTO d.s VALUES (3, 3, 3);
    CREATE TABLE d.parent (id INT PRIMARY KEY); INSERT INTO d.parent VALUES (1), (2);
    CREATE VIEW d.v AS SELECT id, a FROM d.t; CREATE SQL SECURITY INVOKER VIEW d.invoked AS SELECT id, a FROM d.t;
    CREATE EVENT d.event ON SCHEDULE EVERY 1 YEAR DISABLE DO SET @x = 1;
    CREATE PROCEDURE d.proc() SELECT MAX(a) FROM d.s; CREATE PROCEDURE d.invoked_proc() SQL SECURITY INVOKER SELECT MAX(a) FROM d.s;
    CREATE FUNCTION d.f(n INT) RETURNS INT RETURN n + 1; CREATE FUNCTION d.g(n INT) RETURNS INT RETURN d.f(n);
    CREATE FUNCTION d.invoked_g(n INT) RETURNS INT SQL SECURITY INVOKER RETURN d.f(n);
    CREATE TABLE d.triggered (id INT, a INT); CREATE TRIGGER d.trg BEFORE INSERT ON d.triggered FOR EACH ROW SET @x = 1;
    CREATE FUNCTION d.reading() RETURNS INT RETURN (SELECT MAX(a) FROM d.s);
    CREATE FUNCTION d.invoked_reading() RETURNS INT SQL SECURITY INVOKER RETURN (SELECT MAX(a) FROM d.s);
    CREATE FUNCTION d.invoked_writing() RETURNS INT SQL SECURITY INVOKER BEGIN INSERT INTO d.s (id) VALUES (7); RETURN 8; END;
    CREATE SEQUENCE d.seq; CREATE VIEW d.next AS SELECT NEXTVAL(d.seq) AS n;
    CREATE SQL SECURITY INVOKER VIEW d.invoked_next AS SELECT NEXTVAL(d.seq) AS n;
    CREATE FUNCTION d.next_of() RETURNS BIGINT RETURN NEXTVAL(d.seq);
    CREATE VIEW d.calling AS SELECT d.f(1) AS one; CREATE SQL SECURITY INVOKER VIEW d.invoked_calling AS SELECT d.f(1) AS one;
    DROP USER IF EXISTS definer, gone; CREATE USER definer; CREATE DEFINER = definer VIEW d.of_definer AS SELECT 1 AS one;
    CREATE DEFINER = gone EVENT d.of_gone ON SCHEDULE EVERY 1 YEAR DISABLE DO SET @x = 1;
    DROP USER IF EXISTS x, y, z; CREATE USER x; DROP ROLE IF EXISTS r, q; CREATE ROLE r; GRANT SELECT ON d.t TO x;
    GRANT r TO x";

struct Fixture {
    database: Database,
    root: Session,
    user: Box<dyn Connection>,
}

async fn answer(session: &mut dyn Connection, sql: &str) -> Result<(), (u16, String)> {
    let mut collector = Collector::default();
    session
        .query(&Bytes::copy_from_slice(sql.as_bytes()), Unanswered::default(), &mut collector)
        .await
        .expect("a collector is never gone");
    collector.into_results().map(|_| ()).map_err(|error| (error.code, error.message))
}

/// What a session keeps beyond a statement, and those that end it.
const UNDO: [&str; 6] = [
    "ROLLBACK",
    "UNLOCK TABLES",
    "UNLOCK INSTANCE",
    "BACKUP STAGE END",
    "BACKUP UNLOCK",
    "DROP TEMPORARY TABLE IF EXISTS d.temporary",
];

impl Fixture {
    async fn run(&mut self, sql: &str) {
        let result = answer(&mut self.root, sql).await;
        assert!(result.is_ok(), "{sql}: {result:?}");
    }

    /// Gives the account these privileges and no others.
    async fn grant(&mut self, grants: &[&str]) {
        self.run("REVOKE IF EXISTS ALL PRIVILEGES, GRANT OPTION FROM u").await;
        for grant in grants {
            let (what, to) = grant.split_once(" WITH ").unwrap_or((grant, ""));
            let with = if to.is_empty() { String::new() } else { format!(" WITH {to}") };
            self.run(&format!("GRANT {what} TO u{with}")).await;
        }
    }

    /// Runs a statement of the table with these privileges.
    async fn try_with(&mut self, row: &Row, grants: &[&str]) -> Result<(), (u16, String)> {
        self.grant(grants).await;
        let other = self.connect("x");
        let sql = row.sql.replace("{other}", &other.1.to_string());
        let result = answer(&mut *self.user, &sql).await;
        for undo in UNDO {
            answer(&mut *self.user, undo).await.ok();
        }
        result
    }

    fn connect(&self, user: &str) -> (Box<dyn Connection>, u64) {
        let address = "10.1.2.3".parse().ok();
        let account = FrontEndContext::account(&self.database, user, address).expect("an account");
        let info = ConnectionInfo { user: user.into(), address, multi_statements: true, ..Default::default() };
        let id = self.database.next_connection_id();
        let connected = Backend::connect(&self.database, id, &account, info, Arc::new(|| {}));
        (connected.expect("a session"), id)
    }
}

/// What is wrong with a row.
async fn check(fixture: &mut Fixture, row: &Row, wrong: &mut Vec<String>) {
    let parsed = squall_parser::parse(row.sql.replace("{other}", "1").as_str(), &ParseOptions::default());
    let statement: Statement = parsed.unwrap_or_else(|error| panic!("{}: {error:?}", row.sql)).statement;
    if kind_of(&statement) != row.kind {
        wrong.push(format!("{}: is of kind {}", row.sql, kind_of(&statement)));
    }
    let all: Vec<&str> = row.needs.iter().map(|(grant, _)| *grant).collect();
    for (missing, (grant, code)) in row.needs.iter().enumerate() {
        let others: Vec<&str> = all.iter().enumerate().filter(|(at, _)| *at != missing).map(|(_, one)| *one).collect();
        match fixture.try_with(row, &others).await {
            Err((found, message)) if found == *code => {
                // Errors about tables name the client's host, others the account's.
                if [1142, 1143, 1370].contains(code) && !message.contains("'u'@'10.1.2.3'") {
                    wrong.push(format!("{} without {grant}: {message}", row.sql));
                }
            }
            found => wrong.push(format!("{} without {grant}: {found:?} and not {code}", row.sql)),
        }
    }
    let outcome = fixture.try_with(row, &all).await;
    let met = match (&outcome, row.fails_with) {
        (Ok(()), None) => true,
        (Err((found, _)), Some(code)) => *found == code,
        _ => false,
    };
    if !met {
        wrong.push(format!("{} with all privileges: {outcome:?}", row.sql));
    }
    if outcome.is_ok() && row.changes {
        fixture.run(OBJECTS).await;
    }
}

#[test]
fn statements_need_what_the_table_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = OpenOptions { modules: vec![Arc::new(Demo)], ..OpenOptions::default() };
    let database = Database::open(folder.path(), options).expect("a database");
    let root = database.connect().expect("a session");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let wrong = runtime.block_on(async {
        let mut setup =
            Fixture { database: database.clone(), root, user: Box::new(database.connect().expect("a session")) };
        setup.run("CREATE USER u").await;
        setup.run(OBJECTS).await;
        setup.user = setup.connect("u").0;
        let mut wrong = Vec::new();
        for row in ROWS {
            check(&mut setup, row, &mut wrong).await;
        }
        wrong
    });
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), ROWS.len(), wrong.join("\n"));
}

#[test]
fn every_kind_of_statement_has_a_row() {
    let missing: Vec<&&str> = KINDS.iter().filter(|kind| !ROWS.iter().any(|row| row.kind == **kind)).collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
}
