//! Output that goes to a pipe, whose other end CRIU cannot restore.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::harness::{Ended, Folder, hip_program, restore, run, strobe};

#[test]
fn piped_output_is_passed_on_before_the_checkpoint_and_after_the_restore() {
    const ROUNDS: &str = "60";
    let folder = Folder::new("piped");
    let program = hip_program("mixed.cpp");
    let (pid_file, images) = (folder.join("pid"), folder.join("images"));
    let strobe = strobe();
    let mut command = strobe.command();
    command.args(["softgpu", "--"]).arg(strobe.path());
    command.args(["run", "--pid-file"]).arg(&pid_file);
    command
        .args(["--", &program, ROUNDS])
        .stdout(Stdio::piped());
    let mut child = command.spawn().expect("strobe starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut all = String::new();
    while !all.contains("round 5 ") {
        let read = lines.read_line(&mut all).expect("text");
        assert_ne!(read, 0, "it ended early: {all}");
    }
    let pid = fs::read_to_string(&pid_file).expect("a pid file");
    let taken = ["checkpoint", pid.trim(), "-o"];
    run(taken.iter().map(AsRef::as_ref).chain([images.as_os_str()])).well();
    lines.read_to_string(&mut all).expect("text");
    let status = child.wait().expect("it was ours");
    assert!(status.success(), "{status}");
    assert!(all.ends_with(&format!("end rounds {ROUNDS}\n")), "{all}");

    // The files it wrote to went with it.
    let Ended { stdout: rest, .. } = restore(&images).well();
    let passed_on = all.len() - rest.len();
    assert!(!rest.is_empty() && passed_on > 0, "{rest}");
    assert_eq!(rest, all[passed_on..]);
}
