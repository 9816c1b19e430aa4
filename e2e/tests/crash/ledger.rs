//! What a person knows about what they wrote.

/// Written and acknowledged, or under way when the line went dead: then either is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fact<T> {
    Sure(T),
    Either(T, T),
}

impl<T: Clone + PartialEq + std::fmt::Debug> Fact<T> {
    /// Noted before the request is sent: from now on the old and the new are both right.
    pub(crate) fn attempt(&mut self, new: T) {
        *self = Fact::Either(self.known().clone(), new);
    }

    /// The acknowledgement came.
    pub(crate) fn done(&mut self) {
        if let Fact::Either(_, new) = self {
            *self = Fact::Sure(new.clone());
        }
    }

    /// Looks at what came of it after the restart. A sure fact allows no surprise.
    #[track_caller]
    pub(crate) fn settle(&mut self, seen: T, what: &str) {
        let allowed = match self {
            Fact::Sure(known) => *known == seen,
            Fact::Either(old, new) => *old == seen || *new == seen,
        };
        assert!(allowed, "{what}: {seen:?} is there, {self:?} was written");
        *self = Fact::Sure(seen);
    }

    pub(crate) fn known(&self) -> &T {
        match self {
            Fact::Sure(known) => known,
            Fact::Either(..) => panic!("still open: {self:?}"),
        }
    }
}

/// A post of one's own.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) photo: String,
    pub(crate) message: Fact<Option<String>>,
    pub(crate) lives: Fact<bool>,
}

impl Entry {
    pub(crate) fn is_open_for_writes(&self) -> bool {
        self.lives == Fact::Sure(true)
    }
}
