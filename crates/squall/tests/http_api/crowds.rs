//! Many clients, and clients of other machines.

use super::Served;
use super::client::{Web, read_answer};
use mysql::prelude::Queryable;
use squall_test_support::{skip, wait_until};
use std::io::{BufReader, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

const ONE: &str = r#"{"sql":"SELECT 1"}"#;

/// How many files the process may open, and to which number it may raise that.
fn open_files() -> Option<(usize, usize)> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let mut numbers = line.split_whitespace().map(|word| word.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[test]
fn ten_thousand_idle_clients_are_a_small_matter() {
    const CLIENTS: usize = 10_000;
    let (files, files_max) = open_files().unwrap_or((0, 0));
    if files < 2 * CLIENTS {
        let process = std::process::id().to_string();
        let _refused = Command::new("prlimit").args(["--pid", &process, &format!("--nofile={files_max}")]).status();
    }
    if open_files().is_none_or(|(files, _)| files < CLIENTS + 1000) {
        return skip("ten_thousand_idle_clients_are_a_small_matter", "a limit of 11,000 open files");
    }
    // It inherits the limit.
    let mut served = Served::start();
    served.run("SET GLOBAL json_server_idle_timeout = 600");
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY, a INT)");
    served.run("INSERT INTO d.t SELECT seq, seq FROM d.seq_1_to_1000");
    let before = served.server.resident_bytes();
    let clients: Vec<TcpStream> = (0..CLIENTS)
        .map(|at| {
            let mut stream = TcpStream::connect(("127.0.0.1", served.port)).expect("a connection");
            // Half of them have asked something, the others are in the middle of a head.
            let text: &[u8] = match at % 2 {
                0 => b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
                _ => b"GET /health HTTP/1.1\r\nHost: loc",
            };
            stream.write_all(text).expect("a request");
            stream
        })
        .collect();
    for mut stream in clients.iter().step_by(2) {
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        assert!(stream.read(&mut [0; 64]).expect("an answer") > 0);
    }
    wait_until("all clients", || served.status("Json_server_connected") == CLIENTS as u64);
    if let (Some(before), Some(after)) = (before, served.server.resident_bytes()) {
        let each = after.saturating_sub(before) / CLIENTS as u64;
        assert!(each < 32 << 10, "{each} bytes for a client");
    }
    // Beside them both protocols answer at once.
    let mut client = served.server.connect();
    let prepared = client.prep("SELECT a FROM d.t WHERE id = ?").expect("a statement");
    let mut times: Vec<Duration> = (1..=1000)
        .map(|id| {
            let start = Instant::now();
            let found: Option<i32> = client.exec_first(&prepared, (id,)).expect("a row");
            assert_eq!(found, Some(id));
            start.elapsed()
        })
        .collect();
    times.sort();
    assert!(times[500] < Duration::from_millis(50), "{:?} for a point select", times[500]);
    assert_eq!(served.sql(ONE).status, 200);
    drop(clients);
    wait_until("the end of the clients", || served.status("Json_server_connected") == 0);
}

/// An address of this machine that is not its loopback.
fn own_address() -> Option<IpAddr> {
    // Nothing is sent: the system only chooses the interface.
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|address| !address.is_loopback())
}

/// The status of a request without TLS to an address.
fn status_at(address: SocketAddr, web: &Web) -> Option<u16> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(10)).ok()?;
    let web = web.clone().with("Host", &address.to_string());
    web.send(&mut stream, "POST", "/1.0/sql", Some(ONE.as_bytes()));
    read_answer(&mut BufReader::new(stream), "POST").map(|answer| answer.status)
}

