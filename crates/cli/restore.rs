//! `strobe restore`: a program comes back from a checkpoint.
//!
//! Everything that can be known before is checked before. The program's files are made what they were
//! last, and undone if CRIU then fails.

use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;
use strobe_criu::image_folder::ImageFolder;
use strobe_criu::left_over::{self, WorkFolder};
use strobe_criu::limits;
use strobe_criu::paths;
use strobe_criu::plugin_folder::PluginFolder;
use strobe_criu::ports;
use strobe_criu::run::{RunError, Setting};
use strobe_criu::wrapper::{self, Held};
use strobe_program::agent::RemoteAgent;
use strobe_program::lease::Lease;
use strobe_program::path_map::PathMap;
use strobe_program::process::{self, Identity};
use strobe_program::shared_memory;
use strobe_program::spool::is_spooled;
use strobe_proto::page::Phase;
use strobe_proto::{GpuProcess, Manifest, files};
use strobe_store::Checkpoint;

use crate::arguments::RestoreArguments;
use crate::deferred::Deferred;
use crate::entrusted::{Entrusted, Journals};
use crate::instance::{self, Inside, own};
use crate::loading::{Loaded, Loading};
use crate::outcome::{Outcome, Refused, of_program};
use crate::output::{answer_whether, notice, pass_on, tell};
use crate::readiness::{self, Ready, Tools};
use crate::results::{InstanceReport, ReadinessReport, RestoreReport};
use crate::spool::Spool;
use crate::{capabilities, directory, host_memory, progress, signals};

/// For the restored agent to say that it goes on.
const AGENT_PATIENCE: Duration = Duration::from_secs(60);
const CRIU_LIMIT: Duration = Duration::from_secs(1200);
const POLL: Duration = Duration::from_millis(1);
/// What CRIU says of a process that it has restored, let run, and wants to let go of last of all.
const CANNOT_LET_GO: &str = "Unable to detach";
/// What CRIU says where a deleted file's stand-in exists already.
const STALE_STAND_IN: &str = "Can't create ghost regfile: File exists";
/// Where --demand changes nothing.
const NOTHING_TO_WAIT_FOR: &str = "all memory was loaded before the program ran: the checkpoint has none that can come \
     later (of --kill, of a program that sees several GPUs, or of one that allocated none)";
/// How long such a process may take to end.
const ENDING: Duration = Duration::from_secs(2);

pub(crate) fn run(arguments: &RestoreArguments) -> Outcome {
    match &arguments.instance {
        Some(folder) => instance::run(arguments, folder, |inside| {
            bring_back(arguments, Some(inside))
        }),
        None => bring_back(arguments, None),
    }
}

