//! Other releases of ROCm than the machine's: HIP with all that it needs, the C library too, and a compiler for it.
//! Only unpacked, for the tests of programs that use them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, ensure};

use super::apt::Source;
use super::archive::{Archive, Kind};
use super::criu::{data, in_work_folder};

const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// A release, and where it comes from.
#[derive(Debug)]
pub(crate) struct Rocm {
    pub(crate) version: &'static str,
    /// Debian's; it is in the last.
    suites: &'static [&'static str],
    /// These come with all that they need, ...
    runtime: &'static [&'static str],
    /// ... and these alone: headers, and a compiler whose LLVM the runtime has brought.
    compiler: &'static [&'static str],
    /// Megabytes that come.
    download: u64,
    /// What shows that it is there.
    libraries: &'static [&'static str],
}

/// `tests/harness/rocm.rs` looks for them.
pub(crate) const RELEASES: [Rocm; 3] = [
    Rocm {
        version: "5.7",
        suites: &["trixie"],
        runtime: &[],
        compiler: &["libamdhip64-5"],
        download: 9,
        libraries: &["libamdhip64.so.5.7.31921"],
    },
    Rocm {
        version: "6.4",
        suites: &["sid"],
        runtime: &[],
        compiler: &["libamdhip64-6"],
        download: 10,
        libraries: &["libamdhip64.so.6"],
    },
    Rocm {
        version: "7.2",
        suites: &["sid", "experimental"],
        runtime: &["libamdhip64-7", "libhiprtc7", "librocrand1"],
        compiler: &[
            "libamdhip64-dev",
            "librocrand-dev",
            "clang-22",
            "libclang-cpp22",
            "libclang-common-22-dev",
            "lld-22",
            "rocm-device-libs-22",
        ],
        download: 140,
        libraries: &["libamdhip64.so.7", "librocrand.so.1"],
    },
];

impl Rocm {
    fn root(&self) -> anyhow::Result<PathBuf> {
        Ok(data()?.join(format!("rocm-{}", self.version)))
    }

    pub(crate) fn is_there(&self) -> anyhow::Result<bool> {
        let place = self.root()?.join(LIBRARIES);
        let mut libraries = self.libraries.iter();
        Ok(libraries.all(|library| place.join(library).exists()))
    }

    /// Downloads and unpacks it.
    pub(crate) fn install(&self, source: &Source) -> anyhow::Result<()> {
        let place = self.root()?;
        let suite = self.suites.last().context("no suite")?;
        let packages = [self.runtime, self.compiler].concat().join(" ");
        println!(
            "$ apt-get --download-only install {packages} (of {suite}, {} MB, for {})",
            self.download,
            place.display()
        );
        in_work_folder(|work| {
            let root = work.join("root");
            fs::create_dir_all(&root)?;
            let archive = Archive::open(source, Kind::Packages, self.suites, work.join("archive"))?;
            if !self.runtime.is_empty() {
                archive.unpack_with_all(self.runtime, &root)?;
            }
            archive.unpack(self.compiler, &root)?;
            let _ = fs::remove_dir_all(&place);
            Ok(fs::rename(&root, &place)?)
        })?;
        ensure!(
            self.is_there()?,
            "Debian's {suite} has another ROCm than {} now: {} has not all of {}",
            self.version,
            place.display(),
            self.libraries.join(", ")
        );
        Ok(())
    }
}
