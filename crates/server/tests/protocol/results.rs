//! Results by text and in binary, in both endings.

use squall_client::{Client, ConnectOptions, OwnedValue, QueryResult};
use squall_wire::constants::{Capabilities, ColumnFlags, ColumnType, StatusFlags};
use squall_wire::parameters::BinaryValue;

use crate::backend::{TestServer, code};

/// With and without EOF packets.
fn both_endings(server: &TestServer) -> [Client; 2] {
    let options = server.options();
    let old = ConnectOptions {
        capabilities: options.capabilities.difference(Capabilities::DEPRECATE_EOF | Capabilities::SESSION_TRACK),
        ..options.clone()
    };
    [options, old].map(|options| Client::connect(&options).expect("a connection"))
}

#[test]
fn every_type_by_text() {
    let server = TestServer::start();
    for mut client in both_endings(&server) {
        let results = client.run("types").expect("an answer");
        let texts: Vec<_> =
            results[0].1[0].iter().map(|value| value.as_ref().map(|it| String::from_utf8_lossy(it))).collect();
        let texts: Vec<_> = texts.iter().map(|text| text.as_deref().unwrap_or("NULL")).collect();
        assert_eq!(
            texts,
            [
                "-5",
                "65535",
                "-8388608",
                "4000000000",
                "18446744073709551615",
                "000042",
                "-12.30",
                "0.5",
                "1e20",
                "\n\u{fffd}",
                "2026",
                "2026-11-21",
                "-01:01:01.500",
                "2026-11-21 01:02:03.000004",
                "2026-11-21 01:02:03",
                "grün",
                "\0\u{fffd}",
                "long text",
                "a",
                "{\"a\": 1}",
                "NULL"
            ]
        );
    }
}

#[test]
fn every_type_in_binary() {
    let server = TestServer::start();
    for mut client in both_endings(&server) {
        let statement = client.prepare("types").expect("a statement");
        assert_eq!(statement.columns.len(), 21);
        let (_, columns, rows) = client.execute(&statement, &[], false).expect("an answer");
        assert_eq!(columns, statement.columns);
        let datetime =
            |micros| OwnedValue::DateTime { year: 2026, month: 11, day: 21, hour: 1, minute: 2, second: 3, micros };
        assert_eq!(
            rows[0],
            [
                OwnedValue::Int(-5),
                OwnedValue::UInt(65_535),
                OwnedValue::Int(-8_388_608),
                OwnedValue::UInt(4_000_000_000),
                OwnedValue::UInt(u64::MAX),
                OwnedValue::UInt(42),
                OwnedValue::Bytes(b"-12.30".to_vec()),
                OwnedValue::Float(0.5),
                OwnedValue::Double(1e20),
                OwnedValue::Bytes(vec![0x0a, 0xbc]),
                OwnedValue::UInt(2026),
                OwnedValue::DateTime { year: 2026, month: 11, day: 21, hour: 0, minute: 0, second: 0, micros: 0 },
                OwnedValue::Time { negative: true, hours: 1, minute: 1, second: 1, micros: 500_000 },
                datetime(4),
                datetime(0),
                OwnedValue::Bytes("grün".as_bytes().to_vec()),
                OwnedValue::Bytes(vec![0, 255]),
                OwnedValue::Bytes(b"long text".to_vec()),
                OwnedValue::Bytes(b"a".to_vec()),
                OwnedValue::Bytes(b"{\"a\": 1}".to_vec()),
                OwnedValue::Null,
            ]
        );
    }
}

#[test]
fn column_metadata_is_complete() {
    let server = TestServer::start();
    let mut client = server.connect();
    let results = client.run("one").expect("an answer");
    let QueryResult::Rows(columns) = &results[0].0 else {
        panic!("a result set was due");
    };
    let column = &columns[0];
    assert_eq!((column.schema.as_str(), column.table.as_str(), column.org_table.as_str()), ("db", "alias", "t"));
    assert_eq!((column.name.as_str(), column.org_name.as_str()), ("id", "ID"));
    assert_eq!((column.column_type, column.collation, column.length), (ColumnType::LongLong, 63, 20));
    assert_eq!(column.flags, ColumnFlags::NOT_NULL | ColumnFlags::PRI_KEY | ColumnFlags::PART_KEY);
}

#[test]
fn text_is_converted_for_clients_of_other_character_sets() {
    let server = TestServer::start();
    let options = ConnectOptions { user: "native".to_owned(), password: "pw".to_owned(), ..server.options() };
    let mut client = Client::connect(&options).expect("a connection");
    let results = client.run("types").expect("an answer");
    assert_eq!(results[0].1[0][15].as_deref(), Some(&b"gr\xfcn"[..]));
    let QueryResult::Rows(columns) = &results[0].0 else {
        panic!("a result set was due");
    };
    assert_eq!((columns[15].collation, columns[15].length), (8, 20));
}

#[test]
fn ok_says_everything() {
    let server = TestServer::start();
    for mut client in both_endings(&server) {
        let results = client.run("ok").expect("an answer");
        let QueryResult::Ok(ok) = &results[0].0 else {
            panic!("an OK packet was due");
        };
        assert_eq!((ok.affected_rows, ok.last_insert_id, ok.warning_count), (3, 9, 2));
        assert_eq!(ok.info, "Records: 3");
        assert_eq!(ok.status, StatusFlags::AUTOCOMMIT);
    }
}

