//! After CRIU: programs run, and hear what of their memory has arrived.
//!
//! ```text
//!   CRIU          ask --> | <- Filled: sockets -> the agents' pages; let go, end
//!   filler        ... fill what cannot wait | fill the rest, as it is wanted ................. end
//!   agent                                   connect, Hello -> <- Unloaded  Wanted -> <- Arrived
//! ```
//!
//! What must hold:
//!
//! - A chunk is said to have arrived when the DMA engine is done with it, and is never touched afterwards.
//! - Where a chunk cannot be filled its program ends: the agent is told why, says so and ends it; one that does not is
//!   ended from here, by its descriptor. If this process dies the agents' connections break, which is the same to them.
//! - Nothing here waits for a program: one may be stopped, and others of its tree want their memory.
//! - The process is no part of the restore any more: it holds nothing in the folder of that, and goes on whatever
//!   becomes of the command. The checkpoint stays held until all is filled.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signalfd::SignalFd;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::{Pid, getppid};
use strobe_extent::ChunkIndex;
use strobe_program::namespaces;
use strobe_proto::frame::{CONTROL_LIMIT, Message, write_control};
use strobe_proto::{
    Abandon, Arrived, ByteRange, DeferredFill, FromAgent, ToAgent, Unloaded, from_agent, to_agent,
};

use super::end::kill;
use crate::fill::Fill;
use crate::fill::deferred::Deferred;

/// How long an agent may take to connect, and to end its program.
const END_PATIENCE: Duration = Duration::from_secs(5);
/// Chunks of one message.
const AT_ONCE: usize = 4096;

/// A process whose memory is not all there.
pub(super) struct Supply {
    process: OwnedFd,
    fill: Arc<Fill>,
    listener: UnixListener,
    agent: Option<Agent>,
    /// When it is ended from here.
    ends: Option<Instant>,
}

/// A connected agent.
struct Agent {
    stream: UnixStream,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    /// Arrived, and not told yet.
    arrived: Vec<ChunkIndex>,
    /// That there will not be all.
    knows: bool,
}

impl Supply {
    /// Listens for the agent of a process that was made and does not run yet. `None` where nothing waits any more.
    pub(super) fn open(
        process: BorrowedFd<'_>,
        fill: &Arc<Fill>,
    ) -> io::Result<Option<(Self, DeferredFill)>> {
        if fill.deferred().is_none_or(Deferred::is_complete) {
            return Ok(None);
        }
        let mut random = [0; 8];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let name = format!("strobe-memory-{:016x}", u64::from_le_bytes(random));
        let listener = namespaces::listen_abstract(number(process)?, name.as_bytes())?;
        listener.set_nonblocking(true)?;
        let deferred = DeferredFill {
            pid: fill.pid(),
            socket: name,
        };
        let supply = Self {
            process: process.try_clone_to_owned()?,
            fill: Arc::clone(fill),
            listener,
            agent: None,
            ends: None,
        };
        Ok(Some((supply, deferred)))
    }

    fn deferred(&self) -> Option<&Deferred> {
        self.fill.deferred()
    }

    /// What it has to say is looked at in this order.
    fn files(&self) -> impl Iterator<Item = PollFd<'_>> {
        let talks = match &self.agent {
            None => PollFd::new(self.listener.as_fd(), PollFlags::POLLIN),
            Some(agent) => {
                let waits = match agent.outgoing.is_empty() {
                    true => PollFlags::POLLIN,
                    false => PollFlags::POLLIN | PollFlags::POLLOUT,
                };
                PollFd::new(agent.stream.as_fd(), waits)
            }
        };
        [PollFd::new(self.process.as_fd(), PollFlags::POLLIN), talks].into_iter()
    }

    /// Goes on as far as it can without waiting. Whether there is anything left to do.
    fn step(&mut self, has_ended: bool, talks: bool) -> bool {
        let went_on = !has_ended && self.serve(talks).unwrap_or_else(|_| self.hang_up());
        if !went_on && let Some(deferred) = self.deferred() {
            deferred.abandon();
        }
        went_on
    }

    /// The agent is gone. With its program, which has ended or become another; or it ends that now.
    fn hang_up(&mut self) -> bool {
        self.ends.is_some_and(|_| self.end())
    }

    fn serve(&mut self, talks: bool) -> io::Result<bool> {
        if talks && self.agent.is_none() {
            self.accept()?;
        }
        let Some(deferred) = self.fill.deferred() else {
            return Ok(false);
        };
        let error = deferred.error();
        if error.is_some() {
            self.ends.get_or_insert(Instant::now() + END_PATIENCE);
        }
        if self.ends.is_some_and(|ends| Instant::now() >= ends) {
            return Ok(self.end());
        }
        let Some(agent) = &mut self.agent else {
            return Ok(true);
        };
        if talks {
            for chunk in agent.wanted()? {
                deferred.ask(chunk);
            }
        }
        // Asked before: what arrives in between is told next time.
        let is_complete = deferred.is_complete();
        match error {
            Some(reason) if !agent.knows => {
                agent.knows = true;
                agent.say(to_agent::Body::Abandon(Abandon { reason }))?;
            }
            Some(_) => {}
            None => agent.arrived.extend(deferred.take_arrived()),
        }
        agent.flush()?;
        Ok(!(is_complete && agent.has_said_all()))
    }

    /// Takes the agent, and nobody else.
    fn accept(&mut self) -> io::Result<()> {
        let (stream, _) = match self.listener.accept() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            accepted => accepted?,
        };
        let peer = getsockopt(&stream, PeerCredentials)?;
        if u32::try_from(peer.pid()) != Ok(number(self.process.as_fd())?) {
            return Ok(());
        }
        stream.set_nonblocking(true)?;
        let mut agent = Agent {
            stream,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            arrived: Vec::new(),
            knows: false,
        };
        if let Some(deferred) = self.fill.deferred() {
            let map = deferred.map();
            agent.say(to_agent::Body::Unloaded(Unloaded {
                chunk_bytes: map.chunk_bytes(),
                regions: map.regions().map(ByteRange::from).collect(),
            }))?;
        }
        self.agent = Some(agent);
        Ok(())
    }

    /// Ends the program, which nobody else does.
    fn end(&mut self) -> bool {
        kill(self.process.as_fd());
        false
    }
}

