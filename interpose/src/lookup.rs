//! From a symbol's name to our wrapper of it.

use crate::refused::THUNKS;
use crate::wrappers::WRAPPERS;
use std::ffi::CStr;
use strobe_hip::Api;

/// The wrapper or thunk of a function of HIP, if it has one.
pub(crate) fn wrapper(name: &CStr) -> Option<*const ()> {
    let bytes = name.to_bytes();
    if !(bytes.starts_with(b"hip") || bytes.starts_with(b"__hip") || bytes.starts_with(b"_Z")) {
        return None;
    }
    let modelled = Api::MODELLED.iter().zip(WRAPPERS);
    let refused = Api::REFUSED.iter().zip(THUNKS);
    modelled
        .chain(refused)
        .find(|(api, _)| api.symbol() == name)
        .map(|(_, wrapper)| wrapper.0)
}
