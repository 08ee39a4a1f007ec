//! A GPU of one kind only: memory, loaded code objects, launches. No driver, no queues.

//!
//! Lets the interpreter be tested with compiled kernels on its own.

#![allow(
    unreachable_pub,
    dead_code,
    reason = "a module of several tests and an example"
)]

mod both_ways;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use strobe_code_object::{CodeObject, DESCRIPTOR_SIZE, Descriptor, ObjectLimits, extract};
use strobe_isa::Target;
use strobe_kfd::aql::KernelDispatch;
use strobe_softgpu::wave::{
    AccessLog, ComputeUnit, Control, Dispatch, Host, Stats, Stop, Vram, WaveProgram,
};
use zerocopy::IntoBytes;

/// GPU virtual address of the memory: not where the host has it.
const BASE: u64 = 0x10_0000_0000;
const R_AMDGPU_RELATIVE64: u32 = 13;

pub struct Gpu {
    target: &'static Target,
    memory: Vram,
    bytes: u64,
    used: u64,
    program: WaveProgram,
    /// Runs the portable build of the interpreter.
    pub portable: bool,
    /// Evicts workgroups after at most so many instructions, and has another compute unit go on with them.
    pub evicts: Option<u64>,
    /// How often it did.
    pub evictions: AtomicU64,
}

struct NoHost;

impl Host for NoHost {
    fn interrupt(&self, _: u32) {}

    fn ticks(&self) -> u64 {
        0
    }
}

/// The code object for `target` of a file of `tests/programs/kernels` at one optimisation level.
pub fn compile(source: &str, level: &str, target: &Target) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/kernels");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let bundle = dir.path().join("kernels.co");
    let output = Command::new("hipcc")
        .arg(format!("--offload-arch={target}"))
        .args(["--genco", "-ffp-contract=off"])
        .args([level, "-o"])
        .arg(&bundle)
        .arg(folder.join(source))
        .output()
        .expect("hipcc runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "hipcc {level} {source}: {text}");
    let bytes = std::fs::read(&bundle).expect("the bundle that hipcc wrote");
    let objects = extract(&bytes, &ObjectLimits::default()).expect("an offload bundle");
    let object = objects
        .iter()
        .find(|o| o.triple.contains(target.name))
        .expect("code for the target");
    object.bytes.to_vec()
}

/// Values that can be passed to kernels and copied to and from the GPU.
pub trait Plain: Copy {
    fn bytes(self) -> Vec<u8>;
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($ty:ty)*) => { $(
        impl Plain for $ty {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn from_bytes(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("as many bytes as the type has"))
            }
        }
    )* };
}

plain!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

impl Gpu {
    pub fn new(bytes: usize) -> Self {
        Self::of(Target::DEFAULT, bytes)
    }

    pub fn of(target: &'static Target, bytes: usize) -> Self {
        Self {
            target,
            memory: Vram::new(BASE, bytes, 0),
            bytes: bytes as u64,
            used: 0,
            program: WaveProgram::new(target),
            portable: false,
            evicts: None,
            evictions: AtomicU64::new(0),
        }
    }

    /// Zeroed memory, 256-byte aligned.
    pub fn alloc(&mut self, bytes: usize) -> u64 {
        let va = BASE + self.used;
        self.used += (bytes as u64).next_multiple_of(256);
        assert!(self.used <= self.bytes, "the test GPU's memory is full");
        va
    }

    pub fn write_bytes(&mut self, va: u64, bytes: &[u8]) {
        self.memory.write(va, bytes);
    }

