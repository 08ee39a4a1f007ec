//! Stand-ins of the program's deleted files.
//!
//! A file that the program holds but has deleted comes back for a moment under a name of CRIU's, in
//! the nearest folder that still exists: for temporary files of ROCm's compiler that is the same
//! name for all programs. So in the images of a checkpoint the deleted file gets a name that no other
//! checkpoint has ([`name_apart`]; the program sees it in `/proc/self/maps`), and restores are in nobody's
//! way. What one that was killed has left is removed by the next of the same checkpoint that meets it.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::{fs, str};

use prost::Message;

use crate::images::FILES;
use crate::remapped::{GHOST, LINKED, Named, RegularFile, Remapped};

/// In mount namespaces of its own CRIU names the stand-in; elsewhere the file, in whatever folder it was,
/// behind its number.
const STAND_IN: &str = "Trying to create ghost on path ";
const FILE: &str = "Opening ghost file 0x";
/// Between a deleted file's name and the checkpoint's.
const INFIX: &[u8] = b".strobe-";
/// Digits of a checkpoint's number in the name.
const DIGITS: usize = 16;
/// Of a name there is room for so much (`NAME_MAX` less CRIU's ending, less ours).
const NAME_BYTES: usize = 255 - ".cr.ffffffff.ghost".len() - INFIX.len() - DIGITS;

/// Gives the deleted files in the images of a finished dump names of their own, and so the links that CRIU
/// makes for files that it finds under another name only. `checkpoint`: in hexadecimal digits, 16 or more.
pub fn name_apart(images: &Path, checkpoint: &str) -> io::Result<()> {
    let deleted: BTreeSet<u32> = Remapped::all(images)?
        .into_iter()
        .filter_map(|entry| match entry.kind() {
            GHOST => Some(entry.file),
            LINKED => Some(entry.stands_in),
            _ => None,
        })
        .collect();
    if deleted.is_empty() {
        return Ok(());
    }
    let digits = &checkpoint.as_bytes()[..DIGITS];
    let mut files = FILES.read(images)?;
    for file in &mut files {
        if let Some(renamed) = renamed(file, &deleted, digits) {
            *file = renamed;
        }
    }
    FILES.write(images, &files)
}

fn renamed(message: &[u8], deleted: &BTreeSet<u32>, digits: &[u8]) -> Option<Vec<u8>> {
    let mut entry = RegularFile::of(message)?;
    if !deleted.contains(&entry.id) {
        return None;
    }
    let regular = entry.regular.clone()?;
    let name = apart(&entry.name()?, digits);
    // Of a field that comes twice the last counts (protobuf's encoding), and all others stay.
    let name = Named { name }.encode_to_vec();
    entry.regular = Some([&regular[..], &name].concat().into());
    Some(entry.encode_to_vec())
}

/// The path with another last name; one of an earlier checkpoint goes.
fn apart(path: &[u8], digits: &[u8]) -> Vec<u8> {
    let start = path.iter().rposition(|byte| *byte == b'/');
    let (folder, name) = path.split_at(start.map_or(0, |slash| slash + 1));
    let name = match name.split_last_chunk::<DIGITS>() {
        Some((start, end)) if end.iter().all(u8::is_ascii_hexdigit) => {
            start.strip_suffix(INFIX).unwrap_or(name)
        }
        _ => name,
    };
    // Characters are not cut in two: CRIU does not mind, those who read its log do.
    let mut len = name.len().min(NAME_BYTES);
    while str::from_utf8(name).is_ok_and(|name| !name.is_char_boundary(len)) {
        len -= 1;
    }
    [folder, &name[..len], INFIX, digits].concat()
}

/// Removes the stand-ins that the log of a failed restore names. To be called when no process of that
/// restore exists any more, by whoever has the program's turn.
pub(crate) fn remove(log: &str) {
    for path in named(log) {
        // Most often CRIU has removed it itself.
        let _ = fs::remove_file(path);
    }
}

fn named(log: &str) -> impl Iterator<Item = PathBuf> {
    log.lines()
        .filter_map(|line| stand_in(line).or_else(|| of_file(line)))
}

fn stand_in(line: &str) -> Option<PathBuf> {
    let path = line.split_once(STAND_IN)?.1.trim_end();
    is_ghost(path).then(|| Path::new("/").join(path))
}

