//! The programs of `tests/programs`, compiled by the real hipcc.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, bail};

/// The target of the software GPU.
pub const TARGET: &str = "gfx906";

/// Folder of the sources.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs")
}

/// Compiles a HIP program with `level` (for example "-O3") unless it is there already. `source` is
/// relative to [`sources`]; the result goes into `folder`.
pub fn hip(source: &str, level: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let mut command = Command::new("hipcc");
    command.args([level, &format!("--offload-arch={TARGET}")]);
    compile(
        source,
        &format!("{level}.hip"),
        folder,
        command,
        &["-lrocrand"],
    )
}

/// Compiles a program that needs no GPU compiler.
pub fn host(source: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let mut command = Command::new(if source.ends_with(".c") { "cc" } else { "c++" });
    command.arg("-O2");
    compile(source, "host", folder, command, &["-ldl"])
}

/// Compiles a library to preload.
pub fn shared(source: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let mut command = Command::new("cc");
    command.args(["-O2", "-shared", "-fPIC"]);
    compile(source, "shared", folder, command, &["-ldl"])
}

fn compile(
    source: &str,
    kind: &str,
    folder: &Path,
    mut command: Command,
    libraries: &[&str],
) -> anyhow::Result<PathBuf> {
    let path = sources().join(source);
    // Two folders may have a source of one name.
    let name = Path::new(source)
        .with_extension("")
        .to_string_lossy()
        .replace('/', "-");
    let program = folder.join(format!("{name}{}", kind.replace("-O", ".O")));
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    if is_newer(&program, &path)? {
        return Ok(program);
    }
    // Tests run side by side, and levels of one source: each writes a file of its own and puts it
    // in place.
    let part = folder.join(format!("{name}{kind}.{}.part", std::process::id()));
    command.arg(&path).arg("-o").arg(&part).args(libraries);
    let output = command
        .output()
        .with_context(|| format!("run {command:?}"))?;
    if !output.status.success() {
        bail!(
            "{source} does not compile: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    fs::rename(&part, &program)?;
    Ok(program)
}

/// Whether `program` is newer than its source and the headers around it.
fn is_newer(program: &Path, source: &Path) -> anyhow::Result<bool> {
    let Ok(made) = fs::metadata(program).and_then(|m| m.modified()) else {
        return Ok(false);
    };
    let folder = source.parent().context("a source is in a folder")?;
    let mut newest = SystemTime::UNIX_EPOCH;
    for folder in [folder, &sources()] {
        for entry in fs::read_dir(folder)? {
            newest = newest.max(entry?.metadata()?.modified()?);
        }
    }
    Ok(made > newest)
}
