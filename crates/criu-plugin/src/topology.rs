//! The machine's CPUs and GPUs as the driver lists them in sysfs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use strobe_proto::amdgpu::{DevIolink, KfdDeviceEntry};

const NODES: &str = "/sys/class/kfd/kfd/topology/nodes";
/// Memory bank types: VRAM the CPU sees, VRAM it does not.
const HEAP_PUBLIC: u64 = 1;
const HEAP_PRIVATE: u64 = 2;

#[derive(Debug, thiserror::Error)]
pub(crate) enum TopologyError {
    #[error("{path} cannot be read: {error}")]
    Read { path: PathBuf, error: io::Error },
    #[error("{path} holds a line that is no property: {line}")]
    Form { path: PathBuf, line: String },
}

/// Reads the nodes that this process may have, in the order of the folder, as CRIU's own plugin lists them.
/// `gpu_id` is 0 for CPUs.
pub(crate) fn read() -> Result<Vec<KfdDeviceEntry>, TopologyError> {
    read_from(Path::new(NODES))
}

/// The render node of a GPU, if it is among the nodes.
pub(crate) fn render_minor(nodes: &[KfdDeviceEntry], gpu_id: u32) -> Option<u32> {
    let node = nodes.iter().find(|node| node.gpu_id == gpu_id)?;
    Some(node.drm_render_minor)
}

fn read_from(nodes: &Path) -> Result<Vec<KfdDeviceEntry>, TopologyError> {
    let mut entries = Vec::new();
    for (number, path) in numbered(nodes)? {
        // Of a GPU that a control group keeps from us the driver does not tell it.
        let gpu_id = fs::read_to_string(path.join("gpu_id"));
        if let Some(gpu_id) = gpu_id.ok().and_then(|text| text.trim().parse().ok()) {
            entries.push(read_node(number, gpu_id, &path)?);
        }
    }
    Ok(entries)
}

fn read_node(number: u32, gpu_id: u32, path: &Path) -> Result<KfdDeviceEntry, TopologyError> {
    let properties = properties(&path.join("properties"))?;
    let property = |name: &str| properties.get(name).copied().unwrap_or(0);
    let word = |name: &str| property(name) as u32;
    let mut entry = KfdDeviceEntry {
        node_id: number,
        gpu_id,
        cpu_cores_count: word("cpu_cores_count"),
        iolinks: links(path)?,
        ..KfdDeviceEntry::default()
    };
    if gpu_id == 0 {
        return Ok(entry);
    }
    let banks = banks(path)?;
    let has = |kind| banks.iter().any(|bank| bank.0 == kind);
    entry.vram_public = has(HEAP_PUBLIC).into();
    entry.vram_size = banks
        .iter()
        .filter(|bank| matches!(bank.0, HEAP_PUBLIC | HEAP_PRIVATE))
        .map(|bank| bank.1)
        .sum();
    entry.simd_count = word("simd_count");
    entry.mem_banks_count = word("mem_banks_count");
    entry.caches_count = word("caches_count");
    entry.io_links_count = word("io_links_count");
    entry.max_waves_per_simd = word("max_waves_per_simd");
    entry.lds_size_in_kb = word("lds_size_in_kb");
    entry.num_gws = word("num_gws");
    entry.wave_front_size = word("wave_front_size");
    entry.array_count = word("array_count");
    entry.simd_arrays_per_engine = word("simd_arrays_per_engine");
    entry.cu_per_simd_array = word("cu_per_simd_array");
    entry.simd_per_cu = word("simd_per_cu");
    entry.max_slots_scratch_cu = word("max_slots_scratch_cu");
    entry.vendor_id = word("vendor_id");
    entry.device_id = word("device_id");
    entry.domain = word("domain");
    entry.drm_render_minor = word("drm_render_minor");
    entry.hive_id = property("hive_id");
    entry.num_sdma_engines = word("num_sdma_engines");
    entry.num_sdma_xgmi_engines = word("num_sdma_xgmi_engines");
    entry.num_sdma_queues_per_engine = word("num_sdma_queues_per_engine");
    entry.num_cp_queues = word("num_cp_queues");
    entry.fw_version = word("fw_version");
    entry.capability = word("capability");
    entry.sdma_fw_version = word("sdma_fw_version");
    Ok(entry)
}

