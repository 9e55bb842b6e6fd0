//! The reports of `sys` that watch the server for some time. Their content varies, so the test looks for parts of it and compares no
//! whole text.

use super::{connect, run, value};
use squall_client::{Client, QueryResult};
use squall_test_support::server::TestServer;
use std::path::Path;

/// Names of columns and rows of every result set of a statement.
fn reports(client: &mut Client, sql: &str) -> Vec<(Vec<String>, Vec<Vec<String>>)> {
    let results = client.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let text = |value: Option<Vec<u8>>| value.map_or("NULL".to_string(), |text| String::from_utf8_lossy(&text).into());
    let report = |(head, rows): (QueryResult, Vec<Vec<Option<Vec<u8>>>>)| match head {
        QueryResult::Rows(columns) => {
            let names = columns.iter().map(|column| column.name.clone()).collect();
            Some((names, rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect()))
        }
        QueryResult::Ok(_) => None,
    };
    results.into_iter().filter_map(report).collect()
}

fn prepared() -> (TestServer, Client) {
    let binary = Path::new(env!("CARGO_BIN_EXE_squall"));
    let server = TestServer::start_with_arguments(binary, &["--secure-file-priv="]);
    let mut client = connect(&server);
    run(&mut client, "SET GLOBAL ps_history_enabled = OFF; CREATE DATABASE d; USE d");
    run(&mut client, "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)");
    (server, client)
}

#[test]
fn statements_with_a_digest_are_watched() {
    let (server, mut client) = prepared();
    // Of each connection the last events are kept: another one's are not pushed out by what is done here.
    let mut other = connect(&server);
    run(&mut other, "USE d; SELECT SUM(v) FROM t WHERE v > 5; SELECT SUM(v) FROM t WHERE v > 15");
    let digest = value(&mut client, "SELECT STATEMENT_DIGEST('SELECT SUM(v) FROM t WHERE v > 1')");
    let call = format!("CALL sys.ps_trace_statement_digest('{digest}', 0, 0.1, FALSE, TRUE)");
    let found = reports(&mut client, &call);
    let heads: Vec<&str> = found.iter().map(|(names, _)| names[0].as_str()).collect();
    let expected = [
        "SUMMARY STATISTICS",
        "executions",
        "event_name",
        "LONGEST RUNNING STATEMENT",
        "thread_id",
        "sql_text",
        "event_name",
    ];
    assert_eq!(heads[..expected.len()], expected);
    assert_eq!(found[1].1[0][0], "2", "both were seen");
    assert!(found[2].1.iter().any(|row| row[0] == "stage/sql/starting" && row[1] == "2"), "{:?}", found[2]);
    assert!(found[5].1[0][0].contains("SELECT SUM(v) FROM t WHERE v > "), "{:?}", found[5]);
    assert_eq!(heads.len(), expected.len() + 1, "and its plan");
    // Nothing is known of another; what was turned on is as it was.
    let found = reports(&mut client, "CALL sys.ps_trace_statement_digest('nothing', 0, 0.1, TRUE, FALSE)");
    assert_eq!((found.len(), found[1].1[0][0].as_str()), (5, "0"));
    assert_eq!(value(&mut client, "SELECT IS_FREE_LOCK('sys.ps_setup_save')"), "1");
}

#[test]
fn a_thread_is_drawn() {
    let (_server, mut client) = prepared();
    run(&mut client, "SELECT v AS \"a quote\" FROM t WHERE v > 5; UPDATE t SET v = v + 1");
    run(&mut client, "CALL sys.ps_trace_thread(PS_CURRENT_THREAD_ID(), 'd.dot', 0.05, 0.01, FALSE, TRUE, FALSE)");
    let graph = value(&mut client, "SELECT LOAD_FILE(CONCAT(@@datadir, '/d.dot'))");
    for part in [
        "digraph events {",
        "statement/sql/update",
        "SELECT v AS \\\"a quote\\\" FROM t",
        "stage/sql/executing",
        "squall/commit",
    ] {
        assert!(graph.contains(part), "{part} in {graph}");
    }
    assert!(graph.contains("thread -> s") && graph.contains(" -> w") && graph.contains(" -> g"), "{graph}");
}

