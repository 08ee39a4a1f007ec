//! From a symbol's name to our wrapper of it.

use crate::refused::THUNKS;
use crate::wrappers::WRAPPERS;
use crate::{beside, dynamic};
use std::ffi::CStr;
use strobe_hip::Api;

/// Whether a name may be one of HIP or of the HSA runtime.
pub(crate) fn is_interesting(name: &CStr) -> bool {
    let bytes = name.to_bytes();
    let starts: [&[u8]; 4] = [b"hip", b"__hip", b"_Z", b"hsa_"];
    starts.iter().any(|start| bytes.starts_with(start))
}

/// The wrapper or thunk of a function, if it has one.
pub(crate) fn wrapper(name: &CStr) -> Option<*const ()> {
    let modelled = Api::MODELLED.iter().zip(WRAPPERS);
    let refused = Api::REFUSED.iter().zip(THUNKS);
    modelled
        .chain(refused)
        .find(|(api, _)| api.symbol() == name)
        .map(|(_, wrapper)| wrapper.0)
        .or_else(|| handing_out(name))
        .or_else(|| beside::thunk(name))
}

/// Our wrapper of a function that hands out others.
fn handing_out(name: &CStr) -> Option<*const ()> {
    match name.to_bytes() {
        b"hipGetProcAddress" => Some(dynamic::hipGetProcAddress as *const ()),
        b"hipGetDriverEntryPoint" => Some(dynamic::hipGetDriverEntryPoint as *const ()),
        b"hipGetDriverEntryPoint_spt" => Some(dynamic::hipGetDriverEntryPoint_spt as *const ()),
        _ => None,
    }
}

/// The flag of `hipGetProcAddress` that asks for per-thread default streams.
pub(crate) const PER_THREAD_DEFAULT_STREAM: u64 = 2;

/// The wrapper of what `hipGetProcAddress` hands out for a name: asked for per-thread default
/// streams, it means the `_spt` function, where there is one.
pub(crate) fn of_mode(name: &CStr, flags: u64) -> Option<*const ()> {
    let per_thread =
        |symbol: &CStr| symbol.to_bytes().strip_suffix(b"_spt") == Some(name.to_bytes());
    let own = if flags & PER_THREAD_DEFAULT_STREAM == 0 {
        None
    } else {
        Api::MODELLED.iter().find(|api| per_thread(api.symbol()))
    };
    wrapper(own.map_or(name, |api| api.symbol()))
}
