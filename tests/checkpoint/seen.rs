//! What is told of a checkpoint: while it is taken, in its trace, and in its page.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use nix::time::{ClockId, clock_gettime};
use serde_json::Value;
use strobe_evaluation::{Rates, Session};
use strobe_proto::ChunkOrigin;
use strobe_store::Checkpoint;

use crate::harness::environment::wait_until;
use crate::harness::{Ended, Folder, LIMIT, checkpoint, hip_program, restore, run, strobe};

/// A program on a device so slow that much happens while it is copied.
fn works(folder: &Folder, program: &str, arguments: &[&str]) -> Session {
    let program = hip_program(program);
    let command = [&[program.as_str()], arguments].concat();
    let session = Session::start(&strobe(), &Rates::SLOW.options(), &command, folder.path());
    let mut session = session.expect("the program starts");
    session
        .wait_for("log", "round 3 ", LIMIT)
        .expect("it works");
    session
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn number(of: &Value, name: &str) -> f64 {
    of[name]
        .as_f64()
        .unwrap_or_else(|| panic!("no {name} in {of}"))
}

/// Microseconds of the clock that a trace has.
fn now() -> f64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("a clock");
    now.tv_sec() as f64 * 1e6 + now.tv_nsec() as f64 / 1e3
}

/// On each track one event ends before the next begins, or lies in it: readers drop others.
fn lie_inside_or_apart(events: &[&Value]) {
    let mut tracks: BTreeMap<(u64, u64), Vec<(f64, f64)>> = BTreeMap::new();
    for event in events {
        let whole = |name: &str| event[name].as_u64().expect("a number");
        assert!(whole("tid") < 1 << 31, "{event}");
        let begin = number(event, "ts");
        let track = tracks.entry((whole("pid"), whole("tid"))).or_default();
        track.push((begin, begin + number(event, "dur")));
    }
    // Doubles have microseconds with a few digits behind the point.
    const NEAR: f64 = 0.01;
    for (track, mut spans) in tracks {
        spans.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let mut open: Vec<(f64, f64)> = Vec::new();
        for span in spans {
            open.retain(|outer| outer.1 > span.0 + NEAR);
            let inside = open.last().is_none_or(|outer| span.1 <= outer.1 + NEAR);
            assert!(inside, "{track:?}: {span:?} ends after {open:?}");
            open.push(span);
        }
    }
}

#[test]
fn a_trace_has_all_phases_and_agrees_with_the_report() {
    let folder = Folder::new("trace");
    let session = works(&folder, "mixed.cpp", &["1000000", "log"]);
    let file = folder.join("trace.json");
    let path = file.to_str().expect("UTF-8");
    let began = now();
    let options = ["--json", "--trace", path];
    let taken = checkpoint(&session, &folder.join("images"), &options).well();
    let ended = now();
    let report = json(&taken.stdout);
    let trace = json(&fs::read_to_string(&file).expect("the trace"));
    assert_eq!(trace["otherData"]["left_out"], 0);
    let all = trace["traceEvents"].as_array().expect("a list");
    let events: Vec<&Value> = all.iter().filter(|event| event["ph"] == "X").collect();
    for event in &events {
        let (from, took) = (number(event, "ts"), number(event, "dur"));
        assert!(from >= began && from + took <= ended, "{event}");
    }
    lie_inside_or_apart(&events);
    let program = u64::from(session.pid());
    let named = |name: &str, of_program: bool| {
        let found = events
            .iter()
            .find(|event| event["name"] == name && (event["pid"] == program) == of_program);
        *found.unwrap_or_else(|| panic!("no {name}"))
    };
    for name in [
        "prepare",
        "call",
        "arm",
        "dump",
        "copy",
        "host memory",
        "commit",
    ] {
        named(name, false);
    }
    for name in ["wait for the cut", "freeze", "frozen", "queues stopped"] {
        named(name, false);
    }
    for name in ["prepare", "lead", "armed", "drain", "cut", "frozen", "copy"] {
        named(name, true);
    }
    let category = |name: &'static str| events.iter().filter(move |event| event["cat"] == name);
    assert!(category("launch").count() > 0, "it goes on meanwhile");
    let bytes = |of: &'static str| -> u64 {
        let bytes = category(of).map(|event| event["args"]["bytes"].as_u64().expect("bytes"));
        bytes.sum()
    };
    assert_eq!(Some(bytes("copy")), report["copied_out_bytes"].as_u64());
    assert_eq!(bytes("store"), bytes("copy"));
    assert!(bytes("aside") >= report["copied_aside_bytes"].as_u64().expect("bytes"));
    // Each call that was held back has its cause, here as there.
    let mut by_copies = 0.0;
    for held in report["held"].as_array().expect("a list") {
        let name = format!("held by {}", held["by"].as_str().expect("a cause"));
        let those = || category("held").filter(|event| event["name"] == name.as_str());
        assert_eq!(
            Some(those().count() as u64),
            held["calls"].as_u64(),
            "{name}"
        );
        let took: f64 = those().map(|event| number(event, "dur")).sum();
        assert!(
            (took / 1e3 - number(held, "ms")).abs() < 0.1,
            "{name}: {held}"
        );
        if ["held by room", "held by aside", "held by link"].contains(&name.as_str()) {
            by_copies += number(held, "ms");
        }
    }
    let held: u64 = report["held"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|held| held["calls"].as_u64().expect("a number"))
        .sum();
    assert_eq!(category("held").count() as u64, held);
    let gate = number(named("gate closed", true), "dur") / 1e3;
    let stall = number(&report, "stall_ms");
    assert!(
        gate <= stall + 0.1 && stall <= gate + by_copies + 0.1,
        "{gate} of {stall}"
    );
}

