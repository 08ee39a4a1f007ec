//! Footprints against an oracle: what each launch really touched, as the software GPU has seen it,
//! is inside what was predicted for it when it was launched.
//!
//! Two logs are joined: `strobe run --launch-log` (predictions, in the order of the calls) and
//! `strobe softgpu --access-log` (accesses, to the byte). Only tracked memory counts: what the
//! runtime keeps for itself, and a program's `__device__` globals, is saved whatever a footprint says.

#[path = "harness/mod.rs"]
mod harness;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs;
use std::path::Path;

use serde_json::Value;
use strobe_evaluation::compile;
use strobe_extent::{Access, Extent, ExtentSet, Reason, Side};

use harness::{Folder, run, strobe};

/// A launch as it was predicted.
#[derive(Debug)]
struct Predicted {
    kernel: String,
    access: Access,
    /// Bytes of the kernarg segment, where they are known: offset, content.
    arguments: Vec<(usize, Vec<u8>)>,
    /// What was allocated when it was launched.
    tracked: ExtentSet,
    seen: bool,
}

/// What tells launches apart without their arguments: kernel, grid and work-group.
type Key = (String, [u64; 3], [u64; 3]);

/// All predictions of one run.
#[derive(Debug, Default)]
struct Predictions {
    launches: HashMap<Key, Vec<Predicted>>,
    /// Kernels of the program, by their descriptor. Others are the runtime's own.
    descriptors: HashSet<String>,
    /// What copies and memsets may have written, at any time.
    written: ExtentSet,
    tracked_ever: ExtentSet,
    /// Whether graphs were launched, whose kernels are not logged one by one.
    anything: bool,
}

/// What a comparison has found.
#[derive(Clone, Debug, Default)]
struct Counts {
    launches: u64,
    exact: u64,
    reads_exact: u64,
    /// Dispatches of the runtime itself: memsets, copies.
    runtime: u64,
    /// Bytes of tracked memory that each exact launch was predicted to write, and has written.
    writes: Vec<[u64; 2]>,
}

impl Counts {
    /// Bytes predicted over bytes written: of all exact launches together, and the median of them.
    fn widths(&self) -> [f64; 2] {
        let width = |[predicted, written]: [u64; 2]| match (predicted, written) {
            (0, 0) => 1.0,
            _ => predicted as f64 / written as f64,
        };
        let sum = |side: usize| self.writes.iter().map(|bytes| bytes[side]).sum();
        let mut each: Vec<f64> = self.writes.iter().copied().map(width).collect();
        each.sort_by(f64::total_cmp);
        let median = each.get(each.len() / 2).copied();
        [width([sum(0), sum(1)]), median.unwrap_or(1.0)]
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let same = |[predicted, written]: &&[u64; 2]| predicted == written;
        let to_the_byte = self.writes.iter().filter(same).count();
        let share = |part: u64| part as f64 * 100.0 / self.launches.max(1) as f64;
        let [total, median] = self.widths();
        write!(
            f,
            "{} launches: writes exact {:.1} % (to the byte {:.1} %), anything {:.1} %; reads exact \
             {:.1} %; width {total:.2}, median {median:.2}; {} of the runtime",
            self.launches,
            share(self.exact),
            share(to_the_byte as u64),
            share(self.launches - self.exact),
            share(self.reads_exact),
            self.runtime,
        )
    }
}

