//! Footprints of kernels that the real compiler made, at every optimisation level.
//!
//! `tests/filetests/footprint/*.hip` hold the kernels and, above each, launches with what they must
//! touch:
//!
//! ```text
//! //~ memory t = x y+1 7          device memory `t` holds these pointers and numbers
//! //~ launch NAME grid=X,Y,Z block=X,Y,Z args VALUES
//! //~ reads SET                   exactly these bytes, from -O1 on; at -O0 at least these
//! //~ exactly-reads SET           exactly these bytes, at -O0 too
//! //~ known-reads SET             no others, at -O0 too
//! //~ within-reads SET            no others
//! //~ writes-at-least SET         at least these bytes
//! //~ leaves t = x y+1 7          these pointers and numbers stand in `t` afterwards, and it is known
//! //~ leaves nothing              it is of no place
//! //~ within-leaves t = x         if something is known to stand in `t`, it is this
//! ```
//!
//! Values: `i32(1)`, `u32(1)`, `u64(1)`, `f32(1)`, `null`, `x=buffer(SIZE)`, `x=buffer(SIZE)+OFFSET`,
//! `u64=x buffer=x(SIZE)`; `x:buffer(SIZE)` is memory that is no argument; `{ ... }` is one argument.
//! Sets: `nothing`, `unknown`, `x` (all of it), `x[0..4]`, `x[0..4]*64/8` (64 such, every 8 bytes).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use strobe_code_object::{CodeObject, Kernel, ObjectLimits};
use strobe_extent::{Access, Extent, ExtentSet, Reason, Side};
use strobe_footprint::{
    AnalysisLimits, KernelFootprint, Launch, LaunchMemory, SideSummary, StoredPointers, analyse,
};
use strobe_isa::{Accumulators, Target};

#[derive(Default)]
struct Device {
    buffers: BTreeMap<String, Extent>,
    content: Vec<(u64, Vec<u8>)>,
}

impl LaunchMemory for Device {
    fn allocation(&self, addr: u64) -> Option<Extent> {
        self.buffers
            .values()
            .copied()
            .find(|extent| extent.contains_address(addr))
    }

    fn is_allocated(&self, extent: Extent) -> bool {
        self.buffers.values().any(|buffer| buffer.overlaps(extent))
    }

    fn known_bytes(&self, addr: u64, len: usize) -> Option<Vec<u8>> {
        let (start, bytes) = self
            .content
            .iter()
            .find(|(start, b)| (*start..start + b.len() as u64).contains(&addr))?;
        bytes
            .get((addr - start) as usize..(addr - start) as usize + len)
            .map(<[u8]>::to_vec)
    }
}

impl Device {
    fn allocate(&mut self, name: &str, size: u64) -> u64 {
        let start = 0x7f00_0000_0000 + 0x1000_0000 * self.buffers.len() as u64;
        self.buffers.insert(
            name.to_owned(),
            Extent::with_len(start, size).expect("a buffer"),
        );
        start
    }

    fn start(&self, name: &str) -> u64 {
        self.buffers
            .get(name)
            .unwrap_or_else(|| panic!("no buffer {name}"))
            .start()
    }

    /// Pointers and numbers as they stand in memory.
    fn words(&self, words: &str) -> Vec<u8> {
        let words = words.split_whitespace().flat_map(|word| {
            let (name, offset) = word.split_once('+').unwrap_or((word, "0"));
            let offset: u64 = offset.parse().expect("an offset");
            let value = match name {
                "null" => 0,
                _ => name.parse().unwrap_or_else(|_| self.start(name) + offset),
            };
            value.to_le_bytes()
        });
        words.collect()
    }

