//! The rings that fill a GPU's memory.
//!
//! The kernel gives each context of the DMA engines a ring of its own, and spreads those of several open render
//! nodes over the engines that there are; and while one ring waits for the disk or for a chunk to be unpacked,
//! others copy. So a GPU has several, each a thread with staging memory, address space and context of its own.
//! They share the bytes that a user allows for a GPU, however many processes are filled.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use strobe_kfd::client::copier::{Copier, LEAST_STAGING};
use strobe_kfd::client::render::RenderNode;
use strobe_proto::amdgpu::KfdDeviceEntry;

use super::{Unit, Waiting};
use crate::devices;
use crate::restore_error::RestoreError;

/// Rings of a GPU, if there is memory for so many. GPUs of the kind have two engines that any copy may use.
const RINGS: usize = 4;

/// A GPU here, and what is to be done on it.
pub(crate) struct Engine {
    gpu: u32,
    node: PathBuf,
    /// Of all rings together.
    staging: u64,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    units: VecDeque<Unit>,
    /// Of these, how many are being done.
    under_way: usize,
    /// What is done when there is nothing else, by turns. No program runs before all units are done; and what shares the link
    /// with them keeps it from that.
    waiting: VecDeque<Waiting>,
    is_closed: bool,
}

impl Queue {
    fn next(&mut self) -> Option<Unit> {
        if let Some(unit) = self.units.pop_front() {
            self.under_way += 1;
            return Some(unit);
        }
        if self.under_way > 0 {
            return None;
        }
        // One of which nothing is left to do is not asked again.
        while let Some(waiting) = self.waiting.pop_front() {
            if let Some(unit) = waiting.next() {
                self.waiting.push_back(waiting);
                return Some(unit);
            }
        }
        None
    }
}

fn node(gpu: u32, present: &[KfdDeviceEntry]) -> Result<PathBuf, RestoreError> {
    let entry = present.iter().find(|node| node.gpu_id == gpu);
    let entry = entry.ok_or(RestoreError::UnknownGpu(gpu))?;
    Ok(devices::render_path(entry.drm_render_minor))
}

fn open_at(path: &std::path::Path) -> Result<RenderNode, RestoreError> {
    RenderNode::open(path).map_err(|error| RestoreError::RenderNode {
        path: path.to_owned(),
        error,
    })
}

/// The render node of a GPU here.
pub(crate) fn open(gpu: u32, present: &[KfdDeviceEntry]) -> Result<RenderNode, RestoreError> {
    open_at(&node(gpu, present)?)
}

impl Engine {
    pub(crate) fn new(
        gpu: u32,
        present: &[KfdDeviceEntry],
        staging: u64,
    ) -> Result<Self, RestoreError> {
        Ok(Self {
            gpu,
            node: node(gpu, present)?,
            staging,
            queue: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// The driver's id of the GPU.
    pub(crate) fn gpu(&self) -> u32 {
        self.gpu
    }

    /// How many threads are to [`serve`](Self::serve).
    pub(crate) fn rings(&self) -> usize {
        let most = usize::try_from(self.staging / LEAST_STAGING).unwrap_or(RINGS);
        most.clamp(1, RINGS)
    }

    /// For the rings to do after all that was added before.
    pub(crate) fn add(&self, units: Vec<Unit>) {
        self.queue().units.extend(units);
        self.changed.notify_all();
    }

    /// Nothing is added any more.
    pub(crate) fn close(&self) {
        self.queue().is_closed = true;
        self.changed.notify_all();
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For the rings to do when there is nothing else.
    pub(crate) fn add_waiting(&self, waiting: Waiting) {
        self.queue().waiting.push_back(waiting);
        self.changed.notify_all();
    }

    /// The next unit; `None` when there will be no more.
    fn next(&self) -> Option<Unit> {
        let mut queue = self.queue();
        loop {
            if let Some(unit) = queue.next() {
                return Some(unit);
            }
            let comes_later = queue.under_way > 0 && !queue.waiting.is_empty();
            if queue.is_closed && !comes_later {
                return None;
            }
            let woken = self.changed.wait(queue);
            queue = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Is one ring, until there is nothing more to do. `ended` is called after each unit. What a ring needs it
    /// takes at the first unit.
    pub(crate) fn serve(&self, ended: impl Fn()) {
        let staging = self.staging / self.rings() as u64;
        while let Some(unit) = self.next() {
            let error = match open_at(&self.node) {
                Err(error) => error,
                Ok(node) => match Copier::new(&node, staging) {
                    Ok(copier) => return self.run(unit, copier, ended),
                    Err(error) => error.into(),
                },
            };
            let can_wait = unit.can_wait();
            unit.end(Err(error));
            self.done(can_wait);
            ended();
        }
    }

    fn done(&self, could_wait: bool) {
        if !could_wait {
            self.queue().under_way -= 1;
            self.changed.notify_all();
        }
    }

    /// Does this unit, and all that follow.
    fn run(&self, first: Unit, mut copier: Copier<'_>, ended: impl Fn()) {
        let rest = std::iter::from_fn(|| self.next());
        for unit in std::iter::once(first).chain(rest) {
            let can_wait = unit.can_wait();
            unit.run(&mut copier);
            self.done(can_wait);
            ended();
        }
    }
}
