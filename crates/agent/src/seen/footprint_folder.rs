//! Footprints that earlier runs have found, on disk: to read one takes a ninth to a seventieth of analysing the code again.
//!
//! `strobe/footprints/VERSION/OBJECT-NUMBER` in the cache folder is about one kernel: the fingerprint of its code object, and
//! its number in it. VERSION is of the analysis, any other one learns something else. A file is made aside and renamed, so
//! that it is whole or not there; where the power failed, its fingerprint tells. It counts if it belongs to the user and
//! nobody else may write it: who may, may as well change the program. So it is with our folders: in those of another user,
//! which `sudo` may leave to root, nothing is read, made or removed. All of it may be deleted at any time.
//!
//! Files are made by numbered system calls, which no journal sees: none of them is the program's.

use nix::dir::Dir;
use nix::fcntl::AtFlags;
use nix::sys::stat::{FileStat, SFlag, fstat, fstatat};
use nix::unistd::geteuid;
use std::ffi::{CString, OsStr};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use strobe_fingerprint::Fingerprint;
use strobe_footprint::VERSION;

/// From the user's cache folder to ours, of all versions.
const STEPS: [&str; 2] = ["strobe", "footprints"];
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

/// All that is kept, in the cache folder of a user.
#[derive(Clone, Debug)]
pub(crate) struct FootprintFolder {
    /// For whatever can be made again.
    pub(crate) cache: PathBuf,
}

impl FootprintFolder {
    /// What was written of a kernel.
    pub(crate) fn load(&self, key: &Key) -> Option<Vec<u8>> {
        let all = self.all(false).ok()?;
        let version = step(all.as_fd(), VERSION.as_ref(), false).ok()?;
        let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let name = key.name();
        let file = open_at(version.as_raw_fd(), name.as_ref(), flags).ok()?;
        let of = fstat(&file).ok()?;
        if !is_file(&of) || !is_ours_alone(&of) || of.st_size as u64 > MOST_BYTES {
            return None;
        }
        let mut bytes = Vec::new();
        let mut file = File::from(file).take(MOST_BYTES);
        file.read_to_end(&mut bytes).ok()?;
        Some(key.content(&bytes)?.to_vec())
    }

    /// Writes some of what was learned, as far as there is room, and until it `is_over`. (What is not written is learned
    /// again.)
    pub(crate) fn store(
        &self,
        some: impl IntoIterator<Item = (Key, Vec<u8>)>,
        is_over: impl Fn() -> bool,
    ) -> io::Result<()> {
        let all = self.all(true)?;
        let version = step(all.as_fd(), VERSION.as_ref(), true)?;
        let mut left = make_room(all.as_fd());
        for (key, content) in some {
            let file = key.file(&content);
            let len = file.len() as u64;
            if len > MOST_BYTES {
                continue;
            }
            match left.checked_sub(len) {
                Some(rest) if !is_over() => left = rest,
                _ => break,
            }
            write(version.as_raw_fd(), &key.name(), &file)?;
        }
        Ok(())
    }

    /// Opens that of all versions; it and those above may be made.
    fn all(&self, make: bool) -> io::Result<OwnedFd> {
        let mut folder = users_own(&self.cache, make)?;
        for name in STEPS {
            folder = step(folder.as_fd(), name.as_ref(), make)?;
        }
        Ok(folder)
    }
}

