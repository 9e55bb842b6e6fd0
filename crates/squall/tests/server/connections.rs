//! The limits of connections, and the accounts that may exceed them.

use std::path::Path;

use squall_client::{Client, ClientError, ConnectOptions, Target};
use squall_test_support::server::TestServer;
use squall_wire::parameters::BinaryValue;

use super::{connect, options, run, start, value, wait_until};

/// The error that a connection is refused with.
fn refusal(options: &ConnectOptions) -> String {
    match Client::connect(options) {
        Err(ClientError::Server(error)) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("connected"),
    }
}

fn account(options: ConnectOptions, user: &str) -> ConnectOptions {
    ConnectOptions { user: user.to_owned(), ..options }
}

fn status(client: &mut Client, name: &str) -> u64 {
    let results = client.run(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).unwrap_or_else(|error| panic!("{error}"));
    let value = results[0].1[0][1].as_deref().expect("a value");
    String::from_utf8_lossy(value).parse().expect("a number")
}

/// Accounts with and without the privileges that matter.
fn accounts(root: &mut Client) {
    run(root, "CREATE USER plain, connections, super, service, by_role; CREATE ROLE administrators");
    run(root, "GRANT CONNECTION_ADMIN ON *.* TO connections, administrators; GRANT SUPER ON *.* TO super");
    run(root, "GRANT SERVICE_CONNECTION_ADMIN ON *.* TO service");
    run(root, "GRANT administrators TO by_role; SET DEFAULT ROLE ALL TO by_role");
}

/// Refused after a greeting.
const TOO_MANY: &str = "ERROR 1040 (08004): Too many connections";
/// Refused without one: there is no protocol yet in which an SQLSTATE could be said.
const NOT_GREETED: &str = "ERROR 1040 (HY000): Too many connections";

#[test]
fn one_place_beyond_the_limit_is_for_an_administrator() {
    let server = start();
    let mut root = connect(&server);
    accounts(&mut root);
    run(&mut root, "SET GLOBAL max_connections = 3");
    let _others = [connect(&server), connect(&server)];
    let refused = status(&mut root, "Connection_errors_max_connections");
    let aborted = status(&mut root, "Aborted_connects");
    assert_eq!(refusal(&account(options(&server), "plain")), TOO_MANY);
    assert_eq!(status(&mut root, "Connection_errors_max_connections"), refused + 1);
    // It was greeted, and then sent away.
    wait_until("the attempt is counted", || status(&mut root, "Aborted_connects") == aborted + 1);
    assert_eq!(status(&mut root, "Threads_connected"), 3);
    assert_eq!(status(&mut root, "Max_used_connections"), 3);
    for user in ["connections", "super", "by_role"] {
        let options = account(options(&server), user);
        let mut fourth = None;
        wait_until("the last place is free", || {
            fourth = Client::connect(&options).ok();
            fourth.is_some()
        });
        // No client is greeted now.
        let refused = status(&mut root, "Connection_errors_max_connections");
        assert_eq!(refusal(&options), NOT_GREETED);
        assert_eq!(refusal(&account(options.clone(), "plain")), NOT_GREETED);
        assert_eq!(status(&mut root, "Connection_errors_max_connections"), refused + 2);
        assert_eq!(status(&mut root, "Threads_connected"), 4, "{user}");
        let mut fourth = fourth.expect("a connection");
        assert_eq!(value(&mut fourth, "SELECT CURRENT_USER()"), format!("{user}@%"));
        fourth.quit().expect("a goodbye");
    }
    assert_eq!(status(&mut root, "Max_used_connections"), 4);
    // A wrong password is a wrong password, also there.
    run(&mut root, "ALTER USER connections IDENTIFIED BY 'secret'");
    wait_until("the last place is free", || {
        refusal(&account(options(&server), "connections")).starts_with("ERROR 1045")
    });
}

#[test]
fn a_place_that_is_freed_is_anybodys() {
    let server = start();
    let mut root = connect(&server);
    accounts(&mut root);
    run(&mut root, "SET GLOBAL max_connections = 2");
    for _ in 0..20 {
        let second = connect_in_time(&server);
        // Those that are refused take no place. The next may come while the one before is being sent away.
        for _ in 0..5 {
            let refusal = refusal(&account(options(&server), "plain"));
            assert!([TOO_MANY, NOT_GREETED].contains(&refusal.as_str()), "{refusal}");
        }
        second.quit().expect("a goodbye");
    }
}

fn connect_in_time(server: &TestServer) -> Client {
    let options = account(options(server), "plain");
    let mut client = None;
    wait_until("a place is free", || {
        client = Client::connect(&options).ok();
        client.is_some()
    });
    client.expect("a connection")
}