/// In the nearest folder that is still there.
fn of_file(line: &str) -> Option<PathBuf> {
    let (id, path) = line.split_once(FILE)?.1.split_once(" for ")?;
    let path = Path::new("/").join(path.trim_end());
    let name = path.file_name()?.to_str()?;
    let folder = path.ancestors().skip(1).find(|folder| folder.is_dir())?;
    let ghost = format!("{name}.cr.{id}.ghost");
    is_ghost(&ghost).then(|| folder.join(ghost))
}

/// `NAME.cr.ID.ghost`, the ID in hexadecimal digits.
fn is_ghost(path: &str) -> bool {
    path.strip_suffix(".ghost")
        .and_then(|path| path.rsplit_once(".cr."))
        .is_some_and(|(name, id)| {
            !name.is_empty() && !id.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images::REMAPPED;

    #[test]
    fn only_names_of_criu_s_own_making_are_taken_from_its_log() {
        let log = "(00.01)      9: Trying to create ghost on path tmp/a b.cr.1f.ghost\n\
                   (00.02)      9: Trying to create ghost on path home/me/letter\n\
                   (00.03)      9: Trying to create ghost on path etc/passwd.cr..ghost\n\
                   (00.04)      9: Opening ghost file 0x1a for tmp/gone-since/c.o\n\
                   (00.04)      9: Opening ghost file 0x../ for tmp/d.o\n\
                   (00.05)      9: Trying to create ghost on path /dev/shm/x.cr.2.ghost\n";
        let found: Vec<_> = named(log).collect();
        let expected = [
            "/tmp/a b.cr.1f.ghost",
            "/tmp/c.o.cr.1a.ghost",
            "/dev/shm/x.cr.2.ghost",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
    }

    fn file(id: u32, name: &[u8]) -> Vec<u8> {
        // Position 4711, which nobody here knows of.
        let other = [&[0x18, 0xe7, 0x24][..]].concat();
        let name = Named { name: name.into() }.encode_to_vec();
        let regular = Some([other, name].concat().into());
        let kind = RegularFile::KIND;
        RegularFile { kind, id, regular }.encode_to_vec()
    }

    fn name_of(message: &[u8]) -> Vec<u8> {
        let file = RegularFile::of(message).unwrap();
        let regular = file.regular.as_ref().unwrap();
        assert_eq!(regular[..3], [0x18, 0xe7, 0x24], "the position is lost");
        file.name().unwrap()
    }

    #[test]
    fn deleted_files_get_a_name_of_their_own_and_no_others_do() {
        let folder = tempfile::tempdir().unwrap();
        let remapped = [(7, 10, None), (8, 1, Some(GHOST)), (9, 1, Some(2))];
        let remapped = remapped.map(|(file, stands_in, kind)| {
            let entry = Remapped {
                file,
                stands_in,
                kind,
            };
            entry.encode_to_vec()
        });
        REMAPPED.write(folder.path(), &remapped).unwrap();
        let files = [7, 8, 9, 10].map(|id| file(id, b"/tmp/linked.bc.o"));
        FILES.write(folder.path(), &files).unwrap();
        name_apart(folder.path(), "0123456789abcdef01234567").unwrap();
        let after = FILES.read(folder.path()).unwrap();
        let expected = b"/tmp/linked.bc.o.strobe-0123456789abcdef";
        assert_eq!(name_of(&after[1]), expected, "it has no name any more");
        assert_eq!(name_of(&after[3]), expected, "it stands in for another");
        assert_eq!([0, 2].map(|i| &after[i]), [0, 2].map(|i| &files[i]));
        // Restored, and saved again.
        name_apart(folder.path(), "fedcba9876543210").unwrap();
        let again = FILES.read(folder.path()).unwrap();
        let expected = b"/tmp/linked.bc.o.strobe-fedcba9876543210";
        assert_eq!(name_of(&again[1]), expected);
    }

    #[test]
    fn names_are_not_too_long_for_what_criu_makes_of_them() {
        for name in [
            &b"x"[..],
            &[b'x'; 255],
            "\u{fc}".repeat(127).as_bytes(),
            &[0xff; 255],
        ] {
            let path = [b"/a/b/", name].concat();
            let apart = apart(&path, b"0123456789abcdef");
            let new = apart.strip_prefix(b"/a/b/").expect("the folder stays");
            assert!(
                new.len() + ".cr.ffffffff.ghost".len() <= 255,
                "{}",
                new.len()
            );
            assert_eq!(str::from_utf8(new).is_ok(), str::from_utf8(name).is_ok());
        }
        assert_eq!(
            apart(b"x", b"0123456789abcdef"),
            b"x.strobe-0123456789abcdef"
        );
    }
}
