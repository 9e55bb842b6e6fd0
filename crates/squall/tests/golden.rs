//! Runs the golden scripts of `sql-tests/` on a server.

use libtest_mimic::{Arguments, Trial};
use mysql::prelude::Queryable as _;
use squall_test_support::golden::{self, Way};
use squall_test_support::server::TestServer;
use squall_test_support::wait_until;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock};

/// Folders of `sql-tests/`; tidy checks that none is left out.
const FOLDERS: &[&str] = &[
    "queries",
    "statements",
    "isolation",
    "errors",
    "protocol",
    "explain",
    "columns",
    "fastbit",
    "http_client",
    "javascript",
    "json",
    "spatial",
    "vector",
    "performance_schema",
    "execute",
];

/// The ways that scripts are run in, with what their names have behind them. Each has a server of its own, so that two scripts can
/// run at a time.
const WAYS: [(Way, &str); 4] = [
    (Way::Text, ""),
    (Way::Prepared, " (prepared)"),
    (Way::RowByRow, " (row by row)"),
    (Way::FullPlanner, " (full planner)"),
];

/// Folders whose scripts are run row by row too: what queries answer, not how they are run.
const ROW_BY_ROW: &[&str] = &["queries", "statements", "errors"];

/// The servers, each started by the first script that runs on it, and the locks that have scripts run one after the other: each begins
/// with an empty server.
static SERVERS: [OnceLock<Mutex<TestServer>>; WAYS.len()] = [const { OnceLock::new() }; WAYS.len()];

fn start_server(way: Way) -> TestServer {
    let server = TestServer::start_with_arguments(Path::new(env!("CARGO_BIN_EXE_squall")), &["--secure-file-priv="]);
    let mut conn = server.connect();
    // A copy that is being made by itself makes ps_history.collect() do nothing, and warn of that. One may have begun already.
    conn.query_drop("SET GLOBAL ps_history_enabled = OFF").expect("no more copies");
    wait_until("the end of a copy", || {
        conn.query_drop("CALL ps_history.collect()").expect("a copy");
        conn.query_first::<(String, u32, String), _>("SHOW WARNINGS").expect("warnings").is_none()
    });
    let mut run = |sql: &str| conn.query_drop(sql).expect(sql);
    // Short values of BLOB, TEXT and JSON columns lie out of their rows.
    if matches!(way, Way::Prepared | Way::FullPlanner) {
        run("SET GLOBAL blob_inline_limit = 16");
    }
    match way {
        Way::Text | Way::Prepared => {}
        Way::RowByRow => run("SET GLOBAL query_route = ROW_BY_ROW"),
        Way::FullPlanner => {
            run("SET GLOBAL query_route = FULL_PLANNER");
            // What is written goes to files, and is committed as files, from some hundred rows on.
            run("SET GLOBAL transaction_buffer_size = 16384");
        }
    }
    server
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let other_port: Option<u16> = std::env::var("SQUALL_GOLDEN_PORT").ok().and_then(|port| port.parse().ok());
    // Another server knows no ways, and what is written are the answers of one.
    let ways = if other_port.is_some() || golden::is_update() { &WAYS[..1] } else { &WAYS };
    let turn = Arc::new(Mutex::new(()));
    let mut trials = Vec::new();
    for (name, path) in scripts() {
        for ((way, suffix), server) in ways.iter().zip(&SERVERS) {
            let folder = name.split('/').next().unwrap_or_default();
            if *way == Way::RowByRow && !ROW_BY_ROW.contains(&folder) {
                continue;
            }
            let (path, turn) = (path.clone(), turn.clone());
            trials.push(Trial::test(format!("{name}{suffix}"), move || {
                let result = match other_port {
                    Some(port) => {
                        let _turn = turn.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                        golden::run_script(&path, port, *way)
                    }
                    None if golden::needs_own_server(&path)? => {
                        golden::run_script(&path, start_server(*way).port(), *way)
                    }
                    None => {
                        let server = server
                            .get_or_init(|| Mutex::new(start_server(*way)))
                            .lock()
                            .unwrap_or_else(|poisoned| poisoned.into_inner());
                        golden::run_script(&path, server.port(), *way)
                    }
                };
                result.map_err(Into::into)
            }));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    for server in SERVERS.iter().filter_map(OnceLock::get) {
        // The process ends without destructors of statics: end the servers here.
        server.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).kill();
    }
    conclusion.exit_code()
}

fn scripts() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql-tests");
    let mut found = Vec::new();
    for folder in FOLDERS {
        let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            if path.extension().is_some_and(|extension| extension == "test") {
                let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
                found.push((format!("{folder}/{stem}"), path.clone()));
            }
        }
    }
    found.sort();
    // What a script shows must not depend on the scripts before it.
    if std::env::var("SQUALL_GOLDEN_ORDER").is_ok_and(|order| order == "reverse") {
        found.reverse();
    }
    found
}
