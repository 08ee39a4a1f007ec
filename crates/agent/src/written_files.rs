//! The files that the program has lately opened to write, or given another name
//! ([`strobe_proto::written`]).
//!
//! May run in a handler of a signal and between fork and exec: nothing here waits, allocates or locks.

use std::ffi::{CStr, c_char, c_int};
use std::io::Write;
use std::sync::atomic::Ordering;
use strobe_proto::written::{PATH_BYTES, PLACES, WrittenFile, WrittenFiles};

/// Found from outside by its symbol.
#[allow(non_upper_case_globals, reason = "the name is an exported symbol")]
#[unsafe(no_mangle)]
pub static strobe_written_files: WrittenFiles = WrittenFiles::new();

/// The program opens `path` to write, or renames a file to it. A relative path begins at `folder`, a descriptor
/// or `AT_FDCWD`.
///
/// # Safety
/// `path` is whatever a program may pass to the kernel as a path; nobody changes it meanwhile.
pub unsafe fn note(folder: c_int, path: *const c_char) {
    // SAFETY: the calling thread's own.
    let errno = unsafe { &mut *libc::__errno_location() };
    let before = *errno;
    // SAFETY: the kernel says `EFAULT` of what is no string, and so the program's own call will.
    let is_string = unsafe { libc::access(path, libc::F_OK) } == 0 || *errno != libc::EFAULT;
    if is_string {
        // SAFETY: the kernel has read it.
        let path = unsafe { CStr::from_ptr(path) }.to_bytes();
        let mut room = [0; PATH_BYTES];
        if let Some(len) = absolute(folder, path, &mut room)
            && is_worth_it(&room[..len])
        {
            remember(&strobe_written_files, &room[..len]);
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

fn remember(files: &WrittenFiles, path: &[u8]) {
    let newest = files.taken.load(Ordering::Relaxed) as usize;
    // One of those that are soon forgotten is remembered anew.
    let mut recent =
        (1..=newest.min(PLACES / 2)).map(|back| &files.places[(newest - back) % PLACES]);
    if recent.any(|place| holds(place, path)) {
        return;
    }
    for _ in 0..PLACES {
        let turn = files.taken.fetch_add(1, Ordering::AcqRel) as usize;
        let place = &files.places[turn % PLACES];
        let sequence = place.sequence.load(Ordering::Relaxed);
        let is_free = sequence.is_multiple_of(2)
            && place
                .sequence
                .compare_exchange(
                    sequence,
                    sequence.wrapping_add(1),
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                )
                .is_ok();
        // Another thread may be at it, or was when this process was forked.
        if is_free {
            for (to, from) in place.path.iter().zip(path) {
                to.store(*from, Ordering::Relaxed);
            }
            place.len.store(path.len() as u32, Ordering::Relaxed);
            place
                .sequence
                .store(sequence.wrapping_add(2), Ordering::Release);
            return;
        }
    }
}

fn holds(place: &WrittenFile, path: &[u8]) -> bool {
    let mut bytes = place.path.iter().zip(path);
    place.sequence.load(Ordering::Acquire).is_multiple_of(2)
        && place.len.load(Ordering::Relaxed) as usize == path.len()
        && bytes.all(|(ours, theirs)| ours.load(Ordering::Relaxed) == *theirs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_proto::written::paths;

    fn remembered(files: &WrittenFiles) -> Vec<String> {
        // SAFETY: nobody writes it now.
        let bytes = unsafe { &*std::ptr::from_ref(files).cast() };
        let paths = paths(bytes).map(|path| String::from_utf8_lossy(path).into_owned());
        paths.collect()
    }

    #[test]
    fn the_latest_are_remembered_once_and_what_comes_again_is_not_forgotten() {
        let files = Box::new(WrittenFiles::new());
        for round in 0..1000 {
            remember(&files, b"/log");
            remember(&files, format!("/{round}").as_bytes());
            let now = remembered(&files);
            assert!(now.contains(&"/log".to_owned()), "{round}");
            for lately in round.max(30) - 30..round {
                assert!(now.contains(&format!("/{lately}")), "{lately} of {round}");
            }
        }
        let logs = remembered(&files)
            .iter()
            .filter(|path| *path == "/log")
            .count();
        assert!(logs <= 2, "{logs}");
    }

    #[test]
    fn a_place_that_somebody_writes_is_passed_over() {
        let files = Box::new(WrittenFiles::new());
        files.places[0].sequence.store(1, Ordering::Relaxed);
        remember(&files, b"/a");
        assert_eq!(remembered(&files), ["/a"]);
        for place in &files.places {
            place.sequence.store(1, Ordering::Relaxed);
        }
        remember(&files, b"/b");
        assert!(remembered(&files).is_empty());
    }

    #[test]
    fn relative_paths_begin_where_the_program_says() {
        let folder = std::fs::File::open("/usr").expect("it is there");
        let mut room = [0; PATH_BYTES];
        use std::os::fd::AsRawFd;
        let len = absolute(folder.as_raw_fd(), b"lib", &mut room).expect("it has room");
        assert_eq!(&room[..len], b"/usr/lib");
        let len = absolute(libc::AT_FDCWD, b"x", &mut room).expect("it has room");
        let here = std::env::current_dir().expect("it is there").join("x");
        assert_eq!(&room[..len], here.as_os_str().as_encoded_bytes());
        assert_eq!(absolute(-1, b"x", &mut room), None);
        assert_eq!(absolute(0, &[b'/'; PATH_BYTES + 1], &mut room), None);
    }
}