/// Restores it, here or in an instance.
fn bring_back(arguments: &RestoreArguments, instance: Option<&Inside>) -> Outcome {
    let started = Instant::now();
    let _whole = tracing::debug_span!("restore").entered();
    limits::raise().map_err(refused)?;
    if !arguments.check {
        capabilities::check(capabilities::RESTORE).map_err(refused)?;
    }
    let path = instance.map_or(arguments.directory.as_path(), Inside::checkpoint);
    let checkpoint = directory::open(path).map_err(refused)?;
    let map = PathMap::new(arguments.map.clone(), root(arguments)?);
    let map = match instance {
        Some(_) => map.through_overlays(),
        None => map,
    };
    if arguments.check {
        return check(arguments, &checkpoint, &map);
    }
    left_over::clear();
    readiness::keep_out_of_the_way(&checkpoint);
    let manifest = checkpoint.manifest();
    let bar = progress::bytes("verifying", checkpoint.plain_bytes());
    let phase = tracing::debug_span!("verify").entered();
    let verified = checkpoint.verify_files(&mut |bytes| bar.inc(bytes));
    drop(phase);
    bar.finish_and_clear();
    verified.map_err(refused)?;
    let turn = wait_for_turn(manifest.pid)?;
    let machine = instance.map_or_else(|| PathBuf::from("/"), Inside::root_outside);
    let ports = wait_for_ports(&checkpoint, &machine)?;
    // Before they are looked at: what somebody outside does to them from now on is not seen.
    if instance.is_some() {
        own::take(&map.files(&manifest.program_files))?;
    }
    let Ready {
        tools,
        files: program_files,
        gone,
        repairs,
        mut remarks,
    } = readiness::look(&checkpoint, &arguments.allow_changed, &map)
        .map_err(|findings| refused(findings.join("; ")))?;
    // From here on there is something to take back.
    let interrupts = Deferred::begin().context("cannot hold signals up")?;
    shared_memory::put_back(checkpoint.path(), &manifest.shared_memory)?;
    let work = WorkFolder::create().context("CRIU has no folder to work in")?;
    let journals = Journals {
        all: &manifest.journals,
        map: &map,
    };
    let files = Entrusted::new(&work, &program_files, gone, repairs, journals)
        .context("the program's files cannot be kept")?;
    let attempt = Attempt {
        checkpoint: &checkpoint,
        tools: &tools,
        map: &map,
        work: &work,
        guard: files.guard(),
        interrupts: &interrupts,
        on_demand: arguments.demand,
        is_instance: instance.is_some(),
    };
    let (back, files) = attempt.bring_back(files)?;
    let pid = back.pid;
    remarks.extend(back.remarks);
    let outside = instance.and_then(|inside| {
        inside.is_restored();
        inside.number_outside(pid)
    });
    if arguments.demand
        && manifest
            .processes
            .iter()
            .all(|process| process.tracked.is_empty())
    {
        remarks.push(NOTHING_TO_WAIT_FOR.to_owned());
    }
    let restore_ms = started.elapsed().as_secs_f64() * 1e3;
    let report = RestoreReport {
        directory: arguments.directory.display().to_string(),
        pid: outside.unwrap_or(pid),
        instance: instance.map(|inside| InstanceReport {
            directory: inside.folder().display().to_string(),
            pid,
        }),
        restore_ms,
        on_demand: back.loading.is_some(),
        loaded_ms: Some(restore_ms),
        files: files.settle(arguments.tail),
        remarks,
    };
    drop(work);
    drop((turn, ports));
    if !arguments.json {
        report.files.iter().for_each(|file| notice(&file.sentence));
        report.remarks.iter().for_each(notice);
        let and = match report.on_demand {
            true => "; its memory is loaded while it runs",
            false => "",
        };
        let number = report.pid;
        notice(format_args!("restored {number} in {restore_ms:.0} ms{and}"));
    }
    let json = arguments.json;
    // The program's output is passed on meanwhile.
    let loading = back.loading.map(|loading| {
        let report = report.clone();
        thread::spawn(move || loaded(loading.wait(started), report, json))
    });
    if json && loading.is_none() {
        say(&report)?;
    }
    let spooled = program_files.iter().filter(|file| is_spooled(file.path()));
    if !arguments.wait {
        for file in spooled {
            notice(format_args!(
                "the program writes to {}",
                file.path().display()
            ));
        }
        while loading.as_ref().is_some_and(|thread| !thread.is_finished()) {
            if interrupts.is_interrupted() {
                // Now: the signal ends this command as soon as it may.
                notice("interrupted; the program runs, and its memory goes on being loaded");
                return Ok(ExitCode::FAILURE);
            }
            thread::sleep(POLL);
        }
        loading.map_or(Ok(()), outcome_of)?;
        return Ok(ExitCode::SUCCESS);
    }
    // What waits still is for the program now.
    let held = Held::hold()?;
    let output = Spool::adopt(spooled)?;
    if let Some(output) = &output {
        output.is_for(pid);
    }
    let status = wait(&held, pid)?;
    if let Some(output) = output {
        let killed = status.signal().is_some();
        if !killed {
            output.wait_for_writers()?;
        }
        output
            .finish(killed)
            .context("cannot pass on the rest of the output")?;
    }
    if let Some(Err(error)) = loading.map(outcome_of) {
        notice(format_args!("{error:#}"));
    }
    if let Some(signal) = status.signal() {
        wrapper::end_by(signal);
    }
    Ok(of_program(status))
}

