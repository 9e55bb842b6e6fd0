//! Event loops: one thread with a single-threaded runtime serves many connections.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use squall_types::{ErrorCode, SqlError};
use squall_wire::response::ErrPacket;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::LocalSet;
use tokio::time::timeout;

use crate::busy_poll::BusyPoll;
use crate::command_loop::{CommandLoop, Left};
use crate::connection_limit::{ConnectionPermit, Place};
use crate::conversation::{Accepted, Conversation, Inbox, Moved};
use crate::established::Peer;
use crate::handshake::{HANDSHAKE_PACKET_BYTES_MAX, HandshakeError, establish, kill_callback};
use crate::neighbours::{Neighbour, Neighbours};
use crate::packet_stream::{PacketStream, ReadError};
use crate::prepared::PreparedStatements;
use crate::result_writer::ClientWriter;
use crate::shared::Shared;
use crate::steering::Steering;
use crate::transport::Socket;

/// Stack of a loop: expressions are as deep as a statement nests them, and short queries are answered here. Only what is
/// touched becomes memory.
const STACK_BYTES: usize = 16 << 20;

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
        .stack_size(STACK_BYTES)
        .spawn(move || LocalSet::new().block_on(&runtime, run(number, sockets, shared, shutdown)))?;
    Ok((inbox, thread))
}

/// Serves sockets until shutdown, then waits for the statements that are running.
async fn run(
    number: usize,
    mut sockets: mpsc::UnboundedReceiver<Accepted>,
    shared: Arc<Shared>,
    mut shutdown: watch::Receiver<bool>,
) {
    let neighbours = Rc::new(Neighbours::new(number));
    let mut connections = tokio::task::JoinSet::new();
    let mut clock = tokio::time::interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            accepted = sockets.recv() => {
                let Some(accepted) = accepted else {
                    break;
                };
                while connections.try_join_next().is_some() {}
                let (shared, neighbours) = (Arc::clone(&shared), Rc::clone(&neighbours));
                connections.spawn_local(async move {
                    if let Err(error) = serve(accepted, &shared, &neighbours).await {
                        tracing::debug!("a connection that was accepted cannot be served: {error}");
                    }
                });
            }
            _ = clock.tick() => neighbours.tick(&shared),
            // An error means that the server is gone, which is also a reason to stop.
            _stopped = shutdown.wait_for(|down| *down), if !neighbours.is_shutting_down() => neighbours.shut_down(),
        }
    }
    neighbours.shut_down();
    let drained = timeout(shared.drain_timeout, async { while connections.join_next().await.is_some() {} }).await;
    if drained.is_err() {
        tracing::warn!("{} connections did not end in time", connections.len());
    }
}

/// One connection, from its first byte, or from when it came to this loop, to its last, or until it moves to another.
async fn serve(mut accepted: Accepted, shared: &Shared, neighbours: &Rc<Neighbours>) -> io::Result<()> {
    loop {
        let moving = match accepted {
            Accepted::Moved(moved) => resume(*moved, shared, neighbours).await?,
            accepted => begin(accepted, shared, neighbours).await?,
        };
        let Some((to, moved)) = moving else { return Ok(()) };
        match shared.loops.hand_over(neighbours.number, to, Accepted::Moved(moved)) {
            Ok(()) => {
                shared.backend.connection_moved();
                return Ok(());
            }
            Err(refused) => accepted = refused,
        }
    }
}

/// Where a connection goes on, and its state.
type Moving = Option<(usize, Box<Moved>)>;

