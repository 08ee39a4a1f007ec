//! Semantics of instructions, one short program each, in both builds of the interpreter.
//!
//! The words were assembled by llvm-mc (their text stands beside them); what they must do is
//! computed by the host, or taken from the manual.

#![allow(
    clippy::needless_range_loop,
    reason = "a lane number indexes several registers"
)]

mod cdna2;
mod cdna3;
mod control;
mod data_share;
mod exchange;
mod float;
mod integer;
mod memory;
mod modifiers;
mod saved;

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use strobe_code_object::Descriptor;
use strobe_isa::Target;
use strobe_kfd::aql::KernelDispatch;

use super::host::{Control, Host};
use super::memory::{AddressSpace, HostMapping};
use super::register::Lanes;
use super::state::Wave;
use super::stop::Stop;
use super::unit::ComputeUnit;
use super::{AccessLog, Dispatch, WaveProgram};

/// Where programs and data are, for the GPU. The mapping before it is read-only.
const CODE: u64 = 0x10_0000_0000;
const DATA: u64 = CODE + 0x1000;
const DATA_WORDS: usize = 4096;

struct Space(Box<[Cell<u32>]>);

// SAFETY: one thread uses it at a time; it is `Sync` only because the trait asks for that.
unsafe impl Sync for Space {}

// SAFETY: the memory is one allocation that lives as long as `self` and never moves; the first
// page is not written to.
unsafe impl AddressSpace for Space {
    fn find(&self, va: u64) -> Option<HostMapping> {
        let host: *mut u8 = self.0.as_ptr().cast_mut().cast();
        let data = HostMapping {
            start: DATA,
            end: DATA + 4 * DATA_WORDS as u64,
            host: host.wrapping_add(0x1000),
            writable: true,
        };
        let code = HostMapping {
            start: CODE,
            end: DATA,
            host,
            writable: false,
        };
        [code, data]
            .into_iter()
            .find(|m| (m.start..m.end).contains(&va))
    }

    fn epoch(&self) -> u64 {
        0
    }
}

#[derive(Default)]
struct Recorder(AtomicU32);

impl Host for Recorder {
    fn interrupt(&self, m0: u32) {
        self.0.store(m0, Ordering::Relaxed);
    }

    fn ticks(&self) -> u64 {
        0x1_0000_0002
    }
}

/// A program and what it starts with.
struct Test {
    target: &'static Target,
    words: Vec<u32>,
    items: u16,
    private: u32,
    data: Vec<u32>,
    /// What the local data share holds at the start; the rest is zero.
    lds: Vec<u32>,
    mode: u32,
}

/// What a program left behind.
struct End {
    unit: ComputeUnit,
    data: Vec<u32>,
    interrupt: u32,
    log: AccessLog,
}

impl End {
    fn wave(&self) -> &Wave {
        &self.unit.waves[0]
    }

    fn vector(&self, reg: u16) -> &Lanes {
        self.wave().vector(reg)
    }

    fn u64(&self, reg: u16) -> [u64; 64] {
        let (lo, hi) = (self.vector(reg), self.vector(reg + 1));
        std::array::from_fn(|i| u64::from(lo[i]) | u64::from(hi[i]) << 32)
    }
}

/// Round to nearest even, subnormals kept, DX10 clamp, IEEE.
const USUAL_MODE: u32 = 0x3f0;

impl Test {
    /// A program of one wave; `s_endpgm` is added.
    fn new(words: &[u32]) -> Self {
        let mut words = words.to_vec();
        words.push(0xbf81_0000); // s_endpgm
        Self {
            target: Target::DEFAULT,
            words,
            items: 64,
            private: 0,
            data: Vec::new(),
            lds: Vec::new(),
            mode: USUAL_MODE,
        }
    }

    /// Runs in one build; `setup` gets each wave and its number.
    fn run(&self, portable: bool, setup: &dyn Fn(usize, &mut Wave)) -> Result<End, Stop> {
        self.run_evicted(portable, None, setup)
    }

