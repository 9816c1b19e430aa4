//! Image processing: probe, strip, decode, orient, crop, resize and encode. No I/O, no threads and no state
//! between calls.
//!
//! [`probe`] reads format, size and peak memory from the header, [`ingest`] turns an upload into a stripped
//! original and its masters, and [`render`] encodes a master at a requested size and format.

// What only HEVC needs of the HEIF reader is kept, so that one reader serves both.
#![cfg_attr(not(feature = "heic"), allow(dead_code))]

mod colour;
mod decoded_image;
mod edit;
mod encode;
mod error;
mod formats;
mod gamut;
mod icc;
mod ingest;
mod input_format;
mod isobmff;
mod limits;
mod metadata;
mod orient;
mod pixels;
mod planes;
mod probe;
mod rebuild;
mod region;
mod render;
mod resize;
mod tone_map;
mod upright_image;
mod ycbcr;

pub use edit::Edit;
pub use encode::OutputFormat;
pub use error::Error;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub use formats::check_isobmff;
pub use formats::{orientation_edits, sniff, strip};
pub use ingest::{FitMasters, Ingested, Master, Masters, Original, icon, ingest, thumbnail};
pub use input_format::InputFormat;
pub use limits::Limits;
pub use metadata::{Metadata, RemovedMetadata};
pub use probe::{Probe, probe};
pub use rebuild::{master_of_master, masters_of_original, render_original};
pub use render::{render, render_memory};

/// Part of every ETag. Increment it when the same master or original renders to different bytes.
pub const REVISION: u32 = 4;
