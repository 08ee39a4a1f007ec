//! HIP's C types as far as modelled functions take them (`hip/hip_runtime_api.h`,
//! `hip/driver_types.h` of ROCm 5.2.3; what that has not, of 7.2.4). Handles are opaque, so they are numbers here.

#![expect(
    missing_docs,
    reason = "a mirror of HIP's headers, which say what their names mean"
)]

use std::ffi::{c_int, c_uint, c_void};

/// `void *`.
pub type Ptr = *mut c_void;
/// `const void *`.
pub type ConstPtr = *const c_void;
/// `hipStreamCallback_t`.
pub type StreamCallback = Option<unsafe extern "C" fn(Stream, Status, Ptr)>;
/// `hipMemcpyKind`. Copies are judged by their addresses, as `hipMemcpyDefault` does.
pub type CopyKind = c_int;
/// `hipStreamCaptureMode`.
pub type CaptureMode = c_int;
/// `hipJitOption`.
pub type JitOption = c_int;

/// `hipStreamCaptureModeRelaxed`.
pub const CAPTURE_MODE_RELAXED: CaptureMode = 2;
/// `hipStreamCaptureStatusActive`.
pub const CAPTURE_STATUS_ACTIVE: c_int = 1;
/// `hipStreamNonBlocking`.
pub const STREAM_NON_BLOCKING: c_uint = 1;
/// `hipMallocSignalMemory`.
pub const MALLOC_SIGNAL_MEMORY: c_uint = 2;
/// `hipStreamWaitValueGte`.
pub const STREAM_WAIT_VALUE_GTE: c_uint = 0;

/// `hipError_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
#[must_use]
pub struct Status(pub c_int);

impl Status {
    /// `hipSuccess`.
    pub const SUCCESS: Status = Status(0);
    /// `hipErrorOutOfMemory`.
    pub const OUT_OF_MEMORY: Status = Status(2);
    /// `hipErrorNotReady`: not done yet.
    pub const NOT_READY: Status = Status(600);
    /// `hipErrorStreamCaptureInvalidated`.
    pub const CAPTURE_INVALIDATED: Status = Status(901);
    /// `hipErrorStreamCaptureUnmatched`: the stream did not begin a capture.
    pub const CAPTURE_UNMATCHED: Status = Status(903);
    /// `hipErrorNotSupported`.
    pub const NOT_SUPPORTED: Status = Status(801);

    /// `Err` unless the call succeeded.
    pub fn ok(self) -> Result<(), Status> {
        if self == Status::SUCCESS {
            Ok(())
        } else {
            Err(self)
        }
    }
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub usize);
    )* };
}

handles! {
    /// `hipStream_t`.
    Stream
    /// `hipEvent_t`.
    Event
    /// `hipModule_t`.
    Module
    /// `hipFunction_t`.
    Kernel
    /// `hipGraph_t`.
    Graph
    /// `hipGraphExec_t`.
    GraphExec
    /// `hipGraphNode_t`.
    GraphNode
    /// `hipMemPool_t`.
    MemPool
}

impl Stream {
    /// The default stream of the device.
    pub const NULL: Stream = Stream(0);
    /// `hipStreamPerThread`.
    pub const PER_THREAD: Stream = Stream(2);

    /// As the `_spt` functions understand a stream: null is the calling thread's own.
    #[must_use]
    pub fn per_thread(self) -> Stream {
        if self == Stream::NULL {
            Stream::PER_THREAD
        } else {
            self
        }
    }
}

/// `dim3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

impl Dim3 {
    #[must_use]
    pub const fn new(x: u32, y: u32, z: u32) -> Dim3 {
        Dim3 { x, y, z }
    }
}

/// `hipIpcMemHandle_t`: names memory in other processes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct IpcMemHandle {
    pub reserved: [u8; 64],
}

/// `hipPitchedPtr`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PitchedPtr {
    pub ptr: Ptr,
    /// Bytes from a row to the next.
    pub pitch: usize,
    pub xsize: usize,
    pub ysize: usize,
}

