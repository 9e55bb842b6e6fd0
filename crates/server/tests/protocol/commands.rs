//! Commands besides queries, and malformed packets.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use squall_client::Client;
use squall_test_support::random::Random;
use squall_wire::constants::command_code;

use crate::backend::{TestServer, code};

#[test]
fn plain_commands_are_answered() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.ping().expect("there");
    assert_eq!(client.statistics().expect("a line"), "Uptime: 1");
    client.use_database("shop").expect("a database");
    assert_eq!(code(client.use_database("missing")), 1049);
    client.simple_command(command_code::RESET_CONNECTION, b"").expect("a reset");
    client.simple_command(command_code::SET_OPTION, &[1, 0]).expect("an option");
    assert_eq!(code(client.simple_command(command_code::SET_OPTION, &[9, 0])), 1047);
    client.simple_command(command_code::DEBUG, b"").expect("an end");
    assert_eq!(code(client.simple_command(0x6f, b"whatever")), 1047);
    assert_eq!(code(client.simple_command(command_code::SLEEP, b"")), 1047);
}

#[test]
fn field_list_describes_columns() {
    let server = TestServer::start();
    let mut client = server.connect();
    let first = client.raw_command(b"\x04t\0").expect("a definition");
    assert_eq!(&first[..4], b"\x03def");
    assert_eq!(first.last(), Some(&0xfb), "no default");
}

#[test]
fn malformed_packets_are_errors() {
    let server = TestServer::start();
    let mut client = server.connect();
    assert_eq!(code(client.simple_command(command_code::STMT_EXECUTE, &[1])), 1835);
    assert_eq!(code(client.simple_command(command_code::PROCESS_KILL, &[1])), 1835);
    assert_eq!(code(client.simple_command(command_code::STMT_EXECUTE, &[77, 0, 0, 0, 0, 1, 0, 0, 0])), 1243);
    let statement = client.prepare("echo ?").expect("a statement");
    let mut body = statement.id.to_le_bytes().to_vec();
    body.extend_from_slice(&[0, 1, 0, 0, 0]);
    assert_eq!(code(client.simple_command(command_code::STMT_EXECUTE, &body)), 1835);
    client.ping().expect("still there");
}

#[test]
fn packets_out_of_order_end_the_connection() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.send_raw(5, &[command_code::PING]).expect("sent");
    assert!(client.ping().is_err());
}

#[test]
fn packets_over_the_limit_end_the_connection() {
    let server = TestServer::start();
    let mut client = server.connect();
    let payload = vec![b'x'; 41 << 20];
    // The server closes before it has read everything, so that either side of the exchange may fail.
    match client.simple_command(command_code::QUERY, &payload) {
        Err(squall_client::ClientError::Server(error)) => assert_eq!(error.code, 1153),
        Err(_) => {}
        Ok(_) => panic!("accepted"),
    }
    assert!(client.ping().is_err());
}

#[test]
fn pipelined_commands_are_answered_in_order() {
    let server = TestServer::start();
    let mut client = Client::connect(&server.socket_options()).expect("a connection");
    client.send_raw(0, &[command_code::STATISTICS]).expect("sent");
    client.send_raw(0, &[command_code::PING]).expect("sent");
    client.send_raw(0, &[command_code::STATISTICS]).expect("sent");
    assert_eq!(client.read_raw(1).expect("an answer"), b"Uptime: 1");
    assert_eq!(client.read_raw(1).expect("an answer")[0], 0);
    assert_eq!(client.read_raw(1).expect("an answer"), b"Uptime: 1");
}

#[test]
fn anything_at_all_before_authentication_is_survived() {
    let server = TestServer::start();
    let address = server.server.as_ref().expect("a server").tcp_addresses()[0];
    let mut random = Random::of_run("anything_at_all_before_authentication_is_survived");
    for length in 0..60_usize {
        let mut stream = TcpStream::connect(address).expect("a connection");
        let mut greeting = [0; 256];
        let _ = stream.read(&mut greeting).expect("a greeting");
        let mut bytes = vec![length as u8 * 4, 0, 0, 1];
        bytes.extend((0..length * 4).map(|_| random.below(256) as u8));
        stream.write_all(&bytes).expect("sent");
        stream.shutdown(std::net::Shutdown::Write).expect("half closed");
        let mut answer = Vec::new();
        // An error of the socket is as good as an ERR packet here.
        let _ = stream.read_to_end(&mut answer);
    }
    server.connect().ping().expect("still there");
}
