//! A crate uses only crates of lower floors (ARCHITECTURE.md), and no unsafe code where it need not.

use std::path::Path;

use serde_json::Value;

use crate::workspace::Workspace;

struct Member {
    folder: &'static str,
    floor: u32,
    /// `#![forbid(unsafe_code)]` stands in its root file.
    safe: bool,
}

const fn member(folder: &'static str, floor: u32) -> Member {
    Member {
        folder,
        floor,
        safe: false,
    }
}

const fn safe(folder: &'static str, floor: u32) -> Member {
    Member {
        folder,
        floor,
        safe: true,
    }
}

/// Programs that build and measure the house; nobody stands on them.
const TOP: u32 = 9;

const MEMBERS: [Member; 23] = [
    safe("analysis/isa", 0),
    safe("proto", 1),
    safe("crates/extent", 0),
    member("crates/fingerprint", 0),
    member("crates/kfd", 0),
    safe("crates/log", 0),
    member("crates/hip", 0),
    safe("analysis/code-object", 1),
    safe("crates/graph", 2),
    safe("crates/store", 2),
    member("crates/program", 2),
    safe("analysis/footprint", 2),
    safe("crates/engine", 2),
    member("crates/softgpu", 2),
    member("crates/agent", 3),
    member("crates/criu", 3),
    member("crates/softgpu-preload", 3),
    member("crates/criu-plugin", 4),
    member("interpose", 4),
    safe("", 4),
    safe("evaluation", TOP - 1),
    safe("tests/fuzz", TOP - 1),
    safe("crates/xtask", TOP),
];

/// Sentences about broken rules.
pub(super) fn check(workspace: &Workspace) -> Vec<String> {
    let mut broken = Vec::new();
    for package in &workspace.packages {
        let folder = folder_of(&workspace.root, package);
        let Some(member) = MEMBERS.iter().find(|member| member.folder == folder) else {
            broken.push(format!(
                "{folder} has no floor (crates/xtask/src/tidy/floors.rs)"
            ));
            continue;
        };
        for dependency in used_members(&workspace.root, package) {
            let below = MEMBERS.iter().find(|member| member.folder == dependency);
            if below.is_none_or(|below| below.floor >= member.floor) {
                broken.push(format!(
                    "{folder} uses {dependency}, which is not on a lower floor"
                ));
            }
        }
        if member.safe {
            broken.extend(unsafe_roots(package));
        }
    }
    broken
}

fn folder_of(root: &Path, package: &Value) -> String {
    let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
    let folder = manifest
        .parent()
        .and_then(|folder| folder.strip_prefix(root).ok());
    folder.unwrap_or(manifest).display().to_string()
}

/// Folders of the workspace's crates that a package uses outside of its tests.
fn used_members(root: &Path, package: &Value) -> Vec<String> {
    let dependencies = package["dependencies"].as_array();
    dependencies
        .into_iter()
        .flatten()
        .filter(|dependency| dependency["kind"] != "dev")
        .filter_map(|dependency| {
            let path = Path::new(dependency["path"].as_str()?);
            Some(path.strip_prefix(root).ok()?.display().to_string())
        })
        .collect()
}

/// Root files of libraries and programs that do not forbid unsafe code.
fn unsafe_roots(package: &Value) -> Vec<String> {
    let targets = package["targets"].as_array();
    targets
        .into_iter()
        .flatten()
        .filter(|target| {
            let kinds = target["kind"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default();
            kinds.iter().any(|kind| kind == "lib" || kind == "bin")
        })
        .filter_map(|target| {
            let path = target["src_path"].as_str()?;
            let text = std::fs::read_to_string(path).unwrap_or_default();
            (!text.contains("#![forbid(unsafe_code)]"))
                .then(|| format!("{path} does not forbid unsafe code"))
        })
        .collect()
}
