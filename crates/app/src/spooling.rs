//! What arrives of uploads before it is stored. It counts towards the quota of bytes as well: of a user whose
//! quota is nearly used up, as much as the largest photo may be on the way, since photos may be stored
//! smaller.

use std::collections::HashMap;
use std::sync::Arc;

use model::UserId;
use parking_lot::Mutex;

use crate::Error;

/// The bytes that have arrived of each user's uploads.
#[derive(Debug, Default)]
pub(crate) struct Spooling(Arc<Mutex<HashMap<UserId, u64>>>);

/// What has arrived of one upload; dropped when the upload ends.
pub struct SpoolShare {
    all: Arc<Mutex<HashMap<UserId, u64>>>,
    user: UserId,
    bytes: u64,
    /// What may be on the way of all uploads of the user, and the error of more.
    limit: Option<(u64, Error)>,
}

impl Spooling {
    /// The share of an upload that is about to arrive.
    pub(crate) fn share(&self, user: UserId, limit: Option<(u64, Error)>) -> SpoolShare {
        SpoolShare { all: self.0.clone(), user, bytes: 0, limit }
    }
}

impl SpoolShare {
    /// Counts what is about to be written. Fails if it is more than the quota of the user allows; then the
    /// upload has ended, and leaves the room to the user's others.
    pub fn add(&mut self, bytes: usize) -> Result<(), Error> {
        let Some((limit, over)) = &self.limit else { return Ok(()) };
        let mut all = self.all.lock();
        let total = all.entry(self.user).or_default();
        if *total + bytes as u64 > *limit {
            *total -= std::mem::take(&mut self.bytes);
            return Err(over.clone());
        }
        *total += bytes as u64;
        self.bytes += bytes as u64;
        Ok(())
    }
}

impl Drop for SpoolShare {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        if let Some(total) = all.get_mut(&self.user) {
            *total -= self.bytes;
            if *total == 0 {
                all.remove(&self.user);
            }
        }
    }
}
