//! A proxy that connections go through.

use crate::error::HttpError;
use crate::target::Target;
use std::net::IpAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Most bytes of a proxy's answer.
const ANSWER_BYTES_MAX: usize = 8 << 10;

/// A proxy that is asked for tunnels (CONNECT) to addresses that were checked: names are not left to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Proxy {
    host: String,
    port: u16,
}

impl Proxy {
    /// Reads `http://host:port`; `None` for an empty text.
    ///
    /// # Errors
    /// [`HttpError::Blocked`] for anything else. Credentials are refused, since everybody may read the variable that holds them.
    pub fn parse(text: &str) -> Result<Option<Proxy>, HttpError> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let broken = || HttpError::Blocked("http_client_proxy cannot be read".to_string());
        let target = Target::parse(text).map_err(|_| broken())?;
        if target.is_secure() || target.authorization().is_some() || target.path_and_query() != "/" {
            return Err(broken());
        }
        Ok(Some(Proxy { host: target.host().to_string(), port: target.port() }))
    }

    /// Its host: a name or an address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Asks for a tunnel on a connection to the proxy.
    ///
    /// # Errors
    /// [`HttpError::Transfer`] if there will be none.
    pub async fn tunnel(&self, stream: &mut TcpStream, address: IpAddr, port: u16) -> Result<(), HttpError> {
        let lost = |error: std::io::Error| HttpError::transfer(format_args!("the proxy: {}", error.kind()));
        let peer = std::net::SocketAddr::new(address, port);
        let request = format!("CONNECT {peer} HTTP/1.1\r\nHost: {peer}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.map_err(lost)?;
        let mut answer = Vec::new();
        // Byte by byte: what comes behind the answer is the peer's.
        while !answer.ends_with(b"\r\n\r\n") {
            if answer.len() == ANSWER_BYTES_MAX {
                return Err(HttpError::transfer("the proxy's answer is too long"));
            }
            answer.push(stream.read_u8().await.map_err(lost)?);
        }
        let line = answer.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let status = line.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        match status {
            [b'2', _, _] => Ok(()),
            _ => {
                let status = String::from_utf8_lossy(&status[..status.len().min(3)]).into_owned();
                Err(HttpError::transfer(format_args!("the proxy refuses with status {status}")))
            }
        }
    }
}
