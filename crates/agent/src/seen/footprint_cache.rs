//! Footprints that earlier runs have found, on disk: to read one takes a ninth to a seventieth of analysing the code again.
//!
//! `strobe/footprints/VERSION/OBJECT-NUMBER` in the cache folder is about one kernel: the fingerprint of its code object, and
//! its number in it. VERSION is of the analysis, any other one learns something else. A file is made aside and renamed, so
//! that it is whole or not there; where the power failed, its fingerprint tells. It counts if it belongs to the user and
//! nobody else may write it: who may, may as well change the program. All of it may be deleted at any time.
//!
//! Files are made by numbered system calls, which no journal sees: none of them is the program's.

use crate::descriptor::out_of_the_way;
use crate::seen::cache_folder::cache_folder;
use nix::unistd::geteuid;
use std::ffi::{CString, OsStr};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use strobe_fingerprint::Fingerprint;
use strobe_footprint::VERSION;

/// No file is longer, in bytes.
const MOST_BYTES: u64 = 16 << 20;
/// All files together, of all versions.
const MOST_BYTES_OF_ALL: u64 = 256 << 20;
/// Files that are looked at for that.
const MOST_FILES: usize = 1 << 16;
/// Bytes of a fingerprint.
const FINGERPRINT: usize = 16;

/// Whose footprint it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub code_object: [u8; FINGERPRINT],
    /// The kernel's number in it.
    pub kernel: u32,
}

impl Key {
    fn name(&self) -> String {
        let mut name = self
            .code_object
            .iter()
            .fold(String::new(), |mut name, byte| {
                let _ = write!(name, "{byte:02x}");
                name
            });
        let _ = write!(name, "-{}", self.kernel);
        name
    }

    /// What a file has before its content: the fingerprint of all that follows, the key.
    fn file(&self, content: &[u8]) -> Vec<u8> {
        let mut rest = self.code_object.to_vec();
        rest.extend(self.kernel.to_le_bytes());
        rest.extend(content);
        let mut file = Fingerprint::of(&rest).to_bytes().to_vec();
        file.extend(rest);
        file
    }

    /// The content of a file, if it is whole and of this kernel.
    fn content<'a>(&self, file: &'a [u8]) -> Option<&'a [u8]> {
        let (fingerprint, rest) = file.split_at_checked(FINGERPRINT)?;
        let content = rest
            .strip_prefix(&self.code_object)?
            .strip_prefix(&self.kernel.to_le_bytes())?;
        (Fingerprint::of(rest).to_bytes() == fingerprint).then_some(content)
    }
}

/// All that is kept, in one folder.
#[derive(Debug)]
pub(crate) struct FootprintCache {
    /// Of all versions.
    folder: PathBuf,
}

impl FootprintCache {
    /// That of this user; none where there is no cache folder.
    pub(crate) fn of_user() -> Option<FootprintCache> {
        let folder = cache_folder()?.join("strobe/footprints");
        Some(FootprintCache { folder })
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(VERSION).join(key.name())
    }

    /// What was written of a kernel.
    pub(crate) fn load(&self, key: &Key) -> Option<Vec<u8>> {
        let open = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(self.path(key));
        let file = open.ok()?;
        let of = file.metadata().ok()?;
        let is_ours = of.is_file() && of.uid() == geteuid().as_raw() && of.mode() & 0o022 == 0;
        if !is_ours || of.len() > MOST_BYTES {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        Some(key.content(&bytes)?.to_vec())
    }

    /// Writes some of what was learned, as far as there is room. (Where it cannot be written it is learned again.)
    pub(crate) fn store(&self, some: impl Iterator<Item = (Key, Vec<u8>)>) -> io::Result<()> {
        let mut room = None;
        for (key, content) in some {
            let file = key.file(&content);
            let len = file.len() as u64;
            if len > MOST_BYTES {
                continue;
            }
            let left = match room {
                Some(left) => left,
                None => {
                    make_folders(&self.folder.join(VERSION))?;
                    make_room(&self.folder)
                }
            };
            let Some(left) = u64::checked_sub(left, len) else {
                return Ok(());
            };
            room = Some(left);
            write(&self.path(&key), &file)?;
        }
        Ok(())
    }
}

/// What may still be written. Where half of all is in use, the oldest go.
fn make_room(folder: &Path) -> u64 {
    let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let versions = entries(folder).map(|version| version.path());
    for entry in versions
        .flat_map(|version| entries(&version))
        .take(MOST_FILES)
    {
        if let Ok(of) = entry.metadata() {
            let made = of.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            files.push((made, of.blocks() * 512, entry.path()));
        }
    }
    let mut used: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    if files.len() == MOST_FILES || used > MOST_BYTES_OF_ALL / 2 {
        files.sort();
        for (_, bytes, path) in files.drain(..files.len() / 2) {
            if remove(&path).is_ok() {
                used -= bytes;
            }
        }
    }
    MOST_BYTES_OF_ALL.saturating_sub(used)
}

fn make_folders(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        make_folders(parent)?;
    }
    let path = c_path(path)?;
    // SAFETY: the path is a C string.
    let made = unsafe { libc::syscall(libc::SYS_mkdirat, libc::AT_FDCWD, path.as_ptr(), 0o700) };
    match checked(made) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".{}", std::process::id()));
    let written = write_new(&aside, bytes).and_then(|()| rename(Path::new(&aside), path));
    let written = written.inspect_err(|_| drop(remove(Path::new(&aside))));
    match written {
        // A process of this number has been killed here, or is at it in another container: this kernel's turn comes again.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        written => written,
    }
}

