//! What was predicted of each launch, against what it really touched.
//!
//! Predictions are in the order of the calls, dispatches in that of their ends: they are the same launch where kernel,
//! grid, work-group and arguments are. What was captured need not have been dispatched: how many were tells whether it
//! was. Where some of those that look alike were, which of them is not known, and that is said where it matters. Only tracked memory counts: what the runtime keeps for itself, and a program's
//! `__device__` globals, is saved whatever a footprint says.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::Path;
use std::rc::Rc;

use anyhow::bail;
use strobe_extent::{Access, Extent, ExtentSet, Reason, Side};
use strobe_footprint::LaunchTally;

use crate::footprints::record::{self, Record};

/// Blocks of a pattern that are looked at one by one.
const MOST_BLOCKS: u64 = 1 << 20;

/// What tells launches apart without their arguments: kernel, grid and work-group.
type Key = (String, [u64; 3], [u64; 3]);

/// A launch as it was predicted.
struct Predicted {
    number: Option<u64>,
    kernel: String,
    access: Access,
    /// Bytes of the kernarg segment, where they are known: offset, content.
    arguments: Vec<(usize, Vec<u8>)>,
    /// What was allocated when it was launched.
    tracked: Rc<ExtentSet>,
    dispatched: Dispatched,
}

/// Whether a launch has become a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dispatched {
    /// It has.
    Yes,
    /// It was made on a stream that captures, which runs some at once.
    Captured,
    /// It was that, or is told from none that was by its kernel and arguments, and some of those have.
    Unsettled,
}

/// All predictions of one run.
#[derive(Default)]
struct Predictions {
    /// Those of which no dispatch was seen yet, in the order of the calls.
    launches: HashMap<Key, VecDeque<Predicted>>,
    /// Kernels of the program, by their descriptor. Others are the runtime's own.
    descriptors: HashSet<String>,
    /// What copies and memsets may have written, at any time.
    written: ExtentSet,
    tracked_ever: ExtentSet,
    /// Whether graphs were launched, whose kernels are not logged one by one.
    anything: bool,
}

/// What a comparison has found.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// By mangled name.
    pub(crate) kernels: BTreeMap<String, LaunchTally>,
    /// All of them.
    pub(crate) total: LaunchTally,
    /// Dispatches of the runtime itself: memsets, copies.
    pub(crate) runtime: u64,
    /// What stands in one log only, in sentences: as bad as a byte that was missed.
    pub(crate) unexplained: Vec<String>,
}

impl Comparison {
    /// Whether every byte that was touched had been predicted.
    pub(crate) fn holds(&self) -> bool {
        self.total.missed() == 0 && self.unexplained.is_empty()
    }
}

/// Compares the logs of one process.
pub(crate) fn compare(launches: &Path, accesses: &Path) -> anyhow::Result<Comparison> {
    let mut predictions = Predictions::read(launches)?;
    predictions.settle(accesses)?;
    let mut comparison = Comparison::default();
    record::each(accesses, |dispatch| {
        predictions.compare(dispatch, &mut comparison)
    })?;
    let left = predictions.launches.into_values().flatten();
    let left = left.filter(|launch| launch.dispatched == Dispatched::Yes);
    let left = left.map(|launch| format!("no dispatch of {}", launch.kernel));
    comparison.unexplained.extend(left);
    Ok(comparison)
}

fn key(record: &Record, work_group: &str) -> anyhow::Result<Key> {
    Ok((
        record.text("descriptor")?.to_owned(),
        record.triple("grid")?,
        record.triple(work_group)?,
    ))
}

impl Predictions {
    fn read(log: &Path) -> anyhow::Result<Self> {
        let mut all = Self::default();
        let mut buffers: HashMap<u64, Extent> = HashMap::new();
        // The same for all launches until it changes.
        let mut live: Option<Rc<ExtentSet>> = None;
        record::each(log, |record| {
            if record.has("allocate") {
                let buffer = record.extent("allocate")?;
                buffers.insert(buffer.start(), buffer);
                all.tracked_ever.insert(buffer);
                live = None;
            } else if record.has("free") {
                buffers.remove(&record.number("free")?);
                live = None;
            } else if record.has("reset") {
                buffers.clear();
                live = None;
            } else if record.has("write") {
                all.written.insert(record.extent("write")?);
            } else if record.has("anything") {
                all.anything = true;
            } else if record.has("lost") {
                bail!("{} launches are missing", record.number("lost")?);
            } else if record.has("doubted") {
                all.doubt(record.number("doubted")?);
            } else if record.has("kernel") {
                let live = live.get_or_insert_with(|| Rc::new(buffers.values().copied().collect()));
                all.launch(record, live)?;
            } else {
                return Err(record.unknown());
            }
            Ok(())
        })?;
        Ok(all)
    }

