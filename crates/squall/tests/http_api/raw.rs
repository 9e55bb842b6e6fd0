//! Attackers: requests that are none, that mean two things, that are too long, or never end.

use super::Served;
use super::client::{Web, read_answer};
use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const ONE: &str = r#"{"sql":"SELECT 1"}"#;

/// Sends bytes, and gives the statuses of all answers until the connection ends.
fn statuses(port: u16, bytes: &[u8]) -> Vec<u16> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    let _refused = stream.write_all(bytes);
    let mut reader = BufReader::new(stream);
    std::iter::from_fn(|| read_answer(&mut reader, "GET").map(|answer| answer.status)).collect()
}

fn head(more: &str) -> String {
    let login = super::client::base64(b"web:pw");
    format!(
        "POST /1.0/sql HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {login}\r\nContent-Type: application/json\r\n{more}\r\n"
    )
}

#[test]
fn a_request_means_one_thing() {
    let mut served = Served::start();
    served.run("SET GLOBAL json_server_idle_timeout = 1");
    let length = ONE.len();
    let chunked = format!("{length:x}\r\n{ONE}\r\n0\r\n\r\n");
    let hidden = "GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n";
    // As it should be.
    assert_eq!(
        statuses(served.port, format!("{}{ONE}", head(&format!("Content-Length: {length}\r\n"))).as_bytes()),
        [200]
    );
    assert_eq!(statuses(served.port, format!("{}{chunked}", head("Transfer-Encoding: chunked\r\n")).as_bytes()), [200]);
    for more in [
        // Two lengths.
        format!("Content-Length: {length}\r\nContent-Length: 0\r\n"),
        // A length that is none.
        "Content-Length: +5\r\n".to_owned(),
        "Content-Length: 5, 5\r\n".to_owned(),
        // Chunks that are not last, or not there at all.
        "Transfer-Encoding: chunked, identity\r\n".to_owned(),
        "Transfer-Encoding: xchunked\r\n".to_owned(),
        // Folded, and without a name.
        "X-A: 1\r\n folded: 2\r\n".to_owned(),
        "X-A : 1\r\n".to_owned(),
        ": 1\r\n".to_owned(),
        "X-A: a\0b\r\n".to_owned(),
        "Host: evil.example\r\n".to_owned(),
    ] {
        let got = statuses(served.port, format!("{}{ONE}{hidden}", head(&more)).as_bytes());
        assert!(!got.is_empty() && got.iter().all(|status| *status == 400), "{more:?}: {got:?}");
    }
    // With both a length and chunks, the chunks count, and nothing behind them is taken for a request.
    for both in
        ["Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"]
    {
        let got = statuses(served.port, format!("{}{chunked}{hidden}", head(both)).as_bytes());
        assert_eq!(got, [200], "{both:?}: {got:?}");
    }
    for bytes in [
        &b"\0\0\0\0"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/3.0\r\n\r\n",
        b"GET  / HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nxx",
    ] {
        let got = statuses(served.port, bytes);
        assert!(got.iter().all(|status| *status == 400), "{bytes:?}: {got:?}");
    }
    assert_eq!(served.sql(ONE).status, 200);
}

#[test]
fn what_is_too_large_is_refused() {
    let mut served = Served::start();
    served.run("SET GLOBAL json_server_max_body = 2048");
    served.run("SET GLOBAL json_server_idle_timeout = 1");
    served.run("SET GLOBAL net_read_timeout = 1");
    let long = format!(r#"{{"sql":"SELECT '{}'"}}"#, "x".repeat(4000));
    assert_eq!(served.sql(&long).status, 413);
    // It is refused by what is declared, and by what comes.
    let got = statuses(served.port, head("Content-Length: 99999999999\r\n").as_bytes());
    assert_eq!(got, [413]);
    let chunk = format!("400\r\n{}\r\n", "x".repeat(0x400));
    let got =
        statuses(served.port, format!("{}{}", head("Transfer-Encoding: chunked\r\n"), chunk.repeat(4)).as_bytes());
    assert_eq!(got, [413]);
    // Who may not ask sends no body.
    let anonymous = "POST /1.0/sql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n";
    assert_eq!(statuses(served.port, anonymous.as_bytes()), [401]);
    // Heads.
    let many: String = (0..200).map(|at| format!("X-{at}: 1\r\n")).collect();
    assert_eq!(statuses(served.port, head(&many).as_bytes()), [431]);
    let wide = format!("X-Long: {}\r\n", "x".repeat(200_000));
    assert_eq!(statuses(served.port, head(&wide).as_bytes()), [431]);
    let path = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "x".repeat(40_000));
    assert_eq!(statuses(served.port, path.as_bytes()), [414]);
    // Chunks that are broken, and end too early.
    for body in ["zz\r\n", "5\r\nab", "5\r\nabcdefgh\r\n", "ffffffffffffffffff\r\n"] {
        let got = statuses(served.port, format!("{}{body}", head("Transfer-Encoding: chunked\r\n")).as_bytes());
        assert!(got.iter().all(|status| [400, 408].contains(status)), "{body:?}: {got:?}");
    }
    assert_eq!(served.sql(ONE).status, 200);
}

