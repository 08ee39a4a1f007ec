//! Code objects, modules, functions.

use crate::agent::existing;
use crate::attach::with_agent;
use crate::call::{After, Call};
use crate::seen::kernel::KERNELS;
use crate::seen::registration::REGISTRATIONS;
use std::ffi::c_char;
use strobe_hip::{ConstPtr, FAT_BINARY_MAGIC, FatBinaryWrapper, Kernel, Module, Ptr};

/// Runs in constructors: remembers a pointer, starts nothing.
pub unsafe fn register_fat_binary(wrapper: *const FatBinaryWrapper) -> Call {
    // SAFETY: HIP reads the same.
    let Some(wrapper) = (unsafe { wrapper.as_ref() }) else {
        return Call::default();
    };
    if wrapper.magic != FAT_BINARY_MAGIC {
        return Call::default();
    }
    Call::ungated(After::FatBinary {
        image: wrapper.binary.cast(),
    })
}

/// Runs in constructors: remembers pointers, starts nothing.
pub unsafe fn register_function(module: *mut Ptr, stub: ConstPtr, name: *const c_char) -> Call {
    if !name.is_null() {
        REGISTRATIONS.function(module.addr(), stub.addr(), name);
    }
    Call::default()
}

/// Runs in destructors: the code is about to be unmapped.
pub unsafe fn unregister_fat_binary(module: *mut Ptr) -> Call {
    REGISTRATIONS.unregister(module.addr(), |stub| KERNELS.remove(stub));
    if let Some(agent) = existing() {
        agent.modules.unload(module.addr());
    }
    Call::default()
}

/// `hipModuleLoadData`.
pub unsafe fn load_image(module: *mut Module, image: ConstPtr) -> Call {
    let after = After::LoadedImage {
        place: module,
        image,
    };
    with_agent(|_| after)
}

/// `hipModuleLoad`.
pub unsafe fn load_file(module: *mut Module, path: *const c_char) -> Call {
    let after = After::LoadedFile {
        place: module,
        path,
    };
    with_agent(|_| after)
}

/// `hipModuleGetFunction`.
pub unsafe fn get_function(kernel: *mut Kernel, module: Module, name: *const c_char) -> Call {
    let after = After::FoundFunction {
        place: kernel,
        module,
        name,
    };
    with_agent(|_| after)
}

/// `hipModuleUnload`: its functions are gone, and their handles may come again.
pub unsafe fn unload(module: Module) -> Call {
    with_agent(|agent| {
        for handle in agent.modules.unload(module.0) {
            KERNELS.remove(handle);
        }
        After::Nothing
    })
}
