//! `strobe run` cannot be noticed: every program of `tests/programs` ends with the same exit code and
//! has said the same with it and without it, where the CPU can map device memory and where it cannot. And no program
//! notices that its waves are evicted, at any instruction.

#[path = "harness/mod.rs"]
mod harness;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;

use strobe_evaluation::compile;
use strobe_evaluation::soak::programs::PROGRAMS;

use harness::{Ended, Folder, strobe};

/// What has to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Exit code, stdout and stderr.
    All,
    /// Exit code and stdout: the runtime's last words hold addresses.
    AllButItsLastWords,
    /// The exit code: what it prints is how long things took.
    Code,
}

#[derive(Clone, Copy)]
struct Case {
    source: &'static str,
    arguments: &'static [&'static str],
    what: What,
}

const fn case(source: &'static str, arguments: &'static [&'static str]) -> Case {
    Case {
        source,
        arguments,
        what: What::All,
    }
}

/// The programs beside those of the soak, and the ways in which they are run.
const CASES: &[Case] = &[
    case("ahead.cpp", &["3", "log", "40", "captures"]),
    case("inflight.cpp", &["long", "2", "log"]),
    case("inflight.cpp", &["anywhere", "2", "log"]),
    case("inflight.cpp", &["apart", "2", "log"]),
    case("inflight.cpp", &["feeds", "4", "log"]),
    case("inflight.cpp", &["waits", "2", "log"]),
    case("inflight.cpp", &["polls", "2", "log"]),
    case("inflight.cpp", &["calls", "2", "log"]),
    case("serves.cpp", &["1", "4", "log"]),
    case("calls.cpp", &["5", "1"]),
    case("cancelled.cpp", &["10"]),
    case("churn.cpp", &["5", "log"]),
    case("forks.cpp", &[]),
    case("matrix.cpp", &[]),
    case("mixed.cpp", &["3"]),
    case("overtaken.cpp", &[]),
    case("opens.cpp", &[]),
    case("opens.cpp", &["deepbind"]),
    case("undisturbed.cpp", &["numbers"]),
    case("undisturbed.cpp", &["environment"]),
    case("undisturbed.cpp", &["filter"]),
    Case {
        what: What::AllButItsLastWords,
        ..case("packets.cpp", &["good", "type", "bad_instruction", "good"])
    },
    case("prim.cpp", &["1"]),
    case("peers.cpp", &[]),
    case("random.cpp", &["1024"]),
    case("several.cpp", &["3"]),
    case("family.cpp", &["3", "log"]),
    case("family.cpp", &["3", "log", "inherits"]),
    case("family.cpp", &["3", "log", "both"]),
    case("family.cpp", &["3", "log", "zombie"]),
    case("shares.cpp", &["3", "log", "counter", "descriptor"]),
    case("shares.cpp", &["3", "log", "counter", "mapping"]),
    case("compiles.cpp", &["2"]),
    case("sparse.cpp", &["3", "77"]),
    case("train/train.cpp", &["--state-mb", "1", "--steps", "2"]),
    case("tables.cpp", &["3"]),
    case("tensors.cpp", &["2", "50", "3"]),
    case("together.cpp", &["1", "4"]),
    case("underway.cpp", &["1000"]),
    case("unknown_launches.cpp", &["by-pointer", "2"]),
    case("unordered.cpp", &[]),
    case("unknown_launches.cpp", &["graph", "2"]),
    case("vadd.cpp", &[]),
    case("ctypes_hip.py", &[]),
    case("pairs.py", &["3", "connected"]),
    case("interpose/forks.cpp", &[]),
    case("interpose/graph.cpp", &[]),
    case("interpose/late_stderr.cpp", &[]),
    case("interpose/launch.py", &[]),
    case("interpose/looked_up.cpp", &["local"]),
    case("interpose/looked_up.cpp", &["deepbind"]),
    case("interpose/looked_up.cpp", &["missing"]),
    case("interpose/registered_twice.cpp", &[]),
    case("interpose/run_at_once.cpp", &[]),
    case("interpose/threads.cpp", &[]),
    case("interpose/unseen.cpp", &[]),
    case("interpose/ways.cpp", &["link"]),
    case("interpose/ways.cpp", &["module"]),
    Case {
        what: What::AllButItsLastWords,
        ..case("faults.cpp", &["wild"])
    },
    Case {
        what: What::AllButItsLastWords,
        ..case("faults.cpp", &["trap"])
    },
    Case {
        what: What::Code,
        ..case("launches.cpp", &["50"])
    },
    Case {
        what: What::Code,
        ..case("transfers.cpp", &["1"])
    },
];

/// Sources that are not run here, and why.
const NOT_HERE: &[(&str, &str)] = &[
    ("arrives.cpp", "logs when it was done with what"),
    ("beside.cpp", "goes on for ever"),
    (
        "blocks.cpp",
        "does what it does when a checkpoint is under way",
    ),
    ("apart.cpp", "goes on until it is told otherwise"),
    ("closes.cpp", "goes on until it is told otherwise"),
    ("char_nodes.c", "is loaded into CRIU, and uses no GPU"),
    ("descriptors.cpp", "goes on until it is told otherwise"),
    (
        "interpose/children.cpp",
        "starts programs, whose environment differs, and uses no GPU",
    ),
    ("captures.cpp", "goes on for ever"),
    ("ends.cpp", "ends when it is told to"),
    (
        "replaced.py",
        "becomes itself again, and checks what it finds",
    ),
    (
        "interpose/files.c",
        "makes the calls that it is told, and uses no GPU",
    ),
    ("endless.cpp", "goes on until it is told otherwise"),
    ("layers.py", "goes on until it is told otherwise"),
    ("named_sockets.py", "goes on until it is told otherwise"),
    ("lends.cpp", "wants a driver that has IPC handles"),
    ("silent_disk.c", "is a disk to others, and uses no GPU"),
    ("lethal.c", "is the end of others, and uses no GPU"),
    ("moves.py", "goes on until it is told otherwise"),
    ("gem.cpp", "goes on until it is told otherwise"),
    ("grows.cpp", "wants a HIP that is not installed"),
    ("handles.cpp", "wants a driver that has IPC handles"),
    ("holds.cpp", "goes on until it is told otherwise"),
    ("hostile.cpp", "goes on until it is killed"),
    ("hostmemory.c", "uses no GPU"),
    ("leaves.cpp", "goes on until it is told otherwise"),
    ("newer.c", "wants a HIP that is not installed"),
    ("newer_hip.c", "is that HIP"),
    ("probes.c", "asks what a HIP has that is not installed"),
    (
        "rewritten.cpp",
        "its CPU writes device memory, which is not mapped everywhere",
    ),
    ("ring.cpp", "wants a driver that has IPC handles"),
    (
        "strays.cpp",
        "does what it does when a checkpoint is under way",
    ),
    ("takes.cpp", "goes on until it is told otherwise"),
    ("unmodelled.cpp", "goes on for ever"),
];

/// Rounds of a program of the soak.
const ROUNDS: &[&str] = &["2"];

fn cases() -> Vec<Case> {
    let soak = PROGRAMS.iter().filter_map(|program| {
        let own = program.source.starts_with("soak/");
        own.then(|| case(program.source, ROUNDS))
    });
    let mut seen = BTreeSet::new();
    soak.filter(|case| seen.insert(case.source))
        .chain(CASES.iter().copied())
        .collect()
}

/// The command line of a program, compiled if need be.
fn command(case: &Case) -> Vec<String> {
    let path = compile::sources().join(case.source);
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let mut command = if case.source.ends_with(".py") {
        vec!["python3".to_owned(), text(&path)]
    } else {
        vec![harness::hip_program(case.source)]
    };
    command.extend(case.arguments.iter().map(|&argument| argument.to_owned()));
    command
}

/// Runs a program on a device of its own.
fn run(case: &Case, device: &[&str], wrapped: bool) -> Ended {
    let folder = Folder::new("same");
    let strobe = strobe();
    let mut line = strobe.command();
    line.arg("softgpu").args(device).arg("--");
    if wrapped {
        line.arg(strobe.path()).args(["run", "--"]);
    }
    let output = line
        .args(command(case))
        .current_dir(folder.path())
        .output()
        .expect("strobe starts");
    Ended::new(&output)
}

/// How a run alone differs from one with `strobe run`, if they do.
fn difference(case: &Case, device: &[&str]) -> Option<String> {
    let [alone, wrapped] = [false, true].map(|wrapped| run(case, device, wrapped));
    differ(
        case,
        &alone,
        &wrapped,
        &format!("on {device:?}, with strobe run"),
    )
}

fn differ(case: &Case, alone: &Ended, other: &Ended, how: &str) -> Option<String> {
    // Addresses and their order are the system's to choose.
    let calls = case.source == "calls.cpp";
    let words = |ended: &Ended| match case.what {
        What::Code => (String::new(), String::new()),
        _ if calls => (without_addresses(&ended.stdout), ended.stderr.clone()),
        What::AllButItsLastWords => (ended.stdout.clone(), String::new()),
        What::All => (ended.stdout.clone(), ended.stderr.clone()),
    };
    let same = alone.code == other.code && words(alone) == words(other);
    (!same).then(|| {
        format!(
            "{} {:?}\nalone: {alone:?}\n{how}: {other:?}",
            case.source, case.arguments
        )
    })
}

/// The lines of `calls`, with the lengths of what was changed in place of where it lies.
fn without_addresses(text: &str) -> String {
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let (head, ends) = words.split_at(words.len().min(4));
        let lengths = ends.chunks_exact(2).map(|pair| {
            let [start, end] = [0, 1].map(|at: usize| pair[at].parse::<u64>().expect(line));
            (end - start).to_string()
        });
        let head = head.iter().map(|&word| word.to_owned());
        head.chain(lengths).collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_program_ends_the_same_with_strobe_and_without() {
    const DEVICES: [&[&str]; 2] = [&[], &["--private-vram"]];
    let all: Vec<(Case, &[&str])> = DEVICES
        .iter()
        .flat_map(|device| cases().into_iter().map(|case| (case, *device)))
        .collect();
    let (next, differences) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    // They sleep a good part of their time.
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some((case, device)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(difference) = difference(case, device) {
                        differences.lock().expect("no panic").push(difference);
                    }
                }
            });
        }
    });
    let differences = differences.into_inner().expect("no panic");
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    println!("{} runs, each with and without", all.len());
}

