//! Parquet files between a server, its client program, and other programs.

use mysql::prelude::Queryable as _;
use squall_test_support::server::TestServer;
use squall_test_support::skip;
use std::path::Path;
use std::process::Command;

const BINARY: &str = env!("CARGO_BIN_EXE_squall");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/parquet_files.py");

const TABLE: &str = "CREATE TABLE d.t (id INT PRIMARY KEY, ub BIGINT UNSIGNED, de DECIMAL(10,3), wi DECIMAL(30,4), f FLOAT, \
    do DOUBLE, bi BIT(10), y YEAR, d DATE, t TIME(3), dt DATETIME(6), ts TIMESTAMP(2) NULL, v VARCHAR(40), \
    b VARBINARY(10), e ENUM('x', 'ÿ'), s SET('a', 'b', 'c'), j JSON)";
const ROWS: &str = "INSERT INTO d.t VALUES (1, 18446744073709551615, -1234567.891, 12345678901234567890123456.7890, 0.1, \
    1e-300, b'1000000001', 2155, '9999-12-31', '23:59:59.999', '2024-02-29 23:59:59.999999', \
    '2024-03-31 00:30:00+00:00', 'ß 🦆', x'00FF', 'ÿ', 'a,c', '{\"k\": [1, 2.5]}'), \
    (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)";

struct Place {
    server: TestServer,
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        let allowed = format!("--secure-file-priv={}", folder.path().display());
        let server = TestServer::start_with_arguments(Path::new(BINARY), &[&allowed]);
        let mut conn = server.connect();
        for sql in ["SET GLOBAL local_infile = ON", "CREATE DATABASE d", "SET time_zone = 'Europe/Berlin'", TABLE, ROWS]
        {
            conn.query_drop(sql).expect(sql);
        }
        Place { server, folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("text").to_owned()
    }
}

/// Whether Python can be asked.
fn others_are_there(test: &str) -> bool {
    let there = Command::new("python3").args(["-c", "import duckdb, pyarrow"]).output();
    if there.is_ok_and(|output| output.status.success()) {
        return true;
    }
    skip(test, "pip install duckdb pyarrow");
    false
}

