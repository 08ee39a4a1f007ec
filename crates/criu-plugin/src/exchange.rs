//! Memory that processes share, on its way from the one that makes it to those that import it.
//!
//! Each process of a restore is CRIU in the place of one of the program's. What they tell one another stands in
//! memory that CRIU's main process maps before it makes any of them; dma-bufs go through CRIU's own store of
//! descriptors. Whoever makes memory publishes all of it before it waits for anything, so that in no ring does
//! everybody wait.

use std::collections::BTreeSet;
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous};
use strobe_kfd::client::compute::{self, Bo};
use strobe_kfd::criu::{BoBucket, DeviceBucket, PrivateBo, with_bos};
use strobe_proto::amdgpu::CriuKfd;
use strobe_proto::{SharedBuffer, SharedBuffers, files};

use crate::host;
use crate::images::{ImageError, Images};

/// How long a process may take to bring back what it makes. It copies no content before that.
const PATIENCE: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(1);
/// More than the driver has numbers for.
const MOST_BUFFERS: usize = 16 << 20;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ExchangeError {
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error("image {} makes no sense", files::SHARED_BUFFERS)]
    Nonsense,
    #[error("memory that the processes of the restore share cannot be mapped: {0}")]
    Map(io::Error),
    #[error("CRIU does not hand a descriptor from one process to another: {0}")]
    Store(io::Error),
    #[error("the GPU driver does not restore the program's state: {0}")]
    State(io::Error),
    #[error("shared memory at {0:#x} was not brought back in time by the process that has it")]
    Late(u64),
    #[error(
        "shared memory at {addr:#x} is on GPU {there:#x}, and the process that opened it was given GPU {here:#x}"
    )]
    OtherGpu { addr: u64, here: u32, there: u32 },
    #[error("the GPU driver does not import shared memory at {addr:#x}: {error}")]
    Import { addr: u64, error: io::Error },
}

/// Where a memory is found, once `published` is set.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Place {
    offset: AtomicU64,
    /// The number of its dma-buf in CRIU's store.
    descriptor: AtomicI32,
    /// The ids of its GPU: the program's, and the one here.
    known_as: AtomicU32,
    gpu: AtomicU32,
    published: AtomicU32,
}

/// What the processes of a restore tell one another.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    buffers: Vec<SharedBuffer>,
    /// One for each; mapped by all processes, for as long as they are CRIU.
    places: &'static [Place],
}

/// How a buffer object comes back that is held by a handle.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin<'a> {
    /// Nobody else has it.
    Alone,
    /// The others wait for it here.
    First(&'a Place),
    /// It is found here.
    Import(&'a Place),
}

/// A buffer object of one process that is shared.
#[derive(Clone, Copy, Debug)]
struct Part<'a> {
    bo: usize,
    place: &'a Place,
    is_made_here: bool,
}

impl Exchange {
    /// In CRIU's main process, before it makes any other.
    pub(crate) fn prepare(images: &Images) -> Result<Self, ExchangeError> {
        let buffers = read(images)?;
        let places = map(buffers.len())?;
        Ok(Self { buffers, places })
    }

    /// How each of the `count` buffer objects of the file of a render node with this number comes back.
    pub(crate) fn origins(
        &self,
        file: i32,
        count: usize,
    ) -> Result<Vec<Origin<'_>>, ExchangeError> {
        let mut origins = vec![Origin::Alone; count];
        for part in self.parts(file) {
            let origin = origins.get_mut(part.bo).ok_or(ExchangeError::Nonsense)?;
            *origin = match part.is_made_here {
                true => Origin::First(part.place),
                false => Origin::Import(part.place),
            };
        }
        Ok(origins)
    }

    /// Those of the file with this number.
    fn parts(&self, file: i32) -> Vec<Part<'_>> {
        let all = self.buffers.iter().zip(self.places);
        let parts = all.flat_map(|(buffer, place)| {
            let names = buffer.names.iter().enumerate();
            let own = names.filter(move |(_, name)| name.file == file);
            own.map(move |(index, name)| Part {
                bo: name.bo_index as usize,
                place,
                is_made_here: index == buffer.made_by as usize,
            })
        });
        parts.collect()
    }

    /// Restores a process's state in the driver. Of shared memory only what is made by it comes back by the
    /// driver's own way; the rest is imported.
    pub(crate) fn restore(
        &self,
        kfd: BorrowedFd<'_>,
        file: i32,
        image: &CriuKfd,
        devices: &mut [DeviceBucket],
        buckets: Vec<BoBucket>,
    ) -> Result<Vec<Bo>, ExchangeError> {
        let mut parts = self.parts(file);
        let mut keeps = vec![true; buckets.len()];
        for part in &parts {
            *keeps.get_mut(part.bo).ok_or(ExchangeError::Nonsense)? = part.is_made_here;
        }
        let mut private =
            with_bos(&image.priv_data, devices.len(), &keeps).ok_or(ExchangeError::Nonsense)?;
        let kept = buckets.iter().zip(&keeps).filter(|(_, keep)| **keep);
        let kept = kept.map(|(bucket, _)| *bucket).collect();
        let objects = image.num_of_objects;
        let restored = compute::restore(kfd, devices, kept, &mut private, objects)
            .map_err(ExchangeError::State)?;
        let mut restored = restored.into_iter();
        let mut bos: Vec<Bo> = Vec::with_capacity(buckets.len());
        for (bucket, keep) in buckets.into_iter().zip(keeps) {
            bos.push(match keep {
                true => restored.next().ok_or(ExchangeError::Nonsense)?,
                false => Bo {
                    bucket,
                    content: None,
                },
            });
        }
        for part in parts.iter().filter(|part| part.is_made_here) {
            let Bo { bucket, content } = &bos[part.bo];
            let content = content.as_ref().ok_or(ExchangeError::Nonsense)?;
            let gpu = (bucket.gpu_id, gpu_of(devices, bucket)?);
            part.place
                .publish(content.as_fd(), bucket.restored_offset, gpu)?;
        }
        let private = |bo: usize| {
            let private = PrivateBo::of(&image.priv_data, devices.len(), bo);
            private.ok_or(ExchangeError::Nonsense)
        };
        // The driver gives numbers from the lowest on.
        let number = |part: &Part<'_>| private(part.bo).map_or(0, |private| private.index);
        parts.sort_by_key(number);
        for part in parts.iter().filter(|part| !part.is_made_here) {
            import(
                kfd,
                part.place,
                &mut bos[part.bo],
                &private(part.bo)?,
                devices,
            )?;
        }
        Ok(bos)
    }
}

