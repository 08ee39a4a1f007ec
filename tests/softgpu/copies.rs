//! HIP copies and fills device memory by kernels of its own, which it compiles when it starts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::harness::{Folder, hip_program, strobe};

#[path = "../../crates/softgpu/tests/driver/mod.rs"]
#[macro_use]
mod gpu;

use gpu::{Gpu, Module, Plain};

/// The code object that HIP's compiler makes when a program fills memory.
fn hips_own_kernels(folder: &Folder) -> Vec<u8> {
    let program = hip_program("vadd.cpp");
    let mut command = Command::new(strobe().path());
    command.args(["softgpu", "--", &program]);
    command.env("AMD_COMGR_SAVE_TEMPS", "1");
    command.env("TMPDIR", folder.path());
    let output = command.output().expect("strobe runs");
    assert!(output.status.success(), "{output:?}");
    let name = b"__amd_rocclr_fillBufferAligned.kd";
    let mut objects = files(folder.path()).into_iter().filter_map(|path| {
        let bytes = fs::read(path).ok()?;
        let has = bytes.windows(name.len()).any(|at| at == name);
        // Shared objects, not those that they are linked from.
        (has && bytes.starts_with(b"\x7fELF") && bytes[16] == 3).then_some(bytes)
    });
    objects.next().expect("the compiler has kept what it made")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// Reproducible numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }

    fn one_of(&mut self, numbers: &[u64]) -> u64 {
        numbers[self.below(numbers.len() as u64) as usize]
    }
}

const AREA: usize = 1 << 20;

/// A GPU with HIP's kernels, an area that is read and one that is written.
struct Test {
    gpu: Gpu,
    module: Module,
    from: u64,
    to: u64,
    random: Random,
}

impl Test {
    fn new(code: &[u8]) -> Self {
        let mut gpu = Gpu::new(8 << 20);
        let module = gpu.load(code);
        let content: Vec<u8> = (0..AREA as u32)
            .map(|at| (at.wrapping_mul(at) >> 7) as u8)
            .collect();
        let from = gpu.upload(&content);
        let to = gpu.alloc(AREA);
        let random = Random(1);
        Self {
            gpu,
            module,
            from,
            to,
            random,
        }
    }

    fn both_ways(&mut self, name: &str, grid: [u64; 3], items: [u16; 3], arguments: &[Vec<u8>]) {
        let name = format!("__amd_rocclr_{name}");
        let written = (self.to, AREA);
        let grid = grid.map(|size| size as u32);
        self.gpu
            .both_ways(&self.module, &name, grid, items, arguments, written);
    }

    /// A grid for so many items: as many, more, or fewer.
    fn grid(&mut self, items: u64, group: u64) -> u64 {
        let more = items.next_multiple_of(group);
        self.random
            .one_of(&[more, more + group, items.max(1), more.div_ceil(2).max(1)])
    }

    fn fill(&mut self) {
        let element = self.random.one_of(&[1, 2, 4, 8]);
        let elements = self.random.one_of(&[1, 1, 2, 3]);
        let pointers = [1, 2, 4, 8].map(|bytes| if bytes == element { self.to } else { 0 });
        let [first, size] = [self.random.below(300), self.random.below(3000)];
        let grid = self.grid(size, 256);
        let pattern = self.from + 8 * self.random.below(1000);
        let mut arguments = pointers.map(u64::bytes).to_vec();
        arguments.extend([pattern.bytes(), (elements as u32).bytes()]);
        arguments.extend([first.bytes(), size.bytes()]);
        self.both_ways("fillBufferAligned", [grid, 1, 1], [256, 1, 1], &arguments);
    }

    fn fill_2d(&mut self) {
        let element = self.random.one_of(&[1, 2, 4, 8]);
        let pointers = [1, 2, 4, 8].map(|bytes| if bytes == element { self.to } else { 0 });
        let [first, width, height] = [300, 200, 50].map(|limit| self.random.below(limit));
        let pitch = width + self.random.below(20);
        let grid = [self.grid(width, 16), self.grid(height, 16), 1];
        let mut arguments = pointers.map(u64::bytes).to_vec();
        arguments.extend([(self.from + 24).bytes(), 1_u32.bytes()]);
        arguments.extend([first, width, height, pitch].map(u64::bytes));
        self.both_ways("fillBufferAligned2D", grid, [16, 16, 1], &arguments);
    }

    fn copy(&mut self, name: &str, kinds: &[u64]) {
        let kind = self.random.one_of(kinds);
        let [size, out, into] = [3000, 100, 100].map(|limit| self.random.below(limit));
        let grid = self.grid(size, 256);
        let odd = if kinds.contains(&8) { 3 } else { 16 };
        let [from, to] = [self.from, self.to].map(|at| at + odd * self.random.below(10));
        let mut arguments = [from, to, out, into, size].map(u64::bytes).to_vec();
        arguments.push((kind as u32).bytes());
        self.both_ways(name, [grid, 1, 1], [256, 1, 1], &arguments);
    }

    fn copy_rect(&mut self, name: &str, last: u64) {
        let [width, height, depth] = [60, 20, 4].map(|limit| self.random.below(limit));
        let mut side = || {
            let row = width + self.random.below(9);
            let layer = row * height + self.random.below(9);
            [row, layer, self.random.below(50), 0]
                .map(u64::bytes)
                .concat()
        };
        let sides = [side(), side()];
        let grid = [
            self.grid(width, 16),
            self.grid(height, 16),
            self.grid(depth, 1),
        ];
        let mut arguments = [self.from, self.to].map(u64::bytes).to_vec();
        arguments.extend(sides);
        arguments.push([width, height, depth, last].map(u64::bytes).concat());
        self.both_ways(name, grid, [16, 16, 1], &arguments);
    }
}

#[test]
fn hips_copies_and_fills_are_known_and_do_as_their_instructions_do() {
    let folder = Folder::new("hips-kernels");
    let mut test = Test::new(&hips_own_kernels(&folder));
    for _ in 0..60 {
        test.fill();
        test.fill_2d();
        test.copy("copyBuffer", &[8, 0, 1, 2, 3, 4]);
        test.copy("copyBufferAligned", &[4, 16]);
        test.copy_rect("copyBufferRect", 0);
        let element = test.random.one_of(&[4, 16]);
        test.copy_rect("copyBufferRectAligned", element);
    }
}
