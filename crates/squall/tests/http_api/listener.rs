//! The listener follows its variables.

use super::client::{Web, read_answer};
use super::{Served, http_port};
use mysql::prelude::Queryable;
use squall_test_support::server::{TestServer, free_port};
use squall_test_support::wait_until;
use std::io::BufReader;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const ONE: &str = r#"{"sql":"SELECT 1"}"#;

#[test]
fn the_server_is_switched_and_moved_while_statements_run() {
    let server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut root = server.connect();
    root.query_drop("CREATE TABLE test.t (id INT PRIMARY KEY AUTO_INCREMENT)")
        .or_else(|_| root.query_drop("CREATE DATABASE test"))
        .expect("a database");
    let _there = root.query_drop("CREATE TABLE test.t (id INT PRIMARY KEY AUTO_INCREMENT)");
    assert_eq!(http_port(&mut root), 0);
    let stop = Arc::new(AtomicBool::new(false));
    let count = Arc::new(AtomicU64::new(0));
    let load = {
        let (mut client, stop, count) = (server.connect(), stop.clone(), count.clone());
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                client.query_drop("INSERT INTO test.t VALUES ()").expect("a row");
                count.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    root.query_drop("SET GLOBAL json_server_port = 0").expect("a port");
    root.query_drop("SET PERSIST json_server_enabled = ON").expect("on");
    root.query_drop("ALTER USER root@localhost IDENTIFIED BY 'secret'").expect("a password");
    let first = http_port(&mut root);
    let web = |port| Web::new(port).user("root", "secret");
    assert_eq!(web(first).post("/1.0/sql", ONE).status, 200);
    // An idle connection ends with its listener, a busy one after its answer.
    let mut idle = BufReader::new(web(first).connect());
    web(first).send(idle.get_mut(), "GET", "/health", None);
    assert_eq!(read_answer(&mut idle, "GET").expect("an answer").status, 200);
    let busy = std::thread::spawn(move || web(first).post("/1.0/sql", r#"{"sql":"SELECT SLEEP(3)"}"#).status);
    wait_until("a request that runs", || {
        let running: Option<u64> = root
            .query_first("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND = 'Http'")
            .expect("a count");
        running == Some(1)
    });
    let second = free_port();
    root.query_drop(format!("SET GLOBAL json_server_port = {second}")).expect("a move");
    assert_eq!(http_port(&mut root), second);
    assert_eq!(web(second).post("/1.0/sql", ONE).status, 200);
    assert!(TcpStream::connect(("127.0.0.1", first)).is_err());
    assert!(read_answer(&mut idle, "GET").is_none());
    assert_eq!(busy.join().expect("a thread"), 200);
    root.query_drop("SET GLOBAL json_server_enabled = OFF").expect("off");
    assert_eq!(http_port(&mut root), 0);
    assert!(TcpStream::connect(("127.0.0.1", second)).is_err());
    // A port that others have is an error, and all values of the statement stay.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
    let port = taken.local_addr().expect("an address").port();
    root.query_drop(format!("SET GLOBAL json_server_port = {port}")).expect("a port");
    for set in ["GLOBAL json_server_enabled = ON, GLOBAL long_query_time = 8", "PERSIST json_server_enabled = ON"] {
        let error = root.query_drop(format!("SET {set}")).expect_err("a port of others").to_string();
        assert!(error.contains("1231") && error.contains("in use"), "{error}");
        let error = root.query_drop(format!("EXPLAIN SET {set}")).expect_err("a port of others").to_string();
        assert!(error.contains("1231") && error.contains("in use"), "{error}");
        let values: Option<(u8, f64, String)> = root
            .query_first(
                "SELECT @@GLOBAL.json_server_enabled, @@GLOBAL.long_query_time, (SELECT state FROM \
                 data_dictionary.configuration_history ORDER BY version DESC LIMIT 1)",
            )
            .expect("values");
        assert_eq!(values, Some((0, 10.0, "rolled_back".to_owned())));
        assert_eq!(http_port(&mut root), 0);
    }
    root.query_drop("SET GLOBAL json_server_port = 0, GLOBAL json_server_enabled = ON").expect("another port");
    assert_ne!(http_port(&mut root), 0);
    assert!(root.query_drop("SET GLOBAL json_server_bind_address = 'not an address'").is_err());
    // A listener that is open stays where it is, and can move all the same.
    let third = http_port(&mut root);
    assert!(root.query_drop(format!("SET GLOBAL json_server_port = {port}")).is_err());
    assert_eq!(root.query_first("SELECT @@GLOBAL.json_server_port").expect("a port"), Some(0));
    assert_eq!(http_port(&mut root), third);
    assert_eq!(web(third).post("/1.0/sql", ONE).status, 200);
    drop(taken);
    root.query_drop(format!("SET GLOBAL json_server_port = {second}")).expect("a port");
    assert_eq!(http_port(&mut root), second);
    assert!(TcpStream::connect(("127.0.0.1", third)).is_err());
    // Its own port at more addresses.
    root.query_drop("SET GLOBAL json_server_bind_address = '*'").expect("addresses");
    assert_eq!(web(http_port(&mut root)).post("/1.0/sql", ONE).status, 200);
    assert_eq!(http_port(&mut root), second);
    stop.store(true, Ordering::Relaxed);
    load.join().expect("the load");
    assert!(count.load(Ordering::Relaxed) > 0);
}

/// Several clients set variables at once: the last to be followed must have seen the newest values, else the listener stays
/// open where it was switched off, or closed where others wait for it.
#[test]
fn the_listener_is_what_the_variables_say_also_when_many_set_them() {
    const ROUNDS: usize = 150;
    let server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut root = server.connect();
    root.query_drop("SET GLOBAL json_server_port = 0").expect("a port");
    let sets =
        ["json_server_enabled = ON", "json_server_enabled = OFF", "json_server_enabled = ON", "long_query_time = 9"];
    let mut clients: Vec<_> = sets.iter().map(|set| (server.connect(), format!("SET GLOBAL {set}"))).collect();
    for round in 0..ROUNDS {
        std::thread::scope(|scope| {
            for (client, set) in &mut clients {
                scope.spawn(|| client.query_drop(&*set).expect("a variable"));
            }
        });
        let enabled: Option<u8> = root.query_first("SELECT @@GLOBAL.json_server_enabled").expect("a value");
        assert_eq!(http_port(&mut root) != 0, enabled == Some(1), "round {round}");
    }
}

/// `curl` with these arguments: its output and, in its last line, the status.
fn curl(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("curl").args(["-sS", "-w", "\n%{http_code} %{http_version}"]).args(arguments).output().ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    Some(format!("{said}{}", String::from_utf8_lossy(&output.stdout)))
}

#[test]
fn the_same_port_speaks_tls_and_both_versions() {
    let mut served = Served::start();
    if curl(&["--version"]).is_none() {
        squall_test_support::skip("the_same_port_speaks_tls_and_both_versions", "curl");
        return;
    }
    let authority = served.server.data_directory().join("ca.pem");
    let authority = authority.to_str().expect("a path");
    let port = served.port;
    let ask = |scheme: &str, more: &[&str]| {
        let url = format!("{scheme}://127.0.0.1:{port}/1.0/sql");
        let mut arguments = vec!["-u", "web:pw", "-d", ONE, "-H", "Content-Type: application/json", &url];
        arguments.extend_from_slice(more);
        curl(&arguments).expect("curl")
    };
    let tls = ["--cacert", authority];
    assert!(ask("http", &[]).ends_with("\n200 1.1"));
    assert!(ask("http", &["--http2-prior-knowledge"]).ends_with("\n200 2"));
    let answer = ask("https", &["-k"]);
    assert!(answer.ends_with("\n200 2"), "{answer}");
    assert!(ask("https", &["-k", "--http1.1"]).ends_with("\n200 1.1"));
    let _verified = ask("https", &tls);
    served.run("SET GLOBAL json_server_tls = 'required'");
    assert!(ask("http", &[]).ends_with("\n403 1.1"));
    assert!(ask("https", &["-k"]).ends_with("\n200 2"));
    served.run("SET GLOBAL json_server_tls = 'off'");
    assert!(ask("http", &[]).ends_with("\n200 1.1"));
    assert!(ask("https", &["-k"]).ends_with("000 0"));
}

#[test]
fn accounts_may_require_certificates_here_too() {
    let mut served = Served::start();
    if curl(&["--version"]).is_none() {
        squall_test_support::skip("accounts_may_require_certificates_here_too", "curl");
        return;
    }
    served.run("ALTER USER web REQUIRE SUBJECT '/CN=Squall_Auto_Generated_Client_Certificate'");
    let file = |name: &str| served.server.data_directory().join(name).display().to_string();
    let (certificate, key) = (file("client-cert.pem"), file("client-key.pem"));
    let ask = |scheme: &str, more: &[&str]| {
        let url = format!("{scheme}://127.0.0.1:{}/1.0/sql", served.port);
        let mut arguments = vec!["-k", "-u", "web:pw", "-d", ONE, "-H", "Content-Type: application/json", &url];
        arguments.extend_from_slice(more);
        curl(&arguments).expect("curl")
    };
    let answer = ask("http", &[]);
    assert!(answer.ends_with("\n401 1.1"), "{answer}");
    let answer = ask("https", &[]);
    assert!(answer.ends_with("\n401 2"), "{answer}");
    let answer = ask("https", &["--cert", &certificate, "--key", &key]);
    assert!(answer.ends_with("\n200 2"), "{answer}");
}
