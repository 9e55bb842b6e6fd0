//! EXECUTE with several sessions: privileges, KILL, limits, the visibility of a child session, and lists in the background.

use super::{connect, error, options, run, start, value, wait_until};
use mysql::prelude::Queryable;
use squall_client::{Client, ConnectOptions};
use squall_test_support::server::{TestServer, connect_as as connect_mysql_as};
use std::time::{Duration, Instant};

fn prepared() -> (TestServer, Client) {
    let server = start();
    let mut root = connect(&server);
    run(
        &mut root,
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(80)); INSERT INTO t VALUES (1, 'one')",
    );
    (server, root)
}

fn connect_as(server: &TestServer, user: &str) -> Client {
    let options = ConnectOptions { user: user.to_string(), database: "d".to_string(), ..options(server) };
    Client::connect(&options).unwrap_or_else(|error| panic!("{user}: {error}"))
}

/// Waits until a child of a connection is at work; its number.
fn child_of(observer: &mut Client, caller: u64) -> String {
    let sql = format!(
        "SELECT MAX(session_id) FROM data_dictionary.sessions WHERE parent_id = {caller} AND query LIKE '%SLEEP%'"
    );
    wait_until("a child", || value(observer, &sql) != "NULL");
    value(observer, &sql)
}

#[test]
fn the_function_needs_its_privilege_and_plain_execute_none() {
    let (server, mut root) = prepared();
    run(&mut root, "CREATE USER u; GRANT SELECT, INSERT ON d.* TO u");
    let mut client = connect_as(&server, "u");
    let refused = "ERROR 1227 (42000): Access denied; you need (at least one of) the DYNAMIC_EXECUTE privilege(s) for this operation";
    for sql in ["SELECT EXECUTE('DO 1')", "EXECUTE 'DO 1' CONCURRENT WAIT", "EXECUTE 'DO 1' CONCURRENT"] {
        assert_eq!(error(&mut client, sql), refused, "{sql}");
    }
    assert_eq!(value(&mut client, "EXECUTE 'SELECT COUNT(*) FROM t'"), "1");
    run(&mut client, "EXECUTE 'INSERT INTO t VALUES (2, NULL); DO 1' WITH NO RETURN");
    run(&mut root, "GRANT DYNAMIC_EXECUTE ON *.* TO u");
    assert_eq!(value(&mut client, "SELECT EXECUTE('INSERT INTO t VALUES (3, CURRENT_USER())')"), "1");
    assert_eq!(value(&mut client, "SELECT v FROM t WHERE id = 3"), "u@%");
    // The child may do no more than the account.
    assert!(
        error(&mut client, "SELECT EXECUTE('DELETE FROM t')").starts_with("ERROR 1142 (42000): DELETE command denied")
    );
    // A role that is active is active there.
    run(&mut root, "CREATE ROLE deleter; GRANT DELETE ON d.* TO deleter; GRANT deleter TO u");
    run(&mut client, "SET ROLE deleter");
    assert_eq!(value(&mut client, "SELECT EXECUTE('DELETE FROM t')"), "1");
}

#[test]
fn a_routine_lends_its_definer_to_no_text() {
    let (server, mut root) = prepared();
    run(
        &mut root,
        "CREATE USER u; GRANT EXECUTE ON d.* TO u;
         CREATE PROCEDURE plain(s TEXT) BEGIN SET @s = s; EXECUTE @s; END;
         CREATE PROCEDURE list(s TEXT) BEGIN SET @s = s; EXECUTE @s WITH NO RETURN; END;
         CREATE PROCEDURE child(s TEXT) BEGIN SET @s = s; EXECUTE @s CONCURRENT WAIT; END;
         CREATE PROCEDURE called(s TEXT) SELECT EXECUTE(s);
         CREATE PROCEDURE queued(s TEXT) BEGIN SET @s = s; EXECUTE @s CONCURRENT; END;
         CREATE PROCEDURE script(s TEXT) LANGUAGE JAVASCRIPT AS $$ session.sql('SELECT EXECUTE(?)', [s]).execute() $$;
         CREATE PROCEDURE outer_(s TEXT) CALL plain(s);
         CREATE PROCEDURE own() SELECT COUNT(*) FROM t;
         CREATE VIEW seen AS SELECT EXECUTE('DELETE FROM t') AS done; GRANT SELECT ON d.seen TO u",
    );
    let mut client = connect_as(&server, "u");
    assert_eq!(value(&mut client, "CALL own()"), "1");
    for procedure in ["plain", "list", "outer_"] {
        let denied = error(&mut client, &format!("CALL {procedure}('DELETE FROM t')"));
        assert!(denied.starts_with("ERROR 1142 (42000): DELETE command denied to user 'u'@"), "{procedure}: {denied}");
    }
    let forms = ["child", "called", "script"].map(|procedure| format!("CALL {procedure}('DELETE FROM t')"));
    let forms: Vec<&str> = forms.iter().map(String::as_str).chain(["SELECT * FROM seen"]).collect();
    assert!(error(&mut client, "CALL queued('DELETE FROM t')").starts_with("ERROR 1227 (42000)"));
    for sql in &forms {
        assert!(error(&mut client, sql).starts_with("ERROR 1227 (42000)"), "{sql}");
    }
    run(&mut root, "GRANT DYNAMIC_EXECUTE ON *.* TO u");
    for sql in &forms {
        assert!(error(&mut client, sql).starts_with("ERROR 1142 (42000)"), "{sql}");
    }
    run(&mut client, "CALL queued('DELETE FROM t')");
    let denied = "SELECT COUNT(*) FROM data_dictionary.execute_history WHERE error = 1142";
    wait_until("the end of the list", || value(&mut root, denied) != "0");
    assert_eq!(value(&mut client, "CALL plain('SELECT CURRENT_USER()')"), "u@%");
    // Behind it the routine is its definer's again.
    assert_eq!(value(&mut client, "CALL own()"), "1");
    assert_eq!(value(&mut root, "SELECT COUNT(*) FROM t"), "1");
}

