//! What a restore needs, looked at before anything is changed: all that is amiss at once.
//!
//! The bytes of the checkpoint are `strobe verify`'s; here only their number counts.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use strobe_criu::locate::{self, Criu};
use strobe_criu::run::softgpu_library;
use strobe_criu::{paths, ports};
use strobe_program::path_map::{self, PathMap};
use strobe_program::process;
use strobe_program::program_files::{self, Comparison, Later, Repair};
use strobe_program::spool::is_spooled;
use strobe_proto::{Manifest, ProgramFile};
use strobe_store::Checkpoint;

use crate::output::sentence;
use crate::{capabilities, gpu, host_memory, room};

/// For the zombie of a program that was just killed to go away.
const PID_PATIENCE: Duration = Duration::from_secs(5);
/// What was killed shows it within that time.
const RUNS: Duration = Duration::from_millis(200);
const POLL: Duration = Duration::from_millis(1);

/// Nothing is amiss.
pub(crate) struct Ready {
    pub(crate) tools: Tools,
    /// All of the program's files, where they are looked for.
    pub(crate) files: Vec<ProgramFile>,
    /// Those that the program's output went through, and that are not there any more.
    pub(crate) gone: Vec<ProgramFile>,
    /// What has to be done to the program's other files.
    pub(crate) repairs: Vec<Repair>,
    /// What cannot be done, a sentence each.
    pub(crate) remarks: Vec<String>,
}

/// What runs beside the program while it comes back.
pub(crate) struct Tools {
    pub(crate) criu: Criu,
    pub(crate) plugin: PathBuf,
    pub(crate) softgpu: Option<PathBuf>,
}

/// Looks at everything, of the program's files where `map` says. What would refuse the restore, a sentence each,
/// where there is something.
pub(crate) fn look(
    checkpoint: &Checkpoint,
    allowed: &[PathBuf],
    map: &PathMap,
) -> Result<Ready, Vec<String>> {
    let mut findings = Vec::new();
    let mut note = |error: anyhow::Error| findings.push(sentence(&error));
    if let Err(damage) = checkpoint.look() {
        note(damage.into());
    }
    if let Err(error) = host_memory::check_room(checkpoint) {
        note(error);
    }
    let softgpu = check_gpu(checkpoint.manifest()).map_err(&mut note).ok();
    if let Err(error) = check_numbers(checkpoint) {
        note(error);
    }
    if let Err(error) = check_capabilities(checkpoint) {
        note(error);
    }
    let criu = Criu::find(None).map_err(|error| note(error.into())).ok();
    let plugin = locate::find_plugin()
        .map_err(|error| note(error.into()))
        .ok();
    if let Err(error) = check_map(checkpoint, map) {
        note(error);
    }
    if let Some(Err(error)) = map.root().map(|root| check_root(checkpoint, root)) {
        note(error);
    }
    let files = map.files(&checkpoint.manifest().program_files);
    let (gone, rest): (Vec<_>, Vec<_>) = files
        .iter()
        .cloned()
        .partition(|file| is_spooled(file.path()) && !file.path().exists());
    let spared = [allowed, &[checkpoint.path().to_owned()]].concat();
    let later = program_files::later(&checkpoint.manifest().journals, &files, &spared, map);
    let images = checkpoint.criu_dir();
    let Comparison { repairs, refusals } =
        program_files::compare(&rest, &images, allowed, map, &later.places);
    findings.extend(refusals.iter().map(ToString::to_string));
    let mut remarks = remarks(&later);
    let repairs: Vec<Repair> = later.repairs.into_iter().chain(repairs).collect();
    let databases = repairs.iter().filter(|repair| repair.is_another_database());
    remarks.extend(databases.map(|repair| {
        format!(
            "{} is a database of SQLite, was removed or replaced since, and comes back as another file: a connection that \
             the program had open at the checkpoint can only read",
            repair.path().display()
        )
    }));
    let sealed: BTreeSet<_> = repairs.iter().filter_map(Repair::sealed).collect();
    findings.extend(sealed.iter().map(ToString::to_string));
    if let Err(error) = room::check(&repairs) {
        findings.push(error.to_string());
    }
    match ports::unbindable(&checkpoint.criu_dir()) {
        Ok(unbindable) => findings.extend(unbindable.iter().map(ToString::to_string)),
        Err(error) => findings.push(format!(
            "the program's sockets cannot be looked at: {error}"
        )),
    }
    match (criu, plugin, softgpu) {
        (Some(criu), Some(plugin), Some(softgpu)) if findings.is_empty() => Ok(Ready {
            tools: Tools {
                criu,
                plugin,
                softgpu,
            },
            files,
            gone,
            repairs,
            remarks,
        }),
        _ => Err(findings),
    }
}