    fn launch(&mut self, record: &Record, tracked: &Rc<ExtentSet>) -> anyhow::Result<()> {
        let predicted = Predicted {
            number: record
                .has("number")
                .then(|| record.number("number"))
                .transpose()?,
            kernel: record.text("kernel")?.to_owned(),
            access: Access {
                reads: record.side("reads")?,
                writes: record.side("writes")?,
            },
            arguments: record.arguments()?,
            tracked: Rc::clone(tracked),
            dispatched: match record.has("captured") {
                true => Dispatched::Captured,
                false => Dispatched::Yes,
            },
        };
        let key = key(record, "block")?;
        self.descriptors.insert(key.0.clone());
        self.launches.entry(key).or_default().push_back(predicted);
        Ok(())
    }

    /// What came while the launch was under way may have led it elsewhere.
    fn doubt(&mut self, number: u64) {
        let mut launches = self.launches.values_mut().flatten();
        if let Some(launch) = launches.find(|launch| launch.number == Some(number)) {
            launch.access = Access::unknown(Reason::Other("as logged"));
        }
    }

    /// Finds out of those that were captured whether they were dispatched, by how many of their kind were.
    fn settle(&mut self, accesses: &Path) -> anyhow::Result<()> {
        let is_captured = |launch: &Predicted| launch.dispatched == Dispatched::Captured;
        let of_captured = self.launches.iter();
        let of_captured = of_captured.filter(|(_, launches)| launches.iter().any(is_captured));
        let mut seen: HashMap<Key, Vec<Vec<u8>>> = of_captured
            .map(|(key, _)| (key.clone(), Vec::new()))
            .collect();
        if seen.is_empty() {
            return Ok(());
        }
        record::each(accesses, |dispatch| {
            if dispatch.has("packet")
                && let Some(of_key) = seen.get_mut(&key(dispatch, "workgroup")?)
            {
                of_key.push(dispatch.bytes("kernarg")?);
            }
            Ok(())
        })?;
        for (key, kernargs) in seen {
            let Some(launches) = self.launches.get_mut(&key) else {
                continue;
            };
            while let Some(captured) = launches.iter().find(|launch| is_captured(launch)) {
                let arguments = captured.arguments.clone();
                let alike = |launch: &Predicted| launch.arguments == arguments;
                let seen = kernargs.iter().filter(|kernarg| fit(&arguments, kernarg));
                let seen = seen.count();
                let all = launches.iter().filter(|launch| alike(launch)).count();
                let certain = launches
                    .iter()
                    .filter(|l| alike(l) && !is_captured(l))
                    .count();
                if seen <= certain {
                    launches.retain(|launch| !alike(launch) || !is_captured(launch));
                    continue;
                }
                let dispatched = match seen >= all {
                    true => Dispatched::Yes,
                    false => Dispatched::Unsettled,
                };
                for launch in launches.iter_mut().filter(|launch| alike(launch)) {
                    launch.dispatched = dispatched;
                }
            }
        }
        Ok(())
    }

    /// The launch that has not been seen yet and can be this dispatch: the first, or of those of which it may be any the
    /// first that foresees what it did, and then whether another one does not.
    fn find(
        &mut self,
        dispatch: &Record,
        seen: &Access,
    ) -> anyhow::Result<Option<(Predicted, bool)>> {
        let kernarg = dispatch.bytes("kernarg")?;
        let Some(of_key) = self.launches.get_mut(&key(dispatch, "workgroup")?) else {
            return Ok(None);
        };
        let fitting = of_key.iter().enumerate();
        let fitting = fitting.filter(|(_, launch)| fit(&launch.arguments, &kernarg));
        let Some(first) = fitting.clone().map(|(at, _)| at).next() else {
            return Ok(None);
        };
        let mut found = (first, false);
        if of_key[first].dispatched == Dispatched::Unsettled {
            let alike = fitting.filter(|(_, launch)| launch.dispatched == Dispatched::Unsettled);
            let foresee = alike.map(|(at, launch)| (at, launch.foresees(seen)));
            let foresee: Vec<(usize, bool)> = foresee.collect();
            if let Some((at, _)) = foresee.iter().find(|(_, foresees)| *foresees) {
                found = (*at, foresee.iter().any(|(_, foresees)| !foresees));
            }
        }
        let (at, is_ambiguous) = found;
        Ok(of_key.remove(at).map(|launch| (launch, is_ambiguous)))
    }

