//! Counts likes, for the quota of likes a minute.

use std::collections::HashMap;

use model::{Timestamp, UserId};

pub(crate) const MINUTE_MICROS: i64 = 60_000_000;

/// The likes of each user in the current minute, on this node.
#[derive(Debug, Default)]
pub(crate) struct LikeCounts {
    minute: i64,
    counts: HashMap<UserId, u64>,
}

impl LikeCounts {
    /// Counts a like; false if the user has given `max` in this minute.
    pub(crate) fn count(&mut self, user: UserId, now: Timestamp, max: u64) -> bool {
        let minute = now.micros() / MINUTE_MICROS;
        if minute != self.minute {
            *self = Self { minute, counts: HashMap::new() };
        }
        let count = self.counts.entry(user).or_default();
        let is_allowed = *count < max;
        *count += u64::from(is_allowed);
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likes_are_counted_by_user_and_minute() {
        let mut counts = LikeCounts::default();
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        assert!(counts.count(UserId(1), at(60), 2) && counts.count(UserId(1), at(119), 2));
        assert!(!counts.count(UserId(1), at(119), 2) && counts.count(UserId(2), at(119), 2));
        assert!(counts.count(UserId(1), at(120), 2));
    }
}