#[test]
fn the_administrative_interface_has_no_limit() {
    let binary = Path::new(env!("CARGO_BIN_EXE_squall"));
    let server = TestServer::start_with_arguments(binary, &["--admin-address", "127.0.0.1", "--admin-port", "0"]);
    let mut root = connect(&server);
    accounts(&mut root);
    assert_eq!(value(&mut root, "SELECT CONCAT(@@admin_address, ' ', @@admin_port)"), "127.0.0.1 0");
    let log = server.log();
    let before = log.split(" (administrative)").next().expect("the announcement");
    let port = before.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("{log}"));
    let administrative = ConnectOptions::new(Target::Tcp("127.0.0.1".to_owned(), port));
    for user in ["plain", "connections"] {
        assert_eq!(
            refusal(&account(administrative.clone(), user)),
            "ERROR 1227 (42000): Access denied; you need (at least one of) the SERVICE_CONNECTION_ADMIN privilege(s) \
             for this operation"
        );
    }
    // As many as come, and none of them takes a place.
    run(&mut root, "SET GLOBAL max_connections = 2");
    let _administrators: Vec<Client> = (0..5)
        .map(|_| Client::connect(&account(administrative.clone(), "service")).unwrap_or_else(|error| panic!("{error}")))
        .collect();
    let _second = connect_in_time(&server);
    assert_eq!(refusal(&account(options(&server), "plain")), TOO_MANY);
    let mut beyond = Client::connect(&account(administrative, "service")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(value(&mut beyond, "SELECT 1"), "1");
    assert_eq!(status(&mut root, "Threads_connected"), 8);
}

#[test]
fn a_server_that_is_offline_keeps_administrators_alone() {
    let server = start();
    let mut root = connect(&server);
    accounts(&mut root);
    let mut by_role = Client::connect(&account(options(&server), "by_role")).expect("a connection");
    let mut plain = Client::connect(&account(options(&server), "plain")).expect("a connection");
    run(&mut root, "SET GLOBAL offline_mode = ON");
    wait_until("the connection has ended", || plain.run("SELECT 1").is_err());
    assert!(by_role.run("SELECT 1").is_ok());
    let offline = "ERROR 3032 (HY000): The server is currently in offline mode";
    assert_eq!(refusal(&account(options(&server), "plain")), offline);
    assert!(Client::connect(&account(options(&server), "super")).is_ok());
    run(&mut root, "GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO plain; SET GLOBAL offline_mode = OFF");
    let mut plain = Client::connect(&account(options(&server), "plain")).expect("a connection");
    let denied = plain.run("SET GLOBAL offline_mode = ON").map(drop);
    assert!(matches!(denied, Err(ClientError::Server(error)) if error.code == 1227));
}

#[test]
fn an_account_has_no_more_connections_than_it_may() {
    let server = start();
    let mut root = connect(&server);
    accounts(&mut root);
    run(&mut root, "SET GLOBAL max_user_connections = 2");
    let plain = account(options(&server), "plain");
    let first = Client::connect(&plain).expect("a connection");
    let _second = Client::connect(&plain).expect("a connection");
    let too_many = "ERROR 1203 (42000): User plain already has more than 'max_user_connections' active connections";
    assert_eq!(refusal(&plain), too_many);
    assert!(Client::connect(&account(options(&server), "service")).is_ok());
    drop(first);
    wait_until("a place is free", || Client::connect(&plain).is_ok());
    run(&mut root, "SET GLOBAL max_user_connections = DEFAULT");
    let _more = [Client::connect(&plain), Client::connect(&plain)].map(|client| client.expect("a connection"));
}

#[test]
fn an_account_has_a_limit_of_its_own() {
    let server = start();
    let mut root = connect(&server);
    run(&mut root, "CREATE USER one WITH MAX_USER_CONNECTIONS 1; SET GLOBAL max_user_connections = 5");
    let one = account(options(&server), "one");
    let first = Client::connect(&one).expect("a connection");
    let too_many = "ERROR 1226 (42000): User 'one' has exceeded the 'max_user_connections' resource (current value: 1)";
    assert_eq!(refusal(&one), too_many);
    run(&mut root, "ALTER USER one WITH MAX_USER_CONNECTIONS 2");
    let second = Client::connect(&one).expect("a connection");
    assert_eq!(refusal(&one), too_many.replace("value: 1", "value: 2"));
    drop((first, second));
    run(&mut root, "ALTER USER one WITH MAX_USER_CONNECTIONS 0 MAX_CONNECTIONS_PER_HOUR 2");
    for _ in 0..2 {
        drop(Client::connect(&one).expect("a connection"));
    }
    let refused =
        "ERROR 1226 (42000): User 'one' has exceeded the 'max_connections_per_hour' resource (current value: 2)";
    assert_eq!(refusal(&one), refused);
    // It is in no list of connections.
    assert_eq!(value(&mut root, "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'one'"), "0");
    run(&mut root, "FLUSH USER_RESOURCES");
    let mut client = Client::connect(&one).expect("a connection");
    // A change of the user is a login.
    client.change_user("one", "", "").expect("the second one");
    assert_eq!(refusal(&one), refused);
}

