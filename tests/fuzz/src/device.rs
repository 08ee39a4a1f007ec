//! The oracle: kernels run on the software GPU's interpreter, without a driver, and what they touch
//! is logged to the byte.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;
use strobe_code_object::{CodeObject, DESCRIPTOR_SIZE, Descriptor, Kernel, ObjectLimits};
use strobe_extent::{Access, Extent, ExtentSet};
use strobe_footprint::{KernelFootprint, Launch, LaunchMemory, StoredPointers};
use strobe_isa::Target;
use strobe_kfd::aql::KernelDispatch;
use strobe_softgpu::wave::{
    AccessLog, ComputeUnit, Control, Dispatch, Host, Stop, Vram, WaveProgram,
};
use zerocopy::IntoBytes;

use crate::scene::Scene;

/// GPU virtual address of the code, which kernels cannot write.
const CODE: u64 = 0x10_0000_0000;
const CODE_BYTES: u64 = 16 << 20;
/// Kernarg segment, packet and queue.
const LAUNCH: u64 = CODE + CODE_BYTES;
const PACKET: u64 = LAUNCH + 0x2000;
const QUEUE: u64 = LAUNCH + 0x3000;
/// The first buffer, with room before it that belongs to nobody.
const BUFFERS: u64 = LAUNCH + (1 << 20);
const BYTES: usize = 24 << 20;
const R_AMDGPU_RELATIVE64: u32 = 13;
/// Generations of the control word, of which the lowest bit has a meaning of its own.
const RUNNING: u32 = 0;
const STOPPED: u32 = 2;
/// A kernel that runs for longer does not end, on the busiest machine.
const LONGEST: Duration = Duration::from_secs(20);

/// A device that runs one kernel at a time.
#[derive(Debug)]
pub struct Device {
    memory: Vram,
    program: WaveProgram,
    unit: ComputeUnit,
    watchdog: Watchdog,
}

/// A code object in device memory.
#[derive(Debug)]
pub struct Module {
    pub object: CodeObject,
    base: u64,
}

/// What a kernel did.
#[derive(Clone, Debug)]
pub enum RunOutcome {
    /// It ended and kept to the buffers, which is what a right program does.
    Ended(Access),
    /// It left the buffers, or did not end: nothing is promised about such a program.
    Invalid(String),
}

impl Default for Device {
    fn default() -> Self {
        Self::new()
    }
}

impl Device {
    #[must_use]
    pub fn new() -> Self {
        Self {
            memory: Vram::new(CODE, BYTES, CODE_BYTES as usize),
            program: WaveProgram::new(Target::DEFAULT),
            unit: ComputeUnit::new(),
            watchdog: Watchdog::start(),
        }
    }

    /// Places a code object in memory, instead of the one before.
    ///
    /// # Errors
    /// If it is none, or too large.
    pub fn load(&mut self, elf: &[u8]) -> anyhow::Result<Module> {
        let object = CodeObject::parse(elf, &ObjectLimits::default())?;
        let end = object.segments.iter().map(|s| s.addresses.end).max();
        let base = CODE + 0x1000;
        if end.unwrap_or(0) > CODE_BYTES - 0x1000 {
            anyhow::bail!("a code object of {end:?} bytes is too large");
        }
        for segment in &object.segments {
            let bytes = elf.get(segment.file.clone()).context("a segment")?;
            self.memory.write(base + segment.addresses.start, bytes);
        }
        for relocation in &object.relocations {
            if relocation.kind == R_AMDGPU_RELATIVE64 {
                let value = base + relocation.value.context("a relocation")?;
                let at = base + relocation.address;
                self.memory.write(at, &value.to_le_bytes());
            }
        }
        self.program.invalidate();
        Ok(Module { object, base })
    }

    /// Runs a kernel of `module` in `scene`.
    pub fn run(&mut self, module: &Module, kernel: &Kernel, scene: &Scene) -> RunOutcome {
        let places = scene.places(BUFFERS);
        for (place, content) in places.iter().zip(scene.contents(&places)) {
            self.memory.write(place.start(), &content);
        }
        let size = kernel.kernarg_size as usize;
        self.memory.write(LAUNCH, &vec![0; 0x4000]);
        self.memory.write(LAUNCH, &scene.kernarg(size, &places));
        let dispatch = self.dispatch(module, kernel, scene);
        let mut log = AccessLog::new();
        match self.execute(&dispatch, &mut log) {
            Ok(()) => observed(&mut log, &places),
            Err(stop) => RunOutcome::Invalid(stop.to_string()),
        }
    }

    /// The first pointer that is not in memory as it is said to be after the last launch.
    pub fn differing(&mut self, stored: &[StoredPointers]) -> Option<String> {
        let Self { memory, .. } = self;
        stored.iter().find_map(|run| {
            let is = memory.read(run.start, run.content.len());
            let mut both = run.content.iter().zip(&is);
            let at = both.position(|(said, is)| said != is)? / 8 * 8;
            let place = run.start + at as u64;
            let word = |bytes: &[u8]| bytes[at..].iter().take(8).copied().collect::<Vec<u8>>();
            let (said, is) = (word(&run.content), word(&is));
            Some(format!("at {place:#x} stands {is:x?} and not {said:x?}"))
        })
    }

    fn dispatch(&mut self, module: &Module, kernel: &Kernel, scene: &Scene) -> Dispatch {
        let address = module.base + kernel.descriptor_address;
        let bytes = self.memory.read(address, DESCRIPTOR_SIZE);
        let descriptor = Descriptor::parse(&bytes).expect("a whole descriptor");
        let packet = KernelDispatch {
            workgroup_size: scene.block.map(|items| items as u16),
            grid_size: scene.grid,
            private_segment_size: descriptor.private_segment_size,
            group_segment_size: descriptor.group_segment_size,
            kernel_object: address,
            kernarg_address: LAUNCH,
            ..KernelDispatch::default()
        };
        self.memory.write(PACKET, packet.as_bytes());
        Dispatch {
            target: Target::DEFAULT,
            packet,
            descriptor,
            packet_address: PACKET,
            queue_address: QUEUE,
            ..Dispatch::default()
        }
    }

