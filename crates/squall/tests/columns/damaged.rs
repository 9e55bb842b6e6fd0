//! Damaged segments.

use super::{CORRUPTED, answer, run};
use mysql::prelude::Queryable;
use squall_test_support::random::Random;
use squall_test_support::server::TestServer;
use std::path::Path;

/// A changed byte of a segment, or a file that ends early, is an error that names the file, in queries that read it and in CHECK
/// TABLE. Other queries are answered, and damage is never returned as data.
#[test]
fn damaged_segments_are_named() {
    let mut server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut client = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, v INT, s VARCHAR(40), KEY (v)) ENGINE=COLUMN",
        "SET SESSION cte_max_recursion_depth = 100000",
        "INSERT INTO d.t WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < 3000) SELECT id, id % 40, MD5(id) FROM n",
        "OPTIMIZE TABLE d.t",
    ] {
        run(&mut client, sql);
    }
    let queries = [
        "SELECT SUM(id), SUM(v), COUNT(*) FROM d.t",
        "SELECT SUM(id) FROM d.t WHERE v IN (3, 7)",
        "SELECT * FROM d.t ORDER BY id",
        "SELECT s FROM d.t WHERE id = 77",
    ];
    let right: Vec<_> = queries.iter().map(|sql| answer(&mut client, &server, sql)).collect();
    drop(client);
    let folders = std::fs::read_dir(server.data_directory().join("columns")).expect("the folder");
    let files = folders.flatten().flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
    let path = files.map(|file| file.path()).next().expect("a segment");
    let whole = std::fs::read(&path).expect("its bytes");
    let mut random = Random::of_run("damaged_segments_are_named");
    for round in 0..12 {
        server.kill();
        let mut damaged = whole.clone();
        // The first four bytes are Parquet's mark, which the footer has, too: we do not read them.
        let at = 4 + random.below(whole.len() as u64 - 4) as usize;
        if round % 4 == 3 {
            damaged.truncate(at);
        } else {
            damaged[at] ^= 1 << random.below(8);
        }
        std::fs::write(&path, &damaged).expect("damage");
        server.restart();
        let mut client = server.connect();
        for (sql, right) in queries.iter().zip(&right) {
            let found = answer(&mut client, &server, sql);
            assert!(&found == right || found == Err(CORRUPTED), "byte {at}: {sql}: {found:?}");
        }
        let checked: Vec<(String, String, String, String)> = client.query("CHECK TABLE d.t").expect("a report");
        let named =
            checked.iter().any(|(.., kind, text)| kind.eq_ignore_ascii_case("error") && text.contains(".parquet"));
        assert!(named, "byte {at} of {}: {checked:?}", whole.len());
    }
    server.kill();
    std::fs::write(&path, &whole).expect("whole again");
    server.restart();
    let mut client = server.connect();
    for (sql, right) in queries.iter().zip(&right) {
        assert_eq!(&answer(&mut client, &server, sql), right, "{sql}");
    }
    let checked: Vec<(String, String, String, String)> = client.query("CHECK TABLE d.t").expect("a report");
    assert!(checked.iter().all(|(.., text)| text == "OK"), "{checked:?}");
}
