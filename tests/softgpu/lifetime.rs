//! What becomes of the programs when `strobe softgpu` ends.

use std::fs;

use nix::sys::stat::{Mode, SFlag, makedev, mknod};

use super::harness::environment::{Environment, wait_until};
use super::harness::{Folder, hip_program, run};

#[test]
fn killing_the_command_ends_every_program_on_the_device_and_the_device() {
    let folder = Folder::new("softgpu-kill");
    let mut place = Environment::new(&folder, &[]);
    let spinning = place.start("spinning", &[&hip_program("endless.cpp")]);
    spinning.says("spinning");
    // One that is in a session of its own, as programs under `strobe run` are.
    let own_session = place.start("own", &["setsid", "--wait", "sleep", "1000"]);
    let device = place.start("device", &["stat", "-c", "device:%t:%T", "/dev/kfd"]);
    let generation = place.start(
        "generation",
        &["od", "-An", "-tx1", "-j16", "-N8", "/dev/kfd"],
    );
    let numbers = device.says("device:");
    let generation = generation.says(" ");
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(place.keeper().cast_signed()),
        nix::sys::signal::Signal::SIGKILL,
    )
    .expect("it runs");
    for program in [&spinning, &own_session] {
        wait_until("end of the programs", || {
            (!program.is_alive()).then_some(())
        });
    }
    // Another test's device may have the loop device's number by now.
    let (major, minor) = numbers.split_once(':').expect(&numbers);
    let number = |text| u64::from_str_radix(text, 16).expect("a number");
    let node = folder.join("node");
    let rdev = makedev(number(major), number(minor));
    mknod(&node, SFlag::S_IFBLK, Mode::S_IRUSR, rdev).expect("a node");
    wait_until("end of the device", || {
        let output = std::process::Command::new("od")
            .args(["-An", "-tx1", "-j16", "-N8"])
            .arg(&node)
            .output()
            .expect("od starts");
        let now = String::from_utf8_lossy(&output.stdout).into_owned();
        (now.trim() != generation.trim()).then_some(())
    });
}

#[test]
fn a_program_left_behind_in_order_goes_on() {
    let folder = Folder::new("softgpu-left");
    let pid_file = folder.join("pid");
    let script = format!(
        "setsid {} > {} 2>&1 < /dev/null & echo $! > {}; \
         while ! grep -q spinning {}; do sleep 0.05; done",
        hip_program("endless.cpp"),
        folder.join("output").display(),
        pid_file.display(),
        folder.join("output").display(),
    );
    run(["softgpu", "--", "sh", "-c", &script]).well();
    let pid = fs::read_to_string(&pid_file).expect("a number");
    let pid = pid.trim().parse().expect("a number");
    assert!(strobe_evaluation::session::is_alive(pid), "it was ended");
    strobe_evaluation::session::signal(pid, "TERM").expect("it runs");
    wait_until("its end", || {
        fs::read_to_string(folder.join("output"))
            .ok()
            .filter(|text| text.contains("ended right"))
    });
}
