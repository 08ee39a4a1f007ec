//! The model of the program: allocations, and threads whose calls take several steps.

use crate::agent::{Agent, Answer, Mutation, enqueue_waits};
use crate::device::{Device, Op, VRAM};
use crate::random::Random;
use std::collections::VecDeque;
use strobe_engine::{KernelId, Waits};
use strobe_extent::{Extent, ExtentSet, Reason, Side};

/// Alignment and least size of an allocation, in bytes.
const GRANULE: u64 = 16;

/// A call that a thread is in.
#[derive(Debug)]
enum Call {
    /// Enqueues a kernel, a copy or a memset.
    Launch {
        stream: usize,
        op: Op,
        writes: Side,
        kernel: Option<KernelId>,
    },
    /// Only under a mutation: the wait that should have been enqueued already.
    LateWait { stream: usize, op: Op, waits: Waits },
    /// Memory that is about to be freed or written by the CPU.
    Host {
        effect: Effect,
        asked: bool,
        waits: Waits,
    },
    /// Waits for a stream.
    Synchronise { stream: usize, enqueued: u64 },
}

#[derive(Clone, Copy, Debug)]
enum Effect {
    /// Waits for the device, then gives the memory back; somebody else writes to it at once.
    Free(Extent),
    /// The CPU writes.
    Write(Extent, u64),
}

#[derive(Debug, Default)]
struct Thread {
    call: Option<Call>,
    calls: u64,
}

/// How the analysis is wrong about a kernel.
#[derive(Clone, Copy, Debug)]
enum Lie {
    /// A byte less than it writes.
    Byte,
    /// A buffer less.
    Buffer,
    /// It is said to write nothing.
    Nothing,
}

/// A kernel of the program, and what is made of it.
#[derive(Clone, Copy, Debug, Default)]
struct Kernel {
    lie: Option<Lie>,
    distrusted: bool,
}

/// Kernels of a program.
const KERNELS: usize = 6;

/// How often which call is made, in parts; differs from seed to seed.
#[derive(Debug)]
struct Mix {
    unknown: u64,
    overstated: u64,
}

#[derive(Debug)]
pub(crate) struct Program {
    threads: Vec<Thread>,
    live: Vec<Extent>,
    mix: Mix,
    kernels: [Kernel; KERNELS],
    lies: bool,
    /// The CPU writes without a call.
    silent_cpu: bool,
    pub(crate) frees: u64,
    pub(crate) reuses: u64,
    freed: ExtentSet,
}

impl Program {
    pub(crate) fn new(random: &mut Random, lies: bool) -> Program {
        let calls = random.between(5, 40);
        let threads = (0..random.between(1, 3))
            .map(|_| Thread { call: None, calls })
            .collect();
        let mix = Mix {
            unknown: [0, 5, 30][random.below(3) as usize],
            overstated: 20,
        };
        let mut kernels = [Kernel::default(); KERNELS];
        if lies {
            for kernel in kernels.iter_mut().take(2) {
                let lie = [Lie::Byte, Lie::Buffer, Lie::Nothing][random.below(3) as usize];
                kernel.lie = random.chance(70).then_some(lie);
            }
        }
        let silent_cpu = lies && random.chance(30);
        let (live, freed) = (Vec::new(), ExtentSet::new());
        let mut program = Program {
            threads,
            live,
            mix,
            kernels,
            lies,
            silent_cpu,
            frees: 0,
            reuses: 0,
            freed,
        };
        for _ in 0..random.between(1, 10) {
            program.allocate(random);
        }
        program
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads.len()
    }

    pub(crate) fn live(&self) -> &[Extent] {
        &self.live
    }

    /// Nothing is believed of these kernels any more. Whether one of them deserves it.
    pub(crate) fn distrust(&mut self, suspects: &[KernelId]) -> bool {
        let mut deserved = false;
        for suspect in suspects {
            let kernel = &mut self.kernels[suspect.0 as usize];
            kernel.distrusted = true;
            deserved |= kernel.lie.is_some();
        }
        deserved
    }

    pub(crate) fn has_silent_cpu(&self) -> bool {
        self.silent_cpu
    }

    /// Whether no thread is inside a call.
    pub(crate) fn is_outside(&self) -> bool {
        self.threads.iter().all(|t| t.call.is_none())
    }

