//! The few functions we use of the HSA runtime that HIP runs on. It is in the process wherever HIP
//! is, and is looked up, never linked.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

/// An agent of HSA: a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Processor(u64);

/// A signal of HSA: a number that hardware counts down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Signal(u64);

/// A status other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} failed: HSA status {status:#x}")]
pub(crate) struct HsaError {
    what: &'static str,
    status: c_int,
}

/// `hsa_amd_pointer_info_t`.
#[derive(Debug)]
#[repr(C)]
struct PointerInfo {
    size: u32,
    kind: u32,
    agent_base: u64,
    host_base: u64,
    bytes: usize,
    user_data: u64,
    owner: Processor,
    flags: u32,
}

/// `HSA_EXT_POINTER_TYPE_UNKNOWN`.
const UNKNOWN_POINTER: u32 = 0;

type SignalCreate = unsafe extern "C" fn(i64, u32, *const Processor, *mut Signal) -> c_int;
type SignalStore = unsafe extern "C" fn(Signal, i64);
type SignalLoad = unsafe extern "C" fn(Signal) -> i64;
type PointerInfoOf = unsafe extern "C" fn(
    *const c_void,
    *mut PointerInfo,
    *const c_void,
    *mut u32,
    *mut c_void,
) -> c_int;
type AsyncCopy = unsafe extern "C" fn(
    *mut c_void,
    Processor,
    *const c_void,
    Processor,
    usize,
    u32,
    *const Signal,
    Signal,
) -> c_int;

/// The runtime's functions.
#[derive(Debug)]
pub(crate) struct Hsa {
    signal_create: SignalCreate,
    signal_store: SignalStore,
    signal_load: SignalLoad,
    pointer_info: PointerInfoOf,
    async_copy: AsyncCopy,
}

impl Hsa {
    /// The runtime of this process; none without HIP.
    pub(crate) fn get() -> Option<&'static Hsa> {
        static HSA: OnceLock<Option<Hsa>> = OnceLock::new();
        HSA.get_or_init(Hsa::find).as_ref()
    }

    fn find() -> Option<Hsa> {
        const LIBRARY: &CStr = c"libhsa-runtime64.so.1";
        // SAFETY: loads nothing: it only finds what is loaded.
        let library =
            unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if library.is_null() {
            return None;
        }
        // SAFETY: `library` is a handle, and each type is the runtime's signature of that function.
        unsafe {
            Some(Hsa {
                signal_create: function(library, c"hsa_signal_create")?,
                signal_store: function(library, c"hsa_signal_store_relaxed")?,
                signal_load: function(library, c"hsa_signal_load_scacquire")?,
                pointer_info: function(library, c"hsa_amd_pointer_info")?,
                async_copy: function(library, c"hsa_amd_memory_async_copy")?,
            })
        }
    }

    /// A signal that stands at 0. It lives as long as the process.
    pub(crate) fn new_signal(&self) -> Result<Signal, HsaError> {
        let mut signal = Signal(0);
        // SAFETY: no consumers; writes to a local.
        let status = unsafe { (self.signal_create)(0, 0, std::ptr::null(), &mut signal) };
        check("making a signal", status)?;
        Ok(signal)
    }

    /// What a signal stands at. Below 0, the copy that it belongs to has failed.
    pub(crate) fn value(&self, signal: Signal) -> i64 {
        // SAFETY: signals are never destroyed.
        unsafe { (self.signal_load)(signal) }
    }

    /// The processor whose memory an address is in.
    pub(crate) fn owner(&self, address: u64) -> Result<Processor, HsaError> {
        let mut info = PointerInfo {
            size: size_of::<PointerInfo>() as u32,
            kind: UNKNOWN_POINTER,
            agent_base: 0,
            host_base: 0,
            bytes: 0,
            user_data: 0,
            owner: Processor(0),
            flags: 0,
        };
        let none = std::ptr::null_mut();
        // SAFETY: asks about an address and writes to a local of the size it names.
        let status = unsafe {
            (self.pointer_info)(address as *const c_void, &mut info, none, none.cast(), none)
        };
        check("asking whose memory it is", status)?;
        match info.kind {
            UNKNOWN_POINTER => Err(HsaError {
                what: "finding whose memory it is",
                status: 0,
            }),
            _ => Ok(info.owner),
        }
    }

    /// Starts a copy. `signal` is counted down from 1 when it has arrived.
    ///
    /// # Safety
    /// Both ranges are memory that both processors can access, valid until the copy has arrived;
    /// nothing else writes the source or touches the destination until then. No copy uses `signal`.
    pub(crate) unsafe fn start_copy(
        &self,
        (to, to_owner): (u64, Processor),
        (from, from_owner): (u64, Processor),
        bytes: usize,
        signal: Signal,
    ) -> Result<(), HsaError> {
        // SAFETY: a signal that nobody waits for; the ranges are the caller's promise.
        let status = unsafe {
            (self.signal_store)(signal, 1);
            (self.async_copy)(
                to as *mut c_void,
                to_owner,
                from as *const c_void,
                from_owner,
                bytes,
                0,
                std::ptr::null(),
                signal,
            )
        };
        check("starting a copy", status)
    }
}

fn check(what: &'static str, status: c_int) -> Result<(), HsaError> {
    match status {
        0 => Ok(()),
        status => Err(HsaError { what, status }),
    }
}

/// Looks a function up.
///
/// # Safety
/// `F` is the type of a pointer to the function of this name.
unsafe fn function<F: Copy>(library: *mut c_void, name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: a handle and a name.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    // SAFETY: F is a pointer to the function found, as the caller promises.
    (!address.is_null()).then(|| unsafe { std::mem::transmute_copy(&address) })
}

/// A runtime that copies nothing; signals count down when a test says so.
#[cfg(test)]
pub(crate) mod fake {
    use super::*;
    use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

    static SIGNALS: [AtomicI64; 64] = [const { AtomicI64::new(0) }; 64];
    static NEXT: AtomicU64 = AtomicU64::new(0);

    pub(crate) fn signal() -> Signal {
        Signal(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn set(signal: Signal, value: i64) {
        SIGNALS[signal.0 as usize].store(value, Ordering::Relaxed);
    }

    unsafe extern "C" fn create(_: i64, _: u32, _: *const Processor, place: *mut Signal) -> c_int {
        // SAFETY: the caller passes a place for it.
        unsafe { place.write(signal()) };
        0
    }

    unsafe extern "C" fn store(signal: Signal, value: i64) {
        set(signal, value);
    }

    unsafe extern "C" fn load(signal: Signal) -> i64 {
        SIGNALS[signal.0 as usize].load(Ordering::Relaxed)
    }

    unsafe extern "C" fn owner(
        _: *const c_void,
        info: *mut PointerInfo,
        _: *const c_void,
        _: *mut u32,
        _: *mut c_void,
    ) -> c_int {
        // SAFETY: the caller passes a place for it.
        unsafe { (*info).kind = 1 };
        0
    }

    unsafe extern "C" fn copy(
        _: *mut c_void,
        _: Processor,
        _: *const c_void,
        _: Processor,
        _: usize,
        _: u32,
        _: *const Signal,
        _: Signal,
    ) -> c_int {
        0
    }

    pub(crate) fn runtime() -> &'static Hsa {
        static RUNTIME: Hsa = Hsa {
            signal_create: create,
            signal_store: store,
            signal_load: load,
            pointer_info: owner,
            async_copy: copy,
        };
        &RUNTIME
    }
}
