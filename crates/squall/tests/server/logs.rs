//! Log files of a busy server: whole entries from many clients, rotation, files that cannot be written, and secrets that must not be in
//! them.

use super::{connect, error, options, run, start, value};
use mysql::prelude::Queryable as _;
use squall_client::{Client, ConnectOptions};
use squall_test_support::SetOnDrop;
use squall_test_support::server::TestServer;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

const CLIENTS: usize = 16;
const STATEMENTS: usize = 60;

/// Every log file of the server, the logs that were renamed too.
fn log_text(server: &TestServer) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(server.data_directory()).expect("the data directory").flatten() {
        if entry.file_name().to_string_lossy().contains(".log") {
            text += &String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap_or_default());
        }
    }
    text
}

fn file(server: &TestServer, name: &str) -> PathBuf {
    server.data_directory().join(name)
}

fn lost(client: &mut Client) -> u64 {
    let rows = client.run("SHOW GLOBAL STATUS LIKE 'Log_entries_lost'").expect("a row");
    let bytes = rows[0].1[0][1].as_deref().expect("a value");
    String::from_utf8_lossy(bytes).parse().expect("a number")
}

/// A statement of a client that can be told from all others, as point look-up, as text or with values.
fn work(server: &TestServer, number: usize) {
    let mut conn = server.connect();
    let by_key = conn.prep("SELECT id FROM d.t WHERE id = ?").expect("prepared");
    for statement in 0..STATEMENTS {
        let id = number * STATEMENTS + statement;
        match statement % 3 {
            0 => conn.query_drop(format!("SELECT id FROM d.t WHERE id = {id}")).expect("a row"),
            1 => conn.exec_drop(&by_key, (id,)).expect("a row"),
            _ => {
                let filler = "☃\n".repeat(id * 37 % 5000);
                conn.query_drop(format!("SELECT LENGTH('{filler}') FROM d.t WHERE id = {id}")).expect("a row");
            }
        }
    }
}

#[test]
fn many_clients_and_rotation() {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)");
    let rows: Vec<String> = (0..CLIENTS * STATEMENTS).map(|id| format!("({id})")).collect();
    run(&mut client, &format!("INSERT INTO d.t VALUES {}", rows.join(",")));
    run(&mut client, "SET GLOBAL log_format = 'json', GLOBAL general_log_file = 'g.log', GLOBAL general_log = ON");
    let done = AtomicBool::new(false);
    let rotations = std::thread::scope(|scope| {
        let end = SetOnDrop(&done);
        let rotator = scope.spawn(|| {
            let mut client = connect(&server);
            let mut rotations = 0;
            while !done.load(Ordering::Acquire) || rotations == 0 {
                std::fs::rename(file(&server, "g.log"), file(&server, &format!("g.log.{rotations}"))).expect("rename");
                run(&mut client, "FLUSH LOGS");
                rotations += 1;
            }
            rotations
        });
        std::thread::scope(|scope| {
            for number in 0..CLIENTS {
                let server = &server;
                scope.spawn(move || work(server, number));
            }
        });
        drop(end);
        rotator.join().expect("no panic")
    });
    assert!(rotations > 0);
    let mut seen = BTreeSet::new();
    for line in log_text(&server).lines() {
        assert!(line.starts_with("{\"time\":\"") && line.ends_with("\"}"), "{line}");
        let Some((_, id)) = line.rsplit_once("WHERE id = ") else { continue };
        let is_run = line.contains("\"command\":\"Query\"") || line.contains("\"command\":\"Execute\"");
        if let (true, Ok(id)) = (is_run, id.trim_end_matches("\"}").parse::<usize>()) {
            assert!(seen.insert(id), "{id} is there twice");
        }
    }
    assert_eq!(seen.len(), CLIENTS * STATEMENTS);
    assert_eq!(lost(&mut client), 0);
}