#[test]
fn kill_of_the_caller_ends_the_child_and_kill_of_the_child_the_statement() {
    let (server, mut root) = prepared();
    for (whose, kill, sql) in [
        ("caller", "KILL QUERY", "SELECT EXECUTE('INSERT INTO t VALUES (2, NULL); DO SLEEP(100)')"),
        ("caller", "KILL QUERY", "EXECUTE 'INSERT INTO t VALUES (2, NULL); DO SLEEP(100)' CONCURRENT WAIT"),
        ("child", "KILL QUERY", "SELECT EXECUTE('INSERT INTO t VALUES (2, NULL); SELECT SLEEP(100) FROM t; DO 1')"),
        ("child", "KILL", "SELECT EXECUTE('INSERT INTO t VALUES (2, NULL); SELECT SLEEP(100) FROM t; DO 1')"),
        ("child", "KILL", "EXECUTE 'INSERT INTO t VALUES (2, NULL); SELECT SLEEP(100) FROM t; DO 1' CONCURRENT WAIT"),
        ("caller", "KILL", "SELECT EXECUTE('INSERT INTO t VALUES (2, NULL); SELECT SLEEP(100) FROM t; DO 1')"),
    ] {
        let mut client = connect(&server);
        run(&mut client, "USE d");
        let caller = u64::from(client.connection_id());
        let running = std::thread::spawn(move || (client.run(sql).map(|_| ()), client));
        let child = child_of(&mut root, caller);
        let shown = value(&mut root, &format!("SELECT COMMAND FROM information_schema.PROCESSLIST WHERE ID = {child}"));
        assert_eq!(shown, "Execute", "{sql}");
        let killed = Instant::now();
        let id = if whose == "caller" { caller.to_string() } else { child };
        run(&mut root, &format!("{kill} {id}"));
        let (result, mut client) = running.join().expect("a client's thread");
        assert!(killed.elapsed() < Duration::from_secs(20), "{whose} {kill}: {sql}");
        if (whose, kill) != ("caller", "KILL") {
            let message = result.expect_err(sql).to_string();
            assert!(message.contains("1317 (70100)"), "{whose} {kill} {sql}: {message}");
            assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t"), "1", "{whose} {kill} {sql}");
        }
        let children = "SELECT COUNT(*) FROM data_dictionary.sessions WHERE parent_id IS NOT NULL";
        wait_until("no child", || value(&mut root, children) == "0");
        assert_eq!(value(&mut root, "SELECT COUNT(*) FROM t"), "1", "{whose} {kill} {sql}");
    }
}

/// How long after KILL the statement of the caller ends.
fn killed_after(server: &TestServer, root: &mut Client, whose: &str, sql: &str) -> Duration {
    let mut client = connect(server);
    run(&mut client, "USE d");
    let caller = u64::from(client.connection_id());
    let sql = sql.to_string();
    let running = std::thread::spawn(move || {
        let result = client.run(&sql).map(|_| ());
        (result, Instant::now())
    });
    let child = child_of(root, caller);
    let id = if whose == "caller" { caller.to_string() } else { child };
    let killed = Instant::now();
    run(root, &format!("KILL QUERY {id}"));
    let (result, ended) = running.join().expect("a client's thread");
    assert!(result.expect_err(whose).to_string().contains("1317 (70100)"), "{whose}");
    ended.saturating_duration_since(killed)
}