    /// The same, saved every so many instructions and gone on with by another compute unit.
    fn run_evicted(
        &self,
        portable: bool,
        every: Option<u64>,
        setup: &dyn Fn(usize, &mut Wave),
    ) -> Result<End, Stop> {
        let space = Space(vec![Cell::new(0); 0x400 + DATA_WORDS].into_boxed_slice());
        for (cell, &word) in space.0.iter().zip(&self.words) {
            cell.set(word);
        }
        for (cell, &word) in space.0[0x400..].iter().zip(&self.data) {
            cell.set(word);
        }
        let dispatch = Dispatch {
            target: self.target,
            packet: KernelDispatch {
                workgroup_size: [self.items, 1, 1],
                grid_size: [u32::from(self.items), 1, 1],
                private_segment_size: self.private,
                group_segment_size: 4096,
                kernel_object: CODE,
                kernarg_address: DATA,
                ..KernelDispatch::default()
            },
            descriptor: Descriptor {
                rsrc1: 0x3f
                    | (self.mode & 0xff) << 12
                    | (self.mode >> 8 & 1) << 21
                    | (self.mode >> 9 & 1) << 23,
                rsrc2: 6 << 1,
                // Private segment buffer, kernarg pointer.
                properties: 1 | 1 << 3,
                // 256 vector registers; where accumulation registers are behind them, as many.
                rsrc3: 0x3f,
                ..Descriptor::default()
            },
            ..Dispatch::default()
        };
        let (word, host) = (AtomicU32::new(0), Recorder::default());
        let control = Control {
            word: &word,
            reasons: 1,
            host: &host,
        };
        let new_unit = || {
            let mut unit = if portable {
                ComputeUnit::portable()
            } else {
                ComputeUnit::new()
            };
            if let Some(instructions) = every {
                unit.let_go_after(instructions);
            }
            unit
        };
        let mut unit = new_unit();
        let mut log = AccessLog::new();
        let count = unit.start(&dispatch, [0; 3]);
        unit.lds.words[..self.lds.len()].copy_from_slice(&self.lds);
        for (index, wave) in unit.waves[..count].iter_mut().enumerate() {
            setup(index, wave);
        }
        let (program, id) = (WaveProgram::new(self.target), [0; 3]);
        while let Err(stop) = unit.go_on(&dispatch, &program, &space, id, &control, Some(&mut log))
        {
            if stop != Stop::Evicted {
                return Err(stop);
            }
            let saved = unit.save(&dispatch, id);
            unit = new_unit();
            unit.restore(&dispatch, id, &saved)?;
        }
        Ok(End {
            unit,
            data: space.0[0x400..].iter().map(Cell::get).collect(),
            interrupt: host.0.load(Ordering::Relaxed),
            log,
        })
    }

    /// Runs in both builds, evicted after every instruction and not at all, and checks each.
    #[track_caller]
    fn both(&self, setup: impl Fn(usize, &mut Wave), check: impl Fn(&mut End)) {
        for (portable, every) in [
            (false, None),
            (true, None),
            (false, Some(1)),
            (true, Some(3)),
        ] {
            let mut end = self
                .run_evicted(portable, every, &setup)
                .unwrap_or_else(|stop| panic!("{stop}"));
            check(&mut end);
        }
    }

    /// Runs a program that must not get to its end.
    fn stops(&self, setup: impl Fn(usize, &mut Wave)) -> Stop {
        match self.run(false, &setup) {
            Ok(_) => panic!("the program ran to its end"),
            Err(stop) => stop,
        }
    }
}

/// Reproducible numbers, a lane each.
fn random(seed: u32) -> Lanes {
    let mut x = seed.wrapping_mul(2_654_435_761) | 1;
    std::array::from_fn(|_| {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        x
    })
}

fn set_u64(w: &mut Wave, reg: u16, values: &[u64; 64]) {
    *w.vector_mut(reg) = values.map(|v| v as u32);
    *w.vector_mut(reg + 1) = values.map(|v| (v >> 32) as u32);
}

fn random_u64(seed: u32) -> [u64; 64] {
    let (lo, hi) = (random(seed), random(seed + 1000));
    std::array::from_fn(|i| u64::from(lo[i]) | u64::from(hi[i]) << 32)
}
