//! The agent's page in another process ([`strobe_proto::page`]).
//!
//! Every access names an address in a foreign process, so nothing here trusts what it reads: the
//! page counts only with its magic, our version, and the process's own number and start time. A
//! process that ends meanwhile is an error, never a crash.

use std::collections::BTreeMap;
use std::io::{IoSlice, IoSliceMut};
use std::mem::offset_of;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use goblin::elf::Elf;
use goblin::elf::program_header::PT_LOAD;
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;
use strobe_proto::page::{
    AgentPage, Goal, MAGIC, PAGE_BYTES, PAGE_SYMBOL, Phase, VERSION, Verdict,
};
use strobe_proto::{ByteRange, HandOver, SetAsideAnswer};

use crate::maps::{self, Mapping};
use crate::process::{self, Identity};
use crate::threads;

/// File name of the library that holds the agent.
pub const LIBRARY: &str = "libstrobe.so";
/// Largest hand-over accepted.
const HAND_OVER_LIMIT: u64 = 256 << 20;
/// Largest library looked into.
const LIBRARY_LIMIT: u64 = 1 << 30;

#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum AgentError {
    #[error("there is no process {0}")]
    Gone(u32),
    #[error("{thread} is a thread of process {process}, and no process")]
    Thread { thread: u32, process: u32 },
    #[error("process {0} is not running under strobe (start it with `strobe run`)")]
    NoAgent(u32),
    #[error("process {0} has not used the GPU yet: try again when it has")]
    Unused(u32),
    #[error("process {0} was forked by a program under strobe and has no agent of its own")]
    Forked(u32),
    #[error("the agent in process {pid} speaks version {theirs}, this command {VERSION}")]
    Version { pid: u32, theirs: u32 },
    #[error("no permission to look into process {0}")]
    Permission(u32),
    #[error("the agent of process {pid} cannot be reached: {error}")]
    Access { pid: u32, error: io::Error },
    #[error("{path} of process {pid} cannot be read as an ELF file: {reason}")]
    Library {
        pid: u32,
        path: PathBuf,
        reason: String,
    },
    #[error("the agent in process {pid} handed over {len} bytes that cannot be decoded")]
    HandOver { pid: u32, len: u64 },
    #[error("the agent in process {pid} has no room for an answer of {len} bytes")]
    Answer { pid: u32, len: u64 },
}

/// The agent of one process. All methods fail when the process is gone.
#[derive(Clone, Copy, Debug)]
pub struct RemoteAgent {
    identity: Identity,
    address: u64,
}

/// The page's words at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// `None`: a word that stands for no phase.
    pub phase: Option<Phase>,
    /// `None`: a word that stands for no verdict.
    pub verdict: Option<Verdict>,
    /// How many there were.
    pub request: u32,
    /// Who sent the last request.
    pub controller: Identity,
    /// Times the gate has been closed for this checkpoint.
    pub attempts: u32,
    /// CLOCK_MONOTONIC, nanoseconds.
    pub gate_closed_ns: u64,
    /// CLOCK_MONOTONIC, nanoseconds.
    pub drained_ns: u64,
    /// CLOCK_MONOTONIC, nanoseconds.
    pub opened_ns: u64,
    /// Traced since the program began.
    pub launches: u64,
    /// Launches whose writes were known.
    pub footprints_exact: u64,
    /// Launches that could have written anything.
    pub footprints_conservative: u64,
    /// Live tracked allocations.
    pub allocations: u64,
    /// Their bytes.
    pub tracked_bytes: u64,
    /// Of that, bytes that a restore has not filled yet.
    pub unloaded_bytes: u64,
    /// Committed in this process.
    pub checkpoints: u64,
    /// Why the checkpoint was refused, when `phase` is [`Phase::Refused`].
    pub reason: String,
    /// CLOCK_MONOTONIC, nanoseconds: when the phase was entered; 0 where that is not known.
    pub phase_since_ns: u64,
    /// The copying that is under way.
    pub copying: Option<Copying>,
    /// The last checkpoint that was complete, as far as this process knows.
    pub last: Option<LastCheckpoint>,
}

