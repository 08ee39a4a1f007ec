//! Paths in CRIU's images, and other ones in their place.
//!
//! All that a program has by a path stands in one list (`files.img`): files that are open or mapped, executables, working
//! directories, roots, deleted files and what stands in for them; names of sockets; what is watched. Other images name
//! these by their number, but for mounts, which programs in mount namespaces of their own have besides.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

use prost::bytes::Buf;
use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};
use strobe_program::path_map::PathMap;

use crate::image_folder::ImageFolder;
use crate::images::FILES;

/// What a field has in it, as far as it leads to a path.
#[derive(Clone, Copy, Debug)]
enum Field {
    Path,
    /// Of a socket: with a zero behind it, and no path at all where it begins with one.
    SocketName,
    /// A message with these.
    Message(Fields),
}

/// Of a message, by number.
type Fields = &'static [(u32, Field)];

/// `fh_entry` of images/fh.proto.
const HANDLE: Field = Field::Message(&[(4, Field::Path)]);

/// `file_entry` of images/fdinfo.proto.
const FILE: Fields = &[
    // reg_file_entry (images/regfile.proto)
    (3, Field::Message(&[(6, Field::Path)])),
    // inotify_file_entry (images/fsnotify.proto), its inotify_wd_entry
    (13, Field::Message(&[(5, Field::Message(&[(7, HANDLE)]))])),
    // fanotify_file_entry, its fanotify_mark_entry, of an inode or a mount
    (
        14,
        Field::Message(&[(
            6,
            Field::Message(&[
                (7, Field::Message(&[(2, HANDLE)])),
                (8, Field::Message(&[(2, Field::Path)])),
            ]),
        )]),
    ),
    // unix_sk_entry (images/sk-unix.proto); a relative name is one of a folder
    (
        16,
        Field::Message(&[(11, Field::SocketName), (14, Field::Path)]),
    ),
];

/// A socket's name, with its zero, is shorter (`UNIX_PATH_MAX` of unix(7), as CRIU compares it).
const SOCKET_NAME_LIMIT: usize = 108;

#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum PathsError {
    #[error("the paths in CRIU's images cannot be read: {0}")]
    Read(io::Error),
    #[error("images with other paths cannot be written: {0}")]
    Write(io::Error),
    #[error("{0} is too long for the name of a socket")]
    SocketName(PathBuf),
}

/// All paths in the images of a folder.
pub fn all(images: &Path) -> Result<Vec<PathBuf>, PathsError> {
    let mut found = Vec::new();
    for message in FILES.read(images).map_err(PathsError::Read)? {
        edited(&message, FILE, &mut |path, _| {
            found.push(path.to_owned());
            Ok(None)
        })?;
    }
    Ok(found)
}

