//! Barriers and user locks between sessions: who waits, who goes on, and what ends a wait.

use super::{connect, error, run, start, value, wait_until};
use squall_client::{Client, ClientError};
use squall_test_support::server::TestServer;
use squall_wire::constants::command_code;

const COUNTS: &str = "SELECT CONCAT_WS(' ', generation, waiters, observers) FROM data_dictionary.user_defined_barriers WHERE user_barrier_name = 'b'";

/// A session that waits for the answer to a statement.
fn sent(server: &TestServer, sql: &str) -> Client {
    let mut client = connect(server);
    client.query(sql).expect("sent");
    client
}

/// The one value that a statement which was sent answers.
fn answer(client: &mut Client) -> String {
    client.next_result().expect("columns");
    let row = client.next_row().expect("a row").expect("a row");
    let value = row[0].as_ref().map_or("NULL".to_owned(), |bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(client.next_row().expect("the end").is_none());
    value
}

fn wait_for_counts(owner: &mut Client, counts: &str) {
    wait_until("the barrier has so many waiters", || value(owner, COUNTS) == counts);
}

#[test]
fn sessions_meet_at_a_barrier() {
    let server = start();
    let mut owner = connect(&server);
    // The last of three opens it, each time.
    assert_eq!(value(&mut owner, "SELECT CREATE_BARRIER('b', 3)"), "1");
    for round in 0..2 {
        let mut first: Vec<Client> = (0..2).map(|_| sent(&server, "SELECT WAIT('b')")).collect();
        assert_eq!(value(&mut owner, "SELECT WAIT_UNTIL('b', 2, 60)"), "1");
        assert_eq!(value(&mut owner, COUNTS), format!("{round} 2 0"));
        assert_eq!(value(&mut connect(&server), "SELECT WAIT('b', NULL, 60)"), "1");
        for waiter in &mut first {
            assert_eq!(answer(waiter), "1");
        }
        assert_eq!(value(&mut owner, COUNTS), format!("{} 0 0", round + 1));
    }
    // A signal lets all go on, observers too.
    let mut waiting = [sent(&server, "SELECT WAIT('b')"), sent(&server, "SELECT WAIT_UNTIL('b', 3)")];
    wait_for_counts(&mut owner, "2 1 1");
    assert_eq!(value(&mut connect(&server), "SELECT SIGNAL('b')"), "1");
    waiting.iter_mut().for_each(|client| assert_eq!(answer(client), "1"));
    // A time that is over, and a generation that is.
    assert_eq!(value(&mut connect(&server), "SELECT WAIT('b', 3, 0.05)"), "0");
    assert_eq!(value(&mut connect(&server), "SELECT WAIT('b', 2)"), "1");
    assert_eq!(value(&mut owner, COUNTS), "3 0 0");
}

#[test]
fn a_barrier_ends_with_its_session_and_with_a_reset() {
    let server = start();
    let mut observer = connect(&server);
    let mut owner = connect(&server);
    run(&mut owner, "DO CREATE_BARRIER('b')");
    let mut waiter = sent(&server, "SELECT WAIT('b')");
    wait_for_counts(&mut observer, "0 1 0");
    drop(owner);
    assert_eq!(answer(&mut waiter), "1");
    assert_eq!(value(&mut observer, "SELECT COUNT(*) FROM data_dictionary.user_defined_barriers"), "0");

    let mut owner = connect(&server);
    run(&mut owner, "DO CREATE_BARRIER('b')");
    waiter.query("SELECT WAIT('b')").expect("sent");
    wait_for_counts(&mut observer, "0 1 0");
    owner.simple_command(command_code::RESET_CONNECTION, b"").expect("a reset");
    assert_eq!(answer(&mut waiter), "1");
    assert_eq!(error(&mut owner, "SELECT SIGNAL('b')"), "ERROR 50443 (HY000): There is no barrier 'b'");

    // One of the same name is another one.
    run(&mut owner, "DO CREATE_BARRIER('b')");
    waiter.query("SELECT WAIT('b')").expect("sent");
    wait_for_counts(&mut observer, "0 1 0");
    run(&mut owner, "DO RELEASE_BARRIER('b'), CREATE_BARRIER('b')");
    assert_eq!(answer(&mut waiter), "1");
    assert_eq!(value(&mut owner, COUNTS), "0 0 0");
}

#[test]
fn kill_and_time_limits_end_waits() {
    let server = start();
    let mut owner = connect(&server);
    run(&mut owner, "DO CREATE_BARRIER('b', 2)");
    let waits = ["SELECT WAIT('b')", "SELECT WAIT_UNTIL('b', 2)", "SELECT WAIT_FOR_LOCK('l')", "DO WAIT('b')"];
    for sql in waits {
        let mut waiter = sent(&server, sql);
        let id = waiter.connection_id();
        let shown = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND info = \"{sql}\"");
        wait_until("the statement runs", || value(&mut owner, &shown) == "1");
        run(&mut owner, &format!("KILL QUERY {id}"));
        match waiter.next_result().and_then(|_| waiter.next_row()) {
            Err(ClientError::Server(error)) => {
                assert_eq!(error.to_string(), "ERROR 1317 (70100): Query execution was interrupted", "{sql}");
            }
            other => panic!("{sql}: {other:?}"),
        }
        // Who was killed counts no more, and the session goes on. The thread that waited may hear of it after the client.
        wait_for_counts(&mut owner, "0 0 0");
        run(&mut waiter, "SET max_execution_time = 50");
        if sql.starts_with("SELECT") {
            let late = error(&mut waiter, sql);
            assert!(late.starts_with("ERROR 3024"), "{sql}: {late}");
        }
    }
    // KILL() and the end of a waiter.
    let waiter = sent(&server, "SELECT WAIT('b')");
    wait_for_counts(&mut owner, "0 1 0");
    assert_eq!(value(&mut owner, &format!("SELECT KILL({})", waiter.connection_id())), "1");
    wait_for_counts(&mut owner, "0 0 0");
    let mut waiter = sent(&server, "SELECT WAIT('b')");
    wait_for_counts(&mut owner, "0 1 0");
    run(&mut owner, &format!("SET @id = {}; KILL QUERY @id", waiter.connection_id()));
    assert!(waiter.next_result().and_then(|_| waiter.next_row()).is_err());
    run(&mut owner, "KILL @id");
    wait_until("the session is gone", || waiter.run("SELECT 1").is_err());
}

