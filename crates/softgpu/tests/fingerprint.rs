//! Fingerprints that the device computes are those that the CPU computes.

#[macro_use]
mod driver;

use driver::{Gpu, Module};
use strobe_fingerprint::{BLOCK_BYTES, BlockEntry, BlockSum, Fingerprint, KERNEL, SUM_BYTES};

/// What the agent runs.
const CODE: &[u8] = include_bytes!("../../agent/kernels/gfx906.co");

/// Reproducible numbers.
fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    }
}

/// Fingerprints these pieces of memory with one launch.
fn on_device(gpu: &mut Gpu, module: &Module, chunks: &[(u64, u32)]) -> Vec<Fingerprint> {
    let blocks: Vec<BlockEntry> = chunks
        .iter()
        .flat_map(|(address, bytes)| BlockEntry::of(*address, u64::from(*bytes)))
        .collect();
    let table: Vec<u8> = blocks.iter().flat_map(|block| block.to_bytes()).collect();
    let table = gpu.upload(&table);
    let sums = gpu.alloc(blocks.len() * SUM_BYTES);
    let name = KERNEL.to_str().expect("a name").trim_end_matches(".kd");
    let groups = [blocks.len() as u32, 1, 1];
    gpu.launch(module, name, groups, [64, 1, 1], &args![table, sums])
        .expect("the kernel runs");
    let bytes = gpu.download::<u8>(sums, blocks.len() * SUM_BYTES);
    let (sums, _) = bytes.as_chunks::<SUM_BYTES>();
    let mut sums = sums.iter().map(BlockSum::from_bytes);
    chunks
        .iter()
        .map(|(_, bytes)| {
            let count = (*bytes as usize).div_ceil(BLOCK_BYTES);
            Fingerprint::of_blocks(sums.by_ref().take(count), u64::from(*bytes))
        })
        .collect()
}

#[test]
fn device_and_cpu_agree() {
    for portable in [false, true] {
        let mut gpu = Gpu::new(16 << 20);
        gpu.portable = portable;
        let module = gpu.load(CODE);
        let mut random = random(if portable { 2 } else { 1 });
        let content: Vec<u8> = (0..4 << 20).map(|_| random() as u8).collect();
        let base = gpu.upload(&content);
        let mut chunks: Vec<(usize, u32)> = [
            1,
            15,
            16,
            17,
            1023,
            1024,
            1025,
            4096,
            65535,
            65536,
            65537,
            131072,
            2 << 20,
        ]
        .map(|bytes| (0, bytes))
        .to_vec();
        for _ in 0..200 {
            let bytes = match random() % 3 {
                0 => random() % 3000,
                1 => random() % (3 * BLOCK_BYTES as u64),
                _ => 1024 * (random() % 200),
            };
            let bytes = bytes.max(1) as u32;
            let at = random() as usize % (content.len() - bytes as usize);
            chunks.push((at, bytes));
        }
        let placed: Vec<(u64, u32)> = chunks
            .iter()
            .map(|&(at, bytes)| (base + at as u64, bytes))
            .collect();
        let got = on_device(&mut gpu, &module, &placed);
        for (&(at, bytes), got) in chunks.iter().zip(got) {
            let want = Fingerprint::of(&content[at..at + bytes as usize]);
            assert_eq!(got, want, "{bytes} bytes at {at:#x}, portable {portable}");
        }
    }
}
