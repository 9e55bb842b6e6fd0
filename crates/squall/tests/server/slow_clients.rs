//! Slow clients: they read their answers, or send their commands, slowly.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use squall_client::{Client, ConnectOptions, Target};
use squall_test_support::server::TestServer;
use squall_wire::constants::{Capabilities, command_code};

use super::{connect, run, start, value, wait_until};

/// A client, and its socket for bytes that it does not know of.
fn connect_with_socket(server: &TestServer) -> (Client, UnixStream) {
    let path = server.data_directory().with_file_name("s.sock");
    let socket = UnixStream::connect(&path).expect("the server's socket");
    let raw = socket.try_clone().expect("a second descriptor");
    let options = ConnectOptions::new(Target::Unix(path));
    let capabilities = options.capabilities | Capabilities::LOCAL_FILES;
    let client = Client::connect_over(socket, &ConnectOptions { capabilities, ..options });
    (client.unwrap_or_else(|error| panic!("{error}")), raw)
}

/// Some 20 MB in rows of half a kilobyte and of ten, and a table to lock.
fn tables(client: &mut Client) {
    run(client, "CREATE DATABASE d; USE d; CREATE TABLE n (i INT PRIMARY KEY)");
    let numbers: Vec<String> = (0..200).map(|number| format!("({number})")).collect();
    run(client, &format!("INSERT INTO n VALUES {}", numbers.join(",")));
    run(client, "CREATE TABLE narrow (id INT PRIMARY KEY, filler VARCHAR(600) NOT NULL)");
    run(client, "INSERT INTO narrow SELECT a.i * 200 + b.i, REPEAT('x', 500) FROM n a, n b");
    run(client, "CREATE TABLE wide (id INT PRIMARY KEY, filler TEXT NOT NULL)");
    run(client, "INSERT INTO wide SELECT a.i * 200 + b.i, REPEAT('x', 10000) FROM n a, n b WHERE a.i < 10");
    run(client, "CREATE TABLE l (id INT PRIMARY KEY, v INT); INSERT INTO l VALUES (1, 0)");
}

const RESULT: &str = "SELECT * FROM narrow";

/// Waits until the connection is no more.
fn wait_until_gone(observer: &mut Client, id: u32) {
    let sql = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id}");
    wait_until("the connection is gone", || value(observer, &sql) == "0");
}

/// Memory of the server when it grows no more.
fn settled_bytes(server: &TestServer) -> u64 {
    let (mut last, mut same) = (0, 0);
    wait_until("memory settles", || {
        let now = server.resident_bytes().unwrap_or_default();
        same = if now.abs_diff(last) < 1 << 20 { same + 1 } else { 0 };
        last = now;
        same == 100
    });
    last
}

/// A client that has changed a row and now reads nothing of a long result.
fn slow_reader(server: &TestServer) -> Client {
    let mut slow = connect(server);
    run(&mut slow, "USE d; BEGIN; UPDATE l SET v = v + 1");
    slow.query(RESULT).expect("sent");
    slow.next_result().expect("columns");
    slow
}

#[test]
fn slow_readers_take_little_memory() {
    const READERS: usize = 100;
    let server = start();
    let mut observer = connect(&server);
    tables(&mut observer);
    for query in [RESULT, "SELECT * FROM wide", "SELECT id, UPPER(filler) FROM wide WHERE id >= 0 LIMIT 10000"] {
        let before = settled_bytes(&server);
        let readers: Vec<Client> = (0..READERS)
            .map(|_| {
                let mut reader = connect(&server);
                run(&mut reader, "USE d");
                reader.query(query).expect("sent");
                reader.next_result().expect("columns");
                reader
            })
            .collect();
        let each = settled_bytes(&server).saturating_sub(before) / READERS as u64;
        assert!(each < 1 << 20, "{query}: {} KB each", each >> 10);
        // Others are served, and the rows are all there when they are wanted.
        assert_eq!(value(&mut observer, "SELECT COUNT(*) FROM narrow WHERE filler > 'a'"), "40000");
        for mut reader in readers.into_iter().take(1) {
            let mut rows = 0;
            while reader.next_row().expect("a row").is_some() {
                rows += 1;
            }
            assert!([2000, 40_000].contains(&rows), "{rows}");
        }
    }
}