fn outcome_of(thread: JoinHandle<anyhow::Result<()>>) -> anyhow::Result<()> {
    thread.join().unwrap_or_else(|_| bail!("an internal error"))
}

/// A program that was let run before has all its memory now, or never will.
fn loaded(loaded: Loaded, mut report: RestoreReport, json: bool) -> anyhow::Result<()> {
    report.loaded_ms = match &loaded {
        Loaded::After(time) => Some(time.as_secs_f64() * 1e3),
        Loaded::Ended | Loaded::Failed(_) => None,
    };
    if json {
        say(&report)?;
    }
    match (loaded, report.loaded_ms) {
        (Loaded::Failed(why), _) => bail!("{why}"),
        (_, Some(time)) if !json => {
            notice(format_args!("all its memory is loaded after {time:.0} ms"))
        }
        (Loaded::Ended, _) if !json => notice("it has ended before all its memory was loaded"),
        _ => {}
    }
    Ok(())
}

fn say(report: &RestoreReport) -> anyhow::Result<()> {
    tell(serde_json::to_string_pretty(report)?);
    Ok(())
}

/// The directory that becomes the program's root, if that is another than ours.
fn root(arguments: &RestoreArguments) -> anyhow::Result<Option<PathBuf>> {
    let Some(root) = &arguments.root else {
        return Ok(None);
    };
    let found = fs::canonicalize(root);
    let found = found.map_err(|error| refused(format!("{}: {error}", root.display())))?;
    Ok((found != Path::new("/")).then_some(found))
}

/// Says what a restore would find, and changes nothing.
fn check(arguments: &RestoreArguments, checkpoint: &Checkpoint, map: &PathMap) -> Outcome {
    let looked = readiness::look(checkpoint, &arguments.allow_changed, map);
    let (findings, repairs, remarks) = match looked {
        Ok(ready) => (Vec::new(), ready.repairs, ready.remarks),
        Err(findings) => (findings, Vec::new(), Vec::new()),
    };
    let report = ReadinessReport {
        directory: arguments.directory.display().to_string(),
        ready: findings.is_empty(),
        findings,
        files: repairs.iter().map(ToString::to_string).collect(),
        remarks,
    };
    answer_whether(&report, report.text(), report.ready, arguments.json)
}

fn refused(error: impl std::fmt::Display) -> anyhow::Error {
    Refused(error.to_string()).into()
}

/// A program that CRIU has brought back.
struct Restored {
    pid: u32,
    /// What of it was not, a sentence each.
    remarks: Vec<String>,
    /// It runs, and its memory is still being filled.
    loading: Option<Loading>,
}

/// What CRIU is run with.
struct Attempt<'a> {
    checkpoint: &'a Checkpoint,
    tools: &'a Tools,
    map: &'a PathMap,
    work: &'a WorkFolder,
    guard: u32,
    interrupts: &'a Deferred,
    on_demand: bool,
    is_instance: bool,
}

