//! The service on many machines, all of them real and all on this one: what holds between nodes, and what is
//! left when one of the parts fails under load. Each fault tells its write gap, the longest time without an
//! acknowledged write.

#![allow(clippy::unwrap_used, reason = "a broken expectation must stop the story where it stands")]

mod databases;
mod encryption;
mod load;
mod many;
mod networks;
mod nodes;
mod stage;
mod stores;
