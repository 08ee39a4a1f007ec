//! Wave-instructions a second of the interpreter, on one thread: single precision, integer, LDS
//! and memory-bound loops. Prints one line a kernel. Seconds are of processor time, so that other
//! work on the machine does not show.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use strobe_code_object::Descriptor;
use strobe_isa::Target;
use strobe_kfd::aql::KernelDispatch;
use strobe_softgpu::wave::{
    AddressSpace, ComputeUnit, Control, Dispatch, Host, HostMapping, WaveProgram,
};

/// Code, then data.
const BASE: u64 = 0x10_0000_0000;
const CODE_BYTES: usize = 4096;
const BYTES: usize = 8 << 20;
const LOOPS: u32 = 2000;

struct Space(Box<[u64]>);

// SAFETY: the memory is one allocation that lives as long as `self` and never moves.
unsafe impl AddressSpace for Space {
    fn find(&self, va: u64) -> Option<HostMapping> {
        let end = BASE + BYTES as u64;
        let host = self.0.as_ptr().cast_mut().cast();
        (BASE..end).contains(&va).then_some(HostMapping {
            start: BASE,
            end,
            host,
            writable: true,
        })
    }

    fn epoch(&self) -> u64 {
        0
    }
}

struct Nobody;

impl Host for Nobody {
    fn interrupt(&self, _: u32) {}

    fn ticks(&self) -> u64 {
        0
    }
}

/// A loop around `body`, which may use v1 (lane number), v[4:5] (an address of the lane's own)
/// and everything from v8 and s8 up.
struct Kernel {
    name: &'static str,
    body: &'static [u32],
    /// Copies of the body in the loop.
    unroll: usize,
    /// Bytes that a pass over the body moves, all lanes.
    bytes: u64,
}

const KERNELS: [Kernel; 7] = [
    Kernel {
        name: "f32 fma",
        body: &[
            0xd1cb0008, 0x04221509, // v_fma_f32 v8, v9, v10, v8
            0xd1cb000b, 0x042e1509, // v_fma_f32 v11, v9, v10, v11
            0x0a181509, // v_mul_f32_e32 v12, v9, v10
            0x021a170c, // v_add_f32_e32 v13, v12, v11
        ],
        unroll: 16,
        bytes: 0,
    },
    Kernel {
        name: "f32 exp and log",
        body: &[
            0x7e104109, // v_exp_f32_e32 v8, v9
            0x7e14430b, // v_log_f32_e32 v10, v11
        ],
        unroll: 16,
        bytes: 0,
    },
    Kernel {
        name: "f64 fma",
        body: &[
            0xd1cc0008, 0x0422190a, // v_fma_f64 v[8:9], v[10:11], v[12:13], v[8:9]
            0xd280000e, 0x00021908, // v_add_f64 v[14:15], v[8:9], v[12:13]
        ],
        unroll: 16,
        bytes: 0,
    },
    Kernel {
        name: "integer",
        body: &[
            0x68101109, // v_add_u32_e32 v8, v9, v8
            0x2a141308, // v_xor_b32_e32 v10, v8, v9
            0x24161483, // v_lshlrev_b32_e32 v11, 3, v10
            0xd285000c, 0x0002130b, // v_mul_lo_u32 v12, v11, v9
        ],
        unroll: 16,
        bytes: 0,
    },
    Kernel {
        name: "LDS read and fma",
        body: &[
            0xd86c0000, 0x08000002, // ds_read_b32 v8, v2
            0xd86c0000, 0x09000003, // ds_read_b32 v9, v3
            0xbf8cc07f, // s_waitcnt lgkmcnt(0)
            0xd1cb000a, 0x042a1308, // v_fma_f32 v10, v8, v9, v10
        ],
        unroll: 16,
        bytes: 512,
    },
    Kernel {
        name: "copy dword",
        body: &[
            0xdc508000, 0x087f0004, // global_load_dword v8, v[4:5], off
            0xbf8c0f70, // s_waitcnt vmcnt(0)
            0xdc708000, 0x007f0806, // global_store_dword v[6:7], v8, off
        ],
        unroll: 16,
        bytes: 512,
    },
    Kernel {
        name: "copy dwordx4",
        body: &[
            0xdc5c8000, 0x087f0010, // global_load_dwordx4 v[8:11], v[16:17], off
            0xbf8c0f70, // s_waitcnt vmcnt(0)
            0xdc7c8000, 0x007f0812, // global_store_dwordx4 v[18:19], v[8:11], off
        ],
        unroll: 16,
        bytes: 2048,
    },
];

