//! `squall load` and `squall export` on a server, and loads whose text ends early.

use mysql::prelude::Queryable as _;
use squall_client::{Client, ConnectOptions, LoadError, QueryResult, Target};
use squall_test_support::server::TestServer;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

const BINARY: &str = env!("CARGO_BIN_EXE_squall");

struct Place {
    server: TestServer,
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let server = TestServer::start(Path::new(BINARY));
        let mut conn = server.connect();
        conn.query_drop("SET GLOBAL local_infile = ON").expect("set");
        conn.query_drop("CREATE DATABASE d").expect("created");
        conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, at DATE, j JSON)")
            .expect("created");
        Place { server, folder: tempfile::tempdir().expect("a folder") }
    }

    fn file(&self, name: &str, content: &[u8]) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).expect("written");
        path.to_str().expect("a path that is text").to_owned()
    }

    fn rows(&self) -> Vec<(i64, String, Option<String>, Option<String>)> {
        self.server
            .connect()
            .query("SELECT id, name, CAST(at AS CHAR), CAST(j AS CHAR) FROM d.t ORDER BY id")
            .expect("rows")
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).expect("compressed");
    encoder.finish().expect("compressed")
}

#[test]
fn files_of_all_formats_make_one_load() {
    let place = Place::new();
    let text = |text: &str| Some(text.to_owned());
    let first =
        place.file("a.csv.gz", &gzip(b"id,name,j\r\n1,\"one, \"\"two\"\"\",\n2,\"line\nbreak\",\"{\"\"a\"\": 1}\"\n"));
    let second = place.file("b.csv", b"id,name,j\n3,t\\n,[]\n");
    assert!(second.ends_with("b.csv"));
    let pattern = format!("{}/*.csv*", place.folder.path().display());
    let said = place.server.client_output(&["load", "--header", "d.t", &pattern]);
    assert!(said.starts_with("3 rows loaded in ") && said.ends_with(" 0 rejected\n"), "{said}");
    assert_eq!(
        place.rows(),
        [
            (1, "one, \"two\"".to_owned(), None, None),
            (2, "line\nbreak".to_owned(), None, text("{\"a\": 1}")),
            (3, "t\\n".to_owned(), None, text("[]")),
        ]
    );
    std::fs::remove_file(first).expect("removed");
    let objects = zstd::encode_all(
        &b"{\"id\": 4, \"name\": \"\\u00e9\", \"at\": \"2020-01-02\"}\n{\"name\": \"x\", \"id\": 5, \"at\": null}\n"[..],
        1,
    );
    let third = place.file("c.ndjson.zst", &objects.expect("compressed"));
    let fourth = place.file("d.tsv", b"6\ttab\\tin\t\\N\t\\N\n");
    place.server.client_output(&["load", "-D", "d", "t", &third]);
    place.server.client_output(&["load", "-D", "d", "t", &fourth]);
    let rows = place.rows();
    assert_eq!(rows[3], (4, "é".to_owned(), text("2020-01-02"), None));
    assert_eq!(rows[5], (6, "tab\tin".to_owned(), None, None));
}

#[test]
fn rejected_rows_are_named_and_the_others_are_there() {
    let place = Place::new();
    let csv = place.file("a.csv", b"1,one,2020-01-01\n2,two,no date\n\n3\n4,\"open \"\"quote\",2020-01-01\n4,again,\n5,\"x\" y,\nsix,six,\n7,this name is much too long,\n8,,\n");
    let columns = ["--columns", "id,name,at"];
    let failed = place.server.client_error(&[&["load", "d.t", &csv][..], &columns].concat());
    assert!(failed.contains("line 7: there is text behind a closing quote"), "{failed}");
    assert_eq!(place.rows(), []);
    let good = place.file("good.csv", b"1,one,\n2,two,no date\n");
    let failed = place.server.client_error(&[&["load", "d.t", &good][..], &columns].concat());
    assert!(failed.contains("Incorrect date value") && failed.trim_end().ends_with("good.csv, line 2"), "{failed}");
    let rejects = place.folder.path().join("rejects.tsv");
    let said = place
        .server
        .client_output(&[&["load", "d.t", &csv, "--rejects", rejects.to_str().expect("text")][..], &columns].concat());
    assert!(said.starts_with("2 rows loaded"), "{said}");
    assert!(said.contains(", 7 rejected, see "), "{said}");
    let ids: Vec<i64> = place.rows().into_iter().map(|row| row.0).collect();
    assert_eq!(ids, [1, 4]);
    let found = std::fs::read_to_string(rejects).expect("the file");
    let found: Vec<String> = found.lines().map(|line| line.replace(&csv, "F")).collect();
    assert_eq!(
        found,
        [
            "F\t2\t1292\tIncorrect date value: 'no date' for column 'at' at row 2\t2,two,no date",
            "F\t4\t1261\tRow 3 doesn't contain data for all columns\t3",
            "F\t6\t1062\tDuplicate entry for a key of table 't'\t4,again,",
            "F\t7\t0\tthere is text behind a closing quote\t5,\"x\" y,",
            "F\t8\t1366\tIncorrect integer value: 'six' for column 'id' at row 6\tsix,six,",
            "F\t9\t1406\tData too long for column 'name' at row 7\t7,this name is much too long,",
            "F\t10\t1048\tColumn 'name' cannot be null\t8,,",
        ]
    );
    let failed = place.server.client_error(&[&["load", "d.t", &csv, "--max-rejects", "3"][..], &columns].concat());
    assert!(failed.contains("Data too long") && failed.trim_end().ends_with("a.csv, line 9"), "{failed}");
    assert_eq!(place.rows().len(), 2);
}