fn records(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a log");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

fn triple(value: &Value) -> [u64; 3] {
    [0, 1, 2].map(|at| value[at].as_u64().expect("a number"))
}

fn bytes(value: &Value) -> Vec<u8> {
    let digits = value.as_str().expect("a string").as_bytes();
    let digit = |d: u8| char::from(d).to_digit(16).expect("a hexadecimal digit") as u8;
    digits
        .chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

fn extent(value: &Value) -> Extent {
    let [start, end] = [0, 1].map(|at| value[at].as_u64().expect("an address"));
    Extent::new(start, end).expect("an extent")
}

fn set(value: &Value) -> ExtentSet {
    let mut set = ExtentSet::new();
    for each in value.as_array().expect("a list") {
        set.insert(extent(each));
    }
    set
}

fn side(value: &Value) -> Side {
    match value {
        Value::String(_) => Side::Unknown(Reason::Other("as logged")),
        extents => Side::Extents(set(extents)),
    }
}

fn key(record: &Value, work_group: &str) -> Key {
    (
        text(&record["descriptor"]),
        triple(&record["grid"]),
        triple(&record[work_group]),
    )
}

impl Predictions {
    fn read(log: &Path) -> Self {
        let mut all = Self::default();
        let mut tracked: HashMap<u64, Extent> = HashMap::new();
        for record in records(log) {
            if record["allocate"].is_array() {
                let buffer = extent(&record["allocate"]);
                tracked.insert(buffer.start(), buffer);
                all.tracked_ever.insert(buffer);
            } else if let Some(start) = record["free"].as_u64() {
                tracked.remove(&start);
            } else if record["reset"] == true {
                tracked.clear();
            } else if record["write"].is_array() {
                all.written.insert(extent(&record["write"]));
            } else if record["anything"] == true {
                all.anything = true;
            } else if record["kernel"].is_string() {
                let mut live = ExtentSet::new();
                tracked.values().for_each(|&buffer| live.insert(buffer));
                all.launch(&record, live);
            } else {
                panic!("the launch log says {record}");
            }
        }
        all
    }

    fn launch(&mut self, record: &Value, tracked: ExtentSet) {
        let known = record["arguments"].as_array();
        let arguments = known.into_iter().flatten().map(|argument| {
            let offset = argument[0].as_u64().expect("an offset");
            (offset as usize, bytes(&argument[1]))
        });
        let predicted = Predicted {
            kernel: text(&record["kernel"]),
            access: Access {
                reads: side(&record["reads"]),
                writes: side(&record["writes"]),
            },
            arguments: arguments.collect(),
            tracked,
            seen: false,
        };
        let key = key(record, "block");
        self.descriptors.insert(key.0.clone());
        self.launches.entry(key).or_default().push(predicted);
    }

    /// The first launch that has not been seen yet and can be this dispatch.
    fn find(&mut self, dispatch: &Value) -> Option<&mut Predicted> {
        let kernarg = bytes(&dispatch["kernarg"]);
        let of_key = self.launches.get_mut(&key(dispatch, "workgroup"))?;
        of_key.iter_mut().find(|launch| {
            let fits = |(offset, bytes): &(usize, Vec<u8>)| {
                kernarg.get(*offset..offset + bytes.len()) == Some(bytes)
            };
            !launch.seen && launch.arguments.iter().all(fits)
        })
    }

    /// Finds the prediction of every dispatch and compares.
    fn compare(mut self, accesses: &Path) -> Result<Counts, String> {
        let mut counts = Counts::default();
        for dispatch in records(accesses) {
            let seen = Access {
                reads: Side::Extents(set(&dispatch["reads"])),
                writes: Side::Extents(set(&dispatch["writes"])),
            };
            let of_program = self.descriptors.contains(&text(&dispatch["descriptor"]));
            match self.find(&dispatch) {
                Some(launch) => {
                    launch.seen = true;
                    let seen = within(&seen, &launch.tracked);
                    if !launch.access.contains(&seen) {
                        return Err(format!("{launch:#x?} touched {seen:#x?}"));
                    }
                    let predicted = within(&launch.access, &launch.tracked);
                    if let (Some(predicted), Some(written)) =
                        (predicted.writes.extents(), seen.writes.extents())
                    {
                        counts.writes.push([predicted.bytes(), written.bytes()]);
                    }
                    counts.launches += 1;
                    counts.exact += u64::from(!launch.access.writes.is_unknown());
                    counts.reads_exact += u64::from(!launch.access.reads.is_unknown());
                }
                None if of_program => {
                    if !self.anything {
                        return Err(format!("nobody launched {dispatch}"));
                    }
                }
                None => {
                    let seen = within(&seen, &self.tracked_ever);
                    if !self.anything
                        && !Side::from(self.written.clone()).contains_side(&seen.writes)
                    {
                        return Err(format!("no call of the program explains {dispatch}"));
                    }
                    counts.runtime += 1;
                }
            }
        }
        let missing = self.launches.values().flatten().find(|launch| !launch.seen);
        match missing {
            Some(launch) => Err(format!("no dispatch of {}", launch.kernel)),
            None => Ok(counts),
        }
    }
}

fn within(access: &Access, tracked: &ExtentSet) -> Access {
    let cut = |side: &Side| match side {
        Side::Extents(set) => Side::Extents(set.intersect(tracked)),
        unknown => unknown.clone(),
    };
    Access {
        reads: cut(&access.reads),
        writes: cut(&access.writes),
    }
}

/// Runs a program of tests/programs with both logs.
fn watch(folder: &Folder, source: &str, level: &str, arguments: &[&str]) -> Result<Counts, String> {
    let program =
        compile::hip(source, level, &harness::programs()).expect("hipcc compiles the program");
    let [launches, accesses] = ["launches", "accesses"].map(|log| folder.join(log));
    let strobe = strobe().path().to_owned();
    let mut command = vec![
        "softgpu".into(),
        "--access-log".into(),
        accesses.clone().into_os_string(),
    ];
    command.extend(["--".into(), strobe.into(), "run".into()]);
    command.extend(["--launch-log".into(), launches.clone().into_os_string()]);
    command.extend(["--".into(), program.into_os_string()]);
    command.extend(arguments.iter().map(|argument| argument.into()));
    run(command).well();
    Predictions::read(&launches).compare(&accesses)
}

#[track_caller]
fn holds(name: &str, source: &str, level: &str, arguments: &[&str]) -> Counts {
    let folder = Folder::new(&format!("footprints-{name}{level}"));
    match watch(&folder, source, level, arguments) {
        Ok(counts) => {
            assert!(counts.launches > 0, "{source} {level} launched nothing");
            println!("{source} {level}: {counts}");
            counts
        }
        Err(why) => panic!("{source} {level}: {why}"),
    }
}

#[test]
fn every_generator_of_rocrand_touches_what_was_predicted() {
    let counts = holds("random", "random.cpp", "-O2", &["1024"]);
    assert!(counts.exact * 100 >= counts.launches * 95, "{counts}");
}

#[test]
fn functions_of_rocsparse_touch_what_was_predicted() {
    let counts = holds("sparse", "sparse.cpp", "-O2", &["6"]);
    assert!(counts.exact * 100 >= counts.launches * 95, "{counts}");
}

#[test]
fn algorithms_of_rocprim_touch_what_was_predicted() {
    let counts = holds("prim", "prim.cpp", "-O2", &["4"]);
    assert!(counts.exact * 100 >= counts.launches * 95, "{counts}");
}

const LEVELS: [&str; 4] = ["-O0", "-O1", "-O2", "-O3"];

#[test]
fn vector_addition_touches_what_was_predicted() {
    for level in LEVELS {
        holds("vadd", "vadd.cpp", level, &[]);
    }
}

#[test]
fn streams_atomics_and_pointer_tables_touch_what_was_predicted() {
    for level in LEVELS {
        holds("mixed", "mixed.cpp", level, &["3"]);
    }
}

#[test]
fn calls_of_every_form_touch_what_was_predicted() {
    for source in [
        "interpose/ways.cpp",
        "interpose/threads.cpp",
        "launches.cpp",
    ] {
        holds("calls", source, "-O2", &[]);
    }
}

#[test]
fn of_two_registrations_of_a_stub_the_one_that_runs_is_predicted() {
    let counts = holds("twice", "interpose/registered_twice.cpp", "-O2", &["runs"]);
    assert_eq!((counts.launches, counts.exact), (2, 2), "{counts}");
}

#[test]
fn training_touches_what_was_predicted_and_nearly_all_of_it_is_exact() {
    for level in LEVELS {
        let counts = holds(
            "train",
            "train/train.cpp",
            level,
            &["--state-mb", "1", "--steps", "3"],
        );
        let least = counts.launches * 95 / 100;
        if level != "-O0" {
            assert!(
                counts.exact >= least && counts.reads_exact >= least,
                "{level}: {counts}"
            );
        }
    }
}

#[test]
fn a_footprint_that_lacks_a_byte_is_found_out() {
    let folder = Folder::new("footprints-lie");
    watch(&folder, "vadd.cpp", "-O2", &[]).expect("the truth holds");
    let [launches, accesses] = ["launches", "accesses"].map(|log| folder.join(log));
    for side in ["reads", "writes"] {
        let lied: Vec<String> = records(&launches)
            .into_iter()
            .map(|mut record| {
                if let Some(end) = record[side].pointer_mut("/0/1") {
                    *end = (end.as_u64().expect("an address") - 1).into();
                }
                record.to_string()
            })
            .collect();
        let lies = folder.join(side);
        fs::write(&lies, lied.join("\n")).expect("a file");
        let found = Predictions::read(&lies).compare(&accesses);
        assert!(found.is_err(), "{side}: {found:?}");
    }
}
