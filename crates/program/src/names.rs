//! What a program has done to names since a cut: the entries of its journal ([`strobe_proto::journal`]), played through
//! in their order.
//!
//! A call may have failed after its entry. So what is said here of what is there now is right where the inode is, and
//! whoever goes by it looks.

use std::collections::btree_map::Entry::Vacant;
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
    /// What was removed and not made again, by its name: if it is still there, that has failed.
    gone: BTreeMap<PathBuf, Gone>,
}

/// A removal.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Gone {
    inode: u64,
    /// What was forgotten for it.
    made: Vec<(PathBuf, Made)>,
    moved: Option<Moved>,
    /// What was noted for it.
    removed: Option<PathBuf>,
    /// By what was renamed to it: something has the name in any case.
    is_replaced: bool,
}

/// The last rename of each inode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Renames {
    /// From where, and to where.
    of: BTreeMap<u64, (PathBuf, PathBuf)>,
    /// By where to.
    to: BTreeMap<PathBuf, u64>,
    /// By where from, while nothing else has got that name.
    from: BTreeMap<PathBuf, u64>,
}

impl Renames {
    fn note(&mut self, inode: u64, old: PathBuf, new: PathBuf) {
        self.take_of(inode);
        self.take_to(&new);
        self.from.remove(&new);
        self.to.insert(new.clone(), inode);
        self.from.insert(old.clone(), inode);
        self.of.insert(inode, (old, new));
    }

    /// A folder has another name: so have those in it.
    fn relocate(&mut self, old: &Path, new: &Path) {
        for (path, inode) in take_within(&mut self.to, old) {
            let path = under(&path, old, new);
            if let Some((_, to)) = self.of.get_mut(&inode) {
                to.clone_from(&path);
            }
            self.to.insert(path, inode);
        }
        for (path, inode) in take_within(&mut self.from, old) {
            let path = under(&path, old, new);
            if let Some((from, _)) = self.of.get_mut(&inode) {
                from.clone_from(&path);
            }
            self.from.insert(path, inode);
        }
    }

    fn take_of(&mut self, inode: u64) -> Option<(PathBuf, PathBuf)> {
        let (old, new) = self.of.remove(&inode)?;
        self.to.remove(&new);
        if self.from.get(&old) == Some(&inode) {
            self.from.remove(&old);
        }
        Some((old, new))
    }

