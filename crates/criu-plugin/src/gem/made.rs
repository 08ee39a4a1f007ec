//! Buffer objects that a program held by handles, on their way back.
//!
//! The driver gives the lowest handle that is free. So those below a wanted one are taken by small buffer objects,
//! which are closed in the end (`DRM_IOCTL_GEM_CHANGE_HANDLE` is one that newer kernels refuse to everybody). What is
//! made here is made first, and told to those who wait for it, before anything is waited for.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use strobe_kfd::client::copier::{Content, Copier, Piece, SdmaError};
use strobe_kfd::client::gem;
use strobe_kfd::client::render::RenderNode;
use strobe_kfd::render::gem::{Create, DOMAIN_GTT, VmEntry};
use strobe_proto::amdgpu::{CriuRenderNode, DrmBoEntry};
use strobe_proto::{files, frame};

use super::HEAD_BYTES;
use crate::exchange::{ExchangeError, Origin};
use crate::images::{ImageError, Images};

/// The highest handle that is brought back: it comes from an image, and all below are made.
const MOST_HANDLES: u32 = 1 << 16;
const PAGE: u64 = 4096;

#[derive(Debug, thiserror::Error)]
pub(crate) enum MadeError {
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Sdma(#[from] SdmaError),
    #[error("image {name} has {found} bytes of content, the buffer object {size}")]
    Length { name: String, found: u64, size: u64 },
    #[error("image {0} is missing")]
    Missing(String),
    #[error("buffer object {handle} of the program's own: the driver {what}: {error}")]
    Driver {
        handle: u32,
        what: &'static str,
        error: io::Error,
    },
    #[error("buffer object {wanted} of the program's own was given handle {given} by the driver")]
    Handle { wanted: u32, given: u32 },
    #[error(
        "the image of a render node names handle {0}, which is none, too high (more than {MOST_HANDLES}) or not in \
         ascending order"
    )]
    Order(u32),
    #[error(
        "buffer object {0} was imported from another process's memory, and the images do not say of which: they are \
         of CRIU's own plugin, and only that brings it back"
    )]
    Unknown(u32),
    #[error("buffer objects of render nodes are not read from streamed images")]
    Streamed,
}

/// Buffer objects of a file of a render node, in the order of its image.
#[derive(Debug, Default)]
pub(crate) struct Made {
    pub(crate) contents: Vec<OwnedFd>,
    /// The new mmap offsets, of those that the CPU may map.
    pub(crate) offsets: Vec<Option<u64>>,
}

