//! Which buffer objects of the program's processes are one memory.
//!
//! The driver gives content as dma-bufs, and that of one object always as the same one, whoever has it: amdgpu
//! keeps a dma-buf with its object, and a buffer object that was made by an import is of the object that was
//! imported. So two buffer objects are one memory if their dma-bufs are one inode.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use nix::sys::stat::fstat;
use strobe_extent::{Extent, ExtentSet};
use strobe_kfd::client::compute::Bo;
use strobe_kfd::criu::BoBucket;
use strobe_proto::{BufferName, HandOver, SharedBuffer, SharedBuffers};

use crate::gem::Held;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SharingError {
    #[error("the content of a buffer object cannot be told from that of others: {0}")]
    Inode(io::Error),
    #[error("the content of a buffer object cannot be kept open: {0}")]
    Open(io::Error),
    #[error(
        "the program has device memory that its processes share, or that is mapped by handles (HIP's virtual memory \
         management), which cannot be streamed; dump it without --stream"
    )]
    Streamed,
    #[error(
        "process {pid} has made a handle of its memory at {address:#x} (hipIpcGetMemHandle) that no process of \
         the program has open: it would name nothing after a restore"
    )]
    NotOpened { pid: u32, address: u64 },
    #[error(
        "process {pid} has opened memory at {address:#x} (hipIpcOpenMemHandle) that is of a process outside of \
         the program, or was freed by its owner"
    )]
    Foreign { pid: u32, address: u64 },
    #[error(
        "processes {pid} and {other} share device memory, at {address:#x} of {pid}, that is tracked: it was not \
         shared by hipIpcGetMemHandle; take the checkpoint with --mode stop"
    )]
    Tracked { pid: u32, other: u32, address: u64 },
    #[error(
        "process {pid} has buffer object {handle} of a render node that is tracked device memory, which it can write \
         unseen; take the checkpoint with --mode stop"
    )]
    Handle { pid: u32, handle: u32 },
}

/// The device and the inode of a dma-buf.
type Memory = (u64, u64);

/// A place in it.
type Place = (Memory, u64);

/// A buffer object, as it was found.
#[derive(Debug)]
struct Named {
    name: BufferName,
    pid: u32,
    /// Where it is found.
    addr: u64,
    size: u64,
    from: From,
    /// Whether its process's images are to hold the content, whoever has it besides.
    is_saved: bool,
    /// Whether its process's agent saves any of it while the program goes on, as memory that nobody else writes.
    is_tracked: bool,
}

/// By which driver a process has a buffer object.
#[derive(Debug)]
enum From {
    /// The compute driver, with these flags, at an address that may be none.
    Compute { alloc_flags: u32, addr: u64 },
    /// A file of a render node, by a handle.
    Handle {
        minor: u32,
        handle: u32,
        is_import: bool,
        /// That has an address space of its own.
        is_apart: bool,
    },
}

/// Those of the processes that were dumped so far.
#[derive(Debug, Default)]
pub(crate) struct Sharing {
    found: BTreeMap<Memory, Vec<Named>>,
    /// Without any left a dma-buf might go, and another get its inode.
    open: Vec<OwnedFd>,
}

impl Sharing {
    /// Adds those of a process, each with the address that it is `found` at; which of them are memory that an earlier one
    /// has named. `tracked`: what its agent saves; where there is none, its images hold the content of all.
    pub(crate) fn add(
        &mut self,
        (pid, file): (u32, i32),
        bos: &[Bo],
        found: &[BoBucket],
        tracked: Option<&ExtentSet>,
    ) -> Result<Vec<bool>, SharingError> {
        let saves_all = tracked.is_none();
        let mut known = vec![false; bos.len()];
        let all = bos.iter().zip(found).enumerate();
        for ((index, (bo, found)), known) in all.zip(&mut known) {
            let Some(content) = &bo.content else {
                continue;
            };
            let names = self.names(content)?;
            *known = !names.is_empty();
            let place = Extent::with_len(found.addr, found.size).ok();
            let place = place.filter(|_| found.addr != 0);
            let tracked = place.zip(tracked);
            names.push(Named {
                name: BufferName {
                    file,
                    bo_index: index as u32,
                },
                pid,
                addr: found.addr,
                size: found.size,
                from: From::Compute {
                    alloc_flags: bo.bucket.alloc_flags,
                    addr: bo.bucket.addr,
                },
                is_saved: saves_all || !*known,
                is_tracked: tracked.is_some_and(|(place, tracked)| tracked.overlaps(place)),
            });
            check_tracked(names)?;
        }
        Ok(known)
    }