#[test]
fn what_is_exported_can_be_loaded() {
    let place = Place::new();
    let mut conn = place.server.connect();
    conn.query_drop("INSERT INTO d.t VALUES (1, 'a,\"b\"\n', '2001-02-03', '{\"x\": [1, null]}'), (2, '', NULL, NULL), (3, '\\\\\\tN', NULL, '7')")
        .expect("inserted");
    let before = place.rows();
    for name in ["out.csv", "out.tsv", "out.ndjson", "out.csv.gz", "out.ndjson.zst"] {
        let path = place.folder.path().join(name);
        let path = path.to_str().expect("text");
        let said = place.server.client_output(&["export", "d.t", "-o", path]);
        assert!(said.starts_with("3 rows written to "), "{said}");
        assert!(place.server.client_error(&["export", "d.t", "-o", path]).contains("is there already"));
        conn.query_drop("DELETE FROM d.t").expect("deleted");
        let header: &[&str] = if name.contains("ndjson") { &[] } else { &["--header"] };
        place.server.client_output(&[&["load", "d.t", path][..], header].concat());
        assert_eq!(place.rows(), before, "{name}");
    }
    let lines = place.server.client_output(&[
        "export",
        "--query",
        "SELECT id, name, at, 1.50 AS n FROM d.t WHERE id < 3",
        "--format",
        "ndjson",
    ]);
    assert_eq!(
        lines,
        "{\"id\":1,\"name\":\"a,\\\"b\\\"\\n\",\"at\":\"2001-02-03\",\"n\":1.50}\n{\"id\":2,\"name\":\"\",\"at\":null,\"n\":1.50}\n"
    );
    assert!(place.server.client_error(&["export", "d.nothing", "-o", "/tmp/never.csv"]).contains("1146"));
}

#[test]
fn local_files_have_to_be_allowed() {
    let place = Place::new();
    place.server.connect().query_drop("SET GLOBAL local_infile = OFF").expect("set");
    let file = place.file("a.csv", b"1,x,,\n");
    let failed = place.server.client_error(&["load", "d.t", &file]);
    assert!(failed.contains("SET GLOBAL local_infile = ON"), "{failed}");
    assert!(place.server.client_error(&["load", "d.t", "/nothing/here.csv"]).contains("/nothing/here.csv"));
    assert!(place.server.client_error(&["load", "d.t", &place.file("what.bin", b"x")]).contains("--format"));
}

