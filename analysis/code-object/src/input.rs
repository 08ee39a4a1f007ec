//! Where the bytes of a file come from: memory, or the file itself, of which only what is looked at is read.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;

pub(crate) trait Input<'a> {
    fn len(&self) -> usize;

    /// What stands there; less, where the input ends before.
    fn part(&self, at: usize, len: usize) -> io::Result<Cow<'a, [u8]>>;

    /// What stands there and behind, as a stream that holds little of it.
    fn stream(&self, at: usize) -> Box<dyn Read + 'a>;
}

impl<'a> Input<'a> for &'a [u8] {
    fn len(&self) -> usize {
        <[u8]>::len(self)
    }

    fn part(&self, at: usize, len: usize) -> io::Result<Cow<'a, [u8]>> {
        let rest = self.get(at..).unwrap_or_default();
        Ok(Cow::Borrowed(&rest[..len.min(<[u8]>::len(rest))]))
    }

    fn stream(&self, at: usize) -> Box<dyn Read + 'a> {
        Box::new(self.get(at..).unwrap_or_default())
    }
}

/// A file, as long as it was when it was opened.
pub(crate) struct OpenFile<'a> {
    file: &'a File,
    len: usize,
}

impl<'a> OpenFile<'a> {
    pub(crate) fn new(file: &'a File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let len = usize::try_from(len).map_err(io::Error::other)?;
        Ok(Self { file, len })
    }
}

impl<'a> Input<'a> for OpenFile<'a> {
    fn len(&self) -> usize {
        self.len
    }

    fn part(&self, at: usize, len: usize) -> io::Result<Cow<'a, [u8]>> {
        let len = len.min(self.len.saturating_sub(at));
        let mut bytes = vec![0; len];
        self.file.read_exact_at(&mut bytes, at as u64)?;
        Ok(Cow::Owned(bytes))
    }

    fn stream(&self, at: usize) -> Box<dyn Read + 'a> {
        Box::new(BufReader::new(From {
            file: self.file,
            at: at as u64,
        }))
    }
}

/// A file from a place on.
struct From<'a> {
    file: &'a File,
    at: u64,
}

impl Read for From<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(bytes, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
