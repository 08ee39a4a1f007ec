//! Which GPU of this machine stands in for which GPU of the checkpoint.
//!
//! Code and register state were made for one model and its firmware, so most properties must be
//! equal; of capacities there may be more. A fast link (XGMI) between two GPUs must be one here
//! too, or the program's peer accesses change their meaning.

use std::collections::BTreeMap;
use std::env;

use strobe_proto::amdgpu::KfdDeviceEntry;

const LINK_XGMI: u32 = 11;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MappingError {
    #[error("the checkpoint needs {needed} GPUs, this machine has {present}")]
    Count { needed: usize, present: usize },
    #[error("no GPU of this machine can stand in for GPU {gpu:#x} of the checkpoint: {difference}")]
    NoMatch { gpu: u32, difference: String },
    #[error("the GPUs of this machine are linked in another way than those of the checkpoint")]
    Links,
}

/// Comparisons a user may turn off, by the variables of CRIU's own plugin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checks {
    firmware: bool,
    sdma_firmware: bool,
    caches: bool,
    gws: bool,
    vram_size: bool,
    capability: bool,
}

impl Checks {
    pub(crate) fn from_environment() -> Self {
        let on = |name| match env::var(name) {
            Ok(value) => !matches!(value.to_ascii_uppercase().as_str(), "0" | "NO"),
            Err(_) => true,
        };
        Self {
            firmware: on("KFD_FW_VER_CHECK"),
            sdma_firmware: on("KFD_SDMA_FW_VER_CHECK"),
            caches: on("KFD_CACHES_COUNT_CHECK"),
            gws: on("KFD_NUM_GWS_CHECK"),
            vram_size: on("KFD_VRAM_SIZE_CHECK"),
            capability: on("KFD_CAPABILITY_CHECK"),
        }
    }
}

/// For each GPU id of the checkpoint, the id of the GPU here.
pub(crate) type Mapping = BTreeMap<u32, u32>;

/// Finds a mapping of all GPUs of `saved` onto those that are `present`; CPUs in both lists only carry links.
pub(crate) fn map(
    saved: &[KfdDeviceEntry],
    present: &[KfdDeviceEntry],
    checks: Checks,
) -> Result<Mapping, MappingError> {
    let sources: Vec<_> = saved.iter().filter(|n| n.gpu_id != 0).collect();
    let targets: Vec<_> = present.iter().filter(|n| n.gpu_id != 0).collect();
    if sources.len() != targets.len() {
        return Err(MappingError::Count {
            needed: sources.len(),
            present: targets.len(),
        });
    }
    // A GPU that has no match alone is the clearer message.
    for source in &sources {
        let differences: Vec<_> = targets
            .iter()
            .map(|target| difference(source, target, checks))
            .collect();
        if let Some(Some(first)) = differences
            .iter()
            .all(Option::is_some)
            .then(|| differences[0].clone())
        {
            return Err(MappingError::NoMatch {
                gpu: source.gpu_id,
                difference: first,
            });
        }
    }
    let mut chosen = Vec::new();
    if !extend(&sources, &targets, checks, &mut chosen) {
        return Err(MappingError::Links);
    }
    Ok(sources
        .iter()
        .zip(chosen)
        .map(|(s, t)| (s.gpu_id, targets[t].gpu_id))
        .collect())
}

/// Chooses a target for the next source and so on, going back where that leads nowhere.
fn extend(
    sources: &[&KfdDeviceEntry],
    targets: &[&KfdDeviceEntry],
    checks: Checks,
    chosen: &mut Vec<usize>,
) -> bool {
    let Some(source) = sources.get(chosen.len()) else {
        return true;
    };
    // The same GPU first, if it is still here.
    let mut order: Vec<usize> = (0..targets.len()).collect();
    order.sort_by_key(|&t| targets[t].gpu_id != source.gpu_id);
    for candidate in order {
        let fits = !chosen.contains(&candidate)
            && difference(source, targets[candidate], checks).is_none()
            && chosen.iter().zip(sources).all(|(&other, &other_source)| {
                let pair = (source, other_source);
                let pair_here = (targets[candidate], targets[other]);
                let needed = is_xgmi(pair.0, pair.1) || is_xgmi(pair.1, pair.0);
                !needed || is_xgmi(pair_here.0, pair_here.1) || is_xgmi(pair_here.1, pair_here.0)
            });
        if fits {
            chosen.push(candidate);
            if extend(sources, targets, checks, chosen) {
                return true;
            }
            chosen.pop();
        }
    }
    false
}

