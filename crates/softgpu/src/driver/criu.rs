//! Checkpoint and restore of a process's compute state, as amdkfd does it (`kfd_chardev.c`).
//!
//! The private blob has the kernel's order and sizes (process, device, buffers, queues, events) with
//! a content of our own: nobody but the driver may look into it, except for what it has of buffers.

use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use strobe_proto::kernel_text;

use nix::errno::Errno;
use strobe_kfd::criu::{
    BoBucket, CHECKPOINT, CriuOp, DeviceBucket, PRIVATE_BO_SIZE, PRIVATE_DEVICE_SIZE,
    PRIVATE_EVENT_SIZE, PRIVATE_PROCESS_SIZE, PRIVATE_QUEUE_SIZE, PROCESS_INFO, PrivateBo, RESTORE,
    RESUME, UNPAUSE,
};
use strobe_kfd::memory::{GTT, INVALID_FD, USERPTR, VRAM};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::caller::{Caller, begin_tenancy, render_file};
use super::memory::{NewBuffer, create, map_buffer};
use super::queue;
use super::sharing::share;
use crate::device::eviction::BY_REQUEST;
use crate::device::{
    CONTROL_STACK_BYTES, ControlStack, Device, Event, GPUS, Process, ProcessDevice, ProcessId,
    Queue, Tables, event, fd, is_stopped, own_pid,
};
use crate::report::report;

/// How long a pause waits for what is being executed; on a busy machine a thread that has to let go may not get a core
/// for seconds, and a queue without a save area has to come to the end of its packet.
const DRAIN: Duration = Duration::from_secs(5);

const BLOB_VERSION: u32 = 4;
const TYPE_QUEUE: u32 = 0;
const TYPE_EVENT: u32 = 1;

#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct ProcessBlob {
    version: u32,
    /// The program's, which has its token in its memory: exec after a restore makes another.
    image: u32,
}

#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct DeviceBlob {
    scratch_va: u64,
}

/// The register state of a compute queue (`struct v9_mqd`) is 512 words; ours fits the head.
const REGISTERS: usize = 2048;

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct QueueBlob {
    object_type: u32,
    id: u32,
    ring: u64,
    write_pointer: u64,
    read_pointer: u64,
    eop_address: u64,
    eop_size: u64,
    save_address: u64,
    save_size: u32,
    stack_size: u32,
    ring_size: u32,
    kind: u32,
    percentage: u32,
    priority: u32,
    doorbell: u32,
    failed: u32,
    doorbell_value: u64,
    /// As the program knows it.
    gpu_id: u32,
    /// Bytes of the control stack that are used. All of it follows the registers.
    stack_used: u32,
    spare: [u64; 2],
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct EventBlob {
    object_type: u32,
    id: u32,
    auto_reset: u32,
    kind: u32,
    signaled: u32,
    fault_flags: u32,
    fault_va: u64,
    /// As the program knows it.
    fault_gpu_id: u32,
    pad: u32,
    spare: [u64; 3],
}

const _: () = assert!(size_of::<ProcessBlob>() == PRIVATE_PROCESS_SIZE);
const _: () = assert!(size_of::<DeviceBlob>() == PRIVATE_DEVICE_SIZE);
const _: () = assert!(size_of::<QueueBlob>() == PRIVATE_QUEUE_SIZE);
const _: () = assert!(size_of::<EventBlob>() == PRIVATE_EVENT_SIZE);

/// # Safety
/// The array and blob pointers must be valid for the numbers beside them.
pub(super) unsafe fn operate(caller: &Caller, args: &mut CriuOp) -> Result<(), Errno> {
    if !is_privileged() {
        return Err(Errno::EACCES);
    }
    match args.op {
        PROCESS_INFO => process_info(caller, args),
        // SAFETY: passed on.
        CHECKPOINT => unsafe { checkpoint(caller, args) },
        UNPAUSE => unpause(caller),
        // SAFETY: passed on.
        RESTORE => unsafe { restore(caller, args) },
        RESUME => resume(caller, args),
        _ => Err(Errno::EINVAL),
    }
}

/// Whether the calling thread has CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE, and in the initial user namespace
/// (`capable`), without which the kernel does nothing of this, not even for the process itself.
fn is_privileged() -> bool {
    const EITHER: u64 = 1 << 21 | 1 << 40;
    /// `PROC_USER_INIT_INO` (linux/proc_ns.h).
    const INITIAL: u64 = 0xeffffffd;
    let namespace = std::fs::metadata("/proc/self/ns/user");
    if !namespace.is_ok_and(|file| file.ino() == INITIAL) {
        return false;
    }
    let status = kernel_text::read("/proc/thread-self/status").unwrap_or_default();
    let effective = status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok());
    effective.is_some_and(|set| set & EITHER != 0)
}

