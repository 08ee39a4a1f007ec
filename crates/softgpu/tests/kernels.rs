//! Kernels compiled by hipcc, at every optimisation level and in both builds of the interpreter,
//! against results computed here.

mod driver;

use std::sync::OnceLock;

use driver::{Gpu, Module, compile};
use half::f16;
use strobe_isa::Target;

const LEVELS: [&str; 4] = ["-O0", "-O1", "-O2", "-O3"];

/// The targets, and at which optimisation levels kernels run on them.
const TARGETS: [(&Target, &[usize]); 2] =
    [(&Target::GFX906, &[0, 1, 2, 3]), (&Target::GFX90A, &[0, 3])];

/// The code object of `tests/programs/kernels/kernels.hip` for one target at one optimisation level.
fn compiled(target: usize, level: usize) -> &'static [u8] {
    static OBJECTS: [[OnceLock<Vec<u8>>; 4]; 2] = [const { [const { OnceLock::new() }; 4] }; 2];
    OBJECTS[target][level].get_or_init(|| compile("kernels.hip", LEVELS[level], TARGETS[target].0))
}

/// Runs `test` for every optimisation level and both builds of the interpreter, and evicted at any instruction.
fn everywhere(test: impl Fn(&mut Gpu, &Module, &str)) {
    let levels = TARGETS.iter().enumerate();
    let all =
        levels.flat_map(|(index, (_, levels))| levels.iter().map(move |level| (index, *level)));
    for (index, level) in all {
        let (target, flag) = (TARGETS[index].0, LEVELS[level]);
        for (portable, evicts, build) in [
            (false, None, "AVX-512"),
            (true, None, "portable"),
            (false, Some(4001), "AVX-512, evicted"),
        ] {
            let mut gpu = Gpu::of(target, 64 << 20);
            (gpu.portable, gpu.evicts) = (portable, evicts);
            let module = gpu.load(compiled(index, level));
            test(&mut gpu, &module, &format!("{target} {flag} {build}"));
        }
    }
}

/// Reproducible numbers.
fn random(seed: u64) -> impl Iterator<Item = u32> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let x = state >> 33 ^ state;
        (x >> 9) as u32
    })
}

fn floats(seed: u64, n: usize, scale: f32) -> Vec<f32> {
    random(seed)
        .take(n)
        .map(|x| (x as f32 / u32::MAX as f32 - 0.5) * 2.0 * scale)
        .collect()
}

#[track_caller]
fn same<T: PartialEq + std::fmt::Debug>(got: &[T], want: &[T], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    if let Some(i) = (0..got.len()).find(|&i| got[i] != want[i]) {
        panic!("{what}: element {i} is {:?}, want {:?}", got[i], want[i]);
    }
}

/// Within `ulps` of single precision of a result computed in double precision.
#[track_caller]
fn near(got: f32, want: f64, ulps: f64, what: &str) {
    let rounded = want as f32;
    if got == rounded || got.is_nan() && rounded.is_nan() {
        return;
    }
    let ulp = f64::from(f32::from_bits(rounded.abs().to_bits() + 1)) - f64::from(rounded.abs());
    let error = (f64::from(got) - want).abs() / ulp;
    assert!(
        error <= ulps,
        "{what}: {got:e}, want {want:e}: {error:.2} ulp"
    );
}

#[track_caller]
fn near64(got: f64, want: f64, ulps: f64, what: &str) {
    if got == want || got.is_nan() && want.is_nan() {
        return;
    }
    let ulp = f64::from_bits(want.abs().to_bits() + 1) - want.abs();
    let error = (got - want).abs() / ulp;
    assert!(
        error <= ulps,
        "{what}: {got:e}, want {want:e}: {error:.2} ulp"
    );
}

#[test]
fn saxpy_with_a_partial_last_wave() {
    everywhere(|gpu, module, what| {
        let n = 1000;
        let (x, y) = (floats(1, n, 10.0), floats(2, n, 10.0));
        let (dx, dy) = (gpu.upload(&x), gpu.upload(&y));
        let args = args![2.5_f32, dx, dy, n as i32];
        let (_, mut log) = gpu
            .launch(module, "saxpy", [8, 1, 1], [128, 1, 1], &args)
            .expect(what);
        let want: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.5 * x + y).collect();
        same(&gpu.download::<f32>(dy, n), &want, what);
        assert_eq!(
            log.writes(),
            std::slice::from_ref(&(dy..dy + 4000)),
            "{what}"
        );
        assert!(
            log.reads().contains(&(dx..dx + 4000)),
            "{what}: {:x?}",
            log.reads()
        );
    });
}