fn is_xgmi(from: &KfdDeviceEntry, to: &KfdDeviceEntry) -> bool {
    from.iolinks
        .iter()
        .any(|l| l.r#type == LINK_XGMI && l.node_to_id == to.node_id)
}

/// The first property that keeps `present` from standing in for `saved`.
fn difference(saved: &KfdDeviceEntry, present: &KfdDeviceEntry, checks: Checks) -> Option<String> {
    macro_rules! equal {
        ($($field:ident)*) => {$(
            if saved.$field != present.$field {
                return Some(format!(
                    concat!(stringify!($field), " was {:#x} and is {:#x} here"),
                    saved.$field, present.$field,
                ));
            }
        )*};
    }
    macro_rules! at_least {
        ($($check:ident: $field:ident)*) => {$(
            if checks.$check && saved.$field > present.$field {
                return Some(format!(
                    concat!(stringify!($field), " was {} and is only {} here"),
                    saved.$field, present.$field,
                ));
            }
        )*};
    }
    equal!(vendor_id device_id simd_count mem_banks_count io_links_count max_waves_per_simd
        lds_size_in_kb wave_front_size array_count simd_arrays_per_engine cu_per_simd_array
        simd_per_cu max_slots_scratch_cu num_sdma_engines num_sdma_xgmi_engines
        num_sdma_queues_per_engine num_cp_queues vram_public);
    if checks.capability {
        equal!(capability);
    }
    at_least!(vram_size: vram_size gws: num_gws caches: caches_count firmware: fw_version
        sdma_firmware: sdma_fw_version);
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_proto::amdgpu::DevIolink;

    const ALL: Checks = Checks {
        firmware: true,
        sdma_firmware: true,
        caches: true,
        gws: true,
        vram_size: true,
        capability: true,
    };

    fn gpu(node_id: u32, gpu_id: u32) -> KfdDeviceEntry {
        KfdDeviceEntry {
            node_id,
            gpu_id,
            device_id: 0x66a1,
            vram_size: 16,
            ..Default::default()
        }
    }

    fn linked(mut gpu: KfdDeviceEntry, to: &[u32]) -> KfdDeviceEntry {
        let link = |&node_to_id| DevIolink {
            r#type: LINK_XGMI,
            node_to_id,
        };
        gpu.iolinks = to.iter().map(link).collect();
        gpu
    }

    fn ids(mapping: &Mapping) -> Vec<(u32, u32)> {
        mapping.iter().map(|(from, to)| (*from, *to)).collect()
    }

    #[test]
    fn a_gpu_is_matched_by_what_it_is_not_by_its_number() {
        let cpu = KfdDeviceEntry {
            cpu_cores_count: 8,
            ..Default::default()
        };
        let saved = [cpu.clone(), gpu(1, 10)];
        let present = [cpu, gpu(1, 77)];
        assert_eq!(ids(&map(&saved, &present, ALL).unwrap()), [(10, 77)]);
    }

    #[test]
    fn the_same_gpu_is_preferred() {
        let saved = [gpu(1, 10), gpu(2, 20)];
        let present = [gpu(1, 20), gpu(2, 10)];
        assert_eq!(
            ids(&map(&saved, &present, ALL).unwrap()),
            [(10, 10), (20, 20)]
        );
    }

    #[test]
    fn another_model_is_refused_by_name() {
        let other = KfdDeviceEntry {
            device_id: 0x7408,
            ..gpu(1, 10)
        };
        let error = map(&[gpu(1, 10)], &[other], ALL).unwrap_err().to_string();
        assert!(
            error.contains("device_id was 0x66a1 and is 0x7408 here"),
            "{error}"
        );
        let error = map(&[gpu(1, 10)], &[], ALL).unwrap_err();
        assert_eq!(
            error,
            MappingError::Count {
                needed: 1,
                present: 0
            }
        );
    }

    #[test]
    fn more_memory_will_do_and_less_only_where_the_user_says_so() {
        let more = KfdDeviceEntry {
            vram_size: 32,
            ..gpu(1, 10)
        };
        let less = KfdDeviceEntry {
            vram_size: 8,
            ..gpu(1, 10)
        };
        assert!(map(&[gpu(1, 10)], &[more], ALL).is_ok());
        assert!(map(&[gpu(1, 10)], std::slice::from_ref(&less), ALL).is_err());
        let lenient = Checks {
            vram_size: false,
            ..ALL
        };
        assert!(map(&[gpu(1, 10)], &[less], lenient).is_ok());
    }

    #[test]
    fn fast_links_are_kept_even_if_that_moves_the_others() {
        // There: 10 and 20 are linked, 30 stands alone. Here: 2 and 3 are linked.
        let saved = [
            linked(gpu(1, 10), &[2]),
            linked(gpu(2, 20), &[1]),
            gpu(3, 30),
        ];
        let present = [
            gpu(1, 101),
            linked(gpu(2, 102), &[3]),
            linked(gpu(3, 103), &[2]),
        ];
        assert_eq!(
            ids(&map(&saved, &present, ALL).unwrap()),
            [(10, 102), (20, 103), (30, 101)]
        );
        let apart = [gpu(1, 101), gpu(2, 102), gpu(3, 103)];
        assert_eq!(map(&saved, &apart, ALL).unwrap_err(), MappingError::Links);
    }
}
