//! What the driver shows of its devices in sysfs.
//!
//! Node 0 is the host's processor, node 1 the GPU. The names of the properties are those of the
//! kernel's `kfd_topology.c`; the values are a small Vega 20.

use std::fmt::Write;
use std::path::PathBuf;

use crate::device::{self, geometry};
use crate::options::Options;
use crate::target::{TARGET, WAVE};

type FileTree = Vec<(PathBuf, String)>;

/// Files below the kfd device's directory.
pub(super) fn files(options: &Options) -> FileTree {
    let mut files = vec![
        ("topology/generation_id".into(), "1\n".into()),
        (
            "topology/system_properties".into(),
            "platform_oem 35322352389441\nplatform_id 0\nplatform_rev 2\n".into(),
        ),
    ];
    let mut put =
        |path: &str, text: String| files.push((format!("topology/nodes/{path}").into(), text));
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    // With private memory the CPU has no link to the GPU: runtimes take one as "large BAR".
    let cpu_links = u64::from(options.large_bar);

    put("0/gpu_id", "0\n".into());
    put("0/name", "\n".into());
    put(
        "0/properties",
        properties(&[
            ("cpu_cores_count", cores),
            ("mem_banks_count", 1),
            ("io_links_count", cpu_links),
        ]),
    );
    put("0/mem_banks/0/properties", bank(0, host_memory(), 64, 2400));
    if options.large_bar {
        put("0/io_links/0/properties", link(0, 1));
    }

    put("1/gpu_id", format!("{}\n", options.gpu_id));
    put("1/name", "vega20\n".into());
    put("1/properties", properties(&gpu_properties()));
    let heap = if options.large_bar { 1 } else { 2 };
    put(
        "1/mem_banks/0/properties",
        bank(heap, device::vram_bytes(options), 4096, 1000),
    );
    put("1/io_links/0/properties", link(1, 0));
    put(
        "1/caches/0/properties",
        cache(1, 16, u64::from(geometry::COMPUTE_UNITS)),
    );
    put(
        "1/caches/1/properties",
        cache(2, 8192, u64::from(geometry::COMPUTE_UNITS)),
    );
    files
}

/// Files of /sys/module/amdgpu.
pub(super) fn module_files() -> FileTree {
    vec![
        ("refcnt".into(), "1\n".into()),
        ("coresize".into(), "8388608\n".into()),
        ("initstate".into(), "live\n".into()),
    ]
}

/// Files of /sys/dev/char/226:128.
pub(super) fn render_files(_options: &Options) -> FileTree {
    let minor = device::RENDER_MINOR;
    vec![
        (
            "uevent".into(),
            format!(
                "MAJOR={}\nMINOR={minor}\nDEVNAME=dri/renderD{minor}\nDEVTYPE=drm_minor\n",
                device::DRM_MAJOR
            ),
        ),
        (
            "device/vendor".into(),
            format!("{:#06x}\n", geometry::VENDOR_ID),
        ),
        (
            "device/device".into(),
            format!("{:#06x}\n", geometry::DEVICE_ID),
        ),
        ("device/revision".into(), "0x01\n".into()),
    ]
}

/// All properties of a node in the kernel's order; those not given are 0.
fn properties(values: &[(&str, u64)]) -> String {
    const NAMES: [&str; 38] = [
        "cpu_cores_count",
        "simd_count",
        "mem_banks_count",
        "caches_count",
        "io_links_count",
        "p2p_links_count",
        "cpu_core_id_base",
        "simd_id_base",
        "max_waves_per_simd",
        "lds_size_in_kb",
        "gds_size_in_kb",
        "num_gws",
        "wave_front_size",
        "array_count",
        "simd_arrays_per_engine",
        "cu_per_simd_array",
        "simd_per_cu",
        "max_slots_scratch_cu",
        "gfx_target_version",
        "vendor_id",
        "device_id",
        "location_id",
        "domain",
        "drm_render_minor",
        "hive_id",
        "num_sdma_engines",
        "num_sdma_xgmi_engines",
        "num_sdma_queues_per_engine",
        "num_cp_queues",
        "max_engine_clk_fcompute",
        "local_mem_size",
        "fw_version",
        "capability",
        "debug_prop",
        "sdma_fw_version",
        "unique_id",
        "num_xcc",
        "max_engine_clk_ccompute",
    ];
    let mut text = String::new();
    for name in NAMES {
        let value = values
            .iter()
            .find(|(key, _)| *key == name)
            .map_or(0, |(_, value)| *value);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name} {value}");
    }
    text
}