    fn take_to(&mut self, new: &Path) -> Option<(PathBuf, u64)> {
        let inode = *self.to.get(new)?;
        self.take_of(inode).map(|(old, _)| (old, inode))
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
    /// What it was.
    pub node: FileNode,
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
    /// Plays one entry. `now` says where what it names is now, or `None` where that is none of this restore's.
    pub(crate) fn play(&mut self, entry: &Entry<'_>, now: &impl Fn(PathBuf) -> Option<PathBuf>) {
        let _ = self.play_here(entry, |path| now(plain(path)));
    }

    fn play_here(
        &mut self,
        entry: &Entry<'_>,
        plain: impl Fn(&[u8]) -> Option<PathBuf>,
    ) -> Option<()> {
        match *entry {
            Entry::Write(path) => {
                let path = plain(path)?;
                self.enter(&path);
                if let Origin::At(origin) = self.origin(&path) {
                    self.written.insert(origin);
                }
            }
            Entry::Make(path) => self.make(plain(path)?, Made::File),
            Entry::MakeFolder(path) => self.make(plain(path)?, Made::Folder),
            Entry::Remove(Named { path, node, link }) => {
                let path = plain(path)?;
                self.find(&path, node.inode);
                self.remove(&path, node, link, false);
            }
            Entry::Rename(Renamed {
                old,
                node,
                new,
                there,
            }) => {
                let (old, new) = (plain(old)?, plain(new)?);
                // The kernel refuses what would put a folder into itself, or in the place of one that it is in.
                if old != new && (new.starts_with(&old) || old.starts_with(&new)) {
                    return None;
                }
                self.find(&old, node.inode);
                self.enter(&new);
                match there {
                    There::Exchanged(other) => {
                        let inode = other.inode;
                        // No path has a zero in it.
                        let between = Path::new("\0");
                        self.rename(&new, between, inode);
                        self.rename(&old, &new, node.inode);
                        self.rename(between, &old, inode);
                        self.renames.note(inode, new.clone(), old.clone());
                    }
                    There::Replaced(replaced, link) => {
                        self.remove(&new, replaced, link, true);
                        self.rename(&old, &new, node.inode);
                    }
                    There::Nothing => {
                        take_below(&mut self.gone, &new);
                        self.rename(&old, &new, node.inode);
                    }
                }
                self.renames.note(node.inode, old, new);
            }
            Entry::Unwatched(_)
            | Entry::UsesGpu
            | Entry::Cut(_)
            | Entry::Placed(_)
            | Entry::Restored(_) => {}
        }
        Some(())
    }

    /// Nothing was there: what has last got this name has not got it.
    fn make(&mut self, path: PathBuf, made: Made) {
        self.enter(&path);
        take_below(&mut self.gone, &path);
        if let Some((old, inode)) = self.renames.take_to(&path) {
            self.rename(&path, &old, inode);
        }
        self.renames.from.remove(&path);
        self.made.insert(path, made);
    }

    /// An inode is there under this name: if the last that was done to it was to take it from here, that has failed.
    fn find(&mut self, path: &Path, inode: u64) {
        self.enter(path);
        match self.gone.get(path) {
            Some(gone) if gone.inode == inode && gone.is_replaced => {
                if let Some(&by) = self.renames.to.get(path) {
                    self.take_back(by);
                }
            }
            Some(gone) if gone.inode == inode => self.bring_back(path),
            _ => {}
        }
        let is_from_here = |(old, _): &(PathBuf, PathBuf)| old == path;
        if self.renames.of.get(&inode).is_some_and(is_from_here) {
            self.take_back(inode);
        }
    }

    /// Something is in the folders of this path: they are there.
    fn enter(&mut self, path: &Path) {
        let folders: Vec<_> = path.ancestors().skip(1).collect();
        for folder in folders.into_iter().rev() {
            if self.gone.get(folder).is_some_and(|gone| !gone.is_replaced) {
                self.bring_back(folder);
            }
            if let Some(&inode) = self.renames.from.get(folder) {
                self.take_back(inode);
            }
        }
    }

    /// Its last rename has failed.
    fn take_back(&mut self, inode: u64) {
        let Some((old, new)) = self.renames.take_of(inode) else {
            return;
        };
        let replaced = self.gone.remove(&new);
        self.rename(&new, &old, inode);
        if let Some(replaced) = replaced {
            self.gone.insert(new.clone(), replaced);
            self.bring_back(&new);
        }
    }

    /// After the last entry: what is there tells of the calls that have failed, as later entries would.
    pub(crate) fn settle(&mut self, inode: impl Fn(&Path) -> Option<u64>) {
        let gone = self.gone.iter().map(|(path, gone)| (path, gone.inode));
        let renamed = self.renames.from.iter();
        let renamed = renamed.map(|(path, inode)| (path, *inode));
        let is_there = |(path, number): &(&PathBuf, u64)| inode(path) == Some(*number);
        let there: Vec<_> = gone.chain(renamed).filter(is_there).collect();
        let there: Vec<_> = there
            .into_iter()
            .map(|(path, inode)| (path.clone(), inode))
            .collect();
        for (path, inode) in there {
            self.find(&path, inode);
        }
    }

    /// Its removal has failed.
    fn bring_back(&mut self, path: &Path) {
        let Some(gone) = self.gone.remove(path) else {
            return;
        };
        self.made.extend(gone.made);
        let moved = gone.moved.map(|moved| (path.to_owned(), moved));
        self.moved.extend(moved);
        if let Some(origin) = gone.removed {
            self.removed.remove(&origin);
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

    fn remove(&mut self, path: &Path, node: FileNode, link: &[u8], is_replaced: bool) {
        let mut noted = None;
        if let Origin::At(origin) = self.origin(path)
            && let Vacant(place) = self.removed.entry(origin.clone())
        {
            let link = (!link.is_empty()).then(|| OsStr::from_bytes(link).into());
            place.insert(Removed { node, link });
            noted = Some(origin);
        }
        let gone = Gone {
            inode: node.inode,
            made: take_below(&mut self.made, path),
            moved: self.moved.remove(path),
            removed: noted,
            is_replaced,
        };
        self.gone.insert(path.to_owned(), gone);
        self.renames.take_to(path);
    }

    fn rename(&mut self, old: &Path, new: &Path, inode: u64) {
        self.renames.relocate(old, new);
        let origin = self.origin(old);
        for (path, mut gone) in take_below(&mut self.gone, old) {
            for (made, _) in &mut gone.made {
                *made = under(made, old, new);
            }
            self.gone.insert(under(&path, old, new), gone);
        }
        let made = take_below(&mut self.made, old);
        let made = made
            .into_iter()
            .map(|(path, made)| (under(&path, old, new), made));
        self.made.extend(made);
        let mut moved = take_below(&mut self.moved, old);
        moved.retain(|(path, _)| path != old);
        match origin {
            // In a folder that was made, by no call that is watched.
            Origin::Made => _ = self.made.entry(new.to_owned()).or_insert(Made::File),
            Origin::At(origin) => self.set_moved(new.to_owned(), Moved { origin, inode }),
        }
        for (path, moved) in moved {
            self.set_moved(under(&path, old, new), moved);
        }
    }

    /// Unless it is where it was, in a folder that was moved or not.
    fn set_moved(&mut self, now: PathBuf, moved: Moved) {
        match self.origin(&now) {
            Origin::At(origin) if origin == moved.origin => {}
            _ => _ = self.moved.insert(now, moved),
        }
    }
}

/// Takes what lies below a path.
fn take_within<T>(all: &mut BTreeMap<PathBuf, T>, path: &Path) -> Vec<(PathBuf, T)> {
    let own = all.remove_entry(path);
    let within = take_below(all, path);
    all.extend(own);
    within
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
            mode: libc::S_IFDIR,
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
            names.play(
                &match (words.as_slice(), line.as_bytes()) {
                    ([old, number, how, new], _) => Entry::Rename(Renamed {
                        old,
                        node: node(inode(number)),
                        new,
                        there: match *how {
                            b">" => There::Nothing,
                            b">>" => There::Replaced(node(0), b""),
                            _ => There::Exchanged(node(99)),
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
                },
                &Some,
            );
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