/// (heap type, bytes) of each memory bank.
fn banks(node: &Path) -> Result<Vec<(u64, u64)>, TopologyError> {
    numbered(&node.join("mem_banks"))?
        .into_iter()
        .map(|(_, path)| {
            let bank = properties(&path.join("properties"))?;
            let get = |name| bank.get(name).copied().unwrap_or(0);
            Ok((get("heap_type"), get("size_in_bytes")))
        })
        .collect()
}

fn links(node: &Path) -> Result<Vec<DevIolink>, TopologyError> {
    numbered(&node.join("io_links"))?
        .into_iter()
        .map(|(_, path)| {
            let link = properties(&path.join("properties"))?;
            let word = |name| link.get(name).copied().unwrap_or(0) as u32;
            Ok(DevIolink {
                r#type: word("type"),
                node_to_id: word("node_to"),
            })
        })
        .collect()
}

/// Subfolders named by numbers; none where the folder is absent.
fn numbered(folder: &Path) -> Result<Vec<(u32, PathBuf)>, TopologyError> {
    let failed = |error| TopologyError::Read {
        path: folder.to_path_buf(),
        error,
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(failed(e)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if let Some(number) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        {
            found.push((number, entry.path()));
        }
    }
    Ok(found)
}

fn properties(path: &Path) -> Result<BTreeMap<String, u64>, TopologyError> {
    let mut properties = BTreeMap::new();
    for line in read_file(path)?
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let property = line
            .split_once(' ')
            .and_then(|(name, value)| Some((name.to_owned(), value.trim().parse().ok()?)));
        let (name, value) = property.ok_or_else(|| TopologyError::Form {
            path: path.to_path_buf(),
            line: line.to_owned(),
        })?;
        properties.insert(name, value);
    }
    Ok(properties)
}

fn read_file(path: &Path) -> Result<String, TopologyError> {
    fs::read_to_string(path).map_err(|error| TopologyError::Read {
        path: path.to_path_buf(),
        error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn nodes_banks_and_links_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "0/gpu_id", "0\n");
        write(root, "0/properties", "cpu_cores_count 2\nsimd_count 0\n");
        write(root, "0/io_links/0/properties", "type 2\nnode_to 1\n");
        write(root, "1/gpu_id", "4242\n");
        let text = "simd_count 240\ndevice_id 26273\nhive_id 18446744073709551615\n\n";
        write(root, "1/properties", text);
        write(
            root,
            "1/mem_banks/0/properties",
            "heap_type 2\nsize_in_bytes 17163091968\n",
        );
        write(
            root,
            "1/mem_banks/1/properties",
            "heap_type 4\nsize_in_bytes 65536\n",
        );

        // Of a GPU that is another container's nothing can be read.
        write(root, "2/gpu_id", "");
        fs::create_dir(root.join("3")).unwrap();

        let mut nodes = read_from(root).unwrap();
        nodes.sort_unstable_by_key(|node| node.node_id);
        assert_eq!(nodes.len(), 2);
        assert_eq!((nodes[0].gpu_id, nodes[0].cpu_cores_count), (0, 2));
        assert_eq!(
            nodes[0].iolinks,
            [DevIolink {
                r#type: 2,
                node_to_id: 1
            }]
        );
        let gpu = &nodes[1];
        assert_eq!(
            (gpu.gpu_id, gpu.simd_count, gpu.device_id),
            (4242, 240, 0x66a1)
        );
        assert_eq!(gpu.hive_id, u64::MAX);
        assert_eq!(
            (gpu.vram_public, gpu.vram_size),
            (0, 17_163_091_968),
            "LDS is not VRAM"
        );
    }

    #[test]
    fn a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "0/gpu_id", "0");
        write(folder.path(), "0/properties", "cpu_cores_count two\n");
        let error = read_from(folder.path()).unwrap_err().to_string();
        assert!(
            error.contains("0/properties") && error.contains("two"),
            "{error}"
        );
    }
}
