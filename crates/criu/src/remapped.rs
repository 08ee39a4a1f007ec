//! Files in CRIU's images that are not where their names say.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use prost::Message;
use prost::bytes::Bytes;
use strobe_program::descriptor::links;

use crate::images::{FILES, REMAPPED};

/// `remap_type` of images/remap-file-path.proto: a link that CRIU has made stands in.
pub(crate) const LINKED: i32 = 0;
/// The same: CRIU has saved the file itself.
pub(crate) const GHOST: i32 = 1;

/// `remap_file_path_entry`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Remapped {
    /// In the list of all files.
    #[prost(uint32, required, tag = "1")]
    pub(crate) file: u32,
    /// What stands in for it: of a link, also a file of that list.
    #[prost(uint32, required, tag = "2")]
    pub(crate) stands_in: u32,
    /// Without one, [`LINKED`].
    #[prost(int32, optional, tag = "3")]
    pub(crate) kind: Option<i32>,
}

impl Remapped {
    /// Those of a dump; what cannot be read is left out.
    pub(crate) fn all(images: &Path) -> io::Result<Vec<Self>> {
        let entries = REMAPPED.read(images)?;
        let entries = entries.iter().map(|entry| Self::decode(&entry[..]));
        Ok(entries.filter_map(Result::ok).collect())
    }
}

/// `file_entry` of images/fdinfo.proto, of a regular file.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RegularFile {
    #[prost(int32, required, tag = "1")]
    pub(crate) kind: i32,
    #[prost(uint32, required, tag = "2")]
    pub(crate) id: u32,
    /// `reg_file_entry`.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(crate) regular: Option<Bytes>,
}

/// `reg_file_entry` of images/regfile.proto, its name alone.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Named {
    #[prost(bytes = "vec", required, tag = "6")]
    pub(crate) name: Vec<u8>,
}

impl RegularFile {
    /// `fd_types` of images/fdinfo.proto.
    pub(crate) const KIND: i32 = 1;

    /// None where the entry is of another kind.
    pub(crate) fn of(message: &[u8]) -> Option<Self> {
        let entry = Self::decode(message).ok()?;
        (entry.kind == Self::KIND).then_some(entry)
    }

    pub(crate) fn name(&self) -> Option<Vec<u8>> {
        Some(Named::decode(self.regular.clone()?).ok()?.name)
    }
}

/// A file that the program has opened under a name that is gone, while it has another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linked {
    /// That name.
    pub opened_as: PathBuf,
    /// Under which CRIU looks for it at a restore.
    pub link: PathBuf,
}

/// Those of a finished dump. CRIU has removed its own links again by then.
pub fn linked(images: &Path) -> io::Result<Vec<Linked>> {
    let files = FILES.read(images)?;
    let named = files.iter().filter_map(|message| {
        let file = RegularFile::of(message)?;
        Some((
            file.id,
            Path::new("/").join(OsString::from_vec(file.name()?)),
        ))
    });
    let names: BTreeMap<u32, PathBuf> = named.collect();
    let name = |id| names.get(&id).cloned();
    Remapped::all(images)?
        .into_iter()
        .filter(|entry| entry.kind() == LINKED)
        .map(|entry| {
            let (opened_as, link) = name(entry.file).zip(name(entry.stands_in))?;
            Some(Linked { opened_as, link })
        })
        .collect::<Option<_>>()
        .ok_or_else(|| io::Error::other("CRIU's images name a file that they do not have"))
}

/// How CRIU names a link that it makes for a file whose name is gone; a number comes behind.
const LINK: &str = "link_remap.";

/// The links that a dump has made for files of a process, which it removes at its end, if it comes to that; the next
/// one would find its names taken.
pub(crate) fn left(pid: u32) -> io::Result<Vec<PathBuf>> {
    let mut left = Vec::new();
    for (descriptor, link) in links(pid)? {
        let Some(gone) = link.strip_suffix(" (deleted)") else {
            continue;
        };
        let Ok(file) = fs::metadata(format!("/proc/{pid}/fd/{descriptor}")) else {
            continue;
        };
        // CRIU takes the nearest folder that is there.
        let folder = Path::new(gone).ancestors().skip(1).find(|at| at.is_dir());
        if file.nlink() == 0 || !file.is_file() {
            continue;
        }
        let entries = folder.map(fs::read_dir).into_iter().flatten().flatten();
        let is_same = |path: &PathBuf| {
            let other = fs::symlink_metadata(path);
            other.is_ok_and(|other| (other.dev(), other.ino()) == (file.dev(), file.ino()))
        };
        let named = entries.flatten().filter(|entry| {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix(LINK));
            number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        });
        left.extend(named.map(|entry| entry.path()).filter(is_same));
    }
    left.sort();
    left.dedup();
    Ok(left)
}