impl Agent {
    fn say(&mut self, body: to_agent::Body) -> io::Result<()> {
        write_control(&mut self.outgoing, &ToAgent { body: Some(body) })
    }

    /// What the agent wants, by all that it has said.
    fn wanted(&mut self) -> io::Result<Vec<ChunkIndex>> {
        let mut bytes = [0; 64 << 10];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(len) => self.incoming.extend_from_slice(&bytes[..len]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        let mut wanted = Vec::new();
        while let Some((len, rest)) = self.incoming.split_first_chunk() {
            let len = u32::from_le_bytes(*len);
            if len > CONTROL_LIMIT {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let Some(message) = rest.get(..len as usize) else {
                break;
            };
            if let Some(from_agent::Body::Wanted(more)) = FromAgent::decode(message)?.body {
                wanted.extend(more.chunks.into_iter().map(ChunkIndex));
            }
            self.incoming.drain(..4 + len as usize);
        }
        Ok(wanted)
    }

    /// Sends what can be sent now.
    fn flush(&mut self) -> io::Result<()> {
        loop {
            if self.outgoing.is_empty() && !self.arrived.is_empty() {
                let many = self.arrived.len().min(AT_ONCE);
                let chunks = self.arrived.drain(..many).map(|chunk| chunk.0).collect();
                self.say(to_agent::Body::Arrived(Arrived { chunks }))?;
            }
            if self.outgoing.is_empty() {
                return Ok(());
            }
            match self.stream.write(&self.outgoing) {
                Ok(len) => drop(self.outgoing.drain(..len)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    fn has_said_all(&self) -> bool {
        self.outgoing.is_empty() && self.arrived.is_empty()
    }
}

/// The number of a process in the PID namespace of this one.
fn number(process: BorrowedFd<'_>) -> io::Result<u32> {
    let facts = fs::read_to_string(format!("/proc/self/fdinfo/{}", process.as_raw_fd()))?;
    let number = facts.lines().find_map(|line| line.strip_prefix("Pid:"));
    let number = number.and_then(|number| number.trim().parse().ok());
    number.ok_or(io::ErrorKind::NotFound.into())
}

/// Serves all until nobody is left, and CRIU has ended.
pub(super) fn run(
    mut supplies: Vec<Supply>,
    signals: &SignalFd,
    progress: &mut io::PipeReader,
    criu: Pid,
) -> io::Result<()> {
    leave_the_restore()?;
    loop {
        let is_pressed = supplies.iter().any(|supply| supply.ends.is_some());
        let patience = match is_pressed {
            true => PollTimeout::from(100u8),
            false => PollTimeout::NONE,
        };
        let ready = {
            let fixed = [signals.as_fd(), progress.as_fd()];
            let fixed = fixed.map(|file| PollFd::new(file, PollFlags::POLLIN));
            let files = supplies.iter().flat_map(Supply::files);
            let mut files: Vec<PollFd<'_>> = fixed.into_iter().chain(files).collect();
            poll(&mut files, patience)?;
            let ready = files.iter().map(|file| file.any().unwrap_or(true));
            ready.collect::<Vec<bool>>()
        };
        if ready[0] {
            while let Ok(Some(_)) = signals.read_signal() {}
        }
        if ready[1] {
            let _ = progress.read(&mut [0; 1024])?;
        }
        let mut said = ready[2..].chunks(2);
        supplies.retain_mut(|supply| {
            let [has_ended, talks] = said.next().map_or([false; 2], |said| [said[0], said[1]]);
            supply.step(has_ended, talks)
        });
        // CRIU would find the end of a child.
        if supplies.is_empty() && getppid() != criu {
            return Ok(());
        }
    }
}

/// Who writes to a file in the folder of a restore is ended with it; that folder is CRIU's working directory.
fn leave_the_restore() -> io::Result<()> {
    let folder = fs::read_link("/proc/self/cwd")?;
    std::env::set_current_dir("/")?;
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    let mut inside = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        let entry = entry?;
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let (Some(number), Ok(path)) = (number, fs::read_link(entry.path()))
            && path.starts_with(&folder)
        {
            inside.push(number);
        }
    }
    for number in inside.into_iter().chain([0, 1, 2]) {
        let number: RawFd = number;
        // SAFETY: takes two numbers. What is replaced is CRIU's: nothing of ours writes to a file in there.
        if unsafe { libc::dup3(nothing.as_raw_fd(), number, libc::O_CLOEXEC) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
