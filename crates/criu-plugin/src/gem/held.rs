//! What a program holds by handles, on its way into images.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use strobe_kfd::client::copier::{Content, Copier, Piece, SdmaError};
use strobe_kfd::client::gem;
use strobe_kfd::client::render::RenderNode;
use strobe_kfd::render::gem::{
    DOMAIN_CPU, DOMAIN_GTT, DOMAIN_VRAM, LIST_IS_IMPORT, ListEntry, VmEntry,
};
use strobe_program::clock::now_ns;
use strobe_proto::amdgpu::{DrmBoEntry, DrmVmEntry};
use strobe_proto::files;

use super::HEAD_BYTES;
use crate::devices;
use crate::images::{ImageError, Images};

/// How long work may take that was submitted with a buffer object. The program is frozen meanwhile.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub(crate) enum HeldError {
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Sdma(#[from] SdmaError),
    #[error("render node {path} cannot be opened: {error}")]
    RenderNode { path: PathBuf, error: io::Error },
    #[error(
        "the GPU driver cannot be asked for buffer object {handle} of /dev/dri/renderD{minor}: {error}"
    )]
    Ask {
        handle: u32,
        minor: u32,
        error: io::Error,
    },
    #[error(
        "buffer object {handle} of /dev/dri/renderD{minor} is the program's own memory (userptr) or bound to its \
         address space (VM_ALWAYS_VALID), which cannot be saved; close it before the checkpoint"
    )]
    NotExported { handle: u32, minor: u32 },
    #[error(
        "buffer object {handle} of /dev/dri/renderD{minor} is no memory (domains {domains:#x}), which cannot be \
         saved; close it before the checkpoint"
    )]
    Domains {
        handle: u32,
        minor: u32,
        domains: u64,
    },
    #[error(
        "the GPU works on buffer object {handle} of /dev/dri/renderD{minor} for longer than {} s; take the \
         checkpoint when it is done", PATIENCE.as_secs()
    )]
    Busy { handle: u32, minor: u32 },
    #[error(
        "buffer object {handle} of /dev/dri/renderD{minor} is memory of another device or of a process outside of \
         the program, which cannot be saved; close it before the checkpoint"
    )]
    Foreign { handle: u32, minor: u32 },
    #[error(
        "the program has buffer objects of its own at /dev/dri/renderD{0}, which cannot be streamed; dump it \
         without --stream"
    )]
    Streamed(u32),
}

/// A buffer object that a program holds by a handle.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) entry: DrmBoEntry,
    /// The dma-buf of its content.
    pub(crate) content: OwnedFd,
}

/// Finds out about those of a file of a render node, and waits until nothing works on them any more.
pub(crate) fn look(
    file: BorrowedFd<'_>,
    minor: u32,
    handles: Vec<ListEntry>,
) -> Result<Vec<Held>, HeldError> {
    let deadline = now_ns() + PATIENCE.as_nanos() as u64;
    let look = |listed: ListEntry| held(file, minor, listed, deadline);
    handles.into_iter().map(look).collect()
}

fn held(
    file: BorrowedFd<'_>,
    minor: u32,
    listed: ListEntry,
    deadline: u64,
) -> Result<Held, HeldError> {
    let handle = listed.handle;
    let ask = |error| HeldError::Ask {
        handle,
        minor,
        error,
    };
    let domains = listed.preferred_domains;
    // Imported ones may have been made without any.
    if domains & !(DOMAIN_CPU | DOMAIN_GTT | DOMAIN_VRAM) != 0 {
        return Err(HeldError::Domains {
            handle,
            minor,
            domains,
        });
    }
    let content = gem::export(file, handle).map_err(ask)?;
    let content = content.ok_or(HeldError::NotExported { handle, minor })?;
    if !gem::is_idle(file, handle, deadline).map_err(ask)? {
        return Err(HeldError::Busy { handle, minor });
    }
    let vm_entries = gem::mappings(file, handle).map_err(ask)?;
    let vm_entries: Vec<DrmVmEntry> = vm_entries.into_iter().map(vm_entry).collect();
    let entry = DrmBoEntry {
        addr: vm_entries.first().map_or(0, |entry| entry.addr),
        size: listed.size,
        offset: gem::mmap_offset(file, handle).map_err(ask)?.unwrap_or(0),
        alloc_flags: listed.alloc_flags,
        alignment: listed.alignment,
        preferred_domains: domains as u32,
        handle,
        is_import: u32::from(listed.flags & LIST_IS_IMPORT != 0),
        num_of_vms: vm_entries.len() as u32,
        vm_entries,
    };
    Ok(Held { entry, content })
}

fn vm_entry(entry: VmEntry) -> DrmVmEntry {
    DrmVmEntry {
        addr: entry.addr,
        size: entry.size,
        offset: entry.offset,
        flags: entry.flags,
    }
}

/// Writes the content of those that are `wanted`, each into an image of its own, through `staging` bytes of memory.
pub(crate) fn save(
    images: &Images,
    (id, minor): (i32, u32),
    held: &[Held],
    wanted: &[bool],
    staging: u64,
) -> Result<u64, HeldError> {
    let path = devices::render_path(minor);
    let node = RenderNode::open(&path).map_err(|error| HeldError::RenderNode { path, error })?;
    let mut copier = Copier::new(&node, staging)?;
    let contents: Vec<_> = held.iter().map(content).collect();
    let mut saved = 0;
    for (index, _) in wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
        let size = held[index].entry.size;
        let mut image = images.create(&files::handle_pages(id, minor, index))?;
        image.write_at(&size.to_le_bytes(), 0)?;
        let piece = Piece {
            bo: index,
            offset: 0,
            len: size,
            place: (),
        };
        copier.copy_out(&contents, &[piece], |_, offset, bytes| {
            let written = image.write_at(bytes, HEAD_BYTES + offset);
            written.map_err(HeldError::from)
        })?;
        saved += size;
    }
    Ok(saved)
}

fn content(held: &Held) -> Option<Content<'_>> {
    Some(Content {
        dmabuf: held.content.as_fd(),
        size: held.entry.size,
    })
}
