//! performance_schema's counts of row tables' files, by table. Reads from caches do not count.

use super::{connect, run, start, value};
use squall_client::Client;
use squall_test_support::server::TestServer;

/// Reads of files of row tables, and bytes of them.
fn reads(client: &mut Client) -> (u64, u64) {
    let mut sum = |column| {
        let sql = format!(
            "SELECT SUM({column}) FROM performance_schema.file_summary_by_instance
             WHERE event_name = 'wait/io/file/squall/row_table'"
        );
        value(client, &sql).parse().unwrap()
    };
    (sum("count_read"), sum("sum_number_of_bytes_read"))
}

fn prepared() -> (TestServer, Client) {
    let mut server = start();
    let mut client = connect(&server);
    run(
        &mut client,
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(100));
         INSERT INTO t WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 900)
             SELECT n, REPEAT('x', 100) FROM s",
    );
    drop(client);
    server.kill();
    server.restart();
    let mut client = connect(&server);
    run(&mut client, "USE d");
    (server, client)
}

#[test]
fn cold_reads_are_reads_of_files_and_warm_ones_are_not() {
    let (_server, mut client) = prepared();
    let cold = reads(&mut client);
    let read = |client: &mut Client| assert_eq!(value(client, "SELECT LENGTH(v) FROM t WHERE id = 700"), "100");
    read(&mut client);
    let once = reads(&mut client);
    assert!(once.0 > cold.0 && once.1 > cold.1, "{cold:?} {once:?}");
    for _ in 0..10 {
        read(&mut client);
    }
    // Without the row cache the engine's cache of blocks is asked.
    run(&mut client, "SET GLOBAL row_cache_size = 0");
    read(&mut client);
    assert_eq!(reads(&mut client), once);
    assert_eq!(value(&mut client, "SELECT COUNT(v) FROM t"), "900");
    let scanned = reads(&mut client);
    assert!(scanned.0 > once.0, "{once:?} {scanned:?}");
    assert_eq!(value(&mut client, "SELECT COUNT(v) FROM t"), "900");
    assert_eq!(reads(&mut client), scanned);
}

/// The folder of the table, whose name performance_schema has.
#[test]
fn bytes_written_are_those_of_the_tables_files() {
    let (_server, mut client) = prepared();
    // What a killed server had not written to files the next one does at once.
    const WRITTEN: &str = "SELECT file_name, sum_number_of_bytes_write FROM performance_schema.file_summary_by_instance
         WHERE event_name = 'wait/io/file/squall/row_table' ORDER BY sum_number_of_bytes_write DESC LIMIT 1";
    let row = client.run(WRITTEN).unwrap()[0].1[0].clone();
    let [folder, written] = [0, 1].map(|at| String::from_utf8(row[at].clone().unwrap()).unwrap());
    let files = std::fs::read_dir(format!("{folder}/tables")).unwrap();
    assert_eq!(files.map(|file| file.unwrap().metadata().unwrap().len()).sum::<u64>().to_string(), written);
    assert_ne!(written, "0");
    let total = value(
        &mut client,
        &format!("SELECT total_written FROM sys.`x$io_global_by_file_by_bytes` WHERE file = '{folder}'"),
    );
    assert_eq!(total, written);
    // The engine opens a file when it is read.
    assert_eq!(value(&mut client, "SELECT COUNT(v) FROM t"), "900");
    let instances = format!(
        "SELECT COUNT(*) FROM performance_schema.file_instances WHERE file_name = '{folder}' AND open_count > 0"
    );
    assert_eq!(value(&mut client, &instances), "1");
}
