//! Listeners and their addresses. They may change while the server runs.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc as std_mpsc;

use rustls::ServerConfig;
use tokio::sync::mpsc;

use crate::acceptor::{Answer, Bound, Request};
use crate::connection_limit::ConnectionLimit;
use crate::protocol::{Endpoint, Protocol};
use crate::sockets::PassedSocket;

/// Where to listen.
#[derive(Debug, Clone)]
pub enum Address {
    /// A TCP address; port 0 for any that is free.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
    /// A socket that listens already.
    Passed(PassedSocket),
}

/// A listener to open.
pub struct Listen {
    /// A name that no other listener has.
    pub name: String,
    /// Where to listen.
    pub addresses: Vec<Address>,
    /// What its clients speak.
    pub protocol: Arc<dyn Protocol>,
    /// How many clients it may have.
    pub limit: ConnectionLimit,
    /// It is an administrative interface, for accounts with SERVICE_CONNECTION_ADMIN alone.
    pub administrative: bool,
}

impl fmt::Debug for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listen").field("name", &self.name).field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

/// The listeners of a front end. Clones are the same ones; they can be opened and closed from any thread, and keep nothing alive: after the
/// front end has shut down they all are closed and none can be opened.
#[derive(Clone, Debug)]
pub struct Listeners {
    requests: mpsc::UnboundedSender<Request>,
    pub(crate) tls: Arc<ServerConfig>,
}

impl Listeners {
    pub(crate) fn new(requests: mpsc::UnboundedSender<Request>, tls: Arc<ServerConfig>) -> Self {
        Self { requests, tls }
    }

    /// Listens on all of a listener's addresses, or on none. Waits for the acceptor's thread, which takes no longer than the system's calls.
    /// The TCP addresses with their ports.
    ///
    /// # Errors
    /// When an address cannot be listened on, another listener has the name, or the server is shutting down.
    pub fn open(&self, listen: Listen) -> io::Result<Vec<SocketAddr>> {
        let Listen { name, addresses, protocol, limit, administrative } = listen;
        let (bound, tcp_addresses) = bind(&addresses)?;
        let endpoint = Endpoint::new(name, protocol, limit, administrative, &self.tls);
        self.ask(|answer| Request::Open(endpoint, bound, answer))?;
        Ok(tcp_addresses)
    }

    /// Closes a listener: its addresses are free when this returns, idle connections of it end at once, busy ones when their command is
    /// answered.
    ///
    /// # Errors
    /// When there is no such listener, or the file of its Unix socket cannot be removed (it is closed then all the same).
    pub fn close(&self, name: &str) -> io::Result<()> {
        self.ask(|answer| Request::Close(name.to_owned(), answer))
    }

    /// Asks the acceptor, and waits for its answer.
    fn ask(&self, request: impl FnOnce(Answer) -> Request) -> io::Result<()> {
        let (answer, answered) = std_mpsc::channel();
        let shutting_down = || io::Error::other("the server is shutting down");
        self.requests.send(request(answer)).map_err(|_| shutting_down())?;
        answered.recv().map_err(|_| shutting_down())?
    }
}

/// Listens on addresses: the sockets, and the TCP addresses with their ports.
fn bind(addresses: &[Address]) -> io::Result<(Vec<Bound>, Vec<SocketAddr>)> {
    let (mut bound, mut tcp_addresses) = (Vec::new(), Vec::new());
    for address in addresses {
        let socket = match address {
            Address::Tcp(address) => Bound::tcp(*address)?,
            Address::Unix(path) => Bound::unix(path)?,
            Address::Passed(socket) => Bound::passed(socket)?,
        };
        if let Bound::Tcp(listener) = &socket {
            tcp_addresses.push(listener.local_addr()?);
        }
        bound.push(socket);
    }
    Ok((bound, tcp_addresses))
}
