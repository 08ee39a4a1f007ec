//! What this process has mapped for the GPU by handles of render nodes. HIP's virtual memory management does that, and its
//! pools since ROCm 7: the compute driver has such memory without an address, and CRIU's plugin finds it by its handle.
//!
//! The plugin gives an address to what is mapped once, and all of it; the rest is saved while everything stands still, as
//! memory that nobody promises. So this has to be known here, too (`ioctl` is wrapped for that).

use super::queues::is;
use crate::wire::page;
use parking_lot::Mutex;
use std::ffi::{c_int, c_ulong, c_void};
use std::os::fd::BorrowedFd;
use strobe_extent::Extent;
use strobe_kfd::client::gem;
use strobe_kfd::render::gem::{Close, PAGE_READABLE, VA_CLEAR, VA_MAP, VA_REPLACE, VA_UNMAP, Va};

static MAPPED: Mutex<Mapped> = Mutex::new(Mapped(Vec::new()));

/// A buffer object by an open file, and its handle there.
type Handle = (c_int, u32);

#[derive(Clone, Copy, Debug)]
struct Mapping {
    handle: Handle,
    place: Extent,
    /// All of the buffer object, for the GPU to read.
    is_whole: bool,
}

#[derive(Debug)]
struct Mapped(Vec<Mapping>);

/// Whether a request of the driver is one that [`request`] has to see.
#[inline]
pub fn concerns(number: c_ulong) -> bool {
    is::<Va>(number) || is::<Close>(number)
}

/// A request of the driver that [`concerns`]: `real` makes it, and answers what the C library does.
///
/// # Safety
/// `argument` is what the driver takes with the request, and `fd` is open.
pub unsafe fn request(
    fd: c_int,
    number: c_ulong,
    argument: *mut c_void,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let result = real();
    // A forked child has none, and who held the lock when it was forked is not there.
    if result != 0 || argument.is_null() || page::state() == page::State::Forked {
        return result;
    }
    if is::<Close>(number) {
        // SAFETY: the request's block, whose layout its number says.
        let closed = unsafe { argument.cast::<Close>().read_unaligned() };
        MAPPED.lock().closed((fd, closed.handle));
        return result;
    }
    // SAFETY: as above.
    let asked = unsafe { argument.cast::<Va>().read_unaligned() };
    // SAFETY: the caller's descriptor.
    let file = unsafe { BorrowedFd::borrow_raw(fd) };
    let size = match asked.operation {
        VA_MAP | VA_REPLACE => gem::size(file, asked.handle).ok(),
        _ => None,
    };
    MAPPED.lock().changed(fd, &asked, size);
    result
}

/// Whether all of this memory is the compute driver's by its address, or mapped in one piece where the plugin finds it.
pub(crate) fn is_found(memory: Extent) -> bool {
    MAPPED.lock().is_found(memory)
}

/// What is mapped inside of these addresses.
pub(crate) fn inside(of: Extent) -> Vec<Extent> {
    let mapped = MAPPED.lock();
    let places = mapped.0.iter().map(|mapping| mapping.place);
    places.filter(|place| of.contains(*place)).collect()
}

impl Mapped {
    fn closed(&mut self, handle: Handle) {
        self.0.retain(|mapping| mapping.handle != handle);
    }

    /// `size`: that of the buffer object, if it is known.
    fn changed(&mut self, fd: c_int, asked: &Va, size: Option<u64>) {
        let handle = (fd, asked.handle);
        if asked.operation == VA_UNMAP {
            let is_it = |mapping: &Mapping| {
                mapping.handle == handle && mapping.place.start() == asked.va_address
            };
            self.0.retain(|mapping| !is_it(mapping));
            return;
        }
        let Ok(place) = Extent::with_len(asked.va_address, asked.map_size) else {
            return;
        };
        if matches!(asked.operation, VA_CLEAR | VA_REPLACE) {
            let is_gone =
                |mapping: &Mapping| mapping.handle.0 == fd && place.contains(mapping.place);
            self.0.retain(|mapping| !is_gone(mapping));
            for mapping in &mut self.0 {
                mapping.is_whole &= mapping.handle.0 != fd || !place.overlaps(mapping.place);
            }
        }
        if matches!(asked.operation, VA_MAP | VA_REPLACE) {
            let is_all = asked.offset_in_bo == 0 && size == Some(asked.map_size);
            self.0.push(Mapping {
                handle,
                place,
                is_whole: is_all && asked.flags & PAGE_READABLE != 0,
            });
        }
    }

