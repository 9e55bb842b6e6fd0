//! Statements of many megabytes, of every kind that can be long: an answer or an error, within a bound of the process's
//! memory, while others are answered.
//!
//! `SQUALL_STATEMENT_MEGABYTES` says how long they are; the promise is 64 MB within 512 MB.

use super::{connect, run, start, value, wait_until};
use squall_client::{Client, ClientError};
use squall_test_support::SetOnDrop;
use squall_test_support::server::TestServer;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Memory that a server may have when a statement of up to 64 MB has run.
const RESIDENT_MAX: u64 = 512 << 20;
/// The end of statements that are answered.
const DONE: &[u16] = &[0];
/// How long another connection may wait for its answer meanwhile.
const OTHERS_WAIT_MAX: Duration = Duration::from_secs(5);

fn megabytes() -> usize {
    std::env::var("SQUALL_STATEMENT_MEGABYTES").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

/// `head item between item … tail`, of `bytes`.
fn repeated(head: &str, item: &str, between: &str, tail: &str, bytes: usize) -> String {
    let count = bytes.saturating_sub(head.len() + tail.len()) / (item.len() + between.len());
    let mut sql = String::with_capacity(bytes);
    sql += head;
    for number in 0..count.max(1) {
        if number > 0 {
            sql += between;
        }
        sql += item;
    }
    sql + tail
}

/// `head 0 between 1 between 2 … tail`, of `bytes`; `item` makes the text of a number.
fn numbered(head: &str, tail: &str, bytes: usize, item: impl Fn(usize) -> String) -> String {
    let mut sql = String::with_capacity(bytes);
    sql += head;
    let mut number = 0;
    while sql.len() + tail.len() + 40 < bytes {
        if number > 0 {
            sql.push(',');
        }
        let _ = sql.write_str(&item(number));
        number += 1;
    }
    sql + tail
}

/// The statements, with the errors that each may end in; 0 is an answer.
fn statements(bytes: usize) -> Vec<(&'static str, String, &'static [u16])> {
    const REFUSED: &[u16] = &[3170];
    const COLUMNS: &[u16] = &[1117];
    const DEEP: &[u16] = &[1436];
    let list = |head: &str, item: &str, tail: &str| repeated(head, item, ",", tail, bytes);
    let with = |head: &str, item: &str, between: &str| repeated(head, item, between, "", bytes);
    let text = "x".repeat(bytes - 200);
    let array = repeated("[", "1", ",", "]", bytes - 200);
    vec![
        ("rows of one value", list("INSERT INTO h VALUES ", "(1)", ""), DONE),
        ("rows", numbered("INSERT INTO t VALUES ", "", bytes, |n| format!("({},'abcdefghijklmnop')", n + 10)), DONE),
        ("rows of calls", list("INSERT INTO h VALUES ", "(LENGTH(NOW()))", ""), DONE),
        ("rows of sums", numbered("INSERT INTO h VALUES ", "", bytes, |n| format!("(1+{n})")), REFUSED),
        ("replaced rows", numbered("REPLACE INTO t VALUES ", "", bytes, |n| format!("({n},'abcdefghijklmn')")), DONE),
        ("select items", list("SELECT ", "1", ""), COLUMNS),
        ("IN numbers", numbered("SELECT COUNT(*) FROM t WHERE a IN (", ")", bytes, |n| n.to_string()), DONE),
        ("NOT IN one number", list("SELECT COUNT(*) FROM t WHERE a NOT IN (", "1", ")"), DONE),
        ("IN strings", numbered("SELECT COUNT(*) FROM t WHERE b IN (", ")", bytes, |n| format!("'k{n}'")), DONE),
        ("IN sums", list("SELECT COUNT(*) FROM t WHERE a IN (", "a+1", ")"), REFUSED),
        ("IN rows", list("SELECT COUNT(*) FROM t WHERE (a,b) IN (", "(1,2)", ")"), REFUSED),
        ("sum", with("SELECT ", "1", "+"), REFUSED),
        ("OR", with("SELECT COUNT(*) FROM t WHERE ", "a", " OR "), REFUSED),
        ("AND", with("SELECT COUNT(*) FROM t WHERE ", "a", " AND "), REFUSED),
        ("DELETE", with("DELETE FROM t WHERE ", "a=1", " OR "), REFUSED),
        ("UNION", with("", "SELECT 1", " UNION "), &[1436, 3170]),
        ("arguments", list("SELECT CONCAT(", "'x'", ")"), REFUSED),
        ("arguments of a kilobyte", list("SELECT CONCAT(", &format!("'{}'", "x".repeat(1000)), ")"), &[0, 3170]),
        ("hexadecimal arguments", list("SELECT CONCAT(", &format!("x'{}'", "41".repeat(1000)), ")"), &[0, 3170]),
        ("arguments of 100 KB", list("SELECT LENGTH(CONCAT(", &format!("'{}'", "x".repeat(100_000)), "))"), &[0, 3170]),
        ("long branches", long_branches(bytes - 5000), &[1406, 3170]),
        ("long value", format!("UPDATE t SET b = '{text}' WHERE a = 77"), DONE),
        ("elements", list("SELECT JSON_ARRAY(", "1", ")"), REFUSED),
        ("branches", repeated("SELECT CASE 1 ", "WHEN 2 THEN 3", " ", " END", bytes), REFUSED),
        ("SET", list("SET ", "@a=1", ""), REFUSED),
        ("DO", list("DO ", "1", ""), REFUSED),
        ("string", format!("SELECT '{text}'"), DONE),
        ("length of a string", format!("SELECT LENGTH('{text}')"), DONE),
        ("VALUES", list("VALUES ", "ROW(1)", ""), REFUSED),
        ("accounts", list("GRANT SELECT ON *.* TO ", "u", ""), REFUSED),
        ("columns of a grant", list("GRANT SELECT (", "a", ") ON t TO u"), REFUSED),
        ("columns", numbered("CREATE TABLE x (", ")", bytes, |n| format!("c{n} INT")), COLUMNS),
        ("keys", list("CREATE TABLE x (a INT,", "KEY(a)", ")"), REFUSED),
        ("words of an ENUM", numbered("CREATE TABLE x (a ENUM(", "))", bytes, |n| format!("'{n}'")), &[1097, 3170]),
        ("JSON", format!("SELECT JSON_LENGTH('{array}')"), DONE),
        ("changed array", format!("SELECT LENGTH(JSON_SET('{array}', '$[5]', 7))"), DONE),
        ("compared arrays", format!("SELECT CAST('{array}' AS JSON) = CAST('[1]' AS JSON)"), DONE),
        ("changed object", format!("SELECT LENGTH(JSON_SET('{}', '$.b', 7))", object(bytes - 200)), DONE),
        ("inserted string", format!("INSERT INTO l VALUES ('{text}')"), DONE),
        ("inserted string with an escape", format!("INSERT INTO l VALUES ('\\n{text}')"), DONE),
        ("tables", list("SELECT 1 FROM ", "t", ""), REFUSED),
        ("GROUP BY", list("SELECT 1 FROM t GROUP BY ", "a", ""), REFUSED),
        ("ORDER BY", list("SELECT 1 FROM t ORDER BY ", "a", ""), REFUSED),
        ("UPDATE", list("UPDATE t SET ", "b=1", ""), REFUSED),
        ("DROP", numbered("DROP TABLE ", "", bytes, |n| format!("x{n}")), REFUSED),
        ("LOCK TABLES", list("LOCK TABLES ", "t READ", ""), REFUSED),
        ("table expressions", numbered("WITH ", " SELECT 1", bytes, |n| format!("c{n} AS (SELECT 1)")), REFUSED),
        ("duplicates", list("INSERT INTO t VALUES (1,1) ON DUPLICATE KEY UPDATE ", "b=1", ""), REFUSED),
        ("parentheses", format!("SELECT {}1{}", "(".repeat(bytes / 2 - 8), ")".repeat(bytes / 2 - 8)), DEEP),
        ("placeholders", list("DO ", "?", ""), REFUSED),
        ("steps", repeated("BEGIN NOT ATOMIC ", "SET @a=1;", "", "END", bytes), REFUSED),
        ("comment", format!("SELECT /* {text} */ 1"), DONE),
        ("name", format!("SELECT {text}"), &[1059, 1054]),
    ]
}

/// A document whose members are in no order that it is stored in.
fn object(bytes: usize) -> String {
    let last = bytes / 12;
    numbered("{", "}", bytes, |n| format!("\"{:08}\":1", last - n))
}

/// An UPDATE of many rows by one CASE.
fn long_branches(bytes: usize) -> String {
    let value = "x".repeat(4000);
    numbered("UPDATE t SET b = CASE a ", " END", bytes, |n| format!("WHEN {n} THEN '{value}'"))
        .replace(",WHEN", " WHEN")
}

/// The most memory that the server has had, bytes.
fn peak(server: &TestServer) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process_id())).expect("its status");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("VmHWM");
    let kilobytes: u64 = line.split_whitespace().nth(1).and_then(|text| text.parse().ok()).expect("a number");
    kilobytes << 10
}

