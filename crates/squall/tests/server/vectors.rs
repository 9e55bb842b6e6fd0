//! Vector keys find the rows of the reader's snapshot, also beside writers and after a kill.

use super::{connect, run, start, value};
use squall_client::{Client, ClientError};
use squall_test_support::SetOnDrop;
use squall_test_support::random::Random;
use std::sync::atomic::{AtomicBool, Ordering};

const DIMENSIONS: usize = 8;
/// The transaction has been rolled back.
const DEADLOCK: u16 = 1213;

/// A vector near one of a few centres, as a literal.
fn vector(random: &mut Random) -> String {
    let centre = random.number() % 12;
    let numbers = (0..DIMENSIONS as u64).map(|at| {
        let base = ((centre * 7 + at * 3) % 11) as f32;
        base + (random.number() % 1000) as f32 / 500.0
    });
    let hex: Vec<String> = numbers.flat_map(f32::to_le_bytes).map(|byte| format!("{byte:02x}")).collect();
    format!("x'{}'", hex.concat())
}

/// The ids of the ten nearest.
fn nearest(client: &mut Client, hint: &str, condition: &str, vector: &str) -> Vec<String> {
    let ids = value(
        client,
        &format!(
            "SELECT COALESCE(GROUP_CONCAT(id ORDER BY d, id), '') FROM (SELECT id, DISTANCE(v, {vector}, 'EUCLIDEAN') AS d \
             FROM t {hint} INDEX (k) WHERE {condition} ORDER BY d LIMIT 10) nearest"
        ),
    );
    ids.split(',').filter(|id| !id.is_empty()).map(String::from).collect()
}

/// How many of the nearest a key has found, of how many.
#[derive(Default)]
struct Recall {
    found: usize,
    wanted: usize,
}

impl Recall {
    fn ask(&mut self, client: &mut Client, random: &mut Random) {
        let vector = vector(random);
        let condition =
            ["owner < 9", "owner = 1", "id % 10 = 3", "owner = 1 AND id % 4 = 0"][(random.number() % 4) as usize];
        let all = nearest(client, "IGNORE", condition, &vector);
        let by_key = nearest(client, "FORCE", condition, &vector);
        assert_eq!(by_key.len(), all.len(), "{condition}");
        self.wanted += all.len();
        self.found += by_key.iter().filter(|id| all.contains(id)).count();
        if by_key.is_empty() {
            return;
        }
        let visible =
            value(client, &format!("SELECT COUNT(*) FROM t WHERE id IN ({}) AND {condition}", by_key.join(",")));
        assert_eq!(visible, by_key.len().to_string());
    }

    fn check(&self) {
        assert!(self.found * 100 >= self.wanted * 95, "{} of {}", self.found, self.wanted);
    }
}

fn insert(random: &mut Random, owner: u64, rows: u64) -> String {
    let rows: Vec<String> = (0..rows).map(|_| format!("({owner}, {})", vector(random))).collect();
    format!("INSERT INTO t (owner, v) VALUES {}", rows.join(", "))
}

/// Changes rows of an owner in transactions, half of which are taken back.
fn write(client: &mut Client, random: &mut Random, owner: u64) {
    run(client, "BEGIN");
    for _ in 0..1 + random.number() % 4 {
        let some = format!("owner = {owner} AND id % 50 = {}", random.number() % 50);
        let change = match random.number() % 4 {
            0 => format!("DELETE FROM t WHERE {some} LIMIT 5"),
            1 => format!("UPDATE t SET v = {} WHERE {some} LIMIT 5", vector(random)),
            _ => {
                let rows = 1 + random.number() % 6;
                insert(random, owner, rows)
            }
        };
        match client.run(&change) {
            Ok(_) => {}
            // Writers look through each other's rows.
            Err(ClientError::Server(error)) if error.code == DEADLOCK => return,
            Err(error) => panic!("{change}: {error}"),
        }
    }
    run(client, ["COMMIT", "COMMIT", "ROLLBACK"][(random.number() % 3) as usize]);
}

