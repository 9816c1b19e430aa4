//! Password hashing with Argon2id on a bounded thread pool: a hash takes about 20 ms and 19 MiB by design, so
//! without a limit a flood of logins would exhaust CPU and memory.

use std::cell::RefCell;

use argon2::password_hash::{self, phc};
use argon2::{ARGON2ID_IDENT, Algorithm, Argon2, Block, Params, Version};

use crate::rng::random;
use crate::stored_hash::{self, InvalidPasswordHash};
use crate::thread_pool::ThreadPool;
use crate::{Client, Error};

#[derive(Debug)]
pub(crate) struct Passwords {
    pool: ThreadPool,
    /// The hash of a random password, verified for unknown usernames: timing must not reveal which names
    /// exist.
    dummy_hash: String,
}

impl Passwords {
    pub(crate) fn new(pool: ThreadPool) -> Result<Self, Error> {
        let dummy_hash = hash(&random::<32>()?, random()?, &mut Vec::new()).map_err(Error::internal)?;
        Ok(Self { pool, dummy_hash })
    }

    pub(crate) async fn hash(&self, client: Client, password: String) -> Result<String, Error> {
        let salt = random()?;
        let hash = move || MEMORY.with_borrow_mut(|memory| hash(password.as_bytes(), salt, memory));
        let (_, hashed) = self.pool.run(client, 0, hash).await?;
        hashed.map_err(Error::internal)
    }

    /// Whether `password` matches the hash `stored`. Without one it takes as long and returns false.
    pub(crate) async fn verify(
        &self,
        client: Client,
        password: String,
        stored: Option<String>,
    ) -> Result<bool, Error> {
        let is_known = stored.is_some();
        let stored = stored.unwrap_or_else(|| self.dummy_hash.clone());
        let verify = move || MEMORY.with_borrow_mut(|memory| verify(password.as_bytes(), &stored, memory));
        let (_, matches) = self.pool.run(client, 0, verify).await?;
        Ok(matches.map_err(Error::internal)? && is_known)
    }

    pub(crate) fn pool(&self) -> &ThreadPool {
        &self.pool
    }
}

thread_local! {
    /// The memory of the hashes of this thread. Allocated for each hash, it fragments the heap of glibc,
    /// which then grows to a dozen times of it.
    static MEMORY: RefCell<Vec<Block>> = const { RefCell::new(Vec::new()) };
}

/// The parameters of new hashes.
fn params() -> Result<Params, argon2::Error> {
    Params::new(19 * 1024, 2, 1, None)
}

fn hash(password: &[u8], salt: [u8; 16], memory: &mut Vec<Block>) -> Result<String, password_hash::Error> {
    let (params, salt) = (params()?, phc::Salt::new(&salt)?);
    let output = output(password, &salt, &params, Version::V0x13, memory)?;
    let hash = phc::PasswordHash {
        algorithm: ARGON2ID_IDENT,
        version: Some(Version::V0x13.into()),
        params: (&params).try_into()?,
        salt: Some(salt),
        hash: Some(output),
    };
    Ok(hash.to_string())
}

fn verify(password: &[u8], stored: &str, memory: &mut Vec<Block>) -> Result<bool, VerifyError> {
    let stored = stored_hash::parse(stored).map_err(VerifyError::Stored)?;
    let mut output = || {
        let version = stored.version.map_or(Ok(Version::default()), Version::try_from)?;
        let salt = stored.salt.as_ref().ok_or(password_hash::Error::SaltInvalid)?;
        output(password, salt, &Params::try_from(&stored)?, version, memory)
    };
    // The comparison takes constant time.
    Ok(stored.hash == Some(output().map_err(VerifyError::Argon2)?))
}

fn output(
    password: &[u8],
    salt: &[u8],
    params: &Params,
    version: Version,
    memory: &mut Vec<Block>,
) -> Result<phc::Output, password_hash::Error> {
    let mut output = vec![0; params.output_len().unwrap_or(Params::DEFAULT_OUTPUT_LEN)];
    let blocks = params.block_count();
    memory.resize(blocks.max(memory.len()), Block::default());
    let argon2 = Argon2::new(Algorithm::Argon2id, version, params.clone());
    let hashed = argon2.hash_password_into_with_memory(password, salt, &mut output, &mut memory[..]);
    if blocks > self::params()?.block_count() {
        // A hash of a foreign backup may take more, which the thread does not keep.
        *memory = Vec::new();
    }
    hashed?;
    Ok(phc::Output::new(&output)?)
}

/// Not a wrong password: the user cannot log in, and only the operator can change that.
#[derive(Debug, thiserror::Error)]
enum VerifyError {
    #[error("the stored password hash cannot be used: {0}; replace it with the one of a good backup")]
    Stored(InvalidPasswordHash),
    #[error("the stored password hash cannot be verified: {0}")]
    Argon2(password_hash::Error),
}

#[cfg(test)]
mod tests {
    use argon2::password_hash::PasswordHasher;
    use argon2::password_hash::phc::PasswordHash;

    use super::*;

    #[test]
    fn hashes_have_the_recommended_parameters_and_verify_only_their_password() {
        let memory = &mut Vec::new();
        let stored = hash(b"correct horse", [3; 16], memory).unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(verify(b"correct horse", &stored, memory).unwrap());
        assert!(!verify(b"battery staple", &stored, memory).unwrap());
        assert_ne!(
            stored,
            hash(b"correct horse", [4; 16], memory).unwrap(),
            "another salt must give another hash"
        );
    }

    #[test]
    fn memory_is_reused_up_to_that_of_new_hashes() {
        let memory = &mut vec![Block::default(); 3];
        let of_crate = |memory_kib, version| {
            let params = Params::new(memory_kib, 1, 2, Some(20)).unwrap();
            let hash: PasswordHash = Argon2::new(Algorithm::Argon2id, version, params)
                .hash_password_with_salt(b"correct horse", &[3; 16])
                .unwrap();
            hash.to_string()
        };
        let stored = of_crate(1024, Version::V0x10);
        for (password, matches) in [(&b"correct horse"[..], true), (b"battery staple", false)] {
            assert_eq!(verify(password, &stored, memory).unwrap(), matches);
            assert_eq!(memory.len(), 1024);
        }
        assert!(verify(b"correct horse", &of_crate(32 * 1024, Version::V0x13), memory).unwrap());
        assert_eq!(memory.capacity(), 0);
    }

    /// The hash of a restored row once took gigabytes at every login.
    #[test]
    fn a_stored_hash_beyond_the_limits_is_refused_instead_of_computed() {
        let expensive =
            Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(64 * 1024 + 8, 1, 1, None).unwrap());
        let stored: PasswordHash = expensive.hash_password_with_salt(b"correct horse", &[3; 16]).unwrap();
        let refused = verify(b"correct horse", &stored.to_string(), &mut Vec::new()).unwrap_err();
        assert!(refused.to_string().contains("m=65544"), "{refused}");
    }
}
