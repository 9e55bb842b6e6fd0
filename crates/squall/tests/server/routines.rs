//! Stored routines and triggers after a crash, and endless ones.

use super::{connect, error, options, run, start, value, wait_until};
use squall_client::{Client, ConnectOptions};
use squall_test_support::server::TestServer;

/// Bodies that run until they are stopped.
const ENDLESS: &str = "DECLARE i INT DEFAULT 0; WHILE TRUE DO SET i = (i + 1) % 7; END WHILE;";

fn connect_as(server: &TestServer, user: &str) -> Client {
    let options = ConnectOptions { user: user.to_owned(), ..options(server) };
    Client::connect(&options).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn routines_survive_a_crash_with_the_grants_of_their_creators() {
    let mut server = start();
    let mut root = connect(&server);
    for sql in [
        "CREATE DATABASE d",
        "CREATE USER maker",
        "GRANT CREATE ROUTINE ON d.* TO maker",
        "CREATE PROCEDURE d.p(OUT n INT) SET n = 42",
        "CREATE FUNCTION d.f(n INT) RETURNS INT RETURN n + 1",
        "DROP FUNCTION IF EXISTS d.g",
    ] {
        run(&mut root, sql);
    }
    let mut maker = connect_as(&server, "maker");
    run(&mut maker, "CREATE FUNCTION d.made(n INT) RETURNS INT RETURN n * 2");
    server.kill();
    server.restart();
    let mut root = connect(&server);
    run(&mut root, "CALL d.p(@n)");
    assert_eq!(value(&mut root, "SELECT CONCAT(@n, ' ', d.f(1))"), "42 2");
    let mut maker = connect_as(&server, "maker");
    assert_eq!(value(&mut maker, "SELECT d.made(21)"), "42");
    assert!(error(&mut maker, "SELECT d.f(1)").starts_with("ERROR 1370 "));
    run(&mut maker, "DROP FUNCTION d.made");
    assert!(error(&mut maker, "SELECT d.made(21)").starts_with("ERROR 1305 "));
}

#[test]
fn triggers_survive_a_crash() {
    let mut server = start();
    let mut root = connect(&server);
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, a INT)",
        "CREATE TRIGGER d.second BEFORE INSERT ON d.t FOR EACH ROW SET NEW.a = NEW.a * 2",
        "CREATE TRIGGER d.first BEFORE INSERT ON d.t FOR EACH ROW PRECEDES second SET NEW.a = NEW.a + 1",
        "CREATE TRIGGER d.gone BEFORE INSERT ON d.t FOR EACH ROW SET NEW.a = 0",
        "DROP TRIGGER d.gone",
        "INSERT INTO d.t VALUES (1, 1)",
    ] {
        run(&mut root, sql);
    }
    server.kill();
    server.restart();
    let mut root = connect(&server);
    run(&mut root, "INSERT INTO d.t VALUES (2, 2)");
    assert_eq!(value(&mut root, "SELECT GROUP_CONCAT(a ORDER BY id) FROM d.t"), "4,6");
    assert!(
        error(&mut root, "CREATE TRIGGER d.first AFTER INSERT ON d.t FOR EACH ROW SET @x = 1")
            .starts_with("ERROR 1359 ")
    );
    run(&mut root, "DROP TRIGGER d.first");
    run(&mut root, "INSERT INTO d.t VALUES (3, 3)");
    assert_eq!(value(&mut root, "SELECT a FROM d.t WHERE id = 3"), "6");
}

