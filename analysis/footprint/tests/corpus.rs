//! Whole libraries: nothing panics, and most kernels resolve.
//!
//! rocRAND is always looked at; `STROBE_CORPUS` may name a folder with more shared libraries.
//! Statistics are printed (`--nocapture`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use strobe_code_object::{ArgKind, CodeObject, Kernel, ObjectLimits, extract};
use strobe_extent::Extent;
use strobe_footprint::{
    AnalysisLimits, KernelFootprint, Launch, LaunchMemo, LaunchMemory, SideSummary, analyse,
};

const ROCRAND: &str = "/usr/lib/x86_64-linux-gnu/librocrand.so.1";
const BUFFER: u64 = 1 << 24;

/// Buffers of one size, one after the other with gaps.
struct Device;

impl LaunchMemory for Device {
    fn allocation(&self, addr: u64) -> Option<Extent> {
        let start = addr & !(2 * BUFFER - 1);
        let extent = Extent::with_len(start, BUFFER).ok()?;
        (addr >> 40 == 0x7f && extent.contains_address(addr)).then_some(extent)
    }

    fn is_allocated(&self, extent: Extent) -> bool {
        let next = (extent.start() | (2 * BUFFER - 1)) + 1;
        let next = next.max(0x7f << 40);
        self.allocation(extent.start()).is_some() || (next < extent.end() && next < 0x80 << 40)
    }

    fn known_bytes(&self, _addr: u64, _len: usize) -> Option<Vec<u8>> {
        None
    }
}

/// Pointers to buffers for pointers, small numbers for numbers, either in structures.
fn arguments(kernel: &Kernel) -> Vec<u8> {
    let mut kernarg = vec![0; kernel.kernarg_size as usize];
    let mut put = |at: u32, bytes: &[u8]| {
        if let Some(slot) = kernarg.get_mut(at as usize..at as usize + bytes.len()) {
            slot.copy_from_slice(bytes);
        }
    };
    let pointer = |at: u32| (0x7f00_0000_0000 + u64::from(at / 8) * 2 * BUFFER).to_le_bytes();
    for arg in kernel.args.iter().filter(|arg| !arg.kind.is_hidden()) {
        match (arg.kind, arg.size) {
            (ArgKind::GlobalBuffer, _) => put(arg.offset, &pointer(arg.offset)),
            (_, 0..=3) => {}
            (_, 4..=8) => put(arg.offset, &100_u32.to_le_bytes()),
            _ => (0..arg.size / 8)
                .for_each(|i| put(arg.offset + 8 * i, &pointer(arg.offset + 8 * i))),
        }
    }
    kernarg
}

#[derive(Default)]
struct Totals {
    kernels: usize,
    writes: usize,
    reads: usize,
    launch_writes: usize,
    launch_reads: usize,
    analysis: Duration,
    /// Bytes of what is saved, and how long it takes to load it.
    saved: usize,
    loading: Duration,
    evaluations: Vec<Duration>,
    /// Of the same launch once more.
    repetitions: Vec<Duration>,
    reasons: BTreeMap<String, usize>,
}

fn note(totals: &mut BTreeMap<String, usize>, side: &str, summary: &SideSummary) {
    let reason = match summary {
        SideSummary::None | SideSummary::Args(_) => return,
        SideSummary::Indirect(_) => "through pointers in memory".to_owned(),
        SideSummary::Unknown(reason) => reason.to_string(),
    };
    *totals.entry(format!("{side} {reason}")).or_default() += 1;
}