/// The slot of the file's process, which must be the caller or traced by the calling thread.
fn target(caller: &Caller) -> Result<(usize, ProcessId), Errno> {
    let (slot, id) = caller.any_slot()?;
    let own = nix::unistd::gettid().as_raw();
    if id.is_own() || id.seen_as().ok().flatten().and_then(tracer) == Some(own) {
        Ok((slot, id))
    } else {
        Err(Errno::EBADF)
    }
}

fn tracer(pid: u32) -> Option<i32> {
    let status = kernel_text::read(format!("/proc/{pid}/status")).ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("TracerPid:"))?
        .trim()
        .parse()
        .ok()
}

struct Counts {
    devices: usize,
    buffers: usize,
    queues: usize,
    /// Of their control stacks.
    stack_bytes: usize,
    events: usize,
}

impl Counts {
    fn of(device: &Device, tables: &Tables, slot: usize) -> Self {
        let owner = slot as u32 + 1;
        Self {
            devices: device.header().gpus().len(),
            buffers: tables
                .buffers
                .iter()
                .filter(|(_, buffer)| buffer.owner == owner)
                .count(),
            queues: tables.queues_of(slot).count(),
            stack_bytes: tables.queues_of(slot).map(Queue::control_stack_bytes).sum(),
            events: events(device, slot).count(),
        }
    }

    fn blob_bytes(&self) -> usize {
        PRIVATE_PROCESS_SIZE
            + self.devices * PRIVATE_DEVICE_SIZE
            + self.buffers * PRIVATE_BO_SIZE
            + self.queues * (PRIVATE_QUEUE_SIZE + REGISTERS)
            + self.stack_bytes
            + self.events * PRIVATE_EVENT_SIZE
    }
}

fn events(device: &Device, slot: usize) -> impl Iterator<Item = (usize, &Event)> {
    let events = device.state().live[slot].events.iter().enumerate();
    events.filter(|(_, event)| event.kind.load(Ordering::Acquire) != 0)
}

/// Stops the queues and counts what there is.
fn process_info(caller: &Caller, args: &mut CriuOp) -> Result<(), Errno> {
    let (slot, id) = target(caller)?;
    pause(caller, slot, &id)?;
    let mut tables = caller.lock()?;
    // A copy of the process remembers the slot, and may run beside it.
    begin_tenancy(caller.device, &mut tables, slot);
    let counts = Counts::of(caller.device, &tables, slot);
    args.num_devices = counts.devices as u32;
    args.num_bos = counts.buffers as u32;
    args.num_objects = (counts.queues + counts.events) as u32;
    args.priv_data_size = counts.blob_bytes() as u64;
    args.pid = id.pid;
    Ok(())
}

