//! The interface of a protocol, and its input.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpStream as StdTcpStream};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc as std_mpsc;
use std::time::Duration;

use rustls::ServerConfig;
use squall_instrumentation::KillCallback;
use squall_types::SqlError;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::connection_limit::{ConnectionLimit, Place};
use crate::context::{FrontEndContext, FrontEndSettings};
use crate::login::Login;
use crate::neighbours::{Closed, Neighbour};
use crate::socket::{Socket, Transport};
use crate::steering::{Loops, Steering};

/// A boxed future that stays on its event loop's thread. One is made for a connection, none for what goes through it.
pub type LocalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A protocol by which clients talk to the server.
///
/// Its futures run on event loops, beside those of other connections: they must not block, and give way after half a millisecond of work.
pub trait Protocol: Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;
    /// The names that are offered in a TLS handshake (ALPN), the best first; none to leave it open.
    fn application_protocols(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }
    /// Serves a client from its first byte to its last, or until its connection moves to another event loop. It ends when the
    /// client does, when its session is killed, when the client is silent for too long, and soon after [`Neighbour::is_ending`]:
    /// [`Client::wake`] wakes it for each of these. The protocol must bound the memory of a connection before its client has logged
    /// in; [`before_session`] bounds the time.
    ///
    /// # Errors
    /// An error for the debug log; mostly the client is gone.
    fn serve(self: Arc<Self>, client: Client) -> LocalFuture<'static, io::Result<Option<Moving>>>;
    /// Tells a client that there is no place for it (1040), in the protocol's words and within `write_timeout`. The connection is
    /// closed then. Nothing was read.
    fn refuse(self: Arc<Self>, socket: Socket, write_timeout: Duration, error: SqlError) -> LocalFuture<'static, ()>;
}

/// A client that has just come.
pub struct Client {
    /// Who it is.
    pub peer: Peer,
    /// Its place among the connections that there may be, which the front end keeps for as long as it is served.
    pub place: Arc<Place>,
    /// Its bytes; see [`Transport`].
    pub socket: Socket,
    /// What answers a TLS handshake of this listener: at the first byte, or when the protocol says so.
    pub tls: TlsAcceptor,
    /// Woken when the connection should look why: it has been killed, or [`Neighbour`] says.
    pub wake: Arc<Notify>,
    /// The connection among others on its event loop; kept for as long as the connection lives.
    pub neighbour: Neighbour,
    /// What all connections share.
    pub services: Arc<Services>,
}

impl Client {
    /// The client's bytes after a TLS handshake that begins with the first byte, within `connect_timeout`.
    ///
    /// # Errors
    /// When the handshake fails, takes too long, or the connection has to end.
    pub async fn accept_tls(&self) -> io::Result<Transport> {
        let mut transport = Transport::Plain(self.socket.clone());
        let settings = self.services.context().front_end_settings();
        match before_session(&self.wake, &settings, transport.accept_tls(&self.tls)).await {
            Ok(done) => done.map(|()| transport),
            Err(Interrupted::TimedOut) => Err(io::ErrorKind::TimedOut.into()),
            Err(Interrupted::Ending) => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
}

/// What a session calls when it is killed, from any thread: wakes its connection, whether that waits for a command (`wake`) or for its client
/// to read (`killed`).
pub fn kill_callback(wake: &Arc<Notify>, killed: &Arc<Notify>) -> KillCallback {
    let (wake, killed) = (Arc::clone(wake), Arc::clone(killed));
    Arc::new(move || {
        killed.notify_one();
        wake.notify_one();
    })
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("peer", &self.peer).field("place", &self.place).finish_non_exhaustive()
    }
}

/// Who is at the other end of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// `None` for a Unix socket.
    pub address: Option<SocketAddr>,
    /// It came by the administrative interface.
    pub administrative: bool,
}

impl Peer {
    /// The host as accounts and messages name it.
    pub fn host(&self) -> String {
        match self.address {
            None => "localhost".to_owned(),
            Some(address) if address.ip().to_canonical().is_loopback() => "localhost".to_owned(),
            Some(address) => address.ip().to_canonical().to_string(),
        }
    }
}

/// Why a client has no session yet, and gets none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupted {
    /// It took longer than `connect_timeout`.
    TimedOut,
    /// The connection has to end: the server is going down, or the listener was closed.
    Ending,
}

/// Does what comes before a client's first session, for at most `connect_timeout`.
///
/// # Errors
/// When that is over, or the connection has to end.
pub async fn before_session<T>(
    wake: &Notify,
    settings: &FrontEndSettings,
    work: impl Future<Output = T>,
) -> Result<T, Interrupted> {
    let connect_timeout = Duration::from_secs(settings.connect_timeout_seconds.max(1));
    tokio::select! {
        done = timeout(connect_timeout, work) => done.map_err(|_| Interrupted::TimedOut),
        // No session can be killed yet.
        () = wake.notified() => Err(Interrupted::Ending),
    }
}

