//! Where things are, as cargo tells.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use crate::shell;

/// This workspace.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    /// `packages` of `cargo metadata`: the members only.
    pub(crate) packages: Vec<Value>,
    /// `[workspace.metadata]` of the root manifest: reasons for exceptions.
    pub(crate) metadata: Value,
}

/// How code is built.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Profile {
    Release,
    /// A release with all assertions, for tests.
    Checked,
}

impl Profile {
    /// For cargo's `--profile`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Profile::Release => "release",
            Profile::Checked => "checked",
        }
    }
}

impl Workspace {
    pub(crate) fn find() -> anyhow::Result<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut metadata = Command::new(cargo());
        metadata
            .args(["metadata", "--format-version=1", "--no-deps"])
            .current_dir(manifest);
        let metadata: Value = serde_json::from_str(&shell::output(&mut metadata)?)?;
        let path = |key: &str| {
            metadata[key]
                .as_str()
                .map(PathBuf::from)
                .context("cargo metadata")
        };
        Ok(Self {
            root: path("workspace_root")?,
            target: path("target_directory")?,
            packages: metadata["packages"]
                .as_array()
                .context("cargo metadata")?
                .clone(),
            metadata: metadata["metadata"].clone(),
        })
    }

    /// The finished binaries.
    pub(crate) fn release(&self) -> PathBuf {
        self.built(Profile::Release)
    }

    /// What was built with a profile.
    pub(crate) fn built(&self, profile: Profile) -> PathBuf {
        self.target.join(profile.name())
    }

    /// A cargo that works on this workspace.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(cargo());
        command.args(arguments).current_dir(&self.root);
        command
    }
}

fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
