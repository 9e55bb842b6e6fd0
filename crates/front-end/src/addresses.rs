//! The addresses that names mean.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};

/// The addresses that a list means: names and addresses, separated by commas, `*` for all; none for an empty list. Asks the system for
/// names, which may take seconds.
///
/// # Errors
/// A name that is not known.
pub fn resolve(names: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let mut addresses = Vec::new();
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
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

/// The address that a name means: one, and not all that there are. `what` names it in errors.
///
/// # Errors
/// A name that is not known, or stands for several.
pub fn resolve_one(what: &str, name: &str, port: u16) -> io::Result<SocketAddr> {
    let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{what} `{name}`: {why}"));
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
        let one = |name| resolve_one("admin address", name, 1);
        assert_eq!(one("::1").expect("an address"), "[::1]:1".parse().expect("an address"));
        for name in ["", "*", "0.0.0.0", "::", "127.0.0.1,::1"] {
            assert!(one(name).is_err(), "{name}");
        }
    }
}
