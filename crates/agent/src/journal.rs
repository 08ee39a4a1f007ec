//! Entries of the journal of files ([`strobe_proto::journal`]).
//!
//! May run in a handler of a signal, between fork and exec, and in a child that shares its parent's memory: nothing
//! here waits, allocates or locks, and no descriptor is open behind it.

pub(crate) mod given;
mod users;

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::io::Write;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use strobe_proto::journal::{
    ENTRY_BYTES, Entry, FileNode, LIMIT, Named, OLDER, PATH_BYTES, Renamed, There, VARIABLE,
};

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

/// A path as a program passes it to the kernel; a relative one begins at `folder`, a descriptor or `AT_FDCWD`.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    /// Where a relative path begins.
    pub folder: c_int,
    /// Whatever a program may pass to the kernel as a path.
    pub path: *const c_char,
}

/// The program is about to change what has a path.
///
/// # Safety
/// Nobody changes the path meanwhile.
pub unsafe fn note(given: Given, change: Change) {
    keep_errno(|| {
        // SAFETY: the caller's promise.
        let is_there = unsafe { given.is_there(change) }?;
        let is_written = is_there && matches!(change, Change::Write | Change::WriteOrMake);
        // SAFETY: likewise; the kernel has read it.
        let mut path = unsafe {
            match is_written {
                true => Absolute::leads_to(given),
                false => Absolute::of(given),
            }
        }?;
        if change == Change::WriteOrMake && !is_there {
            path.follow();
        }
        if is_written {
            let known = KNOWN.place(path.bytes());
            // SAFETY: likewise.
            if known.is_fresh() || unsafe { is_refused(given, libc::W_OK) } {
                return None;
            }
            known.learn();
        } else if path.is_fixed() {
            return None;
        }
        let entry = change.entry(is_there, path.bytes())?;
        if is_worth_it(path.bytes()) {
            append(entry);
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
        // SAFETY: likewise; the kernel has read it.
        let mut path = unsafe { Absolute::of(given) }?;
        let link = path.link(&there);
        if is_worth_it(path.bytes()) && !path.is_fixed() {
            append(Entry::Remove(Named {
                path: path.bytes(),
                node: node(&there),
                link: link.bytes(),
            }));
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
            None if exchanges => return None,
            _ => {}
        }
        // SAFETY: likewise; the kernel has read them.
        let (mut old, mut new) = unsafe { (Absolute::of(old)?, Absolute::of(new)?) };
        let link = there.as_ref().map(|there| new.link(there));
        if is_worth_it(new.bytes()) && !old.is_fixed() && !new.is_fixed() {
            append(Entry::Rename(Renamed {
                old: old.bytes(),
                node: node(&stat),
                new: new.bytes(),
                there: match (&there, &link) {
                    (Some(there), _) if exchanges => There::Exchanged(node(there)),
                    (Some(there), Some(link)) => There::Replaced(node(there), link.bytes()),
                    _ => There::Nothing,
                },
            }));
        }
        Some(())
    });
}

/// The program is about to start another, which nobody will watch.
///
/// # Safety
/// Nobody changes the name meanwhile; null is none.
pub(crate) unsafe fn note_unwatched(program: *const c_char) {
    let program = match program.is_null() {
        true => c"",
        // SAFETY: the caller's promise.
        false => unsafe { CStr::from_ptr(program) },
    };
    // With the zero, which no path of a file has.
    let known = KNOWN.place(program.to_bytes_with_nul());
    if !known.is_fresh() {
        known.learn();
        let name = program.to_bytes();
        append(Entry::Unwatched(&name[..name.len().min(PATH_BYTES)]));
    }
}

/// Does something of which the program's call is to notice nothing.
pub(crate) fn keep_errno(body: impl FnOnce() -> Option<()>) {
    // SAFETY: the calling thread's own.
    let errno = unsafe { *libc::__errno_location() };
    body();
    // SAFETY: likewise.
    unsafe { *libc::__errno_location() = errno };
}

fn is_file(stat: &libc::stat) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFREG
}

fn is_folder(stat: &libc::stat) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFDIR
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
/// does not know the question, and a filter of system calls may not either.
///
/// # Safety
/// Nobody changes the path meanwhile.
unsafe fn is_refused(given: Given, access: c_int) -> bool {
    let Given { folder, path } = given;
    // By the user that the process acts as, which is not all that access(2) looks at.
    let flags = libc::AT_EACCESS;
    // SAFETY: of what is no string the kernel says `EFAULT`.
    let found = unsafe { libc::syscall(libc::SYS_faccessat2, folder, path, access, flags) };
    // SAFETY: the calling thread's own.
    let errno = unsafe { *libc::__errno_location() };
    found != 0 && !matches!(errno, libc::ENOSYS | libc::EPERM)
}

