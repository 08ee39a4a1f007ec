//! The plain files of a checkpoint: everything below `criu` and `files`.

use crate::damage::{Damage, Defect, open};
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use strobe_proto::{FileRecord, files};

/// The folders whose files the manifest lists.
pub(crate) const FOLDERS: [&str; 2] = [files::CRIU, files::FILES];
/// How deep folders may lie in each other.
const MAX_DEPTH: usize = 8;
/// How many files there may be.
pub(crate) const MAX_FILES: usize = 1 << 20;
/// Bytes read at once.
const BUFFER: usize = 1 << 20;

/// Everything below the listed folders of `root`.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Relative to `root`, sorted.
    pub(crate) files: Vec<String>,
    /// Relative to `root`, outermost first.
    pub(crate) folders: Vec<String>,
}

impl Tree {
    /// Lists the tree; anything but files and folders is refused.
    pub(crate) fn walk(root: &Path) -> Result<Tree, Damage> {
        let mut tree = Tree::default();
        for folder in FOLDERS {
            tree.enter(root, folder.to_owned(), 0)?;
        }
        tree.files.sort_unstable();
        Ok(tree)
    }

    fn enter(&mut self, root: &Path, folder: String, depth: usize) -> Result<(), Damage> {
        let path = root.join(&folder);
        let at = |error: io::Error| Defect::Io(error).at(&path);
        if depth > MAX_DEPTH {
            return Err(Defect::Invalid("folders lie too deep".to_owned()).at(&path));
        }
        self.folders.push(folder.clone());
        for entry in fs::read_dir(&path).map_err(at)? {
            let entry = entry.map_err(at)?;
            let kind = entry.file_type().map_err(at)?;
            let name = entry.file_name().into_string();
            let name = name.map_err(|_| Defect::Invalid("its name is no UTF-8".to_owned()));
            let name = format!(
                "{folder}/{}",
                name.map_err(|defect| defect.at(&entry.path()))?
            );
            if kind.is_dir() {
                self.enter(root, name, depth + 1)?;
            } else if kind.is_file() && self.files.len() < MAX_FILES {
                self.files.push(name);
            } else if kind.is_file() {
                return Err(Defect::Invalid("there are too many files".to_owned()).at(&path));
            } else {
                return Err(Defect::NotAFile.at(&entry.path()));
            }
        }
        Ok(())
    }
}

/// Whether `path` stays inside the listed folders of a checkpoint.
pub(crate) fn is_listed_path(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    let first = parts.next();
    FOLDERS
        .iter()
        .any(|f| first == Some(Component::Normal(f.as_ref())))
        && parts.clone().next().is_some()
        && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Hashes a file of the tree.
pub(crate) fn record(root: &Path, path: &str) -> Result<FileRecord, Damage> {
    let full = root.join(path);
    let (len, hash) = hash_file(&full, &mut |_| {}).map_err(|defect| defect.at(&full))?;
    Ok(FileRecord {
        path: path.to_owned(),
        len,
        blake3: hash.as_bytes().to_vec(),
    })
}

/// Checks a file of the tree against what was recorded; reports bytes as they are read.
pub(crate) fn check(
    root: &Path,
    record: &FileRecord,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Damage> {
    let path: PathBuf = root.join(&record.path);
    let compare = |progress: &mut dyn FnMut(u64)| {
        let (_, found) = open(&path)?;
        if found != record.len {
            return Err(Defect::Length {
                expected: record.len,
                found,
            });
        }
        let (_, hash) = hash_file(&path, progress)?;
        if hash.as_bytes() != record.blake3.as_slice() {
            return Err(Defect::Content);
        }
        Ok(())
    };
    compare(progress).map_err(|defect| defect.at(&path))
}

fn hash_file(path: &Path, progress: &mut dyn FnMut(u64)) -> Result<(u64, blake3::Hash), Defect> {
    let (mut file, expected) = open(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; BUFFER.min(expected as usize).max(1)];
    let mut found = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => {
                hasher.update(&buffer[..count]);
                found += count as u64;
                progress(count as u64);
            }
        }
        if found > expected {
            break;
        }
    }
    if found != expected {
        return Err(Defect::Length { expected, found });
    }
    Ok((found, hasher.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        for good in ["criu/core-1.img", "files/a/b"] {
            assert!(is_listed_path(good), "{good}");
        }
        let bad = [
            "",
            "criu",
            "criu/",
            "/etc/passwd",
            "criu/../manifest.pb",
            "../criu/a",
            "chunks/a",
        ];
        for bad in bad {
            assert!(!is_listed_path(bad), "{bad}");
        }
    }
}