#[test]
fn tiled_matmul() {
    everywhere(|gpu, module, what| {
        let n = 48;
        let (a, b) = (floats(3, n * n, 1.0), floats(4, n * n, 1.0));
        let (da, db, dc) = (gpu.upload(&a), gpu.upload(&b), gpu.alloc(4 * n * n));
        let args = args![da, db, dc, n as i32];
        gpu.launch(module, "matmul", [3, 3, 1], [16, 16, 1], &args)
            .expect(what);
        let mut want = vec![0_f32; n * n];
        for i in 0..n {
            for j in 0..n {
                want[i * n + j] =
                    (0..n).fold(0.0, |sum, k| a[i * n + k].mul_add(b[k * n + j], sum));
            }
        }
        same(&gpu.download::<f32>(dc, n * n), &want, what);
    });
}

#[test]
fn reduction_by_shuffles_and_atomics() {
    everywhere(|gpu, module, what| {
        let n = 5000;
        let values: Vec<f32> = random(5).take(n).map(|x| (x % 1000) as f32).collect();
        let (input, sum, max) = (
            gpu.upload(&values),
            gpu.upload(&[0_f32]),
            gpu.upload(&[0_i32]),
        );
        gpu.launch(
            module,
            "reduce",
            [3, 1, 1],
            [256, 1, 1],
            &args![input, sum, max, n as i32],
        )
        .expect(what);
        // Whole numbers below 2^24: exact in any order.
        same(&gpu.download::<f32>(sum, 1), &[values.iter().sum()], what);
        let want = values.iter().fold(0.0_f32, |m, &v| m.max(v)) as i32;
        same(&gpu.download::<i32>(max, 1), &[want], what);
    });
}

#[test]
fn softmax_of_rows() {
    everywhere(|gpu, module, what| {
        let (rows, columns) = (5, 200);
        let values = floats(6, rows * columns, 8.0);
        let (input, output) = (gpu.upload(&values), gpu.alloc(4 * rows * columns));
        let args = args![input, output, columns as i32];
        gpu.launch(module, "softmax", [rows as u32, 1, 1], [256, 1, 1], &args)
            .expect(what);
        let got = gpu.download::<f32>(output, rows * columns);
        for (got, row) in got.chunks(columns).zip(values.chunks(columns)) {
            let max = row.iter().fold(f32::MIN, |m, &v| m.max(v));
            let e: Vec<f64> = row.iter().map(|&v| f64::from(v - max).exp()).collect();
            let total: f64 = e.iter().sum();
            for (got, e) in got.iter().zip(&e) {
                near(*got, e / total, 16.0, what);
            }
        }
    });
}

#[test]
fn single_precision_mathematics() {
    everywhere(|gpu, module, what| {
        let mut x = floats(7, 500, 100.0);
        x.extend([
            0.0,
            -0.0,
            1.0,
            -1.0,
            1e-40,
            3e38,
            -1e-38,
            f32::INFINITY,
            f32::NAN,
            1e-45,
            7e30,
        ]);
        let n = x.len();
        let (input, output) = (gpu.upload(&x), gpu.alloc(64 * n));
        gpu.launch(
            module,
            "math32",
            [n.div_ceil(64) as u32, 1, 1],
            [64, 1, 1],
            &args![input, output, n as i32],
        )
        .expect(what);
        let got = gpu.download::<f32>(output, 16 * n);
        for i in 0..n {
            let (x, y) = (x[i], x[(i + 1) % n]);
            let (wx, wy) = (f64::from(x), f64::from(y));
            let o = &got[16 * i..][..16];
            let check = |k: usize, want: f64, ulps: f64| {
                near(
                    o[k],
                    want,
                    ulps,
                    &format!("{what}: result {k} of {x:e}, {y:e}"),
                );
            };
            // Division and square root are correctly rounded.
            let quotient = x / y;
            assert!(
                o[0].to_bits() == quotient.to_bits() || o[0].is_nan() && quotient.is_nan(),
                "{what}: {x:e} / {y:e} = {:e}, want {quotient:e}",
                o[0]
            );
            check(1, f64::from(x.abs().sqrt()), 1.0);
            check(2, f64::from(x * 0.01).exp(), 2.0);
            check(3, f64::from(x.abs() + 1e-3).ln(), 3.0);
            check(4, wx.sin(), 2.0);
            check(5, wx.cos(), 2.0);
            check(6, wx.abs().powf(f64::from(0.3_f32)), 4.0);
            check(7, f64::from(x * 0.1).tanh(), 3.0);
            check(8, wx.floor(), 0.0);
            check(9, wx % f64::from(3.7_f32), 0.0);
            check(10, 1.0 / f64::from(x.abs() + 1.0).sqrt(), 2.0);
            check(11, wx * 2_f64.powi((y as i32).clamp(-400, 400)), 0.5);
            check(12, wx.atan2(wy), 4.0);
            check(13, f64::from(x.min(y)), 0.0);
            check(14, wx.cbrt(), 2.0);
        }
    });
}

