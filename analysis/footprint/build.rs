//! The version of the analysis: what it learns of a kernel may change with any line of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a footprint is made by.
const SOURCES: [&str; 4] = [
    "src",
    "../isa/src",
    "../code-object/src",
    "../../crates/extent/src",
];

fn main() -> io::Result<()> {
    let mut files = Vec::new();
    for folder in SOURCES {
        println!("cargo::rerun-if-changed={folder}");
        collect(Path::new(folder), &mut files)?;
    }
    files.sort();
    // FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        for byte in fs::read(file)? {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    println!("cargo::rustc-env=STROBE_ANALYSIS_VERSION={hash:016x}");
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => collect(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}
