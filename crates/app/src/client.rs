//! The client of a request, as the fair queues see it.

use std::net::{IpAddr, Ipv4Addr};

use model::UserId;

/// Queues are fair first between networks, then between the users of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Client {
    pub(crate) network: IpAddr,
    pub(crate) user: Option<UserId>,
}

impl Client {
    /// For work that no request asked for.
    pub const LOCAL: Self = Self { network: IpAddr::V4(Ipv4Addr::LOCALHOST), user: None };

    /// The client at this address, which has not logged in.
    pub fn anonymous(address: IpAddr) -> Self {
        Self { network: client_network(address), user: None }
    }

    pub fn with_user(self, user: UserId) -> Self {
        Self { user: Some(user), ..self }
    }
}

/// The network that limits count as one client: an IPv4 address, or an IPv6 /64, which one subscriber owns.
pub fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) >> 64 << 64).into()),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_ipv6_64_are_one_client() {
        let network = |address: &str| client_network(address.parse().unwrap());
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_eq!(network("::ffff:10.0.0.1"), network("10.0.0.1"));
    }
}
