//! The HSA runtime used beside HIP.
//!
//! HIP runs on it, and so do we; a program may, too: make queues of its own, copy and fill. None of
//! that passes the gate, and what it writes is not known. So the functions that do such things are
//! exported by us, and whoever calls one and is not HIP is noted: the program is not checkpointed.
//!
//! Before it goes on, it waits for all memory that a restore has yet to fill.
//!
//! Who calls is told by the return address. HIP's calls pay for a comparison with the range in which
//! HIP lies. Our own calls do not come here: what we look up ourselves is the runtime's own function.

use crate::exported::Exported;
use crate::{glibc, objects};
use std::arch::naked_asm;
use std::ffi::{CStr, c_int, c_void};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};
use strobe_hip::{for_each_hsa_function, hsa};

const COUNT: usize = hsa::REFUSED.len();

/// One byte a function: whether somebody beside HIP has called it.
static USED: [AtomicU8; COUNT] = [const { AtomicU8::new(0) }; COUNT];
/// The runtime's functions, once they were looked up.
static NEXT: [AtomicPtr<()>; COUNT] = [const { AtomicPtr::new(std::ptr::null_mut()) }; COUNT];
/// Where HIP lies, once it has called: the first byte, and how many.
static HIP_START: AtomicUsize = AtomicUsize::new(0);
static HIP_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Who may call: HIP, and the runtime itself with its extensions.
const CALLERS: [&str; 3] = ["libamdhip64.so", "libhsa-runtime64.so", "libhsa-ext-image"];

/// A function that the program has used beside HIP.
pub(crate) fn used() -> Option<String> {
    let at = USED
        .iter()
        .position(|used| used.load(Ordering::Relaxed) != 0)?;
    Some(hsa::REFUSED[at].to_string_lossy().into_owned())
}

/// Our thunk of a function of the runtime, if it has one.
pub(crate) fn thunk(name: &CStr) -> Option<*const ()> {
    let at = hsa::REFUSED.iter().position(|refused| *refused == name)?;
    Some(THUNKS[at].0)
}

macro_rules! thunks {
    (
        refused { $($name:ident;)* }
        pure { $($pure:tt)* }
    ) => {
        /// The functions by number.
        #[allow(non_camel_case_types, reason = "the names are the runtime's")]
        enum Number {
            $($name,)*
        }

        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            extern "C" fn $name() {
                naked_asm!(
                    "mov r11, [rsp]",
                    "sub r11, [rip + {start}]",
                    "cmp r11, [rip + {bytes}]",
                    "jae 2f",
                    "mov r11, [rip + {next} + 8 * {at}]",
                    "test r11, r11",
                    "jz 2f",
                    "jmp r11",
                    "2: mov r11d, {at}",
                    "jmp {other}",
                    start = sym HIP_START,
                    bytes = sym HIP_BYTES,
                    next = sym NEXT,
                    at = const Number::$name as usize,
                    other = sym other,
                )
            }
        )*

        /// The thunks in the order of the list.
        static THUNKS: &[Exported] = &[$(Exported($name as *const ()),)*];
    };
}
for_each_hsa_function!(thunks);

/// Somebody who is not known to be HIP calls the function whose number is in `r11`: looks who it is,
/// and goes on with all arguments as they were.
#[unsafe(naked)]
extern "C" fn other() {
    naked_asm!(
        "push rax", "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9",
        "mov rsi, [rsp + 56]",
        "sub rsp, 128",
        "movups [rsp], xmm0", "movups [rsp + 16], xmm1",
        "movups [rsp + 32], xmm2", "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4", "movups [rsp + 80], xmm5",
        "movups [rsp + 96], xmm6", "movups [rsp + 112], xmm7",
        "mov edi, r11d",
        "call {look}",
        "mov r11, rax",
        "movups xmm0, [rsp]", "movups xmm1, [rsp + 16]",
        "movups xmm2, [rsp + 32]", "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]", "movups xmm5, [rsp + 80]",
        "movups xmm6, [rsp + 96]", "movups xmm7, [rsp + 112]",
        "add rsp, 128",
        "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi", "pop rax",
        "jmp r11",
        look = sym look,
    )
}

/// Notes who calls function `at`; where it goes on.
extern "C" fn look(at: usize, caller: usize) -> *mut () {
    let mut is_others = false;
    objects::each(|object| {
        if !object.contains(caller) {
            return ControlFlow::Continue(());
        }
        if object.is(CALLERS[0]) {
            let (start, end) = object.range();
            HIP_START.store(start, Ordering::Relaxed);
            HIP_BYTES.store(end - start, Ordering::Relaxed);
        }
        is_others = !CALLERS.iter().any(|name| object.is(name));
        if is_others {
            USED[at].store(1, Ordering::Relaxed);
        }
        ControlFlow::Break(())
    });
    if is_others {
        strobe_agent::before_anything();
    }
    let next = NEXT[at].load(Ordering::Acquire);
    if !next.is_null() {
        return next;
    }
    let found = find(hsa::REFUSED[at]).unwrap_or(missing as *mut ());
    NEXT[at].store(found, Ordering::Release);
    found
}

/// The runtime's function.
fn find(name: &CStr) -> Option<*mut ()> {
    const LIBRARY: &CStr = c"libhsa-runtime64.so.1";
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
    glibc::dlsym(libc::RTLD_NEXT, name).or_else(|| {
        let library: *mut c_void = glibc::dlopen(LIBRARY, flags)?;
        glibc::dlsym(library, name)
    })
}

/// In place of a function that is not there: `HSA_STATUS_ERROR`.
extern "C" fn missing() -> c_int {
    0x1000
}
