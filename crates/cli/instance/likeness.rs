//! What the layer of an instance begins with: folders and files like those below.

use std::fs::{self, DirBuilder, File, FileTimes, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown};
use std::path::Path;

use super::view::below;
use rustix::fs::{XattrFlags, getxattr, listxattr, setxattr};

/// The kernel's limit of a list of names, and of a value (xattr(7)).
const ATTRIBUTES_LIMIT: usize = 64 << 10;

/// Makes a folder and those above it in a layer, each like the one at the same path outside.
pub(super) fn folders(layer: &Path, path: &Path) -> io::Result<()> {
    for outside in path.ancestors().collect::<Vec<_>>().iter().rev() {
        let made = DirBuilder::new().mode(0o700).create(below(layer, outside));
        match made {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    // What is made in a folder changes its times.
    for outside in path.ancestors() {
        liken(outside, &fs::metadata(outside)?, &below(layer, outside))?;
    }
    Ok(())
}

/// Copies a regular file that is reached by this link.
pub(super) fn file(link: &Path, copy: &Path) -> io::Result<()> {
    let meta = fs::metadata(link)?;
    fs::copy(link, copy)?;
    liken(link, &meta, copy)
}

/// Owner first: a change of that takes set-id bits and capabilities away.
fn liken(of: &Path, meta: &Metadata, what: &Path) -> io::Result<()> {
    chown(what, Some(meta.uid()), Some(meta.gid()))?;
    fs::set_permissions(what, meta.permissions())?;
    attributes(of, what)?;
    let times = FileTimes::new()
        .set_accessed(meta.accessed()?)
        .set_modified(meta.modified()?);
    File::open(what)?.set_times(times)
}

/// Extended attributes, access lists among them, as far as both file systems have them.
fn attributes(of: &Path, what: &Path) -> io::Result<()> {
    let mut names = vec![0; ATTRIBUTES_LIMIT];
    let len = match listxattr(of, &mut names[..]) {
        Ok(len) => len,
        Err(rustix::io::Errno::OPNOTSUPP) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let names = names[..len].split(|byte| *byte == 0);
    let mut value = vec![0; ATTRIBUTES_LIMIT];
    for name in names.filter(|name| !name.is_empty() && !is_the_layers(name)) {
        let Ok(len) = getxattr(of, name, &mut value[..]) else {
            continue;
        };
        match setxattr(what, name, &value[..len], XattrFlags::empty()) {
            Err(rustix::io::Errno::OPNOTSUPP) | Ok(()) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// What an overlay below notes for itself is none of another's.
fn is_the_layers(name: &[u8]) -> bool {
    name.starts_with(b"trusted.overlay.")
}
