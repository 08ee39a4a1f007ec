//! Questions about the device.

use nix::errno::Errno;
use strobe_kfd::render::info::{
    self as query, DeviceInfo, FAMILY_AI, Heap, HwIp, Info, Memory, VramGtt,
};
use strobe_kfd::render::submit::IP_DMA;
use zerocopy::{Immutable, IntoBytes};

use super::super::caller::{Caller, reap};
use crate::device::geometry::{CLOCK_HZ, COMPUTE_UNITS};
use crate::report::report;
use crate::target::Model;

/// # Safety
/// The answer's pointer must be valid for the number of bytes beside it.
pub(super) unsafe fn answer(caller: &Caller, args: &mut Info) -> Result<(), Errno> {
    let header = caller.device.header();
    let gpu = caller.render_gpu()?;
    let used = || {
        let mut tables = caller.lock()?;
        reap(caller.device, &mut tables);
        Ok::<_, Errno>(tables.vram_used[gpu])
    };
    let visible = if header.large_bar != 0 {
        header.vram_bytes
    } else {
        256 << 20
    };
    // SAFETY: the caller's promise, for every answer below.
    let reply = |bytes: &[u8]| unsafe { write(args, bytes) };
    match args.query {
        query::ACCEL_WORKING => reply(1u32.as_bytes()),
        query::DEV_INFO => reply(device_info(caller.device.model).as_bytes()),
        query::HW_IP_INFO => reply(ip_info(args.words[0]).as_bytes()),
        query::HW_IP_COUNT => reply(u32::from(args.words[0] == IP_DMA).as_bytes()),
        query::FW_VERSION => reply([440u32, 0].as_bytes()),
        query::VRAM_USAGE => reply(used()?.as_bytes()),
        query::VIS_VRAM_USAGE => reply(used()?.min(visible).as_bytes()),
        query::GTT_USAGE => reply(0u64.as_bytes()),
        query::VRAM_GTT => reply(
            VramGtt {
                vram_size: header.vram_bytes,
                vram_cpu_accessible_size: visible,
                gtt_size: header.memory_bytes / 2,
            }
            .as_bytes(),
        ),
        query::MEMORY => {
            let heap = |total: u64, used: u64| Heap {
                total_heap_size: total,
                usable_heap_size: total,
                heap_usage: used,
                max_allocation: total / 4 * 3,
            };
            let used = used()?;
            reply(
                Memory {
                    vram: heap(header.vram_bytes, used),
                    cpu_accessible_vram: heap(visible, used.min(visible)),
                    gtt: heap(header.memory_bytes / 2, 0),
                }
                .as_bytes(),
            )
        }
        query::READ_MMR_REG => {
            let count = args.words[1] as usize;
            if count == 0 || count > 128 {
                return Err(Errno::EINVAL);
            }
            // Tiling and raster registers; nothing here depends on them.
            reply([0u32; 128][..count].as_bytes())
        }
        other => {
            report(&format!("AMDGPU_INFO query {other:#x} is not implemented"));
            Err(Errno::EINVAL)
        }
    }
}

/// # Safety
/// As for [`answer`].
unsafe fn write(args: &Info, bytes: &[u8]) -> Result<(), Errno> {
    let room = (args.return_size as usize).min(bytes.len());
    if args.return_pointer == 0 || room == 0 {
        return Err(Errno::EINVAL);
    }
    // SAFETY: the caller has `return_size` bytes there.
    unsafe {
        bytes
            .as_ptr()
            .copy_to_nonoverlapping(args.return_pointer as *mut u8, room)
    };
    Ok(())
}

fn ip_info(kind: u32) -> impl IntoBytes + Immutable {
    if kind != IP_DMA {
        return HwIp::default();
    }
    HwIp {
        major: 4,
        minor: 0,
        capabilities_flags: 0,
        ib_start_alignment: 256,
        ib_size_alignment: 4,
        available_rings: 1,
        ip_discovery_version: 0x0004_0002,
    }
}

fn device_info(model: &Model) -> DeviceInfo {
    let units = (1u32 << COMPUTE_UNITS) - 1;
    let mut cu_bitmap = [[0; 4]; 4];
    cu_bitmap[0][0] = units;
    DeviceInfo {
        device_id: model.device_id,
        chip_rev: 1,
        external_rev: model.external_rev,
        pci_rev: 1,
        family: FAMILY_AI,
        num_shader_engines: 1,
        num_shader_arrays_per_engine: 1,
        gpu_counter_freq: (CLOCK_HZ / 1000) as u32,
        max_engine_clock: 1_725_000,
        max_memory_clock: 1_000_000,
        cu_active_number: COMPUTE_UNITS,
        cu_bitmap,
        cu_ao_bitmap: cu_bitmap,
        enabled_rb_pipes_mask: 1,
        num_rb_pipes: 1,
        num_hw_gfx_contexts: 8,
        virtual_address_offset: 2 << 20,
        virtual_address_max: 1 << 47,
        virtual_address_alignment: 4096,
        pte_fragment_size: 2 << 20,
        gart_page_size: 4096,
        // HBM.
        vram_type: 6,
        vram_bit_width: 4096,
        wave_front_size: 64,
        num_shader_visible_vgprs: 256,
        num_cu_per_sh: COMPUTE_UNITS,
        num_tcc_blocks: 16,
        high_va_offset: 0xffff_8000_0000_0000,
        high_va_max: 0xffff_ffff_ffe0_0000,
        ..DeviceInfo::default()
    }
}
