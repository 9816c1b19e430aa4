//! Passwords: hashed with Argon2id on threads of their own, a few at a time.
//!
//! A hash costs about 20 ms and 19 MiB by design. Unbounded, a login flood would starve everyone else.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{self, PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};

use crate::Error;
use crate::chance::random;
use crate::workers::Workers;

#[derive(Debug)]
pub(crate) struct Passwords {
    workers: Workers,
    /// The hash of a password nobody has, so that an unknown name takes as long as a known one.
    decoy: String,
}

impl Passwords {
    pub(crate) fn start(workers: Workers) -> Result<Self, Error> {
        let decoy = hash(&random::<32>()?, random()?).map_err(Error::internal)?;
        Ok(Self { workers, decoy })
    }

    pub(crate) async fn hash(&self, password: String) -> Result<String, Error> {
        let place = self.workers.enter()?;
        let salt = random()?;
        let (_, hashed) = self.workers.run(place, move || hash(password.as_bytes(), salt)).await?;
        hashed.map_err(Error::internal)
    }

    /// Whether `password` is the one behind `stored`; without a stored hash it works as hard and says no.
    pub(crate) async fn verify(&self, password: String, stored: Option<String>) -> Result<bool, Error> {
        let place = self.workers.enter()?;
        let known = stored.is_some();
        let stored = stored.unwrap_or_else(|| self.decoy.clone());
        let (_, matches) = self.workers.run(place, move || verify(password.as_bytes(), &stored)).await?;
        Ok(matches.map_err(Error::internal)? && known)
    }

    pub(crate) fn workers(&self) -> &Workers {
        &self.workers
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

fn verify(password: &[u8], stored: &str) -> Result<bool, password_hash::Error> {
    let stored = PasswordHash::new(stored).map_err(|_| password_hash::Error::EncodingInvalid)?;
    // Parameters come from the stored hash, so old hashes keep working when ours change.
    match Argon2::default().verify_password(password, &stored) {
        Ok(()) => Ok(true),
        Err(password_hash::Error::PasswordInvalid) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_as_the_rules_say_and_knows_its_own() {
        let stored = hash(b"correct horse", [3; 16]).unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(verify(b"correct horse", &stored).unwrap());
        assert!(!verify(b"battery staple", &stored).unwrap());
        assert_ne!(stored, hash(b"correct horse", [4; 16]).unwrap(), "the salt counts");
    }
}
