//! The connection between this command and the agent in the program.
//!
//! The agent connects to us, and does so twice: CRIU cannot save a program that holds a socket
//! whose other end is outside, so both sides hang up before the dump.

use std::io::{self, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use strobe_program::awaited::Awaited;
use strobe_program::namespaces;
use strobe_program::process::Identity;
use strobe_proto::{FromAgent, ToAgent, frame, from_agent, to_agent};

/// Between two messages the agent copies at most one ring of chunks.
const SILENCE: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(1);
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Where the agent of one program can connect to.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: UnixListener,
    program: Identity,
    name: String,
}

impl Listener {
    /// Listens in the network namespace of the program, under a name nobody else uses.
    pub(crate) fn open(program: Identity, id: &str) -> anyhow::Result<Self> {
        let name = format!("strobe-{id}");
        let socket = namespaces::listen_abstract(program.pid, name.as_bytes())
            .context("cannot listen for the program's agent")?;
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            program,
            name,
        })
    }

    pub(crate) fn name(&self) -> &[u8] {
        self.name.as_bytes()
    }

    /// Waits for the agent to connect; others that do are sent away.
    pub(crate) fn accept(&self, patience: Duration) -> anyhow::Result<Link> {
        let pid = self.program.pid;
        let deadline = Instant::now() + patience;
        let mut awaited = Awaited::new(self.program);
        loop {
            match self.socket.accept() {
                Ok((stream, _)) => {
                    let peer = getsockopt(&stream, PeerCredentials)?;
                    if u32::try_from(peer.pid()) == Ok(pid) {
                        stream.set_nonblocking(false)?;
                        stream.set_read_timeout(Some(LOOK_AGAIN))?;
                        stream.set_write_timeout(Some(SILENCE))?;
                        return Ok(Link { stream, awaited });
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    awaited.look()?;
                    ensure!(
                        Instant::now() < deadline,
                        "the agent of process {pid} does not answer"
                    );
                    thread::sleep(POLL);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e).context("cannot listen for the program's agent"),
            }
        }
    }
}

/// A connected agent.
#[derive(Debug)]
pub(crate) struct Link {
    stream: UnixStream,
    awaited: Awaited,
}

/// Waits for bytes as long as the agent can be expected to send any.
impl Read for Link {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let deadline = Instant::now() + SILENCE;
        loop {
            match self.stream.read(bytes) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline => {
                    self.awaited.look().map_err(io::Error::other)?;
                }
                result => return result,
            }
        }
    }
}

impl Link {
    pub(crate) fn send(&mut self, body: to_agent::Body) -> anyhow::Result<()> {
        let message = ToAgent { body: Some(body) };
        frame::write_control(&mut self.stream, &message).context("the agent does not listen")
    }

    /// The next message but greetings.
    pub(crate) fn receive(&mut self) -> anyhow::Result<from_agent::Body> {
        loop {
            let message = match frame::read_control::<FromAgent>(self) {
                Ok(message) => message,
                Err(error) => {
                    // What became of the program says more.
                    self.awaited.look()?;
                    return Err(error).context("the agent does not speak");
                }
            };
            match message {
                None => bail!("the agent has hung up"),
                Some(FromAgent {
                    body: Some(from_agent::Body::Hello(hello)),
                }) => {
                    tracing::debug!(version = hello.agent_version, by = hello.attach_point);
                }
                Some(FromAgent { body: Some(body) }) => return Ok(body),
                Some(FromAgent { body: None }) => bail!("the agent says something unknown"),
            }
        }
    }
}
