//! What the driver shows of its devices in sysfs.
//!
//! Node 0 is the host's processor, node i + 1 GPU i. The names of the properties are those of the
//! kernel's `kfd_topology.c`; the values are small GPUs of one model.

use std::fmt::Write;
use std::path::PathBuf;
use strobe_proto::kernel_text;

use crate::device::{self, geometry};
use crate::options::{Interconnect, Options};
use crate::target::{Model, WAVE};

type FileTree = Vec<(PathBuf, String)>;

/// `HSA_IOLINKTYPE_*`.
const PCIE: u32 = 2;
const XGMI: u32 = 11;
/// How far apart the kernel calls the ends of a link (`kfd_crat.h`).
const PCIE_WEIGHT: u32 = 20;
const XGMI_WEIGHT: u32 = 15;
/// Arbitrary, and the same for all GPUs that are linked by XGMI.
const HIVE: u64 = 0x5356_4750_4856_0001;
/// Identifies the first GPU whatever its id is; the others' follow.
const FIRST_UNIQUE_ID: u64 = 0x5356_4750_5500_0001;
/// Number of the first SIMD unit of the first GPU.
const FIRST_SIMD: u64 = 0x8000_1000;

/// Files below the kfd device's directory.
pub(super) fn files(options: &Options) -> FileTree {
    let mut files = vec![
        ("topology/generation_id".into(), "1\n".into()),
        (
            "topology/system_properties".into(),
            "platform_oem 35322352389441\nplatform_id 0\nplatform_rev 2\n".into(),
        ),
    ];
    let count = options.gpu_ids.len();
    files.extend(cpu_files(options));
    for gpu in 0..count {
        files.extend(gpu_files(options, gpu));
    }
    for (path, _) in &mut files[2..] {
        *path = PathBuf::from("topology/nodes").join(&*path);
    }
    files
}

/// Number of a GPU's node.
fn node(gpu: usize) -> usize {
    gpu + 1
}

/// Adds a node's links, in a folder of that name.
fn put_links(files: &mut FileTree, node: usize, folder: &str, links: &[String]) {
    for (index, text) in links.iter().enumerate() {
        let path = format!("{node}/{folder}/{index}/properties");
        files.push((path.into(), text.clone()));
    }
}

fn cpu_files(options: &Options) -> FileTree {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    // With private memory the CPU has no link to the GPU: runtimes take one as "large BAR".
    let gpus = if options.large_bar {
        options.gpu_ids.len()
    } else {
        0
    };
    let links: Vec<String> = (0..gpus)
        .map(|gpu| link(PCIE, (0, node(gpu)), PCIE_WEIGHT))
        .collect();
    let mut files: FileTree = vec![
        ("0/gpu_id".into(), "0\n".into()),
        ("0/name".into(), "\n".into()),
        (
            "0/properties".into(),
            properties(&[
                ("cpu_cores_count", cores),
                ("mem_banks_count", 1),
                ("io_links_count", links.len() as u64),
            ]),
        ),
        (
            "0/mem_banks/0/properties".into(),
            bank(0, host_memory(), 64, 2400),
        ),
    ];
    put_links(&mut files, 0, "io_links", &links);
    files
}

