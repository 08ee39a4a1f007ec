//! The GPU that the program uses, as the HSA runtime has it.

use crate::descriptor::out_of_the_way;
use crate::device::hsa::{Hsa, HsaError, Pool, Processor, check};
use std::ffi::{c_int, c_void};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use strobe_kfd::memory::AvailableMemory;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Gpu {
    pub(crate) hsa: &'static Hsa,
    pub(crate) processor: Processor,
    /// The instruction set, as `gfx906`.
    pub(crate) target: String,
    /// What the driver calls it (`gpu_id`).
    pub(crate) driver_id: u32,
    /// Memory of the GPU.
    pub(crate) device_pool: Pool,
    /// Memory of the host that both sides see at once.
    pub(crate) host_pool: Pool,
}

/// Where a GPU is on the bus: domain, and bus, device and function as the runtime packs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    domain: u32,
    bus: u32,
}

/// `hsa_agent_info_t`.
const AGENT_NAME: u32 = 0;
const AGENT_DEVICE: u32 = 17;
const AGENT_NODE: u32 = 0xa004;
const AGENT_PLACE: u32 = 0xa006;
const AGENT_DOMAIN: u32 = 0xa00f;
/// `hsa_device_type_t`.
const CPU: u32 = 0;
const GPU: u32 = 1;
/// `hsa_amd_memory_pool_info_t` and its values.
const POOL_SEGMENT: u32 = 0;
const POOL_FLAGS: u32 = 1;
const SEGMENT_GLOBAL: u32 = 0;
const FINE_GRAINED: u32 = 2;
const COARSE_GRAINED: u32 = 4;

impl Gpu {
    /// Bytes of the GPU's memory that nobody has, as the driver counts them; none where it does not
    /// tell. HIP counts only what it has allocated itself.
    pub(crate) fn available(&self) -> Option<u64> {
        let mut args = AvailableMemory {
            gpu_id: self.driver_id,
            ..AvailableMemory::default()
        };
        let kfd = driver().ok()?;
        // SAFETY: the request holds no pointers.
        unsafe { strobe_kfd::call(kfd.as_fd(), &mut args) }.ok()?;
        Some(args.available)
    }

    /// The one GPU that HIP offers to the program.
    pub(crate) fn find() -> Result<Gpu, HsaError> {
        let hsa = Hsa::get()?;
        let agents = collect(|visit, into| {
            // SAFETY: `visit` takes what `into` is.
            let status = unsafe { (hsa.iterate_agents)(visit, into) };
            check("listing processors", status)
        })?;
        let agents: Vec<Processor> = agents.into_iter().map(Processor).collect();
        let of_kind = |kind: u32| {
            let is = |agent: &&Processor| number(hsa, **agent, AGENT_DEVICE) == Ok(kind);
            agents.iter().filter(is).copied().collect::<Vec<_>>()
        };
        let mut gpus = of_kind(GPU);
        if gpus.len() > 1
            && let Some(place) = place_in_hip()
        {
            gpus.retain(|gpu| place_of(hsa, *gpu) == Ok(place));
        }
        let &[processor] = gpus.as_slice() else {
            return Err(HsaError::none("finding the program's GPU"));
        };
        let host = of_kind(CPU);
        let host = host.first().ok_or(HsaError::none("finding the host"))?;
        Ok(Gpu {
            hsa,
            processor,
            target: name(hsa, processor)?,
            driver_id: driver_id(number(hsa, processor, AGENT_NODE)?)?,
            device_pool: pool(hsa, processor, COARSE_GRAINED)?,
            host_pool: pool(hsa, *host, FINE_GRAINED)?,
        })
    }
}

const DRIVER: &str = "/dev/kfd";