/// Text that breaks off, because the client is gone, is no text to load: neither a little nor many megabytes of it.
#[test]
fn a_load_whose_client_is_gone_leaves_nothing() {
    let place = Place::new();
    let mut conn = place.server.connect();
    for (table, keys) in [("d.keyed", "PRIMARY KEY (id)"), ("d.heap", "KEY (id)")] {
        conn.query_drop(format!("CREATE TABLE {table} (id INT, s VARCHAR(100), {keys})")).expect("created");
        for pieces in [1, 40] {
            let target = Target::Tcp("127.0.0.1".to_owned(), place.server.port());
            let options = ConnectOptions { user: "root".to_owned(), ..ConnectOptions::new(target) };
            let mut client = Client::connect(&options).expect("connected");
            let (mut sent, mut id) = (0, 0);
            let result = client.load_local(&format!("LOAD DATA LOCAL INFILE 'x' INTO TABLE {table}"), |piece| {
                if sent == pieces {
                    return Err("the source has failed".to_owned());
                }
                sent += 1;
                while piece.len() < 100_000 {
                    id += 1;
                    piece.extend_from_slice(format!("{id}\tsome text that is not too short\n").as_bytes());
                }
                Ok(())
            });
            assert!(matches!(result, Err(LoadError::Source(_))));
            drop(client);
            // The server hears of it a moment later; the table's lock says when it is done.
            let mut checker = Client::connect(&options).expect("connected");
            let waiting = std::time::Instant::now();
            while !checker
                .run("SELECT id FROM information_schema.processlist WHERE command = 'Query' AND info LIKE 'LOAD%'")
                .expect("rows")[0]
                .1
                .is_empty()
            {
                assert!(waiting.elapsed().as_secs() < 60, "the load goes on");
                std::thread::yield_now();
            }
            let counted = checker.run(&format!("SELECT COUNT(*) FROM {table}")).expect("a count");
            let (QueryResult::Rows(_), rows) = &counted[0] else { panic!("no rows") };
            assert_eq!(rows[0][0].as_deref(), Some(&b"0"[..]), "{table}, {pieces} pieces");
        }
    }
}

/// LOCAL passes over rows whose keys are there, also those that others have inserted since it began.
#[test]
fn rows_that_come_during_a_load_stay() {
    let place = Place::new();
    let mut conn = place.server.connect();
    for (table, engine) in [("d.of_rows", "InnoDB"), ("d.by_column", "COLUMN")] {
        conn.query_drop(format!("CREATE TABLE {table} (id INT PRIMARY KEY, s VARCHAR(100)) ENGINE={engine}"))
            .expect("created");
        let target = Target::Tcp("127.0.0.1".to_owned(), place.server.port());
        let options = ConnectOptions { user: "root".to_owned(), ..ConnectOptions::new(target) };
        let mut client = Client::connect(&options).expect("connected");
        let (mut pieces, mut id) = (0, 0);
        let loaded = client.load_local(&format!("LOAD DATA LOCAL INFILE 'x' INTO TABLE {table}"), |piece| {
            pieces += 1;
            if pieces == 30 {
                let others =
                    "(-1, 'other'), (3, 'other'), (4, 'other'), (40000, 'other'), (90000, 'other'), (100001, 'other')";
                conn.query_drop(format!("INSERT INTO {table} VALUES {others}")).expect("inserted");
            }
            while piece.len() < 100_000 && id < 100_000 {
                id += 1;
                piece.extend_from_slice(format!("{id}\tsome text that is not too short\n").as_bytes());
            }
            Ok(())
        });
        let loaded = loaded.expect("loaded");
        assert_eq!(loaded.affected_rows, 99_996, "{table}");
        assert_eq!(loaded.info, "Records: 100000  Deleted: 0  Skipped: 4  Warnings: 4", "{table}");
        let warnings = client.run("SHOW WARNINGS").expect("warnings");
        let rows: Vec<String> = warnings[0]
            .1
            .iter()
            .map(|row| String::from_utf8_lossy(row[2].as_deref().unwrap_or_default()).into_owned())
            .collect();
        let name = table.trim_start_matches("d.");
        let expected =
            [3, 4, 40_000, 90_000].map(|row| format!("Duplicate entry in row {row} for key of table '{name}'"));
        assert_eq!(rows, expected);
        let counts: (u64, u64, i64, i64) = conn
            .query_first(format!("SELECT COUNT(*), SUM(s = 'other'), MIN(id), MAX(id) FROM {table}"))
            .expect("rows")
            .expect("a row");
        assert_eq!(counts, (100_002, 6, -1, 100_001), "{table}");
        for sql in ["OPTIMIZE TABLE", "CHECK TABLE"] {
            let found: Vec<(String, String, String, String)> = conn.query(format!("{sql} {table}")).expect("done");
            assert_eq!(found.last().expect("a row").3, "OK", "{sql} {table}");
        }
        let text: Option<String> = conn.query_first(format!("SELECT s FROM {table} WHERE id = 40000")).expect("a row");
        assert_eq!(text.as_deref(), Some("other"));
    }
}

