//! A client's socket, plain or encrypted.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::os::fd::AsRawFd;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use squall_session::api::TlsUse;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A TCP or Unix socket. Clones are the same socket: one reads and writes, another watches for the client to hang up.
/// None is borrowed for longer than one call.
#[derive(Debug, Clone)]
pub(crate) enum Socket {
    Tcp(Rc<RefCell<TcpStream>>),
    Unix(Rc<RefCell<UnixStream>>),
}

impl Socket {
    pub(crate) fn tcp(stream: TcpStream) -> Self {
        Self::Tcp(Rc::new(RefCell::new(stream)))
    }

    pub(crate) fn unix(stream: UnixStream) -> Self {
        Self::Unix(Rc::new(RefCell::new(stream)))
    }

    /// The operating system's number.
    pub(crate) fn descriptor(&self) -> i32 {
        match self {
            Self::Tcp(stream) => stream.borrow().as_raw_fd(),
            Self::Unix(stream) => stream.borrow().as_raw_fd(),
        }
    }

    /// The TCP socket without its event loop; `None` for another kind, or where it has other owners.
    pub(crate) fn into_tcp(self) -> Option<std::net::TcpStream> {
        let Self::Tcp(stream) = self else { return None };
        Rc::into_inner(stream)?.into_inner().into_std().ok()
    }

    /// Whether the client will send nothing more, as far as the event loop has heard; what it has sent may still be unread.
    pub(crate) fn has_hung_up(&self) -> bool {
        fn now(ready: impl Future<Output = io::Result<Ready>>) -> bool {
            let polled = pin!(ready).poll(&mut Context::from_waker(Waker::noop()));
            matches!(polled, Poll::Ready(Ok(ready)) if ready.is_read_closed())
        }
        match self {
            Self::Tcp(stream) => now(stream.borrow().ready(Interest::READABLE)),
            Self::Unix(stream) => now(stream.borrow().ready(Interest::READABLE)),
        }
    }
}

/// A socket, perhaps with TLS on it.
#[derive(Debug)]
pub(crate) enum Transport {
    Plain(Socket),
    Tls(Box<TlsStream<Socket>>),
    /// The socket was given away to a TLS handshake that failed.
    Closed,
}

impl Transport {
    /// Whether the bytes cannot be read on the way.
    pub(crate) fn is_secure(&self) -> bool {
        matches!(self, Self::Tls(_) | Self::Plain(Socket::Unix(_)))
    }

    /// How it is encrypted, if it is.
    pub(crate) fn tls_use(&self) -> Option<TlsUse> {
        let Self::Tls(stream) = self else {
            return None;
        };
        let connection = stream.get_ref().1;
        let version = match connection.protocol_version() {
            Some(tokio_rustls::rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3",
            _ => "TLSv1.2",
        };
        let cipher = connection
            .negotiated_cipher_suite()
            .and_then(|suite| suite.suite().as_str())
            .unwrap_or_default()
            .replacen("TLS13_", "TLS_", 1);
        let resumed = connection.handshake_kind() == Some(tokio_rustls::rustls::HandshakeKind::Resumed);
        Some(TlsUse { version, cipher, resumed })
    }

    /// Answers the client's TLS handshake.
    pub(crate) async fn accept_tls(&mut self, acceptor: &TlsAcceptor) -> io::Result<()> {
        match std::mem::replace(self, Self::Closed) {
            Self::Plain(socket) => {
                *self = Self::Tls(Box::new(acceptor.accept(socket).await?));
                Ok(())
            }
            other => {
                *self = other;
                Err(io::Error::other("TLS inside TLS"))
            }
        }
    }
}

/// Makes the acceptor for a TLS configuration.
pub(crate) fn acceptor(config: Arc<tokio_rustls::rustls::ServerConfig>) -> TlsAcceptor {
    TlsAcceptor::from(config)
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(&mut *stream.borrow_mut()).poll_read(cx, buf),
            Self::Unix(stream) => Pin::new(&mut *stream.borrow_mut()).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(&mut *stream.borrow_mut()).poll_write(cx, buf),
            Self::Unix(stream) => Pin::new(&mut *stream.borrow_mut()).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(&mut *stream.borrow_mut()).poll_flush(cx),
            Self::Unix(stream) => Pin::new(&mut *stream.borrow_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(&mut *stream.borrow_mut()).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(&mut *stream.borrow_mut()).poll_shutdown(cx),
        }
    }
}

impl AsyncRead for Transport {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_read(cx, buf),
            Self::Closed => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write(cx, buf),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write(cx, buf),
            Self::Closed => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
            Self::Closed => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
            Self::Closed => Poll::Ready(Ok(())),
        }
    }
}
