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
    let hash = || {
        let (mut file, len) = open(&full)?;
        let mut hasher = blake3::Hasher::new();
        let found = io::copy(&mut file, &mut hasher)?;
        match found == len {
            true => Ok((len, hasher.finalize())),
            false => Err(Defect::Length {
                expected: len,
                found,
            }),
        }
    };
    let (len, hash) = hash().map_err(|defect| defect.at(&full))?;
    Ok(FileRecord {
        path: path.to_owned(),
        len,
        blake3: hash.as_bytes().to_vec(),
        chunks: Vec::new(),
    })
}

/// Checks a file of the tree against what was recorded; reports bytes as they are read.
pub(crate) fn check(
    root: &Path,
    record: &FileRecord,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Damage> {
    pass_on(root, record, |bytes| {
        progress(bytes.len() as u64);
        Ok(())
    })
}

/// Hands on the bytes of a file of the tree, and checks it against what was recorded.
pub(crate) fn pass_on<E: From<Damage>>(
    root: &Path,
    record: &FileRecord,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let path: PathBuf = root.join(&record.path);
    let at = |defect: Defect| defect.at(&path);
    let expected = record.len;
    let (mut file, found) = open(&path).map_err(at)?;
    if found != expected {
        return Err(at(Defect::Length { expected, found }).into());
    }
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; BUFFER.min(expected as usize).max(1)];
    let mut found = 0;
    // A file that grows meanwhile is read no further.
    while found <= expected {
        match file.read(&mut buffer).map_err(|error| at(error.into()))? {
            0 => break,
            count => {
                hasher.update(&buffer[..count]);
                found += count as u64;
                take(&buffer[..count])?;
            }
        }
    }
    if found != expected {
        return Err(at(Defect::Length { expected, found }).into());
    }
    match hasher.finalize().as_bytes() == record.blake3.as_slice() {
        true => Ok(()),
        false => Err(at(Defect::Content).into()),
    }
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
