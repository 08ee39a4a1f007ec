//! A whole log, launch by launch.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;

use anyhow::Context;
use strobe_extent::{Access, Extent, ExtentMap, ExtentSet, Side};
use strobe_footprint::{Launch, LaunchTally};

use super::code::{Image, Launched};
use super::log::{self, Code, Dispatch, Memory, Record};
use super::mapped::Mapped;
use super::shape::{Shape, shapes};
use super::way::Way;

/// Launches named of each kernel.
const MISSED: usize = 3;

/// Kernels that HIP brings itself, for memsets and copies.
const RUNTIME: &str = "__amd_rocclr_";

/// What has been found of one kernel.
#[derive(Debug, Default)]
pub struct KernelTally {
    pub ways: [LaunchTally; Way::ALL.len()],
    /// Why launches' writes were not exact, though tables were known.
    pub reasons: BTreeMap<String, u64>,
    /// Bytes that were predicted to be written, with tables known, and were not.
    pub needless: BTreeMap<Shape, u64>,
    /// Of what was touched and not predicted, the first.
    pub missed: Vec<String>,
}

impl KernelTally {
    pub(super) fn of(&self, way: Way) -> &LaunchTally {
        &self.ways[way as usize]
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (way, more) in self.ways.iter_mut().zip(&other.ways) {
            way.merge(more);
        }
        for (reason, launches) in &other.reasons {
            *self.reasons.entry(reason.clone()).or_default() += launches;
        }
        for (shape, bytes) in &other.needless {
            *self.needless.entry(*shape).or_default() += bytes;
        }
        self.missed.extend_from_slice(&other.missed);
        self.missed.truncate(MISSED);
    }
}

impl Judged {
    /// Adds what was found in another log.
    pub fn merge(&mut self, other: &Self) {
        for (name, tally) in &other.kernels {
            self.kernels.entry(name.clone()).or_default().merge(tally);
        }
        self.runtime += other.runtime;
        self.nameless += other.nameless;
        self.cut |= other.cut;
    }
}

/// What has been found in a log.
#[derive(Debug, Default)]
pub struct Judged {
    /// By mangled name.
    pub kernels: BTreeMap<String, KernelTally>,
    /// Dispatches of the runtime's own kernels.
    pub runtime: u64,
    /// Dispatches of what stands in no code object, as the HSA runtime's own.
    pub nameless: u64,
    /// There are more launches than were asked for.
    pub cut: bool,
}

/// Reads a log, up to so many launches.
///
/// # Errors
/// If it cannot be read, or is none.
pub fn judge(log: &Path, most: u64) -> anyhow::Result<Judged> {
    let mut judge = Judge::default();
    let mut launches = 0;
    log::each(log, |record| {
        match record {
            Record::Memory(memory) => judge.memory(&memory)?,
            Record::Code(code) => judge.code(&code)?,
            Record::Dispatch(dispatch) => {
                if launches == most {
                    judge.found.cut = true;
                    return Ok(false);
                }
                launches += u64::from(judge.dispatch(&dispatch)?);
            }
        }
        Ok(true)
    })?;
    Ok(judge.found)
}

/// Buffer objects are named by their serials.
#[derive(Debug, Default)]
struct Process {
    /// In device memory.
    objects: ExtentMap<u32>,
    /// What is in those in which kernels were launched; none: no code object.
    code: HashMap<u32, Option<Rc<RefCell<Image>>>>,
    /// Those that hold arguments.
    arguments: HashSet<u32>,
    /// The others; none until it is asked for.
    allocated: Option<(ExtentMap<()>, ExtentSet)>,
}

impl Process {
    /// What the program may have allocated: HIP's own buffers are among it, but for code and arguments, which the
    /// runtime may put into device memory.
    fn allocated(&mut self) -> &(ExtentMap<()>, ExtentSet) {
        let Self {
            objects,
            code,
            arguments,
            allocated,
        } = self;
        allocated.get_or_insert_with(|| {
            let (mut map, mut set) = (ExtentMap::default(), ExtentSet::new());
            let not_its = |serial| code.contains_key(serial) || arguments.contains(serial);
            for (extent, _) in objects.iter().filter(|(_, serial)| !not_its(serial)) {
                map.insert(extent, ());
                set.insert(extent);
            }
            (map, set)
        })
    }
}

#[derive(Debug, Default)]
struct Judge {
    processes: HashMap<u32, Process>,
    /// By their bytes: each process loads its own.
    images: HashMap<Vec<u8>, Option<Rc<RefCell<Image>>>>,
    found: Judged,
}

impl Judge {
    fn memory(&mut self, record: &Memory<'_>) -> anyhow::Result<()> {
        let process = self.processes.entry(record.pid).or_default();
        process.objects.clear();
        process.allocated = None;
        for &(start, end, place, serial) in &record.memory {
            if place == "device" {
                process.objects.insert(Extent::new(start, end)?, serial);
            }
        }
        Ok(())
    }

