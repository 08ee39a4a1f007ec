//! The copy engine: executes one SDMA 4.x packet at a time.
//!
//! Field positions are those of the Linux driver's `vega10_sdma_pkt_open.h`.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use strobe_kfd::sdma::{
    OP_ATOMIC, OP_CONST_FILL, OP_COPY, OP_FENCE, OP_NOP, OP_POLL_REGMEM, OP_TIMESTAMP, OP_TRAP,
    OP_WRITE, SUBOP_COPY_LINEAR, SUBOP_COPY_LINEAR_RECT,
};
use thiserror::Error;

use crate::clock;
use crate::device::Device;
use crate::device::event;
use crate::precedence::Precedence;
use crate::space::Snapshot;
use crate::time_model::{self, Path};

/// Why a packet could not be executed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum SdmaError {
    #[error("SDMA packet {op}.{sub_op} is not implemented (first word {word:#010x})")]
    Unknown { op: u8, sub_op: u8, word: u32 },
    #[error("SDMA atomic operation {0} is not implemented")]
    UnknownAtomic(u32),
    #[error("SDMA {} of address {va:#x}, which is not mapped", if *.write { "write" } else { "read" })]
    Fault { va: u64, write: bool },
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done {
        dwords: u32,
    },
    /// It polls memory that has not the value yet: to be tried again.
    Wait,
}

/// An engine with the address space it works in.
pub(crate) struct Engine<'a> {
    pub(crate) device: &'a Device,
    /// The GPU that has the engine.
    pub(crate) gpu: usize,
    pub(crate) snapshot: &'a Snapshot,
    /// The process that traps go to; none for submissions through a render node.
    pub(crate) slot: Option<usize>,
}

type Fetch<'a> = dyn Fn(u64) -> Result<u32, SdmaError> + 'a;

