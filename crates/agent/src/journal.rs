//! Entries of the journal of files ([`strobe_proto::journal`]).
//!
//! May run in a handler of a signal, between fork and exec, and in a child that shares its parent's memory: nothing
//! here waits, allocates or locks, and no descriptor is open behind it.

use std::ffi::{CStr, c_char, c_int};
use std::io::Write;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use strobe_proto::journal::{EntryKind, LIMIT, OLDER, PATH_BYTES, VARIABLE};

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
    const fn entry(self, is_there: bool) -> Option<EntryKind> {
        match (self, is_there) {
            (Self::Write | Self::WriteOrMake, true) => Some(EntryKind::Present),
            (Self::WriteOrMake | Self::Make, false) => Some(EntryKind::Absent),
            (Self::MakeFolder, false) => Some(EntryKind::Folder),
            (Self::Write, false) | (Self::Make | Self::MakeFolder, true) => None,
        }
    }
}

/// The program is about to change `path`. A relative path begins at `folder`, a descriptor or `AT_FDCWD`.
///
/// # Safety
/// `path` is whatever a program may pass to the kernel as a path; nobody changes it meanwhile.
pub unsafe fn note(folder: c_int, path: *const c_char, change: Change) {
    // SAFETY: the calling thread's own.
    let errno = unsafe { &mut *libc::__errno_location() };
    let before = *errno;
    // SAFETY: the kernel says `EFAULT` of what is no string, and so the program's own call will.
    let found = unsafe { libc::syscall(libc::SYS_faccessat, folder, path, libc::F_OK) };
    if found == 0 || *errno == libc::ENOENT {
        // SAFETY: the kernel has read it.
        let path = unsafe { CStr::from_ptr(path) }.to_bytes();
        let mut room = [0; PATH_BYTES];
        if let Some(kind) = change.entry(found == 0)
            && !path.is_empty()
            && let Some(len) = absolute(folder, path, &mut room)
            && is_worth_it(&room[..len])
            && (kind != EntryKind::Present || !KNOWN.knows(&room[..len], now()))
        {
            append(kind, &room[..len]);
        }
    }
    *errno = before;
}

/// Devices and what the kernel makes up are no files.
fn is_worth_it(path: &[u8]) -> bool {
    let starts = |start: &[u8]| path.starts_with(start);
    !(starts(b"/proc/") || starts(b"/sys/") || starts(b"/dev/") && !starts(b"/dev/shm/"))
}

/// Puts the path together; its length.
fn absolute(folder: c_int, path: &[u8], room: &mut [u8; PATH_BYTES]) -> Option<usize> {
    let mut len = 0;
    if !path.starts_with(b"/") {
        let mut link = [0_u8; 32];
        let mut rest = &mut link[..31];
        match folder {
            libc::AT_FDCWD => rest.write_all(b"/proc/self/cwd"),
            number => write!(rest, "/proc/self/fd/{number}"),
        }
        .ok()?;
        // SAFETY: the name ends with a zero, and the room is as long as said.
        let found =
            unsafe { libc::readlink(link.as_ptr().cast(), room.as_mut_ptr().cast(), PATH_BYTES) };
        len = usize::try_from(found).ok()?;
        *room.get_mut(len)? = b'/';
        len += 1;
    }
    let end = len.checked_add(path.len())?;
    room.get_mut(len..end)?.copy_from_slice(path);
    Some(end)
}

/// The paths that have lately become an entry: of each the upper half of its hash, and when that was. A path whose
/// hash is another's becomes no entry for as long; of 2^32 two have the same.
struct Known([AtomicU64; PLACES]);

static KNOWN: Known = Known([const { AtomicU64::new(0) }; PLACES]);