    fn code(&mut self, record: &Code<'_>) -> anyhow::Result<()> {
        let bytes = log::bytes(record.image).context("no image")?;
        let image = match self.images.get(&bytes) {
            Some(known) => known.clone(),
            None => {
                let image = Image::new(&bytes).map(|image| Rc::new(RefCell::new(image)));
                self.images.insert(bytes, image.clone());
                image
            }
        };
        let process = self.processes.entry(record.pid).or_default();
        process.code.insert(record.code, image);
        process.allocated = None;
        Ok(())
    }

    fn find(&self, dispatch: &Dispatch<'_>) -> anyhow::Result<Option<Rc<Launched>>> {
        let found = self.processes.get(&dispatch.pid).and_then(|process| {
            let (extent, serial) = process.objects.at(dispatch.kernel_object)?;
            Some((extent, process.code.get(serial)?.as_ref()?))
        });
        let Some((extent, image)) = found else {
            return Ok(None);
        };
        let descriptor = log::bytes(dispatch.descriptor).context("no descriptor")?;
        let address = dispatch.kernel_object - extent.start();
        image.borrow_mut().kernel(address, &descriptor)
    }

    /// Whether it is a launch of the program's.
    fn dispatch(&mut self, dispatch: &Dispatch<'_>) -> anyhow::Result<bool> {
        let Some(kernel) = self.find(dispatch)? else {
            self.found.nameless += 1;
            return Ok(false);
        };
        if kernel.kernel.name.starts_with(RUNTIME) {
            self.found.runtime += 1;
            return Ok(false);
        }
        let process = self.processes.entry(dispatch.pid).or_default();
        if let Some((_, serial)) = process.objects.at(dispatch.kernarg_address)
            && process.arguments.insert(*serial)
        {
            process.allocated = None;
        }
        let (allocations, tracked) = process.allocated();
        let kernarg = log::bytes(dispatch.kernarg).context("no kernarg")?;
        let contents = dispatch.behind.iter();
        let contents: Option<Vec<_>> = contents
            .map(|&(address, bytes)| Some((address, log::bytes(bytes)?)))
            .collect();
        let memory = Mapped {
            allocations,
            contents: &contents.context("no content")?,
        };
        // What an agent is given, too.
        let explicit = kernel.kernel.args.iter();
        let explicit = explicit.filter(|arg| !arg.kind.is_hidden());
        let end = explicit
            .map(|arg| arg.offset.saturating_add(arg.size))
            .max();
        let end = (end.unwrap_or(0) as usize).min(kernarg.len());
        let declared = kernel.kernel.descriptor.group_segment_size;
        let launch = Launch {
            kernarg: &kernarg[..end],
            grid: dispatch.grid,
            block: dispatch.workgroup,
            dynamic_lds: dispatch.group_segment_size.saturating_sub(declared),
        };
        let touched = dispatch.touched().context("no extents")?;
        let touched = within(&touched, tracked);
        let name = kernel.kernel.name.clone();
        let tally = self.found.kernels.entry(name).or_default();
        for (way, of_way) in Way::ALL.into_iter().zip(&mut tally.ways) {
            let said = within(&way.access(&kernel, &launch, &memory), tracked);
            of_way.add(&said, &touched);
            if way != Way::Known {
                continue;
            }
            match (&said.writes, &touched.writes) {
                (Side::Unknown(reason), _) => {
                    *tally.reasons.entry(reason.to_string()).or_default() += 1;
                }
                (Side::Extents(predicted), Side::Extents(written)) => {
                    let allocations = allocations.iter().map(|(extent, ())| extent);
                    for (shape, bytes) in shapes(predicted, written, allocations) {
                        *tally.needless.entry(shape).or_default() += bytes;
                    }
                }
                (Side::Extents(_), Side::Unknown(_)) => {}
            }
            if tally.missed.len() < MISSED {
                let packet = dispatch.packet;
                let missed = missed(&said, &touched);
                tally
                    .missed
                    .extend(missed.map(|what| format!("packet {packet} {what}")));
            }
        }
        Ok(true)
    }
}

/// The first bytes of each side that were not predicted.
fn missed(said: &Access, touched: &Access) -> Option<String> {
    let sides = [
        ("reads", &said.reads, &touched.reads),
        ("writes", &said.writes, &touched.writes),
    ];
    sides.into_iter().find_map(|(side, said, touched)| {
        let left = touched.extents()?.subtract(said.extents()?);
        Some(format!("{side} {}", left.iter().next()?))
    })
}