#[test]
fn routines_that_never_end_are_killed_and_hold_no_session_up() {
    let server = start();
    let mut root = connect(&server);
    run(&mut root, "CREATE DATABASE d");
    run(&mut root, &format!("CREATE FUNCTION d.endless(n INT) RETURNS INT BEGIN {ENDLESS} RETURN n; END"));
    run(&mut root, &format!("CREATE PROCEDURE d.endless() BEGIN {ENDLESS} END"));
    run(&mut root, "CREATE TABLE d.t (n INT PRIMARY KEY)");
    run(&mut root, "INSERT INTO d.t VALUES (1)");
    run(&mut root, "CREATE TABLE d.endless (n INT)");
    run(&mut root, &format!("CREATE TRIGGER d.endless BEFORE INSERT ON d.endless FOR EACH ROW BEGIN {ENDLESS} END"));
    for sql in [
        "INSERT INTO d.endless VALUES (1)",
        "SELECT d.endless(1)",
        "CALL d.endless()",
        "SELECT d.endless(n) FROM d.t",
        "SELECT n FROM d.t WHERE n = 1 AND d.endless(n)",
        "INSERT INTO d.t VALUES (d.endless(2))",
        "UPDATE d.t SET n = d.endless(n) WHERE n = 1",
        "SET @x = d.endless(1)",
    ] {
        let mut busy = connect(&server);
        let id = busy.connection_id();
        let running = std::thread::spawn(move || error(&mut busy, sql));
        let asked =
            format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND info LIKE '%endless%'");
        wait_until("the statement runs", || value(&mut root, &asked) == "1");
        // On each event loop some of these.
        for _ in 0..8 {
            assert_eq!(value(&mut connect(&server), "SELECT 1"), "1", "{sql}");
        }
        run(&mut root, &format!("KILL QUERY {id}"));
        let stopped = running.join().expect("no panic");
        assert!(stopped.starts_with("ERROR 1317 "), "{sql}: {stopped}");
    }
    run(&mut root, "SET max_execution_time = 100");
    assert!(error(&mut root, "SELECT d.endless(1)").starts_with("ERROR 3024 "));
}

#[test]
fn functions_that_wait_or_never_end_in_a_statement_are_killed() {
    let server = start();
    let mut root = connect(&server);
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (n INT PRIMARY KEY)",
        "INSERT INTO d.t VALUES (1)",
        "CREATE TABLE d.locked (n INT PRIMARY KEY)",
        "INSERT INTO d.locked VALUES (1)",
        "CREATE FUNCTION d.waits(n INT) RETURNS INT BEGIN UPDATE d.locked SET n = n + 1; RETURN n; END",
    ] {
        run(&mut root, sql);
    }
    run(&mut root, &format!("CREATE FUNCTION d.endless(n INT) RETURNS INT BEGIN {ENDLESS} RETURN (SELECT n); END"));
    let mut holder = connect(&server);
    run(&mut holder, "BEGIN");
    run(&mut holder, "UPDATE d.locked SET n = n + 1");
    for sql in [
        "SELECT d.endless(1)",
        "SELECT d.endless(n) FROM d.t",
        "INSERT INTO d.t VALUES (d.endless(2))",
        "UPDATE d.t SET n = d.endless(n) WHERE n = 1",
        "DELETE FROM d.t WHERE d.endless(n)",
        "SET @endless = d.endless(1)",
        "SELECT d.waits(1) AS endless",
        "INSERT INTO d.t SELECT d.waits(n) AS endless FROM d.t",
    ] {
        let mut busy = connect(&server);
        let id = busy.connection_id();
        let running = std::thread::spawn(move || error(&mut busy, sql));
        let asked =
            format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND info LIKE '%endless%'");
        wait_until(&format!("{sql} runs"), || value(&mut root, &asked) == "1");
        for _ in 0..8 {
            assert_eq!(value(&mut connect(&server), "SELECT 1"), "1", "{sql}");
        }
        run(&mut root, &format!("KILL QUERY {id}"));
        let stopped = running.join().expect("no panic");
        assert!(stopped.starts_with("ERROR 1317 "), "{sql}: {stopped}");
    }
    run(&mut root, "SET max_execution_time = 100");
    assert!(error(&mut root, "SELECT d.endless(1)").starts_with("ERROR 3024 "));
    assert_eq!(value(&mut root, "SELECT GROUP_CONCAT(n) FROM d.t"), "1");
}

