//! What a request begins with: nothing of a request before it, and everything that has changed since, also on an open connection.

use super::Served;
use super::client::{Answer, Web, read_answer};
use mysql::prelude::Queryable as _;
use squall_test_support::wait_until;
use std::io::BufReader;
use std::net::TcpStream;

/// A connection that is kept.
struct Kept {
    reader: BufReader<TcpStream>,
}

impl Kept {
    fn new(web: &Web) -> Kept {
        Kept { reader: BufReader::new(web.connect()) }
    }

    fn ask(&mut self, web: &Web, method: &str, path: &str, body: Option<&str>) -> Answer {
        web.send(self.reader.get_mut(), method, path, body.map(str::as_bytes));
        read_answer(&mut self.reader, method).expect("an answer on the same connection")
    }

    /// The rows of a statement's answer, or its problem.
    fn sql(&mut self, web: &Web, sql: &str) -> String {
        let answer = self.ask(web, "POST", "/1.0/sql", Some(&format!("{{\"sql\":\"{sql}\"}}")));
        let text = answer.text();
        match text.split("\"rows\":").last().and_then(|rest| rest.split(",\"affected_rows\"").next()) {
            Some(rows) if answer.status == 200 => rows.to_owned(),
            _ => format!("{} {text}", answer.status),
        }
    }
}

#[test]
fn a_request_has_nothing_of_the_one_before() {
    let mut served = Served::start();
    served.run("CREATE USER other IDENTIFIED BY 'pw'");
    served.run("GRANT JSON_API ON *.* TO other");
    let (web, other) = (served.web(), Web::new(served.port).user("other", "pw"));
    let mut kept = Kept::new(&web);
    let look = "SELECT @a, @@sql_mode = @@global.sql_mode, @@time_zone = @@global.time_zone, DATABASE(), LAST_INSERT_ID(), \
                @@autocommit, @@transaction_isolation = @@global.transaction_isolation, @@character_set_client, IS_USED_LOCK('l'), FOUND_ROWS()";
    let first = kept.sql(&web, look);
    assert!(first.contains("null,1,1,null,0,1,1,\"utf8mb4\",null,"), "{first}");
    let leave = "SET @a = 'secret', sql_mode = '', time_zone = '+05:00', autocommit = 0, \
                 SESSION transaction_isolation = 'SERIALIZABLE'; SET NAMES latin1; USE d; SELECT LAST_INSERT_ID(7), GET_LOCK('l', 0); \
                 CREATE TEMPORARY TABLE d.kept (a INT); PREPARE p FROM 'SELECT 1'; SELECT SQL_CALC_FOUND_ROWS 1";
    for _ in 0..3 {
        let left = kept.sql(&web, leave);
        assert!(left.contains("[[1]]"), "{left}");
        assert_eq!(kept.sql(&web, look), first);
        assert_eq!(kept.sql(&other, look), first);
        assert!(kept.sql(&web, "SELECT * FROM d.kept").starts_with("404"));
        assert!(kept.sql(&web, "EXECUTE p").contains("1243"));
    }
}

#[test]
fn a_request_begins_with_the_global_values_of_now() {
    let mut served = Served::start();
    let web = served.web();
    let mut kept = Kept::new(&web);
    let look = "SELECT @@sql_mode, @@div_precision_increment, 1/3, @@max_execution_time, @@net_read_timeout";
    for (mode, digits, quotient) in [("ANSI_QUOTES", 2, "0.33"), ("", 6, "0.333333"), ("ANSI_QUOTES", 2, "0.33")] {
        served.run(&format!("SET GLOBAL sql_mode = '{mode}', GLOBAL div_precision_increment = {digits}"));
        served.run(&format!(
            "SET GLOBAL max_execution_time = {}, GLOBAL net_read_timeout = {}",
            1000 + digits,
            20 + digits
        ));
        for _ in 0..2 {
            let expected = format!("[[\"{mode}\",{digits},\"{quotient}\",{},{}]]", 1000 + digits, 20 + digits);
            assert_eq!(kept.sql(&web, look), expected);
        }
    }
}