/// The answer to a login that fails does not cut off a body that is still on its way, within limits.
#[test]
fn bodies_that_come_after_the_answer_are_taken() {
    let served = Served::start();
    let wrong = head("X-Squall: 1\r\nContent-Length: 2000\r\n").replace(&super::client::base64(b"web:pw"), "d2ViOm5v");
    let mut reader = BufReader::new(served.web().connect());
    reader.get_mut().write_all(wrong.as_bytes()).expect("a head");
    std::thread::sleep(Duration::from_millis(150));
    reader.get_mut().write_all(&[b' '; 2000]).expect("a body");
    assert_eq!(read_answer(&mut reader, "POST").expect("an answer").status, 401);
    // The connection goes on: nothing of the body is taken for a request.
    served.web().send(reader.get_mut(), "GET", "/health", None);
    assert_eq!(read_answer(&mut reader, "GET").expect("an answer").status, 200);
    // Who waits for 100 Continue is not asked for a body in vain.
    let waiting = wrong.replace("X-Squall: 1", "Expect: 100-continue");
    let mut reader = BufReader::new(served.web().connect());
    reader.get_mut().write_all(waiting.as_bytes()).expect("a head");
    assert_eq!(read_answer(&mut reader, "POST").expect("an answer").status, 401);
    // Who never sends it gets the answer all the same.
    let started = Instant::now();
    let mut reader = BufReader::new(served.web().connect());
    reader.get_mut().write_all(wrong.as_bytes()).expect("a head");
    assert_eq!(read_answer(&mut reader, "POST").expect("an answer").status, 401);
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn slow_clients_are_given_up() {
    let mut served = Served::start();
    served.run("SET GLOBAL json_server_idle_timeout = 1");
    served.run("SET GLOBAL net_read_timeout = 1");
    let started = Instant::now();
    // The head comes byte by byte.
    let mut slow = TcpStream::connect(("127.0.0.1", served.port)).expect("a connection");
    let ended = head("Content-Length: 5\r\n").bytes().any(|byte| {
        std::thread::sleep(Duration::from_millis(50));
        slow.write_all(&[byte]).is_err()
    });
    assert!(ended || slow.read(&mut [0; 1]).is_ok_and(|read| read == 0), "a client that is slow was served");
    assert!(started.elapsed() < Duration::from_secs(15));
    // The body does not come.
    let web = served.web();
    let mut reader = BufReader::new(web.connect());
    reader.get_mut().write_all(head("Content-Length: 5\r\n").as_bytes()).expect("a head");
    assert_eq!(read_answer(&mut reader, "POST").expect("an answer").status, 408);
    // Between requests it is as long.
    let mut reader = BufReader::new(web.connect());
    web.send(reader.get_mut(), "GET", "/health", None);
    assert_eq!(read_answer(&mut reader, "GET").expect("an answer").status, 200);
    assert!(read_answer(&mut reader, "GET").is_none());
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn many_idle_clients_cost_little() {
    let served = Served::start();
    let before = served.server.resident_bytes();
    let count = 2000;
    let web = Web::new(served.port);
    let clients: Vec<_> = (0..count)
        .map(|_| {
            let mut reader = BufReader::with_capacity(1024, web.connect());
            web.send(reader.get_mut(), "GET", "/health", None);
            assert_eq!(read_answer(&mut reader, "GET").expect("an answer").status, 200);
            reader
        })
        .collect();
    if let (Some(before), Some(after)) = (before, served.server.resident_bytes()) {
        let each = after.saturating_sub(before) / count;
        assert!(each < 64 << 10, "{each} bytes for a client");
    }
    assert_eq!(served.sql(ONE).status, 200);
    drop(clients);
}

#[test]
fn idle_clients_of_http2_are_given_up() {
    let mut served = Served::start();
    served.run("SET GLOBAL json_server_idle_timeout = 1");
    served.run("SET GLOBAL net_write_timeout = 1");
    let started = Instant::now();
    let mut stream = TcpStream::connect(("127.0.0.1", served.port)).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    // An empty frame SETTINGS, and nothing any more.
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").expect("a preface");
    let mut got = Vec::new();
    let ended = stream.read_to_end(&mut got);
    let kind = ended.err().map(|error| error.kind());
    assert!(kind.is_none() || kind == Some(std::io::ErrorKind::ConnectionReset), "{kind:?}");
    assert!(started.elapsed() < Duration::from_secs(20));
}
