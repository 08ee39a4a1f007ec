//! The packet processor: executes packets of the architected queueing language.
//! What they do: HSA platform system architecture specification 1.2, section 2.9.

use std::sync::atomic::{Ordering, fence};

use strobe_kfd::aql::{
    BARRIER_AND, BARRIER_OR, Barrier, BarrierValue, FORMAT_BARRIER_VALUE, FORMAT_PM4_IB, INVALID,
    KERNEL_DISPATCH, Packet, Pm4Ib, QUEUE_INACTIVE_SIGNAL, READ_DISPATCH_ID, Signal,
    VENDOR_SPECIFIC,
};
use zerocopy::transmute;

use super::dispatch::{self, Times};
use super::memory::{read, signal, word16, word64};
use super::offers::Offers;
use super::process::Process;
use super::queue::{Progress, QueueState};
use crate::clock;
use crate::device::event;
use crate::report::report;
use crate::space::Snapshot;
use crate::wave::{ComputeUnit, Stop, WaveProgram};

/// The bit by which a queue tells ROCr's error handler that a wave raised an exception.
const ERROR_TRAP: i64 = 1 << 31;

/// What is wrong with a packet.
pub(super) enum Failure {
    Packet(String),
    Signal(u64),
    Wave(Stop),
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Self::Wave(stop)
    }
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
    /// Executes the packet; it is consumed unless it waits, or is evicted.
    pub(super) fn execute(&self, offers: &Offers, unit: &mut ComputeUnit) -> Progress {
        let address = self.queue.packet(self.index);
        let Some(packet) = read::<Packet>(self.space, address) else {
            return self.stop(&Failure::Packet("its ring is not mapped".into()));
        };
        let result = match (packet.kind, packet.format) {
            (KERNEL_DISPATCH, _) => {
                let run = dispatch::Run {
                    process: self.process,
                    offers,
                    slot: self.slot,
                    queue: self.queue,
                    packet: transmute!(packet),
                    address,
                    queue_address: self.amd_queue(),
                    index: self.index,
                };
                match run.execute(self.space, unit) {
                    Ok(Some(times)) => Ok(Some(times)),
                    Ok(None) => return Progress::Left,
                    Err(failure) => Err(failure),
                }
            }
            (BARRIER_AND, _) => match dependencies(self.space, transmute!(packet)) {
                Ok(values) if values.iter().all(|value| *value == 0) => Ok(None),
                Ok(_) => return Progress::Waiting,
                Err(failure) => Err(failure),
            },
            (BARRIER_OR, _) => match dependencies(self.space, transmute!(packet)) {
                Ok(values) if values.is_empty() || values.contains(&0) => Ok(None),
                Ok(_) => return Progress::Waiting,
                Err(failure) => Err(failure),
            },
            (VENDOR_SPECIFIC, FORMAT_BARRIER_VALUE) => {
                match value_holds(self.space, transmute!(packet)) {
                    Ok(true) => Ok(None),
                    Ok(false) => return Progress::Waiting,
                    Err(failure) => Err(failure),
                }
            }
            (VENDOR_SPECIFIC, FORMAT_PM4_IB) => run_pm4(
                &self.process.on(self.queue.gpu()).program,
                self.space,
                transmute!(packet),
            )
            .map(|()| None),
            (kind, format) => Err(Failure::Packet(format!(
                "AQL packet type {kind} format {format} is not implemented"
            ))),
        };
        let times = match result {
            Ok(times) => times,
            Err(failure) => return self.stop(&failure),
        };
        let completion = packet.completion_signal;
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

    /// Reports completion. False when the signal is not mapped. Whoever waits is woken when the packet
    /// is no longer resident.
    fn complete(&self, address: u64, times: Option<Times>) -> bool {
        let Some(signal) = signal(self.space, address) else {
            return false;
        };
        let (start, end) = times.unwrap_or_else(|| {
            let now = clock::ticks();
            (now, now)
        });
        signal.start_ts.store(start, Ordering::Relaxed);
        signal.end_ts.store(end, Ordering::Relaxed);
        // Read before the value says "done": the program may free the signal after that.
        let event = event_of(signal);
        signal.value.fetch_sub(1, Ordering::AcqRel);
        self.set(event);
        true
    }

    /// Sets a signal's event, if it has one.
    fn set(&self, (mailbox, id): (u64, u32)) {
        if mailbox != 0 {
            if let Some(mail) = word64(self.space, mailbox) {
                mail.store(u64::from(id), Ordering::Release);
            }
            event::mark(self.process.device, self.slot, id);
        }
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
                event::memory_fault(device, (self.slot, self.queue.gpu()), *addr, *write, mapped);
            }
            Failure::Wave(Stop::Trap { .. }) => {
                let signal = word64(space, self.amd_queue() + QUEUE_INACTIVE_SIGNAL)
                    .map(|word| word.load(Ordering::Relaxed))
                    .filter(|address| *address != 0)
                    .and_then(|address| signal(space, address));
                if let Some(signal) = signal {
                    signal.value.store(ERROR_TRAP, Ordering::Release);
                    fence(Ordering::SeqCst);
                    self.set(event_of(signal));
                }
            }
            Failure::Wave(Stop::Evicted) => {}
            Failure::Wave(Stop::Unknown { .. } | Stop::Damaged { .. })
            | Failure::Packet(_)
            | Failure::Signal(_) => std::process::abort(),
        }
        Progress::Stopped
    }
}

/// Mailbox and id of the event that a signal sets.
fn event_of(signal: &Signal) -> (u64, u32) {
    let mailbox = signal.event_mailbox_ptr.load(Ordering::Relaxed);
    (mailbox, signal.event_id.load(Ordering::Relaxed))
}

/// The values of a barrier's signals; absent ones are left out.
fn dependencies(space: &Snapshot, packet: Barrier) -> Result<Vec<i64>, Failure> {
    let signals = packet.dep_signal.into_iter();
    signals
        .filter(|address| *address != 0)
        .map(|address| value(space, address))
        .collect()
}

fn value(space: &Snapshot, address: u64) -> Result<i64, Failure> {
    let signal = signal(space, address).ok_or(Failure::Signal(address))?;
    Ok(signal.value.load(Ordering::Acquire))
}

/// The condition of a barrier-value packet.
fn value_holds(space: &Snapshot, packet: BarrierValue) -> Result<bool, Failure> {
    let (masked, reference) = (value(space, packet.signal)? & packet.mask, packet.value);
    match packet.cond {
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
fn run_pm4(program: &WaveProgram, space: &Snapshot, packet: Pm4Ib) -> Result<(), Failure> {
    const NOP: u32 = 0x10;
    const INDIRECT_BUFFER: u32 = 0x3f;
    const ACQUIRE_MEM: u32 = 0x58;
    let [jump, low, high, size] = packet.ib_jump_cmd;
    if jump >> 30 != 3 || jump >> 8 & 0xff != INDIRECT_BUFFER {
        return Err(Failure::Packet(format!(
            "PM4 jump {jump:#010x} is not implemented"
        )));
    }
    let start = u64::from(low & !3) | u64::from(high & 0xffff) << 32;
    let end = start + u64::from(size & 0xf_ffff) * 4;
    let mut at = start;
    while at < end {
        let header = read::<u32>(space, at)
            .ok_or_else(|| Failure::Packet(format!("PM4 buffer at {at:#x} is not mapped")))?;
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
