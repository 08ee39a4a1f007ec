//! What a journal says, looked at by the rights of who says it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use strobe_proto::{FileJournal, ProgramFile};

use super::kept::is_kept;
use crate::journal::{AtWork, Since};
use crate::names::{Made, Names};
use crate::path_map::PathMap;
use crate::rights::Rights;
use crate::shared_memory::is_saved;
use crate::spool::is_spooled;

/// What is looked at, and by whose word.
pub(super) struct View<'a> {
    pub(super) owner: u32,
    by: Rights,
    /// When the cut was.
    pub(super) cut: SystemTime,
    /// What is recorded or spared, and the folders of that up to the root.
    pub(super) around: BTreeSet<&'a Path>,
    pub(super) spared: &'a [PathBuf],
    pub(super) at_work: &'a AtWork,
    guessed: &'a BTreeSet<PathBuf>,
    pub(super) map: &'a PathMap,
}

impl<'a> View<'a> {
    pub(super) fn new(
        journal: &FileJournal,
        since: &'a Since,
        records: &'a [ProgramFile],
        spared: &'a [PathBuf],
        map: &'a PathMap,
    ) -> Self {
        let spared_or_recorded = spared.iter().map(PathBuf::as_path);
        let spared_or_recorded = spared_or_recorded.chain(records.iter().map(ProgramFile::path));
        Self {
            owner: journal.owner,
            by: Rights::of_journal(journal),
            cut: SystemTime::UNIX_EPOCH + Duration::from_nanos(journal.cut_unix_ns),
            around: spared_or_recorded.flat_map(Path::ancestors).collect(),
            spared,
            at_work: &since.at_work,
            guessed: &since.guessed,
            map,
        }
    }

    /// What was made by no call that is watched (mkstemp(3)), and then renamed, is younger than the cut. (So is all of a
    /// copy.)
    pub(super) fn corrected(&self, since: &Names) -> Names {
        let mut since = since.clone();
        for (now, moved) in std::mem::take(&mut since.moved) {
            let born = birth(&self.place(&now)).filter(|_| !self.map.leads_to(&now));
            if born.is_some_and(|born| born > self.cut) {
                since.made.insert(now, Made::File);
            } else {
                since.moved.insert(now, moved);
            }
        }
        since
    }

    /// Where a path of the journal leads to, with no link or `..` in its folders. (A folder may be gone.)
    pub(super) fn place(&self, path: &Path) -> PathBuf {
        real(path).unwrap_or_else(|| path.to_owned())
    }

    /// Whether what is there may have been made by who writes the journal.
    pub(super) fn may_be_its_work(&self, path: &Path) -> bool {
        let is_sure = !path.ancestors().any(|path| self.guessed.contains(path));
        is_sure && birth(path).is_none_or(|born| self.at_work.has_made(born))
    }

    /// What is there, if whoever writes the journal has a say about it: what others own is none of its business.
    pub(super) fn its(&self, path: &Path) -> Option<fs::Metadata> {
        let meta = fs::symlink_metadata(path).ok()?;
        (self.owner == 0 || meta.uid() == self.owner).then_some(meta)
    }

    /// Whether it could give something a name there itself.
    pub(super) fn may_name(&self, path: &Path) -> bool {
        let mut folders = path.ancestors().skip(1);
        let meta = folders.find_map(|folder| fs::metadata(folder).ok());
        meta.map_or(self.owner == 0, |meta| self.by.may_write(&meta))
    }

    pub(super) fn is_spared(&self, path: &Path) -> bool {
        is_kept(path) || self.is_spared_but_kept(path)
    }

    pub(super) fn is_spared_but_kept(&self, path: &Path) -> bool {
        is_saved(path)
            || is_spooled(path)
            || self
                .spared
                .iter()
                .any(|spared| path.starts_with(spared) || spared.starts_with(path))
    }
}

/// When an inode was made, where the file system knows.
pub(super) fn birth(path: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(path).ok()?.created().ok()
}

/// With no link or `..` in its folders.
fn real(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    Some(fs::canonicalize(path.parent()?).ok()?.join(name))
}
