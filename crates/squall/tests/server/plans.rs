//! Plans that sessions cache and share, while other sessions change their inputs.

use super::{connect, options, run, start, value};
use squall_client::{Client, ClientError, PreparedStatement};
use squall_test_support::SetOnDrop;
use squall_test_support::server::TestServer;
use squall_wire::parameters::BinaryValue;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// MySQL's error for a table that one may not use (ER_TABLEACCESS_DENIED_ERROR).
const DENIED: u16 = 1142;

const POINT: &str = "SELECT v FROM d.t WHERE id = ?";
const CHANGE: &str = "UPDATE d.t SET v = v WHERE id = ?";
const JOIN: &str = "SELECT COUNT(*) FROM d.t a JOIN d.t b ON a.v = b.v WHERE a.id = ? GROUP BY a.v";

fn connect_as(server: &TestServer, user: &str) -> Client {
    let mut options = options(server);
    options.user = user.to_owned();
    Client::connect(&options).unwrap_or_else(|error| panic!("{error}\n{}", server.log()))
}

fn execute(client: &mut Client, statement: &PreparedStatement) -> Result<(), ClientError> {
    client.execute(statement, &[BinaryValue::Int(3)], false).map(|_| ())
}

fn is_denied(result: Result<(), ClientError>) -> bool {
    match result {
        Ok(()) => false,
        Err(ClientError::Server(error)) if error.code == DENIED => true,
        Err(error) => panic!("{error}"),
    }
}

/// A session that has plans of everything it does.
struct Reader {
    client: Client,
    statements: Vec<PreparedStatement>,
}

/// Ways to run a statement.
const WAYS: usize = 5;

impl Reader {
    fn open(server: &TestServer) -> Reader {
        let mut client = connect_as(server, "reader");
        let statements =
            [POINT, CHANGE, JOIN].map(|sql| client.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}")));
        let mut reader = Reader { client, statements: statements.into() };
        for way in (0..WAYS).cycle().take(3 * WAYS) {
            reader.run(way).unwrap_or_else(|error| panic!("{way}: {error}"));
        }
        reader
    }

    fn run(&mut self, way: usize) -> Result<(), ClientError> {
        match self.statements.get(way) {
            Some(statement) => execute(&mut self.client, statement),
            None if way == self.statements.len() => self.client.run("SELECT v FROM d.t WHERE id = 2").map(|_| ()),
            None => self.client.run("SELECT v FROM d.t WHERE id IN (1, 2, 4)").map(|_| ()),
        }
    }
}

fn with_reader(server: &TestServer) -> Client {
    let mut admin = connect(server);
    run(&mut admin, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT)");
    run(&mut admin, "INSERT INTO d.t VALUES (1, 10), (2, 20), (3, 30), (4, 40)");
    run(&mut admin, "CREATE USER reader; GRANT SELECT, UPDATE ON d.t TO reader");
    admin
}

/// No session holds a lock that a REVOKE would have to wait for, and still no statement runs that began after it.
#[test]
fn a_revoke_holds_from_the_next_statement_of_every_session_on() {
    let server = start();
    let mut admin = with_reader(&server);
    let mut readers: Vec<Reader> = (0..6).map(|_| Reader::open(&server)).collect();
    for round in 0..WAYS {
        run(&mut admin, "REVOKE SELECT, UPDATE ON d.t FROM reader");
        for (at, reader) in readers.iter_mut().enumerate() {
            // Each begins with another way.
            for way in (0..WAYS).map(|way| (way + at + round) % WAYS) {
                assert!(is_denied(reader.run(way)), "round {round}, session {at}, way {way}");
            }
        }
        run(&mut admin, "GRANT SELECT, UPDATE ON d.t TO reader");
        for reader in &mut readers {
            (0..WAYS).for_each(|way| reader.run(way).unwrap_or_else(|error| panic!("{way}: {error}")));
        }
    }
    // And while all of them are at work.
    let revoked = AtomicBool::new(false);
    thread::scope(|scope| {
        for (at, reader) in readers.iter_mut().enumerate() {
            let revoked = &revoked;
            scope.spawn(move || {
                for way in (0..WAYS).cycle().skip(at) {
                    let began_after = revoked.load(Ordering::SeqCst);
                    let denied = is_denied(reader.run(way));
                    assert!(denied || !began_after, "session {at}, way {way}");
                    if denied {
                        break;
                    }
                }
            });
        }
        run(&mut admin, "REVOKE SELECT, UPDATE ON d.t FROM reader");
        revoked.store(true, Ordering::SeqCst);
    });
}

