//! `/1.0/db` and `/1.0/call`: methods, transactions, and what settings of sessions must not change.

use super::Served;
use super::client::Web;
use super::db::{code, items};
use mysql::prelude::Queryable;
use squall_test_support::wait_until;

#[test]
fn changes_of_routines_are_kept_before_they_are_answered() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY)");
    served.run("CREATE PROCEDURE d.one() INSERT INTO d.t VALUES (1)");
    served.run("CREATE PROCEDURE d.two(OUT n INT) BEGIN START TRANSACTION; INSERT INTO d.t VALUES (2); SET n = 2; END");
    served.run("CREATE FUNCTION d.three() RETURNS INT DETERMINISTIC BEGIN INSERT INTO d.t VALUES (3); RETURN 3; END");
    served.run("CREATE PROCEDURE d.four() BEGIN INSERT INTO d.t VALUES (4); SIGNAL SQLSTATE '45000'; END");
    served.run("SET GLOBAL autocommit = 0");
    for (routine, status) in [("one", 200), ("two", 200), ("three", 200), ("four", 422)] {
        let answer = served.web().post(&format!("/1.0/call/d/{routine}"), "{}");
        let is_done = answer.status == status || (status == 200 && answer.status == 204);
        assert!(is_done, "{routine}: {} {}", answer.status, answer.text());
    }
    served.run("SET GLOBAL autocommit = 1");
    let ids: Vec<u32> = served.root.query("SELECT id FROM d.t ORDER BY id").expect("ids");
    assert_eq!(ids, [1, 2, 3]);
    // Also one that has begun a transaction itself.
    served.run("TRUNCATE d.t");
    assert_eq!(served.web().post("/1.0/call/d/two", "{}").status, 200);
    let ids: Vec<u32> = served.root.query("SELECT id FROM d.t").expect("ids");
    assert_eq!(ids, [2]);
}

#[test]
fn defaults_of_put_are_of_the_new_values() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY, twice INT DEFAULT (a * 2), a INT)");
    served.run("INSERT INTO d.t VALUES (1, 0, 7)");
    let answer = served.web().ask("PUT", "/1.0/db/d/t/1", Some(br#"{"a":10}"#));
    assert_eq!((answer.status, answer.text().as_str()), (200, r#"{"id":1,"twice":20,"a":10}"#));
}

#[test]
fn a_count_and_its_page_are_of_one_snapshot() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY)");
    served.run("INSERT INTO d.t VALUES (0)");
    served.run("SET GLOBAL transaction_isolation = 'READ-COMMITTED'");
    let web = served.web();
    let asking = std::thread::spawn(move || {
        for _ in 0..300 {
            let page = web.get("/1.0/db/d/t?limit=10000&total=true");
            let text = page.text();
            let number = |name: &str| {
                let rest = text.split(&format!("\"{name}\":")).nth(1).unwrap_or_else(|| panic!("{text}"));
                rest.split(',').next().expect("a number").to_owned()
            };
            assert_eq!(number("count"), number("total"));
        }
    });
    let mut next = 0;
    while !asking.is_finished() && next < 9_000 {
        next += 1;
        served.run(&format!("INSERT INTO d.t VALUES ({next})"));
    }
    asking.join().expect("one snapshot");
}

#[test]
fn a_read_only_token_locks_nothing() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY, v INT)");
    served.run("INSERT INTO d.t VALUES (1, 1)");
    let (_, token) = served.token("CREATE API TOKEN FOR web READ ONLY");
    let web = Web::new(served.port).with("Authorization", &format!("Bearer {token}"));
    for lock in ["FOR UPDATE", "FOR SHARE", "LOCK IN SHARE MODE", "FOR UPDATE NOWAIT"] {
        for from in ["d.t", "(SELECT * FROM d.t WHERE id = 1) AS s, d.t"] {
            let answer = web.post("/1.0/sql", &format!(r#"{{"sql":"SELECT * FROM {from} {lock}"}}"#));
            assert_eq!((answer.status, code(&answer)), (403, 1792), "{lock}: {}", answer.text());
        }
    }
    // Another session holds the row: the request does not wait for it.
    served.run("BEGIN");
    served.run("SELECT * FROM d.t FOR UPDATE");
    for method in ["PUT", "PATCH", "DELETE"] {
        let answer = web.clone().with("If-Match", "*").ask(method, "/1.0/db/d/t/1", Some(b"{\"v\":2}"));
        assert_eq!((answer.status, code(&answer)), (403, 1792), "{method}: {}", answer.text());
    }
    served.run("COMMIT");
    assert_eq!(web.get("/1.0/db/d/t/1").status, 200);
}

#[test]
fn methods_are_those_of_http() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY)");
    served.run("INSERT INTO d.t VALUES (1)");
    served.run("CREATE VIEW d.v AS SELECT id FROM d.t");
    for path in ["/1.0/db", "/1.0/db/d", "/1.0/db/d/t", "/1.0/db/d/t/1", "/1.0/db/d/v"] {
        let (got, head) = (served.web().get(path), served.web().ask("HEAD", path, None));
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        assert_eq!(
            (head.header("content-type"), head.header("etag")),
            (got.header("content-type"), got.header("etag"))
        );
    }
    assert_eq!(served.web().ask("HEAD", "/1.0/db/d/t/2", None).status, 404);
    for method in ["PUT", "PATCH", "DELETE"] {
        let answer = served.web().ask(method, "/1.0/db/d/v/1", Some(b"{}"));
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD")), "{method}: {}", answer.text());
    }
    let options = served.web().ask("OPTIONS", "/1.0/db/d/t", None);
    assert_eq!((options.status, options.header("allow")), (204, Some("GET, HEAD, POST")));
    assert_eq!(served.web().get("/1.0/openapi.json?tabel=t").status, 400);
}