/// Makes workers take no more packets, and waves let go. None is resident when this returns.
///
/// As in the kernel, evictions are counted but a pause is not: one UNPAUSE after two of these leaves
/// the queues evicted, and the next UNPAUSE is refused.
fn pause(caller: &Caller, slot: usize, id: &ProcessId) -> Result<(), Errno> {
    let live = &caller.device.state().live[slot];
    let mut tables = caller.lock()?;
    let process = &mut tables.processes[slot];
    process.evictions += 1;
    process.queues_paused = 1;
    if process.evictions == 1 {
        live.pause(BY_REQUEST);
    }
    drop(tables);
    let start = Instant::now();
    while live.is_busy() {
        // Of a process that is frozen, no thread lets go.
        if start.elapsed() > DRAIN || id.seen_as().ok().flatten().is_some_and(is_stopped) {
            report("cannot checkpoint: a kernel or copy is being executed");
            unpause(caller)?;
            return Err(Errno::EBUSY);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn unpause(caller: &Caller) -> Result<(), Errno> {
    let (slot, _) = target(caller)?;
    let mut tables = caller.lock()?;
    let live = &caller.device.state().live[slot];
    live.thaw_if_forgotten(false);
    let process = &mut tables.processes[slot];
    if process.queues_paused == 0 {
        return Err(Errno::EINVAL);
    }
    process.queues_paused = 0;
    process.evictions -= 1;
    if process.evictions == 0 {
        live.go_on(BY_REQUEST);
    }
    Ok(())
}

/// # Safety
/// As for [`operate`].
unsafe fn checkpoint(caller: &Caller, args: &mut CriuOp) -> Result<(), Errno> {
    let (slot, _) = target(caller)?;
    let device = caller.device;
    let tables = caller.lock()?;
    let process = *tables.process(slot).ok_or(Errno::ESRCH)?;
    let counts = Counts::of(device, &tables, slot);
    let agrees = process.queues_paused != 0
        && args.num_devices as usize == counts.devices
        && args.num_bos as usize == counts.buffers
        && args.num_objects as usize == counts.queues + counts.events
        && args.priv_data_size == counts.blob_bytes() as u64;
    if !agrees || args.devices == 0 || args.priv_data == 0 {
        return Err(Errno::EINVAL);
    }
    let mut blob = Vec::with_capacity(counts.blob_bytes());
    blob.extend(
        ProcessBlob {
            version: BLOB_VERSION,
            image: process.image,
        }
        .as_bytes(),
    );
    let mut devices = Vec::with_capacity(counts.devices);
    for gpu in device.header().gpus() {
        let ProcessDevice {
            user_id,
            scratch_va,
            ..
        } = process.devices[gpu];
        devices.push(DeviceBucket {
            user_gpu_id: user_id,
            actual_gpu_id: device.header().gpus[gpu].id,
            drm_fd: INVALID_FD,
            pad: 0,
        });
        blob.extend(DeviceBlob { scratch_va }.as_bytes());
    }
    let mut buckets = Vec::with_capacity(counts.buffers);
    let result = save_buffers(device, &tables, slot, &process, &mut blob, &mut buckets);
    if let Err(error) = result {
        close_all(&buckets);
        return Err(error);
    }
    save_objects(device, &tables, slot, &process, &mut blob);
    // SAFETY: the caller's promise; the lengths were compared above.
    unsafe {
        let devices = devices.as_bytes();
        devices
            .as_ptr()
            .copy_to_nonoverlapping(args.devices as *mut u8, devices.len());
        let buckets = buckets.as_bytes();
        buckets
            .as_ptr()
            .copy_to_nonoverlapping(args.bos as *mut u8, buckets.len());
        blob.as_ptr()
            .copy_to_nonoverlapping(args.priv_data as *mut u8, blob.len());
    }
    Ok(())
}

/// Buffers in the kernel's order: by GPU, then by handle.
fn save_buffers(
    device: &Device,
    tables: &Tables,
    slot: usize,
    process: &Process,
    blob: &mut Vec<u8>,
    buckets: &mut Vec<BoBucket>,
) -> Result<(), Errno> {
    let owner = slot as u32 + 1;
    let mut buffers: Vec<_> = tables
        .buffers
        .iter()
        .filter(|(_, b)| b.owner == owner)
        .map(|(_, b)| *b)
        .collect();
    buffers.sort_unstable_by_key(|buffer| (buffer.gpu, buffer.index));
    for buffer in buffers {
        let has_content = buffer.flags & (VRAM | GTT) != 0;
        let dmabuf_fd = if has_content {
            share(device, tables, buffer.object)?.cast_unsigned()
        } else {
            INVALID_FD
        };
        buckets.push(BoBucket {
            addr: buffer.va,
            size: buffer.size,
            offset: buffer.offset,
            restored_offset: 0,
            gpu_id: process.devices[buffer.gpu as usize].user_id,
            alloc_flags: buffer.flags,
            dmabuf_fd,
            pad: 0,
        });
        let mut mapped_gpu_ids = [0; 64];
        let maps = device
            .header()
            .gpus()
            .filter(|gpu| buffer.mapped & 1 << gpu != 0);
        for (place, gpu) in mapped_gpu_ids.iter_mut().zip(maps) {
            *place = process.devices[gpu].user_id;
        }
        let user_addr = if buffer.flags & USERPTR != 0 {
            buffer.offset
        } else {
            0
        };
        let private = PrivateBo {
            user_addr,
            index: buffer.index,
            mapped_gpu_ids,
            pad: 0,
        };
        blob.extend(private.as_bytes());
    }
    Ok(())
}

fn save_objects(
    device: &Device,
    tables: &Tables,
    slot: usize,
    process: &Process,
    blob: &mut Vec<u8>,
) {
    for queue in tables.queues_of(slot) {
        let gpu = queue.gpu as usize;
        let stack = tables
            .control_stack(queue)
            .map_or(&[][..], ControlStack::content);
        let private = QueueBlob {
            object_type: TYPE_QUEUE,
            id: queue.id,
            ring: queue.ring,
            write_pointer: queue.write_pointer,
            read_pointer: queue.read_pointer,
            eop_address: queue.eop_address,
            eop_size: queue.eop_size,
            save_address: queue.save_address,
            save_size: queue.save_size,
            stack_size: queue.stack_size,
            ring_size: queue.ring_size,
            kind: queue.kind,
            percentage: queue.percentage,
            priority: queue.priority,
            doorbell: queue.doorbell,
            failed: queue.failed,
            doorbell_value: device
                .doorbell(slot, gpu, queue.doorbell)
                .load(Ordering::Acquire),
            gpu_id: process.devices[gpu].user_id,
            stack_used: stack.len() as u32,
            spare: [0; 2],
        };
        blob.extend(private.as_bytes());
        blob.resize(blob.len() + REGISTERS, 0);
        let end = blob.len() + queue.control_stack_bytes();
        blob.extend(stack);
        blob.resize(end, 0);
    }
    for (id, event) in events(device, slot) {
        let fault_gpu = event.fault_gpu.load(Ordering::Relaxed) as usize % GPUS;
        let private = EventBlob {
            object_type: TYPE_EVENT,
            id: id as u32,
            auto_reset: event.auto_reset.load(Ordering::Relaxed),
            kind: event.kind.load(Ordering::Relaxed) - 1,
            signaled: event.signaled.load(Ordering::Relaxed),
            fault_flags: event.fault_flags.load(Ordering::Relaxed),
            fault_va: event.fault_va.load(Ordering::Relaxed),
            fault_gpu_id: process.devices[fault_gpu].user_id,
            pad: 0,
            spare: [0; 3],
        };
        blob.extend(private.as_bytes());
    }
}

fn close_all(buckets: &[BoBucket]) {
    for bucket in buckets
        .iter()
        .filter(|bucket| bucket.dmabuf_fd != INVALID_FD)
    {
        // SAFETY: opened by this request and not yet told to the caller.
        unsafe { libc::close(bucket.dmabuf_fd.cast_signed()) };
    }
}

/// # Safety
/// As for [`operate`].
unsafe fn restore(caller: &Caller, args: &mut CriuOp) -> Result<(), Errno> {
    let slot = caller.own_slot()?;
    let count = caller.device.header().gpus().len();
    if args.num_devices as usize != count || args.devices == 0 || args.priv_data == 0 {
        return Err(Errno::EINVAL);
    }
    if args.num_bos > 0 && args.bos == 0 {
        return Err(Errno::EINVAL);
    }
    let device_buckets = args.devices as *const DeviceBucket;
    // SAFETY: the caller's promise.
    let (buckets, blob) = unsafe {
        (
            std::slice::from_raw_parts_mut(args.bos as *mut BoBucket, args.num_bos as usize),
            std::slice::from_raw_parts(args.priv_data as *const u8, args.priv_data_size as usize),
        )
    };
    let mut reader = Reader { rest: blob };
    let process: ProcessBlob = reader.next()?;
    if process.version != BLOB_VERSION {
        return Err(Errno::EINVAL);
    }
    let mut devices = [ProcessDevice::default(); GPUS];
    for index in 0..count {
        // SAFETY: as many buckets as the caller says, by its promise.
        let bucket = unsafe { device_buckets.add(index).read_unaligned() };
        let DeviceBlob { scratch_va } = reader.next()?;
        let (gpu, file) = render_file_of(caller.device, &bucket)?;
        let repeats = |device: &ProcessDevice| device.user_id == bucket.user_gpu_id;
        if bucket.user_gpu_id == 0 || devices[gpu].vm != 0 || devices.iter().any(repeats) {
            return Err(Errno::EINVAL);
        }
        devices[gpu] = ProcessDevice {
            user_id: bucket.user_gpu_id,
            vm: file as u32 + 1,
            scratch_va,
        };
    }
    let mut tables = caller.lock()?;
    let tables = &mut *tables;
    let counts = Counts::of(caller.device, tables, slot);
    let entry = &mut tables.processes[slot];
    let acquired = entry.devices.iter().any(|device| device.vm != 0);
    if acquired || counts.buffers + counts.queues + counts.events > 0 {
        return Err(Errno::EINVAL);
    }
    entry.devices = devices;
    // The program whose memory comes back is another image than the restorer's.
    entry.image = process.image;
    caller.device.state().live[slot].begin();
    let restored = restore_buffers(caller.device, tables, slot, buckets, &mut reader)
        .and_then(|()| restore_objects(caller.device, tables, slot, args.num_objects, &mut reader))
        .and_then(|()| reader.finish());
    if restored.is_err() {
        close_all(buckets);
    }
    restored
}

/// The GPU of a bucket, and the render file that becomes the process's address space there.
fn render_file_of(device: &Device, bucket: &DeviceBucket) -> Result<(usize, usize), Errno> {
    let header = device.header();
    let gpu = header
        .gpus()
        .find(|gpu| header.gpus[*gpu].id == bucket.actual_gpu_id)
        .ok_or(Errno::EINVAL)?;
    let drm_fd = bucket.drm_fd.cast_signed();
    if fd::node(device, drm_fd) != Some(fd::Node::Render(gpu)) {
        return Err(Errno::EINVAL);
    }
    Ok((gpu, render_file(device, drm_fd)?))
}

/// Takes the blob apart from its front.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn next<T: FromBytes>(&mut self) -> Result<T, Errno> {
        let (value, rest) = T::read_from_prefix(self.rest).map_err(|_| Errno::EINVAL)?;
        self.rest = rest;
        Ok(value)
    }

    /// The whole blob must have been understood.
    fn finish(&self) -> Result<(), Errno> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Errno::EINVAL)
        }
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8], Errno> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or(Errno::EINVAL)?;
        self.rest = rest;
        Ok(taken)
    }
}

