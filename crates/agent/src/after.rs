//! What is learned when a call has come back.

use crate::agent::{REGISTRATIONS, agent, existing};
use crate::call::{After, Outcome};
use crate::gate::thread_id;
use crate::kernel::Kernel;
use crate::observed::{Observed, RawStream};
use crate::reach;
use crate::tables::LONGEST_TABLE;
use std::ffi::CStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use strobe_extent::Extent;
use strobe_hip::{ConstPtr, Ptr};

/// Does what [`After`] says. The places in it are the program's, which HIP has just filled in.
pub(crate) fn apply(after: After, result: &impl Outcome) {
    let succeeded = result.succeeded();
    match after {
        After::Nothing => {}
        After::Freed { start, len } => {
            if !succeeded && let Ok(extent) = Extent::with_len(start, len) {
                allocated(extent);
            }
        }
        After::EndedCapture { stream } => {
            if let Some(agent) = existing() {
                agent.captures.ended(stream, result.status());
            }
        }
        _ if !succeeded => {}
        After::Allocated { place, bytes } => {
            // SAFETY: HIP has succeeded, so it has filled in the place.
            allocated_at(unsafe { place.read() }, bytes);
        }
        After::AllocatedPitch { place, pitch, rows } => {
            // SAFETY: as above, both places.
            let (address, pitch) = unsafe { (place.read(), pitch.read()) };
            allocated_at(address, pitch.saturating_mul(rows));
        }
        After::AllocatedPitched { place, rows } => {
            // SAFETY: as above.
            let pitched = unsafe { place.read() };
            allocated_at(pitched.ptr, pitched.pitch.saturating_mul(rows));
        }
        After::Copied { to, from, bytes } => copied(to, from, bytes),
        After::Synchronised { number, stream } => {
            if let Some(agent) = existing() {
                agent.observe(&Observed::Synchronised { number, stream }, None);
            }
        }
        After::LoadedImage { place, image } => {
            if let Some(agent) = existing() {
                // SAFETY: HIP has filled in the place; the program keeps the image until the call
                // of the wrapper returns.
                unsafe { agent.modules.load_image(place.read().0, image.cast()) };
            }
        }
        After::LoadedFile { place, path } => {
            if let Some(agent) = existing() {
                // SAFETY: HIP has read the path and filled in the place.
                let (module, path) = unsafe { (place.read(), CStr::from_ptr(path)) };
                let path = std::ffi::OsStr::from_bytes(path.to_bytes());
                agent.modules.load_file(module.0, Path::new(path));
            }
        }
        After::FoundFunction {
            place,
            module,
            name,
        } => {
            if let Some(agent) = existing() {
                // SAFETY: HIP has read the name and filled in the place.
                let (handle, name) = unsafe { (place.read(), CStr::from_ptr(name)) };
                let kernel: &'static Kernel = agent.modules.kernel(module.0, name);
                crate::agent::KERNELS.insert(handle.0, kernel);
                agent.modules.add_handle(module.0, handle.0);
            }
        }
        After::FatBinary { image } => REGISTRATIONS.fat_binary(result.handle(), image),
        After::BeganCapture { stream } => {
            if let Some(agent) = existing() {
                agent.captures.began(stream, thread_id());
            }
        }
        After::CreatedStream { place } => {
            if let Some(agent) = existing() {
                // SAFETY: HIP has filled in the place.
                let stream = unsafe { place.read() };
                agent.streams.write().push(stream.0);
                let stream = RawStream(stream.0 as u64);
                agent.observe(&Observed::CreateStream { stream }, None);
            }
        }
        After::Reset => {
            if let Some(agent) = existing() {
                agent.registry.clear();
                agent.streams.write().clear();
                agent.captures.clear();
                if let Some(resources) = agent.control.spare.lock().as_mut() {
                    resources.device_was_reset();
                }
                agent.observe(&Observed::Reset, None);
            }
        }
    }
}

fn allocated_at(address: Ptr, bytes: usize) {
    if let Ok(extent) = Extent::with_len(address as u64, bytes as u64) {
        allocated(extent);
    }
}

fn allocated(extent: Extent) {
    if let Some(agent) = agent() {
        agent.registry.insert(extent);
        let observed = Observed::Allocate {
            start: extent.start(),
            len: extent.len(),
        };
        agent.observe(&observed, None);
    }
}

/// A synchronous copy is over: what is in the source is in the destination. The source is read
/// through the kernel, because it may be device memory that the CPU cannot see.
fn copied(to: u64, from: ConstPtr, bytes: usize) {
    if bytes as u64 > LONGEST_TABLE {
        return;
    }
    // Not on the stack, which may be as small as 16 KiB.
    let mut content = vec![0; bytes];
    if reach::read(from.addr() as u64, &mut content)
        && let Some(agent) = existing()
    {
        let observed = Observed::Content {
            address: to,
            mapped: reach::is_mapped(to),
            bytes: &content,
        };
        agent.observe(&observed, None);
    }
}