    /// Adds those of the file of a render node; which of them are memory that was named before. The images hold the
    /// content of the others, and of all if `saves_all`.
    pub(crate) fn add_held(
        &mut self,
        (pid, file, minor): (u32, i32, u32),
        held: &[Held],
        is_apart: bool,
        saves_all: bool,
    ) -> Result<Vec<bool>, SharingError> {
        let mut all_known = Vec::new();
        for (index, Held { entry, content }) in held.iter().enumerate() {
            let names = self.names(content)?;
            let known = !names.is_empty();
            names.push(Named {
                name: BufferName {
                    file,
                    bo_index: index as u32,
                },
                pid,
                addr: entry.addr,
                size: entry.size,
                from: From::Handle {
                    minor,
                    handle: entry.handle,
                    is_import: entry.is_import != 0,
                    is_apart,
                },
                is_saved: saves_all || !known,
                is_tracked: false,
            });
            check_tracked(names)?;
            all_known.push(known);
        }
        Ok(all_known)
    }

    /// The names of the memory that a dma-buf is of.
    fn names(&mut self, content: &OwnedFd) -> Result<&mut Vec<Named>, SharingError> {
        let stat = fstat(content).map_err(|error| SharingError::Inode(error.into()))?;
        let names = self.found.entry((stat.st_dev, stat.st_ino)).or_default();
        if names.is_empty() {
            self.open
                .push(content.try_clone().map_err(SharingError::Open)?);
        }
        Ok(names)
    }

    /// Where the compute driver has mapped memory in a process, of which this is the content.
    pub(crate) fn of_the_driver(
        &mut self,
        pid: u32,
        content: &OwnedFd,
    ) -> Result<Vec<u64>, SharingError> {
        let names = self.names(content)?.iter();
        let own = names.filter(|named| named.pid == pid);
        let addresses = own.filter_map(|named| match named.from {
            From::Compute { addr, .. } => Some(addr),
            From::Handle { .. } => None,
        });
        Ok(addresses.collect())
    }

    /// Memory that was imported from what nobody has who was dumped so far: the minor number of a render node, and
    /// the handle there.
    pub(crate) fn unknown(&self) -> Option<(u32, u32)> {
        self.found.values().find_map(|names| {
            let mut imports = names.iter().map(|named| match named.from {
                From::Handle {
                    minor,
                    handle,
                    is_import: true,
                    ..
                } => Some((minor, handle)),
                _ => None,
            });
            let first = imports.next()??;
            imports.all(|import| import.is_some()).then_some(first)
        })
    }

    /// What a restore has to know; `None` where nothing is shared.
    pub(crate) fn image(&self) -> Option<SharedBuffers> {
        let shared = self.found.values().filter(|names| names.len() > 1);
        let buffers: Vec<SharedBuffer> = shared.map(|names| shared_buffer(names)).collect();
        (!buffers.is_empty()).then_some(SharedBuffers { buffers })
    }