fn restore_buffers(
    device: &Device,
    tables: &mut Tables,
    slot: usize,
    buckets: &mut [BoBucket],
    reader: &mut Reader<'_>,
) -> Result<(), Errno> {
    // None is open yet, whatever the caller left there.
    for bucket in &mut *buckets {
        bucket.dmabuf_fd = INVALID_FD;
    }
    for bucket in buckets {
        let private: PrivateBo = reader.next()?;
        let process = *tables.process(slot).ok_or(Errno::ESRCH)?;
        let gpu = process.gpu(bucket.gpu_id).ok_or(Errno::EINVAL)?;
        let new = NewBuffer {
            gpu,
            va: bucket.addr,
            size: bucket.size,
            flags: bucket.alloc_flags,
            host: private.user_addr,
            index: Some(private.index),
        };
        if tables.buffer(slot, gpu, private.index).is_some() {
            return Err(Errno::EINVAL);
        }
        let buffer = create(device, tables, slot, &new)?;
        let (place, buffer) = tables
            .buffer(slot, gpu, buffer.index)
            .ok_or(Errno::ENOENT)?;
        for id in private.mapped_gpu_ids.into_iter().take_while(|id| *id != 0) {
            let maps = process.gpu(id).ok_or(Errno::EINVAL)?;
            map_buffer(device, tables, (slot, maps), place)?;
        }
        bucket.restored_offset = buffer.offset;
        if buffer.flags & (VRAM | GTT) != 0 {
            bucket.dmabuf_fd = share(device, tables, buffer.object)?.cast_unsigned();
        }
    }
    Ok(())
}

