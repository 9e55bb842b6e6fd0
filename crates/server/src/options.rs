//! Options of a server: addresses, limits, threads.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

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

impl ServerOptions {
    /// Whether every address to listen on is of this machine only.
    pub fn is_loopback_only(&self) -> io::Result<bool> {
        let mut addresses = resolve(&self.bind_address, self.port)?;
        if let Some(name) = &self.admin_address {
            addresses.push(resolve_administrative(name, self.admin_port)?);
        }
        Ok(addresses.iter().all(|address| address.ip().is_loopback()))
    }
}

/// The addresses that a `bind_address` means.
pub(crate) fn resolve(bind_address: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let mut addresses = Vec::new();
    for name in bind_address.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let name = if name == "*" { "0.0.0.0" } else { name };
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let found = (bare, port)
            .to_socket_addrs()
            .map_err(|error| io::Error::new(error.kind(), format!("bind address `{name}`: {error}")))?;
        for address in found {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
    }
    Ok(addresses)
}

/// The address that an `admin_address` means: one, and not all that there are.
pub(crate) fn resolve_administrative(name: &str, port: u16) -> io::Result<SocketAddr> {
    let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("admin address `{name}`: {why}"));
    if name.contains(',') || name.trim() == "*" {
        return Err(wrong("one address only"));
    }
    let address = resolve(name, port)?.first().copied().ok_or_else(|| wrong("no address"))?;
    if address.ip().is_unspecified() { Err(wrong("one address only")) } else { Ok(address) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bind_addresses_resolve() {
        assert_eq!(resolve("127.0.0.1", 1).expect("an address"), ["127.0.0.1:1".parse().expect("an address")]);
        assert_eq!(resolve("*", 1).expect("an address"), ["0.0.0.0:1".parse().expect("an address")]);
        assert_eq!(resolve("127.0.0.1, [::1]", 1).expect("addresses").len(), 2);
        assert!(resolve("no such host.", 1).is_err());
    }

    #[test]
    fn the_administrative_interface_has_one_address() {
        assert_eq!(resolve_administrative("::1", 1).expect("an address"), "[::1]:1".parse().expect("an address"));
        for name in ["", "*", "0.0.0.0", "::", "127.0.0.1,::1"] {
            assert!(resolve_administrative(name, 1).is_err(), "{name}");
        }
    }
}
