//! What an instance sees of the file systems: all as they are, and what it changes is its own.
//!
//! Each is the lower layer of an overlay (Documentation/filesystems/overlayfs.rst), mounted where it lies, below a new
//! root. Devices, kernel objects and what cannot be changed are the same as outside; shared memory by name begins
//! empty, as it does in a container.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::{chdir, pivot_root};

use super::folder::Folder;

#[derive(Debug, thiserror::Error)]
pub(super) enum ViewError {
    #[error("the mounts of this machine cannot be read: {0}")]
    Mounts(io::Error),
    #[error(
        "{path} holds no instance: the file system that it lies on can be no layer above others ({error}); one of ext4, \
         xfs, btrfs or tmpfs can"
    )]
    Layer { path: PathBuf, error: io::Error },
    #[error("{path} cannot be had in an instance: {error}")]
    Mount { path: PathBuf, error: io::Error },
}

/// A line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
#[derive(Debug, PartialEq, Eq)]
struct Mounted {
    at: PathBuf,
    kind: String,
    options: MsFlags,
}

/// The same in an instance as outside, with all that is mounted below.
const SHARED: [&str; 2] = ["/dev", "/sys"];
/// Namespaces are no files, and what has been mounted nowhere yet is not mounted by us.
const LEFT_OUT: [&str; 2] = ["nsfs", "autofs"];

/// Makes the view the root of this process, which is in a mount namespace of its own.
pub(super) fn enter(folder: &Folder) -> Result<(), ViewError> {
    let here = env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let nothing: Option<&Path> = None;
    let at = |path: &Path| {
        let path = path.to_path_buf();
        move |error: Errno| ViewError::Mount {
            path,
            error: error.into(),
        }
    };
    let root = Path::new("/");
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(nothing, root, nothing, private, nothing).map_err(at(root))?;
    let mounts = fs::read("/proc/self/mountinfo").map_err(ViewError::Mounts)?;
    for (number, mounted) in Mounted::all(&mounts).iter().enumerate() {
        mounted.show(folder, number)?;
    }
    let new = folder.root();
    let harmless = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let proc = Path::new("proc");
    mount(Some(proc), &new.join(proc), Some(proc), harmless, nothing).map_err(at(proc))?;
    let shared_memory = new.join("dev/shm");
    if shared_memory.is_dir() {
        let tmpfs = Some(Path::new("tmpfs"));
        let apart = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(tmpfs, &shared_memory, tmpfs, apart, Some("mode=1777"))
            .map_err(at(&shared_memory))?;
    }
    let checkpoints = folder.checkpoints();
    // It is there, unless it lies in /dev/shm.
    fs::create_dir_all(below(&new, &checkpoints)).map_err(|error| ViewError::Mount {
        path: checkpoints.clone(),
        error,
    })?;
    bind(&checkpoints, &new, MsFlags::empty()).map_err(at(&checkpoints))?;
    // The old root is stacked on the new one, and taken off it.
    chdir(&new).map_err(at(&new))?;
    pivot_root(".", ".").map_err(at(&new))?;
    umount2(".", MntFlags::MNT_DETACH).map_err(at(root))?;
    chdir(&here).map_err(at(&here))
}

/// Mounts what lies at a path there below another root, too.
fn bind(path: &Path, root: &Path, more: MsFlags) -> nix::Result<()> {
    let nothing: Option<&Path> = None;
    let below = below(root, path);
    mount(
        Some(path),
        &below,
        nothing,
        MsFlags::MS_BIND | more,
        nothing,
    )
}

/// Where an absolute path is below another root.
fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

impl Mounted {
    /// All that are seen, each behind what it is mounted on.
    fn all(text: &[u8]) -> Vec<Self> {
        let lines = text.split(|byte| *byte == b'\n');
        lines.filter_map(Self::of_line).collect()
    }

    fn of_line(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let at = unescaped(fields.nth(4)?);
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
            at: PathBuf::from(at),
            kind: String::from_utf8_lossy(kind).into_owned(),
            options: options.fold(MsFlags::empty(), MsFlags::union),
        })
    }

    /// Mounts it below the root of the instance.
    fn show(&self, folder: &Folder, number: usize) -> Result<(), ViewError> {
        let root = folder.root();
        let failed = |error: Errno| ViewError::Mount {
            path: self.at.clone(),
            error: error.into(),
        };
        let is_at_or_below = |path: &str| self.at.starts_with(path);
        if is_at_or_below("/proc") || LEFT_OUT.contains(&self.kind.as_str()) {
            return Ok(());
        }
        if let Some(shared) = SHARED.iter().find(|shared| is_at_or_below(shared)) {
            return match self.at == Path::new(shared) {
                true => bind(&self.at, &root, MsFlags::MS_REC).map_err(failed),
                false => Ok(()),
            };
        }
        if self.options.contains(MsFlags::MS_RDONLY) || !self.at.is_dir() {
            return bind(&self.at, &root, MsFlags::empty()).map_err(failed);
        }
        match (self.cover(folder, number), self.at == Path::new("/")) {
            (Ok(()), _) => Ok(()),
            (Err(error), true) => Err(ViewError::Layer {
                path: folder.path().to_path_buf(),
                error,
            }),
            // Not every file system can be a layer (an overlay of overlays cannot). What is not the instance's own it may not
            // change.
            (Err(_), false) => self.show_unchangeable(&root).map_err(failed),
        }
    }

    /// An overlay on it: with folders that can be renamed, and files by their own inode numbers.
    fn cover(&self, folder: &Folder, number: usize) -> io::Result<()> {
        let changes = below(&folder.files(), &self.at);
        let work = folder.work().join(number.to_string());
        fs::create_dir_all(&changes)?;
        fs::create_dir(&work)?;
        let layers = format!(
            "lowerdir={},upperdir={},workdir={},redirect_dir=on,xino=off",
            escaped(&self.at),
            changes.display(),
            work.display()
        );
        let overlay = Some(Path::new("overlay"));
        let at = below(&folder.root(), &self.at);
        Ok(mount(
            overlay,
            &at,
            overlay,
            self.options,
            Some(layers.as_str()),
        )?)
    }

    fn show_unchangeable(&self, root: &Path) -> nix::Result<()> {
        bind(&self.at, root, MsFlags::empty())?;
        let nothing: Option<&Path> = None;
        let unchangeable =
            MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | self.options;
        mount(
            nothing,
            &below(root, &self.at),
            nothing,
            unchangeable,
            nothing,
        )
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

/// As overlay's option of lower layers wants it.
fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for letter in path.to_string_lossy().chars() {
        if [':', '\\', ','].contains(&letter) {
            text.push('\\');
        }
        text.push(letter);
    }
    text
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
        assert_eq!(mounts[0].at, Path::new("/"));
        assert_eq!(
            (mounts[0].kind.as_str(), mounts[0].options),
            ("ext4", MsFlags::empty())
        );
        assert_eq!(mounts[1].at, Path::new("/mnt/a b\\c"));
        assert_eq!(mounts[1].kind, "tmpfs");
        let expected = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        assert_eq!(mounts[1].options, expected);
    }

    #[test]
    fn a_path_is_one_option_whatever_its_name() {
        assert_eq!(escaped(Path::new("/a,b:c\\d")), "/a\\,b\\:c\\\\d");
    }
}
