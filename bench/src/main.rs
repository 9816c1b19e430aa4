//! Measures the service beside its peers and the physical limits.
//!
//! `cargo run --profile dist -p bench -- service`, or `-- pictures`.

mod engine;
mod error;
mod measure;
mod pages;
mod peers;
mod photos;
mod pictures;
mod report;
mod score;
mod service;
mod table;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "How the service compares with others, measured")]
struct Cli {
    #[command(subcommand)]
    job: Job,
}

#[derive(Subcommand)]
enum Job {
    /// Compare the picture engine with libvips, ImageMagick, Pillow and sharp
    Pictures(pictures::Options),

    /// Let Lighthouse say how fast the pages are for a phone
    Pages,

    /// Compare the service with bare axum, nginx, SQLite, PostgreSQL, PocketBase, ipx, thumbor and pict-rs
    Service(service::Options),

    /// One thumbnail in a process of its own, as the command-line peers make one
    #[command(hide = true)]
    OneThumbnail { photo: PathBuf, out: PathBuf, side: u16 },

    /// Say how much memory one upload took at most; without a photo, how much a process takes anyway
    #[command(hide = true)]
    OneUpload { photo: Option<PathBuf> },

    /// axum with nothing behind it
    #[command(hide = true)]
    Bare { address: SocketAddr, lengths: Vec<usize> },

    /// Likes with nothing around them
    #[command(hide = true)]
    Likes { address: SocketAddr, database: PathBuf, commit: service::writer::Commit },
}

fn main() -> ExitCode {
    let done = match Cli::parse().job {
        Job::Pictures(options) => pictures::run(&options),
        Job::Pages => pages::run(),
        Job::OneThumbnail { photo, out, side } => pictures::thumbnail::one(&photo, &out, side),
        Job::Service(options) => service::run(&options),
        Job::Bare { address, lengths } => service::bare::serve(address, &lengths),
        Job::Likes { address, database, commit } => service::writer::serve(address, &database, commit),
        Job::OneUpload { photo } => pictures::memory::one(photo.as_deref()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}
