//! Where a restore looks for what had another path at the checkpoint.
//!
//! Paths are those of the kernel: absolute, without links. A rule is for whole components, and of several the
//! longest counts. What `strobe run` passes a program's output through is ours and stays where it is.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use strobe_proto::ProgramFile;

use crate::names::under;
use crate::spool::is_spooled;

/// What the kernel itself shows there, wherever a program is: another root has the same in it.
pub const KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];
/// But this, where programs have files.
const SHARED_MEMORY: &str = "/dev/shm";

/// `OLD=NEW` that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum PathMapError {
    #[error("{0:?} is not OLD=NEW with two absolute paths")]
    NoRule(OsString),
    #[error("{0} has \"..\" in it")]
    Parent(PathBuf),
    #[error("/ is mapped by --root DIR")]
    Root,
    #[error("{0} is the kernel's, and everywhere the same")]
    Kernel(PathBuf),
}

/// What lay under one path lies under another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRule {
    old: PathBuf,
    new: PathBuf,
}

impl PathRule {
    /// Of `OLD=NEW`.
    pub fn parse(text: &OsStr) -> Result<Self, PathMapError> {
        let bytes = text.as_bytes();
        // Both begin with a slash, so that a name may have the sign in it.
        let at = bytes.windows(2).position(|pair| pair == b"=/");
        let at = at.filter(|_| bytes.starts_with(b"/"));
        let (old, new) = at
            .map(|at| (&bytes[..at], &bytes[at + 1..]))
            .ok_or_else(|| PathMapError::NoRule(text.to_owned()))?;
        Ok(Self {
            old: checked(old)?,
            new: checked(new)?,
        })
    }

    /// Where things lay.
    pub fn old(&self) -> &Path {
        &self.old
    }

    /// Where they lie.
    pub(crate) fn place(&self) -> &Path {
        &self.new
    }
}

/// The path without what makes no difference.
fn checked(bytes: &[u8]) -> Result<PathBuf, PathMapError> {
    let path: PathBuf = Path::new(OsStr::from_bytes(bytes)).components().collect();
    if path.components().any(|c| c == Component::ParentDir) {
        return Err(PathMapError::Parent(path));
    }
    if path == Path::new("/") {
        return Err(PathMapError::Root);
    }
    let is_shared = path.starts_with(SHARED_MEMORY) && path != Path::new(SHARED_MEMORY);
    match is_of_kernel(&path) && !is_shared {
        true => Err(PathMapError::Kernel(path)),
        false => Ok(path),
    }
}

/// Joined with nothing, a path would end in a slash.
fn below(folder: &Path, rest: &Path) -> PathBuf {
    match rest.as_os_str().is_empty() {
        true => folder.to_owned(),
        false => folder.join(rest),
    }
}

/// As much of a path as is there, as the kernel has it.
fn without_links(path: &Path) -> PathBuf {
    let mut folders = path.ancestors();
    let there = folders.find_map(|folder| Some((folder, fs::canonicalize(folder).ok()?)));
    there.map_or_else(
        || path.to_owned(),
        |(folder, there)| under(path, folder, &there),
    )
}

fn is_of_kernel(path: &Path) -> bool {
    KERNEL.iter().any(|folder| path.starts_with(folder))
}

/// All rules of one restore.
#[derive(Clone, Debug, Default)]
pub struct PathMap {
    rules: Vec<PathRule>,
    /// The directory that is the program's root, where that is another than its own was.
    root: Option<PathBuf>,
    are_folders_renumbered: bool,
}

impl PathMap {
    /// Of these rules; of two for one path the last counts. All but what is the kernel's is below `root` then.
    pub fn new(mut rules: Vec<PathRule>, root: Option<PathBuf>) -> Self {
        for rule in rules.iter_mut().filter(|_| root.is_none()) {
            rule.new = without_links(&rule.new);
        }
        Self {
            rules,
            root,
            are_folders_renumbered: false,
        }
    }

