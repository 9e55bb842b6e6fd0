//! A connection between two commands.

use std::sync::Arc;

use squall_front_end::Socket;
use squall_front_end::steering::Steering;
use squall_session::api::{Connection, SocketUse};
use tokio::sync::Notify;

use crate::established::Established;
use crate::prepared::PreparedStatements;

/// The state of a connection beside its socket and what its loop gives it.
pub(crate) struct Conversation {
    // Gone before the connection's place is another's.
    pub(crate) session: Box<dyn Connection>,
    pub(crate) established: Established,
    pub(crate) statements: PreparedStatements,
    /// Told by KILL, for what waits for the client to read.
    pub(crate) killed: Arc<Notify>,
    /// Counts what goes through the socket.
    pub(crate) counted: Arc<SocketUse>,
    pub(crate) steering: Steering,
}

/// A connection that leaves its loop.
pub(crate) struct Left {
    /// The number of the loop that it moves to.
    pub(crate) to: usize,
    pub(crate) socket: Socket,
    /// Woken by KILL and by a shutdown.
    pub(crate) wake: Arc<Notify>,
    pub(crate) conversation: Conversation,
}
