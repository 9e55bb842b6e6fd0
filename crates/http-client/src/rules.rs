//! The rules for allowed destinations.

use crate::address::{Network, is_public};
use crate::error::HttpError;
use std::net::IpAddr;
use url::Host;

/// The names of the rules' variables.
const ALLOW: &str = "http_client_allow";
const DENY: &str = "http_client_deny";
const ALLOW_PRIVATE: &str = "http_client_allow_private";

/// What one entry of a list is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// Any destination.
    Any,
    /// A host, in the form that URLs are brought into.
    Host(String),
    /// Those below a domain, which is held with its leading dot.
    Below(String),
    /// Addresses.
    Network(Network),
}

/// One entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    place: Place,
    /// The only port that it is about.
    port: Option<u16>,
}

impl Entry {
    fn parse(text: &str) -> Option<Entry> {
        if let Some(network) = Network::parse(text) {
            return Some(Entry { place: Place::Network(network), port: None });
        }
        let (place, port) = match text.rsplit_once(':') {
            Some((place, port)) => (place, Some(port.parse().ok().filter(|port| *port != 0)?)),
            None => (text, None),
        };
        let address = place.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(place);
        if let Some(network) = Network::parse(address) {
            return Some(Entry { place: Place::Network(network), port });
        }
        let domain = |text: &str| match Host::parse(text.trim_end_matches('.')) {
            Ok(Host::Domain(domain)) if !domain.contains(['*', '/']) => Some(domain),
            _ => None,
        };
        let place = match place.strip_prefix("*.") {
            _ if place == "*" => Place::Any,
            Some(parent) => Place::Below(format!(".{}", domain(parent)?)),
            None => Place::Host(domain(place)?),
        };
        Some(Entry { place, port })
    }

    /// Whether it is about a destination by its name, whatever its addresses are.
    fn is_about_name(&self, host: &str, port: u16) -> bool {
        self.is_about_port(port)
            && match &self.place {
                Place::Any => true,
                Place::Host(name) => name == host,
                Place::Below(parent) => host.ends_with(parent.as_str()),
                Place::Network(_) => false,
            }
    }

    fn is_about_address(&self, address: IpAddr, port: u16) -> bool {
        self.is_about_port(port) && matches!(&self.place, Place::Network(network) if network.contains(address))
    }

    fn is_about_port(&self, port: u16) -> bool {
        self.port.is_none_or(|own| own == port)
    }
}

/// What may be reached. With rules that cannot be read, nothing may.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    allow: Vec<Entry>,
    deny: Vec<Entry>,
    allow_private: bool,
    /// The list that has an entry that means nothing.
    broken: Option<&'static str>,
}

impl Rules {
    /// Reads lists of host patterns (`api.example.com`, `*.example.com:443`) and networks (`10.0.0.0/8`), separated by commas. Where `allow`
    /// holds something nothing else may be reached; `deny` goes before it. Unless `allow_private`, only public addresses may be reached.
    pub fn new(allow: &str, deny: &str, allow_private: bool) -> Rules {
        let mut broken = None;
        let mut read = |list: &str, name: &'static str| {
            let entries = list.split(',').map(str::trim).filter(|entry| !entry.is_empty());
            let read: Option<Vec<Entry>> = entries.map(Entry::parse).collect();
            read.unwrap_or_else(|| {
                broken = Some(name);
                Vec::new()
            })
        };
        let (allow, deny) = (read(allow, ALLOW), read(deny, DENY));
        Rules { allow, deny, allow_private, broken }
    }

    /// The name of the list that cannot be read, if there is one.
    pub fn broken(&self) -> Option<&'static str> {
        self.broken
    }

    /// Whether a destination may be looked up at all: a name may be refused before anybody is asked for its addresses.
    ///
    /// # Errors
    /// [`HttpError::Blocked`].
    pub fn check_name(&self, host: &str, port: u16) -> Result<(), HttpError> {
        if let Some(list) = self.broken {
            return Err(HttpError::Blocked(format!("{list} cannot be read")));
        }
        if self.deny.iter().any(|entry| entry.is_about_name(host, port)) {
            return Err(refused_by(DENY));
        }
        let has_networks = self.allow.iter().any(|entry| matches!(entry.place, Place::Network(_)));
        if !has_networks && !self.allow.is_empty() && !self.is_allowed_name(host, port) {
            return Err(refused_by(ALLOW));
        }
        Ok(())
    }

    /// Whether a destination may be reached at each of its addresses. One refused address refuses all of them, because mixed
    /// addresses of a name are a sign of an attack.
    ///
    /// # Errors
    /// [`HttpError::Blocked`].
    pub fn check_addresses(&self, host: &str, port: u16, addresses: &[IpAddr]) -> Result<(), HttpError> {
        self.check_name(host, port)?;
        for address in addresses {
            if self.deny.iter().any(|entry| entry.is_about_address(*address, port)) {
                return Err(refused_by(DENY));
            }
            let is_allowed = self.allow.is_empty()
                || self.is_allowed_name(host, port)
                || self.allow.iter().any(|entry| entry.is_about_address(*address, port));
            if !is_allowed {
                return Err(refused_by(ALLOW));
            }
            if !self.allow_private && !is_public(*address) {
                return Err(refused_by(ALLOW_PRIVATE));
            }
        }
        Ok(())
    }

    fn is_allowed_name(&self, host: &str, port: u16) -> bool {
        self.allow.iter().any(|entry| entry.is_about_name(host, port))
    }
}

