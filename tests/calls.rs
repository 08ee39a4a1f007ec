//! Every call of HIP that writes device memory, against what was predicted for it.
//!
//! `tests/programs/calls.cpp` calls each such function with random valid arguments and says which
//! bytes of device memory have changed, whoever changed them: a kernel, a DMA engine, the CPU. What
//! was predicted is in the launch log; a marker's allocation and free enclose each call there.

#[path = "harness/mod.rs"]
mod harness;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;
use strobe_extent::{Extent, ExtentSet};
use strobe_hip::{Api, FunctionClass};

use harness::{Folder, hip_program, run, strobe};

/// What one call has really changed.
#[derive(Debug)]
struct Seen {
    number: u64,
    name: String,
    succeeded: bool,
    changed: ExtentSet,
}

/// What was predicted between the markers of a call; `None` is anything.
type Predictions = BTreeMap<u64, Option<ExtentSet>>;

/// Effects that write no memory whose content is the agent's to deliver.
const WRITE_NOTHING: [&str; 41] = [
    "submit",
    "record_event",
    "wait_event",
    "wait_value",
    "prefetch",
    "attach",
    "copy_to_symbol",
    "copy_to_symbol_async",
    "destroy_event",
    "callback",
    "synchronise_stream",
    "synchronise_event",
    "synchronise_device",
    "register_fat_binary",
    "register_function",
    "unregister_fat_binary",
    "load_image",
    "load_file",
    "get_function",
    "unload",
    "allocate",
    "allocate_flags",
    "allocate_pitch",
    "allocate_3d",
    "free",
    "export_memory",
    "open_memory",
    "close_memory",
    "create_memory",
    "remap",
    "create_stream",
    "destroy_stream",
    "begin_capture",
    "end_capture",
    "instantiate_graph",
    "update_graph_exec",
    "change_graph",
    "destroy_graph",
    "change_graph_exec",
    "change_graphs",
    "reset",
];

/// Functions that are said to write nothing although they are told of memory, and are called as well.
const TOLD_OF_MEMORY: [&str; 5] = [
    "hipMemcpyToSymbol",
    "hipMemcpyToSymbol_spt",
    "hipMemcpyToSymbolAsync",
    "hipMemPrefetchAsync",
    "hipMemAdvise",
];

/// Launches that all work-groups have to be resident for: the software GPU refuses them, so they write
/// nothing there.
const COOPERATIVE: [&str; 3] = [
    "hipLaunchCooperativeKernel",
    "hipLaunchCooperativeKernel_spt",
    "hipLaunchCooperativeKernelMultiDevice",
];

/// The functions of the list that have to be called.
fn writing() -> BTreeSet<&'static str> {
    let modelled = Api::ALL
        .iter()
        .filter(|api| api.class() == FunctionClass::Modelled && api.is_in("5.2"));
    let writes = modelled.filter(|api| {
        let effect = api.effect().expect("modelled functions have an effect");
        !WRITE_NOTHING.contains(&effect)
    });
    let told = TOLD_OF_MEMORY.into_iter();
    writes.map(|api| api.name()).chain(told).collect()
}

fn seen(text: &str) -> Vec<Seen> {
    text.lines()
        .map(|line| {
            let mut words = line.split(' ');
            assert_eq!(words.next(), Some("call"), "{line}");
            let mut next = || words.next().expect(line);
            let (number, name, status) = (next(), next().to_owned(), next());
            let ends: Vec<u64> = words.map(|word| word.parse().expect(line)).collect();
            let mut changed = ExtentSet::new();
            for pair in ends.chunks(2) {
                changed.insert(Extent::new(pair[0], pair[1]).expect(line));
            }
            Seen {
                number: number.parse().expect(line),
                name,
                succeeded: status == "0",
                changed,
            }
        })
        .collect()
}

fn predictions(log: &str) -> Predictions {
    let extent = |value: &Value| {
        let [start, end] = [0, 1].map(|at| value[at].as_u64().expect("an address"));
        Extent::new(start, end).expect("an extent")
    };
    let mut all = Predictions::new();
    // The call under way, and where its marker is.
    let mut inside: Option<(u64, u64)> = None;
    for line in log.lines() {
        let record: Value = serde_json::from_str(line).expect(line);
        assert!(record["lost"].is_null(), "records were lost");
        if record["allocate"].is_array() {
            let marker = extent(&record["allocate"]);
            if marker.len() == all.len() as u64 + 1 {
                inside = Some((marker.len() - 1, marker.start()));
                all.insert(marker.len() - 1, Some(ExtentSet::new()));
            }
            continue;
        }
        let Some((number, marker)) = inside else {
            continue;
        };
        if record["free"].as_u64() == Some(marker) {
            inside = None;
            continue;
        }
        let predicted = all.get_mut(&number).expect("the call under way");
        let mut add = |value: &Value| match (&mut *predicted, value) {
            (_, Value::String(_)) => *predicted = None,
            (Some(set), Value::Array(extents)) => {
                extents.iter().for_each(|each| set.insert(extent(each)));
            }
            _ => {}
        };
        if record["write"].is_array() {
            add(&Value::Array(vec![record["write"].clone()]));
        } else if record["kernel"].is_string() {
            add(&record["writes"]);
        } else if record["anything"] == true {
            *predicted = None;
        }
    }
    all
}