fn error_of(client: &mut Client, sql: &str) -> String {
    match client.run(sql) {
        Err(ClientError::Server(error)) => error.to_string(),
        other => panic!("{sql}: {other:?}"),
    }
}

const QUERIES: &str = "ERROR 1226 (42000): User 'few' has exceeded the 'max_questions' resource (current value: 3)";
const UPDATES: &str = "ERROR 1226 (42000): User 'few' has exceeded the 'max_updates' resource (current value: 2)";

#[test]
fn an_account_runs_so_many_statements_in_an_hour() {
    let server = start();
    let mut root = connect(&server);
    run(&mut root, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, n INT); INSERT INTO d.t VALUES (1, 1)");
    run(&mut root, "CREATE PROCEDURE d.p() BEGIN DO 1; DO 2; DO 3; UPDATE d.t SET n = 9; END");
    run(&mut root, "CREATE USER few; GRANT ALL ON d.* TO few; GRANT DYNAMIC_EXECUTE ON *.* TO few");
    let few = account(options(&server), "few");
    let mut clients = [Client::connect(&few).expect("a connection"), Client::connect(&few).expect("a connection")];
    // Once more than an hour's: its route is known, and it is answered at once.
    for _ in 0..5 {
        run(&mut clients[0], "SELECT n FROM d.t WHERE id = 1");
    }
    // Connections that are there are limited too, and count together.
    run(&mut root, "ALTER USER few WITH MAX_QUERIES_PER_HOUR 3");
    run(&mut clients[0], "SELECT n FROM d.t WHERE id = 1; SELECT n FROM d.t WHERE id = 1");
    run(&mut clients[1], "CALL d.p()");
    for client in &mut clients {
        assert_eq!(error_of(client, "SELECT n FROM d.t WHERE id = 1"), QUERIES);
        assert_eq!(error_of(client, "DO 1"), QUERIES);
    }
    // A limit that is given again begins at zero. What is prepared is no statement yet.
    run(&mut root, "ALTER USER few WITH MAX_QUERIES_PER_HOUR 3");
    let prepared = clients[0].prepare("SELECT n FROM d.t WHERE id = ?").expect("prepared");
    for at in 0..4 {
        let ran = clients[0].execute(&prepared, &[BinaryValue::Int(1)], false).map(drop);
        match ran {
            Ok(()) => assert!(at < 3, "beyond the limit"),
            Err(error) => assert_eq!((error.to_string().as_str(), at), (QUERIES, 3)),
        }
    }
    // The statements of a list count each.
    run(&mut root, "FLUSH USER_RESOURCES");
    assert_eq!(error_of(&mut clients[0], "SELECT EXECUTE('DO 1; DO 2; DO 3')"), QUERIES);
    run(&mut root, "ALTER USER few WITH MAX_QUERIES_PER_HOUR 0");
    for _ in 0..5 {
        run(&mut clients[0], "SELECT n FROM d.t WHERE id = 1");
    }
}

#[test]
fn an_account_changes_so_much_in_an_hour() {
    let server = start();
    let mut root = connect(&server);
    run(&mut root, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, n INT); INSERT INTO d.t VALUES (1, 1)");
    run(&mut root, "CREATE USER few WITH MAX_UPDATES_PER_HOUR 2; GRANT ALL ON d.* TO few");
    let mut few = Client::connect(&account(options(&server), "few")).expect("a connection");
    run(&mut few, "UPDATE d.t SET n = 2 WHERE id = 1; DO 1; PREPARE s FROM 'UPDATE d.t SET n = 3'; EXECUTE s");
    for sql in [
        "UPDATE d.t SET n = 4 WHERE id = 1",
        "EXECUTE s",
        "EXECUTE IMMEDIATE 'DELETE FROM d.t'",
        "EXECUTE 'DELETE FROM d.t'",
        "SET STATEMENT sql_mode = '' FOR DELETE FROM d.t",
        "CREATE TABLE d.u (a INT)",
    ] {
        assert_eq!(error_of(&mut few, sql), UPDATES, "{sql}");
    }
    assert_eq!(value(&mut few, "SELECT n FROM d.t"), "3");
    run(&mut root, "FLUSH USER_RESOURCES");
    run(&mut few, "UPDATE d.t SET n = 5 WHERE id = 1");
    // A new account of the name has used nothing.
    run(&mut root, "DROP USER few; CREATE USER few WITH MAX_UPDATES_PER_HOUR 2; GRANT ALL ON d.* TO few");
    let mut few = Client::connect(&account(options(&server), "few")).expect("a connection");
    run(&mut few, "UPDATE d.t SET n = 6; UPDATE d.t SET n = 7");
    assert_eq!(error_of(&mut few, "DELETE FROM d.t"), UPDATES);
}
