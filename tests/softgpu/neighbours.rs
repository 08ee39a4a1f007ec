//! Several programs on one device.

use std::fs;

use strobe_evaluation::session;
use strobe_program::process;

use super::harness::environment::{Environment, wait_until};
use super::harness::{Folder, hip_program};

#[test]
fn two_programs_at_once_compute_what_each_computes_alone() {
    let program = hip_program("mixed.cpp");
    let folder = Folder::new("softgpu-two");
    let mut place = Environment::new(&folder, &[]);
    let alone = place.start("alone", &[&program, "40", "alone.log"]);
    assert_eq!(alone.code(), 0, "{}", alone.output());
    let pair = ["a", "b"].map(|name| place.start(name, &[&program, "40", &format!("{name}.log")]));
    for program in &pair {
        assert_eq!(program.code(), 0, "{}", program.output());
    }
    let log = |name: &str| fs::read_to_string(folder.join(name)).expect("a log");
    assert!(log("alone.log").ends_with("end rounds 40\n"));
    assert_eq!(log("a.log"), log("alone.log"));
    assert_eq!(log("b.log"), log("alone.log"));
}

#[test]
fn a_write_to_a_neighbour_s_address_faults_and_the_neighbour_keeps_its_memory() {
    let (holds, faults) = (hip_program("holds.cpp"), hip_program("faults.cpp"));
    let folder = Folder::new("softgpu-wild");
    let mut place = Environment::new(&folder, &[]);
    let victim = place.start("victim", &[&holds, "8", "7"]);
    let address = victim.says("holding ");
    let wild = place.start("wild", &[&faults, "wild", &address]);
    assert_eq!(wild.code(), 134, "{}", wild.output());
    let expected = "Reason: Page not present";
    assert!(wild.output().contains(expected), "{}", wild.output());
    victim.signal("TERM");
    victim.says("kept");
    assert_eq!(victim.code(), 0, "{}", victim.output());
}

#[test]
fn what_a_killed_program_held_is_free_again() {
    let holds = hip_program("holds.cpp");
    let folder = Folder::new("softgpu-killed");
    let mut place = Environment::new(&folder, &["--vram", "96M"]);
    let first = place.start("first", &[&holds, "48", "1"]);
    first.says("holding ");
    let small = place.start("small", &[&holds, "8", "2"]);
    small.says("holding ");
    let refused = place.start("refused", &[&holds, "48", "3"]);
    assert_eq!(refused.code(), 3, "{}", refused.output());
    refused.says("full");
    first.signal("KILL");
    assert_eq!(first.code(), 137);
    let second = place.start("second", &[&holds, "48", "4"]);
    second.says("holding ");
    for program in [&second, &small] {
        program.signal("TERM");
        program.says("kept");
        assert_eq!(program.code(), 0, "{}", program.output());
    }
}

#[test]
fn programs_of_one_number_in_two_pid_namespaces_are_two_and_leave_nothing_behind() {
    const OWN: [&str; 4] = ["unshare", "-pf", "--mount-proc", "--kill-child"];
    let holds = hip_program("holds.cpp");
    let folder = Folder::new("softgpu-namespaces");
    let mut place = Environment::new(&folder, &["--vram", "96M"]);
    let mut start = |name: &str, megabytes: &str, seed: &str| {
        let program = [holds.as_str(), megabytes, seed];
        let program = place.start(name, &[&OWN[..], &program].concat());
        let holds = wait_until("word", || {
            let output = program.output();
            let word = ["holding ", "full\n"].map(|word| output.contains(word));
            word.contains(&true).then_some(word[0])
        });
        (program, holds)
    };
    let (first, holds) = start("first", "48", "1");
    assert!(holds);
    // Neither sees the other, and both are number 1.
    let (small, holds) = start("small", "8", "2");
    assert!(holds);
    let (_, holds) = start("refused", "48", "3");
    assert!(!holds);
    first.signal("KILL");
    let mut attempts = 0..;
    let second = wait_until("room", || {
        let (program, holds) = start(&format!("second-{}", attempts.next()?), "48", "4");
        holds.then_some(program)
    });
    for program in [&second, &small] {
        let inside = process::tree(program.pid()).expect("it runs");
        let inside = inside.last().expect("unshare has a child");
        session::signal(*inside, "TERM").expect("it runs");
        program.says("kept");
        assert_eq!(program.code(), 0, "{}", program.output());
    }
}

#[test]
fn a_killed_program_takes_its_endless_kernel_with_it() {
    let (endless, vadd) = (hip_program("endless.cpp"), hip_program("vadd.cpp"));
    let folder = Folder::new("softgpu-killed-endless");
    let mut place = Environment::new(&folder, &[]);
    let killed = place.start("killed", &[&endless]);
    killed.says("spinning");
    killed.signal("KILL");
    assert_eq!(killed.code(), 137);
    assert!(!killed.is_alive());
    let next = place.start("next", &[&vadd]);
    next.says("vadd bad=0");
    assert_eq!(next.code(), 0, "{}", next.output());
}