    /// Compares what agents say that their processes have made handles of with what they have opened.
    pub(crate) fn check<'a>(
        &self,
        agents: impl Iterator<Item = (u32, &'a HandOver)> + Clone,
    ) -> Result<(), SharingError> {
        let places = |of: fn(&HandOver) -> &Vec<u64>| -> Vec<(u32, u64, Option<Place>)> {
            let each = agents.clone();
            each.flat_map(|(pid, said)| of(said).iter().map(move |address| (pid, *address)))
                .map(|(pid, address)| (pid, address, self.place(pid, address)))
                .collect()
        };
        let exported = places(|said| &said.exported);
        let opened = places(|said| &said.opened);
        let in_both = |place: Option<Place>, others: &[(u32, u64, Option<Place>)]| {
            place.is_some() && others.iter().any(|(.., other)| *other == place)
        };
        for &(pid, address, place) in &opened {
            if !in_both(place, &exported) {
                return Err(SharingError::Foreign { pid, address });
            }
        }
        for &(pid, address, place) in &exported {
            if !in_both(place, &opened) {
                return Err(SharingError::NotOpened { pid, address });
            }
        }
        Ok(())
    }

    /// Where an address of a process lies.
    fn place(&self, pid: u32, address: u64) -> Option<Place> {
        self.found.iter().find_map(|(memory, names)| {
            let here = names
                .iter()
                .find(|named| named.pid == pid && address.wrapping_sub(named.addr) < named.size)?;
            Some((*memory, address - here.addr))
        })
    }
}

/// What an agent saves while its process goes on, nobody else may write: another process, or its own by a handle. But
/// what the compute driver has no address of, the runtime has mapped by a handle, in the address space of all.
fn check_tracked(names: &[Named]) -> Result<(), SharingError> {
    let Some(one) = names.iter().find(|named| named.is_tracked) else {
        return Ok(());
    };
    let has_none = |named: &Named| matches!(named.from, From::Compute { addr: 0, .. });
    for other in names {
        match other.from {
            From::Handle {
                is_apart: false, ..
            } if has_none(one) && other.pid == one.pid => {}
            From::Handle { handle, .. } => {
                let pid = other.pid;
                return Err(SharingError::Handle { pid, handle });
            }
            From::Compute { .. } if other.pid != one.pid => {
                return Err(SharingError::Tracked {
                    pid: one.pid,
                    other: other.pid,
                    address: one.addr,
                });
            }
            From::Compute { .. } => {}
        }
    }
    Ok(())
}

