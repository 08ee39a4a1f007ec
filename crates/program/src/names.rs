//! What a program has done to names since a cut: the entries of its journal ([`strobe_proto::journal`]), played through
//! in their order.
//!
//! A call may have failed after its entry. So what is said here of what is there now is right where the inode is, and
//! whoever goes by it looks.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use strobe_proto::journal::{Entry, FileNode, Named, Renamed, There};

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// What was not there at the cut, by its name now.
    pub made: BTreeMap<PathBuf, Made>,
    /// What was there under another name, by its name now.
    pub moved: BTreeMap<PathBuf, Moved>,
    /// What was there and has no name any more, by that of the cut.
    pub removed: BTreeMap<PathBuf, Removed>,
    /// Files that were there and were opened to write, by their names at the cut.
    pub written: BTreeSet<PathBuf>,
    renames: Renames,
}

/// The last rename of each inode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Renames {
    /// From where, and to where.
    of: BTreeMap<u64, (PathBuf, PathBuf)>,
    /// By where to.
    to: BTreeMap<PathBuf, u64>,
}

impl Renames {
    fn note(&mut self, inode: u64, old: PathBuf, new: PathBuf) {
        self.take_of(inode);
        self.take_to(&new);
        self.to.insert(new.clone(), inode);
        self.of.insert(inode, (old, new));
    }

    fn take_of(&mut self, inode: u64) -> Option<(PathBuf, PathBuf)> {
        let (old, new) = self.of.remove(&inode)?;
        self.to.remove(&new);
        Some((old, new))
    }

    fn take_to(&mut self, new: &Path) -> Option<(PathBuf, u64)> {
        let inode = self.to.remove(new)?;
        self.of.remove(&inode).map(|(old, _)| (old, inode))
    }
}

/// What was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// A file, a symbolic link, or a FIFO.
    File,
    /// A folder.
    Folder,
}

/// What has another name than at the cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Its name at the cut.
    pub origin: PathBuf,
    /// Its number.
    pub inode: u64,
}

/// What has no name any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// What it was, where that is known.
    pub node: Option<FileNode>,
    /// Where it led to, if it was a symbolic link.
    pub link: Option<PathBuf>,
}

/// To which thing of the cut a path leads now.
enum Origin {
    /// What had this name.
    At(PathBuf),
    /// None: it was made since.
    Made,
}

impl Names {
    /// What is still known where the program is restored to another cut: there, names stand for other things.
    pub(crate) fn elsewhere(self) -> Self {
        Self {
            made: self.made,
            written: self.written,
            ..Self::default()
        }
    }

    /// Plays one entry.
    pub fn play(&mut self, entry: &Entry<'_>) {
        match *entry {
            Entry::Write(path) => {
                if let Origin::At(origin) = self.origin(&plain(path)) {
                    self.written.insert(origin);
                }
            }
            Entry::Make(path) => self.make(plain(path), Made::File),
            Entry::MakeFolder(path) => self.make(plain(path), Made::Folder),
            Entry::Remove(Named { path, node, link }) => {
                let path = plain(path);
                self.find(&path, node.inode);
                self.remove(&path, Some(node), link);
            }
            Entry::Rename(Renamed {
                old,
                node,
                new,
                there,
            }) => {
                let (old, new) = (plain(old), plain(new));
                self.find(&old, node.inode);
                match there {
                    There::Exchanged(inode) => {
                        // No path has a zero in it.
                        let between = Path::new("\0");
                        self.rename(&new, between, inode);
                        self.rename(&old, &new, node.inode);
                        self.rename(between, &old, inode);
                        self.renames.note(inode, new.clone(), old.clone());
                    }
                    There::Replaced(link) => {
                        self.remove(&new, None, link);
                        self.rename(&old, &new, node.inode);
                    }
                    There::Nothing => self.rename(&old, &new, node.inode),
                }
                self.renames.note(node.inode, old, new);
            }
            Entry::Cut(_) | Entry::Restored(_) => {}
        }
    }

