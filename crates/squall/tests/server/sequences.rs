//! Sequences between sessions: values are of one session each, and a call that waits holds up no other connection.

use super::{connect, error, run, start, value, wait_until};
use squall_client::Client;
use std::collections::HashSet;

#[test]
fn sessions_never_get_the_same_value() {
    let server = start();
    run(
        &mut connect(&server),
        "CREATE DATABASE d; CREATE SEQUENCE d.s CACHE 3; CREATE TABLE d.t (id BIGINT DEFAULT (NEXTVAL(d.s)), v INT)",
    );
    let (threads, each) = (6, 60);
    let values: Vec<String> = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..threads)
            .map(|_| {
                let mut client = connect(&server);
                scope.spawn(move || {
                    let take = |at| {
                        let taken = value(&mut client, "SELECT NEXTVAL(d.s)");
                        assert_eq!(value(&mut client, "SELECT LASTVAL(d.s)"), taken);
                        if at % 10 == 0 {
                            run(&mut client, "INSERT INTO d.t (v) SELECT seq FROM d.seq_1_to_5");
                        }
                        taken
                    };
                    (0..each).map(take).collect::<Vec<_>>()
                })
            })
            .collect();
        takers.into_iter().flat_map(|taker| taker.join().expect("a taker's thread")).collect()
    });
    let mut all: HashSet<String> = values.iter().cloned().collect();
    assert_eq!(all.len(), threads * each);
    let inserted = value(&mut connect(&server), "SELECT GROUP_CONCAT(id) FROM d.t");
    let inserted: Vec<&str> = inserted.split(',').collect();
    assert_eq!(inserted.len(), threads * each / 10 * 5);
    assert!(inserted.into_iter().all(|id| all.insert(id.to_owned())), "a value came twice");
}

/// The sequence is locked, so its values are waited for: in a default, by UPDATE, in a prepared statement. Other connections, which share
/// the event loops, are answered, and KILL ends the wait.
#[test]
fn who_waits_for_a_value_holds_up_no_other() {
    let server = start();
    let mut owner = connect(&server);
    run(
        &mut owner,
        "CREATE DATABASE d; CREATE SEQUENCE d.s NOCACHE; CREATE TABLE d.t (id BIGINT DEFAULT (NEXTVAL(d.s)) PRIMARY KEY, v INT);
         INSERT INTO d.t VALUES (-1, 1), (-2, 2), (-3, 3); LOCK TABLES d.s WRITE",
    );
    let waits = [
        "INSERT INTO d.t (v) VALUES (1)",
        "INSERT INTO d.t VALUES (DEFAULT, 2)",
        "UPDATE d.t SET id = DEFAULT WHERE id = -1",
        "UPDATE d.t SET v = NEXTVAL(d.s) WHERE id = -2",
        "REPLACE INTO d.t (v) VALUES (3)",
        "DO NEXTVAL(d.s)",
        "EXECUTE IMMEDIATE 'INSERT INTO d.t (v) VALUES (4)'",
    ];
    let mut waiting: Vec<Client> = waits
        .iter()
        .map(|sql| {
            let mut client = connect(&server);
            client.query(sql).expect("sent");
            client
        })
        .collect();
    let count = "SELECT COUNT(*) FROM information_schema.processlist WHERE command = 'Query' AND id <> CONNECTION_ID()";
    let mut others: Vec<Client> = (0..8).map(|_| connect(&server)).collect();
    wait_until("all wait", || value(&mut others[0], count) == waits.len().to_string());
    for other in &mut others {
        assert_eq!(value(other, "SELECT 1"), "1");
    }
    let mut killed = connect(&server);
    let id = value(&mut killed, "SELECT CONNECTION_ID()");
    killed.query("DO NEXTVAL(d.s)").expect("sent");
    wait_until("one more waits", || value(&mut others[0], count) == (waits.len() + 1).to_string());
    run(&mut others[0], &format!("KILL QUERY {id}"));
    assert!(killed.next_result().is_err());
    assert!(error(&mut killed, "SELECT LASTVAL(d.missing)").contains("Unknown SEQUENCE"));
    run(&mut owner, "UNLOCK TABLES");
    for client in &mut waiting {
        client.next_result().expect("it went on");
    }
    assert_eq!(value(&mut owner, "SELECT COUNT(DISTINCT id) FROM d.t"), "7");
}