impl Given {
    /// Whether the kernel can read it.
    pub fn is_readable(self) -> bool {
        let mut is_readable = false;
        keep_errno(|| {
            // SAFETY: of what is no string the kernel says `EFAULT`.
            let found =
                unsafe { libc::syscall(libc::SYS_faccessat, self.folder, self.path, libc::F_OK) };
            // SAFETY: the calling thread's own.
            is_readable = found == 0 || unsafe { *libc::__errno_location() } != libc::EFAULT;
            Some(())
        });
        is_readable
    }

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

/// A path that is not too long, with a zero behind it.
struct Absolute {
    room: [u8; PATH_BYTES + 1],
    len: usize,
}

impl Absolute {
    const NONE: Self = Self {
        room: [0; PATH_BYTES + 1],
        len: 0,
    };

    /// A name, in the folder that it is in now: links on the way there may lead elsewhere later.
    ///
    /// # Safety
    /// The kernel has read the path, and nobody changes it meanwhile.
    unsafe fn of(given: Given) -> Option<Self> {
        // SAFETY: the caller's promise.
        let path = unsafe { CStr::from_ptr(given.path) }.to_bytes();
        // A folder's own name may end with one.
        let end = path.iter().rposition(|byte| *byte != b'/')? + 1;
        let slash = path[..end].iter().rposition(|byte| *byte == b'/');
        let (folder, name) = path[..end].split_at(slash.map_or(0, |slash| slash + 1));
        let mut all = Self::NONE;
        if folder.is_empty() {
            all.read_descriptor(given.folder)?;
        } else {
            let mut place = Self::NONE;
            place.push(folder)?;
            let path = place.room.as_ptr().cast();
            let folder = given.folder;
            // SAFETY: a string that ends with a zero, and is ours.
            unsafe { all.open_and_read(Given { folder, path }, libc::O_DIRECTORY) }?;
        }
        if all.bytes() != b"/" {
            all.push(b"/")?;
        }
        all.push(name)?;
        Some(all)
    }

    /// What is there now, by a path without links.
    ///
    /// # Safety
    /// As of [`Absolute::of`].
    unsafe fn leads_to(given: Given) -> Option<Self> {
        let mut all = Self::NONE;
        // SAFETY: the caller's promise.
        unsafe { all.open_and_read(given, 0) }?;
        Some(all)
    }

    /// # Safety
    /// The path is a string that ends with a zero, and nobody changes it meanwhile.
    unsafe fn open_and_read(&mut self, given: Given, flags: c_int) -> Option<()> {
        let Given { folder, path } = given;
        let flags = libc::O_PATH | libc::O_CLOEXEC | flags;
        // SAFETY: the caller's promise.
        let opened = unsafe { libc::syscall(libc::SYS_openat, folder, path, flags) };
        let file = Descriptor(c_int::try_from(opened).ok().filter(|fd| *fd >= 0)?);
        self.read_descriptor(file.0)
    }

    /// The path of what is open as this, or of the working directory (`AT_FDCWD`).
    fn read_descriptor(&mut self, number: c_int) -> Option<()> {
        let mut link = [0_u8; 32];
        let mut rest = &mut link[..31];
        match number {
            libc::AT_FDCWD => rest.write_all(b"/proc/self/cwd"),
            number => write!(rest, "/proc/self/fd/{number}"),
        }
        .ok()?;
        self.read_link(link.as_ptr().cast())
    }

    fn bytes(&self) -> &[u8] {
        &self.room[..self.len]
    }

    fn push(&mut self, more: &[u8]) -> Option<()> {
        let end = self
            .len
            .checked_add(more.len())
            .filter(|end| *end <= PATH_BYTES)?;
        self.room[self.len..end].copy_from_slice(more);
        self.room[end] = 0;
        self.len = end;
        Some(())
    }

