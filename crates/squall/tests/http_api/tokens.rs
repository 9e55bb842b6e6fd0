//! API tokens.

use super::Served;
use super::client::Web;
use mysql::prelude::Queryable;
use squall_test_support::server::{connect_as, error_code};

const ONE: &str = r#"{"sql":"SELECT CURRENT_USER()"}"#;

impl Served {
    fn token(&mut self, sql: &str) -> (String, String) {
        self.root.query_first(sql).expect(sql).expect("a row")
    }
}

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
    // Nobody can read the secret again.
    type Shown = (String, String, String, Option<String>, String, String);
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
