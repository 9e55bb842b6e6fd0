//! Options of a server: addresses, limits, threads.

use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use squall_front_end::{PassedSocket, resolve, resolve_one};

/// Where to listen, and with how many threads.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Holds the certificate and the keys.
    pub data_directory: PathBuf,
    /// Names and addresses, separated by commas; `*` for all. Empty for no TCP at all.
    pub bind_address: String,
    /// TCP port; 0 for any that is free.
    pub port: u16,
    /// Name or address of the administrative interface; `None` for none.
    pub admin_address: Option<String>,
    /// TCP port of the administrative interface; 0 for any that is free.
    pub admin_port: u16,
    /// Path of the Unix socket.
    pub socket: Option<PathBuf>,
    /// How many event loops.
    pub event_loops: NonZeroUsize,
    /// How long running statements may take after [`Server::shut_down`](crate::Server::shut_down).
    pub drain_timeout: Duration,
}

/// Listening sockets that a service manager has opened.
#[derive(Debug, Clone, Default)]
pub struct PassedSockets {
    /// In place of `bind_address`, `port` and `socket`, if there are any.
    pub ordinary: Vec<PassedSocket>,
    /// In place of `admin_address` and `admin_port`, if there are any.
    pub administrative: Vec<PassedSocket>,
}

impl ServerOptions {
    /// Whether every address to listen on, those of the passed sockets included, is of this machine only.
    ///
    /// # Errors
    /// A name that is not known, or a socket whose address is not known.
    pub fn is_loopback_only(&self, passed: &PassedSockets) -> io::Result<bool> {
        let mut addresses = Vec::new();
        if passed.ordinary.is_empty() {
            addresses.extend(resolve(&self.bind_address, self.port)?);
        }
        if passed.administrative.is_empty()
            && let Some(name) = &self.admin_address
        {
            addresses.push(resolve_one("admin address", name, self.admin_port)?);
        }
        for socket in passed.ordinary.iter().chain(&passed.administrative) {
            if socket.is_of_network()? {
                return Ok(false);
            }
        }
        Ok(addresses.iter().all(|address| address.ip().is_loopback()))
    }
}