#[test]
fn kill_takes_less_than_a_tenth_of_a_second() {
    let (server, mut root) = prepared();
    for sql in [
        "SELECT EXECUTE('INSERT INTO t VALUES (2, NULL); SELECT SLEEP(100) FROM t')",
        "EXECUTE 'INSERT INTO t VALUES (2, NULL); UPDATE t SET v = SLEEP(100)' CONCURRENT WAIT",
    ] {
        for whose in ["caller", "child"] {
            // Other work of the machine may delay one of them, but not all.
            let times = (0..10).map(|_| killed_after(&server, &mut root, whose, sql));
            let times: Vec<_> = times
                .scan(false, |is_done, time| {
                    let go_on = !std::mem::replace(is_done, time < Duration::from_millis(100));
                    go_on.then_some(time)
                })
                .collect();
            assert!(times.iter().any(|time| *time < Duration::from_millis(100)), "{whose}: {times:?}");
        }
    }
    assert_eq!(value(&mut root, "SELECT COUNT(*) FROM t"), "1");
}

#[test]
fn children_of_prepared_statements_events_routines_and_queued_queries() {
    let (server, mut root) = prepared();
    run(&mut root, "CREATE USER u; GRANT ALL ON d.* TO u; GRANT DYNAMIC_EXECUTE ON *.* TO u");
    let mut client = connect_as(&server, "u");
    let insert = |id: u32| format!("INSERT INTO t VALUES ({id}, CURRENT_USER())");
    let quoted = |id: u32| insert(id).replace('\'', "\'\'");
    // By the protocol, more than once.
    let mut conn = connect_mysql_as("u", "127.0.0.1", server.port(), Duration::from_secs(60)).expect("a connection");
    conn.query_drop("USE d").expect("the database");
    let prepared = conn.prep("SELECT EXECUTE(?)").expect("a statement");
    for id in [10, 11] {
        let done: Option<u8> = conn.exec_first(&prepared, (insert(id),)).expect("a row");
        assert_eq!(done, Some(1));
    }
    run(&mut client, &format!("PREPARE s FROM 'SELECT EXECUTE(?)'; SET @s = '{}'; EXECUTE s USING @s", quoted(12)));
    run(
        &mut client,
        "CREATE PROCEDURE p(s TEXT) BEGIN DECLARE done INT; SET done = EXECUTE(s); IF done THEN SELECT done; END IF; END",
    );
    assert_eq!(value(&mut client, &format!("CALL p('{}')", quoted(13))), "1");
    // An error in a routine is one that its handlers see.
    run(
        &mut client,
        "CREATE PROCEDURE h(s TEXT) BEGIN DECLARE EXIT HANDLER FOR 1062 SELECT 'twice'; DO EXECUTE(s); END",
    );
    assert_eq!(value(&mut client, &format!("CALL h('{}')", quoted(13))), "twice");
    // As the definer of the event, who is no one else than the account that made it.
    run(
        &mut client,
        &format!("CREATE EVENT e ON SCHEDULE AT NOW() + INTERVAL 1 SECOND DO DO EXECUTE('{}')", quoted(14)),
    );
    let done = "SELECT COUNT(*) FROM t WHERE id >= 10";
    wait_until("the event", || value(&mut client, done) == "5");
    run(&mut root, "GRANT EXECUTE ON async.* TO u");
    let queued =
        format!("CALL async.queue('SELECT EXECUTE(''{}'') AS done'); CALL async.wait(@query_number)", quoted(15));
    run(&mut client, &queued);
    assert_eq!(value(&mut client, done), "6");
    assert_eq!(value(&mut client, "SELECT GROUP_CONCAT(DISTINCT v) FROM t WHERE id >= 10"), "u@%");
    // Without the privilege, by none of these ways.
    run(&mut root, "REVOKE DYNAMIC_EXECUTE ON *.* FROM u");
    let mut client = connect_as(&server, "u");
    run(&mut client, "PREPARE s FROM 'SELECT EXECUTE(?)'; SET @s = 'DELETE FROM t'");
    for sql in ["EXECUTE s USING @s", "CALL p('DELETE FROM t')", "EXECUTE 'SELECT EXECUTE(''DELETE FROM t'')'"] {
        let refused = error(&mut client, sql);
        assert!(refused.starts_with("ERROR 1227 (42000)"), "{sql}: {refused}");
    }
    assert_eq!(value(&mut client, done), "6");
}