#[test]
fn files_of_the_server_are_those_of_one_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let allowed = folder.path().join("allowed");
    std::fs::create_dir(&allowed).expect("made");
    std::fs::write(folder.path().join("secret"), "1\n").expect("written");
    std::os::unix::fs::symlink(folder.path(), allowed.join("link")).expect("a link");
    std::os::unix::fs::symlink(folder.path().join("secret"), allowed.join("secret_link")).expect("a link");
    let (allowed, outside) = (allowed.display().to_string(), folder.path().display().to_string());
    let code = |result: mysql::Result<()>| match result {
        Ok(()) => 0,
        Err(mysql::Error::MySqlError(error)) => error.code,
        Err(error) => panic!("{error}"),
    };
    for option in [Some(format!("--secure-file-priv={allowed}")), None] {
        let arguments: Vec<&str> = option.as_deref().into_iter().collect();
        let server = TestServer::start_with_arguments(Path::new(BINARY), &arguments);
        let mut conn = server.connect();
        conn.query_drop("CREATE DATABASE d").expect("created");
        conn.query_drop("CREATE TABLE d.t (id INT)").expect("created");
        let name = if option.is_some() { "inside" } else { "never" };
        let inside = code(conn.query_drop(format!("SELECT 7 INTO OUTFILE '{allowed}/{name}'")));
        let back = code(conn.query_drop(format!("LOAD DATA INFILE '{allowed}/{name}' INTO TABLE d.t")));
        assert_eq!((inside, back), if option.is_some() { (0, 0) } else { (1290, 1290) });
        for path in [format!("{outside}/secret"), format!("{allowed}/../secret"), format!("{allowed}/link/secret")] {
            assert_eq!(code(conn.query_drop(format!("LOAD DATA INFILE '{path}' INTO TABLE d.t"))), 1290, "{path}");
            assert_eq!(code(conn.query_drop(format!("SELECT 1 INTO OUTFILE '{path}2'"))), 1290, "{path}");
        }
        assert_eq!(code(conn.query_drop(format!("LOAD DATA INFILE '{allowed}/secret_link' INTO TABLE d.t"))), 1290);
        // FastBit's functions are held to the same folder.
        conn.query_drop("SELECT fb_create('/t', 'id:int')").expect("created");
        for path in [format!("{outside}/secret.fcsv"), format!("{allowed}/link/secret.fcsv")] {
            let calls = [
                "fb_load('/t', '{}')",
                "fb_query('/t', '{}', 'select id')",
                "fb_file_get_contents('{}')",
                "fb_unlink('{}')",
            ];
            for call in calls {
                assert_eq!(
                    code(conn.query_drop(format!("SELECT {}", call.replace("{}", &path)))),
                    1290,
                    "{call} {path}"
                );
            }
        }
        let ids: Vec<i64> = conn.query("SELECT id FROM d.t").expect("rows");
        assert_eq!(ids, if option.is_some() { vec![7] } else { vec![] });
    }
}

#[test]
fn the_process_list_tells_how_far_a_load_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let server = TestServer::start_with_arguments(Path::new(BINARY), &["--secure-file-priv="]);
    let (mut loading, mut watching) = (server.connect(), server.connect());
    watching.query_drop("CREATE DATABASE d; CREATE TABLE d.t (id INT)").expect("created");
    let statement = format!("LOAD DATA INFILE '{}' INTO TABLE d.t", pipe.display());
    let load = std::thread::spawn(move || loading.query_drop(statement).map(|()| loading.affected_rows()));
    let mut file = std::fs::OpenOptions::new().write(true).open(&pipe).expect("opened");
    // Enough for blocks of it to be made rows of before the end is seen.
    let count = 250_000;
    let text: String = (0..count).map(|id| format!("{id}\n")).collect();
    file.write_all(text.as_bytes()).expect("written");
    let shown =
        "SELECT STATE FROM information_schema.PROCESSLIST WHERE INFO LIKE 'LOAD DATA%' AND STATE LIKE 'loading: %'";
    let rows_shown = |state: &str| state.strip_prefix("loading: ")?.strip_suffix(" rows")?.parse::<u64>().ok();
    loop {
        let states: Vec<String> = watching.query(shown).expect("rows");
        let rows = states.first().map(|state| rows_shown(state).unwrap_or_else(|| panic!("{state}")));
        if rows.is_some_and(|rows| rows > 0) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    drop(file);
    assert_eq!(load.join().expect("loaded").expect("loaded"), count);
    let rest: Vec<String> = watching.query(shown).expect("rows");
    assert!(rest.is_empty(), "{rest:?}");
}
