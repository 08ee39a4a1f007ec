//! Kernel launches.

use crate::agent::Agent;
use crate::attach::agent;
use crate::attach::with_agent;
use crate::call::{After, Call, raw_stream};
use crate::seen::kernarg::Arguments;
use crate::seen::kernel::KERNELS;
use crate::seen::kernel::Kernel;
use crate::seen::observed::{HEADER, Launch, Observed, UNKNOWN_ARGUMENTS, write_launch};
use crate::seen::registration::REGISTRATIONS;
use std::ffi::CStr;
use std::sync::OnceLock;
use strobe_hip::{ConstPtr, Dim3, DriverLaunchConfig, Event, LaunchConfig, Ptr, Stream};

/// `hipLaunchKernel` and its kin: by the address of the host stub, grid in work-groups.
#[inline]
pub unsafe fn launch_stub(
    stub: ConstPtr,
    grid: Dim3,
    block: Dim3,
    args: *mut Ptr,
    lds: usize,
    stream: Stream,
) -> Call {
    with_agent(|agent| {
        let key = stub.addr();
        let kernel = match KERNELS.find(key) {
            Some(kernel) => kernel,
            None => first_launch(agent, key),
        };
        let arguments = if args.is_null() && !kernel.places.is_empty() {
            Arguments::Unknown
        } else {
            Arguments::Pointers(args.cast_const())
        };
        // SAFETY: the program's arguments for this kernel.
        unsafe {
            launch(
                agent,
                kernel,
                groups(grid, block),
                block,
                arguments,
                lds,
                stream,
            )
        };
        After::Nothing
    })
}

/// `hipLaunchKernelExC`. Of its attributes none changes what is written.
pub unsafe fn launch_stub_configured(
    config: *const LaunchConfig,
    stub: ConstPtr,
    args: *mut Ptr,
) -> Call {
    // SAFETY: HIP reads the same.
    let Some(to) = (unsafe { config.as_ref() }) else {
        // HIP says that this is wrong, and launches nothing.
        return with_agent(|_| After::Nothing);
    };
    // SAFETY: handed through.
    unsafe { launch_stub(stub, to.grid, to.block, args, to.lds, to.stream) }
}

/// `hipDrvLaunchKernelEx`.
pub unsafe fn launch_function_configured(
    config: *const DriverLaunchConfig,
    kernel: strobe_hip::Kernel,
    args: *mut Ptr,
    extra: *mut Ptr,
) -> Call {
    // SAFETY: HIP reads the same.
    let Some(to) = (unsafe { config.as_ref() }) else {
        return with_agent(|_| After::Nothing);
    };
    let lds = to.lds as usize;
    // SAFETY: handed through.
    unsafe { launch_function(kernel, to.grid, to.block, args, extra, lds, to.stream) }
}

/// `hipExtLaunchKernel`: `stop` is recorded behind the kernel.
#[allow(clippy::too_many_arguments, reason = "HIP's")]
pub unsafe fn launch_stub_recorded(
    stub: ConstPtr,
    grid: Dim3,
    block: Dim3,
    args: *mut Ptr,
    lds: usize,
    stream: Stream,
    stop: Event,
) -> Call {
    // SAFETY: handed through.
    let call = unsafe { launch_stub(stub, grid, block, args, lds, stream) };
    recorded(stop, stream);
    call
}

/// `hipExtModuleLaunchKernel`: grid in work-items; `stop` is recorded behind the kernel.
#[allow(clippy::too_many_arguments, reason = "HIP's")]
pub unsafe fn launch_items_recorded(
    kernel: strobe_hip::Kernel,
    items: Dim3,
    block: Dim3,
    args: *mut Ptr,
    extra: *mut Ptr,
    lds: usize,
    stream: Stream,
    stop: Event,
) -> Call {
    // SAFETY: handed through.
    let call = unsafe { launch_items(kernel, items, block, args, extra, lds, stream) };
    recorded(stop, stream);
    call
}

fn recorded(stop: Event, stream: Stream) {
    if stop.0 != 0
        && let Some(agent) = agent()
    {
        let (event, stream) = (stop.0 as u64, raw_stream(stream));
        agent.observe(&Observed::RecordEvent { event, stream }, Some(stream));
    }
}

/// `hipModuleLaunchKernel`: grid in work-groups.
#[inline]
pub unsafe fn launch_function(
    kernel: strobe_hip::Kernel,
    grid: Dim3,
    block: Dim3,
    args: *mut Ptr,
    extra: *mut Ptr,
    lds: usize,
    stream: Stream,
) -> Call {
    // SAFETY: handed through.
    unsafe { launch_items(kernel, groups(grid, block), block, args, extra, lds, stream) }
}

