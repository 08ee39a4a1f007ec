//! Folders that CRIU finds the program's things in, and does not make: working directories, folders that it has
//! open, and those of its sockets' names.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use strobe_proto::ProgramFile;

use super::record::is_shown_by_the_kernel;
use crate::unix_sockets;

/// Of a process; each is there now.
pub(super) fn of(pid: u32) -> io::Result<BTreeSet<PathBuf>> {
    let process = Path::new("/proc").join(pid.to_string());
    let mut folders = BTreeSet::new();
    let mut sockets = BTreeSet::new();
    let descriptors = fs::read_dir(process.join("fd"))?
        .flatten()
        .map(|entry| entry.path());
    for link in descriptors.chain([process.join("cwd")]) {
        // It may be closed meanwhile when the process is not frozen.
        let Ok(path) = fs::read_link(&link) else {
            continue;
        };
        let socket = path.to_str().and_then(|path| {
            path.strip_prefix("socket:[")?
                .strip_suffix(']')?
                .parse::<u64>()
                .ok()
        });
        if let Some(inode) = socket {
            sockets.insert(inode);
        } else if !is_shown_by_the_kernel(&path) && is_same_folder(&link, &path) {
            folders.insert(path);
        }
    }
    if !sockets.is_empty() {
        let bound = unix_sockets::bound(pid)?.into_iter();
        let ours = bound.filter(|bound| sockets.contains(&bound.inode));
        let paths = ours.map(|bound| PathBuf::from(OsString::from_vec(bound.name)));
        let absolute = paths.filter(|path| path.is_absolute());
        let parents = absolute.filter_map(|path| path.parent().map(Path::to_owned));
        folders.extend(parents.filter(|folder| folder.is_dir()));
    }
    Ok(folders)
}

/// Whether a path leads to the folder that a link of `/proc` stands for.
fn is_same_folder(link: &Path, path: &Path) -> bool {
    let (Ok(there), Ok(named)) = (fs::metadata(link), fs::metadata(path)) else {
        return false;
    };
    there.is_dir() && (there.dev(), there.ino()) == (named.dev(), named.ino())
}

/// What is recorded of a folder.
pub(super) fn record(path: &Path) -> io::Result<ProgramFile> {
    let meta = fs::metadata(path)?;
    Ok(ProgramFile {
        mode: meta.mode(),
        owner: meta.uid(),
        group: meta.gid(),
        ..ProgramFile::at(path.to_owned())
    })
}

/// Whether it is the record of a folder.
pub fn is_folder(record: &ProgramFile) -> bool {
    record.mode & libc::S_IFMT == libc::S_IFDIR
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn folders_of_sockets_and_folders_that_are_open_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let names: [&[u8]; 3] = [b"a caf\xe9", b"open", b"neither"];
        let names = names.map(|name| folder.path().join(OsStr::from_bytes(name)));
        names.iter().for_each(|name| fs::create_dir(name).unwrap());
        let _socket = UnixListener::bind(names[0].join("a name")).unwrap();
        let _open = fs::File::open(&names[1]).unwrap();
        let _of_kernel = ["/proc/self/fd", "/sys"].map(|path| fs::File::open(path).unwrap());
        let found = of(std::process::id()).unwrap();
        assert!(
            found.contains(&names[0]) && found.contains(&names[1]),
            "{found:?}"
        );
        assert!(!found.contains(&names[2]), "{found:?}");
        assert!(!found.iter().any(|path| is_shown_by_the_kernel(path)));
        assert!(found.contains(&std::env::current_dir().unwrap()));
        assert!(is_folder(&record(&names[1]).unwrap()));
    }
}
