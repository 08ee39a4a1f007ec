//! Command submission: SDMA packets, executed by the submitting thread before the call returns.

use nix::errno::Errno;
use strobe_kfd::render::context::{
    BoList, CTX_ALLOC, CTX_FREE, CTX_QUERY_STATE, CTX_QUERY_STATE2, Ctx, LIST_CREATE, LIST_DESTROY,
    LIST_UPDATE,
};
use strobe_kfd::render::submit::{CHUNK_IB, Chunk, ChunkIb, IP_DMA, Submit, WaitSubmit};

use super::super::caller::Caller;
use crate::report::report;
use crate::sdma::{Engine, Outcome};
use crate::space::Snapshot;

const CHUNKS: u32 = 64;

pub(super) fn context(caller: &Caller, args: &mut Ctx) -> Result<(), Errno> {
    match args.op {
        CTX_ALLOC => {
            let file = caller.render_file()?;
            let mut tables = caller.lock()?;
            let next = &mut tables.render_files[file].next_context;
            *next += 1;
            *args = Ctx {
                op: *next,
                ..Ctx::default()
            };
            Ok(())
        }
        CTX_FREE => Ok(()),
        CTX_QUERY_STATE | CTX_QUERY_STATE2 => {
            *args = Ctx::default();
            Ok(())
        }
        _ => Err(Errno::EINVAL),
    }
}

/// Lists keep objects resident; everything always is.
pub(super) fn bo_list(args: &mut BoList) -> Result<(), Errno> {
    match args.operation {
        LIST_CREATE => {
            *args = BoList {
                operation: 1,
                ..BoList::default()
            };
            Ok(())
        }
        LIST_DESTROY | LIST_UPDATE => Ok(()),
        _ => Err(Errno::EINVAL),
    }
}

/// # Safety
/// The chunk pointers, and those in the chunks, must be valid for the numbers beside them.
pub(super) unsafe fn submit(caller: &Caller, args: &mut Submit) -> Result<(), Errno> {
    let file = caller.render_file()?;
    if args.num_chunks == 0 || args.num_chunks > CHUNKS || args.chunks == 0 {
        return Err(Errno::EINVAL);
    }
    let (snapshot, fence) = {
        let mut tables = caller.lock()?;
        tables.next_fence += 1;
        let fence = tables.next_fence;
        (
            Snapshot::read(caller.device, &tables, file as u32 + 1, 0),
            fence,
        )
    };
    for index in 0..args.num_chunks as usize {
        // SAFETY: inside the array of pointers; each points to a chunk.
        let chunk = unsafe {
            let pointer = (args.chunks as *const u64).add(index).read_unaligned();
            (pointer as *const Chunk).read_unaligned()
        };
        if chunk.chunk_id != CHUNK_IB {
            // Lists, fences and dependencies: nothing is ever outstanding.
            continue;
        }
        if (chunk.length_dw as usize) * 4 < size_of::<ChunkIb>() {
            return Err(Errno::EINVAL);
        }
        // SAFETY: the chunk says it has that many words.
        let ib = unsafe { (chunk.chunk_data as *const ChunkIb).read_unaligned() };
        if ib.ip_type != IP_DMA {
            report(&format!(
                "submission to engine {} is not implemented",
                ib.ip_type
            ));
            return Err(Errno::EINVAL);
        }
        execute(caller, &snapshot, &ib)?;
    }
    args.reply(fence);
    Ok(())
}

fn execute(caller: &Caller, snapshot: &Snapshot, ib: &ChunkIb) -> Result<(), Errno> {
    let engine = Engine {
        device: caller.device,
        gpu: caller.render_gpu()?,
        snapshot,
        slot: None,
    };
    let mut at = ib.va_start;
    let end = ib
        .va_start
        .checked_add(u64::from(ib.ib_bytes))
        .ok_or(Errno::EINVAL)?;
    while at < end {
        let fetch = |dword: u64| engine.read_u32(at + dword * 4);
        match engine.execute(&fetch) {
            Ok(Outcome::Done { dwords }) => at += u64::from(dwords) * 4,
            Ok(Outcome::Wait) => {
                report("a submission waits for memory; that is not implemented");
                return Err(Errno::EINVAL);
            }
            Err(error) => {
                report(&format!("submission: {error}"));
                return Err(Errno::EINVAL);
            }
        }
    }
    Ok(())
}

/// Submissions are done when they return.
pub(super) fn wait(args: &mut WaitSubmit) -> Result<(), Errno> {
    args.handle_or_status = 0;
    Ok(())
}
