//! CRIU with the C library it was built against, in a folder of its own. Bookworm's CRIU 3.17 does
//! not know the vdso of current kernels, and newer packages want a newer C library.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::apt::Source;
use super::archive::{Archive, Kind};
use crate::shell;

const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// A version of CRIU, and where it comes from.
#[derive(Debug)]
pub(crate) struct Release {
    pub(crate) version: &'static str,
    /// Debian's; it is in the last.
    pub(crate) suites: &'static [&'static str],
    /// Below [`data`].
    folder: &'static str,
}

/// The one that `strobe` uses.
pub(crate) const USED: Release = Release {
    version: "4.1.1",
    suites: &["trixie"],
    folder: "criu",
};

/// Those that the plugin is tested with besides.
pub(crate) const OTHERS: [Release; 2] = [
    Release {
        version: "4.2.1",
        suites: &["sid"],
        folder: "criu-4.2.1",
    },
    Release {
        version: "4.3",
        suites: &["sid", "experimental"],
        folder: "criu-4.3",
    },
];

/// Where all of Strobe's own is.
pub(crate) fn data() -> anyhow::Result<PathBuf> {
    let data = match std::env::var_os("XDG_DATA_HOME").map(PathBuf::from) {
        Some(data) if data.is_absolute() => data,
        _ => {
            PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".local/share")
        }
    };
    Ok(data.join("strobe"))
}

impl Release {
    /// Where `strobe`, or the test suite, looks for it.
    pub(crate) fn prefix(&self) -> anyhow::Result<PathBuf> {
        Ok(data()?.join(self.folder))
    }

    /// Whether it is there, starts and is the right one.
    pub(crate) fn works(&self, prefix: &Path) -> bool {
        shell::output(Command::new(prefix.join("criu")).arg("--version")).is_ok_and(|text| {
            text.lines()
                .any(|line| line == format!("Version: {}", self.version))
        })
    }

    /// Downloads and unpacks it.
    pub(crate) fn install(&self, source: &Source) -> anyhow::Result<()> {
        let prefix = self.prefix()?;
        in_work_folder(|work| {
            let root = work.join("root");
            fs::create_dir_all(&root)?;
            let suite = self.suites.last().context("no suite")?;
            println!(
                "$ apt-get --download-only install criu (of {suite}, for {})",
                prefix.display()
            );
            let archive = Archive::open(source, Kind::Packages, self.suites, work.join("archive"))?;
            archive.unpack_with_all(&["criu"], &root)?;
            for folder in ["man", "doc", "info", "locale"] {
                let folder = root.join("usr/share").join(folder);
                if folder.exists() {
                    fs::remove_dir_all(folder)?;
                }
            }
            write_starter(&root, &prefix)?;
            if prefix.exists() {
                fs::remove_dir_all(&prefix)
                    .with_context(|| format!("replace {}", prefix.display()))?;
            }
            Ok(fs::rename(&root, &prefix)?)
        })?;
        if !self.works(&prefix) {
            bail!(
                "{} does not start as CRIU {}",
                prefix.join("criu").display(),
                self.version
            );
        }
        Ok(())
    }
}

/// Does something in a folder beside what it makes; nothing of a failed attempt is left.
pub(super) fn in_work_folder<R>(
    body: impl FnOnce(&Path) -> anyhow::Result<R>,
) -> anyhow::Result<R> {
    let work = data()?.join(format!("setup.part-{}", std::process::id()));
    fs::create_dir_all(&work).with_context(|| format!("make {}", work.display()))?;
    let result = body(&work);
    let _ = fs::remove_dir_all(&work);
    result
}

/// `PREFIX/criu`: starts it with its own loader and C library.
fn write_starter(root: &Path, prefix: &Path) -> anyhow::Result<()> {
    let libraries = prefix.join(LIBRARIES);
    let text = format!(
        "#!/bin/sh\nexec '{libraries}/ld-linux-x86-64.so.2' --library-path '{libraries}:/{LIBRARIES}' '{}' \"$@\"\n",
        prefix.join("usr/sbin/criu").display(),
        libraries = libraries.display(),
    );
    let starter = root.join("criu");
    fs::write(&starter, text)?;
    fs::set_permissions(&starter, fs::Permissions::from_mode(0o755))?;
    Ok(())
}
