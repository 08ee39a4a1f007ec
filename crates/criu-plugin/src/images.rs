//! Images: files in CRIU's image folder, or pipes to and from its image streamer; and whole messages in
//! them.
//!
//! Each streamed image is a pipe. It is written once and read once, from its beginning to its end, and
//! nobody can say which there are. The streamer serves one image after the other: the next one must not be
//! asked for before this one is read.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::fcntl::{OFlag, openat, readlinkat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};
use strobe_proto::image::Image;
use strobe_proto::{files, frame};

use crate::host::{self, Streamed};

#[derive(Debug, thiserror::Error)]
#[error("image {name} cannot be {action}: {error}")]
pub(crate) struct ImageError {
    pub(crate) name: String,
    action: &'static str,
    pub(crate) error: io::Error,
}

/// Where CRIU has its images.
#[derive(Debug)]
pub(crate) enum Images {
    Folder(OwnedFd),
    Stream,
}

impl Images {
    /// As CRIU was told.
    pub(crate) fn of_criu() -> io::Result<Self> {
        if host::is_streaming() {
            return Ok(Self::Stream);
        }
        host::image_folder().map(Self::Folder)
    }

    /// The same, for another thread.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Folder(folder) => folder.try_clone().map(Self::Folder),
            Self::Stream => Ok(Self::Stream),
        }
    }

    pub(crate) fn is_stream(&self) -> bool {
        matches!(self, Self::Stream)
    }

    /// The directory of the checkpoint that a folder of images belongs to: the folder lies in it, unless it says
    /// where it is, as that of `strobe restore` does. `None` where images are streamed.
    pub(crate) fn checkpoint(&self) -> io::Result<Option<PathBuf>> {
        let Self::Folder(folder) = self else {
            return Ok(None);
        };
        // By the descriptor: the folder of a restore has no name in a mount namespace of the program's.
        if let Ok(directory) = readlinkat(folder, files::CHECKPOINT) {
            return Ok(Some(directory.into()));
        }
        let path = std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()))?;
        Ok(path.parent().map(Path::to_owned))
    }

    /// The names of all images; none where they are streamed, which nobody can list.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let Self::Folder(folder) = self else {
            return Ok(Vec::new());
        };
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let mut names = Vec::new();
        for entry in Dir::openat(folder, ".", flags, Mode::empty())?.iter() {
            let entry = entry?;
            names.extend(entry.file_name().to_str().ok().map(str::to_owned));
        }
        Ok(names)
    }

    /// Makes an image anew.
    pub(crate) fn create(&self, name: &str) -> Result<Output, ImageError> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_TRUNC | OFlag::O_CLOEXEC;
        let mode = Mode::S_IRUSR | Mode::S_IWUSR;
        let file = match self {
            Self::Folder(folder) => openat(folder, name, flags, mode).map_err(io::Error::from),
            Self::Stream => host::stream_image(name, Streamed::Out)
                .and_then(|file| file.ok_or_else(|| io::ErrorKind::NotFound.into())),
        };
        Ok(Output {
            file: file.map_err(|e| write_error(name, e))?.into(),
            name: name.to_owned(),
            streamed: self.is_stream().then_some(0),
        })
    }

    /// Removes an image, if there is one; of streamed ones there is none yet.
    pub(crate) fn remove(&self, name: &str) -> Result<(), ImageError> {
        let Self::Folder(folder) = self else {
            return Ok(());
        };
        match unlinkat(folder, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(nix::errno::Errno::ENOENT) => Ok(()),
            Err(error) => Err(write_error(name, error.into())),
        }
    }

    /// Opens an image, if there is one.
    pub(crate) fn open(&self, name: &str) -> Result<Option<Input>, ImageError> {
        let found = match self {
            Self::Folder(folder) => {
                let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC;
                match openat(folder, name, flags, Mode::empty()) {
                    Ok(file) => Ok(Some(file)),
                    Err(nix::errno::Errno::ENOENT) => Ok(None),
                    Err(error) => Err(error.into()),
                }
            }
            Self::Stream => host::stream_image(name, Streamed::In),
        };
        let file = found.map_err(|e| read_error(name, e))?;
        Ok(file.map(|file| Input {
            file: file.into(),
            name: name.to_owned(),
            is_streamed: self.is_stream(),
        }))
    }

    /// Writes a file of one message; none where it would be too long.
    pub(crate) fn write(&self, name: &str, message: &impl Image) -> Result<(), ImageError> {
        self.begin(name, message).map(drop)
    }

    /// Writes a message to which bytes are to be added, and says where they begin.
    pub(crate) fn begin(
        &self,
        name: &str,
        message: &impl Image,
    ) -> Result<(Output, u64), ImageError> {
        let bytes = frame::image_bytes(message).map_err(|e| write_error(name, e))?;
        let mut image = self.create(name)?;
        image.write_at(&bytes, 0)?;
        Ok((image, bytes.len() as u64))
    }

    /// Reads a file of one message, if there is one.
    pub(crate) fn read<M: prost::Message + Default>(
        &self,
        name: &str,
    ) -> Result<Option<M>, ImageError> {
        let Some(input) = self.open(name)? else {
            return Ok(None);
        };
        frame::read_image(&mut BufReader::new(&input.file))
            .map(Some)
            .map_err(|e| read_error(name, e))
    }
}

