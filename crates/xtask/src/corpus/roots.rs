//! Programs of other people that launch kernels, each group with all that it needs: a newer HIP, a C library. Only
//! unpacked, never installed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::collect::room;
use crate::setup::apt::Source;
use crate::setup::archive::{Archive, Kind};
use crate::workspace::Workspace;

/// What is unpacked together.
struct Root {
    /// Of Debian's archive; its folder has the same name.
    suite: &'static str,
    packages: &'static [&'static str],
    /// Megabytes that come, and that they become; about.
    download: u64,
    unpacked: u64,
}

/// The programs stand in `evaluation/src/launches/suites.rs`.
const ROOTS: [Root; 2] = [
    Root {
        suite: "trixie",
        packages: &["librocsolver0-tests", "librocblas0-bench"],
        download: 690,
        unpacked: 4000,
    },
    Root {
        suite: "sid",
        packages: &[
            "librocrand1-tests",
            "librocsparse1-tests",
            "librocprim-tests",
            "libggml0-backend-hip",
        ],
        download: 1610,
        unpacked: 10_500,
    },
];

/// Where they are without `--folder`.
pub(crate) fn default_folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("launches")
}

/// Gets what is missing.
pub(crate) fn fetch(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    for root in &ROOTS {
        let place = folder.join(root.suite);
        if place.exists() {
            continue;
        }
        let Root {
            suite,
            packages,
            download,
            unpacked,
        } = root;
        let names = packages.join(", ");
        println!("getting {names} of {suite} with all they need ({download} MB, not installed)");
        let needed = download + unpacked + 500;
        let room = room(folder)?;
        ensure!(room >= needed, "{room} MB of room, {needed} MB needed");
        let work = folder.join(format!("part-{suite}"));
        let _ = fs::remove_dir_all(&work);
        let source = Source::of_this_machine().context("this is not Debian 12 (bookworm)")?;
        let archive = Archive::open(&source, Kind::Packages, &[suite], work.join("apt"))?;
        let unpacked = work.join("root");
        fs::create_dir_all(&unpacked)?;
        archive.unpack_with_all(packages, &unpacked)?;
        fs::rename(unpacked, place)?;
        fs::remove_dir_all(&work)?;
    }
    Ok(())
}
