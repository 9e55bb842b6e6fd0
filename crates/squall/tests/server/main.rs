//! A server process with clients of all kinds: limits, KILL, clients that vanish, and the protocol's commands on a real socket.

mod background;
mod barriers;
mod bounds;
mod change_ways;
mod client_charsets;
mod columns;
mod compression;
mod connections;
mod definitions;
mod depth;
mod documents;
mod every_variable;
mod execute;
mod execute_model;
mod explain_changes;
mod fairness;
mod files;
mod foreign_keys;
mod insert_ids;
mod key_scans;
mod kill;
mod limits;
mod lock_model;
mod lock_waits;
mod logins;
mod logs;
mod long_statements;
mod memory;
mod module_privileges;
mod ndbinfo;
mod nested_programs;
mod online_definitions;
mod ordered_joins;
mod partitions;
mod planned_values;
mod plans;
mod protocol;
mod routines;
mod sequences;
mod shutdown;
mod slow_clients;
mod steering;
mod sys_history;
mod sys_reports;
mod two_ways;
mod user_counts;
mod variable_origins;
mod vectors;
mod waiting_threads;

use std::path::Path;
use std::time::Duration;

use squall_client::{Client, ClientError, ConnectOptions, Target};
use squall_test_support::server::TestServer;
use squall_test_support::wait_until;

/// How long something that must come about may take. Far above what is expected, for busy machines.
const WAIT_MAX: Duration = Duration::from_secs(60);

fn start() -> TestServer {
    TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")))
}

fn options(server: &TestServer) -> ConnectOptions {
    ConnectOptions::new(Target::Tcp("127.0.0.1".to_owned(), server.port()))
}

fn connect(server: &TestServer) -> Client {
    Client::connect(&options(server)).unwrap_or_else(|error| panic!("{error}\n{}", server.log()))
}

/// The first value of the first row, as text.
fn value(client: &mut Client, sql: &str) -> String {
    let results = client.run(sql).unwrap_or_else(|error| panic!("{}: {error}", beginning(sql)));
    let value = results.first().and_then(|(_, rows)| rows.first()).and_then(|row| row.first());
    match value {
        Some(Some(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        Some(None) => "NULL".to_owned(),
        None => panic!("{}: no row", beginning(sql)),
    }
}

/// Runs statements that must succeed.
fn run(client: &mut Client, sql: &str) {
    if let Err(error) = client.run(sql) {
        panic!("{}: {error}", beginning(sql));
    }
}

/// Code, SQLSTATE and message of a statement that must fail.
fn error(client: &mut Client, sql: &str) -> String {
    match client.run(sql) {
        Err(ClientError::Server(error)) => error.to_string(),
        Err(error) => panic!("{}: {error}", beginning(sql)),
        Ok(_) => panic!("{}: no error", beginning(sql)),
    }
}

/// As much of a statement as a message can hold.
fn beginning(sql: &str) -> String {
    sql.chars().take(120).collect()
}

/// A statement that counts a million million pairs of numbers: it runs until it is killed.
const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
                       SELECT COUNT(*) FROM n a, n b, n c, n d WHERE a.i + b.i + c.i + d.i < 0";