#[test]
fn lists_are_whole_whatever_sql_select_limit_is() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.a (id INT PRIMARY KEY)");
    served.run("CREATE TABLE d.b (id INT PRIMARY KEY)");
    served.run("INSERT INTO d.a VALUES (1), (2)");
    let before = (served.db("").text(), served.db("/d").text());
    served.run("SET GLOBAL sql_select_limit = 1");
    assert_eq!((served.db("").text(), served.db("/d").text()), before);
    assert_eq!(items(&served.db("/d/a")), r#"[{"id":1},{"id":2}]"#);
    served.run("SET GLOBAL sql_select_limit = DEFAULT");
}

#[test]
fn what_does_more_than_read_runs_to_its_end() {
    let served = Served::start();
    let sql = "SELECT @n := @n + 1 FROM (SELECT @n := 0) AS z, seq_1_to_50000; SELECT @n AS n";
    let answer = served.sql(&format!(r#"{{"sql":"{sql}","database":"d","max_rows":1}}"#));
    assert!(answer.text().contains("[[50000]]"), "{}", answer.text());
    let sql = "SELECT SQL_CALC_FOUND_ROWS seq FROM seq_1_to_50000; SELECT FOUND_ROWS() AS n";
    let answer = served.sql(&format!(r#"{{"sql":"{sql}","database":"d","max_rows":1}}"#));
    assert!(answer.text().contains("[[50000]]"), "{}", answer.text());
    let sql =
        "SELECT seq, GET_LOCK(CONCAT('l', seq), 0) FROM seq_1_to_20000; SELECT IS_USED_LOCK('l20000') IS NULL AS n";
    for _ in 0..3 {
        let answer = served.sql(&format!(r#"{{"sql":"{sql}","database":"d","max_rows":1}}"#));
        assert!(answer.text().contains("[[0]]"), "{}", answer.text());
    }
}

#[test]
fn slow_senders_hold_up_no_other_client() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY)");
    served.run("SET GLOBAL json_server_max_threads = 1");
    let web = served.web();
    let mut sockets = Vec::new();
    for (method, path) in
        [("POST", "/1.0/sql"), ("POST", "/1.0/db/d/t"), ("PUT", "/1.0/db/d/t/1"), ("PATCH", "/1.0/db/d/t/1")]
    {
        let mut socket = web.connect();
        // It says that there is a body, and waits.
        let head = web.clone().with("Content-Type", "application/json").with("Content-Length", "100");
        head.send(&mut socket, method, path, None);
        sockets.push(socket);
    }
    wait_until("the requests", || {
        let sql = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'web'";
        served.root.query_first::<u64, _>(sql).expect("a count") == Some(4)
    });
    let started = std::time::Instant::now();
    assert_eq!(served.sql(r#"{"sql":"SELECT 1"}"#).status, 200);
    assert!(started.elapsed() < std::time::Duration::from_secs(5));
}

#[test]
fn rows_of_one_request_are_found_by_one_plan() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY, v INT)");
    let rows =
        |from: u32| (from..from + 200).map(|id| format!("{{\"id\":{id},\"v\":1}}")).collect::<Vec<_>>().join(",");
    assert_eq!(served.web().post("/1.0/db/d/t", &format!("[{}]", rows(0))).status, 201);
    let before = served.status("Plan_cache_hits");
    assert_eq!(served.web().post("/1.0/db/d/t", &format!("[{}]", rows(1000))).status, 201);
    // Of the statements but the first ones of the session.
    assert!(served.status("Plan_cache_hits") - before >= 190);
}