#[test]
fn double_precision_mathematics() {
    everywhere(|gpu, module, what| {
        let mut x: Vec<f64> = floats(8, 300, 100.0)
            .iter()
            .map(|&x| f64::from(x) * 1.000_000_1)
            .collect();
        x.extend([
            0.0,
            -0.0,
            1.0,
            1e300,
            -1e-300,
            1e-308,
            f64::INFINITY,
            f64::NAN,
            1e15,
        ]);
        let n = x.len();
        let (input, output) = (gpu.upload(&x), gpu.alloc(96 * n));
        gpu.launch(
            module,
            "math64",
            [n.div_ceil(64) as u32, 1, 1],
            [64, 1, 1],
            &args![input, output, n as i32],
        )
        .expect(what);
        let got = gpu.download::<f64>(output, 12 * n);
        for i in 0..n {
            let (x, y) = (x[i], x[(i + 1) % n]);
            let o = &got[12 * i..][..12];
            let check = |k: usize, want: f64, ulps: f64| {
                near64(
                    o[k],
                    want,
                    ulps,
                    &format!("{what}: result {k} of {x:e}, {y:e}"),
                );
            };
            check(0, x / y, 0.0);
            check(1, x.abs().sqrt(), 0.0);
            check(2, (x * 0.01).exp(), 2.0);
            check(3, (x.abs() + 1e-3).ln(), 3.0);
            check(4, x.sin(), 2.0);
            check(5, x.cos(), 2.0);
            check(
                6,
                x.abs().powf(f64::from(0.3_f32) - f64::from(0.3_f32) + 0.3),
                3.0,
            );
            check(7, x.mul_add(y, 1.0), 0.0);
            check(8, x.floor(), 0.0);
            check(9, x % 3.7, 0.0);
            check(10, (x * 1e30).sin(), 2.0);
            check(11, x.tan(), 3.0);
        }
    });
}

#[test]
fn integers_of_both_widths() {
    everywhere(|gpu, module, what| {
        let mut x: Vec<u32> = random(9).take(400).collect();
        x.extend([0, 1, 2, u32::MAX, 0x8000_0000, 0x7fff_ffff, 63, 64, 31, 32]);
        let n = x.len();
        let (input, output) = (gpu.upload(&x), gpu.alloc(128 * n));
        gpu.launch(
            module,
            "integers",
            [n.div_ceil(64) as u32, 1, 1],
            [64, 1, 1],
            &args![input, output, n as i32],
        )
        .expect(what);
        let got = gpu.download::<u64>(output, 16 * n);
        for i in 0..n {
            let (a, b) = (x[i], x[(i + 1) % n] | 1);
            let wa = u64::from(a) << 32 | u64::from(x[(i + 2) % n]);
            let wb = u64::from(b >> (a & 31)) << 32 | u64::from(b);
            let (sa, sb) = (wa.cast_signed(), i64::from(b.cast_signed()));
            let i24 = |x: u32| x.cast_signed() << 8 >> 8;
            let first_set = if wa == 0 {
                0
            } else {
                u64::from(wa.trailing_zeros()) + 1
            };
            let want = [
                u64::from(a / b),
                u64::from(a % b),
                wa / wb,
                wa % wb,
                sa.wrapping_div(sb).cast_unsigned(),
                sa.wrapping_rem(sb).cast_unsigned(),
                wa.wrapping_mul(wb),
                ((u128::from(wa) * u128::from(wb)) >> 64) as u64,
                u64::from(wa.count_ones()),
                u64::from(wa.leading_zeros()),
                wa >> (b & 63),
                (sa >> (b & 63)).cast_unsigned(),
                wa << (b & 63),
                wa.reverse_bits(),
                u64::from(a.cast_signed() < b.cast_signed())
                    | u64::from(wa < wb) << 1
                    | u64::from(sa < wb.cast_signed()) << 2,
                (i64::from(i24(a).wrapping_mul(i24(b))).cast_unsigned()).wrapping_add(first_set),
            ];
            same(
                &got[16 * i..][..16],
                &want,
                &format!("{what}: {a:#x}, {b:#x}, {wa:#x}, {wb:#x}"),
            );
        }
    });
}

