//! Where things are whose names a restore gives back, before it has.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::names::under;

/// Names as they will be, and as they are.
#[derive(Debug, Default)]
pub struct Places {
    /// What gets its name of the cut back: by that, the one that it has.
    back: BTreeMap<PathBuf, PathBuf>,
    /// The other way round.
    from: BTreeMap<PathBuf, PathBuf>,
    /// What is moved aside.
    pub(super) aside: BTreeSet<PathBuf>,
    /// All that the program is known to have made or written since, by the names it will have.
    pub(super) own: BTreeSet<PathBuf>,
}

impl Places {
    /// What is `now` here gets the name `origin` back.
    pub(super) fn give_back(&mut self, origin: PathBuf, now: PathBuf) {
        self.from.insert(now.clone(), origin.clone());
        self.back.insert(origin, now);
    }

    /// Where that is now which will have this name; `None` where nothing will.
    pub(super) fn now(&self, path: &Path) -> Option<PathBuf> {
        for name in path.ancestors() {
            if let Some(now) = self.back.get(name) {
                let place = under(path, name, now);
                // In what comes back may be what leaves it.
                let inside = place.ancestors().take_while(|name| name != now);
                let mut inside = inside.filter(|name| self.leaves(name));
                return inside.next().is_none().then(|| place.clone());
            }
            if self.leaves(name) {
                return None;
            }
        }
        Some(path.to_owned())
    }

    /// Whether what has this name, or will have it, comes from elsewhere or is going.
    pub(super) fn moves(&self, path: &Path) -> bool {
        let mut names = path.ancestors();
        names.any(|name| self.back.contains_key(name) || self.leaves(name))
    }

    fn leaves(&self, name: &Path) -> bool {
        self.aside.contains(name) || self.from.contains_key(name)
    }

    /// The name that something will have.
    pub(super) fn then(&self, now: &Path) -> PathBuf {
        let found = now
            .ancestors()
            .find_map(|name| Some((self.from.get(name)?, name)));
        found.map_or_else(|| now.to_owned(), |(origin, name)| under(now, name, origin))
    }

    /// Whether what has this name is known to be the program's.
    pub(super) fn is_own(&self, path: &Path) -> bool {
        self.own.contains(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_followed_both_ways() {
        let place = |path: &str| PathBuf::from(path);
        let mut places = Places {
            aside: BTreeSet::from([place("/new")]),
            ..Places::default()
        };
        for (origin, now) in [
            ("/D", "/E"),
            ("/D/f", "/g"),
            ("/left", "/E/left"),
            ("/a", "/b"),
            ("/b", "/a"),
        ] {
            places.give_back(place(origin), place(now));
        }
        for (then, now) in [
            ("/D", Some("/E")),
            ("/D/x/y", Some("/E/x/y")),
            ("/D/left", None),
            ("/D/f", Some("/g")),
            ("/a", Some("/b")),
            ("/b", Some("/a")),
            ("/other", Some("/other")),
            ("/E", None),
            ("/E/x", None),
            ("/g", None),
            ("/new/x", None),
        ] {
            assert_eq!(places.now(Path::new(then)), now.map(place), "{then}");
            if let Some(now) = now {
                assert_eq!(places.then(Path::new(now)), place(then), "{now}");
            }
        }
    }
}
