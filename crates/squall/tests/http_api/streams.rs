//! Answers that are long, and clients that do not read them.

use super::Served;
use super::client::{base64, read_chunks, read_head};
use mysql::prelude::Queryable;
use squall_test_support::{wait_until, wait_within};
use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// A query of a million rows of about 120 bytes.
const MILLION: &str = "SELECT seq, REPEAT('x', 100) AS text FROM seq_1_to_1000000";

fn requests(root: &mut mysql::Conn) -> u64 {
    let sql = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'web'";
    root.query_first(sql).expect("a count").expect("a row")
}

#[test]
fn a_million_rows_are_streamed_within_bounds() {
    let served = Served::start();
    let body = format!("{{\"sql\":\"{MILLION}\",\"database\":\"d\"}}");
    let before = served.server.resident_bytes().unwrap_or(0);
    let mut most: u64 = 0;
    for (accept, least) in [
        ("application/json", 110_000_000),
        ("application/x-ndjson", 120_000_000),
        ("text/csv", 105_000_000),
        ("application/vnd.apache.arrow.stream", 105_000_000),
        // It is compressed.
        ("application/vnd.apache.parquet", 500_000),
    ] {
        let web = served.web().with("Accept", accept);
        let mut reader = BufReader::new(web.connect());
        web.send(reader.get_mut(), "POST", "/1.0/sql", Some(body.as_bytes()));
        let (status, _) = read_head(&mut reader).expect("a head");
        assert_eq!(status, 200, "{accept}");
        let (mut bytes, mut looks) = (0, 0);
        let mut last = Vec::new();
        let is_whole = read_chunks(&mut reader, |chunk| {
            bytes += chunk.len();
            last = chunk.to_vec();
            looks += 1;
            if looks % 64 == 0 {
                most = most.max(served.server.resident_bytes().unwrap_or(0));
            }
        });
        assert!(is_whole && bytes > least, "{accept}: {bytes} bytes");
        if accept == "application/json" {
            assert!(String::from_utf8_lossy(&last).ends_with('}'));
        }
    }
    let grown = most.saturating_sub(before);
    assert!(grown < 200 << 20, "{} MiB more", grown >> 20);
}

#[test]
fn clients_that_do_not_read_hold_only_themselves_up() {
    let mut served = Served::start();
    served.run("SET GLOBAL net_write_timeout = 3600");
    let body = format!("{{\"sql\":\"{MILLION}\",\"database\":\"d\"}}");
    let before = served.server.resident_bytes().unwrap_or(0);
    let silent: Vec<_> = (0..8)
        .map(|_| {
            let web = served.web();
            let mut stream = web.connect();
            web.send(&mut stream, "POST", "/1.0/sql", Some(body.as_bytes()));
            stream
        })
        .collect();
    wait_until("eight requests that run", || requests(&mut served.root) == 8);
    assert_eq!(served.sql("{\"sql\":\"SELECT 1\"}").status, 200);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(requests(&mut served.root), 8);
    let grown = served.server.resident_bytes().unwrap_or(0).saturating_sub(before);
    assert!(grown < 200 << 20, "{} MiB more", grown >> 20);
    // They hang up, and their statements end.
    drop(silent);
    wait_until("the end of the requests", || requests(&mut served.root) == 0);
}