    /// Whether every thread has made all its calls.
    pub(crate) fn is_done(&self) -> bool {
        self.threads
            .iter()
            .all(|t| t.call.is_none() && t.calls == 0)
    }

    /// One step of a thread; false when it has nothing to do or must wait.
    pub(crate) fn step(
        &mut self,
        thread: usize,
        gate_open: bool,
        random: &mut Random,
        device: &mut Device,
        agent: &mut Agent,
    ) -> bool {
        if let Some(call) = self.threads[thread].call.take() {
            let (call, moved) = self.go_on(call, device, agent);
            self.threads[thread].call = call;
            return moved;
        }
        if !gate_open || self.threads[thread].calls == 0 {
            return false;
        }
        self.threads[thread].calls -= 1;
        self.threads[thread].call = self.new_call(random, device, agent.mutation);
        true
    }

    fn new_call(
        &mut self,
        random: &mut Random,
        device: &Device,
        mutation: Option<Mutation>,
    ) -> Option<Call> {
        let stream = random.below(device.streams.len() as u64) as usize;
        match random.below(100) {
            0..=9 => {
                self.allocate(random);
                None
            }
            10..=21 => {
                let at = random.below(self.live.len().max(1) as u64) as usize;
                let quiet = self.threads.iter().all(|t| t.call.is_none());
                let extent = (at < self.live.len() && quiet).then(|| self.live.swap_remove(at))?;
                Some(host(Effect::Free(extent)))
            }
            22..=31 => {
                let extent = part(*random.pick(&self.live)?, random);
                Some(host(Effect::Write(extent, self.value(random))))
            }
            32..=36 => Some(Call::Synchronise {
                stream,
                enqueued: device.streams[stream].enqueued,
            }),
            37..=42 => {
                let other = random.below(device.streams.len() as u64) as usize;
                let op = Op::WaitStream {
                    stream: other,
                    finished: device.streams[other].enqueued,
                };
                Some(Call::Launch {
                    stream,
                    op,
                    writes: Side::none(),
                    kernel: None,
                })
            }
            _ => self.kernel(stream, random, mutation),
        }
    }

    /// A kernel that reads and writes a few parts of live allocations, and what is said of it.
    fn kernel(
        &self,
        stream: usize,
        random: &mut Random,
        mutation: Option<Mutation>,
    ) -> Option<Call> {
        let mut reads: Vec<Extent> = self.parts(2, random).collect();
        let mut writes: VecDeque<Extent> = self.parts(4, random).collect();
        let number = random.below(KERNELS as u64);
        let Kernel { lie, distrusted } = self.kernels[number as usize];
        if matches!(lie, Some(Lie::Nothing)) {
            // A flag: what it writes does not depend on what was there.
            let first = |flag: &Extent| Extent::with_len(flag.start(), GRANULE).ok();
            reads.clear();
            writes = random
                .pick(&self.live)
                .and_then(first)
                .into_iter()
                .collect();
        }
        let said = if distrusted || random.chance(self.mix.unknown) {
            Side::Unknown(Reason::NotAnalysed)
        } else {
            let omitted = usize::from(mutation == Some(Mutation::LieInFootprint));
            let mut set: ExtentSet = writes.iter().skip(omitted).copied().collect();
            match (lie, writes.back()) {
                (Some(Lie::Byte), Some(last)) => {
                    set.remove(Extent::new(last.end() - 1, last.end()).expect("a byte"));
                }
                (Some(Lie::Buffer), Some(last)) => set.remove(*last),
                (Some(Lie::Nothing), _) => set = ExtentSet::new(),
                _ => {}
            }
            if random.chance(self.mix.overstated) {
                set.extend(random.pick(&self.live).copied());
            }
            set.into()
        };
        let op = Op::Kernel {
            reads,
            writes,
            value: self.value(random),
            started: false,
        };
        Some(Call::Launch {
            stream,
            op,
            writes: said,
            kernel: Some(KernelId(number)),
        })
    }

    /// Of what is written. Where writes are not announced, few values: what was there comes back.
    fn value(&self, random: &mut Random) -> u64 {
        match self.lies {
            true => random.below(2),
            false => random.next(),
        }
    }

