//! A crate uses only crates of lower floors (ARCHITECTURE.md), and no unsafe code where it need not.

use std::path::Path;

use serde_json::Value;

use crate::workspace::Workspace;

struct Room {
    folder: &'static str,
    floor: u32,
    /// `#![forbid(unsafe_code)]` stands in its root file.
    safe: bool,
}

const fn room(folder: &'static str, floor: u32) -> Room {
    Room {
        folder,
        floor,
        safe: false,
    }
}

const fn safe_room(folder: &'static str, floor: u32) -> Room {
    Room {
        folder,
        floor,
        safe: true,
    }
}

/// Programs that build and measure the house; nobody stands on them.
const TOP: u32 = 9;

const ROOMS: [Room; 23] = [
    safe_room("analysis/isa", 0),
    safe_room("proto", 1),
    safe_room("crates/extent", 0),
    safe_room("crates/fingerprint", 0),
    room("crates/kfd", 0),
    safe_room("crates/log", 0),
    room("crates/hip", 0),
    safe_room("analysis/code-object", 1),
    safe_room("crates/graph", 2),
    safe_room("crates/store", 2),
    room("crates/program", 2),
    safe_room("analysis/footprint", 2),
    safe_room("crates/engine", 2),
    room("crates/softgpu", 2),
    room("crates/agent", 3),
    room("crates/criu", 3),
    room("crates/softgpu-preload", 3),
    room("crates/criu-plugin", 4),
    room("interpose", 4),
    safe_room("", 4),
    safe_room("evaluation", TOP - 1),
    safe_room("tests/fuzz", TOP - 1),
    safe_room("crates/xtask", TOP),
];

/// Sentences about broken rules.
pub(super) fn check(workspace: &Workspace) -> Vec<String> {
    let mut broken = Vec::new();
    for package in &workspace.packages {
        let folder = folder_of(&workspace.root, package);
        let Some(room) = ROOMS.iter().find(|room| room.folder == folder) else {
            broken.push(format!(
                "{folder} has no floor (crates/xtask/src/tidy/floors.rs)"
            ));
            continue;
        };
        for dependency in used_rooms(&workspace.root, package) {
            let below = ROOMS.iter().find(|room| room.folder == dependency);
            if below.is_none_or(|below| below.floor >= room.floor) {
                broken.push(format!(
                    "{folder} uses {dependency}, which is not on a lower floor"
                ));
            }
        }
        if room.safe {
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
fn used_rooms(root: &Path, package: &Value) -> Vec<String> {
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
