//! Runs the golden scripts of `sql-tests/` on a server.

use libtest_mimic::{Arguments, Trial};
use mysql::prelude::Queryable as _;
use squall_test_support::{golden, server::TestServer};
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
    "json",
    "performance_schema",
];

/// The server, started by the first script that runs, and the lock that has scripts run one after the other: each
/// begins with an empty server.
static SERVER: OnceLock<Mutex<TestServer>> = OnceLock::new();

fn start_server() -> TestServer {
    let server = TestServer::start_with_arguments(Path::new(env!("CARGO_BIN_EXE_squall")), &["--secure-file-priv="]);
    // A copy that is being made by itself makes ps_history.collect() do nothing.
    let sql = "SET GLOBAL ps_history_enabled = OFF";
    server.connect().query_drop(sql).expect(sql);
    server
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let other_port: Option<u16> = std::env::var("SQUALL_GOLDEN_PORT").ok().and_then(|port| port.parse().ok());
    let turn = Arc::new(Mutex::new(()));
    let trials = scripts()
        .into_iter()
        .map(|(name, path)| {
            let turn = turn.clone();
            Trial::test(name, move || {
                let result = match other_port {
                    Some(port) => {
                        let _turn = turn.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                        golden::run_script(&path, port)
                    }
                    None => {
                        let server = SERVER
                            .get_or_init(|| Mutex::new(start_server()))
                            .lock()
                            .unwrap_or_else(|poisoned| poisoned.into_inner());
                        golden::run_script(&path, server.port())
                    }
                };
                result.map_err(Into::into)
            })
        })
        .collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let Some(server) = SERVER.get() {
        // The process ends without destructors of statics: end the server here.
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
    found
}
