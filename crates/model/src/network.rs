//! The network of an address: enough to recognise a place, not a device.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::ValidationError;

/// An IPv4 /24 or an IPv6 /48, as it is stored: those of IPv4 by their 24 bits, then those of IPv6 by their
/// 48, so that the networks of a shorter prefix are neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network(i64);

const IPV4_END: i64 = 1 << 24;
const IPV6_START: i64 = 1 << 48;
const IPV6_END: i64 = 1 << 49;

impl Network {
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => Self((v4.to_bits() >> 8).into()),
            IpAddr::V6(v6) => Self(IPV6_START | (v6.to_bits() >> 80) as i64),
        }
    }

    pub fn from_stored(stored: i64) -> Option<Self> {
        let is_network = (0..IPV4_END).contains(&stored) || (IPV6_START..IPV6_END).contains(&stored);
        is_network.then_some(Self(stored))
    }

    pub fn to_stored(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < IPV4_END {
            write!(f, "{}/24", Ipv4Addr::from_bits((self.0 as u32) << 8))
        } else {
            write!(f, "{}/48", Ipv6Addr::from_bits(((self.0 - IPV6_START) as u128) << 80))
        }
    }
}

/// The networks that an address or a prefix names. One that is longer than a network is stored stands for
/// the network around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkRange {
    pub first: Network,
    pub last: Network,
}

impl FromStr for NetworkRange {
    type Err = ValidationError;

    fn from_str(raw: &str) -> Result<Self, ValidationError> {
        let parsed = || {
            let (address, length) = match raw.split_once('/') {
                Some((address, length)) => (address, Some(length.parse::<u32>().ok()?)),
                None => (raw, None),
            };
            let (first, last): (IpAddr, IpAddr) = match address.parse().ok()? {
                IpAddr::V4(v4) => {
                    let host = 32_u32.checked_sub(length.unwrap_or(32))?;
                    let hosts = u32::MAX.checked_shr(32 - host).unwrap_or(0);
                    let bits = v4.to_bits();
                    (Ipv4Addr::from_bits(bits & !hosts).into(), Ipv4Addr::from_bits(bits | hosts).into())
                }
                IpAddr::V6(v6) => {
                    let host = 128_u32.checked_sub(length.unwrap_or(128))?;
                    let hosts = u128::MAX.checked_shr(128 - host).unwrap_or(0);
                    let bits = v6.to_bits();
                    (Ipv6Addr::from_bits(bits & !hosts).into(), Ipv6Addr::from_bits(bits | hosts).into())
                }
            };
            Some(Self { first: Network::of(first), last: Network::of(last) })
        };
        parsed().ok_or_else(|| {
            ValidationError::new(
                "a network is an address, or a prefix such as 203.0.113.0/24 or 2001:db8::/32",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(address: &str) -> Network {
        Network::of(address.parse().unwrap())
    }

    #[test]
    fn networks_do_not_identify_a_device() {
        for (address, expected) in [
            ("203.0.113.77", "203.0.113.0/24"),
            ("::ffff:203.0.113.77", "203.0.113.0/24"),
            ("255.255.255.255", "255.255.255.0/24"),
            ("2001:db8:7:8:9::1", "2001:db8:7::/48"),
            ("::1", "::/48"),
        ] {
            let network = network(address);
            assert_eq!(network.to_string(), expected);
            assert_eq!(Network::from_stored(network.to_stored()), Some(network), "{address}");
        }
        for stored in [-1, IPV4_END, IPV6_START - 1, IPV6_END] {
            assert_eq!(Network::from_stored(stored), None, "{stored}");
        }
    }

    #[test]
    fn a_prefix_names_the_networks_in_it_or_the_one_around_it() {
        let contains = |range: &str, address: &str| {
            let range: NetworkRange = range.parse().unwrap();
            (range.first..=range.last).contains(&network(address))
        };
        for (range, inside, outside) in [
            ("203.0.113.7", "203.0.113.200", "203.0.112.7"),
            ("203.0.113.0/24", "203.0.113.1", "203.0.114.1"),
            ("203.0.113.128/25", "203.0.113.1", "203.0.114.1"),
            ("203.0.99.99/16", "203.0.255.1", "203.1.0.1"),
            ("0.0.0.0/0", "255.255.255.255", "2001:db8::1"),
            ("::ffff:203.0.113.7", "203.0.113.200", "203.0.112.7"),
            ("2001:db8:7::/48", "2001:db8:7:8::1", "2001:db8:8::1"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::1"),
        ] {
            assert!(contains(range, inside), "{inside} is in {range}");
            assert!(!contains(range, outside), "{outside} is not in {range}");
        }
        for raw in ["", "/24", "203.0.113", "203.0.113.0/33", "203.0.113.0/", "2001:db8::/129", "home"] {
            assert!(raw.parse::<NetworkRange>().is_err(), "{raw:?}");
        }
    }
}
