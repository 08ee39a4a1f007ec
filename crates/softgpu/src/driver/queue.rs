//! User-mode queues: tables only; the worker runs them.

use std::sync::atomic::Ordering;

use nix::errno::Errno;
use strobe_kfd::queue::{
    AllocQueueGws, COMPUTE_AQL, CreateQueue, DestroyQueue, MIN_RING_SIZE, SDMA, SDMA_BY_ENGINE,
    SDMA_XGMI, SetCuMask, UpdateQueue,
};

use super::caller::Caller;
use crate::device::eviction::NO_SHARE;
use crate::device::{DOORBELL_BYTES, Device, Queue, Tables};

/// The doorbell of an AQL queue that was never rung: packet -1.
const NEVER_RUNG: u64 = u64::MAX;

pub(super) fn create(caller: &Caller, args: &mut CreateQueue) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let mut tables = caller.lock()?;
    let tables = &mut *tables;
    let process = &mut tables.processes[slot];
    let gpu = process.acquired(args.gpu_id).ok_or(Errno::EINVAL)?;
    let kind = match args.queue_type {
        COMPUTE_AQL => COMPUTE_AQL,
        SDMA | SDMA_XGMI | SDMA_BY_ENGINE => SDMA,
        // PM4 queues: no runtime makes them on this GPU.
        _ => return Err(Errno::EOPNOTSUPP),
    };
    if !args.ring_size.is_power_of_two() || args.ring_size < MIN_RING_SIZE {
        return Err(Errno::EINVAL);
    }
    process.next_queue += 1;
    let id = process.next_queue - 1;
    let queue = Queue {
        owner: slot as u32 + 1,
        id,
        kind,
        ring: args.ring_base_address,
        ring_size: args.ring_size,
        write_pointer: args.write_pointer_address,
        read_pointer: args.read_pointer_address,
        doorbell: 0,
        percentage: args.queue_percentage,
        priority: args.queue_priority,
        failed: 0,
        eop_address: args.eop_buffer_address,
        eop_size: args.eop_buffer_size,
        save_address: args.ctx_save_restore_address,
        save_size: args.ctx_save_restore_size,
        stack_size: args.ctl_stack_size,
        evicted: 0,
        gpu: gpu as u32,
    };
    let initial = if kind == COMPUTE_AQL { NEVER_RUNG } else { 0 };
    let doorbell = insert(caller.device, tables, slot, queue, None, initial)?;
    args.queue_id = id;
    args.doorbell_offset = caller.device.doorbell_page(slot, gpu) + u64::from(doorbell) * 8;
    caller.engines.start(caller.device);
    Ok(())
}

/// Puts a queue into the table and gives it a doorbell of its GPU: the given one, or the lowest free.
pub(super) fn insert(
    device: &Device,
    tables: &mut Tables,
    slot: usize,
    queue: Queue,
    doorbell: Option<u32>,
    doorbell_value: u64,
) -> Result<u32, Errno> {
    let taken = |doorbell: u32| {
        tables
            .queues_of(slot)
            .any(|other| other.gpu == queue.gpu && other.doorbell == doorbell)
    };
    let doorbell = match doorbell {
        Some(wanted) if taken(wanted) || u64::from(wanted) * 8 >= DOORBELL_BYTES => {
            return Err(Errno::EBUSY);
        }
        Some(wanted) => wanted,
        None => (0..(DOORBELL_BYTES / 8) as u32)
            .find(|d| !taken(*d))
            .ok_or(Errno::ENOSPC)?,
    };
    let place = tables.queues.iter().position(|queue| queue.owner == 0);
    let place = place.ok_or(Errno::ENOSPC)?;
    device
        .doorbell(slot, queue.gpu as usize, doorbell)
        .store(doorbell_value, Ordering::Relaxed);
    // Those who had these before may have had a reason to let go, and something to go on with.
    tables.control_stacks[place].used = 0;
    let reasons = if queue.percentage == 0 { NO_SHARE } else { 0 };
    device.state().live[slot].forget_reasons(queue.gpu as usize, doorbell, reasons);
    tables.queues[place] = Queue { doorbell, ..queue };
    device.state().live[slot]
        .queue_epoch
        .fetch_add(1, Ordering::Release);
    Ok(doorbell)
}

pub(super) fn update(caller: &Caller, args: &mut UpdateQueue) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let mut tables = caller.lock()?;
    let queue = tables.queue_mut(slot, args.queue_id).ok_or(Errno::EINVAL)?;
    if args.ring_base_address != 0 {
        if !args.ring_size.is_power_of_two() || args.ring_size < MIN_RING_SIZE {
            return Err(Errno::EINVAL);
        }
        queue.ring = args.ring_base_address;
        queue.ring_size = args.ring_size;
    }
    queue.percentage = args.queue_percentage;
    queue.priority = args.queue_priority;
    let live = &caller.device.state().live[slot];
    let word = live.evict(queue.gpu as usize, queue.doorbell);
    if queue.percentage == 0 {
        word.fetch_or(NO_SHARE, Ordering::SeqCst);
    } else {
        word.fetch_and(!NO_SHARE, Ordering::SeqCst);
    }
    live.queue_epoch.fetch_add(1, Ordering::Release);
    drop(tables);
    if caller.engines.share(args.queue_id) {
        Ok(())
    } else {
        // What amdkfd says when a queue's waves do not let go.
        Err(Errno::ETIME)
    }
}

pub(super) fn destroy(caller: &Caller, args: &mut DestroyQueue) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    caller
        .lock()?
        .queue_mut(slot, args.queue_id)
        .ok_or(Errno::EINVAL)?;
    // The program may free the ring as soon as this returns, and the doorbell, by which waves are
    // told to let go, may become another queue's: so the table forgets the queue last.
    caller.engines.retire(args.queue_id);
    let mut tables = caller.lock()?;
    if let Some(queue) = tables.queue_mut(slot, args.queue_id) {
        queue.owner = 0;
    }
    caller.device.state().live[slot]
        .queue_epoch
        .fetch_add(1, Ordering::Release);
    Ok(())
}

/// Every compute unit runs everything: a mask changes placement only.
pub(super) fn set_cu_mask(caller: &Caller, args: &mut SetCuMask) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    caller
        .lock()?
        .queue_mut(slot, args.queue_id)
        .map(drop)
        .ok_or(Errno::EINVAL)
}

/// Global wave sync: every queue has a barrier of its own, so none is taken from another.
pub(super) fn allocate_gws(caller: &Caller, args: &mut AllocQueueGws) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let mut tables = caller.lock()?;
    let queue = tables.queue_mut(slot, args.queue_id).ok_or(Errno::EINVAL)?;
    if queue.kind != COMPUTE_AQL {
        return Err(Errno::EINVAL);
    }
    args.first_gws = 0;
    Ok(())
}
