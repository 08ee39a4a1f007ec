//! Kernels that lie, ever others, and many checkpoints of them: whatever is committed is of one
//! instant. Nothing is restored: each image is compared with what the program's memory must hold
//! after as many operations as its clock says (`tests/programs/hostile.cpp`).
//!
//! `STROBE_HOSTILE_CHECKPOINTS` says how many there are; each is a seed of its own in what the program
//! does then and where it is interrupted.

use std::fs;
use std::path::Path;

use serde_json::Value;
use strobe_evaluation::Session;
use strobe_store::Checkpoint;

use crate::harness::{Folder, LIMIT, checkpoint_of, hip_program, strobe};

/// As in the program.
const BUFFERS: usize = 16;
const WIDTH: u64 = 700;
const STRAY: u64 = 0;
const BYTE: u64 = 1000;
const HOME: u64 = 2000;
const OWN: u64 = 32768;

/// In the suite.
const CHECKPOINTS: u32 = 16;
/// With samples: at least, and at most.
const SAMPLED: std::ops::Range<u32> = 4..80;
/// Then there are hardly any kernels left that are believed.
const OF_A_PROGRAM: u32 = 25;
/// Slow enough for many operations while memory is copied.
const DEVICE: [&str; 4] = ["--link-rate", "8M", "--device-rate", "2G"];

struct Hostile {
    session: Session,
    folder: Folder,
    _cache: Folder,
    seed: u64,
    buffers: Vec<u64>,
    clock: u64,
}

/// The values that the regions of a buffer hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Regions {
    stray: u32,
    byte: u8,
    home: u32,
    own: u32,
}

impl Hostile {
    fn start(seed: u64) -> Self {
        let folder = Folder::new(&format!("hostile-{seed}"));
        let cache = Folder::new(&format!("hostile-cache-{seed}"));
        let variable = format!("XDG_CACHE_HOME={}", cache.path().display());
        let program = hip_program("hostile.cpp");
        let command = ["env", &variable, &program, &seed.to_string(), "log"];
        let device = DEVICE.map(str::to_owned);
        let session = Session::start(&strobe(), &device, &command, folder.path());
        let mut session = session.expect("the program starts");
        session.wait_for("log", "runs", LIMIT).expect("it works");
        let log = fs::read_to_string(folder.join("log")).expect("its log");
        let addresses = |name: &str| {
            let lines = log.lines().filter_map(|line| line.strip_prefix(name));
            lines
                .map(|address| address.trim().parse().expect("a number"))
                .collect::<Vec<u64>>()
        };
        let (buffers, clocks) = (addresses("buffer"), addresses("clock"));
        assert_eq!((buffers.len(), clocks.len()), (BUFFERS, 1));
        Self {
            session,
            folder,
            _cache: cache,
            seed,
            buffers,
            clock: clocks[0],
        }
    }

    /// Takes a checkpoint; its report, and what is wrong with the image.
    fn checkpoint(&self, options: &[&str]) -> (Value, Result<usize, String>) {
        let images = self.folder.join("images");
        let options = [options, &["--json"]].concat();
        let ended = checkpoint_of(self.session.pid(), &images, &options).well();
        let verdict = self.judge(&images);
        fs::remove_dir_all(&images).expect("the images go");
        (
            serde_json::from_str(&ended.stdout).expect("a report"),
            verdict,
        )
    }

    /// How many buffers are as they must be. Those that the plugin has saved itself, while everything
    /// stood still, are in images of its own.
    fn judge(&self, images: &Path) -> Result<usize, String> {
        let image = Image::read(images);
        let clock = [self.clock, self.clock + 4].map(|at| image.word(at));
        let [Some(begun), Some(ended)] = clock else {
            return Ok(0);
        };
        if begun != ended && begun != ended + 1 {
            return Err(format!("the clock says {clock:?}"));
        }
        let found: Vec<_> = self.buffers.iter().map(|at| image.regions(*at)).collect();
        let as_after = |operations| {
            let expected = self.after(operations);
            let differs = |b: &usize| found[*b].is_some_and(|found| found != expected[*b]);
            let differing = (0..BUFFERS).find(differs);
            differing.map_or(Ok(found.iter().flatten().count()), |b| {
                let (is, was) = (found[b], expected[b]);
                Err(format!("at {clock:?} buffer {b} is {is:?}, was {was:?}"))
            })
        };
        as_after(ended).or_else(|wrong| as_after(begun).map_err(|_| wrong))
    }

