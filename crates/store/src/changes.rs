//! The changes of a commit, for cache invalidation, and what nodes tell each other besides. On SQLite the
//! listener is called before any write of the commit is acknowledged; on PostgreSQL by the read barrier, with
//! the changes of every node.

use std::net::{IpAddr, Ipv6Addr};

use model::{PhotoId, PostId, TokenHash, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Any row may have changed.
    Everything,
    /// The session was ended, or its `last_used_at` changed.
    Session(TokenHash),
    /// The user's profile or its photo was edited.
    User(UserId),
    /// The post was created, edited, recounted or deleted.
    Post(PostId),
    /// The user liked or unliked the post.
    Like(UserId, PostId),
    /// The photo was deleted.
    Photo(PhotoId),
    /// A login succeeded or failed. No row has changed.
    Login(LoginAttempt),
    /// The status of the user has changed: their profile and posts may be hidden or shown.
    Visibility(UserId),
    /// The user has blocked or unblocked another one, or was; or has hidden a post from their lists.
    Relations(UserId),
    /// The settings of the instance were changed.
    Instance,
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

/// Called on the writer's thread or a task, which waits for it: it must not block.
pub type ChangeListener = Box<dyn Fn(&[Change]) + Send + Sync>;

/// The changes as they are stored in `changes`: a tag and the id of each.
pub(crate) fn encode(changes: &[Change]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(17 * changes.len());
    for change in changes {
        match change {
            Change::Everything => encoded.push(0),
            Change::Session(token) => put(&mut encoded, 1, &[&token.0]),
            Change::User(user) => put(&mut encoded, 2, &[&user.0.to_be_bytes()]),
            Change::Post(post) => put(&mut encoded, 3, &[&post.0.to_be_bytes()]),
            Change::Like(user, post) => {
                put(&mut encoded, 4, &[&user.0.to_be_bytes(), &post.0.to_be_bytes()]);
            }
            Change::Photo(photo) => put(&mut encoded, 5, &[photo.as_bytes()]),
            Change::Login(LoginAttempt { node, name, network, outcome }) => {
                let network = match network {
                    IpAddr::V4(v4) => v4.to_ipv6_mapped(),
                    IpAddr::V6(v6) => *v6,
                };
                put(&mut encoded, 6, &[&node.to_be_bytes(), name, &network.octets(), &[*outcome as u8]]);
            }
            Change::Visibility(user) => put(&mut encoded, 7, &[&user.0.to_be_bytes()]),
            Change::Relations(user) => put(&mut encoded, 8, &[&user.0.to_be_bytes()]),
            Change::Instance => encoded.push(9),
        }
    }
    encoded
}

fn put(encoded: &mut Vec<u8>, tag: u8, ids: &[&[u8]]) {
    encoded.push(tag);
    for id in ids {
        encoded.extend_from_slice(id);
    }
}

/// Appends the decoded changes. A kind that this version does not know counts as [`Change::Everything`], so
/// that nodes of a newer version can run beside this one.
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
        1 => Change::Session(TokenHash(take(&mut rest)?)),
        2 => Change::User(UserId(i64::from_be_bytes(take(&mut rest)?))),
        3 => Change::Post(PostId(i64::from_be_bytes(take(&mut rest)?))),
        4 => {
            let user = UserId(i64::from_be_bytes(take(&mut rest)?));
            Change::Like(user, PostId(i64::from_be_bytes(take(&mut rest)?)))
        }
        5 => Change::Photo(PhotoId::from_bytes(take(&mut rest)?)),
        6 => Change::Login(LoginAttempt {
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
        }),
        7 => Change::Visibility(UserId(i64::from_be_bytes(take(&mut rest)?))),
        8 => Change::Relations(UserId(i64::from_be_bytes(take(&mut rest)?))),
        9 => Change::Instance,
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
    use super::*;

    fn login(outcome: LoginOutcome, network: IpAddr) -> Change {
        Change::Login(LoginAttempt { node: u64::MAX, name: [3; 32], network, outcome })
    }

    fn decoded(encoded: &[u8]) -> Vec<Change> {
        let mut changes = Vec::new();
        decode(encoded, &mut changes);
        changes
    }

    #[test]
    fn changes_survive_a_round_trip_and_unknown_ones_count_as_everything() {
        let changes = [
            Change::Session(TokenHash([7; 32])),
            Change::User(UserId(-1)),
            Change::Post(PostId(i64::MAX)),
            Change::Like(UserId(3), PostId(4)),
            Change::Photo(PhotoId::from_bytes([9; 16])),
            login(LoginOutcome::Succeeded, [192, 0, 2, 1].into()),
            login(LoginOutcome::Failed, [0x2001, 0xdb8, 0, 0, 0, 0, 0, 0].into()),
            login(LoginOutcome::FailedFromKnownNetwork, [192, 0, 2, 1].into()),
            login(LoginOutcome::FailedConfirmation, [192, 0, 2, 1].into()),
            Change::Visibility(UserId(5)),
            Change::Relations(UserId(6)),
            Change::Instance,
            Change::Everything,
        ];
        let encoded = encode(&changes);
        assert_eq!(decoded(&encoded), changes);
        assert_eq!(decoded(&[]), []);
        let of_a_newer_version = [&encoded[..], &[99, 1, 2]].concat();
        assert_eq!(decoded(&of_a_newer_version), [&changes[..], &[Change::Everything]].concat());
        let truncated = encode(&[Change::User(UserId(1)), Change::Post(PostId(2))]);
        assert_eq!(decoded(&truncated[..15]), [Change::User(UserId(1)), Change::Everything]);
    }
}