/// A folder that is this user's, or root's for everybody.
fn users_own(path: &Path, make: bool) -> io::Result<OwnedFd> {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY;
    let folder = match (open_at(libc::AT_FDCWD, path.as_os_str(), flags), path) {
        (Err(error), path) if make && error.kind() == io::ErrorKind::NotFound => {
            let (parent, name) = path.parent().zip(path.file_name()).ok_or(error)?;
            return step(users_own(parent, make)?.as_fd(), name, make);
        }
        (opened, _) => opened?,
    };
    const ROOT: libc::uid_t = 0;
    match [geteuid().as_raw(), ROOT].contains(&fstat(&folder)?.st_uid) {
        true => Ok(folder),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// A folder in another one that nobody else may change, and that is there.
fn step(parent: BorrowedFd<'_>, name: &OsStr, make: bool) -> io::Result<OwnedFd> {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let opened = match open_at(parent.as_raw_fd(), name, flags) {
        Err(error) if make && error.kind() == io::ErrorKind::NotFound => {
            let made = c_string(name)?;
            // SAFETY: the name is a C string.
            let made = unsafe {
                libc::syscall(libc::SYS_mkdirat, parent.as_raw_fd(), made.as_ptr(), 0o700)
            };
            match checked(made) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => open_at(parent.as_raw_fd(), name, flags)?,
            }
        }
        opened => opened?,
    };
    match is_ours_alone(&fstat(&opened)?) {
        true => Ok(opened),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

fn is_file(of: &FileStat) -> bool {
    SFlag::from_bits_truncate(of.st_mode) & SFlag::S_IFMT == SFlag::S_IFREG
}

fn is_ours_alone(of: &FileStat) -> bool {
    of.st_uid == geteuid().as_raw() && of.st_mode & 0o022 == 0
}

/// As [`Key::name`] has it, or made aside.
fn is_name_of_ours(name: &str) -> bool {
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let Some((object, rest)) = name.split_once('-') else {
        return false;
    };
    let is_object =
        object.len() == 2 * FINGERPRINT && object.bytes().all(|b| b.is_ascii_hexdigit());
    is_object && rest.splitn(2, '.').all(is_number)
}

/// A file of some version.
struct Kept<'v> {
    modified: (i64, i64),
    bytes: u64,
    version: &'v OwnedFd,
    name: CString,
}

/// What may still be written. Where half of all is in use, the oldest go.
fn make_room(all: BorrowedFd<'_>) -> u64 {
    let versions: Vec<OwnedFd> = names(all)
        .filter_map(|name| step(all, OsStr::from_bytes(name.as_bytes()), false).ok())
        .collect();
    let files = versions
        .iter()
        .flat_map(|version| names(version.as_fd()).map(move |name| (version, name)))
        .filter(|(_, name)| name.to_str().is_ok_and(is_name_of_ours));
    let mut kept: Vec<Kept<'_>> = files
        .take(MOST_FILES)
        .filter_map(|(version, name)| {
            let flags = AtFlags::AT_SYMLINK_NOFOLLOW;
            let of = fstatat(version, name.as_c_str(), flags).ok()?;
            is_file(&of).then(|| Kept {
                modified: (of.st_mtime, of.st_mtime_nsec),
                bytes: of.st_blocks as u64 * 512,
                version,
                name,
            })
        })
        .collect();
    let mut used: u64 = kept.iter().map(|file| file.bytes).sum();
    if kept.len() == MOST_FILES || used > MOST_BYTES_OF_ALL / 2 {
        kept.sort_by_key(|file| (file.modified, file.bytes));
        for file in kept.drain(..kept.len() / 2) {
            if remove(file.version.as_raw_fd(), &file.name).is_ok() {
                used -= file.bytes;
            }
        }
    }
    MOST_BYTES_OF_ALL.saturating_sub(used)
}

fn names(folder: BorrowedFd<'_>) -> impl Iterator<Item = CString> {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY;
    let opened = open_at(folder.as_raw_fd(), ".".as_ref(), flags);
    let entries = opened.ok().and_then(|opened| Dir::from_fd(opened).ok());
    let entries = entries.into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_owned());
    names.filter(|name| ![&b"."[..], b".."].contains(&name.as_bytes()))
}

fn write(folder: RawFd, name: &str, bytes: &[u8]) -> io::Result<()> {
    let aside = c_string(format!("{name}.{}", std::process::id()).as_ref())?;
    let name = c_string(name.as_ref())?;
    let written = write_new(folder, &aside, bytes).and_then(|()| rename(folder, &aside, &name));
    match written {
        // A process of this number has been killed here, or is at it in another container: this kernel's turn comes again.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => remove(folder, &aside),
        written => written.inspect_err(|_| drop(remove(folder, &aside))),
    }
}

fn write_new(folder: RawFd, name: &CString, mut bytes: &[u8]) -> io::Result<()> {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
    let file = open_at(folder, OsStr::from_bytes(name.as_bytes()), flags)?;
    while !bytes.is_empty() {
        let (from, len) = (bytes.as_ptr(), bytes.len());
        // SAFETY: the bytes are a slice.
        let written = unsafe { libc::syscall(libc::SYS_write, file.as_raw_fd(), from, len) };
        let written = usize::try_from(checked(written)?).map_err(io::Error::other)?;
        bytes = bytes.get(written..).unwrap_or_default();
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
    }
    Ok(())
}