#[test]
fn what_a_vector_key_finds_is_of_the_snapshot() {
    let mut server = start();
    let mut client = connect(&server);
    run(
        &mut client,
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, owner INT NOT NULL, v VECTOR(8) NOT NULL, VECTOR KEY k (v))",
    );
    let mut random = Random::of_run("what_a_vector_key_finds_is_of_the_snapshot");
    for round in 0..12 {
        run(&mut client, &insert(&mut random, round % 3, 100));
    }
    let ended = AtomicBool::new(false);
    let mut recall = Recall::default();
    std::thread::scope(|scope| {
        let end = SetOnDrop(&ended);
        for owner in 0..3 {
            let (server, ended) = (&server, &ended);
            let mut random = Random::new(random.number());
            scope.spawn(move || {
                let mut client = connect(server);
                run(&mut client, "USE d; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
                while !ended.load(Ordering::Relaxed) {
                    write(&mut client, &mut random, owner);
                }
            });
        }
        let mut reader = connect(&server);
        run(&mut reader, "USE d");
        for _ in 0..40 {
            run(&mut reader, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
            recall.ask(&mut reader, &mut random);
            // One's own rows are found before they are committed, and by no other session afterwards.
            let own = vector(&mut random);
            run(&mut reader, &format!("INSERT INTO t (owner, v) VALUES (5, {own})"));
            let id = value(&mut reader, "SELECT LAST_INSERT_ID()");
            assert_eq!(nearest(&mut reader, "FORCE", "owner = 5", &own), [id.as_str()]);
            recall.ask(&mut reader, &mut random);
            run(&mut reader, "ROLLBACK");
            assert!(nearest(&mut reader, "FORCE", "owner = 5", &own).is_empty());
        }
        drop(end);
    });
    recall.check();
    let rows = value(&mut client, "SELECT COUNT(*) FROM t");
    server.kill();
    server.restart();
    let mut client = connect(&server);
    run(&mut client, "USE d");
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t"), rows);
    let mut recall = Recall::default();
    for round in 0..60 {
        recall.ask(&mut client, &mut random);
        if round % 10 == 0 {
            write(&mut client, &mut random, 1);
        }
    }
    recall.check();
}

#[test]
fn definitions_and_loads_leave_a_vector_key_right() {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, "CREATE DATABASE d; USE d");
    run(&mut client, "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, owner INT NOT NULL, v VECTOR(8) NOT NULL)");
    let mut random = Random::of_run("definitions_and_loads_leave_a_vector_key_right");
    for _ in 0..8 {
        run(&mut client, &insert(&mut random, 1, 100));
    }
    run(&mut client, "CREATE VECTOR INDEX k ON t (v)");
    let plan = value(
        &mut client,
        "EXPLAIN FORMAT=TREE SELECT id FROM t ORDER BY DISTANCE(v, x'00000000', 'EUCLIDEAN') LIMIT 3",
    );
    assert!(plan.contains("Nearest rows of t using k"), "{plan}");
    let steps = [
        "ALTER TABLE t ADD COLUMN more INT DEFAULT 7 FIRST",
        "INSERT INTO t (owner, v) SELECT owner, v FROM t",
        "ALTER TABLE t DROP COLUMN more, ALGORITHM=COPY",
        "OPTIMIZE TABLE t",
        "CREATE TABLE other LIKE t; INSERT INTO other SELECT * FROM t; DROP TABLE t; RENAME TABLE other TO t",
        "DELETE FROM t WHERE id % 3 > 0",
        "ALTER TABLE t DROP INDEX k, ADD VECTOR INDEX k (v) M=5",
        "SET @@transaction_isolation = 'SERIALIZABLE'",
        "TRUNCATE TABLE t",
    ];
    for step in steps {
        run(&mut client, step);
        let mut recall = Recall::default();
        for _ in 0..12 {
            recall.ask(&mut client, &mut random);
        }
        recall.check();
        run(&mut client, &insert(&mut random, 1, 30));
        recall.ask(&mut client, &mut random);
    }
}
