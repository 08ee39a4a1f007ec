//! The kernels for one target in all files of a folder.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use strobe_code_object::{CodeObject, ExtractError, ObjectLimits, TargetName, visit_file};

/// Folders in folders.
const DEPTH: usize = 64;

const ELF: &[u8] = b"\x7fELF";
const BUNDLES: [&[u8]; 2] = [b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"];

/// All regular files, in the order of their paths.
pub(super) fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(folder, DEPTH, &mut found)?;
    found.sort_unstable();
    Ok(found)
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && depth > 0 {
            collect(&entry.path(), depth - 1, found)?;
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    Ok(())
}

/// A file that may hold device code.
pub(super) fn open(path: &Path) -> anyhow::Result<Option<File>> {
    let file = File::open(path).with_context(|| format!("open {}", path.display()))?;
    let mut start = [0; 24];
    if file.metadata()?.len() < start.len() as u64 {
        return Ok(None);
    }
    file.read_exact_at(&mut start, 0)?;
    let is_meant = start.starts_with(ELF) || BUNDLES.iter().any(|magic| start.starts_with(magic));
    Ok(is_meant.then_some(file))
}

/// Calls `each` with every code object for `target`, until it says that it is enough; one of them is unpacked at a
/// time. What cannot be read is noted in `refused`.
pub(super) fn objects(
    file: &File,
    target: &str,
    refused: &mut Vec<String>,
    mut each: impl FnMut(&CodeObject) -> bool,
) {
    let limits = ObjectLimits::default();
    let mut has_own = false;
    let look = |triple: &str| {
        has_own |= TargetName::of_triple(triple).processor() == target;
        false
    };
    // What cannot be read is noted below.
    let _ = visit_file(file, &limits, look, |_| ControlFlow::Continue(()));
    let is_meant = |of: TargetName<'_>| match has_own {
        true => of.processor() == target,
        false => of.includes(target),
    };
    let wanted = |triple: &str| triple.is_empty() || is_meant(TargetName::of_triple(triple));
    let mut failed = Vec::new();
    let visited = visit_file(file, &limits, wanted, |extracted| {
        match CodeObject::parse(&extracted.bytes, &limits) {
            Ok(object)
                if object
                    .target
                    .name()
                    .is_some_and(|of| is_meant(TargetName::new(of))) =>
            {
                if !each(&object) {
                    return ControlFlow::Break(());
                }
            }
            Ok(_) => {}
            Err(error) => failed.push(format!("at byte {}: {error}", extracted.at)),
        }
        ControlFlow::Continue(())
    });
    refused.append(&mut failed);
    match visited {
        Ok(()) | Err(ExtractError::Format | ExtractError::NoDeviceCode) => {}
        Err(error) => refused.push(error.to_string()),
    }
}
