//! What a restored process hands to the filler, from both ends.
//!
//! ```text
//!   socket of all   one byte; descriptors: a socket of its own, the process
//!   its own         FillRequest | one byte; descriptors of contents, in the order of the buffer objects | ...
//!                   <- 0: taken | 1 and a sentence: why not
//! ```

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recv,
    recvmsg, sendmsg, socketpair,
};
use strobe_kfd::client::compute::Bo;
use strobe_proto::amdgpu::{CriuKfd, KfdBoEntry};
use strobe_proto::frame::Message;
use strobe_proto::{FillRequest, StandIn, files};

use super::{SENTENCE_LIMIT, SOCKET};
use crate::fill::Request;
use crate::host;
use crate::images::Images;
use crate::restore_error::{FillerError, RestoreError};
use strobe_store::contents::{found, has_content};

/// Descriptors in one message: the kernel takes 253 (SCM_MAX_FD).
const AT_ONCE: usize = 250;
/// Longest message.
const MESSAGE_LIMIT: usize = 64 << 10;

/// In a restored process: the filler fills these from now on.
pub(crate) fn hand_over(request: &Request) -> Result<(), RestoreError> {
    send_all(request).map_err(|error| FillerError::HandOver(error).into())
}

fn send_all(request: &Request) -> io::Result<()> {
    let filler = host::handed_down(SOCKET)?;
    let (ours, theirs) = pair()?;
    let own = own_process()?;
    send(&filler, &[0], &[theirs.as_raw_fd(), own.as_raw_fd()])?;
    drop((theirs, own, filler));
    let stand_in = |(known, present): &(u32, u32)| StandIn {
        known: *known,
        present: *present,
    };
    let message = FillRequest {
        id: request.id,
        stand_ins: request.gpus.iter().map(stand_in).collect(),
    };
    send(&ours, &message.encode_to_vec(), &[])?;
    let contents = request.bos.iter().filter(|bo| has_content(&bo.bucket));
    let contents: Option<Vec<RawFd>> = contents
        .map(|bo| bo.content.as_ref().map(AsRawFd::as_raw_fd))
        .collect();
    let contents = contents.ok_or(io::ErrorKind::NotFound)?;
    for some in contents.chunks(AT_ONCE) {
        send(&ours, &[0], some)?;
    }
    let mut answer = vec![0; 1 + SENTENCE_LIMIT];
    let len = recv(ours.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    match &answer[..len] {
        [] => Err(io::ErrorKind::UnexpectedEof.into()),
        [0, ..] => Ok(()),
        [_, sentence @ ..] => Err(io::Error::other(String::from_utf8_lossy(sentence))),
    }
}

fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let pair = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags);
    Ok(pair?)
}

/// A descriptor of this process, whatever its number is elsewhere.
fn own_process() -> io::Result<OwnedFd> {
    // SAFETY: it takes two numbers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, std::process::id(), 0) };
    match RawFd::try_from(fd) {
        // SAFETY: the kernel has just made it for us.
        Ok(fd @ 0..) => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

fn send(to: &OwnedFd, bytes: &[u8], descriptors: &[RawFd]) -> io::Result<()> {
    let rights = [ControlMessage::ScmRights(descriptors)];
    let control = if descriptors.is_empty() {
        &[][..]
    } else {
        &rights
    };
    let parts = [IoSlice::new(bytes)];
    sendmsg::<()>(
        to.as_raw_fd(),
        &parts,
        control,
        MsgFlags::MSG_NOSIGNAL,
        None,
    )?;
    Ok(())
}

/// The next message, which is there; no bytes where the other end is gone.
fn receive(from: BorrowedFd<'_>) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut bytes = vec![0; MESSAGE_LIMIT];
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let mut space = nix::cmsg_space!([RawFd; AT_ONCE + 3]);
    let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_DONTWAIT;
    let message = recvmsg::<()>(from.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
    let (len, is_cut) = (message.bytes, MsgFlags::MSG_TRUNC | MsgFlags::MSG_CTRUNC);
    let is_cut = message.flags.intersects(is_cut);
    let mut descriptors = Vec::new();
    for part in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(numbers) = part {
            // SAFETY: the kernel has just made them for us.
            descriptors.extend(
                numbers
                    .iter()
                    .map(|fd| unsafe { OwnedFd::from_raw_fd(*fd) }),
            );
        }
    }
    if is_cut {
        return Err(io::ErrorKind::InvalidData.into());
    }
    bytes.truncate(len);
    Ok((bytes, descriptors))
}

/// In the filler: a process that hands over its buffer objects.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) socket: OwnedFd,
    pub(super) process: OwnedFd,
    /// What it has said so far.
    asked: Option<(FillRequest, CriuKfd)>,
    contents: Vec<OwnedFd>,
}

impl Caller {
    /// From what stands in the socket of all.
    pub(super) fn accept(requests: BorrowedFd<'_>) -> Result<Self, FillerError> {
        let (_, descriptors) = receive(requests).map_err(FillerError::HandOver)?;
        let descriptors = <[OwnedFd; 2]>::try_from(descriptors);
        let [socket, process] = descriptors
            .map_err(|_| FillerError::Request("other descriptors than a socket and a process"))?;
        Ok(Self {
            socket,
            process,
            asked: None,
            contents: Vec::new(),
        })
    }

    /// Takes the next message; all of them together, once they are complete. The process goes on then.
    pub(super) fn take(&mut self, images: &Images) -> Result<Option<Request>, RestoreError> {
        use std::os::fd::AsFd;
        let (bytes, descriptors) = receive(self.socket.as_fd()).map_err(FillerError::HandOver)?;
        if bytes.is_empty() {
            return Err(FillerError::Cut.into());
        }
        let (request, image) = match &self.asked {
            Some(asked) => asked,
            None => {
                let unreadable = |_| FillerError::Request("a message that cannot be read");
                let request = FillRequest::decode(bytes.as_slice()).map_err(unreadable)?;
                let name = files::kfd(request.id);
                let image = images.read::<CriuKfd>(&name)?;
                let image = image.ok_or(RestoreError::MissingImage(name))?;
                self.asked.insert((request, image))
            }
        };
        self.contents.extend(descriptors);
        let has_content = |bo: &&KfdBoEntry| has_content(&found(bo));
        let expected = image.bo_entries.iter().filter(has_content).count();
        if self.contents.len() < expected {
            return Ok(None);
        }
        if self.contents.len() > expected {
            return Err(FillerError::Request("more contents than buffer objects").into());
        }
        let mut contents = self.contents.drain(..);
        let bos = image.bo_entries.iter().map(|bo| Bo {
            bucket: found(bo),
            content: has_content(&bo).then(|| contents.next()).flatten(),
        });
        let gpus = request.stand_ins.iter().map(|gpu| (gpu.known, gpu.present));
        let request = Request {
            id: request.id,
            pid: image.pid,
            bos: bos.collect(),
            gpus: gpus.collect(),
        };
        send(&self.socket, &[0], &[]).map_err(FillerError::HandOver)?;
        Ok(Some(request))
    }

    /// Says why nothing is taken of what it has said.
    pub(super) fn refuse(&self, error: &RestoreError) {
        let sentence = error.to_string();
        let sentence = &sentence.as_bytes()[..sentence.len().min(SENTENCE_LIMIT)];
        // Who is gone needs no reason.
        let _ = send(&self.socket, &[&[1], sentence].concat(), &[]);
    }
}
