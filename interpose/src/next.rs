//! A function that stands behind one of ours of the same name: the C library's, or that of who wraps it, too.

use crate::glibc;
use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, Ordering};
use strobe_agent::kernel::keep_errno;

/// See the module's documentation.
pub(crate) struct Next {
    name: &'static CStr,
    real: AtomicPtr<()>,
}

impl Next {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            real: AtomicPtr::new(absent as *const () as *mut ()),
        }
    }

    /// Where the address of [`Self::real`] is in this.
    pub(crate) const REAL: usize = std::mem::offset_of!(Next, real);

    /// The function, after [`Self::find`].
    pub(crate) fn real(&self) -> *mut () {
        self.real.load(Ordering::Acquire)
    }

    /// The function, which is looked for now if it was not before.
    pub(crate) fn found(&self) -> *mut () {
        if std::ptr::eq(self.real(), absent as *const ()) {
            self.find();
        }
        self.real()
    }

    /// Finds it. That takes a lock of the dynamic linker's, which another thread may have had when a process was forked:
    /// so it is done when a program begins, and not in such a child.
    pub(crate) fn find(&self) {
        keep_errno(|| {
            let real = glibc::dlsym(libc::RTLD_NEXT, self.name)?;
            self.real.store(real, Ordering::Release);
            Some(())
        });
    }
}

/// A C library has all of them.
extern "C" fn absent() -> ! {
    std::process::abort()
}
