//! The packet processor: executes packets of the architected queueing language.
//!
//! Layouts: HSA platform system architecture specification 1.2, section 2.9; AMD's vendor packets
//! as ROCr's `hsa_ext_amd.h` and `amd_hsa_queue.h` describe them.

use std::sync::atomic::{Ordering, fence};

use super::dispatch::{self, Times};
use super::memory::{read, signal_value, translate, word16, word64};
use super::offers::Offers;
use super::process::Process;
use super::queue::{INVALID, Progress, QueueState};
use crate::clock;
use crate::device::{Device, event};
use crate::report::report;
use crate::space::Snapshot;
use crate::wave::{ComputeUnit, Program, Stop};

/// Packet types, bits 7:0 of the header.
const VENDOR: u8 = 0;
const KERNEL_DISPATCH: u8 = 2;
const BARRIER_AND: u8 = 3;
const BARRIER_OR: u8 = 5;
/// Formats of vendor packets, byte 2.
const FORMAT_PM4_IB: u8 = 1;
const FORMAT_BARRIER_VALUE: u8 = 2;

/// The bit by which a queue tells ROCr's error handler that a wave raised an exception.
const ERROR_TRAP: i64 = 1 << 31;
/// Offset of `queue_inactive_signal` in `amd_queue_t`.
const QUEUE_INACTIVE_SIGNAL: u64 = 192;
/// Offset of `read_dispatch_id` in `amd_queue_t`.
const READ_DISPATCH_ID: u64 = 128;

/// What is wrong with a packet.
enum Failure {
    Packet(String),
    Signal(u64),
    Wave(Stop),
}

/// The packet at the head of an AQL queue.
pub(super) struct Head<'a> {
    pub(super) process: &'a Process,
    pub(super) queue: &'a QueueState,
    pub(super) slot: usize,
    pub(super) space: &'a Snapshot,
    pub(super) index: u64,
}

impl Head<'_> {
    /// Executes the packet; it is consumed unless it waits.
    pub(super) fn execute(&self, offers: &Offers, unit: &mut ComputeUnit) -> Progress {
        let address = self.queue.packet(self.index);
        let Some(packet) = read::<64>(self.space, address) else {
            return self.stop(&Failure::Packet("its ring is not mapped".into()));
        };
        let result = match (packet[0], packet[2]) {
            (KERNEL_DISPATCH, _) => {
                let run = dispatch::Run {
                    process: self.process,
                    offers,
                    slot: self.slot,
                    queue: self.queue,
                    packet: &packet,
                    address,
                    queue_address: self.amd_queue(),
                    index: self.index,
                };
                let times = run.execute(self.space, unit);
                times.map(Some).map_err(Failure::Wave)
            }
            (BARRIER_AND, _) => match dependencies(self.space, &packet) {
                Ok(values) if values.iter().all(|value| *value == 0) => Ok(None),
                Ok(_) => return Progress::Waiting,
                Err(failure) => Err(failure),
            },
            (BARRIER_OR, _) => match dependencies(self.space, &packet) {
                Ok(values) if values.is_empty() || values.contains(&0) => Ok(None),
                Ok(_) => return Progress::Waiting,
                Err(failure) => Err(failure),
            },
            (VENDOR, FORMAT_BARRIER_VALUE) => match value_holds(self.space, &packet) {
                Ok(true) => Ok(None),
                Ok(false) => return Progress::Waiting,
                Err(failure) => Err(failure),
            },
            (VENDOR, FORMAT_PM4_IB) => {
                run_pm4(&self.process.program, self.space, &packet).map(|()| None)
            }
            (kind, format) => Err(Failure::Packet(format!(
                "AQL packet type {kind} format {format} is not implemented"
            ))),
        };
        let times = match result {
            Ok(times) => times,
            Err(failure) => return self.stop(&failure),
        };
        let completion = u64_at(&packet, 56);
        // Consumed before it is reported complete: the program may reuse the place then.
        if let Some(header) = word16(self.space, address) {
            header.store(u16::from(INVALID), Ordering::Release);
        }
        if let Some(pointer) = word64(self.space, self.queue.queue().read_pointer) {
            pointer.store(self.index + 1, Ordering::Release);
        }
        if completion != 0 && !self.complete(completion, times) {
            return self.stop(&Failure::Signal(completion));
        }
        Progress::Executed
    }

    /// Address of the queue's `amd_queue_t`.
    fn amd_queue(&self) -> u64 {
        self.queue.queue().read_pointer - READ_DISPATCH_ID
    }

    /// Reports completion through `amd_signal_t`: value @8, event mailbox @16, event id @24, start @32,
    /// end @40. False when the signal is not mapped. Whoever waits is woken when the packet is no longer
    /// resident.
    fn complete(&self, signal: u64, times: Option<Times>) -> bool {
        let space = self.space;
        let Some(value) = signal_value(space, signal + 8) else {
            return false;
        };
        let (start, end) = times.unwrap_or_else(|| {
            let now = clock::ticks();
            (now, now)
        });
        if let (Some(from), Some(to)) = (word64(space, signal + 32), word64(space, signal + 40)) {
            from.store(start, Ordering::Relaxed);
            to.store(end, Ordering::Relaxed);
        }
        // Read before the value says "done": the program may free the signal after that.
        let mailbox = word64(space, signal + 16).map_or(0, |word| word.load(Ordering::Relaxed));
        let event_id =
            word64(space, signal + 24).map_or(0, |word| word.load(Ordering::Relaxed)) as u32;
        value.fetch_sub(1, Ordering::AcqRel);
        if mailbox != 0 {
            if let Some(mail) = word64(space, mailbox) {
                mail.store(u64::from(event_id), Ordering::Release);
            }
            event::mark(self.process.device, self.slot, event_id);
        }
        true
    }

    /// Ends the queue and says why on stderr. Faults and traps are the program's: its runtime hears of
    /// them as from hardware. What this GPU cannot do ends the program, never in a wrong result.
    fn stop(&self, failure: &Failure) -> Progress {
        let (device, space) = (self.process.device, self.space);
        let text = match failure {
            Failure::Wave(stop) => stop.to_string(),
            Failure::Packet(text) => text.clone(),
            Failure::Signal(address) => format!("signal {address:#x} is not mapped"),
        };
        if matches!(failure, Failure::Wave(Stop::Evicted)) && self.queue.is_stopped() {
            // The queue is gone; nobody waits for this.
            return Progress::Stopped;
        }
        report(&format!("queue {}: {text}", self.queue.id()));
        self.queue.fail(device, self.slot);
        match failure {
            Failure::Wave(Stop::Fault { addr, write, .. }) => {
                let mapped = space.find(*addr).is_some();
                event::memory_fault(device, self.slot, *addr, *write, mapped);
            }
            Failure::Wave(Stop::Trap { .. }) => {
                let signal = word64(space, self.amd_queue() + QUEUE_INACTIVE_SIGNAL)
                    .map_or(0, |word| word.load(Ordering::Relaxed));
                if signal != 0 && translate(space, signal, 64).is_some() {
                    raise(device, self.slot, space, signal, ERROR_TRAP);
                }
            }
            Failure::Wave(Stop::Evicted) => {}
            Failure::Wave(Stop::Unknown { .. }) | Failure::Packet(_) | Failure::Signal(_) => {
                std::process::abort()
            }
        }
        Progress::Stopped
    }
}