fn restore_objects(
    device: &Device,
    tables: &mut Tables,
    slot: usize,
    count: u32,
    reader: &mut Reader<'_>,
) -> Result<(), Errno> {
    for _ in 0..count {
        let kind = u32::read_from_prefix(reader.rest)
            .map_err(|_| Errno::EINVAL)?
            .0;
        match kind {
            TYPE_QUEUE => {
                let private: QueueBlob = reader.next()?;
                reader.take(REGISTERS)?;
                let bytes = (private.stack_size as usize).min(CONTROL_STACK_BYTES);
                let stack = reader.take(bytes)?.get(..private.stack_used as usize);
                restore_queue(device, tables, slot, &private)?;
                let place = tables.control_stack_mut(slot, private.id);
                place
                    .zip(stack)
                    .ok_or(Errno::EINVAL)
                    .map(|(place, stack)| place.fill(stack))?;
            }
            TYPE_EVENT => {
                let private: EventBlob = reader.next()?;
                let live = &device.state().live[slot];
                let event = live.events.get(private.id as usize).ok_or(Errno::EINVAL)?;
                let signaled = private.signaled != 0;
                event::make(event, private.kind, private.auto_reset, signaled);
                event
                    .fault_flags
                    .store(private.fault_flags, Ordering::Relaxed);
                event.fault_va.store(private.fault_va, Ordering::Relaxed);
                let process = tables.process(slot).ok_or(Errno::ESRCH)?;
                let gpu = process.gpu(private.fault_gpu_id).unwrap_or(0);
                event.fault_gpu.store(gpu as u32, Ordering::Relaxed);
            }
            _ => return Err(Errno::EINVAL),
        }
    }
    Ok(())
}