/// What is not inside of what was predicted for it.
fn surprises(seen: &[Seen], predictions: &Predictions) -> Vec<String> {
    seen.iter()
        .filter_map(|call| {
            let predicted = predictions
                .get(&call.number)
                .expect("every call is in the log");
            let missed = match predicted {
                Some(predicted) => call.changed.subtract(predicted),
                None => ExtentSet::new(),
            };
            (!missed.is_empty()).then(|| format!("{call:x?}: nobody predicted {missed:x?}"))
        })
        .collect()
}

/// Runs the program; what it saw, and what the log says.
fn watch(folder: &Folder, device: &[&str], seed: &str, rounds: &str) -> (Vec<Seen>, Predictions) {
    let program = hip_program("calls.cpp");
    let log = folder.join("launches");
    let path = |path: &std::path::Path| path.to_str().expect("UTF-8").to_owned();
    let mut command: Vec<String> = vec!["softgpu".into()];
    command.extend(device.iter().map(|&option| option.to_owned()));
    command.extend(["--".into(), path(strobe().path()), "run".into()]);
    command.extend(["--launch-log".into(), path(&log), "--".into()]);
    command.extend([program, seed.to_owned(), rounds.to_owned()]);
    let ended = run(command).well();
    let log = fs::read_to_string(log).expect("the launch log");
    (seen(&ended.stdout), predictions(&log))
}

#[test]
fn every_function_that_writes_writes_what_was_predicted() {
    const DEVICES: [(&[&str], &str); 2] = [(&[], "1"), (&["--private-vram"], "2")];
    let mut called = BTreeSet::new();
    let mut changed_by = BTreeSet::new();
    let (mut bytes_changed, mut bytes_predicted) = (0, 0);
    for (device, seed) in DEVICES {
        let folder = Folder::new("calls");
        let (seen, predictions) = watch(&folder, device, seed, "25");
        let surprises = surprises(&seen, &predictions);
        assert!(
            surprises.is_empty(),
            "seed {seed}, {device:?}: {} of {} calls:\n{}",
            surprises.len(),
            seen.len(),
            surprises.join("\n")
        );
        for call in &seen {
            called.insert(call.name.clone());
            if call.changed.is_empty() {
                continue;
            }
            changed_by.insert(call.name.clone());
            assert!(call.succeeded, "{call:x?} failed and wrote all the same");
            if let Some(predicted) = &predictions[&call.number] {
                bytes_changed += call.changed.bytes();
                bytes_predicted += predicted.bytes();
            }
        }
    }
    let not_called: Vec<_> = writing()
        .into_iter()
        .filter(|name| !called.contains(*name))
        .collect();
    assert!(not_called.is_empty(), "nobody calls {not_called:?}");
    let idle: Vec<_> = called
        .difference(&changed_by)
        .filter(|name| !TOLD_OF_MEMORY.contains(&name.as_str()))
        .filter(|name| !COOPERATIVE.contains(&name.as_str()))
        .collect();
    assert!(idle.is_empty(), "never wrote anything: {idle:?}");
    println!("{bytes_changed} bytes changed, {bytes_predicted} predicted");
}

#[test]
fn a_prediction_that_lacks_a_byte_is_found_out() {
    let folder = Folder::new("calls-lie");
    let (seen, mut predictions) = watch(&folder, &[], "3", "2");
    assert_eq!(surprises(&seen, &predictions), [""; 0]);
    let call = seen
        .iter()
        .find(|call| !call.changed.is_empty() && predictions[&call.number].is_some())
        .expect("a call whose writes are known");
    let last = call.changed.iter().last().expect("a byte").end() - 1;
    let mut lied = predictions[&call.number].clone().expect("known");
    lied.remove(Extent::with_len(last, 1).expect("a byte"));
    predictions.insert(call.number, Some(lied));
    assert_eq!(surprises(&seen, &predictions).len(), 1);
}