    fn compare(&mut self, dispatch: &Record, found: &mut Comparison) -> anyhow::Result<()> {
        if !dispatch.has("packet") {
            // What dispatches were given.
            return Ok(());
        }
        let seen = Access {
            reads: dispatch.side("reads")?,
            writes: dispatch.side("writes")?,
        };
        if let Some((launch, is_ambiguous)) = self.find(dispatch, &seen)? {
            if is_ambiguous {
                let packet = dispatch.number("packet")?;
                let unexplained = format!(
                    "packet {packet} may be a launch of {} that foresaw it or one that did not: some like it were captured",
                    launch.kernel
                );
                found.unexplained.push(unexplained);
            }
            let seen = within(&seen, &launch.tracked);
            let predicted = within(&launch.access, &launch.tracked);
            found.total.add(&predicted, &seen);
            let of_kernel = found.kernels.entry(launch.kernel).or_default();
            of_kernel.add(&predicted, &seen);
            return Ok(());
        }
        if self.descriptors.contains(dispatch.text("descriptor")?) {
            if !self.anything {
                let unexplained = format!("nobody launched packet {}", dispatch.number("packet")?);
                found.unexplained.push(unexplained);
            }
            return Ok(());
        }
        found.runtime += 1;
        let seen = within(&seen, &self.tracked_ever);
        if !self.anything && !Side::from(self.written.clone()).contains_side(&seen.writes) {
            let packet = dispatch.number("packet")?;
            let unexplained = format!("no call of the program explains packet {packet}");
            found.unexplained.push(unexplained);
        }
        Ok(())
    }
}

impl Predicted {
    /// Whether all that was touched had been predicted.
    fn foresees(&self, seen: &Access) -> bool {
        let mut tally = LaunchTally::default();
        tally.add(
            &within(&self.access, &self.tracked),
            &within(seen, &self.tracked),
        );
        tally.missed() == 0
    }
}

/// Whether these arguments are in a kernarg segment.
fn fit(arguments: &[(usize, Vec<u8>)], kernarg: &[u8]) -> bool {
    arguments.iter().all(|(offset, bytes)| {
        let end = offset.checked_add(bytes.len());
        end.and_then(|end| kernarg.get(*offset..end)) == Some(bytes)
    })
}