/// What the program has written since, and a restore does not undo.
fn remarks(later: &Later) -> Vec<String> {
    const NAMED: usize = 8;
    let list = |paths: &[PathBuf]| {
        let names: Vec<_> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let (named, rest) = names.split_at(names.len().min(NAMED));
        match rest.len() {
            0 => named.join(", "),
            more => format!("{}, and {more} more", named.join(", ")),
        }
    };
    let mut remarks = Vec::new();
    if !later.written.is_empty() {
        remarks.push(format!(
            "the program has written these files since, and what was in them at the checkpoint was not \
             saved: {}",
            list(&later.written)
        ));
    }
    if !later.removed.is_empty() {
        remarks.push(format!(
            "the program has removed these files since, and what was in them at the checkpoint was not \
             saved: {}",
            list(&later.removed)
        ));
    }
    if !later.unknown.is_empty() {
        remarks.push(format!(
            "files that the program has made or renamed since the checkpoint stay where they are: what it has \
             done is not known ({})",
            list(&later.unknown)
        ));
    }
    remarks
}

/// Checks that there is a GPU for the program; the software GPU's library, if it is that.
fn check_gpu(manifest: &Manifest) -> anyhow::Result<Option<PathBuf>> {
    let softgpu = softgpu_library(std::process::id())?;
    if manifest.gpu_environment == "softgpu" && softgpu.is_none() {
        bail!("the program ran on the software GPU: use `strobe softgpu -- strobe restore DIR`");
    }
    if !gpu::has_driver() {
        bail!("this machine has no GPU driver (/dev/kfd)");
    }
    let targets = gpu::targets().context("the driver's list of GPUs cannot be read")?;
    let target = &manifest.target;
    if !target.is_empty() && !gpu::is_among(target, &targets) {
        bail!(
            "the program needs a GPU of target {target}; this machine has {}",
            if targets.is_empty() {
                "none".into()
            } else {
                targets.join(", ")
            }
        );
    }
    Ok(softgpu)
}

/// Checks that a directory can be the program's root: that the kernel's files are in it, as they are here.
fn check_root(checkpoint: &Checkpoint, root: &Path) -> anyhow::Result<()> {
    if paths::has_mounts(&checkpoint.criu_dir())? {
        bail!(
            "the program has a mount namespace of its own, and so a root of its own: --root is for others"
        );
    }
    for folder in path_map::KERNEL.map(Path::new) {
        let inside = root.join(folder.strip_prefix("/")?);
        let same = |path: &Path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
        if same(&inside).is_none() || same(&inside) != same(folder) {
            let (folder, inside) = (folder.display(), inside.display());
            bail!(
                "{inside} is not {folder}, which the program needs in its root: mount --rbind {folder} {inside}"
            );
        }
    }
    Ok(())
}

/// Checks that something lay under each path that is mapped, and that all has a place where it is mapped to.
fn check_map(checkpoint: &Checkpoint, map: &PathMap) -> anyhow::Result<()> {
    let images = checkpoint.criu_dir();
    let in_images = paths::all(&images)?;
    let files = checkpoint.manifest().program_files.iter();
    let all = files.map(ProgramFile::path);
    if let Some(rule) = map.unused(all.chain(in_images.iter().map(PathBuf::as_path))) {
        let old = rule.old().display();
        bail!(
            "nothing that the program had at the checkpoint lay under {old}, so --map {old}=.. moves nothing"
        );
    }
    Ok(paths::check(&images, map)?)
}

fn check_capabilities(checkpoint: &Checkpoint) -> anyhow::Result<()> {
    let held = strobe_criu::capabilities::held(&checkpoint.criu_dir())?;
    Ok(capabilities::check(capabilities::RESTORE | held)?)
}

