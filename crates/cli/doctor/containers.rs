//! What containers are saved by, where there are any.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use strobe_criu::run::preload;

use super::check::Check;

/// What starts a `criu`.
const STARTERS: [&str; 2] = ["podman", "runc"];

pub(super) fn checks() -> Vec<Check> {
    let mut checks = Vec::new();
    if STARTERS.iter().any(|name| in_path(name).is_some()) {
        checks.push(criu_by_name());
    }
    checks.extend(in_path("crun").map(|path| crun(&path)));
    checks
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let mut candidates = env::split_paths(&path).map(|folder| folder.join(name));
    candidates.find(|candidate| candidate.is_file())
}

fn criu_by_name() -> Check {
    const NAME: &str = "containers";
    const LINK: &str =
        "for podman container checkpoint, runc checkpoint: ln -s STROBE /usr/local/sbin/criu";
    let Some(found) = in_path("criu") else {
        return Check::bad(NAME, "no criu in PATH", LINK).optional();
    };
    let found_is_ours = match (fs::canonicalize(&found), env::current_exe()) {
        (Ok(found), Ok(own)) => found == own,
        _ => false,
    };
    match found_is_ours {
        true => Check::ok(NAME, format!("{} is strobe criu", found.display())),
        false => {
            let found = format!("{} has no part of Strobe", found.display());
            Check::bad(NAME, found, LINK).optional()
        }
    }
}

fn crun(path: &Path) -> Check {
    const NAME: &str = "crun";
    let mut version = Command::new(path);
    preload(&mut version, []);
    let says = version
        .arg("--version")
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    match says.split_whitespace().any(|word| word == "+CRIU") {
        true => Check::ok(NAME, "was built with CRIU"),
        false => Check::bad(
            NAME,
            format!("{} was built without CRIU", path.display()),
            "start containers that are to be checkpointed with podman --runtime runc",
        )
        .optional(),
    }
}
