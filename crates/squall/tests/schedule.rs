//! One statement fetches a schedule, makes SQL from it and loads a table, as `docs/guide/schedule.md` describes.

use mysql::Conn;
use mysql::prelude::Queryable as _;
use squall_test_support::SetOnDrop;
use squall_test_support::server::{TestServer, error_code};
use squall_test_support::web_peer::WebPeer;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const GUIDE: &str = include_str!("../../../docs/guide/schedule.md");
const URL: &str = "http://schedule.example/live.txt";

/// The blocks of the guide in a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let begin = format!("```{language}\n");
    GUIDE.split(&begin).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// The guide's statement, of a file elsewhere.
fn statement(url: &str) -> String {
    let sql = blocks("sql")[0].trim().trim_end_matches(';');
    assert!(sql.starts_with("SELECT EXECUTE(JS(") && sql.contains(URL), "{sql}");
    sql.replace(URL, url)
}

/// The script alone, as its literal is written.
fn script() -> String {
    let sql = statement("x");
    let begin = sql.find('"').expect("a literal");
    let end = sql.find("\", (SELECT").expect("its end");
    sql[begin..=end].to_string()
}

type Slot = (String, Option<String>, Option<String>, Option<String>, i32);

fn slots(conn: &mut Conn) -> Vec<Slot> {
    conn.query("SELECT CAST(start_time AS CHAR), stage, mr2, mr1, duration FROM schedule ORDER BY start_time").unwrap()
}

fn expected() -> Vec<Slot> {
    let text = |text: &str| Some(text.to_string());
    vec![
        ("2012-06-16 09:00:00".into(), text("Opening remarks"), text("Lock  picking 101"), text("Knitting"), 30),
        ("2012-06-16 09:30:00".into(), None, text("☃ and friends"), None, 45),
        ("2012-06-16 10:15:00".into(), None, None, text("O'Reilly; and more"), 60),
    ]
}

fn start() -> (TestServer, WebPeer, Conn) {
    let server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut conn = server.connect();
    conn.query_drop("SET GLOBAL http_client_allow_private = ON; CREATE DATABASE conference; USE conference").unwrap();
    let peer = WebPeer::start();
    peer.set_page(blocks("text")[0]);
    (server, peer, conn)
}

#[test]
fn the_statement_loads_the_table_again_and_again() {
    let (server, peer, mut conn) = start();
    let sql = statement(&peer.url("/page"));
    assert_eq!(conn.query::<String, _>(&sql).unwrap(), ["1"]);
    assert_eq!(slots(&mut conn), expected());
    // No other session sees an empty table meanwhile.
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let end = SetOnDrop(&is_over);
        let reader = scope.spawn(|| {
            let mut conn = server.connect();
            let mut reads = 0;
            while !is_over.load(Ordering::Relaxed) || reads == 0 {
                let count: Option<u64> = conn.query_first("SELECT COUNT(*) FROM conference.schedule").unwrap();
                assert_eq!(count, Some(3));
                reads += 1;
            }
        });
        for _ in 0..20 {
            conn.query_drop(&sql).unwrap();
        }
        drop(end);
        reader.join().expect("three rows at all times");
    });
    assert_eq!(slots(&mut conn), expected(), "again and again");
    for zone in ["+10:00", "Australia/Melbourne", "-03:30"] {
        conn.query_drop(format!("SET time_zone = '{zone}'; TRUNCATE TABLE schedule")).unwrap();
        assert_eq!(conn.query::<String, _>(&sql).unwrap(), ["1"], "{zone}");
        assert_eq!(slots(&mut conn), expected(), "{zone}");
    }
    conn.query_drop("SET time_zone = '+00:00'; SET timestamp = UNIX_TIMESTAMP('2012-06-16 00:15:00')").unwrap();
    let next: Vec<(String, Option<String>)> = conn
        .query("SELECT CAST(start_time AS CHAR), mr1 FROM schedule WHERE start_time > DATE_ADD(NOW(), INTERVAL 9 HOUR) ORDER BY start_time LIMIT 2")
        .unwrap();
    let later = "O'Reilly; and more".to_string();
    assert_eq!(next, [("2012-06-16 09:30:00".to_string(), None), ("2012-06-16 10:15:00".to_string(), Some(later))]);
}

#[test]
fn what_goes_wrong_leaves_the_table_as_it_was() {
    let (_server, peer, mut conn) = start();
    let sql = statement(&peer.url("/page"));
    conn.query_drop(&sql).unwrap();
    peer.set_page("Time 2012-06-16 09:00:00\nstage The \"best\" talk\nDuration 30\n");
    assert_eq!(error_code(conn.query_drop(&sql)), Some(1064));
    assert_eq!(slots(&mut conn), expected(), "a bad title");
    assert_eq!(error_code(conn.query_drop(statement("http://127.0.0.1:1/page"))), Some(50410));
    assert_eq!(slots(&mut conn), expected(), "no server");
    // The guide's advice: each text in quotes of SQL.
    let careful = blocks("js")[0].trim().replace('\\', "\\\\").replace('"', "\\\"");
    let begin = sql.find("function text").expect("the script's quotes");
    let end = begin + sql[begin..].find('\n').expect("a line");
    conn.query_drop(format!("{}{careful}{}", &sql[..begin], &sql[end..])).unwrap();
    assert_eq!(slots(&mut conn)[0].1.as_deref(), Some("The \"best\" talk"));
    // A page without a slot is a schedule without slots.
    peer.set_page("<html>\n<body>404</body>\n</html>\n");
    assert_eq!(conn.query::<String, _>(&sql).unwrap(), ["1"]);
    assert!(slots(&mut conn).is_empty());
}