/// Checks that the numbers of all the program's processes and threads, their groups and sessions are free.
/// Those of a program that was just killed stay taken until somebody has waited for it.
fn check_numbers(checkpoint: &Checkpoint) -> anyhow::Result<()> {
    let deadline = Instant::now() + PID_PATIENCE;
    let numbers = numbers(checkpoint)?;
    for &pid in &numbers {
        let mut runs_since = None;
        while process::exists(pid) {
            let patient = Instant::now() <= deadline;
            let Ok(stat) = process::stat(pid) else {
                continue;
            };
            if process::is_ending(pid) {
                runs_since = None;
            } else {
                runs_since.get_or_insert_with(Instant::now);
            }
            let runs = runs_since.is_some_and(|since| since.elapsed() > RUNS);
            if runs || !patient {
                if !stat.is_dead() {
                    bail!("process number {pid} is in use ({})", command_line(pid));
                }
                let parent = stat.parent;
                bail!(
                    "process number {pid} is in use: that process has ended, and its parent {parent} \
                     ({}) has not waited for it; in a container, start one with an init (docker run \
                     --init)",
                    command_line(parent)
                );
            }
            thread::sleep(POLL);
        }
    }
    check_groups(&numbers, deadline)
}

/// The number of a process that has ended, and was waited for, is taken as long as others are in its group or session.
fn check_groups(numbers: &BTreeSet<u32>, deadline: Instant) -> anyhow::Result<()> {
    let mut since = None;
    while let Some((number, pid, what)) = member(numbers)? {
        if process::is_ending(pid) {
            since = None;
        } else {
            since.get_or_insert_with(Instant::now);
        }
        if since.is_some_and(|since| since.elapsed() > RUNS) || Instant::now() > deadline {
            bail!(
                "process number {number} is in use: it is that of the {what} of process {pid} ({})",
                command_line(pid)
            );
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// A process in a group or session of one of these numbers: that number, its own, and which of both.
fn member(numbers: &BTreeSet<u32>) -> anyhow::Result<Option<(u32, u32, &'static str)>> {
    let all = process::all()?;
    Ok(all.into_iter().find_map(|pid| {
        let stat = process::stat(pid).ok()?;
        [(stat.session, "session"), (stat.group, "process group")]
            .into_iter()
            .find(|(number, _)| numbers.contains(number))
            .map(|(number, what)| (number, pid, what))
    }))
}

/// Lets the threads and processes of this command and of CRIU have none of the program's numbers, which are small in a
/// container. To be called before any is made.
pub(crate) fn keep_out_of_the_way(checkpoint: &Checkpoint) {
    count_on(checkpoint, |_, last, _| last);
}

/// The same in a PID namespace that is new, and lets what the program starts there have no lower numbers than it has:
/// elsewhere others have those, and a checkpoint of it may be restored there.
pub(crate) fn go_on_counting(checkpoint: &Checkpoint) {
    count_on(checkpoint, |needed, last, limit| {
        let highest = needed.range(..limit).next_back();
        highest.map_or(last, |highest| last.max(*highest))
    });
}

fn count_on(checkpoint: &Checkpoint, from: impl Fn(&BTreeSet<u32>, u32, u32) -> u32) {
    /// The last number that was given, and the one that none reaches (proc_sys_kernel(5)).
    const LAST: &str = "/proc/sys/kernel/ns_last_pid";
    const LIMIT: &str = "/proc/sys/kernel/pid_max";
    let number = |path| fs::read_to_string(path).ok()?.trim().parse::<u32>().ok();
    let (Some(last), Some(limit), Ok(needed)) = (number(LAST), number(LIMIT), numbers(checkpoint))
    else {
        return;
    };
    let clear = strobe_criu::numbers::clear_of(&needed, from(&needed, last, limit), limit);
    if clear != last
        && let Err(error) = fs::write(LAST, clear.to_string())
    {
        // It may do without.
        tracing::debug!("{LAST}: {error}");
    }
}

fn command_line(pid: u32) -> String {
    process::command_line(pid).unwrap_or_default().join(" ")
}

/// All that the program needs.
fn numbers(checkpoint: &Checkpoint) -> io::Result<BTreeSet<u32>> {
    let mut numbers = strobe_criu::numbers::needed(&checkpoint.criu_dir())?;
    numbers.insert(checkpoint.manifest().pid);
    Ok(numbers)
}