    /// Whether its folder is none in which this process may make or remove names.
    fn is_fixed(&mut self) -> bool {
        let is_refused = |folder: *const c_char| {
            let given = Given {
                folder: libc::AT_FDCWD,
                path: folder,
            };
            // SAFETY: a string that ends with a zero, and is ours.
            unsafe { is_refused(given, libc::W_OK | libc::X_OK) }
        };
        match self.bytes().iter().rposition(|byte| *byte == b'/') {
            None => false,
            Some(0) => is_refused(c"/".as_ptr()),
            Some(slash) => {
                self.room[slash] = 0;
                let is_refused = is_refused(self.room.as_ptr().cast());
                self.room[slash] = b'/';
                is_refused
            }
        }
    }

    /// Where a symbolic link leads to, as it says. `path` has a zero behind it.
    fn read_link(&mut self, path: *const c_char) -> Option<()> {
        let room = self.room.as_mut_ptr();
        // SAFETY: a string that ends with a zero, and room for as much as said.
        let found =
            unsafe { libc::syscall(libc::SYS_readlinkat, libc::AT_FDCWD, path, room, PATH_BYTES) };
        // What fills all the room may be longer.
        self.len = usize::try_from(found)
            .ok()
            .filter(|len| *len < PATH_BYTES)?;
        self.room[self.len] = 0;
        Some(())
    }

    /// Where it leads to as a symbolic link; empty if it is none.
    fn link(&self, stat: &libc::stat) -> Self {
        let mut link = Self::NONE;
        if stat.st_mode & libc::S_IFMT == libc::S_IFLNK
            && link.read_link(self.room.as_ptr().cast()).is_none()
        {
            return Self::NONE;
        }
        link
    }