/// More sessions wait than there are threads for events: those that come later are served all the same.
#[test]
fn waits_hold_no_event_loop() {
    let server = start();
    let mut owner = connect(&server);
    run(&mut owner, "DO CREATE_BARRIER('b')");
    let mut waiters: Vec<Client> = (0..16).map(|_| sent(&server, "SELECT WAIT('b')")).collect();
    wait_for_counts(&mut owner, "0 16 0");
    for _ in 0..8 {
        assert_eq!(value(&mut connect(&server), "SELECT 1 + 1"), "2");
    }
    run(&mut owner, "DO SIGNAL('b')");
    waiters.iter_mut().for_each(|waiter| assert_eq!(answer(waiter), "1"));
}

#[test]
fn locks_are_handed_over() {
    let server = start();
    let mut owner = connect(&server);
    run(&mut owner, "DO GET_LOCKS('a', 'b')");
    let mut watcher = sent(&server, "SELECT WAIT_FOR_LOCK('c')");
    let shown = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {} AND info IS NOT NULL",
        watcher.connection_id()
    );
    wait_until("it waits", || value(&mut owner, &shown) == "1");
    std::thread::sleep(std::time::Duration::from_millis(100));
    run(&mut owner, "DO GET_LOCK('c', 0)");
    assert_eq!(answer(&mut watcher), owner.connection_id().to_string());
    // The next one gets the lock, and the one that gave it back goes on.
    let mut next = sent(&server, "SELECT GET_LOCK('a', 60)");
    let waits =
        "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE object_name = 'a' AND lock_status = 'PENDING'";
    wait_until("it waits", || value(&mut owner, waits) == "1");
    assert_eq!(value(&mut owner, "SELECT RELEASE_LOCK_AND_WAIT('a', 60)"), "1");
    assert_eq!(answer(&mut next), "1");
    assert_eq!(value(&mut owner, "SELECT IS_USED_LOCK('a')"), next.connection_id().to_string());
    // A circle through locks that were taken together is 3058.
    let mut blocked = sent(&server, "SELECT GET_LOCK('d', 0)");
    assert_eq!(answer(&mut blocked), "1");
    blocked.query("SELECT GET_LOCK('b', -1)").expect("sent");
    let waits =
        "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE object_name = 'b' AND lock_status = 'PENDING'";
    wait_until("it waits", || value(&mut owner, waits) == "1");
    let circle = error(&mut owner, "SELECT GET_LOCK('d', -1)");
    assert!(circle.starts_with("ERROR 3058"), "{circle}");
    run(&mut owner, "DO RELEASE_LOCKS()");
    assert_eq!(answer(&mut blocked), "1");
}
