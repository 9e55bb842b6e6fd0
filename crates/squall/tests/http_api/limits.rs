//! How often an account may ask, and an address may guess.

use super::Served;
use super::client::Web;
use mysql::prelude::Queryable;
use squall_test_support::server::error_code;
use std::time::{Duration, Instant};

const ONE: &str = r#"{"sql":"SELECT 1"}"#;

#[test]
fn an_account_sends_only_so_many_requests_in_a_second() {
    let mut served = Served::start();
    served.run("CREATE USER other IDENTIFIED BY 'pw'");
    served.run("GRANT JSON_API ON *.* TO other");
    let token: (String, String) = served.root.query_first("CREATE API TOKEN FOR web").expect("a token").expect("a row");
    served.run("SET GLOBAL json_server_max_requests_per_second = 5");
    let (web, other) = (served.web(), Web::new(served.port).user("other", "pw"));
    let bearer = Web::new(served.port).with("Authorization", &format!("Bearer {}", token.1));
    let start = Instant::now();
    // By password or by token: it is one account.
    let mut answered = 0;
    let refused = loop {
        let answer = if answered % 2 == 0 { &web } else { &bearer }.post("/1.0/sql", ONE);
        if answer.status == 429 {
            break answer;
        }
        assert_eq!(answer.status, 200, "{}", answer.text());
        answered += 1;
        assert!(answered < 1000, "no limit");
    };
    let seconds = start.elapsed().as_secs_f64();
    assert!(answered >= 5 && f64::from(answered) <= 5.0 + 5.0 * seconds + 1.0, "{answered} in {seconds}");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    assert!(refused.text().contains("json_server_max_requests_per_second"), "{}", refused.text());
    // Others are not held up, and this needs no login.
    assert_eq!(other.post("/1.0/sql", ONE).status, 200);
    assert_eq!(web.get("/health").status, 200);
    assert!(served.status("Json_server_rate_limited") >= 1);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(web.post("/1.0/sql", ONE).status, 200);
    served.run("SET GLOBAL json_server_max_requests_per_second = 0");
    assert!((0..30).all(|_| web.post("/1.0/sql", ONE).status == 200));
}

#[test]
fn an_address_guesses_few_passwords() {
    let mut served = Served::start();
    let token: (String, String) = served.root.query_first("CREATE API TOKEN FOR web").expect("a token").expect("a row");
    served.run("SET GLOBAL json_server_max_wrong_passwords = 5");
    let port = served.port;
    let guess = |user: &str, password: &str| Web::new(port).user(user, password).post("/1.0/sql", ONE);
    for at in 0..5 {
        assert_eq!(guess("web", &format!("wrong {at}")).status, 401, "{at}");
    }
    // From now on nothing is told, also not about names or the right password.
    let refused = guess("web", "wrong");
    assert_eq!(refused.status, 429, "{}", refused.text());
    let seconds: u64 = refused.header("retry-after").expect("a time").parse().expect("seconds");
    assert!((1..=12).contains(&seconds), "{seconds}");
    assert_eq!(guess("web", "pw").status, 429);
    assert_eq!(guess("nobody", "wrong").status, 429);
    assert_eq!(served.web().ask("POST", "/1.0/session", None).status, 429);
    // A token cannot be guessed.
    let bearer = Web::new(served.port).with("Authorization", &format!("Bearer {}", token.1));
    assert_eq!(bearer.post("/1.0/sql", ONE).status, 200);
    std::thread::sleep(Duration::from_secs(seconds) + Duration::from_millis(200));
    assert_eq!(guess("web", "pw").status, 200);
    served.run("SET GLOBAL json_server_max_wrong_passwords = 0");
    assert!((0..10).all(|_| guess("web", "wrong").status == 401));
}

#[test]
fn many_guesses_at_once_learn_no_password() {
    let mut served = Served::start();
    served.run("SET GLOBAL json_server_max_wrong_passwords = 3");
    let port = served.port;
    let guess = move |password: String| Web::new(port).user("web", &password).post("/1.0/sql", ONE).status;
    let mut guesses: Vec<_> = (0..30).map(|at| std::thread::spawn(move || guess(format!("wrong {at}")))).collect();
    guesses.push(std::thread::spawn(move || {
        // It waits behind the others for its check.
        std::thread::sleep(Duration::from_millis(50));
        guess("pw".to_owned())
    }));
    let statuses: Vec<u16> = guesses.into_iter().map(|guess| guess.join().expect("a thread")).collect();
    assert!(statuses[..30].iter().all(|status| [401, 429].contains(status)), "{statuses:?}");
    assert!(statuses[..30].contains(&429), "{statuses:?}");
    assert_eq!(statuses[30], 429, "{statuses:?}");
}

/// The limits of accounts hold for all protocols. Each request is a connection.
#[test]
fn limits_of_accounts_hold_for_requests() {
    let mut served = Served::start();
    let refused = |served: &mut Served, limit: &str, resource: &str| {
        served.run(&format!("ALTER USER web WITH {limit}"));
        let web = served.web();
        assert_eq!(web.post("/1.0/sql", ONE).status, 200, "{limit}");
        let answer = web.post("/1.0/sql", ONE);
        assert!(answer.text().contains(&format!("has exceeded the '{resource}' resource")), "{}", answer.text());
        assert_eq!(answer.status, 429, "{limit}");
        served.run("FLUSH USER_RESOURCES");
        assert_eq!(web.post("/1.0/sql", ONE).status, 200, "{limit}");
    };
    refused(&mut served, "MAX_QUERIES_PER_HOUR 1", "max_questions");
    refused(&mut served, "MAX_QUERIES_PER_HOUR 0 MAX_CONNECTIONS_PER_HOUR 1", "max_connections_per_hour");
    let made = served.root.query_drop("CREATE USER u WITH MAX_STATEMENT_TIME 1");
    assert_eq!(error_code(made), Some(1235));
}
