//! Folders that CRIU finds the program's things in, and does not make: working directories, folders that it has
//! open, and those of its sockets' names.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use strobe_proto::ProgramFile;

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
        let socket = path
            .to_str()
            .and_then(|path| path.strip_prefix("socket:[")?.strip_suffix(']'));
        if let Some(inode) = socket {
            sockets.insert(inode.to_owned());
        } else if is_same_folder(&link, &path) {
            folders.insert(path);
        }
    }
    if !sockets.is_empty() {
        let table = fs::read_to_string(process.join("net/unix"))?;
        let bound = table.lines().filter_map(bound);
        let ours = bound.filter(|(inode, _)| sockets.contains(*inode));
        let parents = ours.filter_map(|(_, path)| Path::new(path).parent());
        folders.extend(parents.filter(|folder| folder.is_dir()).map(Path::to_owned));
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

/// Inode and path of a line of `/proc/PID/net/unix`, where the socket has a path (proc_pid_net(5)).
fn bound(line: &str) -> Option<(&str, &str)> {
    // Seven fields, and the path, which may hold blanks.
    let mut rest = line;
    let mut inode = "";
    for _ in 0..7 {
        rest = rest.trim_start();
        let end = rest.find(' ')?;
        (inode, rest) = rest.split_at(end);
    }
    let path = rest.trim_start();
    path.starts_with('/').then_some((inode, path))
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
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn folders_of_sockets_and_folders_that_are_open_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["a socket", "open", "neither"].map(|name| folder.path().join(name));
        names.iter().for_each(|name| fs::create_dir(name).unwrap());
        let _socket = UnixListener::bind(names[0].join("a name")).unwrap();
        let _open = fs::File::open(&names[1]).unwrap();
        let found = of(std::process::id()).unwrap();
        assert!(
            found.contains(&names[0]) && found.contains(&names[1]),
            "{found:?}"
        );
        assert!(!found.contains(&names[2]), "{found:?}");
        assert!(found.contains(&std::env::current_dir().unwrap()));
        assert!(is_folder(&record(&names[1]).unwrap()));
    }

    #[test]
    fn lines_are_read_as_the_kernel_prints_them() {
        let line = "0000000000000000: 00000002 00000000 00010000 0001 01 30129 /tmp/a b/l";
        assert_eq!(bound(line), Some(("30129", "/tmp/a b/l")));
        assert_eq!(bound(&line.replace("/tmp/a b/l", "@abstract")), None);
        assert_eq!(
            bound("0000000000000000: 00000002 00000000 00010000 0001 01 30129"),
            None
        );
        assert_eq!(
            bound("Num       RefCount Protocol Flags    Type St Inode Path"),
            None
        );
    }
}
