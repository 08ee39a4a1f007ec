//! Which GPU of this machine stands in for which GPU of the checkpoint, as CRIU's own plugin decides it.
//!
//! Code and register state were made for one model and its firmware, so most properties must be
//! equal; of capacities there may be more. Of links there must be as many that do as well. What XGMI joins
//! stays together: groups are mapped first, whole groups into whole groups. CPUs are mapped by the links
//! that GPUs have to them, each to one for all GPUs: near memory stays near.

#[cfg(test)]
mod scenarios;
mod search;

use std::collections::BTreeMap;

use strobe_proto::amdgpu::KfdDeviceEntry;

use crate::links::Links;
use crate::options::Checks;
use search::{Search, Side};

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MappingError {
    #[error("the checkpoint needs {needed} GPUs, this machine has {present}")]
    Count { needed: usize, present: usize },
    #[error("no GPU of this machine can stand in for GPU {gpu:#x} of the checkpoint: {difference}")]
    NoMatch { gpu: u32, difference: String },
    #[error("the GPUs of this machine are linked in another way than those of the checkpoint")]
    Links,
    #[error("among so many GPUs no way was found to replace those of the checkpoint")]
    TooMany,
}

/// For each GPU id of the checkpoint, the id of the GPU here.
pub(crate) type Mapping = BTreeMap<u32, u32>;

/// Finds a mapping of all GPUs of `saved` onto those that are `present`; CPUs in both lists only carry links.
pub(crate) fn map(
    saved: &[KfdDeviceEntry],
    present: &[KfdDeviceEntry],
    checks: Checks,
) -> Result<Mapping, MappingError> {
    let (there, here) = (Side::new(saved), Side::new(present));
    if there.gpus.len() != here.gpus.len() {
        return Err(MappingError::Count {
            needed: there.gpus.len(),
            present: here.gpus.len(),
        });
    }
    // A GPU that has no match alone is the clearer message.
    for &source in &there.gpus {
        let difference = |&target: &usize| difference(&saved[source], &present[target], checks);
        let all: Option<Vec<String>> = here.gpus.iter().map(difference).collect();
        if let Some(first) = all.and_then(|all| all.into_iter().next()) {
            return Err(MappingError::NoMatch {
                gpu: saved[source].gpu_id,
                difference: first,
            });
        }
    }
    let gpus = Search::new(&there, &here, checks).run()?;
    let ids = |(source, target): (usize, usize)| (saved[source].gpu_id, present[target].gpu_id);
    Ok(gpus.into_iter().map(ids).collect())
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

    fn gpu(node_id: u32, gpu_id: u32) -> KfdDeviceEntry {
        KfdDeviceEntry {
            node_id,
            gpu_id,
            device_id: 0x66a1,
            vram_size: 16,
            ..Default::default()
        }
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
        assert_eq!(
            ids(&map(&saved, &present, Checks::ALL).unwrap()),
            [(10, 77)]
        );
    }

    #[test]
    fn the_same_gpu_is_preferred() {
        let saved = [gpu(1, 10), gpu(2, 20)];
        let present = [gpu(1, 20), gpu(2, 10)];
        assert_eq!(
            ids(&map(&saved, &present, Checks::ALL).unwrap()),
            [(10, 10), (20, 20)]
        );
    }

    #[test]
    fn another_model_is_refused_by_name() {
        let other = KfdDeviceEntry {
            device_id: 0x7408,
            ..gpu(1, 10)
        };
        let error = map(&[gpu(1, 10)], &[other], Checks::ALL)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("device_id was 0x66a1 and is 0x7408 here"),
            "{error}"
        );
        let error = map(&[gpu(1, 10)], &[], Checks::ALL).unwrap_err();
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
        assert!(map(&[gpu(1, 10)], &[more], Checks::ALL).is_ok());
        assert!(map(&[gpu(1, 10)], std::slice::from_ref(&less), Checks::ALL).is_err());
        let lenient = Checks {
            vram_size: false,
            ..Checks::ALL
        };
        assert!(map(&[gpu(1, 10)], &[less], lenient).is_ok());
    }
}