fn refused_by(rule: &str) -> HttpError {
    HttpError::Blocked(format!("the destination is refused by {rule}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rules: &Rules, host: &str, port: u16, address: &str) -> Result<(), String> {
        let checked = rules.check_addresses(host, port, &[address.parse().unwrap()]);
        checked.map_err(|error| error.to_string().rsplit_once(' ').unwrap().1.to_string())
    }

    const PUBLIC: &str = "8.8.8.8";

    #[test]
    fn lists_are_of_hosts_and_networks() {
        let rules = Rules::new("api.example.com, *.example.org:443, 8.8.0.0/16", "", false);
        assert_eq!(check(&rules, "api.example.com", 80, PUBLIC), Ok(()));
        assert_eq!(check(&rules, "a.b.example.org", 443, "1.1.1.1"), Ok(()));
        assert_eq!(check(&rules, "other.com", 80, PUBLIC), Ok(()));
        let refused = Err(ALLOW.to_string());
        assert_eq!(check(&rules, "a.example.org", 80, "1.1.1.1"), refused);
        assert_eq!(check(&rules, "example.org", 443, "1.1.1.1"), refused);
        assert_eq!(check(&rules, "evilexample.org", 443, "1.1.1.1"), refused);
        assert_eq!(check(&rules, "xapi.example.com", 443, "1.1.1.1"), refused);
    }

    #[test]
    fn deny_goes_before_allow_and_private_before_none() {
        let rules = Rules::new("*", "bad.com,10.0.0.0/8,*:25", true);
        assert_eq!(check(&rules, "good.com", 80, "127.0.0.1"), Ok(()));
        assert_eq!(check(&rules, "bad.com", 80, PUBLIC), Err(DENY.to_string()));
        assert_eq!(check(&rules, "good.com", 25, PUBLIC), Err(DENY.to_string()));
        assert_eq!(check(&rules, "good.com", 80, "10.9.8.7"), Err(DENY.to_string()));
        assert_eq!(check(&rules, "good.com", 80, "::ffff:10.9.8.7"), Err(DENY.to_string()));
        let rules = Rules::new("good.com,127.0.0.0/8", "", false);
        assert_eq!(check(&rules, "good.com", 80, "127.0.0.1"), Err(ALLOW_PRIVATE.to_string()));
        assert_eq!(check(&Rules::default(), "good.com", 80, PUBLIC), Ok(()));
    }

    #[test]
    fn one_bad_address_refuses_all() {
        let addresses = ["8.8.8.8".parse().unwrap(), "10.0.0.1".parse().unwrap()];
        assert!(Rules::default().check_addresses("a.com", 80, &addresses).is_err());
    }

    #[test]
    fn names_are_compared_in_one_form() {
        let rules = Rules::new("BÜCHER.example,[::1]:80", "", true);
        assert_eq!(check(&rules, "xn--bcher-kva.example", 80, PUBLIC), Ok(()));
        assert_eq!(check(&rules, "::1", 80, "::1"), Ok(()));
        assert!(check(&rules, "::1", 81, "::1").is_err());
    }

    #[test]
    fn what_cannot_be_read_lets_nothing_through() {
        for list in ["a b", "http://x", "x:y", "x:0", "10.0.0.0/99", "*.*.com", "a.com/path"] {
            assert_eq!(Rules::new(list, "", false).broken(), Some(ALLOW), "{list}");
            assert_eq!(Rules::new("", list, false).broken(), Some(DENY), "{list}");
        }
        assert!(check(&Rules::new("a.com", "a b", true), "a.com", 80, PUBLIC).is_err());
    }
}
