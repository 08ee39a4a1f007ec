//! The processors that a software GPU can be.

use strobe_isa::Target;

use super::harness::rocm::ROCM_72;
use super::harness::{Ended, Folder, hip_program, hip_program_for, run, strobe};

/// A program of ROCm 7.2: the machine's own does not know that processor.
fn on_gfx942(options: &[&str], source: &str, arguments: &[&str]) -> Ended {
    let program = ROCM_72.program_for(&Target::GFX942, source);
    let folder = Folder::new("gfx942");
    let mut command = strobe().command();
    command
        .args(["softgpu", "--target", "gfx942"])
        .args(options);
    command.arg("--").args(ROCM_72.environment()).arg(program);
    let output = command.args(arguments).current_dir(folder.path()).output();
    Ended::new(&output.expect("strobe starts"))
}

fn on_gfx90a(options: &[&str], program: &[&str]) -> Ended {
    let head = ["softgpu", "--target", "gfx90a"];
    let head = head.into_iter().chain(options.iter().copied());
    run(head.chain(["--"]).chain(program.iter().copied()))
}

#[test]
fn a_target_that_there_is_not_is_refused_with_those_that_there_are() {
    let ended = run(["softgpu", "--target", "gfx908", "--", "true"]);
    assert_eq!(ended.code, Some(2));
    for words in [
        "'gfx908' for '--target <TARGET>'",
        "gfx906, gfx90a or gfx942",
    ] {
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
}

#[test]
fn rocminfo_lists_an_mi200() {
    let ended = on_gfx90a(&[], &["rocminfo"]).well();
    let isa = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-";
    assert!(ended.stdout.contains(isa), "{}", ended.stdout);
}

/// Also where each wave is evicted again and again, accumulation registers and all.
#[test]
fn matrices_packed_singles_and_doubles_are_what_the_host_computes() {
    let program = hip_program_for(&Target::GFX90A, "matrix.cpp");
    for options in [&[][..], &["--faults", "evict@5=500"]] {
        nothing_is_wrong(on_gfx90a(options, &[&program, "7"]));
        nothing_is_wrong(on_gfx942(options, "matrix.cpp", &["7"]));
    }
}

#[track_caller]
fn nothing_is_wrong(ended: Ended) {
    let ended = ended.well();
    let lines: Vec<_> = ended.stdout.lines().collect();
    assert_eq!(lines.len(), 32, "{}", ended.stdout);
    for line in lines {
        assert!(line.ends_with(" wrong 0"), "{line}");
    }
}

/// Each of which checks what it computes, or prints it. (Not the training: of its sums the compiler fuses others where it
/// packs singles.)
#[test]
fn programs_say_the_same_on_every_target() {
    let cases: [(&str, &[&str]); 7] = [
        ("mixed.cpp", &["3"]),
        ("random.cpp", &["1024"]),
        ("tables.cpp", &["3"]),
        ("several.cpp", &["3"]),
        ("together.cpp", &["1", "4"]),
        ("underway.cpp", &["1000"]),
        ("unknown_launches.cpp", &["graph", "2"]),
    ];
    for (source, arguments) in cases {
        let of = |target: &Target, program: String| {
            let folder = Folder::new("targets");
            let mut command = strobe().command();
            command.args(["softgpu", "--target", target.name, "--"]);
            command.arg(program).args(arguments);
            let output = command.current_dir(folder.path()).output();
            Ended::new(&output.expect("strobe starts")).well()
        };
        let on_gfx906 = of(&Target::GFX906, hip_program(source));
        let program = hip_program_for(&Target::GFX90A, source);
        let on_gfx90a = of(&Target::GFX90A, program);
        assert_eq!(on_gfx90a.stdout, on_gfx906.stdout, "{source}");
        // The newer compiler takes its time.
        if ["mixed.cpp", "tables.cpp", "several.cpp", "underway.cpp"].contains(&source) {
            let on_gfx942 = on_gfx942(&[], source, arguments).well();
            assert_eq!(on_gfx942.stdout, on_gfx906.stdout, "{source}");
        }
    }
}

#[test]
fn a_trap_and_a_wild_write_end_the_program_with_the_runtime_s_own_messages() {
    let program = hip_program_for(&Target::GFX90A, "faults.cpp");
    for (what, words) in [
        ("wild", "on address 0x10000. Reason: Page not present"),
        ("trap", "HSA_STATUS_ERROR_EXCEPTION"),
    ] {
        let ended = on_gfx90a(&[], &[&program, what]);
        assert_eq!(ended.code, Some(134), "{}", ended.stderr);
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
}

/// HIP of ROCm 7.2 tells the program.
#[test]
fn a_trap_and_a_wild_write_on_an_mi300_are_errors_of_hip() {
    for (what, error) in [
        ("wild", "hipErrorIllegalAddress"),
        ("trap", "hipErrorLaunchFailure"),
    ] {
        let ended = on_gfx942(&[], "faults.cpp", &[what]);
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        let said = [ended.stdout, ended.stderr].concat();
        assert!(said.contains(error), "{said}");
    }
}
