//! Starts and stops a front end.

use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use crate::acceptor::{Dispatch, accept};
use crate::certificates::tls_config;
use crate::connection_limit::ConnectionLimit;
use crate::context::FrontEndContext;
use crate::event_loop;
use crate::listeners::Listeners;
use crate::login::Login;
use crate::protocol::{AcceptedStream, Endpoint, Protocol, Services};
use crate::pulse::Pulse;
use crate::steering::Loops;

/// How large a front end is.
#[derive(Debug, Clone)]
pub struct FrontEndOptions {
    /// Holds the certificate and its keys.
    pub data_directory: PathBuf,
    /// How many event loops.
    pub event_loops: NonZeroUsize,
    /// How long running statements may take after [`FrontEnd::shut_down`].
    pub drain_timeout: Duration,
}

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

/// A running front end. It listens where [`FrontEnd::listeners`] are opened, nowhere at first.
#[derive(Debug)]
pub struct FrontEnd {
    shutdown: watch::Sender<bool>,
    acceptor: JoinHandle<io::Result<()>>,
    event_loops: Vec<JoinHandle<()>>,
    dispatch: Dispatch,
    listeners: Listeners,
}

impl FrontEnd {
    /// Starts the event loops.
    ///
    /// # Errors
    /// When the certificate cannot be read or made, or a thread cannot be started.
    pub fn start(options: &FrontEndOptions, context: Arc<dyn FrontEndContext>) -> Result<Self, StartError> {
        let tls = tls_config(&options.data_directory).map_err(StartError::Certificate)?;
        let services = Arc::new(Services {
            context,
            login: Login::default(),
            drain_timeout: options.drain_timeout,
            connection_count: Arc::default(),
            loops: Loops::default(),
        });
        let (shutdown, stopped) = watch::channel(false);
        let (inboxes, event_loops): (Vec<_>, Vec<_>) = (0..options.event_loops.get())
            .map(|number| event_loop::start(number, Arc::clone(&services), stopped.clone()))
            .collect::<io::Result<Vec<_>>>()
            .map_err(StartError::Thread)?
            .into_iter()
            .unzip();
        services.loops.introduce(&inboxes);
        let dispatch = Dispatch::new(inboxes);
        let acceptor_dispatch = dispatch.clone();
        let (requests, asked) = mpsc::unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(StartError::Thread)?;
        let acceptor = std::thread::Builder::new()
            .name("squall-acceptor".to_owned())
            .spawn(move || runtime.block_on(accept(acceptor_dispatch, asked, stopped)))
            .map_err(StartError::Thread)?;
        let listeners = Listeners::new(requests, tls);
        Ok(Self { shutdown, acceptor, event_loops, dispatch, listeners })
    }

    /// What listens where.
    pub fn listeners(&self) -> &Listeners {
        &self.listeners
    }

    /// What tells whether the event loops run.
    pub fn pulse(&self) -> Pulse {
        self.dispatch.pulse()
    }

    /// Serves a client at the other end of a socket pair, as if it had come by a Unix socket.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn attach(&self, protocol: Arc<dyn Protocol>, socket: UnixStream) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        let endpoint = Endpoint::new(String::new(), protocol, ConnectionLimit::Server, false, &self.listeners.tls);
        self.dispatch.hand_over(&endpoint, AcceptedStream::Unix(socket));
        Ok(())
    }

    /// Accepts no more, tells idle clients goodbye, lets running statements end, and returns when all is quiet.
    ///
    /// # Errors
    /// When a thread has panicked, or the file of a Unix socket cannot be removed.
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
