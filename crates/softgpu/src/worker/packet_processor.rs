//! The packet processor: executes packets of the architected queueing language.
//! What they do: HSA platform system architecture specification 1.2, section 2.9.

use std::fmt;
use std::sync::atomic::Ordering;

use strobe_kfd::aql::{
    BARRIER_AND, BARRIER_OR, Barrier, BarrierValue, FORMAT_BARRIER_VALUE, FORMAT_PM4_IB, INVALID,
    KERNEL_DISPATCH, Packet, Pm4Ib, READ_DISPATCH_ID, VENDOR_SPECIFIC,
};
use zerocopy::transmute;

use super::dispatch::{self, Times};
use super::exception::{Exception, event_of, set_event};
use super::memory::{read, signal, word16, word64};
use super::offers::Offers;
use super::process::Process;
use super::queue::{Progress, QueueState};
use crate::clock;
use crate::device::event;
use crate::report::report;
use crate::space::Snapshot;
use crate::wave::{ComputeUnit, Stop, WaveProgram};

/// Why a packet was not executed.
pub(super) enum Failure {
    /// It is wrong, on every GPU: the runtime hears of it.
    Exception(Exception, String),
    /// It names memory that is not mapped.
    Unmapped {
        what: &'static str,
        address: u64,
        write: bool,
    },
    /// This GPU cannot do it, though others can.
    Unable(String),
    Wave(Stop),
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Self::Wave(stop)
    }
}

impl From<(Exception, String)> for Failure {
    fn from((exception, text): (Exception, String)) -> Self {
        Self::Exception(exception, text)
    }
}

/// What becomes of a queue that failed.
enum Consequence {
    /// It is gone; nobody waits for this.
    Nothing,
    Exception(Exception),
    MemoryFault {
        address: u64,
        write: bool,
    },
    /// The program ends: it must not go on with a result that it would have elsewhere.
    End,
}

impl Failure {
    fn consequence(&self) -> Consequence {
        match *self {
            Self::Exception(exception, _) => Consequence::Exception(exception),
            Self::Unmapped { address, write, .. } => Consequence::MemoryFault { address, write },
            Self::Wave(Stop::Fault { addr, write, .. }) if is_canonical(addr) => {
                Consequence::MemoryFault {
                    address: addr,
                    write,
                }
            }
            Self::Wave(Stop::Fault { .. }) => Consequence::Exception(Exception::Aperture),
            Self::Wave(Stop::Illegal { .. }) => Consequence::Exception(Exception::Instruction),
            Self::Wave(Stop::Trap { id: ABORT, .. }) => Consequence::Exception(Exception::Abort),
            Self::Wave(Stop::Trap { .. }) => Consequence::Exception(Exception::Trap),
            Self::Wave(Stop::Evicted) => Consequence::Nothing,
            // A turn ends within its job.
            Self::Unable(_)
            | Self::Wave(Stop::Unknown { .. } | Stop::Damaged { .. } | Stop::TurnOver { .. }) => {
                Consequence::End
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exception(_, text) | Self::Unable(text) => f.write_str(text),
            Self::Unmapped { what, address, .. } => {
                write!(f, "{what} at {address:#x} is not mapped")
            }
            Self::Wave(stop) => stop.fmt(f),
        }
    }
}

/// `s_trap` of `abort` and `__builtin_trap`.
const ABORT: u8 = 2;

/// Whether page tables can have the address: its upper bits are those of bit 47. No wave gets as far as these with another.
fn is_canonical(address: u64) -> bool {
    matches!(address.cast_signed() >> 47, 0 | -1)
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
            return self.stop(&unmapped("its ring", address));
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
            (VENDOR_SPECIFIC, format) => Err(Failure::Exception(
                Exception::VendorPacket,
                format!("there is no AQL vendor packet of format {format}"),
            )),
            (kind, _) => Err(Failure::Exception(
                Exception::Packet,
                format!("no queue for kernels takes an AQL packet of type {kind}"),
            )),
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
            return self.stop(&Failure::Unmapped {
                what: "a completion signal",
                address: completion,
                write: true,
            });
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
        set_event(self.process.device, self.slot, self.space, event);
        true
    }

    /// Ends the queue and says why on stderr. What is wrong on every GPU is the program's: its runtime hears of it as
    /// from hardware. What this GPU cannot do ends the program, never in a wrong result.
    fn stop(&self, failure: &Failure) -> Progress {
        let (device, space) = (self.process.device, self.space);
        let consequence = failure.consequence();
        if matches!(consequence, Consequence::Nothing) && self.queue.is_stopped() {
            return Progress::Stopped;
        }
        report(&format!("queue {}: {failure}", self.queue.id()));
        self.queue.fail(device, self.slot);
        match consequence {
            Consequence::Nothing => {}
            Consequence::Exception(exception) => {
                let queue = (self.queue.queue(), self.amd_queue());
                exception.raise(device, self.slot, space, queue);
            }
            Consequence::MemoryFault { address, write } => {
                let mapped = space.find(address).is_some();
                let gpu = self.queue.gpu();
                event::memory_fault(device, (self.slot, gpu), address, write, mapped);
            }
            Consequence::End => std::process::abort(),
        }
        Progress::Stopped
    }
}

fn unmapped(what: &'static str, address: u64) -> Failure {
    Failure::Unmapped {
        what,
        address,
        write: false,
    }
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
    let signal = signal(space, address).ok_or_else(|| unmapped("a signal", address))?;
    Ok(signal.value.load(Ordering::Acquire))
}

/// The condition of a barrier-value packet.
fn value_holds(space: &Snapshot, packet: BarrierValue) -> Result<bool, Failure> {
    // Without a signal it depends on nothing (`hsa_ext_amd.h`); HIP has such on gfx942.
    if packet.signal == 0 {
        return Ok(true);
    }
    let (masked, reference) = (value(space, packet.signal)? & packet.mask, packet.value);
    match packet.cond {
        0 => Ok(masked == reference),
        1 => Ok(masked != reference),
        2 => Ok(masked < reference),
        3 => Ok(masked >= reference),
        other => Err(Failure::Exception(
            Exception::VendorPacket,
            format!("barrier condition {other} is not defined"),
        )),
    }
}

/// Runs the command buffer of a vendor packet: cache control only.
fn run_pm4(program: &WaveProgram, space: &Snapshot, packet: Pm4Ib) -> Result<(), Failure> {
    const NOP: u32 = 0x10;
    const INDIRECT_BUFFER: u32 = 0x3f;
    const ACQUIRE_MEM: u32 = 0x58;
    let [jump, low, high, size] = packet.ib_jump_cmd;
    if jump >> 30 != 3 || jump >> 8 & 0xff != INDIRECT_BUFFER {
        return Err(Failure::Unable(format!(
            "PM4 jump {jump:#010x} is not implemented"
        )));
    }
    let start = u64::from(low & !3) | u64::from(high & 0xffff) << 32;
    let end = start + u64::from(size & 0xf_ffff) * 4;
    let mut at = start;
    while at < end {
        let header = read::<u32>(space, at).ok_or_else(|| unmapped("a PM4 buffer", at))?;
        match (header >> 30, header >> 8 & 0xff) {
            (3, ACQUIRE_MEM) => program.invalidate(),
            (3, NOP) => {}
            _ => {
                return Err(Failure::Unable(format!(
                    "PM4 packet {header:#010x} is not implemented"
                )));
            }
        }
        at += u64::from(header >> 16 & 0x3fff) * 4 + 8;
    }
    Ok(())
}