/// Copying that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copying {
    /// CLOCK_MONOTONIC, nanoseconds.
    pub began_ns: u64,
    /// Bytes in all.
    pub bytes: u64,
    /// Bytes that have arrived.
    pub copied: u64,
}

/// A checkpoint that was complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastCheckpoint {
    /// As the command had it.
    pub directory: String,
    /// Nanoseconds for which the program was held back.
    pub stall_ns: u64,
    /// Nanoseconds since 1970.
    pub unix_ns: u64,
}

impl RemoteAgent {
    /// Finds the agent of a process through the symbol its library exports.
    pub fn find(pid: u32) -> Result<Self, AgentError> {
        let identity = Identity::of(pid).map_err(|_| AgentError::Gone(pid))?;
        // A thread has all that a process has, but CRIU takes processes.
        match process::of_thread(pid) {
            Ok(process) if process != pid => {
                let thread = pid;
                return Err(AgentError::Thread { thread, process });
            }
            _ => {}
        }
        let address = u64::from_le_bytes(read_array(pid, symbol(pid)?)?);
        if address == 0 {
            return Err(AgentError::Unused(pid));
        }
        Self::at(identity, address)
    }

    /// The agent whose page is at a known address; checks that it is one.
    pub fn at(identity: Identity, address: u64) -> Result<Self, AgentError> {
        let pid = identity.pid;
        let agent = Self { identity, address };
        let page = agent.page()?;
        if word64(&page, offset_of!(AgentPage, magic)) != MAGIC {
            // Wiped on fork: a page without magic belongs to a child.
            return Err(AgentError::Forked(pid));
        }
        let theirs = word32(&page, offset_of!(AgentPage, version));
        if theirs != VERSION {
            return Err(AgentError::Version { pid, theirs });
        }
        Ok(agent)
    }

    /// The process.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Address of the page in the process.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// All words. The phase is read before the others, so what it announces is complete.
    pub fn snapshot(&self) -> Result<Snapshot, AgentError> {
        let phase = self.phase()?;
        let page = self.page()?;
        let text = |len: usize, start: usize| {
            let len = word32(&page, len) as usize;
            String::from_utf8_lossy(&page[start..start + len.min(1024)]).into_owned()
        };
        let copying = Copying {
            began_ns: word64(&page, offset_of!(AgentPage, copy_began_ns)),
            bytes: word64(&page, offset_of!(AgentPage, copy_bytes)),
            copied: word64(&page, offset_of!(AgentPage, copied_bytes)),
        };
        let last = LastCheckpoint {
            directory: text(
                offset_of!(AgentPage, last_directory_len),
                offset_of!(AgentPage, last_directory),
            ),
            stall_ns: word64(&page, offset_of!(AgentPage, last_stall_ns)),
            unix_ns: word64(&page, offset_of!(AgentPage, last_unix_ns)),
        };
        Ok(Snapshot {
            phase,
            verdict: Verdict::from_word(word32(&page, offset_of!(AgentPage, verdict))),
            request: word32(&page, offset_of!(AgentPage, request)),
            controller: Identity {
                pid: word32(&page, offset_of!(AgentPage, controller_pid)),
                start_time: word64(&page, offset_of!(AgentPage, controller_start)),
            },
            attempts: word32(&page, offset_of!(AgentPage, attempts)),
            gate_closed_ns: word64(&page, offset_of!(AgentPage, gate_closed_ns)),
            drained_ns: word64(&page, offset_of!(AgentPage, drained_ns)),
            opened_ns: word64(&page, offset_of!(AgentPage, opened_ns)),
            launches: word64(&page, offset_of!(AgentPage, launches)),
            footprints_exact: word64(&page, offset_of!(AgentPage, footprints_exact)),
            footprints_conservative: word64(&page, offset_of!(AgentPage, footprints_conservative)),
            allocations: word64(&page, offset_of!(AgentPage, allocations)),
            tracked_bytes: word64(&page, offset_of!(AgentPage, tracked_bytes)),
            unloaded_bytes: word64(&page, offset_of!(AgentPage, unloaded_bytes)),
            checkpoints: word64(&page, offset_of!(AgentPage, checkpoints)),
            reason: text(
                offset_of!(AgentPage, reason_len),
                offset_of!(AgentPage, reason),
            ),
            phase_since_ns: word64(&page, offset_of!(AgentPage, phase_since_ns)),
            copying: Some(copying).filter(|copying| copying.began_ns != 0),
            last: Some(last).filter(|last| last.unix_ns != 0),
        })
    }

