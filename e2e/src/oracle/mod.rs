//! The oracle of the crash and cluster tests: workers record what they wrote, and a verifier compares the
//! service with their records after the fault.

mod expected;
mod verifier;
mod worker;

pub use expected::{Expected, PostState};
pub use verifier::Verifier;
pub use worker::{UnknownOutcome, Worker, WriteKind, WriteResult};
