//! The model of a device: memory, the program's streams, and the agent's two lanes. Every queue is
//! in order and runs by itself; an operation takes several steps, so that two of them can overlap.

use crate::random::mix;
use std::collections::VecDeque;
use strobe_engine::{Config, Lane, Ticket};
use strobe_extent::Extent;

/// Bytes of device memory; addresses start at 0.
pub(crate) const VRAM: u64 = 2048;
/// Bytes a copy moves in one step.
const PIECE: usize = 16;

/// An operation on a stream of the program.
#[derive(Debug)]
pub(crate) enum Op {
    /// Reads everything, then writes one extent a step, values depending on what was read.
    Kernel {
        reads: Vec<Extent>,
        writes: VecDeque<Extent>,
        value: u64,
        started: bool,
    },
    /// Waits for a point of one of the agent's lanes, or until the word of that checkpoint is released.
    WaitLane {
        lane: Lane,
        ticket: Ticket,
        word: u64,
    },
    /// Waits until another stream has finished this many operations.
    WaitStream { stream: usize, finished: u64 },
}

/// A stream of the program.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    queue: VecDeque<Op>,
    pub(crate) enqueued: u64,
    pub(crate) finished: u64,
}

/// An operation on a lane of the agent.
#[derive(Debug)]
pub(crate) enum LaneOp {
    Copy {
        from: Place,
        to: Place,
        len: usize,
        done: usize,
    },
    Event(Ticket),
}

/// Where bytes lie.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Vram(usize),
    Pool(usize),
    Ring { slot: usize },
}

/// One of the agent's in-order streams.
#[derive(Debug, Default)]
pub(crate) struct LaneQueue {
    queue: VecDeque<LaneOp>,
    /// The latest event recorded (enqueued) and passed (executed).
    pub(crate) recorded: Ticket,
    pub(crate) passed: Ticket,
}

#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) vram: Vec<u8>,
    pub(crate) pool: Vec<u8>,
    pub(crate) ring: Vec<Vec<u8>>,
    pub(crate) streams: Vec<Stream>,
    pub(crate) aside: LaneQueue,
    pub(crate) out: LaneQueue,
    /// What streams wait for in this checkpoint: the words below `released` let everybody go.
    word: u64,
    released: u64,
}

impl Device {
    pub(crate) fn new(streams: usize) -> Device {
        Device {
            vram: (0..VRAM).map(|a| mix(a) as u8).collect(),
            pool: Vec::new(),
            ring: Vec::new(),
            streams: (0..streams).map(|_| Stream::default()).collect(),
            aside: LaneQueue::default(),
            out: LaneQueue::default(),
            word: 0,
            released: 0,
        }
    }

    /// A checkpoint begins: its pool and ring, and a new word if the last one was released.
    pub(crate) fn begin(&mut self, config: &Config) {
        self.pool = vec![0xaa; config.aside_bytes as usize];
        self.ring = vec![vec![0x55; config.chunk_bytes as usize]; config.ring_slots as usize];
        for aside in &config.set_aside {
            let bytes = self.bytes(aside.extent).to_vec();
            self.pool[aside.pool_offset as usize..][..bytes.len()].copy_from_slice(&bytes);
        }
        self.word = self.word.max(self.released);
    }

    /// Nobody waits for the lanes any more, now or later in this checkpoint.
    pub(crate) fn release_waits(&mut self) {
        self.released = self.word + 1;
    }

    /// Makes a stream wait for a point of a lane. As with an event in HIP: to wait for what nobody
    /// has recorded is not to wait.
    pub(crate) fn enqueue_wait(&mut self, stream: usize, lane: Lane, ticket: Ticket) {
        if ticket <= self.lane(lane).recorded {
            let word = self.word;
            self.enqueue(stream, Op::WaitLane { lane, ticket, word });
        }
    }

