//! `cargo xtask setup`: ROCm from Debian bookworm, system-wide; CRIU in a private prefix. What only the test
//! suite needs, with `--tests`: runc, podman and LLVM 19, system-wide; other versions of CRIU and its own amdgpu plugin, in prefixes beside that, and other releases of ROCm.

pub(crate) mod apt;
pub(crate) mod archive;
mod criu;
mod rocm;
mod upstream;

use std::path::Path;
use std::process::Command;

use anyhow::{bail, ensure};

use apt::Source;

/// What has to be there, by the file that shows it, and the package that brings it.
const NEEDED: [(&str, &str); 7] = [
    ("/usr/bin/hipcc", "hipcc"),
    (
        "/usr/lib/x86_64-linux-gnu/libamdhip64.so",
        "libamdhip64-dev",
    ),
    (
        "/usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1",
        "libhsa-runtime64-1",
    ),
    ("/usr/include/rocrand/rocrand.h", "librocrand-dev"),
    ("/usr/bin/rocminfo", "rocminfo"),
    ("/usr/bin/python3", "python3"),
    ("/usr/bin/llvm-objdump-15", "llvm-15"),
];
/// For the test suite. Podman brings its own needs: conmon, and iptables, which CRIU wants for networks.
const FOR_TESTS: [(&str, &str); 5] = [
    ("/usr/sbin/runc", "runc"),
    ("/usr/bin/podman", "podman"),
    ("/usr/sbin/mkfs.ext4", "e2fsprogs"),
    // Judges and compiles for gfx90a and gfx942, which LLVM 15 does not know well enough.
    ("/usr/bin/llvm-objdump-19", "llvm-19"),
    ("/usr/bin/clang-19", "clang-19"),
];
const ROCM: &str = "5.2.3";

pub(crate) fn run() -> anyhow::Result<()> {
    let packages = missing_of(&NEEDED);
    let version = criu::USED.version;
    let prefix = criu::USED.prefix()?;
    let criu_missing = !criu::USED.works(&prefix);
    if packages.is_empty() && !criu_missing {
        println!("setup: ROCm {ROCM} and CRIU {version} are here");
        return Ok(());
    }
    println!("setup will install:");
    if !packages.is_empty() {
        println!(
            "  system-wide, from Debian bookworm: {} (ROCm {ROCM})",
            packages.join(" ")
        );
    }
    if criu_missing {
        println!(
            "  into {}: CRIU {version}, from Debian trixie",
            prefix.display(),
        );
    }
    let Some(source) = Source::of_this_machine() else {
        bail!(
            "this is not Debian 12 (bookworm): install {} and CRIU {version} or newer yourself, CRIU as {}",
            NEEDED.map(|(_, package)| package).join(", "),
            prefix.join("criu").display(),
        );
    };
    install(&packages)?;
    if criu_missing {
        criu::USED.install(&source)?;
    }
    Ok(())
}

/// What the test suite needs besides.
pub(crate) fn for_tests() -> anyhow::Result<()> {
    let mut missing = Vec::new();
    for release in &criu::OTHERS {
        if !release.works(&release.prefix()?) {
            missing.push(release);
        }
    }
    let mut plugins = Vec::new();
    // Debian has no source of later ones.
    for release in [&criu::USED, &criu::OTHERS[0]] {
        if !upstream::plugin(release)?.exists() {
            plugins.push(release);
        }
    }
    let mut rocms = Vec::new();
    for release in &rocm::RELEASES {
        if !release.is_there()? {
            rocms.push(release);
        }
    }
    let packages = missing_of(&FOR_TESTS);
    let is_all = missing.is_empty() && plugins.is_empty() && rocms.is_empty();
    if is_all && packages.is_empty() {
        println!(
            "setup: runc, podman, LLVM 19, the other CRIUs, CRIU's own plugins and other ROCms are here"
        );
        return Ok(());
    }
    let Some(source) = Source::of_this_machine() else {
        bail!(
            "this is not Debian 12 (bookworm): the test suite needs runc, podman, LLVM 19, and other versions of CRIU and ROCm"
        );
    };
    install(&packages)?;
    for release in missing {
        release.install(&source)?;
    }
    if !plugins.is_empty() {
        upstream::build(&source, &plugins)?;
    }
    for release in rocms {
        release.install(&source)?;
    }
    Ok(())
}

/// The packages of which the file is not there.
fn missing_of(wanted: &[(&str, &'static str)]) -> Vec<&'static str> {
    let missing = wanted.iter().filter(|(file, _)| !Path::new(file).exists());
    missing.map(|&(_, package)| package).collect()
}

fn install(packages: &[&str]) -> anyhow::Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    ensure!(
        is_root()?,
        "not root: run as root `apt-get install --no-install-recommends {}`",
        packages.join(" ")
    );
    apt::install(packages)
}

fn is_root() -> anyhow::Result<bool> {
    let id = crate::shell::output(Command::new("id").arg("-u"))?;
    Ok(id.trim() == "0")
}
