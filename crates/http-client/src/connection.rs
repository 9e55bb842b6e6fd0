//! Connections: they go to checked addresses, and stay open for a while for the next request.

use crate::error::HttpError;
use crate::proxy::Proxy;
use crate::target::Target;
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsConnector;

/// Most bytes of a head, and of what is read at once.
const BUFFER_BYTES: usize = 64 << 10;
/// Addresses of a name that are tried.
const ADDRESSES_MAX: usize = 8;
/// After so long without a connection the next address is tried beside the one before (RFC 8305).
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);
/// How long a connection is kept for another request.
const IDLE_MAX: Duration = Duration::from_secs(15);
/// The same for requests that must not be sent twice: the peer is not about to close it.
const FRESH_MAX: Duration = Duration::from_secs(1);
/// Connections that are kept.
const KEPT_MAX: usize = 64;

/// Where a connection leads to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    is_secure: bool,
    host: String,
    port: u16,
    proxy: Option<Proxy>,
}

impl Key {
    /// Of a target, by a proxy or none.
    pub fn new(target: &Target, proxy: Option<&Proxy>) -> Key {
        let (is_secure, host, port) = (target.is_secure(), target.host().to_string(), target.port());
        Key { is_secure, host, port, proxy: proxy.cloned() }
    }
}

/// A connection that requests can be sent on, one after another. It is closed when it is dropped, whatever is on its way.
#[derive(Debug)]
pub struct Connection {
    /// Where requests are sent.
    pub sender: SendRequest<Full<Bytes>>,
    /// Whether it has been used before.
    pub is_reused: bool,
    address: IpAddr,
    idle_since: Instant,
    driver: AbortHandle,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    /// Begins HTTP on a stream to an address.
    async fn start<S>(stream: S, address: IpAddr) -> Result<Connection, HttpError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut builder = Builder::new();
        builder.max_buf_size(BUFFER_BYTES);
        let begun = builder.handshake(TokioIo::new(stream)).await;
        let (sender, driver) = begun.map_err(|_| HttpError::transfer("the connection failed"))?;
        // The sender gets its errors.
        let driver = tokio::spawn(async move { drop(driver.await) }).abort_handle();
        Ok(Connection { sender, is_reused: false, address, idle_since: Instant::now(), driver })
    }

    /// The address that it leads to.
    pub fn address(&self) -> IpAddr {
        self.address
    }
}

/// Connects to one of the addresses, which have been checked, by the way that the key tells. `proxy` has the addresses of the proxy.
///
/// # Errors
/// [`HttpError::Transfer`].
pub async fn connect(
    key: &Key,
    addresses: &[IpAddr],
    proxy: &[IpAddr],
    tls: Option<&TlsConnector>,
) -> Result<Connection, HttpError> {
    let (stream, address) = match (&key.proxy, addresses.first()) {
        (Some(by), Some(address)) => {
            let (mut stream, _) = connect_to_any(proxy, by.port()).await?;
            by.tunnel(&mut stream, *address, key.port).await?;
            (stream, *address)
        }
        _ => connect_to_any(addresses, key.port).await?,
    };
    let Some(tls) = tls else { return Connection::start(stream, address).await };
    let name = ServerName::try_from(key.host.clone()).map_err(|_| HttpError::transfer("TLS: a host without a name"))?;
    let stream = tls.connect(name, stream).await.map_err(|error| HttpError::transfer(format_args!("TLS: {error}")))?;
    Connection::start(stream, address).await
}

/// The first of the addresses that answers.
async fn connect_to_any(addresses: &[IpAddr], port: u16) -> Result<(TcpStream, IpAddr), HttpError> {
    let mut attempts = JoinSet::new();
    let mut waiting = addresses.iter().take(ADDRESSES_MAX);
    let mut last = HttpError::transfer("the host has no address");
    loop {
        let next = waiting.next().copied();
        if let Some(address) = next {
            attempts.spawn(async move { (TcpStream::connect(SocketAddr::new(address, port)).await, address) });
        }
        let ended = match next {
            Some(_) => tokio::time::timeout(NEXT_ADDRESS_AFTER, attempts.join_next()).await,
            None => Ok(attempts.join_next().await),
        };
        match ended {
            Ok(Some(Ok((Ok(stream), address)))) => {
                // A small request is not held back.
                let _ = stream.set_nodelay(true);
                return Ok((stream, address));
            }
            Ok(Some(Ok((Err(error), _)))) => {
                last = HttpError::transfer(format_args!("the connection failed: {}", error.kind()));
            }
            Ok(None) if next.is_none() => return Err(last),
            _ => {}
        }
    }
}

/// TLS with the machine's trusted certificates.
///
/// # Errors
/// [`HttpError::Transfer`] where there are none.
pub fn system_tls() -> Result<TlsConnector, HttpError> {
    let mut roots = RootCertStore::empty();
    // Some of a store may be of a kind that is not understood.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(HttpError::transfer("TLS: the server's machine trusts no certificates (package ca-certificates)"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| HttpError::transfer(format_args!("TLS: {error}")))?;
    Ok(TlsConnector::from(Arc::new(builder.with_root_certificates(roots).with_no_client_auth())))
}

/// Connections that wait for another request.
#[derive(Debug, Default)]
pub struct Pool {
    idle: Mutex<Idle>,
}

#[derive(Debug, Default)]
struct Idle {
    connections: HashMap<Key, Vec<Connection>>,
    is_swept: bool,
}

impl Pool {
    /// A connection that leads there, the one that was used last. `once`: what is sent must not be sent twice.
    pub async fn take(&self, key: &Key, once: bool) -> Option<Connection> {
        let longest = if once { FRESH_MAX } else { IDLE_MAX };
        loop {
            let mut connection = self.idle.lock().connections.get_mut(key)?.pop()?;
            if connection.idle_since.elapsed() > longest || connection.sender.is_closed() {
                continue;
            }
            // The answer before has been read, and its driver is about to see that.
            let ready = tokio::time::timeout(Duration::from_millis(10), connection.sender.ready()).await;
            if matches!(ready, Ok(Ok(()))) {
                connection.is_reused = true;
                return Some(connection);
            }
        }
    }

    /// Keeps a connection whose answer has been read.
    pub fn keep(self: &Arc<Self>, key: Key, mut connection: Connection) {
        if connection.sender.is_closed() {
            return;
        }
        connection.idle_since = Instant::now();
        let mut idle = self.idle.lock();
        if idle.count() >= KEPT_MAX {
            return;
        }
        idle.connections.entry(key).or_default().push(connection);
        if !std::mem::replace(&mut idle.is_swept, true) {
            let pool = Arc::downgrade(self);
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(IDLE_MAX).await;
                    let Some(pool) = pool.upgrade() else { return };
                    if pool.idle.lock().sweep() {
                        return;
                    }
                }
            });
        }
    }
}

impl Idle {
    fn count(&self) -> usize {
        self.connections.values().map(Vec::len).sum()
    }

    /// Closes what was not used for long; whether nothing is left.
    fn sweep(&mut self) -> bool {
        self.connections.retain(|_, connections| {
            connections.retain(|connection| connection.idle_since.elapsed() < IDLE_MAX);
            !connections.is_empty()
        });
        self.is_swept = !self.connections.is_empty();
        !self.is_swept
    }
}