fn tables(client: &mut Client) {
    run(client, "CREATE DATABASE d; USE d; CREATE TABLE h (a INT); CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(100))");
    run(client, "CREATE TABLE l (a LONGTEXT)");
    run(client, "INSERT INTO t VALUES (1, 'a'), (2, 'k2')");
}

/// What a statement ends in; 0 is an answer.
fn code(client: &mut Client, sql: &str) -> Result<u16, ClientError> {
    match client.run(sql) {
        Ok(_) => Ok(0),
        Err(ClientError::Server(error)) => Ok(error.code),
        Err(error) => Err(error),
    }
}

/// Runs something while another connection asks for an answer again and again.
fn beside_others<T>(server: &TestServer, what: &str, work: impl FnOnce() -> T) -> T {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let end = SetOnDrop(&ended);
        let mut other = connect(server);
        let others = scope.spawn({
            let ended = &ended;
            move || {
                let mut longest = Duration::ZERO;
                while !ended.load(Ordering::Relaxed) {
                    let started = Instant::now();
                    assert_eq!(value(&mut other, "SELECT COUNT(*) FROM d.t WHERE a = 1"), "1");
                    longest = longest.max(started.elapsed());
                    std::thread::sleep(Duration::from_millis(20));
                }
                longest
            }
        });
        let result = work();
        drop(end);
        let longest = others.join().expect("others are answered");
        assert!(longest < OTHERS_WAIT_MAX, "{what}: another connection waited for {longest:?}");
        result
    })
}