#[test]
fn the_server_is_watched() {
    let (_server, mut client) = prepared();
    run(&mut client, "SET @sys.diagnostics.include_raw = 'ON', @sys.diagnostics.allow_i_s_tables = 'ON'");
    let found = reports(&mut client, "CALL sys.diagnostics(1, 1, 'full')");
    let titles: Vec<&str> = found
        .iter()
        .filter(|(names, _)| ["The following output is:", "Next Output"].contains(&names[0].as_str()))
        .map(|(_, rows)| rows[0][0].as_str())
        .collect();
    for title in [
        "The server",
        "Initial sys.waits_global_by_latency",
        "Overall sys.processlist",
        "Overall sys.schema_object_overview",
        "Delta sys.io_global_by_file_by_bytes",
        "Delta statements",
        "Top 100 Queries Ordered by Total Latency",
        "Delta sys.metrics",
    ] {
        assert!(titles.contains(&title), "{title} in {titles:?}");
    }
    // Each title has a table behind it.
    assert_eq!(found.len(), 2 * titles.len() - 2, "{titles:?}");
    let (names, metrics) = found.last().expect("the last table");
    assert_eq!(names[..3], ["Variable_name", "Variable_value", "Delta"]);
    assert!(metrics.iter().any(|row| row[0] == "uptime"), "{metrics:?}");
    assert_eq!(value(&mut client, "SELECT IS_FREE_LOCK('sys.ps_setup_save')"), "1");
    run(&mut client, "CALL sys.ps_setup_save(0); CALL sys.ps_setup_reload_saved()");
}

#[test]
fn transactions_of_a_thread_are_told_with_their_statements() {
    let (server, mut client) = prepared();
    let mut other = connect(&server);
    run(&mut other, "USE d");
    let thread = value(&mut other, "SELECT PS_CURRENT_THREAD_ID()");
    run(&mut other, "BEGIN");
    run(&mut other, "UPDATE t SET v = 11 WHERE id = 1");
    run(&mut other, "COMMIT");
    run(&mut other, "BEGIN");
    run(&mut other, "DELETE FROM t WHERE v = 20 AND '\"' <> ''");
    let told = value(&mut client, &format!("SELECT sys.ps_thread_trx_info({thread})"));
    let asked = |client: &mut Client, path: &str| {
        value(client, &format!("SELECT JSON_UNQUOTE(JSON_EXTRACT(sys.ps_thread_trx_info({thread}), '{path}'))"))
    };
    assert!(told.starts_with("[\n  {\n    \"time\": \""), "{told}");
    assert_eq!(asked(&mut client, "$[*].state"), "[\"COMMITTED\", \"ACTIVE\"]", "{told}");
    assert_eq!(asked(&mut client, "$[0].statements_executed[0].sql_text"), "UPDATE t SET v = 11 WHERE id = 1");
    assert_eq!(asked(&mut client, "$[0].statements_executed[0].rows_affected"), "1");
    assert_eq!(asked(&mut client, "$[1].statements_executed[0].sql_text"), "DELETE FROM t WHERE v = 20 AND '\"' <> ''");
    assert_eq!(asked(&mut client, "$[1].autocommitted"), "NO");
    assert_eq!(value(&mut client, "SELECT sys.ps_thread_trx_info(12345678)"), "[\n\n]");
    run(&mut client, "UPDATE sys.sys_config SET value = '20' WHERE variable = 'ps_thread_trx_info.max_length'");
    assert!(asked(&mut client, "$.error").starts_with("Trx info truncated"));
}

#[test]
fn latencies_are_drawn() {
    let (_server, mut client) = prepared();
    let found = reports(&mut client, "CALL sys.ps_statement_avg_latency_histogram()");
    let (names, rows) = &found[0];
    assert_eq!(names[0], "Performance Schema Statement Digest Average Latency Histogram");
    assert!(rows[0][0].contains("; Buckets: 16; Bucket Size: "), "{}", rows[0][0]);
}

#[test]
fn the_stack_of_a_thread_is_told() {
    let (server, mut client) = prepared();
    let mut other = connect(&server);
    run(&mut other, "USE d");
    let thread = value(&mut other, "SELECT PS_CURRENT_THREAD_ID()");
    run(&mut other, "SELECT v FROM t WHERE id = 2");
    run(&mut other, "INSERT INTO t VALUES (4, 40)");
    let asked = |client: &mut Client, path: &str| {
        value(client, &format!("SELECT JSON_UNQUOTE(JSON_EXTRACT(sys.ps_thread_stack({thread}, TRUE), '{path}'))"))
    };
    assert_eq!(asked(&mut client, "$.mysql_user"), "root@localhost");
    assert_eq!(asked(&mut client, "$.rankdir"), "LR");
    let told = asked(&mut client, "$.events[*].wait_info");
    assert!(told.contains("INSERT INTO t VALUES (4, 40)\\nerrors: 0\\nwarnings: 0\\nlock time: "), "{told}");
    let infos = asked(&mut client, "$.events[*].event_info");
    assert!(infos.contains("\"sql/insert\"") && infos.contains("\"sql/select\""), "{infos}");
    assert_eq!(value(&mut client, "SELECT sys.ps_thread_stack(12345678, FALSE) IS NULL"), "1");
}