/// `hipExtent`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Extent3 {
    /// Bytes, for linear memory.
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// `hipPos`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Position {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

/// `hipMemcpy3DParms`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Memcpy3D {
    pub src_array: Ptr,
    pub src_pos: Position,
    pub src_ptr: PitchedPtr,
    pub dst_array: Ptr,
    pub dst_pos: Position,
    pub dst_ptr: PitchedPtr,
    pub extent: Extent3,
    pub kind: CopyKind,
}

/// `hipMemcpy3DPeerParms`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Memcpy3DPeer {
    pub src_array: Ptr,
    pub src_pos: Position,
    pub src_ptr: PitchedPtr,
    pub src_device: c_int,
    pub dst_array: Ptr,
    pub dst_pos: Position,
    pub dst_ptr: PitchedPtr,
    pub dst_device: c_int,
    pub extent: Extent3,
}

/// `hipMemLocation`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MemLocation {
    pub kind: c_int,
    pub id: c_int,
}

/// `hipLaunchConfig_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LaunchConfig {
    pub grid: Dim3,
    pub block: Dim3,
    pub lds: usize,
    pub stream: Stream,
    pub attributes: Ptr,
    pub attribute_count: c_uint,
}

/// `HIP_LAUNCH_CONFIG`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DriverLaunchConfig {
    pub grid: Dim3,
    pub block: Dim3,
    pub lds: c_uint,
    pub stream: Stream,
    pub attributes: Ptr,
    pub attribute_count: c_uint,
}

/// `hip_Memcpy2D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Memcpy2D {
    pub src_x_bytes: usize,
    pub src_y: usize,
    pub src_memory_type: c_int,
    pub src_host: ConstPtr,
    pub src_device: Ptr,
    pub src_array: Ptr,
    pub src_pitch: usize,
    pub dst_x_bytes: usize,
    pub dst_y: usize,
    pub dst_memory_type: c_int,
    pub dst_host: Ptr,
    pub dst_device: Ptr,
    pub dst_array: Ptr,
    pub dst_pitch: usize,
    pub width_bytes: usize,
    pub height: usize,
}

/// `HIP_MEMCPY3D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DriverMemcpy3D {
    pub src_x_bytes: c_uint,
    pub src_y: c_uint,
    pub src_z: c_uint,
    pub src_lod: c_uint,
    pub src_memory_type: c_int,
    pub src_host: ConstPtr,
    pub src_device: Ptr,
    pub src_array: Ptr,
    pub src_pitch: c_uint,
    pub src_height: c_uint,
    pub dst_x_bytes: c_uint,
    pub dst_y: c_uint,
    pub dst_z: c_uint,
    pub dst_lod: c_uint,
    pub dst_memory_type: c_int,
    pub dst_host: Ptr,
    pub dst_device: Ptr,
    pub dst_array: Ptr,
    pub dst_pitch: c_uint,
    pub dst_height: c_uint,
    pub width_bytes: c_uint,
    pub height: c_uint,
    pub depth: c_uint,
}

/// What hipcc hands to `__hipRegisterFatBinary` (clang, `CGCUDANV.cpp`).
#[derive(Debug)]
#[repr(C)]
pub struct FatBinaryWrapper {
    /// [`FAT_BINARY_MAGIC`].
    pub magic: u32,
    pub version: u32,
    /// An offload bundle.
    pub binary: ConstPtr,
    pub reserved: ConstPtr,
}

/// "HIPF", as a number.
pub const FAT_BINARY_MAGIC: u32 = 0x4849_5046;

/// First words of the `extra` argument of a launch: what the next word is.
pub const LAUNCH_PARAM_BUFFER_POINTER: usize = 1;
pub const LAUNCH_PARAM_BUFFER_SIZE: usize = 2;
pub const LAUNCH_PARAM_END: usize = 3;