/// Each of the two, as extents.
fn within(access: &Access, tracked: &ExtentSet) -> Access {
    let cut = |side: &Side| match side {
        Side::Known(bytes) => bytes.flat(MOST_BLOCKS).intersect(tracked).into(),
        unknown => unknown.clone(),
    };
    Access {
        reads: cut(&access.reads),
        writes: cut(&access.writes),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const BUFFER: &str = r#"{"pid":1,"allocate":[4096,8192]}"#;

    fn launch(writes: &str, argument: &str) -> String {
        format!(
            r#"{{"pid":1,"kernel":"k","descriptor":"0a","grid":[64,1,1],"block":[64,1,1],"arguments":[[0,"{argument}"]],"reads":[],"writes":{writes}}}"#
        )
    }

    fn dispatch(descriptor: &str, writes: &str, argument: &str) -> String {
        format!(
            r#"{{"pid":1,"packet":7,"descriptor":"{descriptor}","kernarg":"{argument}","grid":[64,1,1],"workgroup":[64,1,1],"reads":[],"writes":{writes}}}"#
        )
    }

    fn compared(launches: &[String], accesses: &[String]) -> anyhow::Result<Comparison> {
        let folder = tempfile::tempdir().expect("a folder");
        let paths = [("launches", launches), ("accesses", accesses)].map(|(name, lines)| {
            let path = folder.path().join(name);
            fs::write(&path, lines.join("\n")).expect("a file");
            path
        });
        compare(&paths[0], &paths[1])
    }

    #[test]
    fn a_byte_that_was_not_predicted_is_missed_and_one_too_many_is_needless() {
        let launches = [
            BUFFER.to_owned(),
            launch("[[4096,4160]]", "01"),
            launch("[[4096,4224]]", "02"),
            launch(r#""untracked address""#, "03"),
        ];
        let seen = [
            dispatch("0a", "[[4096,4224]]", "02"),
            dispatch("0a", "[[4096,4161],[100,200]]", "01"),
            dispatch("0a", "[[5000,5004]]", "03"),
        ];
        let found = compared(&launches, &seen).expect("a comparison");
        let total = &found.total;
        assert_eq!((total.launches, total.writes_exact), (3, 2));
        assert_eq!((total.missed_reads, total.missed_writes), (0, 1));
        assert_eq!(found.kernels["k"].missed_writes, 1);
        assert!(!found.holds());
        let launches = [BUFFER.to_owned(), launch("[[4096,4352]]", "01")];
        let found = compared(&launches, &[dispatch("0a", "[[4096,4224]]", "01")]);
        let found = found.expect("a comparison");
        assert!(found.holds());
        assert_eq!(found.total.needless(), 128);
        assert_eq!(found.total.width(0.5), Some(2.0));
    }

    fn captured(writes: &str, argument: &str) -> String {
        launch(writes, argument).replacen("\"kernel\"", "\"captured\":true,\"kernel\"", 1)
    }

    #[test]
    fn what_was_captured_is_a_dispatch_if_so_many_were_seen() {
        let [first, second] = ["[[4096,4160]]", "[[4160,4224]]"];
        let launches = [
            BUFFER.to_owned(),
            captured(first, "01"),
            launch(second, "01"),
            captured("[]", "02"),
        ];
        let [of_first, of_second] = [first, second].map(|writes| dispatch("0a", writes, "01"));
        // Only captured.
        let found = compared(&launches, std::slice::from_ref(&of_second)).expect("a comparison");
        assert!(found.holds(), "{found:?}");
        let found = compared(&launches, std::slice::from_ref(&of_first)).expect("a comparison");
        assert_eq!(
            (found.total.missed_writes, found.unexplained.len()),
            (64, 0)
        );
        // Run at once.
        let both = [of_first.clone(), of_second.clone()];
        let found = compared(&launches, &both).expect("a comparison");
        assert!(found.holds(), "{found:?}");
        let found = compared(&launches, &[of_second.clone(), of_first.clone()]);
        assert_eq!(found.expect("a comparison").total.missed_writes, 128);
        // One of two was.
        let more = [&launches[..], &[captured(first, "01")]].concat();
        let found = compared(&more, &both).expect("a comparison");
        assert_eq!((found.total.missed_writes, found.unexplained.len()), (0, 2));
        let neither = dispatch("0a", "[[4224,4228]]", "01");
        let found = compared(&more, &[of_second, neither]).expect("a comparison");
        assert_eq!(found.total.missed_writes, 4);
        assert!(!found.holds());
    }

    #[test]
    fn what_stands_in_one_log_only_is_named() {
        let launches = [BUFFER.to_owned(), launch("[]", "01")];
        let sentences = |accesses: &[String]| {
            let found = compared(&launches, accesses).expect("a comparison");
            assert!(!found.holds() || found.unexplained.is_empty());
            found.unexplained
        };
        assert_eq!(sentences(&[]), ["no dispatch of k"]);
        let own = dispatch("0a", "[]", "01");
        assert!(sentences(std::slice::from_ref(&own)).is_empty());
        let strange = dispatch("0a", "[]", "02");
        assert_eq!(
            sentences(&[own.clone(), strange]),
            ["nobody launched packet 7"]
        );
        let runtime = dispatch("0b", "[[4096,4100]]", "");
        assert_eq!(
            sentences(&[own, runtime]),
            ["no call of the program explains packet 7"]
        );
    }

    #[test]
    fn a_log_that_is_none_is_refused_by_its_line() {
        for (line, why) in [
            ("{", "no JSON"),
            (r#"{"pid":1}"#, "no record of this log"),
            (r#"{"pid":1,"lost":3}"#, "3 launches are missing"),
            (r#"{"pid":1,"allocate":[2,1]}"#, "no allocate"),
        ] {
            let refused = compared(&[BUFFER.to_owned(), line.to_owned()], &[]);
            let refused = format!("{:#}", refused.expect_err(line));
            assert!(
                refused.contains("line 2") && refused.contains(why),
                "{refused}"
            );
        }
    }
}
