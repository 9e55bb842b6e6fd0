//! Connections before they have an event loop.

use std::net::TcpStream as StdTcpStream;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;

use squall_session::api::{Connection, SocketUse};
use tokio::sync::{Notify, mpsc};

use crate::established::Established;
use crate::prepared::PreparedStatements;
use crate::steering::Steering;

/// Where the acceptor hands sockets over. The loop ends when this is dropped and its connections have ended.
pub(crate) type Inbox = mpsc::UnboundedSender<Accepted>;

/// An accepted socket on its way to an event loop.
#[derive(Debug)]
pub(crate) enum Accepted {
    Tcp {
        stream: StdTcpStream,
        address: std::net::SocketAddr,
        /// It came by the administrative interface.
        administrative: bool,
    },
    Unix(StdUnixStream),
    /// A connection of another loop, between two commands.
    Moved(Box<Moved>),
}

/// A connection between two commands, of which nothing has been read, without a loop.
#[derive(Debug)]
pub(crate) struct Moved {
    pub(crate) stream: StdTcpStream,
    pub(crate) killed: Arc<Notify>,
    pub(crate) counted: Arc<SocketUse>,
    pub(crate) conversation: Conversation,
}

/// The state of a connection beside its socket and what its loop gives it.
pub(crate) struct Conversation {
    // Gone before the connection's place is another's.
    pub(crate) session: Box<dyn Connection>,
    pub(crate) established: Established,
    pub(crate) statements: PreparedStatements,
    /// Woken by KILL and by a shutdown.
    pub(crate) wake: Arc<Notify>,
    pub(crate) steering: Steering,
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation").field("established", &self.established).finish_non_exhaustive()
    }
}
