//! `/1.0/db`: changing.

use super::client::{Answer, Web};
use super::db::{code, items};
use super::{Served, http_port};
use mysql::prelude::Queryable;
use std::sync::Barrier;

impl Served {
    fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        self.web().ask(method, path, Some(body.as_bytes()))
    }

    fn count(&mut self, table: &str) -> u64 {
        self.root.query_first(format!("SELECT COUNT(*) FROM {table}")).expect("a count").unwrap_or(0)
    }
}

#[test]
fn rows_are_stored_and_shown_as_they_are() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(5) DEFAULT 'x', j JSON, b BLOB, n DECIMAL(5,2))");
    let answer = served.ask("POST", "/1.0/db/d/t", r#"{"a":"y","j":{"k":[1,null]},"b":"AP8=","n":1.5}"#);
    assert_eq!((answer.status, answer.header("location")), (201, Some("/1.0/db/d/t/1")), "{}", answer.text());
    assert_eq!(answer.text(), r#"{"id":1,"a":"y","j":{"k": [1, null]},"b":"AP8=","n":"1.50"}"#);
    let shown = served.db("/d/t/1");
    assert_eq!((shown.text(), shown.header("etag")), (answer.text(), answer.header("etag")));
    let answer = served.ask("POST", "/1.0/db/d/t", "{}");
    assert_eq!((answer.status, answer.text().as_str()), (201, r#"{"id":2,"a":"x","j":null,"b":null,"n":null}"#));
    let answer = served.ask("POST", "/1.0/db/d/t", r#"[{"id":7},{"A":"z"},{"id":null,"n":"9007.1"}]"#);
    // The last one does not fit, so none is there.
    assert_eq!((answer.status, code(&answer)), (422, 1264), "{}", answer.text());
    assert!(answer.text().contains("[2]: Out of range value for column 'n'"), "{}", answer.text());
    assert_eq!(served.count("d.t"), 2);
    let answer = served.ask("POST", "/1.0/db/d/t", r#"[{"id":7},{"A":"z"},{"id":null,"n":"7.1"}]"#);
    assert_eq!((answer.status, answer.header("location")), (201, None));
    let text = answer.text();
    assert!(
        text.starts_with("{\"items\":[{\"id\":7,\"a\":\"x\",") && text.ends_with("\"n\":\"7.10\"}],\"count\":3}"),
        "{text}"
    );
    assert_eq!(served.count("d.t"), 5);
    let minimal = served.web().with("Prefer", "return=minimal").post("/1.0/db/d/t", "[{},{}]");
    assert_eq!((minimal.status, minimal.body.len()), (201, 0));
    assert_eq!(served.ask("POST", "/1.0/db/d/t", "[]").text(), r#"{"items":[],"count":0}"#);
    for (body, status, number) in [
        ("", 400, 0),
        ("5", 400, 0),
        ("null", 400, 0),
        ("[5]", 400, 0),
        ("[[]]", 400, 0),
        ("{\"a\":1", 400, 0),
        ("{\"a\":1}x", 400, 0),
        ("{\"a\":\"p\",\"A\":\"q\"}", 400, 0),
        ("{\"other\":1}", 400, 1054),
        ("{\"a\":\"toolong\"}", 422, 1406),
        ("{\"a\":[1]}", 422, 0),
        ("{\"b\":\"?\"}", 422, 0),
        ("{\"id\":1}", 409, 1062),
        ("{\"n\":\"x\"}", 422, 1366),
    ] {
        let answer = served.ask("POST", "/1.0/db/d/t", body);
        assert_eq!((answer.status, code(&answer)), (status, number), "{body}: {}", answer.text());
    }
    for media_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        assert_eq!(served.web().with("Content-Type", media_type).post("/1.0/db/d/t", "{}").status, 415);
    }
    assert_eq!(served.count("d.t"), 7);
}

#[test]
fn put_replaces_and_patch_merges() {
    let mut served = Served::start();
    served.run(
        "CREATE TABLE d.t (id INT PRIMARY KEY, a VARCHAR(5) DEFAULT 'x', j JSON, g INT AS (id * 2), r INT NOT NULL)",
    );
    // There is no row: PUT makes it, PATCH and DELETE do not.
    assert_eq!(served.ask("PATCH", "/1.0/db/d/t/1", "{}").status, 404);
    assert_eq!(served.web().ask("DELETE", "/1.0/db/d/t/1", None).status, 404);
    let answer = served.ask("PUT", "/1.0/db/d/t/1", r#"{"a":"q","r":1}"#);
    assert_eq!((answer.status, answer.header("location")), (201, Some("/1.0/db/d/t/1")), "{}", answer.text());
    assert_eq!(answer.text(), r#"{"id":1,"a":"q","j":null,"g":2,"r":1}"#);
    // The same again is the same.
    let again = served.ask("PUT", "/1.0/db/d/t/1", &answer.text());
    assert_eq!((again.status, again.text(), again.header("etag")), (200, answer.text(), answer.header("etag")));
    // What is not given has its default.
    let answer = served.ask("PUT", "/1.0/db/d/t/1", r#"{"id":1,"j":{"a":1,"b":{"c":2}},"r":2}"#);
    assert_eq!(answer.text(), r#"{"id":1,"a":"x","j":{"a": 1, "b": {"c": 2}},"g":2,"r":2}"#);
    let refused = served.ask("PUT", "/1.0/db/d/t/1", "{}");
    assert_eq!((refused.status, code(&refused)), (422, 1364), "{}", refused.text());
    // RFC 7396: objects are merged, null takes a member away, all else replaces.
    for (patch, a, j) in [
        (r#"{"j":{"b":{"d":3},"a":null}}"#, "x", r#"{"b": {"c": 2, "d": 3}}"#),
        (r#"{"a":"y","j":[1]}"#, "y", "[1]"),
        (r#"{"j":{"z":{"n":null}}}"#, "y", r#"{"z": {}}"#),
        (r#"{"j":null}"#, "y", "null"),
        (r#"{"j":{"new":true}}"#, "y", r#"{"new": true}"#),
        ("{}", "y", r#"{"new": true}"#),
    ] {
        let media_type = if a == "x" { "application/merge-patch+json" } else { "application/json" };
        let answer =
            served.web().with("Content-Type", media_type).ask("PATCH", "/1.0/db/d/t/1", Some(patch.as_bytes()));
        assert_eq!(answer.text(), format!("{{\"id\":1,\"a\":\"{a}\",\"j\":{j},\"g\":2,\"r\":2}}"), "{patch}");
    }
    for (method, body, status, number) in [
        ("PATCH", r#"{"id":2}"#, 422, 0),
        ("PUT", r#"{"id":2,"r":1}"#, 422, 0),
        ("PATCH", r#"{"id":null}"#, 422, 0),
        ("PATCH", r#"{"g":7}"#, 422, 3105),
        ("PATCH", r#"{"r":null}"#, 422, 1048),
        ("PATCH", r#"{"x":null}"#, 400, 1054),
        ("PATCH", "[]", 400, 0),
    ] {
        let answer = served.ask(method, "/1.0/db/d/t/1", body);
        assert_eq!((answer.status, code(&answer)), (status, number), "{method} {body}: {}", answer.text());
    }
    assert_eq!(served.ask("PATCH", "/1.0/db/d/t/1", r#"{"id":"1","r":3}"#).status, 200);
    assert_eq!(served.web().ask("DELETE", "/1.0/db/d/t/1", None).status, 204);
    assert_eq!(served.web().ask("DELETE", "/1.0/db/d/t/1", None).status, 404);
    assert_eq!(served.count("d.t"), 0);
}

#[test]
fn conditions_of_requests_are_about_the_stored_row() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (a INT, b VARCHAR(5), v INT, PRIMARY KEY (a, b))");
    let created = served.web().with("If-None-Match", "*").ask("PUT", "/1.0/db/d/t/1,x", Some(b"{\"v\":1}"));
    assert_eq!(created.status, 201, "{}", created.text());
    let tag = created.header("etag").expect("a tag").to_owned();
    assert_eq!(served.web().with("If-None-Match", "*").ask("PUT", "/1.0/db/d/t/1,x", Some(b"{}")).status, 412);
    let unchanged = served.web().with("If-None-Match", &format!("\"other\", {tag}")).get("/1.0/db/d/t/1,x");
    assert_eq!((unchanged.status, unchanged.body.len(), unchanged.header("etag")), (304, 0, Some(&*tag)));
    let patched = served.web().with("If-Match", &tag).ask("PATCH", "/1.0/db/d/t/1,x", Some(b"{\"v\":2}"));
    assert_eq!(patched.status, 200, "{}", patched.text());
    assert_ne!(patched.header("etag"), Some(&*tag));
    for method in ["PUT", "PATCH", "DELETE"] {
        let stale = served.web().with("If-Match", &tag).ask(method, "/1.0/db/d/t/1,x", Some(b"{\"v\":3}"));
        assert_eq!(stale.status, 412, "{method}: {}", stale.text());
    }
    assert!(served.db("/d/t/1,x").text().contains("\"v\":2"));
    // A client of SQL changes it, too.
    let tag = patched.header("etag").expect("a tag").to_owned();
    served.run("UPDATE d.t SET v = 9");
    assert_eq!(served.web().with("If-Match", &tag).ask("DELETE", "/1.0/db/d/t/1,x", None).status, 412);
    assert_eq!(served.web().with("If-Match", "*").ask("DELETE", "/1.0/db/d/t/1,x", None).status, 204);
    assert_eq!(served.web().with("If-Match", "*").ask("PUT", "/1.0/db/d/t/1,x", Some(b"{}")).status, 412);
    assert_eq!(served.count("d.t"), 0);
}

#[test]
fn of_two_writers_with_one_tag_one_wins() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY, v INT)");
    served.run("INSERT INTO d.t VALUES (1, 0)");
    for round in 0..20 {
        let tag = served.db("/d/t/1").header("etag").expect("a tag").to_owned();
        let (barrier, web) = (Barrier::new(4), served.web().with("If-Match", &tag));
        let method = if round % 2 == 0 { "PATCH" } else { "PUT" };
        let mut statuses: Vec<u16> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|writer| {
                    let (barrier, web) = (&barrier, &web);
                    scope.spawn(move || {
                        let body = format!("{{\"v\":{}}}", round * 10 + writer + 1);
                        barrier.wait();
                        web.ask(method, "/1.0/db/d/t/1", Some(body.as_bytes())).status
                    })
                })
                .collect();
            writers.into_iter().map(|writer| writer.join().expect("a status")).collect()
        });
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 412, 412, 412], "round {round}");
    }
}

#[test]
fn many_rows_are_stored_together_or_not_at_all() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, v INT CHECK (v < 1000000))");
    let rows = |last: &str| {
        let all: Vec<String> = (0..9_999).map(|v| format!("{{\"v\":{v}}}")).collect();
        format!("[{},{last}]", all.join(","))
    };
    let refused = served.ask("POST", "/1.0/db/d/t", &rows("{\"v\":1000000}"));
    assert_eq!((refused.status, code(&refused)), (422, 3819));
    assert!(refused.text().contains("[9999]: "), "{}", refused.text());
    assert_eq!(served.count("d.t"), 0);
    let stored = served.ask("POST", "/1.0/db/d/t", &rows("{\"v\":1}"));
    assert_eq!(stored.status, 201);
    assert!(stored.text().ends_with("],\"count\":10000}"));
    assert_eq!(served.count("d.t"), 10_000);
    let page = served.db("/d/t?limit=10000&fields=v");
    assert!(page.text().contains("\"hasMore\":false,\"count\":10000,"));
    let more = served.ask("POST", "/1.0/db/d/t", &format!("[{}{{}}]", "{},".repeat(10_000)));
    assert_eq!(more.status, 413, "{}", more.text());
    assert_eq!(served.count("d.t"), 10_000);
}

#[test]
fn a_kill_in_the_middle_leaves_all_or_nothing() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)");
    served.run("CREATE TRIGGER d.slow BEFORE INSERT ON d.t FOR EACH ROW SET NEW.v = NEW.v + SLEEP(0.01)");
    let body = format!("[{}{{\"v\":1}}]", "{\"v\":1},".repeat(1_999));
    let web = served.web().with("Prefer", "return=minimal");
    let mut socket = web.connect();
    web.send(&mut socket, "POST", "/1.0/db/d/t", Some(body.as_bytes()));
    // It is in the middle of its rows.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let begun = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND = 'Http' AND INFO LIKE 'INSERT%'";
    while served.root.query_first::<u64, _>(begun).expect("a count") != Some(1) {
        assert!(std::time::Instant::now() < deadline, "no request");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    served.server.kill();
    served.server.restart();
    served.root = served.server.connect();
    assert_eq!(served.count("d.t"), 0);
    served.port = http_port(&mut served.root);
    assert_eq!(served.ask("POST", "/1.0/db/d/t", "[{\"v\":1},{\"v\":2}]").status, 201);
    assert_eq!(served.count("d.t"), 2);
}

#[test]
fn a_client_that_goes_leaves_nothing_behind() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)");
    served.run("CREATE TRIGGER d.slow BEFORE INSERT ON d.t FOR EACH ROW SET NEW.v = SLEEP(0.01)");
    let web = served.web();
    let mut socket = web.connect();
    let body = format!("[{}{{\"v\":1}}]", "{\"v\":1},".repeat(1_999));
    web.send(&mut socket, "POST", "/1.0/db/d/t", Some(body.as_bytes()));
    std::thread::sleep(std::time::Duration::from_millis(300));
    drop(socket);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(15);
    let running = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND = 'Http'";
    while served.root.query_first::<u64, _>(running).expect("a count") != Some(0) {
        assert!(std::time::Instant::now() < deadline, "the request runs on");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(served.count("d.t"), 0);
}

#[test]
fn a_read_only_token_changes_nothing() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY, v INT)");
    served.run("INSERT INTO d.t VALUES (1, 1)");
    let (_, token) = served.token("CREATE API TOKEN FOR web READ ONLY");
    let web = Web::new(served.port).with("Authorization", &format!("Bearer {token}"));
    assert_eq!(web.get("/1.0/db/d/t/1").status, 200);
    assert_eq!(items(&web.get("/1.0/db/d/t?total=true")), r#"[{"id":1,"v":1}]"#);
    // Also by the plans that statements before have left.
    let requests = [
        ("POST", "/1.0/db/d/t", r#"{"id":2}"#),
        ("POST", "/1.0/db/d/t", r#"[{"id":2}]"#),
        ("PUT", "/1.0/db/d/t/1", r#"{"v":2}"#),
        ("PUT", "/1.0/db/d/t/2", r#"{"v":2}"#),
        ("PATCH", "/1.0/db/d/t/1", r#"{"v":2}"#),
        ("DELETE", "/1.0/db/d/t/1", ""),
    ];
    for (method, path, body) in [requests; 3].concat() {
        let answer = web.ask(method, path, Some(body.as_bytes()));
        assert_eq!((answer.status, code(&answer)), (403, 1792), "{method} {path}: {}", answer.text());
    }
    assert!(served.db("/d/t").text().starts_with(r#"{"items":[{"id":1,"v":1}],"#));
}

#[test]
fn changes_are_kept_whatever_autocommit_is() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY, v INT)");
    served.run("SET GLOBAL autocommit = 0");
    assert_eq!(served.ask("POST", "/1.0/db/d/t", r#"{"id":1,"v":1}"#).status, 201);
    assert_eq!(served.ask("PUT", "/1.0/db/d/t/2", r#"{"v":1}"#).status, 201);
    assert_eq!(served.ask("PATCH", "/1.0/db/d/t/2", r#"{"v":5}"#).status, 200);
    assert_eq!(served.web().ask("DELETE", "/1.0/db/d/t/1", None).status, 204);
    assert_eq!(items(&served.db("/d/t")), r#"[{"id":2,"v":5}]"#);
    served.run("SET GLOBAL autocommit = 1");
}
