//! The symbol by which CRIU knows a plugin.
//!
//! Layout and numbers are those of CRIU's plugin interface. A CRIU refuses a plugin that declares a later version
//! or more hooks than it knows, and with it the whole dump or restore; so what is declared is what the CRIU
//! knows that has loaded us:
//!
//! | CRIU | version | hooks |
//! |---|---|---|
//! | 4.0, 4.1 | 0x200 | 12 |
//! | 4.2 | 0x200 | 13 |
//! | 4.3 | 0x300 | 17 |
//!
//! CRIU looks the symbol up when the library is loaded. By then its constructors have run, ours among them.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::hooks;
use crate::host::{self, Interface};

/// The most that any version has.
const HOOKS: usize = 17;

/// What every version from 4.0 on takes.
const OLDEST: (u32, u32) = (0x200, 12);

#[repr(C)]
pub(crate) struct Descriptor {
    name: *const c_char,
    init: extern "C" fn(c_int) -> c_int,
    exit: extern "C" fn(c_int, c_int),
    version: AtomicU32,
    /// Nobody looks at what stands behind so many.
    max_hooks: AtomicU32,
    hooks: [*const c_void; HOOKS],
}

const _: () = assert!(std::mem::offset_of!(Descriptor, version) == 24);
const _: () = assert!(std::mem::offset_of!(Descriptor, max_hooks) == 28);
const _: () = assert!(std::mem::offset_of!(Descriptor, hooks) == 32);

// SAFETY: its pointers are to constants and functions, and are never changed; what is, is atomic.
unsafe impl Sync for Descriptor {}

const NONE: *const c_void = std::ptr::null();

// SAFETY: CRIU asks for this name by dlsym; nothing else defines it.
#[unsafe(no_mangle)]
#[used]
static CR_PLUGIN_DESC: Descriptor = Descriptor {
    name: host::NAME.as_ptr(),
    init: hooks::init,
    exit: hooks::exit,
    version: AtomicU32::new(OLDEST.0),
    max_hooks: AtomicU32::new(OLDEST.1),
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
        NONE, // after forking, of CRIU 4.2: what fills is there before
        NONE, // restore init, of CRIU 4.3
        NONE, // dump devices late
        NONE, // update internet socket
        NONE, // dump finish: `exit` comes in every version, and before the program is let go, too
    ],
};

/// What a CRIU of this interface takes: version and number of hooks.
fn declared(interface: Interface) -> (u32, u32) {
    match interface {
        Interface::V4_0 => OLDEST,
        Interface::V4_2 => (0x200, 13),
        Interface::V4_3 => (0x300, HOOKS as u32),
    }
}

extern "C" fn declare() {
    let (version, hooks) = declared(Interface::of_host());
    CR_PLUGIN_DESC.version.store(version, Ordering::Relaxed);
    CR_PLUGIN_DESC.max_hooks.store(hooks, Ordering::Relaxed);
}

// SAFETY: the loader calls what stands in this section, with arguments that `declare` does not look at, once,
// before anybody gets a handle of the library.
#[unsafe(link_section = ".init_array")]
#[used]
static DECLARE: extern "C" fn() = declare;