fn open_at(folder: RawFd, name: &OsStr, flags: libc::c_int) -> io::Result<OwnedFd> {
    let name = c_string(name)?;
    let flags = flags | libc::O_CLOEXEC;
    // SAFETY: the name is a C string.
    let opened = unsafe { libc::syscall(libc::SYS_openat, folder, name.as_ptr(), flags, 0o600) };
    let number = RawFd::try_from(checked(opened)?).map_err(io::Error::other)?;
    // SAFETY: the kernel has just made it, for us.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

fn rename(folder: RawFd, from: &CString, to: &CString) -> io::Result<()> {
    let (from, to) = (from.as_ptr(), to.as_ptr());
    // SAFETY: the names are C strings.
    let renamed = unsafe { libc::syscall(libc::SYS_renameat2, folder, from, folder, to, 0) };
    checked(renamed).map(drop)
}

fn remove(folder: RawFd, name: &CString) -> io::Result<()> {
    // SAFETY: the name is a C string.
    let removed = unsafe { libc::syscall(libc::SYS_unlinkat, folder, name.as_ptr(), 0) };
    checked(removed).map(drop)
}

fn c_string(name: &OsStr) -> io::Result<CString> {
    Ok(CString::new(name.as_bytes())?)
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
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::time::SystemTime;

    const KEY: Key = Key {
        code_object: [7; 16],
        kernel: 3,
    };

    impl FootprintFolder {
        fn versions(&self) -> PathBuf {
            self.cache.join("strobe/footprints")
        }

        fn path(&self, key: &Key) -> PathBuf {
            self.versions().join(VERSION).join(key.name())
        }

        fn make_room(&self) -> u64 {
            make_room(self.all(false).expect("it is there").as_fd())
        }
    }

    fn with_one() -> (tempfile::TempDir, FootprintFolder) {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = FootprintFolder {
            cache: folder.path().join("cache"),
        };
        let some = [(KEY, b"a footprint".to_vec())];
        cache.store(some, || false).expect("it is written");
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
        symlink("/dev/zero", &path).expect("a link");
        assert_eq!(cache.load(&KEY), None, "a link");
    }

    #[test]
    fn what_a_killed_process_has_left_is_in_nobodys_way() {
        let (_folder, cache) = with_one();
        let path = cache.path(&KEY);
        fs::remove_file(&path).expect("it goes");
        let aside = format!("{}.{}", path.display(), std::process::id());
        fs::write(aside, "half").expect("it is left");
        let store = || cache.store([(KEY, b"a footprint".to_vec())], || false);
        store().expect("the rest is stored");
        store().expect("it is stored");
        assert!(cache.load(&KEY).is_some());
    }

    #[test]
    fn the_oldest_go_where_there_is_little_room() {
        let (_folder, cache) = with_one();
        let old = cache.versions().join("another");
        fs::create_dir(&old).expect("another version");
        let big = |name: &str, days: u64| {
            let path = old.join(format!("{}-{days}", name.repeat(8)));
            let file = File::create(&path).expect("a file");
            let day = std::time::Duration::from_secs(86_400);
            let made = SystemTime::now() - day * u32::try_from(days).expect("few");
            nix::fcntl::posix_fallocate(&file, 0, (MOST_BYTES_OF_ALL / 4) as i64).expect("room");
            file.set_modified(made).expect("a time");
            path
        };
        let (oldest, old) = (big("0123", 3), big("4567", 2));
        let left = cache.make_room();
        assert!(!oldest.exists(), "the oldest of three goes");
        assert!(old.exists() && cache.load(&KEY).is_some());
        assert!(left < MOST_BYTES_OF_ALL * 3 / 4 + 1 && left > MOST_BYTES_OF_ALL / 2);
    }

    #[test]
    fn nothing_is_removed_but_our_files_in_our_folders() {
        let (folder, cache) = with_one();
        let big = |path: PathBuf| {
            let file = File::create(&path).expect("a file");
            nix::fcntl::posix_fallocate(&file, 0, MOST_BYTES_OF_ALL as i64).expect("room");
            path
        };
        let name = |kernel| Key { kernel, ..KEY }.name();
        let [elsewhere, others, open] = ["elsewhere", "others", "open"].map(|name| {
            let folder = folder.path().join(name);
            fs::create_dir(&folder).expect("a folder");
            folder
        });
        let files = [
            big(elsewhere.join(name(1))),
            big(others.join(name(2))),
            big(open.join(name(3))),
            big(cache.path(&KEY).with_file_name("somebody's")),
        ];
        symlink(&elsewhere, cache.versions().join("link")).expect("a link");
        for folder in [&others, &open] {
            let to = cache
                .versions()
                .join(folder.file_name().expect("it has one"));
            fs::rename(folder, to).expect("it is moved");
        }
        let [others, open] = ["others", "open"].map(|name| cache.versions().join(name));
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).expect("a mode");
        if geteuid().is_root() {
            chown(&others, Some(1), None).expect("root may");
        } else {
            fs::set_permissions(&others, fs::Permissions::from_mode(0o770)).expect("a mode");
        }
        cache.make_room();
        let [first, _, _, last] = &files;
        assert!(first.exists() && last.exists());
        assert!(others.join(name(2)).exists() && open.join(name(3)).exists());
        let whole = b"a footprint".to_vec();
        fs::set_permissions(cache.versions(), fs::Permissions::from_mode(0o770)).expect("a mode");
        assert_eq!(cache.load(&KEY), None, "others may have put it there");
        cache
            .store([(KEY, whole)], || false)
            .expect_err("others may write there");
    }
}
