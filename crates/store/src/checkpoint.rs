//! Reading a checkpoint directory.

use crate::chunk;
use crate::damage::{Damage, Defect, open};
use crate::manifest;
use crate::series;
use crate::tree::{Tree, check};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use strobe_proto::{ChunkRef, FileRecord, Manifest, files};

/// A committed checkpoint directory whose manifest has been checked.
#[derive(Debug)]
pub struct Checkpoint {
    root: PathBuf,
    manifest: Manifest,
    /// It is not removed meanwhile.
    _held: Option<File>,
}

/// How far a verification is, in bytes of files and raw chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Checked so far.
    pub done: u64,
    /// To check.
    pub total: u64,
}

/// What a verified checkpoint holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifiedSummary {
    /// Files of CRIU and of the program.
    pub files: u64,
    /// Their bytes.
    pub file_bytes: u64,
    /// Chunk files.
    pub chunks: u64,
    /// Bytes of GPU memory that the checkpoint restores.
    pub tracked_bytes: u64,
}

fn bytes<'a>(files: impl Iterator<Item = &'a FileRecord>) -> u64 {
    files.fold(0, |sum: u64, file| sum.saturating_add(file.len))
}

impl Checkpoint {
    /// Opens a checkpoint; checks its manifest and nothing else.
    pub fn open(root: &Path) -> Result<Checkpoint, Damage> {
        // Before it is looked at: what is there then stays.
        let held = series::hold(root);
        let manifest = manifest::load(root)?;
        Ok(Checkpoint {
            root: root.to_owned(),
            manifest,
            _held: held,
        })
    }

    /// One that was written just now.
    pub(crate) fn of(root: PathBuf, manifest: Manifest) -> Checkpoint {
        Checkpoint {
            _held: series::hold(&root),
            root,
            manifest,
        }
    }

    /// What it consists of. Extents are disjoint, and each is covered by its chunks.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Where CRIU's images are.
    pub fn criu_dir(&self) -> PathBuf {
        self.root.join(files::CRIU)
    }

    /// The raw bytes of a chunk, checked.
    pub fn read_chunk(&self, chunk: &ChunkRef) -> Result<Vec<u8>, Damage> {
        let mut raw = Vec::new();
        self.read_chunk_into(chunk, &mut raw)?;
        Ok(raw)
    }

    /// Puts the raw bytes of a chunk, checked, in place of what `raw` holds; on damage it is empty.
    /// For many chunks this is much faster, because no fresh memory is touched.
    pub fn read_chunk_into(&self, chunk: &ChunkRef, raw: &mut Vec<u8>) -> Result<(), Damage> {
        let at_manifest = |defect: Defect| defect.at(&self.root.join(files::MANIFEST));
        raw.clear();
        match chunk::hash_of(chunk).map_err(at_manifest)? {
            None => {
                raw.resize(chunk.len as usize, 0);
                Ok(())
            }
            Some(hash) => {
                let (_, path) = chunk::place(&self.chunks_dir(), &hash);
                chunk::load(&path, &hash, chunk.len, raw)
            }
        }
    }

    /// Looks whether CRIU's and the program's files are those that are listed, and regular files, and each of them and
    /// each chunk is there in its full length. What is in them is [`Checkpoint::verify`]'s.
    pub fn look(&self) -> Result<(), Damage> {
        for file in self.plain_files() {
            let path = self.root.join(&file.path);
            let (_, found) = open(&path).map_err(|defect| defect.at(&path))?;
            if found != file.len {
                let expected = file.len;
                return Err(Defect::Length { expected, found }.at(&path));
            }
        }
        self.look_for_unlisted()?;
        let folder = self.chunks_dir();
        let mut seen = BTreeSet::new();
        for chunk in manifest::chunks(&self.manifest) {
            let hash = chunk::hash_of(chunk);
            let hash = hash.map_err(|defect| defect.at(&self.root.join(files::MANIFEST)))?;
            if let Some(hash) = hash.filter(|hash| seen.insert((*hash, chunk.len))) {
                chunk::look(&chunk::place(&folder, &hash).1, chunk.len)?;
            }
        }
        Ok(())
    }

    /// Reads and checks everything. The error names the first file that is damaged, missing, or
    /// among CRIU's or the program's files without being listed; anything else besides is ignored.
    pub fn verify(&self, progress: &mut dyn FnMut(Progress)) -> Result<VerifiedSummary, Damage> {
        let mut chunks = BTreeMap::new();
        for chunk in manifest::chunks(&self.manifest).filter(|c| !c.blake3.is_empty()) {
            chunks.insert((chunk.blake3.as_slice(), chunk.len), chunk);
        }
        let total = chunks
            .values()
            .fold(self.plain_bytes(), |sum, c| sum.saturating_add(c.len));
        let mut at = Progress { done: 0, total };
        let mut advance = |bytes| {
            at.done += bytes;
            progress(at);
        };
        self.verify_files(&mut advance)?;
        let mut raw = Vec::new();
        for chunk in chunks.values() {
            self.read_chunk_into(chunk, &mut raw)?;
            advance(chunk.len);
        }
        Ok(VerifiedSummary {
            files: self.manifest.files.len() as u64,
            file_bytes: bytes(self.manifest.files.iter()),
            chunks: chunks.len() as u64,
            tracked_bytes: manifest::tracked(&self.manifest)
                .flat_map(|t| &t.chunks)
                .map(|c| c.len)
                .sum(),
        })
    }

    /// CRIU's and the program's files that lie in the directory as they are.
    pub fn plain_files(&self) -> impl Iterator<Item = &FileRecord> {
        let files = self.manifest.files.iter();
        files.filter(|file| !manifest::is_in_chunks(file))
    }

    /// Bytes of all [`Checkpoint::plain_files`].
    pub fn plain_bytes(&self) -> u64 {
        bytes(self.plain_files())
    }

    /// CRIU's images whose content lies in chunks: not there as files.
    pub fn images_in_chunks(&self) -> impl Iterator<Item = &FileRecord> {
        let files = self.manifest.files.iter();
        files.filter(|file| manifest::is_in_chunks(file))
    }

    /// The part of [`Checkpoint::verify`] about CRIU's and the program's plain files. A restore starts with
    /// it and checks chunks as it reads them. `progress` is told of bytes as they are read.
    pub fn verify_files(&self, progress: &mut dyn FnMut(u64)) -> Result<(), Damage> {
        for file in self.plain_files() {
            check(&self.root, file, progress)?;
        }
        self.look_for_unlisted()
    }

    fn look_for_unlisted(&self) -> Result<(), Damage> {
        let unlisted = |path: &&String| {
            manifest::find_file(&self.manifest, path).is_none_or(manifest::is_in_chunks)
        };
        match Tree::walk(&self.root)?.files.iter().find(unlisted) {
            Some(extra) => Err(Defect::Unlisted.at(&self.root.join(extra))),
            None => Ok(()),
        }
    }

    pub(crate) fn chunks_dir(&self) -> PathBuf {
        self.root.join(files::CHUNKS)
    }
}
