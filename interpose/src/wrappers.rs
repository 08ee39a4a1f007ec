//! The wrappers of the modelled functions: before, HIP, after.
//!
//! The frame of a wrapper owns nothing that needs dropping while HIP runs in it, and the ABI lets
//! foreign unwinding (a cancelled thread) pass.

use crate::exported::Exported;
use crate::real;
use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ushort};
use strobe_agent::{effect, enter, gives_way, leave, left_out};
use strobe_hip::{
    CaptureMode, ConstPtr, CopyKind, Dim3, DriverLaunchConfig, DriverMemcpy3D, Event, Extent3,
    FatBinaryWrapper, Graph, GraphExec, GraphNode, IpcMemHandle, JitOption, Kernel, LaunchConfig,
    MemLocation, MemPool, Memcpy2D, Memcpy3D, Memcpy3DPeer, Module, PitchedPtr, Ptr, Status,
    Stream, StreamCallback, for_each_function, next,
};

macro_rules! wrap {
    (
        modelled { $($releases:literal $since:literal $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty { $effect:ident($($given:expr),*) })* }
        called { $($called:tt)* }
        refused { $($refused:tt)* }
        pure { $($pure:tt)* }
    ) => {
        $(
            #[allow(
                non_snake_case,
                clippy::too_many_arguments,
                reason = "name and arguments are HIP's"
            )]
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> $ret {
                real::ensure();
                if let Some(result) = left_out() {
                    return result;
                }
                // SAFETY: the effect gets what the program gave, and reads what HIP reads.
                let call = enter(|| unsafe { effect::$effect($($given),*) });
                // SAFETY: the program's call.
                let mut result = unsafe { next::$name($($arg),*) };
                if gives_way(&call, &result) {
                    // SAFETY: the program's call, which has failed and done nothing.
                    result = unsafe { next::$name($($arg),*) };
                }
                leave(call, &result);
                result
            }
        )*

        /// The wrappers in the order of `Api::MODELLED`.
        pub(crate) static WRAPPERS: &[Exported] = &[$(Exported($name as *const ()),)*];
    };
}
for_each_function!(wrap);
