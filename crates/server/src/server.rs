//! Starts and stops a server.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;

use squall_session::api::Backend;
use tokio::sync::watch;

use crate::acceptor::{Dispatch, Listeners};
use crate::authentication::PasswordCache;
use crate::certificates::tls_config;
use crate::conversation::Accepted;
use crate::event_loop;
use crate::options::ServerOptions;
use crate::password_checks::PasswordChecks;
use crate::rsa_key::LazyRsaKeyPair;
use crate::shared::Shared;
use crate::steering::Loops;
use crate::transport::acceptor;

/// Why a server did not start.
#[derive(Debug)]
pub enum StartError {
    /// The certificate or its key cannot be read or made.
    Certificate(io::Error),
    /// An address or the Unix socket cannot be listened on.
    Listen(io::Error),
    /// A thread or its runtime cannot be made.
    Thread(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(error) | Self::Listen(error) => error.fmt(f),
            Self::Thread(error) => write!(f, "cannot start a thread: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// A running server.
#[derive(Debug)]
pub struct Server {
    tcp_addresses: Vec<SocketAddr>,
    admin_address: Option<SocketAddr>,
    shutdown: watch::Sender<bool>,
    acceptor: JoinHandle<io::Result<()>>,
    event_loops: Vec<JoinHandle<()>>,
    dispatch: Dispatch,
}

impl Server {
    /// Listens, and serves clients from then on.
    pub fn start(options: &ServerOptions, backend: Arc<dyn Backend>) -> Result<Self, StartError> {
        let tls = acceptor(tls_config(&options.data_directory).map_err(StartError::Certificate)?);
        let listeners = Listeners::open(options).map_err(StartError::Listen)?;
        let tcp_addresses = listeners.tcp_addresses().map_err(StartError::Listen)?;
        let admin_address = listeners.admin_address().map_err(StartError::Listen)?;
        let shared = Arc::new(Shared {
            backend,
            tls,
            passwords: PasswordCache::default(),
            password_checks: PasswordChecks::default(),
            rsa_key: LazyRsaKeyPair::new(options.data_directory.clone()),
            drain_timeout: options.drain_timeout,
            connection_count: Arc::default(),
            loops: Loops::default(),
        });
        let (shutdown, stopped) = watch::channel(false);
        let (inboxes, event_loops): (Vec<_>, Vec<_>) = (0..options.event_loops.get())
            .map(|number| event_loop::start(number, Arc::clone(&shared), stopped.clone()))
            .collect::<io::Result<Vec<_>>>()
            .map_err(StartError::Thread)?
            .into_iter()
            .unzip();
        shared.loops.introduce(&inboxes);
        let dispatch = Dispatch::new(inboxes);
        let acceptor_dispatch = dispatch.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(StartError::Thread)?;
        let acceptor = std::thread::Builder::new()
            .name("squall-acceptor".to_owned())
            .spawn(move || runtime.block_on(listeners.accept(acceptor_dispatch, stopped)))
            .map_err(StartError::Thread)?;
        Ok(Self { tcp_addresses, admin_address, shutdown, acceptor, event_loops, dispatch })
    }

    /// The TCP addresses listened on, with their ports.
    pub fn tcp_addresses(&self) -> &[SocketAddr] {
        &self.tcp_addresses
    }

    /// The address of the administrative interface, with its port.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin_address
    }

    /// Serves a client at the other end of a socket pair, as if it had come by the Unix socket.
    pub fn attach(&self, socket: UnixStream) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        self.dispatch.hand_over(Accepted::Unix(socket));
        Ok(())
    }

    /// Accepts no more, tells idle clients goodbye, lets running statements end, and returns when all is quiet.
    pub fn shut_down(self) -> io::Result<()> {
        self.shutdown.send_replace(true);
        let accepted = join(self.acceptor);
        // The event loops end when no owner can hand them a socket.
        drop(self.dispatch);
        for event_loop in self.event_loops {
            join(event_loop)?;
        }
        accepted?
    }
}

fn join<T>(thread: JoinHandle<T>) -> io::Result<T> {
    thread.join().map_err(|_| io::Error::other("a server thread panicked"))
}