    /// Nothing was there: what has last got this name has not got it.
    fn make(&mut self, path: PathBuf, made: Made) {
        if let Some((old, inode)) = self.renames.take_to(&path) {
            self.rename(&path, &old, inode);
        }
        self.made.insert(path, made);
    }

    /// An inode is there under this name: if its last rename was from here, that has failed.
    fn find(&mut self, path: &Path, inode: u64) {
        if self
            .renames
            .of
            .get(&inode)
            .is_some_and(|(old, _)| old == path)
            && let Some((_, new)) = self.renames.take_of(inode)
        {
            self.rename(&new, path, inode);
        }
    }

    fn origin(&self, path: &Path) -> Origin {
        for ancestor in path.ancestors() {
            if self.made.contains_key(ancestor) {
                return Origin::Made;
            }
            if let Some(moved) = self.moved.get(ancestor) {
                return Origin::At(under(path, ancestor, &moved.origin));
            }
        }
        Origin::At(path.to_owned())
    }

    fn remove(&mut self, path: &Path, node: Option<FileNode>, link: &[u8]) {
        if let Origin::At(origin) = self.origin(path) {
            let link = (!link.is_empty()).then(|| OsStr::from_bytes(link).into());
            let removed = Removed { node, link };
            self.removed.entry(origin).or_insert(removed);
        }
        take_below(&mut self.made, path);
        self.moved.remove(path);
        self.renames.take_to(path);
    }

    fn rename(&mut self, old: &Path, new: &Path, inode: u64) {
        let origin = self.origin(old);
        let is_moved = self.moved.contains_key(old);
        let made = take_below(&mut self.made, old);
        let made = made
            .into_iter()
            .map(|(path, made)| (under(&path, old, new), made));
        self.made.extend(made);
        let moved = take_below(&mut self.moved, old);
        let moved = moved
            .into_iter()
            .map(|(path, moved)| (under(&path, old, new), moved));
        self.moved
            .extend(moved.filter(|(now, moved)| *now != moved.origin));
        match origin {
            // In a folder that was made, by no call that is watched.
            Origin::Made => _ = self.made.entry(new.to_owned()).or_insert(Made::File),
            Origin::At(origin) if !is_moved && origin != new => {
                self.moved.insert(new.to_owned(), Moved { origin, inode });
            }
            Origin::At(_) => {}
        }
    }
}

/// Takes what lies at or below a path.
fn take_below<T>(all: &mut BTreeMap<PathBuf, T>, path: &Path) -> Vec<(PathBuf, T)> {
    // Of the order of paths, what lies below one follows it.
    let from = all.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
    let names = from.take_while(|(name, _)| name.starts_with(path));
    let names: Vec<_> = names.map(|(name, _)| name.clone()).collect();
    let take = |name| all.remove_entry(&name);
    names.into_iter().filter_map(take).collect()
}

/// A path that lies at or below `old`, with that replaced; any other as it is.
pub(crate) fn under(path: &Path, old: &Path, new: &Path) -> PathBuf {
    match path.strip_prefix(old) {
        Ok(rest) if rest.as_os_str().is_empty() => new.to_owned(),
        Ok(rest) => new.join(rest),
        Err(_) => path.to_owned(),
    }
}

