//! Many kernels in one file through the real compiler, without HIP's headers and device library.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use strobe_isa::Target;

/// What a source is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Hip,
    Assembly,
}

impl Language {
    /// The end of a file's name.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Hip => "hip",
            Self::Assembly => "s",
        }
    }
}

/// The compiler that hipcc calls (package hipcc depends on it).
const COMPILER: &str = "clang++-15";

/// A folder for what is compiled; gone when dropped.
#[derive(Debug)]
pub struct Compiler {
    folder: tempfile::TempDir,
}

impl Compiler {
    /// # Errors
    /// If there is no room for files.
    pub fn new() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir().context("a folder for kernels")?;
        Ok(Self { folder })
    }

    /// The code object of a source; `flags` are words for the compiler, like `-O2`.
    ///
    /// # Errors
    /// If the compiler cannot be run, or does not take the source.
    pub fn compile(
        &self,
        language: Language,
        source: &str,
        flags: &str,
    ) -> anyhow::Result<Vec<u8>> {
        let path =
            |extension: &str| -> PathBuf { self.folder.path().join("k").with_extension(extension) };
        let (from, to) = (path(language.extension()), path("co"));
        fs::write(&from, source)?;
        let mut command = Command::new(COMPILER);
        match language {
            Language::Hip => command.args([
                "-x",
                "hip",
                &format!("--offload-arch={}", Target::DEFAULT),
                "--cuda-device-only",
                "--no-gpu-bundle-output",
                "-nogpulib",
                "-nogpuinc",
                "-w",
                "-c",
            ]),
            Language::Assembly => command.args([
                "-target",
                "amdgcn-amd-amdhsa",
                &format!("-mcpu={}", Target::DEFAULT),
                "-nogpulib",
            ]),
        };
        command.args(flags.split_whitespace());
        run(command.arg("-o").arg(&to).arg(&from))?;
        read(&to)
    }
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let output = command
        .output()
        .with_context(|| format!("run {COMPILER}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{COMPILER} refuses the source: {said}");
    }
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("read {}", path.display()))
}
