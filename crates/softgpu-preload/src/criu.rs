//! A CRIU plugin that takes care of the emulator's own mappings and threads, and of nothing else.
//!
//! CRIU asks about every mapping of a device. The program's mappings are the business of the GPU's
//! plugin; those of /dev/softgpu/* are mapped again, at the same offsets, from the nodes of the
//! environment the restore runs in. Waves run in threads of the program, which CRIU freezes wherever they are, while those
//! of hardware can be evicted from a process that is frozen: so they let go before. That has to come after whatever
//! other plugins want of the program, at the same hook: `crates/criu` has them in that order. The ABI is that of
//! criu-plugin.h, API 0.2.0 with twelve hooks, which every CRIU from 4.0 on accepts.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{c_char, c_int, c_uint, c_void};
use strobe_softgpu::preload;

const PREFIX: &[u8] = b"/dev/softgpu/";
const NOT_OURS: c_int = -libc::ENOTSUP;

/// `CR_PLUGIN_STAGE__DUMP`.
const DUMP: c_int = 0;
const HANDLE_DEVICE_VMA: usize = 7;
const UPDATE_VMA_MAP: usize = 8;
const PAUSE_DEVICES: usize = 10;
const HOOKS: usize = 12;

/// `cr_plugin_desc_t`.
#[repr(C)]
pub(crate) struct Descriptor {
    name: *const c_char,
    init: Option<unsafe extern "C" fn(c_int) -> c_int>,
    exit: Option<unsafe extern "C" fn(c_int, c_int)>,
    version: c_uint,
    max_hooks: c_uint,
    hooks: [*const c_void; HOOKS],
}

// SAFETY: nothing in it is ever written; the pointers are to constants and functions.
unsafe impl Sync for Descriptor {}

#[unsafe(no_mangle)]
pub(crate) static CR_PLUGIN_DESC: Descriptor = Descriptor {
    name: c"softgpu".as_ptr(),
    init: Some(init),
    exit: Some(exit),
    version: 0x200,
    max_hooks: HOOKS as c_uint,
    hooks: {
        let mut hooks = [std::ptr::null(); HOOKS];
        hooks[HANDLE_DEVICE_VMA] = handle_device_vma as *const c_void;
        hooks[UPDATE_VMA_MAP] = update_vma_map as *const c_void;
        hooks[PAUSE_DEVICES] = pause_devices as *const c_void;
        hooks
    },
};

/// Whether this is a dump. A pre-dump saves nothing of the GPU.
static IS_DUMP: AtomicBool = AtomicBool::new(false);

unsafe extern "C" fn init(stage: c_int) -> c_int {
    IS_DUMP.store(stage == DUMP, Ordering::Relaxed);
    0
}

/// Failed or not, the program goes on, or is killed.
unsafe extern "C" fn exit(_stage: c_int, _result: c_int) {
    if IS_DUMP.swap(false, Ordering::Relaxed) {
        preload::thaw();
    }
}

/// The process runs still.
unsafe extern "C" fn pause_devices(pid: c_int) -> c_int {
    if IS_DUMP.load(Ordering::Relaxed) {
        preload::freeze(pid.cast_unsigned());
    }
    NOT_OURS
}

unsafe extern "C" fn handle_device_vma(fd: c_int, _stat: *const libc::stat) -> c_int {
    let mut link = [0u8; 64];
    let mut name = [0u8; 32];
    // SAFETY: all buffers are live and as long as said; the format yields at most 32 bytes.
    let length = unsafe {
        libc::snprintf(
            name.as_mut_ptr().cast(),
            name.len(),
            c"/proc/self/fd/%d".as_ptr(),
            fd,
        );
        libc::readlink(name.as_ptr().cast(), link.as_mut_ptr().cast(), link.len())
    };
    let length = usize::try_from(length).unwrap_or(0);
    if link[..length].starts_with(PREFIX) {
        0
    } else {
        NOT_OURS
    }
}

unsafe extern "C" fn update_vma_map(
    path: *const c_char,
    _address: u64,
    old_offset: u64,
    new_offset: *mut u64,
    fd: *mut c_int,
) -> c_int {
    // SAFETY: CRIU passes a C string and two places for the answer.
    unsafe {
        if !CStr::from_ptr(path).to_bytes().starts_with(PREFIX) {
            return NOT_OURS;
        }
        let opened = libc::open(path, libc::O_RDWR | libc::O_CLOEXEC);
        if opened < 0 {
            return -*libc::__errno_location();
        }
        *new_offset = old_offset;
        *fd = opened;
    }
    1
}
