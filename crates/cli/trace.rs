//! `strobe checkpoint --trace`: what was done and when, as trace events in JSON, which ui.perfetto.dev and Chrome open.
//!
//! A moment is CLOCK_MONOTONIC, in microseconds. On one track events lie inside of one another or apart: where they
//! would not, there are several tracks. What a device did when, nobody here knows: a copy is shown from its order to where
//! it was seen to have ended, a launch as the call that makes it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::{Value, json};
use strobe_proto::{Course, RoundTaken, Span, TraceEvent, TraceKind};

use crate::course::{OfProcess, Timeline};
use crate::demangle::demangled;
use crate::outcome::Refused;
use crate::results::cause_name;
use crate::size::show_size;

/// Numbers of tracks that are no threads, beyond all that Linux gives to threads (up to 4194304); readers take 32 bits.
const PHASES: u64 = 1 << 24;
const CRIU: u64 = PHASES + 1;
const GATE: u64 = PHASES + 2;
const SLOTS: u64 = PHASES + 0x1000;
const INSIDE: u64 = PHASES + 0x2000;
/// Name of the phase in which calls wait, which lies across others.
pub(crate) const GATE_CLOSED: &str = "gate closed";

/// How long who reads a pipe may take for the next of it, in milliseconds.
const PATIENCE: u16 = 5_000;

/// The file that a trace goes to.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    /// None where there is none yet: a checkpoint that fails leaves none.
    file: Option<File>,
}

impl Output {
    /// Finds out whether it can be written, before there is anything to write: until then a file stays what it is, and
    /// where there is none, none is made. Nobody is waited for who would read.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = match opened(path, false) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = path.parent().filter(|path| !path.as_os_str().is_empty());
                // It has no name in there.
                tempfile::tempfile_in(folder.unwrap_or(Path::new(".")))?;
                None
            }
            Err(error) => return Err(error),
        };
        let path = path.to_owned();
        Ok(Self { path, file })
    }

    /// Writes what is known of a checkpoint that is complete.
    pub(crate) fn write(
        self,
        course: &Course,
        timeline: &Timeline,
        processes: &[OfProcess],
    ) -> anyhow::Result<()> {
        let trace = trace(std::process::id(), course, &timeline.spans(), processes);
        let path = self.path.display();
        let write = || {
            let file = match self.file {
                Some(file) => file,
                None => opened(&self.path, true)?,
            };
            // A pipe has no length.
            if file.metadata()?.is_file() {
                file.set_len(0)?;
            }
            let mut file = BufWriter::new(Patient(&file));
            serde_json::to_writer(&mut file, &trace)?;
            file.flush()
        };
        write().with_context(|| format!("there is a checkpoint, but no trace: cannot write {path}"))
    }
}

/// A checkpoint's directory is not there before, and complete afterwards: a trace has no place in it.
pub(crate) fn check_outside(trace: &Path, checkpoint: &Path) -> anyhow::Result<()> {
    if std::path::absolute(trace)?.starts_with(std::path::absolute(checkpoint)?) {
        let trace = trace.display();
        let why = format!("--trace {trace} lies in the checkpoint: name a file outside of it");
        return Err(Refused(why).into());
    }
    Ok(())
}

fn opened(path: &Path, make: bool) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(make).truncate(false);
    options.custom_flags(OFlag::O_NONBLOCK.bits()).open(path)
}

/// Waits for who reads, within reason: a pipe holds less than a trace.
struct Patient<'a>(&'a File);

impl Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut wait = [PollFd::new(self.0.as_fd(), PollFlags::POLLOUT)];
                    if poll(&mut wait, PollTimeout::from(PATIENCE))? == 0 {
                        return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody reads it"));
                    }
                }
                result => return result,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn trace(command: u32, course: &Course, spans: &[Span], processes: &[OfProcess]) -> Value {
    let mut events = Events(Vec::new());
    events.name("process_name", command, None, "strobe checkpoint");
    events.name("thread_name", command, Some(PHASES), "phases");
    events.name("thread_name", command, Some(CRIU), "CRIU");
    events.spans(command, PHASES, spans);
    for (number, round) in (1..).zip(&course.rounds) {
        let RoundTaken {
            copied,
            start_ns,
            end_ns,
        } = *round;
        let bytes = json!({ "bytes": copied });
        let name = format!("round {number}: {}", show_size(copied));
        events.add(command, PHASES, "round", &name, (start_ns, end_ns), bytes);
    }
    events.spans(command, CRIU, &course.criu);
    let mut left_out = 0;
    for (of, course) in processes.iter().zip(&course.processes) {
        let pid = course.pid;
        events.name("process_name", pid, None, "program");
        events.name("thread_name", pid, Some(PHASES), "agent");
        events.name("thread_name", pid, Some(GATE), "gate");
        let (gate, phases): (Vec<Span>, Vec<Span>) = course
            .spans
            .iter()
            .cloned()
            .partition(|span| span.name == GATE_CLOSED);
        events.spans(pid, PHASES, &phases);
        events.spans(pid, GATE, &gate);
        events.of_agent(pid, &of.events);
        left_out += of.left_out;
    }
    json!({
        "displayTimeUnit": "ms",
        "traceEvents": events.0,
        "otherData": {
            "clock": "CLOCK_MONOTONIC",
            "left_out": left_out,
            "not_recorded": "when kernels run, how long streams wait on the device, single copies of rounds",
        },
    })
}