impl Engine<'_> {
    /// Executes the packet whose words `fetch` gives.
    pub(crate) fn execute(&self, fetch: &Fetch<'_>) -> Result<Outcome, SdmaError> {
        let word = fetch(0)?;
        let (op, sub_op) = (word as u8, (word >> 8) as u8);
        let address = |at: u64| Ok(u64::from(fetch(at)?) | u64::from(fetch(at + 1)?) << 32);
        let dwords = match (op, sub_op) {
            (OP_NOP, _) => 1 + (word >> 16 & 0x3fff),
            (OP_COPY, SUBOP_COPY_LINEAR) => {
                let bytes = u64::from(fetch(1)? & 0x3f_ffff) + 1;
                self.copy(address(3)?, address(5)?, bytes)?;
                7
            }
            (OP_COPY, SUBOP_COPY_LINEAR_RECT) => {
                self.copy_rect(word, fetch)?;
                13
            }
            (OP_WRITE, 0) => {
                let count = (fetch(3)? & 0xf_ffff) + 1;
                let destination = address(1)?;
                for index in 0..u64::from(count) {
                    self.write_u32(destination + index * 4, fetch(4 + index)?)?;
                }
                4 + count
            }
            (OP_FENCE, _) => {
                self.write_u32(address(1)?, fetch(3)?)?;
                4
            }
            (OP_TRAP, _) => {
                self.trap(fetch(1)? & 0xfff_ffff);
                2
            }
            (OP_POLL_REGMEM, _) => {
                // Without the memory bit it polls a register: a flush of the host data path, which
                // has nothing to flush here.
                if word >> 31 != 0 && !self.poll(word, address(1)?, fetch(3)?, fetch(4)?)? {
                    return Ok(Outcome::Wait);
                }
                6
            }
            (OP_ATOMIC, _) => {
                self.atomic(word >> 25, address(1)?, address(3)?)?;
                8
            }
            (OP_CONST_FILL, _) => {
                self.fill(word >> 30, address(1)?, fetch(3)?, fetch(4)? & 0x3f_ffff)?;
                5
            }
            // 1: local, 2: global time stamp.
            (OP_TIMESTAMP, 1 | 2) => {
                let host = self.translate(address(1)?, 8, true)?;
                // SAFETY: translated for 8 writable bytes.
                unsafe { host.cast::<u64>().write_unaligned(clock::ticks()) };
                3
            }
            _ => return Err(SdmaError::Unknown { op, sub_op, word }),
        };
        Ok(Outcome::Done { dwords })
    }

    /// The host address of a range that lies in one mapping.
    fn translate(&self, va: u64, bytes: u64, write: bool) -> Result<*mut u8, SdmaError> {
        let fault = SdmaError::Fault { va, write };
        let mapping = self.snapshot.find(va).ok_or(fault)?.mapping;
        if mapping.end - va < bytes || (write && !mapping.writable) {
            return Err(fault);
        }
        Ok(mapping.host.wrapping_add((va - mapping.start) as usize))
    }

    pub(crate) fn read_u32(&self, va: u64) -> Result<u32, SdmaError> {
        let host = self.translate(va, 4, false)?;
        // SAFETY: translated for 4 bytes. Others may write at the same time, as on hardware.
        Ok(unsafe { host.cast::<u32>().read_volatile() })
    }

    fn write_u32(&self, va: u64, value: u32) -> Result<(), SdmaError> {
        let host = self.translate(va & !3, 4, true)?;
        // SAFETY: translated for 4 writable bytes at a multiple of 4.
        unsafe { AtomicU32::from_ptr(host.cast()) }.store(value, Ordering::Release);
        Ok(())
    }

    fn copy(&self, source: u64, destination: u64, bytes: u64) -> Result<(), SdmaError> {
        let _precedence = Precedence::take(self.device);
        let began = time_model::now_ns();
        let (mut sources, mut destinations) = (Place::default(), Place::default());
        let mut done = 0;
        while done < bytes {
            let (from, to) = (source + done, destination + done);
            let out = self.snapshot.find(from).ok_or(SdmaError::Fault {
                va: from,
                write: false,
            })?;
            let into = self.snapshot.find(to).ok_or(SdmaError::Fault {
                va: to,
                write: true,
            })?;
            sources.add(out.vram_of);
            destinations.add(into.vram_of);
            let run = (bytes - done)
                .min(out.mapping.end - from)
                .min(into.mapping.end - to);
            let read = self.translate(from, run, false)?;
            let write = self.translate(to, run, true)?;
            // SAFETY: both are translated for `run` bytes; the ranges may overlap.
            unsafe { read.copy_to(write, run as usize) };
            done += run;
        }
        let path = Path::between(sources.vram_of(), destinations.vram_of(), self.gpu);
        time_model::keep(self.device, path, bytes, began);
        Ok(())
    }

    fn copy_rect(&self, word: u32, fetch: &Fetch<'_>) -> Result<(), SdmaError> {
        let element = 1u64 << (word >> 29);
        let side = |at: u64| -> Result<_, SdmaError> {
            let base = u64::from(fetch(at)?) | u64::from(fetch(at + 1)?) << 32;
            let (xy, zp) = (fetch(at + 2)?, fetch(at + 3)?);
            let pitch = (u64::from(zp >> 13) + 1) * element;
            let slice = (u64::from(fetch(at + 4)? & 0xfff_ffff) + 1) * element;
            let x = u64::from(xy & 0x3fff) * element;
            let y = u64::from(xy >> 16 & 0x3fff);
            let z = u64::from(zp & 0x7ff);
            Ok((base + x + y * pitch + z * slice, pitch, slice))
        };
        let (source, source_pitch, source_slice) = side(1)?;
        let (destination, pitch, slice) = side(6)?;
        let (xy, z) = (fetch(11)?, fetch(12)?);
        let width = (u64::from(xy & 0x3fff) + 1) * element;
        let height = u64::from(xy >> 16 & 0x3fff) + 1;
        let depth = u64::from(z & 0x7ff) + 1;
        for (plane, row) in (0..depth).flat_map(|z| (0..height).map(move |y| (z, y))) {
            self.copy(
                source + plane * source_slice + row * source_pitch,
                destination + plane * slice + row * pitch,
                width,
            )?;
        }
        Ok(())
    }

    fn trap(&self, context: u32) {
        if let Some(slot) = self.slot
            && (context == 0 || !event::mark(self.device, slot, context))
        {
            event::mark_all(self.device, slot);
        }
    }

    fn poll(&self, word: u32, va: u64, reference: u32, mask: u32) -> Result<bool, SdmaError> {
        let value = self.read_u32(va)? & mask;
        Ok(match word >> 28 & 7 {
            1 => value < reference,
            2 => value <= reference,
            3 => value == reference,
            4 => value != reference,
            5 => value >= reference,
            6 => value > reference,
            _ => true,
        })
    }

    fn atomic(&self, operation: u32, va: u64, data: u64) -> Result<(), SdmaError> {
        /// `TC_OP_ATOMIC_ADD_RTN_64`.
        const ADD_64: u32 = 47;
        if operation != ADD_64 {
            return Err(SdmaError::UnknownAtomic(operation));
        }
        let host = self.translate(va & !7, 8, true)?;
        // SAFETY: translated for 8 writable bytes at a multiple of 8.
        unsafe { AtomicU64::from_ptr(host.cast()) }.fetch_add(data, Ordering::AcqRel);
        Ok(())
    }

    fn fill(&self, size: u32, va: u64, data: u32, count: u32) -> Result<(), SdmaError> {
        let _precedence = Precedence::take(self.device);
        let began = time_model::now_ns();
        let unit = 1usize << size.min(2);
        let bytes = u64::from(count) / unit as u64 * unit as u64 + unit as u64;
        let pattern = &data.to_le_bytes()[..unit];
        let mut destination = Place::default();
        let mut done = 0;
        while done < bytes {
            let at = va + done;
            let region = self.snapshot.find(at).ok_or(SdmaError::Fault {
                va: at,
                write: true,
            })?;
            destination.add(region.vram_of);
            let run = (bytes - done).min(region.mapping.end - at);
            let host = self.translate(at, run, true)?;
            // A word is written at once.
            if unit == 4 && at.is_multiple_of(4) && run.is_multiple_of(4) {
                for index in 0..run as usize / 4 {
                    // SAFETY: translated for `run` writable bytes, at a multiple of 4.
                    unsafe { AtomicU32::from_ptr(host.add(4 * index).cast()) }
                        .store(data, Ordering::Relaxed);
                }
                done += run;
                continue;
            }
            for index in 0..run as usize {
                // SAFETY: translated for `run` writable bytes.
                unsafe {
                    host.add(index)
                        .write(pattern[(done as usize + index) % unit])
                };
            }
            done += run;
        }
        let path = Path::between(Some(self.gpu), destination.vram_of(), self.gpu);
        time_model::keep(self.device, path, bytes, began);
        Ok(())
    }
}

