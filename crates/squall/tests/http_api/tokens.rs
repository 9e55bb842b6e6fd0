//! API tokens.

use super::Served;
use super::client::Web;
use mysql::prelude::Queryable;
use squall_test_support::server::{connect_as, error_code};

const ONE: &str = r#"{"sql":"SELECT CURRENT_USER()"}"#;

#[test]
fn tokens_prove_accounts_until_they_end() {
    let mut served = Served::start();
    let port = served.port;
    let ask = |token: &str, body: &str| {
        Web::new(port).with("Authorization", &format!("Bearer {token}")).post("/1.0/sql", body)
    };
    let (id, token) = served.token("CREATE API TOKEN FOR web COMMENT 'reports'");
    assert!(token.starts_with(&format!("sqt_{id}_")), "{token}");
    let answer = ask(&token, ONE);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.text().contains("web@%"));
    let wrong = format!("{}x", &token[..token.len() - 1]);
    for bad in [wrong.as_str(), "", "sqt_", &id, "sqt_a_b"] {
        assert!([400, 401].contains(&ask(bad, ONE).status), "{bad}");
    }
    // The secret cannot be read again.
    type Shown = (String, String, String, Option<String>, String, Option<String>, String);
    let shown: Vec<Shown> = served.root.query("SHOW API TOKENS").expect("a list");
    let text = format!("{shown:?}");
    assert!(
        shown.len() == 1 && text.contains(&id) && text.contains("reports") && !text.contains(&token[20..]),
        "{text}"
    );

    let (_, reads) = served.token("CREATE API TOKEN FOR web READ ONLY");
    served.run("CREATE TABLE d.t (a INT)");
    assert_eq!(ask(&token, r#"{"sql":"INSERT INTO d.t VALUES (1)"}"#).status, 200);
    let refused = ask(&reads, r#"{"sql":"COMMIT; START TRANSACTION READ WRITE; INSERT INTO d.t VALUES (1)"}"#);
    assert!(refused.text().contains("\"error_code\":1792"), "{}", refused.text());

    let (_, short) = served.token("CREATE API TOKEN FOR web EXPIRE INTERVAL 1 SECOND");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(ask(&short, ONE).status, 401);
    served.run(&format!("DROP API TOKEN '{id}'"));
    assert_eq!(ask(&token, ONE).status, 401);
    assert!(served.root.query_drop(format!("DROP API TOKEN '{id}'")).is_err());
    served.run(&format!("DROP API TOKEN IF EXISTS '{id}'"));
    // They survive a restart, and end with the password that there was.
    let (_, lasting) = served.token("CREATE API TOKEN FOR web EXPIRE INTERVAL 1 DAY");
    assert_eq!(ask(&lasting, ONE).status, 200);
    served.run("ALTER USER web ACCOUNT LOCK");
    assert_eq!(ask(&lasting, ONE).status, 401);
    served.run("ALTER USER web IDENTIFIED BY 'pw' ACCOUNT UNLOCK");
    assert_eq!(ask(&lasting, ONE).status, 401);
}

#[test]
fn accounts_manage_their_own_tokens() {
    let mut served = Served::start();
    served.run("CREATE USER other IDENTIFIED BY 'pw'");
    let (id, _) = served.token("CREATE API TOKEN FOR other");
    let web = served.web();
    let sql = |text: &str| web.post("/1.0/sql", &format!("{{\"sql\":\"{text}\"}}")).text();
    assert!(sql("CREATE API TOKEN FOR other").contains("\"error_code\":1227"));
    assert!(sql("CREATE API TOKEN FOR root@localhost").contains("\"error_code\":1227"));
    assert!(sql(&format!("DROP API TOKEN '{id}'")).contains("\"error_code\":50450"));
    assert!(sql("CREATE API TOKEN FOR CURRENT_USER()").contains("sqt_"));
    let shown = sql("SHOW API TOKENS");
    assert!(shown.contains("'web'@'%'") && !shown.contains("'other'@'%'"), "{shown}");
    served.run("GRANT API_TOKEN_ADMIN ON *.* TO web");
    assert!(sql("SHOW API TOKENS").contains("'other'@'%'"));
    assert!(sql("CREATE API TOKEN FOR missing").contains("\"error_code\":3162"));
    for wrong in ["EXPIRE INTERVAL 1 MONTH", "EXPIRE INTERVAL 0 DAY", "EXPIRE INTERVAL 99999999999999 WEEK"] {
        let answer = sql(&format!("CREATE API TOKEN FOR web {wrong}"));
        assert!(answer.contains("\"error_code\":1235") || answer.contains("\"error_code\":1210"), "{wrong}: {answer}");
    }
}

#[test]
fn an_account_has_few_tokens_and_dead_ones_are_removed() {
    let mut served = Served::start();
    for _ in 0..3 {
        served.token("CREATE API TOKEN FOR web EXPIRE INTERVAL 1 SECOND");
    }
    std::thread::sleep(std::time::Duration::from_millis(1100));
    for _ in 0..100 {
        served.token("CREATE API TOKEN FOR web");
    }
    assert!(served.root.query_drop("CREATE API TOKEN FOR web").is_err());
    let shown: Vec<mysql::Row> = served.root.query("SHOW API TOKENS").expect("a list");
    assert_eq!(shown.len(), 100);
    // Another account of the name has none of them.
    served.run("DROP USER web");
    served.run("CREATE USER web IDENTIFIED BY 'pw'");
    served.token("CREATE API TOKEN FOR web");
    let shown: Vec<mysql::Row> = served.root.query("SHOW API TOKENS").expect("a list");
    assert_eq!(shown.len(), 1);
}

#[test]
fn tokens_are_of_one_account_and_for_those_who_may_use_them() {
    let mut served = Served::start();
    served.run("CREATE USER bare");
    served.run("GRANT JSON_API ON *.* TO bare");
    let (_, token) = served.token("CREATE API TOKEN FOR bare");
    let status = |port| Web::new(port).with("Authorization", &format!("Bearer {token}")).post("/1.0/sql", ONE).status;
    assert_eq!(status(served.port), 200);
    // Neither has a password, and yet they are not the same.
    served.run("DROP USER bare");
    served.run("CREATE USER bare");
    served.run("GRANT JSON_API ON *.* TO bare");
    assert_eq!(status(served.port), 401);
    served.run("REVOKE JSON_API ON *.* FROM bare");
    let time = std::time::Duration::from_secs(30);
    let mut bare = connect_as("bare", "127.0.0.1", served.server.port(), time).expect("a connection");
    assert_eq!(error_code(bare.query_drop("CREATE API TOKEN FOR CURRENT_USER()")), Some(1227));
}

/// Asks as a token does.
fn ask(port: u16, token: &str, sql: &str) -> super::client::Answer {
    let body = serde_json::json!({ "sql": sql }).to_string();
    Web::new(port).with("Authorization", &format!("Bearer {token}")).post("/1.0/sql", &body)
}

/// A server with the schemas `d`, `d_1`, `dx1` and `other`, in each of them a table `t` with its name, and an account `boss` with all rights.
fn with_schemas() -> Served {
    let mut served = Served::start();
    for sql in [
        "CREATE USER boss IDENTIFIED BY 'pw'",
        "GRANT ALL ON *.* TO boss WITH GRANT OPTION",
        "GRANT JSON_API, API_TOKEN_ADMIN, DYNAMIC_EXECUTE ON *.* TO boss",
        "CREATE ROLE admin",
        "GRANT admin TO boss WITH ADMIN OPTION",
        "CREATE DATABASE d_1",
        "CREATE DATABASE dx1",
        "CREATE DATABASE other",
    ] {
        served.run(sql);
    }
    for schema in ["d", "d_1", "dx1", "other"] {
        served.run(&format!("CREATE TABLE {schema}.t (a INT PRIMARY KEY, name VARCHAR(20))"));
        served.run(&format!("INSERT INTO {schema}.t VALUES (1, 'in {schema}')"));
    }
    served
}

/// Objects that read another schema with the rights of who calls them, and objects of another schema.
const AROUND_A_LIMIT: [&str; 7] = [
    "CREATE DEFINER = boss VIEW other.v AS SELECT * FROM other.t",
    "CREATE DEFINER = boss PROCEDURE other.p() SELECT * FROM other.t",
    "CREATE DEFINER = boss FUNCTION other.f() RETURNS TEXT DETERMINISTIC RETURN 'in other'",
    "CREATE DEFINER = boss SQL SECURITY INVOKER VIEW d_1.reaches AS SELECT * FROM other.t",
    "CREATE DEFINER = boss PROCEDURE d_1.reaches() SQL SECURITY INVOKER SELECT * FROM other.t",
    "CREATE DEFINER = boss PROCEDURE d_1.runs(text TEXT) SQL SECURITY INVOKER EXECUTE IMMEDIATE text",
    "CREATE DEFINER = boss FUNCTION d_1.reads() RETURNS TEXT SQL SECURITY INVOKER READS SQL DATA \
     RETURN (SELECT name FROM other.t)",
];

/// Each way to see something of a schema that a token is not for.
const READS_OF_OTHER_SCHEMAS: [&str; 26] = [
    "SELECT * FROM other.t",
    "SELECT name FROM other.t WHERE a = 1",
    "SELECT l.name FROM d_1.t l JOIN other.t r ON l.a = r.a",
    "SELECT (SELECT name FROM dx1.t)",
    "SELECT 1 FROM d_1.t WHERE EXISTS (SELECT * FROM other.t)",
    "WITH w AS (SELECT * FROM other.t) SELECT * FROM w",
    "TABLE other.t",
    "SELECT * FROM other.v",
    "CALL other.p()",
    "SELECT other.f()",
    "SELECT * FROM d_1.reaches",
    "CALL d_1.reaches()",
    "CALL d_1.runs('SELECT * FROM other.t')",
    "SELECT d_1.reads()",
    "PREPARE s FROM 'SELECT * FROM other.t'; EXECUTE s",
    "EXECUTE IMMEDIATE 'SELECT * FROM other.t'",
    "USE other",
    "USE other; SELECT * FROM t",
    "HANDLER other.t OPEN AS h; HANDLER h READ FIRST",
    "SHOW CREATE TABLE other.t",
    "SHOW COLUMNS FROM other.t",
    "DESCRIBE other.t",
    "EXPLAIN SELECT * FROM other.t",
    "SELECT user FROM mysql.user",
    "CHECKSUM TABLE other.t",
    "ANALYZE TABLE other.t",
];

/// Each way to change something of another schema, of the server or of the account, now or later.
const BEYOND_A_LIMIT: [&str; 48] = [
    "INSERT INTO other.t VALUES (2, 'x')",
    "INSERT INTO d_1.t SELECT a + 1, name FROM other.t",
    "REPLACE INTO other.t SELECT * FROM d_1.t",
    "UPDATE d_1.t l JOIN other.t r ON l.a = r.a SET l.name = r.name",
    "UPDATE d_1.t SET name = (SELECT name FROM other.t)",
    "DELETE r FROM d_1.t l JOIN other.t r ON l.a = r.a",
    "CREATE TABLE d_1.copy SELECT * FROM other.t",
    "CREATE TABLE d_1.copy LIKE other.t",
    "CREATE VIEW d_1.above AS SELECT * FROM other.t",
    "CREATE TABLE other.u (a INT)",
    "ALTER TABLE other.t ADD COLUMN b INT",
    "ALTER TABLE d_1.t RENAME TO other.taken",
    "RENAME TABLE other.t TO d_1.taken",
    "DROP TABLE other.t",
    "TRUNCATE TABLE other.t",
    "CREATE DATABASE fresh",
    "DROP DATABASE other",
    "CREATE TABLE d_1.child (a INT, FOREIGN KEY (a) REFERENCES other.t (a))",
    "LOCK TABLES other.t READ",
    "LOAD DATA INFILE '/etc/passwd' INTO TABLE d_1.t",
    "SELECT 1 INTO OUTFILE '/tmp/x'",
    "SELECT LOAD_FILE('/etc/passwd') IS NULL OR LOAD_FILE('/etc/passwd') + other.f()",
    "SELECT EXECUTE('SELECT 1')",
    "CALL async.queue('INSERT INTO other.t VALUES (9, 9)')",
    "SET GLOBAL json_server_console = OFF",
    "SET PERSIST max_connections = 10",
    "FLUSH TABLES",
    "SHUTDOWN",
    "GRANT SELECT ON d_1.* TO web",
    "GRANT admin TO web",
    "REVOKE admin FROM boss",
    "CREATE USER more",
    // What would run later, with all rights of its definer.
    "CREATE PROCEDURE d_1.slips() SELECT * FROM other.t",
    "CREATE FUNCTION d_1.slips() RETURNS INT RETURN 1",
    "CREATE TRIGGER d_1.slips BEFORE INSERT ON d_1.t FOR EACH ROW SET NEW.name = (SELECT name FROM other.t)",
    "CREATE EVENT d_1.slips ON SCHEDULE EVERY 1 SECOND DO INSERT INTO d_1.t SELECT 7, name FROM other.t",
    "ALTER PROCEDURE d_1.reaches SQL SECURITY DEFINER",
    // What would make the account its own.
    "ALTER USER boss IDENTIFIED BY 'mine'",
    "ALTER USER CURRENT_USER() IDENTIFIED BY 'mine'",
    "ALTER USER USER() IDENTIFIED BY 'mine'",
    "SET PASSWORD = 'mine'",
    "SET PASSWORD FOR boss = 'mine'",
    "SET DEFAULT ROLE NONE TO boss",
    "CREATE API TOKEN FOR boss",
    "CREATE API TOKEN FOR CURRENT_USER()",
    "SHOW API TOKENS",
    "SHOW GRANTS",
    "SHOW CREATE USER CURRENT_USER()",
];

#[test]
fn a_token_for_schemas_reaches_no_other() {
    let mut served = with_schemas();
    let port = served.port;
    for sql in AROUND_A_LIMIT {
        served.run(sql);
    }
    let (id, token) = served.token("CREATE API TOKEN FOR boss SCHEMAS (d_1)");
    // Without the limit all of it can be read, and its plans are known.
    let (_, free) = served.token("CREATE API TOKEN FOR boss");
    for sql in READS_OF_OTHER_SCHEMAS {
        for _ in 0..3 {
            let answer = ask(port, &free, sql);
            assert_eq!(answer.status, 200, "{sql}: {}", answer.text());
        }
    }
    for sql in READS_OF_OTHER_SCHEMAS {
        for _ in 0..2 {
            let answer = ask(port, &token, sql);
            let text = answer.text();
            // Maintenance tells in its rows.
            let is_refused = answer.status == 403 || text.contains("denied") || text.contains("lack rights");
            assert!(is_refused && !text.contains("in other") && !text.contains("in dx1"), "{sql}: {text}");
        }
    }
    let drops = format!("DROP API TOKEN '{id}'");
    for sql in BEYOND_A_LIMIT.into_iter().chain([&*drops]) {
        let answer = ask(port, &token, sql);
        assert!([401, 403].contains(&answer.status), "{sql}: {}", answer.text());
    }
    // Nothing of it has happened.
    let rows: Vec<String> =
        served.root.query("SELECT name FROM other.t UNION ALL SELECT name FROM d_1.t").expect("rows");
    assert_eq!(rows, ["in other", "in d_1"]);
    assert_eq!(served.web().user("boss", "pw").post("/1.0/sql", ONE).status, 200);
    // It is no login for a page.
    let bearer = Web::new(port).with("Authorization", &format!("Bearer {token}"));
    assert_eq!(bearer.ask("POST", "/1.0/session", None).status, 401);
    assert_eq!(bearer.get("/metrics").status, 403);
    assert_eq!(bearer.get("/json?schema=other&table=t").status, 403);
}

#[test]
fn a_token_for_schemas_works_in_them() {
    let mut served = with_schemas();
    let port = served.port;
    for sql in [
        "CREATE DEFINER = boss VIEW d.v AS SELECT * FROM other.t",
        "CREATE DEFINER = boss PROCEDURE d.p() SELECT name FROM other.t",
        "CREATE DEFINER = boss FUNCTION d.f() RETURNS TEXT READS SQL DATA RETURN (SELECT name FROM other.t)",
        "CREATE TABLE other.log (name TEXT)",
        "CREATE DEFINER = boss TRIGGER d.logs AFTER INSERT ON d.t FOR EACH ROW INSERT INTO other.log VALUES (NEW.name)",
    ] {
        served.run(sql);
    }
    let (_, token) = served.token("CREATE API TOKEN FOR boss READ ONLY SCHEMAS (d, `d_1`) COMMENT 'two'");
    let (_, writes) = served.token("CREATE API TOKEN FOR boss SCHEMAS (d)");
    let rows = |sql: &str| {
        let answer = ask(port, &token, sql);
        assert_eq!(answer.status, 200, "{sql}: {}", answer.text());
        let json: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
        json["results"].as_array().and_then(|all| all.last()).expect("a result")["rows"].to_string()
    };
    assert_eq!(rows("SELECT l.name, r.name FROM d.t l JOIN d_1.t r USING (a)"), r#"[["in d","in d_1"]]"#);
    assert_eq!(rows("USE d; SELECT name FROM t"), r#"[["in d"]]"#);
    assert_eq!(rows("SET ROLE ALL; SELECT name FROM d.t"), r#"[["in d"]]"#);
    // Programs and views there do what their definers may.
    assert_eq!(rows("SELECT name FROM d.v"), r#"[["in other"]]"#);
    assert_eq!(rows("SELECT d.f()"), r#"[["in other"]]"#);
    assert!(ask(port, &token, "CALL d.p()").text().contains(r#"[["in other"]]"#));
    // Nothing tells of other schemas, or of the account's other connections.
    let shown = rows("SHOW DATABASES");
    assert!(shown.contains(r#"[["d"],["d_1"],["#), "{shown}");
    assert!(["dx1", "other", "\"mysql\""].iter().all(|name| !shown.contains(name)), "{shown}");
    for sql in [
        "SELECT DISTINCT table_schema FROM information_schema.tables WHERE table_schema IN ('dx1', 'other')",
        "SELECT table_schema FROM information_schema.columns WHERE table_schema IN ('dx1', 'other')",
        "SELECT schema_name FROM information_schema.schemata WHERE schema_name IN ('dx1', 'other')",
        "SELECT routine_name FROM information_schema.routines WHERE routine_schema NOT IN ('d', 'd_1')",
        "SELECT * FROM information_schema.schema_privileges",
        "SELECT * FROM information_schema.user_privileges",
        "SELECT * FROM information_schema.processlist WHERE id <> CONNECTION_ID()",
    ] {
        assert_eq!(rows(sql), "[]", "{sql}");
    }
    let wait = std::thread::spawn({
        let boss = served.web().user("boss", "pw");
        move || boss.post("/1.0/sql", r#"{"sql":"SELECT SLEEP(3), 'private'"}"#).status
    });
    let mut id = None;
    squall_test_support::wait_until("the other statement", || {
        let sql = "SELECT id FROM information_schema.processlist WHERE user = 'boss' AND info LIKE '%private%'";
        id = served.root.query_first(sql).expect("a list");
        id.is_some()
    });
    let id: u64 = id.expect("a connection");
    assert!(!rows("SHOW FULL PROCESSLIST").contains("private"));
    assert!(ask(port, &writes, &format!("KILL {id}")).text().contains("\"error_code\":1095"));
    assert_eq!(wait.join().expect("a thread"), 200);
    assert!(ask(port, &token, "INSERT INTO d.t VALUES (2, 'x')").text().contains("\"error_code\":1792"));
    for sql in [
        "INSERT INTO d.t VALUES (2, 'logged')",
        "CREATE TABLE d.u (a INT)",
        "CREATE TEMPORARY TABLE d.u2 (a INT)",
        "DROP TABLE d.u",
        "CREATE VIEW d.w AS SELECT * FROM d.t",
    ] {
        assert_eq!(ask(port, &writes, sql).status, 200, "{sql}");
    }
    let logged: Vec<String> = served.root.query("SELECT name FROM other.log").expect("rows");
    assert_eq!(logged, ["logged"]);
    // What the account loses, its token loses.
    served.run("REVOKE ALL, GRANT OPTION FROM boss");
    served.run("GRANT JSON_API ON *.* TO boss");
    served.run("GRANT SELECT (a) ON d.t TO boss");
    assert_eq!(ask(port, &writes, "SELECT a FROM d.t").status, 200);
    assert_eq!(ask(port, &writes, "SELECT name FROM d.t").status, 403);
    let shown: Vec<mysql::Row> = served.root.query("SHOW API TOKENS").expect("a list");
    let schemas: Vec<Option<String>> = shown.iter().filter_map(|row| row.get("Schemas")).collect();
    assert!(schemas.contains(&Some("`d`, `d_1`".to_string())) && schemas.contains(&Some("`d`".to_string())));
}

#[test]
fn a_queued_text_keeps_the_limit_of_its_token() {
    let mut served = with_schemas();
    let port = served.port;
    let (_, token) = served.token("CREATE API TOKEN FOR boss SCHEMAS (d, async)");
    for sql in ["INSERT INTO other.t VALUES (9, 'queued')", "INSERT INTO d.t VALUES (9, 'queued')"] {
        let answer = ask(port, &token, &format!("CALL async.queue('{}')", sql.replace('\'', "''")));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    squall_test_support::wait_until("the queued text", || {
        let found: Option<u64> = served.root.query_first("SELECT COUNT(*) FROM d.t WHERE a = 9").expect("a count");
        found == Some(1)
    });
    squall_test_support::wait_until("the end of both", || {
        let sql = "SELECT COUNT(*) FROM async.q WHERE completed_on IS NULL";
        served.root.query_first::<u64, _>(sql).expect("a count") == Some(0)
    });
    let found: Option<u64> = served.root.query_first("SELECT COUNT(*) FROM other.t WHERE a = 9").expect("a count");
    assert_eq!(found, Some(0));
}

#[test]
fn a_token_that_reads_only_changes_nothing_of_its_account() {
    let mut served = with_schemas();
    let (id, token) = served.token("CREATE API TOKEN FOR boss READ ONLY");
    for sql in [
        "ALTER USER CURRENT_USER() IDENTIFIED BY 'mine'",
        "SET PASSWORD = 'mine'",
        "CREATE API TOKEN FOR boss",
        "CREATE API TOKEN FOR CURRENT_USER()",
        &format!("DROP API TOKEN '{id}'"),
        "SET GLOBAL json_server_console = OFF",
        "GRANT SELECT ON d.* TO web",
        "CREATE USER more",
        "CALL async.queue('INSERT INTO d.t VALUES (9, 9)')",
    ] {
        let answer = ask(served.port, &token, sql);
        assert_eq!(answer.status, 403, "{sql}: {}", answer.text());
    }
    assert_eq!(ask(served.port, &token, "SELECT name FROM d.t").status, 200);
}