    fn execute(&mut self, dispatch: &Dispatch, log: &mut AccessLog) -> Result<(), Stop> {
        let control = Control {
            word: &self.watchdog.shared.stop,
            reasons: 1,
            host: &Nobody,
        };
        self.watchdog.begin();
        let [nx, ny, nz] = dispatch.workgroups();
        let ids = (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| [x, y, z])));
        for id in ids {
            self.unit.run_workgroup(
                dispatch,
                &self.program,
                &self.memory,
                id,
                &control,
                Some(log),
            )?;
        }
        Ok(())
    }
}

/// What was touched of the buffers; whether anything else was.
fn observed(log: &mut AccessLog, places: &[Extent]) -> RunOutcome {
    let mut tracked = ExtentSet::new();
    places.iter().for_each(|&place| tracked.insert(place));
    let set = |extents: &[strobe_softgpu::wave::AccessedRange]| {
        let mut set = ExtentSet::new();
        for extent in extents {
            if let Ok(extent) = Extent::new(extent.start, extent.end) {
                set.insert(extent);
            }
        }
        set
    };
    let (mut reads, writes) = (set(log.reads()), set(log.writes()));
    // Arguments and packet are no memory of the program.
    let own = Extent::new(LAUNCH, QUEUE + 0x1000).expect("an extent");
    reads.remove(own);
    reads.remove(Extent::new(CODE, LAUNCH).expect("an extent"));
    for (what, set) in [("reads", &reads), ("writes", &writes)] {
        if let Some(outside) = set.subtract(&tracked).iter().next() {
            return RunOutcome::Invalid(format!("{what} {outside}, which is in no buffer"));
        }
    }
    RunOutcome::Ended(Access {
        reads: reads.into(),
        writes: writes.into(),
    })
}

/// What the footprint says of the launch.
#[must_use]
pub fn predict(footprint: &KernelFootprint, kernel: &Kernel, scene: &Scene) -> Access {
    at_launch(kernel, scene, |launch, known| {
        footprint.evaluate(launch, known)
    })
}

/// What its pointers alone say of it.
#[must_use]
pub fn predict_by_pointers(footprint: &KernelFootprint, kernel: &Kernel, scene: &Scene) -> Access {
    at_launch(kernel, scene, |launch, known| {
        footprint.by_pointers(launch, known)
    })
}

/// The pointers that it says the launch leaves.
#[must_use]
pub fn predict_stored(
    footprint: &KernelFootprint,
    kernel: &Kernel,
    scene: &Scene,
) -> Vec<StoredPointers> {
    at_launch(kernel, scene, |launch, known| {
        footprint.stored(launch, known)
    })
}

fn at_launch<T>(
    kernel: &Kernel,
    scene: &Scene,
    look: impl FnOnce(&Launch<'_>, &dyn LaunchMemory) -> T,
) -> T {
    let places = scene.places(BUFFERS);
    let explicit = kernel.args.iter().filter(|arg| !arg.kind.is_hidden());
    let end = explicit.map(|arg| arg.offset + arg.size).max();
    let kernarg = scene.kernarg(kernel.kernarg_size as usize, &places);
    let launch = Launch {
        kernarg: &kernarg[..end.unwrap_or(0) as usize],
        grid: scene.grid,
        block: scene.block,
        dynamic_lds: 0,
    };
    let known = Known {
        contents: scene.contents(&places),
        places,
        scene,
    };
    look(&launch, &known)
}

/// Device memory as an agent would know it.
struct Known<'a> {
    places: Vec<Extent>,
    contents: Vec<Vec<u8>>,
    scene: &'a Scene,
}

impl LaunchMemory for Known<'_> {
    fn allocation(&self, addr: u64) -> Option<Extent> {
        let mut places = self.places.iter().copied();
        places.find(|place| place.contains_address(addr))
    }

    fn is_allocated(&self, extent: Extent) -> bool {
        self.places.iter().any(|place| place.overlaps(extent))
    }

    fn known_bytes(&self, addr: u64, len: usize) -> Option<Vec<u8>> {
        let of = self.places.iter().position(|p| p.contains_address(addr))?;
        let at = usize::try_from(addr - self.places[of].start()).ok()?;
        let bytes = self.contents[of].get(at..at.checked_add(len)?)?;
        self.scene.buffers[of].known.then(|| bytes.to_vec())
    }
}

struct Nobody;

impl Host for Nobody {
    fn interrupt(&self, _: u32) {}

    fn ticks(&self) -> u64 {
        0
    }
}

/// Stops a kernel that does not end.
#[derive(Debug)]
struct Watchdog {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The number of launches, so that one that lasts is seen.
    launches: AtomicU32,
    /// Not [`RUNNING`]: the kernel that runs must stop.
    stop: AtomicU32,
    over: AtomicBool,
}

impl Watchdog {
    fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let watched = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let mut last = 0;
            while !watched.over.load(Ordering::Acquire) {
                std::thread::park_timeout(LONGEST);
                let launches = watched.launches.load(Ordering::Acquire);
                if launches == last {
                    watched.stop.store(STOPPED, Ordering::Release);
                }
                last = launches;
            }
        });
        Self {
            shared,
            thread: Some(thread),
        }
    }

    fn begin(&self) {
        self.shared.launches.fetch_add(1, Ordering::AcqRel);
        self.shared.stop.store(RUNNING, Ordering::Release);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}
