//! Giving a name free for what had it at the cut.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use super::attributes::{Attributes, node};
use super::kept::{LATER, beside};
use super::site::{Done, Site};
use crate::handle;

/// Gives what has the name another.
pub(super) fn move_aside(site: &Site<'_>) -> io::Result<Done> {
    let (held, name) = (site.there()?, site.name());
    let meta = held.metadata()?;
    if meta.is_file() && meta.nlink() > 1 && site.by().has_say(&held)? {
        return copy_aside(site, held, &meta);
    }
    // One of ours first, which is then replaced: nobody else's ever is.
    let kept = if meta.is_dir() {
        let new = || beside(&name, LATER, |kept| fs::create_dir(kept));
        let ((), kept) = site.act(new)?;
        site.act(|| {
            fs::rename(&name, &kept).inspect_err(|_| {
                let _ = fs::remove_dir(&kept);
            })
        })?;
        kept
    } else {
        let (_, kept) = site.new_beside(LATER)?;
        site.remove_unless(site.act(|| fs::rename(&name, &kept)), &kept)?;
        kept
    };
    Ok(Done {
        renamed: fs::symlink_metadata(&kept).ok().as_ref().map(node),
        kept: Some(site.path(&kept)),
        ..Done::default()
    })
}

/// One of several names of a file: as another name of it, it would not be what it is now when the program writes to
/// the file, and the program may count the names (as those do that take a lock by link(2)).
fn copy_aside(site: &Site<'_>, held: File, meta: &fs::Metadata) -> io::Result<Done> {
    /// So many files are held at most, about: of more the copy gets the name when that is undone.
    const HELD: i32 = 512;
    let (mut later, kept) = site.new_beside(LATER)?;
    let mut copy = || {
        let mut file = handle::open(&held, OpenOptions::new().read(true))?;
        Attributes::of(meta).give(&later, site.by())?;
        io::copy(&mut file, &mut later)?;
        later.set_modified(meta.modified()?)?;
        later.sync_all()?;
        site.remove(&site.name())
    };
    site.remove_unless(copy(), &kept)?;
    Ok(Done {
        renamed: later.metadata().ok().as_ref().map(node),
        kept: Some(site.path(&kept)),
        copied: Some(held).filter(|held| held.as_raw_fd() < HELD),
        ..Done::default()
    })
}
