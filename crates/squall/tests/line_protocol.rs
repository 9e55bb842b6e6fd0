//! The line protocol of `examples/`: a protocol besides MySQL's on the same front end, with the same accounts.

#[path = "../../../examples/line_protocol.rs"]
mod line_protocol;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use squall_server::Server;
use squall_session::Database;
use squall_test_support::wait_until;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The server, with the protocol switched on, and a client of MySQL's protocol.
struct Served {
    folder: tempfile::TempDir,
    database: Database,
    server: Server,
    root: Conn,
}

impl Served {
    fn start() -> Served {
        let folder = tempfile::tempdir().expect("a folder");
        let (database, server) = line_protocol::serve_directory(folder.path(), 0).expect("a server");
        let mut root = mysql(&server);
        for sql in [
            "ALTER USER root@localhost IDENTIFIED BY 'secret'",
            "CREATE USER native IDENTIFIED WITH mysql_native_password BY 'old'",
            "CREATE USER locked IDENTIFIED BY 'pw' ACCOUNT LOCK",
            "CREATE USER expired IDENTIFIED BY 'pw' PASSWORD EXPIRE",
            "CREATE USER careful IDENTIFIED BY 'pw' REQUIRE SSL",
            "SET PERSIST lines_enabled = ON",
        ] {
            root.query_drop(sql).expect(sql);
        }
        Served { folder, database, server, root }
    }

    fn port(&mut self) -> u16 {
        status(&mut self.root, "Lines_port").try_into().expect("a port")
    }

    fn tls(&mut self) -> Lines {
        let port = self.port();
        tls(self.folder.path(), port).expect("a connection")
    }

    fn socket(&self) -> Lines {
        Lines::new(UnixStream::connect(self.folder.path().join("lines.sock")).expect("a connection"))
    }

    fn stop(self) {
        drop(self.root);
        self.server.shut_down().expect("the end of the server");
        self.database.close().expect("the end of the database");
    }
}

fn mysql(server: &Server) -> Conn {
    let port = server.tcp_addresses()[0].port();
    let options = OptsBuilder::new().ip_or_hostname(Some("127.0.0.1")).tcp_port(port).user(Some("root"));
    Conn::new(options).expect("a client")
}

fn status(client: &mut Conn, name: &str) -> u64 {
    let row: Option<(String, u64)> = client.query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'")).expect("SHOW");
    row.unwrap_or_else(|| panic!("{name}")).1
}

fn tls(folder: &Path, port: u16) -> std::io::Result<Lines> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.join("ca.pem")).expect("a certificate")).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = builder.expect("versions").with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"nobody-speaks-this".to_vec(), b"squall-lines".to_vec()];
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = ClientConnection::new(Arc::new(config), name).expect("a connection");
    let mut stream = StreamOwned::new(connection, TcpStream::connect(("127.0.0.1", port))?);
    stream.conn.complete_io(&mut stream.sock)?;
    assert_eq!(stream.conn.alpn_protocol(), Some(&b"squall-lines"[..]));
    Ok(Lines::new(stream))
}

/// A client of the line protocol.
struct Lines(BufReader<Box<dyn ReadWrite>>);

trait ReadWrite: Read + Write {}

impl<T: Read + Write> ReadWrite for T {}

impl Lines {
    fn new(stream: impl ReadWrite + 'static) -> Lines {
        Lines(BufReader::new(Box::new(stream)))
    }

    fn send(&mut self, line: &str) {
        let stream = self.0.get_mut();
        stream.write_all(format!("{line}\n").as_bytes()).and_then(|()| stream.flush()).expect("a line is sent");
    }

    /// The next line, without its end; empty at the end of the connection.
    fn line(&mut self) -> String {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(_) => line.trim_end_matches('\n').to_owned(),
            // A connection that was cut.
            Err(_) => String::new(),
        }
    }

    /// The lines of an answer.
    fn ask(&mut self, line: &str) -> Vec<String> {
        self.send(line);
        self.answer()
    }

    fn answer(&mut self) -> Vec<String> {
        let mut answer = Vec::new();
        loop {
            answer.push(self.line());
            let last = &answer[answer.len() - 1];
            if last.is_empty() || last.starts_with("OK ") || last.starts_with("ERR ") {
                return answer;
            }
        }
    }

    fn log_in(mut self, line: &str) -> Lines {
        assert_eq!(self.ask(line), ["OK 0"]);
        self
    }
}

