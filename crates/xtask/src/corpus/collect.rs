//! `cargo xtask corpus`: packages with code for gfx906, each unpacked in a folder of its own, nothing installed.
//!
//! A folder is there when all of it is: an interrupted command goes on where it was. Beside it stands what came,
//! with its SHA-256 (`KEY.sha256`, as `sha256sum` writes it).

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use nix::sys::statvfs::statvfs;

use super::packages::{Origin, PACKAGES, PYTHON, Package};
use crate::setup::apt::Source;
use crate::setup::archive::{self, Archive, Kind};
use crate::shell;
use crate::workspace::Workspace;

/// Seconds for one wheel: none may keep the others from coming. (apt gives up by itself where nothing comes.)
const PATIENCE: &str = "900";

/// Where packages are collected without `--folder`.
pub(crate) fn default_folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("corpora")
}

/// Gets what is missing; all of it without a name.
pub(crate) fn collect(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<()> {
    let (folder, names) = match arguments {
        ["--folder", folder, names @ ..] => (PathBuf::from(folder), names),
        names => (default_folder(workspace), names),
    };
    let is = |name: &str, package: &Package| package.name == name || package.key() == name;
    for name in names {
        let known = PACKAGES.iter().any(|package| is(name, package));
        ensure!(known, "no package {name}; there are {}", all());
    }
    let wanted =
        |package: &&Package| names.is_empty() || names.iter().any(|name| is(name, package));
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let folder = folder.canonicalize()?;
    let work = folder.join(format!("part-{}", std::process::id()));
    let mut collection = Collection {
        folder,
        work,
        archives: HashMap::new(),
    };
    let failed: Vec<String> = PACKAGES
        .iter()
        .filter(wanted)
        .filter_map(|package| {
            let error = collection.get(package).err()?;
            println!("  not to be had: {error:#}");
            Some(package.key())
        })
        .collect();
    let _ = fs::remove_dir_all(&collection.work);
    if !failed.is_empty() {
        bail!("without {}; said above why", failed.join(", "));
    }
    Ok(())
}

fn all() -> String {
    PACKAGES.map(|package| package.key()).join(", ")
}

/// What has been collected, and the archives that were opened for it.
#[derive(Debug)]
struct Collection {
    folder: PathBuf,
    /// Of this process; nothing of it is left.
    work: PathBuf,
    archives: HashMap<&'static str, Archive>,
}

impl Collection {
    fn get(&mut self, package: &Package) -> anyhow::Result<()> {
        let key = package.key();
        let place = self.folder.join(&key);
        if place.exists() {
            println!("{key}: is there");
            return Ok(());
        }
        let (download, unpacked) = (package.download, package.unpacked);
        println!("{key}: {download} MB, {unpacked} MB unpacked");
        let room = room(&self.folder)?;
        let needed = download + unpacked + 500;
        ensure!(room >= needed, "{room} MB of room, {needed} MB needed");
        let (packed, root) = (self.work.join("packed"), self.work.join("root"));
        for folder in [&packed, &root] {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
        }
        match package.origin {
            Origin::Debian(suite) => {
                self.archive(suite)?.download(&[package.name], &packed)?;
                archive::unpack(&packed, &root)?;
            }
            Origin::Wheel(version) => wheel(package.name, version, &packed, &root)?,
        }
        let sums = sums(&packed)?;
        print!("  {sums}");
        fs::write(self.folder.join(format!("{key}.sha256")), sums)?;
        fs::rename(&root, &place)?;
        Ok(())
    }

    /// The suite's lists are read once.
    fn archive(&mut self, suite: &'static str) -> anyhow::Result<&Archive> {
        if !self.archives.contains_key(suite) {
            let source = Source::of_this_machine().context("this is not Debian 12 (bookworm)")?;
            let folder = self.work.join(suite);
            let archive = Archive::open(&source, Kind::Packages, &[suite], folder)?;
            self.archives.insert(suite, archive);
        }
        Ok(&self.archives[suite])
    }
}

/// Megabytes that are free there.
pub(super) fn room(folder: &Path) -> anyhow::Result<u64> {
    let room = statvfs(folder)?;
    Ok(room.blocks_available() * room.fragment_size() / 1_000_000)
}

/// Gets a wheel with pip, from where this machine's pip gets them, and unpacks it.
fn wheel(name: &str, version: &str, packed: &Path, root: &Path) -> anyhow::Result<()> {
    let mut pip = Command::new("timeout");
    pip.args([PATIENCE, "python3", "-m", "pip", "download", "--quiet"]);
    pip.args(["--no-deps", "--only-binary", ":all:"]);
    pip.args(["--python-version", PYTHON, "--dest"]).arg(packed);
    shell::output(pip.arg(format!("{name}=={version}")))?;
    for file in files(packed)? {
        let mut unpack = Command::new("python3");
        unpack.args(["-m", "zipfile", "-e"]).arg(file).arg(root);
        shell::output(&mut unpack)?;
    }
    Ok(())
}

/// Lines of `sha256sum`, with names only.
fn sums(packed: &Path) -> anyhow::Result<String> {
    let mut sums = Command::new("sha256sum");
    for file in files(packed)? {
        sums.arg(file.file_name().context("a file without a name")?);
    }
    shell::output(sums.current_dir(packed))
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        files.push(entry?.path());
    }
    ensure!(!files.is_empty(), "nothing came");
    files.sort_unstable();
    Ok(files)
}