impl Attempt<'_> {
    /// Runs CRIU. The program becomes our child.
    fn bring_back(&self, files: Entrusted) -> anyhow::Result<(Restored, Entrusted)> {
        let restored = || {
            files.repair()?;
            if self.is_instance {
                // What has its name again is what it was outside.
                own::take(&self.map.files(&self.checkpoint.manifest().program_files))?;
            }
            let mut back = self.once_or_twice()?;
            let answered = wait_for_agents(back.pid, self.checkpoint.manifest());
            let loading = answered.inspect_err(|_| self.end_tree(back.pid))?;
            back.loading = (!loading.is_empty()).then_some(Loading(loading));
            Ok(back)
        };
        match restored() {
            Ok(back) => Ok((back, files)),
            Err(error) => {
                if self.interrupts.is_interrupted() {
                    notice("interrupted; the program does not come back");
                }
                files.undo();
                Err(error)
            }
        }
    }

    /// Once more where a stand-in is in the way that a killed restore has left: the first attempt removes it.
    fn once_or_twice(&self) -> anyhow::Result<Restored> {
        let in_the_way = |error: &anyhow::Error| format!("{error:#}").contains(STALE_STAND_IN);
        match self.once() {
            Err(error) if in_the_way(&error) => self.once(),
            result => result,
        }
    }

    fn once(&self) -> anyhow::Result<Restored> {
        let _phase = tracing::debug_span!("criu").entered();
        let (checkpoint, tools, work) = (self.checkpoint, self.tools, self.work);
        let mut plugins = vec![tools.plugin.as_path()];
        plugins.extend(tools.softgpu.as_deref());
        let plugins = PluginFolder::create(work.path().join("plugins"), &plugins)?;
        let images = ImageFolder::create(work.path().join("images"), checkpoint.path())?;
        paths::put(&checkpoint.criu_dir(), self.map, &images)?;
        host_memory::put_together(checkpoint, &images, || self.interrupts.is_interrupted())?;
        let setting = Setting {
            criu: &tools.criu,
            images: images.path(),
            work: work.path(),
            plugins: plugins.path(),
            plugin: &tools.plugin,
            softgpu: tools.softgpu.as_deref(),
            tcp: checkpoint.manifest().tcp(),
            time_out: CRIU_LIMIT,
        };
        let bar = progress::spinner("restoring");
        let result = setting
            .restore(self.on_demand)
            .and_then(|running| running.finish(|| self.interrupts.is_interrupted()));
        bar.finish_and_clear();
        for phase in setting.restore_phases() {
            // A report that nobody can read changes nothing.
            pass_on(phase);
        }
        let remarks = setting.restore_remarks();
        let pid = checkpoint.manifest().pid;
        if let Err(error) = result {
            // It may have been faster than CRIU. What CRIU gives up earlier ends by itself, too.
            let restored = matches!(&error, RunError::Failed(why) if why.contains(CANNOT_LET_GO));
            if restored && has_run_to_its_end(pid) && is_alone(checkpoint) {
                return Ok(Restored {
                    pid,
                    remarks,
                    loading: None,
                });
            }
            self.end_tree(pid);
            work.remove_ghosts();
            return Err(match error {
                RunError::Refused(why) => refused(why),
                error => error.into(),
            });
        }
        let pid = setting.restored_pid();
        let pid = pid.context("CRIU does not say which process it restored")?;
        Ok(Restored {
            pid,
            remarks,
            loading: None,
        })
    }

    /// Ends what a failed restore made.
    fn end_tree(&self, root: u32) {
        self.work.end_all();
        // What ran already can be told by its parents.
        let made = process::tree(std::process::id()).unwrap_or_default();
        let others = made.into_iter().skip(1);
        for pid in others.filter(|pid| ![root, self.guard].contains(pid)) {
            let _ = kill(as_pid(pid), Signal::SIGKILL);
        }
        end_child(root);
    }
}

/// Waits until no other restore of this program is under way.
fn wait_for_turn(pid: u32) -> anyhow::Result<Lease> {
    wait_for(format_args!("of process {pid}"), || Lease::of_restore(pid))
}

/// Waits until no other restore takes ports or abstract names, if this one takes any.
fn wait_for_ports(checkpoint: &Checkpoint, machine: &Path) -> anyhow::Result<Option<Lease>> {
    // Images that cannot be read are named with all else that is found.
    if !ports::has_bound(&checkpoint.criu_dir()).unwrap_or(false) {
        return Ok(None);
    }
    let what = format_args!("that takes ports");
    wait_for(what, || Lease::of_ports(machine)).map(Some)
}

