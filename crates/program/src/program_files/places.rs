//! Where things are whose names a restore gives back, before it has.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Names as they will be, and as they are.
#[derive(Debug, Default)]
pub struct Places {
    /// What gets its name of the cut back: that, and the one that it has.
    pub(super) back: Vec<(PathBuf, PathBuf)>,
    /// What is moved aside.
    pub(super) aside: BTreeSet<PathBuf>,
    /// All that the program is known to have made or written since, by the names it will have.
    pub(super) own: BTreeSet<PathBuf>,
}

impl Places {
    /// Where that is now which will have this name; `None` where nothing will.
    pub(super) fn now(&self, path: &Path) -> Option<PathBuf> {
        for name in path.ancestors() {
            if let Some((_, now)) = self.back.iter().find(|(origin, _)| origin == name) {
                let rest = path.strip_prefix(name).unwrap_or(Path::new(""));
                return Some(if rest.as_os_str().is_empty() {
                    now.clone()
                } else {
                    now.join(rest)
                });
            }
            if self.aside.contains(name) || self.back.iter().any(|(_, now)| now == name) {
                return None;
            }
        }
        Some(path.to_owned())
    }

    /// The name that something will have.
    pub(super) fn then(&self, now: &Path) -> PathBuf {
        for name in now.ancestors() {
            if let Some((origin, _)) = self.back.iter().find(|(_, now)| now == name)
                && let Ok(rest) = now.strip_prefix(name)
            {
                return match rest.as_os_str().is_empty() {
                    true => origin.clone(),
                    false => origin.join(rest),
                };
            }
        }
        now.to_owned()
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
        let places = Places {
            back: vec![
                (place("/D"), place("/E")),
                (place("/D/f"), place("/g")),
                (place("/a"), place("/b")),
                (place("/b"), place("/a")),
            ],
            aside: BTreeSet::from([place("/new")]),
            own: BTreeSet::new(),
        };
        for (then, now) in [
            ("/D", Some("/E")),
            ("/D/x/y", Some("/E/x/y")),
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
