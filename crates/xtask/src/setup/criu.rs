//! CRIU with the C library it was built against, in a folder of its own. Bookworm's CRIU 3.17 does
//! not know the vdso of current kernels, and newer packages want a newer C library.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::apt::{Source, apt_get};
use crate::shell;

pub(crate) const VERSION: &str = "4.1.1";
const SUITE: &str = "trixie";
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Where `strobe` looks for it.
pub(crate) fn prefix() -> anyhow::Result<PathBuf> {
    let data = match std::env::var_os("XDG_DATA_HOME").map(PathBuf::from) {
        Some(data) if data.is_absolute() => data,
        _ => {
            PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".local/share")
        }
    };
    Ok(data.join("strobe/criu"))
}

/// Whether the CRIU in `prefix` starts and is the right one.
pub(crate) fn works(prefix: &Path) -> bool {
    shell::output(Command::new(prefix.join("criu")).arg("--version")).is_ok_and(|text| {
        text.lines()
            .any(|line| line == format!("Version: {VERSION}"))
    })
}

/// Downloads and unpacks it.
pub(crate) fn install(source: &Source, prefix: &Path) -> anyhow::Result<()> {
    let parent = prefix.parent().context("the prefix has no parent")?;
    fs::create_dir_all(parent).with_context(|| format!("make {}", parent.display()))?;
    let work = parent.join(format!("criu.part-{}", std::process::id()));
    let result = unpack(source, &work, prefix);
    // Nothing of a failed attempt is left.
    let _ = fs::remove_dir_all(&work);
    result
}

fn unpack(source: &Source, work: &Path, prefix: &Path) -> anyhow::Result<()> {
    let (lists, cache) = (work.join("lists"), work.join("cache"));
    let (root, sources) = (work.join("root"), work.join("sources.list"));
    fs::create_dir_all(lists.join("partial"))?;
    fs::create_dir_all(cache.join("archives/partial"))?;
    fs::create_dir_all(&root)?;
    let address = &source.address;
    fs::write(
        &sources,
        format!("deb [signed-by={KEYRING}] {address} {SUITE} main\n"),
    )?;
    let options = [
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
    let apt = || {
        let mut command = apt_get();
        for option in &options {
            command.args(["-o", option]);
        }
        command
    };
    println!(
        "$ apt-get --download-only install criu (of {SUITE}, for {})",
        prefix.display()
    );
    shell::output(apt().args(["-qq", "update"]))?;
    shell::output(apt().args(["-qq", "-y", "--download-only", "install", "criu"]))?;
    for entry in fs::read_dir(cache.join("archives"))? {
        let package = entry?.path();
        if package
            .extension()
            .is_some_and(|extension| extension == "deb")
        {
            shell::output(Command::new("dpkg-deb").arg("-x").arg(package).arg(&root))?;
        }
    }
    for folder in ["man", "doc", "info", "locale"] {
        let folder = root.join("usr/share").join(folder);
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
    }
    write_starter(&root, prefix)?;
    if prefix.exists() {
        fs::remove_dir_all(prefix).with_context(|| format!("replace {}", prefix.display()))?;
    }
    fs::rename(&root, prefix)?;
    if !works(prefix) {
        bail!(
            "{} does not start as CRIU {VERSION}",
            prefix.join("criu").display()
        );
    }
    Ok(())
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