/// Sessions come, take over what others have found out, and go, while the table changes under all of them.
#[test]
fn plans_are_shared_while_tables_change() {
    let server = start();
    let mut admin = with_reader(&server);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let end = SetOnDrop(&done);
        for _ in 0..3 {
            let (server, done) = (&server, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let mut client = connect_as(server, "reader");
                    assert_eq!(value(&mut client, "SELECT v FROM d.t WHERE id = 4"), "40");
                    assert_eq!(value(&mut client, "SELECT v FROM d.t WHERE id = 1"), "10");
                    for sql in [POINT, JOIN, "SELECT * FROM d.t WHERE id = ?", CHANGE] {
                        let statement = client.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
                        let (_, columns, rows) = client
                            .execute(&statement, &[BinaryValue::Int(3)], false)
                            .unwrap_or_else(|error| panic!("{sql}: {error}"));
                        assert!(rows.iter().all(|row| row.len() == columns.len()), "{sql}");
                        assert_eq!(rows.len(), usize::from(sql != CHANGE), "{sql}");
                    }
                }
            });
        }
        for round in 0..12 {
            let change = ["ADD w INT FIRST", "DROP w", "ADD KEY (v)", "DROP KEY v"][round % 4];
            run(&mut admin, &format!("ALTER TABLE d.t {change}"));
            run(&mut admin, "GRANT INSERT ON d.t TO reader; REVOKE INSERT ON d.t FROM reader");
            if round % 5 == 0 {
                run(&mut admin, "FLUSH TABLES");
            }
        }
        drop(end);
    });
    let shared =
        "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Plan_cache_shared_hits'";
    assert_ne!(value(&mut admin, shared), "0");
}

/// How often sessions have taken over what others had found out.
fn shared_hits(admin: &mut Client) -> u64 {
    let sql =
        "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Plan_cache_shared_hits'";
    value(admin, sql).parse().expect("a number")
}

/// A session that has just connected runs small queries by the plans that others have made, with its own privileges and values.
#[test]
fn small_queries_share_their_plans() {
    let server = start();
    let mut admin = with_reader(&server);
    run(&mut admin, "CREATE USER stranger; GRANT SELECT (id) ON d.t TO stranger");
    let sum =
        |id: u32| format!("SELECT SUM(a.v + b.v) FROM d.t a JOIN d.t b ON a.id = b.id WHERE a.id > {id} AND b.v < 100");
    let mut first = connect_as(&server, "reader");
    for _ in 0..3 {
        assert_eq!(value(&mut first, &sum(2)), "140");
    }
    let before = shared_hits(&mut admin);
    let mut second = connect_as(&server, "reader");
    assert_eq!(value(&mut second, &sum(3)), "80");
    assert_eq!(shared_hits(&mut admin), before + 1);
    // A text where the others had a number.
    assert_eq!(value(&mut connect_as(&server, "reader"), &sum(3).replace("> 3", "> '3'")), "80");
    // The plan is not run without the privileges.
    assert!(column_is_denied(&server, &sum(3)));

    // A pattern that was made ready belongs to one session.
    let like = |word: &str| format!("SELECT COUNT(*) FROM d.t a WHERE CONCAT('v', a.v) LIKE '{word}' AND a.id < 9");
    for (word, count) in [("v1%", "1"), ("v%", "4"), ("%0", "4"), ("v_0", "4"), ("x", "0")] {
        for _ in 0..2 {
            assert_eq!(value(&mut connect_as(&server, "reader"), &like(word)), count, "{word}");
        }
    }

    // A definition ends what was shared.
    run(&mut admin, "ALTER TABLE d.t ADD w INT DEFAULT 5 FIRST");
    assert_eq!(value(&mut connect_as(&server, "reader"), &sum(2)), "140");
    assert_eq!(value(&mut second, &sum(1)), "180");
}

/// Whether an account that may see a column of the table is refused another one (ER_COLUMNACCESS_DENIED_ERROR).
fn column_is_denied(server: &TestServer, sql: &str) -> bool {
    matches!(connect_as(server, "stranger").run(sql), Err(ClientError::Server(error)) if error.code == 1143)
}