/// Where the bytes of one side of a copy are: in the VRAM of one GPU, or not all of them.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    first: Option<Option<usize>>,
    apart: bool,
}

impl Place {
    fn add(&mut self, vram_of: Option<usize>) {
        self.apart |= *self.first.get_or_insert(vram_of) != vram_of;
    }

    fn vram_of(self) -> Option<usize> {
        self.first.flatten().filter(|_| !self.apart)
    }
}

#[cfg(test)]
mod tests {
    use strobe_kfd::sdma::CopyLinear;
    use zerocopy::IntoBytes;

    use super::*;
    use crate::space::Region;
    use crate::wave::HostMapping;

    const A: u64 = 0x10_0000;
    const B: u64 = 0x20_0000;

    /// Two buffers at A and B; A continues in a second mapping, B is followed by nothing.
    struct Bench {
        device: Device,
        snapshot: Snapshot,
        a: Vec<u8>,
        b: Vec<u8>,
    }

    fn bench() -> Bench {
        let mut a: Vec<u8> = (0..8192).map(|i| (i % 251) as u8).collect();
        let mut b = vec![0; 8192];
        let region = |start, host: *mut u8, bytes, writable| Region {
            mapping: HostMapping {
                start,
                end: start + bytes,
                host,
                writable,
            },
            vram_of: Some(0),
            serial: 0,
        };
        let snapshot = Snapshot::of(vec![
            region(A, a.as_mut_ptr(), 4096, false),
            region(A + 4096, a.as_mut_ptr().wrapping_add(4096), 4096, false),
            region(B, b.as_mut_ptr(), 8192, true),
        ]);
        Bench {
            device: Device::anonymous(),
            snapshot,
            a,
            b,
        }
    }

    fn execute(bench: &Bench, words: &[u32]) -> Result<Outcome, SdmaError> {
        let engine = Engine {
            device: &bench.device,
            gpu: 0,
            snapshot: &bench.snapshot,
            slot: None,
        };
        engine.execute(&|at| Ok(words[at as usize]))
    }

