//! Code objects of a large GPU library, to test the decoder on. Only unpacked, never installed: its
//! files are read, not run.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};

use crate::shell;
use crate::workspace::Workspace;

const PACKAGE: &str = "librocsparse0";
/// What the tests read, inside of the package.
const LIBRARY: &str = "usr/lib/x86_64-linux-gnu/librocsparse.so.0";

/// Where the unpacked package is.
pub(crate) fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("corpus")
}

/// Gets the package with apt, once.
pub(crate) fn fetch(workspace: &Workspace) -> anyhow::Result<()> {
    let folder = folder(workspace);
    if folder.join(LIBRARY).exists() {
        return Ok(());
    }
    let part = workspace.target.join("corpus.part");
    let _ = fs::remove_dir_all(&part);
    fs::create_dir_all(&part).with_context(|| format!("make {}", part.display()))?;
    println!("getting {PACKAGE} for the tests of the decoder (94 MB, not installed)");
    let download = || {
        let mut command = Command::new("apt-get");
        command.args(["-qq", "-o", "APT::Sandbox::User=root", "download", PACKAGE]);
        command.current_dir(&part);
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
    if !part.join(LIBRARY).exists() {
        bail!("{PACKAGE} holds no {LIBRARY}");
    }
    let _ = fs::remove_dir_all(&folder);
    fs::rename(&part, &folder)?;
    Ok(())
}
