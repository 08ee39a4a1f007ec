//! What CRIU calls. Panics and errors end here, as one line in CRIU's log and a negative result.
//!
//! CRIU asks one plugin after the other until one does not answer `-ENOTSUP`. Hooks about a whole
//! process therefore always answer that when all is well: other plugins have a part in it too.

use std::ffi::{CStr, c_char, c_int};
use std::os::fd::{BorrowedFd, IntoRawFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use nix::fcntl::{OFlag, open};
use nix::sys::stat::{Mode, fstat};
use strobe_log::Wanted;
use tracing::{Dispatch, debug_span};

use crate::devices::Devices;
use crate::dump::Dump;
use crate::dump_error::DumpError;
use crate::host::{self, Level};
use crate::options::Options;
use crate::restore::Restore;
use crate::restore_error::RestoreError;
use crate::{letting_go, soft_dirty, stops, terminals};

const NOT_OURS: c_int = -libc::ENOTSUP;
const STAGE_DUMP: c_int = 0;
const STAGE_PRE_DUMP: c_int = 1;
const STAGE_RESTORE: c_int = 2;

const NO_PRE_DUMP: &str = "this kernel keeps no track of pages that are written (CONFIG_MEM_SOFT_DIRTY), and \
     CRIU's pre-dump cannot work without; leave the pre-dump out";

enum Stage {
    Idle,
    Dump(Box<Dump>),
    /// Of the host's memory: our mappings are left out.
    PreDump(Devices),
    Restore(Box<Restore>),
    /// Nothing here is ours.
    Off,
}

static STAGE: Mutex<Stage> = Mutex::new(Stage::Idle);

/// Runs a hook's body.
fn guard(body: impl FnOnce(&mut Stage) -> Result<c_int, String>) -> c_int {
    let result = catch_unwind(AssertUnwindSafe(|| {
        let mut stage = STAGE
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        tracing::dispatcher::with_default(phases(), || body(&mut stage))
    }));
    match result {
        Ok(Ok(value)) => value,
        Ok(Err(sentence)) => {
            host::log(Level::Error, &sentence);
            -1
        }
        Err(_) => {
            host::log(Level::Error, "the plugin has failed by a defect of its own");
            -1
        }
    }
}

/// To CRIU's log.
fn phases() -> &'static Dispatch {
    static PHASES: OnceLock<Dispatch> = OnceLock::new();
    PHASES.get_or_init(|| Wanted::from_environment().of_guest(|| host::PhaseLog))
}

fn in_dump(body: impl FnOnce(&mut Dump) -> Result<c_int, DumpError>) -> c_int {
    guard(|stage| match stage {
        Stage::Dump(dump) => body(dump).map_err(|e| e.sentence()),
        _ => Ok(NOT_OURS),
    })
}

fn in_restore(body: impl FnOnce(&mut Restore) -> Result<c_int, RestoreError>) -> c_int {
    guard(|stage| match stage {
        Stage::Restore(restore) => body(restore).map_err(|e| e.to_string()),
        _ => Ok(NOT_OURS),
    })
}

pub(crate) extern "C" fn init(stage: c_int) -> c_int {
    terminals::begin();
    if stage == STAGE_RESTORE {
        stops::begin_restore();
    }
    guard(|current| {
        let options = || Options::read().map_err(|e| e.to_string());
        *current = match stage {
            STAGE_DUMP => Stage::Dump(Box::new(Dump::new(options()?))),
            // Where that cannot be found out, CRIU finds out.
            STAGE_PRE_DUMP if matches!(soft_dirty::is_kept(), Ok(false)) => {
                return Err(NO_PRE_DUMP.into());
            }
            STAGE_PRE_DUMP => Stage::PreDump(Devices::read()),
            STAGE_RESTORE if host::is_required() => {
                let restore = Restore::prepare(options()?).map_err(|e| e.to_string())?;
                Stage::Restore(Box::new(restore))
            }
            _ => Stage::Off,
        };
        Ok(0)
    })
}

pub(crate) extern "C" fn exit(_stage: c_int, result: c_int) {
    guard(|current| {
        if let Stage::Dump(dump) = std::mem::replace(current, Stage::Idle) {
            dump.finish(result == 0);
        }
        Ok(0)
    });
}

pub(crate) extern "C" fn pause_devices(pid: c_int) -> c_int {
    in_dump(|dump| {
        let _phase = debug_span!("cut", pid).entered();
        dump.pause(pid as u32).map(|()| NOT_OURS)
    })
}

pub(crate) extern "C" fn checkpoint_devices(pid: c_int) -> c_int {
    in_dump(|dump| dump.frozen(pid as u32).map(|()| NOT_OURS))
}

pub(crate) extern "C" fn dump_file(fd: c_int, id: c_int) -> c_int {
    in_dump(|dump| {
        // SAFETY: CRIU keeps its copy of the program's descriptor open during this call.
        let file = unsafe { BorrowedFd::borrow_raw(fd) };
        let Ok(stat) = fstat(file) else {
            return Ok(NOT_OURS);
        };
        let device = matches!(stat.st_mode & libc::S_IFMT, libc::S_IFCHR | libc::S_IFBLK);
        let rdev = if device { stat.st_rdev } else { 0 };
        let link = std::fs::read_link(format!("/proc/self/fd/{fd}")).unwrap_or(PathBuf::new());
        let ours = dump.file(file, rdev, &link, id)?;
        Ok(if ours { 0 } else { NOT_OURS })
    })
}

