//! What a person knows about what they wrote.

/// Written and acknowledged, or under way when the line went dead: then either is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact<T> {
    Sure(T),
    Either(T, T),
}

impl<T: Clone + PartialEq + std::fmt::Debug> Fact<T> {
    /// Noted before the request is sent: from now on the old and the new are both right.
    pub fn attempt(&mut self, new: T) {
        *self = Fact::Either(self.known().clone(), new);
    }

    /// The acknowledgement came.
    pub fn done(&mut self) {
        if let Fact::Either(_, new) = self {
            *self = Fact::Sure(new.clone());
        }
    }

    /// Looks at what came of it after the restart. A sure fact allows no surprise.
    #[track_caller]
    pub fn settle(&mut self, seen: T, what: &str) {
        let allowed = match self {
            Fact::Sure(known) => *known == seen,
            Fact::Either(old, new) => *old == seen || *new == seen,
        };
        assert!(allowed, "{what}: {seen:?} is there, {self:?} was written");
        *self = Fact::Sure(seen);
    }

    /// What is open is left alone: the write nobody answered may still arrive, and undo a later one.
    pub fn is_sure(&self) -> bool {
        matches!(self, Fact::Sure(_))
    }

    pub fn known(&self) -> &T {
        match self {
            Fact::Sure(known) => known,
            Fact::Either(..) => panic!("still open: {self:?}"),
        }
    }
}

/// A post of one's own.
#[derive(Debug)]
pub struct Entry {
    pub photo: String,
    /// What the photo shows, all over.
    pub colour: [u8; 3],
    pub message: Fact<Option<String>>,
    pub lives: Fact<bool>,
}

impl Entry {
    pub fn is_open_for_writes(&self) -> bool {
        self.lives == Fact::Sure(true) && self.message.is_sure()
    }
}