fn wait_for(
    which: std::fmt::Arguments<'_>,
    lease: impl Fn() -> io::Result<Option<Lease>>,
) -> anyhow::Result<Lease> {
    let lease = || lease().context("restores cannot take turns");
    if let Some(lease) = lease()? {
        return Ok(lease);
    }
    notice(format_args!("waiting for another restore {which}"));
    loop {
        thread::sleep(POLL);
        if let Some(lease) = lease()? {
            return Ok(lease);
        }
    }
}

/// Whether our child has ended by itself, or does so now: it may still be on its way out.
fn has_run_to_its_end(pid: u32) -> bool {
    let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    let deadline = Instant::now() + ENDING;
    loop {
        match waitid(Id::Pid(as_pid(pid)), look) {
            Ok(WaitStatus::StillAlive) if Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(1));
            }
            found => return matches!(found, Ok(WaitStatus::Exited(..))),
        }
    }
}

/// Whether the program is one process.
fn is_alone(checkpoint: &Checkpoint) -> bool {
    let of_processes = checkpoint
        .images()
        .filter(|(name, _)| files::is_address_space(name));
    of_processes.count() == 1
}

/// The agents find out that they were restored, put their affairs in order and open their gates. The
/// program may run to its end while we look. Those that still wait for memory.
fn wait_for_agents(pid: u32, manifest: &Manifest) -> anyhow::Result<Vec<RemoteAgent>> {
    let _phase = tracing::debug_span!("agent").entered();
    ensure!(Identity::of(pid).is_ok(), "the program has ended at once");
    let deadline = Instant::now() + AGENT_PATIENCE;
    let processes = manifest.processes.iter();
    let loading = processes.map(|process| wait_for_agent(process, deadline));
    Ok(loading
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .flatten()
        .collect())
}

fn wait_for_agent(process: &GpuProcess, deadline: Instant) -> anyhow::Result<Option<RemoteAgent>> {
    // One of several may have ended, and somebody may have waited for it.
    let Ok(program) = Identity::of(process.pid) else {
        return Ok(None);
    };
    let agent = match RemoteAgent::at(program, process.agent_page) {
        Ok(agent) => agent,
        Err(_) if !program.is_alive() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    loop {
        match agent.phase() {
            Ok(Some(Phase::Idle)) => return Ok(None),
            Ok(Some(Phase::Loading)) => return Ok(Some(agent)),
            _ if !program.is_alive() => return Ok(None),
            Err(error) => return Err(error.into()),
            Ok(Some(Phase::Refused)) => bail!("{}", agent.snapshot()?.reason),
            Ok(_) => {}
        }
        ensure!(
            Instant::now() < deadline,
            "the restored program's agent does not answer; the program was ended"
        );
        thread::sleep(POLL);
    }
}

/// Waits for the program, our child, which gets the signals meant for us.
fn wait(held: &Held, pid: u32) -> anyhow::Result<ExitStatus> {
    Ok(signals::forward(held, pid, || {
        Ok(match waitpid(as_pid(pid), Some(WaitPidFlag::WNOHANG))? {
            WaitStatus::Exited(_, code) => Some(ExitStatus::from_raw(code << 8)),
            WaitStatus::Signaled(_, signal, _) => Some(ExitStatus::from_raw(signal as i32)),
            _ => None,
        })
    })?)
}

/// Ends the first process of a restore that failed. It is our child, so that an innocent process of this number is
/// told apart, and its number is free again when this returns.
fn end_child(pid: u32) {
    let pid = as_pid(pid);
    if matches!(
        waitpid(pid, Some(WaitPidFlag::WNOHANG)),
        Ok(WaitStatus::StillAlive)
    ) {
        let _ = kill(pid, Signal::SIGKILL);
        let _ = waitpid(pid, None);
    }
}

fn as_pid(pid: u32) -> Pid {
    Pid::from_raw(pid.cast_signed())
}