    fn words(packet: &CopyLinear) -> Vec<u32> {
        let bytes = packet.as_bytes().chunks_exact(4);
        bytes
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect()
    }

    #[test]
    fn a_copy_crosses_mappings_and_stops_at_its_last_byte() {
        let bench = bench();
        let done = execute(&bench, &words(&CopyLinear::new(A + 4000, B + 1, 200)));
        assert_eq!(done, Ok(Outcome::Done { dwords: 7 }));
        assert_eq!(bench.b[1..201], bench.a[4000..4200]);
        assert_eq!((bench.b[0], bench.b[201]), (0, 0));
    }

    #[test]
    fn accesses_outside_or_against_the_mapping_are_faults() {
        let bench = bench();
        let read = execute(&bench, &words(&CopyLinear::new(A + 8000, B, 400)));
        assert_eq!(
            read,
            Err(SdmaError::Fault {
                va: A + 8192,
                write: false
            })
        );
        let write = execute(&bench, &words(&CopyLinear::new(B, A, 4)));
        assert_eq!(write, Err(SdmaError::Fault { va: A, write: true }));
    }

    #[test]
    fn a_rectangle_is_copied_row_by_row() {
        let bench = bench();
        // 5 x 3 bytes from (2, 1) of a plane with pitch 100 to (0, 0) of one with pitch 16.
        let packet = [
            u32::from(OP_COPY) | u32::from(SUBOP_COPY_LINEAR_RECT) << 8,
            A as u32,
            0,
            2 | 1 << 16,
            99 << 13,
            9999,
            B as u32,
            0,
            0,
            15 << 13,
            255,
            4 | 2 << 16,
            0,
        ];
        assert_eq!(execute(&bench, &packet), Ok(Outcome::Done { dwords: 13 }));
        for row in 0..3 {
            let source = (row + 1) * 100 + 2;
            assert_eq!(bench.b[row * 16..row * 16 + 5], bench.a[source..source + 5]);
            assert_eq!(bench.b[row * 16 + 5], 0);
        }
    }

    #[test]
    fn polling_waits_for_the_value_and_registers_are_ready() {
        let bench = bench();
        // Equal, memory: the first word of A is 0x03020100.
        let poll = |flags: u32, value| {
            execute(
                &bench,
                &[
                    u32::from(OP_POLL_REGMEM) | flags,
                    A as u32,
                    0,
                    value,
                    0xff00,
                    0,
                ],
            )
        };
        assert_eq!(
            poll(3 << 28 | 1 << 31, 0x0100),
            Ok(Outcome::Done { dwords: 6 })
        );
        assert_eq!(poll(3 << 28 | 1 << 31, 0x0200), Ok(Outcome::Wait));
        assert_eq!(poll(3 << 28, 0x0200), Ok(Outcome::Done { dwords: 6 }));
    }

    #[test]
    fn fences_fills_and_atomics_write_what_they_say() {
        let bench = bench();
        let b = B as u32;
        execute(&bench, &[u32::from(OP_FENCE), b, 0, 0xdead_beef]).expect("fence");
        assert_eq!(bench.b[..4], 0xdead_beef_u32.to_le_bytes());
        // 12 bytes of words: the count is the bytes less one word.
        let fill = [u32::from(OP_CONST_FILL) | 2 << 30, b + 8, 0, 0x0403_0201, 8];
        execute(&bench, &fill).expect("fill");
        assert_eq!(bench.b[8..20], [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4]);
        assert_eq!(bench.b[20], 0);
        let minus_one = [
            u32::from(OP_ATOMIC) | 47 << 25,
            b + 64,
            0,
            u32::MAX,
            u32::MAX,
            0,
            0,
            0,
        ];
        execute(&bench, &minus_one).expect("atomic");
        assert_eq!(bench.b[64..72], [0xff; 8]);
    }

    #[test]
    fn an_unknown_packet_is_named() {
        let error = execute(&bench(), &[0x0000_070c]).expect_err("no such packet");
        assert_eq!(
            error,
            SdmaError::Unknown {
                op: 12,
                sub_op: 7,
                word: 0x070c
            }
        );
    }
}