    /// What the buffers hold after so many operations.
    fn after(&self, operations: u32) -> Vec<Regions> {
        let mut buffers = vec![Regions::default(); BUFFERS];
        for n in 1..=operations {
            let seed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let random = mix(seed.wrapping_add(n.into()));
            let victim = random as usize % BUFFERS;
            let home = (random >> 8) as usize % BUFFERS;
            match (random >> 16) % 4 {
                0 => buffers[victim].own = n,
                1 | 2 => buffers[victim].stray = n,
                _ => {
                    buffers[home].home = n;
                    buffers[victim].byte = n as u8;
                }
            }
        }
        buffers
    }
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// The device memory in a checkpoint.
struct Image(Vec<(u64, Vec<u8>)>);

impl Image {
    fn read(images: &Path) -> Self {
        let checkpoint = Checkpoint::open(images).expect("a checkpoint");
        let [process] = checkpoint.manifest().processes.as_slice() else {
            panic!("not one process");
        };
        let tracked = process.tracked.iter().map(|tracked| {
            let chunks = tracked.chunks.iter();
            let bytes = chunks.flat_map(|chunk| checkpoint.read_chunk(chunk).expect("a chunk"));
            (tracked.extent.expect("an extent").start, bytes.collect())
        });
        Self(tracked.collect())
    }

    fn bytes(&self, address: u64, len: u64) -> Option<&[u8]> {
        self.0.iter().find_map(|(start, bytes)| {
            let at = usize::try_from(address.checked_sub(*start)?).ok()?;
            bytes.get(at..)?.get(..len as usize)
        })
    }

    fn word(&self, address: u64) -> Option<u32> {
        let bytes = self.bytes(address, 4)?;
        Some(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
    }

    /// A region whose words differ has a value that no operation writes.
    fn region(&self, buffer: u64, first: u64) -> Option<u32> {
        let value = self.word(buffer + first * 4)?;
        let mut words = self.bytes(buffer + first * 4, WIDTH * 4)?.chunks_exact(4);
        let alike = words.all(|word| word == value.to_le_bytes());
        Some(if alike { value } else { u32::MAX })
    }

    fn regions(&self, buffer: u64) -> Option<Regions> {
        Some(Regions {
            stray: self.region(buffer, STRAY)?,
            byte: self.bytes(buffer + BYTE * 4 + 1, 1)?[0],
            home: self.region(buffer, HOME)?,
            own: self.region(buffer, OWN)?,
        })
    }
}

/// Each attempt that was given up: the kernels suspected.
fn suspects(report: &Value) -> Vec<Vec<String>> {
    let missed = report["missed_writes"].as_array().expect("a list");
    let names = |write: &Value| {
        let names = write["suspects"].as_array().expect("a list");
        let name = |name: &Value| name.as_str().expect("a name").to_owned();
        names.iter().map(name).collect()
    };
    missed.iter().map(names).collect()
}

#[test]
fn whatever_lies_no_committed_image_is_wrong() {
    let count = std::env::var("STROBE_HOSTILE_CHECKPOINTS");
    let count = count.map_or(CHECKPOINTS, |count| count.parse().expect("a number"));
    let (mut given_up, mut named, mut wronged) = (0, 0, 0);
    let mut compared = 0;
    let mut program = None;
    for number in 0..count {
        if number % OF_A_PROGRAM == 0 {
            program = Some(Hostile::start(number.into()));
        }
        let program = program.as_ref().expect("one was started");
        let mode = if number % 4 == 3 { "stop" } else { "cow" };
        let (report, verdict) = program.checkpoint(&["--mode", mode]);
        compared +=
            verdict.unwrap_or_else(|wrong| panic!("checkpoint {number}: {wrong}: {report}"));
        for suspects in suspects(&report) {
            given_up += 1;
            named += u32::from(!suspects.is_empty());
            let is_liar = |name: &String| name.contains("stray");
            wronged += u32::from(!suspects.is_empty() && !suspects.iter().any(is_liar));
        }
    }
    println!(
        "{count} checkpoints, {compared} buffers compared, {given_up} attempts given up, {named} with kernels named, \
         {wronged} with innocent ones only"
    );
    assert!(
        given_up >= count / 4,
        "hardly a lie was noticed: {given_up}"
    );
    assert!(named >= count / 8, "hardly a liar was found: {named}");
    assert_eq!(wronged, 0, "kernels that had done nothing were named");
}

/// The comparison is what makes the others right.
#[test]
fn without_validation_lies_are_committed() {
    let program = Hostile::start(1000);
    // On a busy machine a kernel may have written nothing yet when the last chunk is saved.
    let mut checkpoints = (0..40).map(|_| program.checkpoint(&["--validate", "off"]).1);
    let wrong = checkpoints.by_ref().filter(Result::is_err).take(2).count();
    assert_eq!(wrong, 2, "nearly all of 40 images are right");
}

#[test]
fn samples_are_a_part_and_find_lies() {
    let program = Hostile::start(2000);
    // Which chunks are compared is chosen anew each time, so sooner or later one is hit.
    let (mut given_up, mut checkpoints) = (0, 0);
    while given_up == 0 || checkpoints < SAMPLED.start {
        assert!(checkpoints < SAMPLED.end, "no sample was hit");
        checkpoints += 1;
        let (report, _) = program.checkpoint(&["--validate", "sampled"]);
        let bytes = |name: &str| report[name].as_u64().expect("a number");
        let compared = bytes("fingerprinted_bytes");
        assert!(compared < bytes("state_bytes") / 2, "{report}");
        given_up += suspects(&report).len();
    }
}
