//! The `pinhole` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    server::run(std::env::args_os())
}
