//! Entries of the journal of files ([`strobe_proto::journal`]).
//!
//! May run in a handler of a signal, between fork and exec, and in a child that shares its parent's memory: nothing
//! here waits, allocates or locks, and no descriptor is open behind it.

mod absolute;
mod users;

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::atomic::{AtomicU64, Ordering};

use strobe_proto::journal::{
    Entry, FileNode, HEAD_BYTES, LIMIT, Named, OLDER, PATH_BYTES, Parts, Renamed, There, VARIABLE,
};

use crate::given::{self, Variable};
use crate::kernel::{Descriptor, is_file, keep_errno};
use crate::readable::Reader;

pub(crate) use absolute::Absolute;

pub use crate::kernel::Given;

/// With the zero behind it, and behind [`OLDER`].
const JOURNAL_BYTES: usize = 512;
/// Paths that a process knows to be in the journal.
const PLACES: usize = 64;
/// What has been there for so long may be in the older half, and soon gone.
const FRESH_SECONDS: u32 = 10;

/// What a call is about to do to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// To a file that is there.
    Write,
    /// To a file that is there or is made.
    WriteOrMake,
    /// What is there stays.
    Make,
    /// To a folder, likewise.
    MakeFolder,
}

impl Change {
    const fn entry(self, is_there: bool, path: &[u8]) -> Option<Entry<'_>> {
        match (self, is_there) {
            (Self::Write | Self::WriteOrMake, true) => Some(Entry::Write(path)),
            (Self::WriteOrMake | Self::Make, false) => Some(Entry::Make(path)),
            (Self::MakeFolder, false) => Some(Entry::MakeFolder(path)),
            (Self::Write, false) | (Self::Make | Self::MakeFolder, true) => None,
        }
    }
}

/// The program is about to change what has a path.
///
/// # Safety
/// Nobody changes the path meanwhile.
pub unsafe fn note(given: Given, change: Change) {
    keep_errno(|| {
        // SAFETY: the caller's promise.
        let is_there = unsafe { given.is_there(change) }?;
        // Nothing may be to be said.
        change.entry(is_there, b"")?;
        let is_written = is_there && matches!(change, Change::Write | Change::WriteOrMake);
        let mut path = Absolute::NONE;
        // SAFETY: likewise; the kernel has read it.
        unsafe {
            match is_written {
                true => path.set_target(given),
                false => path.set(given),
            }
        }?;
        if change == Change::WriteOrMake && !is_there {
            path.follow();
        }
        if !is_worth_it(path.bytes()) {
            return None;
        }
        if is_written {
            let known = KNOWN.place(path.bytes());
            if known.is_fresh() || is_refused(given, libc::W_OK) {
                return None;
            }
            append(change.entry(is_there, path.bytes())?)?;
            known.learn();
        } else if !path.is_fixed() {
            append(change.entry(is_there, path.bytes())?)?;
        }
        Some(())
    });
}

/// The program is about to give a socket an address, of which that of a unix socket may be a name.
///
/// # Safety
/// Nobody changes it meanwhile.
pub unsafe fn note_binding(address: usize, len: usize) {
    const PATH: usize = std::mem::offset_of!(libc::sockaddr_un, sun_path);
    const ROOM: usize = size_of::<libc::sockaddr_un>();
    keep_errno(|| {
        if !(PATH + 1..=ROOM).contains(&len) || !Reader::new().can_read(address, len) {
            return None;
        }
        // The name ends with the address, if there is no zero in it.
        let mut bytes = [0_u8; ROOM + 1];
        // SAFETY: the kernel has read so many bytes, and there is room for them.
        unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), len) };
        let family = libc::sa_family_t::from_ne_bytes([bytes[0], bytes[1]]);
        if c_int::from(family) == libc::AF_UNIX {
            let given = Given {
                folder: libc::AT_FDCWD,
                path: bytes[PATH..].as_ptr().cast(),
            };
            // SAFETY: a string of our own.
            unsafe { note(given, Change::Make) };
        }
        Some(())
    });
}

