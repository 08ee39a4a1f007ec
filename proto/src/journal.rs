//! The journal of what one `strobe run` does to names of files: an entry for each call that opens a file to write, makes
//! or removes one, or gives it another name, in a file that outlives the process that wrote it, and the program.
//!
//! Whoever saves a program looks there for the files that it has written and closed, and may rename or remove next.
//! Whoever restores it, for what it made after the cut, and what it gave other names.
//!
//! An entry is made before its call, which may fail: of what is there afterwards the inode tells.

use std::io::{self, Write};

/// In the environment of all that `strobe run` starts: the path of the journal.
pub const VARIABLE: &str = "STROBE_JOURNAL";
/// What may not write that journal keeps one of the same name in a folder of its user's, whose number follows here. Of
/// files that are another's its word counts for nothing.
pub const USERS: &str = "/var/tmp/strobe-";
/// Bytes of a path in an entry; what has a longer one is not remembered.
pub const PATH_BYTES: usize = 1016;
/// Bytes of what is before the paths of an entry, at most.
pub const HEAD_BYTES: usize = 120;
/// No entry is longer.
pub const ENTRY_BYTES: usize = HEAD_BYTES + 3 * PATH_BYTES + 1;
/// A journal of so many bytes becomes [`OLDER`], in place of the one before it.
pub const LIMIT: u64 = 8 << 20;
/// Follows the journal's name where its older half is.
pub const OLDER: &str = ".older";

/// An entry's bytes, one part behind the other.
pub type Parts<'a> = [&'a [u8]; 5];

