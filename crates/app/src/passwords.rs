//! Password hashing with Argon2id on a bounded thread pool: a hash takes about 20 ms and 19 MiB by design, so
//! without a limit a flood of logins would exhaust CPU and memory.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{self, PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};

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
        let dummy_hash = hash(&random::<32>()?, random()?).map_err(Error::internal)?;
        Ok(Self { pool, dummy_hash })
    }

    pub(crate) async fn hash(&self, client: Client, password: String) -> Result<String, Error> {
        let salt = random()?;
        let (_, hashed) = self.pool.run(client, 0, move || hash(password.as_bytes(), salt)).await?;
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
        let (_, matches) = self.pool.run(client, 0, move || verify(password.as_bytes(), &stored)).await?;
        Ok(matches.map_err(Error::internal)? && is_known)
    }

    pub(crate) fn pool(&self) -> &ThreadPool {
        &self.pool
    }
}

fn argon2id() -> Result<Argon2<'static>, argon2::Error> {
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(19 * 1024, 2, 1, None)?))
}

fn hash(password: &[u8], salt: [u8; 16]) -> Result<String, password_hash::Error> {
    let hasher = argon2id().map_err(|_| password_hash::Error::ParamsInvalid)?;
    let hash: PasswordHash = hasher.hash_password_with_salt(password, &salt)?;
    Ok(hash.to_string())
}

fn verify(password: &[u8], stored: &str) -> Result<bool, VerifyError> {
    let stored = stored_hash::parse(stored).map_err(VerifyError::Stored)?;
    match Argon2::default().verify_password(password, &stored) {
        Ok(()) => Ok(true),
        Err(password_hash::Error::PasswordInvalid) => Ok(false),
        Err(error) => Err(VerifyError::Argon2(error)),
    }
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
    use super::*;

    #[test]
    fn hashes_have_the_recommended_parameters_and_verify_only_their_password() {
        let stored = hash(b"correct horse", [3; 16]).unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(verify(b"correct horse", &stored).unwrap());
        assert!(!verify(b"battery staple", &stored).unwrap());
        assert_ne!(stored, hash(b"correct horse", [4; 16]).unwrap(), "another salt must give another hash");
    }

    /// The hash of a restored row once took gigabytes at every login.
    #[test]
    fn a_stored_hash_beyond_the_limits_is_refused_instead_of_computed() {
        let expensive =
            Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(64 * 1024 + 8, 1, 1, None).unwrap());
        let stored: PasswordHash = expensive.hash_password_with_salt(b"correct horse", &[3; 16]).unwrap();
        let refused = verify(b"correct horse", &stored.to_string()).unwrap_err();
        assert!(refused.to_string().contains("m=65544"), "{refused}");
    }
}