#[test]
fn files_that_cannot_be_written_do_not_stop_statements() {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, "SET GLOBAL general_log_file = 'g.log', GLOBAL general_log = ON; SELECT 1");
    assert_eq!(lost(&mut client), 0);

    // A full disk.
    std::fs::remove_file(file(&server, "g.log")).expect("removed");
    std::os::unix::fs::symlink("/dev/full", file(&server, "g.log")).expect("a link");
    run(&mut client, "FLUSH GENERAL LOGS");
    let before = lost(&mut client);
    for _ in 0..10 {
        assert_eq!(value(&mut client, "SELECT 7"), "7");
    }
    assert!(lost(&mut client) >= before + 10);

    // A folder in the way: the log goes on where it was, and the one who asked is told.
    std::fs::remove_file(file(&server, "g.log")).expect("removed");
    std::fs::create_dir(file(&server, "g.log")).expect("a folder");
    let text = error(&mut client, "FLUSH GENERAL LOGS");
    assert!(text.contains("29") && text.contains("g.log"), "{text}");
    assert_eq!(value(&mut client, "SELECT 7"), "7");

    // Room again.
    std::fs::remove_dir(file(&server, "g.log")).expect("removed");
    run(&mut client, "FLUSH GENERAL LOGS");
    let before = lost(&mut client);
    run(&mut client, "SELECT 'there again'");
    assert!(log_text(&server).contains("there again"));
    assert_eq!(lost(&mut client), before);

    // What cannot be opened is not turned on.
    run(&mut client, "SET GLOBAL general_log = OFF");
    std::fs::remove_file(file(&server, "g.log")).expect("removed");
    std::fs::create_dir(file(&server, "g.log")).expect("a folder");
    error(&mut client, "SET GLOBAL general_log = ON");
    assert_eq!(value(&mut client, "SELECT @@general_log"), "0");
}

#[test]
fn a_strict_audit_log_refuses_what_it_cannot_hold() {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)");
    run(&mut client, "SET GLOBAL audit_log = ON, GLOBAL audit_log_strict = ON, GLOBAL audit_log_sync = ON");
    run(&mut client, "INSERT INTO d.t VALUES (1)");
    let text = log_text(&server);
    assert!(text.contains("INSERT INTO d.t VALUES (1)") && text.contains("\"rows_affected\":1"), "{text}");
    let refused = ConnectOptions { user: "nobody".to_owned(), ..options(&server) };
    assert!(Client::connect(&refused).is_err());
    let text = log_text(&server);
    assert!(text.contains("Access denied for user 'nobody'"), "{text}");

    std::fs::remove_file(file(&server, "audit.log")).expect("removed");
    std::os::unix::fs::symlink("/dev/full", file(&server, "audit.log")).expect("a link");
    run(&mut client, "FLUSH LOGS");
    for sql in ["INSERT INTO d.t VALUES (2)", "SELECT id FROM d.t WHERE id = 1", "SELECT id FROM d.t WHERE id = 1"] {
        let text = error(&mut client, sql);
        assert!(text.contains("3164"), "{text}");
    }
    run(&mut client, "SET GLOBAL audit_log_strict = OFF");
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM d.t"), "1");
}

#[test]
fn the_query_log_and_its_thresholds() {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, "SET GLOBAL query_log_file = 'q.log', GLOBAL query_log_threshold_rows_sent = 2");
    run(&mut client, "SET GLOBAL query_log_file_enabled = ON");
    run(&mut client, "SELECT 1");
    run(&mut client, "SELECT 1 UNION ALL\nSELECT 2");
    run(&mut client, "SET GLOBAL query_log_threshold_rows_sent = 0, GLOBAL query_log_threshold_warnings = 1");
    run(&mut client, "SELECT 3");
    run(&mut client, "SELECT CAST('☃;\n#\n# start_ts=' AS SIGNED)");
    run(&mut client, "SET GLOBAL query_log_threshold_warnings = 0, GLOBAL query_log_threshold_tmp_tables = 1");
    run(&mut client, "SELECT 5");
    run(&mut client, "SELECT a, COUNT(*) FROM (VALUES ROW(1), ROW(2)) AS v(a) GROUP BY a");
    run(&mut client, "SET GLOBAL query_log_file_enabled = OFF");
    run(&mut client, "SELECT 4");
    let text = std::fs::read_to_string(file(&server, "q.log")).expect("the log");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 21, "{text}");
    for entry in lines.chunks(7) {
        let heads =
            ["# start_ts=", "# session_id=", "# execution_time=", "# error=false", "# schema=\"\"", "SELECT ", "#"];
        assert!(entry.iter().zip(heads).all(|(line, head)| line.starts_with(head)), "{entry:?}");
    }
    assert!(lines[1].contains("rows_sent=2 tmp_tables=0 warnings=0"), "{text}");
    assert_eq!(lines[5], "SELECT 1 UNION ALL\\nSELECT 2;");
    assert!(lines[15].contains("rows_sent=2 tmp_tables=1 warnings=0"), "{text}");
    assert_eq!(lines[12], "SELECT CAST('☃;\\n#\\n# start_ts=' AS SIGNED);");
}

