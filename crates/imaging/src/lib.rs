//! Bytes in, pixels, bytes out.
//!
//! [`probe`] tells from the header what a file is and what reading it will cost, [`ingest`] turns an
//! upload into the squares that are kept, and [`render`] makes the picture somebody asked for out of
//! one of them. Nothing here waits, opens a file or keeps anything between calls.

mod colour;
mod encode;
mod error;
mod formats;
mod ingest;
mod input_format;
mod isobmff;
mod limits;
mod metadata;
mod orient;
mod picture;
mod pixels;
mod planes;
mod probe;
mod render;
mod resize;
mod square;
mod ycbcr;

pub use encode::OutputFormat;
pub use error::Error;
pub use formats::strip;
pub use ingest::{Ingested, Master, Original, ingest, thumbnail};
pub use input_format::InputFormat;
pub use limits::Limits;
pub use metadata::{Metadata, Removed};
pub use probe::{Probe, probe};
pub use render::{render, render_memory};

/// Belongs into every ETag. Raise it when the same master would render to other bytes.
pub const REVISION: u32 = 3;
