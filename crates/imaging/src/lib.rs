//! Bytes in, pixels, bytes out.
//!
//! [`probe`] tells from the header what a file is and what reading it will cost, [`ingest`] turns an
//! upload into the squares that are kept, and [`render`] makes the picture somebody asked for out of
//! one of them. Nothing here waits, opens a file or keeps anything between calls.

mod colour;
mod encode;
mod error;
mod ingest;
mod isobmff;
mod orient;
mod pixels;
mod planes;
mod probe;
mod render;
mod source;
mod square;
mod strip;

pub use encode::Format;
pub use error::Error;
pub use ingest::{Ingested, Master, Original, ingest, thumbnail};
pub use probe::{Probe, probe};
pub use render::{render, render_memory};
pub use source::Source;
pub use strip::{Metadata, Removed, strip};

/// Belongs into every ETag. Raise it when the same master would render to other bytes.
pub const REVISION: u32 = 2;

/// What an upload may be at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Width times height, as the header claims them.
    pub max_pixels: u64,
}