/// Makes those of `image` in `file`, which has none of their handles, with their handles, and maps them in its address
/// space. `gpu` is the id that the program knows the file's GPU by, and that of the one here.
pub(crate) fn make(
    file: BorrowedFd<'_>,
    image: &CriuRenderNode,
    origins: &[Origin<'_>],
    gpu: (u32, u32),
) -> Result<Made, MadeError> {
    let mut numbers = Numbers {
        file,
        last: 0,
        taken: Vec::new(),
    };
    // After an error the file goes, and with it all handles.
    let made = in_numbers(&mut numbers, image, origins, gpu)?;
    numbers.free()?;
    Ok(made)
}

fn in_numbers(
    numbers: &mut Numbers<'_>,
    image: &CriuRenderNode,
    origins: &[Origin<'_>],
    gpu: (u32, u32),
) -> Result<Made, MadeError> {
    let file = numbers.file;
    let entries = image.bo_entries.iter().zip(origins);
    for (entry, origin) in entries.clone() {
        let handle = entry.handle;
        if handle <= numbers.last || handle > MOST_HANDLES {
            return Err(MadeError::Order(handle));
        }
        numbers.reach(handle)?;
        if let Origin::Import(_) = origin {
            numbers.take(handle)?;
            continue;
        }
        if entry.is_import != 0 {
            return Err(MadeError::Unknown(handle));
        }
        numbers.create(handle, of(entry))?;
        if let Origin::First(place) = origin {
            let offset = mmap_offset(file, handle)?.unwrap_or(0);
            place.publish(export(file, handle)?.as_fd(), offset, gpu)?;
        }
    }
    let imports = entries.clone().filter_map(|(entry, origin)| match origin {
        Origin::Import(place) => Some((entry, place)),
        _ => None,
    });
    for (entry, place) in imports {
        let dmabuf = place.wait(entry.addr, gpu)?;
        numbers.import(entry.handle, dmabuf.as_fd())?;
    }
    let mut made = Made::default();
    for entry in &image.bo_entries {
        let handle = entry.handle;
        made.contents.push(export(file, handle)?);
        made.offsets.push(mmap_offset(file, handle)?);
        for place in &entry.vm_entries {
            let place = VmEntry {
                addr: place.addr,
                size: place.size,
                offset: place.offset,
                flags: place.flags,
            };
            let mapped = gem::map(file, handle, place);
            mapped.map_err(driver(handle, "does not map it where it was"))?;
        }
    }
    Ok(made)
}

fn driver(handle: u32, what: &'static str) -> impl Fn(io::Error) -> MadeError {
    move |error| MadeError::Driver {
        handle,
        what,
        error,
    }
}

fn export(file: BorrowedFd<'_>, handle: u32) -> Result<OwnedFd, MadeError> {
    let failed = driver(handle, "does not give its content");
    let content = gem::export(file, handle).map_err(&failed)?;
    content.ok_or_else(|| failed(io::ErrorKind::PermissionDenied.into()))
}

fn mmap_offset(file: BorrowedFd<'_>, handle: u32) -> Result<Option<u64>, MadeError> {
    let offset = gem::mmap_offset(file, handle);
    offset.map_err(driver(handle, "does not say where it is mapped from"))
}

fn of(entry: &DrmBoEntry) -> Create {
    Create {
        bo_size: entry.size,
        alignment: entry.alignment,
        domains: u64::from(entry.preferred_domains),
        domain_flags: entry.alloc_flags,
    }
}

/// The handles of a file: all up to the last are in use.
struct Numbers<'f> {
    file: BorrowedFd<'f>,
    last: u32,
    /// Those of no buffer object of the program.
    taken: Vec<u32>,
}

impl Numbers<'_> {
    /// Takes all handles below this one.
    fn reach(&mut self, handle: u32) -> Result<(), MadeError> {
        while self.last + 1 < handle {
            self.take(self.last + 1)?;
        }
        Ok(())
    }

    fn take(&mut self, handle: u32) -> Result<(), MadeError> {
        let little = Create {
            bo_size: PAGE,
            alignment: PAGE,
            domains: DOMAIN_GTT,
            ..Create::default()
        };
        self.create(handle, little)?;
        self.taken.push(handle);
        Ok(())
    }

    fn create(&mut self, handle: u32, what: Create) -> Result<(), MadeError> {
        let given = gem::create(self.file, what).map_err(driver(handle, "does not make it"))?;
        self.last = handle;
        is(handle, given)
    }

    /// In a place that was taken for it.
    fn import(&mut self, handle: u32, dmabuf: BorrowedFd<'_>) -> Result<(), MadeError> {
        self.taken.retain(|taken| *taken != handle);
        let closed = gem::close(self.file, handle);
        closed.map_err(driver(handle, "does not free its handle"))?;
        let given = gem::import(self.file, dmabuf);
        is(handle, given.map_err(driver(handle, "does not import it"))?)
    }

    fn free(self) -> Result<(), MadeError> {
        let mut taken = self.taken.into_iter();
        taken.try_for_each(|handle| {
            let closed = gem::close(self.file, handle);
            closed.map_err(driver(handle, "does not free its handle"))
        })
    }
}

fn is(wanted: u32, given: u32) -> Result<(), MadeError> {
    match given == wanted {
        true => Ok(()),
        false => Err(MadeError::Handle { wanted, given }),
    }
}

/// Fills them from their images, but those that are filled `elsewhere`, through `staging` bytes of memory. `node` is
/// one of the GPU for this alone.
pub(crate) fn fill(
    images: &Images,
    (id, image): (i32, &CriuRenderNode),
    made: &Made,
    elsewhere: &BTreeSet<usize>,
    node: &RenderNode,
    staging: u64,
) -> Result<(), MadeError> {
    let minor = image.drm_render_minor();
    let mut copier = Copier::new(node, staging)?;
    let entries = || image.bo_entries.iter().zip(&made.contents);
    let contents = entries().map(|(entry, dmabuf)| {
        let dmabuf = dmabuf.as_fd();
        let size = entry.size;
        Some(Content { dmabuf, size })
    });
    let contents: Vec<_> = contents.collect();
    for (bo, entry) in image.bo_entries.iter().enumerate() {
        if elsewhere.contains(&bo) {
            continue;
        }
        let name = files::handle_pages(id, minor, bo);
        let Some(pages) = images.open(&name)? else {
            return Err(MadeError::Missing(name));
        };
        let found = frame::read_image_len(&mut pages.next()).map_err(|e| pages.error(e))?;
        if found != entry.size {
            let size = entry.size;
            return Err(MadeError::Length { name, found, size });
        }
        let piece = Piece {
            bo,
            offset: 0,
            len: entry.size,
            place: (),
        };
        copier.copy_in(&contents, &[piece], |_, offset, bytes| {
            let read = pages.read_at(bytes, HEAD_BYTES + offset);
            read.map_err(MadeError::from)
        })?;
    }
    Ok(())
}
