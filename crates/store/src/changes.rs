//! What a commit publishes: the keys of what it has changed, and notices. On SQLite it is published before
//! any write of the commit is acknowledged; on PostgreSQL by the read barrier, with that of every node.

use std::net::{IpAddr, Ipv6Addr};

use model::PhotoId;

use crate::key::Key;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Any row may have changed.
    Everything,
    Key(Key),
    Notice(Notice),
}

impl From<Key> for Change {
    fn from(key: Key) -> Self {
        Self::Key(key)
    }
}

/// What the nodes tell each other besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The photo is not shown any more: its images leave the caches.
    PhotoGone(PhotoId),
    /// A login succeeded or failed.
    Login(LoginAttempt),
}

/// A login attempt, which all nodes count towards the rate limits that protect accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginAttempt {
    /// Of the node that has counted it already.
    pub node: u64,
    /// The SHA-256 of the username in lower case.
    pub name: [u8; 32],
    pub network: IpAddr,
    pub outcome: LoginOutcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginOutcome {
    Succeeded,
    Failed,
    /// From a network from which the user has logged in before.
    FailedFromKnownNetwork,
    /// A user who has a session did not know the password.
    FailedConfirmation,
}

/// The changes as they are stored in `changes`: a tag and the content of each. Earlier versions used the tags
/// from 1 to 9; they and this one read each other's rows as [`Change::Everything`].
pub(crate) fn encode(changes: &[Change]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(9 * changes.len());
    for change in changes {
        match change {
            Change::Everything => encoded.push(0),
            Change::Key(key) => put(&mut encoded, 11, &[&key.0.to_be_bytes()]),
            Change::Notice(Notice::PhotoGone(photo)) => put(&mut encoded, 12, &[photo.as_bytes()]),
            Change::Notice(Notice::Login(LoginAttempt { node, name, network, outcome })) => {
                let network = match network {
                    IpAddr::V4(v4) => v4.to_ipv6_mapped(),
                    IpAddr::V6(v6) => *v6,
                };
                put(&mut encoded, 13, &[&node.to_be_bytes(), name, &network.octets(), &[*outcome as u8]]);
            }
        }
    }
    encoded
}

fn put(encoded: &mut Vec<u8>, tag: u8, content: &[&[u8]]) {
    encoded.push(tag);
    for part in content {
        encoded.extend_from_slice(part);
    }
}

/// Appends the decoded changes. What this version does not know counts as [`Change::Everything`], so that
/// nodes of another version can run beside this one.
pub(crate) fn decode(mut encoded: &[u8], changes: &mut Vec<Change>) {
    while let Some(change) = take_change(&mut encoded) {
        changes.push(change);
    }
    if !encoded.is_empty() {
        changes.push(Change::Everything);
    }
}

/// `None` leaves the input as it is: it is empty, or not understood.
fn take_change(encoded: &mut &[u8]) -> Option<Change> {
    let (tag, mut rest) = encoded.split_first()?;
    let change = match tag {
        0 => Change::Everything,
        11 => Change::Key(Key(u64::from_be_bytes(take(&mut rest)?))),
        12 => Change::Notice(Notice::PhotoGone(PhotoId::from_bytes(take(&mut rest)?))),
        13 => Change::Notice(Notice::Login(LoginAttempt {
            node: u64::from_be_bytes(take(&mut rest)?),
            name: take(&mut rest)?,
            network: IpAddr::V6(Ipv6Addr::from(take::<16>(&mut rest)?)).to_canonical(),
            outcome: match take(&mut rest)? {
                [0] => LoginOutcome::Succeeded,
                [1] => LoginOutcome::Failed,
                [2] => LoginOutcome::FailedFromKnownNetwork,
                [3] => LoginOutcome::FailedConfirmation,
                _ => return None,
            },
        })),
        _ => return None,
    };
    *encoded = rest;
    Some(change)
}

fn take<const LENGTH: usize>(encoded: &mut &[u8]) -> Option<[u8; LENGTH]> {
    let (bytes, rest) = encoded.split_first_chunk()?;
    *encoded = rest;
    Some(*bytes)
}

#[cfg(test)]
mod tests {
    use model::PostId;

    use super::*;

    fn login(outcome: LoginOutcome, network: IpAddr) -> Change {
        Change::Notice(Notice::Login(LoginAttempt { node: u64::MAX, name: [3; 32], network, outcome }))
    }

    fn decoded(encoded: &[u8]) -> Vec<Change> {
        let mut changes = Vec::new();
        decode(encoded, &mut changes);
        changes
    }

    #[test]
    fn changes_survive_a_round_trip_and_unknown_ones_count_as_everything() {
        let changes = [
            Key::POSTS.into(),
            Key::post(PostId(i64::MAX)).into(),
            Change::Notice(Notice::PhotoGone(PhotoId::from_bytes([9; 16]))),
            login(LoginOutcome::Succeeded, [192, 0, 2, 1].into()),
            login(LoginOutcome::Failed, [0x2001, 0xdb8, 0, 0, 0, 0, 0, 0].into()),
            login(LoginOutcome::FailedFromKnownNetwork, [192, 0, 2, 1].into()),
            login(LoginOutcome::FailedConfirmation, [192, 0, 2, 1].into()),
            Change::Everything,
        ];
        let encoded = encode(&changes);
        assert_eq!(decoded(&encoded), changes);
        assert_eq!(decoded(&[]), []);
        let of_another_version = [&encoded[..], &[99, 1, 2]].concat();
        assert_eq!(decoded(&of_another_version), [&changes[..], &[Change::Everything]].concat());
        let truncated = encode(&[Key::POSTS.into(), Key::INSTANCE.into()]);
        assert_eq!(decoded(&truncated[..15]), [Key::POSTS.into(), Change::Everything]);
    }
}