fn write_new(path: &OsStr, mut bytes: &[u8]) -> io::Result<()> {
    let path = c_path(Path::new(path))?;
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: the path is a C string.
    let opened = unsafe {
        libc::syscall(
            libc::SYS_openat,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            0o600,
        )
    };
    let number = i32::try_from(checked(opened)?).map_err(io::Error::other)?;
    // SAFETY: the kernel has just made it, for us.
    let file = out_of_the_way(unsafe { OwnedFd::from_raw_fd(number) })?;
    while !bytes.is_empty() {
        // SAFETY: the bytes are a slice.
        let written = unsafe {
            libc::syscall(
                libc::SYS_write,
                file.as_raw_fd(),
                bytes.as_ptr(),
                bytes.len(),
            )
        };
        let written = usize::try_from(checked(written)?).map_err(io::Error::other)?;
        bytes = bytes.get(written..).unwrap_or_default();
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
    }
    Ok(())
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (c_path(from)?, c_path(to)?);
    let here = libc::AT_FDCWD;
    // SAFETY: the paths are C strings.
    let renamed = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            here,
            from.as_ptr(),
            here,
            to.as_ptr(),
            0,
        )
    };
    checked(renamed).map(drop)
}

fn remove(path: &Path) -> io::Result<()> {
    let path = c_path(path)?;
    // SAFETY: the path is a C string.
    let removed = unsafe { libc::syscall(libc::SYS_unlinkat, libc::AT_FDCWD, path.as_ptr(), 0) };
    checked(removed).map(drop)
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// What a numbered system call has said, in the C library's way.
fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const KEY: Key = Key {
        code_object: [7; 16],
        kernel: 3,
    };

    fn with_one() -> (tempfile::TempDir, FootprintCache) {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = FootprintCache {
            folder: folder.path().join("strobe/footprints"),
        };
        let some = [(KEY, b"a footprint".to_vec())];
        cache.store(some.into_iter()).expect("it is written");
        (folder, cache)
    }

    #[test]
    fn what_is_written_is_read_and_of_no_other_kernel() {
        let (_folder, cache) = with_one();
        assert_eq!(cache.load(&KEY).as_deref(), Some(&b"a footprint"[..]));
        let other = Key { kernel: 4, ..KEY };
        assert_eq!(cache.load(&other), None);
        fs::rename(cache.path(&KEY), cache.path(&other)).expect("it is renamed");
        assert_eq!(cache.load(&other), None, "the file is about another");
    }

    #[test]
    fn a_file_that_is_not_whole_or_not_the_users_alone_does_not_count() {
        let (_folder, cache) = with_one();
        let path = cache.path(&KEY);
        let whole = fs::read(&path).expect("it is read");
        for len in 0..whole.len() {
            fs::write(&path, &whole[..len]).expect("it is cut");
            assert_eq!(cache.load(&KEY), None, "{len} bytes");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, &bytes).expect("it is changed");
            assert_eq!(cache.load(&KEY), None, "byte {at}");
        }
        fs::write(&path, &whole).expect("it is whole again");
        assert!(cache.load(&KEY).is_some());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).expect("a mode");
        assert_eq!(cache.load(&KEY), None, "others may write it");
        fs::remove_file(&path).expect("it goes");
        std::os::unix::fs::symlink("/dev/zero", &path).expect("a link");
        assert_eq!(cache.load(&KEY), None, "a link");
    }

    #[test]
    fn what_a_killed_process_has_left_is_in_nobodys_way() {
        let (_folder, cache) = with_one();
        let path = cache.path(&KEY);
        fs::remove_file(&path).expect("it goes");
        let aside = format!("{}.{}", path.display(), std::process::id());
        fs::write(aside, "half").expect("it is left");
        let store = || cache.store([(KEY, b"a footprint".to_vec())].into_iter());
        store().expect("the rest is stored");
        store().expect("it is stored");
        assert!(cache.load(&KEY).is_some());
    }

    #[test]
    fn the_oldest_go_where_there_is_little_room() {
        let (_folder, cache) = with_one();
        let old = cache.folder.join("another");
        fs::create_dir(&old).expect("another version");
        let big = |name: &str, days: u64| {
            let file = fs::File::create(old.join(name)).expect("a file");
            let day = std::time::Duration::from_secs(86_400);
            let made = SystemTime::now() - day * u32::try_from(days).expect("few");
            nix::fcntl::posix_fallocate(&file, 0, (MOST_BYTES_OF_ALL / 4) as i64).expect("room");
            file.set_modified(made).expect("a time");
        };
        big("older", 3);
        big("old", 2);
        let left = make_room(&cache.folder);
        assert!(!old.join("older").exists(), "the oldest of three goes");
        assert!(old.join("old").exists() && cache.load(&KEY).is_some());
        assert!(left < MOST_BYTES_OF_ALL * 3 / 4 + 1 && left > MOST_BYTES_OF_ALL / 2);
    }
}