/// Without what means nothing in it. (`..` behind a link means another folder; the inode tells.)
fn plain(path: &[u8]) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in Path::new(OsStr::from_bytes(path)).components() {
        match component {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(inode: u64) -> FileNode {
        FileNode {
            inode,
            ..FileNode::default()
        }
    }

    /// A line for each entry: `+a`, `/a`, `=a`, `-a 5`, `a 5 > b`, and `a 5 >> b` where something is replaced.
    fn played(lines: &[&str]) -> Names {
        let mut names = Names::default();
        for line in lines {
            let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
            let inode = |word: &[u8]| String::from_utf8_lossy(word).parse().unwrap();
            names.play(&match (words.as_slice(), line.as_bytes()) {
                ([old, number, how, new], _) => Entry::Rename(Renamed {
                    old,
                    node: node(inode(number)),
                    new,
                    there: match *how {
                        b">" => There::Nothing,
                        b">>" => There::Replaced(b""),
                        _ => There::Exchanged(99),
                    },
                }),
                ([_, number], [b'-', path @ ..]) => Entry::Remove(Named {
                    path: &path[..path.len() - number.len() - 1],
                    node: node(inode(number)),
                    link: b"",
                }),
                (_, [b'+', path @ ..]) => Entry::Make(path),
                (_, [b'=', path @ ..]) => Entry::Write(path),
                (_, path) => Entry::MakeFolder(path),
            });
        }
        names
    }

    fn made(names: &Names) -> Vec<&str> {
        names
            .made
            .keys()
            .map(|path| path.to_str().unwrap())
            .collect()
    }

    fn moved(names: &Names) -> Vec<String> {
        let moved = names.moved.iter();
        moved
            .map(|(now, moved)| {
                let (origin, now) = (moved.origin.display(), now.display());
                format!("{origin} {} {now}", moved.inode)
            })
            .collect()
    }

    #[test]
    fn what_was_made_is_found_under_its_last_name() {
        let names = played(&["/t", "+/t/w", "/t 5 > /c", "+/c/more", "=/c/w"]);
        assert_eq!(made(&names), ["/c", "/c/more", "/c/w"]);
        assert!(names.moved.is_empty() && names.removed.is_empty() && names.written.is_empty());
        let names = played(&["+/a", "-/a 5", "/q", "-/q 6", "+/x", "/x 7 >> /y"]);
        assert_eq!(made(&names), ["/y"]);
        assert_eq!(names.removed.keys().collect::<Vec<_>>(), [Path::new("/y")]);
    }

    #[test]
    fn what_was_there_is_known_by_its_first_name() {
        let names = played(&[
            "/D 5 > /E",
            "/E/./f 6 > /g",
            "=/E/x",
            "/E 5 > /F",
            "+/F/n",
            "-/F/z 8",
        ]);
        assert_eq!(moved(&names), ["/D 5 /F", "/D/f 6 /g"]);
        assert_eq!(made(&names), ["/F/n"]);
        assert_eq!(names.written, BTreeSet::from(["/D/x".into()]));
        assert_eq!(
            names.removed.keys().collect::<Vec<_>>(),
            [Path::new("/D/z")]
        );
        let back = played(&["/a 5 > /b", "/b 5 > /a"]);
        assert!(back.moved.is_empty());
        let names = played(&["/N", "/o/big 5 > /N/big", "/N 6 > /M"]);
        assert_eq!(
            (moved(&names), made(&names)),
            (vec!["/o/big 5 /M/big".into()], vec!["/M"])
        );
    }

    #[test]
    fn two_that_have_changed_names_are_both_known() {
        let names = played(&["/a 5 x /b", "=/a"]);
        assert_eq!(moved(&names), ["/b 99 /a", "/a 5 /b"]);
        assert_eq!(names.written, BTreeSet::from(["/b".into()]));
        assert!(played(&["/a 5 x /b", "/b 5 x /a"]).moved.is_empty());
    }

    #[test]
    fn a_rename_that_has_failed_is_none() {
        // As `mv` to another file system: it copies then.
        let names = played(&["/a 5 > /b", "+/b", "-/a 5"]);
        assert_eq!((moved(&names), made(&names)), (vec![], vec!["/b"]));
        assert_eq!(names.removed.keys().collect::<Vec<_>>(), [Path::new("/a")]);
        let names = played(&["+/a", "/a 5 > /b", "+/b", "-/a 5"]);
        assert_eq!((moved(&names), made(&names)), (vec![], vec!["/b"]));
        assert!(names.removed.is_empty());
        let names = played(&["/a 5 > /b", "-/b 5", "+/b"]);
        assert_eq!((moved(&names), made(&names)), (vec![], vec!["/b"]));
        assert_eq!(names.removed.keys().collect::<Vec<_>>(), [Path::new("/a")]);
    }
}