fn u64_at(packet: &[u8; 64], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&packet[at..at + 8]);
    u64::from_le_bytes(bytes)
}

/// The values of a barrier's signals; absent ones are left out.
fn dependencies(space: &Snapshot, packet: &[u8; 64]) -> Result<Vec<i64>, Failure> {
    (0..5)
        .map(|index| u64_at(packet, 8 + index * 8))
        .filter(|signal| *signal != 0)
        .map(|signal| {
            signal_value(space, signal + 8)
                .map(|value| value.load(Ordering::Acquire))
                .ok_or(Failure::Signal(signal))
        })
        .collect()
}

/// The condition of a barrier-value packet: signal @8, value @16, mask @24, condition @32.
fn value_holds(space: &Snapshot, packet: &[u8; 64]) -> Result<bool, Failure> {
    let signal = u64_at(packet, 8);
    let value = signal_value(space, signal + 8).ok_or(Failure::Signal(signal))?;
    let masked = value.load(Ordering::Acquire) & u64_at(packet, 24).cast_signed();
    let reference = u64_at(packet, 16).cast_signed();
    match u64_at(packet, 32) as u32 {
        0 => Ok(masked == reference),
        1 => Ok(masked != reference),
        2 => Ok(masked < reference),
        3 => Ok(masked >= reference),
        other => Err(Failure::Packet(format!(
            "barrier condition {other} is not defined"
        ))),
    }
}

/// Runs the command buffer of a vendor packet: cache control only.
fn run_pm4(program: &Program, space: &Snapshot, packet: &[u8; 64]) -> Result<(), Failure> {
    const NOP: u32 = 0x10;
    const INDIRECT_BUFFER: u32 = 0x3f;
    const ACQUIRE_MEM: u32 = 0x58;
    let word = |at: usize| u64_at(packet, at) as u32;
    // The jump command stands at byte 4: header, address, size.
    if word(4) >> 30 != 3 || word(4) >> 8 & 0xff != INDIRECT_BUFFER {
        return Err(Failure::Packet(format!(
            "PM4 jump {:#010x} is not implemented",
            word(4)
        )));
    }
    let start = u64::from(word(8) & !3) | u64::from(word(12) & 0xffff) << 32;
    let end = start + u64::from(word(16) & 0xf_ffff) * 4;
    let mut at = start;
    while at < end {
        let bytes = read::<4>(space, at)
            .ok_or_else(|| Failure::Packet(format!("PM4 buffer at {at:#x} is not mapped")))?;
        let header = u32::from_le_bytes(bytes);
        match (header >> 30, header >> 8 & 0xff) {
            (3, ACQUIRE_MEM) => program.invalidate(),
            (3, NOP) => {}
            _ => {
                return Err(Failure::Packet(format!(
                    "PM4 packet {header:#010x} is not implemented"
                )));
            }
        }
        at += u64::from(header >> 16 & 0x3fff) * 4 + 8;
    }
    Ok(())
}

/// Sets a signal to a value.
fn raise(device: &Device, slot: usize, space: &Snapshot, signal: u64, code: i64) {
    if let Some(value) = signal_value(space, signal + 8) {
        value.store(code, Ordering::Release);
    }
    fence(Ordering::SeqCst);
    let mailbox = word64(space, signal + 16).map_or(0, |word| word.load(Ordering::Relaxed));
    let event_id = word64(space, signal + 24).map_or(0, |word| word.load(Ordering::Relaxed)) as u32;
    if mailbox != 0 {
        if let Some(mail) = word64(space, mailbox) {
            mail.store(u64::from(event_id), Ordering::Release);
        }
        event::mark(device, slot, event_id);
    }
}