#[test]
fn long_statements_take_little_memory() {
    let mut too_large = Vec::new();
    for (what, sql, expected) in statements(megabytes() << 20) {
        let mut server = start();
        let mut client = connect(&server);
        tables(&mut client);
        let code = beside_others(&server, what, || code(&mut client, &sql));
        let code = code.unwrap_or_else(|error| panic!("{what}: {error}\n{}", server.log()));
        assert!(server.is_running(), "{what}: the server died\n{}", server.log());
        let peak = peak(&server);
        // What is shorter may be wrong in another way. An internal error never is right.
        let other = expected != DONE && megabytes() < 16 && code != 1105;
        assert!(expected.contains(&code) || other, "{what}: {code}");
        if peak >= RESIDENT_MAX {
            too_large.push(format!("{what}: {} MB", peak >> 20));
        }
        assert_eq!(value(&mut client, "SELECT 1"), "1", "{what}");
    }
    assert!(too_large.is_empty(), "memory: {too_large:?}");
}

#[test]
fn other_ways_to_send_a_long_statement_take_little_memory() {
    let bytes = megabytes() << 20;
    let items = repeated("SELECT ", "1", ",", "", bytes / 2);
    let rows = repeated("INSERT INTO h VALUES ", "(1)", ",", "", bytes / 2);
    let sums = repeated("SELECT COUNT(*) FROM t WHERE ", "a", " OR ", "", bytes / 2);
    let mut server = start();
    let mut client = connect(&server);
    tables(&mut client);
    for (what, sql, expected) in [("items", &items, 1117), ("rows", &rows, 0), ("sums", &sums, 3170)] {
        let prepared = match client.prepare(sql) {
            Ok(statement) => {
                client.close_statement(&statement).expect("sent");
                0
            }
            Err(ClientError::Server(error)) => error.code,
            Err(error) => panic!("{what}: {error}"),
        };
        assert_eq!(prepared, expected, "{what}, prepared");
        for (way, sql) in [
            ("EXECUTE IMMEDIATE", format!("EXECUTE IMMEDIATE '{sql}'")),
            ("second of two", format!("DO 1; {sql}")),
            ("PREPARE", format!("PREPARE s FROM '{sql}'")),
        ] {
            assert_eq!(code(&mut client, &sql).expect("an answer"), expected, "{what}, {way}");
        }
    }
    let short = repeated("", "DO 1", ";", "", bytes / 8);
    assert_eq!(code(&mut client, &short).expect("an answer"), 0);
    assert!(server.is_running());
    assert!(peak(&server) < RESIDENT_MAX, "{} MB of memory", peak(&server) >> 20);
}

