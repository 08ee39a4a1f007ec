//! System calls that a thread was in when CRIU seized it.
//!
//! A thread leaves its call to stop for a tracer. The kernel makes most calls again by itself when it goes on, and CRIU
//! does so for what it saves (`-ERESTARTSYS` and its like). But where the kernel keeps what is left of a time limit
//! (`-ERESTART_RESTARTBLOCK`), which nobody can save, or says `EINTR` without asking whether there was a signal, CRIU
//! has the call return `EINTR`: at a checkpoint as at a restore, and to programs that have no handler of any signal and
//! so do not expect it.
//!
//! Of these calls some can be made again with the arguments that they had: those that have no time limit, those whose
//! limit is a point in time, and sleeps that put what is left of them where their length is read from. For them CRIU is
//! shown `-ERESTARTNOHAND`. All others return `EINTR` still: made again they would last longer, those of a program that is
//! saved often for ever.
//!
//! What calls return when a stop interrupts them: signal(7), and kernel/futex, kernel/time/hrtimer.c, fs/select.c,
//! fs/eventpoll.c, kernel/signal.c of Linux 6.1.

use std::ffi::{c_int, c_void};
use strobe_proto::kernel_text;

use libc::{iovec, pid_t, user_regs_struct};

use crate::signals::mask;

/// Of include/linux/errno.h in the kernel: no program sees them, but its tracer does.
const ERESTARTNOHAND: i64 = 514;
const ERESTART_RESTARTBLOCK: i64 = 516;
/// `NT_PRSTATUS` of elf.h: the general registers.
const GENERAL: usize = 1;
/// `FUTEX_PRIVATE_FLAG` and `FUTEX_CLOCK_REALTIME` beside the operation.
const FUTEX_FLAGS: u64 = 0x180;

/// What `PTRACE_GETREGSET` has answered of a thread that still has its own registers.
///
/// # Safety
///
/// `kind` and `answer` are what the kernel has filled in.
pub(crate) unsafe fn show_again(thread: pid_t, kind: *mut c_void, answer: *mut c_void) {
    if kind.addr() != GENERAL {
        return;
    }
    // SAFETY: with this request the kernel takes an iovec, and tells in it how much it has written.
    let place = unsafe { answer.cast::<iovec>().read() };
    // Those of a 32-bit thread are fewer.
    if place.iov_len != size_of::<user_regs_struct>() {
        return;
    }
    let place = place.iov_base.cast::<user_regs_struct>();
    // SAFETY: the kernel has just written one there, wherever that lies.
    let mut registers = unsafe { place.read_unaligned() };
    if is_to_be_made_again(&registers, || has_signal(thread)) {
        registers.rax = (-ERESTARTNOHAND).cast_unsigned();
        // SAFETY: as above.
        unsafe { place.write_unaligned(registers) };
    }
}

fn is_to_be_made_again(registers: &user_regs_struct, has_signal: impl Fn() -> bool) -> bool {
    let Ok(call) = i64::try_from(registers.orig_rax) else {
        return false;
    };
    let (first, second) = (registers.rdi, registers.rsi);
    let (third, fourth) = (registers.rdx, registers.r10);
    // An int in its lower half.
    let is_endless = |limit: u64| (limit as c_int) < 0;
    const EINTR: i64 = libc::EINTR as i64;
    match -registers.rax.cast_signed() {
        ERESTART_RESTARTBLOCK => match call {
            libc::SYS_poll => is_endless(third),
            libc::SYS_futex => second & !FUTEX_FLAGS == libc::FUTEX_WAIT_BITSET as u64,
            libc::SYS_nanosleep => first == second,
            libc::SYS_clock_nanosleep => third == fourth,
            _ => false,
        },
        EINTR => {
            let is_endless = match call {
                libc::SYS_epoll_wait | libc::SYS_epoll_pwait => is_endless(fourth),
                libc::SYS_epoll_pwait2 => fourth == 0,
                libc::SYS_rt_sigtimedwait => third == 0,
                _ => false,
            };
            is_endless && !has_signal()
        }
        _ => false,
    }
}

/// Whether a thread has a signal to take, which may be why its call has ended.
fn has_signal(thread: pid_t) -> bool {
    let status = kernel_text::read(format!("/proc/{thread}/status")).unwrap_or_default();
    // Of a thread that nothing is known of, nothing is changed.
    takes_signal(&status).unwrap_or(true)
}

fn takes_signal(status: &str) -> Option<bool> {
    let mask = |name| mask(status, name);
    let pending = mask("SigPnd:")? | mask("ShdPnd:")?;
    Some(pending & !mask("SigBlk:")? != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seized_in(call: i64, answer: i64, arguments: [u64; 4]) -> user_regs_struct {
        // SAFETY: plain numbers, of which zero is a value.
        let mut registers: user_regs_struct = unsafe { std::mem::zeroed() };
        registers.orig_rax = call.cast_unsigned();
        registers.rax = (-answer).cast_unsigned();
        [registers.rdi, registers.rsi, registers.rdx, registers.r10] = arguments;
        registers
    }

    #[test]
    fn calls_are_made_again_that_last_no_longer_by_it() {
        const FOREVER: u64 = u32::MAX as u64;
        let left = ERESTART_RESTARTBLOCK;
        let eintr = i64::from(libc::EINTR);
        for (call, answer, again, not_again) in [
            (libc::SYS_poll, left, [1, 1, FOREVER, 0], [1, 1, 5000, 0]),
            (libc::SYS_futex, left, [1, 0x189, 2, 3], [1, 0x80, 2, 3]),
            (libc::SYS_nanosleep, left, [7, 7, 0, 0], [7, 0, 0, 0]),
            (libc::SYS_clock_nanosleep, left, [1, 0, 7, 7], [1, 0, 7, 8]),
            (
                libc::SYS_epoll_wait,
                eintr,
                [3, 4, 5, FOREVER],
                [3, 4, 5, 0],
            ),
            (libc::SYS_epoll_pwait2, eintr, [3, 4, 5, 0], [3, 4, 5, 6]),
            (libc::SYS_rt_sigtimedwait, eintr, [3, 4, 0, 8], [3, 4, 5, 8]),
        ] {
            let made = |arguments, has_signal| {
                is_to_be_made_again(&seized_in(call, answer, arguments), || has_signal)
            };
            assert!(made(again, false), "{call}");
            assert!(!made(not_again, false), "{call} with a limit");
            assert_eq!(made(again, true), answer == left, "{call} and a signal");
        }
        let other = seized_in(libc::SYS_read, eintr, [0; 4]);
        assert!(!is_to_be_made_again(&other, || false));
        let none = seized_in(-1, left, [0; 4]);
        assert!(!is_to_be_made_again(&none, || false));
    }

    #[test]
    fn a_signal_that_is_blocked_interrupts_nothing() {
        let status = |blocked: u64| {
            format!("Name:\tx\nSigPnd:\t0\nShdPnd:\t0000000000000800\nSigBlk:\t{blocked:016x}\n")
        };
        assert_eq!(takes_signal(&status(0)), Some(true));
        assert_eq!(takes_signal(&status(0x800)), Some(false));
        assert_eq!(takes_signal("Name:\tx\n"), None);
    }
}