pub(crate) extern "C" fn handle_device_vma(_fd: c_int, stat: *const libc::stat) -> c_int {
    if stat.is_null() {
        return NOT_OURS;
    }
    // SAFETY: CRIU passes the result of its own fstat, alive during this call.
    let rdev = unsafe { (*stat).st_rdev };
    guard(|stage| {
        let is_ours = match stage {
            Stage::Dump(dump) => dump.accepts_mapping(rdev).map_err(|e| e.sentence())?,
            Stage::PreDump(devices) => devices.find(rdev).is_some(),
            _ => false,
        };
        Ok(if is_ours { 0 } else { NOT_OURS })
    })
}

/// `retry` exists from CRIU 4.3 on; before, the register holds anything.
pub(crate) extern "C" fn restore_file(id: c_int, retry: *mut bool) -> c_int {
    if !retry.is_null() && host::has_retry_argument() {
        // SAFETY: this CRIU has the argument and passes a variable of its own, not yet set.
        unsafe { retry.write(false) };
    }
    in_restore(|restore| Ok(restore.file(id)?.map_or(NOT_OURS, IntoRawFd::into_raw_fd)))
}

/// CRIU looks at no answer but 1: after an error it would map what the stale offset names now. So an
/// error is answered with a descriptor that nothing can map, and CRIU fails.
pub(crate) extern "C" fn update_vma_map(
    path: *const c_char,
    address: u64,
    old: u64,
    new: *mut u64,
    fd: *mut c_int,
) -> c_int {
    if path.is_null() || new.is_null() || fd.is_null() {
        return NOT_OURS;
    }
    let mut place = None;
    let answer = in_restore(|restore| {
        // SAFETY: CRIU passes a path as a C string, alive during this call.
        let path = unsafe { CStr::from_ptr(path) }.to_string_lossy();
        place = restore.mapping(&path, address, old)?;
        Ok(if place.is_some() { 1 } else { NOT_OURS })
    });
    let (offset, descriptor) = match (answer, place) {
        (NOT_OURS, _) => return NOT_OURS,
        (1, Some((offset, file))) => (offset, file.map_or(-1, IntoRawFd::into_raw_fd)),
        _ => (old, unmappable()),
    };
    // SAFETY: both point to variables of CRIU for our answer; the descriptor becomes CRIU's.
    unsafe {
        new.write(offset);
        fd.write(descriptor);
    }
    1
}

/// A descriptor that names a file and cannot be mapped; where there is none left, a number that is none.
fn unmappable() -> RawFd {
    let flags = OFlag::O_PATH | OFlag::O_CLOEXEC;
    open("/", flags, Mode::empty()).map_or(RawFd::MAX, IntoRawFd::into_raw_fd)
}

pub(crate) extern "C" fn resume_devices_late(pid: c_int) -> c_int {
    in_restore(|restore| {
        let _phase = debug_span!("resume", pid).entered();
        restore.resume(pid as u32)?;
        letting_go::is_next();
        Ok(NOT_OURS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The one test that uses [`STAGE`].
    #[test]
    fn a_mapping_that_cannot_be_is_answered_with_what_cannot_be_mapped() {
        let ask = |path: &CStr| {
            let (mut new, mut fd) = (0, -1);
            let answer = update_vma_map(path.as_ptr(), 0x1000, 0x7000, &raw mut new, &raw mut fd);
            (answer, new, fd)
        };
        let node = c"/dev/dri/renderD128";
        assert_eq!(ask(node), (NOT_OURS, 0, -1), "no restore is under way");
        *STAGE.lock().unwrap() = Stage::Restore(Box::default());
        assert_eq!(ask(c"/tmp/a file"), (NOT_OURS, 0, -1));
        let (answer, new, fd) = ask(node);
        // SAFETY: plain numbers, of which zero is a value.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        let mut maps = |rdev| {
            stat.st_rdev = rdev;
            handle_device_vma(-1, &raw const stat)
        };
        *STAGE.lock().unwrap() = Stage::PreDump(Devices::with(&[7]));
        assert_eq!((maps(7), maps(8)), (0, NOT_OURS));
        *STAGE.lock().unwrap() = Stage::Idle;
        assert_eq!(
            (answer, new),
            (1, 0x7000),
            "CRIU looks at the descriptor only then"
        );
        // SAFETY: a new mapping, of which nothing is used.
        let mapped = unsafe {
            let none = std::ptr::null_mut();
            libc::mmap(none, 4096, libc::PROT_READ, libc::MAP_SHARED, fd, 0)
        };
        assert_eq!(mapped, libc::MAP_FAILED);
        assert_eq!(nix::errno::Errno::last(), nix::errno::Errno::EBADF);
        // SAFETY: asks about a number only.
        let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
        assert_eq!(flags & libc::O_PATH, libc::O_PATH);
        // SAFETY: the descriptor is ours by the answer.
        unsafe { libc::close(fd) };
    }
}
