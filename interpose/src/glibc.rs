//! glibc's own `dlsym`, `dlvsym` and `dlopen`, which our exports of these names hide from us.
//!
//! No name leads there: in our own object the names are ours, and a versioned reference is satisfied
//! by the first unversioned definition, which is ours again. So the symbol table of the loaded libc
//! is read.

use crate::objects;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicPtr, Ordering};

pub(crate) static DLSYM: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
pub(crate) static DLVSYM: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
pub(crate) static DLOPEN: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Finds the three functions. Allocates nothing; may run at any time and more than once.
pub(crate) extern "C" fn resolve() {
    if !DLSYM.load(Ordering::Acquire).is_null() {
        return;
    }
    objects::each(|object| {
        // Until glibc 2.34 the functions are in libdl.
        if object.is("libc.so.6") || object.is("libdl.so.2") {
            for (name, place) in [
                (c"dlsym", &DLSYM),
                (c"dlvsym", &DLVSYM),
                (c"dlopen", &DLOPEN),
            ] {
                if let Some(address) = object.function(name) {
                    place.store(address, Ordering::Release);
                }
            }
        }
        ControlFlow::Continue(())
    });
}

/// The symbol `name` as `handle` sees it; for `RTLD_NEXT`, as seen from us.
pub(crate) fn dlsym(handle: *mut c_void, name: &CStr) -> Option<*mut ()> {
    resolve();
    let address = DLSYM.load(Ordering::Acquire);
    if address.is_null() {
        return None;
    }
    // SAFETY: glibc's dlsym has this signature.
    let dlsym: extern "C" fn(*mut c_void, *const c_char) -> *mut () =
        unsafe { std::mem::transmute(address) };
    let found = dlsym(handle, name.as_ptr());
    (!found.is_null()).then_some(found)
}

/// The same in this version.
pub(crate) fn dlvsym(handle: *mut c_void, name: &CStr, version: &CStr) -> Option<*mut ()> {
    resolve();
    let address = DLVSYM.load(Ordering::Acquire);
    if address.is_null() {
        return None;
    }
    // SAFETY: glibc's dlvsym has this signature.
    let dlvsym: extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut () =
        unsafe { std::mem::transmute(address) };
    let found = dlvsym(handle, name.as_ptr(), version.as_ptr());
    (!found.is_null()).then_some(found)
}

/// Opens a library.
pub(crate) fn dlopen(path: &CStr, flags: c_int) -> Option<*mut c_void> {
    resolve();
    let address = DLOPEN.load(Ordering::Acquire);
    if address.is_null() {
        return None;
    }
    // SAFETY: glibc's dlopen has this signature.
    let dlopen: extern "C" fn(*const c_char, c_int) -> *mut c_void =
        unsafe { std::mem::transmute(address) };
    let handle = dlopen(path.as_ptr(), flags);
    (!handle.is_null()).then_some(handle)
}
