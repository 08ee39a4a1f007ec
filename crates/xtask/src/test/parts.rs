//! The parts of the test suite: what `cargo test` is asked for, and with which features.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::corpus;
use crate::workspace::Workspace;

/// The feature whose tests read a whole library; ignored where it is not at hand, here it is.
const ORACLE: &str = "oracle";

/// Names of test targets, the longest first: a part that starts last should be short.
const LONGEST: [&str; 4] = ["checkpoint", "footprints", "softgpu", "same"];

/// One command of the suite.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) command: Command,
    /// It passes or fails as a whole, and is not asked how many tests it ran.
    pub(super) is_one_check: bool,
}

impl Part {
    fn new(name: &str, command: Command) -> Self {
        Self {
            name: name.to_owned(),
            command,
            is_one_check: false,
        }
    }
}

/// Tests that need nothing but Rust, with all assertions.
pub(super) fn unit(workspace: &Workspace) -> Part {
    let arguments = ["test", "--workspace", "--no-fail-fast"];
    Part::new("unit", workspace.cargo(&arguments))
}

/// A part for each test target that needs ROCm, CRIU, LLVM or root, by the features that its
/// manifest says it needs. All are asked for with the same features, so that they are built once.
pub(super) fn system(workspace: &Workspace) -> Vec<Part> {
    let place = |name: &str| LONGEST.iter().position(|long| *long == name);
    let mut targets: Vec<_> = targets(workspace).into_iter().collect();
    targets.sort_by_key(|(name, _)| (place(name).unwrap_or(LONGEST.len()), *name));
    let parts = targets.into_iter().map(|(name, needed)| {
        let mut command = release(workspace);
        command.args(["--no-fail-fast", "--test", name, "--", "--test-threads=1"]);
        if needed.iter().any(|feature| feature == ORACLE) {
            command.arg("--include-ignored");
        }
        command.env("STROBE_CORPUS", corpus::folder(workspace));
        Part::new(name, command)
    });
    parts.collect()
}

/// Builds all that [`unit`] and [`system`] run, so that no part waits for the build of another.
pub(super) fn builds(workspace: &Workspace) -> [Command; 2] {
    let mut unit = workspace.cargo(&["test", "--workspace"]);
    unit.arg("--no-run");
    let mut system = release(workspace);
    system.arg("--no-run");
    for name in targets(workspace).into_keys() {
        system.args(["--test", name]);
    }
    [unit, system]
}

/// Test targets that need features, and which.
fn targets(workspace: &Workspace) -> BTreeMap<&str, Vec<String>> {
    let mut targets: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for package in &workspace.packages {
        let tests = package["targets"].as_array().into_iter().flatten();
        for target in tests.filter(|target| target["kind"][0] == "test") {
            let needed = strings(&target["required-features"]);
            if let (Some(name), false) = (target["name"].as_str(), needed.is_empty()) {
                targets.entry(name).or_default().extend(needed);
            }
        }
    }
    targets
}

fn release(workspace: &Workspace) -> Command {
    let mut features = Vec::new();
    for package in &workspace.packages {
        let targets = package["targets"].as_array().into_iter().flatten();
        for feature in targets.flat_map(|target| strings(&target["required-features"])) {
            let feature = format!("{}/{feature}", package["name"].as_str().unwrap_or_default());
            if !features.contains(&feature) {
                features.push(feature);
            }
        }
    }
    let mut command = workspace.cargo(&["test", "--release", "--workspace"]);
    command.args(["--features", &features.join(",")]);
    command
}

fn strings(list: &Value) -> Vec<String> {
    let strings = list.as_array().into_iter().flatten();
    strings
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