fn walk(path: &Path) -> Totals {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let limits = ObjectLimits::default();
    let analysis = AnalysisLimits::default();
    let mut totals = Totals::default();
    for extracted in extract(&bytes, &limits).expect("device code") {
        if !extracted.triple.contains("gfx906") {
            continue;
        }
        let object = CodeObject::parse(&extracted.bytes, &limits).expect("a code object");
        for kernel in &object.kernels {
            let start = Instant::now();
            let footprint = analyse(&object, kernel, &analysis);
            totals.analysis += start.elapsed();
            let summary = footprint.summary();
            totals.kernels += 1;
            totals.writes += usize::from(summary.writes.is_exact());
            totals.reads += usize::from(summary.reads.is_exact());
            note(&mut totals.reasons, "writes", &summary.writes);
            note(&mut totals.reasons, "reads", &summary.reads);
            let kernarg = arguments(kernel);
            let launch = Launch {
                kernarg: &kernarg,
                grid: [4096, 1, 1],
                block: [256, 1, 1],
                dynamic_lds: 0,
            };
            let mut memo = LaunchMemo::new(1 << 20);
            let mut evaluate = || {
                let start = Instant::now();
                let access = memo.evaluate(&footprint, &launch, &Device);
                (access, start.elapsed())
            };
            let (access, took) = evaluate();
            totals.evaluations.push(took);
            let (again, took) = evaluate();
            totals.repetitions.push(took);
            assert_eq!(access, again, "{}", kernel.name);
            if let Some(bytes) = footprint.to_bytes() {
                totals.saved += bytes.len();
                let start = Instant::now();
                let saved = KernelFootprint::from_bytes(&bytes, &object, kernel, &analysis);
                totals.loading += start.elapsed();
                let saved = saved.unwrap_or_else(|| panic!("{} is not taken", kernel.name));
                assert_eq!(saved.evaluate(&launch, &Device), *access, "{}", kernel.name);
                assert_eq!(
                    format!("{:?} {:?}", saved.summary(), saved.touches()),
                    format!("{summary:?} {:?}", footprint.touches()),
                    "{}",
                    kernel.name
                );
            }
            totals.launch_writes += usize::from(!access.writes.is_unknown());
            totals.launch_reads += usize::from(!access.reads.is_unknown());
        }
    }
    let rate = totals.kernels as f64 / totals.analysis.as_secs_f64();
    println!(
        "{}: {} kernels; resolved to arguments: writes {}, reads {}; known at a launch: writes {}, \
         reads {}; {:.2} s analysis ({rate:.0}/s); {:.2} s to load {} bytes; an evaluation {}, the same again {} us (median, p99, longest); {:?}",
        path.display(),
        totals.kernels,
        totals.writes,
        totals.reads,
        totals.launch_writes,
        totals.launch_reads,
        totals.analysis.as_secs_f64(),
        totals.loading.as_secs_f64(),
        totals.saved,
        quantiles(&mut totals.evaluations),
        quantiles(&mut totals.repetitions),
        totals.reasons,
    );
    totals
}

fn quantiles(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let last = times.len().saturating_sub(1);
    let all = [last / 2, last * 99 / 100, last].map(|at| {
        let us = times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e6);
        format!("{us:.2}")
    });
    all.join(", ")
}

fn shared_libraries(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("an entry").path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            shared_libraries(&path, found);
        } else if path.to_string_lossy().contains(".so") {
            found.push(path);
        }
    }
}

#[test]
fn rocrand_resolves() {
    let totals = walk(Path::new(ROCRAND));
    assert_eq!(
        totals.kernels, 80,
        "Debian's rocRAND 5.3.3 has 80 kernels for gfx906"
    );
    let resolved = [
        totals.writes,
        totals.reads,
        totals.launch_writes,
        totals.launch_reads,
    ];
    assert_eq!(
        resolved, [80; 4],
        "writes and reads, by arguments and at a launch"
    );
}

#[test]
#[ignore = "needs a folder of GPU libraries in STROBE_CORPUS"]
fn further_libraries_resolve() {
    let folder = std::env::var_os("STROBE_CORPUS").expect("STROBE_CORPUS names a folder");
    let mut libraries = Vec::new();
    shared_libraries(Path::new(&folder), &mut libraries);
    libraries.sort();
    assert!(!libraries.is_empty(), "no shared library in STROBE_CORPUS");
    for path in &libraries {
        let totals = walk(path);
        let share = |part: usize| part as f64 / totals.kernels.max(1) as f64;
        for part in [
            totals.writes,
            totals.reads,
            totals.launch_writes,
            totals.launch_reads,
        ] {
            assert!(
                share(part) >= 0.99,
                "{}: {part} of {}",
                path.display(),
                totals.kernels
            );
        }
    }
}