fn read(images: &Images) -> Result<Vec<SharedBuffer>, ExchangeError> {
    // None was ever streamed, and what is streamed cannot be asked for twice.
    if images.is_stream() {
        return Ok(Vec::new());
    }
    let shared: Option<SharedBuffers> = images.read(files::SHARED_BUFFERS)?;
    let buffers = shared.unwrap_or_default().buffers;
    let is_sound = |buffer: &SharedBuffer| {
        let names = buffer.names.len();
        (buffer.made_by as usize) < names && (buffer.content as usize) < names
    };
    match buffers.len() <= MOST_BUFFERS && buffers.iter().all(is_sound) {
        true => Ok(buffers),
        false => Err(ExchangeError::Nonsense),
    }
}

/// The buffer objects of a process whose content is in the images of another one.
pub(crate) fn filled_elsewhere(
    images: &Images,
    file: i32,
) -> Result<BTreeSet<usize>, ExchangeError> {
    let buffers = read(images)?;
    let names = buffers.iter().flat_map(|buffer| {
        let names = buffer.names.iter().enumerate();
        names.filter(|(index, _)| *index != buffer.content as usize)
    });
    let own = names.filter(|(_, name)| name.file == file);
    Ok(own.map(|(_, name)| name.bo_index as usize).collect())
}

fn map(count: usize) -> Result<&'static [Place], ExchangeError> {
    let Some(bytes) = NonZeroUsize::new(count * size_of::<Place>()) else {
        return Ok(&[]);
    };
    let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: a new mapping, at no chosen address.
    let memory = unsafe { mmap_anonymous(None, bytes, access, MapFlags::MAP_SHARED) };
    let memory = memory.map_err(|error| ExchangeError::Map(error.into()))?;
    // SAFETY: so many bytes, page-aligned and zero, which is a value of atomics; nobody unmaps them while
    // this code runs.
    Ok(unsafe { std::slice::from_raw_parts(memory.as_ptr().cast(), count) })
}

fn gpu_of(devices: &[DeviceBucket], bo: &BoBucket) -> Result<u32, ExchangeError> {
    let device = devices
        .iter()
        .find(|device| device.user_gpu_id == bo.gpu_id);
    Ok(device.ok_or(ExchangeError::Nonsense)?.actual_gpu_id)
}

impl Place {
    /// Tells the others where the memory is; `gpu` is the id that the program knows its GPU by, and that of the one
    /// here.
    pub(crate) fn publish(
        &self,
        content: BorrowedFd<'_>,
        offset: u64,
        (known_as, gpu): (u32, u32),
    ) -> Result<(), ExchangeError> {
        let number = host::store_descriptor(content).map_err(ExchangeError::Store)?;
        self.descriptor.store(number, Ordering::Relaxed);
        self.gpu.store(gpu, Ordering::Relaxed);
        self.known_as.store(known_as, Ordering::Relaxed);
        self.offset.store(offset, Ordering::Relaxed);
        self.published.store(1, Ordering::Release);
        Ok(())
    }

    /// The dma-buf of the memory, for who has it on this GPU. Should its maker fail, CRIU ends all of the restore,
    /// this process too.
    pub(crate) fn wait(
        &self,
        addr: u64,
        (known_as, here): (u32, u32),
    ) -> Result<OwnedFd, ExchangeError> {
        let started = Instant::now();
        while self.published.load(Ordering::Acquire) == 0 {
            if started.elapsed() > PATIENCE {
                return Err(ExchangeError::Late(addr));
            }
            thread::sleep(POLL);
        }
        let there = self.gpu.load(Ordering::Relaxed);
        if self.known_as.load(Ordering::Relaxed) == known_as && here != there {
            return Err(ExchangeError::OtherGpu { addr, here, there });
        }
        let number = self.descriptor.load(Ordering::Relaxed);
        host::stored_descriptor(number).map_err(ExchangeError::Store)
    }
}

fn import(
    kfd: BorrowedFd<'_>,
    place: &Place,
    bo: &mut Bo,
    private: &PrivateBo,
    devices: &[DeviceBucket],
) -> Result<(), ExchangeError> {
    let BoBucket { addr, gpu_id, .. } = bo.bucket;
    let dmabuf = place.wait(addr, (gpu_id, gpu_of(devices, &bo.bucket)?))?;
    let mapped = private.mapped_gpu_ids.iter().position(|id| *id == 0);
    let mapped = &private.mapped_gpu_ids[..mapped.unwrap_or(private.mapped_gpu_ids.len())];
    let imported = compute::import(kfd, dmabuf.as_fd(), (gpu_id, addr), private.index);
    imported
        .and_then(|handle| match mapped {
            [] => Ok(()),
            mapped => compute::map(kfd, handle, mapped),
        })
        .map_err(|error| ExchangeError::Import { addr, error })?;
    bo.bucket.restored_offset = place.offset.load(Ordering::Relaxed);
    bo.content = Some(dmabuf);
    Ok(())
}
