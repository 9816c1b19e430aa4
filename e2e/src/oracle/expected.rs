//! The values that a reader may see after a sequence of acknowledged and unacknowledged writes.

/// One value as its writer knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected<T> {
    /// The last write was acknowledged.
    Known(T),
    /// The outcome of the last write is unknown: the old and the new value are both correct.
    Indeterminate(T, T),
}

impl<T: Clone + PartialEq + std::fmt::Debug> Expected<T> {
    /// Called before the request is sent: from now on the old and the new value are both correct.
    pub fn begin_write(&mut self, new: T) {
        *self = Expected::Indeterminate(self.value().clone(), new);
    }

    /// Called when the write is acknowledged.
    pub fn acknowledge(&mut self) {
        if let Expected::Indeterminate(_, new) = self {
            *self = Expected::Known(new.clone());
        }
    }

    /// Called when the service has rejected the write and says that nothing was changed.
    pub fn reject(&mut self) {
        if let Expected::Indeterminate(old, _) = self {
            *self = Expected::Known(old.clone());
        }
    }

    /// Asserts that the value read after the fault is a correct one, and records it as known.
    #[track_caller]
    pub fn resolve(&mut self, read: T, what: &str) {
        let allowed = match self {
            Expected::Known(value) => *value == read,
            Expected::Indeterminate(old, new) => *old == read || *new == read,
        };
        assert!(allowed, "{what}: read {read:?}, expected {self:?}");
        *self = Expected::Known(read);
    }

    /// Workers do not write an indeterminate value again: the unacknowledged write may still arrive and
    /// overwrite the later one.
    pub fn is_known(&self) -> bool {
        matches!(self, Expected::Known(_))
    }

    pub fn value(&self) -> &T {
        match self {
            Expected::Known(value) => value,
            Expected::Indeterminate(..) => panic!("the outcome of the last write is unknown: {self:?}"),
        }
    }
}

/// What a worker knows of a post that it created.
#[derive(Debug)]
pub struct PostState {
    pub photo: String,
    /// The photo has this colour in every pixel.
    pub colour: [u8; 3],
    pub message: Expected<Option<String>>,
    pub exists: Expected<bool>,
}

impl PostState {
    pub fn is_writable(&self) -> bool {
        self.exists == Expected::Known(true) && self.message.is_known()
    }
}
