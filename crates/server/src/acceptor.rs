//! Accepts sockets and hands them to the event loops in turn.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener as StdTcpListener};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener as StdUnixListener, UnixStream as StdUnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::conversation::{Accepted, Inbox};
use crate::options::{ServerOptions, resolve, resolve_administrative};

/// How long to wait when the process has no file descriptor left.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

/// Opened listeners.
#[derive(Debug)]
pub(crate) struct Listeners {
    tcp: Vec<StdTcpListener>,
    /// The administrative interface.
    administrative: Option<StdTcpListener>,
    unix: Option<(StdUnixListener, PathBuf)>,
}

impl Listeners {
    /// Listens on every address that `bind_address` (a comma-separated list of names and addresses, `*` for all) means,
    /// on the administrative interface's address, and on a Unix socket.
    pub(crate) fn open(options: &ServerOptions) -> io::Result<Self> {
        let mut tcp = Vec::new();
        for address in resolve(&options.bind_address, options.port)? {
            tcp.push(bind_tcp(address)?);
        }
        let administrative = match &options.admin_address {
            Some(name) => Some(bind_tcp(resolve_administrative(name, options.admin_port)?)?),
            None => None,
        };
        let unix = match &options.socket {
            Some(path) => {
                let listener = bind_unix(path).map_err(|error| {
                    io::Error::new(error.kind(), format!("cannot listen on {}: {error}", path.display()))
                })?;
                listener.set_nonblocking(true)?;
                // Accounts decide which clients get in, not the file system.
                fs::set_permissions(path, fs::Permissions::from_mode(0o777))?;
                Some((listener, path.clone()))
            }
            None => None,
        };
        Ok(Self { tcp, administrative, unix })
    }

    /// The addresses listened on.
    pub(crate) fn tcp_addresses(&self) -> io::Result<Vec<SocketAddr>> {
        self.tcp.iter().map(StdTcpListener::local_addr).collect()
    }

    /// The address of the administrative interface.
    pub(crate) fn admin_address(&self) -> io::Result<Option<SocketAddr>> {
        self.administrative.as_ref().map(StdTcpListener::local_addr).transpose()
    }

    /// Accepts until shutdown, then removes the socket file.
    pub(crate) async fn accept(self, dispatch: Dispatch, mut shutdown: watch::Receiver<bool>) -> io::Result<()> {
        let mut acceptors = JoinSet::new();
        let ordinary = self.tcp.into_iter().map(|listener| (listener, false));
        for (listener, administrative) in ordinary.chain(self.administrative.map(|listener| (listener, true))) {
            let listener = TcpListener::from_std(listener)?;
            let dispatch = dispatch.clone();
            acceptors.spawn(async move {
                loop {
                    match listener.accept().await {
                        Ok((stream, address)) => dispatch.try_hand_over(|| {
                            stream.set_nodelay(true)?;
                            Ok(Accepted::Tcp { stream: stream.into_std()?, address, administrative })
                        }),
                        Err(error) => pause_after(&error).await,
                    }
                }
            });
        }
        let mut socket_path = None;
        if let Some((listener, path)) = self.unix {
            let listener = UnixListener::from_std(listener)?;
            acceptors.spawn(async move {
                loop {
                    match listener.accept().await {
                        Ok((stream, _)) => dispatch.try_hand_over(|| Ok(Accepted::Unix(stream.into_std()?))),
                        Err(error) => pause_after(&error).await,
                    }
                }
            });
            socket_path = Some(path);
        }
        // An error means that the server is gone, which is also a reason to stop.
        let _stopped = shutdown.wait_for(|down| *down).await;
        acceptors.shutdown().await;
        if let Some(path) = socket_path {
            fs::remove_file(path)?;
        }
        Ok(())
    }
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

    pub(crate) fn hand_over(&self, accepted: Accepted) {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let event_loop = &self.event_loops[turn % self.event_loops.len()];
        if event_loop.send(accepted).is_err() {
            tracing::error!("an event loop has ended");
        }
    }

    fn try_hand_over(&self, accepted: impl FnOnce() -> io::Result<Accepted>) {
        match accepted() {
            Ok(accepted) => self.hand_over(accepted),
            Err(error) => tracing::debug!("a client left at once: {error}"),
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

fn bind_tcp(address: SocketAddr) -> io::Result<StdTcpListener> {
    let listener = StdTcpListener::bind(address)
        .map_err(|error| io::Error::new(error.kind(), format!("cannot listen on {address}: {error}")))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
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
