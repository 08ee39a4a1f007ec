//! Writing a checkpoint directory.

use crate::checkpoint::Checkpoint;
use crate::chunk::{self, Hash};
use crate::damage::{self, Damage, Defect};
use crate::disk::{Context, Disk, DiskError, LocalDisk};
use crate::manifest;
use crate::staging::{Staging, parent, remove_dead_on};
use crate::tree::{Tree, record};
use prost::Message;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, iter};
use strobe_proto::{ChunkRef, FileRecord, Manifest, files};

/// Builds one checkpoint directory. Dropped without [`CheckpointWriter::commit`], it leaves nothing behind.
#[derive(Debug)]
pub struct CheckpointWriter {
    disk: Arc<dyn Disk>,
    target: PathBuf,
    staging: Staging,
    base: Option<Checkpoint>,
    /// What lies in `chunks`.
    stored: BTreeSet<Hash>,
    /// The images whose content lies there.
    in_chunks: Vec<FileRecord>,
    /// The content of a chunk of the base; kept because fresh memory is slow.
    existing: Vec<u8>,
    committed: bool,
    statistics: WriterStatistics,
}

/// What went into a checkpoint so far, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriterStatistics {
    /// Handed in.
    pub raw: u64,
    /// Of these, zero.
    pub zero: u64,
    /// Of these, equal to a chunk that was there already.
    pub repeated: u64,
    /// Of these, shared with the base checkpoint.
    pub linked: u64,
    /// Written to chunk files, headers included.
    pub written: u64,
}

