//! Accepts sockets and hands them to the event loops in turn.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener as StdTcpListener};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener as StdUnixListener, UnixStream as StdUnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc as std_mpsc;
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::protocol::{AcceptedStream, Endpoint, Inbox, Message};
use crate::pulse::Pulse;
use crate::sockets::PassedSocket;

/// How long to wait when the process has no file descriptor left.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

/// A socket that is listened on.
#[derive(Debug)]
pub(crate) enum Bound {
    Tcp(StdTcpListener),
    Unix(StdUnixListener, SocketFile),
}

/// The file of a Unix socket, which is removed when its listener is closed; none if another process owns it.
#[derive(Debug)]
pub(crate) struct SocketFile(Option<PathBuf>);

impl SocketFile {
    fn remove(mut self) -> io::Result<()> {
        self.0.take().map_or(Ok(()), fs::remove_file)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if let Some(path) = self.0.take()
            && let Err(error) = fs::remove_file(&path)
        {
            tracing::warn!("cannot remove {}: {error}", path.display());
        }
    }
}

impl Bound {
    /// Listens on an address.
    pub(crate) fn tcp(address: SocketAddr) -> io::Result<Self> {
        let listener = StdTcpListener::bind(address)
            .map_err(|error| io::Error::new(error.kind(), format!("cannot listen on {address}: {error}")))?;
        listener.set_nonblocking(true)?;
        Ok(Self::Tcp(listener))
    }

    /// Listens on a path.
    pub(crate) fn unix(path: &Path) -> io::Result<Self> {
        let listener = bind_unix(path)
            .map_err(|error| io::Error::new(error.kind(), format!("cannot listen on {}: {error}", path.display())))?;
        let file = SocketFile(Some(path.to_owned()));
        listener.set_nonblocking(true)?;
        // Accounts decide which clients get in, not the file system.
        fs::set_permissions(path, fs::Permissions::from_mode(0o777))?;
        Ok(Self::Unix(listener, file))
    }

    /// Listens on a socket of another process.
    pub(crate) fn passed(socket: &PassedSocket) -> io::Result<Self> {
        let bound = match socket {
            PassedSocket::Tcp(listener) => Self::Tcp(listener.try_clone()?),
            PassedSocket::Unix(listener) => Self::Unix(listener.try_clone()?, SocketFile(None)),
        };
        match &bound {
            Self::Tcp(listener) => listener.set_nonblocking(true)?,
            Self::Unix(listener, _) => listener.set_nonblocking(true)?,
        }
        Ok(bound)
    }
}

/// What the acceptor is asked to do, and where it answers.
#[derive(Debug)]
pub(crate) enum Request {
    Open(Arc<Endpoint>, Vec<Bound>, Answer),
    Close(String, Answer),
}

/// Where a request is answered.
pub(crate) type Answer = std_mpsc::Sender<io::Result<()>>;

/// A listener that is open.
#[derive(Debug)]
struct Open {
    endpoint: Arc<Endpoint>,
    acceptors: JoinSet<()>,
    /// Files of its Unix sockets.
    files: Vec<SocketFile>,
}

impl Open {
    /// Begins to accept.
    fn new(endpoint: Arc<Endpoint>, sockets: Vec<Bound>, dispatch: &Dispatch) -> io::Result<Self> {
        let (mut acceptors, mut files) = (JoinSet::new(), Vec::new());
        for socket in sockets {
            let (endpoint, dispatch) = (Arc::clone(&endpoint), dispatch.clone());
            match socket {
                Bound::Tcp(listener) => {
                    acceptors.spawn(accept_tcp(TcpListener::from_std(listener)?, endpoint, dispatch));
                }
                Bound::Unix(listener, file) => {
                    files.push(file);
                    acceptors.spawn(accept_unix(UnixListener::from_std(listener)?, endpoint, dispatch));
                }
            }
        }
        Ok(Self { endpoint, acceptors, files })
    }

    /// Accepts no more, and gives addresses and paths back.
    async fn close(mut self) -> io::Result<()> {
        self.acceptors.shutdown().await;
        self.files.into_iter().try_for_each(SocketFile::remove)
    }
}

async fn accept_tcp(listener: TcpListener, endpoint: Arc<Endpoint>, dispatch: Dispatch) {
    loop {
        match listener.accept().await {
            Ok((stream, address)) => dispatch.try_hand_over(&endpoint, || {
                stream.set_nodelay(true)?;
                Ok(AcceptedStream::Tcp(stream.into_std()?, address))
            }),
            Err(error) => pause_after(&error).await,
        }
    }
}

