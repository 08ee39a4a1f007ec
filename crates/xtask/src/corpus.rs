//! Large GPU libraries of Debian: the decoder is tested on their code objects, and programs of the tests
//! call them. Only unpacked, never installed. What is evaluated besides ([`collect`]) is no part of the tests.

mod collect;
mod packages;
pub(crate) mod roots;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::shell;
use crate::workspace::Workspace;

pub(crate) use collect::{collect, default_folder};

/// Packages, and a file of each that shows that it is there.
const PACKAGES: [(&str, &str); 3] = [
    (
        "librocsparse0",
        "usr/lib/x86_64-linux-gnu/librocsparse.so.0",
    ),
    ("librocsparse-dev", "usr/include/rocsparse/rocsparse.h"),
    ("librocprim-dev", "usr/include/rocprim/rocprim.hpp"),
];

/// Where the unpacked packages are.
pub(crate) fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("corpus")
}

/// Gets the packages with apt, each once.
pub(crate) fn fetch(workspace: &Workspace) -> anyhow::Result<()> {
    let folder = folder(workspace);
    let missing = missing(&folder);
    if missing.is_empty() {
        return Ok(());
    }
    // What is there is linked, not copied; the folder is whole at any time.
    let part = workspace.target.join("corpus.part");
    let _ = fs::remove_dir_all(&part);
    if folder.exists() {
        shell::output(Command::new("cp").arg("-al").arg(&folder).arg(&part))?;
    } else {
        fs::create_dir_all(&part).with_context(|| format!("make {}", part.display()))?;
    }
    println!(
        "getting {} for the tests (94 MB in all, not installed)",
        missing.join(", ")
    );
    let download = || {
        let mut command = Command::new("apt-get");
        command.args(["-qq", "-o", "APT::Sandbox::User=root", "download"]);
        command.args(&missing).current_dir(&part);
        command
    };
    if shell::output(&mut download()).is_err() {
        // The lists of a fresh machine are empty.
        shell::output(Command::new("apt-get").args(["-qq", "update"]))?;
        shell::output(&mut download())?;
    }
    for entry in fs::read_dir(&part)? {
        let file = entry?.path();
        if file.extension().is_some_and(|extension| extension == "deb") {
            shell::output(Command::new("dpkg-deb").arg("-x").arg(&file).arg(&part))?;
            fs::remove_file(file)?;
        }
    }
    if let [package, ..] = self::missing(&part)[..] {
        bail!("{package} does not hold what it should");
    }
    let _ = fs::remove_dir_all(&folder);
    fs::rename(&part, &folder)?;
    Ok(())
}

/// The packages that are not in `folder`.
fn missing(folder: &Path) -> Vec<&'static str> {
    let absent = |(_, file): &&(&str, &str)| !folder.join(file).exists();
    let missing = PACKAGES.iter().filter(absent);
    missing.map(|&(package, _)| package).collect()
}
