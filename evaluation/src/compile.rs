//! The programs of `tests/programs`, compiled by the real hipcc.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, bail};
use strobe_isa::Target;

/// The target of the software GPU, where no other is asked for.
pub const TARGET: &Target = Target::DEFAULT;

/// Folder of the sources.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs")
}

/// Compiles a HIP program with `level` (for example "-O3") unless it is there already. `source` is
/// relative to [`sources`]; the result goes into `folder`.
pub fn hip(source: &str, level: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    hip_for(TARGET, source, level, folder)
}

/// The same for any target.
pub fn hip_for(
    target: &Target,
    source: &str,
    level: &str,
    folder: &Path,
) -> anyhow::Result<PathBuf> {
    let mut command = Command::new("hipcc");
    command.args([level, &format!("--offload-arch={target}")]);
    let libraries = match OF_CORPUS.iter().find(|(program, _)| *program == source) {
        Some((_, library)) => {
            let corpus = corpus()?;
            command.args(["-std=c++17", "-isystem"]);
            command.arg(corpus.join("usr/include"));
            let folder = corpus.join("usr/lib/x86_64-linux-gnu");
            let folder = folder.to_str().context("a path that is not UTF-8")?;
            let search = [format!("-L{folder}"), format!("-Wl,-rpath,{folder}")];
            let library = library.iter().map(|&library| library.to_owned());
            search.into_iter().chain(library).collect()
        }
        None => vec!["-lrocrand".to_owned(), "-lhsa-runtime64".to_owned()],
    };
    let kind = match target == TARGET {
        true => format!("{level}.hip"),
        false => format!("{level}.{target}.hip"),
    };
    compile(source, &kind, folder, command, &libraries)
}

/// Programs that call libraries which are not installed but unpacked, and what they link.
const OF_CORPUS: [(&str, &[&str]); 2] =
    [("prim.cpp", &[]), ("sparse.cpp", &["-l:librocsparse.so.0"])];

/// The folder of the unpacked libraries: `STROBE_CORPUS`, or where `cargo xtask test` puts them.
fn corpus() -> anyhow::Result<PathBuf> {
    let folder = match std::env::var_os("STROBE_CORPUS") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/corpus"),
    };
    std::path::absolute(&folder).with_context(|| format!("find {}", folder.display()))
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
    libraries: &[impl AsRef<OsStr>],
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