    /// What the agent is doing; `None` for a word without meaning.
    pub fn phase(&self) -> Result<Option<Phase>, AgentError> {
        let word = self.read_word(offset_of!(AgentPage, phase))?;
        Ok(Phase::from_word(word))
    }

    /// The thread that takes up what the page asks for, by its number here; `None` where it is not there.
    pub fn control_thread(&self) -> Result<Option<u32>, AgentError> {
        let page = self.page()?;
        let number = word64(&page, offset_of!(AgentPage, control_thread));
        Ok(threads::by_own_number(self.identity.pid, number))
    }

    /// The verdict in the page; `None` for a word without meaning.
    pub fn verdict(&self) -> Result<Option<Verdict>, AgentError> {
        let word = self.read_word(offset_of!(AgentPage, verdict))?;
        Ok(Verdict::from_word(word))
    }

    /// Tells the agent to connect to the abstract socket `name`; `controller` holds the lease.
    pub fn request(&self, controller: Identity, name: &[u8]) -> Result<(), AgentError> {
        self.write(
            offset_of!(AgentPage, controller_pid),
            &controller.pid.to_le_bytes(),
        )?;
        self.write(
            offset_of!(AgentPage, controller_start),
            &controller.start_time.to_le_bytes(),
        )?;
        self.name_socket(name)?;
        let request = self.read_word(offset_of!(AgentPage, request))?;
        // Last: it says that the words above are complete.
        self.write(
            offset_of!(AgentPage, request),
            &request.wrapping_add(1).to_le_bytes(),
        )
    }

    /// Names the abstract socket that the agent connects to, when it is told to.
    pub fn name_socket(&self, name: &[u8]) -> Result<(), AgentError> {
        let mut socket = [0; 64];
        assert!(
            name.len() < socket.len(),
            "a socket name of {} bytes",
            name.len()
        );
        socket[..name.len()].copy_from_slice(name);
        self.write(offset_of!(AgentPage, socket), &socket)
    }

    /// Tells an armed agent how far to go.
    pub fn set_goal(&self, goal: Goal) -> Result<(), AgentError> {
        self.write(
            offset_of!(AgentPage, gate_request),
            &(goal as u32).to_le_bytes(),
        )
    }

    /// How far it is to go.
    pub fn goal(&self) -> Result<Goal, AgentError> {
        let word = self.read_word(offset_of!(AgentPage, gate_request))?;
        Ok(Goal::from_word(word))
    }

    /// Tells the agent what became of the dump.
    pub fn set_verdict(&self, verdict: Verdict) -> Result<(), AgentError> {
        self.write(
            offset_of!(AgentPage, verdict),
            &(verdict as u32).to_le_bytes(),
        )
    }

    /// The agent's promise; readable from [`Phase::Cut`] on.
    pub fn hand_over(&self) -> Result<HandOver, AgentError> {
        let page = self.page()?;
        let address = word64(&page, offset_of!(AgentPage, hand_over));
        let len = word64(&page, offset_of!(AgentPage, hand_over_len));
        let pid = self.identity.pid;
        let damaged = AgentError::HandOver { pid, len };
        if len > HAND_OVER_LIMIT {
            return Err(damaged);
        }
        let mut bytes = vec![0; len as usize];
        read(pid, address, &mut bytes)?;
        prost::Message::decode(bytes.as_slice()).map_err(|_| damaged)
    }