#[test]
fn the_time_of_a_statement_is_that_of_its_children_too() {
    let (_server, mut root) = prepared();
    run(&mut root, "SET max_execution_time = 300");
    let begun = Instant::now();
    let late = error(&mut root, "SELECT EXECUTE('INSERT INTO t VALUES (2, NULL); SELECT SLEEP(100) FROM t; DO 1')");
    assert!(late.starts_with("ERROR 3024"), "{late}");
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(value(&mut root, "SELECT COUNT(*) FROM t"), "1");
}

#[test]
fn a_child_is_one_of_its_accounts_connections() {
    let (server, mut root) = prepared();
    run(
        &mut root,
        "CREATE USER u; GRANT DYNAMIC_EXECUTE ON *.* TO u; GRANT ALL ON d.* TO u; SET GLOBAL max_user_connections = 1",
    );
    let mut client = connect_as(&server, "u");
    let refused = error(&mut client, "SELECT EXECUTE('DO 1')");
    assert!(refused.starts_with("ERROR 1203 (42000)"), "{refused}");
    run(&mut root, "SET GLOBAL max_user_connections = 2");
    assert_eq!(value(&mut client, "SELECT EXECUTE('DO 1')"), "1");
    assert_eq!(value(&mut client, "SELECT SUM(EXECUTE('DO 1')) FROM (VALUES ROW(1), ROW(2), ROW(3)) AS v (n)"), "3");
}

