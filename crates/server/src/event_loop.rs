//! One thread, one single-threaded runtime, many connections.

use std::io;
use std::net::TcpStream as StdTcpStream;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use squall_types::{ErrorCode, SqlError};
use squall_wire::response::ErrPacket;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::LocalSet;
use tokio::time::timeout;

use crate::command_loop::CommandLoop;
use crate::handshake::{HANDSHAKE_PACKET_BYTES_MAX, HandshakeError, Peer, establish, kill_callback};
use crate::packet_stream::{PacketStream, ReadError};
use crate::prepared::PreparedStatements;
use crate::result_writer::ClientWriter;
use crate::server::Shared;
use crate::transport::{Socket, Transport};

/// An accepted socket on its way to an event loop.
#[derive(Debug)]
pub(crate) enum Accepted {
    Tcp(StdTcpStream, std::net::SocketAddr),
    Unix(StdUnixStream),
}

/// Counts a connection for as long as it lives.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    count: Arc<AtomicUsize>,
    /// How many connections there were when this one came, itself included.
    pub(crate) ordinal: usize,
}

impl ConnectionPermit {
    pub(crate) fn new(count: &Arc<AtomicUsize>) -> Self {
        let ordinal = count.fetch_add(1, Ordering::AcqRel) + 1;
        Self { count: Arc::clone(count), ordinal }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Where the acceptor hands sockets over. The loop ends when this is dropped and its connections have ended.
pub(crate) type Inbox = mpsc::UnboundedSender<(Accepted, ConnectionPermit)>;

/// Starts the thread of the loop with this number.
pub(crate) fn start(
    number: usize,
    shared: Arc<Shared>,
    shutdown: watch::Receiver<bool>,
) -> io::Result<(Inbox, JoinHandle<()>)> {
    let (inbox, sockets) = mpsc::unbounded_channel();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // Passwords are hashed and files read there; idle threads go soon.
        .max_blocking_threads(4)
        .thread_name("squall-blocking")
        .build()?;
    let thread = std::thread::Builder::new()
        .name(format!("squall-loop-{number}"))
        .spawn(move || LocalSet::new().block_on(&runtime, run(sockets, shared, shutdown)))?;
    Ok((inbox, thread))
}

/// Serves sockets until shutdown, then waits for the statements that are running.
async fn run(
    mut sockets: mpsc::UnboundedReceiver<(Accepted, ConnectionPermit)>,
    shared: Arc<Shared>,
    shutdown: watch::Receiver<bool>,
) {
    let mut connections = tokio::task::JoinSet::new();
    while let Some((accepted, permit)) = sockets.recv().await {
        while connections.try_join_next().is_some() {}
        let (shared, shutdown) = (Arc::clone(&shared), shutdown.clone());
        connections.spawn_local(async move {
            if let Err(error) = serve(accepted, &permit, &shared, shutdown).await {
                tracing::debug!("a connection that was accepted cannot be served: {error}");
            }
        });
    }
    let drained = timeout(shared.drain_timeout, async { while connections.join_next().await.is_some() {} }).await;
    if drained.is_err() {
        tracing::warn!("{} connections did not end in time", connections.len());
    }
}

/// One connection, from its first byte to its last.
async fn serve(
    accepted: Accepted,
    permit: &ConnectionPermit,
    shared: &Shared,
    shutdown: watch::Receiver<bool>,
) -> io::Result<()> {
    let (socket, peer) = match accepted {
        Accepted::Tcp(stream, address) => (Socket::Tcp(TcpStream::from_std(stream)?), Peer { address: Some(address) }),
        Accepted::Unix(stream) => (Socket::Unix(UnixStream::from_std(stream)?), Peer { address: None }),
    };
    let settings = shared.backend.front_end_settings();
    let write_timeout = Duration::from_secs(settings.net_write_timeout_seconds.max(1));
    let mut io = PacketStream::new(Transport::Plain(socket), HANDSHAKE_PACKET_BYTES_MAX, write_timeout);
    if permit.ordinal > settings.max_connections {
        refuse_before_greeting(&mut io, &SqlError::new(ErrorCode::TooManyConnections, &[])).await;
        shared.backend.connect_failed();
        return Ok(());
    }

    let killed = Arc::new(Notify::new());
    let connect_timeout = Duration::from_secs(settings.connect_timeout_seconds.max(1));
    let handshake = establish(&mut io, shared, &settings, peer, kill_callback(&killed));
    let (established, mut session) = match timeout(connect_timeout, handshake).await {
        Ok(Ok(both)) => both,
        Ok(Err(HandshakeError::Refused(error))) => {
            tracing::debug!("refused a client from {}: {error}", peer.host());
            io.say_goodbye(&error).await;
            shared.backend.connect_failed();
            return Ok(());
        }
        Ok(Err(HandshakeError::Gone(ReadError::Closed))) | Err(_) => {
            shared.backend.connect_failed();
            return Ok(());
        }
        Ok(Err(HandshakeError::Gone(error))) => {
            tracing::debug!("handshake with a client from {}: {error}", peer.host());
            shared.backend.connect_failed();
            return Ok(());
        }
    };
    let mut client = ClientWriter::new(io, established.capabilities);
    let status = session.status();
    squall_session::api::ResultWriter::ok(&mut client, &Default::default(), &status);
    let statements = PreparedStatements::default();
    CommandLoop { shared, established, session, client, statements, killed, shutdown }.run().await;
    Ok(())
}

/// Says why there will be no greeting.
async fn refuse_before_greeting(io: &mut PacketStream, error: &SqlError) {
    let packet = ErrPacket { code: error.code, sqlstate: error.sqlstate, message: error.message.as_bytes() };
    io.writer.packet(|buf| packet.encode_before_handshake(buf));
    if io.flush().await.is_ok() {
        io.close().await;
    }
}