#[test]
fn statements_are_answered_over_tls_and_a_unix_socket() {
    let mut served = Served::start();
    let (tls, socket) = (served.tls(), served.socket());
    for mut client in [tls, socket] {
        assert_eq!(client.ask("root\tsecret"), ["OK 0"]);
        assert_eq!(client.ask("SELECT 1, 'a', NULL, 1.50, DATE '2026-11-28'"), ["1\ta\t\\N\t1.50\t2026-11-28", "OK 1"]);
        assert_eq!(client.ask("CREATE DATABASE IF NOT EXISTS d"), ["OK 1"]);
        assert_eq!(client.ask("CREATE TABLE IF NOT EXISTS d.t (id INT)"), ["OK 0"]);
        assert_eq!(client.ask("INSERT INTO d.t VALUES (1), (2)"), ["OK 2"]);
        assert_eq!(client.ask("DELETE FROM d.t"), ["OK 2"]);
        assert!(client.ask("SELECT nonsense")[0].starts_with("ERR 1054 "));
        // More than one buffer.
        let rows = client.ask("WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 999) SELECT REPEAT('x', 500) FROM n");
        assert_eq!((rows.len(), rows[999].as_str()), (1000, "OK 999"));
        client.send("quit");
        assert_eq!(client.line(), "");
    }
    served.stop();
}

#[test]
fn accounts_are_those_of_the_server_and_so_are_refusals() {
    let mut served = Served::start();
    let failed = status(&mut served.root, "Aborted_connects");
    let refused = [
        ("root\twrong", "ERR 1045 Access denied for user 'root'@'localhost' (using password: YES)"),
        ("root", "ERR 1045 Access denied for user 'root'@'localhost' (using password: NO)"),
        ("nobody\tsecret", "ERR 1045 Access denied for user 'nobody'@'localhost' (using password: YES)"),
        ("native\tnew", "ERR 1045 Access denied for user 'native'@'localhost' (using password: YES)"),
        ("locked\tpw", "ERR 3118 Access denied for user 'locked'@'localhost'. Account is locked."),
        // Who does not know the password is not told of the lock.
        ("locked\twrong", "ERR 1045 Access denied for user 'locked'@'localhost' (using password: YES)"),
    ];
    for (line, answer) in refused {
        assert_eq!(served.socket().ask(line), [answer], "{line}");
        assert_eq!(served.tls().ask(line), [answer], "{line}");
    }
    assert!(served.socket().ask("expired\tpw")[0].starts_with("ERR 1862 "));
    assert_eq!(
        served.socket().ask("careful\tpw"),
        ["ERR 1045 Access denied for user 'careful'@'localhost' (using password: YES)"]
    );
    let _encrypted = served.tls().log_in("careful\tpw");
    let _native = served.socket().log_in("native\told");
    assert_eq!(status(&mut served.root, "Aborted_connects"), failed + 14);
    // A client that has not logged in cannot make the server keep what it sends.
    let mut long = served.socket();
    assert!(long.ask(&"x".repeat(5000))[0].starts_with("ERR 1153 "));
    // Nor is it waited for for ever.
    served.root.query_drop("SET GLOBAL connect_timeout = 2").expect("SET");
    let started = Instant::now();
    assert_eq!(served.socket().line(), "");
    let mut silent = TcpStream::connect(("127.0.0.1", served.port())).expect("a connection");
    assert_eq!(silent.read(&mut [0; 1]).unwrap_or(0), 0);
    assert!(started.elapsed() < Duration::from_secs(20));
    served.stop();
}

#[test]
fn connections_have_a_limit_of_their_own() {
    let mut served = Served::start();
    served.root.query_drop("SET GLOBAL lines_connections_max = 2").expect("SET");
    // That of the other protocol does not count.
    served.root.query_drop("SET GLOBAL max_connections = 1").expect("SET");
    let refused = status(&mut served.root, "Connection_errors_max_connections");
    let first = served.socket().log_in("root\tsecret");
    let _second = served.tls().log_in("root\tsecret");
    let port = served.port();
    assert_eq!(served.socket().line(), "ERR 1040 Too many connections");
    assert!(tls(served.folder.path(), port).is_err());
    assert_eq!(status(&mut served.root, "Connection_errors_max_connections"), refused + 2);
    assert_eq!(status(&mut served.root, "Lines_connected"), 2);
    drop(first);
    wait_until("a place is free", || served.socket().ask("root\tsecret") == ["OK 0"]);
    served.root.query_drop("SET GLOBAL lines_connections_max = 3").expect("SET");
    wait_until("there are more places", || status(&mut served.root, "Lines_connected") == 1);
    let _more = [served.socket().log_in("root\tsecret"), served.socket().log_in("root\tsecret")];
    served.stop();
}