/// What an entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A file that is there is about to be written.
    Write(&'a [u8]),
    /// A file, or anything but a folder, is about to be made.
    Make(&'a [u8]),
    /// A folder is about to be made.
    MakeFolder(&'a [u8]),
    /// What has this name is about to lose it.
    Remove(Named<'a>),
    /// What has a name is about to get another.
    Rename(Renamed<'a>),
    /// A program, as it was named, that is about to be started and will not be watched.
    Unwatched(&'a [u8]),
    /// A process has begun to use a GPU.
    UsesGpu,
    /// The name of a cut: all that stands behind was after it. What stands between it and another of the same name
    /// was under way at the cut.
    Cut(&'a [u8]),
    /// What lay at one path lies at another for the program that is restored next. Of `/`: what follows was done below
    /// that root.
    Placed(Placed<'a>),
    /// The program has been restored, and all is as it was at the cut.
    Restored(Restored<'a>),
}

/// Where something lay, and lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<'a> {
    /// The path that the program knows.
    pub old: &'a [u8],
    /// That where it is.
    pub new: &'a [u8],
}

/// A restore. What was made between its two times is somebody else's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored<'a> {
    /// The name of the cut.
    pub cut: &'a [u8],
    /// When the journal was last written before, in nanoseconds since 1970.
    pub last_unix_ns: u64,
    /// When the restore began.
    pub begun_unix_ns: u64,
}

/// Something that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// Its absolute path.
    pub path: &'a [u8],
    /// What it is.
    pub node: FileNode,
    /// Where it leads to, if it is a symbolic link.
    pub link: &'a [u8],
}

/// An inode, as stat(2) tells of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileNode {
    /// Type and permissions.
    pub mode: u32,
    /// User.
    pub owner: u32,
    /// Group.
    pub group: u32,
    /// Its number.
    pub inode: u64,
}

/// What a call gives another name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renamed<'a> {
    /// The name it has.
    pub old: &'a [u8],
    /// What it is.
    pub node: FileNode,
    /// The name it gets, and what has it until then.
    pub new: &'a [u8],
    /// What that is.
    pub there: There<'a>,
}

/// What has the name that something else gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum There<'a> {
    /// Nothing.
    Nothing,
    /// This, which goes; with where it leads to, if it is a symbolic link.
    Replaced(FileNode, &'a [u8]),
    /// This, which gets the other's.
    Exchanged(FileNode),
}

const WRITE: u8 = b'=';
const MAKE: u8 = b'+';
const MAKE_FOLDER: u8 = b'/';
const REMOVE: u8 = b'-';
const RENAME: u8 = b'>';
const UNWATCHED: u8 = b'!';
const USES_GPU: u8 = b'*';
const CUT: u8 = b'#';
const PLACED: u8 = b'@';
const RESTORED: u8 = b'<';

impl<'a> Entry<'a> {
    /// The bytes of it: a letter, then its text, then a zero.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        let mut head = [0; HEAD_BYTES];
        self.parts(&mut head)?
            .into_iter()
            .try_for_each(|part| to.write_all(part))
    }

    /// The same in parts, of which the first is made in a room for it.
    ///
    /// # Errors
    /// None: it has room.
    pub fn parts<'b>(&self, head: &'b mut [u8; HEAD_BYTES]) -> io::Result<Parts<'b>>
    where
        'a: 'b,
    {
        let mut to = &mut head[..];
        let mut plain = |letter: u8, text: &'a [u8]| {
            to.write_all(&[letter])?;
            Ok::<_, io::Error>([text, b"", b""])
        };
        let paths = match *self {
            Self::Write(path) => plain(WRITE, path)?,
            Self::Make(path) => plain(MAKE, path)?,
            Self::MakeFolder(path) => plain(MAKE_FOLDER, path)?,
            Self::Unwatched(program) => plain(UNWATCHED, program)?,
            Self::UsesGpu => plain(USES_GPU, b"")?,
            Self::Cut(name) => plain(CUT, name)?,
            Self::Placed(Placed { old, new }) => {
                plain(PLACED, b"")?;
                write!(to, "{:x}:", old.len())?;
                [old, new, b""]
            }
            Self::Restored(Restored {
                cut,
                last_unix_ns,
                begun_unix_ns,
            }) => {
                plain(RESTORED, b"")?;
                write!(to, "{last_unix_ns:x}:{begun_unix_ns:x}:")?;
                [cut, b"", b""]
            }
            Self::Remove(Named { path, node, link }) => {
                plain(REMOVE, b"")?;
                node.write(&mut to)?;
                write!(to, "{:x}:", link.len())?;
                [link, path, b""]
            }
            Self::Rename(Renamed {
                old,
                node,
                new,
                there,
            }) => {
                plain(RENAME, b"")?;
                node.write(&mut to)?;
                let (how, there, link): (u8, FileNode, &[u8]) = match there {
                    There::Nothing => (0, FileNode::default(), b""),
                    There::Replaced(node, link) => (1, node, link),
                    There::Exchanged(node) => (2, node, b""),
                };
                write!(to, "{how:x}:")?;
                there.write(&mut to)?;
                write!(to, "{:x}:{:x}:", link.len(), old.len())?;
                [link, old, new]
            }
        };
        let used = HEAD_BYTES - to.len();
        let [first, second, third] = paths;
        Ok([&head[..used], first, second, third, b"\0"])
    }

    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (letter, text) = bytes.split_first()?;
        let path = || is_path(text).then_some(text);
        let is_name = |text: &[u8]| text.iter().all(u8::is_ascii_hexdigit);
        match *letter {
            WRITE => path().map(Self::Write),
            MAKE => path().map(Self::Make),
            MAKE_FOLDER => path().map(Self::MakeFolder),
            UNWATCHED => (text.len() <= PATH_BYTES).then_some(Self::Unwatched(text)),
            USES_GPU => text.is_empty().then_some(Self::UsesGpu),
            CUT => is_name(text).then_some(Self::Cut(text)),
            PLACED => {
                let mut rest = text;
                let old = usize::try_from(number(&mut rest)?).ok()?;
                let (old, new) = rest.split_at_checked(old)?;
                (is_path(old) && is_path(new)).then_some(Self::Placed(Placed { old, new }))
            }
            RESTORED => {
                let mut cut = text;
                let restored = Restored {
                    last_unix_ns: number(&mut cut)?,
                    begun_unix_ns: number(&mut cut)?,
                    cut,
                };
                is_name(cut).then_some(Self::Restored(restored))
            }
            REMOVE => {
                let mut rest = text;
                let node = FileNode::read(&mut rest)?;
                let link = usize::try_from(number(&mut rest)?).ok()?;
                let (link, path) = rest.split_at_checked(link)?;
                is_path(path).then_some(Self::Remove(Named { path, node, link }))
            }
            RENAME => {
                let mut rest = text;
                let node = FileNode::read(&mut rest)?;
                let how = number(&mut rest)?;
                let there = FileNode::read(&mut rest)?;
                let link = usize::try_from(number(&mut rest)?).ok()?;
                let old = usize::try_from(number(&mut rest)?).ok()?;
                let (link, rest) = rest.split_at_checked(link)?;
                let (old, new) = rest.split_at_checked(old)?;
                let there = match how {
                    0 => There::Nothing,
                    1 => There::Replaced(there, link),
                    2 => There::Exchanged(there),
                    _ => return None,
                };
                let renamed = Renamed {
                    old,
                    node,
                    new,
                    there,
                };
                (is_path(old) && is_path(new)).then_some(Self::Rename(renamed))
            }
            _ => None,
        }
    }
}