    /// The same, where folders are seen through an overlay: it gives them numbers of its own where its layers lie on
    /// several file systems.
    #[must_use]
    pub fn through_overlays(self) -> Self {
        Self {
            are_folders_renumbered: true,
            ..self
        }
    }

    /// The directory that becomes the program's root.
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    pub(crate) fn rules(&self) -> &[PathRule] {
        &self.rules
    }

    /// Where that is which a program sees at a path that has the root.
    pub(crate) fn outside_root<'a>(&self, path: &'a Path) -> Cow<'a, Path> {
        match (&self.root, path.strip_prefix("/")) {
            (Some(root), Ok(rest)) => below(root, rest).into(),
            _ => path.into(),
        }
    }

    /// A path as a program sees it that has the root.
    pub fn inside_root<'a>(&self, path: &'a Path) -> Cow<'a, Path> {
        let rest = self.root().and_then(|root| path.strip_prefix(root).ok());
        rest.map_or(path.into(), |rest| Path::new("/").join(rest).into())
    }

    /// Where it is now; `None` if that is where it was.
    pub fn moved(&self, path: &Path) -> Option<PathBuf> {
        let ruled = self.rule(path).and_then(|rule| {
            let rest = path.strip_prefix(&rule.old).ok()?;
            Some(below(&rule.new, rest))
        });
        let place = ruled.as_deref().unwrap_or(path);
        match (&self.root, place.strip_prefix("/")) {
            (Some(root), Ok(rest)) if !is_of_kernel(place) && !is_spooled(path) => {
                Some(below(root, rest))
            }
            _ => ruled,
        }
    }

    fn rule(&self, path: &Path) -> Option<&PathRule> {
        if is_spooled(path) {
            return None;
        }
        let rules = self.rules.iter();
        let of_path = rules.filter(|rule| path.starts_with(&rule.old));
        of_path.max_by_key(|rule| rule.old.as_os_str().len())
    }

    /// Whether something that lay elsewhere may be there.
    pub(crate) fn leads_to(&self, path: &Path) -> bool {
        let inside = match &self.root {
            Some(root) if path.starts_with(root) => return true,
            _ => path,
        };
        self.rules.iter().any(|rule| inside.starts_with(&rule.new))
    }

    /// Whether what is there may have another inode number than it had.
    pub(crate) fn may_renumber(&self, path: &Path, meta: &fs::Metadata) -> bool {
        self.are_folders_renumbered && meta.is_dir() || self.leads_to(path)
    }

    /// The records of files, with the paths that these have now.
    pub fn files(&self, records: &[ProgramFile]) -> Vec<ProgramFile> {
        let name = |name: &String| {
            let moved = self.moved(Path::new(name));
            moved.map_or_else(|| name.clone(), |path| path.to_string_lossy().into_owned())
        };
        let file = |record: &ProgramFile| ProgramFile {
            path: self.moved(record.path()).map_or_else(
                || record.path.clone(),
                |path| path.into_os_string().into_vec(),
            ),
            opened_as: record.opened_as.iter().map(name).collect(),
            links: record.links.iter().map(name).collect(),
            ..record.clone()
        };
        records.iter().map(file).collect()
    }

    /// The first rule that none of these paths follows.
    pub fn unused<'a>(&self, paths: impl IntoIterator<Item = &'a Path>) -> Option<&PathRule> {
        let mut unused: Vec<&PathRule> = self.rules.iter().collect();
        for path in paths {
            let follows = self.rule(path);
            unused.retain(|rule| follows != Some(*rule));
        }
        unused.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(rules: &[&str]) -> PathMap {
        let rules = rules.iter().map(|rule| PathRule::parse(rule.as_ref()));
        PathMap::new(rules.collect::<Result<_, _>>().expect("rules"), None)
    }

    #[test]
    fn where_things_lie_is_known_without_links() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(&folder, folder.join("link")).unwrap();
        let mut rule = OsString::from("/old=");
        rule.push(folder.join("link/new"));
        let rule = PathRule::parse(&rule).unwrap();
        let map = PathMap::new(vec![rule], None);
        let moved = map.moved(Path::new("/old/file"));
        assert_eq!(moved, Some(folder.join("new/file")));
    }

    #[test]
    fn with_another_root_all_is_below_it_but_what_is_the_kernel_s_or_ours() {
        let rules = vec![PathRule::parse("/a=/b".as_ref()).expect("a rule")];
        let map = PathMap::new(rules, Some("/new root".into()));
        for (old, new) in [
            ("/", "/new root"),
            ("/usr/lib/x", "/new root/usr/lib/x"),
            ("/a/x", "/new root/b/x"),
        ] {
            assert_eq!(map.moved(Path::new(old)), Some(new.into()));
            assert!(map.leads_to(Path::new(new)));
            let inside = map.inside_root(Path::new(new));
            assert_eq!(map.inside_root(Path::new(&*inside)), inside);
            assert_eq!(
                Path::new("/new root").join(inside.strip_prefix("/").unwrap()),
                Path::new(new)
            );
        }
        for same in [
            "/dev/kfd",
            "/dev/shm/x",
            "/proc/1",
            "/sys",
            "/tmp/strobe-run-x7/stdout",
            "relative",
        ] {
            assert_eq!(map.moved(Path::new(same)), None, "{same}");
        }
    }

    #[test]
    fn a_rule_is_for_whole_components_and_the_longest_counts() {
        let map = map(&["/a//b/=/new/./place", "/a/b/c=/c", "/a/b=d=/e"]);
        let moved = |path: &str| {
            let moved = map.moved(Path::new(path))?;
            Some(moved.to_str().expect("UTF-8").to_owned())
        };
        assert_eq!(moved("/a/b").as_deref(), Some("/new/place"));
        assert_eq!(moved("/a/b/file").as_deref(), Some("/new/place/file"));
        assert_eq!(moved("/a/b/c/file").as_deref(), Some("/c/file"));
        assert_eq!(moved("/a/b=d/file").as_deref(), Some("/e/file"));
        for other in ["/a/bc", "/a", "/", "a/b", "/a/b/strobe-run-x7/stdout"] {
            let expected = other.starts_with("/a/b/").then_some("stays");
            assert_eq!(moved(other), None, "{expected:?}");
        }
        let paths = ["/a/b/c/d", "/a/b=d"].map(Path::new);
        let unused = map.unused(paths).map(PathRule::old);
        assert_eq!(unused, Some(Path::new("/a/b")));
        assert_eq!(
            map.unused(["/a/b", "/a/b=d", "/a/b/c"].map(Path::new)),
            None
        );
    }

    #[test]
    fn what_is_no_rule_is_said() {
        let said = |text: &str| PathRule::parse(text.as_ref()).expect_err(text).to_string();
        for text in ["", "/a", "a=/b", "/a=b", "=/b"] {
            assert!(said(text).contains("is not OLD=NEW"), "{text}");
        }
        assert!(said("/=/b").contains("--root"));
        assert!(said("/a/../b=/c").contains(".."));
        for text in ["/dev/kfd=/a", "/a=/proc/self", "/dev/shm=/a", "/sys=/a"] {
            assert!(said(text).contains("the kernel's"), "{text}");
        }
        assert!(PathRule::parse("/dev/shm/a=/dev/shm/b".as_ref()).is_ok());
    }

    #[test]
    fn records_have_all_their_names_elsewhere() {
        let record = ProgramFile {
            opened_as: vec!["/a/gone".into()],
            links: vec!["/a/link_remap.1".into(), "/b/other".into()],
            size: 7,
            ..ProgramFile::at("/a/file".into())
        };
        let moved = &map(&["/a=/c"]).files(&[record])[0];
        assert_eq!(moved.path(), Path::new("/c/file"));
        assert_eq!(moved.opened_as, ["/c/gone"]);
        assert_eq!(moved.links, ["/c/link_remap.1", "/b/other"]);
        assert_eq!(moved.size, 7);
    }
}
