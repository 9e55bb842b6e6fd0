//! A small web server for tests of clients. The path of a request selects a good or a bad answer.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A server on a port of its own, for as long as the process runs.
#[derive(Debug)]
pub struct WebPeer {
    port: u16,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    connections: AtomicUsize,
    requests: AtomicUsize,
    running: AtomicUsize,
    most_running: AtomicUsize,
    /// What `/page` answers.
    page: Mutex<Vec<u8>>,
}

/// A request as it came.
#[derive(Debug)]
struct Asked {
    line: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl WebPeer {
    /// Starts one on 127.0.0.1.
    pub fn start() -> WebPeer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let counts = Arc::new(Counts::default());
        let shared = counts.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counts = shared.clone();
                counts.connections.fetch_add(1, Ordering::SeqCst);
                // A client that has gone is no failure of the server.
                std::thread::spawn(move || serve(&stream, &counts));
            }
        });
        WebPeer { port, counts }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Sets what `/page` answers from now on.
    pub fn set_page(&self, text: &str) {
        *self.counts.page.lock().expect("no test fails with it") = text.as_bytes().to_vec();
    }

    /// Requests that came in.
    pub fn requests(&self) -> usize {
        self.counts.requests.load(Ordering::SeqCst)
    }

    /// Connections that came in.
    pub fn connections(&self) -> usize {
        self.counts.connections.load(Ordering::SeqCst)
    }

    /// The most requests that were there at once.
    pub fn most_running(&self) -> usize {
        self.counts.most_running.load(Ordering::SeqCst)
    }
}

fn serve(stream: &TcpStream, counts: &Counts) {
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(stream);
    while let Ok(Some(asked)) = read(&mut reader) {
        counts.requests.fetch_add(1, Ordering::SeqCst);
        let running = counts.running.fetch_add(1, Ordering::SeqCst) + 1;
        counts.most_running.fetch_max(running, Ordering::SeqCst);
        let answered = answer(&asked, counts, stream);
        counts.running.fetch_sub(1, Ordering::SeqCst);
        if !matches!(answered, Ok(true)) {
            return;
        }
    }
}

fn read(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<Asked>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_string()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, value)| value.parse().unwrap_or(0))];
    reader.read_exact(&mut body)?;
    Ok(Some(Asked { line: line.trim_end().to_string(), headers, body }))
}

/// How a body is packed, as the path says.
fn rest_as_header(rest: &str) -> &'static str {
    if rest == "encoded" { "Content-Encoding: zstd\r\n" } else { "" }
}

/// Answers; whether the connection goes on.
fn answer(asked: &Asked, counts: &Counts, mut stream: &TcpStream) -> io::Result<bool> {
    let path = asked.line.split(' ').nth(1).unwrap_or("/");
    let (name, rest) = path[1..].split_once(['/', '?']).unwrap_or((&path[1..], ""));
    let mut send = |status: &str, headers: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
        let is_head = asked.line.starts_with("HEAD ");
        stream.write_all(&[head.as_bytes(), if is_head { b"" } else { body }].concat())?;
        Ok(true)
    };
    match name {
        "page" => send("200 OK", "", &counts.page.lock().expect("no test fails with it")),
        "hello" => send("200 OK", "Content-Type: text/plain\r\n", b"hello"),
        "echo" => {
            let headers =
                asked.headers.iter().fold(String::new(), |all, (name, value)| format!("{all}{name}: {value}\n"));
            let text = [format!("{}\n{headers}\n", asked.line).as_bytes(), &asked.body].concat();
            send("200 OK", "Content-Type: application/octet-stream\r\nX-Two: 1\r\nX-Two: 2\r\n", &text)
        }
        // A row's own text; earlier rows take longer.
        "row" => {
            let number: u64 = rest.parse().unwrap_or(0);
            std::thread::sleep(Duration::from_millis(30_u64.saturating_sub(number * 5)));
            send("200 OK", "", format!("row {number}").as_bytes())
        }
        "pause" => {
            std::thread::sleep(Duration::from_millis(rest.parse().unwrap_or(0)));
            send("200 OK", "", b"paused")
        }
        "status" => send(&format!("{rest} Status"), "", format!("status {rest}").as_bytes()),
        "to" => send("302 Found", &format!("Location: {rest}\r\n"), b""),
        "moved" => send(&format!("{} Moved", &rest[..3]), &format!("Location: {}\r\n", &rest[3..]), b""),
        "loop" => send("302 Found", "Location: /loop\r\n", b""),
        "latin1" => send("200 OK", "Content-Type: text/plain; charset=ISO-8859-1\r\n", b"caf\xe9"),
        "binary" => send("200 OK", "Content-Type: image/png\r\n", b"\x00\xff\xfe\x80"),
        "packed" | "bomb" => {
            let size = if name == "bomb" { 100 << 20 } else { 0 };
            let body = if size == 0 { b"packed ".repeat(100) } else { vec![b'x'; size] };
            send("200 OK", "Content-Encoding: gzip\r\n", &packed(&body)?)
        }
        // Lines `n,text n`; packed as a file; and a file of this machine.
        "csv" => send("200 OK", "Content-Type: text/csv\r\n", lines(rest).as_bytes()),
        "zst" => send("200 OK", "Content-Type: application/zstd\r\n", &zstd::encode_all(lines(rest).as_bytes(), 3)?),
        "gz" => send("200 OK", "Content-Type: application/gzip\r\n", &packed(lines(rest).as_bytes())?),
        // A file of 4 GiB, which zstd makes of 128 KiB: each block repeats one byte.
        "blocks" => {
            let mut file = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
            (0..32_768).for_each(|_| file.extend([0x02, 0x00, 0x10, b'x']));
            send("200 OK", rest_as_header(rest), &file)
        }
        // A file that is packed, and packed once more on its way.
        "gz2" => send("200 OK", "Content-Encoding: gzip\r\n", &packed(&packed(lines(rest).as_bytes())?)?),
        "file" => send("200 OK", "", &std::fs::read(rest)?),
        "short" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")?;
            Ok(false)
        }
        "silent" => {
            std::thread::sleep(Duration::from_secs(600));
            Ok(false)
        }
        // A byte at a time, without end.
        "drip" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
            loop {
                stream.write_all(b".")?;
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        "endless" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
            loop {
                stream.write_all(&[b'.'; 64 << 10])?;
            }
        }
        "endless_head" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
            loop {
                stream.write_all(b"X-Header: value\r\n")?;
            }
        }
        "garbage" => {
            stream.write_all(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")?;
            Ok(false)
        }
        _ => send("404 Not Found", "", b"nothing here"),
    }
}

fn packed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn lines(count: &str) -> String {
    let count: u64 = count.parse().unwrap_or(0);
    (0..count).map(|number| format!("{number},text {number}\n")).collect()
}
