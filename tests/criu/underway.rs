//! Dumps in the middle of kernels: the waves are evicted, and their state is among the process's memory.

use std::fs;
use std::path::PathBuf;

use strobe_criu::run::softgpu_library;
use strobe_evaluation::session;
use strobe_program::process;

use super::harness::{Folder, hip_program};
use super::{Program, Run, start_bare_on, text, wait_until};

/// A program in the middle of a kernel.
struct UnderWay {
    folder: Folder,
    device: Program,
    pid: u32,
    library: PathBuf,
}

impl UnderWay {
    /// `word` is what the program says then.
    fn start(name: &str, device: &[&str], source: &str, arguments: &[&str], word: &str) -> Self {
        let folder = Folder::new(name);
        let program = hip_program(source);
        let (device, pid) = start_bare_on(device, &folder, &program, arguments);
        let output = folder.join("output");
        wait_until("kernel", || text(&output).contains(word));
        let library = softgpu_library(pid).expect("its maps");
        let library = library.expect("it is on the software GPU");
        Self {
            folder,
            device,
            pid,
            library,
        }
    }

    fn output(&self) -> String {
        text(&self.folder.join("output"))
    }

    fn dump(&self, name: &str, leave_running: bool) -> Run {
        let run = Run::new(&self.folder, name, Some(self.library.clone()));
        let dumped = run.dump(self.pid, leave_running);
        dumped.unwrap_or_else(|error| panic!("{error}: {}", run.log("dump.log")));
        run
    }

    fn is_gone(&self) {
        wait_until("free process number", || !process::exists(self.pid));
    }

    /// It ends by itself, right.
    fn ends(mut self) {
        let status = self.device.0.wait().expect("it was ours");
        let output = self.output();
        assert!(status.success(), "{status}: {output}");
        assert!(output.ends_with("ended right\n"), "{output}");
    }
}

/// So long that it outlives some dumps.
const ROUNDS: &str = "60000";

#[test]
fn kernels_that_are_dumped_in_their_middle_go_on_to_their_right_end() {
    let program = UnderWay::start(
        "criu-goes-on",
        &[],
        "underway.cpp",
        &[ROUNDS, "go"],
        "way\n",
    );
    for turn in 0..5 {
        program.dump(&format!("images-{turn}"), true);
    }
    assert!(!program.output().contains("right"), "it was too fast");
    fs::write(program.folder.join("go"), "").expect("our folder");
    program.ends();
}

fn come_back(name: &str, devices: [&[&str]; 2]) {
    let program = UnderWay::start(name, devices[0], "underway.cpp", &[ROUNDS, "go"], "way\n");
    // What was dumped before is no part of what is dumped now.
    program.dump("before", true);
    let run = program.dump("images", false);
    assert!(!program.output().contains("right"), "it was too fast");
    program.is_gone();
    fs::write(program.folder.join("go"), "").expect("our folder");
    let at_the_dump = program.output();
    for _ in 0..2 {
        // CRIU looks at its length.
        fs::write(program.folder.join("output"), &at_the_dump).expect("our folder");
        let status = run.restore_on_new_device(&run.images, devices[1]);
        let output = program.output();
        let log = run.log("restore.log");
        assert!(status.success(), "{status}: {output}: {log}");
        assert!(output.ends_with("ended right\n"), "{output}");
    }
}

#[test]
fn kernels_that_are_dumped_in_their_middle_go_on_where_they_are_restored() {
    come_back("criu-under-way", [&[], &[]]);
}

#[test]
fn kernels_go_on_where_the_gpu_has_another_number_and_its_memory_is_its_own() {
    let private = ["--private-vram", "--gpu-ids", "0x1111"];
    let renumbered = ["--private-vram", "--gpu-ids", "0x7777"];
    come_back("criu-under-way-private", [&private, &renumbered]);
}

/// It does nothing else than wait for the host, which is told to let it go.
#[test]
fn a_kernel_that_polls_for_ever_is_dumped_and_restored() {
    let program = UnderWay::start("criu-endless", &[], "endless.cpp", &[], "spinning\n");
    for turn in 0..3 {
        program.dump(&format!("images-{turn}"), true);
        let state = process::stat(program.pid).expect("it is there").state;
        assert!(matches!(state, 'R' | 'S'), "it is in state {state}");
    }
    let run = program.dump("images", false);
    program.is_gone();
    let mut command = run.restore_command(&run.images, &[]);
    let mut restored = Program(command.spawn().expect("strobe starts"));
    wait_until("restored program", || {
        let ended = restored.0.try_wait().expect("it is ours");
        assert!(ended.is_none(), "{}", run.log("restore.log"));
        run.log("restore.log").contains("finished successfully")
    });
    session::signal(program.pid, "TERM").expect("it runs");
    let status = restored.0.wait().expect("it was ours");
    assert!(status.success(), "{status}: {}", program.output());
    let output = program.output();
    assert!(output.ends_with("ended right\n"), "{output}");
}
