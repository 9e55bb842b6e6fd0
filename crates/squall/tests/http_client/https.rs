//! Requests over HTTPS to a server whose certificate an authority of the test signs.

use super::{error, value};
use mysql::Conn;
use mysql::prelude::Queryable as _;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use squall_test_support::server::TestServer;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A web server on this machine, as `localhost`. Gives its port.
fn peer(authority: &Authority) -> u16 {
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["localhost".to_string()]).unwrap().signed_by(&key, authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    let config = config.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key.into()).unwrap();
    let (listener, config) = (TcpListener::bind("127.0.0.1:0").unwrap(), Arc::new(config));
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = config.clone();
            std::thread::spawn(move || answer(stream, config, port));
        }
    });
    port
}

/// Answers one request: what the connection was asked for, and says that it was encrypted.
fn answer(stream: TcpStream, config: Arc<ServerConfig>, port: u16) {
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    let (mut request, mut part) = (Vec::new(), [0; 4096]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut part) {
            Ok(count) if count > 0 => request.extend_from_slice(&part[..count]),
            _ => return,
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (status, header, body) = match path {
        "/rows" => ("200 OK", String::new(), (0..2000).map(|id| format!("{id},text {id}\n")).collect()),
        "/to" => ("302 Found", format!("Location: https://localhost:{port}/there\r\n"), String::new()),
        "/down" => ("302 Found", "Location: http://localhost/\r\n".to_string(), String::new()),
        path => ("200 OK", String::new(), format!("secure {path}")),
    };
    let head = format!("HTTP/1.1 {status}\r\n{header}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
    stream.conn.send_close_notify();
    let _ = stream.flush();
}

fn trusting(authority: &Authority) -> (TestServer, Conn, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("authority.pem");
    std::fs::write(&file, authority.pem()).unwrap();
    let environment = vec![("SSL_CERT_FILE", file.into_os_string())];
    let server =
        TestServer::start_with(Path::new(env!("CARGO_BIN_EXE_squall")), tempfile::tempdir().unwrap(), environment);
    let mut conn = server.connect();
    conn.query_drop("SET GLOBAL http_client_allow_private = ON").unwrap();
    conn.query_drop("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, body VARCHAR(40))").unwrap();
    (server, conn, folder)
}

#[test]
fn bodies_and_tables_come_over_https() {
    let authority = authority();
    let port = peer(&authority);
    let (_server, mut conn, _folder) = trusting(&authority);
    let url = |path: &str| format!("https://localhost:{port}{path}");
    assert_eq!(value(&mut conn, &format!("SELECT HTTP_GET('{}')", url("/a?b"))), "secure /a?b");
    let sql = format!("SELECT HTTP_REQUEST(JSON_OBJECT('url', '{}'))", url("/to"));
    let answer = value(&mut conn, &sql);
    assert!(answer.contains("\"body\": \"secure /there\"") && answer.contains("\"redirects\": 1"), "{answer}");
    let sql = format!("LOAD DATA FROM URL '{}' INTO TABLE t FIELDS TERMINATED BY ','", url("/rows"));
    conn.query_drop(sql).unwrap();
    let loaded = "SELECT CONCAT_WS(' ', COUNT(*), SUM(id), MAX(body)) FROM t WHERE body = CONCAT('text ', id)";
    assert_eq!(value(&mut conn, loaded), "2000 1999000 text 999");
    conn.query_drop("CREATE HTTP ENDPOINT e URL '".to_owned() + &url("") + "' FOR PUBLIC").unwrap();
    assert_eq!(value(&mut conn, "SELECT HTTP_GET('e:/by/name')"), "secure /by/name");
    // Never from https to http, nor under another name than the certificate's.
    let down = error(&mut conn, &format!("SELECT HTTP_GET('{}')", url("/down")));
    assert_eq!(down, (50411, "http_get: a redirect from https to http".to_string()));
    let (code, message) = error(&mut conn, &format!("SELECT HTTP_GET('https://127.0.0.1:{port}/')"));
    assert!(code == 50410 && message.starts_with("http_get: TLS: "), "{code} {message}");
}

#[test]
fn other_authorities_are_not_trusted() {
    let (_server, mut conn, _folder) = trusting(&authority());
    let url = format!("https://localhost:{}/rows", peer(&authority()));
    let (code, message) = error(&mut conn, &format!("SELECT HTTP_GET('{url}')"));
    assert!(code == 50410 && message.starts_with("http_get: TLS: "), "{code} {message}");
    let sql = format!("LOAD DATA FROM URL '{url}' INTO TABLE t FIELDS TERMINATED BY ','");
    let (code, message) = error(&mut conn, &sql);
    assert!(code == 50410 && message.starts_with("load data: TLS: "), "{code} {message}");
    assert_eq!(value(&mut conn, "SELECT COUNT(*) FROM t"), "0");
}
