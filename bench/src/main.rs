//! How the service compares with others, measured: `cargo run --release -p bench -- pictures`.

mod engine;
mod error;
mod measure;
mod pages;
mod peers;
mod photos;
mod pictures;
mod report;
mod score;

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

    /// One thumbnail in a process of its own, as the command-line peers make one
    #[command(hide = true)]
    OneThumbnail { photo: PathBuf, out: PathBuf, side: u16 },

    /// Say how much memory one upload took at most; without a photo, how much a process takes anyway
    #[command(hide = true)]
    OneUpload { photo: Option<PathBuf> },
}

fn main() -> ExitCode {
    let done = match Cli::parse().job {
        Job::Pictures(options) => pictures::run(&options),
        Job::Pages => pages::run(),
        Job::OneThumbnail { photo, out, side } => pictures::thumbnail::one(&photo, &out, side),
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