/// Whether the program has mounts of its own, which CRIU makes again in its root.
pub fn has_mounts(images: &Path) -> Result<bool, PathsError> {
    for entry in fs::read_dir(images).map_err(PathsError::Read)? {
        let name = entry.map_err(PathsError::Read)?.file_name();
        if name.as_bytes().starts_with(b"mountpoints-") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether all names of sockets have room where the program is to find them.
pub fn check(images: &Path, map: &PathMap) -> Result<(), PathsError> {
    moved(images, map).map(drop)
}

/// Has a restore look for everything where `map` says.
pub fn put(images: &Path, map: &PathMap, folder: &ImageFolder) -> Result<(), PathsError> {
    let Some(messages) = moved(images, map)? else {
        return Ok(());
    };
    let path = folder.replace(FILES.name).map_err(PathsError::Write)?;
    fs::write(path, FILES.bytes(&messages)).map_err(PathsError::Write)
}

/// The list with other paths; `None` if it has none of those that are mapped.
fn moved(images: &Path, map: &PathMap) -> Result<Option<Vec<Vec<u8>>>, PathsError> {
    let mut messages = FILES.read(images).map_err(PathsError::Read)?;
    let mut any = false;
    let mut change = |path: &Path, limit: usize| match map.moved(path) {
        Some(new) if new.as_os_str().len() >= limit => Err(PathsError::SocketName(new)),
        new => Ok(new),
    };
    for message in &mut messages {
        if let Some(changed) = edited(message, FILE, &mut change)? {
            *message = changed;
            any = true;
        }
    }
    Ok(any.then_some(messages))
}

/// What a path becomes, which must be shorter than the limit.
type Change<'a> = dyn FnMut(&Path, usize) -> Result<Option<PathBuf>, PathsError> + 'a;

/// The message with its paths changed, and all else as it is; `None` where none changes.
fn edited(
    message: &[u8],
    fields: Fields,
    change: &mut Change<'_>,
) -> Result<Option<Vec<u8>>, PathsError> {
    let broken = |error: prost::DecodeError| {
        PathsError::Read(io::Error::new(io::ErrorKind::InvalidData, error))
    };
    let mut bytes = Vec::with_capacity(message.len());
    let mut any = false;
    let mut rest = message;
    while !rest.is_empty() {
        let start = rest;
        let (number, kind) = decode_key(&mut rest).map_err(broken)?;
        let len = match kind {
            WireType::Varint => {
                decode_varint(&mut rest).map_err(broken)?;
                0
            }
            WireType::SixtyFourBit => 8,
            WireType::ThirtyTwoBit => 4,
            WireType::LengthDelimited => decode_varint(&mut rest).map_err(broken)?,
            // CRIU has no groups.
            WireType::StartGroup | WireType::EndGroup => u64::MAX,
        };
        let value = usize::try_from(len).ok().and_then(|len| rest.get(..len));
        let value = value.ok_or_else(|| PathsError::Read(io::ErrorKind::UnexpectedEof.into()))?;
        rest.advance(value.len());
        let field = fields.iter().find(|(known, _)| *known == number);
        let changed = match (kind, field) {
            (WireType::LengthDelimited, Some((_, field))) => field.edited(value, change)?,
            _ => None,
        };
        match changed {
            Some(value) => {
                any = true;
                encode_key(number, kind, &mut bytes);
                encode_varint(value.len() as u64, &mut bytes);
                bytes.extend(value);
            }
            None => bytes.extend(&start[..start.len() - rest.len()]),
        }
    }
    Ok(any.then_some(bytes))
}

impl Field {
    fn edited(self, value: &[u8], change: &mut Change<'_>) -> Result<Option<Vec<u8>>, PathsError> {
        let (path, limit, end) = match self {
            Self::Message(fields) => return edited(value, fields, change),
            Self::Path => (value, usize::MAX, &b""[..]),
            Self::SocketName => match value.strip_suffix(b"\0") {
                Some(path) => (path, SOCKET_NAME_LIMIT - 1, &b"\0"[..]),
                None => (value, SOCKET_NAME_LIMIT - 1, &b""[..]),
            },
        };
        if !path.starts_with(b"/") {
            return Ok(None);
        }
        let new = change(Path::new(OsStr::from_bytes(path)), limit)?;
        let bytes = |path: PathBuf| OsString::from(path).into_vec();
        Ok(new.map(|new| [&bytes(new)[..], end].concat()))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use strobe_program::path_map::PathRule;

    use super::*;

    fn field(number: u32, value: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_key(number, WireType::LengthDelimited, &mut bytes);
        encode_varint(value.len() as u64, &mut bytes);
        bytes.extend(value);
        bytes
    }

    fn number(number: u32, value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_key(number, WireType::Varint, &mut bytes);
        encode_varint(value, &mut bytes);
        bytes
    }

    /// One of each kind that has a path, with fields that nobody here knows around it.
    fn list(folder: &str) -> Vec<Vec<u8>> {
        let path = |name: &str| format!("{folder}/{name}").into_bytes();
        let around =
            |body: Vec<u8>| [number(1, 5), body, field(900, b"/a/b: none of ours")].concat();
        let handle = |name: &str| around(field(4, &path(name)));
        let mark = [
            field(7, &around(field(2, &handle("marked")))),
            field(8, &around(field(2, &path("mount")))),
        ];
        let socket = [
            field(11, &[&path("socket")[..], b"\0"].concat()),
            field(14, folder.as_bytes()),
        ];
        [
            field(3, &around(field(6, &path("regular")))),
            field(13, &around(field(5, &around(field(7, &handle("watched")))))),
            field(14, &around(field(6, &around(mark.concat())))),
            field(16, &around(socket.concat())),
        ]
        .into_iter()
        .map(around)
        .collect()
    }

    fn map(rule: &str) -> PathMap {
        PathMap::new(vec![PathRule::parse(OsStr::new(rule)).unwrap()], None)
    }

    #[test]
    fn all_paths_are_found_and_changed_and_nothing_else_is() {
        let root = tempfile::tempdir().unwrap();
        let images = root.path().join("criu");
        fs::create_dir(&images).unwrap();
        let abstract_name = field(16, &field(11, b"\0/a/b/abstract"));
        let before = [
            list("/a/b"),
            list("/elsewhere"),
            vec![abstract_name.clone()],
        ]
        .concat();
        FILES.write(&images, &before).unwrap();
        let found = all(&images).unwrap();
        assert_eq!(found.len(), 12, "{found:?}");
        let folder = ImageFolder::create(root.path().join("links"), root.path()).unwrap();
        put(&images, &map("/a/b=/a longer place"), &folder).unwrap();
        let after = [
            list("/a longer place"),
            list("/elsewhere"),
            vec![abstract_name],
        ]
        .concat();
        assert_eq!(FILES.read(folder.path()).unwrap(), after);
        assert_eq!(FILES.read(&images).unwrap(), before);
    }

    #[test]
    fn a_name_that_has_no_room_and_a_message_that_is_broken_are_said() {
        let images = tempfile::tempdir().unwrap();
        FILES.write(images.path(), &list("/a")).unwrap();
        let long = format!("/a=/{}", "x".repeat(98));
        assert!(check(images.path(), &map(&long)).is_ok());
        let longer = format!("{long}y");
        let error = check(images.path(), &map(&longer)).unwrap_err();
        assert!(matches!(error, PathsError::SocketName(_)), "{error}");
        let whole = &list("/a")[0];
        for end in 1..whole.len() {
            let cut = edited(&whole[..end], FILE, &mut |_, _| Ok(None));
            let at_a_field = matches!(cut, Ok(None));
            assert!(
                at_a_field || matches!(cut, Err(PathsError::Read(_))),
                "{end}"
            );
        }
    }
}
