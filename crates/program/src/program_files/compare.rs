//! What has become of the files since.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use strobe_proto::ProgramFile;

use super::attributes::Attributes;
use super::error::ProgramFileError;
use super::folders;
use super::places::Places;
use super::record::{hash, modified_ns};
use super::repair::{Content, Repair, There};
use crate::path_map::PathMap;

/// What a restore has to do with the program's files.
#[derive(Debug, Default)]
pub struct Comparison {
    /// To be done, in this order.
    pub repairs: Vec<Repair>,
    /// Why that is not enough.
    pub refusals: Vec<ProgramFileError>,
}

/// Compares the files with their records and changes nothing. Contents lie in `images`; files in
/// `allowed` are taken as they are. Where `map` has moved a file, it may be a copy. `places` tells where files are
/// that will have their names again by then.
pub fn compare(
    records: &[ProgramFile],
    images: &Path,
    allowed: &[PathBuf],
    map: &PathMap,
    places: &Places,
) -> Comparison {
    let mut comparison = Comparison::default();
    let mut seen = BTreeSet::new();
    let others = other_names(records, allowed, places);
    let mut names = Vec::new();
    for record in records {
        let is_allowed = allowed.iter().any(|file| file == record.path());
        // Checkpoints of before each was recorded once have some twice.
        if !seen.insert(&record.path) || is_allowed {
            continue;
        }
        if let Some(first) = others.get(record.path()) {
            let name = same_file(record, first, places);
            names.extend(name.map(|repair| repair.foreseen(places)));
            continue;
        }
        match repair(record, images, map, places) {
            Ok(repair) => {
                let repair = repair.map(|repair| repair.foreseen(places));
                comparison.repairs.extend(repair);
            }
            Err(refusal) => comparison.refusals.push(refusal),
        }
    }
    // When the files are there.
    comparison.repairs.extend(names);
    comparison
}

/// Of saved files that were one, by several names: which of them each of the others is a name of. That is the one
/// which is still the same file, or the first.
fn other_names<'a>(
    records: &'a [ProgramFile],
    allowed: &[PathBuf],
    places: &Places,
) -> BTreeMap<&'a Path, &'a Path> {
    let mut files: BTreeMap<(u64, u64), Vec<&ProgramFile>> = BTreeMap::new();
    let saved = records.iter().filter(|record| !record.stored.is_empty());
    for record in saved.filter(|record| !allowed.iter().any(|file| file == record.path())) {
        let names = files.entry((record.device, record.inode)).or_default();
        if names.iter().all(|name| name.path != record.path) {
            names.push(record);
        }
    }
    let mut others = BTreeMap::new();
    for names in files.values().filter(|names| names.len() > 1) {
        let is_itself = |record: &&&ProgramFile| {
            let meta = there(record.path(), places).ok().flatten();
            meta.is_some_and(|meta| meta.is_file() && meta.ino() == record.inode)
        };
        let first = names.iter().find(is_itself).unwrap_or(&names[0]);
        let rest = names.iter().filter(|name| name.path != first.path);
        others.extend(rest.map(|name| (name.path(), first.path())));
    }
    others
}

/// What makes a file another name of the first, if it is not.
fn same_file(record: &ProgramFile, first: &Path, places: &Places) -> Option<Repair> {
    let there = |path| there(path, places).ok().flatten();
    let (meta, first_meta) = (there(record.path()), there(first));
    let is_there = match (&meta, &first_meta) {
        (Some(meta), Some(first)) if meta.ino() == first.ino() && meta.ino() == record.inode => {
            return None;
        }
        (Some(_), _) => There::Another,
        (None, _) => There::Nothing,
    };
    let content = Content::Name {
        of: first.to_owned(),
        there: is_there,
    };
    Some(spared(Repair::new(record, Some(content), None), places))
}

/// A repair that may drop nothing, unless it is the program's own that has the name.
fn spared(repair: Repair, places: &Places) -> Repair {
    match places.is_own(repair.path()) {
        true => repair,
        false => repair.sparing(),
    }
}