/// The program is about to take a name away.
///
/// # Safety
/// Nobody changes the path meanwhile.
pub unsafe fn note_removal(given: Given) {
    keep_errno(|| {
        // SAFETY: the caller's promise.
        let there = unsafe { given.stat(libc::AT_SYMLINK_NOFOLLOW) }?;
        if is_folder(&there) && is_in_use(given) {
            return None;
        }
        let (mut path, mut link) = (Absolute::NONE, Absolute::NONE);
        // SAFETY: likewise; the kernel has read it.
        unsafe { path.set(given) }?;
        link.set_link(&path, &there);
        if is_worth_it(path.bytes()) && !path.is_fixed() {
            append(Entry::Remove(Named {
                path: path.bytes(),
                node: node(&there),
                link: link.bytes(),
            }))?;
        }
        Some(())
    });
}

/// The program is about to give what is `old` the name `new`, as renameat2(2) does with these flags.
///
/// # Safety
/// Nobody changes the paths meanwhile.
pub unsafe fn note_renaming(old: Given, new: Given, flags: c_uint) {
    keep_errno(|| {
        // SAFETY: the caller's promise.
        let (stat, there) = unsafe {
            let itself = libc::AT_SYMLINK_NOFOLLOW;
            (old.stat(itself)?, new.stat(itself))
        };
        let exchanges = flags & libc::RENAME_EXCHANGE != 0;
        let is_same =
            |there: &libc::stat| (there.st_dev, there.st_ino) == (stat.st_dev, stat.st_ino);
        match &there {
            // Nothing happens, or the kernel refuses it.
            Some(there) if is_same(there) || flags & libc::RENAME_NOREPLACE != 0 => return None,
            Some(there) if !exchanges && is_folder(there) != is_folder(&stat) => return None,
            Some(there) if !exchanges && is_folder(there) && is_in_use(new) => return None,
            None if exchanges => return None,
            _ => {}
        }
        let (mut before, mut after) = (Absolute::NONE, Absolute::NONE);
        // SAFETY: likewise; the kernel has read them.
        unsafe {
            before.set(old)?;
            after.set(new)?;
        }
        // A folder cannot come to lie in itself.
        let is_within = after.bytes().strip_prefix(before.bytes());
        if is_folder(&stat) && is_within.is_some_and(|rest| rest.starts_with(b"/")) {
            return None;
        }
        if is_worth_it(after.bytes()) && !before.is_fixed() && !after.is_fixed() {
            let mut link = Absolute::NONE;
            let there = match &there {
                Some(there) if exchanges => There::Exchanged(node(there)),
                Some(there) => {
                    link.set_link(&after, there);
                    There::Replaced(node(there), link.bytes())
                }
                None => There::Nothing,
            };
            append(Entry::Rename(Renamed {
                old: before.bytes(),
                node: node(&stat),
                new: after.bytes(),
                there,
            }))?;
        }
        Some(())
    });
}

/// The program is about to start another, which nobody will watch.
pub(crate) fn note_unwatched(program: &[u8]) {
    let program = &program[..program.len().min(PATH_BYTES)];
    // A hash that no path of a file has.
    let known = KNOWN.place_of(program.iter().chain(b"\0"));
    if !known.is_fresh() && append(Entry::Unwatched(program)).is_some() {
        known.learn();
    }
}

/// The process uses a GPU from now on. Who finds nobody that does knows by that whether to wait.
pub(crate) fn note_gpu() {
    keep_errno(|| append(Entry::UsesGpu));
}

fn is_folder(stat: &libc::stat) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFDIR
}

/// Whether something is in a folder, which the kernel neither removes then nor replaces.
#[inline(never)]
fn is_in_use(folder: Given) -> bool {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    Descriptor::at(folder, flags).is_some_and(|folder| folder.has_entries())
}

fn node(stat: &libc::stat) -> FileNode {
    FileNode {
        mode: stat.st_mode,
        owner: stat.st_uid,
        group: stat.st_gid,
        inode: stat.st_ino,
    }
}

/// Whether the kernel lets this process do nothing of the kind there. What it does not say is no refusal: a kernel before 5.8
/// does not know the question, a filter of system calls may not either, and where a relative path begins may not be known.
pub(crate) fn is_refused(given: Given, access: c_int) -> bool {
    let Given { folder, path } = given;
    // By the user that the process acts as, which is not all that access(2) looks at.
    let flags = libc::AT_EACCESS;
    // SAFETY: of what is no string the kernel says `EFAULT`.
    let found = unsafe { libc::syscall(libc::SYS_faccessat2, folder, path, access, flags) };
    // SAFETY: the calling thread's own.
    let errno = unsafe { *libc::__errno_location() };
    found != 0 && !matches!(errno, libc::ENOSYS | libc::EPERM | libc::EBADF)
}

