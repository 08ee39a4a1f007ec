//! Where GPU virtual addresses live in this process, and the only code that dereferences them.
//!
//! Rules: every access goes through [`Memory::host`], which checks it against a mapping that the
//! address space vouches for. Memory is shared with other workers and with the CPU threads of the
//! program, so no reference to it is ever made: all accesses are those of [`super::single`], or
//! read-modify-writes. One wave's accesses happen in program order as far as the host keeps it: a
//! load may be done before an earlier store, until the wave waits ([`Memory::settle`]).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use super::access_log::AccessLog;
use super::mask::active;
use super::register::{Addresses, Lanes};
use super::single::{Single, copy_bytes, load_words, store_words};
use super::stats::Stats;
use super::stop::Stop;
use crate::target::{LANES, LaneMask};

/// Translates GPU virtual addresses. Implemented by the kfd model over its page tables.
///
/// # Safety
/// While `epoch` has not changed, every mapping returned must stay valid: `host..host + (end -
/// start)` readable, and writable if `writable` says so. A mapping may only be taken away after
/// the workers that use it were evicted.
pub unsafe trait AddressSpace: Sync {
    /// The mapping that contains `va`; `None` is a memory fault.
    fn find(&self, va: u64) -> Option<HostMapping>;
    /// Changes whenever mappings change: cached translations are then dropped.
    fn epoch(&self) -> u64;
}

/// A contiguous range of GPU virtual addresses in contiguous host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostMapping {
    /// GPU address of the first byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// The host address of `start`.
    pub host: *mut u8,
    /// By kernels.
    pub writable: bool,
}

const NOTHING: HostMapping = HostMapping {
    start: 0,
    end: 0,
    host: std::ptr::null_mut(),
    writable: false,
};

/// An access that no mapping allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub addr: u64,
    pub write: bool,
}

impl Fault {
    #[cold]
    pub(super) fn at(self, pc: u64) -> Box<Stop> {
        Box::new(Stop::Fault {
            addr: self.addr,
            write: self.write,
            pc,
        })
    }
}

/// Why an access cannot be done in one piece.
enum Miss {
    /// It begins in one mapping and ends outside of it.
    Crosses,
    Fault(Fault),
}

/// Global memory as one worker sees it, with its last translations.
pub(super) struct Memory<'a> {
    space: &'a dyn AddressSpace,
    epoch: u64,
    /// Most recently used first.
    recent: [HostMapping; 4],
    pub log: Option<&'a mut AccessLog>,
    pub stats: Stats,
    /// Something was stored since the last wait.
    unsettled: bool,
}

impl<'a> Memory<'a> {
    pub(super) fn new(space: &'a dyn AddressSpace, log: Option<&'a mut AccessLog>) -> Self {
        Self {
            space,
            epoch: space.epoch(),
            recent: [NOTHING; 4],
            log,
            stats: Stats::default(),
            unsettled: false,
        }
    }

    /// Waits for the stores so far (`s_waitcnt` with `vmcnt`, in which stores count): later loads
    /// of this wave come after them for everyone. Stores are done in the host's order already.
    #[inline(always)]
    pub(super) fn settle(&mut self) {
        if std::mem::take(&mut self.unsettled) {
            fence(Ordering::SeqCst);
        } else {
            fence(Ordering::Acquire);
        }
    }

    /// Drops cached translations if mappings have changed.
    pub(super) fn refresh(&mut self) {
        let epoch = self.space.epoch();
        if epoch != self.epoch {
            self.epoch = epoch;
            self.recent = [NOTHING; 4];
        }
    }

    /// The host address of `len` bytes at `va`, all in one mapping that permits the access.
    #[inline(always)]
    fn host(&mut self, va: u64, len: u64, write: bool) -> Result<*mut u8, Miss> {
        let m = self.recent[0];
        let (offset, size) = (va.wrapping_sub(m.start), m.end - m.start);
        if offset < size && size - offset >= len && (m.writable || !write) {
            Ok(m.host.wrapping_add(offset as usize))
        } else {
            self.host_slow(va, len, write)
        }
    }

