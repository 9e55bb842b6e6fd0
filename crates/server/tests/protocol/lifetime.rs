//! The ends of connections and of the server.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use squall_client::{Client, ConnectOptions};
use squall_wire::constants::command_code;

use crate::backend::{TestServer, code};

#[test]
fn too_many_connections_are_refused() {
    let server = TestServer::start();
    server.script.max_connections.store(2, Ordering::Relaxed);
    let _first = server.connect();
    let second = server.connect();
    // One more may log in, and is let in only if it administers connections.
    assert_eq!(code(Client::connect(&server.options()).map(drop)), 1040);
    assert_eq!(server.script.failed_connects.load(Ordering::Relaxed), 1);
    let mut administrator = server.options();
    (administrator.user, administrator.password) = ("sha2".to_owned(), "pw".to_owned());
    let administrator = connect_in_time(&administrator);
    // While that one is there no other client is even greeted.
    assert_eq!(server.script.refused_connections.load(Ordering::Relaxed), 0);
    assert_eq!(code(Client::connect(&server.options()).map(drop)), 1040);
    assert_eq!(server.script.refused_connections.load(Ordering::Relaxed), 1);
    assert_eq!(server.script.failed_connects.load(Ordering::Relaxed), 1);
    administrator.quit().expect("a goodbye");
    second.quit().expect("a goodbye");
    connect_in_time(&server.options());
}

/// Connects as soon as there is a place.
fn connect_in_time(options: &ConnectOptions) -> Client {
    let started = Instant::now();
    loop {
        match Client::connect(options) {
            Ok(client) => return client,
            Err(error) => assert!(started.elapsed() < Duration::from_secs(5), "the place was not freed: {error}"),
        }
        std::thread::yield_now();
    }
}

#[test]
fn kill_wakes_an_idle_connection() {
    let server = TestServer::start();
    let mut victim = server.connect();
    let mut killer = server.connect();
    let id = victim.connection_id().to_le_bytes();
    killer.simple_command(command_code::PROCESS_KILL, &id).expect("a kill");
    let started = Instant::now();
    while victim.ping().is_ok() {
        assert!(started.elapsed() < Duration::from_secs(5), "still alive");
    }
    assert_eq!(code(killer.simple_command(command_code::PROCESS_KILL, &[0xff, 0xff, 0, 0])), 1094);
}

#[test]
fn idle_connections_are_told_and_closed() {
    let server = TestServer::start();
    server.script.idle_timeout_seconds.store(1, Ordering::Relaxed);
    let mut client = server.connect();
    // The clock ticks once a second, and the one under way does not count.
    std::thread::sleep(Duration::from_millis(2500));
    // The goodbye is in the socket already, and is read as the answer.
    assert_eq!(code(client.ping()), 4031);
}

#[test]
fn a_silent_client_is_given_up() {
    let server = TestServer::start();
    server.script.connect_timeout_seconds.store(2, Ordering::Relaxed);
    let address = server.server.as_ref().expect("a server").tcp_addresses()[0];
    let stream = std::net::TcpStream::connect(address).expect("a connection");
    let started = Instant::now();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut &stream, &mut bytes).expect("the end");
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert_eq!(bytes[4], 10, "the greeting came first");
}

#[test]
fn a_slow_reader_is_given_up_and_holds_no_other_client_up() {
    let server = TestServer::start();
    let mut slow = server.connect();
    slow.query("count 2000000").expect("sent");
    let mut other = server.connect();
    for _ in 0..20 {
        other.run("one").expect("an answer");
    }
    std::thread::sleep(Duration::from_millis(3500));
    // What lies in the buffers of the sockets can still be read, but not all rows.
    let mut rows = 0;
    let result = loop {
        match slow.next_result().map(drop).and_then(|()| slow.next_row()) {
            Ok(Some(_)) => rows += 1,
            other => break other,
        }
    };
    assert!(result.is_err(), "{rows} rows came");
    other.ping().expect("still there");
}

#[test]
fn running_statements_end_before_the_server_does() {
    let mut server = TestServer::start();
    let mut idle = server.connect();
    let mut busy = server.connect();
    busy.query("sleep").expect("sent");
    std::thread::sleep(Duration::from_millis(50));
    let running = server.server.take().expect("a server");
    let stopping = std::thread::spawn(move || running.shut_down());
    let result = busy.next_result().expect("an answer");
    assert!(result.is_some());
    stopping.join().expect("no panic").expect("an orderly end");
    assert_eq!(code(idle.ping()), 1053);
    assert!(!server.directory.path().join("sock").exists());
}