fn restore_queue(
    device: &Device,
    tables: &mut Tables,
    slot: usize,
    private: &QueueBlob,
) -> Result<(), Errno> {
    if !private.ring_size.is_power_of_two() || tables.queue_mut(slot, private.id).is_some() {
        return Err(Errno::EINVAL);
    }
    let process = tables.process(slot).ok_or(Errno::ESRCH)?;
    let gpu = process.gpu(private.gpu_id).ok_or(Errno::EINVAL)?;
    let queue = Queue {
        owner: slot as u32 + 1,
        id: private.id,
        kind: private.kind,
        ring_size: private.ring_size,
        ring: private.ring,
        write_pointer: private.write_pointer,
        read_pointer: private.read_pointer,
        doorbell: private.doorbell,
        percentage: private.percentage,
        priority: private.priority,
        failed: private.failed,
        eop_address: private.eop_address,
        eop_size: private.eop_size,
        save_address: private.save_address,
        save_size: private.save_size,
        stack_size: private.stack_size,
        evicted: 1,
        gpu: gpu as u32,
    };
    let process = &mut tables.processes[slot];
    process.next_queue = process.next_queue.max(private.id.saturating_add(1));
    let wanted = Some(private.doorbell);
    queue::insert(device, tables, slot, queue, wanted, private.doorbell_value).map(drop)
}

/// Lets the queues of a restored process run.
fn resume(caller: &Caller, args: &mut CriuOp) -> Result<(), Errno> {
    let mut tables = caller.lock()?;
    let slot = tables.slot_of(args.pid)?.ok_or(Errno::ESRCH)?;
    let owner = slot as u32 + 1;
    for queue in tables
        .queues
        .iter_mut()
        .filter(|queue| queue.owner == owner)
    {
        queue.evicted = 0;
    }
    caller.device.state().live[slot]
        .queue_epoch
        .fetch_add(1, Ordering::Release);
    drop(tables);
    if args.pid == own_pid() {
        caller.engines.start(caller.device);
    }
    Ok(())
}
