//! Lists in CRIU's images: two words that say of what, then messages, each behind its length (u32).
//!
//! Of the messages only what is known here is changed, and nothing of the rest is lost.

use std::path::Path;
use std::{fs, io};

use strobe_store::Defect;

/// `IMG_COMMON_MAGIC` (criu/include/magic.h), the first word of all lists.
const COMMON: u32 = 0x5456_4319;

/// One kind of list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    /// Of the image.
    pub(crate) name: &'static str,
    /// The second word.
    pub(crate) magic: u32,
}

/// All open files of a dump, `FILES_MAGIC`: `file_entry` of images/fdinfo.proto.
pub(crate) const FILES: List = List {
    name: "files.img",
    magic: 0x5630_3138,
};

/// Files that are not where their names say, `REMAP_FPATH_MAGIC`: images/remap-file-path.proto.
pub(crate) const REMAPPED: List = List {
    name: "remap-fpath.img",
    magic: 0x5913_3954,
};

/// No image that holds messages is so long; those with a program's memory are not read as a whole.
const LIMIT: u64 = 1 << 30;

/// Reads an image. What is no regular file is none: a pipe would be waited for, a device has no end.
pub(crate) fn read_image(path: &Path) -> io::Result<Vec<u8>> {
    strobe_store::read_file(path, LIMIT).map_err(|defect| match defect {
        Defect::Missing => io::ErrorKind::NotFound.into(),
        Defect::Io(error) => error,
        other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
    })
}

impl List {
    /// Its messages in a folder of images; none where there is no such image.
    pub(crate) fn read(self, images: &Path) -> io::Result<Vec<Vec<u8>>> {
        let path = images.join(self.name);
        let bytes = match read_image(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            bytes => bytes?,
        };
        self.messages(&bytes).ok_or_else(|| {
            let what = format!("{} is not what CRIU calls so", path.display());
            io::Error::new(io::ErrorKind::InvalidData, what)
        })
    }

    /// Writes its messages over those that are there.
    pub(crate) fn write(self, images: &Path, messages: &[Vec<u8>]) -> io::Result<()> {
        fs::write(images.join(self.name), self.bytes(messages))
    }

    /// None where it is no such list.
    pub(crate) fn messages(self, mut rest: &[u8]) -> Option<Vec<Vec<u8>>> {
        let word = |rest: &mut &[u8]| {
            let (head, tail) = rest.split_first_chunk()?;
            *rest = tail;
            Some(u32::from_le_bytes(*head))
        };
        if [word(&mut rest)?, word(&mut rest)?] != [COMMON, self.magic] {
            return None;
        }
        let mut messages = Vec::new();
        while !rest.is_empty() {
            let len = word(&mut rest)? as usize;
            let (message, tail) = rest.split_at_checked(len)?;
            messages.push(message.to_vec());
            rest = tail;
        }
        Some(messages)
    }

    pub(crate) fn bytes(self, messages: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes: Vec<u8> = [COMMON, self.magic].map(u32::to_le_bytes).concat();
        for message in messages {
            bytes.extend((message.len() as u32).to_le_bytes());
            bytes.extend(message);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_is_told() {
        let messages = [vec![1, 2, 3], Vec::new(), vec![9]];
        let whole = FILES.bytes(&messages);
        assert_eq!(FILES.messages(&whole).as_deref(), Some(&messages[..]));
        assert_eq!(FILES.messages(&FILES.bytes(&[])), Some(Vec::new()));
        assert_eq!(REMAPPED.messages(&whole), None);
        for end in [0, 7, 10, whole.len() - 1] {
            assert_eq!(FILES.messages(&whole[..end]), None, "{end}");
        }
    }

    #[test]
    fn an_image_that_is_not_there_is_an_empty_list() {
        let folder = tempfile::tempdir().unwrap();
        assert!(REMAPPED.read(folder.path()).unwrap().is_empty());
        REMAPPED.write(folder.path(), &[vec![7]]).unwrap();
        assert_eq!(REMAPPED.read(folder.path()).unwrap(), [vec![7]]);
        fs::write(folder.path().join(REMAPPED.name), "rubbish").unwrap();
        let error = REMAPPED.read(folder.path()).unwrap_err();
        assert!(error.to_string().contains(REMAPPED.name), "{error}");
    }
}