async fn accept_unix(listener: UnixListener, endpoint: Arc<Endpoint>, dispatch: Dispatch) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => dispatch.try_hand_over(&endpoint, || Ok(AcceptedStream::Unix(stream.into_std()?))),
            Err(error) => pause_after(&error).await,
        }
    }
}

/// Accepts on all listeners, which come and go, until shutdown; then closes them.
pub(crate) async fn accept(
    dispatch: Dispatch,
    mut requests: mpsc::UnboundedReceiver<Request>,
    mut shutdown: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut open: HashMap<String, Open> = HashMap::new();
    loop {
        let request = tokio::select! {
            // An error means that the server is gone, which is also a reason to stop.
            _stopped = shutdown.wait_for(|down| *down) => break,
            // The front end itself keeps a sender.
            Some(request) = requests.recv() => request,
        };
        let (done, answer) = match request {
            Request::Open(endpoint, sockets, answer) => (begin(&mut open, endpoint, sockets, &dispatch), answer),
            Request::Close(name, answer) => (end(&mut open, &name, &dispatch).await, answer),
        };
        // Who has asked may have gone.
        let _ = answer.send(done);
    }
    let mut closed = Ok(());
    for (_, listener) in open {
        closed = closed.and(listener.close().await);
    }
    closed
}

fn begin(
    open: &mut HashMap<String, Open>,
    endpoint: Arc<Endpoint>,
    sockets: Vec<Bound>,
    dispatch: &Dispatch,
) -> io::Result<()> {
    let name = endpoint.name.clone();
    if open.contains_key(&name) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("the listener `{name}` is open already")));
    }
    open.insert(name, Open::new(endpoint, sockets, dispatch)?);
    Ok(())
}

/// Closes a listener; its connections are told to end.
async fn end(open: &mut HashMap<String, Open>, name: &str, dispatch: &Dispatch) -> io::Result<()> {
    let Some(listener) = open.remove(name) else {
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("no listener `{name}` is open")));
    };
    let endpoint = Arc::clone(&listener.endpoint);
    let closed = listener.close().await;
    endpoint.closed.set();
    dispatch.tell_all_of_closed();
    closed
}

/// Gives each socket to the next event loop.
#[derive(Debug, Clone)]
pub(crate) struct Dispatch {
    event_loops: Arc<[Inbox]>,
    turn: Arc<AtomicUsize>,
}

impl Dispatch {
    pub(crate) fn new(event_loops: Vec<Inbox>) -> Self {
        Self { event_loops: event_loops.into(), turn: Arc::default() }
    }

    pub(crate) fn hand_over(&self, endpoint: &Arc<Endpoint>, stream: AcceptedStream) {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let event_loop = &self.event_loops[turn % self.event_loops.len()];
        if event_loop.send(Message::Accepted { endpoint: Arc::clone(endpoint), stream }).is_err() {
            tracing::error!("an event loop has ended");
        }
    }

    fn try_hand_over(&self, endpoint: &Arc<Endpoint>, stream: impl FnOnce() -> io::Result<AcceptedStream>) {
        match stream() {
            Ok(stream) => self.hand_over(endpoint, stream),
            Err(error) => tracing::debug!("a client left at once: {error}"),
        }
    }

    /// What asks the event loops whether they run.
    pub(crate) fn pulse(&self) -> Pulse {
        Pulse::new(&self.event_loops)
    }

    fn tell_all_of_closed(&self) {
        for event_loop in self.event_loops.iter() {
            if event_loop.send(Message::Closed).is_err() {
                tracing::error!("an event loop has ended");
            }
        }
    }
}

async fn pause_after(error: &io::Error) {
    // A client that left again is no reason to wait; anything else is likely to come again at once.
    if error.kind() != io::ErrorKind::ConnectionAborted {
        tracing::warn!("cannot accept a connection: {error}");
        tokio::time::sleep(EXHAUSTED_PAUSE).await;
    }
}

/// Listens on a path, where a server that was killed may have left its socket.
fn bind_unix(path: &Path) -> io::Result<StdUnixListener> {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    if is_socket && StdUnixStream::connect(path).is_err() {
        fs::remove_file(path)?;
    }
    StdUnixListener::bind(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("sock");
        let live = bind_unix(&path).expect("a socket");
        assert!(bind_unix(&path).is_err());
        drop(live);
        bind_unix(&path).expect("a socket in place of the stale one");
    }
}