#[test]
fn commands_of_a_client_that_reads_nothing_wait() {
    let server = start();
    let mut observer = connect(&server);
    let (client, mut socket) = connect_with_socket(&server);
    let before = settled_bytes(&server);
    let statement = b"SELECT REPEAT('x', 10000)";
    let packet = [&[statement.len() as u8 + 1, 0, 0, 0, command_code::QUERY][..], statement].concat();
    let mut sender = socket.try_clone().expect("a second descriptor");
    // A hundred thousand times 10 KB, if all were made. Ends with an error when the socket is closed.
    let writer = std::thread::spawn(move || sender.write_all(&packet.repeat(100_000)));
    let grown = settled_bytes(&server).saturating_sub(before);
    assert!(grown < 32 << 20, "{} MB", grown >> 20);
    assert_eq!(value(&mut observer, "SELECT 1"), "1");
    run(&mut observer, &format!("KILL {}", client.connection_id()));
    wait_until_gone(&mut observer, client.connection_id());
    assert!(writer.join().expect("no panic").is_err());
    let mut rest = Vec::new();
    // What was on its way is read to the end of the connection, however that ended.
    let _ended = socket.read_to_end(&mut rest);
    assert!(rest.len() < 16 << 20, "{}", rest.len());
}

#[test]
fn kill_ends_a_client_that_does_not_read() {
    let server = start();
    let mut observer = connect(&server);
    tables(&mut observer);
    run(&mut observer, "SET GLOBAL net_write_timeout = 100000");
    let slow = slow_reader(&server);
    run(&mut observer, &format!("KILL {}", slow.connection_id()));
    wait_until_gone(&mut observer, slow.connection_id());
    // Its transaction is rolled back and its lock is free.
    run(&mut observer, "UPDATE l SET v = v + 10");
    assert_eq!(value(&mut observer, "SELECT v FROM l"), "10");
}

#[test]
fn a_client_that_does_not_read_is_given_up() {
    let server = start();
    let mut observer = connect(&server);
    tables(&mut observer);
    let mut slow = connect(&server);
    run(&mut slow, "SET net_write_timeout = 1; USE d; BEGIN; UPDATE l SET v = v + 1");
    slow.query(RESULT).expect("sent");
    wait_until_gone(&mut observer, slow.connection_id());
    run(&mut observer, "UPDATE l SET v = v + 10");
    assert_eq!(value(&mut observer, "SELECT v FROM l"), "10");
    // What had been sent is there, the end of the result is not.
    slow.next_result().expect("columns");
    let ended = std::iter::from_fn(|| slow.next_row().transpose()).any(|row| row.is_err());
    assert!(ended, "the whole result came");
}

#[test]
fn half_a_packet_is_not_waited_for() {
    let server = start();
    let mut observer = connect(&server);
    tables(&mut observer);
    let (mut client, mut socket) = connect_with_socket(&server);
    run(&mut client, "SET net_read_timeout = 1; USE d; BEGIN; UPDATE l SET v = v + 1");
    let id = client.connection_id();
    socket.write_all(&[100, 0, 0, 0, command_code::QUERY, b'S']).expect("sent");
    wait_until_gone(&mut observer, id);
    run(&mut observer, "UPDATE l SET v = v + 10");
    assert_eq!(value(&mut observer, "SELECT v FROM l"), "10");
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).expect("a goodbye");
    assert_eq!(u16::from_le_bytes([rest[5], rest[6]]), 4031);
    // A client that has begun nothing may take `wait_timeout`.
    let (mut idle, _) = connect_with_socket(&server);
    run(&mut idle, "SET net_read_timeout = 1");
    let (mut other, mut socket) = connect_with_socket(&server);
    run(&mut other, "SET net_read_timeout = 1");
    socket.write_all(&[100]).expect("sent");
    wait_until_gone(&mut observer, other.connection_id());
    assert_eq!(value(&mut idle, "SELECT 1"), "1");
}

#[test]
fn a_file_that_does_not_come_is_not_waited_for() {
    let server = start();
    let mut observer = connect(&server);
    run(&mut observer, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); SET GLOBAL local_infile = 1");
    for killed in [true, false] {
        let (mut client, _) = connect_with_socket(&server);
        let patience = if killed { 100_000 } else { 1 };
        run(&mut client, &format!("SET net_read_timeout = {patience}; SET net_write_timeout = 100000"));
        client.send_raw(0, b"\x03LOAD DATA LOCAL INFILE 'f' INTO TABLE d.t").expect("sent");
        assert_eq!(client.read_raw(1).expect("the request for the file"), b"\xfbf");
        if killed {
            run(&mut observer, &format!("KILL {}", client.connection_id()));
            wait_until_gone(&mut observer, client.connection_id());
        } else {
            let answer = client.read_raw(2).expect("an error");
            assert_eq!(u16::from_le_bytes([answer[1], answer[2]]), 1159);
        }
        run(&mut observer, "DROP TABLE d.t; CREATE TABLE d.t (id INT PRIMARY KEY)");
    }
}
