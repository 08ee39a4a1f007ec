//! `dlsym`, `dlvsym` and `dlopen`: a program that looks HIP up gets the wrappers.
//!
//! glibc takes the caller from the return address (for `RTLD_NEXT`, for the search path), so these
//! are naked and jump on: glibc sees the program's own call.

use crate::glibc::{DLOPEN, DLSYM, DLVSYM, resolve};
use crate::{glibc, lookup, objects, real, unlisted};
use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use strobe_hip::{ConstPtr, Status, next};

/// `void *dlsym(void *handle, const char *name)`
#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn dlsym() {
    naked_asm!(
        "push rdi", "push rsi", "push rdx",
        "mov rcx, [rsp + 24]",
        "xor edx, edx",
        "call {ours}",
        "pop rdx", "pop rsi", "pop rdi",
        "test rax, rax",
        "jz 2f",
        "cmp rax, {absent}",
        "jne 3f",
        "xor eax, eax",
        "3: ret",
        "2: jmp qword ptr [rip + {real}]",
        ours = sym ours,
        absent = const ABSENT,
        real = sym DLSYM,
    )
}

/// `void *dlvsym(void *handle, const char *name, const char *version)`
#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn dlvsym() {
    naked_asm!(
        "push rdi", "push rsi", "push rdx",
        "mov rcx, [rsp + 24]",
        "call {ours}",
        "pop rdx", "pop rsi", "pop rdi",
        "test rax, rax",
        "jz 2f",
        "cmp rax, {absent}",
        "jne 3f",
        "xor eax, eax",
        "3: ret",
        "2: jmp qword ptr [rip + {real}]",
        ours = sym ours,
        absent = const ABSENT,
        real = sym DLVSYM,
    )
}

/// `void *dlopen(const char *path, int flags)`: without `RTLD_DEEPBIND`, which would let a library
/// see HIP before it sees us.
#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn dlopen() {
    naked_asm!(
        "push rdi", "push rsi", "push rdx",
        "call {resolve}",
        "pop rdx", "pop rsi", "pop rdi",
        "and esi, {keep}",
        "jmp qword ptr [rip + {real}]",
        resolve = sym resolve,
        keep = const !libc::RTLD_DEEPBIND,
        real = sym DLOPEN,
    )
}

/// What [`ours`] answers of a function that is not there: no address.
const ABSENT: usize = 1;

/// What we answer instead of glibc; null leaves it to glibc. Without a version it is null.
extern "C" fn ours(
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
    caller: usize,
) -> *const () {
    resolve();
    if name.is_null() || handle == libc::RTLD_NEXT {
        return std::ptr::null();
    }
    // SAFETY: glibc reads the same strings.
    let (name, version) = unsafe {
        let version = (!version.is_null()).then(|| CStr::from_ptr(version));
        (CStr::from_ptr(name), version)
    };
    if !lookup::is_interesting(name) || is_own(caller) {
        return std::ptr::null();
    }
    let seen_by = |handle| match version {
        Some(version) => glibc::dlvsym(handle, name, version),
        None => glibc::dlsym(handle, name),
    };
    // What is not there stays not there, with glibc's error.
    let Some(found) = seen_by(handle) else {
        return std::ptr::null();
    };
    let Some(wrapper) = lookup::wrapper(name) else {
        return unlisted::instead_of(name, found).unwrap_or(std::ptr::null());
    };
    if found.cast_const() != wrapper {
        real::found_by(handle);
    } else if seen_by(libc::RTLD_NEXT).is_none() {
        // Whoever looks through all libraries comes to us first, and we have what any release has.
        return std::ptr::without_provenance(ABSENT);
    }
    wrapper
}

/// Whether the code at `address` is our own: what the agent looks up is not the program's doing.
pub(crate) fn is_own(address: usize) -> bool {
    static START: AtomicUsize = AtomicUsize::new(0);
    static END: AtomicUsize = AtomicUsize::new(0);
    if END.load(Ordering::Acquire) == 0 {
        objects::each(|object| {
            if !object.contains(is_own as *const () as usize) {
                return ControlFlow::Continue(());
            }
            let (start, end) = object.range();
            START.store(start, Ordering::Relaxed);
            END.store(end, Ordering::Release);
            ControlFlow::Break(())
        });
    }
    (START.load(Ordering::Relaxed)..END.load(Ordering::Acquire)).contains(&address)
}

/// `hipGetProcAddress`: of functions that are wrapped it hands out the wrappers.
#[allow(non_snake_case, reason = "the name is HIP's")]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn hipGetProcAddress(
    name: *const c_char,
    function: *mut ConstPtr,
    version: c_int,
    flags: u64,
    found: *mut c_int,
) -> Status {
    real::ensure();
    // SAFETY: the program's call.
    let status = unsafe { next::hipGetProcAddress(name, function, version, flags, found) };
    // SAFETY: HIP has succeeded.
    unsafe { wrapped(status, name, function, flags) };
    status
}

/// `hipGetDriverEntryPoint`, likewise.
#[allow(non_snake_case, reason = "the name is HIP's")]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn hipGetDriverEntryPoint(
    name: *const c_char,
    function: *mut ConstPtr,
    flags: u64,
    found: *mut c_int,
) -> Status {
    real::ensure();
    // SAFETY: the program's call.
    let status = unsafe { next::hipGetDriverEntryPoint(name, function, flags, found) };
    // SAFETY: HIP has succeeded.
    unsafe { wrapped(status, name, function, flags) };
    status
}

/// The same where the default stream is each thread's own, unless the flags say otherwise.
#[allow(non_snake_case, reason = "the name is HIP's")]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn hipGetDriverEntryPoint_spt(
    name: *const c_char,
    function: *mut ConstPtr,
    flags: u64,
    found: *mut c_int,
) -> Status {
    real::ensure();
    // SAFETY: the program's call.
    let status = unsafe { next::hipGetDriverEntryPoint_spt(name, function, flags, found) };
    let flags = if flags == 0 {
        lookup::PER_THREAD_DEFAULT_STREAM
    } else {
        flags
    };
    // SAFETY: HIP has succeeded.
    unsafe { wrapped(status, name, function, flags) };
    status
}

/// Puts our wrapper where HIP has put the function of a name.
///
/// # Safety
/// Where the call has succeeded HIP has read the name, and may have filled in the function.
unsafe fn wrapped(status: Status, name: *const c_char, function: *mut ConstPtr, flags: u64) {
    if status != Status::SUCCESS || name.is_null() || function.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    let (name, place) = unsafe { (CStr::from_ptr(name), &mut *function) };
    if place.is_null() {
        return;
    }
    let wrapper = lookup::of_mode(name, flags);
    let instead = wrapper.or_else(|| unlisted::instead_of_hips(name, place.cast_mut().cast()));
    *place = instead.map_or(*place, <*const ()>::cast);
}
