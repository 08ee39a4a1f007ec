//! Functions of HIP and of the HSA runtime that our lists do not name: those of newer versions. What
//! they do is not known, so a program that used one is not checkpointed.
//!
//! One that is looked up is handed out behind a thunk that marks its use: Python modules look up far
//! more than they call. Its first call waits for all memory that a restore has yet to fill: what was saved has called none. One that is linked to is called without us; that an object refers to it is all
//! there is to see, and counts as use.

use crate::objects::{self, Object};
use std::arch::naked_asm;
use std::ffi::{CStr, CString};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use strobe_hip::{Api, hsa};

/// Thunks there are. What is looked up beyond counts as used.
const COUNT: usize = 512;

/// One byte a thunk: whether it was called.
static USED: [AtomicU8; COUNT] = [const { AtomicU8::new(0) }; COUNT];
/// The functions.
static TARGETS: [AtomicPtr<()>; COUNT] = [const { AtomicPtr::new(std::ptr::null_mut()) }; COUNT];
/// Where the thunks go on to: to [`first`], and from the second call on to the function.
static NEXT: [AtomicPtr<()>; COUNT] = [const { AtomicPtr::new(std::ptr::null_mut()) }; COUNT];
static NAMES: [OnceLock<CString>; COUNT] = [const { OnceLock::new() }; COUNT];
/// How many have a target and a name.
static HANDED_OUT: AtomicUsize = AtomicUsize::new(0);
static HANDING_OUT: Mutex<()> = Mutex::new(());
/// Whether there were more than thunks.
static OVERFLOWED: AtomicU8 = AtomicU8::new(0);