/// By origin, chunks and bytes of a checkpoint.
fn origins(images: &Path) -> BTreeMap<&'static str, (u64, u64)> {
    let checkpoint = Checkpoint::open(images).expect("a checkpoint");
    let mut origins: BTreeMap<_, (u64, u64)> = BTreeMap::new();
    let processes = &checkpoint.manifest().processes;
    for tracked in processes.iter().flat_map(|process| &process.tracked) {
        assert_eq!(tracked.origins.len(), tracked.chunks.len());
        let by_round = tracked
            .origins()
            .filter(|origin| *origin == ChunkOrigin::Round);
        assert_eq!(by_round.count(), tracked.rounds.len());
        for (origin, chunk) in tracked.origins().zip(&tracked.chunks) {
            let name = match origin {
                ChunkOrigin::Unspecified => "unknown",
                ChunkOrigin::Turn => "turn",
                ChunkOrigin::Written => "written",
                ChunkOrigin::Frozen => "frozen",
                ChunkOrigin::Base => "base",
                ChunkOrigin::Round => "round",
            };
            let (chunks, bytes) = origins.entry(name).or_default();
            *chunks += 1;
            *bytes += chunk.len;
        }
    }
    origins
}

/// The page of a checkpoint, which needs nothing else; its counts of chunks.
fn page(images: &Path) -> (String, BTreeMap<String, u64>) {
    let file = images.with_extension("html");
    run([Path::new("report"), images]).well();
    let html = fs::read_to_string(file).expect("the page");
    for foreign in [
        "http:", "https:", "src=", "<script", "<link", "url(", "@import",
    ] {
        assert!(!html.contains(foreign), "{foreign}");
    }
    let counts = html.split("data-origin=\"").skip(1).map(|row| {
        let mut words = row.split('"');
        let origin = words.next().expect("an origin").to_owned();
        let count = words.nth(1).and_then(|count| count.parse().ok());
        (origin, count.expect("a count"))
    });
    let counts = counts.collect();
    (html, counts)
}

/// Takes a checkpoint, whose chunks, report and page agree; bytes by origin.
fn taken(session: &Session, images: &Path, options: &[&str]) -> BTreeMap<&'static str, u64> {
    let options = [&["--json"], options].concat();
    let report = json(&checkpoint(session, images, &options).well().stdout);
    let origins = origins(images);
    let bytes = |names: &[&str]| -> Option<u64> {
        let those = origins.iter().filter(|(name, _)| names.contains(name));
        Some(those.map(|(_, (_, bytes))| bytes).sum())
    };
    assert_eq!(bytes(&["unknown"]), Some(0), "{origins:?}");
    let copied = bytes(&["turn", "written", "frozen"]);
    assert_eq!(copied, report["copied_out_bytes"].as_u64(), "{origins:?}");
    assert_eq!(bytes(&["frozen"]), report["set_aside_bytes"].as_u64());
    assert!(bytes(&["written"]) >= report["copied_aside_bytes"].as_u64());
    assert_eq!(
        bytes(&["base", "round"]),
        report["unchanged_bytes"].as_u64()
    );
    let (html, counts) = page(images);
    let chunks = origins
        .iter()
        .map(|(name, (chunks, _))| ((*name).to_owned(), *chunks));
    assert_eq!(counts, chunks.collect());
    let stall = format!("{:.1} ms", number(&report, "stall_ms"));
    assert!(html.contains(&stall), "no stall of {stall}");
    origins
        .into_iter()
        .map(|(name, (_, bytes))| (name, bytes))
        .collect()
}

