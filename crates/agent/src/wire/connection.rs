//! The socket to the controller. The agent connects; at the freeze there is no connection.

use crate::descriptor::out_of_the_way;
use crate::wire::controller::controller_lives;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use strobe_proto::frame::{read_control, write_control};
use strobe_proto::page::AgentPage;
use strobe_proto::{FromAgent, Hello, ToAgent, from_agent, to_agent};

/// How long a message may take to come or go.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Connection {
    stream: Arc<UnixStream>,
}

/// The same, for another thread to say something.
#[derive(Debug)]
pub(crate) struct Sender(Arc<UnixStream>);

impl Sender {
    pub(crate) fn send(&self, body: from_agent::Body) -> io::Result<()> {
        write_control(&mut &*self.0, &FromAgent { body: Some(body) })
    }
}

impl Connection {
    /// Connects to the controller, at the socket that the page names, and says who we are.
    pub(crate) fn open(page: &AgentPage) -> io::Result<Connection> {
        if !controller_lives(page) {
            return Err(io::Error::other("the controller is gone"));
        }
        Self::open_to(page)
    }

    /// The same to whoever listens there.
    pub(crate) fn open_to(page: &AgentPage) -> io::Result<Connection> {
        let name: Vec<u8> = page
            .socket
            .iter()
            .map(|byte| byte.load(Ordering::Relaxed))
            .take_while(|byte| *byte != 0)
            .collect();
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
        // Not connected before it is out of the way: nothing that the program writes arrives.
        let socket = out_of_the_way(socket)?;
        connect(socket.as_raw_fd(), &UnixAddr::new_abstract(&name)?)?;
        let stream = UnixStream::from(socket);
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut connection = Connection {
            stream: Arc::new(stream),
        };
        connection.send(from_agent::Body::Hello(Hello {
            pid: std::process::id(),
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            attach_point: "symbols".to_owned(),
        }))?;
        Ok(connection)
    }

    pub(crate) fn send(&mut self, body: from_agent::Body) -> io::Result<()> {
        self.sender().send(body)
    }

    pub(crate) fn sender(&self) -> Sender {
        Sender(Arc::clone(&self.stream))
    }

    /// The next message. An end of the connection is an error: it is the controller that ends it,
    /// and only by going away.
    pub(crate) fn receive(&mut self) -> io::Result<to_agent::Body> {
        let message: Option<ToAgent> = read_control(&mut &*self.stream)?;
        message
            .ok_or_else(|| io::Error::other("the controller has closed the connection"))?
            .body
            .ok_or_else(|| io::Error::other("the controller sent a message without content"))
    }

    /// The next message, if one comes within `wait`.
    pub(crate) fn receive_within(&mut self, wait: Duration) -> io::Result<Option<to_agent::Body>> {
        let timeout = PollTimeout::try_from(wait).unwrap_or(PollTimeout::MAX);
        let mut fds = [PollFd::new(self.stream.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, timeout) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => Ok(None),
            Ok(_) => self.receive().map(Some),
            Err(error) => Err(error.into()),
        }
    }
}
