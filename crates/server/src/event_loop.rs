//! One thread, one single-threaded runtime, many connections.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::net::TcpStream as StdTcpStream;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use squall_session::api::{Connection, SocketUse};
use squall_types::{ErrorCode, SqlError};
use squall_wire::response::ErrPacket;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::LocalSet;
use tokio::time::timeout;

use crate::busy_poll::{Awake, BusyPoll};
use crate::command_loop::{CommandLoop, Left};
use crate::connection_limit::{ConnectionPermit, Place};
use crate::handshake::{Established, HANDSHAKE_PACKET_BYTES_MAX, HandshakeError, Peer, establish, kill_callback};
use crate::packet_stream::{PacketStream, ReadError};
use crate::prepared::PreparedStatements;
use crate::result_writer::ClientWriter;
use crate::server::Shared;
use crate::steering::Steering;
use crate::transport::Socket;

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
    stream: StdTcpStream,
    killed: Arc<Notify>,
    counted: Arc<SocketUse>,
    conversation: Conversation,
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

/// Stack of a loop: expressions are as deep as a statement nests them, and short queries are answered here. Only what is
/// touched becomes memory.
const STACK_BYTES: usize = 16 << 20;

/// Where the acceptor hands sockets over. The loop ends when this is dropped and its connections have ended.
pub(crate) type Inbox = mpsc::UnboundedSender<Accepted>;

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

/// What the connections of one loop share: how to wake them all. Never leaves the loop's thread.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    /// The number of the loop.
    pub(crate) number: usize,
    pub(crate) awake: Awake,
    shutting_down: Cell<bool>,
    /// Seconds that the loop has run.
    seconds: Cell<u64>,
    members: RefCell<HashMap<u64, Member>>,
    last_key: Cell<u64>,
}

impl Neighbours {
    /// Whether the server is going down.
    pub(crate) fn is_shutting_down(&self) -> bool {
        self.shutting_down.get()
    }

    fn join(self: &Rc<Self>, wake: &Arc<Notify>, socket: Socket) -> Neighbour {
        let key = self.last_key.get() + 1;
        self.last_key.set(key);
        let (idle, activity) = (Rc::new(IdleClock::default()), Rc::new(Activity::new(socket)));
        let member = Member { wake: Arc::clone(wake), idle: Rc::clone(&idle), activity: Rc::clone(&activity) };
        self.members.borrow_mut().insert(key, member);
        Neighbour { neighbours: Rc::clone(self), key, idle, activity }
    }

    /// Another second has passed: wakes those that have waited for their clients for too long, and stops statements
    /// whose clients have hung up.
    fn tick(&self, shared: &Shared) {
        self.seconds.set(self.seconds.get() + 1);
        self.awake.tick();
        let mut busy = 0;
        for member in self.members.borrow().values() {
            busy += usize::from(member.activity.had_command.take());
            if member.idle.is_over(self) {
                member.wake.notify_one();
            }
            if member.activity.is_for_nobody() {
                let id = member.activity.connection_id.get();
                tracing::debug!("connection {id} hung up while its statement ran");
                shared.backend.client_gone(id);
            }
        }
        shared.loops.tick(self.number, busy);
    }

    fn shut_down(&self) {
        self.shutting_down.set(true);
        for member in self.members.borrow().values() {
            member.wake.notify_one();
        }
    }
}

#[derive(Debug)]
struct Member {
    wake: Arc<Notify>,
    idle: Rc<IdleClock>,
    activity: Rc<Activity>,
}

/// Whether a connection is answering a command, for those who look whether its client is still there.
#[derive(Debug)]
pub(crate) struct Activity {
    socket: Socket,
    /// 0 until the handshake is over.
    connection_id: Cell<u64>,
    is_running: Cell<bool>,
    /// There was a command in the second that is under way.
    had_command: Cell<bool>,
    /// The command was running at the last look already.
    was_running: Cell<bool>,
}

impl Activity {
    fn new(socket: Socket) -> Self {
        Self {
            socket,
            connection_id: Cell::new(0),
            is_running: Cell::new(false),
            had_command: Cell::new(false),
            was_running: Cell::new(false),
        }
    }

    /// A command begins.
    pub(crate) fn begin(&self) {
        self.is_running.set(true);
        self.had_command.set(true);
        self.was_running.set(false);
    }

    /// The command is answered.
    pub(crate) fn end(&self) {
        self.is_running.set(false);
    }

    /// Whether a command has been running since the look before this one, and no client waits for its answer any more.
    fn is_for_nobody(&self) -> bool {
        let was_running = self.was_running.replace(self.is_running.get());
        was_running && self.is_running.get() && self.socket.has_hung_up()
    }
}

/// How long a connection may wait for its client. One clock for all of a loop's connections, which ticks once a second,
/// instead of a timer for every command.
#[derive(Debug, Default)]
pub(crate) struct IdleClock(Cell<Option<u64>>);

impl IdleClock {
    /// Begins to wait, for so many seconds at most.
    pub(crate) fn start(&self, neighbours: &Neighbours, seconds: u64) {
        // The second that is under way does not count.
        self.0.set(Some(neighbours.seconds.get().saturating_add(seconds).saturating_add(1)));
    }

    /// Ends the waiting.
    pub(crate) fn stop(&self) {
        self.0.set(None);
    }

    /// Whether it has been too long.
    pub(crate) fn is_over(&self, neighbours: &Neighbours) -> bool {
        self.0.get().is_some_and(|end| end <= neighbours.seconds.get())
    }
}

/// One connection among its neighbours; leaves them when dropped.
#[derive(Debug)]
pub(crate) struct Neighbour {
    neighbours: Rc<Neighbours>,
    key: u64,
    idle: Rc<IdleClock>,
    activity: Rc<Activity>,
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.neighbours.members.borrow_mut().remove(&self.key);
    }
}

/// Serves sockets until shutdown, then waits for the statements that are running.
async fn run(
    number: usize,
    mut sockets: mpsc::UnboundedReceiver<Accepted>,
    shared: Arc<Shared>,
    mut shutdown: watch::Receiver<bool>,
) {
    let neighbours = Rc::new(Neighbours { number, ..Neighbours::default() });
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
    client: ClientWriter,
    conversation: Conversation,
) -> io::Result<Moving> {
    let Conversation { session, established, statements, wake, steering } = conversation;
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