#[test]
fn sessions_are_shown_and_killed() {
    let mut served = Served::start();
    let (mut idle, mut busy) = (served.tls().log_in("root\tsecret"), served.socket().log_in("root\tsecret"));
    let id: u64 = idle.ask("SELECT CONNECTION_ID()")[0].parse().expect("a number");
    let shown: Option<(String, String)> = served
        .root
        .query_first(format!(
            "SELECT USER, COMMAND FROM information_schema.PROCESSLIST WHERE ID = {id} AND HOST LIKE 'localhost:%'"
        ))
        .expect("a list");
    assert_eq!(shown, Some(("root".to_owned(), "Sleep".to_owned())));
    let tls: Option<String> = served
        .root
        .query_first(format!(
            "SELECT VARIABLE_VALUE FROM performance_schema.status_by_thread JOIN performance_schema.threads USING (THREAD_ID)
             WHERE PROCESSLIST_ID = {id} AND VARIABLE_NAME = 'Ssl_version'"
        ))
        .expect("a status");
    assert_eq!(tls.as_deref(), Some("TLSv1.3"));
    served.root.query_drop(format!("KILL {id}")).expect("KILL");
    assert_eq!(idle.line(), "");

    let id: u64 = busy.ask("SELECT CONNECTION_ID()")[0].parse().expect("a number");
    busy.send("SELECT SLEEP(100)");
    let running =
        format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id} AND INFO LIKE '%SLEEP%'");
    wait_until("it runs", || served.root.query_first::<u64, _>(&running).expect("a list") == Some(1));
    served.root.query_drop(format!("KILL QUERY {id}")).expect("KILL QUERY");
    assert_eq!(busy.answer(), ["ERR 1317 Query execution was interrupted"]);
    // A client that reads nothing holds no session that is killed.
    busy.send("WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT REPEAT('x', 10000) FROM n a, n b");
    std::thread::sleep(Duration::from_millis(300));
    served.root.query_drop(format!("KILL {id}")).expect("KILL");
    let gone = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id}");
    wait_until("it is gone", || served.root.query_first::<u64, _>(&gone).expect("a list") == Some(0));
    served.stop();
}

#[test]
fn statements_without_a_client_stop_and_idle_clients_are_sent_away() {
    let mut served = Served::start();
    let mut busy = served.socket().log_in("root\tsecret");
    let id: u64 = busy.ask("SELECT CONNECTION_ID()")[0].parse().expect("a number");
    busy.send("SELECT SLEEP(1000)");
    std::thread::sleep(Duration::from_millis(200));
    drop(busy);
    let gone = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id}");
    wait_until("it is gone", || served.root.query_first::<u64, _>(&gone).expect("a list") == Some(0));
    let mut idle = served.tls().log_in("root\tsecret");
    assert_eq!(idle.ask("SET wait_timeout = 1"), ["OK 0"]);
    assert!(idle.line().starts_with("ERR 4031 "));
    assert_eq!(idle.line(), "");
    served.stop();
}

#[test]
fn a_listener_comes_and_goes_while_the_server_runs() {
    let mut served = Served::start();
    let port = served.port();
    let socket = served.folder.path().join("lines.sock");
    let (mut idle, mut busy) = (served.tls().log_in("root\tsecret"), served.socket().log_in("root\tsecret"));
    busy.send("SELECT SLEEP(1)");
    std::thread::sleep(Duration::from_millis(100));
    served.root.query_drop("SET PERSIST lines_enabled = OFF").expect("SET");
    // The listener is closed; clients that wait are told, those that are answered get their answer first.
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    assert!(!socket.exists());
    assert_eq!(served.port(), 0);
    assert!(idle.line().starts_with("ERR 1053 "));
    assert_eq!([busy.line(), busy.line()], ["0", "OK 1"]);
    assert!(busy.line().starts_with("ERR 1053 "));
    // It comes back on the same port, and moves to another one; clients of MySQL's protocol stay.
    served.root.query_drop(format!("SET PERSIST lines_port = {port}")).expect("SET");
    served.root.query_drop("SET PERSIST lines_enabled = ON").expect("SET");
    assert_eq!(served.port(), port);
    let _client = served.tls().log_in("root\tsecret");
    // A port that another listens on is an error, and all is as before.
    let mysql_port = served.server.tcp_addresses()[0].port();
    let error = served.root.query_drop(format!("SET PERSIST lines_port = {mysql_port}")).expect_err("a taken port");
    assert!(error.to_string().contains("in use"), "{error}");
    assert_eq!(served.port(), port);
    let _client = served.socket().log_in("root\tsecret");
    served.root.query_drop("SET PERSIST lines_port = 0").expect("SET");
    let _client = served.tls().log_in("root\tsecret");
    served.stop();
}

#[test]
fn a_shutdown_ends_connections_of_every_protocol() {
    let mut served = Served::start();
    let (mut idle, mut busy) = (served.tls().log_in("root\tsecret"), served.socket().log_in("root\tsecret"));
    let silent = served.socket();
    busy.send("SELECT SLEEP(1)");
    std::thread::sleep(Duration::from_millis(100));
    let socket = served.folder.path().join("lines.sock");
    let started = Instant::now();
    drop(served.root);
    served.server.shut_down().expect("the end of the server");
    assert!(started.elapsed() < Duration::from_secs(4));
    assert!(idle.line().starts_with("ERR 1053 "));
    assert_eq!([busy.line(), busy.line()], ["0", "OK 1"]);
    assert!(!socket.exists());
    drop(silent);
    served.database.close().expect("the end of the database");
    drop(served.database);
    // What was persisted holds for the next server.
    let (database, server) = line_protocol::serve_directory(served.folder.path(), 0).expect("a server");
    let _client = Lines::new(UnixStream::connect(&socket).expect("a connection")).log_in("root\tsecret");
    server.shut_down().expect("the end of the server");
    database.close().expect("the end of the database");
}
