//! How much of a bounded resource each network holds, and each user of it.

use std::collections::HashMap;
use std::net::IpAddr;

use model::UserId;

use crate::Client;

/// The share of a network or of a user.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// Jobs that wait or run, or permits.
    pub(crate) held: usize,
    pub(crate) running: usize,
    /// The memory of the running jobs, in bytes.
    pub(crate) memory: u64,
    /// The number of the last grant, so that equal shares take turns.
    pub(crate) last_grant: u64,
}

#[derive(Debug, Default)]
struct NetworkShare {
    total: Share,
    users: HashMap<Option<UserId>, Share>,
}

/// Entries exist only while something is held, so their number is bounded by what is shared.
#[derive(Debug, Default)]
pub(crate) struct Shares(HashMap<IpAddr, NetworkShare>);

impl Shares {
    pub(crate) fn network(&self, client: Client) -> Share {
        self.0.get(&client.network).map_or(Share::default(), |network| network.total)
    }

    pub(crate) fn user(&self, client: Client) -> Share {
        let network = self.0.get(&client.network);
        network.and_then(|network| network.users.get(&client.user)).copied().unwrap_or_default()
    }

    /// Changes the share of the client's network and that of its user alike.
    pub(crate) fn update(&mut self, client: Client, change: impl Fn(&mut Share)) {
        let network = self.0.entry(client.network).or_default();
        let user = network.users.entry(client.user).or_default();
        change(&mut network.total);
        change(user);
        if user.held == 0 {
            network.users.remove(&client.user);
        }
        if network.total.held == 0 {
            self.0.remove(&client.network);
        }
    }

    /// The user with the largest share of the network with the largest share. Equal shares are decided in
    /// favour of `newcomer`, which is returned only if no other client has more.
    pub(crate) fn largest_holder(&self, newcomer: Client) -> Client {
        let has_more = |share: &Share, other: Share| share.held > other.held;
        let mut largest = (newcomer.network, self.network(newcomer));
        for (network, share) in &self.0 {
            if has_more(&share.total, largest.1) {
                largest = (*network, share.total);
            }
        }
        let network = largest.0;
        let start = if network == newcomer.network { newcomer.user } else { None };
        let mut client = Client { network, user: start };
        let users = self.0.get(&network).map(|network| &network.users);
        for (user, share) in users.into_iter().flatten() {
            if has_more(share, self.user(client)) {
                client.user = *user;
            }
        }
        client
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn client(host: u8, user: i64) -> Client {
        Client::anonymous(IpAddr::from([10, 0, 0, host])).with_user(UserId(user))
    }

    fn shares(holders: &[(u8, i64)]) -> Shares {
        let mut shares = Shares::default();
        for (host, user) in holders {
            shares.update(client(*host, *user), |share| share.held += 1);
        }
        shares
    }

    #[test]
    fn the_largest_holder_is_the_largest_user_of_the_largest_network() {
        let shares = shares(&[(1, 1), (1, 2), (1, 2), (1, 3), (2, 4), (2, 4), (2, 4)]);
        assert_eq!(shares.largest_holder(client(3, 9)), client(1, 2), "network 1 holds four");
        assert_eq!(shares.largest_holder(client(1, 2)), client(1, 2));
        assert_eq!(shares.largest_holder(client(1, 3)), client(1, 2), "another user of its own network");
    }

    #[test]
    fn a_newcomer_with_an_equal_share_is_the_largest_holder_itself() {
        let shares = shares(&[(1, 1), (2, 2)]);
        assert_eq!(shares.largest_holder(client(2, 2)), client(2, 2));
        assert_eq!(shares.largest_holder(client(1, 1)), client(1, 1));
    }

    #[test]
    fn an_empty_share_takes_no_memory() {
        let mut shares = shares(&[(1, 1), (1, 2)]);
        shares.update(client(1, 1), |share| share.held -= 1);
        assert_eq!((shares.network(client(1, 1)).held, shares.user(client(1, 1)).held), (1, 0));
        shares.update(client(1, 2), |share| share.held -= 1);
        assert!(shares.0.is_empty());
    }
}