    /// `None` for `unknown`.
    fn set(&self, words: &str) -> Option<ExtentSet> {
        let mut set = ExtentSet::new();
        for word in words.split_whitespace() {
            match (word, word.split_once('[')) {
                ("unknown", _) => return None,
                ("nothing", _) => {}
                (_, None) => set.insert(self.buffers[word]),
                (_, Some((name, range))) => {
                    let number = |word: &str| word.parse::<u64>().expect("a number");
                    let (range, repeated) = range.split_once(']').expect("a range");
                    let (from, to) = range.split_once("..").expect("a range");
                    let [from, to] = [from, to].map(|n| self.start(name) + number(n));
                    let repeated = repeated.strip_prefix('*').map_or((1, 0), |repeated| {
                        let (count, stride) = repeated.split_once('/').expect("a stride");
                        (number(count), number(stride))
                    });
                    for way in (0..repeated.0).map(|at| at * repeated.1) {
                        set.insert(Extent::new(from + way, to + way).expect("a range"));
                    }
                }
            }
        }
        Some(set)
    }
}

/// Whether a run of words is part of another.
fn holds(all: &StoredPointers, part: &StoredPointers) -> bool {
    let at = part.start.checked_sub(all.start);
    let rest = at.and_then(|at| all.content.get(usize::try_from(at).ok()?..));
    rest.is_some_and(|rest| rest.starts_with(&part.content))
}

fn between<'a>(word: &'a str, open: &str) -> Option<&'a str> {
    let (_, rest) = word.split_once(open)?;
    rest.split_once(')').map(|(inner, _)| inner)
}

/// Kernarg bytes for the values, laid out by the kernel's metadata.
fn arguments(kernel: &Kernel, words: &str, device: &mut Device) -> Vec<u8> {
    let mut kernarg = vec![0; kernel.kernarg_size as usize];
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut number = 0;
    let mut at = 0;
    let mut inside = false;
    let mut late: Vec<(usize, &str)> = Vec::new();
    for word in words {
        let bytes: Vec<u8> = if word == "{" {
            at = kernel.args[number].offset as usize;
            inside = true;
            continue;
        } else if word == "}" {
            inside = false;
            number += 1;
            continue;
        } else if word == "null" {
            vec![0; 8]
        } else if let Some((name, size)) =
            word.strip_prefix("buffer=").and_then(|w| w.split_once('('))
        {
            device.allocate(name, size.trim_end_matches(')').parse().unwrap());
            continue;
        } else if let Some((name, _)) = word.split_once(':') {
            let size = between(word, "buffer(").expect("a size");
            device.allocate(name, size.parse().unwrap());
            continue;
        } else if let Some((name, rest)) = word.split_once("=buffer(") {
            let (size, offset) = rest.split_once(')').expect("a size");
            let offset: u64 = offset.trim_start_matches('+').parse().unwrap_or(0);
            let start = device.allocate(name, size.parse().unwrap());
            (start + offset).to_le_bytes().to_vec()
        } else if let Some(name) = word.strip_prefix("u64=") {
            let slot = if inside {
                at
            } else {
                kernel.args[number].offset as usize
            };
            late.push((slot, name));
            vec![0; 8]
        } else if let Some(value) = between(word, "i32(") {
            value.parse::<i32>().unwrap().to_le_bytes().to_vec()
        } else if let Some(value) = between(word, "u32(") {
            value.parse::<u32>().unwrap().to_le_bytes().to_vec()
        } else if let Some(value) = between(word, "u64(") {
            value.parse::<u64>().unwrap().to_le_bytes().to_vec()
        } else if let Some(value) = between(word, "f32(") {
            value.parse::<f32>().unwrap().to_le_bytes().to_vec()
        } else {
            panic!("what is {word}?");
        };
        if inside {
            at = at.next_multiple_of(bytes.len());
        } else {
            at = kernel.args[number].offset as usize;
            number += 1;
        }
        kernarg[at..at + bytes.len()].copy_from_slice(&bytes);
        at += bytes.len();
    }
    for (slot, name) in late {
        kernarg[slot..slot + 8].copy_from_slice(&device.start(name).to_le_bytes());
    }
    kernarg
}

fn sizes(word: &str) -> [u32; 3] {
    let mut sizes = [1; 3];
    for (size, word) in sizes.iter_mut().zip(word.split(',')) {
        *size = word.parse().unwrap();
    }
    sizes
}