/// What the compute driver has is made by it, and else by the first that has a handle. An import has lost flags of
/// the memory, so the one with the most is the one that was there first. Of
/// processes that each save all, the queues of the first ones stood still when the last one was saved, so that
/// is what the memory was when all had stopped.
fn shared_buffer(names: &[Named]) -> SharedBuffer {
    let most = |named: &&Named| match named.from {
        From::Compute { alloc_flags, .. } => 2 + alloc_flags.count_ones(),
        From::Handle { is_import, .. } => u32::from(!is_import),
    };
    // Where handles are equal, all wait for what was dumped, and comes back, before them: so nobody waits for ever.
    let first = names.iter().rev().max_by_key(most);
    let made_by = names
        .iter()
        .position(|named| first.is_some_and(|first| first.name == named.name));
    let content = names.iter().rposition(|named| named.is_saved);
    SharedBuffer {
        names: names.iter().map(|named| named.name).collect(),
        made_by: made_by.unwrap_or_default() as u32,
        content: content.unwrap_or_default() as u32,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;

    use strobe_kfd::memory::{EXECUTABLE, PUBLIC, VRAM, WRITABLE};
    use strobe_proto::amdgpu::DrmBoEntry;

    use super::*;

    const IMPORTED: u32 = VRAM | WRITABLE | EXECUTABLE;
    const MADE: u32 = IMPORTED | PUBLIC;

    /// A buffer object of 64 KiB whose content is a file.
    fn bo(content: Option<&Path>, addr: u64, alloc_flags: u32) -> Bo {
        Bo {
            bucket: BoBucket {
                addr,
                size: 0x1_0000,
                alloc_flags,
                ..BoBucket::default()
            },
            content: content.map(|path| File::open(path).expect("a file").into()),
        }
    }

    /// As the driver tells them.
    fn told(bos: &[Bo]) -> Vec<BoBucket> {
        bos.iter().map(|bo| bo.bucket).collect()
    }

    fn said(exported: &[u64], opened: &[u64]) -> HandOver {
        HandOver {
            exported: exported.to_vec(),
            opened: opened.to_vec(),
            ..HandOver::default()
        }
    }

    #[test]
    fn one_inode_is_one_memory() {
        let folder = tempfile::tempdir().expect("a folder");
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        for path in [&one, &other] {
            File::create(path).expect("a file");
        }
        let importer = [
            bo(None, 0x1000, 0),
            bo(Some(&one), 0x10_0000, IMPORTED),
            bo(Some(&other), 0x20_0000, MADE),
        ];
        let maker = [bo(Some(&one), 0x50_0000, MADE)];
        for tracked in [Some(&ExtentSet::default()), None] {
            let mut sharing = Sharing::default();
            let first = sharing
                .add((7, 11), &importer, &told(&importer), tracked)
                .expect("added");
            assert_eq!(first, [false; 3]);
            assert_eq!(sharing.image(), None);
            let second = sharing
                .add((8, 12), &maker, &told(&maker), tracked)
                .expect("added");
            assert_eq!(second, [true]);
            let name = |file, bo_index| BufferName { file, bo_index };
            let expected = SharedBuffer {
                names: vec![name(11, 1), name(12, 0)],
                made_by: 1,
                content: u32::from(tracked.is_none()),
            };
            let image = sharing.image().expect("something is shared");
            assert_eq!(image.buffers, [expected]);
        }
    }

    fn held(content: &Path, handle: u32, is_import: bool) -> Held {
        Held {
            entry: DrmBoEntry {
                size: 0x1_0000,
                handle,
                is_import: u32::from(is_import),
                ..DrmBoEntry::default()
            },
            content: File::open(content).expect("a file").into(),
        }
    }

    #[test]
    fn of_what_has_handles_the_compute_driver_makes_its_own_and_else_the_first_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let [drivers, other] = ["drivers", "other"].map(|name| folder.path().join(name));
        for path in [&drivers, &other] {
            File::create(path).expect("a file");
        }
        let untracked = ExtentSet::default();
        let mut sharing = Sharing::default();
        let first = [held(&other, 1, true)];
        let known = sharing.add_held((7, 11, 129), &first, true, false);
        assert_eq!(known.expect("added"), [false]);
        assert_eq!(sharing.unknown(), Some((129, 1)), "nobody has made it yet");
        let second = [held(&drivers, 4, false), held(&other, 6, false)];
        let known = sharing.add_held((7, 12, 128), &second, true, false);
        assert_eq!(known.expect("added"), [false, true]);
        let third = [held(&other, 1, false)];
        let known = sharing.add_held((8, 13, 128), &third, true, false);
        assert_eq!(known.expect("added"), [true]);
        let made = [bo(Some(&drivers), 0x10_0000, IMPORTED)];
        let known = sharing.add((8, 14), &made, &told(&made), Some(&untracked));
        assert_eq!(known.expect("added"), [true]);
        assert_eq!(sharing.unknown(), None);
        let name = |file, bo_index| BufferName { file, bo_index };
        let mut expected = [
            SharedBuffer {
                names: vec![name(11, 0), name(12, 1), name(13, 0)],
                made_by: 1,
                content: 0,
            },
            SharedBuffer {
                names: vec![name(12, 0), name(14, 0)],
                made_by: 1,
                content: 0,
            },
        ];
        let mut found = sharing.image().expect("something is shared").buffers;
        for buffers in [&mut expected[..], &mut found] {
            buffers.sort_by_key(|buffer| buffer.names.len());
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_tracked_has_no_handle_but_that_by_which_it_is_mapped() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("memory");
        File::create(&path).expect("a file");
        let here = Extent::with_len(0x10_8000, 0x1000).expect("an extent");
        let (untracked, tracked) = (ExtentSet::default(), ExtentSet::from(here));
        // By what address the driver has it, and whose handle there is where.
        for (tracked, addr, pid, is_apart, is_right) in [
            (&untracked, 0x10_0000, 7, true, true),
            (&tracked, 0x10_0000, 7, true, false),
            (&tracked, 0x10_0000, 7, false, false),
            (&tracked, 0, 7, false, true),
            (&tracked, 0, 7, true, false),
            (&tracked, 0, 8, false, false),
        ] {
            let mut sharing = Sharing::default();
            let bos = [bo(Some(&path), addr, MADE)];
            let mut found = told(&bos);
            found[0].addr = 0x10_0000;
            let added = sharing.add((7, 11), &bos, &found, Some(tracked));
            assert_eq!(added.expect("nobody else has it"), [false]);
            let drivers = sharing.of_the_driver(7, bos[0].content.as_ref().expect("a file"));
            assert_eq!(drivers.expect("an inode"), [addr]);
            let held = [held(&path, 3, false)];
            let added = sharing.add_held((pid, 12, 128), &held, is_apart, false);
            let is_named = matches!(added, Err(SharingError::Handle { handle: 3, .. }));
            assert_eq!(is_named, !is_right, "{added:?}");
        }
    }

    #[test]
    fn what_is_tracked_is_of_one_process() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("memory");
        File::create(&path).expect("a file");
        let here = Extent::with_len(0x10_8000, 0x1000).expect("an extent");
        let [tracked, nothing] = [ExtentSet::from(here), ExtentSet::default()];
        for (first, second, is_right) in [
            (Some(&nothing), Some(&nothing), true),
            (None, Some(&nothing), true),
            (Some(&tracked), Some(&nothing), false),
            (Some(&tracked), None, false),
            (None, Some(&tracked), false),
        ] {
            let mut sharing = Sharing::default();
            let mut add = |id, tracked| {
                let bos = [bo(Some(&path), 0x10_0000, MADE)];
                sharing.add(id, &bos, &told(&bos), tracked)
            };
            add((7, 11), first).expect("one process alone");
            let added = add((8, 12), second);
            let refused = matches!(added, Err(SharingError::Tracked { .. }));
            assert_eq!(refused, !is_right, "{added:?}");
        }
    }

    #[test]
    fn a_handle_has_both_its_ends_in_the_program() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("memory");
        File::create(&path).expect("a file");
        let mut sharing = Sharing::default();
        let add = |sharing: &mut Sharing, id: (u32, i32), addr| {
            let bos = [bo(Some(&path), addr, MADE)];
            let untracked = ExtentSet::default();
            sharing
                .add(id, &bos, &told(&bos), Some(&untracked))
                .expect("added");
        };
        add(&mut sharing, (7, 11), 0x10_0000);
        add(&mut sharing, (8, 12), 0x50_0000);
        let check = |maker: &HandOver, opener: &HandOver| {
            sharing.check([(7, maker), (8, opener)].into_iter())
        };
        let made = said(&[0x10_2000], &[]);
        assert!(check(&made, &said(&[], &[0x50_2000])).is_ok());
        assert!(check(&said(&[], &[]), &said(&[], &[])).is_ok());
        for opened in [&[][..], &[0x50_3000]] {
            let error = check(&made, &said(&[], opened)).expect_err("not opened");
            let is_named = match error {
                SharingError::NotOpened { pid, address } => (pid, address) == (7, 0x10_2000),
                SharingError::Foreign { pid, address } => (pid, address) == (8, 0x50_3000),
                _ => false,
            };
            assert!(is_named, "{error}");
        }
        let error = check(&said(&[], &[]), &said(&[], &[0x50_2000])).expect_err("foreign");
        assert!(matches!(error, SharingError::Foreign { pid: 8, .. }));
    }
}
