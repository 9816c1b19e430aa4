//! Lists the migration files of each backend in the order of their numbers, so that adding a file adds a
//! migration.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> Result<(), Box<dyn Error>> {
    let (root, out) = (env::var("CARGO_MANIFEST_DIR")?, env::var("OUT_DIR")?);
    for backend in ["sqlite", "postgres"] {
        let folder = Path::new(&root).join("migrations").join(backend);
        println!("cargo::rerun-if-changed={}", folder.display());
        let files = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path()));
        let mut files = files.collect::<io::Result<Vec<PathBuf>>>()?;
        files.sort();
        let mut list = String::new();
        for (file, version) in files.iter().zip(1..) {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if !name.starts_with(&format!("{version:04}_")) {
                return Err(format!("expected {} to be number {version:04}", file.display()).into());
            }
            list += &format!("include_str!({:?}),\n", file.display().to_string());
        }
        fs::write(Path::new(&out).join(format!("{backend}_migrations.rs")), format!("&[{list}]"))?;
    }
    Ok(())
}
