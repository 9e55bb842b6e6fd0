//! Column tables on a disk that fills up: the statement that writes gets an error, the table does not change, and the server continues
//! to write.

use super::{DISK_FULL, ERROR_DURING_COMMIT, SmallDisk, TABLE_FULL, count, until_done};
use mysql::Conn;
use mysql::prelude::Queryable;
use squall_client::{Client, ClientError, ConnectOptions, LoadError, Target};
use squall_test_support::random::{Random, seed};
use squall_test_support::server::{TestServer, error_code};
use std::fmt::Write as _;
use std::path::Path;

/// Rows of a table before the disk is full.
const ROWS: u64 = 2000;

fn run(conn: &mut Conn, sql: &str) {
    conn.query_drop(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// The texts of a run: each number has one, which is the same in every table.
#[derive(Clone, Copy)]
struct Texts {
    seed: u64,
}

impl Texts {
    fn of_run(test: &str) -> Texts {
        Texts { seed: seed(test) }
    }

    /// A kilobyte of text that takes half of that at least, however it is compressed.
    fn text(self, number: u64) -> String {
        let mut random = Random::new((self.seed ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        random.bytes(512).iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// A table of some rows, all of them sealed, and a second connection's view of nothing else.
fn fill(conn: &mut Conn, texts: Texts, table: &str, engine: &str) {
    run(conn, &format!("CREATE TABLE {table} (id BIGINT PRIMARY KEY, v TEXT) ENGINE={engine}"));
    for first in (0..ROWS).step_by(500) {
        let rows: Vec<String> = (first..first + 500).map(|id| format!("({id}, '{}')", texts.text(id))).collect();
        run(conn, &format!("INSERT INTO {table} VALUES {}", rows.join(",")));
    }
    run(conn, &format!("OPTIMIZE TABLE {table}"));
}

/// The rows, by count and by content.
fn contents(conn: &mut Conn, table: &str) -> (u64, u64, u64) {
    let sql = format!("SELECT COUNT(*), COALESCE(SUM(id), 0), COALESCE(BIT_XOR(CRC32(v)), 0) FROM {table}");
    conn.query_first(&sql).unwrap_or_else(|error| panic!("{sql}: {error}")).expect("a row")
}

/// Files of segments.
fn files(folder: &Path) -> u64 {
    let folders = std::fs::read_dir(folder.join("columns")).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
    files.filter(|file| file.path().extension().is_some_and(|extension| extension == "parquet")).count() as u64
}

/// Waits until there are the files that lists name, and no others.
fn await_no_leftovers(conn: &mut Conn, server: &TestServer) {
    until_done(|| {
        let listed = "SELECT COALESCE(SUM(segments), 0) FROM information_schema.column_tables";
        let listed: u64 = conn.query_first(listed).expect("the tables").expect("a row");
        (files(&server.data_directory()) != listed).then_some(TABLE_FULL)
    });
}

/// The engine has met no full disk: the server takes changes.
fn check_writes(conn: &mut Conn) {
    let failure: Option<(String, String)> =
        conn.query_first("SHOW GLOBAL STATUS LIKE 'Squall_write_failure'").expect("a status");
    assert_eq!(failure.expect("its row").1, "");
    until_done(|| error_code(conn.query_drop("REPLACE INTO d.marker VALUES (1)")));
}

fn start(disk: &SmallDisk) -> (TestServer, Conn) {
    let server = disk.start();
    let mut conn = server.connect();
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.marker (id INT PRIMARY KEY)", "SET GLOBAL local_infile = ON"] {
        run(&mut conn, sql);
    }
    (server, conn)
}

/// Sends rows until the server has had enough; its error.
fn load(server: &TestServer, texts: Texts, table: &str, first: u64) -> u16 {
    let target = Target::Tcp("127.0.0.1".to_owned(), server.port());
    let options = ConnectOptions { user: "root".to_owned(), ..ConnectOptions::new(target) };
    let mut client = Client::connect(&options).expect("a connection");
    let mut id = first;
    let limit = first + 2 * super::DISK_BYTES / 512;
    let loaded = client.load_local(&format!("LOAD DATA LOCAL INFILE 'x' INTO TABLE {table}"), |piece| {
        while piece.len() < 200_000 && id < limit {
            piece.extend(format!("{id}\t{}\n", texts.text(id)).bytes());
            id += 1;
        }
        Ok(())
    });
    match loaded {
        Err(LoadError::Client(ClientError::Server(error))) => error.code,
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("a load of more than the disk has room for"),
    }
}

#[test]
fn loads_into_column_tables() {
    let Some(disk) = SmallDisk::mount("loads_into_column_tables") else { return };
    let texts = Texts::of_run("loads_into_column_tables");
    let (server, mut conn) = start(&disk);
    fill(&mut conn, texts, "d.c", "COLUMN");
    // In the order of the key, and with rows that have to be sorted.
    for first in [1_000_000, 0] {
        if first == 0 {
            run(&mut conn, "DELETE FROM d.c WHERE id = 0");
        }
        let before = contents(&mut conn, "d.c");
        let refused = load(&server, texts, "d.c", first);
        assert!([DISK_FULL, TABLE_FULL].contains(&refused), "from {first}: {refused}");
        assert_eq!(contents(&mut conn, "d.c"), before);
        await_no_leftovers(&mut conn, &server);
        check_writes(&mut conn);
    }
    // By the server itself, doubling what is there.
    let mut expected = contents(&mut conn, "d.c").0;
    assert_eq!(expected, ROWS - 1);
    let refused = loop {
        let double = format!("INSERT INTO d.c SELECT id + {expected} * 1000, REVERSE(v) FROM d.c");
        match error_code(conn.query_drop(double)) {
            None => expected *= 2,
            Some(code) => break code,
        }
        assert!(expected < 2 * super::DISK_BYTES / 512, "the disk does not fill up");
    };
    assert!([DISK_FULL, TABLE_FULL, ERROR_DURING_COMMIT].contains(&refused), "{refused}");
    assert_eq!(count(&mut conn, "d.c"), expected);
    await_no_leftovers(&mut conn, &server);
    check_writes(&mut conn);
}

#[test]
fn another_engine_and_changes_of_many_rows() {
    let Some(disk) = SmallDisk::mount("another_engine_and_changes_of_many_rows") else { return };
    let texts = Texts::of_run("another_engine_and_changes_of_many_rows");
    let (mut server, mut conn) = start(&disk);
    fill(&mut conn, texts, "d.r", "InnoDB");
    fill(&mut conn, texts, "d.c", "COLUMN");
    let (rows, columns) = (contents(&mut conn, "d.r"), contents(&mut conn, "d.c"));
    assert_eq!(rows, columns);
    // Another program takes what is left, but for less than the tables take.
    let other = disk.0.path().join("other");
    // Writing fails where the disk ends.
    let _ = std::fs::write(&other, vec![1u8; usize::try_from(super::DISK_BYTES).expect("a length")]);
    let file = std::fs::OpenOptions::new().write(true).open(&other).expect("the other file");
    let taken = file.metadata().expect("its length").len();
    file.set_len(taken - (13 << 20)).expect("some room");
    let refused = [
        "ALTER TABLE d.r ENGINE=COLUMN",
        "ALTER TABLE d.c ENGINE=InnoDB",
        "CREATE COLUMN INDEX copy ON d.r (v)",
        "UPDATE d.c SET v = REVERSE(v)",
        "CREATE TABLE d.d ENGINE=COLUMN AS SELECT * FROM d.c",
    ];
    for sql in refused {
        let code = error_code(conn.query_drop(sql));
        assert!(
            code.is_some_and(|code| [DISK_FULL, TABLE_FULL, ERROR_DURING_COMMIT].contains(&code)),
            "{sql}: {code:?}"
        );
        assert_eq!((contents(&mut conn, "d.r"), contents(&mut conn, "d.c")), (rows, columns), "{sql}");
    }
    let engines: Vec<String> = conn
        .query("SELECT engine FROM information_schema.tables WHERE table_schema = 'd' ORDER BY table_name")
        .expect("the tables");
    assert_eq!(engines, ["COLUMN", "InnoDB", "InnoDB"]);
    await_no_leftovers(&mut conn, &server);
    // Changes that free space are let through, also by manifests.
    until_done(|| error_code(conn.query_drop("DELETE FROM d.c WHERE id % 2 = 0")));
    assert_eq!(count(&mut conn, "d.c"), ROWS / 2);
    server.kill();
    server.restart();
    let mut conn = server.connect();
    assert_eq!((contents(&mut conn, "d.r"), count(&mut conn, "d.c")), (rows, ROWS / 2));
    std::fs::remove_file(other).expect("the other file");
    until_done(|| error_code(conn.query_drop("ALTER TABLE d.r ENGINE=COLUMN")));
    run(&mut conn, "OPTIMIZE TABLE d.c, d.r");
    assert_eq!((contents(&mut conn, "d.r"), count(&mut conn, "d.c")), (rows, ROWS / 2));
    await_no_leftovers(&mut conn, &server);
    check_writes(&mut conn);
}

#[test]
fn seals_and_merges() {
    let Some(disk) = SmallDisk::mount("seals_and_merges") else { return };
    let texts = Texts::of_run("seals_and_merges");
    let (server, mut conn) = start(&disk);
    run(&mut conn, "CREATE TABLE d.c (id BIGINT PRIMARY KEY, v TEXT) ENGINE=COLUMN");
    // Until the disk is full, while the background seals what it can and merges that.
    let mut stored = 0;
    let refused = loop {
        let rows: Vec<String> = (stored..stored + 500).map(|id| format!("({id}, '{}')", texts.text(id))).collect();
        match error_code(conn.query_drop(format!("INSERT INTO d.c VALUES {}", rows.join(",")))) {
            None => stored += 500,
            Some(code) => break code,
        }
        assert!(stored < 2 * super::DISK_BYTES / 512, "the disk does not fill up");
    };
    assert!([TABLE_FULL, ERROR_DURING_COMMIT].contains(&refused), "{refused}");
    let expected = contents(&mut conn, "d.c");
    assert_eq!(expected.0, stored);
    // It may find space or not; the rows are there in any case.
    let code = error_code(conn.query_drop("OPTIMIZE TABLE d.c"));
    assert!(code.is_none_or(|code| code == DISK_FULL), "{code:?}");
    assert_eq!(contents(&mut conn, "d.c"), expected);
    await_no_leftovers(&mut conn, &server);
    // Changes that free space are let through, and then everything is.
    until_done(|| error_code(conn.query_drop("DELETE FROM d.c WHERE id < 100")));
    assert_eq!(count(&mut conn, "d.c"), stored - 100);
    run(&mut conn, "TRUNCATE TABLE d.c");
    check_writes(&mut conn);
    until_done(|| error_code(conn.query_drop(format!("INSERT INTO d.c VALUES (1, '{}')", texts.text(1)))));
    run(&mut conn, "OPTIMIZE TABLE d.c");
    assert_eq!(contents(&mut conn, "d.c").0, 1);
    await_no_leftovers(&mut conn, &server);
    let states: Vec<(String, Option<String>)> =
        conn.query("SELECT state, last_error FROM information_schema.column_tables").expect("the tables");
    assert_eq!(states, [("IDLE".to_owned(), None)]);
}
