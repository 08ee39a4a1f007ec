//! The parts of the test suite: what `cargo test` is asked for, and with which features.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::workspace::{Profile, Workspace};
use crate::{build, corpus, shell};

/// One for all parts.
const PROFILE: Profile = Profile::Checked;

/// The feature whose tests read a whole library; ignored where it is not at hand, here it is.
pub(crate) const ORACLE: &str = "oracle";

/// The package whose tests break rules of the analysis: its feature changes what others depend on. These
/// are built by themselves, so that all other tests see what is shipped.
const FUZZ: &str = "strobe-fuzz";

/// Names of test targets, the longest first: a part that starts last should be short.
const LONGEST: [&str; 4] = ["checkpoint", "footprints", "softgpu", "same"];

/// One command of the suite.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) command: Command,
    /// It passes or fails as a whole, and is not asked how many tests it ran.
    pub(super) is_one_check: bool,
    /// Its tests run one after the other: how long each takes can be told.
    pub(super) is_one_by_one: bool,
}

impl Part {
    fn new(name: &str, command: Command) -> Self {
        Self {
            name: name.to_owned(),
            command,
            is_one_check: false,
            is_one_by_one: false,
        }
    }
}

/// Clippy, over all there is, and over what is shipped. It shares what it can with the build of the tests.
pub(super) fn lints(workspace: &Workspace) -> [Command; 2] {
    ["--all-features", "--no-default-features"].map(|features| {
        let arguments = ["clippy", "--workspace", "--all-targets", features];
        let mut command = workspace.cargo(&arguments);
        command.args(["--profile", PROFILE.name(), "--keep-going"]);
        command.args(["--", "-D", "warnings"]);
        command
    })
}

/// All documentation of libraries, without a broken link or an empty one.
pub(super) fn documentation(workspace: &Workspace) -> Command {
    let arguments = ["doc", "--workspace", "--lib", "--no-deps", "--keep-going"];
    let mut command = workspace.cargo(&arguments);
    command.args(["--profile", PROFILE.name()]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    command
}

/// Tests that need nothing but Rust, and those in the documentation.
pub(super) fn unit(workspace: &Workspace) -> [Part; 2] {
    let mut unit = cargo_test(workspace);
    unit.args(["--no-fail-fast", "--lib", "--bins"]);
    for (name, needed) in ordinary(workspace) {
        if needed.is_empty() {
            unit.args(["--test", name]);
        }
    }
    let mut documentation = cargo_test(workspace);
    documentation.arg("--doc");
    let mut documentation = Part::new("documentation", documentation);
    documentation.is_one_check = true;
    [Part::new("unit", unit), documentation]
}

/// A part for each test target that needs ROCm, CRIU, LLVM or root, by the features that its
/// manifest says it needs.
pub(super) fn system(workspace: &Workspace) -> Vec<Part> {
    let place = |name: &str| LONGEST.iter().position(|long| *long == name);
    let mut targets: Vec<_> = ordinary(workspace).into_iter().collect();
    targets.retain(|(_, needed)| !needed.is_empty());
    targets.sort_by_key(|(name, _)| (place(name).unwrap_or(LONGEST.len()), *name));
    let parts = targets.into_iter().map(|(name, needed)| {
        let mut command = cargo_test(workspace);
        command.args(["--no-fail-fast", "--test", name, "--", "--test-threads=1"]);
        if needed.iter().any(|feature| feature == ORACLE) {
            command.arg("--include-ignored");
        }
        command.env("STROBE_CORPUS", corpus::folder(workspace));
        Part {
            is_one_by_one: true,
            ..Part::new(name, command)
        }
    });
    parts.collect()
}

/// The tests of the fuzzer that need its feature.
pub(super) fn fuzz(workspace: &Workspace) -> Part {
    let mut command = fuzz_command(workspace, "test");
    command.args(["--no-fail-fast", "--", "--test-threads=1"]);
    Part::new(FUZZ, command)
}

/// Builds all that is run, so that no part waits for the build of another: programs and tests in one,
/// and always of the whole workspace, for with other packages cargo chooses other features of what they
/// depend on, and builds that again.
pub(super) fn build(workspace: &Workspace) -> anyhow::Result<()> {
    let features = features(workspace, |name| name != FUZZ);
    let all = ["--workspace", "--all-targets", "--features", &features];
    build::build(workspace, PROFILE, &all)?;
    shell::run(&mut fuzz_command(workspace, "build"))
}

fn fuzz_command(workspace: &Workspace, verb: &str) -> Command {
    let mut command = workspace.cargo(&[verb, "--workspace", "--profile", PROFILE.name()]);
    command.args(["--features", &features(workspace, |_| true)]);
    for (name, _) in targets(workspace, |package, needed| {
        package == FUZZ && !needed.is_empty()
    }) {
        command.args(["--test", name]);
    }
    command
}

/// The test targets of packages that are wanted, by their name and the features that they need; all
/// features that a name needs.
fn targets(
    workspace: &Workspace,
    wanted: impl Fn(&str, &[String]) -> bool,
) -> BTreeMap<&str, Vec<String>> {
    let mut targets: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for package in &workspace.packages {
        for target in targets_of(package) {
            let needed = strings(&target["required-features"]);
            if let (true, Some(name)) = (target["kind"][0] == "test", target["name"].as_str())
                && wanted(name_of(package), &needed)
            {
                targets.entry(name).or_default().extend(needed);
            }
        }
    }
    targets
}

/// Those that see what is shipped.
fn ordinary(workspace: &Workspace) -> BTreeMap<&str, Vec<String>> {
    targets(workspace, |package, needed| {
        package != FUZZ || needed.is_empty()
    })
}

fn cargo_test(workspace: &Workspace) -> Command {
    let mut command = workspace.cargo(&["test", "--workspace", "--profile", PROFILE.name()]);
    command.args(["--features", &features(workspace, |name| name != FUZZ)]);
    command
}

/// All that tests of these packages need, the same for all parts: what they have in common is built once.
fn features(workspace: &Workspace, of: impl Fn(&str) -> bool) -> String {
    let mut features = Vec::new();
    let packages = workspace.packages.iter();
    for package in packages.filter(|package| of(name_of(package))) {
        for feature in targets_of(package).flat_map(|target| strings(&target["required-features"]))
        {
            let feature = format!("{}/{feature}", name_of(package));
            if !features.contains(&feature) {
                features.push(feature);
            }
        }
    }
    features.join(",")
}

fn name_of(package: &Value) -> &str {
    package["name"].as_str().unwrap_or_default()
}

fn targets_of(package: &Value) -> impl Iterator<Item = &Value> {
    package["targets"].as_array().into_iter().flatten()
}

fn strings(list: &Value) -> Vec<String> {
    let strings = list.as_array().into_iter().flatten();
    strings
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