impl Given {
    /// Whether there is something already; `None` where that is none of this call's business.
    ///
    /// # Safety
    /// Nobody changes the path meanwhile.
    unsafe fn is_there(self, change: Change) -> Option<bool> {
        let flags = match change {
            Change::Write | Change::WriteOrMake => 0,
            // A link is there, wherever it leads to.
            Change::Make | Change::MakeFolder => libc::AT_SYMLINK_NOFOLLOW,
        };
        // SAFETY: the caller's promise.
        match unsafe { self.stat(flags) } {
            // A folder, a FIFO or a device that is opened is no file that is written.
            Some(there) if flags == 0 && !is_file(&there) => None,
            Some(_) => Some(true),
            // SAFETY: the calling thread's own.
            None => (unsafe { *libc::__errno_location() } == libc::ENOENT).then_some(false),
        }
    }

    /// Of what has the name, or with `AT_SYMLINK_NOFOLLOW` of a link that has it.
    ///
    /// # Safety
    /// Nobody changes the path meanwhile.
    unsafe fn stat(self, flags: c_int) -> Option<libc::stat> {
        // SAFETY: zeros are a value of it.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        let (folder, path) = (self.folder, self.path);
        // SAFETY: fills a local in; of what is no string the kernel says `EFAULT`.
        let found =
            unsafe { libc::syscall(libc::SYS_newfstatat, folder, path, &raw mut stat, flags) };
        (found == 0).then_some(stat)
    }
}

/// Devices and what the kernel makes up are no files.
fn is_worth_it(path: &[u8]) -> bool {
    let starts = |start: &[u8]| path.starts_with(start);
    !(starts(b"/proc/") || starts(b"/sys/") || starts(b"/dev/") && !starts(b"/dev/shm/"))
}

/// The paths that have lately become an entry: of each the upper half of its hash, and when that was. A path whose
/// hash is another's becomes no entry for as long; of 2^32 two have the same.
struct Known([AtomicU64; PLACES]);

static KNOWN: Known = Known([const { AtomicU64::new(0) }; PLACES]);

impl Known {
    fn place(&self, path: &[u8]) -> Place<'_> {
        self.place_of(path.iter())
    }

    fn place_of<'a>(&self, bytes: impl Iterator<Item = &'a u8>) -> Place<'_> {
        // FNV-1a.
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
        let known = &self.0[hash as usize % PLACES];
        let now = now();
        Place { known, hash, now }
    }
}

/// Where a path is looked for.
struct Place<'a> {
    known: &'a AtomicU64,
    hash: u64,
    /// In seconds.
    now: u32,
}

impl Place<'_> {
    /// Whether it is known, and will be in the journal for a while.
    fn is_fresh(&self) -> bool {
        let known = self.known.load(Ordering::Relaxed);
        let age = self.now.wrapping_sub(known as u32);
        known >> 32 == self.hash >> 32 && age < FRESH_SECONDS
    }

    fn learn(&self) {
        let known = self.hash >> 32 << 32 | u64::from(self.now);
        self.known.store(known, Ordering::Relaxed);
    }
}

fn now() -> u32 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: fills a local in.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &mut time) };
    // The machine is up for less than 136 years; 0 stands for a place that is free.
    (time.tv_sec as u32).saturating_add(FRESH_SECONDS)
}

/// A journal's path, with zeros behind it.
type JournalPath = [u8; JOURNAL_BYTES];

/// That of the `strobe run`, unless it is none.
fn given() -> Option<Variable> {
    let journal = given::variable(VARIABLE)?;
    let mut path = journal.value_bytes();
    // With room for what may come behind it.
    (path.len() + OLDER.len() < JOURNAL_BYTES && path.next() == Some(b'/')).then_some(journal)
}

fn path(journal: Variable) -> JournalPath {
    let mut path = [0; JOURNAL_BYTES];
    for (to, from) in path.iter_mut().zip(journal.value_bytes()) {
        *to = from;
    }
    path
}

/// `None` where it cannot be written.
fn append(entry: Entry<'_>) -> Option<()> {
    let journal = given()?;
    let mut head = [0; HEAD_BYTES];
    let parts = entry.parts(&mut head).ok()?;
    match open(journal.value()) {
        Some(file) => write(&file, &parts, || path(journal)),
        None => append_to_users(journal, &parts),
    }
}