/// The same, grid in work-items.
#[inline]
pub unsafe fn launch_items(
    kernel: strobe_hip::Kernel,
    items: Dim3,
    block: Dim3,
    args: *mut Ptr,
    extra: *mut Ptr,
    lds: usize,
    stream: Stream,
) -> Call {
    with_agent(|agent| {
        let Some(kernel) = KERNELS.find(kernel.0) else {
            anything(agent, stream);
            return After::Nothing;
        };
        // SAFETY: the program's lists for this launch.
        unsafe {
            let arguments = Arguments::of_module_launch(args, extra);
            launch(agent, kernel, items, block, arguments, lds, stream);
        }
        After::Nothing
    })
}

/// Launches a kernel that is not known from the call, on a stream that is.
pub unsafe fn launch_unknown(stream: Stream) -> Call {
    with_agent(|agent| {
        anything(agent, stream);
        After::Nothing
    })
}

/// Launches kernels of which the call says neither what they are nor where they run: what was
/// configured before (`hipLaunchByPtr`), or a list with a stream for each. Its thread waits.
pub unsafe fn launch_anywhere() -> Call {
    with_agent(|agent| {
        let (stream, is_graph) = (None, false);
        agent.observe(&Observed::Anything { stream, is_graph }, None);
        After::Nothing
    })
}

fn anything(agent: &Agent, stream: Stream) {
    let (stream, is_graph) = (Some(raw_stream(stream)), false);
    agent.observe(&Observed::Anything { stream, is_graph }, stream);
}

/// Work-items of a grid of work-groups.
#[inline]
fn groups(grid: Dim3, block: Dim3) -> Dim3 {
    Dim3::new(
        grid.x.saturating_mul(block.x),
        grid.y.saturating_mul(block.y),
        grid.z.saturating_mul(block.z),
    )
}

/// Off-checkpoint the arguments go straight into the ring: no copy, no allocation, no lock.
#[inline]
unsafe fn launch(
    agent: &Agent,
    kernel: &'static Kernel,
    items: Dim3,
    block: Dim3,
    arguments: Arguments,
    lds: usize,
    stream: Stream,
) {
    let stream = raw_stream(stream);
    let launch = Launch {
        kernel,
        stream,
        items: [items.x, items.y, items.z],
        block: [block.x, block.y, block.z],
        lds: u32::try_from(lds).unwrap_or(u32::MAX),
        kernarg: Err(UNKNOWN_ARGUMENTS),
        is_captured: false,
    };
    if agent.is_captured(stream) {
        let is_captured = true;
        let launch = Launch {
            is_captured,
            ..launch
        };
        // SAFETY: the program's arguments for this kernel.
        unsafe { with_arguments(launch, &arguments, |launch| agent.observe_captured(launch)) };
        return;
    }
    let len = kernel.explicit_bytes;
    if !agent.device.course.attends() {
        agent.ring.push(HEADER + len, |bytes| {
            write_launch(bytes, &launch, |payload| {
                // SAFETY: the program's arguments for this kernel, laid out as its metadata says.
                unsafe { arguments.write(&kernel.places, payload) }
            });
        });
        return;
    }
    let now = |observed: &Observed<'_>| agent.observe_now(observed, Some(stream));
    // SAFETY: as above.
    unsafe { with_arguments(launch, &arguments, now) };
}

/// Beside the frame of the usual way, which may be on a small stack.
#[cold]
unsafe fn with_arguments(
    launch: Launch<'_>,
    arguments: &Arguments,
    observe: impl FnOnce(&Observed<'_>),
) {
    let mut bytes = vec![0; launch.kernel.explicit_bytes];
    let mut launch = launch;
    // SAFETY: the program's arguments for this kernel, laid out as its metadata says.
    if unsafe { arguments.write(&launch.kernel.places, &mut bytes) } {
        launch.kernarg = Ok(&bytes);
    }
    observe(&Observed::Launch(launch));
}

/// Finds the kernel of a stub that has not been launched before.
#[cold]
fn first_launch(agent: &Agent, stub: usize) -> &'static Kernel {
    // Not remembered: it may be registered later.
    static UNREGISTERED: OnceLock<Kernel> = OnceLock::new();
    agent.device.handle.find_target();
    let Some((module, name)) = REGISTRATIONS.find(stub) else {
        return UNREGISTERED.get_or_init(|| Kernel::unknown("(unregistered)"));
    };
    if !agent.modules.contains(module)
        && let Some(image) = REGISTRATIONS.image(module)
    {
        // SAFETY: mapped with the library that registered it, which is in use.
        unsafe {
            agent
                .modules
                .load_image(module, image, agent.device.handle.target())
        };
    }
    // SAFETY: a string constant of the same library.
    let name = unsafe { CStr::from_ptr(name) };
    let kernel = agent.modules.kernel(module, name);
    KERNELS.insert(stub, kernel);
    kernel
}