impl FileNode {
    fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let Self {
            mode,
            owner,
            group,
            inode,
        } = self;
        write!(to, "{mode:x}:{owner:x}:{group:x}:{inode:x}:")
    }

    fn read(rest: &mut &[u8]) -> Option<Self> {
        let mut half = || number(rest)?.try_into().ok();
        let (mode, owner, group) = (half()?, half()?, half()?);
        let inode = number(rest)?;
        Some(Self {
            mode,
            owner,
            group,
            inode,
        })
    }
}

fn is_path(text: &[u8]) -> bool {
    text.starts_with(b"/") && text.len() <= PATH_BYTES
}

/// The hexadecimal number before the next colon.
fn number(rest: &mut &[u8]) -> Option<u64> {
    let end = rest.iter().position(|byte| *byte == b':')?;
    let digits = std::str::from_utf8(&rest[..end]).ok()?;
    *rest = &rest[end + 1..];
    u64::from_str_radix(digits, 16).ok()
}

/// The entries in a journal, or in its end. What is not whole is left out.
pub fn entries(bytes: &[u8]) -> impl DoubleEndedIterator<Item = Entry<'_>> {
    let whole = bytes.iter().rposition(|byte| *byte == 0).unwrap_or(0);
    bytes[..whole]
        .split(|byte| *byte == 0)
        .filter_map(Entry::read)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: FileNode = FileNode {
        mode: 0o100_644,
        owner: 1000,
        group: 7,
        inode: 1 << 40,
    };

    fn written(all: &[Entry<'_>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        all.iter()
            .for_each(|entry| entry.write(&mut bytes).unwrap());
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let removed = |link| {
            Entry::Remove(Named {
                path: b"/a:b\n",
                node: NODE,
                link,
            })
        };
        let renamed = |there| {
            Entry::Rename(Renamed {
                old: b"/o/:x",
                node: NODE,
                new: b"/new",
                there,
            })
        };
        let all = [
            Entry::Write(b"/w"),
            Entry::Make(b"/\xff"),
            Entry::MakeFolder(b"/f"),
            removed(b""),
            removed(b"../to:"),
            renamed(There::Nothing),
            renamed(There::Replaced(NODE, b"")),
            renamed(There::Replaced(NODE, b"v1")),
            renamed(There::Exchanged(NODE)),
            Entry::Unwatched(b"static"),
            Entry::UsesGpu,
            Entry::Cut(b"12ab"),
            Entry::Placed(Placed {
                old: b"/o",
                new: b"/new",
            }),
            Entry::Restored(Restored {
                cut: b"12ab",
                last_unix_ns: 1,
                begun_unix_ns: u64::MAX,
            }),
        ];
        let bytes = written(&all);
        assert_eq!(entries(&bytes).collect::<Vec<_>>(), all);
    }

    #[test]
    fn what_is_not_whole_is_left_out() {
        let mut bytes =
            b"of/a\0+/b\0//d\0=/c\0\0*x\0#12ab\0#no name\0<1:12ab\0@9:/a/b\0+relative\0?/e\0-81a4:0:0:5:9:/b\0\
            >81a4:0:0:5:0:0:0:0:0:0:2:/a/b\0>81a4:0:0:5:3:0:0:0:0:0:2:/a/b\0-81a4:0:0::0:/b\0"
                .to_vec();
        let renamed = Renamed {
            old: b"/a",
            node: FileNode {
                mode: 0x81a4,
                inode: 5,
                ..FileNode::default()
            },
            new: b"/b",
            there: There::Nothing,
        };
        let expected = [
            Entry::Make(b"/b"),
            Entry::MakeFolder(b"/d"),
            Entry::Write(b"/c"),
            Entry::Cut(b"12ab"),
            Entry::Rename(renamed),
        ];
        assert_eq!(entries(&bytes).collect::<Vec<_>>(), expected);
        bytes.extend(b"=/f");
        assert_eq!(entries(&bytes).collect::<Vec<_>>(), expected);
        assert_eq!(entries(b"").count() + entries(b"+/half").count(), 0);
    }

    #[test]
    fn no_entry_is_longer_than_said() {
        let path = [b'/'; PATH_BYTES];
        let node = FileNode {
            mode: u32::MAX,
            owner: u32::MAX,
            group: u32::MAX,
            inode: u64::MAX,
        };
        let entry = Entry::Rename(Renamed {
            old: &path,
            node,
            new: &path,
            there: There::Replaced(node, &path),
        });
        let longest = written(&[entry]);
        assert!(longest.len() <= ENTRY_BYTES, "{}", longest.len());
        assert_eq!(entries(&longest).next(), Some(entry));
    }
}
