//! The protocol's commands, as the whole server answers them.

use super::{connect, options, run, start, value, wait_until};
use squall_client::{Client, ClientError, ConnectOptions, OwnedValue, PreparedStatement, QueryResult};
use squall_test_support::server::TestServer;
use squall_wire::constants::{Capabilities, StatusFlags, command_code};
use squall_wire::parameters::BinaryValue;

/// With and without EOF packets.
fn both_endings(server: &TestServer) -> [Client; 2] {
    let new = options(server);
    let old = ConnectOptions {
        capabilities: new.capabilities.difference(Capabilities::DEPRECATE_EOF | Capabilities::SESSION_TRACK),
        ..new.clone()
    };
    [new, old].map(|options| Client::connect(&options).expect("a connection"))
}

fn code<T: std::fmt::Debug>(result: Result<T, ClientError>) -> u16 {
    match result {
        Err(ClientError::Server(error)) => error.code,
        other => panic!("an error of the server was due, not {other:?}"),
    }
}

fn table(client: &mut Client) {
    run(client, "DROP DATABASE IF EXISTS d; CREATE DATABASE d; USE d");
    run(
        client,
        "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20), KEY (s)); INSERT INTO t VALUES (1, 'a'), (2, NULL), (3, 'c')",
    );
}

fn rows_of(client: &mut Client, statement: &PreparedStatement, parameters: &[BinaryValue<'_>]) -> Vec<Vec<OwnedValue>> {
    client.execute(statement, parameters, false).expect("an answer").2
}

#[test]
fn cursors_give_rows_in_pieces() {
    let server = start();
    for mut client in both_endings(&server) {
        table(&mut client);
        let statement = client.prepare("SELECT id, s FROM t WHERE id >= ? ORDER BY id").expect("a statement");
        let (ok, columns, rows) = client.execute(&statement, &[BinaryValue::Int(1)], true).expect("an answer");
        assert!(ok.status.contains(StatusFlags::CURSOR_EXISTS) && rows.is_empty());
        let (ok, rows) = client.fetch(&statement, &columns, 2).expect("rows");
        assert_eq!(rows[0], [OwnedValue::Int(1), OwnedValue::Bytes(b"a".to_vec())]);
        assert_eq!(rows[1], [OwnedValue::Int(2), OwnedValue::Null]);
        assert!(ok.status.contains(StatusFlags::CURSOR_EXISTS) && !ok.status.contains(StatusFlags::LAST_ROW_SENT));
        // The cursor does not see what comes later, and other statements do not disturb it.
        run(&mut client, "INSERT INTO t VALUES (4, 'd')");
        let (ok, rows) = client.fetch(&statement, &columns, 10).expect("rows");
        assert_eq!(rows, [[OwnedValue::Int(3), OwnedValue::Bytes(b"c".to_vec())]]);
        assert!(ok.status.contains(StatusFlags::LAST_ROW_SENT) && !ok.status.contains(StatusFlags::CURSOR_EXISTS));
        assert_eq!(code(client.fetch(&statement, &columns, 1)), 1243);

        client.execute(&statement, &[BinaryValue::Int(1)], true).expect("an answer");
        client.reset_statement(&statement).expect("a reset");
        assert_eq!(code(client.fetch(&statement, &columns, 1)), 1243, "a reset closes the cursor");
        client.close_statement(&statement).expect("a close");
        assert_eq!(code(client.execute(&statement, &[BinaryValue::Int(1)], false)), 1243);
        client.ping().expect("still there");
    }
}

#[test]
fn errors_of_prepared_statements_have_mysqls_words() {
    let server = start();
    let mut client = connect(&server);
    let missing = PreparedStatement { id: 77, parameters: Vec::new(), columns: Vec::new(), warning_count: 0 };
    let message = |result: Result<_, ClientError>| match result {
        Err(ClientError::Server(error)) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(()) => panic!("no error"),
    };
    let expected =
        |place: &str| format!("ERROR 1243 (HY000): Unknown prepared statement handler (77) given to {place}");
    assert_eq!(message(client.execute(&missing, &[], false).map(drop)), expected("mysqld_stmt_execute"));
    assert_eq!(message(client.fetch(&missing, &[], 1).map(drop)), expected("mysqld_stmt_fetch"));
    assert_eq!(message(client.reset_statement(&missing).map(drop)), expected("mysqld_stmt_reset"));
    assert_eq!(code(client.prepare("SELEC 1")), 1064);
    assert_eq!(code(client.prepare("")), 1065);
    assert_eq!(code(client.prepare("SELECT 1; SELECT 2")), 1064);
    assert_eq!(code(client.prepare("SELECT * FROM no_database.t")), 1049);
    client.ping().expect("still there");
}

#[test]
fn long_data_is_put_together() {
    let server = start();
    let mut client = connect(&server);
    table(&mut client);
    run(&mut client, "CREATE TABLE b (id INT, t LONGTEXT, b LONGBLOB)");
    let statement = client.prepare("INSERT INTO b VALUES (?, ?, ?)").expect("a statement");
    let piece = vec![b'p'; 1 << 20];
    for _ in 0..20 {
        client.send_long_data(&statement, 1, &piece).expect("sent");
    }
    client.send_long_data(&statement, 2, &[0, 255, 254]).expect("sent");
    let parameters = [BinaryValue::Int(1), BinaryValue::Null, BinaryValue::Null];
    client.execute(&statement, &parameters, false).expect("an answer");
    assert_eq!(value(&mut client, "SELECT LENGTH(t) FROM b"), (20 << 20).to_string());
    assert_eq!(value(&mut client, "SELECT HEX(b) FROM b"), "00FFFE");
    // It is used once; a parameter that is in the packet needs none.
    let parameters = [BinaryValue::Int(2), BinaryValue::Bytes(b"short"), BinaryValue::Null];
    client.execute(&statement, &parameters, false).expect("an answer");
    assert_eq!(value(&mut client, "SELECT CONCAT(t, b IS NULL) FROM b WHERE id = 2"), "short1");
    // Forgotten by a reset.
    client.send_long_data(&statement, 1, b"forgotten").expect("sent");
    client.reset_statement(&statement).expect("a reset");
    let parameters = [BinaryValue::Int(3), BinaryValue::Bytes(b"kept"), BinaryValue::Null];
    client.execute(&statement, &parameters, false).expect("an answer");
    assert_eq!(value(&mut client, "SELECT t FROM b WHERE id = 3"), "kept");
    // More than `max_allowed_packet` is refused when the statement is executed.
    for _ in 0..65 {
        client.send_long_data(&statement, 1, &piece).expect("sent");
    }
    let parameters = [BinaryValue::Int(4), BinaryValue::Null, BinaryValue::Null];
    let refused = client.execute(&statement, &parameters, false);
    assert!([1105, 1153].contains(&code(refused)));
    client.ping().expect("still there");
    // A parameter that the statement does not have.
    client.send_long_data(&statement, 9, b"x").expect("sent");
    client.ping().expect("still there");
}

#[test]
fn parameters_change_their_types_between_executions() {
    let server = start();
    let mut client = connect(&server);
    let statement = client.prepare("SELECT ?").expect("a statement");
    for parameter in [
        BinaryValue::Int(-7),
        BinaryValue::UInt(u64::MAX),
        BinaryValue::Double(0.5),
        BinaryValue::Bytes(b"text"),
        BinaryValue::Null,
    ] {
        let rows = rows_of(&mut client, &statement, &[parameter]);
        let shown = match &rows[0][0] {
            OwnedValue::Int(number) => number.to_string(),
            OwnedValue::UInt(number) => number.to_string(),
            OwnedValue::Double(number) => number.to_string(),
            OwnedValue::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => format!("{other:?}"),
        };
        let given = match parameter {
            BinaryValue::Int(number) => number.to_string(),
            BinaryValue::UInt(number) => number.to_string(),
            BinaryValue::Double(number) => number.to_string(),
            BinaryValue::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!(shown, given);
    }
}

#[test]
fn reset_connection_makes_the_session_new() {
    let server = start();
    let mut client = connect(&server);
    table(&mut client);
    let id = client.connection_id();
    let statement = client.prepare("SELECT 1").expect("a statement");
    run(&mut client, "SET @a = 5, sql_mode = '', autocommit = 0; CREATE TEMPORARY TABLE tmp (a INT)");
    run(&mut client, "PREPARE p FROM 'SELECT 1'; DO GET_LOCK('l', 0); SELECT 1 / 0; INSERT INTO t VALUES (9, 'x')");
    client.simple_command(command_code::RESET_CONNECTION, b"").expect("a reset");
    assert_eq!(client.connection_id(), id);
    assert_eq!(value(&mut client, "SELECT @a"), "NULL");
    assert_eq!(value(&mut client, "SELECT @@autocommit"), "1");
    assert_eq!(value(&mut client, "SELECT @@sql_mode LIKE '%STRICT%'"), "1");
    assert_eq!(value(&mut client, "SELECT DATABASE()"), "d", "the default database stays");
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t WHERE id = 9"), "0", "the transaction is rolled back");
    assert_eq!(code(client.run("SELECT * FROM tmp")), 1146);
    assert_eq!(code(client.run("EXECUTE p")), 1243);
    assert_eq!(code(client.execute(&statement, &[], false)), 1243);
    assert_eq!(value(&mut client, "SELECT IS_FREE_LOCK('l')"), "1");
    assert_eq!(value(&mut client, "SELECT LAST_INSERT_ID()"), "0");
}

#[test]
fn change_user_makes_another_session_on_the_same_connection() {
    let server = start();
    let mut client = connect(&server);
    table(&mut client);
    run(&mut client, "CREATE USER native@localhost IDENTIFIED WITH mysql_native_password BY 'pw'");
    run(
        &mut client,
        "CREATE USER sha2@localhost IDENTIFIED WITH caching_sha2_password BY 'pw'; GRANT SELECT ON d.* TO sha2@localhost",
    );
    let id = value(&mut client, "SELECT CONNECTION_ID()");
    run(&mut client, "SET @a = 5; BEGIN; DELETE FROM t");
    client.change_user("sha2", "pw", "d").expect("another user");
    assert_eq!(value(&mut client, "SELECT CONCAT(CURRENT_USER(), ' ', DATABASE())"), "sha2@localhost d");
    assert_eq!(value(&mut client, "SELECT @a"), "NULL");
    assert_eq!(value(&mut client, "SELECT CONNECTION_ID()"), id);
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t"), "3", "the transaction was rolled back");
    assert_eq!(code(client.run("DELETE FROM t")), 1142);
    client.change_user("native", "pw", "").expect("another user");
    assert_eq!(value(&mut client, "SELECT CURRENT_USER()"), "native@localhost");
    assert_eq!(value(&mut client, "SELECT DATABASE()"), "NULL");
    match client.change_user("sha2", "wrong", "") {
        Err(ClientError::Server(error)) => assert_eq!(
            error.to_string(),
            "ERROR 1873 (28000): Access denied trying to change to user 'sha2'@'localhost' (using password: YES). Disconnecting."
        ),
        other => panic!("{other:?}"),
    }
    assert!(client.ping().is_err());
}

#[test]
fn field_list_describes_a_table() {
    let server = start();
    for mut client in both_endings(&server) {
        table(&mut client);
        // One column matches; EOF comes after it.
        let first = client.raw_command(b"\x04t\0s").expect("a definition");
        assert_eq!(&first[..4], b"\x03def");
        let text = String::from_utf8_lossy(&first);
        assert!(text.contains("\u{1}d\u{1}t\u{1}t\u{1}s\u{1}s"), "{text:?}");
        let sequence = 2;
        assert_eq!(client.read_raw(sequence).expect("an end")[0], 0xfe);
        let refused = client.raw_command(b"\x04nothing\0").expect("an answer");
        assert_eq!(u16::from_le_bytes([refused[1], refused[2]]), 1146);
        client.ping().expect("still there");
    }
}

#[test]
fn statistics_is_one_line_and_no_packet_of_results() {
    let server = start();
    let mut client = connect(&server);
    // The connection that saw the server come up may take a moment to be gone.
    wait_until("one thread", || client.statistics().expect("a line").contains("Threads: 1 "));
    let line = client.statistics().expect("a line");
    for word in ["Uptime: ", "Questions: ", "Slow queries: ", "Opens: ", "Flush tables: ", "Queries per second avg: "] {
        assert!(line.contains(word), "{line}");
    }
}

#[test]
fn a_statement_that_is_only_prepared_is_no_question() {
    let server = start();
    let mut client = connect(&server);
    let status = |client: &mut Client, name: &str| -> u64 {
        let sql =
            format!("SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME = '{name}'");
        value(client, &sql).parse().expect("a number")
    };
    let names = ["Questions", "Queries", "Com_stmt_prepare"];
    let before = names.map(|name| status(&mut client, name));
    let statement = client.prepare("SELECT 1 + ?").expect("a statement");
    client.close_statement(&statement).expect("closed");
    let after = names.map(|name| status(&mut client, name));
    // Each question about a counter is one itself.
    assert_eq!([after[0] - before[0], after[2] - before[2]], [3, 1]);
    assert!(after[1] - before[1] > after[0] - before[0], "what is prepared is one of Queries: {before:?} {after:?}");
}

#[test]
fn several_statements_and_the_switch_for_them() {
    let server = start();
    for mut client in both_endings(&server) {
        table(&mut client);
        let results = client
            .run("SELECT 1; INSERT INTO t VALUES (10, 'x'), (11, 'y'); SELECT COUNT(*) FROM t;")
            .expect("answers");
        assert_eq!(results.len(), 3);
        let QueryResult::Ok(ok) = &results[1].0 else { panic!("an OK was due") };
        assert_eq!(ok.affected_rows, 2);
        assert!(ok.status.contains(StatusFlags::MORE_RESULTS_EXISTS));
        assert_eq!(results[2].1[0][0].as_deref(), Some(&b"5"[..]));
        // The first error ends the list; what came before it has happened.
        assert_eq!(
            code(client.run("INSERT INTO t VALUES (12, 'z'); SELECT nothing; INSERT INTO t VALUES (13, 'z')")),
            1054
        );
        assert_eq!(value(&mut client, "SELECT MAX(id) FROM t"), "12");
        // A syntax error in the second statement is found when it runs.
        assert_eq!(code(client.run("DELETE FROM t WHERE id = 12; SELEC 1")), 1064);
        assert_eq!(value(&mut client, "SELECT MAX(id) FROM t"), "11");
        client.simple_command(command_code::SET_OPTION, &[1, 0]).expect("an option");
        assert_eq!(code(client.run("SELECT 1; SELECT 2")), 1064);
        client.simple_command(command_code::SET_OPTION, &[0, 0]).expect("an option");
        assert_eq!(client.run("SELECT 1; SELECT 2").expect("answers").len(), 2);
    }
    let single = options(&server);
    let capabilities = single.capabilities.difference(Capabilities::MULTI_STATEMENTS);
    let mut client = Client::connect(&ConnectOptions { capabilities, ..single }).expect("a connection");
    assert_eq!(code(client.run("SELECT 1; SELECT 2")), 1064);
    run(&mut client, "SELECT 1;");
}

#[test]
fn session_state_is_tracked() {
    let server = start();
    let mut client = connect(&server);
    table(&mut client);
    let ok_of = |client: &mut Client, sql: &str| match client.run(sql).expect(sql).remove(0).0 {
        QueryResult::Ok(ok) => ok,
        QueryResult::Rows(_) => client.last_ok().clone(),
    };
    let ok = ok_of(&mut client, "USE mysql");
    assert!(ok.status.contains(StatusFlags::SESSION_STATE_CHANGED));
    assert_eq!(ok.schema.as_deref(), Some("mysql"));
    assert_eq!(client.use_database("d").expect("a database").schema.as_deref(), Some("d"));
    let ok = ok_of(&mut client, "SET autocommit = 0");
    assert_eq!(ok.variables, [("autocommit".to_owned(), "OFF".to_owned())]);
    assert!(!ok.status.contains(StatusFlags::AUTOCOMMIT));
    assert!(ok_of(&mut client, "SET sql_notes = 0").variables.is_empty(), "not in session_track_system_variables");
    let ok = ok_of(&mut client, "SET NAMES latin1");
    let names: Vec<&str> = ok.variables.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["character_set_client", "character_set_connection", "character_set_results"]);
    assert_eq!(ok.variables[0].1, "latin1");
    run(&mut client, "SET autocommit = 1; SET session_track_system_variables = '*'");
    let ok = ok_of(&mut client, "SET sql_notes = 1");
    assert_eq!(ok.variables, [("sql_notes".to_owned(), "ON".to_owned())]);
    run(&mut client, "SET session_track_state_change = 1");
    assert!(ok_of(&mut client, "SET @a = 1").state_changed);
    assert!(!ok_of(&mut client, "DO 1").state_changed);
    run(&mut client, "SET session_track_transaction_info = 'CHARACTERISTICS'");
    let ok = ok_of(&mut client, "START TRANSACTION READ ONLY");
    assert_eq!(ok.transaction_state.as_deref(), Some("T_______"));
    assert_eq!(ok.transaction_characteristics.as_deref(), Some("START TRANSACTION READ ONLY;"));
    assert!(ok.status.contains(StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY));
    let ok = ok_of(&mut client, "COMMIT");
    assert_eq!(ok.transaction_state.as_deref(), Some("________"));
    assert!(!ok.status.contains(StatusFlags::IN_TRANS));
}

#[test]
fn packets_over_16_megabytes_go_both_ways() {
    let server = start();
    for mut client in both_endings(&server) {
        for length in [(1 << 24) - 2, (1 << 24) - 1, 1 << 24, (1 << 25) - 1, 40 << 20] {
            let text = "y".repeat(length);
            assert_eq!(value(&mut client, &format!("SELECT LENGTH('{text}')")), length.to_string());
            assert_eq!(value(&mut client, &format!("SELECT '{text}'")).len(), length);
            let statement = client.prepare("SELECT ?").expect("a statement");
            let rows = rows_of(&mut client, &statement, &[BinaryValue::Bytes(text.as_bytes())]);
            assert_eq!(rows[0][0], OwnedValue::Bytes(text.into_bytes()));
            client.close_statement(&statement).expect("a close");
        }
    }
}

#[test]
fn connection_attributes_can_be_read() {
    let server = start();
    let attributes = vec![("program_name".to_owned(), "test ☃".to_owned()), ("_pid".to_owned(), "1".to_owned())];
    let mut client = Client::connect(&ConnectOptions { attributes, ..options(&server) }).expect("a connection");
    let sql = "SELECT GROUP_CONCAT(CONCAT(attr_name, '=', attr_value) ORDER BY ordinal_position) \
               FROM performance_schema.session_connect_attrs WHERE processlist_id = CONNECTION_ID()";
    assert_eq!(value(&mut client, sql), "program_name=test ☃,_pid=1");
}

#[test]
fn warnings_are_counted() {
    let server = start();
    for mut client in both_endings(&server) {
        table(&mut client);
        run(&mut client, "CREATE TABLE n (a TINYINT)");
        run(&mut client, "SELECT CAST('1x' AS SIGNED), CAST('2y' AS SIGNED)");
        assert_eq!(client.last_ok().warning_count, 2);
        let results = client.run("INSERT IGNORE INTO n VALUES (1000), (-1000), (1)").expect("an answer");
        let QueryResult::Ok(ok) = &results[0].0 else { panic!("an OK was due") };
        assert_eq!((ok.affected_rows, ok.warning_count), (3, 2));
        assert_eq!(ok.info, "Records: 3  Duplicates: 0  Warnings: 2");
        assert_eq!(value(&mut client, "SELECT @@warning_count"), "2");
        run(&mut client, "SELECT 1");
        assert_eq!(client.last_ok().warning_count, 0);
        let statement = client.prepare("SELECT CAST(? AS SIGNED)").expect("a statement");
        let (ok, _, _) = client.execute(&statement, &[BinaryValue::Bytes(b"3z")], false).expect("an answer");
        assert_eq!(ok.warning_count, 1);
        run(&mut client, "DROP TABLE IF EXISTS nothing, nothing2");
        assert_eq!(value(&mut client, "SELECT @@warning_count"), "2");
        assert_eq!(code(client.run("SELECT nothing")), 1054);
        assert_eq!(value(&mut client, "SELECT @@error_count"), "1");
    }
}

#[test]
fn found_rows_are_counted_as_the_client_wants() {
    let server = start();
    let plain = options(&server);
    let found = ConnectOptions { capabilities: plain.capabilities | Capabilities::FOUND_ROWS, ..plain.clone() };
    for (options, expected) in [(plain, 0), (found, 1)] {
        let mut client = Client::connect(&options).expect("a connection");
        table(&mut client);
        let results = client.run("UPDATE t SET s = 'a' WHERE id = 1").expect("an answer");
        let QueryResult::Ok(ok) = &results[0].0 else { panic!("an OK was due") };
        assert_eq!(ok.affected_rows, expected);
        assert_eq!(ok.info, "Rows matched: 1  Changed: 0  Warnings: 0");
    }
}

#[test]
fn malformed_packets_are_errors_and_nothing_else() {
    let server = start();
    let mut client = connect(&server);
    table(&mut client);
    let statement = client.prepare("SELECT ?, ?").expect("a statement");
    let id = statement.id.to_le_bytes();
    for (code_byte, body) in [
        (command_code::STMT_EXECUTE, vec![]),
        (command_code::STMT_EXECUTE, [&id[..], &[0, 1, 0, 0, 0]].concat()),
        (command_code::STMT_EXECUTE, [&id[..], &[0, 1, 0, 0, 0, 0]].concat()),
        (
            command_code::STMT_EXECUTE,
            [&id[..], &[0, 1, 0, 0, 0, 0, 1, 253, 0, 253, 0, 0xfe, 255, 255, 255, 255, 255, 255, 255, 255]].concat(),
        ),
        (command_code::STMT_EXECUTE, [&id[..], &[0, 1, 0, 0, 0, 0, 1, 12, 0, 12, 0, 200]].concat()),
        (command_code::STMT_FETCH, vec![1]),
        (command_code::STMT_RESET, vec![1, 2]),
        (command_code::PROCESS_KILL, vec![1]),
        (command_code::SET_OPTION, vec![]),
        (command_code::CHANGE_USER, vec![b'x'; 3]),
        (0x1d, vec![]),
        (0xff, vec![0; 100]),
    ] {
        match client.simple_command(code_byte, &body) {
            Err(ClientError::Server(error)) => {
                assert!([1047, 1835, 1210, 1243].contains(&error.code), "{code_byte:x} {body:?}: {error}");
            }
            other => panic!("{code_byte:x} {body:?}: {other:?}"),
        }
    }
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t"), "3");
    // Bytes that are no text in the connection's character set.
    client.query(b"SELECT '\xff\xfe', \xff").expect("sent");
    assert!(client.next_result().is_err());
    client.query(b"SELECT HEX(_binary'\xff\xfe')").expect("sent");
    client.next_result().expect("a result");
    assert_eq!(client.next_row().expect("a row"), Some(vec![Some(b"FFFE".to_vec())]));
    assert_eq!(client.next_row().expect("the end"), None);
    // Dumps have the values of binary columns so; columns of text refuse them.
    client.query(b"CREATE TABLE bytes (id INT PRIMARY KEY, b BINARY(2), s VARCHAR(2))").expect("sent");
    client.next_result().expect("an answer");
    client.query(b"INSERT INTO bytes VALUES (1, '\xff\xfe', 'a'), (2, '\x80\0', 'b')").expect("sent");
    client.next_result().expect("an answer");
    assert_eq!(value(&mut client, "SELECT GROUP_CONCAT(HEX(b) ORDER BY id) FROM bytes"), "FFFE,8000");
    client.query(b"SET @bytes = '\xff\xfe'").expect("sent");
    client.next_result().expect("an answer");
    assert_eq!(value(&mut client, "SELECT HEX(@bytes)"), "FFFE");
    for refused in [&b"INSERT INTO bytes VALUES (3, 'a', '\xff')"[..], b"CALL async.queue('SELECT \xff')"] {
        client.query(refused).expect("sent");
        match client.next_result() {
            Err(ClientError::Server(error)) => assert_eq!(error.code, 1366, "{error}"),
            other => panic!("{other:?}"),
        }
    }
}