/// Runs a program on a device whose fault plan evicts waves; how often it did.
fn run_evicted(case: &Case, plan: &str) -> (Ended, u64) {
    let folder = Folder::new("evicted");
    let pace = folder.join("pace");
    let path = pace.to_str().expect("UTF-8");
    let ended = run(case, &["--faults", plan, "--pace", path], false);
    let pace = fs::read_to_string(&pace).expect("the device says how it fared");
    let pace: serde_json::Value = serde_json::from_str(&pace).expect("JSON");
    (ended, pace["evictions"].as_u64().expect("a number"))
}

/// `STROBE_EVICTIONS` are as many as it makes at least, and of each program some; without, a few.
#[test]
fn every_program_computes_the_same_however_often_its_waves_are_evicted() {
    /// Neighbours are alike, and a few runs may be enough.
    const STRIDE: usize = 23;
    let wanted = std::env::var("STROBE_EVICTIONS").ok();
    let (wanted, is_whole) = match wanted {
        Some(number) => (number.parse().expect("a number"), true),
        None => (500, false),
    };
    let all: Vec<Case> = cases()
        .into_iter()
        .filter(|case| case.what != What::Code)
        .collect();
    let alone: Vec<OnceLock<Ended>> = all.iter().map(|_| OnceLock::new()).collect();
    let (next, runs, made) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicU64::new(0));
    assert_ne!(all.len() % STRIDE, 0, "some would never run");
    let differences = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let goes_on = is_whole && number < all.len();
                    if !goes_on && made.load(Ordering::Relaxed) >= wanted {
                        break;
                    }
                    let place = number * STRIDE % all.len();
                    let case = &all[place];
                    let alone = alone[place].get_or_init(|| run(case, &[], false));
                    // Short and long stretches: in the middle of a block, of a work-group, of a dispatch.
                    let every = [30_000, 3_000, 300_000][number / all.len() % 3];
                    let plan = format!("evict@{number}={every}");
                    let (ended, evictions) = run_evicted(case, &plan);
                    made.fetch_add(evictions, Ordering::Relaxed);
                    runs.fetch_add(1, Ordering::Relaxed);
                    if let Some(difference) = differ(case, alone, &ended, &plan) {
                        differences.lock().expect("no panic").push(difference);
                    }
                }
            });
        }
    });
    let differences = differences.into_inner().expect("no panic");
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    let made = made.into_inner();
    println!("{made} evictions in {} runs", runs.into_inner());
}

#[test]
fn no_program_is_forgotten() {
    let mut sources = BTreeSet::new();
    collect(&compile::sources(), Path::new(""), &mut sources);
    let named: BTreeSet<PathBuf> = cases()
        .iter()
        .map(|case| case.source)
        .chain(NOT_HERE.iter().map(|(source, _)| *source))
        .map(PathBuf::from)
        .collect();
    let forgotten: Vec<_> = sources.difference(&named).collect();
    assert!(
        forgotten.is_empty(),
        "neither run nor excused: {forgotten:?}"
    );
    let gone: Vec<_> = named.difference(&sources).collect();
    assert!(gone.is_empty(), "not there: {gone:?}");
}

/// The sources of programs below `folder`; `.hip` files hold kernels only.
fn collect(folder: &Path, below: &Path, into: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder of programs") {
        let path = entry.expect("an entry").path();
        let name = below.join(path.file_name().expect("a name"));
        if path.is_dir() {
            collect(&path, &name, into);
        } else if ["c", "cpp", "py"]
            .iter()
            .any(|kind| path.extension().is_some_and(|extension| extension == *kind))
        {
            into.insert(name);
        }
    }
}
