//! `dlsym`, `dlvsym` and `dlopen`: a program that looks HIP up gets the wrappers.
//!
//! glibc takes the caller from the return address (for `RTLD_NEXT`, for the search path), so these
//! are naked and jump on: glibc sees the program's own call.

use crate::glibc::{DLOPEN, DLSYM, DLVSYM, resolve};
use crate::{glibc, lookup, objects, real, unlisted};
use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use strobe_hip::Status;

/// `void *dlsym(void *handle, const char *name)`
#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn dlsym() {
    naked_asm!(
        "push rdi", "push rsi", "push rdx",
        "mov rdx, [rsp + 24]",
        "call {ours}",
        "pop rdx", "pop rsi", "pop rdi",
        "test rax, rax",
        "jz 2f",
        "ret",
        "2: jmp qword ptr [rip + {real}]",
        ours = sym ours,
        real = sym DLSYM,
    )
}

/// `void *dlvsym(void *handle, const char *name, const char *version)`
#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn dlvsym() {
    naked_asm!(
        "push rdi", "push rsi", "push rdx",
        "mov rdx, [rsp + 24]",
        "call {ours}",
        "pop rdx", "pop rsi", "pop rdi",
        "test rax, rax",
        "jz 2f",
        "ret",
        "2: jmp qword ptr [rip + {real}]",
        ours = sym ours,
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

/// What we answer instead of glibc; null leaves it to glibc.
extern "C" fn ours(handle: *mut c_void, name: *const c_char, caller: usize) -> *const () {
    resolve();
    if name.is_null() || handle == libc::RTLD_NEXT {
        return std::ptr::null();
    }
    // SAFETY: glibc reads the same string.
    let name = unsafe { CStr::from_ptr(name) };
    if !lookup::is_interesting(name) || is_own(caller) {
        return std::ptr::null();
    }
    let wrapper = match name.to_bytes() {
        b"hipGetProcAddress" => Some(get_proc_address as *const ()),
        _ => lookup::wrapper(name),
    };
    // What is not there stays not there, with glibc's error.
    let Some(found) = glibc::dlsym(handle, name) else {
        return std::ptr::null();
    };
    let Some(wrapper) = wrapper else {
        return unlisted::instead_of(name, found).unwrap_or(std::ptr::null());
    };
    if name.to_bytes() == b"hipGetProcAddress" {
        GET_PROC_ADDRESS.store(found, Ordering::Release);
    }
    if found.cast_const() != wrapper {
        real::found_by(handle);
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

static GET_PROC_ADDRESS: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// `hipGetProcAddress` of HIP 5.7 and later. Not exported: HIP 5.2 has none, and a program that asks
/// must see that.
unsafe extern "C-unwind" fn get_proc_address(
    name: *const c_char,
    function: *mut *const (),
    version: c_int,
    flags: u64,
    found: *mut c_uint,
) -> Status {
    let real = GET_PROC_ADDRESS.load(Ordering::Acquire);
    if real.is_null() {
        return Status::NOT_SUPPORTED;
    }
    type Real = unsafe extern "C-unwind" fn(
        *const c_char,
        *mut *const (),
        c_int,
        u64,
        *mut c_uint,
    ) -> Status;
    // SAFETY: HIP's function of this name.
    let real: Real = unsafe { std::mem::transmute(real) };
    // SAFETY: the program's call.
    let status = unsafe { real(name, function, version, flags, found) };
    if status == Status::SUCCESS && !name.is_null() && !function.is_null() {
        // SAFETY: HIP has read the name and filled in the function.
        unsafe {
            let (name, found) = (CStr::from_ptr(name), *function);
            if !found.is_null() {
                let wrapper = lookup::of_mode(name, flags);
                let instead = wrapper.or_else(|| unlisted::instead_of_hips(name, found.cast_mut()));
                *function = instead.unwrap_or(found);
            }
        }
    }
    status
}
