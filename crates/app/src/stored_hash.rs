//! Stored password hashes, and the bound on the cost of verifying one.
//!
//! The parameters come from the stored hash, so old hashes stay valid when those of new ones change. A row of
//! a foreign backup can demand gigabytes, so they are checked before any memory is taken.

use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Params};

/// The second recommendation of RFC 9106: more than three times what new hashes take, and every hash thread
/// can afford it.
const MAX_MEMORY_KIB: u32 = 64 * 1024;
const MAX_PASSES: u32 = 10;
const MAX_PARALLELISM: u32 = 4;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPasswordHash {
    #[error("it is not an Argon2id hash in the PHC string format")]
    Malformed,
    #[error(
        "verifying it takes m={memory},t={passes},p={parallelism}; \
         the limit is m={MAX_MEMORY_KIB},t={MAX_PASSES},p={MAX_PARALLELISM}"
    )]
    TooExpensive { memory: u32, passes: u32, parallelism: u32 },
}

/// Whether a hash of a foreign row can be verified here.
pub fn check_password_hash(stored: &str) -> Result<(), InvalidPasswordHash> {
    parse(stored).map(drop)
}

pub(crate) fn parse(stored: &str) -> Result<PasswordHash, InvalidPasswordHash> {
    let hash = PasswordHash::new(stored).map_err(|_| InvalidPasswordHash::Malformed)?;
    let params = Params::try_from(&hash).map_err(|_| InvalidPasswordHash::Malformed)?;
    let is_complete = hash.salt.is_some() && hash.hash.is_some();
    if !is_complete || hash.algorithm.as_str() != Algorithm::Argon2id.as_str() {
        return Err(InvalidPasswordHash::Malformed);
    }
    let (memory, passes, parallelism) = (params.m_cost(), params.t_cost(), params.p_cost());
    if memory > MAX_MEMORY_KIB || passes > MAX_PASSES || parallelism > MAX_PARALLELISM {
        return Err(InvalidPasswordHash::TooExpensive { memory, passes, parallelism });
    }
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_beyond_the_limits_and_other_algorithms_are_invalid() {
        const TAIL: &str = "AwMDAwMDAwMDAwMDAwMDAw$1RpFwQ8K1mUz0kqD3kV0Q0d4yq6iX8nT2l9n4Q5eJ1M";
        let check = |head: &str| check_password_hash(&format!("{head}${TAIL}"));
        for head in ["$argon2id$v=19$m=19456,t=2,p=1", "$argon2id$v=19$m=65536,t=10,p=4"] {
            assert_eq!(check(head), Ok(()), "{head}");
        }
        let too_expensive = |outcome| matches!(outcome, Err(InvalidPasswordHash::TooExpensive { .. }));
        for parameters in ["m=65537,t=2,p=1", "m=19456,t=11,p=1", "m=19456,t=2,p=5"] {
            assert!(too_expensive(check(&format!("$argon2id$v=19${parameters}"))), "{parameters}");
        }
        for head in ["$argon2i$v=19$m=19456,t=2,p=1", "$argon2id$v=19$m=x,t=2,p=1", "$pbkdf2$i=1"] {
            assert_eq!(check(head), Err(InvalidPasswordHash::Malformed), "{head}");
        }
        for stored in ["", "hash", "$argon2id$v=19$m=19456,t=2,p=1"] {
            assert_eq!(check_password_hash(stored), Err(InvalidPasswordHash::Malformed), "{stored:?}");
        }
    }
}