#[test]
fn divergent_control_flow() {
    everywhere(|gpu, module, what| {
        let x: Vec<i32> = random(10).take(777).map(|x| x as i32 >> 8).collect();
        let (input, output) = (gpu.upload(&x), gpu.alloc(4 * x.len()));
        let args = args![input, output, x.len() as i32];
        gpu.launch(module, "control", [4, 1, 1], [256, 1, 1], &args)
            .expect(what);
        let want: Vec<i32> = x
            .iter()
            .map(|&x| match x & 7 {
                0 => x.wrapping_mul(3),
                1 => x - 7,
                2 => (0..x & 63).fold(0_i32, |r, k| r.wrapping_add(k ^ x)),
                3 => !x + 100,
                4 => 100,
                5 => {
                    let (mut k, mut r) = (x & 0xff, 0);
                    while k > 1 {
                        k = if k & 1 != 0 { 3 * k + 1 } else { k / 2 };
                        r += 1;
                    }
                    r
                }
                _ => -1,
            })
            .collect();
        same(&gpu.download::<i32>(output, x.len()), &want, what);
    });
}

#[test]
fn structs_by_value() {
    everywhere(|gpu, module, what| {
        let values = floats(11, 100, 5.0);
        let input = gpu.upload(&values);
        let output = gpu.alloc(400);
        let mut args = Vec::new();
        args.extend(100_i32.to_le_bytes());
        args.extend([0; 4]);
        args.extend(1.5_f64.to_le_bytes());
        args.extend((-300_i16).to_le_bytes());
        args.extend([(-5_i8).to_le_bytes()[0], 0, 0, 0, 0, 0]);
        args.extend(input.to_le_bytes());
        args.extend([1, 2, 3, 4, 250, 0, 0, 0]);
        gpu.launch(
            module,
            "by_value",
            [2, 1, 1],
            [64, 1, 1],
            &[args, driver::Plain::bytes(output)],
        )
        .expect(what);
        let tail = [1.0, 2.0, 3.0, 4.0, 250.0];
        let want: Vec<f32> = (0..100)
            .map(|i| (f64::from(values[i]) * 1.5) as f32 - 300.0 - 5.0 + tail[i % 5])
            .collect();
        same(&gpu.download::<f32>(output, 100), &want, what);
    });
}

#[test]
fn recursive_calls_with_a_stack() {
    everywhere(|gpu, module, what| {
        let x: Vec<i32> = random(12).take(200).map(|x| (x % 97) as i32 + 1).collect();
        let (input, output) = (gpu.upload(&x), gpu.alloc(8 * x.len()));
        let args = args![input, output, x.len() as i32];
        gpu.launch(module, "calls", [2, 1, 1], [128, 1, 1], &args)
            .expect(what);
        let got = gpu.download::<i32>(output, 2 * x.len());
        for (i, &x) in x.iter().enumerate() {
            let (mut trace, mut n, mut depth) = ([0_i32; 8], x, 0);
            loop {
                trace[depth & 7] += n;
                if n <= 1 || depth > 40 {
                    break;
                }
                n = if n & 1 != 0 { 3 * n + 1 } else { n / 2 };
                depth += 1;
            }
            let sum = (0..8)
                .map(|k| trace[(k + x as usize) & 7] * (k as i32 + 1))
                .sum();
            same(
                &got[2 * i..][..2],
                &[depth as i32, sum],
                &format!("{what}: {x}"),
            );
        }
    });
}

