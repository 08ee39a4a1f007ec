//! What keeps a repair from being done, as far as that can be told before anything is changed.

use std::io;
use std::path::{Path, PathBuf};

use super::places::Places;
use super::repair::{Content, Repair, There};
use super::sealed::Sealed;
use super::site::Site;

impl Repair {
    /// The same, with what keeps who is to do it from that. Where its folder moves, there is nothing to be looked at yet.
    pub(super) fn foreseen(mut self, places: &Places) -> Self {
        // Or the outermost of the folders that are to be made for it.
        let mut names = self.path.ancestors();
        let is_there = |name: &&Path| name.parent().is_some_and(Path::exists);
        if let Some(name) = names.find(is_there)
            && let Some(folder) = name.parent()
            && places.now(folder).as_deref() == Some(folder)
        {
            let refused = Site::open(name, &self.by).and_then(|site| self.try_at(&site, places));
            let error = refused.err();
            self.foreseen = error.and_then(|error| error.downcast().ok());
        }
        self
    }

    fn try_at(&self, site: &Site<'_>, places: &Places) -> io::Result<()> {
        match self.node {
            Some(_) if places.moves(&self.path) => Ok(()),
            Some(_) => self.held(site).map(drop),
            None if matches!(self.content, None | Some(Content::CutBack { .. })) => Ok(()),
            None => site.takes_names(),
        }
    }

    /// What keeps it from being done.
    pub fn sealed(&self) -> Option<Sealed> {
        if self.foreseen.is_some() {
            return self.foreseen.clone();
        }
        let content = self.content.as_ref();
        let (from, of) = match content {
            Some(Content::Moved { from, .. }) => (Some(from), Some(from)),
            Some(Content::Name { of, .. }) => (None, Some(of)),
            _ => (None, None),
        };
        // What comes from another name goes through one, too.
        let takes_names_away = match content {
            Some(Content::Aside | Content::Moved { .. }) => true,
            Some(Content::Back { there, .. }) => *there != There::Itself,
            Some(Content::Name { there, .. }) => *there == There::Another,
            _ => false,
        };
        let folder = |path: &PathBuf| match content {
            // Its attributes change, and nothing beside it.
            None => None,
            Some(_) => Sealed::folder(path, takes_names_away),
        };
        let files = [Some(&self.path), of].into_iter().flatten();
        let folders = [Some(&self.path), from].into_iter().flatten();
        let mut sealed = files.filter_map(|path| Sealed::of(path));
        sealed.next().or_else(|| folders.filter_map(folder).next())
    }
}
