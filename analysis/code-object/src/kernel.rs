//! A kernel as metadata and symbols describe it.

use std::ops::Range;

use crate::descriptor::Descriptor;

/// One kernel of a code object.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// As in the source, mangled.
    pub name: String,
    /// Of the descriptor: the name and `.kd`.
    pub symbol: String,
    /// What the command processor reads of it.
    pub descriptor: Descriptor,
    /// Address of the descriptor in the loaded image.
    pub descriptor_address: u64,
    /// Bytes, hidden arguments included.
    pub kernarg_size: u32,
    /// By ascending offset, hidden arguments included.
    pub args: Vec<Arg>,
    /// Addresses of the machine code in the loaded image; the start is the entry point. Empty where a
    /// compiler took the body for unreachable: what is launched then is whatever comes next, if anything does.
    pub code: Range<u64>,
}

impl Kernel {
    /// The argument that contains byte `offset` of the kernarg segment, and its index.
    #[must_use]
    pub fn arg_at(&self, offset: u32) -> Option<(usize, &Arg)> {
        let index = self
            .args
            .partition_point(|arg| arg.offset <= offset)
            .checked_sub(1)?;
        let arg = &self.args[index];
        (offset - arg.offset < arg.size).then_some((index, arg))
    }
}

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    /// Bytes from the start of the kernarg segment.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// What stands there.
    pub kind: ArgKind,
    /// What the compiler proved; absent in most kernels.
    pub access: Option<ArgAccess>,
    /// The source has it as a pointer to what is constant; absent in most kernels.
    pub is_const: bool,
    /// Only in kernels written in assembly.
    pub name: Option<String>,
}

/// What a kernel does through a pointer, as the metadata says (`.actual_access`, else `.access`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgAccess {
    /// `read_only`.
    ReadOnly,
    /// `write_only`.
    WriteOnly,
    /// `read_write`.
    ReadWrite,
}

/// `.value_kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArgKind {
    /// The bytes themselves.
    ByValue,
    /// A pointer to global memory.
    GlobalBuffer,
    /// An offset into LDS.
    DynamicSharedPointer,
    /// Texture, sampler, pipe or queue.
    Opaque,
    /// Of a dimension: work-items before the first.
    HiddenGlobalOffset(u8),
    /// Of a dimension: whole work-groups.
    HiddenBlockCount(u8),
    /// Of a dimension: work-items of a work-group.
    HiddenGroupSize(u8),
    /// Of a dimension: work-items of the work-group that is not whole.
    HiddenRemainder(u8),
    /// How many dimensions the grid has.
    HiddenGridDims,
    /// A pointer for `printf`.
    HiddenPrintfBuffer,
    /// A pointer for calls of the host.
    HiddenHostcallBuffer,
    /// A pointer for synchronisation across devices.
    HiddenMultigridSync,
    /// A pointer for device-side `malloc`.
    HiddenHeap,
    /// A pointer for device-side enqueueing.
    HiddenDefaultQueue,
    /// The same.
    HiddenCompletionAction,
    /// Bytes of LDS that the launch adds.
    HiddenDynamicLdsSize,
    /// The high half of the addresses of scratch memory.
    HiddenPrivateBase,
    /// The high half of the addresses of LDS.
    HiddenSharedBase,
    /// A pointer to the `amd_queue_t`.
    HiddenQueuePtr,
    /// Room that the kernel does not use.
    HiddenNone,
    /// A kind that this crate does not know; hidden ones included.
    Unknown,
}

impl ArgKind {
    pub(crate) fn from_name(name: &str) -> Self {
        match name {
            "by_value" => Self::ByValue,
            "global_buffer" => Self::GlobalBuffer,
            "dynamic_shared_pointer" => Self::DynamicSharedPointer,
            "sampler" | "image" | "pipe" | "queue" => Self::Opaque,
            "hidden_global_offset_x" => Self::HiddenGlobalOffset(0),
            "hidden_global_offset_y" => Self::HiddenGlobalOffset(1),
            "hidden_global_offset_z" => Self::HiddenGlobalOffset(2),
            "hidden_block_count_x" => Self::HiddenBlockCount(0),
            "hidden_block_count_y" => Self::HiddenBlockCount(1),
            "hidden_block_count_z" => Self::HiddenBlockCount(2),
            "hidden_group_size_x" => Self::HiddenGroupSize(0),
            "hidden_group_size_y" => Self::HiddenGroupSize(1),
            "hidden_group_size_z" => Self::HiddenGroupSize(2),
            "hidden_remainder_x" => Self::HiddenRemainder(0),
            "hidden_remainder_y" => Self::HiddenRemainder(1),
            "hidden_remainder_z" => Self::HiddenRemainder(2),
            "hidden_grid_dims" => Self::HiddenGridDims,
            "hidden_printf_buffer" => Self::HiddenPrintfBuffer,
            "hidden_hostcall_buffer" => Self::HiddenHostcallBuffer,
            "hidden_multigrid_sync_arg" => Self::HiddenMultigridSync,
            "hidden_heap_v1" => Self::HiddenHeap,
            "hidden_default_queue" => Self::HiddenDefaultQueue,
            "hidden_completion_action" => Self::HiddenCompletionAction,
            "hidden_dynamic_lds_size" => Self::HiddenDynamicLdsSize,
            "hidden_private_base" => Self::HiddenPrivateBase,
            "hidden_shared_base" => Self::HiddenSharedBase,
            "hidden_queue_ptr" => Self::HiddenQueuePtr,
            "hidden_none" => Self::HiddenNone,
            _ => Self::Unknown,
        }
    }

    /// Filled in by the runtime, not by the caller of the kernel.
    #[must_use]
    pub fn is_hidden(self) -> bool {
        !matches!(
            self,
            Self::ByValue
                | Self::GlobalBuffer
                | Self::DynamicSharedPointer
                | Self::Opaque
                | Self::Unknown
        )
    }
}