    #[cold]
    fn host_slow(&mut self, va: u64, len: u64, write: bool) -> Result<*mut u8, Miss> {
        let fault = Miss::Fault(Fault { addr: va, write });
        let cached = self
            .recent
            .iter()
            .position(|m| (m.start..m.end).contains(&va));
        let position = cached.unwrap_or(self.recent.len() - 1);
        if cached.is_none() {
            match self.space.find(va) {
                Some(found) if (found.start..found.end).contains(&va) => {
                    self.recent[position] = found;
                }
                _ => return Err(fault),
            }
        }
        self.recent[..=position].rotate_right(1);
        let m = self.recent[0];
        if write && !m.writable {
            Err(fault)
        } else if m.end - va < len {
            Err(Miss::Crosses)
        } else {
            Ok(m.host.wrapping_add((va - m.start) as usize))
        }
    }

    #[inline(always)]
    fn note(&mut self, va: u64, len: u64, write: bool) {
        if let Some(log) = self.log.as_deref_mut() {
            if write {
                log.write(va, len)
            } else {
                log.read(va, len)
            }
        }
    }

    /// Reads consecutive words (scalar loads, instruction fetch). Not logged.
    #[inline(always)]
    pub(super) fn fetch(&mut self, va: u64, out: &mut [u32]) -> Result<(), Fault> {
        match self.host(va, 4 * out.len() as u64, false) {
            Ok(at) => {
                // SAFETY: `host` vouches for as many readable bytes.
                unsafe { load_words(at, out) };
                Ok(())
            }
            // Some of it may be mapped, in pieces.
            Err(_) => {
                for (k, word) in out.iter_mut().enumerate() {
                    *word = self.read(va.wrapping_add(4 * k as u64))?;
                }
                Ok(())
            }
        }
    }

    /// Reads consecutive words, logged.
    pub(super) fn read_words(&mut self, va: u64, out: &mut [u32]) -> Result<(), Fault> {
        self.fetch(va, out)?;
        self.note(va, 4 * out.len() as u64, false);
        self.stats.bytes_read += 4 * out.len() as u64;
        Ok(())
    }

    #[inline(always)]
    fn set_words(&mut self, va: u64, words: &[u32]) -> Result<(), Fault> {
        match self.host(va, 4 * words.len() as u64, true) {
            Ok(at) => {
                // SAFETY: `host` vouches for as many writable bytes.
                unsafe { store_words(at, words) };
                Ok(())
            }
            Err(_) => {
                for (k, &word) in words.iter().enumerate() {
                    self.write(va.wrapping_add(4 * k as u64), word)?;
                }
                Ok(())
            }
        }
    }

    /// One integer at any alignment, not logged.
    #[inline(always)]
    fn read<T: Single>(&mut self, va: u64) -> Result<T, Fault> {
        match self.host(va, T::BYTES, false) {
            // SAFETY: `host` vouches for as many readable bytes.
            Ok(at) => Ok(unsafe { T::load(at) }),
            Err(Miss::Fault(fault)) => Err(fault),
            Err(Miss::Crosses) => {
                let mut bytes = [0; 8];
                for (k, byte) in (0..T::BYTES).zip(&mut bytes) {
                    let addr = va.wrapping_add(k);
                    match self.host(addr, 1, false) {
                        // SAFETY: `host` vouches for one readable byte.
                        Ok(at) => *byte = unsafe { u8::load(at) },
                        Err(_) => return Err(Fault { addr, write: false }),
                    }
                }
                Ok(T::from_bytes(bytes))
            }
        }
    }