impl Known {
    /// Whether it is known, as it is from now on. `now` in seconds.
    fn knows(&self, path: &[u8], now: u32) -> bool {
        // FNV-1a.
        let hash = path.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
        let place = &self.0[hash as usize % PLACES];
        let known = place.load(Ordering::Relaxed);
        let age = now.wrapping_sub(known as u32);
        let is_known = known >> 32 == hash >> 32 && age < FRESH_SECONDS;
        if !is_known {
            place.store(hash >> 32 << 32 | u64::from(now), Ordering::Relaxed);
        }
        is_known
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

/// What the process was given. Its own functions may be at work on what has become of that.
fn variable() -> Option<JournalPath> {
    let environment = Descriptor::open(c"/proc/self/environ", libc::O_RDONLY)?;
    let mut bytes = [0_u8; 4096];
    // How much of `NAME=` has been seen, and then how much of the value is there.
    let (mut name, mut len) = (Some(0), 0);
    let wanted = || VARIABLE.bytes().chain([b'=']);
    let mut path = [0; JOURNAL_BYTES];
    loop {
        // SAFETY: fills our bytes in.
        let got = unsafe { libc::read(environment.0, bytes.as_mut_ptr().cast(), bytes.len()) };
        let got = usize::try_from(got).ok().filter(|got| *got > 0)?;
        for byte in &bytes[..got] {
            match (name, byte) {
                (Some(seen), 0) if seen == wanted().count() => return Some(path),
                (_, 0) => name = Some(0),
                (Some(seen), _) if seen == wanted().count() => {
                    // With room for what may come behind it.
                    if len + OLDER.len() + 1 >= JOURNAL_BYTES {
                        return None;
                    }
                    path[len] = *byte;
                    len += 1;
                }
                (Some(seen), _) if wanted().nth(seen) == Some(*byte) => name = Some(seen + 1),
                _ => name = None,
            }
        }
    }
}

fn append(kind: EntryKind, path: &[u8]) {
    let journal = FOUND.path();
    if journal[0] != b'/' {
        return;
    }
    // SAFETY: zeros are behind it.
    let name = unsafe { CStr::from_ptr(journal.as_ptr().cast()) };
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_NOFOLLOW;
    let Some(file) = Descriptor::open(name, flags | libc::O_NONBLOCK) else {
        return;
    };
    let mut entry = [0; PATH_BYTES + 2];
    entry[0] = kind.byte();
    entry[1..=path.len()].copy_from_slice(path);
    // Beyond a limit of the program's the kernel would end it.
    let Some(len) = file
        .len()
        .filter(|len| len + (PATH_BYTES as u64) < size_limit())
    else {
        return;
    };
    // All at once, behind what others write meanwhile.
    // SAFETY: reads our bytes.
    unsafe { libc::write(file.0, entry.as_ptr().cast(), path.len() + 2) };
    if len >= LIMIT {
        file.make_older(&journal);
    }
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

/// By the kernel alone: the C library's functions are what is watched, and places where a thread is cancelled.
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
        (stat.st_mode & libc::S_IFMT == libc::S_IFREG).then_some(stat.st_size as u64)
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
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn what_has_become_an_entry_is_known_for_a_while() {
        let known = Known([const { AtomicU64::new(0) }; PLACES]);
        assert!(!known.knows(b"/a", 100));
        assert!(known.knows(b"/a", 100 + FRESH_SECONDS - 1));
        assert!(!known.knows(b"/b", 101));
        assert!(!known.knows(b"/a", 100 + FRESH_SECONDS));
        assert!(known.knows(b"/a", 101 + FRESH_SECONDS));
    }

    #[test]
    fn only_what_may_be_made_is_absent() {
        assert_eq!(Change::Write.entry(true), Some(EntryKind::Present));
        assert_eq!(Change::Write.entry(false), None);
        assert_eq!(Change::WriteOrMake.entry(false), Some(EntryKind::Absent));
        assert_eq!(Change::Make.entry(true), None);
        assert_eq!(Change::Make.entry(false), Some(EntryKind::Absent));
        assert_eq!(Change::MakeFolder.entry(true), None);
        assert_eq!(Change::MakeFolder.entry(false), Some(EntryKind::Folder));
    }

    #[test]
    fn relative_paths_begin_where_the_program_says() {
        let folder = std::fs::File::open("/usr").expect("it is there");
        let mut room = [0; PATH_BYTES];
        let len = absolute(folder.as_raw_fd(), b"lib", &mut room).expect("it has room");
        assert_eq!(&room[..len], b"/usr/lib");
        let len = absolute(libc::AT_FDCWD, b"x", &mut room).expect("it has room");
        let here = std::env::current_dir().expect("it is there").join("x");
        assert_eq!(&room[..len], here.as_os_str().as_encoded_bytes());
        assert_eq!(absolute(-1, b"x", &mut room), None);
        assert_eq!(absolute(0, &[b'/'; PATH_BYTES + 1], &mut room), None);
    }
}