/// That of the user, where the other is not the user's to write.
#[cold]
#[inline(never)]
fn append_to_users(journal: Variable, parts: &Parts<'_>) -> Option<()> {
    // SAFETY: the calling thread's own.
    let errno = unsafe { *libc::__errno_location() };
    if !matches!(errno, libc::EACCES | libc::EPERM) {
        return None;
    }
    let path = users::path(&path(journal))?;
    write(&open(path.as_ptr().cast())?, parts, || path)
}

fn as_string(path: &JournalPath) -> &CStr {
    // Zeros are behind each.
    CStr::from_bytes_until_nul(path).unwrap_or_default()
}

fn size_limit() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: fills a local in.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) };
    limit.rlim_cur
}

/// For entries.
fn open(path: *const c_char) -> Option<Descriptor> {
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_NOFOLLOW;
    let folder = libc::AT_FDCWD;
    Descriptor::at(Given { folder, path }, flags | libc::O_NONBLOCK)
}

/// An entry, all at once, behind what others write meanwhile.
fn write(file: &Descriptor, parts: &Parts<'_>, path: impl FnOnce() -> JournalPath) -> Option<()> {
    let size: usize = parts.iter().map(|part| part.len()).sum();
    // Beyond a limit of the program's the kernel would end it.
    let len = file
        .len()
        .filter(|len| len.saturating_add(size as u64) < size_limit())?;
    let parts = parts.map(|part| libc::iovec {
        iov_base: part.as_ptr().cast_mut().cast(),
        iov_len: part.len(),
    });
    // SAFETY: reads our bytes.
    let written = unsafe { libc::syscall(libc::SYS_writev, file.0, parts.as_ptr(), parts.len()) };
    if len >= LIMIT {
        make_older(file, path);
    }
    (usize::try_from(written) == Ok(size)).then_some(())
}

/// Once for each journal: who has the lock of this one finds another there when it has been done.
#[cold]
#[inline(never)]
fn make_older(file: &Descriptor, path: impl FnOnce() -> JournalPath) {
    let journal = path();
    let path = journal.as_ptr().cast();
    let mut older = journal;
    let end = journal.iter().take_while(|byte| **byte != 0).count();
    // There is room: no longer path is taken.
    older[end..end + OLDER.len()].copy_from_slice(OLDER.as_bytes());
    // SAFETY: takes numbers only; goes with the descriptor.
    if unsafe { libc::flock(file.0, libc::LOCK_EX | libc::LOCK_NB) } != 0 {
        return;
    }
    // SAFETY: zeros are a value of it.
    let mut there: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: zeros are behind the path; fills a local in.
    if unsafe { libc::lstat(path, &mut there) } == 0
        && file.stat().map(|own| own.st_ino) == Some(there.st_ino)
    {
        // SAFETY: zeros are behind both paths.
        unsafe { libc::syscall(libc::SYS_rename, path, older.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_become_an_entry_is_known_for_a_while() {
        let known = Known([const { AtomicU64::new(0) }; PLACES]);
        let at = |path, now| Place {
            now,
            ..known.place(path)
        };
        assert!(!at(b"/a", 100).is_fresh());
        at(b"/a", 100).learn();
        assert!(at(b"/a", 100 + FRESH_SECONDS - 1).is_fresh());
        assert!(!at(b"/b", 101).is_fresh());
        assert!(!at(b"/a", 100 + FRESH_SECONDS).is_fresh());
        at(b"/a", 100 + FRESH_SECONDS).learn();
        assert!(at(b"/a", 101 + FRESH_SECONDS).is_fresh());
    }

    #[test]
    fn only_what_may_be_made_is_absent() {
        let (change, path) = (Change::Write, b"/a");
        assert_eq!(change.entry(true, path), Some(Entry::Write(path)));
        assert_eq!(change.entry(false, path), None);
        let change = Change::WriteOrMake;
        assert_eq!(change.entry(true, path), Some(Entry::Write(path)));
        assert_eq!(change.entry(false, path), Some(Entry::Make(path)));
        assert_eq!(Change::Make.entry(true, path), None);
        assert_eq!(Change::Make.entry(false, path), Some(Entry::Make(path)));
        let change = Change::MakeFolder;
        assert_eq!(change.entry(true, path), None);
        assert_eq!(change.entry(false, path), Some(Entry::MakeFolder(path)));
    }
}
