//! The crate through its public face: real files in, real files out, read back by another decoder.

mod bombs;
mod colours;
mod containers;
mod damage;
mod forge;
mod formats;
mod metadata;
mod orientation;
mod pictures;
mod squares;
mod transparency;