/// What to hand out for `name`, found at `target`: a thunk if nobody knows what it does.
pub(crate) fn instead_of(name: &CStr, target: *mut ()) -> Option<*const ()> {
    let library = library_of(name)?;
    let mut is_its = false;
    objects::each(|object| {
        is_its = object.is(library) && object.function(name) == Some(target);
        if is_its {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    is_its.then(|| thunk(name, target))
}

/// The same for a function that HIP itself hands out: it need not be a symbol.
pub(crate) fn instead_of_hips(name: &CStr, target: *mut ()) -> Option<*const ()> {
    library_of(name).map(|_| thunk(name, target))
}

/// A function that was used, or handed out without a thunk.
pub(crate) fn used() -> Option<String> {
    let count = HANDED_OUT.load(Ordering::Acquire);
    let at = (0..count).find(|at| USED[*at].load(Ordering::Relaxed) != 0);
    if let Some(at) = at {
        let name = NAMES[at].get().map(CString::as_c_str).unwrap_or_default();
        return Some(name.to_string_lossy().into_owned());
    }
    let overflowed = OVERFLOWED.load(Ordering::Relaxed) != 0;
    overflowed.then(|| format!("more than {COUNT} functions of a newer HIP"))
}

/// The paths of two libraries that are both HIP: wrappers lead to one of them.
fn two_of_hip() -> Option<String> {
    let mut first: Option<String> = None;
    let mut both = None;
    objects::each(|object| {
        if !object.is(HIP) || object.function(Api::hipMalloc.symbol()).is_none() {
            return ControlFlow::Continue(());
        }
        let path = object.path().to_string_lossy().into_owned();
        match &first {
            None => first = Some(path),
            Some(first) => both = Some(format!("two copies of HIP ({first} and {path})")),
        }
        match both {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    });
    both
}

/// A function that one of the loaded objects refers to.
pub(crate) fn linked() -> Option<String> {
    let mut found = two_of_hip();
    if found.is_some() {
        return found;
    }
    objects::each(|object| {
        if !LIBRARIES.iter().any(|library| object.is(library)) {
            object.references(|name| match library_of(name) {
                Some(library) if is_defined(library, name) => {
                    found = Some(name.to_string_lossy().into_owned());
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            });
        }
        match found {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    });
    found
}

/// The libraries.
const HIP: &str = "libamdhip64.so";
const RUNTIME: &str = "libhsa-runtime64.so";
const LIBRARIES: [&str; 2] = [HIP, RUNTIME];

/// The library whose function this would be. `None` if a list names it, and for hiprtc, which compiles
/// and touches no device. Names are told apart first: libraries refer to very many that are neither's.
fn library_of(name: &CStr) -> Option<&'static str> {
    let bytes = name.to_bytes();
    let begins = |start: &[u8]| bytes.starts_with(start);
    let mangled = || begins(b"_Z") && bytes.windows(3).any(|part| part == b"hip");
    let library = if begins(b"hsa_") {
        RUNTIME
    } else if begins(b"hip") || begins(b"__hip") || mangled() {
        HIP
    } else {
        return None;
    };
    let known = begins(b"hiprtc")
        || Api::ALL.iter().any(|api| api.symbol() == name)
        || hsa::is_listed(name);
    (!known).then_some(library)
}

fn is_defined(library: &str, name: &CStr) -> bool {
    let mut defined = false;
    objects::each(|object: Object<'_>| {
        defined = object.is(library) && object.function(name).is_some();
        if defined {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    defined
}

fn thunk(name: &CStr, target: *mut ()) -> *const () {
    let _one = HANDING_OUT.lock().unwrap_or_else(PoisonError::into_inner);
    let count = HANDED_OUT.load(Ordering::Acquire);
    let same = TARGETS[..count]
        .iter()
        .position(|known| known.load(Ordering::Relaxed) == target);
    if let Some(at) = same {
        return THUNKS[at] as *const ();
    }
    if count == COUNT {
        OVERFLOWED.store(1, Ordering::Relaxed);
        return target;
    }
    TARGETS[count].store(target, Ordering::Relaxed);
    NEXT[count].store(first as *mut (), Ordering::Relaxed);
    NAMES[count].get_or_init(|| name.to_owned());
    HANDED_OUT.store(count + 1, Ordering::Release);
    THUNKS[count] as *const ()
}

/// Marks that the function was called, and goes on; of the registers only `r11` is touched, which no call hands anything
/// over in.
#[unsafe(naked)]
extern "C" fn marked<const AT: usize>() {
    naked_asm!(
        "mov byte ptr [rip + {used} + {at}], 1",
        "mov r11d, {at}",
        "jmp qword ptr [rip + {next} + 8 * {at}]",
        used = sym USED,
        next = sym NEXT,
        at = const AT,
    )
}

/// The first call of the function whose number is in `r11` waits, and goes on to it with all arguments as they were.
#[unsafe(naked)]
extern "C" fn first() {
    naked_asm!(
        "push rax", "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9",
        "sub rsp, 128",
        "movups [rsp], xmm0", "movups [rsp + 16], xmm1",
        "movups [rsp + 32], xmm2", "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4", "movups [rsp + 80], xmm5",
        "movups [rsp + 96], xmm6", "movups [rsp + 112], xmm7",
        "mov edi, r11d",
        "call {wait}",
        "mov r11, rax",
        "movups xmm0, [rsp]", "movups xmm1, [rsp + 16]",
        "movups xmm2, [rsp + 32]", "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]", "movups xmm5, [rsp + 80]",
        "movups xmm6, [rsp + 96]", "movups xmm7, [rsp + 112]",
        "add rsp, 128",
        "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi", "pop rax",
        "jmp r11",
        wait = sym wait,
    )
}

extern "C" fn wait(at: usize) -> *mut () {
    strobe_agent::before_anything();
    let target = TARGETS[at].load(Ordering::Relaxed);
    NEXT[at].store(target, Ordering::Relaxed);
    target
}

macro_rules! thunks {
    ($($row:literal)*) => { [$(thunks!(@row $row, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)),*] };
    (@row $row:literal, $($at:literal)*) => { [$(marked::<{ 16 * $row + $at }> as extern "C" fn()),*] };
}

static THUNKS: &[extern "C" fn()] = thunks!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
)
.as_flattened();
const _: () = assert!(THUNKS.len() == COUNT);