/// Only what is allocated counts: what the runtime keeps for itself is saved whatever a footprint says.
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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::fs;

    use strobe_code_object::{CodeObject, ObjectLimits};

    use super::*;

    const CODE: u64 = 0x10_0000;
    const A: u64 = 0x20_0000;
    const B: u64 = 0x30_0000;
    const ARGUMENTS: u64 = 0x40_0000;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// Strobe's own kernels as they are loaded, and the descriptor of one with its address.
    fn loaded(name: &str) -> (String, u64, String) {
        let file = include_bytes!("../../../crates/agent/kernels/gfx906.co");
        let object = CodeObject::parse(file, &ObjectLimits::default()).unwrap();
        let mut image = vec![0; 0x8000];
        for segment in &object.segments {
            let content = &file[segment.file.clone()];
            image[segment.addresses.start as usize..][..content.len()].copy_from_slice(content);
        }
        let mut kernels = object.kernels.iter();
        let kernel = kernels.find(|kernel| kernel.name == name).unwrap();
        let at = kernel.descriptor_address as usize;
        (
            hex(&image),
            CODE + kernel.descriptor_address,
            hex(&image[at..at + 64]),
        )
    }

    /// A log of launches of `publish(word, ticket)`, by what each writes.
    fn log_of(writes: &[&str], arguments: u64) -> Judged {
        let (image, kernel, descriptor) = loaded("publish");
        let mut log = format!(
            "{{\"pid\":1,\"memory\":[[{CODE},{},\"device\",1],[{A},{},\"device\",2],[{B},{},\"device\",3],[{ARGUMENTS},{},\"device\",4]]}}\n",
            CODE + 0x8000,
            A + 0x1000,
            B + 0x1000,
            ARGUMENTS + 0x1000,
        );
        let _ = writeln!(log, "{{\"pid\":1,\"code\":1,\"image\":\"{image}\"}}");
        let kernarg = hex(&[&A.to_le_bytes()[..], &7_u64.to_le_bytes()].concat());
        for writes in writes {
            let _ = writeln!(
                log,
                "{{\"pid\":1,\"queue\":9,\"packet\":5,\"kernel_object\":{kernel},\"descriptor\":\"{descriptor}\",\
                 \"kernarg_address\":{arguments},\"kernarg\":\"{kernarg}\",\"workgroup\":[1,1,1],\"grid\":[1,1,1],\
                 \"private_segment_size\":0,\"group_segment_size\":0,\"behind\":[[{A},\"00\"]],\
                 \"reads\":[[{ARGUMENTS},{}]],\"writes\":[{writes}]}}",
                ARGUMENTS + 16
            );
        }
        // As a program leaves it that is killed.
        log.push_str("{\"pid\":1,\"queue\":9,\"pac");
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), log).unwrap();
        judge(file.path(), 10).unwrap()
    }

    #[test]
    fn each_way_says_what_a_launch_may_touch_and_what_it_did_is_held_against_it() {
        let word = format!("[{A},{}]", A + 4);
        let judged = log_of(&[&word], ARGUMENTS);
        let publish = &judged.kernels["publish"];
        let [signature, metadata, fixed, launch, known] = &publish.ways;
        // Its name is C's.
        assert_eq!((signature.launches, signature.writes_exact), (1, 0));
        for way in [metadata, fixed, launch, known] {
            assert_eq!((way.writes_exact, way.missed()), (1, 0));
        }
        let writes = |way: &LaunchTally| way.written();
        assert_eq!(writes(metadata), [0x1000, 4]);
        assert_eq!(writes(fixed), [0x1000, 4]);
        assert_eq!((writes(launch), writes(known)), ([4, 4], [4, 4]));
        assert!(publish.missed.is_empty() && publish.needless.is_empty());
    }

    #[test]
    fn a_byte_beside_what_was_predicted_is_missed_and_named() {
        let beside = format!("[{A},{}],[{B},{}]", A + 4, B + 1);
        let judged = log_of(&[&beside], ARGUMENTS);
        let publish = &judged.kernels["publish"];
        let missed = publish.ways.each_ref().map(|way| way.missed_writes);
        assert_eq!(missed, [0, 1, 1, 1, 1]);
        assert_eq!(publish.missed.len(), 1);
        assert!(
            publish.missed[0].starts_with("packet 5 writes"),
            "{}",
            publish.missed[0]
        );
    }

    #[test]
    fn arguments_and_code_are_nobodys_allocations() {
        // The kernel is known by where it stands, and what reads its arguments misses nothing.
        let judged = log_of(&["", ""], ARGUMENTS);
        assert_eq!(judged.kernels["publish"].ways[3].missed_reads, 0);
        assert_eq!(judged.kernels["publish"].ways[3].launches, 2);
        assert_eq!((judged.nameless, judged.runtime, judged.cut), (0, 0, false));
        // Where they stand elsewhere, it is memory like any other.
        let judged = log_of(&[""], 0);
        assert_eq!(judged.kernels["publish"].ways[3].missed_reads, 16);
    }
}