    /// Of a link that leads to nothing yet, the path that the kernel would make.
    fn follow(&mut self) {
        let mut link = Self::NONE;
        if link.read_link(self.room.as_ptr().cast()).is_none() {
            return;
        }
        if !link.bytes().starts_with(b"/") {
            let folder = self.bytes().iter().rposition(|byte| *byte == b'/');
            self.len = folder.map_or(0, |slash| slash + 1);
            // Too long a path is left as it was meant to be: nothing is made by it.
            let _ = self.push(link.bytes());
        } else {
            *self = link;
        }
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
        // FNV-1a.
        let hash = path.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
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

/// The journal's path, with zeros behind it.
type JournalPath = [u8; JOURNAL_BYTES];

/// Found once for a process. A fork may leave it half found; then it is looked for each time.
struct Found {
    state: AtomicU8,
    path: [AtomicU8; JOURNAL_BYTES],
}

const UNKNOWN: u8 = 0;
const BEING_STORED: u8 = 1;
const STORED: u8 = 2;

static FOUND: Found = Found {
    state: AtomicU8::new(UNKNOWN),
    path: [const { AtomicU8::new(0) }; JOURNAL_BYTES],
};

impl Found {
    /// Empty where there is no journal.
    fn path(&self) -> JournalPath {
        if self.state.load(Ordering::Acquire) == STORED {
            return std::array::from_fn(|at| self.path[at].load(Ordering::Relaxed));
        }
        let path = variable().unwrap_or([0; JOURNAL_BYTES]);
        let claimed = self.state.compare_exchange(
            UNKNOWN,
            BEING_STORED,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if claimed.is_ok() {
            for (to, from) in self.path.iter().zip(path) {
                to.store(from, Ordering::Relaxed);
            }
            self.state.store(STORED, Ordering::Release);
        }
        path
    }
}

fn variable() -> Option<JournalPath> {
    let mut path = [0; JOURNAL_BYTES];
    // With room for what may come behind it.
    let room = JOURNAL_BYTES - OLDER.len() - 1;
    let len = given::variable(VARIABLE, &mut path[..room])?;
    path[len..].fill(0);
    Some(path)
}

fn append(entry: Entry<'_>) {
    let journal = FOUND.path();
    if journal[0] != b'/' {
        return;
    }
    let mut bytes = [0; ENTRY_BYTES];
    let mut rest = &mut bytes[..];
    if entry.write(&mut rest).is_err() {
        return;
    }
    let size = ENTRY_BYTES - rest.len();
    let Some((file, journal)) = open(journal) else {
        return;
    };
    // Beyond a limit of the program's the kernel would end it.
    let Some(len) = file
        .len()
        .filter(|len| len.saturating_add(size as u64) < size_limit())
    else {
        return;
    };
    // All at once, behind what others write meanwhile.
    // SAFETY: reads our bytes.
    unsafe { libc::syscall(libc::SYS_write, file.0, bytes.as_ptr(), size) };
    if len >= LIMIT {
        file.make_older(&journal);
    }
}

/// The journal, or that of the user where this one is not the user's to write; and where it is.
fn open(journal: JournalPath) -> Option<(Descriptor, JournalPath)> {
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_NOFOLLOW;
    let opened = |journal: JournalPath| {
        let file = Descriptor::open(as_string(&journal), flags | libc::O_NONBLOCK)?;
        Some((file, journal))
    };
    opened(journal).or_else(|| {
        // SAFETY: the calling thread's own.
        let errno = unsafe { *libc::__errno_location() };
        match errno {
            libc::EACCES | libc::EPERM => opened(users::path(&journal)?),
            _ => None,
        }
    })
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

/// By the kernel alone: the C library's functions are what is watched, and places where a thread is cancelled, which the
/// program's call may be none of.
struct Descriptor(c_int);

impl Descriptor {
    fn open(path: &CStr, flags: c_int) -> Option<Self> {
        let (flags, mode) = (flags | libc::O_CLOEXEC, 0o600);
        // SAFETY: a string that ends with a zero.
        let fd =
            unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, mode) };
        c_int::try_from(fd).ok().filter(|fd| *fd >= 0).map(Self)
    }

    fn stat(&self) -> Option<libc::stat> {
        // SAFETY: zeros are a value of it.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: fills a local in.
        (unsafe { libc::fstat(self.0, &mut stat) } == 0).then_some(stat)
    }

    /// Of a regular file.
    fn len(&self) -> Option<u64> {
        let stat = self.stat()?;
        is_file(&stat).then_some(stat.st_size as u64)
    }

    /// Once for each journal: who has the lock of this one finds another there when it has been done.
    fn make_older(&self, journal: &JournalPath) {
        let path = journal.as_ptr().cast();
        let mut older = *journal;
        let end = journal.iter().take_while(|byte| **byte != 0).count();
        // There is room: `variable` takes no longer path.
        older[end..end + OLDER.len()].copy_from_slice(OLDER.as_bytes());
        // SAFETY: takes numbers only; goes with the descriptor.
        if unsafe { libc::flock(self.0, libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return;
        }
        // SAFETY: zeros are a value of it.
        let mut there: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: zeros are behind the path; fills a local in.
        if unsafe { libc::lstat(path, &mut there) } == 0
            && self.stat().map(|own| own.st_ino) == Some(there.st_ino)
        {
            // SAFETY: zeros are behind both paths.
            unsafe { libc::syscall(libc::SYS_rename, path, older.as_ptr()) };
        }
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: ours, and open.
        unsafe { libc::syscall(libc::SYS_close, self.0) };
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::os::fd::AsRawFd;

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

    fn absolute(folder: c_int, path: &str) -> Option<Vec<u8>> {
        let path = CString::new(path).expect("no zero is in it");
        let path = path.as_ptr();
        // SAFETY: a string, which stays.
        let all = unsafe { Absolute::of(Given { folder, path }) };
        all.map(|all| all.bytes().to_vec())
    }

    #[test]
    fn relative_paths_begin_where_the_program_says() {
        let folder = std::fs::File::open("/usr").expect("it is there");
        let found = absolute(folder.as_raw_fd(), "lib");
        assert_eq!(found.as_deref(), Some(&b"/usr/lib"[..]));
        let here = std::env::current_dir().expect("it is there").join("x");
        let found = absolute(libc::AT_FDCWD, "x");
        assert_eq!(found.as_deref(), Some(here.as_os_str().as_encoded_bytes()));
        assert_eq!(absolute(-1, "x"), None);
        assert_eq!(absolute(0, ""), None);
        let long = |bytes: usize| format!("/{}", "x".repeat(bytes - 1));
        assert_eq!(absolute(0, &long(PATH_BYTES + 1)), None);
        assert!(absolute(0, &long(PATH_BYTES)).is_some());
    }

    #[test]
    fn what_is_made_through_a_link_is_what_it_leads_to() {
        let folder = tempfile::tempdir().expect("there is room");
        let followed = |target: &str| {
            let path = folder.path().join("link");
            let _ = std::fs::remove_file(&path);
            std::os::unix::fs::symlink(target, &path).expect("there is room");
            let mut all = Absolute::NONE;
            all.push(path.as_os_str().as_encoded_bytes())
                .expect("it has room");
            all.follow();
            String::from_utf8_lossy(all.bytes()).into_owned()
        };
        assert_eq!(followed("/nowhere/to"), "/nowhere/to");
        let inside = format!("{}/v9", folder.path().display());
        assert_eq!(followed("v9"), inside);
    }
}
