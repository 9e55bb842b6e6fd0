//! A connection, as its requests see it.

use crate::server::HttpServer;
use squall_front_end::{Peer, Place, Services};
use squall_session::api::{SocketUse, TlsUse};
use std::cell::Cell;
use std::fmt;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::time::{Duration, Instant, sleep_until};

/// Requests of one connection at once.
pub(crate) const STREAMS_MAX: u32 = 64;

/// What the requests of a connection share.
pub(crate) struct Caller {
    pub server: Arc<HttpServer>,
    pub peer: Peer,
    pub place: Arc<Place>,
    pub services: Arc<Services>,
    pub tls: Option<Arc<TlsUse>>,
    pub counted: Arc<SocketUse>,
    /// Requests whose statements run.
    running: Cell<usize>,
    /// When a request came or ended.
    used: Cell<Instant>,
    ended: Notify,
}

impl Caller {
    pub fn new(
        server: Arc<HttpServer>,
        (peer, place, services): (Peer, Arc<Place>, Arc<Services>),
        tls: Option<Arc<TlsUse>>,
        counted: Arc<SocketUse>,
    ) -> Caller {
        let (running, used) = (Cell::new(0), Cell::new(Instant::now()));
        Caller { server, peer, place, services, tls, counted, running, used, ended: Notify::new() }
    }

    /// Whether the way to the client is encrypted, or does not leave the machine.
    pub fn is_secure(&self) -> bool {
        self.tls.is_some() || self.peer.address.is_none()
    }

    /// The client's address as accounts have it.
    pub fn address(&self) -> Option<IpAddr> {
        self.peer.address.map(|address| address.ip().to_canonical())
    }

    /// Whether the client is on this machine.
    pub fn is_local(&self) -> bool {
        self.peer.address.is_none_or(|address| address.ip().to_canonical().is_loopback())
    }

    /// Notes that a request has come.
    pub fn touch(&self) {
        self.used.set(Instant::now());
    }

    /// Requests that run.
    pub fn running(&self) -> usize {
        self.running.get()
    }

    /// Notes that a request runs until the guard is dropped.
    pub fn begin(self: &Rc<Caller>) -> Running {
        self.running.set(self.running.get() + 1);
        Running(self.clone())
    }

    /// Waits until no request has run or come for this time.
    pub async fn wait_for_idle(&self, idle: Duration) {
        loop {
            self.wait_for_end().await;
            let until = self.used.get() + idle;
            if Instant::now() >= until {
                return;
            }
            sleep_until(until).await;
        }
    }

    /// Waits until no request runs any more.
    pub async fn wait_for_end(&self) {
        while self.running.get() > 0 {
            self.ended.notified().await;
        }
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("peer", &self.peer).field("running", &self.running).finish_non_exhaustive()
    }
}

/// A request that runs.
#[derive(Debug)]
pub(crate) struct Running(Rc<Caller>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.set(self.0.running.get() - 1);
        self.0.touch();
        self.0.ended.notify_one();
    }
}