struct Events(Vec<Value>);

impl Events {
    /// What a process or a thread is called.
    fn name(&mut self, what: &str, pid: u32, track: Option<u64>, name: &str) {
        let mut event = json!({ "ph": "M", "name": what, "pid": pid, "args": { "name": name } });
        if let Some(track) = track {
            event["tid"] = track.into();
        }
        self.0.push(event);
    }

    fn spans(&mut self, pid: u32, track: u64, spans: &[Span]) {
        for span in spans {
            let moments = (span.start_ns, span.end_ns);
            self.add(pid, track, "phase", &span.name, moments, json!({}));
        }
    }

    fn add(
        &mut self,
        pid: u32,
        track: u64,
        category: &str,
        name: &str,
        (start_ns, end_ns): (u64, u64),
        arguments: Value,
    ) {
        let us = |ns: u64| ns as f64 / 1e3;
        self.0.push(json!({
            "ph": "X",
            "cat": category,
            "name": name,
            "pid": pid,
            "tid": track,
            "ts": us(start_ns),
            "dur": us(end_ns.saturating_sub(start_ns)),
            "args": arguments,
        }));
    }

    fn of_agent(&mut self, pid: u32, events: &[TraceEvent]) {
        let mut slots: Vec<u32> = Vec::new();
        let mut inside: Vec<u64> = Vec::new();
        let mut threads = BTreeSet::new();
        // By their beginning, so that each goes to the first track that is free then.
        let mut events: Vec<&TraceEvent> = events.iter().collect();
        events.sort_by_key(|event| event.start_ns);
        for event in events {
            let moments = (event.start_ns, event.end_ns);
            let extent = event.extent.unwrap_or_default();
            let bytes = json!({ "address": format!("{:#x}", extent.start), "bytes": extent.len });
            let slot = SLOTS + u64::from(event.lane);
            let thread = u64::from(event.lane);
            if matches!(event.kind(), TraceKind::Copy | TraceKind::Store)
                && !slots.contains(&event.lane)
            {
                slots.push(event.lane);
                let name = format!("ring slot {}", event.lane);
                self.name("thread_name", pid, Some(slot), &name);
            }
            if matches!(event.kind(), TraceKind::Launch | TraceKind::Held) && threads.insert(thread)
            {
                let name = format!("thread {thread}");
                self.name("thread_name", pid, Some(thread), &name);
            }
            match event.kind() {
                TraceKind::Unspecified => {}
                TraceKind::Launch => {
                    let name = match event.name.as_str() {
                        "" => "copy, fill or free".into(),
                        mangled => demangled(mangled),
                    };
                    self.add(pid, thread, "launch", &name, moments, json!({}));
                }
                TraceKind::Held => {
                    let name = format!("held by {}", cause_name(event.cause()));
                    self.add(pid, thread, "held", &name, moments, json!({}));
                }
                TraceKind::Copy => self.add(pid, slot, "copy", "copy out", moments, bytes),
                TraceKind::Store => self.add(pid, slot, "store", "taken", moments, bytes),
                TraceKind::Aside => {
                    let free = inside.iter().position(|until| *until <= event.start_ns);
                    let track = free.unwrap_or_else(|| {
                        inside.push(0);
                        inside.len() - 1
                    });
                    inside[track] = event.end_ns;
                    let number = INSIDE + track as u64;
                    if free.is_none() {
                        let name = format!("inside the device {}", track + 1);
                        self.name("thread_name", pid, Some(number), &name);
                    }
                    let name = format!("put aside: {} chunks", event.chunks);
                    self.add(pid, number, "aside", &name, moments, bytes);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use std::fs;
    use std::os::fd::AsRawFd;
    use strobe_proto::{HeldBy, ProcessCourse};

    #[test]
    fn who_reads_a_pipe_slowly_gets_all_of_it() {
        let (reader, writer) = io::pipe().expect("a pipe");
        let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
        let output = Output::open(Path::new(&path)).expect("it is open");
        drop(writer);
        let read = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            serde_json::from_reader::<_, Value>(reader).expect("a whole trace")
        });
        let span = |at: u64| Span {
            name: "copy".into(),
            start_ns: at * 2000,
            end_ns: at * 2000 + 1000,
        };
        let course = Course {
            criu: (0..10_000).map(span).collect(),
            ..Course::default()
        };
        let written = output.write(&course, &Timeline::begin(), &[]);
        written.expect("it is read");
        let trace = read.join().expect("it is read");
        let events = trace["traceEvents"].as_array().map_or(0, Vec::len);
        assert!(events > 10_000, "{events} events");
    }

    #[test]
    fn a_file_is_what_it_was_until_there_is_a_trace_and_a_pipe_without_a_reader_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        let before = "x".repeat(1 << 20);
        fs::write(&path, &before).unwrap();
        let output = Output::open(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
        output
            .write(&Course::default(), &Timeline::begin(), &[])
            .unwrap();
        let trace: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert!(trace["traceEvents"].is_array());
        // Of a checkpoint that fails nothing stays, and what was there does.
        for name in ["trace", "another"] {
            drop(Output::open(&folder.path().join(name)).unwrap());
        }
        assert!(!folder.path().join("another").exists());
        assert!(path.exists());
        assert!(Output::open(&folder.path().join("no/folder")).is_err());
        let pipe = folder.path().join("pipe");
        mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        assert!(Output::open(&pipe).is_err());
    }

    #[test]
    fn a_trace_lies_outside_of_its_checkpoint() {
        let is_outside = |trace: &str, checkpoint: &str| {
            check_outside(Path::new(trace), Path::new(checkpoint)).is_ok()
        };
        assert!(is_outside("f7.json", "f7") && is_outside("/a/t", "/a/b"));
        for (trace, checkpoint) in [("f7", "./f7"), ("f7/trace", "f7"), ("/a/b/t", "/a/b/")] {
            assert!(!is_outside(trace, checkpoint), "{trace}");
        }
    }

    #[test]
    fn what_overlaps_is_on_tracks_of_its_own() {
        let event = |kind: TraceKind, start_ns, end_ns, lane| TraceEvent {
            kind: kind.into(),
            start_ns,
            end_ns,
            lane,
            cause: HeldBy::Room.into(),
            ..TraceEvent::default()
        };
        let of = OfProcess {
            events: vec![
                event(TraceKind::Aside, 1_000, 5_000, 0),
                event(TraceKind::Aside, 2_000, 6_000, 0),
                event(TraceKind::Aside, 5_000, 7_500, 0),
                event(TraceKind::Held, 8_000, 9_000, 77),
                event(TraceKind::Copy, 1_000, 2_000, 3),
                event(TraceKind::Store, 2_000, 3_000, 3),
            ],
            left_out: 4,
            ..OfProcess::default()
        };
        let course = Course {
            processes: vec![ProcessCourse {
                pid: 9,
                ..ProcessCourse::default()
            }],
            ..Course::default()
        };
        let trace = trace(1, &course, &[], &[of]);
        assert_eq!(trace["otherData"]["left_out"], 4);
        let events = trace["traceEvents"].as_array().unwrap();
        let of = |category: &str| -> Vec<(u64, f64, f64)> {
            let all = events.iter().filter(|event| event["cat"] == category);
            all.map(|event| {
                let number = |name: &str| event[name].as_f64().unwrap();
                (event["tid"].as_u64().unwrap(), number("ts"), number("dur"))
            })
            .collect()
        };
        let (first, second) = (INSIDE, INSIDE + 1);
        assert_eq!(
            of("aside"),
            [(first, 1.0, 4.0), (second, 2.0, 4.0), (first, 5.0, 2.5)]
        );
        assert_eq!(of("held"), [(77, 8.0, 1.0)]);
        assert_eq!(of("copy"), [(SLOTS + 3, 1.0, 1.0)]);
        assert_eq!(of("store"), [(SLOTS + 3, 2.0, 1.0)]);
        let names = events.iter().filter(|event| event["ph"] == "M");
        let named = |number: u64| names.clone().any(|event| event["tid"] == number);
        assert!(named(first) && named(second) && named(SLOTS + 3) && named(77));
        let spans = events.iter().filter(|event| event["ph"] == "X");
        let unnamed = spans.filter(|span| !span["tid"].as_u64().is_some_and(named));
        assert_eq!(unnamed.count(), 0);
    }
}
