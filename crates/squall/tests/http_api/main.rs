//! HTTP: statements, documents, status and the page, with clients that are programs, pages, attackers, or slow.

mod beginnings;
mod blob;
mod browsers;
mod call;
mod client;
mod crowds;
mod db;
mod db_changes;
mod db_keys;
mod db_rules;
mod follow;
mod legacy;
mod limits;
mod listener;
mod login;
mod openapi;
mod raw;
mod sql;
mod streams;
mod tokens;

use client::{Answer, Web};
use mysql::prelude::Queryable;
use squall_test_support::server::TestServer;
use std::path::Path;

/// A server that answers HTTP, and a client of MySQL's protocol.
struct Served {
    server: TestServer,
    root: mysql::Conn,
    port: u16,
}

impl Served {
    /// Runs CREATE API TOKEN: the token's id, and itself.
    fn token(&mut self, sql: &str) -> (String, String) {
        self.root.query_first(sql).expect(sql).expect("a row")
    }

    fn start() -> Served {
        let server = TestServer::start_with_arguments(Path::new(env!("CARGO_BIN_EXE_squall")), &["--http", "0"]);
        let mut root = server.connect();
        for sql in [
            "CREATE DATABASE d",
            "CREATE USER web IDENTIFIED BY 'pw'",
            "GRANT ALL ON d.* TO web",
            "GRANT JSON_API ON *.* TO web",
        ] {
            root.query_drop(sql).expect(sql);
        }
        let port = http_port(&mut root);
        Served { server, root, port }
    }

    /// A client of HTTP with the account `web`.
    fn web(&self) -> Web {
        Web::new(self.port).user("web", "pw")
    }

    fn run(&mut self, sql: &str) {
        self.root.query_drop(sql).expect(sql);
    }

    /// The answer to `/1.0/sql` with this body.
    fn sql(&self, body: &str) -> Answer {
        self.web().post("/1.0/sql", body)
    }

    fn status(&mut self, name: &str) -> u64 {
        status(&mut self.root, name)
    }
}

fn status(client: &mut mysql::Conn, name: &str) -> u64 {
    let row: Option<(String, u64)> = client.query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'")).expect("SHOW");
    row.unwrap_or_else(|| panic!("{name}")).1
}

fn http_port(root: &mut mysql::Conn) -> u16 {
    u16::try_from(status(root, "Json_server_port")).expect("a port")
}
