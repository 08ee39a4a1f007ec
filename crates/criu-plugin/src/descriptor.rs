//! The symbol by which CRIU knows a plugin.
//!
//! Layout and numbers are CRIU's plugin interface 0.2 with the twelve hooks of CRIU 4.0, which
//! every later version accepts; with more hooks than a CRIU knows, it refuses to run at all.

use std::ffi::{c_char, c_int, c_void};

use crate::{hooks, host};

const VERSION: u32 = 0x200;
const HOOKS: usize = 12;

#[repr(C)]
pub(crate) struct Descriptor {
    name: *const c_char,
    init: extern "C" fn(c_int) -> c_int,
    exit: extern "C" fn(c_int, c_int),
    version: u32,
    max_hooks: u32,
    hooks: [*const c_void; HOOKS],
}

const _: () = assert!(std::mem::offset_of!(Descriptor, hooks) == 32);

// SAFETY: the descriptor is never changed, and its pointers are to constants and functions.
unsafe impl Sync for Descriptor {}

const NONE: *const c_void = std::ptr::null();

// SAFETY: CRIU asks for this name by dlsym; nothing else defines it.
#[unsafe(no_mangle)]
#[used]
static CR_PLUGIN_DESC: Descriptor = Descriptor {
    name: host::NAME.as_ptr(),
    init: hooks::init,
    exit: hooks::exit,
    version: VERSION,
    max_hooks: HOOKS as u32,
    hooks: [
        NONE, // dump unix socket
        NONE, // restore unix socket
        hooks::dump_file as *const c_void,
        hooks::restore_file as *const c_void,
        NONE, // dump mount
        NONE, // restore mount
        NONE, // dump link
        hooks::handle_device_vma as *const c_void,
        hooks::update_vma_map as *const c_void,
        hooks::resume_devices_late as *const c_void,
        hooks::pause_devices as *const c_void,
        hooks::checkpoint_devices as *const c_void,
    ],
};