    #[inline(always)]
    fn write<T: Single>(&mut self, va: u64, value: T) -> Result<(), Fault> {
        match self.host(va, T::BYTES, true) {
            Ok(at) => {
                // SAFETY: `host` vouches for as many writable bytes.
                unsafe { value.store(at) };
                Ok(())
            }
            Err(Miss::Fault(fault)) => Err(fault),
            Err(Miss::Crosses) => {
                for (k, byte) in (0..T::BYTES).zip(value.to_bytes()) {
                    let addr = va.wrapping_add(k);
                    match self.host(addr, 1, true) {
                        // SAFETY: `host` vouches for one writable byte.
                        Ok(at) => unsafe { byte.store(at) },
                        Err(_) => return Err(Fault { addr, write: true }),
                    }
                }
                Ok(())
            }
        }
    }

    /// Loads `N` words a lane.
    #[inline(always)]
    pub(super) fn load<const N: usize>(
        &mut self,
        exec: LaneMask,
        addrs: &Addresses,
        out: &mut [Lanes; N],
    ) -> Result<(), Fault> {
        let each = 4 * N as u64;
        self.stats.bytes_read += each * u64::from(exec.count_ones());
        if exec == !0
            && contiguous(addrs, each)
            && let Ok(at) = self.host(addrs[0], LANES as u64 * each, false)
        {
            self.note(addrs[0], LANES as u64 * each, false);
            let mut block = [[0_u32; N]; LANES];
            // SAFETY: `host` vouches for 64 * 4 * N readable bytes.
            unsafe { load_words(at, block.as_flattened_mut()) };
            for (lane, words) in block.iter().enumerate() {
                for k in 0..N {
                    out[k][lane] = words[k];
                }
            }
            return Ok(());
        }
        for lane in active(exec) {
            let va = addrs[lane];
            self.note(va, each, false);
            let mut words = [0; N];
            self.fetch(va, &mut words)?;
            for (column, word) in out.iter_mut().zip(words) {
                column[lane] = word;
            }
        }
        Ok(())
    }

    /// Stores `N` words a lane.
    #[inline(always)]
    pub(super) fn store<const N: usize>(
        &mut self,
        exec: LaneMask,
        addrs: &Addresses,
        data: &[&Lanes; N],
    ) -> Result<(), Fault> {
        let each = 4 * N as u64;
        self.unsettled = true;
        self.stats.bytes_written += each * u64::from(exec.count_ones());
        if exec == !0
            && contiguous(addrs, each)
            && let Ok(at) = self.host(addrs[0], LANES as u64 * each, true)
        {
            self.note(addrs[0], LANES as u64 * each, true);
            let mut block = [[0_u32; N]; LANES];
            for (lane, words) in block.iter_mut().enumerate() {
                for k in 0..N {
                    words[k] = data[k][lane];
                }
            }
            // SAFETY: `host` vouches for 64 * 4 * N writable bytes.
            unsafe { store_words(at, block.as_flattened()) };
            return Ok(());
        }
        for lane in active(exec) {
            let va = addrs[lane];
            self.note(va, each, true);
            self.set_words(va, &data.map(|column| column[lane]))?;
        }
        Ok(())
    }

    /// Loads one lane's `bytes` (1, 2, or a multiple of 4 up to 16) into words, zero-extended.
    pub(super) fn load_lane(&mut self, va: u64, bytes: u64) -> Result<[u32; 4], Fault> {
        self.note(va, bytes, false);
        self.stats.bytes_read += bytes;
        let mut words = [0; 4];
        match bytes {
            1 => words[0] = u32::from(self.read::<u8>(va)?),
            2 => words[0] = u32::from(self.read::<u16>(va)?),
            _ => self.fetch(va, &mut words[..bytes as usize / 4])?,
        }
        Ok(words)
    }

    /// Stores one lane's `bytes` (1, 2, or a multiple of 4 up to 16).
    pub(super) fn store_lane(&mut self, va: u64, bytes: u64, words: [u32; 4]) -> Result<(), Fault> {
        self.note(va, bytes, true);
        self.unsettled = true;
        self.stats.bytes_written += bytes;
        match bytes {
            1 => self.write(va, words[0] as u8),
            2 => self.write(va, words[0] as u16),
            _ => self.set_words(va, &words[..bytes as usize / 4]),
        }
    }