/// What is compiled for, and whose code it is taken for: HIP's compiler is older than gfx942, but encodes for gfx940 what
/// gfx942 has, too.
const TARGETS: [(&str, &Target); 4] = [
    ("gfx906", &Target::GFX906),
    ("gfx908", &Target::GFX908),
    ("gfx90a", &Target::GFX90A),
    ("gfx940", &Target::GFX942),
];

/// Kernels that are known less exactly for gfx90a and gfx942: what they touch is found there, and more.
const WIDER: [&str; 2] = ["early", "rows_in_turn"];

/// Offset of `e_flags` in an ELF file, whose low byte is the machine.
const MACHINE: usize = 48;

fn compile(source: &Path, level: u32, (processor, target): (&str, &Target)) -> CodeObject {
    let output = std::env::temp_dir().join(format!(
        "strobe-{}-{}-{processor}-O{level}.co",
        std::process::id(),
        source.file_stem().unwrap().to_str().unwrap()
    ));
    let status = Command::new("hipcc")
        .arg(format!("--offload-arch={processor}"))
        .args(["--cuda-device-only", "--no-gpu-bundle-output", "-c"])
        .arg(format!("-O{level}"))
        .args([source.as_os_str(), "-o".as_ref(), output.as_os_str()])
        .status()
        .expect("hipcc runs");
    assert!(status.success(), "hipcc -O{level} {}", source.display());
    let mut bytes = std::fs::read(&output).expect("an object");
    bytes[MACHINE] = target.machine;
    let _ = std::fs::remove_file(&output);
    CodeObject::parse(&bytes, &ObjectLimits::default()).expect("a code object")
}

/// One launch and what is expected of it.
struct Case<'a> {
    line: usize,
    launch: &'a str,
    memory: Option<&'a str>,
    expected: Vec<(&'a str, &'a str)>,
}

fn cases(source: &str) -> Vec<Case<'_>> {
    let mut cases: Vec<Case<'_>> = Vec::new();
    let mut memory = None;
    for (number, line) in source.lines().enumerate() {
        let Some(directive) = line.strip_prefix("//~ ") else {
            memory = None;
            continue;
        };
        let (what, rest) = directive.split_once(' ').expect("a directive has words");
        match what {
            "memory" => memory = Some(rest),
            "launch" => {
                cases.push(Case {
                    line: number + 1,
                    launch: rest,
                    memory,
                    expected: Vec::new(),
                });
                memory = None;
            }
            _ => cases
                .last_mut()
                .expect("a launch comes first")
                .expected
                .push((what, rest)),
        }
    }
    cases
}