    /// At most `most` parts of live allocations.
    fn parts(&self, most: u64, random: &mut Random) -> impl Iterator<Item = Extent> {
        let count = random.between(0, most);
        (0..count).filter_map(|_| Some(part(*random.pick(&self.live)?, random)))
    }

    fn go_on(
        &mut self,
        call: Call,
        device: &mut Device,
        agent: &mut Agent,
    ) -> (Option<Call>, bool) {
        match call {
            Call::Launch {
                stream,
                op,
                writes,
                kernel,
            } => {
                match agent.before_write(Some(stream), &writes, device) {
                    Answer::Go => {
                        agent.launched(kernel, &writes);
                        device.enqueue(stream, op);
                    }
                    Answer::EnqueueLater(waits) => {
                        return (Some(Call::LateWait { stream, op, waits }), true);
                    }
                    Answer::Blocked => {
                        let call = Call::Launch {
                            stream,
                            op,
                            writes,
                            kernel,
                        };
                        return (Some(call), false);
                    }
                    Answer::HostWait(_) => unreachable!("a stream does not wait on the host"),
                }
                (None, true)
            }
            Call::LateWait { stream, op, waits } => {
                enqueue_waits(stream, waits, device);
                device.enqueue(stream, op);
                (None, true)
            }
            Call::Synchronise { stream, enqueued } => {
                let passed = device.streams[stream].finished >= enqueued;
                ((!passed).then_some(call), passed)
            }
            Call::Host {
                effect,
                asked: false,
                waits,
            } => {
                let extent = match effect {
                    Effect::Free(extent) | Effect::Write(extent, _) => extent,
                };
                let silent = match effect {
                    Effect::Free(_) => agent.mutation == Some(Mutation::SilentFree),
                    Effect::Write(..) => self.silent_cpu,
                };
                let answer = match silent {
                    true => Answer::Go,
                    false => agent.before_write(None, &extent.into(), device),
                };
                match answer {
                    Answer::Go => (
                        Some(Call::Host {
                            effect,
                            asked: true,
                            waits,
                        }),
                        true,
                    ),
                    Answer::HostWait(waits) => (
                        Some(Call::Host {
                            effect,
                            asked: true,
                            waits,
                        }),
                        true,
                    ),
                    Answer::Blocked => (Some(call), false),
                    Answer::EnqueueLater(_) => unreachable!("the host has no queue"),
                }
            }
            Call::Host {
                effect,
                asked: true,
                waits,
            } => {
                let passed = agent.has_passed(waits, device);
                if !passed || matches!(effect, Effect::Free(_)) && !device.is_idle() {
                    return (Some(call), false);
                }
                match effect {
                    Effect::Free(extent) => {
                        device.scribble(extent, !extent.start());
                        self.frees += 1;
                        self.freed.insert(extent);
                    }
                    Effect::Write(extent, value) => device.scribble(extent, value),
                }
                (None, true)
            }
        }
    }

    /// Places a new allocation at a random free address, often where one was freed.
    fn allocate(&mut self, random: &mut Random) {
        let most = if random.chance(20) { 20 } else { 6 };
        let len = random.between(1, most) * GRANULE;
        for _ in 0..4 {
            let start = random.below((VRAM - len) / GRANULE + 1) * GRANULE;
            let extent = Extent::with_len(start, len).expect("an allocation has bytes");
            let freeing = self.threads.iter().filter_map(|t| match t.call {
                Some(Call::Host {
                    effect: Effect::Free(extent),
                    ..
                }) => Some(extent),
                _ => None,
            });
            if self
                .live
                .iter()
                .copied()
                .chain(freeing)
                .all(|other| !other.overlaps(extent))
            {
                self.reuses += u64::from(self.freed.overlaps(extent));
                self.live.push(extent);
                return;
            }
        }
    }
}

fn host(effect: Effect) -> Call {
    Call::Host {
        effect,
        asked: false,
        waits: Waits::default(),
    }
}

/// Some bytes of `extent`.
fn part(extent: Extent, random: &mut Random) -> Extent {
    let start = random.between(extent.start(), extent.end() - 1);
    let end = random.between(start + 1, extent.end());
    Extent::new(start, end).expect("a part has bytes")
}