#[test]
fn secrets_are_in_no_log() {
    let server = start();
    let mut client = connect(&server);
    let mut conn = server.connect();
    run(&mut client, "SET GLOBAL long_query_time = 0, GLOBAL slow_query_log = ON, GLOBAL general_log = ON");
    run(&mut client, "SET GLOBAL query_log_file_enabled = ON, GLOBAL audit_log = ON, SESSION long_query_time = 0");
    for format in ["classic", "query_log", "json"] {
        run(&mut client, &format!("SET GLOBAL log_format = '{format}'; SELECT 'seen in {format}'"));
        run(&mut client, "CREATE USER u IDENTIFIED BY 'hush1'; ALTER USER u IDENTIFIED BY 'hush2'");
        run(&mut client, "SET PASSWORD FOR u = 'hush3'; DROP USER u");
        run(&mut client, "SET @sql = 'CREATE USER u IDENTIFIED BY ''hush4'''; PREPARE s FROM @sql");
        error(&mut client, "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD = 'hush5'");
        error(&mut client, "SELECT HTTP_GET('http://user:hush6@host/')");
        error(&mut client, "SELECT FROM WHERE PASSWORD = 'hush7'");
        conn.exec_drop("SELECT CONCAT(?)", ("https://user:hush8@host/",)).expect("a row");
        run(&mut client, "SELECT EXECUTE('DO 1; CREATE USER u IDENTIFIED BY ''hush10''; DROP USER u')");
        run(&mut client, "SET @s = 'CREATE USER u IDENTIFIED BY ''hush11''; DROP USER u'; EXECUTE @s WITH NO RETURN");
        run(&mut client, "EXECUTE 'EXECUTE ''CREATE USER u IDENTIFIED BY ''''hush12'''' '''; DROP USER u");
        run(&mut client, "EXECUTE IMMEDIATE CONCAT('CREATE USER u IDENTIFIED BY ', QUOTE('hush13')); DROP USER u");
        run(&mut client, "CALL async.queue('CREATE USER u IDENTIFIED BY ''hush14'''); CALL async.wait(@query_number)");
        run(&mut client, "CALL async.queue('CREATE USR u IDENTIFIED BY ''hush15'''); DROP USER u");
    }
    let text = log_text(&server);
    for format in ["classic", "query_log", "json"] {
        assert!(text.matches(&format!("seen in {format}")).count() >= 3, "{format}");
    }
    assert!(text.contains("<secret>"));
    let hit = text.lines().find(|line| line.contains("hush"));
    assert_eq!(hit, None);
    // They are there when they are turned on.
    run(&mut client, "SET GLOBAL log_raw = ON; CREATE USER u IDENTIFIED BY 'hush9'");
    assert!(log_text(&server).contains("hush9"));
}

#[test]
fn what_is_persisted_is_logged_after_a_restart() {
    let mut server = start();
    let mut client = connect(&server);
    run(&mut client, "SET PERSIST general_log_file = 'g.log', PERSIST general_log = ON");
    error(&mut client, "SET PERSIST slow_query_log_file = '/no such folder/s.log', PERSIST slow_query_log = ON");
    server.kill();
    server.restart();
    let mut client = connect(&server);
    assert_eq!(value(&mut client, "SELECT CONCAT(@@general_log, @@slow_query_log, 'after')"), "10after");
    assert!(std::fs::read_to_string(file(&server, "g.log")).expect("the log").contains("'after'"));
    // A file that is in the way does not keep the server from starting.
    server.kill();
    std::fs::remove_file(file(&server, "g.log")).expect("removed");
    std::fs::create_dir(file(&server, "g.log")).expect("a folder");
    server.restart();
    let mut client = connect(&server);
    assert_eq!(value(&mut client, "SELECT @@general_log"), "1");
    assert!(lost(&mut client) > 0);
    assert!(server.log().contains("[Warning]") && server.log().contains("g.log"), "{}", server.log());
}

