//! A change of a file that is made while the file is read.

use std::ops::Range;

/// Bytes that replace a range of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub range: Range<u64>,
    pub bytes: Vec<u8>,
}

impl Edit {
    pub(crate) fn insert(at: u64, bytes: Vec<u8>) -> Self {
        Self { range: at..at, bytes }
    }
}
