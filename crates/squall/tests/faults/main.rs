//! A server whose disk fails, fills up, is slow or writes in parts, and whose clock jumps.

#![cfg(target_os = "linux")]

mod clock;
mod failed_writes;
mod slow_disk;

use mysql::prelude::{FromValue, Queryable};
use squall_test_support::faults::Faults;
use squall_test_support::server::TestServer;
use squall_test_support::{skip, wait_until};
use std::path::Path;

const ERROR_DURING_COMMIT: u16 = 1180;
const READ_ONLY: u16 = 1836;

/// A server with the database `d`; `None`, and a line that says so, where there is no C compiler.
fn start(test: &str) -> Option<(TestServer, Faults)> {
    let started = Faults::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    match &started {
        Some((server, _)) => run(&mut server.connect(), "CREATE DATABASE d"),
        None => skip(test, "a C compiler"),
    }
    started
}

fn run(conn: &mut mysql::Conn, sql: &str) {
    conn.query_drop(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// The first value of the first row, if there is one.
fn value<T: FromValue>(conn: &mut mysql::Conn, sql: &str) -> Option<T> {
    conn.query_first(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// The code and the text of a statement's error.
fn refusal(conn: &mut mysql::Conn, sql: &str) -> (u16, String) {
    match conn.query_drop(sql) {
        Err(mysql::Error::MySqlError(error)) => (error.code, error.message),
        Err(error) => panic!("{sql}: the connection broke: {error}"),
        Ok(()) => panic!("{sql}: done"),
    }
}

fn status(conn: &mut mysql::Conn, name: &str) -> String {
    let row: Option<(String, String)> =
        conn.query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'")).expect("a status");
    row.expect("its row").1
}
