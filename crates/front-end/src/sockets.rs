//! Sockets that a service manager has opened for the server.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::net::AddressFamily;
use rustix::net::sockopt::{socket_acceptconn, socket_domain};

/// A socket that another process has opened and listens on. That process keeps its address, and the file of a Unix socket.
#[derive(Debug, Clone)]
pub enum PassedSocket {
    /// A TCP socket.
    Tcp(Arc<TcpListener>),
    /// A Unix socket.
    Unix(Arc<UnixListener>),
}

impl PassedSocket {
    /// Of a descriptor.
    ///
    /// # Errors
    /// When it is no listening socket of TCP or Unix.
    pub fn from_descriptor(descriptor: OwnedFd) -> io::Result<Self> {
        if !socket_acceptconn(&descriptor)? {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the socket does not listen"));
        }
        match socket_domain(&descriptor)? {
            AddressFamily::INET | AddressFamily::INET6 => Ok(Self::Tcp(Arc::new(TcpListener::from(descriptor)))),
            AddressFamily::UNIX => Ok(Self::Unix(Arc::new(UnixListener::from(descriptor)))),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "the socket is neither of TCP nor of Unix")),
        }
    }

    /// Its TCP address; `None` for a Unix socket, or where the system does not tell.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            Self::Unix(_) => None,
        }
    }

    /// The path of a Unix socket that has one.
    pub fn path(&self) -> Option<PathBuf> {
        match self {
            Self::Tcp(_) => None,
            Self::Unix(listener) => Some(listener.local_addr().ok()?.as_pathname()?.to_owned()),
        }
    }

    /// Whether clients of other machines may come by it.
    ///
    /// # Errors
    /// The system's, when it does not tell the address.
    pub fn is_of_network(&self) -> io::Result<bool> {
        match self {
            Self::Tcp(listener) => Ok(!listener.local_addr()?.ip().is_loopback()),
            Self::Unix(_) => Ok(false),
        }
    }
}
