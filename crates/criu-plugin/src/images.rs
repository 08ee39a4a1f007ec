//! Files in CRIU's image folder, and whole messages in them.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;
use strobe_proto::frame;
use strobe_proto::image::Image;

#[derive(Debug, thiserror::Error)]
#[error("image {name} cannot be {action}: {error}")]
pub(crate) struct ImageError {
    pub(crate) name: String,
    action: &'static str,
    pub(crate) error: io::Error,
}

/// The image folder.
#[derive(Debug)]
pub(crate) struct Images(OwnedFd);

impl Images {
    pub(crate) fn new(folder: OwnedFd) -> Self {
        Self(folder)
    }

    /// The same folder, for another thread.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// The folder as it is named now.
    pub(crate) fn path(&self) -> io::Result<PathBuf> {
        use std::os::fd::AsRawFd;
        std::fs::read_link(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }

    /// Makes a file anew.
    pub(crate) fn create(&self, name: &str) -> Result<File, ImageError> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_TRUNC | OFlag::O_CLOEXEC;
        openat(&self.0, name, flags, Mode::S_IRUSR | Mode::S_IWUSR)
            .map(File::from)
            .map_err(|e| write_error(name, e.into()))
    }

    /// Opens a file, if there is one.
    pub(crate) fn open(&self, name: &str) -> Result<Option<File>, ImageError> {
        match openat(
            &self.0,
            name,
            OFlag::O_RDONLY | OFlag::O_CLOEXEC,
            Mode::empty(),
        ) {
            Ok(fd) => Ok(Some(File::from(fd))),
            Err(nix::errno::Errno::ENOENT) => Ok(None),
            Err(e) => Err(read_error(name, e.into())),
        }
    }

    /// Writes a file of one message; none where it would be too long.
    pub(crate) fn write(&self, name: &str, message: &impl Image) -> Result<(), ImageError> {
        let bytes = frame::image_bytes(message).map_err(|e| write_error(name, e))?;
        self.create(name)?
            .write_all(&bytes)
            .map_err(|e| write_error(name, e))
    }

    /// Reads a file of one message, if there is one.
    pub(crate) fn read<M: prost::Message + Default>(
        &self,
        name: &str,
    ) -> Result<Option<M>, ImageError> {
        let Some(file) = self.open(name)? else {
            return Ok(None);
        };
        frame::read_image(&mut BufReader::new(file))
            .map(Some)
            .map_err(|e| read_error(name, e))
    }
}

pub(crate) fn write_error(name: &str, error: io::Error) -> ImageError {
    ImageError {
        name: name.to_owned(),
        action: "written",
        error,
    }
}

pub(crate) fn read_error(name: &str, error: io::Error) -> ImageError {
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
        let images = Images::new(File::open(folder.path()).unwrap().into());
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
