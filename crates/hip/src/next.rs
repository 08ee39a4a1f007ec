//! The table of next pointers: HIP's own functions behind the wrappers.
//!
//! Whoever loads the library fills it once; a function that is missing answers
//! `hipErrorNotSupported`. All calls of HIP that are not the program's own go through here, never
//! through a symbol: that one would lead back into a wrapper.

use crate::api::Api;
use crate::types::*;
use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ushort};
use std::sync::atomic::{AtomicPtr, Ordering};

static TABLE: [AtomicPtr<()>; Api::TYPED] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; Api::TYPED];

/// Sets where `api` is. Does nothing for a function without a signature.
///
/// # Safety
/// `address` is null or that function, with the signature of the list.
pub unsafe fn set(api: Api, address: *mut ()) {
    if let Some(entry) = TABLE.get(api as usize) {
        entry.store(address, Ordering::Release);
    }
}

/// Who is asked for a function that the table does not hold, at each call of it.
static SEARCH: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Has `search` look for what the table does not hold: a library that has it may be loaded later.
///
/// # Safety
/// What `search` gives is null or that function, with the signature of the list.
pub unsafe fn search_with(search: fn(Api) -> *mut ()) {
    SEARCH.store(search as *mut (), Ordering::Release);
}

#[cold]
fn search(api: Api) -> Option<*mut ()> {
    let search = SEARCH.load(Ordering::Acquire);
    if search.is_null() {
        return None;
    }
    // SAFETY: `search_with` has stored a function of this type.
    let search: fn(Api) -> *mut () = unsafe { std::mem::transmute(search) };
    let found = search(api);
    // SAFETY: the promise made to `search_with`.
    unsafe { set(api, found) };
    (!found.is_null()).then_some(found)
}

/// Where `api` is, if it is known.
pub fn get(api: Api) -> Option<*mut ()> {
    let address = TABLE.get(api as usize)?.load(Ordering::Acquire);
    (!address.is_null()).then_some(address)
}

/// What a function that is not there answers.
trait Missing {
    const ANSWER: Self;
}
impl Missing for Status {
    const ANSWER: Status = Status::NOT_SUPPORTED;
}
impl Missing for () {
    const ANSWER: () = ();
}
impl<T> Missing for *mut T {
    const ANSWER: *mut T = std::ptr::null_mut();
}
impl<T> Missing for *const T {
    const ANSWER: *const T = std::ptr::null();
}

macro_rules! calls {
    (
        modelled { $($m_in:literal $m_since:literal $m:ident($($m_arg:ident: $m_ty:ty),*) -> $m_ret:ty { $effect:ident($($given:expr),*) })* }
        called { $($c_in:literal $c_since:literal $c:ident($($c_arg:ident: $c_ty:ty),*) -> $c_ret:ty;)* }
        refused { $($r:tt)* }
        pure { $($p:tt)* }
    ) => {
        $(calls!(@one $m($($m_arg: $m_ty),*) -> $m_ret);)*
        $(calls!(@one $c($($c_arg: $c_ty),*) -> $c_ret);)*
    };
    (@one $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        /// HIP's function of this name.
        ///
        /// # Safety
        /// As for HIP's.
        #[allow(non_snake_case, clippy::too_many_arguments, reason = "name and arguments are HIP's")]
        #[inline]
        pub unsafe fn $name($($arg: $ty),*) -> $ret {
            let Some(address) = get(Api::$name).or_else(|| search(Api::$name)) else {
                return <$ret as Missing>::ANSWER;
            };
            type Real = unsafe extern "C-unwind" fn($($ty),*) -> $ret;
            // SAFETY: `set` was given this function, with this signature.
            let function = unsafe { std::mem::transmute::<*mut (), Real>(address) };
            // SAFETY: the caller's promise.
            unsafe { function($($arg),*) }
        }
    };
}
for_each_function!(calls);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_function_says_so_and_a_set_one_is_called() {
        extern "C-unwind" fn two_devices(count: *mut c_int) -> Status {
            // SAFETY: the test passes a place for it.
            unsafe { *count = 2 };
            Status::SUCCESS
        }
        let mut count = 0;
        // SAFETY: the table is empty or holds the function above.
        unsafe {
            assert_eq!(hipGetDeviceCount(&mut count), Status::NOT_SUPPORTED);
            set(Api::hipGetDeviceCount, two_devices as *mut ());
            assert_eq!(hipGetDeviceCount(&mut count), Status::SUCCESS);
        }
        assert_eq!(count, 2);
    }
}
