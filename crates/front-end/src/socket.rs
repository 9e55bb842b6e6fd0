//! A client's socket, plain or encrypted.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::os::fd::AsRawFd;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use squall_instrumentation::{SocketUse, TlsUse};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::certificates::client_certificate;

/// A TCP or Unix socket. Clones are the same socket: one reads and writes, another watches for the client to hang up.
/// None is borrowed for longer than one call, and none leaves its event loop's thread.
#[derive(Debug, Clone)]
pub enum Socket {
    /// TCP.
    Tcp(Rc<RefCell<TcpStream>>),
    /// Unix.
    Unix(Rc<RefCell<UnixStream>>),
}

impl Socket {
    /// Of a TCP stream.
    pub fn tcp(stream: TcpStream) -> Self {
        Self::Tcp(Rc::new(RefCell::new(stream)))
    }

    /// Of a Unix stream.
    pub fn unix(stream: UnixStream) -> Self {
        Self::Unix(Rc::new(RefCell::new(stream)))
    }

    /// The operating system's number.
    pub fn descriptor(&self) -> i32 {
        match self {
            Self::Tcp(stream) => stream.borrow().as_raw_fd(),
            Self::Unix(stream) => stream.borrow().as_raw_fd(),
        }
    }

    /// Waits for the client's next bytes and copies their beginning, which stays to be read; nothing at the end.
    ///
    /// # Errors
    /// The system's; a Unix socket cannot do it.
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self::Tcp(stream) = self else { return Err(io::ErrorKind::Unsupported.into()) };
        std::future::poll_fn(|cx| stream.borrow().poll_peek(cx, &mut ReadBuf::new(buffer))).await
    }

    /// The TCP socket without its event loop; `None` for another kind, or where it has other owners.
    pub fn into_tcp(self) -> Option<std::net::TcpStream> {
        let Self::Tcp(stream) = self else { return None };
        Rc::into_inner(stream)?.into_inner().into_std().ok()
    }

    /// Whether the client will send nothing more, as far as the event loop has heard; what it has sent may still be unread.
    pub fn has_hung_up(&self) -> bool {
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
pub enum Transport {
    /// As it is.
    Plain(Socket),
    /// Encrypted.
    Tls(Box<TlsStream<Socket>>),
    /// The socket was given away to a TLS handshake that failed.
    Closed,
}

impl Transport {
    /// Whether the bytes cannot be read on the way.
    pub fn is_secure(&self) -> bool {
        matches!(self, Self::Tls(_) | Self::Plain(Socket::Unix(_)))
    }

    /// How it is encrypted, if it is.
    pub fn tls_use(&self) -> Option<TlsUse> {
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
        let client = connection.peer_certificates().and_then(|chain| client_certificate(chain.first()?));
        Some(TlsUse { version, cipher, resumed, client })
    }

    /// The protocol that the client chose in the TLS handshake (ALPN).
    pub fn application_protocol(&self) -> Option<&[u8]> {
        let Self::Tls(stream) = self else { return None };
        stream.get_ref().1.alpn_protocol()
    }

    /// Answers the client's TLS handshake.
    ///
    /// # Errors
    /// When it fails; the socket is closed then.
    pub async fn accept_tls(&mut self, acceptor: &TlsAcceptor) -> io::Result<()> {
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

impl AsyncRead for Socket {
    #[inline]
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(&mut *stream.borrow_mut()).poll_read(cx, buf),
            Self::Unix(stream) => Pin::new(&mut *stream.borrow_mut()).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Socket {
    #[inline]
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(&mut *stream.borrow_mut()).poll_write(cx, buf),
            Self::Unix(stream) => Pin::new(&mut *stream.borrow_mut()).poll_write(cx, buf),
        }
    }

    #[inline]
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(&mut *stream.borrow_mut()).poll_flush(cx),
            Self::Unix(stream) => Pin::new(&mut *stream.borrow_mut()).poll_flush(cx),
        }
    }

    #[inline]
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(&mut *stream.borrow_mut()).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(&mut *stream.borrow_mut()).poll_shutdown(cx),
        }
    }
}

impl AsyncRead for Transport {
    #[inline]
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_read(cx, buf),
            Self::Closed => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for Transport {
    #[inline]
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write(cx, buf),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write(cx, buf),
            Self::Closed => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    #[inline]
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
            Self::Closed => Poll::Ready(Ok(())),
        }
    }

    #[inline]
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
            Self::Closed => Poll::Ready(Ok(())),
        }
    }
}

/// A transport whose reads and writes are counted, for protocols that are served by a library. Sessions of the connection are given the
/// [`SocketUse`], too: it shows in performance_schema, and makes them sessions of a client.
#[derive(Debug)]
pub struct CountedStream {
    transport: Transport,
    counted: Arc<SocketUse>,
}

impl CountedStream {
    /// Counts from here on.
    pub fn new(transport: Transport, counted: Arc<SocketUse>) -> Self {
        Self { transport, counted }
    }

    /// The transport.
    pub fn transport(&self) -> &Transport {
        &self.transport
    }
}

impl AsyncRead for CountedStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        let read = Pin::new(&mut this.transport).poll_read(cx, buf);
        if read.is_ready() && buf.filled().len() > before {
            this.counted.read(buf.filled().len() - before);
        }
        read
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.transport).poll_write(cx, buf);
        if let Poll::Ready(Ok(bytes)) = written {
            this.counted.wrote(bytes);
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().transport).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().transport).poll_shutdown(cx)
    }
}
