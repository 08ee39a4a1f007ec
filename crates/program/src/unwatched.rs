//! A process of which the journal does not tell what it writes ([`crate::journal`]).

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::journal;
use crate::rights::Rights;

/// Programs that are named.
const NAMED: usize = 8;

/// Why, and what helps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum Unwatched {
    #[error(
        "process {pid} is user {user}'s, who may not write the journal of its `strobe run`, nor keep one in {}: \
         what it writes and closes is not put back, and what it makes after the checkpoint is not moved aside \
         (chown {user} {} and chmod 700, or start the `strobe run` as that user)",
        .folder.display(), .folder.display()
    )]
    NoFolder {
        pid: u32,
        user: u32,
        folder: PathBuf,
    },
    #[error(
        "the journal that process {pid} writes is gone ({}): files that it has closed are not put back (start \
         `strobe run` with XDG_STATE_HOME where nobody removes it)",
        .journal.display()
    )]
    Gone { pid: u32, journal: PathBuf },
    #[error(
        "process {pid} is user {user}'s, and no process of the user is left whose journal {} is: what the files were \
         that it tells of is not put back (let the shell or `sudo` that wrote them wait, or write them before \
         `strobe run`)",
        .journal.display()
    )]
    Others {
        pid: u32,
        user: u32,
        journal: PathBuf,
    },
    #[error(
        "what these programs write, which the program has started in environments of their own, is not known, and \
         not put back: {} (leave LD_PRELOAD, STROBE_JOURNAL and STROBE_TREE in their environments)",
        .0.join(", ")
    )]
    Children(Vec<String>),
}

/// Looks at the processes of a tree, one after the other.
#[derive(Debug, Default)]
pub struct Watch {
    /// Journals that processes have named, and by whose word.
    named: BTreeSet<(PathBuf, Rights)>,
    /// Those whose word counts.
    read: BTreeSet<PathBuf>,
}

impl Watch {
    /// Looks whether a process can write the journal, or one of its user's, and, once, what journals themselves say.
    pub fn add(&mut self, pid: u32) -> Vec<Unwatched> {
        let mut found = Vec::new();
        if let Some(journal) = journal::of(pid)
            && let Ok(by) = Rights::of(pid)
        {
            let root = PathBuf::from(format!("/proc/{pid}/root"));
            let user = by.user;
            if self.named.insert((journal.clone(), by.clone())) {
                found.extend(self.children(&journal, &by));
                found.extend(self.others(pid, user, &journal, &root));
            }
            found.extend(look(pid, user, journal, &root));
        }
        found
    }

    fn children(&mut self, journal: &Path, by: &Rights) -> Option<Unwatched> {
        let mut names = BTreeSet::new();
        for (one, by) in journal::all(journal, by) {
            if !self.read.contains(&one)
                && let Ok(unwatched) = journal::unwatched(&one, &by)
            {
                names.extend(unwatched);
                self.read.insert(one);
            }
        }
        let mut named: Vec<_> = names.iter().take(NAMED).cloned().collect();
        if names.len() > NAMED {
            named.push(format!("and {} more", names.len() - NAMED));
        }
        (!named.is_empty()).then_some(Unwatched::Children(named))
    }

    /// Whether a process names somebody else's journal, which tells of files.
    fn others(&self, pid: u32, user: u32, journal: &Path, root: &Path) -> Option<Unwatched> {
        if self.read.contains(journal) {
            return None;
        }
        let written = journal::recent(&inside(journal, root), &Rights::alone(0));
        let journal = journal.to_owned();
        let is_one = written.is_ok_and(|written| !written.is_empty());
        is_one.then_some(Unwatched::Others { pid, user, journal })
    }
}

fn inside(journal: &Path, root: &Path) -> PathBuf {
    root.join(journal.strip_prefix("/").unwrap_or(journal))
}

fn look(pid: u32, user: u32, journal: PathBuf, root: &Path) -> Option<Unwatched> {
    match fs::symlink_metadata(inside(&journal, root)) {
        // The first user may write everybody's.
        Ok(meta) if user == 0 || meta.uid() == user => None,
        Ok(_) => {
            let folder = journal::can_be_kept(user, root).err()?;
            Some(Unwatched::NoFolder { pid, user, folder })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Some(Unwatched::Gone { pid, journal })
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn programs_that_nobody_watches_are_named_once() {
        use strobe_proto::journal::Entry;
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        fs::write(&journal, "").unwrap();
        let mine = Rights::of(std::process::id()).unwrap();
        let children = || Watch::default().children(&journal, &mine);
        assert_eq!(children(), None);
        let mut bytes = Vec::new();
        for program in ["b", "a", "b", "1", "2", "3", "4", "5", "6", "7"] {
            let entry = Entry::Unwatched(program.as_bytes());
            entry.write(&mut bytes).unwrap();
        }
        fs::write(&journal, bytes).unwrap();
        let named = ["1", "2", "3", "4", "5", "6", "7", "a", "and 1 more"];
        let named = named.map(str::to_owned).to_vec();
        assert_eq!(children(), Some(Unwatched::Children(named)));
    }

    #[test]
    fn whoever_names_another_s_journal_is_named_unless_that_counts() {
        use strobe_proto::journal::Entry;
        let root = tempfile::tempdir().unwrap();
        let journal = root.path().join("journal");
        let own = Rights::of(std::process::id()).unwrap();
        let other = own.user + 1;
        let mut watch = Watch::default();
        fs::write(&journal, "").unwrap();
        let found = |watch: &Watch| watch.others(1, other, &journal, Path::new("/"));
        assert_eq!(found(&watch), None);
        let mut bytes = Vec::new();
        Entry::Write(b"/log").write(&mut bytes).unwrap();
        fs::write(&journal, bytes).unwrap();
        let others = Unwatched::Others {
            pid: 1,
            user: other,
            journal: journal.clone(),
        };
        assert_eq!(found(&watch), Some(others));
        watch.children(&journal, &own);
        assert_eq!(found(&watch), None);
    }

    #[test]
    fn whoever_has_no_place_for_a_journal_is_named() {
        let root = tempfile::tempdir().unwrap();
        let own = fs::metadata(root.path()).unwrap().uid();
        let journal = PathBuf::from("/journal");
        let found = |user| look(1, user, journal.clone(), root.path());
        let gone = Unwatched::Gone {
            pid: 1,
            journal: journal.clone(),
        };
        assert_eq!(found(own), Some(gone));
        fs::write(root.path().join("journal"), "").unwrap();
        assert_eq!(found(own), None);
        let folder = PathBuf::from(format!("/var/tmp/strobe-{}", own + 1));
        let nowhere = Unwatched::NoFolder {
            pid: 1,
            user: own + 1,
            folder: folder.clone(),
        };
        assert_eq!(found(own + 1), Some(nowhere.clone()));
        let tmp = root.path().join("var/tmp");
        fs::create_dir_all(&tmp).unwrap();
        fs::set_permissions(&tmp, Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(found(own + 1), None);
        // Somebody else's.
        fs::create_dir(root.path().join(folder.strip_prefix("/").unwrap())).unwrap();
        assert_eq!(found(own + 1), Some(nowhere));
    }
}
