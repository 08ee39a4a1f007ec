//! Finding the real HIP.
//!
//! In a program that links it, it comes after us in the global scope. Where it was opened for one
//! library only, it is not there, and is found among the loaded objects or by the handle that the
//! program asks with.

use crate::{glibc, objects, refused};
use std::ffi::{CStr, c_void};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use strobe_hip::{Api, next};

static FOUND: AtomicBool = AtomicBool::new(false);
/// What the library was found by: `RTLD_NEXT` or a handle.
static HANDLE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Finds HIP if that has not happened yet. Without HIP, calls answer `hipErrorNotSupported`.
#[inline]
pub(crate) fn ensure() {
    if !FOUND.load(Ordering::Acquire) {
        find();
    }
}

#[cold]
fn find() {
    refused::watch();
    // SAFETY: `search` gives functions of these names.
    unsafe { next::search_with(search) };
    if glibc::dlsym(libc::RTLD_NEXT, Api::hipMalloc.symbol()).is_some() {
        fill(libc::RTLD_NEXT);
    } else if let Some(handle) = loaded() {
        fill(handle);
    }
}

/// HIP is what `handle` leads to, unless it was found before.
pub(crate) fn found_by(handle: *mut c_void) {
    if !FOUND.load(Ordering::Acquire) && glibc::dlsym(handle, Api::hipMalloc.symbol()).is_some() {
        refused::watch();
        fill(handle);
    }
}

/// The real function.
pub(crate) fn address(api: Api) -> Option<*mut ()> {
    let of_hip = if FOUND.load(Ordering::Acquire) {
        glibc::dlsym(HANDLE.load(Ordering::Acquire), api.symbol())
    } else {
        None
    };
    of_hip.or_else(|| of_compiler(api.symbol()))
}

/// hiprtc has been a library of its own since ROCm 6, which may be loaded without HIP, and is not in it since 7.
fn of_compiler(name: &CStr) -> Option<*mut ()> {
    if !name.to_bytes().starts_with(b"hiprtc") {
        return None;
    }
    let next = glibc::dlsym(libc::RTLD_NEXT, name);
    next.or_else(|| {
        let mut found = None;
        objects::each(|object| {
            if object.is("libhiprtc.so") {
                found = object.function(name);
            }
            match found {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        });
        found
    })
}

/// See [`next::search_with`]. What this HIP does not have it is not asked for twice.
fn search(api: Api) -> *mut () {
    of_compiler(api.symbol()).unwrap_or_default()
}

fn fill(handle: *mut c_void) {
    // Nothing of the program that uses the GPU has run.
    strobe_agent::note_stderr();
    for api in &Api::ALL[..Api::TYPED] {
        if let Some(address) = glibc::dlsym(handle, api.symbol()) {
            // SAFETY: the real function of this name.
            unsafe { next::set(*api, address) };
        }
    }
    HANDLE.store(handle, Ordering::Release);
    FOUND.store(true, Ordering::Release);
}

/// A handle of a `libamdhip64` that is loaded, wherever it is visible.
fn loaded() -> Option<*mut c_void> {
    let mut found = [0u8; 1024];
    objects::each(|object| {
        let path = object.path().to_bytes_with_nul();
        match found.get_mut(..path.len()) {
            Some(room) if object.is("libamdhip64.so") => {
                room.copy_from_slice(path);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    });
    let path = CStr::from_bytes_until_nul(&found).ok()?;
    if path.is_empty() {
        return None;
    }
    glibc::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD)
}
