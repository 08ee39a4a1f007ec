//! What is mounted, and where it is seen.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc;
use nix::mount::MsFlags;
use strobe_proto::kernel_text;

/// A line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mounted {
    id: u64,
    device: Vec<u8>,
    /// What of its file system.
    within: PathBuf,
    pub(super) at: PathBuf,
    pub(super) kind: String,
    pub(super) options: MsFlags,
}

/// A mount that no other one hides.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) mounted: Mounted,
    held: File,
}

impl Seen {
    /// All, each behind what it is mounted on.
    pub(super) fn all() -> io::Result<Vec<Self>> {
        let text = std::fs::read("/proc/self/mountinfo")?;
        let mut all: Vec<_> = Mounted::all(&text)
            .into_iter()
            .filter_map(Mounted::seen)
            .collect();
        all.sort_by_key(|seen| seen.mounted.at.components().count());
        Ok(all)
    }

    /// A path that leads to its root, with nothing in it that an option of a mount would take for an end.
    pub(super) fn link(&self) -> String {
        link(&self.held)
    }

    pub(super) fn meta(&self) -> io::Result<std::fs::Metadata> {
        self.held.metadata()
    }

    /// Where in another one the same is seen.
    pub(super) fn place_in(&self, other: &Self) -> Option<PathBuf> {
        let (mine, its) = (&self.mounted, &other.mounted);
        if mine.device != its.device {
            return None;
        }
        let path = joined(&its.at, mine.within.strip_prefix(&its.within).ok()?);
        let there = hold(&path).ok()?;
        let (there_meta, meta) = (there.metadata().ok()?, self.meta().ok()?);
        let is_same = (there_meta.dev(), there_meta.ino()) == (meta.dev(), meta.ino())
            && mount_of(&there) == Some(its.id);
        is_same.then_some(path)
    }

    /// Where the same is in a mount at this path that shows the whole file system.
    pub(super) fn place_at(&self, path: &Path) -> PathBuf {
        let within = &self.mounted.within;
        joined(path, within.strip_prefix("/").unwrap_or(within))
    }
}

/// `Path::join` would end an empty one with a slash, as if a file were a folder.
fn joined(path: &Path, rest: &Path) -> PathBuf {
    match rest.as_os_str().is_empty() {
        true => path.to_owned(),
        false => path.join(rest),
    }
}

/// What has a path, whatever becomes of that.
pub(super) fn hold(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let flags = libc::O_PATH | libc::O_NOFOLLOW;
    options.read(true).custom_flags(flags).open(path)
}

/// A path that leads to what is held.
pub(super) fn link(held: &File) -> String {
    format!("/proc/self/fd/{}", held.as_raw_fd())
}

fn mount_of(held: &File) -> Option<u64> {
    let text = kernel_text::read(format!("/proc/self/fdinfo/{}", held.as_raw_fd())).ok()?;
    let id = text.lines().find_map(|line| line.strip_prefix("mnt_id:"));
    id?.trim().parse().ok()
}

impl Mounted {
    fn all(text: &[u8]) -> Vec<Self> {
        let lines = text.split(|byte| *byte == b'\n');
        lines.filter_map(Self::of_line).collect()
    }

    fn of_line(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let device = fields.nth(1)?.to_owned();
        let within = PathBuf::from(unescaped(fields.next()?));
        let at = PathBuf::from(unescaped(fields.next()?));
        let of_mount = fields.next()?;
        let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
        let options = of_mount.split(|byte| *byte == b',');
        let options = options.map(|option| match option {
            b"ro" => MsFlags::MS_RDONLY,
            b"nosuid" => MsFlags::MS_NOSUID,
            b"nodev" => MsFlags::MS_NODEV,
            b"noexec" => MsFlags::MS_NOEXEC,
            _ => MsFlags::empty(),
        });
        Some(Self {
            id,
            device,
            within,
            at,
            kind: String::from_utf8_lossy(kind).into_owned(),
            options: options.fold(MsFlags::empty(), MsFlags::union),
        })
    }

    /// It is seen where its path leads to it, and not to what is mounted over it or over a folder above.
    fn seen(self) -> Option<Seen> {
        let held = hold(&self.at).ok()?;
        (mount_of(&held)? == self.id).then_some(Seen {
            mounted: self,
            held,
        })
    }
}

/// Without the octal escapes of blanks, tabs, newlines and backslashes.
fn unescaped(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let octal = |digits: &[u8]| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 8).ok()
        };
        let escape = after.get(..3).filter(|_| first == b'\\').and_then(octal);
        bytes.push(escape.unwrap_or(first));
        rest = if escape.is_some() { &after[3..] } else { after };
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read_with_their_options_and_odd_names() {
        let text = b"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
            30 22 0:26 /sub /mnt/a\\040b\\134c ro,nosuid,nodev master:3 propagate_from:2 - tmpfs none rw,size=4k\n";
        let mounts = Mounted::all(text);
        assert_eq!(mounts.len(), 2);
        assert_eq!(
            (mounts[0].id, mounts[0].device.as_slice()),
            (22, &b"254:0"[..])
        );
        assert_eq!(mounts[0].at, Path::new("/"));
        assert_eq!(
            (mounts[0].kind.as_str(), mounts[0].options),
            ("ext4", MsFlags::empty())
        );
        assert_eq!(mounts[1].at, Path::new("/mnt/a b\\c"));
        assert_eq!(mounts[1].within, Path::new("/sub"));
        assert_eq!(mounts[1].kind, "tmpfs");
        let expected = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        assert_eq!(mounts[1].options, expected);
    }

    #[test]
    fn a_path_stays_that_of_a_file() {
        assert_eq!(joined(Path::new("/a"), Path::new("")), Path::new("/a"));
        assert_eq!(joined(Path::new("/a"), Path::new("b")), Path::new("/a/b"));
        assert_eq!(joined(Path::new("/a"), Path::new("")).as_os_str(), "/a");
    }
}