#[test]
fn locks_of_the_caller_are_not_waited_for() {
    let (server, mut root) = prepared();
    let mut other = connect(&server);
    run(&mut other, "USE d; INSERT INTO t VALUES (2, 'two')");
    let begun = Instant::now();
    run(&mut root, "BEGIN; UPDATE t SET v = 'caller' WHERE id = 1");
    let deadlock = "ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction";
    for sql in [
        "SELECT EXECUTE('UPDATE t SET v = 1')",
        "SELECT EXECUTE('SELECT * FROM t FOR UPDATE')",
        "SELECT EXECUTE('DROP TABLE t')",
        "SELECT EXECUTE('ALTER TABLE t ADD KEY (v)')",
        "SELECT EXECUTE('LOCK TABLES t WRITE')",
        "SELECT EXECUTE('TRUNCATE TABLE t')",
    ] {
        // The best of some, for busy machines.
        let time = |root: &mut _| {
            let begun = Instant::now();
            assert_eq!(error(root, sql), deadlock, "{sql}");
            begun.elapsed()
        };
        let shortest = (0..3).map(|_| time(&mut root)).min().expect("three");
        assert!(shortest < Duration::from_secs(1), "{sql}: {shortest:?}");
    }
    // By way of somebody who waits for the caller.
    let waiting = std::thread::spawn(move || {
        run(&mut other, "BEGIN; UPDATE t SET v = 'other' WHERE id = 2");
        let result = other.run("UPDATE t SET v = 'other' WHERE id = 1").map(|_| ());
        (result.is_ok(), other)
    });
    let mut observer = connect(&server);
    let waits = "SELECT COUNT(*) FROM performance_schema.data_lock_waits";
    wait_until("a wait", || value(&mut observer, waits) != "0");
    let child = root.run("SELECT EXECUTE('UPDATE t SET v = 3 WHERE id = 2')").map(|_| ());
    run(&mut root, "ROLLBACK");
    let (other_went_on, mut other) = waiting.join().expect("a client's thread");
    assert_ne!(child.is_ok(), other_went_on, "one of the circle gives way");
    run(&mut other, "ROLLBACK");
    run(&mut root, "FLUSH TABLES WITH READ LOCK");
    let refused = error(&mut root, "SELECT EXECUTE('INSERT INTO t VALUES (3, NULL)')");
    assert_eq!(refused, deadlock);
    run(&mut root, "UNLOCK TABLES");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn lists_in_the_background_are_kept_with_their_ends() {
    let (server, mut root) = prepared();
    run(&mut root, "CREATE USER u; GRANT DYNAMIC_EXECUTE ON *.* TO u; GRANT ALL ON d.* TO u");
    let mut client = connect_as(&server, "u");
    run(&mut client, "SET @i = 2, @v = 'two', time_zone = '+05:00'");
    run(&mut client, "EXECUTE 'INSERT INTO t VALUES (?, CONCAT(?, @@time_zone))' USING @i, @v CONCURRENT");
    run(&mut client, "SET execute_function_mode = background");
    assert_eq!(
        value(&mut client, "SELECT EXECUTE('INSERT INTO t VALUES (3, NULL); INSERT INTO t VALUES (1, NULL); DO 1')"),
        "1"
    );
    let left = "SELECT COUNT(*) FROM data_dictionary.execute_history WHERE finished IS NULL";
    wait_until("the ends", || value(&mut client, left) == "0");
    let told = "SELECT GROUP_CONCAT(CONCAT_WS(',', user, state, statements, failed_statement, error, message, \
                started <= finished, parent_id = @parent) ORDER BY id SEPARATOR ' | ') FROM data_dictionary.execute_history";
    let expected = "u@%,done,1,1,1 | u@%,failed,1,2,1062,Duplicate entry '1' for key 't.PRIMARY',1,1";
    let parent = format!("SET @parent = {}", client.connection_id());
    run(&mut client, &parent);
    run(&mut root, &parent);
    assert_eq!(value(&mut client, told), expected);
    assert_eq!(value(&mut root, told), expected);
    assert_eq!(value(&mut client, "SELECT GROUP_CONCAT(id, v ORDER BY id) FROM t"), "1one,2two+05:00");
    // With a second argument it is waited for.
    assert_eq!(value(&mut client, "SELECT EXECUTE('INSERT INTO t VALUES (4, NULL)', 0)"), "1");
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t"), "3");
    // A list in the background starts no other.
    run(&mut client, "EXECUTE \"EXECUTE 'DO 1' CONCURRENT\" CONCURRENT");
    wait_until("the ends", || value(&mut client, left) == "0");
    assert_eq!(value(&mut client, "SELECT error FROM data_dictionary.execute_history WHERE id = 3"), "1210");
    run(&mut root, "CREATE USER w");
    let mut other = connect_as_nobody(&server);
    assert_eq!(value(&mut other, "SELECT COUNT(*) FROM data_dictionary.execute_history"), "0");
}

fn connect_as_nobody(server: &TestServer) -> Client {
    let options = ConnectOptions { user: "w".to_string(), ..options(server) };
    Client::connect(&options).expect("a connection")
}

#[test]
fn logs_tell_whose_child_it_was() {
    let (server, mut root) = prepared();
    run(&mut root, "SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = ON");
    let caller = root.connection_id();
    run(&mut root, "SELECT EXECUTE('DO 41 + 1; DO 2')");
    run(&mut root, "SET GLOBAL general_log = OFF");
    let connected = format!(
        "SELECT thread_id FROM mysql.general_log WHERE command_type = 'Connect' AND argument LIKE '%using EXECUTE of connection {caller}'"
    );
    let child = value(&mut root, &connected);
    let texts = format!(
        "SELECT GROUP_CONCAT(CONVERT(argument USING utf8mb4) ORDER BY argument) FROM mysql.general_log WHERE thread_id = {child} AND command_type = 'Query'"
    );
    assert_eq!(value(&mut root, &texts), "DO 2,DO 41 + 1");
    run(&mut root, "SET GLOBAL log_output = 'FILE', GLOBAL log_format = 'json', GLOBAL general_log_file = 'g.log'");
    run(&mut root, "SET GLOBAL general_log = ON");
    run(&mut root, "SELECT EXECUTE('DO 40 + 3')");
    run(&mut root, "SET GLOBAL general_log = OFF");
    let log = std::fs::read_to_string(server.data_directory().join("g.log")).expect("a log");
    let line = log.lines().find(|line| line.ends_with("\"text\":\"DO 40 + 3\"}")).expect(&log);
    assert!(line.contains(&format!("\"parent_id\":{caller},")), "{line}");
    // The slow log, whose form is MySQL's, and the table of the query log.
    run(
        &mut root,
        "SET GLOBAL log_format = 'classic', GLOBAL slow_query_log_file = 's.log', GLOBAL slow_query_log = ON",
    );
    run(&mut root, "SET GLOBAL query_log_enabled = ON, GLOBAL long_query_time = 0, GLOBAL log_output = 'FILE,TABLE'");
    run(&mut root, "SELECT EXECUTE('DO 40 + 4')");
    run(&mut root, "SET GLOBAL slow_query_log = OFF, GLOBAL query_log_enabled = OFF, GLOBAL long_query_time = 10");
    let log = std::fs::read_to_string(server.data_directory().join("s.log")).expect("a log");
    let entry = log.split("# Time: ").find(|entry| entry.ends_with("\nDO 40 + 4;\n")).expect(&log);
    assert!(entry.contains(&format!("  Parent_id: {caller}\n")), "{entry}");
    let parent = "SELECT parent_id FROM data_dictionary.query_log WHERE statement = 'DO 40 + 4'";
    assert_eq!(value(&mut root, parent), caller.to_string());
}
