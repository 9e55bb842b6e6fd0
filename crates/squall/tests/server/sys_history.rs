//! Every view of `sys_history` has rows after some work of the server; otherwise a view could be fast because it is empty.

use super::{connect, options, run, start, value, wait_until};
use squall_client::{Client, ConnectOptions, TlsMode};
use std::thread;

/// Whatever the views tell of: statements that fail, sort, group and scan, files, an unused index.
const LOAD: &str = "SET GLOBAL ps_history_enabled = OFF; CREATE DATABASE shop; USE shop;
    CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(40), KEY (a), KEY unused (b, a));
    CREATE TABLE c (id INT, a INT, b VARCHAR(40)) ENGINE=COLUMN;
    SET cte_max_recursion_depth = 10000;
    INSERT INTO t WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < 5000) SELECT id, id % 97, MD5(id) FROM n;
    INSERT INTO c SELECT * FROM t; OPTIMIZE TABLE c;
    SELECT COUNT(*), SUM(a) FROM c WHERE b LIKE 'a%';
    SELECT COUNT(*) FROM t WHERE b LIKE '%a%';
    SELECT a, COUNT(*) FROM t GROUP BY a ORDER BY 2 DESC LIMIT 3;
    SELECT DISTINCT a + id AS s FROM t ORDER BY s LIMIT 3;
    SELECT 1 / 0; UPDATE t SET a = a + 1 WHERE id < 100; DELETE FROM t WHERE id < 10";

/// Views without rows after that, with the reason.
const EMPTY: [&str; 1] = [
    // Nothing that is counted is ever lost.
    "ps_check_lost_instrumentation",
];

#[test]
fn every_view_has_rows() {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, LOAD);
    client.run("SELECT * FROM nowhere").expect_err("no table");
    // One waits for a row, then another one for the table, while the locks are collected. The other way round both would wait for the table.
    run(&mut client, "BEGIN; UPDATE t SET a = 1 WHERE id = 20");
    thread::scope(|scope| {
        let server = &server;
        let mut observer = connect(server);
        for (sql, waits) in [
            ("UPDATE shop.t SET a = 2 WHERE id = 20", "performance_schema.data_lock_waits"),
            ("ALTER TABLE shop.t ADD COLUMN z INT", "sys.schema_table_lock_waits"),
        ] {
            // Not for ever, where this one fails.
            let sql = format!("SET lock_wait_timeout = 100, innodb_lock_wait_timeout = 100; {sql}");
            scope.spawn(move || run(&mut connect(server), &sql));
            wait_until(waits, || value(&mut observer, &format!("SELECT COUNT(*) > 0 FROM {waits}")) == "1");
        }
        run(&mut observer, "CALL ps_history.collect()");
        run(&mut client, "COMMIT");
    });
    run(&mut client, "SET group_concat_max_len = 100000");
    let names = "SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = 'sys_history'";
    let names = value(&mut client, names);
    let rows = |client: &mut Client, name: &str| value(client, &format!("SELECT COUNT(*) FROM sys_history.`{name}`"));
    let empty: Vec<&str> = names.split(',').filter(|name| rows(&mut client, name) == "0").collect();
    assert_eq!(empty, EMPTY);
    assert!(names.split(',').count() >= 89, "{names}");
    // Who waited for files: connections, and threads of the server's own.
    for (view, column, who) in [
        ("io_by_thread_by_latency", "user", ["root@localhost", "squall-commit"]),
        ("host_summary_by_file_io", "host", ["localhost", "background"]),
        ("host_summary_by_file_io_type", "host", ["localhost", "background"]),
        ("user_summary_by_file_io", "user", ["root", "background"]),
        ("user_summary_by_file_io_type", "user", ["root", "background"]),
    ] {
        for who in who {
            let found =
                value(&mut client, &format!("SELECT COUNT(*) > 0 FROM sys_history.{view} WHERE {column} = '{who}'"));
            assert_eq!(found, "1", "{view}: {who}");
        }
    }
}

/// How a connection is encrypted is told alike wherever clients look for it, also among the server's variables.
#[test]
fn encryption_is_told_everywhere() {
    let server = start();
    let plain = ConnectOptions { tls: TlsMode::Disabled, ..options(&server) };
    let encrypted = ConnectOptions { tls: TlsMode::Required, ..options(&server) };
    for (options, version) in [(plain, ""), (encrypted, "TLSv1.3")] {
        let mut client = Client::connect(&options).expect("a connection");
        for source in [
            "performance_schema.session_status WHERE variable_name = 'Ssl_version'",
            "performance_schema.global_status WHERE variable_name = 'Ssl_version'",
            "performance_schema.status_by_thread WHERE variable_name = 'Ssl_version' AND thread_id = CONNECTION_ID()",
        ] {
            assert_eq!(value(&mut client, &format!("SELECT variable_value FROM {source}")), version, "{source}");
        }
        let shown = "SELECT ssl_version FROM sys.session_ssl_status WHERE thread_id = CONNECTION_ID()";
        assert_eq!(value(&mut client, shown), version);
        for scope in ["", "GLOBAL", "SESSION"] {
            let results = client.run(&format!("SHOW {scope} STATUS LIKE 'Ssl_version'")).expect("status");
            assert_eq!(results[0].1[0][1].as_deref(), Some(version.as_bytes()), "{scope}");
        }
    }
}