/// What will have this name.
fn there(path: &Path, places: &Places) -> io::Result<Option<fs::Metadata>> {
    let Some(now) = places.now(path) else {
        return Ok(None);
    };
    match fs::symlink_metadata(now) {
        Ok(meta) => Ok(Some(meta)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What makes the file what it was at the cut, if it is not.
fn repair(
    record: &ProgramFile,
    images: &Path,
    map: &PathMap,
    places: &Places,
) -> Result<Option<Repair>, ProgramFileError> {
    let path = record.path().to_owned();
    let found = there(&path, places).map_err(|error| ProgramFileError::Read {
        path: path.clone(),
        error,
    })?;
    let now = places.now(&path).unwrap_or_else(|| path.clone());
    if folders::is_folder(record) {
        return match found {
            Some(meta) if meta.is_dir() => Ok(None),
            // It may be a link to one now.
            Some(_) if now.is_dir() => Ok(None),
            Some(_) => Err(ProgramFileError::NoDirectory(path)),
            None => Ok(Some(Repair::new(record, Some(Content::Folder), None))),
        };
    }
    let stored = (!record.stored.is_empty()).then(|| images.join(&record.stored));
    let content = match (found.as_ref(), stored) {
        (Some(meta), _) if meta.is_dir() => return Err(ProgramFileError::Directory(path)),
        (None, Some(stored)) => Some(Content::Back {
            stored,
            there: There::Nothing,
        }),
        (Some(meta), Some(stored)) => {
            let kept = meta.is_file()
                && meta.len() >= record.size
                && begins_with(&now, &stored).map_err(|error| ProgramFileError::Read {
                    path: path.clone(),
                    error,
                })?;
            match kept {
                true => growth(record, meta),
                false if meta.is_file() && meta.ino() == record.inode => Some(Content::Back {
                    stored,
                    there: There::Itself,
                }),
                false => Some(Content::Back {
                    stored,
                    there: There::Another,
                }),
            }
        }
        (None, None) => return Err(ProgramFileError::Missing(path)),
        (Some(meta), None) if record.foreign => {
            check_foreign(record, meta, &now)?;
            return Ok(None);
        }
        (Some(meta), None) => {
            check_unsaved(record, meta, map.leads_to(&path), &now)?;
            growth(record, meta)
        }
    };
    let node = found.as_ref().map(fs::Metadata::ino);
    let attributes = found
        .filter(|_| content.as_ref().is_none_or(Content::keeps_file))
        .map(|meta| Attributes::of(&meta))
        .filter(|now| record.mode != 0 && *now != Attributes::recorded(record));
    if content.is_none() && attributes.is_none() {
        return Ok(None);
    }
    let replaces = matches!(
        content,
        Some(Content::Back {
            there: There::Another,
            ..
        })
    );
    let mut repair = Repair::new(record, content, attributes);
    if repair.content.as_ref().is_none_or(Content::keeps_file) {
        repair.node = node;
    }
    Ok(Some(match replaces {
        true => spared(repair, places),
        false => repair,
    }))
}

fn growth(record: &ProgramFile, meta: &fs::Metadata) -> Option<Content> {
    let grown = meta.len() - record.size;
    (grown > 0).then_some(Content::CutBack { grown })
}

/// Of a file whose contents were not saved: that it has them still. Of a copy their hash can tell that.
fn check_unsaved(
    record: &ProgramFile,
    meta: &fs::Metadata,
    may_be_copy: bool,
    now_at: &Path,
) -> Result<(), ProgramFileError> {
    let path = record.path().to_owned();
    // The inode only: device numbers change when disks are found in another order.
    let is_known = meta.ino() == record.inode || may_be_copy && !record.blake3.is_empty();
    if !meta.is_file() || !is_known {
        return Err(ProgramFileError::Replaced(path));
    }
    let (then, now) = (record.size, meta.len());
    if now < then {
        return Err(ProgramFileError::Shrunk { path, then, now });
    }
    if record.blake3.is_empty() {
        // Only appended to, or too large.
        return match record.modified_ns {
            0 => Ok(()),
            then if then == modified_ns(meta) => Ok(()),
            _ => Err(ProgramFileError::TooLarge(path)),
        };
    }
    // The time of the last change says nothing: it stands still for pages that are mapped and dirty.
    check_hash(record, path, now_at)
}

/// Of a file that the program only reads: that it is the same.
fn check_foreign(
    record: &ProgramFile,
    meta: &fs::Metadata,
    now_at: &Path,
) -> Result<(), ProgramFileError> {
    let path = record.path().to_owned();
    // The path is the file's own: a link has taken its place.
    if !meta.is_file() {
        return Err(ProgramFileError::Replaced(path));
    }
    if meta.mode() != record.mode {
        let (then, now) = (record.mode & 0o7777, meta.mode() & 0o7777);
        return Err(ProgramFileError::Mode { path, then, now });
    }
    if meta.len() != record.size {
        return Err(ProgramFileError::Changed(path));
    }
    if modified_ns(meta) == record.modified_ns {
        return Ok(());
    }
    match record.blake3.is_empty() {
        true => Err(ProgramFileError::TooLarge(path)),
        false => check_hash(record, path, now_at),
    }
}

fn check_hash(record: &ProgramFile, path: PathBuf, now_at: &Path) -> Result<(), ProgramFileError> {
    match hash(now_at, record.size) {
        Ok(now) if now == record.blake3 => Ok(()),
        Ok(_) => Err(ProgramFileError::Changed(path)),
        Err(error) => Err(ProgramFileError::Read { path, error }),
    }
}

/// Whether the bytes of `start` are the first of `path`.
fn begins_with(path: &Path, start: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(path)?, File::open(start)?);
    let mut buffers = (vec![0; 256 << 10], vec![0; 256 << 10]);
    loop {
        let len = match other.read(&mut buffers.1) {
            Ok(0) => return Ok(true),
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        match one.read_exact(&mut buffers.0[..len]) {
            Ok(()) if buffers.0[..len] == buffers.1[..len] => {}
            Ok(()) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}