#[test]
fn the_mariadb_client_runs_it_as_an_account_of_one_database() {
    let (server, peer, mut conn) = start();
    conn.query_drop("CREATE USER loader; GRANT HTTP_CLIENT, JAVASCRIPT_EXECUTE, DYNAMIC_EXECUTE ON *.* TO loader")
        .unwrap();
    conn.query_drop("GRANT CREATE, SELECT, INSERT, DELETE ON conference.* TO loader; CREATE DATABASE other").unwrap();
    let run = |text: &str| {
        let port = server.port().to_string();
        let arguments = ["--no-defaults", "-h127.0.0.1", "-P", &port, "-uloader", "--skip-column-names", "conference"];
        let mut client = Command::new("mariadb")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the mariadb client");
        client.stdin.take().expect("its input").write_all(text.as_bytes()).expect("written");
        let done = client.wait_with_output().expect("ended");
        (String::from_utf8_lossy(&done.stdout).into_owned(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let sql = format!("{};\n", statement(&peer.url("/page")));
    for zone in ["SYSTEM", "+14:00", "-12:00", "Europe/Berlin", "America/St_Johns"] {
        for time in 1..=2 {
            let in_zone = format!("SET time_zone = '{zone}';\n{sql}");
            assert_eq!(run(&in_zone), ("1\n".to_string(), String::new()), "{zone}, time {time}");
            assert_eq!(slots(&mut conn), expected(), "{zone}, time {time}");
        }
    }
    let next = "SET time_zone = '+00:00'; SET timestamp = UNIX_TIMESTAMP('2012-06-16 00:15:00');\n\
                SELECT * FROM schedule WHERE start_time > DATE_ADD(now(), INTERVAL 9 HOUR) ORDER BY start_time LIMIT 2\\G\n";
    let (shown, _) = run(next);
    let values: Vec<&str> = shown.lines().filter(|line| !line.starts_with('*')).collect();
    assert_eq!(
        values,
        [
            "2012-06-16 09:30:00",
            "NULL",
            "☃ and friends",
            "NULL",
            "45",
            "2012-06-16 10:15:00",
            "NULL",
            "NULL",
            "O'Reilly; and more",
            "60"
        ]
    );
    peer.set_page("Time 2012-06-16 09:00:00\nstage The \"best\" talk\nDuration 30\n");
    let (_, failed) = run(&sql);
    assert!(failed.contains("1064"), "{failed}");
    assert_eq!(slots(&mut conn), expected(), "a bad title");
    peer.set_page(blocks("text")[0]);
    // The text has the rights of the account and no others.
    let (_, refused) = run("SELECT EXECUTE('CREATE TABLE other.t (a INT)');\n");
    assert!(refused.contains("1142"), "{refused}");
    for privilege in ["HTTP_CLIENT", "JAVASCRIPT_EXECUTE", "DYNAMIC_EXECUTE"] {
        conn.query_drop(format!("REVOKE {privilege} ON *.* FROM loader")).unwrap();
        let (_, refused) = run(&sql);
        assert!(refused.contains("1227") && refused.contains(privilege), "{privilege}: {refused}");
        conn.query_drop(format!("GRANT {privilege} ON *.* TO loader")).unwrap();
    }
}

#[test]
fn events_and_queued_statements_run_it() {
    let (server, peer, mut root) = start();
    // The guide's account, with the guide's privileges and no others.
    for grants in blocks("sql").into_iter().filter(|block| block.contains("GRANT ")) {
        root.query_drop(grants).unwrap();
    }
    let opts = mysql::OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(server.port())
        .user(Some("loader"))
        .pass(Some("a long password"))
        .db_name(Some("conference"));
    let mut conn = Conn::new(opts).unwrap();
    let call = format!(
        "EXECUTE(JS((SELECT body FROM scripts WHERE name = 'schedule'), (SELECT HTTP_GET('{}'))))",
        peer.url("/page")
    );
    conn.query_drop("CREATE TABLE scripts (name VARCHAR(64) PRIMARY KEY, body TEXT)").unwrap();
    conn.query_drop(format!("INSERT INTO scripts VALUES ('schedule', {})", script())).unwrap();
    conn.query_drop(format!("CALL async.queue(\"SELECT {call}\")")).unwrap();
    // The account may queue, not wait.
    let there =
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'conference' AND table_name = 'schedule'";
    let begin = Instant::now();
    while conn.query_first::<u64, _>(there).unwrap() != Some(1) || slots(&mut conn).is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(60), "the queued statement has not run");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(slots(&mut conn), expected(), "queued");
    conn.query_drop("DELETE FROM schedule").unwrap();
    conn.query_drop(format!("CREATE EVENT refresh ON SCHEDULE EVERY 1 SECOND DO SET @done = {call}")).unwrap();
    let begin = Instant::now();
    while slots(&mut conn).is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(60), "the event has not run");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(slots(&mut conn), expected(), "by the event");
}
