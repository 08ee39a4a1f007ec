//! The agent page of this process: made at the first GPU call, found from outside by its symbol.
//!
//! It is also the state word of the whole agent. The kernel wipes it in a forked child, whether by
//! `fork` or a bare `clone`, so a child sees no magic and passes every call through untouched.

use std::ffi::c_void;
use std::io;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use strobe_proto::page::{AgentPage, MAGIC, PAGE_BYTES, Phase, VERSION, Verdict};
use strobe_proto::start_time::is_same_start;

/// 0 or the address of the [`AgentPage`].
#[allow(non_upper_case_globals, reason = "the name is an exported symbol")]
#[unsafe(no_mangle)]
pub static strobe_agent_page: AtomicU64 = AtomicU64::new(0);

/// What the page says about this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No GPU call yet.
    Unused,
    /// It can be asked for a checkpoint.
    Live,
    /// A forked child of a process that had an agent.
    Forked,
}

/// The state of this process.
#[inline]
pub fn state() -> State {
    let Some(page) = page() else {
        return State::Unused;
    };
    if page.magic.load(Ordering::Relaxed) == MAGIC {
        State::Live
    } else {
        State::Forked
    }
}

/// The page, if it has been made in this process or a parent.
#[inline]
pub fn page() -> Option<&'static AgentPage> {
    let address = strobe_agent_page.load(Ordering::Acquire);
    // SAFETY: it is null or was set by `create`, to a mapping that is never unmapped.
    unsafe { (address as *const AgentPage).as_ref() }
}

/// Makes the page and publishes it.
pub(crate) fn create() -> io::Result<&'static AgentPage> {
    // SAFETY: a new anonymous mapping.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            PAGE_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping just made.
    if unsafe { libc::madvise(address, PAGE_BYTES, libc::MADV_WIPEONFORK) } != 0 {
        return Err(io::Error::last_os_error());
    }
    name_mapping(address, PAGE_BYTES, c"strobe agent page");
    // SAFETY: page-aligned, zeroed, big enough, never unmapped; all zeros are valid atomics.
    let page: &'static AgentPage = unsafe { &*address.cast::<AgentPage>() };
    page.version.store(VERSION, Ordering::Relaxed);
    note_process(page);
    page.magic.store(MAGIC, Ordering::Release);
    strobe_agent_page.store(address as u64, Ordering::Release);
    Ok(page)
}

/// Gives a mapping a name in /proc/PID/maps. Kernels that cannot do it ignore it.
pub(crate) fn name_mapping(address: *mut c_void, bytes: usize, name: &'static std::ffi::CStr) {
    const PR_SET_VMA: libc::c_int = 0x5356_4d41;
    const PR_SET_VMA_ANON_NAME: libc::c_ulong = 0;
    // SAFETY: sets a name; the kernel copies the string.
    unsafe {
        libc::prctl(
            PR_SET_VMA,
            PR_SET_VMA_ANON_NAME,
            address,
            bytes,
            name.as_ptr(),
        )
    };
}

/// With the pid it names one process for ever.
pub(crate) fn start_time(pid: u32) -> Option<u64> {
    strobe_proto::start_time::start_time(pid).ok()
}

/// Notes which process this is.
pub(crate) fn note_process(page: &AgentPage) {
    let pid = std::process::id();
    page.pid.store(pid, Ordering::Relaxed);
    if let Some(start) = start_time(pid) {
        page.start_time.store(start, Ordering::Relaxed);
    }
}

/// Whether this process came out of an image since it was noted.
pub(crate) fn is_another_process(page: &AgentPage) -> bool {
    let then = page.start_time.load(Ordering::Relaxed);
    start_time(std::process::id()).is_some_and(|now| !is_same_start(now, then))
}

/// CLOCK_MONOTONIC in nanoseconds.
pub(crate) fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes to a local.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    u64::try_from(Duration::new(time.tv_sec as u64, time.tv_nsec as u32).as_nanos()).unwrap_or(0)
}

/// Moves to `phase`; everything written to the page before is visible to who sees it.
pub(crate) fn set_phase(page: &AgentPage, phase: Phase) {
    page.phase_since_ns.store(now_ns(), Ordering::Relaxed);
    page.phase.store(phase as u32, Ordering::Release);
}

/// Says why the checkpoint is refused, then moves to [`Phase::Refused`].
pub(crate) fn refuse(page: &AgentPage, reason: &str) {
    store_text(&page.reason, &page.reason_len, reason);
    set_phase(page, Phase::Refused);
}

/// Notes a checkpoint that is complete, and in this directory.
pub(crate) fn note_last(page: &AgentPage, directory: &str, stall_ns: u64) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(0));
    page.last_stall_ns.store(stall_ns, Ordering::Relaxed);
    page.last_unix_ns.store(now, Ordering::Relaxed);
    store_text(&page.last_directory, &page.last_directory_len, directory);
}

/// Copies are about to begin that are so many bytes in all.
pub(crate) fn begin_copying(page: &AgentPage, bytes: u64) {
    page.copied_bytes.store(0, Ordering::Relaxed);
    page.copy_bytes.store(bytes, Ordering::Relaxed);
    page.copy_began_ns.store(now_ns(), Ordering::Relaxed);
}

/// No copies are under way any more.
pub(crate) fn end_copying(page: &AgentPage) {
    page.copy_began_ns.store(0, Ordering::Relaxed);
}

fn store_text(places: &[AtomicU8], len: &AtomicU32, text: &str) {
    let text = &text[..text.floor_char_boundary(places.len())];
    for (place, byte) in places.iter().zip(text.as_bytes()) {
        place.store(*byte, Ordering::Relaxed);
    }
    len.store(text.len() as u32, Ordering::Relaxed);
}

pub(crate) fn verdict(page: &AgentPage) -> Verdict {
    Verdict::from_word(page.verdict.load(Ordering::Acquire)).unwrap_or(Verdict::Pending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::left_out;
    use strobe_hip::Status;

    #[test]
    fn a_forked_child_has_no_agent_and_takes_nothing_out_of_hip() {
        let page = create().unwrap();
        assert_eq!(state(), State::Live);
        assert_eq!(left_out::<()>(), None);
        // SAFETY: the child only reads memory and leaves.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let forked = state() == State::Forked && left_out::<()>().is_some();
            let code = i32::from(!forked || left_out::<Status>().is_some());
            // SAFETY: no destructor may run in the child.
            unsafe { libc::_exit(code) };
        }
        let mut status = 0;
        // SAFETY: our child.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0, "the child saw a live agent");
        assert_eq!(state(), State::Live);
        assert_eq!(
            Some(page.start_time.load(Ordering::Relaxed)),
            start_time(std::process::id())
        );
    }

    #[test]
    fn a_reason_is_cut_between_characters() {
        let page = create().unwrap();
        refuse(page, &"\u{e9}".repeat(600));
        assert_eq!(page.reason_len.load(Ordering::Relaxed), 1024);
        refuse(page, &format!("x{}", "\u{e9}".repeat(600)));
        assert_eq!(page.reason_len.load(Ordering::Relaxed), 1023);
        assert_eq!(page.phase.load(Ordering::Relaxed), Phase::Refused as u32);
    }
}
