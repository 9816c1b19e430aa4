//! Counting who is inside, so that nobody can take all the room.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

/// Room for so many in all, and for so many of each kind.
#[derive(Debug)]
pub struct Crowd<K> {
    max: usize,
    max_each: usize,
    inside: Mutex<Count<K>>,
}

#[derive(Debug)]
struct Count<K> {
    all: usize,
    each: HashMap<K, usize>,
}

/// One who is inside, until dropped.
#[derive(Debug)]
pub struct Inside<K: Hash + Eq> {
    crowd: Arc<Crowd<K>>,
    key: K,
}

impl<K: Hash + Eq + Clone> Crowd<K> {
    pub fn new(max: usize, max_each: usize) -> Arc<Self> {
        let inside = Mutex::new(Count { all: 0, each: HashMap::new() });
        Arc::new(Self { max, max_each, inside })
    }

    /// Lets one more in, if there is room.
    pub fn enter(self: &Arc<Self>, key: K) -> Option<Inside<K>> {
        self.enter_up_to(key, self.max_each)
    }

    /// Lets one more in of a kind that may fill the house.
    pub fn enter_freely(self: &Arc<Self>, key: K) -> Option<Inside<K>> {
        self.enter_up_to(key, usize::MAX)
    }

    fn enter_up_to(self: &Arc<Self>, key: K, max_each: usize) -> Option<Inside<K>> {
        let mut inside = self.count();
        let of_this_kind = inside.each.get(&key).copied().unwrap_or(0);
        if inside.all >= self.max || of_this_kind >= max_each {
            return None;
        }
        inside.all += 1;
        inside.each.insert(key.clone(), of_this_kind + 1);
        drop(inside);
        Some(Inside { crowd: self.clone(), key })
    }
}

impl<K> Crowd<K> {
    fn count(&self) -> MutexGuard<'_, Count<K>> {
        self.inside.lock()
    }
}

impl<K: Hash + Eq> Drop for Inside<K> {
    fn drop(&mut self) {
        let mut inside = self.crowd.count();
        inside.all -= 1;
        if let Some(of_this_kind) = inside.each.get_mut(&self.key) {
            *of_this_kind -= 1;
            if *of_this_kind == 0 {
                inside.each.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_room_for_others() {
        let crowd = Crowd::new(4, 2);
        let first = [crowd.enter("a").unwrap(), crowd.enter("a").unwrap()];
        assert!(crowd.enter("a").is_none(), "two of a kind");
        let others = [crowd.enter("b").unwrap(), crowd.enter_freely("b").unwrap()];
        assert!(crowd.enter("c").is_none(), "four in all");
        drop(first);
        assert!(crowd.enter_freely("b").is_some());
        drop(others);
        assert!(crowd.count().each.is_empty());
        assert_eq!(crowd.count().all, 0);
    }
}