/// The driver, as the runtime has it open: opened anew it would have the lowest number for a moment.
/// Not to be kept: an open descriptor would go into a dump.
pub(crate) fn driver() -> io::Result<OwnedFd> {
    let is_driver = |link: &Path| fs::read_link(link).is_ok_and(|file| file == Path::new(DRIVER));
    for entry in fs::read_dir("/proc/self/fd")? {
        let link = entry?.path();
        let number = link
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok());
        let Some(number) = number.filter(|_| is_driver(&link)) else {
            continue;
        };
        // SAFETY: a number of a moment ago; where the program has closed it since, no file is found, or
        // another, which is looked at.
        let theirs = unsafe { BorrowedFd::borrow_raw(number) };
        if let Ok(ours) = out_of_the_way(theirs)
            && is_driver(Path::new(&format!("/proc/self/fd/{}", ours.as_raw_fd())))
        {
            return Ok(ours);
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

fn number(hsa: &Hsa, agent: Processor, attribute: u32) -> Result<u32, HsaError> {
    let mut value = 0u32;
    let place = (&raw mut value).cast();
    // SAFETY: the attributes asked for here are 32-bit numbers.
    check("asking a processor", unsafe {
        (hsa.agent_info)(agent, attribute, place)
    })?;
    Ok(value)
}

fn name(hsa: &Hsa, agent: Processor) -> Result<String, HsaError> {
    let mut name = [0u8; 64];
    let place = name.as_mut_ptr().cast();
    // SAFETY: the name is 64 bytes, as hsa.h says.
    check("asking for the GPU's name", unsafe {
        (hsa.agent_info)(agent, AGENT_NAME, place)
    })?;
    let len = name.iter().position(|byte| *byte == 0).unwrap_or(0);
    Ok(String::from_utf8_lossy(&name[..len]).into_owned())
}

/// The driver's name of the GPU at a node of its topology.
fn driver_id(node: u32) -> Result<u32, HsaError> {
    let path = format!("/sys/class/kfd/kfd/topology/nodes/{node}/gpu_id");
    fs::read_to_string(path)
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .ok_or(HsaError::none("finding the driver's name of the GPU"))
}

fn place_of(hsa: &Hsa, agent: Processor) -> Result<Place, HsaError> {
    Ok(Place {
        domain: number(hsa, agent, AGENT_DOMAIN)?,
        bus: number(hsa, agent, AGENT_PLACE)?,
    })
}

/// Where HIP's first device is.
fn place_in_hip() -> Option<Place> {
    /// Words of `hipDeviceProp_t` of ROCm 5.2.3: all, and where `pciDomainID` and what follows it,
    /// `pciBusID` and `pciDeviceID`, stand.
    const WORDS: usize = 792 / 4;
    const DOMAIN: usize = 364 / 4;
    // Room for what newer versions add.
    let mut properties = [0u32; WORDS * 4];
    // SAFETY: room for more than HIP writes.
    let status =
        unsafe { strobe_hip::next::hipGetDeviceProperties(properties.as_mut_ptr().cast(), 0) };
    status.ok().ok()?;
    let [domain, bus, device] = *properties[DOMAIN..].first_chunk()?;
    Some(Place {
        domain,
        bus: bus << 8 | device << 3,
    })
}

/// The first pool of a processor's global memory with this flag.
fn pool(hsa: &Hsa, agent: Processor, flag: u32) -> Result<Pool, HsaError> {
    let pools = collect(|visit, into| {
        // SAFETY: `visit` takes what `into` is.
        let status = unsafe { (hsa.iterate_pools)(agent, visit, into) };
        check("listing memory", status)
    })?;
    let value = |pool: Pool, attribute: u32| {
        let mut value = 0u32;
        // SAFETY: both attributes asked for are 32-bit numbers.
        let status = unsafe { (hsa.pool_info)(pool, attribute, (&raw mut value).cast()) };
        (status == 0).then_some(value)
    };
    pools
        .into_iter()
        .map(Pool)
        .find(|pool| {
            value(*pool, POOL_SEGMENT) == Some(SEGMENT_GLOBAL)
                && value(*pool, POOL_FLAGS).is_some_and(|flags| flags & flag != 0)
        })
        .ok_or(HsaError::none("finding memory of the right kind"))
}

/// The handles that an iteration of the runtime visits.
fn collect(
    iterate: impl FnOnce(crate::device::hsa::Visit, *mut c_void) -> Result<(), HsaError>,
) -> Result<Vec<u64>, HsaError> {
    unsafe extern "C" fn visit(handle: u64, into: *mut c_void) -> c_int {
        // SAFETY: the vector below, which outlives the iteration, on the same thread.
        unsafe { (*into.cast::<Vec<u64>>()).push(handle) };
        0
    }
    let mut handles: Vec<u64> = Vec::new();
    iterate(visit, (&raw mut handles).cast())?;
    Ok(handles)
}
