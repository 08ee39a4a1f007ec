//! The bytes of a kernel's arguments, as the program gives them at a launch.

use std::ffi::c_void;
use strobe_hip::{LAUNCH_PARAM_BUFFER_POINTER, LAUNCH_PARAM_BUFFER_SIZE, LAUNCH_PARAM_END};

/// The longest kernarg segment that is recorded, in bytes. HIP's own limit is 4 KiB.
pub(crate) const LONGEST: usize = 4096;

/// Where one explicit argument lies in the kernarg segment, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub offset: u32,
    pub size: u32,
}

/// Where the arguments of a launch come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arguments {
    /// One pointer for each explicit argument.
    Pointers(*const *mut c_void),
    /// The whole segment, laid out by the caller.
    Buffer(*const u8, usize),
    /// Not given in a form that is understood.
    Unknown,
}

impl Arguments {
    /// From the two forms in which `hipModuleLaunchKernel` takes them.
    ///
    /// # Safety
    /// `extra` is null or a list as HIP defines it, ended by `HIP_LAUNCH_PARAM_END`.
    pub(crate) unsafe fn of_module_launch(
        args: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> Arguments {
        if !args.is_null() {
            return Arguments::Pointers(args);
        }
        if extra.is_null() {
            // A kernel without arguments; HIP refuses the others.
            return Arguments::Buffer(std::ptr::null(), 0);
        }
        // HIP demands exactly this order: pointer, buffer, size, place of the size, end.
        // SAFETY: the caller's promise; nothing after an unexpected word is read.
        unsafe {
            if *extra as usize != LAUNCH_PARAM_BUFFER_POINTER
                || *extra.add(2) as usize != LAUNCH_PARAM_BUFFER_SIZE
                || *extra.add(4) as usize != LAUNCH_PARAM_END
            {
                return Arguments::Unknown;
            }
            let size = (*extra.add(3)).cast::<usize>();
            Arguments::Buffer((*extra.add(1)).cast(), *size)
        }
    }

    /// Writes the segment into `bytes`, which is as long as the kernel's explicit arguments. Says
    /// whether it could.
    ///
    /// # Safety
    /// The pointers are valid for the sizes in `places`, as HIP demands of the launch.
    #[inline]
    pub(crate) unsafe fn write(self, places: &[Place], bytes: &mut [u8]) -> bool {
        match self {
            Arguments::Pointers(pointers) => {
                bytes.fill(0);
                for (at, place) in places.iter().enumerate() {
                    let Some(argument) = bytes
                        .get_mut(place.offset as usize..)
                        .and_then(|rest| rest.get_mut(..place.size as usize))
                    else {
                        return false;
                    };
                    // SAFETY: one pointer for each place.
                    let from = unsafe { *pointers.add(at) };
                    if from.is_null() {
                        return false;
                    }
                    // SAFETY: the argument is `size` bytes long, and ours to write is as long.
                    unsafe {
                        std::ptr::copy_nonoverlapping(
                            from.cast::<u8>(),
                            argument.as_mut_ptr(),
                            argument.len(),
                        )
                    };
                }
                true
            }
            Arguments::Buffer(from, size) => {
                let len = size.min(bytes.len());
                bytes[len..].fill(0);
                if len > 0 {
                    if from.is_null() {
                        return false;
                    }
                    // SAFETY: the buffer holds `size` bytes.
                    unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), len) };
                }
                true
            }
            Arguments::Unknown => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_gathered_to_their_places() {
        let (mut a, mut b) = (0x1122_3344_5566_7788u64, 0xaabbu16);
        let mut pointers = [(&raw mut a).cast::<c_void>(), (&raw mut b).cast()];
        let places = [
            Place { offset: 0, size: 8 },
            Place {
                offset: 12,
                size: 2,
            },
        ];
        let mut bytes = [0xff; 16];
        // SAFETY: two arguments, as long as their places.
        let ok = unsafe { Arguments::Pointers(pointers.as_mut_ptr()).write(&places, &mut bytes) };
        assert!(ok);
        assert_eq!(bytes[..8], a.to_ne_bytes());
        assert_eq!(bytes[8..], [0, 0, 0, 0, 0xbb, 0xaa, 0, 0]);
    }

    #[test]
    fn a_place_beyond_the_segment_is_no_segment() {
        let mut a = 1u64;
        let mut pointers = [(&raw mut a).cast::<c_void>()];
        let mut bytes = [0; 4];
        // SAFETY: the place is refused before anything is read.
        let ok = unsafe {
            Arguments::Pointers(pointers.as_mut_ptr())
                .write(&[Place { offset: 0, size: 8 }], &mut bytes)
        };
        assert!(!ok);
    }

    #[test]
    fn the_buffer_of_extra_is_taken_as_it_is() {
        let mut buffer = [1u8, 2, 3];
        let mut size = buffer.len();
        let mut extra = [
            std::ptr::without_provenance_mut(LAUNCH_PARAM_BUFFER_POINTER),
            buffer.as_mut_ptr().cast(),
            std::ptr::without_provenance_mut(LAUNCH_PARAM_BUFFER_SIZE),
            (&raw mut size).cast(),
            std::ptr::without_provenance_mut(LAUNCH_PARAM_END),
        ];
        // SAFETY: a well-formed list.
        let arguments =
            unsafe { Arguments::of_module_launch(std::ptr::null_mut(), extra.as_mut_ptr()) };
        let mut bytes = [9; 5];
        // SAFETY: the buffer above.
        assert!(unsafe { arguments.write(&[], &mut bytes) });
        assert_eq!(bytes, [1, 2, 3, 0, 0]);
        extra[0] = std::ptr::without_provenance_mut(7);
        // SAFETY: the first word is refused before anything else is read.
        let arguments =
            unsafe { Arguments::of_module_launch(std::ptr::null_mut(), extra.as_mut_ptr()) };
        assert!(matches!(arguments, Arguments::Unknown));
    }
}
