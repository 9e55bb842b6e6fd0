//! Who may ask, and what a request is to the server.

use super::client::{Web, read_answer};
use super::{Served, http_port};
use mysql::prelude::Queryable;
use squall_test_support::wait_until;
use std::io::BufReader;

const ONE: &str = r#"{"sql":"SELECT 1"}"#;

#[test]
fn accounts_prove_themselves_and_need_the_privilege() {
    let mut served = Served::start();
    for sql in [
        "CREATE USER plain IDENTIFIED BY 'pw'",
        "CREATE USER locked IDENTIFIED BY 'pw' ACCOUNT LOCK",
        "CREATE USER expired IDENTIFIED BY 'pw' PASSWORD EXPIRE",
        "CREATE USER careful IDENTIFIED BY 'pw' REQUIRE SSL",
        "CREATE USER native IDENTIFIED WITH mysql_native_password BY 'p:w'",
        "GRANT JSON_API ON *.* TO locked, expired, careful, native",
    ] {
        served.run(sql);
    }
    let port = served.port;
    let status = |web: Web| web.post("/1.0/sql", ONE).status;
    let answer = Web::new(port).post("/1.0/sql", ONE);
    assert_eq!(answer.status, 401);
    assert_eq!(answer.header("www-authenticate"), Some("Basic realm=\"squall\", charset=\"UTF-8\""));
    let answer = Web::new(port).with("X-Requested-With", "fetch").post("/1.0/sql", ONE);
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, None));
    assert_eq!(status(served.web()), 200);
    assert_eq!(status(Web::new(port).user("native", "p:w")), 200);
    for (user, password) in
        [("web", "wrong"), ("web", ""), ("nobody", "pw"), ("locked", "pw"), ("expired", "pw"), ("careful", "pw")]
    {
        assert_eq!(status(Web::new(port).user(user, password)), 401, "{user} {password}");
    }
    let answer = Web::new(port).user("plain", "pw").post("/1.0/sql", ONE);
    assert_eq!(answer.status, 403);
    assert!(answer.text().contains("JSON_API"), "{}", answer.text());
    assert_eq!(served.sql(r#"{"sql":"SELECT * FROM mysql.user"}"#).status, 403);
    for broken in ["Basic", "Basic !", "Basic d2Vi", "Negotiate x"] {
        assert!([400, 401].contains(&status(Web::new(port).with("Authorization", broken))), "{broken}");
    }
    // Without credentials it may be an account of the server's choice.
    served.run("SET GLOBAL json_server_anonymous_account = 'web@%'");
    assert_eq!(status(Web::new(port)), 200);
    assert_eq!(status(Web::new(port).user("web", "wrong")), 401);
    served.run("SET GLOBAL json_server_auth = 'bearer'");
    assert_eq!(status(served.web()), 401);
    for wrong in ["SET GLOBAL json_server_auth = 'magic'", "SET GLOBAL json_server_anonymous_account = 'a@b,c@d'"] {
        assert!(served.root.query_drop(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_connection_follows_changes_of_its_account() {
    let mut served = Served::start();
    let web = served.web();
    let mut reader = BufReader::new(web.connect());
    let mut ask = |web: &Web| {
        web.send(reader.get_mut(), "POST", "/1.0/sql", Some(ONE.as_bytes()));
        read_answer(&mut reader, "POST").expect("an answer on the same connection").status
    };
    assert_eq!((ask(&web), ask(&web)), (200, 200));
    served.run("REVOKE JSON_API ON *.* FROM web");
    assert_eq!(ask(&web), 403);
    served.run("GRANT JSON_API ON *.* TO web");
    served.run("ALTER USER web ACCOUNT LOCK");
    assert_eq!(ask(&web), 401);
    served.run("ALTER USER web IDENTIFIED BY 'new' ACCOUNT UNLOCK");
    assert_eq!(ask(&web), 401);
    assert_eq!(ask(&web.clone().user("web", "new")), 200);
    // Another account on the same connection.
    served.run("CREATE USER other IDENTIFIED BY 'x'");
    assert_eq!(ask(&web.clone().user("other", "x")), 403);
    served.run("DROP USER web");
    assert_eq!(ask(&web.user("web", "new")), 401);
}

#[test]
fn wrong_passwords_lock_accounts_here_too() {
    let mut served = Served::start();
    served.run("ALTER USER web FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME 1");
    let (_, token) = served.token("CREATE API TOKEN FOR web");
    let status = |password: &str| served.web().user("web", password).post("/1.0/sql", ONE).status;
    assert_eq!(["x", "pw", "x", "x", "pw"].map(status), [401, 200, 401, 401, 401]);
    // A token is no guess.
    let by_token = Web::new(served.port).with("Authorization", &format!("Bearer {token}"));
    assert_eq!(by_token.post("/1.0/sql", ONE).status, 200);
    served.run("ALTER USER web ACCOUNT UNLOCK");
    assert_eq!(served.web().post("/1.0/sql", ONE).status, 200);
}

#[test]
fn a_request_is_a_row_of_the_process_list_and_can_be_killed() {
    let mut served = Served::start();
    let web = served.web();
    let asked = std::thread::spawn(move || web.post("/1.0/sql", r#"{"sql":"SELECT SLEEP(60), 'slow'"}"#));
    let mut row = None;
    wait_until("a row of the process list", || {
        let sql = "SELECT ID, INFO FROM information_schema.PROCESSLIST WHERE COMMAND = 'Http' AND USER = 'web'";
        row = served.root.query_first(sql).expect("a list");
        row.is_some()
    });
    let (id, info): (u64, String) = row.expect("a row");
    assert!(info.contains("'slow'"), "{info}");
    served.run(&format!("KILL {id}"));
    let answer = asked.join().expect("a thread");
    assert_eq!(answer.status, 503, "{}", answer.text());
    // Statements by HTTP count as those by MySQL's protocol.
    let before = served.status("Questions");
    assert_eq!(served.web().post("/1.0/sql", r#"{"sql":"SELECT 1; SELECT 2"}"#).status, 200);
    assert!(served.status("Questions") >= before + 2);
    assert!(served.status("Json_server_requests") >= 2);
}

#[test]
fn the_connections_of_an_account_are_limited() {
    let mut served = Served::start();
    served.run("SET GLOBAL max_user_connections = 1");
    let web = served.web();
    let asked = std::thread::spawn(move || web.post("/1.0/sql", r#"{"sql":"SELECT SLEEP(2)"}"#).status);
    wait_until("the limit", || served.web().post("/1.0/sql", ONE).status == 429);
    assert_eq!(asked.join().expect("a thread"), 200);
    served.run("SET GLOBAL max_user_connections = 0");
    // Beyond the connections that there may be.
    served.run("SET GLOBAL json_server_max_connections = 1");
    let held = served.web();
    let mut reader = BufReader::new(held.connect());
    held.send(reader.get_mut(), "GET", "/health", None);
    assert_eq!(read_answer(&mut reader, "GET").expect("an answer").status, 200);
    let refused = served.web().get("/health");
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert_eq!(http_port(&mut served.root), served.port);
}

#[test]
fn refused_tokens_and_cookies_are_counted() {
    let mut served = Served::start();
    let login = served.web().ask("POST", "/1.0/session", None);
    let cookie = login.header("set-cookie").expect("a cookie").split(';').next().expect("a value").to_owned();
    let web = Web::new(served.port);
    let page = web.clone().with("Cookie", &cookie);
    for (refused, status) in [
        (web.clone().with("Authorization", "Bearer sqt_aaaaaaaaaaaa_b"), 401),
        (web.clone().with("Cookie", "squall_session=x"), 401),
        (page.clone().with("X-CSRF-Token", "x"), 403),
    ] {
        let before = served.status("Aborted_connects");
        assert_eq!(refused.post("/1.0/sql", ONE).status, status);
        assert_eq!(served.status("Aborted_connects"), before + 1, "{refused:?}");
    }
    let before = served.status("Aborted_connects");
    assert_eq!(page.ask("DELETE", "/1.0/session", None).status, 403);
    // Who has tried nothing is not counted.
    assert_eq!(web.post("/1.0/sql", ONE).status, 401);
    assert_eq!(served.status("Aborted_connects"), before + 1);
}

#[test]
fn metrics_need_the_privilege_process() {
    let mut served = Served::start();
    assert_eq!(served.web().get("/metrics").status, 403);
    assert_eq!(Web::new(served.port).get("/metrics").status, 401);
    served.run("GRANT PROCESS ON *.* TO web");
    let answer = served.web().get("/metrics");
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = answer.text();
    assert!(text.contains("# TYPE squall_questions_total counter\nsquall_questions_total "), "{text}");
    assert!(text.contains("# TYPE squall_threads_connected gauge\n"), "{text}");
    let health = Web::new(served.port).get("/health");
    assert_eq!((health.status, health.text().as_str()), (200, "{\"status\":\"ok\"}"));
}
