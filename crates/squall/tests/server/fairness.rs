//! A session with much work, and the others on its event loop.

use std::io::Write as _;
use std::os::unix::net::UnixStream;

use squall_client::{Client, ClientError, ConnectOptions, Target};
use squall_test_support::server::TestServer;
use squall_wire::constants::command_code;

use super::{connect, run, start, value};

/// Statements that a greedy client sends at once.
const STATEMENTS: usize = 20_000;
/// What others ask meanwhile.
const QUESTIONS: usize = 20;

/// A client, and its socket for bytes that it does not know of.
fn connect_with_socket(server: &TestServer) -> (Client, UnixStream) {
    let path = server.data_directory().with_file_name("s.sock");
    let socket = UnixStream::connect(&path).expect("the server's socket");
    let raw = socket.try_clone().expect("a second descriptor");
    let options = ConnectOptions::new(Target::Unix(path));
    (Client::connect_over(socket, &options).unwrap_or_else(|error| panic!("{error}")), raw)
}

/// Clients on every event loop: they are distributed one after the other.
fn clients_everywhere(server: &TestServer) -> Vec<Client> {
    (0..std::thread::available_parallelism().map_or(2, usize::from)).map(|_| connect(server)).collect()
}

/// How many statements the server has been asked so far.
fn statements(client: &mut Client) -> usize {
    let results = client.run("SHOW GLOBAL STATUS LIKE 'Queries'").unwrap_or_else(|error| panic!("{error}"));
    let count = results[0].1[0][1].as_deref().expect("a value");
    String::from_utf8_lossy(count).parse().expect("a number")
}

/// All clients ask again and again and get their answers before the greedy one has all of its.
fn are_served_meanwhile(clients: &mut [Client], before: usize) {
    for _ in 0..QUESTIONS {
        for client in &mut *clients {
            assert_eq!(value(client, "SELECT 1"), "1");
        }
    }
    for client in clients {
        let done = statements(client) - before;
        assert!(done < STATEMENTS, "others waited for all of {done} statements");
    }
}

#[test]
fn pipelined_statements_let_others_in() {
    let server = start();
    let mut others = clients_everywhere(&server);
    let (mut greedy, mut socket) = connect_with_socket(&server);
    let before = statements(&mut others[0]);
    let statement = [&[5, 0, 0, 0, command_code::QUERY][..], b"DO 1"].concat();
    let writer = std::thread::spawn(move || socket.write_all(&statement.repeat(STATEMENTS)).expect("all sent"));
    assert_eq!(greedy.read_raw(1).expect("the first answer")[0], 0);
    are_served_meanwhile(&mut others, before);
    for _ in 1..STATEMENTS {
        assert_eq!(greedy.read_raw(1).expect("an answer")[0], 0);
    }
    writer.join().expect("no panic");
    assert_eq!(value(&mut greedy, "SELECT 2"), "2");
}

#[test]
fn a_text_of_many_statements_lets_others_in() {
    let server = start();
    let mut others = clients_everywhere(&server);
    let (mut greedy, _) = connect_with_socket(&server);
    let before = statements(&mut others[0]);
    greedy.query("DO 1;".repeat(STATEMENTS)).expect("sent");
    greedy.next_result().expect("the first answer");
    are_served_meanwhile(&mut others, before);
    let mut answers = 1;
    while greedy.next_result().expect("an answer").is_some() {
        answers += 1;
    }
    assert_eq!(answers, STATEMENTS);
}

#[test]
fn a_program_lets_others_in() {
    let server = start();
    let mut others = clients_everywhere(&server);
    for program in ["l: LOOP ITERATE l; END LOOP", "WHILE 1 DO SET @a = 1; END WHILE"] {
        let (mut greedy, _) = connect_with_socket(&server);
        greedy.query(format!("BEGIN NOT ATOMIC {program}; END")).expect("sent");
        for _ in 0..QUESTIONS {
            for client in &mut others {
                assert_eq!(value(client, "SELECT 1"), "1", "{program}");
            }
        }
        run(&mut others[0], &format!("KILL QUERY {}", greedy.connection_id()));
        match greedy.next_result() {
            Err(ClientError::Server(error)) => assert_eq!(error.code, 1317, "{program}"),
            other => panic!("{program}: {other:?}"),
        }
    }
}

#[test]
fn binding_a_long_prepared_statement_lets_others_in() {
    let server = start();
    let mut others = clients_everywhere(&server);
    let (mut greedy, _) = connect_with_socket(&server);
    let numbers: Vec<String> = (0..1_000_000).map(|number| (number * 3).to_string()).collect();
    let list = numbers.join(",");
    run(&mut greedy, &format!("PREPARE s FROM 'SELECT COUNT(*) FROM (SELECT 4 AS n) t WHERE n IN ({list})'"));
    let running = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {} AND info IS NOT NULL",
        greedy.connection_id()
    );
    greedy.query("EXECUTE s").expect("sent");
    for _ in 0..QUESTIONS {
        for client in &mut others {
            assert_eq!(value(client, "SELECT 1"), "1");
        }
    }
    assert_eq!(value(&mut others[0], &running), "1", "others waited for the whole statement");
    greedy.next_result().expect("its answer");
    assert_eq!(greedy.next_row().expect("its row").expect("one")[0].as_deref(), Some(&b"0"[..]));
}

#[test]
fn long_statements_mean_what_short_ones_do() {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(100))");
    let rows: Vec<String> = (0..5000).map(|id| format!("({id}, 'it''s row {id}; -- no comment')")).collect();
    let insert = format!("INSERT INTO t VALUES {}", rows.join(","));
    let ids: Vec<String> = (0..20_000).map(|id| (id * 2).to_string()).collect();
    let select = format!("SELECT COUNT(*), MAX(s) FROM t WHERE id IN ({})", ids.join(","));
    assert!(insert.len() > 128 << 10 && select.len() > 64 << 10);
    // Alone, and one behind the other with short ones between them.
    run(&mut client, &format!("{insert}; SELECT ';'; {select}; DELETE FROM t; {insert}"));
    assert_eq!(value(&mut client, &select), "2500");
    let statement = client.prepare(&select).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(client.execute(&statement, &[], false).unwrap_or_else(|error| panic!("{error}")).2.len(), 1);
    // What is wrong with them is said as ever: the privilege, the row, the syntax and its line.
    let error = super::error(&mut client, &insert);
    assert_eq!(error, "ERROR 1062 (23000): Duplicate entry '0' for key 't.PRIMARY'");
    let error = super::error(&mut client, &format!("{select}\nHAVING"));
    assert!(error.starts_with("ERROR 1064 (42000)") && error.ends_with("near '' at line 2"), "{error}");
    run(&mut client, "CREATE USER reader; GRANT INSERT ON d.* TO reader");
    let options = ConnectOptions { user: "reader".to_owned(), ..super::options(&server) };
    let mut reader = Client::connect(&options).unwrap_or_else(|error| panic!("{error}"));
    run(&mut reader, "USE d");
    let error = super::error(&mut reader, &select);
    assert_eq!(error, "ERROR 1142 (42000): SELECT command denied to user 'reader'@'localhost' for table 't'");
    run(&mut client, "SET sql_select_limit = 1");
    assert_eq!(value(&mut client, &format!("SELECT id FROM t WHERE id IN ({}) ORDER BY id", ids.join(","))), "0");
}