/// An image that is being written.
#[derive(Debug)]
pub(crate) struct Output {
    file: File,
    name: String,
    /// How much is written of one that is streamed.
    streamed: Option<u64>,
}

impl Output {
    /// Whether each write has to begin where the one before has ended.
    pub(crate) fn is_streamed(&self) -> bool {
        self.streamed.is_some()
    }

    pub(crate) fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<(), ImageError> {
        let written = match &mut self.streamed {
            None => self.file.write_all_at(bytes, offset),
            Some(end) if *end == offset => {
                *end += bytes.len() as u64;
                self.file.write_all(bytes)
            }
            Some(_) => Err(io::ErrorKind::NotSeekable.into()),
        };
        written.map_err(|e| write_error(&self.name, e))
    }

    /// The file, to be written from its beginning on.
    pub(crate) fn into_file(self) -> File {
        self.file
    }
}

/// An image that is being read.
#[derive(Debug)]
pub(crate) struct Input {
    file: File,
    name: String,
    is_streamed: bool,
}

impl Input {
    /// Reads what comes next: of a streamed image the only way.
    pub(crate) fn next(&self) -> impl Read {
        &self.file
    }

    /// Where [`Self::next`] reads.
    pub(crate) fn position(&self) -> Result<u64, ImageError> {
        (&self.file).stream_position().map_err(|e| self.error(e))
    }

    /// Reads what stands at `offset`, which has to come next where the image is streamed.
    pub(crate) fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<(), ImageError> {
        let read = match self.is_streamed {
            true => self.next().read_exact(bytes),
            false => self.file.read_exact_at(bytes, offset),
        };
        read.map_err(|e| self.error(e))
    }

    pub(crate) fn error(&self, error: io::Error) -> ImageError {
        read_error(&self.name, error)
    }
}

fn write_error(name: &str, error: io::Error) -> ImageError {
    ImageError {
        name: name.to_owned(),
        action: "written",
        error,
    }
}

fn read_error(name: &str, error: io::Error) -> ImageError {
    ImageError {
        name: name.to_owned(),
        action: "read",
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_proto::amdgpu::CriuKfd;

    #[test]
    fn an_image_that_is_too_large_is_named_and_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let images = Images::Folder(File::open(folder.path()).unwrap().into());
        let mut kfd = CriuKfd {
            pid: 7,
            ..CriuKfd::default()
        };
        images.write("amdgpu-kfd-5.img", &kfd).unwrap();
        assert_eq!(images.read("amdgpu-kfd-5.img").unwrap(), Some(kfd.clone()));
        kfd.priv_data = vec![0; frame::IMAGE_LIMIT as usize];
        let sentence = images
            .write("amdgpu-kfd-6.img", &kfd)
            .unwrap_err()
            .to_string();
        let start = "image amdgpu-kfd-6.img cannot be written: a message of 2684354";
        let end = ": 0 buffer objects and 268435456 bytes of the driver's own state";
        assert!(
            sentence.starts_with(start) && sentence.ends_with(end),
            "{sentence}"
        );
        assert_eq!(images.read::<CriuKfd>("amdgpu-kfd-6.img").unwrap(), None);
    }
}
