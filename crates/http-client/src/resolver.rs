//! Resolves names to addresses.

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The addresses of a name, later.
pub type Addresses<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Finds the addresses of a name. It is asked once for a connection, which goes to one of them.
pub trait Resolve: Debug + Send + Sync {
    /// The addresses of a name, the best first.
    fn resolve<'a>(&'a self, host: &'a str) -> Addresses<'a>;
}

/// The resolver of the operating system, on threads of its own: it knows `/etc/hosts` and what else the machine is set up with.
#[derive(Debug)]
pub struct SystemResolver {
    permits: Arc<Semaphore>,
}

impl SystemResolver {
    /// Look-ups at once. The system's resolver cannot be told to stop: one whose request has been given up holds its thread until it
    /// ends by itself.
    pub const LOOKUPS_MAX: usize = 32;
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { permits: Arc::new(Semaphore::new(Self::LOOKUPS_MAX)) }
    }
}

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> Addresses<'a> {
        Box::pin(async move {
            let permit = self.permits.clone().acquire_owned().await.map_err(io::Error::other)?;
            let host = host.to_string();
            let lookup = move || {
                let _permit = permit;
                (host.as_str(), 0).to_socket_addrs().map(|found| found.map(|address| address.ip()).collect())
            };
            tokio::task::spawn_blocking(lookup).await.map_err(io::Error::other)?
        })
    }
}
