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

/// There are more work-groups than threads.
#[test]
fn work_groups_that_wait_for_one_another_all_have_their_turn() {
    let program = hip_program("together.cpp");
    // Of the last there is one on a compute unit, and as many as there are compute units.
    let ended = on_softgpu(&[], &[&program, "1", "4", "60", "16x61440"]).well();
    let right = [1, 4, 60, 16].map(|groups| {
        ["sleep", "spin", "grid", "private"].map(|way| format!("groups {groups} {way} wrong 0\n"))
    });
    let expected = format!(
        "cooperative launch 1\n{}too many hipErrorCooperativeLaunchTooLarge\n",
        right.concat().concat()
    );
    assert_eq!(ended.stdout, expected);
}

/// Of 40 with private memory some fit into the save area, and wait for those that do not.
#[test]
fn work_groups_that_wait_for_one_another_are_evicted_all_or_go_on_all() {
    let program = hip_program("together.cpp");
    // In the middle of a turn, and not before its end.
    for plan in ["evict@3=50000", "evict@3=300000"] {
        let options = ["--faults", plan];
        let ended = on_softgpu(&options, &["timeout", "100", &program, "40"]).well();
        let expected = "groups 40 private wrong 0\n";
        assert!(ended.stdout.contains(expected), "{plan}: {}", ended.stdout);
    }
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
fn the_access_log_has_what_launches_were_given() {
    let folder = Folder::new("softgpu-launches");
    let log = folder.join("accesses");
    let path = log.to_str().expect("a path in UTF-8");
    let options = ["--access-log", path, "--log-launches"];
    on_softgpu(&options, &[&hip_program("vadd.cpp")]).well();
    let text = fs::read_to_string(&log).expect("a log");
    let records: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    let at = records.iter().position(|r| r["grid"][0] == 391 * 256);
    let at = at.expect("a record of the kernel");
    let memory = records[..at].iter().rfind(|r| r["memory"].is_array());
    let memory = memory.expect("what was mapped")["memory"].as_array();
    let mapped_at = |address: u64| {
        let of_start = |m: &&Value| m[0].as_u64().is_some_and(|start| start <= address);
        let mapping = memory.expect("a list").iter().filter(of_start);
        mapping.max_by_key(|m| m[0].as_u64()).expect("a mapping")
    };
    let kernel = mapped_at(records[at]["kernel_object"].as_u64().expect("an address"));
    let code = records[..at].iter().find(|r| r["code"] == kernel[3]);
    let image = code.expect("the code")["image"].as_str();
    assert!(
        image.expect("bytes").starts_with("7f454c46"),
        "an ELF header"
    );
    // Three arrays of 400,000 bytes; of each its first 4 KiB.
    let behind = records[at]["behind"].as_array().expect("a list");
    assert_eq!(behind.len(), 3);
    for array in behind {
        assert_eq!(array[1].as_str().expect("bytes").len(), 2 * 4096);
        let place = mapped_at(array[0].as_u64().expect("an address"));
        assert_eq!(place[2], "device");
    }
    // a[1] is 1, b[1] is 2; c is not computed yet.
    let second = |array: &Value| array[1].as_str().map(|bytes| bytes[8..16].to_owned());
    let seconds: Vec<_> = behind.iter().filter_map(second).collect();
    assert_eq!(seconds, ["0000803f", "00000040", "00000000"]);
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