#[test]
fn buffered_entries_get_to_their_file() {
    let mut server = start();
    let mut client = connect(&server);
    run(&mut client, "SET GLOBAL log_write_mode = 'buffered', GLOBAL general_log_file = 'g.log'");
    run(&mut client, "SET PERSIST general_log = ON; SELECT 'first'");
    let text = || std::fs::read_to_string(file(&server, "g.log")).expect("the log");
    super::wait_until("the entry", || text().contains("'first'"));
    run(&mut client, "SELECT 'second'; FLUSH GENERAL LOGS");
    assert!(text().contains("'second'"));
    run(&mut client, "SELECT 'third'; SET GLOBAL log_write_mode = 'direct'");
    assert!(text().contains("'third'"));
    run(&mut client, "SET GLOBAL log_write_mode = 'buffered'; SELECT 'last'");
    drop(client);
    assert_eq!(server.terminate(), Some(0));
    assert!(std::fs::read_to_string(file(&server, "g.log")).expect("the log").contains("'last'"));
}

#[test]
fn the_error_log_can_be_a_file() {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, "SET GLOBAL log_error = 'errors.log', GLOBAL log_error_verbosity = 3");
    // COM_DEBUG has the server say something.
    let debug = |client: &mut Client| client.raw_command(&[0x0d]).expect("an answer");
    debug(&mut client);
    let text = std::fs::read_to_string(file(&server, "errors.log")).expect("the log");
    assert!(text.contains(" 0 [Note] [MY-000000] [Server] Uptime: "), "{text}");
    std::fs::rename(file(&server, "errors.log"), file(&server, "errors.log.1")).expect("rename");
    run(&mut client, "FLUSH ERROR LOGS");
    run(&mut client, "SET GLOBAL log_error_verbosity = 2");
    debug(&mut client);
    assert_eq!(std::fs::read_to_string(file(&server, "errors.log")).expect("a new log"), "");
}

#[test]
fn waiting_for_locks_is_in_the_slow_log() {
    let server = start();
    let (mut client, mut other) = (connect(&server), connect(&server));
    run(&mut client, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1)");
    run(&mut client, "SET GLOBAL slow_query_log_file = 's.log', GLOBAL slow_query_log = ON");
    run(&mut client, "BEGIN; SELECT * FROM d.t FOR UPDATE");
    let waiting = std::thread::spawn(move || run(&mut other, "SET long_query_time = 0; DELETE FROM d.t WHERE id = 1"));
    let waiters = "SHOW STATUS LIKE 'Innodb_row_lock_current_waits'";
    super::wait_until("the wait for a lock", || {
        client.run(waiters).expect("a row")[0].1[0][1].as_deref() == Some(b"1".as_slice())
    });
    run(&mut client, "COMMIT");
    waiting.join().expect("no panic");
    let text = std::fs::read_to_string(file(&server, "s.log")).expect("the log");
    let entry = text.split("# Time: ").find(|entry| entry.contains("DELETE FROM")).expect("an entry");
    let (_, time) = entry.split_once("Lock_time: ").expect("a time");
    assert_ne!(time.split(' ').next(), Some("0.000000"), "{entry}");
    assert!(entry.contains("Rows_examined: 1\n"), "{entry}");
}

#[test]
fn the_general_log_knows_every_command() {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, "SET GLOBAL general_log_file = 'g.log', GLOBAL general_log = ON");
    run(
        &mut client,
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v BLOB); INSERT INTO d.t VALUES (1, '')",
    );
    let mut conn = server.connect();
    let by_key = conn.prep("SELECT v FROM d.t WHERE id = ? AND v <> ?").expect("prepared");
    for _ in 0..2 {
        conn.exec_drop(&by_key, (1, "it's\n☃")).expect("no row");
    }
    conn.exec_drop("INSERT INTO d.t VALUES (?, ?)", (2, vec![0xff_u8, 0x00])).expect("a row");
    conn.select_db("d").expect("the database");
    conn.ping().expect("an answer");
    drop(conn);
    let refused = ConnectOptions { user: "nobody".to_owned(), ..options(&server) };
    assert!(Client::connect(&refused).is_err());
    let seen = |text: &str, what: &str| text.contains(&format!(" {what}\n"));
    super::wait_until("Quit", || log_text(&server).contains(" Quit\t\n"));
    let text = log_text(&server);
    for what in [
        "Connect\troot@localhost on  using TCP/IP",
        "Prepare\tSELECT v FROM d.t WHERE id = ? AND v <> ?",
        "Execute\tSELECT v FROM d.t WHERE id = 1 AND v <> 'it\\'s\\n☃'",
        "Execute\tINSERT INTO d.t VALUES (2, x'FF00')",
        "Init DB\td",
        "Ping\t",
        "Connect\tAccess denied for user 'nobody'@'localhost' (using password: NO)",
    ] {
        assert!(seen(&text, what), "{what} is missing:\n{text}");
    }
}