fn check(case: &Case<'_>, object: &CodeObject, level: u32) -> Vec<String> {
    let (head, words) = case.launch.split_once(" args ").expect("args");
    let mut head = head.split_whitespace();
    let name = head.next().expect("a name");
    let mut launch = Launch {
        kernarg: &[],
        grid: [1; 3],
        block: [1; 3],
        dynamic_lds: 0,
    };
    for word in head {
        match word.split_once('=') {
            Some(("grid", sizes_)) => launch.grid = sizes(sizes_),
            Some(("block", sizes_)) => launch.block = sizes(sizes_),
            _ => panic!("what is {word}?"),
        }
    }
    let kernel = object
        .kernels
        .iter()
        .find(|kernel| kernel.name == name)
        .expect("the kernel");
    let mut device = Device::default();
    let kernarg = arguments(kernel, words, &mut device);
    launch.kernarg = &kernarg;
    if let Some((table, pointers)) = case.memory.and_then(|memory| memory.split_once(" = ")) {
        let content = device.words(pointers);
        device.content.push((device.start(table), content));
    }
    let limits = AnalysisLimits::default();
    let footprint = analyse(object, kernel, &limits);
    let access = footprint.evaluate(&launch, &device);
    let Access { reads, writes } = &access;
    let mut wrong = Vec::new();
    if let Some(bytes) = footprint.to_bytes() {
        let read = KernelFootprint::from_bytes(&bytes, object, kernel, &limits);
        let read = read.expect("it is taken");
        let of_read = read.evaluate(&launch, &device);
        if of_read != access || read.stored(&launch, &device) != footprint.stored(&launch, &device)
        {
            wrong.push(format!("{}: read back it touches {of_read:?}", kernel.name));
        }
    }
    let target = object.target.target().expect("a known target");
    let is_unified = target.accumulators == Accumulators::Unified;
    let may_be_wide = is_unified && WIDER.contains(&kernel.name.as_str());
    // What stands in accumulation registers over calls in a loop is not followed without optimisation.
    let may_be_unknown = is_unified && level == 0;
    let (about_content, about_access): (Vec<_>, Vec<_>) = case
        .expected
        .iter()
        .copied()
        .partition(|(what, _)| what.ends_with("leaves"));
    if !about_content.is_empty() {
        let stored = footprint.stored(&launch, &device);
        let mut expected = Vec::new();
        for (_, words) in about_content
            .iter()
            .filter(|(_, words)| *words != "nothing")
        {
            let (table, pointers) = words.split_once(" = ").expect("a table");
            let (start, content) = (device.start(table), device.words(pointers));
            expected.push(StoredPointers { start, content });
        }
        expected.sort_by_key(|run| run.start);
        // Without optimisation little is followed, but what is said is so.
        let may_be_less = level == 0 || about_content.iter().any(|(what, _)| *what != "leaves");
        let within = stored
            .iter()
            .all(|run| expected.iter().any(|all| holds(all, run)));
        if !(stored == expected || may_be_less && within) {
            wrong.push(format!(
                "line {} -O{level} {name}: got {stored:x?} instead of {expected:x?}",
                case.line
            ));
        }
    }
    for (what, words) in about_access {
        let set = device
            .set(words)
            .map_or(Side::from(Reason::NotAnalysed), Side::from);
        let side = if what.contains("reads") {
            reads
        } else {
            writes
        };
        let least = side.contains_side(&set);
        let most = set.contains_side(side) || set.is_unknown();
        let right = match what {
            "reads" | "writes" if set.is_unknown() => side.is_unknown(),
            "reads" | "writes" => least && (most || level == 0 || may_be_wide),
            "exactly-reads" | "exactly-writes" => least && (most || may_be_unknown),
            "known-reads" | "known-writes" => most || may_be_unknown,
            "within-reads" | "within-writes" => most || level == 0 || may_be_wide,
            "reads-at-least" | "writes-at-least" => least,
            _ => panic!("what is {what}?"),
        };
        if !right {
            wrong.push(format!(
                "line {} -O{level} {name}: {what} {words}, but got {side}",
                case.line
            ));
        }
    }
    wrong
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/footprint")
}

/// Kernels of one file touch what their comments say, at every optimisation level.
fn check_file(name: &str) {
    let path = folder().join(name).with_extension("hip");
    let source = std::fs::read_to_string(&path).expect("a filetest");
    let mut wrong = Vec::new();
    for target in TARGETS {
        for level in 0..4 {
            let object = compile(&path, level, target);
            for case in cases(&source) {
                let found = check(&case, &object, level);
                wrong.extend(found.iter().map(|one| format!("{}: {one}", target.0)));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong in {name}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Without optimisation, what is called stands in lanes of registers that functions save in scratch.
#[test]
fn calls_of_code_that_is_not_optimised_are_followed() {
    let source = folder().join("../../programs/kernels/litmus.hip");
    for target in TARGETS {
        let object = compile(&source, 0, target);
        assert!(!object.kernels.is_empty());
        for kernel in &object.kernels {
            let summary = analyse(&object, kernel, &Default::default()).summary();
            for side in [summary.reads, summary.writes] {
                let unresolved = SideSummary::Unknown(Reason::UnresolvedCall);
                assert_ne!(side, unresolved, "{} for {}", kernel.name, target.0);
            }
        }
    }
}

macro_rules! filetests {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                check_file(stringify!($name));
            }
        )*

        const FILES: &[&str] = &[$(stringify!($name)),*];
    };
}

filetests! { buffers counters direct divergence loops module other records scratch stores structs unoptimised }

#[test]
fn every_file_is_tested() {
    let mut found: Vec<String> = std::fs::read_dir(folder())
        .expect("the filetests")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "hip"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    found.sort();
    assert_eq!(found, FILES);
}