#[test]
fn clients_of_other_machines_need_tls() {
    let mut served = Served::start();
    let Some(own) = own_address() else {
        return skip("clients_of_other_machines_need_tls", "an address beside the loopback");
    };
    served.run("SET GLOBAL json_server_bind_address = '*'");
    let port = super::http_port(&mut served.root);
    let web = Web::new(port).user("web", "pw");
    let remote = SocketAddr::new(own, port);
    let local = SocketAddr::from(([127, 0, 0, 1], port));
    assert_eq!(status_at(local, &web), Some(200));
    // The password was sent in clear text, but nothing is answered to it, right or wrong.
    assert_eq!(status_at(remote, &web), Some(403));
    assert_eq!(status_at(remote, &web.clone().user("web", "wrong")), Some(403));
    let by_tls = Command::new("curl")
        .args(["-sSk", "-o", "/dev/null", "-w", "%{http_code}", "-u", "web:pw", "-d", ONE])
        .args(["-H", "Content-Type: application/json", &format!("https://{remote}/1.0/sql")])
        .output();
    match by_tls {
        Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout), "200"),
        Err(_) => skip("clients_of_other_machines_need_tls", "curl"),
    }
    served.run("SET GLOBAL json_server_tls = 'required'");
    assert_eq!(status_at(local, &web), Some(403));
    served.run("SET GLOBAL json_server_tls = 'off'");
    assert_eq!(status_at(remote, &web), Some(200));
}

#[test]
fn paths_are_taken_as_they_are() {
    let served = Served::start();
    for path in [
        "/../1.0/sql",
        "/1.0/../1.0/sql",
        "/1.0/./sql",
        "/1.0//sql",
        "//1.0/sql",
        "/1.0%2fsql",
        "/1.0/%73ql",
        "/1.0/sql/",
        "/1.0/sql%00",
        "/1.0/sql;x=1",
        "/1.0\\sql",
        "/..%2f..%2f..%2fetc/passwd",
        "/console/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/.git/config",
    ] {
        for method in ["GET", "POST"] {
            let body = (method == "POST").then_some(ONE.as_bytes());
            let answer = served.web().ask(method, path, body);
            assert!([400, 404].contains(&answer.status), "{method} {path}: {} {}", answer.status, answer.text());
        }
    }
    // An absolute form names the server itself, and no other.
    let port = served.port;
    assert_eq!(served.web().ask("POST", &format!("http://127.0.0.1:{port}/1.0/sql"), Some(ONE.as_bytes())).status, 200);
    let other = served.web().ask("GET", "http://evil.example/health", None);
    assert!([400, 403].contains(&other.status), "{}", other.status);
    assert!([400, 404, 405].contains(&served.web().ask("CONNECT", "example.org:443", None).status));
}

#[test]
fn max_rows_ends_a_statement_before_its_end() {
    let served = Served::start();
    let started = Instant::now();
    // All of it would take minutes.
    let sql = "SELECT a.seq FROM seq_1_to_1000000 a JOIN seq_1_to_1000000 b; SELECT 'after'";
    let body = format!(r#"{{"sql":"{sql}","database":"d","max_rows":3,"timeout_ms":50000}}"#);
    let answer = served.sql(&body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(
        answer.text().contains("\"truncated\":true") && answer.text().contains("[[\"after\"]]"),
        "{}",
        answer.text()
    );
    assert!(started.elapsed() < Duration::from_secs(40));
    // Whether there would have been more is still known.
    let exact = served.sql(r#"{"sql":"SELECT seq FROM seq_1_to_3","database":"d","max_rows":3}"#);
    assert!(exact.text().contains("[[1],[2],[3]]") && exact.text().contains("\"truncated\":false"), "{}", exact.text());
}

#[test]
fn what_locks_rows_runs_to_its_end_also_without_a_reader() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY, a INT)");
    served.run("INSERT INTO d.t SELECT seq, 0 FROM d.seq_1_to_20000");
    let body = r#"{"sql":"BEGIN; SELECT id FROM d.t FOR UPDATE; UPDATE d.t SET a = 1 WHERE id = 20000; SELECT SLEEP(2); COMMIT","max_rows":1}"#;
    let web = served.web();
    let asked = std::thread::spawn(move || web.post("/1.0/sql", body).status);
    wait_until("the locks", || {
        let sql = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'web' AND INFO LIKE '%SLEEP%'";
        served.root.query_first::<u64, _>(sql).expect("a count") == Some(1)
    });
    served.run("SET innodb_lock_wait_timeout = 1");
    let locked = served.root.query_drop("SELECT * FROM d.t WHERE id = 19999 FOR UPDATE NOWAIT");
    assert_eq!(squall_test_support::server::error_code(locked), Some(3572));
    assert_eq!(asked.join().expect("a thread"), 200);
}