#[test]
fn privileges_are_those_of_now() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b INT)");
    served.run("INSERT INTO d.t VALUES (1, 2, 3)");
    served.run("CREATE USER one IDENTIFIED BY 'pw', two IDENTIFIED BY 'pw'; CREATE ROLE reader, api");
    served.run("GRANT SELECT ON d.t TO reader; GRANT JSON_API ON *.* TO api; GRANT api TO one, two; SET DEFAULT ROLE api TO one, two");
    let (one, two) = (Web::new(served.port).user("one", "pw"), Web::new(served.port).user("two", "pw"));
    let mut kept = Kept::new(&one);
    let mut row = |web: &Web| {
        // Twice: the second time everything is known.
        let answers = [(); 2].map(|()| kept.ask(web, "GET", "/1.0/db/d/t/1", None));
        assert_eq!(answers[0].text(), answers[1].text());
        let [answer, _] = answers;
        if answer.status == 200 { answer.text() } else { answer.status.to_string() }
    };
    let whole = r#"{"id":1,"a":2,"b":3}"#;
    assert_eq!((row(&one), row(&two)), ("403".to_owned(), "403".to_owned()));
    served.run("GRANT SELECT ON d.t TO one");
    assert_eq!((row(&one), row(&two)), (whole.to_owned(), "403".to_owned()));
    served.run("REVOKE SELECT ON d.t FROM one; GRANT SELECT (id, a) ON d.t TO one; GRANT SELECT (id, b) ON d.t TO two");
    assert_eq!((row(&one), row(&two)), (r#"{"id":1,"a":2}"#.to_owned(), r#"{"id":1,"b":3}"#.to_owned()));
    served.run("GRANT reader TO two; SET DEFAULT ROLE ALL TO two");
    assert_eq!((row(&one), row(&two)), (r#"{"id":1,"a":2}"#.to_owned(), whole.to_owned()));
    // A role's grants change, and the role.
    served.run("REVOKE SELECT ON d.t FROM reader");
    assert_eq!(row(&two), r#"{"id":1,"b":3}"#);
    served.run("GRANT SELECT ON d.* TO reader");
    assert_eq!(row(&two), whole);
    served.run("DROP ROLE reader");
    assert_eq!(row(&two), r#"{"id":1,"b":3}"#);
    served.run("CREATE ROLE reader; GRANT SELECT ON d.* TO reader");
    assert_eq!(row(&two), r#"{"id":1,"b":3}"#);
    served.run("SET GLOBAL mandatory_roles = 'reader', GLOBAL activate_all_roles_on_login = ON");
    assert_eq!((row(&one), row(&two)), (whole.to_owned(), whole.to_owned()));
    served.run("SET GLOBAL activate_all_roles_on_login = OFF");
    assert_eq!((row(&one), row(&two)), (r#"{"id":1,"a":2}"#.to_owned(), r#"{"id":1,"b":3}"#.to_owned()));
    served.run("SET GLOBAL mandatory_roles = ''");
    // Another account of the name.
    served.run("DROP USER one; CREATE USER one IDENTIFIED BY 'pw'");
    assert_eq!(row(&one), "403");
    served.run("GRANT JSON_API ON *.* TO one; GRANT SELECT (id) ON d.t TO one");
    assert_eq!(row(&one), r#"{"id":1}"#);
    served.run("REVOKE JSON_API ON *.* FROM one");
    assert_eq!(row(&one), "403");
}

#[test]
fn limits_are_those_of_now_on_an_open_connection() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY)");
    served.run("INSERT INTO d.t VALUES (1)");
    let web = served.web();
    let mut kept = Kept::new(&web);
    let mut row = || kept.ask(&web, "GET", "/1.0/db/d/t/1", None).status;
    assert_eq!([row(), row(), row()], [200; 3]);
    served.run("ALTER USER web WITH MAX_QUERIES_PER_HOUR 2");
    assert_eq!([row(), row(), row()], [200, 200, 429]);
    served.run("FLUSH USER_RESOURCES");
    assert_eq!([row(), row(), row()], [200, 200, 429]);
    served.run("ALTER USER web WITH MAX_QUERIES_PER_HOUR 0 MAX_CONNECTIONS_PER_HOUR 2");
    assert_eq!([row(), row(), row()], [200, 200, 429]);
    served.run("ALTER USER web WITH MAX_CONNECTIONS_PER_HOUR 0");
    assert_eq!([row(), row(), row()], [200; 3]);
    served.run("ALTER USER web ACCOUNT LOCK");
    assert_eq!(row(), 401);
    served.run("ALTER USER web ACCOUNT UNLOCK");
    assert_eq!(row(), 200);
    served.run("ALTER USER web PASSWORD EXPIRE");
    assert_ne!(row(), 200);
    served.run("ALTER USER web IDENTIFIED BY 'pw'");
    assert_eq!(row(), 200);
    served.run("SET GLOBAL offline_mode = ON");
    assert_ne!(row(), 200);
    served.run("SET GLOBAL offline_mode = OFF");
    assert_eq!(row(), 200);
}

#[test]
fn a_limit_of_connections_counts_requests_that_run() {
    let mut served = Served::start();
    let web = served.web();
    let mut kept = Kept::new(&web);
    assert_eq!(kept.sql(&web, "SELECT 1"), "[[1]]");
    let sleeper = served.web();
    let asked = std::thread::spawn(move || sleeper.post("/1.0/sql", r#"{"sql":"SELECT SLEEP(60)"}"#).status);
    // It runs before there is a limit, so that the limit cannot hit it.
    let sql = "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE '%SLEEP(60)%' AND USER = 'web'";
    let mut id: Option<u64> = None;
    wait_until("a row of the process list", || {
        id = served.root.query_first(sql).expect("a list");
        id.is_some()
    });
    served.run("ALTER USER web WITH MAX_USER_CONNECTIONS 1");
    assert!(kept.sql(&web, "SELECT 1").starts_with("429"));
    served.run("ALTER USER web WITH MAX_USER_CONNECTIONS 2");
    assert_eq!(kept.sql(&web, "SELECT 1"), "[[1]]");
    assert_eq!(kept.sql(&web, "SELECT 1"), "[[1]]");
    served.run(&format!("KILL {}", id.expect("a row")));
    assert_eq!(asked.join().expect("a thread"), 503);
}