    /// Tells the agent what was set aside for it. `room` is [`strobe_proto::DeviceHandOver::answer`].
    pub fn answer(&self, room: ByteRange, set_aside: &SetAsideAnswer) -> Result<(), AgentError> {
        let answer = prost::Message::encode_to_vec(set_aside);
        let mut bytes = (answer.len() as u64).to_le_bytes().to_vec();
        bytes.extend(answer);
        let (pid, len) = (self.identity.pid, bytes.len() as u64);
        if len > room.len {
            return Err(AgentError::Answer { pid, len });
        }
        write(pid, room.start, &bytes)
    }

    fn page(&self) -> Result<[u8; PAGE_BYTES], AgentError> {
        read_array(self.identity.pid, self.address)
    }

    fn read_word(&self, offset: usize) -> Result<u32, AgentError> {
        read_array(self.identity.pid, self.address + offset as u64).map(u32::from_le_bytes)
    }

    fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), AgentError> {
        write(self.identity.pid, self.address + offset as u64, bytes)
    }
}

fn word32(page: &[u8; PAGE_BYTES], offset: usize) -> u32 {
    u32::from_le_bytes(page[offset..offset + 4].try_into().expect("four bytes"))
}

fn word64(page: &[u8; PAGE_BYTES], offset: usize) -> u64 {
    u64::from_le_bytes(page[offset..offset + 8].try_into().expect("eight bytes"))
}

fn access(pid: u32, error: io::Error) -> AgentError {
    match error.raw_os_error() {
        Some(libc::ESRCH | libc::ENOENT) => AgentError::Gone(pid),
        Some(libc::EPERM | libc::EACCES) => AgentError::Permission(pid),
        _ => AgentError::Access { pid, error },
    }
}

/// Fills `bytes` from a process's memory; a short read is an error.
pub fn read(pid: u32, address: u64, bytes: &mut [u8]) -> Result<(), AgentError> {
    let mut done = 0;
    while done < bytes.len() {
        let base = (address as usize).wrapping_add(done);
        let remote = [RemoteIoVec {
            base,
            len: bytes.len() - done,
        }];
        let mut local = [IoSliceMut::new(&mut bytes[done..])];
        match process_vm_readv(Pid::from_raw(pid as i32), &mut local, &remote) {
            Ok(0) => return Err(access(pid, io::ErrorKind::UnexpectedEof.into())),
            Ok(n) => done += n,
            Err(e) => return Err(access(pid, e.into())),
        }
    }
    Ok(())
}

fn read_array<const N: usize>(pid: u32, address: u64) -> Result<[u8; N], AgentError> {
    let mut bytes = [0; N];
    read(pid, address, &mut bytes)?;
    Ok(bytes)
}

fn write(pid: u32, address: u64, bytes: &[u8]) -> Result<(), AgentError> {
    let remote = [RemoteIoVec {
        base: address as usize,
        len: bytes.len(),
    }];
    match process_vm_writev(Pid::from_raw(pid as i32), &[IoSlice::new(bytes)], &remote) {
        Ok(n) if n == bytes.len() => Ok(()),
        Ok(_) => Err(access(pid, io::ErrorKind::WriteZero.into())),
        Err(e) => Err(access(pid, e.into())),
    }
}

/// The library as the process maps it, also when its path was replaced since.
fn library_path(pid: u32, first: &Mapping) -> PathBuf {
    let exact = format!(
        "/proc/{pid}/map_files/{:x}-{:x}",
        first.range.start, first.range.end
    );
    if fs::metadata(&exact).is_ok() {
        return PathBuf::from(exact);
    }
    // Without privileges: the path in the process's root.
    let relative = first.path.strip_prefix("/").unwrap_or(&first.path);
    Path::new(&format!("/proc/{pid}/root")).join(relative)
}

fn library_bytes(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.len() > LIBRARY_LIMIT {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "larger than 1 GiB",
        ));
    }
    fs::read(path)
}

/// Device, inode, length, and when it was changed.
type File = (u64, u64, u64, i64);