fn gpu_files(options: &Options, gpu: usize) -> FileTree {
    let own = node(gpu);
    let peers = || {
        (0..options.gpu_ids.len())
            .filter(|peer| *peer != gpu)
            .map(node)
    };
    let mut direct = vec![link(PCIE, (own, 0), PCIE_WEIGHT)];
    let mut peer_links = Vec::new();
    match options.links {
        Interconnect::None => {}
        Interconnect::Xgmi => {
            direct.extend(peers().map(|peer| link(XGMI, (own, peer), XGMI_WEIGHT)));
        }
        // The way leads over the host's bridge, and into memory only where the bus sees all of it.
        Interconnect::Pcie if !options.large_bar => {}
        Interconnect::Pcie => {
            peer_links.extend(peers().map(|peer| link(PCIE, (own, peer), 2 * PCIE_WEIGHT)));
        }
    }
    let counts = [direct.len() as u64, peer_links.len() as u64];
    let heap = if options.large_bar { 1 } else { 2 };
    let file = |name: &str, text: String| (PathBuf::from(format!("{own}/{name}")), text);
    let mut files = vec![
        file("gpu_id", format!("{}\n", options.gpu_ids[gpu])),
        file("name", format!("{}\n", options.model.name)),
        file(
            "properties",
            properties(&gpu_properties(options, gpu, counts)),
        ),
        file(
            "mem_banks/0/properties",
            bank(heap, device::vram_bytes(options), 4096, 1000),
        ),
        file("caches/0/properties", cache(gpu, 1, 16)),
        file("caches/1/properties", cache(gpu, 2, 8192)),
    ];
    put_links(&mut files, own, "io_links", &direct);
    put_links(&mut files, own, "p2p_links", &peer_links);
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

/// Files of a render node's folder in /sys/dev/char.
pub(super) fn render_files(model: &Model, minor: u32) -> FileTree {
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
            format!("{:#06x}\n", model.device_id),
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

/// Of a GPU with so many links of each kind.
fn gpu_properties(
    options: &Options,
    gpu: usize,
    [io_links, p2p_links]: [u64; 2],
) -> [(&'static str, u64); 32] {
    use geometry::{COMPUTE_UNITS, SIMD_PER_CU};
    /// Doorbells of type 2 (64 bits, one for each AQL queue).
    const DOORBELL_TYPE_2: u64 = 2 << 12;
    /// Ring sizes are powers of two, up to 32 bits; debugging is supported by the firmware.
    const CAPABILITIES: u64 = DOORBELL_TYPE_2 | 1 << 4 | 1 << 5 | 1 << 29;
    const SRAM_ECC: u64 = 1 << 26;
    let model = options.model;
    let ecc = if model.has_sram_ecc { SRAM_ECC } else { 0 };
    let capabilities = CAPABILITIES | ecc;
    // A hive needs two.
    let alone = options.gpu_ids.len() < 2 || options.links != Interconnect::Xgmi;
    let hive = if alone { 0 } else { HIVE };
    [
        ("simd_count", u64::from(COMPUTE_UNITS * SIMD_PER_CU)),
        ("mem_banks_count", 1),
        ("caches_count", 2),
        ("io_links_count", io_links),
        ("p2p_links_count", p2p_links),
        ("simd_id_base", first_simd(gpu)),
        ("max_waves_per_simd", u64::from(model.waves_per_simd)),
        ("lds_size_in_kb", 64),
        ("wave_front_size", u64::from(WAVE.lanes())),
        ("array_count", 1),
        ("simd_arrays_per_engine", 1),
        ("cu_per_simd_array", u64::from(COMPUTE_UNITS)),
        ("simd_per_cu", u64::from(SIMD_PER_CU)),
        ("max_slots_scratch_cu", 32),
        ("gfx_target_version", u64::from(model.target.version.kfd())),
        ("vendor_id", u64::from(geometry::VENDOR_ID)),
        ("device_id", u64::from(model.device_id)),
        ("location_id", (3 + gpu as u64) << 8),
        ("drm_render_minor", u64::from(device::render_minor(gpu))),
        ("hive_id", hive),
        ("num_sdma_engines", 2),
        ("num_sdma_queues_per_engine", 8),
        ("num_cp_queues", 24),
        ("max_engine_clk_fcompute", 1725),
        ("fw_version", 440),
        ("capability", capabilities),
        ("sdma_fw_version", 145),
        ("unique_id", FIRST_UNIQUE_ID + gpu as u64),
        ("num_xcc", 1),
        ("max_engine_clk_ccompute", 2400),
        ("num_gws", 64),
        ("local_mem_size", 0),
    ]
}

fn bank(heap_type: u32, bytes: u64, width: u32, clock: u32) -> String {
    format!(
        "heap_type {heap_type}\nsize_in_bytes {bytes}\nflags 0\nwidth {width}\nmem_clk_max {clock}\n"
    )
}

/// A link with atomics (flag 1: the flags are meant as they stand).
fn link(kind: u32, (from, to): (usize, usize), weight: u32) -> String {
    let (slowest, fastest) = if kind == XGMI {
        (50_000, 100_000)
    } else {
        (312, 16_000)
    };
    format!(
        "type {kind}\nversion_major 0\nversion_minor 0\nnode_from {from}\nnode_to {to}\nweight {weight}\n\
         min_latency 0\nmax_latency 0\nmin_bandwidth {slowest}\nmax_bandwidth {fastest}\n\
         recommended_transfer_size 0\nflags 1\n"
    )
}

/// Number of a GPU's first SIMD unit: they are counted through.
fn first_simd(gpu: usize) -> u64 {
    FIRST_SIMD + gpu as u64 * u64::from(geometry::COMPUTE_UNITS * geometry::SIMD_PER_CU)
}

/// A data cache of `kib` KiB seen by all compute units.
fn cache(gpu: usize, level: u32, kib: u32) -> String {
    let siblings = vec!["1"; geometry::COMPUTE_UNITS as usize];
    format!(
        "processor_id_low {}\nlevel {level}\nsize {kib}\ncache_line_size 64\n\
         cache_lines_per_tag 1\nassociation 16\nlatency 0\ntype 9\nsibling_map {}\n",
        first_simd(gpu),
        siblings.join(",")
    )
}

fn host_memory() -> u64 {
    kernel_text::read("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        })
        .map_or(1 << 30, |kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn tree(gpus: u32, links: Interconnect, large_bar: bool) -> FileTree {
        files(&Options {
            gpu_ids: (1..=gpus).map(|gpu| 0x1000 * gpu).collect(),
            links,
            large_bar,
            ..Options::default()
        })
    }

    fn text<'a>(tree: &'a FileTree, path: &str) -> &'a str {
        let path = PathBuf::from("topology/nodes").join(path);
        let mut found = tree.iter().filter(|(known, _)| *known == path);
        let (_, text) = found.next().unwrap_or_else(|| panic!("no {path:?}"));
        assert!(found.next().is_none(), "{path:?} is there twice");
        text
    }

    fn property(tree: &FileTree, path: &str, name: &str) -> u64 {
        let mut lines = text(tree, path).lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.expect(name).parse().expect("a number")
    }

    /// (type, from, to) of a node's links of one kind, as many as its properties say.
    fn links(tree: &FileTree, node: u32, kind: &str) -> Vec<[u64; 3]> {
        let folder = PathBuf::from(format!("topology/nodes/{node}/{kind}_links"));
        let count = property(
            tree,
            &format!("{node}/properties"),
            &format!("{kind}_links_count"),
        );
        let there = tree.iter().filter(|(path, _)| path.starts_with(&folder));
        assert_eq!(there.count() as u64, count, "{folder:?}");
        let path = |index| format!("{node}/{kind}_links/{index}/properties");
        (0..count)
            .map(|index| {
                ["type", "node_from", "node_to"].map(|name| property(tree, &path(index), name))
            })
            .collect()
    }

    #[test]
    fn a_hive_has_links_between_all_its_gpus() {
        let tree = tree(3, Interconnect::Xgmi, true);
        assert_eq!(links(&tree, 0, "io"), [[2, 0, 1], [2, 0, 2], [2, 0, 3]]);
        assert_eq!(links(&tree, 1, "io"), [[2, 1, 0], [11, 1, 2], [11, 1, 3]]);
        assert_eq!(links(&tree, 2, "io"), [[2, 2, 0], [11, 2, 1], [11, 2, 3]]);
        for node in 1..=3 {
            assert!(links(&tree, node, "p2p").is_empty());
            let hive = property(&tree, &format!("{node}/properties"), "hive_id");
            assert_eq!(hive, HIVE);
        }
    }

    #[test]
    fn over_pcie_gpus_are_peers_where_the_bus_sees_their_memory() {
        let seen = tree(2, Interconnect::Pcie, true);
        assert_eq!(links(&seen, 1, "p2p"), [[2, 1, 2]]);
        assert_eq!(links(&seen, 2, "p2p"), [[2, 2, 1]]);
        for unlinked in [
            tree(2, Interconnect::Pcie, false),
            tree(2, Interconnect::None, false),
        ] {
            // No link from the CPU: its memory banks are private.
            assert!(links(&unlinked, 0, "io").is_empty());
            assert_eq!(
                property(&unlinked, "1/mem_banks/0/properties", "heap_type"),
                2
            );
            for node in 1..=2 {
                assert_eq!(links(&unlinked, node, "io"), [[2, node.into(), 0]]);
                assert!(links(&unlinked, node, "p2p").is_empty());
                let hive = property(&unlinked, &format!("{node}/properties"), "hive_id");
                assert_eq!(hive, 0);
            }
        }
    }

    #[test]
    fn no_two_gpus_are_one() {
        let tree = tree(8, Interconnect::Xgmi, true);
        for name in [
            "drm_render_minor",
            "location_id",
            "unique_id",
            "simd_id_base",
        ] {
            let value = |node| property(&tree, &format!("{node}/properties"), name);
            let values: BTreeSet<u64> = (1..=8).map(value).collect();
            assert_eq!(values.len(), 8, "{name}");
        }
        assert_eq!(text(&tree, "8/gpu_id"), "32768\n");
    }

    #[test]
    fn one_gpu_is_in_no_hive() {
        let tree = tree(1, Interconnect::Xgmi, true);
        assert_eq!(links(&tree, 1, "io"), [[2, 1, 0]]);
        assert_eq!(property(&tree, "1/properties", "hive_id"), 0);
    }
}