#[test]
fn a_statement_ends_when_its_client_goes() {
    let mut served = Served::start();
    let web = served.web();
    let mut stream = web.connect();
    web.send(&mut stream, "POST", "/1.0/sql", Some(br#"{"sql":"SELECT SLEEP(600)"}"#));
    wait_until("a request that runs", || requests(&mut served.root) == 1);
    drop(stream);
    wait_until("the end of the requests", || requests(&mut served.root) == 0);
}

#[test]
fn an_error_after_rows_is_told_within_the_answer() {
    let served = Served::start();
    // The last row fails, long after the head was sent.
    let sql = "SELECT seq, REPEAT('x', 100), IF(seq = 100000, (SELECT 1 UNION SELECT 2), 0) FROM seq_1_to_100000";
    let body = format!("{{\"sql\":\"{sql}\",\"database\":\"d\"}}");
    let json = served.sql(&body);
    let text = json.text();
    assert_eq!(
        json.status,
        if text.starts_with("{\"results\"") { 200 } else { 400 },
        "{}",
        &text[..200.min(text.len())]
    );
    if json.status == 200 {
        assert!(
            json.is_whole && text.contains("],\"error\":{") && text.contains("\"error_code\":1242"),
            "{}",
            &text[text.len() - 300..]
        );
    }
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short payload").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The kind, the flags and the payload of the next frame of HTTP/2.
fn next_frame(client: &mut TcpStream) -> (u8, u8, Vec<u8>) {
    let mut head = [0; 9];
    client.read_exact(&mut head).expect("a frame");
    let mut payload = vec![0; usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2])];
    client.read_exact(&mut payload).expect("a payload");
    (head[3], head[4], payload)
}

/// The headers of a request of HTTP/2 to `/1.0/sql`.
fn head_of_request() -> Vec<u8> {
    let login = format!("Basic {}", base64(b"web:pw"));
    let mut head = Vec::new();
    for (name, value) in [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "localhost"),
        (":path", "/1.0/sql"),
        ("authorization", login.as_str()),
        ("content-type", "application/json"),
    ] {
        // A header whose name and value are texts.
        head.push(0);
        for text in [name, value] {
            head.push(u8::try_from(text.len()).expect("a short text"));
            head.extend_from_slice(text.as_bytes());
        }
    }
    head
}

#[test]
fn requests_that_their_client_resets_do_not_pile_up() {
    let mut served = Served::start();
    served.run("SET GLOBAL json_server_max_threads = 1");
    let web = served.web();
    let mut slow = web.connect();
    web.send(&mut slow, "POST", "/1.0/sql", Some(br#"{"sql":"SELECT SLEEP(600)"}"#));
    wait_until("a request that runs", || served.status("Json_server_requests_running") == 1);
    // Others wait for its place.
    let head = head_of_request();
    let mut client = web.connect();
    client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").expect("a preface");
    client.write_all(&frame(4, 0, 0, &[])).expect("settings");
    let streams: Vec<u32> = (0..10).map(|at| 2 * at + 1).collect();
    for stream in &streams {
        // END_STREAM and END_HEADERS.
        client.write_all(&frame(1, 5, *stream, &head)).expect("a request");
    }
    wait_within(Duration::from_secs(8), "eleven requests", || requests(&mut served.root) == 11);
    for stream in &streams {
        client.write_all(&frame(3, 0, *stream, &8u32.to_be_bytes())).expect("a reset");
    }
    // They would have waited for longer.
    wait_within(Duration::from_secs(5), "the end of those that were reset", || requests(&mut served.root) == 1);
    assert_eq!(served.status("Json_server_requests_running"), 1);
}

#[test]
fn a_client_that_does_not_take_the_end_of_an_answer_keeps_no_place() {
    let mut served = Served::start();
    served.run("SET GLOBAL json_server_max_threads = 1");
    served.run("SET GLOBAL net_write_timeout = 3600");
    let mut client = served.web().connect();
    client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").expect("a preface");
    // SETTINGS_INITIAL_WINDOW_SIZE is 0: no byte of a body is taken.
    client.write_all(&frame(4, 0, 0, &[0, 4, 0, 0, 0, 0])).expect("settings");
    client.write_all(&frame(1, 4, 1, &head_of_request())).expect("a head");
    // More than is sent as a whole, less than what holds its statement up.
    let body = br#"{"sql":"SELECT REPEAT('x', 40000) UNION ALL SELECT REPEAT('y', 40000)"}"#;
    client.write_all(&frame(0, 1, 1, body)).expect("a body");
    client.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    // Its head comes when the statement has run so far.
    while next_frame(&mut client).0 != 1 {}
    wait_until("the end of its statement", || served.status("Json_server_requests_running") == 0);
    assert_eq!(served.sql("{\"sql\":\"SELECT 1\"}").status, 200);
    // It is not given up either: it gets its answer once it takes it.
    let window = (1_u32 << 20).to_be_bytes();
    client.write_all(&frame(8, 0, 0, &window)).expect("a window");
    client.write_all(&frame(8, 0, 1, &window)).expect("a window");
    let (mut body, mut is_over) = (Vec::new(), false);
    while !is_over {
        if let (0, flags, payload) = next_frame(&mut client) {
            body.extend_from_slice(&payload);
            is_over = flags & 1 == 1;
        }
    }
    let text = String::from_utf8_lossy(&body);
    assert!(body.len() > 80_000 && text.contains("\"elapsed_ms\":"), "{} bytes", body.len());
}