#[test]
fn a_statement_that_its_client_has_left_gives_its_memory_back() {
    let bytes = megabytes() << 20;
    let mut server = start();
    let mut client = connect(&server);
    tables(&mut client);
    let statements = [
        repeated("SELECT COUNT(*) FROM t WHERE ", "a", " OR ", "", bytes),
        numbered("SELECT COUNT(*) FROM t WHERE a IN (", ")", bytes, |n| n.to_string()),
        repeated("SELECT CONCAT(", "'x'", ",", ")", bytes),
    ];
    let before = server.resident_bytes().expect("its memory");
    for sql in &statements {
        let mut gone = connect(&server);
        gone.use_database("d").expect("the database");
        gone.query(sql).expect("sent");
    }
    wait_until("the statements have gone", || {
        value(&mut client, "SELECT COUNT(*) FROM information_schema.processlist") == "1"
    });
    let bound = before + (128 << 20);
    wait_until("their memory is free", || server.resident_bytes().is_some_and(|now| now < bound));
    assert!(server.is_running());
}

#[test]
fn the_parsers_memory_is_a_setting() {
    let server = start();
    let mut client = connect(&server);
    assert_eq!(value(&mut client, "SELECT @@parser_max_mem_size"), "268435456");
    let sql = repeated("SELECT ", "1", " OR ", "", 100_000);
    assert_eq!(value(&mut client, &sql), "1");
    run(&mut client, "SET parser_max_mem_size = 10000000");
    let error = super::error(&mut client, &sql);
    let expected =
        "Memory capacity of 10000000 bytes for 'parser_max_mem_size' exceeded. Parser bailed out for this query.";
    assert!(error.contains(expected) && error.contains("3170"), "{error}");
    // Each session has its own.
    assert_eq!(value(&mut connect(&server), &sql), "1");
}

/// What is planned copies a literal's place, not its bytes.
#[test]
fn a_long_literal_is_copied_a_few_times() {
    const BYTES: usize = 24 << 20;
    let server = start();
    let mut client = connect(&server);
    assert_eq!(value(&mut client, "SELECT LENGTH('xyz')"), "3");
    let before = peak(&server);
    let sql = format!("SELECT '{}'", "x".repeat(BYTES));
    assert_eq!(value(&mut client, &sql).len(), BYTES);
    let copies = peak(&server).saturating_sub(before) / BYTES as u64;
    // There were 13, and so that one of 64 MB fits into 512 MB there may be 7.
    assert!(copies <= 7, "{copies} copies");
}
