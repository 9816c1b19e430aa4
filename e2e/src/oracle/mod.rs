//! The oracle of the crash and cluster tests: workers record what they wrote, and `verify` compares the
//! service with their records after the fault.

mod expected;
mod verifier;
mod worker;

pub use expected::{Expected, PostState};
pub use verifier::verify;
pub use worker::{UnknownOutcome, Worker, WriteKind, WriteResult, send};