fn ask_others(what: &str, place: &str) {
    let output = Command::new("python3").args([SCRIPT, what, place]).output().expect("python3");
    assert!(output.status.success(), "{what} {place}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn others_read_what_is_written() {
    if !others_are_there("others_read_what_is_written") {
        return;
    }
    let place = Place::new();
    let (server_file, client_file) = (place.path("server.parquet"), place.path("client.parquet"));
    let mut conn = place.server.connect();
    conn.query_drop(format!("SELECT * FROM d.t INTO OUTFILE '{server_file}' FORMAT PARQUET")).expect("written");
    let said = place.server.client_output(&["export", "d.t", "-o", &client_file]);
    assert!(said.starts_with("2 rows written to "), "{said}");
    ask_others("read", &server_file);
    ask_others("read", &client_file);
    // The client program's file is the table again, by either way.
    conn.query_drop("CREATE TABLE d.again LIKE d.t; CREATE TABLE d.once_more LIKE d.t").expect("created");
    place.server.client_output(&["load", "d.again", &client_file]);
    conn.query_drop(format!("LOAD DATA INFILE '{client_file}' INTO TABLE d.once_more FORMAT PARQUET")).expect("loaded");
    let all = "SELECT COUNT(*) FROM (SELECT * FROM d.t UNION SELECT * FROM d.again UNION SELECT * FROM d.once_more) u";
    assert_eq!(conn.query_first::<u64, _>(all).expect("counted"), Some(2));
}

#[test]
fn what_others_write_can_be_loaded() {
    if !others_are_there("what_others_write_can_be_loaded") {
        return;
    }
    let place = Place::new();
    ask_others("write", &place.path(""));
    let mut conn = place.server.connect();
    conn.query_drop("SET time_zone = '+00:00'").expect("set");
    let create = "(id INT PRIMARY KEY, ub BIGINT UNSIGNED, de DECIMAL(20,3), do DOUBLE, d DATE, t TIME(2), dt DATETIME, \
        ts TIMESTAMP, v VARCHAR(20), flag BOOL, u CHAR(36), sparse INT)";
    let fingerprint = "SELECT CONCAT_WS(' ', COUNT(*), SUM(id), MAX(ub), SUM(de), ROUND(SUM(do), 3), MAX(d), MAX(t), MAX(dt), \
        MAX(ts), MIN(v), SUM(flag), MAX(u), SUM(sparse)) FROM d.o";
    let expected = "5000 12497500 18446744073709544999 1562187.500 4165833.333 2013-09-08 10:00:00.25 2024-01-01 00:00:00 \
        2024-03-31 00:30:00 text 0 2500 12345678-1234-5678-1234-567812345678 4165833";
    let files = std::fs::read_dir(place.folder.path()).expect("a folder");
    let names: Vec<String> = files
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        .filter(|name| name.starts_with("duckdb") || name.starts_with("pyarrow"))
        .collect();
    assert_eq!(names.len(), 13);
    for (at, name) in names.iter().enumerate() {
        let engine = if at % 2 == 0 { "InnoDB" } else { "COLUMN" };
        conn.query_drop(format!("DROP TABLE IF EXISTS d.o; CREATE TABLE d.o {create} ENGINE={engine}"))
            .expect("created");
        let path = place.path(name);
        if at % 3 == 0 {
            place.server.client_output(&["load", "d.o", &path]);
        } else {
            let load = format!("LOAD DATA INFILE '{path}' INTO TABLE d.o FORMAT PARQUET");
            conn.query_drop(&load).unwrap_or_else(|error| panic!("{load}: {error}"));
        }
        assert_eq!(conn.query_first::<String, _>(fingerprint).expect("a row").as_deref(), Some(expected), "{name}");
    }
    let code = |result: mysql::Result<()>| match result {
        Err(mysql::Error::MySqlError(error)) => error.code,
        other => panic!("{other:?}"),
    };
    let nested = place.path("nested.parquet");
    conn.query_drop("CREATE TABLE d.n (id INT, l INT, s INT)").expect("created");
    let load = |rest: &str| format!("LOAD DATA INFILE '{nested}' INTO TABLE d.n FORMAT PARQUET {rest}");
    assert_eq!(code(conn.query_drop(load(""))), 1033);
    conn.query_drop(load("(id)")).expect("the columns that are no lists");
    assert!(place.server.client_error(&["load", "d.n", &nested]).contains("has lists"));
    conn.query_drop("CREATE TABLE d.i (id INT, dt DATETIME(6))").expect("created");
    place.server.client_output(&["load", "d.i", &place.path("int96.parquet")]);
    let moment: Option<String> = conn.query_first("SELECT CAST(dt AS CHAR) FROM d.i").expect("a row");
    assert_eq!(moment.as_deref(), Some("2024-02-29 01:02:03.000004"));
    // A page that its checksum does not fit is found out.
    let whole = std::fs::read(place.path("pyarrow_none_1.0.parquet")).expect("read");
    let mut damaged = whole.clone();
    let at = whole.windows(6).position(|part| part == b"text 3").expect("a value");
    damaged[at] = b'T';
    std::fs::write(place.path("damaged.parquet"), damaged).expect("written");
    conn.query_drop("TRUNCATE TABLE d.o").expect("emptied");
    let load = format!("LOAD DATA INFILE '{}' INTO TABLE d.o FORMAT PARQUET", place.path("damaged.parquet"));
    assert_eq!(code(conn.query_drop(load)), 1033);
    assert_eq!(conn.query_first::<u64, _>("SELECT COUNT(*) FROM d.o").expect("counted"), Some(0));
}

#[test]
fn rows_that_cannot_be_stored_are_named() {
    let place = Place::new();
    let mut conn = place.server.connect();
    let file = place.path("r.parquet");
    let rows = "SELECT 1 AS id, 'one' AS v UNION ALL SELECT 2, 'far too long for it' UNION ALL SELECT 1, 'again' UNION ALL SELECT 4, 'four'";
    conn.query_drop(format!("{rows} INTO OUTFILE '{file}' FORMAT PARQUET")).expect("written");
    conn.query_drop("CREATE TABLE d.r (id INT PRIMARY KEY, v VARCHAR(5))").expect("created");
    let failed = place.server.client_error(&["load", "d.r", &file]);
    assert!(failed.contains("Data too long") && failed.trim_end().ends_with("r.parquet, row 2"), "{failed}");
    let rejects = place.path("rejects.tsv");
    let said = place.server.client_output(&["load", "d.r", &file, "--rejects", &rejects]);
    assert!(said.starts_with("2 rows loaded"), "{said}");
    let found = std::fs::read_to_string(&rejects).expect("the file").replace(&file, "F");
    let expected = "F\t2\t1406\tData too long for column 'v' at row 2\t2\tfar too long for it\n\
        F\t3\t1062\tDuplicate entry for a key of table 'r'\t1\tagain\n";
    assert_eq!(found, expected);
    // Any client can send such a file.
    let local = squall_client::Target::Tcp("127.0.0.1".to_owned(), place.server.port());
    let options =
        squall_client::ConnectOptions { user: "root".to_owned(), ..squall_client::ConnectOptions::new(local) };
    let mut client = squall_client::Client::connect(&options).expect("connected");
    client.run("CREATE TABLE d.l (id INT, v VARCHAR(30))").expect("created");
    client.run(&format!("LOAD DATA LOCAL INFILE '{file}' INTO TABLE d.l FORMAT PARQUET")).expect("loaded");
    assert_eq!(
        conn.query_first::<String, _>("SELECT GROUP_CONCAT(v) FROM d.l").expect("a row").as_deref(),
        Some("one,far too long for it,again,four")
    );
    let half = place.path("half.parquet");
    let whole = std::fs::read(&file).expect("read");
    std::fs::write(&half, &whole[..whole.len() / 2]).expect("written");
    let failed = client.run(&format!("LOAD DATA LOCAL INFILE '{half}' INTO TABLE d.l FORMAT PARQUET"));
    assert!(failed.is_err_and(|error| error.to_string().contains("Incorrect information in file")));
    assert!(place.server.client_error(&["load", "d.l", &half]).contains("half.parquet: "));
    client.run("SELECT 1").expect("the connection goes on");
}

/// A query that is killed while it is written, or that fails, leaves no file; its progress is in the process list.
#[test]
fn nothing_is_left_of_what_was_not_completed() {
    let place = Place::new();
    let (mut writing, mut watching) = (place.server.connect(), place.server.connect());
    watching.query_drop("SET SESSION cte_max_recursion_depth = 1000000").expect("set");
    watching
        .query_drop("CREATE TABLE d.n AS WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3000) SELECT i FROM n")
        .expect("created");
    for format in ["FORMAT PARQUET", "FORMAT NDJSON", "FORMAT CSV", "FIELDS TERMINATED BY ','"] {
        let path = place.path("killed");
        let statement =
            format!("SELECT a.i, b.i AS j, c.i AS k FROM d.n a, d.n b, d.n c INTO OUTFILE '{path}' {format}");
        let id: u64 = writing.query_first("SELECT CONNECTION_ID()").expect("a row").expect("a row");
        let worker = std::thread::spawn(move || {
            let result = writing.query_drop(statement);
            (writing, result)
        });
        let shown =
            format!("SELECT STATE FROM information_schema.PROCESSLIST WHERE ID = {id} AND STATE LIKE 'writing: %'");
        loop {
            let states: Vec<String> = watching.query(&shown).expect("rows");
            let rows = |state: &String| state.strip_prefix("writing: ")?.strip_suffix(" rows")?.parse::<u64>().ok();
            if states.iter().any(|state| rows(state).unwrap_or_else(|| panic!("{state}")) > 0) {
                break;
            }
            std::thread::yield_now();
        }
        watching.query_drop(format!("KILL QUERY {id}")).expect("killed");
        let (same, result) = worker.join().expect("a client's thread");
        assert!(matches!(result, Err(mysql::Error::MySqlError(error)) if error.code == 1317));
        writing = same;
        let left: Vec<_> = std::fs::read_dir(place.folder.path()).expect("a folder").collect();
        assert!(left.is_empty(), "{format}: {left:?}");
    }
}
