//! The agent's kernels that the software GPU knows do natively what their instructions do.

#[macro_use]
mod driver;

use driver::Gpu;
use strobe_fingerprint::{BLOCK_BYTES, BlockEntry, KERNEL, SUM_BYTES};

/// What the agent runs.
const CODE: &[u8] = include_bytes!("../../agent/kernels/gfx906.co");
const GROUP: u16 = 256;

#[test]
fn copies_of_any_length_and_alignment() {
    let mut gpu = Gpu::new(64 << 20);
    let module = gpu.load(CODE);
    let content: Vec<u8> = (0..2_u32 << 20)
        .map(|at| (at.wrapping_mul(at) >> 7) as u8)
        .collect();
    let from = gpu.upload(&content);
    let len = content.len() + 64;
    let to = gpu.alloc(len);
    for (bytes, ahead, behind, groups) in [
        (0_u64, 0, 0, 1_u32),
        (1, 0, 0, 1),
        (4096, 16, 32, 1),
        (100_001, 3, 3, 7),
        (1 << 20, 0, 16, 64),
        ((2 << 20) - 64, 5, 16, 64),
    ] {
        let args = args![to + ahead, from + behind, bytes, groups];
        let grid = [groups * u32::from(GROUP), 1, 1];
        gpu.both_ways(&module, "copy", grid, [GROUP, 1, 1], &args, (to, len));
    }
}

#[test]
fn fingerprints_of_blocks() {
    let mut gpu = Gpu::new(16 << 20);
    let module = gpu.load(CODE);
    let content: Vec<u8> = (0..1_u32 << 20)
        .map(|at| (at.wrapping_mul(at) >> 7) as u8)
        .collect();
    let base = gpu.upload(&content);
    let spans = [(3, 3 * BLOCK_BYTES as u64 + 77), (1 << 19, 1), (64, 4096)];
    let blocks = spans.map(|(at, len)| BlockEntry::of(base + at, len));
    let blocks: Vec<BlockEntry> = blocks.into_iter().flatten().collect();
    let table: Vec<u8> = blocks.iter().flat_map(|block| block.to_bytes()).collect();
    let (table, sums) = (gpu.upload(&table), gpu.alloc(blocks.len() * SUM_BYTES));
    let name = KERNEL.to_str().expect("a name").trim_end_matches(".kd");
    let grid = [64 * blocks.len() as u32, 1, 1];
    let written = (sums, blocks.len() * SUM_BYTES);
    gpu.both_ways(
        &module,
        name,
        grid,
        [64, 1, 1],
        &args![table, sums],
        written,
    );
}
