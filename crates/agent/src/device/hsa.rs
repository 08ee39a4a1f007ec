//! The few functions we use of the HSA runtime that HIP runs on. It is in the process wherever HIP
//! is, and is looked up, never linked: a symbol of ours could lead into a wrapper.

use libloading::os::unix::{Library, RTLD_LAZY};
use std::ffi::{c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::sync::OnceLock;

/// An agent of HSA: a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Processor(pub(crate) u64);

/// A signal of HSA: a number that hardware counts down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Signal(pub(crate) u64);

/// A memory pool of HSA: a kind of memory of one processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Pool(pub(crate) u64);

/// A queue of HSA, as the runtime lays it out (`hsa_queue_t`).
#[derive(Debug)]
#[repr(C)]
pub(crate) struct QueueHead {
    pub(crate) kind: u32,
    pub(crate) features: u32,
    pub(crate) packets: *mut c_void,
    pub(crate) doorbell: Signal,
    pub(crate) size: u32,
    pub(crate) reserved: u32,
    pub(crate) id: u64,
}

/// A status other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} failed: HSA status {status:#x}")]
pub(crate) struct HsaError {
    what: &'static str,
    status: c_int,
}

impl HsaError {
    /// The runtime has nothing of what is looked for.
    pub(crate) fn none(what: &'static str) -> HsaError {
        HsaError { what, status: 0 }
    }
}

pub(crate) type QueueCallback = unsafe extern "C" fn(c_int, *mut QueueHead, *mut c_void);
pub(crate) type Visit = unsafe extern "C" fn(u64, *mut c_void) -> c_int;

macro_rules! functions {
    ($($field:ident: $name:literal, fn($($ty:ty),* $(,)?) $(-> $ret:ty)?;)*) => {
        /// The runtime's functions, each with the runtime's signature.
        #[derive(Debug)]
        pub(crate) struct Hsa {
            $(pub(crate) $field: unsafe extern "C" fn($($ty),*) $(-> $ret)?,)*
        }

        impl Hsa {
            fn find() -> Option<Hsa> {
                let library = library()?;
                // SAFETY: each type is the runtime's signature of that function (hsa.h, hsa_ext_amd.h).
                unsafe { Some(Hsa { $($field: *library.get($name).ok()?,)* }) }
            }
        }
    };
}

functions! {
    iterate_agents: c"hsa_iterate_agents", fn(Visit, *mut c_void) -> c_int;
    agent_info: c"hsa_agent_get_info", fn(Processor, u32, *mut c_void) -> c_int;
    iterate_pools: c"hsa_amd_agent_iterate_memory_pools", fn(Processor, Visit, *mut c_void) -> c_int;
    pool_info: c"hsa_amd_memory_pool_get_info", fn(Pool, u32, *mut c_void) -> c_int;
    allocate: c"hsa_amd_memory_pool_allocate", fn(Pool, usize, u32, *mut *mut c_void) -> c_int;
    free: c"hsa_amd_memory_pool_free", fn(*mut c_void) -> c_int;
    allow_access: c"hsa_amd_agents_allow_access", fn(u32, *const Processor, *const u32, *const c_void) -> c_int;
    signal_create: c"hsa_amd_signal_create", fn(i64, u32, *const Processor, u64, *mut Signal) -> c_int;
    signal_load: c"hsa_signal_load_scacquire", fn(Signal) -> i64;
    signal_store: c"hsa_signal_store_screlease", fn(Signal, i64);
    queue_create: c"hsa_queue_create", fn(Processor, u32, u32, QueueCallback, *mut c_void, u32, u32, *mut *mut QueueHead) -> c_int;
    queue_store_write_index: c"hsa_queue_store_write_index_screlease", fn(*const QueueHead, u64);
    reader_create: c"hsa_code_object_reader_create_from_memory", fn(*const c_void, usize, *mut u64) -> c_int;
    executable_create: c"hsa_executable_create_alt", fn(u32, u32, *const c_char, *mut u64) -> c_int;
    executable_load: c"hsa_executable_load_agent_code_object", fn(u64, Processor, u64, *const c_char, *mut u64) -> c_int;
    executable_freeze: c"hsa_executable_freeze", fn(u64, *const c_char) -> c_int;
    executable_symbol: c"hsa_executable_get_symbol_by_name", fn(u64, *const c_char, *const Processor, *mut u64) -> c_int;
    symbol_info: c"hsa_executable_symbol_get_info", fn(u64, u32, *mut c_void) -> c_int;
}

impl Hsa {
    /// The runtime of this process; none without HIP.
    pub(crate) fn get() -> Result<&'static Hsa, HsaError> {
        static HSA: OnceLock<Option<Hsa>> = OnceLock::new();
        HSA.get_or_init(Hsa::find)
            .as_ref()
            .ok_or(HsaError::none("finding the HSA runtime"))
    }
}

/// The runtime's library, where it is loaded. It stays so.
fn library() -> Option<ManuallyDrop<Library>> {
    const LIBRARY: &str = "libhsa-runtime64.so.1";
    // SAFETY: loads nothing: it only finds what is loaded.
    let library = unsafe { Library::open(Some(LIBRARY), RTLD_LAZY | libc::RTLD_NOLOAD) };
    library.ok().map(ManuallyDrop::new)
}

/// An error that names what was tried.
pub(crate) fn check(what: &'static str, status: c_int) -> Result<(), HsaError> {
    match status {
        0 => Ok(()),
        status => Err(HsaError { what, status }),
    }
}
