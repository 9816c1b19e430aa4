//! Tests of the public API: encoded files in, encoded files out, decoded with another decoder.

mod alpha;
mod avif;
mod bombs;
mod colour_profiles;
mod containers;
mod crop_and_resize;
mod damage;
mod derived_images;
mod forged_webp;
mod formats;
mod metadata;
mod orientation;
mod srgb;
mod test_images;