/// Why a checkpoint cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// Something is there already; it is left as it is.
    #[error("{0} exists already")]
    Exists(PathBuf),
    /// The path names no new directory.
    #[error("{0} names no directory to make")]
    NoName(PathBuf),
    /// The checkpoint to share chunks with is no checkpoint.
    #[error("the base checkpoint cannot be used: {0}")]
    Base(#[source] Damage),
    /// The staging directory cannot be made.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// Why a checkpoint was not committed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// The manifest says something impossible.
    #[error("the manifest is inconsistent: {0}")]
    Manifest(#[source] Defect),
    /// The manifest names a chunk that was never put.
    #[error("the manifest names a chunk that was not stored: {0}")]
    NoSuchChunk(String),
    /// A file of CRIU's or the program's cannot be recorded.
    #[error(transparent)]
    File(#[from] Damage),
    /// Something has taken the place of the checkpoint in the meantime; it is left as it is.
    #[error("{0} exists by now")]
    Exists(PathBuf),
    /// Writing failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// It is complete and in its place, but may be gone after a power failure.
    #[error("the checkpoint is complete but perhaps not durable: {0}")]
    NotDurable(#[source] DiskError),
}

impl CheckpointWriter {
    /// Starts a checkpoint that will be `target`, which must not exist, in a directory that does.
    /// Chunks that `base`, another checkpoint, holds are shared with it.
    pub fn create(target: &Path, base: Option<&Path>) -> Result<CheckpointWriter, CreateError> {
        CheckpointWriter::create_on(Arc::new(LocalDisk), target, base)
    }

    /// As [`CheckpointWriter::create`], on another disk.
    pub fn create_on(
        disk: Arc<dyn Disk>,
        target: &Path,
        base: Option<&Path>,
    ) -> Result<CheckpointWriter, CreateError> {
        let absolute = std::path::absolute(target).context("find", target)?;
        let target = absolute.as_path();
        if target.file_name().is_none() {
            return Err(CreateError::NoName(absolute));
        }
        if target.symlink_metadata().is_ok() {
            return Err(CreateError::Exists(target.to_owned()));
        }
        let base = base
            .map(Checkpoint::open)
            .transpose()
            .map_err(CreateError::Base)?;
        remove_dead_on(&*disk, parent(target))?;
        let staging = Staging::make(&*disk, target)?;
        let writer = CheckpointWriter {
            disk,
            target: target.to_owned(),
            staging,
            base,
            stored: BTreeSet::new(),
            in_chunks: Vec::new(),
            existing: Vec::new(),
            committed: false,
            statistics: WriterStatistics::default(),
        };
        for folder in [writer.criu_dir(), writer.files_dir(), writer.chunks_dir()] {
            writer.disk.make_dir(&folder).context("make", &folder)?;
        }
        Ok(writer)
    }

    /// Where CRIU puts its images, until the commit.
    pub fn criu_dir(&self) -> PathBuf {
        self.staging.path.join(files::CRIU)
    }

    /// Where small files of the program go, until the commit.
    pub fn files_dir(&self) -> PathBuf {
        self.staging.path.join(files::FILES)
    }

    /// Stores one chunk of 1 byte to 1 GiB, unless an equal one is there. Panics on other lengths.
    pub fn put(&mut self, raw: &[u8]) -> Result<ChunkRef, DiskError> {
        let len = raw.len() as u64;
        assert!(
            (1..=chunk::MAX_RAW).contains(&len),
            "a chunk of {len} bytes"
        );
        self.statistics.raw += len;
        if chunk::is_zero(raw) {
            self.statistics.zero += len;
            return Ok(ChunkRef {
                len,
                ..ChunkRef::default()
            });
        }
        let hash = *blake3::hash(raw).as_bytes();
        if self.stored.contains(&hash) {
            self.statistics.repeated += len;
        } else {
            self.store(&hash, raw)?;
            self.stored.insert(hash);
        }
        Ok(ChunkRef {
            blake3: hash.to_vec(),
            len,
            ..ChunkRef::default()
        })
    }

    /// A chunk that was put before, or else one of the base, by what that says of it; whether it is there, undamaged.
    pub fn put_again(&mut self, chunk: &ChunkRef) -> Result<bool, DiskError> {
        let same = match chunk::hash_of(chunk) {
            Ok(None) => Some(&mut self.statistics.zero),
            Ok(Some(hash)) if self.stored.contains(&hash) => Some(&mut self.statistics.repeated),
            _ => None,
        };
        if let Some(same) = same {
            *same += chunk.len;
            self.statistics.raw += chunk.len;
            return Ok(true);
        }
        let Some(base) = &self.base else {
            return Ok(false);
        };
        let mut raw = Vec::new();
        if base.read_chunk_into(chunk, &mut raw).is_err() {
            return Ok(false);
        }
        self.put(&raw).map(|stored| stored.blake3 == chunk.blake3)
    }

    /// The checkpoint that chunks are shared with.
    pub fn base(&self) -> Option<&Checkpoint> {
        self.base.as_ref()
    }

    /// Moves the content of one of CRIU's images into chunks of these lengths, one after the other; what is
    /// left over goes into chunks of `rest` bytes. Equal chunks of any checkpoint's images are one.
    pub fn put_image(
        &mut self,
        name: &str,
        lengths: impl Iterator<Item = u64>,
        rest: u64,
    ) -> Result<(), CommitError> {
        let path = self.criu_dir().join(name);
        let at = |defect: Defect| CommitError::from(defect.at(&path));
        let (mut image, len) = damage::open(&path).map_err(at)?;
        let mut left = len;
        let mut lengths = lengths.chain(iter::repeat(rest));
        let (mut chunks, mut raw) = (Vec::new(), Vec::new());
        let mut hasher = blake3::Hasher::new();
        while left > 0 {
            let next = lengths.next().unwrap_or(rest);
            let next = next.min(left).clamp(1, chunk::MAX_RAW);
            raw.resize(next as usize, 0);
            image
                .read_exact(&mut raw)
                .map_err(|error| at(error.into()))?;
            hasher.update(&raw);
            chunks.push(self.put(&raw)?);
            left -= next;
        }
        if chunks.is_empty() {
            return Ok(());
        }
        self.disk.remove_file(&path).context("remove", &path)?;
        self.in_chunks.push(FileRecord {
            path: format!("{}/{name}", files::CRIU),
            len,
            blake3: hasher.finalize().as_bytes().to_vec(),
            chunks,
        });
        Ok(())
    }

    /// What went in so far.
    pub fn statistics(&self) -> WriterStatistics {
        self.statistics
    }

    /// Lists and hashes the files, writes the manifest with [`Manifest::format`] and
    /// [`Manifest::files`] filled in, makes everything durable, and gives the directory its name.
    pub fn commit(mut self, mut manifest: Manifest) -> Result<Checkpoint, CommitError> {
        let root = self.staging.path.clone();
        let tree = Tree::walk(&root)?;
        manifest.format = manifest::FORMAT;
        manifest.files = tree
            .files
            .iter()
            .map(|path| record(&root, path))
            .collect::<Result<_, _>>()?;
        manifest.files.append(&mut self.in_chunks);
        manifest.files.sort_by(|a, b| a.path.cmp(&b.path));
        manifest::check(&manifest).map_err(CommitError::Manifest)?;
        let mut named = BTreeSet::new();
        for chunk in manifest::chunks(&manifest) {
            named.extend(chunk::hash_of(chunk).map_err(CommitError::Manifest)?);
        }
        if let Some(missing) = named.difference(&self.stored).next() {
            let name = blake3::Hash::from_bytes(*missing).to_string();
            return Err(CommitError::NoSuchChunk(name));
        }
        self.keep_only(named)?;
        let message = manifest.encode_to_vec();
        // Nobody could open it.
        let len = message.len() as u64;
        if len > manifest::MAX / 2 {
            return Err(CommitError::Manifest(Defect::Limit(len)));
        }
        let path = root.join(files::MANIFEST);
        self.disk
            .write(&path, &[&manifest::header(&message), &message])
            .context("write", &path)?;
        self.sync_all(&tree)?;
        if let Err(error) = self.disk.rename(&root, &self.target) {
            if self.target.symlink_metadata().is_ok() {
                return Err(CommitError::Exists(self.target.clone()));
            }
            Err(error).context("name", &self.target)?;
        }
        self.committed = true;
        let parent = parent(&self.target);
        self.disk
            .sync(parent)
            .context("sync", parent)
            .map_err(CommitError::NotDurable)?;
        Ok(Checkpoint::of(self.target.clone(), manifest))
    }

    /// Removes the chunks that were put in vain: of memory that has been written since.
    fn keep_only(&mut self, named: BTreeSet<Hash>) -> Result<(), DiskError> {
        for hash in self.stored.difference(&named) {
            let (_, path) = chunk::place(&self.chunks_dir(), hash);
            self.disk.remove_file(&path).context("remove", &path)?;
        }
        self.stored = named;
        Ok(())
    }

    fn chunks_dir(&self) -> PathBuf {
        self.staging.path.join(files::CHUNKS)
    }

    fn store(&mut self, hash: &Hash, raw: &[u8]) -> Result<(), DiskError> {
        let (folder, path) = chunk::place(&self.chunks_dir(), hash);
        if !folder.is_dir() {
            self.disk.make_dir(&folder).context("make", &folder)?;
        }
        if let Some(base) = self.base.as_ref().map(Checkpoint::chunks_dir) {
            let (_, existing) = chunk::place(&base, hash);
            // The base may have been damaged since it was written: only what can be read is shared.
            if chunk::load(&existing, hash, raw.len() as u64, &mut self.existing).is_ok()
                && self.disk.link(&existing, &path).is_ok()
            {
                self.statistics.linked += raw.len() as u64;
                return Ok(());
            }
        }
        let stored = chunk::encode(raw);
        let content = stored.compressed.as_deref().unwrap_or(raw);
        self.disk
            .write(&path, &[&stored.header, content])
            .context("write", &path)?;
        self.statistics.written += (chunk::HEADER + content.len()) as u64;
        Ok(())
    }

    /// Makes every file durable, then every directory, so that the rename cannot come first.
    fn sync_all(&self, tree: &Tree) -> Result<(), DiskError> {
        let root = &self.staging.path;
        if self.disk.sync_file_system(root).context("sync", root)? {
            return Ok(());
        }
        let sync = |path: &Path| self.disk.sync(path).context("sync", path);
        let chunks = self.chunks_dir();
        let mut folders = BTreeSet::new();
        for hash in &self.stored {
            let (folder, file) = chunk::place(&chunks, hash);
            sync(&file)?;
            folders.insert(folder);
        }
        for file in &tree.files {
            sync(&root.join(file))?;
        }
        sync(&root.join(files::MANIFEST))?;
        for folder in folders {
            sync(&folder)?;
        }
        for folder in &tree.folders {
            sync(&root.join(folder))?;
        }
        sync(&chunks)?;
        sync(root)
    }
}

impl Drop for CheckpointWriter {
    fn drop(&mut self) {
        if !self.committed && fs::exists(&self.staging.path).unwrap_or(false) {
            // Nobody to tell; the next writer of this target tries again.
            let _ = self.disk.remove(&self.staging.path);
        }
    }
}
