//! Some suites of Debian's archive, with lists and cache of their own: this machine's packages are neither
//! looked at nor changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::apt::{Source, apt_get};
use crate::shell;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// What is wanted: the lists of either take seconds to read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Packages,
    Sources,
}

#[derive(Debug)]
pub(crate) struct Archive {
    folder: PathBuf,
    options: Vec<String>,
}

impl Archive {
    /// Reads the lists of these suites, in `folder`, which is made. With several, packages are of the last.
    pub(crate) fn open(
        source: &Source,
        kind: Kind,
        suites: &[&str],
        folder: PathBuf,
    ) -> anyhow::Result<Self> {
        let (lists, cache) = (folder.join("lists"), folder.join("cache"));
        let sources = folder.join("sources.list");
        fs::create_dir_all(lists.join("partial"))?;
        fs::create_dir_all(cache.join("archives/partial"))?;
        let address = &source.address;
        let kind = match kind {
            Kind::Packages => "deb",
            Kind::Sources => "deb-src",
        };
        let line = |suite| format!("{kind} [signed-by={KEYRING}] {address} {suite} main\n");
        fs::write(&sources, suites.iter().map(line).collect::<String>())?;
        let mut options = vec![
            format!("Dir::Etc::sourcelist={}", sources.display()),
            "Dir::Etc::sourceparts=-".into(),
            format!("Dir::State::lists={}", lists.display()),
            format!("Dir::Cache={}", cache.display()),
            // As on a machine without any package: its C library comes along.
            "Dir::State::status=/dev/null".into(),
            "APT::Sandbox::User=root".into(),
            "APT::Install-Recommends=false".into(),
            "Acquire::Languages=none".into(),
            "Debug::NoLocking=1".into(),
        ];
        let last = suites.last().context("no suite")?;
        options.push(format!("APT::Default-Release={last}"));
        let archive = Self { folder, options };
        shell::output(archive.apt().args(["-qq", "update"]))?;
        Ok(archive)
    }

    fn apt(&self) -> Command {
        let mut command = apt_get();
        for option in &self.options {
            command.args(["-o", option]);
        }
        command
    }

    /// Unpacks packages and all that they need.
    pub(crate) fn unpack_with_all(&self, packages: &[&str], root: &Path) -> anyhow::Result<()> {
        let arguments = ["-qq", "-y", "--download-only", "install"];
        shell::output(self.apt().args(arguments).args(packages))?;
        unpack(&self.folder.join("cache/archives"), root)
    }

    /// Unpacks these packages, and nothing that they need.
    pub(crate) fn unpack(&self, packages: &[&str], root: &Path) -> anyhow::Result<()> {
        let folder = self.folder.join("packages");
        self.download(packages, &folder)?;
        unpack(&folder, root)
    }

    /// Gets these packages, and nothing that they need, into a folder.
    pub(crate) fn download(&self, packages: &[&str], folder: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(folder)?;
        let mut download = self.apt();
        download.args(["-qq", "download"]).args(packages);
        shell::output(download.current_dir(folder)).map(drop)
    }

    /// Unpacks the upstream source of a package, if it is this version.
    pub(crate) fn unpack_source(
        &self,
        package: &str,
        version: &str,
        root: &Path,
    ) -> anyhow::Result<()> {
        let folder = self.folder.join("source");
        fs::create_dir_all(&folder)?;
        fs::create_dir_all(root)?;
        let mut download = self.apt();
        download.args(["-qq", "--download-only", "--tar-only", "source", package]);
        shell::output(download.current_dir(&folder))?;
        let wanted = format!("_{version}.orig.tar.");
        let entries = fs::read_dir(&folder)?.flatten().map(|entry| entry.path());
        let tarball = entries
            .filter(|path| path.to_string_lossy().contains(&wanted))
            .find(|path| path.extension().is_none_or(|end| end != "asc"))
            .with_context(|| format!("the archive has no source of {package} {version} now"))?;
        let mut tar = Command::new("tar");
        tar.args(["--strip-components=1", "-xf"]).arg(tarball);
        shell::output(tar.arg("-C").arg(root)).map(drop)
    }
}

/// Unpacks all packages of a folder.
pub(crate) fn unpack(packages: &Path, root: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(packages)? {
        let package = entry?.path();
        if package.extension().is_some_and(|end| end == "deb") {
            shell::output(Command::new("dpkg-deb").arg("-x").arg(package).arg(root))?;
        }
    }
    Ok(())
}
