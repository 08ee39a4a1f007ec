//! Programs of the real stack.

use std::fs;

use serde_json::Value;

use super::harness::{Ended, Folder, hip_program, run};

fn on_softgpu(options: &[&str], program: &[&str]) -> Ended {
    let head = ["softgpu"].into_iter().chain(options.iter().copied());
    run(head.chain(["--"]).chain(program.iter().copied()))
}

/// Both kinds of VRAM: mapped by the CPU, and hidden from it.
const KINDS: [&[&str]; 2] = [&[], &["--private-vram"]];

#[test]
fn rocminfo_lists_the_gpu() {
    let ended = on_softgpu(&[], &["rocminfo"]).well();
    assert!(
        ended.stdout.contains("amdgcn-amd-amdhsa--gfx906"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("is loaded"), "{}", ended.stdout);
}

#[test]
fn a_vector_is_added() {
    let program = hip_program("vadd.cpp");
    for kind in KINDS {
        let ended = on_softgpu(kind, &[&program]).well();
        assert_eq!(ended.stdout, "vadd bad=0\n", "{kind:?}");
    }
}

#[test]
fn streams_lds_atomics_and_pointer_tables_compute_the_same_on_both_kinds_of_vram() {
    let program = hip_program("mixed.cpp");
    let [large, private] = KINDS.map(|kind| on_softgpu(kind, &[&program, "3"]).well().stdout);
    assert!(large.ends_with("end rounds 3\n"), "{large}");
    assert_eq!(large, private);
}

#[test]
fn a_wild_write_ends_the_program_with_the_runtime_s_own_message() {
    let program = hip_program("faults.cpp");
    let ended = on_softgpu(&[], &[&program, "wild"]);
    assert_eq!(ended.code, Some(134), "{}", ended.stderr);
    let expected = "on address 0x10000. Reason: Page not present";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    assert!(!ended.stdout.contains("survived"));
}

#[test]
fn a_trap_ends_the_program_with_the_runtime_s_own_message() {
    let program = hip_program("faults.cpp");
    let ended = on_softgpu(&[], &[&program, "trap"]);
    assert_eq!(ended.code, Some(134), "{}", ended.stderr);
    let expected = "HSA_STATUS_ERROR_EXCEPTION";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
}

#[test]
fn copies_over_the_link_take_the_time_the_model_says() {
    let program = hip_program("transfers.cpp");
    // 4 MB each way at 16 MB/s.
    let ended = on_softgpu(&["--private-vram", "--link-rate", "16M"], &[&program, "4"]).well();
    let time = ended.stdout.trim().strip_prefix("microseconds ");
    let time: u64 = time.and_then(|n| n.parse().ok()).expect(&ended.stdout);
    assert!((450_000..2_000_000).contains(&time), "{time} us");
}

#[test]
fn the_access_log_has_the_extents_that_a_kernel_touched_to_the_byte() {
    let folder = Folder::new("softgpu-log");
    let log = folder.join("accesses");
    let path = log.to_str().expect("a path in UTF-8");
    on_softgpu(&["--access-log", path], &[&hip_program("vadd.cpp")]).well();
    let text = fs::read_to_string(&log).expect("a log");
    let records: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    let add = records
        .iter()
        .find(|record| record["grid"][0] == 391 * 256)
        .expect("a record of the kernel");
    let lengths = |key: &str| -> Vec<u64> {
        let extents = add[key].as_array().expect("a list").iter();
        extents
            .map(|e| e[1].as_u64().unwrap_or(0) - e[0].as_u64().unwrap_or(0))
            .collect()
    };
    assert_eq!(lengths("writes"), [400_000]);
    let arrays = lengths("reads")
        .iter()
        .filter(|length| **length == 400_000)
        .count();
    assert_eq!(arrays, 2, "{add}");
}

#[test]
fn each_environment_is_a_new_device_with_nothing_in_its_memory() {
    let script = "od -An -tx1 -N 4096 -v /dev/dri/renderD128 | tr -d ' \\n0' | wc -c; \
                  printf junk > /dev/dri/renderD128; od -An -tx8 -j 16 -N 8 /dev/kfd";
    let outputs = [0, 1].map(|_| on_softgpu(&[], &["sh", "-c", script]).well().stdout);
    for output in &outputs {
        assert!(output.starts_with("0\n"), "memory was not empty: {output}");
    }
    assert_ne!(outputs[0], outputs[1], "two devices have one generation");
}
