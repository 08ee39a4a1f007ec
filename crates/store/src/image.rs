//! Images of a checkpoint: what CRIU and its plugin have written.
//!
//! Who reads one asks here for it, by its name, and need not know how it is kept.

use crate::checkpoint::Checkpoint;
use crate::damage::{Damage, Defect, open};
use crate::manifest;
use crate::tree;
use std::fs::File;
use std::io::{BufReader, Seek};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use strobe_proto::frame::{self, Message};
use strobe_proto::{FileRecord, files};

/// An image, open to be read in any order. What is read is not checked: see [`Checkpoint::pass_on`].
#[derive(Debug)]
pub struct StoredImage {
    file: File,
    path: PathBuf,
    len: u64,
}

impl Checkpoint {
    /// Names and lengths of all images, in the order of their names.
    pub fn images(&self) -> impl Iterator<Item = (&str, u64)> {
        let name = |path| str::strip_prefix(path, files::CRIU)?.strip_prefix('/');
        let files = self.manifest().files.iter();
        files.filter_map(move |file| Some((name(&file.path)?, file.len)))
    }

    /// Opens an image that lies in the directory as it is; `None` where there is none of this name.
    pub fn open_image(&self, name: &str) -> Result<Option<StoredImage>, Damage> {
        let Some(record) = self.image(name) else {
            return Ok(None);
        };
        let path = self.path().join(&record.path);
        match open(&path) {
            Ok((file, len)) => Ok(Some(StoredImage { file, path, len })),
            Err(defect) => Err(defect.at(&path)),
        }
    }

    /// The record of an image.
    pub fn image(&self, name: &str) -> Option<&FileRecord> {
        manifest::find_file(self.manifest(), &format!("{}/{name}", files::CRIU))
    }

    /// Hands on all bytes of a file of the checkpoint, piece by piece, and checks them meanwhile: after an
    /// error what was handed on counts for nothing.
    pub fn pass_on<E: From<Damage>>(
        &self,
        record: &FileRecord,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if !manifest::is_in_chunks(record) {
            return tree::pass_on(self.path(), record, take);
        }
        let mut raw = Vec::new();
        record.chunks.iter().try_for_each(|chunk| {
            self.read_chunk_into(chunk, &mut raw)?;
            take(&raw)
        })
    }
}

impl StoredImage {
    /// Its bytes.
    #[allow(clippy::len_without_is_empty, reason = "none is")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The message at its beginning, and where that ends.
    pub fn message<M: Message + Default>(&self) -> Result<(M, u64), Damage> {
        let read = || {
            let mut reader = BufReader::new(&self.file);
            reader.rewind()?;
            let message = frame::read_image(&mut reader)?;
            Ok((message, reader.stream_position()?))
        };
        read().map_err(|error| Defect::Io(error).at(&self.path))
    }

    /// Reads what stands at `offset`.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<(), Damage> {
        let read = self.file.read_exact_at(bytes, offset);
        read.map_err(|error| Defect::Io(error).at(&self.path))
    }
}