    fn is_found(&self, memory: Extent) -> bool {
        let mut there = self.0.iter().filter(|m| m.place.overlaps(memory));
        match (there.next(), there.next()) {
            (None, _) => true,
            (Some(one), None) => {
                let all = self.0.iter();
                let is_once = all.filter(|other| other.handle == one.handle).count() == 1;
                one.is_whole && is_once && one.place.contains(memory)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(operation: u32, handle: u32, start: u64, len: u64) -> Va {
        Va {
            handle,
            operation,
            flags: PAGE_READABLE,
            va_address: start,
            map_size: len,
            ..Va::default()
        }
    }

    fn mapped(requests: &[Va]) -> Mapped {
        let mut mapped = Mapped(Vec::new());
        for request in requests {
            mapped.changed(7, request, Some(0x4000));
        }
        mapped
    }

    fn is_found(mapped: &Mapped, start: u64, len: u64) -> bool {
        mapped.is_found(Extent::with_len(start, len).expect("an extent"))
    }

    #[test]
    fn memory_is_found_where_it_is_mapped_once_and_all_of_it() {
        let map = |handle, start, len| asked(VA_MAP, handle, start, len);
        let two = mapped(&[map(1, 0x1_0000, 0x4000), map(2, 0x1_4000, 0x4000)]);
        assert!(is_found(&two, 0x1_0000, 0x4000) && is_found(&two, 0x1_4100, 0x100));
        assert!(!is_found(&two, 0x1_3000, 0x2000), "in two pieces");
        assert!(is_found(&two, 0x2_0000, 0x1000), "the compute driver's");
        assert!(!is_found(&two, 0x1_7000, 0x2000), "sticks out");
        let part = mapped(&[map(1, 0x1_0000, 0x2000)]);
        assert!(!is_found(&part, 0x1_0000, 0x1000));
        let twice = mapped(&[map(1, 0x1_0000, 0x4000), map(1, 0x2_0000, 0x4000)]);
        assert!(!is_found(&twice, 0x1_0000, 0x1000) && !is_found(&twice, 0x2_0000, 0x1000));
        let hidden = Va {
            flags: 0,
            ..map(1, 0x1_0000, 0x4000)
        };
        assert!(!is_found(&mapped(&[hidden]), 0x1_0000, 0x1000));
        let second = Va {
            offset_in_bo: 0x2000,
            ..map(1, 0x1_0000, 0x4000)
        };
        assert!(!is_found(&mapped(&[second]), 0x1_0000, 0x1000));
    }

    #[test]
    fn what_is_unmapped_is_not_there() {
        let map = [
            asked(VA_MAP, 1, 0x1_0000, 0x4000),
            asked(VA_MAP, 1, 0x2_0000, 0x4000),
        ];
        let rest = |change: Va| {
            let mut mapped = mapped(&map);
            mapped.changed(7, &change, None);
            mapped.0.len()
        };
        assert_eq!(rest(asked(VA_UNMAP, 1, 0x1_0000, 0x4000)), 1);
        assert_eq!(rest(asked(VA_UNMAP, 2, 0x1_0000, 0x4000)), 2, "another's");
        assert_eq!(rest(asked(VA_CLEAR, 0, 0x1_0000, 0x8000)), 1);
        assert_eq!(rest(asked(VA_REPLACE, 3, 0x1_0000, 0x2_0000)), 1);
        let mut cleared = mapped(&map[..1]);
        cleared.changed(7, &asked(VA_CLEAR, 0, 0x1_2000, 0x1000), None);
        assert!(!is_found(&cleared, 0x1_0000, 0x1000), "in parts");
        let mut closed = mapped(&map);
        closed.closed((8, 1));
        assert_eq!(closed.0.len(), 2, "another file's");
        closed.closed((7, 1));
        assert!(closed.0.is_empty());
    }
}