#[test]
fn several_results_follow_each_other() {
    let server = TestServer::start();
    for mut client in both_endings(&server) {
        let results = client.run("two").expect("an answer");
        assert_eq!(results.len(), 2);
        assert!(matches!(results[1].0, QueryResult::Ok(_)));
        client.ping().expect("still there");
    }
}

#[test]
fn an_error_within_a_row_ends_the_result() {
    let server = TestServer::start();
    for mut client in both_endings(&server) {
        assert_eq!(code(client.run("fail_in_row")), 1365);
        client.ping().expect("still there");
    }
}

#[test]
fn rows_and_statements_over_16_megabytes() {
    let server = TestServer::start();
    let mut client = server.connect();
    for length in [(16 << 20) - 6, (16 << 20) - 5, 1 << 24, 33 << 20] {
        let results = client.run(&format!("big {length}")).expect("an answer");
        assert_eq!(results[0].1[0][0].as_ref().map(Vec::len), Some(length));
    }
    let statement = format!("length {}", "x".repeat(33 << 20));
    let results = client.run(&statement).expect("an answer");
    assert_eq!(results[0].1[0][0].as_deref(), Some(statement.len().to_string().as_bytes()));
}

#[test]
fn session_state_is_tracked() {
    let server = TestServer::start();
    let mut client = server.connect();
    let results = client.run("track").expect("an answer");
    let QueryResult::Ok(ok) = &results[0].0 else {
        panic!("an OK packet was due");
    };
    assert!(ok.status.contains(StatusFlags::SESSION_STATE_CHANGED));
    assert_eq!(ok.schema.as_deref(), Some("shop"));
    assert_eq!(ok.variables, [("autocommit".to_owned(), "OFF".to_owned())]);
    assert_eq!(client.use_database("x").expect("a database").schema.as_deref(), Some("x"));
}

#[test]
fn cursors_send_rows_as_they_are_fetched() {
    let server = TestServer::start();
    for mut client in both_endings(&server) {
        let statement = client.prepare("count").expect("a statement");
        let (ok, columns, rows) = client.execute(&statement, &[], true).expect("an answer");
        assert!(ok.status.contains(StatusFlags::CURSOR_EXISTS));
        assert!(rows.is_empty());
        let (ok, rows) = client.fetch(&statement, &columns, 3).expect("rows");
        assert_eq!(rows, [0, 1, 2].map(|number| vec![OwnedValue::Int(number)]));
        assert!(!ok.status.contains(StatusFlags::LAST_ROW_SENT));
        let (ok, rows) = client.fetch(&statement, &columns, 3).expect("rows");
        assert_eq!(rows.len(), 2);
        assert!(ok.status.contains(StatusFlags::LAST_ROW_SENT));
        client.reset_statement(&statement).expect("a reset");
        client.close_statement(&statement).expect("a close");
        assert_eq!(code(client.fetch(&statement, &columns, 1)), 1243);
    }
}

#[test]
fn parameters_of_every_type_and_long_data() {
    let server = TestServer::start();
    let mut client = server.connect();
    let statement = client.prepare("echo ???????").expect("a statement");
    assert_eq!(statement.parameters.len(), 7);
    client.send_long_data(&statement, 6, b"long ").expect("sent");
    client.send_long_data(&statement, 6, b"data").expect("sent");
    let parameters = [
        BinaryValue::Int(-1),
        BinaryValue::UInt(u64::MAX),
        BinaryValue::Double(0.5),
        BinaryValue::Bytes("grün".as_bytes()),
        BinaryValue::Null,
        BinaryValue::Time { negative: true, hours: 1, minute: 0, second: 0, micros: 1 },
    ];
    // The last one is in the long data, not in the packet.
    let packet_parameters = [&parameters[..], &[BinaryValue::Null]].concat();
    let (_, _, rows) = client.execute(&statement, &packet_parameters, false).expect("an answer");
    let texts: Vec<_> = rows
        .iter()
        .map(|row| match &row[0] {
            OwnedValue::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => panic!("text was due, not {other:?}"),
        })
        .collect();
    assert_eq!(texts[0], "Int(-1)");
    assert_eq!(texts[1], "UInt(18446744073709551615)");
    assert_eq!(texts[2], "Double(0.5)");
    assert_eq!(texts[3], "String(\"grün\")");
    assert_eq!(texts[4], "Null");
    assert_eq!(texts[6], "String(\"long data\")");
}

#[test]
fn local_files_are_sent() {
    let server = TestServer::start();
    let path = server.directory.path().join("data.csv");
    std::fs::write(&path, vec![b'x'; 1_000_000]).expect("a file");
    let mut client = server.connect();
    let statement = format!("infile {}", path.display());
    let results = client.run(&statement).expect("an answer");
    let QueryResult::Ok(ok) = &results[0].0 else {
        panic!("an OK packet was due");
    };
    assert_eq!(ok.affected_rows, 1_000_000);
    assert_eq!(code(client.run(&statement.replace("infile", "infile_fails"))), 1365);
    assert_eq!(code(client.run("infile /no/such/file")), 2);
    client.ping().expect("still there");

    let options = server.options();
    let capabilities = options.capabilities.difference(Capabilities::LOCAL_FILES);
    let mut client = Client::connect(&ConnectOptions { capabilities, ..options }).expect("a connection");
    assert_eq!(code(client.run(&statement)), 3948);
}
