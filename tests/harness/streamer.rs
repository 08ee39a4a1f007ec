//! CRIU's image streamer, as far as `criu --stream` sees it, with the images in memory.
//!
//! CRIU connects to a socket in its image folder and names one image after the other: a length of 32
//! bits and `img_streamer_request_entry`. To a restore the streamer answers whether it has that image
//! (`img_streamer_reply_entry`). Then CRIU sends the streamer's end of a pipe, with one byte. Each image
//! is served once, and while its pipe is full nothing else is answered.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread::{self, JoinHandle};

use nix::cmsg_space;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use prost::Message;

/// Longest message of CRIU's: a name.
const MESSAGE_LIMIT: u32 = 4096;

#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(string, required, tag = "1")]
    filename: String,
}

#[derive(Clone, PartialEq, Message)]
struct Reply {
    #[prost(bool, required, tag = "1")]
    exists: bool,
}

/// All images of a dump, by name.
pub(crate) type Captured = BTreeMap<String, Vec<u8>>;

/// Takes the images of one dump into this folder; ends when CRIU says that there are no more.
pub(crate) fn capture(folder: &Path) -> JoinHandle<io::Result<Captured>> {
    let listener = listen(folder, "streamer-capture.sock");
    thread::spawn(move || {
        let (mut criu, _) = listener.accept()?;
        let mut images = Vec::new();
        while let Some(name) = next_name(&mut criu)? {
            let mut pipe = File::from(descriptor(&criu)?);
            let read = thread::spawn(move || {
                let mut bytes = Vec::new();
                pipe.read_to_end(&mut bytes).map(|_| bytes)
            });
            images.push((name, read));
        }
        let mut captured = Captured::new();
        for (name, read) in images {
            let bytes = read.join().expect("it only reads")?;
            let before = captured.insert(name.clone(), bytes);
            assert!(before.is_none(), "{name} came twice");
        }
        Ok(captured)
    })
}

/// Gives images to one restore from this folder; the names that it asked for, in order.
pub(crate) fn serve(folder: &Path, mut images: Captured) -> JoinHandle<io::Result<Vec<String>>> {
    let listener = listen(folder, "streamer-serve.sock");
    thread::spawn(move || {
        let (mut criu, _) = listener.accept()?;
        let mut asked = Vec::new();
        while let Some(name) = next_name(&mut criu)? {
            let image = images.remove(&name);
            asked.push(name);
            let exists = image.is_some();
            let reply = Reply { exists }.encode_to_vec();
            criu.write_all(&(reply.len() as u32).to_le_bytes())?;
            criu.write_all(&reply)?;
            if let Some(bytes) = image {
                let written = File::from(descriptor(&criu)?).write_all(&bytes);
                // CRIU need not read to the end.
                if let Err(error) = written
                    && error.kind() != io::ErrorKind::BrokenPipe
                {
                    return Err(error);
                }
            }
        }
        Ok(asked)
    })
}

fn listen(folder: &Path, name: &str) -> UnixListener {
    UnixListener::bind(folder.join(name)).expect("a socket")
}

/// `None` when CRIU has dismissed us.
fn next_name(criu: &mut UnixStream) -> io::Result<Option<String>> {
    let mut len = [0; 4];
    match criu.read_exact(&mut len) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let len = u32::from_le_bytes(len);
    if len > MESSAGE_LIMIT {
        return Err(io::Error::other(format!("a name of {len} bytes")));
    }
    let mut bytes = vec![0; len as usize];
    criu.read_exact(&mut bytes)?;
    let request = Request::decode(bytes.as_slice()).map_err(io::Error::other)?;
    Ok(Some(request.filename))
}

/// The one descriptor that comes with the next byte.
fn descriptor(criu: &UnixStream) -> io::Result<OwnedFd> {
    let mut byte = [0; 1];
    let mut parts = [IoSliceMut::new(&mut byte)];
    let mut space = cmsg_space!([i32; 1]);
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(criu.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
    for part in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(numbers) = part
            && let [number] = numbers[..]
        {
            // SAFETY: the kernel has just made it for us.
            return Ok(unsafe { OwnedFd::from_raw_fd(number) });
        }
    }
    Err(io::Error::other("no descriptor"))
}