#[test]
fn atomics_on_shared_words() {
    everywhere(|gpu, module, what| {
        let n = 1000_u32;
        let mut words = vec![0_u32; 64 + n as usize];
        (words[2], words[4], words[6]) = (u32::MAX, i32::MAX as u32, u32::MAX);
        words[5] = i32::MIN as u32;
        words[10] = 5;
        let (dw, dq, ds) = (
            gpu.upload(&words),
            gpu.upload(&[0_u64; 3]),
            gpu.upload(&[0_f32]),
        );
        let args = args![dw, dq, ds, n as i32];
        gpu.launch(module, "atomics", [4, 1, 1], [256, 1, 1], &args)
            .expect(what);
        let values: Vec<u32> = (0..n).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let sum = values.iter().fold(0_u32, |s, &v| s.wrapping_add(v));
        let signed = values.iter().map(|&v| v.cast_signed());
        let decremented = (0..n).fold(5_u32, |x, _| if x == 0 || x > 1000 { 1000 } else { x - 1 });
        let want = [
            sum,
            sum.wrapping_neg(),
            *values.iter().min().unwrap(),
            *values.iter().max().unwrap(),
            signed.clone().min().unwrap().cast_unsigned(),
            signed.max().unwrap().cast_unsigned(),
            values.iter().fold(u32::MAX, |x, &v| x & (v | 0xff)),
            u32::MAX,
            values.iter().fold(0, |x, &v| x ^ v),
            n % 1001,
            decremented,
            42,
            1,
            n,
        ];
        let got = gpu.download::<u32>(dw, 64 + n as usize);
        same(&got[..14], &want, what);
        let mut slots = got[64..].to_vec();
        slots.sort_unstable();
        same(&slots, &(0..n).collect::<Vec<_>>(), what);
        let wide = values.iter().map(|&v| u64::from(v) << 20);
        same(
            &gpu.download::<u64>(dq, 3),
            &[
                wide.clone().fold(0, u64::wrapping_add),
                wide.max().unwrap(),
                7,
            ],
            what,
        );
        same(&gpu.download::<f32>(ds, 1), &[1000.0], what);
    });
}

/// The half nearest to `x`, ties to even (`f16::from_f64` ignores the low bits).
fn nearest_half(x: f64) -> f16 {
    let start = f16::from_f64(x);
    if !start.is_finite() || start == f16::ZERO {
        return start;
    }
    let error = |bits: u16| (f64::from(f16::from_bits(bits)) - x).abs();
    let bits = start.to_bits();
    let best = [bits - 1, bits, bits + 1]
        .into_iter()
        .min_by(|&a, &b| error(a).total_cmp(&error(b)).then((a & 1).cmp(&(b & 1))));
    f16::from_bits(best.unwrap_or(bits))
}

#[test]
fn half_precision() {
    everywhere(|gpu, module, what| {
        let half = |seed| -> Vec<f16> {
            floats(seed, 300, 50.0)
                .into_iter()
                .map(f16::from_f32)
                .collect()
        };
        let (mut a, mut b) = (half(13), half(14));
        a.extend([0.0, 65504.0, 6e-8, 1.0, f32::INFINITY].map(f16::from_f32));
        b.extend([1.0, 65504.0, 6e-8, 3.0, 2.0].map(f16::from_f32));
        let n = a.len();
        let bits = |x: &[f16]| -> Vec<u16> { x.iter().map(|x| x.to_bits()).collect() };
        let (da, db) = (gpu.upload(&bits(&a)), gpu.upload(&bits(&b)));
        let output = gpu.alloc(16 * n);
        gpu.launch(
            module,
            "halves",
            [n.div_ceil(64) as u32, 1, 1],
            [64, 1, 1],
            &args![da, db, output, n as i32],
        )
        .expect(what);
        let got = gpu.download::<u16>(output, 8 * n);
        let fma = |a: f16, b: f16, c: f16| {
            nearest_half(f64::from(a) * f64::from(b) + f64::from(c)).to_bits()
        };
        for i in 0..n {
            let (a, b) = (a[i], b[i]);
            let pair =
                |f: &dyn Fn(f32, f32) -> f32| f16::from_f32(f(a.to_f32(), b.to_f32())).to_bits();
            let want = [
                pair(&|a, b| a + b),
                pair(&|a, b| a * b),
                fma(a, b, a),
                pair(&|a, b| a / b),
                pair(&|a, b| a + b),
                fma(b, b, b),
                if a > b {
                    a.to_bits()
                } else {
                    f16::from_f32(b.to_f32() * 0.5).to_bits()
                },
                pair(&|a, _| a.abs().sqrt()),
            ];
            same(&got[8 * i..][..8], &want, &format!("{what}: {a}, {b}"));
        }
    });
}