fn program(kernel: &Kernel) -> Vec<u32> {
    #[rustfmt::skip]
    let mut words: Vec<u32> = vec![
        0x7e020300, // v_mov_b32_e32 v1, v0
        0x24040282, // v_lshlrev_b32_e32 v2, 2, v1
        0x260604ff, 0x000000f0, // v_and_b32_e32 v3, 0xf0, v2
        0x7e0a0201, // v_mov_b32_e32 v5, s1
        0x32080400, // v_add_co_u32_e32 v4, vcc, s0, v2
        0x380a0a80, // v_addc_co_u32_e32 v5, vcc, 0, v5, vcc
        0x7e2802ff, 0x00100000, // v_mov_b32_e32 v20, 0x100000
        0x320c0914, // v_add_co_u32_e32 v6, vcc, v20, v4
        0x380e0a80, // v_addc_co_u32_e32 v7, vcc, 0, v5, vcc
        0x242a0482, // v_lshlrev_b32_e32 v21, 2, v2
        0x7e220201, // v_mov_b32_e32 v17, s1
        0x32202a00, // v_add_co_u32_e32 v16, vcc, s0, v21
        0x38222280, // v_addc_co_u32_e32 v17, vcc, 0, v17, vcc
        0x32242114, // v_add_co_u32_e32 v18, vcc, v20, v16
        0x38262280, // v_addc_co_u32_e32 v19, vcc, 0, v17, vcc
        0x7e120d01, // v_cvt_f32_u32_e32 v9, v1
        0x7e1402f2, // v_mov_b32_e32 v10, 1.0
        0x7e1602f4, // v_mov_b32_e32 v11, 2.0
        0x7e1a02f2, // v_mov_b32_e32 v13, 1.0
        0xbe8800ff, LOOPS, // s_mov_b32 s8, 0x7d0
    ];
    let head = i32::try_from(words.len()).expect("a short program");
    for _ in 0..kernel.unroll {
        words.extend(kernel.body);
    }
    let length = i32::try_from(words.len()).expect("a short program");
    #[rustfmt::skip]
    words.extend([
        0x80888108, // s_sub_u32 s8, s8, 1
        0xbf078008, // s_cmp_lg_u32 s8, 0
    ]);
    // s_cbranch_scc1 to the head of the loop, in words from the next instruction.
    words.push(0xbf85_0000 | (head - length - 3).cast_unsigned() & 0xffff);
    words.push(0xbf81_0000); // s_endpgm
    words
}

fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .expect("the clock exists")
        .into()
}

fn main() {
    println!("{:<28} {:>16} {:>10}", "kernel", "M wave-instr/s", "GB/s");
    for kernel in &KERNELS {
        let code = program(kernel);
        let mut memory = vec![0_u64; BYTES / 8].into_boxed_slice();
        for (at, pair) in code.chunks(2).enumerate() {
            memory[at] = u64::from(pair[0]) | u64::from(pair.get(1).copied().unwrap_or(0)) << 32;
        }
        let space = Space(memory);
        let program = WaveProgram::new(Target::DEFAULT);
        let word = AtomicU32::new(0);
        let control = Control {
            word: &word,
            reasons: 1,
            host: &Nobody,
        };
        let dispatch = Dispatch {
            packet: KernelDispatch {
                workgroup_size: [256, 1, 1],
                grid_size: [256, 1, 1],
                group_segment_size: 8192,
                kernel_object: BASE,
                // What the program finds in s[0:1]: where its data begins.
                kernarg_address: BASE + CODE_BYTES as u64,
                ..KernelDispatch::default()
            },
            descriptor: Descriptor {
                // 32 vector registers, IEEE mode, subnormals kept.
                rsrc1: 7 | 0xf0 << 12 | 1 << 21 | 1 << 23,
                // Two user registers: the kernarg pointer.
                rsrc2: 2 << 1,
                properties: 1 << 3,
                ..Descriptor::default()
            },
            ..Dispatch::default()
        };
        let mut unit = ComputeUnit::new();
        let (mut instructions, mut passes) = (0_u64, 0_u64);
        let start = processor_time();
        while processor_time() - start < Duration::from_millis(300) {
            match unit.run_workgroup(&dispatch, &program, &space, [0; 3], &control, None) {
                Ok(stats) => instructions += stats.wave_instructions,
                Err(stop) => {
                    println!("{:<28} {stop}", kernel.name);
                    break;
                }
            }
            passes += 4 * u64::from(LOOPS) * kernel.unroll as u64;
        }
        let seconds = (processor_time() - start).as_secs_f64();
        println!(
            "{:<28} {:>16.1} {:>10.2}",
            kernel.name,
            instructions as f64 / seconds / 1e6,
            (passes * kernel.bytes) as f64 / seconds / 1e9
        );
    }
}
