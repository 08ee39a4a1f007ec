//! The agent's kernels: the committed code objects are what the compiler makes of their source.

#[path = "../src/device/objects.rs"]
mod objects;

use objects::OBJECTS;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian's, the one that hipcc of ROCm 5.2.3 runs, which does not know the newest target.
fn compiler(target: &str) -> &'static str {
    match target {
        "gfx942" => "clang-19",
        _ => "clang-15",
    }
}

/// Where the compilers find their linker, which is of one release for all.
const LINKER: &str = "-B/usr/lib/llvm-15/bin";

/// The sources, in the order of their names.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut sources: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of the kernels")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "cl"))
        .collect();
    sources.sort();
    sources
}

/// `STROBE_BLESS=1 cargo test -p strobe-agent --features rocm --test kernels` writes them anew.
#[test]
fn committed_code_objects_are_what_their_source_compiles_to() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let out = tempfile::tempdir().expect("a temporary directory");
    for (target, _) in OBJECTS {
        let name = format!("{target}.co");
        let fresh = out.path().join(&name);
        let status = Command::new(compiler(target))
            .args(["-x", "cl", "-cl-std=CL2.0", "-O3", "-Wall", "-Werror"])
            .args(["-target", "amdgcn-amd-amdhsa", "-nogpulib"])
            .args([&format!("-mcpu={target}"), "-mcode-object-version=4"])
            .args(sources(&folder))
            .arg(LINKER)
            .arg("-o")
            .arg(&fresh)
            .status()
            .expect("the compiler runs");
        assert!(status.success(), "the kernels do not compile for {target}");
        let fresh = std::fs::read(&fresh).expect("a code object");
        let committed = folder.join(&name);
        if std::env::var_os("STROBE_BLESS").is_some() {
            std::fs::write(&committed, &fresh).expect("the folder is writable");
        }
        let committed = std::fs::read(&committed).unwrap_or_default();
        assert!(
            committed == fresh,
            "{name} is not what the sources compile to: run \
             STROBE_BLESS=1 cargo test -p strobe-agent --features rocm --test kernels"
        );
    }
}
