//! Books kept by those who write: what was acknowledged, what is open, and how the service is held against
//! both.

mod fact;
mod recovery;
mod worker;

pub use fact::{Entry, Fact};
pub use recovery::Recovery;
pub use worker::{Deed, Unanswered, Worker};