/// What all connections of a front end share.
pub struct Services {
    pub(crate) context: Arc<dyn FrontEndContext>,
    pub(crate) login: Login,
    pub(crate) drain_timeout: Duration,
    /// Connections that `max_connections` limits.
    pub(crate) connection_count: Arc<AtomicUsize>,
    pub(crate) loops: Loops<Message>,
}

impl Services {
    /// The server.
    pub fn context(&self) -> &dyn FrontEndContext {
        &*self.context
    }

    /// The check of passwords.
    pub fn login(&self) -> &Login {
        &self.login
    }

    /// Counts a command of a connection; the number of the event loop that it should move to ([`Moving`]), if it should.
    #[inline]
    pub fn steer(&self, steering: &mut Steering, neighbour: &Neighbour, socket: &Socket) -> Option<usize> {
        if !steering.is_due() {
            return None;
        }
        steering.look(&self.loops, neighbour.loop_number(), socket)
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services").field("connections", &self.connection_count).finish_non_exhaustive()
    }
}

/// A connection on its way to another event loop, between two commands: nothing of the next has been read.
pub struct Moving {
    pub(crate) to: usize,
    pub(crate) stream: StdTcpStream,
    pub(crate) wake: Arc<Notify>,
    pub(crate) parked: Box<dyn Parked>,
    pub(crate) place: Option<Arc<Place>>,
}

impl Moving {
    /// A connection that leaves for the loop with this number.
    ///
    /// # Errors
    /// When the socket has other owners, or is none of TCP.
    pub fn new(
        to: usize,
        socket: Socket,
        neighbour: Neighbour,
        wake: Arc<Notify>,
        parked: Box<dyn Parked>,
    ) -> io::Result<Self> {
        // Another owner of the socket gives it back.
        drop(neighbour);
        let stream = socket.into_tcp().ok_or_else(|| io::Error::other("a connection that moves is still in use"))?;
        Ok(Self { to, stream, wake, parked, place: None })
    }
}

impl fmt::Debug for Moving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Moving").field("to", &self.to).finish_non_exhaustive()
    }
}

/// What a protocol knows of a connection that is between two event loops.
pub trait Parked: Send {
    /// Goes on with it, as [`Protocol::serve`] did.
    fn resume(self: Box<Self>, arrived: Arrived) -> LocalFuture<'static, io::Result<Option<Moving>>>;
}

/// A connection that has come from another event loop.
#[derive(Debug)]
pub struct Arrived {
    /// The socket, on this loop now.
    pub socket: Socket,
    /// See [`Client::wake`].
    pub wake: Arc<Notify>,
    /// The connection among its new neighbours.
    pub neighbour: Neighbour,
    /// What all connections share.
    pub services: Arc<Services>,
}

/// A listener, as its connections see it; or what stands for one, of connections that were attached.
pub(crate) struct Endpoint {
    /// Its name, or nothing.
    pub(crate) name: String,
    pub(crate) protocol: Arc<dyn Protocol>,
    pub(crate) limit: ConnectionLimit,
    pub(crate) administrative: bool,
    pub(crate) tls: TlsAcceptor,
    pub(crate) closed: Closed,
}

impl Endpoint {
    pub(crate) fn new(
        name: String,
        protocol: Arc<dyn Protocol>,
        limit: ConnectionLimit,
        administrative: bool,
        tls: &Arc<ServerConfig>,
    ) -> Arc<Self> {
        let offered = protocol.application_protocols();
        let mut tls = Arc::clone(tls);
        if !offered.is_empty() {
            Arc::make_mut(&mut tls).alpn_protocols = offered;
        }
        let (tls, closed) = (TlsAcceptor::from(tls), Closed::default());
        Arc::new(Self { name, protocol, limit, administrative, tls, closed })
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("name", &self.name)
            .field("protocol", &self.protocol.name())
            .finish_non_exhaustive()
    }
}

/// Where an event loop is told things. The loop ends when this is dropped and its connections have ended.
pub(crate) type Inbox = mpsc::UnboundedSender<Message>;

/// What an event loop is told.
#[derive(Debug)]
pub(crate) enum Message {
    /// An accepted socket.
    Accepted { endpoint: Arc<Endpoint>, stream: AcceptedStream },
    /// A connection of another loop, between two commands.
    Moved { endpoint: Arc<Endpoint>, moving: Box<Moving> },
    /// A listener has been closed.
    Closed,
    /// Somebody wants to know whether the loop runs.
    Ping(std_mpsc::Sender<()>),
}

#[derive(Debug)]
pub(crate) enum AcceptedStream {
    Tcp(StdTcpStream, SocketAddr),
    Unix(StdUnixStream),
}
