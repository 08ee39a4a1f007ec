//! Resource limits of processes of other users.
//!
//! prlimit(2) tells them to who has CAP_SYS_RESOURCE only, which the root of a container often has not; /proc
//! tells them to everybody who may look there. CRIU asks by `syscall` (`dump_task_rlimits` there), so this
//! library's comes before the C library's, as the functions of `stops` do.

use std::arch::asm;
use std::ffi::{c_int, c_long};
use strobe_proto::kernel_text;

use libc::rlimit64;
use nix::errno::Errno;

/// What stands before the numbers in a line of /proc/PID/limits (proc_pid_limits).
const NAME: usize = 26;

/// As syscall(2) in the C library, but a limit is also looked up where /proc has it.
///
/// Whoever calls it with fewer arguments leaves the rest as it was, in registers and on the stack, and the
/// kernel does not look at what its call does not take.
///
/// # Safety
///
/// As there.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn syscall(
    number: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
) -> c_long {
    let mut result = number;
    // SAFETY: the caller's arguments, where the kernel takes them; it changes the registers named, and memory
    // as the caller has asked.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") result,
            in("rdi") first, in("rsi") second, in("rdx") third,
            in("r10") fourth, in("r8") fifth, in("r9") sixth,
            lateout("rcx") _, lateout("r11") _,
        );
    }
    let Some(error @ 1..=4095) = result.checked_neg() else {
        return result;
    };
    let is_limit = number == libc::SYS_prlimit64 && third == 0 && fourth != 0;
    if is_limit
        && error == c_long::from(libc::EPERM)
        && let Some(limit) = read(first as u32, second as u32)
    {
        // SAFETY: it is not null, so the caller has room for a limit there.
        unsafe { (fourth as *mut rlimit64).write(limit) };
        return 0;
    }
    // Whatever it is: not all have a name.
    Errno::set_raw(error as c_int);
    -1
}

/// A limit of a process, as the kernel lists it.
fn read(pid: u32, resource: u32) -> Option<rlimit64> {
    let text = kernel_text::read(format!("/proc/{pid}/limits")).ok()?;
    parse(&text, resource)
}

/// One of the limits, which the kernel lists below a heading in the order of their numbers.
fn parse(text: &str, resource: u32) -> Option<rlimit64> {
    let line = text.lines().nth(1 + resource as usize)?;
    let mut numbers = line.get(NAME..)?.split_whitespace().map(|word| match word {
        "unlimited" => Some(libc::RLIM64_INFINITY),
        number => number.parse().ok(),
    });
    Some(rlimit64 {
        rlim_cur: numbers.next()??,
        rlim_max: numbers.next()??,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_tells_what_the_call_tells() {
        let own = std::process::id();
        // RLIM_NLIMITS of include/uapi/asm-generic/resource.h.
        let limits = 16;
        for resource in 0..limits {
            let mut told = rlimit64 {
                rlim_cur: 0,
                rlim_max: 0,
            };
            let room = (&raw mut told).addr();
            // SAFETY: room for a limit; nothing is set.
            let result = unsafe {
                syscall(
                    libc::SYS_prlimit64,
                    own as usize,
                    resource as usize,
                    0,
                    room,
                    0,
                    0,
                )
            };
            assert_eq!(result, 0);
            let read = read(own, resource).expect("it is listed");
            assert_eq!(
                (read.rlim_cur, read.rlim_max),
                (told.rlim_cur, told.rlim_max)
            );
        }
        assert!(read(own, limits).is_none());
    }

    #[test]
    fn what_fails_fails_as_in_the_c_library() {
        // SAFETY: closes no file.
        let result = unsafe { syscall(libc::SYS_close, usize::MAX, 0, 0, 0, 0, 0) };
        assert_eq!(result, -1);
        assert_eq!(Errno::last(), Errno::EBADF);
    }
}
