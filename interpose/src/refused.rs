//! Thunks of the refused functions: they mark that the function was used, and go on to it.
//!
//! Two instructions, whatever the signature: no register but the instruction pointer is touched. The
//! second jumps through a table whose entries first lead to the resolver, as a PLT's do. A program that was restored has used
//! none, so each comes by the resolver, which waits for all memory that a restore has yet to fill.

use crate::exported::Exported;
use crate::{beside, real, unlisted};
use std::arch::naked_asm;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};
use strobe_agent::RefusedFunctions;
use strobe_hip::{Api, Status, for_each_function};

const COUNT: usize = Api::REFUSED.len();

/// One byte a function: whether it was used.
static USED: [AtomicU8; COUNT] = [const { AtomicU8::new(0) }; COUNT];

/// Tells the agent whom to ask.
pub(crate) fn watch() {
    strobe_agent::watch_refused(RefusedFunctions {
        used: || used().or_else(beside::used).or_else(unlisted::used),
        linked: unlisted::linked,
    });
}

/// A function of the list that was used.
fn used() -> Option<String> {
    let at = USED
        .iter()
        .position(|used| used.load(Ordering::Relaxed) != 0)?;
    Some(Api::REFUSED[at].name().to_owned())
}

macro_rules! thunks {
    (
        modelled { $($modelled:tt)* }
        called { $($called:tt)* }
        refused { $($releases:literal $since:literal $name:ident;)* }
        pure { $($pure:tt)* }
    ) => {
        $(
            #[allow(non_snake_case, reason = "the name is HIP's")]
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            extern "C" fn $name() {
                naked_asm!(
                    "mov byte ptr [rip + {used} + {at}], 1",
                    "jmp qword ptr [rip + {next} + 8 * {at}]",
                    used = sym USED,
                    next = sym NEXT,
                    at = const Api::$name as usize - Api::TYPED,
                )
            }
        )*

        /// The thunks in the order of `Api::REFUSED`.
        pub(crate) static THUNKS: &[Exported] = &[$(Exported($name as *const ()),)*];

        /// Where the thunks go on to.
        static NEXT: [AtomicPtr<()>; COUNT] = [
            $(AtomicPtr::new(lazy::<{ Api::$name as usize - Api::TYPED }> as *mut ()),)*
        ];
    };
}
for_each_function!(thunks);

/// Finds the function, then goes on to it with all arguments as they were.
#[unsafe(naked)]
extern "C" fn lazy<const AT: usize>() {
    naked_asm!(
        "push rax", "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9",
        "sub rsp, 128",
        "movups [rsp], xmm0", "movups [rsp + 16], xmm1",
        "movups [rsp + 32], xmm2", "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4", "movups [rsp + 80], xmm5",
        "movups [rsp + 96], xmm6", "movups [rsp + 112], xmm7",
        "mov edi, {at}",
        "call {find}",
        "mov r11, rax",
        "movups xmm0, [rsp]", "movups xmm1, [rsp + 16]",
        "movups xmm2, [rsp + 32]", "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]", "movups xmm5, [rsp + 80]",
        "movups xmm6, [rsp + 96]", "movups xmm7, [rsp + 112]",
        "add rsp, 128",
        "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi", "pop rax",
        "jmp r11",
        at = const AT,
        find = sym find,
    )
}

extern "C" fn find(at: usize) -> *mut () {
    real::ensure();
    strobe_agent::before_anything();
    let found = Api::REFUSED
        .get(at)
        .and_then(|api| real::address(*api))
        .unwrap_or(missing as *mut ());
    NEXT[at].store(found, Ordering::Release);
    found
}

/// In place of a function that this HIP does not have.
extern "C" fn missing() -> Status {
    Status::NOT_SUPPORTED
}