fn gpu_properties() -> [(&'static str, u64); 30] {
    use geometry::{COMPUTE_UNITS, SIMD_PER_CU};
    /// Doorbells of type 2 (64 bits, one for each AQL queue).
    const DOORBELL_TYPE_2: u64 = 2 << 12;
    /// Ring sizes are powers of two, up to 32 bits; debugging is supported by the firmware.
    const CAPABILITIES: u64 = DOORBELL_TYPE_2 | 1 << 4 | 1 << 5 | 1 << 29;
    [
        ("simd_count", u64::from(COMPUTE_UNITS * SIMD_PER_CU)),
        ("mem_banks_count", 1),
        ("caches_count", 2),
        ("io_links_count", 1),
        ("simd_id_base", 0x8000_1000),
        ("max_waves_per_simd", u64::from(geometry::WAVES_PER_SIMD)),
        ("lds_size_in_kb", 64),
        ("wave_front_size", u64::from(WAVE.lanes())),
        ("array_count", 1),
        ("simd_arrays_per_engine", 1),
        ("cu_per_simd_array", u64::from(COMPUTE_UNITS)),
        ("simd_per_cu", u64::from(SIMD_PER_CU)),
        ("max_slots_scratch_cu", 32),
        ("gfx_target_version", u64::from(TARGET.version.kfd())),
        ("vendor_id", u64::from(geometry::VENDOR_ID)),
        ("device_id", u64::from(geometry::DEVICE_ID)),
        ("location_id", 0x300),
        ("drm_render_minor", u64::from(device::RENDER_MINOR)),
        ("num_sdma_engines", 2),
        ("num_sdma_queues_per_engine", 8),
        ("num_cp_queues", 24),
        ("max_engine_clk_fcompute", 1725),
        ("fw_version", 440),
        ("capability", CAPABILITIES),
        ("sdma_fw_version", 145),
        ("unique_id", 0x5356_4750_5500_0001),
        ("num_xcc", 1),
        ("max_engine_clk_ccompute", 2400),
        ("num_gws", 0),
        ("local_mem_size", 0),
    ]
}

fn bank(heap_type: u32, bytes: u64, width: u32, clock: u32) -> String {
    format!(
        "heap_type {heap_type}\nsize_in_bytes {bytes}\nflags 0\nwidth {width}\nmem_clk_max {clock}\n"
    )
}

/// A PCIe link with atomics (flag 1: the flags are meant as they stand).
fn link(from: u32, to: u32) -> String {
    format!(
        "type 2\nversion_major 0\nversion_minor 0\nnode_from {from}\nnode_to {to}\nweight 20\n\
         min_latency 0\nmax_latency 0\nmin_bandwidth 312\nmax_bandwidth 16000\n\
         recommended_transfer_size 0\nflags 1\n"
    )
}

/// A data cache of `kib` KiB seen by `units` compute units.
fn cache(level: u32, kib: u32, units: u64) -> String {
    let siblings: Vec<&str> = (0..units).map(|_| "1").collect();
    format!(
        "processor_id_low 2147487744\nlevel {level}\nsize {kib}\ncache_line_size 64\n\
         cache_lines_per_tag 1\nassociation 16\nlatency 0\ntype 9\nsibling_map {}\n",
        siblings.join(",")
    )
}

fn host_memory() -> u64 {
    std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        })
        .map_or(1 << 30, |kib| kib * 1024)
}