/// Where the page's symbol is in a process.
fn symbol(pid: u32) -> Result<u64, AgentError> {
    /// From the library's first byte. Processes of a tree have the same library, and some are looked at while they
    /// stand still.
    static OFFSETS: Mutex<BTreeMap<File, u64>> = Mutex::new(BTreeMap::new());
    let maps = maps::read(pid).map_err(|error| access(pid, error))?;
    let first = maps
        .iter()
        .find(|m| m.is_file_named(LIBRARY) && m.offset == 0)
        .ok_or(AgentError::NoAgent(pid))?;
    let mut offsets = OFFSETS.lock().unwrap_or_else(PoisonError::into_inner);
    let path = library_path(pid, first);
    // A file that is written anew in its place is another.
    let file = fs::metadata(&path).map(|m| (m.dev(), m.ino(), m.len(), m.mtime_nsec()));
    let known = file
        .as_ref()
        .ok()
        .and_then(|file| offsets.get(file))
        .copied();
    let offset = match known {
        Some(offset) => offset,
        None => symbol_offset(pid, first, &path)?,
    };
    if let Ok(file) = file {
        offsets.insert(file, offset);
    }
    Ok(first.range.start.wrapping_add(offset))
}

fn symbol_offset(pid: u32, first: &Mapping, path: &Path) -> Result<u64, AgentError> {
    let damaged = |reason: String| AgentError::Library {
        pid,
        path: first.path.clone(),
        reason,
    };
    let bytes = library_bytes(path).map_err(|e| damaged(e.to_string()))?;
    let elf = Elf::parse(&bytes).map_err(|e| damaged(e.to_string()))?;
    let load = elf
        .program_headers
        .iter()
        .find(|h| h.p_type == PT_LOAD && h.p_offset < 4096)
        .ok_or_else(|| damaged("no segment at its start".into()))?;
    let start = load.p_vaddr.wrapping_sub(load.p_offset);
    let mut symbols = elf.dynsyms.iter();
    let symbol = symbols
        .find(|s| !s.is_import() && elf.dynstrtab.get_at(s.st_name) == Some(PAGE_SYMBOL))
        .ok_or_else(|| damaged(format!("no symbol {PAGE_SYMBOL}")))?;
    Ok(symbol.st_value.wrapping_sub(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU8, Ordering};
    use strobe_proto::{AsideRange, DeviceHandOver};

    fn page() -> Box<AgentPage> {
        // SAFETY: every field is an atomic integer, for which zero is a value.
        let page: Box<AgentPage> = unsafe { Box::new_zeroed().assume_init() };
        page.magic.store(MAGIC, Ordering::Relaxed);
        page.version.store(VERSION, Ordering::Relaxed);
        page
    }

    fn at(page: &AgentPage) -> Result<RemoteAgent, AgentError> {
        let me = Identity::of(std::process::id()).expect("we run");
        RemoteAgent::at(me, page as *const AgentPage as u64)
    }

    #[test]
    fn a_request_and_a_verdict_arrive() {
        let page = page();
        let agent = at(&page).expect("a page with magic");
        let controller = Identity {
            pid: 77,
            start_time: 1 << 40,
        };
        agent.request(controller, b"strobe-77").unwrap();
        assert_eq!(page.request.load(Ordering::Relaxed), 1);
        assert_eq!(page.controller_pid.load(Ordering::Relaxed), 77);
        assert_eq!(page.controller_start.load(Ordering::Relaxed), 1 << 40);
        let socket: Vec<u8> = page
            .socket
            .iter()
            .map(|b| b.load(Ordering::Relaxed))
            .collect();
        assert!(socket.starts_with(b"strobe-77\0"));
        agent.set_goal(Goal::Drained).unwrap();
        assert_eq!(page.gate_request.load(Ordering::Relaxed), 1);
        assert_eq!(agent.goal().unwrap(), Goal::Drained);
        agent.set_verdict(Verdict::Restored).unwrap();
        assert_eq!(agent.verdict().unwrap(), Some(Verdict::Restored));
    }

    #[test]
    fn reason_and_hand_over_are_read_and_bounded() {
        let page = page();
        let agent = at(&page).expect("a page with magic");
        page.phase.store(Phase::Refused as u32, Ordering::Relaxed);
        for (to, from) in page.reason.iter().zip(b"kernel spin does not end") {
            to.store(*from, Ordering::Relaxed);
        }
        page.reason_len.store(24, Ordering::Relaxed);
        page.controller_pid.store(77, Ordering::Relaxed);
        page.controller_start.store(1 << 40, Ordering::Relaxed);
        let snapshot = agent.snapshot().unwrap();
        assert_eq!(snapshot.phase, Some(Phase::Refused));
        let controller = (snapshot.controller.pid, snapshot.controller.start_time);
        assert_eq!(controller, (77, 1 << 40));
        assert_eq!(snapshot.reason, "kernel spin does not end");
        page.reason_len.store(u32::MAX, Ordering::Relaxed);
        assert_eq!(agent.snapshot().unwrap().reason.len(), 1024);

        let promise = HandOver {
            devices: vec![DeviceHandOver {
                target: "gfx906".into(),
                ..DeviceHandOver::default()
            }],
            ..HandOver::default()
        };
        let bytes = prost::Message::encode_to_vec(&promise);
        page.hand_over
            .store(bytes.as_ptr() as u64, Ordering::Relaxed);
        page.hand_over_len
            .store(bytes.len() as u64, Ordering::Relaxed);
        assert_eq!(agent.hand_over().unwrap(), promise);
        let room: Vec<AtomicU8> = (0..24).map(|_| AtomicU8::new(0)).collect();
        let place = ByteRange {
            start: room.as_ptr() as u64,
            len: 24,
        };
        let range = |len| AsideRange {
            extent: Some(ByteRange { start: 0x1000, len }),
            room_offset: 0x100,
        };
        let mut set_aside = SetAsideAnswer {
            ranges: vec![range(0x80)],
        };
        agent.answer(place, &set_aside).unwrap();
        let written: Vec<u8> = room
            .iter()
            .map(|byte| byte.load(Ordering::Relaxed))
            .collect();
        let (len, written) = written.split_first_chunk().expect("a length");
        let written = &written[..u64::from_le_bytes(*len) as usize];
        assert_eq!(prost::Message::decode(written), Ok(set_aside.clone()));
        set_aside.ranges.push(range(0x80));
        let error = agent.answer(place, &set_aside).unwrap_err();
        assert!(matches!(error, AgentError::Answer { .. }), "{error}");

        page.hand_over_len.store(u64::MAX, Ordering::Relaxed);
        assert!(matches!(
            agent.hand_over(),
            Err(AgentError::HandOver { .. })
        ));
        page.hand_over.store(8, Ordering::Relaxed);
        page.hand_over_len.store(8, Ordering::Relaxed);
        assert!(matches!(agent.hand_over(), Err(AgentError::Access { .. })));
    }

    #[test]
    fn a_wiped_page_and_another_version_are_no_agent() {
        let page = page();
        page.version.store(VERSION + 1, Ordering::Relaxed);
        assert!(matches!(at(&page), Err(AgentError::Version { .. })));
        page.magic.store(0, Ordering::Relaxed);
        assert!(matches!(at(&page), Err(AgentError::Forked(_))));
    }

    #[test]
    fn a_thread_is_no_process() {
        let found = std::thread::spawn(|| {
            let thread = nix::unistd::gettid().as_raw().cast_unsigned();
            (
                thread,
                RemoteAgent::find(thread).expect_err("it has no agent"),
            )
        });
        let (thread, error) = found.join().expect("it ends");
        let whose = format!("{thread} is a thread of process {}", std::process::id());
        assert!(error.to_string().starts_with(&whose), "{error}");
    }

    #[test]
    fn a_process_without_the_library_has_no_agent() {
        let pid = std::process::id();
        assert!(matches!(RemoteAgent::find(pid), Err(AgentError::NoAgent(p)) if p == pid));
        assert!(matches!(
            RemoteAgent::find(u32::MAX >> 1),
            Err(AgentError::Gone(_))
        ));
    }
}