#[test]
fn a_function_and_the_statement_around_it_survive_together_or_not_at_all() {
    let mut server = start();
    let mut root = connect(&server);
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.source (n INT PRIMARY KEY)",
        "INSERT INTO d.source VALUES (1), (2), (3), (4), (5), (6), (7), (8)",
        "CREATE TABLE d.target (round INT, n INT, PRIMARY KEY (round, n))",
        "CREATE TABLE d.audit (round INT, n INT, PRIMARY KEY (round, n))",
        "CREATE FUNCTION d.noted(round INT, n INT) RETURNS INT BEGIN INSERT INTO d.audit VALUES (round, n); RETURN n; END",
    ] {
        run(&mut root, sql);
    }
    let options = options(&server);
    let writer = std::thread::spawn(move || {
        let mut client = Client::connect(&options).unwrap_or_else(|error| panic!("{error}"));
        for round in 1.. {
            let sql = format!("INSERT INTO d.target SELECT {round}, d.noted({round}, n) FROM d.source");
            if client.run(&sql).is_err() {
                return round;
            }
        }
        0
    });
    wait_until("some rounds are done", || value(&mut root, "SELECT COALESCE(MAX(round), 0) > 20 FROM d.target") == "1");
    server.kill();
    let broken_off: i64 = writer.join().expect("no panic");
    server.restart();
    let mut root = connect(&server);
    let rounds = value(&mut root, "SELECT COUNT(*) DIV 8 FROM d.target").parse::<i64>().expect("a number");
    assert!(rounds == broken_off || rounds == broken_off - 1, "{rounds} rounds, {broken_off} begun");
    assert_eq!(value(&mut root, "SELECT COUNT(*) % 8 FROM d.target"), "0");
    assert_eq!(
        value(&mut root, "SELECT COUNT(*) FROM d.target JOIN d.audit USING (round, n)"),
        value(&mut root, "SELECT COUNT(*) FROM d.audit")
    );
    assert_eq!(value(&mut root, "SELECT COUNT(*) DIV 8 FROM d.audit"), rounds.to_string());
}

#[test]
fn a_session_whose_client_goes_while_a_function_runs_ends_with_all_that_it_holds() {
    let server = start();
    let mut root = connect(&server);
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (n INT PRIMARY KEY)",
        "INSERT INTO d.t VALUES (1)",
        "CREATE TABLE d.audit (n INT PRIMARY KEY)",
        "CREATE FUNCTION d.waits(n INT) RETURNS INT BEGIN INSERT INTO d.audit VALUES (n); DO GET_LOCK('inside', 0); DO SLEEP(600); RETURN n; END",
        "CREATE TRIGGER d.waits AFTER UPDATE ON d.t FOR EACH ROW DO d.waits(2)",
    ] {
        run(&mut root, sql);
    }
    for sql in ["SELECT d.waits(n) FROM d.t", "UPDATE d.t SET n = 3", "SET @v = d.waits(4)"] {
        let mut victim = connect(&server);
        let id = victim.connection_id();
        for held in ["SET autocommit = 0", "DO GET_LOCK('held', 0)", "CREATE TEMPORARY TABLE d.held (i INT)"] {
            run(&mut victim, held);
        }
        victim.query(sql).expect("sent");
        let inside = format!("SELECT IS_USED_LOCK('inside') = {id}");
        wait_until(&format!("{sql} runs"), || value(&mut root, &inside) == "1");
        drop(victim);
        let is_there = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id}");
        wait_until(&format!("{sql} ends"), || value(&mut root, &is_there) == "0");
        let are_free = "SELECT IS_FREE_LOCK('held') AND IS_FREE_LOCK('inside')";
        wait_until("its locks are free", || value(&mut root, are_free) == "1");
        assert_eq!(value(&mut root, "SELECT GROUP_CONCAT(n) FROM d.t"), "1", "{sql}");
        assert_eq!(value(&mut root, "SELECT COUNT(*) FROM d.audit"), "0", "{sql}");
        // Nothing is locked any more.
        run(&mut root, "INSERT INTO d.audit VALUES (1), (2), (4)");
        run(&mut root, "DELETE FROM d.audit");
    }
}