#[test]
fn each_chunk_tells_how_it_came_and_the_page_counts_them() {
    let folder = Folder::new("page");
    // It writes all that it holds.
    let session = works(&folder, "mixed.cpp", &["1000000", "log"]);
    let cow = taken(&session, &folder.join("cow"), &[]);
    assert!(
        cow.contains_key("written") && !cow.contains_key("base"),
        "{cow:?}"
    );
    session.kill().expect("it is there");
    // It holds much that it never writes.
    let session = works(&folder, "serves.cpp", &["16", "1000000", "log"]);
    let images = folder.join("recopy");
    let recopy = taken(&session, &images, &["--mode", "recopy"]);
    assert!(recopy.contains_key("round"), "{recopy:?}");
    let base = images.to_str().expect("UTF-8");
    let stop = taken(
        &session,
        &folder.join("stop"),
        &["--mode", "stop", "--base", base],
    );
    assert!(
        stop["base"] > stop["turn"] && !stop.contains_key("round"),
        "{stop:?}"
    );
    run(["report", folder.path().to_str().expect("UTF-8")]).badly(&["no checkpoint"]);
    session.kill().expect("it is there");
    folder.rounds_enough_of(&["log"], 3);
    restore(&images).well();
}

fn status(pid: u32) -> Value {
    json(&run(["status", &pid.to_string(), "--json"]).well().stdout)
}

#[test]
fn status_tells_how_far_a_checkpoint_is_and_what_became_of_the_last() {
    let folder = Folder::new("status");
    let session = works(&folder, "mixed.cpp", &["1000000", "log"]);
    let pid = session.pid();
    let before = status(pid);
    assert_eq!(before["phase"], "idle");
    assert_eq!(
        (&before["last"], &before["taken_by"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(before["copying"], Value::Null);
    let images = folder.join("images");
    let mut command = strobe().command();
    command.args(["checkpoint", &pid.to_string(), "--json", "-o"]);
    let command = command.arg(&images).stdout(Stdio::piped()).spawn();
    let command = command.expect("strobe starts");
    let copied = |status: &Value| {
        let bytes = status["copying"]["bytes"].as_u64()?;
        (status["phase"] == "copying" && bytes > 0).then_some(bytes)
    };
    let first = wait_until("a copy", || copied(&status(pid)));
    let status_then = wait_until("another copy", || {
        let status = status(pid);
        copied(&status)
            .is_some_and(|bytes| bytes > first)
            .then_some(status)
    });
    assert_eq!(status_then["taken_by"]["pid"], command.id());
    let copying = &status_then["copying"];
    assert!(
        copying["bytes"].as_u64() <= copying["of_bytes"].as_u64(),
        "{copying}"
    );
    assert!(number(copying, "bytes_per_s") > 0.0 && number(copying, "remaining_ms") >= 0.0);
    let taken = Ended::new(&command.wait_with_output().expect("it ends")).well();
    let report = json(&taken.stdout);
    // The agent hears of the end after the command knows it.
    let after = wait_until("its end", || {
        let status = status(pid);
        (status["phase"] == "idle").then_some(status)
    });
    assert_eq!(after["checkpoints"], 1);
    assert_eq!(after["last"]["directory"], images.to_str().expect("UTF-8"));
    let difference = number(&after["last"], "stall_ms") - number(&report, "stall_ms");
    assert!(difference.abs() < 0.001, "{after} {report}");
    assert!(after["launches"].as_u64() > before["launches"].as_u64());
    assert_eq!(
        (&after["copying"], &after["taken_by"]),
        (&Value::Null, &Value::Null)
    );
    let all = json(&run(["status", "--json"]).well().stdout);
    let all = all.as_array().expect("a list");
    assert!(all.iter().any(|one| one["pid"] == pid));
    let text = run(["status", &pid.to_string()]).well().stdout;
    assert!(text.contains("phase        idle"), "{text}");
    run(["status", &std::process::id().to_string()]).badly(&["not running under strobe"]);
}