/// A connection from its first byte on.
async fn begin(accepted: Accepted, shared: &Shared, neighbours: &Rc<Neighbours>) -> io::Result<Moving> {
    let (socket, peer) = match accepted {
        Accepted::Tcp { stream, address, administrative } => {
            (Socket::tcp(TcpStream::from_std(stream)?), Peer { address: Some(address), administrative })
        }
        Accepted::Unix(stream) => {
            (Socket::unix(UnixStream::from_std(stream)?), Peer { address: None, administrative: false })
        }
        Accepted::Moved(_) => return Err(io::Error::other("a connection has begun already")),
    };
    let settings = shared.backend.front_end_settings();
    let write_timeout = Duration::from_secs(settings.net_write_timeout_seconds.max(1));
    let mut io = PacketStream::new(socket.clone(), HANDSHAKE_PACKET_BYTES_MAX, write_timeout);
    let place = if peer.administrative {
        Place::Unlimited
    } else if let Some(permit) = ConnectionPermit::take(&shared.connection_count, settings.max_connections) {
        Place::Limited(permit)
    } else {
        shared.backend.connection_refused();
        refuse_before_greeting(&mut io, &SqlError::new(ErrorCode::TooManyConnections, &[])).await;
        return Ok(None);
    };

    let wake = Arc::new(Notify::new());
    let neighbour = neighbours.join(&wake, socket);
    let connect_timeout = Duration::from_secs(settings.connect_timeout_seconds.max(1));
    let on_kill = kill_callback(&wake, &io.killed);
    let handshake = timeout(connect_timeout, establish(&mut io, shared, &settings, peer, place, on_kill));
    let handshake = tokio::select! {
        handshake = handshake => handshake,
        // No statement can be killed yet, so this is a shutdown.
        () = wake.notified() => return Ok(None),
    };
    let (established, mut session) = match handshake {
        Ok(Ok(both)) => both,
        Ok(Err(HandshakeError::Refused(error))) => {
            tracing::debug!("refused a client from {}: {error}", peer.host());
            shared.backend.connect_failed();
            io.say_goodbye(&error).await;
            return Ok(None);
        }
        Ok(Err(HandshakeError::Gone(ReadError::Closed))) | Err(_) => {
            shared.backend.connect_failed();
            return Ok(None);
        }
        Ok(Err(HandshakeError::Gone(error))) => {
            tracing::debug!("handshake with a client from {}: {error}", peer.host());
            shared.backend.connect_failed();
            return Ok(None);
        }
    };
    neighbour.activity.connection_id.set(established.connection_id);
    let mut client = ClientWriter::new(io, established.capabilities);
    let status = session.status();
    squall_session::api::ResultWriter::ok(&mut client, &Default::default(), &status);
    if let Some(compression) = established.compression {
        client.io.flush().await?;
        client.io.compress(compression)?;
    }
    let (statements, steering) = (PreparedStatements::default(), Steering::new());
    let conversation = Conversation { session, established, statements, wake, steering };
    answer_commands(shared, neighbours, neighbour, client, conversation).await
}

/// A connection that another loop has begun.
async fn resume(moved: Moved, shared: &Shared, neighbours: &Rc<Neighbours>) -> io::Result<Moving> {
    let Moved { stream, killed, counted, conversation } = moved;
    let Conversation { session, established, wake, .. } = &conversation;
    let socket = Socket::tcp(TcpStream::from_std(stream)?);
    let write_timeout = Duration::from_secs(session.net_timeouts().write_seconds);
    let mut io = PacketStream::new(socket.clone(), session.max_allowed_packet(), write_timeout);
    io.killed = killed;
    io.socket = counted;
    let neighbour = neighbours.join(wake, socket);
    neighbour.activity.connection_id.set(established.connection_id);
    if neighbours.is_shutting_down() {
        // The others have been told already.
        wake.notify_one();
    }
    let client = ClientWriter::new(io, established.capabilities);
    answer_commands(shared, neighbours, neighbour, client, conversation).await
}

/// Answers commands until the connection ends or moves.
async fn answer_commands(
    shared: &Shared,
    neighbours: &Rc<Neighbours>,
    neighbour: Neighbour,
    mut client: ClientWriter,
    conversation: Conversation,
) -> io::Result<Moving> {
    let Conversation { session, established, statements, wake, steering } = conversation;
    client.set_knows_vectors(session.knows_vectors());
    let (idle, activity) = (Rc::clone(&neighbour.idle), Rc::clone(&neighbour.activity));
    let busy_poll = BusyPoll::new();
    let commands = CommandLoop {
        shared,
        session,
        established,
        client,
        statements,
        wake,
        neighbours,
        idle,
        busy_poll,
        steering,
        activity,
    };
    let Some(Left { to, socket, killed, counted, conversation }) = commands.run().await else { return Ok(None) };
    // Another owner of the socket gives it back.
    drop(neighbour);
    let stream = socket.into_tcp().ok_or_else(|| io::Error::other("a connection that moves is still in use"))?;
    Ok(Some((to, Box::new(Moved { stream, killed, counted, conversation }))))
}

/// Says why there will be no greeting.
async fn refuse_before_greeting(io: &mut PacketStream, error: &SqlError) {
    let packet = ErrPacket { code: error.code, sqlstate: error.sqlstate, message: error.message.as_bytes() };
    io.writer.packet(|buf| packet.encode_before_handshake(buf));
    if io.flush().await.is_ok() {
        io.close().await;
    }
}