    pub fn upload<T: Plain>(&mut self, values: &[T]) -> u64 {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.bytes()).collect();
        let va = self.alloc(bytes.len());
        self.write_bytes(va, &bytes);
        va
    }

    pub fn download<T: Plain>(&mut self, va: u64, count: usize) -> Vec<T> {
        let size = size_of::<T>();
        let bytes = self.memory.read(va, size * count);
        bytes.chunks_exact(size).map(T::from_bytes).collect()
    }

    /// Places the segments of a code object in memory.
    pub fn load(&mut self, elf: &[u8]) -> Module {
        let object = CodeObject::parse(elf, &ObjectLimits::default()).expect("a code object");
        let size = object
            .segments
            .iter()
            .map(|s| s.addresses.end)
            .max()
            .unwrap_or(0);
        self.used = self.used.next_multiple_of(4096);
        let base = self.alloc(size as usize);
        for segment in &object.segments {
            self.write_bytes(base + segment.addresses.start, &elf[segment.file.clone()]);
        }
        for relocation in &object.relocations {
            if relocation.kind == R_AMDGPU_RELATIVE64 {
                let value = base + relocation.value.unwrap_or(0);
                self.write_bytes(base + relocation.address, &value.to_le_bytes());
            }
        }
        self.program.invalidate();
        Module { object, base }
    }

    /// Runs a kernel to its end, workgroup by workgroup.
    pub fn launch(
        &mut self,
        module: &Module,
        kernel: &str,
        groups: [u32; 3],
        items: [u16; 3],
        args: &[Vec<u8>],
    ) -> Result<(Stats, AccessLog), Stop> {
        let grid = [0, 1, 2].map(|d| groups[d] * u32::from(items[d]));
        let dispatch = self.prepare(module, kernel, grid, items, args);
        self.run(&dispatch)
    }

    /// Writes kernarg segment and packet.
    pub fn prepare(
        &mut self,
        module: &Module,
        kernel: &str,
        grid_size: [u32; 3],
        workgroup_size: [u16; 3],
        args: &[Vec<u8>],
    ) -> Dispatch {
        let kernel = module
            .object
            .kernels
            .iter()
            .find(|k| k.name == kernel)
            .unwrap_or_else(|| panic!("no kernel {kernel}"));
        let explicit: Vec<_> = kernel.args.iter().filter(|a| !a.kind.is_hidden()).collect();
        assert_eq!(explicit.len(), args.len(), "arguments of {}", kernel.name);
        let kernarg_address = self.alloc(kernel.kernarg_size as usize + 64);
        for (arg, bytes) in explicit.iter().zip(args) {
            assert_eq!(
                arg.size as usize,
                bytes.len(),
                "size of an argument of {}",
                kernel.name
            );
            self.write_bytes(kernarg_address + u64::from(arg.offset), bytes);
        }
        let descriptor_address = module.base + kernel.descriptor_address;
        let bytes = self.download::<u8>(descriptor_address, DESCRIPTOR_SIZE);
        let descriptor = Descriptor::parse(&bytes).expect("a whole descriptor");
        let packet = KernelDispatch {
            workgroup_size,
            grid_size,
            private_segment_size: descriptor.private_segment_size,
            group_segment_size: descriptor.group_segment_size,
            kernel_object: descriptor_address,
            kernarg_address,
            ..KernelDispatch::default()
        };
        let packet_address = self.upload(packet.as_bytes());
        let queue_address = self.alloc(256);
        Dispatch {
            target: self.target,
            packet,
            descriptor,
            packet_address,
            queue_address,
            ..Dispatch::default()
        }
    }

    fn unit(&self) -> ComputeUnit {
        if self.portable {
            ComputeUnit::portable()
        } else {
            ComputeUnit::new()
        }
    }

    /// Has a unit let go after a number of instructions that is another each time.
    fn limit(&self, unit: &mut ComputeUnit) {
        if let Some(most) = self.evicts {
            let drawn = self
                .evictions
                .load(Ordering::Relaxed)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                >> 20;
            unit.let_go_after(drawn % most + 1);
        }
    }

    /// Runs a kernel whose workgroups, in one dimension, each have a worker of their own.
    pub fn race(
        &mut self,
        module: &Module,
        kernel: &str,
        groups: u32,
        items: u16,
        args: &[Vec<u8>],
    ) -> Result<(), Stop> {
        let grid = [groups * u32::from(items), 1, 1];
        let dispatch = self.prepare(module, kernel, grid, [items, 1, 1], args);
        let (gpu, dispatch, word) = (&*self, &dispatch, AtomicU32::new(0));
        let word = &word;
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..groups)
                .map(|group| {
                    scope.spawn(move || {
                        let control = Control {
                            word,
                            reasons: 1,
                            host: &NoHost,
                        };
                        let id = [group, 0, 0];
                        gpu.unit().run_workgroup(
                            dispatch,
                            &gpu.program,
                            &gpu.memory,
                            id,
                            &control,
                            None,
                        )
                    })
                })
                .collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().expect("a worker").map(drop))
        })
    }

    /// Runs all workgroups of a dispatch in this thread.
    pub fn run(&self, dispatch: &Dispatch) -> Result<(Stats, AccessLog), Stop> {
        let word = AtomicU32::new(0);
        let control = Control {
            word: &word,
            reasons: 1,
            host: &NoHost,
        };
        let mut unit = self.unit();
        self.limit(&mut unit);
        let mut log = AccessLog::new();
        let mut total = Stats::default();
        let [nx, ny, nz] = dispatch.workgroups();
        for z in 0..nz {
            for y in 0..ny {
                for x in 0..nx {
                    let id = [x, y, z];
                    let (program, memory) = (&self.program, &self.memory);
                    let mut ended =
                        unit.run_workgroup(dispatch, program, memory, id, &control, Some(&mut log));
                    while ended == Err(Stop::Evicted) {
                        self.evictions.fetch_add(1, Ordering::Relaxed);
                        let saved = unit.save(dispatch, id);
                        unit = self.unit();
                        self.limit(&mut unit);
                        unit.restore(dispatch, id, &saved)?;
                        ended = unit.go_on(dispatch, program, memory, id, &control, Some(&mut log));
                    }
                    let stats = ended?;
                    total.wave_instructions += stats.wave_instructions;
                    total.bytes_read += stats.bytes_read;
                    total.bytes_written += stats.bytes_written;
                }
            }
        }
        Ok((total, log))
    }
}

pub struct Module {
    object: CodeObject,
    base: u64,
}

impl Module {
    /// Address of a variable.
    pub fn symbol(&self, name: &str) -> u64 {
        let symbol = self.object.symbols.iter().find(|s| s.name == name);
        self.base + symbol.unwrap_or_else(|| panic!("no symbol {name}")).address
    }
}

/// Kernel arguments as bytes.
#[macro_export]
macro_rules! args {
    ($($value:expr),* $(,)?) => { [$($crate::driver::Plain::bytes($value)),*] };
}
