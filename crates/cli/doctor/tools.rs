//! Libraries and programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use strobe_criu::locate::{Criu, LocateError, find_plugin};
use strobe_criu::run::preload;

use super::check::Check;
use crate::run::library;

const HIP: &str = "libamdhip64.so.";
const FOLDERS: [&str; 4] = [
    "/opt/rocm/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/local/lib",
];

pub(super) fn checks() -> Vec<Check> {
    let mut checks = vec![rocm(), attach_point(), agent()];
    checks.extend(criu());
    checks.push(plugin());
    checks
}

/// The HIP runtime with the longest version in its name, and that version.
fn hip_runtime() -> Option<(PathBuf, String)> {
    let files = FOLDERS
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten();
    files
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let version = name.strip_prefix(HIP)?.to_owned();
            let folder = FOLDERS
                .iter()
                .find(|folder| Path::new(folder).join(&name).exists())?;
            Some((Path::new(folder).join(name), version))
        })
        .max_by_key(|(_, version)| version.len())
}

fn rocm() -> Check {
    match hip_runtime() {
        Some((path, version)) => Check::ok("rocm", format!("HIP {version} at {}", path.display())),
        None => Check::bad(
            "rocm",
            "libamdhip64 is in none of the usual folders",
            "cargo xtask setup installs it; programs with a HIP of their own work without",
        )
        .optional(),
    }
}

fn attach_point() -> Check {
    // The dispatch table is offered by AMD's own builds only; names work with every HIP.
    Check::ok("attach point", "symbols")
}

fn agent() -> Check {
    match library("libstrobe.so") {
        Ok(path) => Check::ok("agent", path.display().to_string()),
        Err(error) => Check::bad("agent", error.to_string(), "cargo xtask build"),
    }
}

fn criu() -> Vec<Check> {
    const SETUP: &str = "cargo xtask setup puts one into a private folder";
    let criu = match Criu::find(None) {
        Ok(criu) => criu,
        // The folders that were searched fill a screen; the remedy says where to put it.
        Err(LocateError::NoCriu(_)) => return vec![Check::bad("criu", "not installed", SETUP)],
        Err(error) => return vec![Check::bad("criu", error.to_string(), SETUP)],
    };
    let found = format!("{} at {}", criu.version, criu.path.display());
    let mut check = Command::new(&criu.path);
    preload(&mut check, []);
    let works = match check.arg("check").output() {
        Ok(output) if output.status.success() => Check::ok("criu check", "looks good"),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            let line = text.lines().rev().find(|line| line.contains("Error"));
            let line = line.unwrap_or("criu check fails without a reason");
            Check::bad(
                "criu check",
                line.trim(),
                "run as root, on a kernel that CRIU supports",
            )
        }
        Err(error) => Check::bad("criu check", error.to_string(), SETUP),
    };
    let tcp = tcp(&criu);
    vec![Check::ok("criu", found), works, tcp]
}

fn tcp(criu: &Criu) -> Check {
    let name = "tcp";
    let check = match criu.locks_networks() {
        true => Check::ok(name, "connections can be saved"),
        false => Check::bad(
            name,
            "no connections can be saved, as CRIU cannot use nftables here",
            "root, a kernel with CONFIG_NF_TABLES, and a CRIU that was built with nftables",
        ),
    };
    check.optional()
}

fn plugin() -> Check {
    match find_plugin() {
        Ok(path) => Check::ok("criu plugin", path.display().to_string()),
        Err(error) => Check::bad("criu plugin", error.to_string(), "cargo xtask build"),
    }
}