    pub(crate) fn bytes(&self, extent: Extent) -> &[u8] {
        &self.vram[extent.start() as usize..extent.end() as usize]
    }

    /// Overwrites `extent` with values that follow from `value`.
    pub(crate) fn scribble(&mut self, extent: Extent, value: u64) {
        for address in extent.start()..extent.end() {
            self.vram[address as usize] = mix(value ^ address) as u8;
        }
    }

    pub(crate) fn enqueue(&mut self, stream: usize, op: Op) {
        let stream = &mut self.streams[stream];
        stream.queue.push_back(op);
        stream.enqueued += 1;
    }

    pub(crate) fn enqueue_lane(&mut self, lane: Lane, op: LaneOp) {
        let queue = self.lane_mut(lane);
        if let LaneOp::Event(ticket) = op {
            assert_eq!(
                ticket.0,
                queue.recorded.0 + 1,
                "tickets of {lane:?} skip a number"
            );
            queue.recorded = ticket;
        }
        queue.queue.push_back(op);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.streams.iter().all(|s| s.queue.is_empty())
    }

    pub(crate) fn lanes_idle(&self) -> bool {
        self.aside.queue.is_empty() && self.out.queue.is_empty()
    }

    pub(crate) fn lane(&self, lane: Lane) -> &LaneQueue {
        match lane {
            Lane::Aside => &self.aside,
            Lane::Out => &self.out,
        }
    }

    fn lane_mut(&mut self, lane: Lane) -> &mut LaneQueue {
        match lane {
            Lane::Aside => &mut self.aside,
            Lane::Out => &mut self.out,
        }
    }

    /// One step of a stream; false when it has nothing to do or must wait.
    pub(crate) fn step_stream(&mut self, at: usize) -> bool {
        let mut op = match self.streams[at].queue.pop_front() {
            Some(op) => op,
            None => return false,
        };
        let (moved, ended) = match &mut op {
            Op::WaitLane { lane, ticket, word } => {
                let passed = self.lane(*lane).passed >= *ticket || *word < self.released;
                (passed, passed)
            }
            Op::WaitStream { stream, finished } => {
                let passed = self.streams[*stream].finished >= *finished;
                (passed, passed)
            }
            Op::Kernel {
                reads,
                writes,
                value,
                started,
            } => {
                if !*started {
                    for read in reads.iter() {
                        for byte in self.bytes(*read) {
                            *value = mix(*value ^ u64::from(*byte));
                        }
                    }
                    *started = true;
                } else if let Some(write) = writes.pop_front() {
                    self.scribble(write, *value);
                }
                (true, writes.is_empty())
            }
        };
        if ended {
            self.streams[at].finished += 1;
        } else {
            self.streams[at].queue.push_front(op);
        }
        moved
    }

    /// One step of a lane; false when it has nothing to do or must wait.
    pub(crate) fn step_lane(&mut self, lane: Lane) -> bool {
        let Some(mut op) = self.lane_mut(lane).queue.pop_front() else {
            return false;
        };
        let (moved, ended) = match &mut op {
            LaneOp::Event(ticket) => {
                self.lane_mut(lane).passed = *ticket;
                (true, true)
            }
            LaneOp::Copy {
                from,
                to,
                len,
                done,
            } => {
                let piece = PIECE.min(*len - *done);
                let bytes = self.place(*from, *done, piece).to_vec();
                self.place(*to, *done, piece).copy_from_slice(&bytes);
                *done += piece;
                (true, done == len)
            }
        };
        if !ended {
            self.lane_mut(lane).queue.push_front(op);
        }
        moved
    }

    fn place(&mut self, place: Place, offset: usize, len: usize) -> &mut [u8] {
        match place {
            Place::Vram(at) => &mut self.vram[at + offset..][..len],
            Place::Pool(at) => &mut self.pool[at + offset..][..len],
            Place::Ring { slot } => &mut self.ring[slot][offset..][..len],
        }
    }
}
