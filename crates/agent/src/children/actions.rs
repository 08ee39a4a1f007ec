//! Files that a child opens before its program begins (posix_spawn_file_actions_addopen(3)): by the C library's own system
//! calls, which pass nobody else.
//!
//! They are read when the child is started: a list may have been made long before, be used again, or never be. What an
//! action looks like is in no header, and has been the same in all of glibc (posix/spawn_int.h). Nothing is read but what can
//! be: were it different one day, names would be noted that are none, and nothing worse.

use std::ffi::{c_char, c_int, c_void};

use crate::journal::Given;
use crate::kernel::{Descriptor, keep_errno};
use crate::readable::Reader;

/// Kinds of actions.
const OPEN: c_int = 2;
const CHDIR: c_int = 3;
const FCHDIR: c_int = 4;

/// Actions that are looked at.
const MOST: c_int = 4096;

/// The beginning of `posix_spawn_file_actions_t` (spawn.h).
#[repr(C)]
#[derive(Clone, Copy)]
struct Actions {
    allocated: c_int,
    used: c_int,
    first: *const Action,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Action {
    kind: c_int,
    /// The number of the descriptor; of [`CHDIR`] the path.
    target: usize,
    /// Of [`OPEN`], as is what follows.
    path: *const c_char,
    flags: c_int,
    mode: c_int,
}

/// Tells of each file that a child will open, with the flags of open(2).
///
/// # Safety
/// The program is about to pass the actions to `posix_spawn`; they may be null.
#[inline(never)]
pub unsafe fn each_opening(actions: *const c_void, mut each: impl FnMut(Given, c_int)) {
    if actions.is_null() {
        return;
    }
    keep_errno(|| {
        let mut reader = Reader::new();
        // SAFETY: nobody changes what the C library is about to read.
        let all = unsafe { read(&mut reader, actions.cast::<Actions>()) }?;
        // Where the child is by then.
        let (mut folder, mut entered) = (libc::AT_FDCWD, None::<Descriptor>);
        for at in 0..all.used.min(all.allocated).min(MOST) {
            // SAFETY: likewise.
            let action = unsafe { read(&mut reader, all.first.wrapping_add(at as usize)) }?;
            match action.kind {
                OPEN => {
                    let path = action.path;
                    each(Given { folder, path }, action.flags);
                }
                CHDIR => {
                    let path = action.target as *const c_char;
                    let flags = libc::O_PATH | libc::O_DIRECTORY;
                    let into = Descriptor::at(Given { folder, path }, flags)?;
                    folder = into.0;
                    entered = Some(into);
                }
                FCHDIR => folder = action.target as c_int,
                _ => {}
            }
        }
        drop(entered);
        Some(())
    });
}

/// # Safety
/// Nobody unmaps it meanwhile.
unsafe fn read<T: Copy>(reader: &mut Reader, place: *const T) -> Option<T> {
    let can_read = reader.can_read(place as usize, size_of::<T>());
    // SAFETY: the kernel has read it, and the caller's promise; all bytes are a value of both types.
    can_read.then(|| unsafe { place.read_unaligned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_of_actions_has_none() {
        for first in [0, 8, usize::MAX, 1 << 63] {
            let (allocated, used) = (c_int::MAX, c_int::MAX);
            let first = first as *const Action;
            let actions = Actions {
                allocated,
                used,
                first,
            };
            let never = |_, _| unreachable!();
            // SAFETY: what can be read of it is ours.
            unsafe {
                each_opening((&raw const actions).cast(), never);
                each_opening(first.cast(), never);
            }
        }
    }
}
