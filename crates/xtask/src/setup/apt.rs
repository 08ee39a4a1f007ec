//! Debian's archive, as this machine is set up to reach it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::shell;

/// Where this machine gets Debian from.
#[derive(Debug)]
pub(crate) struct Source {
    /// Base address of the archive.
    pub(crate) address: String,
}

impl Source {
    /// The first Debian archive in the apt sources; `None` if this is not Debian 12.
    pub(crate) fn of_this_machine() -> Option<Self> {
        let system = fs::read_to_string("/etc/os-release").ok()?;
        let is = |line: &str| system.lines().any(|l| l.replace('"', "") == line);
        if !is("ID=debian") || !is("VERSION_ID=12") {
            return None;
        }
        let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
        let folder = fs::read_dir("/etc/apt/sources.list.d")
            .into_iter()
            .flatten();
        files.extend(folder.filter_map(|entry| Some(entry.ok()?.path())));
        let text = files
            .iter()
            .filter_map(|file| fs::read_to_string(file).ok());
        text.flat_map(|text| text.lines().filter_map(address).collect::<Vec<_>>())
            .next()
            .map(|address| Self { address })
    }
}

/// The archive that a line of a sources file names, in either of its two formats.
fn address(line: &str) -> Option<String> {
    let line = line.trim();
    let mut words = match line.strip_prefix("URIs:") {
        Some(rest) => rest.split_whitespace(),
        None => line.strip_prefix("deb ")?.split_whitespace(),
    };
    let address = words
        .find(|word| word.contains("://"))?
        .trim_end_matches('/');
    address.ends_with("/debian").then(|| address.to_owned())
}

/// Installs packages system-wide without asking.
pub(crate) fn install(packages: &[&str]) -> anyhow::Result<()> {
    shell::run(apt_get().args(["-qq", "update"]))?;
    shell::run(
        apt_get()
            .args(["-qq", "-y", "--no-install-recommends", "install"])
            .args(packages),
    )
}

pub(crate) fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn both_formats_of_sources_are_understood() {
        let found = Some("http://archive.example/debian".to_owned());
        assert_eq!(address("URIs: http://archive.example/debian/"), found);
        assert_eq!(
            address("deb http://archive.example/debian bookworm main"),
            found
        );
        assert_eq!(
            address("deb [signed-by=/k.gpg] http://archive.example/debian x main"),
            found
        );
        assert_eq!(
            address("URIs: http://archive.example/debian-security"),
            None
        );
        assert_eq!(
            address("# deb http://archive.example/debian bookworm main"),
            None
        );
        assert_eq!(
            address("deb-src http://archive.example/debian bookworm main"),
            None
        );
    }
}
