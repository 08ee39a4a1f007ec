//! What waits for what while a checkpoint is copied, and while a restored program's memory arrives.
//!
//! The latter is [`Arriving`] in the program and [`FillOrder`] in who fills its memory, for which [`FirstUse`] takes note of
//! what is used first. Before the cut there may be rounds of copying ([`CopyRound`], [`Rounds`]). Which way is taken,
//! [`Facts`] decide. The rest of this page is about
//! what comes after the cut: soft copy-on-write and stop-the-world, at chunk granularity.
//!
//! Sans-IO: no thread, no clock, no file, no FFI. Whoever drives it (the agent, or a simulator)
//! reports events and carries out what is decided. [`Engine::begin`] is called at the cut, with
//! the gate closed and the device drained; from then on every chunk goes
//!
//! ```text
//!               next_copy                copy_done
//! unsaved ------------------> out in flight ----------------------------> saved
//!    |  before_write                       next_copy           copy_done    ^
//!    +-------------> aside(ticket) -----------------> (from the pool) ------+
//!       or stage
//! ```
//! Where the pool is large enough everything goes through it ([`Engine::stage`]): a copy inside the
//! device is short, and no writer waits for the link.
//!
//! What was [`SetAside`] before starts in the pool, and no write waits for it.
//!
//! What the driver must hold to, or the image is wrong:
//! - One engine per device. A call, the copies that its answer orders and the waits that it puts
//!   into a stream are one critical section: so copies are issued in the order of their tickets,
//!   the event of a ticket is recorded before anyone is told to wait for it, and a stream that
//!   counts as waiting for it does wait before anybody's next launch. Only the waits of
//!   [`Writer::Host`] and of [`Proceed::Blocked`] are outside.
//! - Asides are issued on one in-order stream of the agent's own ([`Lane::Aside`]), copy-outs on
//!   another ([`Lane::Out`]); neither ever waits for a stream of the program. Copy-outs need not wait
//!   for asides: [`Engine::aside_done`] is reported when they have arrived, and not before.
//! - Every operation that may write tracked memory, or take it away, asks [`Engine::before_write`]
//!   first and obeys. Frees, memsets, copies and mapped CPU access are writes like launches.
//! - At the cut nothing is under way that writes tracked memory.
//!
//! [`Driver`] does most of that on any [`Lanes`]; the agent's are the device's, and those of
//! `tests/simulator` break each of these rules on purpose: it finds the wrong image.
//!
//! What holds in return: the bytes that reach the ring for a chunk are its bytes at the cut. Whether
//! the second but last rule was kept, nobody can know beforehand: a footprint may be wrong, and the CPU
//! may write. So what is stored is compared with a fingerprint that was taken at the cut
//! ([`Validate`]), and [`Evidence`] says who may have broken it.

#![forbid(unsafe_code)]

mod arriving;
mod config;
mod copy_round;
mod driver;
mod engine;
mod fill_order;
mod first_use;
mod policy;
mod pool;
mod recopy;
mod ring;
mod statistics;
mod ticket;
mod validation;
mod writer;

pub use arriving::{ArrivalError, Arriving, Needed};
pub use config::{BeginError, Config, Mode, SetAside};
pub use copy_round::CopyRound;
pub use driver::{Driver, Lanes};
pub use engine::{CopyAside, CopyOut, Engine, Origin, Proceed, Source, WriteDecision};
pub use fill_order::FillOrder;
pub use first_use::FirstUse;
pub use policy::{Choice, ChosenFor, CopyRates, CopyWay, Facts, Predicted};
pub use recopy::{Outcome, Round, Rounds};
pub use ring::{RingSlot, SlotError};
pub use statistics::EngineStatistics;
pub use ticket::{Lane, Ticket, Waits};
pub use validation::{Evidence, Validate};
pub use writer::{KernelId, Writer};
