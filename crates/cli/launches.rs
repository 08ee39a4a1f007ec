//! The launch window on its way from an agent into a checkpoint, and from there.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use strobe_graph::{LostWork, Window};
use strobe_program::agent::RemoteAgent;
use strobe_program::lease::Lease;
use strobe_program::process::{self, Identity};
use strobe_proto::{LaunchWindow, ShowLaunches, files, frame, from_agent, to_agent};
use strobe_store::Checkpoint;

use crate::link::{Link, Listener};
use crate::outcome::Refused;
use crate::{directory, release};

/// More are not taken from an agent: it remembers fewer.
const OPERATIONS: usize = 1 << 20;
/// For the agent to connect. It looks every ten milliseconds.
const CONNECT: Duration = Duration::from_secs(20);
/// The same where nobody waits for the answer.
const AT_ONCE: Duration = Duration::from_millis(500);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Takes in what an agent sends, up to the last piece.
pub(crate) fn receive(link: &mut Link) -> anyhow::Result<Window> {
    let mut pieces: Vec<LaunchWindow> = Vec::new();
    let mut operations = 0;
    loop {
        match link.receive()? {
            from_agent::Body::Launches(piece) => {
                operations += piece.operations.len() + piece.buffers.len();
                if operations > OPERATIONS {
                    bail!("the agent sends more launches than it can remember");
                }
                let is_last = piece.is_last;
                pieces.push(piece);
                if is_last {
                    return Window::join(pieces).context("the agent's launches make no sense");
                }
            }
            from_agent::Body::Refused(refused) => return Err(Refused(refused.reason).into()),
            from_agent::Body::Aborted(aborted) => bail!("{}", aborted.reason),
            _ => bail!("the agent says something unexpected"),
        }
    }
}

/// Of a running program, now.
pub(crate) fn of_program(pid: u32) -> anyhow::Result<Window> {
    ask(pid, CONNECT)
}

fn ask(pid: u32, patience: Duration) -> anyhow::Result<Window> {
    let agent = RemoteAgent::find(pid).map_err(|error| Refused(error.to_string()))?;
    let lease = Lease::take(pid).context("checkpoints cannot take turns")?;
    let _lease = lease.ok_or_else(|| release::under_way(pid))?;
    release::end_last(&agent)?;
    let me = Identity::of(std::process::id())?;
    let listener = Listener::open(agent.identity(), &format!("launches-{}", me.start_time))?;
    agent.request(me, listener.name())?;
    let mut link = listener.accept(patience)?;
    link.send(to_agent::Body::ShowLaunches(ShowLaunches {}))?;
    receive(&mut link)
}

/// What a checkpoint has cost the process that it has cost most, by what each had launched before and has since. Nothing
/// depends on it: of a program that does not answer at once it is not known.
pub(crate) fn lost(before: &[(u32, Window)]) -> Option<LostWork> {
    let of_each = before.iter().filter_map(|(pid, window)| {
        window.period()?;
        let deadline = Instant::now() + AT_ONCE;
        // It may be at the end of the checkpoint still.
        let since = loop {
            match ask(*pid, AT_ONCE) {
                Err(_) if Instant::now() < deadline => thread::sleep(LOOK_AGAIN),
                since => break since,
            }
        };
        let since = since.inspect_err(|error| tracing::debug!("what was lost: {error:#}"));
        window.lost(&since.ok()?)
    });
    of_each.max_by_key(LostWork::ns)
}

/// Keeps the window with a checkpoint that is being made.
pub(crate) fn save(criu_folder: &Path, pid: u32, window: &Window) -> anyhow::Result<()> {
    let path = criu_folder.join(files::launches(pid));
    let save = || {
        let mut file = BufWriter::new(File::create(&path)?);
        frame::write_image(&mut file, window.message())?;
        file.flush()
    };
    save().with_context(|| format!("cannot write {}", path.display()))
}

/// Of a process in a checkpoint: the launches before it. Where there is one only, it need not be named.
pub(crate) fn of_checkpoint(directory: &Path, process: Option<u32>) -> anyhow::Result<Window> {
    let checkpoint = directory::open(directory)?;
    let all = &checkpoint.manifest().processes;
    let all: Vec<u32> = all.iter().map(|process| process.pid).collect();
    let pid = match (process, all.as_slice()) {
        (Some(pid), all) if all.contains(&pid) => pid,
        (None, [pid]) => *pid,
        (_, []) => {
            let sentence = format!("{} was imported, and has no launches", directory.display());
            return Err(Refused(sentence).into());
        }
        _ => {
            let all: Vec<String> = all.iter().map(u32::to_string).collect();
            let path = directory.display();
            let sentence = format!("{path} has launches of {}: use --process", all.join(", "));
            return Err(Refused(sentence).into());
        }
    };
    of_process(&checkpoint, pid)
}

/// The same of a checkpoint that is open.
pub(crate) fn of_process(checkpoint: &Checkpoint, pid: u32) -> anyhow::Result<Window> {
    let name = files::launches(pid);
    let image = checkpoint.open_image(&name)?;
    let image = image.with_context(|| format!("the checkpoint has no {name}"))?;
    let (window, _) = image.message::<LaunchWindow>()?;
    Window::join([window]).with_context(|| format!("{name} is damaged"))
}

/// Whether a process has this number.
pub(crate) fn is_program(target: &str) -> Option<u32> {
    target.parse().ok().filter(|pid| process::exists(*pid))
}
