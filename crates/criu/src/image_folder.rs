//! The folder of images for one restore.
//!
//! CRIU and the plugin read the images that a dump has written, but for those that a restore wants otherwise: a
//! checkpoint is never written to. So each restore has a folder of links to all of them, in its folder for logs, in
//! which single images can be replaced ([`ImageFolder::replace`]). CRIU opens images by their names in the folder that
//! it is given, for reading, and follows links (`do_open_image` of criu/image.c). The plugin finds the checkpoint
//! by a link, too ([`files::CHECKPOINT`]).

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use strobe_proto::files;

/// Links to images, and what stands in for some; removed when dropped.
#[derive(Debug)]
pub struct ImageFolder {
    path: PathBuf,
}

impl ImageFolder {
    /// Makes the folder `path`, which must not exist, of the images of the checkpoint in a directory.
    pub fn create(path: PathBuf, checkpoint: &Path) -> io::Result<Self> {
        let checkpoint = fs::canonicalize(checkpoint)?;
        fs::create_dir(&path)?;
        let folder = Self { path };
        for entry in fs::read_dir(checkpoint.join(files::CRIU))? {
            let entry = entry?;
            symlink(entry.path(), folder.path.join(entry.file_name()))?;
        }
        symlink(&checkpoint, folder.path.join(files::CHECKPOINT))?;
        Ok(folder)
    }

    /// What CRIU is given as its folder of images.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the link to an image away, if there is one, and says where a file for this restore has to be made.
    pub fn replace(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(path),
        }
    }
}

impl Drop for ImageFolder {
    fn drop(&mut self) {
        // Links are not followed; a folder that stays behind harms nobody.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_replaced_and_the_checkpoint_stays_as_it_is() {
        let root = tempfile::tempdir().unwrap();
        let checkpoint = root.path().join("monday");
        let images = checkpoint.join(files::CRIU);
        fs::create_dir_all(&images).unwrap();
        for name in ["files.img", "pages-1.img"] {
            fs::write(images.join(name), name).unwrap();
        }
        let path = root.path().join("images");
        let folder = ImageFolder::create(path.clone(), &checkpoint).unwrap();
        assert_eq!(fs::read(path.join("pages-1.img")).unwrap(), b"pages-1.img");
        assert_eq!(
            fs::canonicalize(path.join(files::CHECKPOINT)).unwrap(),
            fs::canonicalize(&checkpoint).unwrap()
        );
        for name in ["files.img", "more.img"] {
            fs::write(folder.replace(name).unwrap(), "other").unwrap();
            assert_eq!(fs::read(path.join(name)).unwrap(), b"other");
        }
        drop(folder);
        assert!(!path.exists());
        assert_eq!(fs::read(images.join("files.img")).unwrap(), b"files.img");
        assert_eq!(fs::read_dir(&images).unwrap().count(), 2);
    }
}
