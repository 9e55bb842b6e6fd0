//! A server that clients tell to stop.

use super::{connect, error, options, run, start, value, wait_until};
use squall_client::{Client, ConnectOptions};
use squall_test_support::skip;
use squall_wire::constants::command_code;
use std::process::Command;

const DENIED: &str =
    "ERROR 1227 (42000): Access denied; you need (at least one of) the SHUTDOWN privilege(s) for this operation";

#[test]
fn shutdown_stops_the_server_in_order_and_only_for_those_who_may() {
    let mut server = start();
    let mut root = connect(&server);
    run(&mut root, "CREATE USER plain, operator; GRANT SHUTDOWN ON *.* TO operator");
    run(&mut root, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1), (2), (3)");
    run(
        &mut root,
        "SET GLOBAL log_error_verbosity = 3, durability = 'lazy'; INSERT INTO d.t VALUES (4); BEGIN; INSERT INTO d.t VALUES (5)",
    );
    let account = |user: &str| ConnectOptions { user: user.to_owned(), ..options(&server) };
    let mut plain = Client::connect(&account("plain")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(error(&mut plain, "SHUTDOWN"), DENIED);
    let refused = plain.simple_command(command_code::SHUTDOWN, &[0]).expect_err("refused");
    assert!(refused.to_string().contains("1227"), "{refused}");
    assert_eq!(value(&mut plain, "SELECT 1"), "1");

    // The answer comes first, and what was begun before goes on to its end.
    let mut busy = connect(&server);
    let id = busy.connection_id();
    let busy = std::thread::spawn(move || value(&mut busy, "SELECT SLEEP(1)"));
    let asks = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND info LIKE '%SLEEP%'");
    wait_until("the statement runs", || value(&mut root, &asks) == "1");
    let mut operator = Client::connect(&account("operator")).unwrap_or_else(|error| panic!("{error}"));
    run(&mut operator, "SHUTDOWN");
    assert_eq!(busy.join().expect("no panic"), "0");
    assert_eq!(server.wait(), Some(0), "{}", server.log());
    assert!(server.log().contains("Received SHUTDOWN from user operator"), "{}", server.log());
    assert!(!server.data_directory().with_file_name("s.sock").exists());

    server.restart();
    let mut root = connect(&server);
    // Written with lazy durability; what was not committed is not there.
    assert_eq!(value(&mut root, "SELECT GROUP_CONCAT(id ORDER BY id) FROM d.t"), "1,2,3,4");
    root.simple_command(command_code::SHUTDOWN, &[0]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(server.wait(), Some(0), "{}", server.log());
}

#[test]
fn the_usual_program_stops_it() {
    let mut server = start();
    let tell = Command::new("mariadb-admin")
        .args([
            "--no-defaults",
            "--protocol=tcp",
            "-h127.0.0.1",
            "-uroot",
            "-P",
            &server.port().to_string(),
            "shutdown",
        ])
        .output();
    let Ok(told) = tell else { return skip("the_usual_program_stops_it", "mariadb-admin, of mariadb-client") };
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    assert_eq!(server.wait(), Some(0), "{}", server.log());
}
