//! A small client of HTTP/1.1.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether the body has come whole.
    pub is_whole: bool,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The text of a JSON answer without its time.
    pub fn timeless(&self) -> String {
        let text = self.text();
        match text.rfind(",\"elapsed_ms\":") {
            Some(at) => format!("{}}}", &text[..at]),
            None => text,
        }
    }
}

/// A client with its headers.
#[derive(Clone, Debug)]
pub struct Web {
    port: u16,
    headers: Vec<(String, String)>,
}

impl Web {
    pub fn new(port: u16) -> Web {
        Web { port, headers: vec![("Host".to_owned(), format!("127.0.0.1:{port}"))] }
    }

    /// With another value of a header, or without it.
    pub fn with(mut self, name: &str, value: &str) -> Web {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        if !value.is_empty() {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    pub fn user(self, user: &str, password: &str) -> Web {
        let text = base64(format!("{user}:{password}").as_bytes());
        self.with("Authorization", &format!("Basic {text}"))
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, None)
    }

    /// Posts a body, as JSON unless the client has another type.
    pub fn post(&self, path: &str, body: &str) -> Answer {
        self.ask("POST", path, Some(body.as_bytes()))
    }

    pub fn ask(&self, method: &str, path: &str, body: Option<&[u8]>) -> Answer {
        let mut stream = self.connect();
        self.send(&mut stream, method, path, body);
        read_answer(&mut BufReader::new(stream), method).expect("an answer")
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        stream
    }

    /// Sends a request.
    pub fn send(&self, stream: &mut TcpStream, method: &str, path: &str, body: Option<&[u8]>) {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = body {
            if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                head.push_str("Content-Type: application/json\r\n");
            }
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let _refused = stream.write_all(&[head.as_bytes(), body.unwrap_or_default()].concat());
    }
}

/// Reads an answer; `None` if the connection ends before it.
pub fn read_answer(reader: &mut BufReader<TcpStream>, method: &str) -> Option<Answer> {
    let (status, headers) = read_head(reader)?;
    let mut answer = Answer { status, headers, body: Vec::new(), is_whole: true };
    if method == "HEAD" || status == 204 || status == 304 {
        return Some(answer);
    }
    if answer.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        answer.is_whole = read_chunks(reader, |chunk| answer.body.extend_from_slice(chunk));
    } else if let Some(length) = answer.header("content-length").and_then(|value| value.parse().ok()) {
        answer.body = vec![0; length];
        answer.is_whole = reader.read_exact(&mut answer.body).is_ok();
    } else {
        let _end = reader.read_to_end(&mut answer.body);
    }
    Some(answer)
}

/// Status and headers.
pub fn read_head(reader: &mut BufReader<TcpStream>) -> Option<(u16, Vec<(String, String)>)> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let status = line.split(' ').nth(1)?.trim().parse().ok()?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { return Some((status, headers)) };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
}

/// Reads chunks to the last; whether that came.
pub fn read_chunks(reader: &mut BufReader<TcpStream>, mut take: impl FnMut(&[u8])) -> bool {
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return false;
        }
        let Ok(length) = usize::from_str_radix(line.trim(), 16) else { return false };
        let mut chunk = vec![0; length + 2];
        if reader.read_exact(&mut chunk).is_err() {
            return false;
        }
        if length == 0 {
            return true;
        }
        take(&chunk[..length]);
    }
}

/// Base64 of a short text.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for part in bytes.chunks(3) {
        let bits = part.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - part.len()));
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= part.len() { char::from(digit) } else { '=' });
        }
    }
    out
}
