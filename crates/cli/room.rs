//! Room on the file systems that a restore writes to.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::bail;
use nix::sys::statvfs::statvfs;
use strobe_program::program_files::Repair;

use crate::size::show_size;

/// Bytes that are free where a folder is. (Root may have those, too, that are kept for it.)
pub(crate) fn left(folder: &Path) -> io::Result<u64> {
    let there = statvfs(folder)?;
    Ok(there.blocks_free().saturating_mul(there.fragment_size()))
}

/// Whether there is room for what is done to the program's files, which all is done before any of it is settled.
pub(crate) fn check(repairs: &[Repair]) -> anyhow::Result<()> {
    check_each(repairs.iter().map(|repair| (repair.path(), repair.bytes())))
}

fn check_each<'a>(files: impl Iterator<Item = (&'a Path, u64)>) -> anyhow::Result<()> {
    // Of each file system a folder, and the bytes.
    let mut needed: BTreeMap<u64, (PathBuf, u64)> = BTreeMap::new();
    for (file, bytes) in files.filter(|(_, bytes)| *bytes > 0) {
        // Folders that are missing are made in this one.
        let there = file.ancestors().skip(1).find_map(|folder| {
            let meta = fs::metadata(folder).ok()?;
            Some((meta.dev(), folder))
        });
        if let Some((device, folder)) = there {
            let (_, sum) = needed
                .entry(device)
                .or_insert_with(|| (folder.to_owned(), 0));
            *sum = sum.saturating_add(bytes);
        }
    }
    for (folder, bytes) in needed.values() {
        if let Ok(left) = left(folder)
            && left < *bytes
        {
            bail!(
                "the program's files need {} on the file system of {}, which has {} left: make room there",
                show_size(*bytes),
                folder.display(),
                show_size(left)
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_of_a_file_system_count_together() {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, other) = (folder.path().join("one"), folder.path().join("new/other"));
        let each = |bytes| [(one.as_path(), bytes), (other.as_path(), bytes)].into_iter();
        check_each(each(1)).expect("there is room");
        check_each(each(0)).expect("nothing is needed");
        let half = left(folder.path()).expect("a file system") / 3 * 2;
        let refused = check_each(each(half)).expect_err("there is room for one");
        assert!(
            refused
                .to_string()
                .contains(&folder.path().display().to_string())
        );
    }
}
