//! Tells which addresses are public.
//!
//! The lists are those of IANA's special-purpose registries for IPv4 and IPv6 (RFC 6890 and its updates), multicast, and the addresses
//! at which clouds serve metadata.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks of IPv4 that are no public destinations: address and length of the prefix.
const PRIVATE_V4: &[([u8; 4], u32)] = &[
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    // Azure's metadata and name server, which lies among public addresses.
    ([168, 63, 129, 16], 32),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// The same within 2000::/3, outside of which nothing is public.
const PRIVATE_V6: &[([u16; 2], u32)] = &[
    // Protocol assignments, Teredo among them.
    ([0x2001, 0], 23),
    ([0x2001, 0xdb8], 32),
    ([0x3fff, 0], 20),
];

/// The IPv4 address that an IPv6 address leads to, or the address itself: mapped, compatible and translated forms (RFC 4291, 2765), NAT64's
/// well-known prefix (RFC 6052), 6to4 (RFC 3056) and ISATAP (RFC 5214).
pub fn unwrapped(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let parts = v6.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => address,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..]
        | [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => embedded(high, low),
        _ => address,
    }
}

/// Whether an address is of the public internet: not loopback, link-local, private, shared, reserved, multicast, or a cloud's metadata.
pub fn is_public(address: IpAddr) -> bool {
    match unwrapped(address) {
        IpAddr::V4(v4) => !PRIVATE_V4.iter().any(|(network, length)| {
            let mask = u32::MAX << (32 - length);
            u32::from(v4) & mask == u32::from(Ipv4Addr::from(*network))
        }),
        IpAddr::V6(v6) => {
            let is_global = v6.segments()[0] & 0xe000 == 0x2000;
            let high = (u32::from(v6.segments()[0]) << 16) | u32::from(v6.segments()[1]);
            is_global
                && !PRIVATE_V6.iter().any(|([first, second], length)| {
                    let mask = u32::MAX << (32 - length);
                    high & mask == (u32::from(*first) << 16) | u32::from(*second)
                })
        }
    }
}

/// A network: an address and how many of its bits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    length: u8,
}

impl Network {
    /// Reads `10.0.0.0/8`, `::1`, `2001:db8::/32`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Network> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address.parse::<IpAddr>().ok()?, Some(length.parse::<u8>().ok()?)),
            None => (text.parse::<IpAddr>().ok()?, None),
        };
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let length = length.unwrap_or(bits);
        (length <= bits).then_some(Network { address, length })
    }

    /// Whether an address is in it, in whichever form that was given.
    pub fn contains(&self, address: IpAddr) -> bool {
        [address, unwrapped(address)].into_iter().any(|address| match (self.address, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.length)).unwrap_or(0);
                u32::from(network) & mask == u32::from(address) & mask
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.length)).unwrap_or(0);
                bits(network) & mask == bits(address) & mask
            }
            _ => false,
        })
    }
}

fn bits(address: Ipv6Addr) -> u128 {
    u128::from_be_bytes(address.octets())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(text: &str) -> bool {
        is_public(text.parse().unwrap())
    }

    #[test]
    fn private_addresses_in_all_their_forms() {
        let private = [
            "0.0.0.0",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.168.1.1",
            "198.19.255.255",
            "224.0.0.1",
            "239.255.255.255",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2001:0:1:2::3",
            "2001:db8::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "2400:cb00::5efe:7f00:1",
            "2400:cb00::200:5efe:a00:1",
        ];
        for address in private {
            assert!(!public(address), "{address}");
        }
    }

    #[test]
    fn public_addresses_in_all_their_forms() {
        let all = [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
            "2606:4700:4700::1111",
            "2a00:1450::1",
        ];
        for address in all {
            assert!(public(address), "{address}");
        }
    }

    #[test]
    fn networks_hold_addresses() {
        let holds = |network: &str, address: &str| Network::parse(network).unwrap().contains(address.parse().unwrap());
        assert!(holds("10.0.0.0/8", "10.1.2.3") && !holds("10.0.0.0/8", "11.0.0.0"));
        assert!(holds("10.0.0.0/8", "::ffff:10.1.2.3") && holds("10.0.0.0/8", "64:ff9b::a01:203"));
        assert!(holds("::ffff:0:0/96", "::ffff:10.1.2.3") && holds("0.0.0.0/0", "1.2.3.4"));
        assert!(holds("::/0", "2001::1") && !holds("::/0", "1.2.3.4") && holds("fd00::/8", "fdff::1"));
        assert!(Network::parse("10.0.0.0/33").is_none() && Network::parse("10.0.0/8").is_none());
        assert!(Network::parse("example.com").is_none() && Network::parse("").is_none());
    }
}