#[test]
fn bytes_and_shorts() {
    everywhere(|gpu, module, what| {
        let c: Vec<i8> = random(15).take(256).map(|x| x as i8).collect();
        let s: Vec<u16> = random(16).take(256).map(|x| x as u16).collect();
        let (dc, ds, output) = (gpu.upload(&c), gpu.upload(&s), gpu.alloc(1024));
        gpu.launch(
            module,
            "small_types",
            [1, 1, 1],
            [256, 1, 1],
            &args![dc, ds, output, 256_i32],
        )
        .expect(what);
        let want: Vec<i16> = (0..256)
            .flat_map(|t| {
                let o = (t * 7 + 3) & 255;
                let first = (i32::from(c[o]) * 3 + i32::from(s[t].cast_signed())) as i16;
                let logical = (i32::from(s[t]) >> 3) as i16;
                let second = if c[t] > s[o] as i8 {
                    logical
                } else {
                    s[t].cast_signed() >> 3
                };
                [first, second]
            })
            .collect();
        same(&gpu.download::<i16>(output, 512), &want, what);
    });
}

#[test]
fn exchanges_between_lanes() {
    everywhere(|gpu, module, what| {
        let v: Vec<i32> = random(17).take(64).map(|x| (x % 1000) as i32).collect();
        let (input, output) = (gpu.upload(&v), gpu.alloc(4 * 8 * 64));
        gpu.launch(
            module,
            "exchange",
            [1, 1, 1],
            [64, 1, 1],
            &args![input, output],
        )
        .expect(what);
        let got = gpu.download::<i32>(output, 512);
        let odd = v.iter().filter(|&&x| x & 1 != 0).count() as i32;
        for i in 0..64 {
            let want = [
                v[(i * 5 + 1) & 63],
                if i < 3 { v[i] } else { v[i - 3] },
                v[i ^ 17],
                odd,
                i32::from(v.contains(&3)) * 2 + 1,
                v[0] + 1,
                if i % 16 == 0 { -1 } else { v[i - 1] },
                v[i ^ 1],
            ];
            same(&got[8 * i..][..8], &want, &format!("{what}: lane {i}"));
        }
    });
}

#[test]
fn partial_groups_and_flat_pointers() {
    everywhere(|gpu, module, what| {
        let (nx, ny, nz) = (13, 7, 5);
        let output = gpu.alloc(4 * nx * ny * nz);
        let args = args![output, nx as i32, ny as i32, nz as i32];
        let grid = [nx as u32, ny as u32, nz as u32];
        let dispatch = gpu.prepare(module, "shapes", grid, [8, 4, 4], &args);
        gpu.run(&dispatch).expect(what);
        let got = gpu.download::<i32>(output, nx * ny * nz);
        for (i, got) in got.iter().enumerate() {
            let (x, y, z) = (i % nx, i / nx % ny, i / (nx * ny));
            assert_eq!(
                *got,
                ((x + y) * 100 + z + 6) as i32,
                "{what}: at {x}, {y}, {z}"
            );
        }
    });
}

#[test]
fn global_variables() {
    everywhere(|gpu, module, what| {
        let output = gpu.alloc(256);
        gpu.launch(
            module,
            "globals",
            [1, 1, 1],
            [64, 1, 1],
            &args![output, 64_i32],
        )
        .expect(what);
        let (weights, table) = ([0.5, 1.5, 2.5, 3.5_f32], [3.0, 1.0, 4.0, 1.0]);
        let want: Vec<f32> = (0..64)
            .map(|i| weights[i & 3] * table[i >> 2 & 3] + weights[3 - (i & 3)])
            .collect();
        same(&gpu.download::<f32>(output, 64), &want, what);
        assert_eq!(gpu.download::<i32>(module.symbol("table"), 4), [3, 1, 4, 1]);
    });
}

#[test]
fn arrays_on_the_stack() {
    everywhere(|gpu, module, what| {
        let n = 100;
        let x = floats(18, n, 9.0);
        let order: Vec<i32> = random(19)
            .take(n)
            .map(|x| (x >> 3) as i32 & 0xffff)
            .collect();
        let (dx, dorder, output) = (gpu.upload(&x), gpu.upload(&order), gpu.alloc(8 * n));
        let args = args![dx, dorder, output, n as i32];
        gpu.launch(module, "stack", [2, 1, 1], [64, 1, 1], &args)
            .expect(what);
        let got = gpu.download::<f64>(output, n);
        for i in 0..n {
            let mut values: [f32; 16] = std::array::from_fn(|k| x[(i + k) % n]);
            for k in 0..16 {
                let o = order[(i + k) % n] as usize & 15;
                let t = values[o];
                values[o] = values[k] + 1.0;
                values[k] = t;
            }
            let chosen = values[order[i] as usize & 15];
            let want: f64 = (0..6)
                .map(|k| f64::from(chosen * ((order[i] as usize + k) % 6) as f32) * (k + 1) as f64)
                .sum();
            assert_eq!(got[i], want, "{what}: {i}");
        }
    });
}