    /// The host address of `va`, and how many of `len` bytes from there on are in one mapping.
    fn part(&mut self, va: u64, len: u64, write: bool) -> Result<(*mut u8, u64), Fault> {
        let fault = Fault { addr: va, write };
        let at = self.host(va, 1, write).map_err(|_| fault)?;
        Ok((at, len.min(self.recent[0].end - va)))
    }

    /// Copies bytes inside of this memory, ascending; not logged.
    pub(super) fn copy(&mut self, to: u64, from: u64, len: u64) -> Result<(), Fault> {
        let mut done = 0;
        while done < len {
            let (source, readable) = self.part(from.wrapping_add(done), len - done, false)?;
            let (target, bytes) = self.part(to.wrapping_add(done), readable, true)?;
            // SAFETY: `part` vouches for both, of as many bytes.
            unsafe { copy_bytes(target, source, bytes as usize) };
            done += bytes;
        }
        Ok(())
    }

    /// Reads bytes, not logged.
    pub(super) fn get(&mut self, from: u64, into: &mut [u8]) -> Result<(), Fault> {
        let mut rest = into;
        let mut at = from;
        while !rest.is_empty() {
            let (source, bytes) = self.part(at, rest.len() as u64, false)?;
            let (part, later) = rest.split_at_mut(bytes as usize);
            // SAFETY: `part` vouches for as many readable bytes; the target is ours.
            unsafe { copy_bytes(part.as_mut_ptr(), source, part.len()) };
            (rest, at) = (later, at.wrapping_add(bytes));
        }
        Ok(())
    }

    /// Writes bytes, not logged.
    pub(super) fn put(&mut self, to: u64, bytes: &[u8]) -> Result<(), Fault> {
        let mut rest = bytes;
        let mut at = to;
        while !rest.is_empty() {
            let (target, bytes) = self.part(at, rest.len() as u64, true)?;
            let (part, later) = rest.split_at(bytes as usize);
            // SAFETY: `part` vouches for as many writable bytes; the source is ours.
            unsafe { copy_bytes(target, part.as_ptr(), part.len()) };
            (rest, at) = (later, at.wrapping_add(bytes));
        }
        Ok(())
    }

    /// Replaces a word by `f` of it in one atomic step and gives the old one. Unaligned atomics
    /// fault, as on the hardware.
    pub(super) fn atomic32(
        &mut self,
        va: u64,
        mut f: impl FnMut(u32) -> u32,
    ) -> Result<u32, Fault> {
        let fault = Fault {
            addr: va,
            write: true,
        };
        match self.host(va, 4, true) {
            Ok(at) if at.addr() % 4 == 0 => {
                self.note(va, 4, false);
                self.note(va, 4, true);
                // SAFETY: `host` vouches for 4 writable bytes; the address is aligned.
                let cell = unsafe { AtomicU32::from_ptr(at.cast()) };
                Ok(cell
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |x| Some(f(x)))
                    .unwrap_or_else(|x| x))
            }
            _ => Err(fault),
        }
    }

    pub(super) fn atomic64(
        &mut self,
        va: u64,
        mut f: impl FnMut(u64) -> u64,
    ) -> Result<u64, Fault> {
        let fault = Fault {
            addr: va,
            write: true,
        };
        match self.host(va, 8, true) {
            Ok(at) if at.addr() % 8 == 0 => {
                self.note(va, 8, false);
                self.note(va, 8, true);
                // SAFETY: `host` vouches for 8 writable bytes; the address is aligned.
                let cell = unsafe { AtomicU64::from_ptr(at.cast()) };
                Ok(cell
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |x| Some(f(x)))
                    .unwrap_or_else(|x| x))
            }
            _ => Err(fault),
        }
    }
}

/// Whether the lanes' addresses follow each other, `stride` bytes apart.
#[inline(always)]
pub(super) fn contiguous(addrs: &Addresses, stride: u64) -> bool {
    let mut differing = 0;
    for (lane, addr) in addrs.iter().enumerate() {
        differing |= addr ^ addrs[0].wrapping_add(lane as u64 * stride);
    }
    differing == 0
}
