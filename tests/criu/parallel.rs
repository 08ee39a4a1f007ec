//! Buffer objects are filled by a process beside CRIU, which goes on meanwhile.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use strobe_criu::locate::{CRIU_VARIABLE, Criu};
use strobe_criu::run::softgpu_library;
use strobe_program::process;

use super::harness::lethal::Lethal;
use super::harness::{self, Ended, Folder, hip_program, start, strobe};
use super::{Program, Run, criu_after, image_named, start_bare, text, wait_until};

/// What CRIU's log says when all is filled.
pub(crate) const FILLED: &str = "all buffer objects are filled";
/// A copy of contents that does not end before the test lets it.
const HELD: &str = "submit,before,1,UNTIL";

fn is_filler(pid: &u32) -> bool {
    text(Path::new(&format!("/proc/{pid}/comm"))) == "strobe-fill\n"
}

/// The processes that fill buffer objects from images below this folder.
fn fillers(folder: &Path) -> Vec<u32> {
    let below = folder.to_str().expect("text");
    let is_ours = |pid: &u32| {
        let line = process::command_line(*pid).unwrap_or_default();
        is_filler(pid) && line.iter().any(|word| word.starts_with(below))
    };
    process::all()
        .expect("/proc")
        .into_iter()
        .filter(is_ours)
        .collect()
}

/// A program that has been dumped without an agent, and has ended.
fn dumped(folder: &Folder) -> (Run, u32) {
    let program = hip_program("holds.cpp");
    let (device, pid) = start_bare(folder, &program, &["24", "7"]);
    let output = folder.join("output");
    wait_until("memory", || text(&output).contains("holding "));
    let library = softgpu_library(pid)
        .expect("its maps")
        .expect("it is on the software GPU");
    let run = Run::new(folder, "images", Some(library));
    run.dump(pid, false).expect("CRIU dumps it");
    wait_until("free process number", || !process::exists(pid));
    drop(device);
    (run, pid)
}

fn is_restored(run: &Run) -> bool {
    run.log("restore.log").contains("finished successfully")
}

/// Lets the program look at its memory.
fn ends_well(mut restore: Program, run: &Run, pid: u32, output: &Path) {
    wait_until("restored program", || {
        let ended = restore.0.try_wait().expect("it was ours").is_some();
        assert!(!ended || is_restored(run), "{}", run.log("restore.log"));
        is_restored(run)
    });
    strobe_evaluation::session::signal(pid, "TERM").expect("it runs");
    let status = restore.0.wait().expect("it was ours");
    assert!(status.success(), "{status}: {}", text(output));
    assert!(text(output).ends_with("kept\n"), "{}", text(output));
}

fn restore(run: &Run) -> Program {
    let _ = fs::remove_file(run.work.join("restore.log"));
    let mut command = run.restore_command(&run.images, &[]);
    Program(command.spawn().expect("strobe starts"))
}

#[test]
fn all_else_is_restored_while_buffer_objects_are_filled_and_nothing_runs_before_they_are() {
    let folder = Folder::new("criu-parallel");
    let (mut run, pid) = dumped(&folder);
    run.criu = Lethal::new(&folder, HELD).criu();
    let restoring = restore(&run);
    // Host memory and threads are there when CRIU comes to this.
    let log = || run.log("restore.log");
    wait_until("last hook", || log().contains("Run late stage hook"));
    assert_eq!(fillers(folder.path()).len(), 1, "{}", log());
    assert!(log().contains("nr_restored_pages"), "{}", log());
    assert!(!log().contains(FILLED) && !is_restored(&run), "{}", log());
    let state = process::stat(pid).expect("it is there").state;
    assert_eq!(state, 't', "it runs");
    fs::write(folder.join("go"), "").expect("a file");
    ends_well(restoring, &run, pid, &folder.join("output"));
    assert!(log().contains(FILLED), "{}", log());
    assert_eq!(fillers(folder.path()), [0; 0]);
}

#[test]
fn what_cannot_be_filled_fails_the_restore_by_name_and_nothing_runs() {
    let folder = Folder::new("criu-parallel-fails");
    let (mut run, pid) = dumped(&folder);
    let output = folder.join("output");
    let said = text(&output);
    let refused = |run: &Run, why: &str| {
        let _ = fs::remove_file(run.work.join("restore.log"));
        let status = run.restore_on_new_device(&run.images, &[]);
        let log = run.log("restore.log");
        assert!(!status.success(), "{log}");
        assert!(log.contains(&format!("Error (strobe): {why}")), "{log}");
        assert_eq!(fillers(folder.path()), [0; 0]);
        wait_until("end of the program", || !process::exists(pid));
        assert_eq!(text(&output), said, "it ran");
    };
    let pages = image_named(&run.images, "amdgpu-pages-");
    let whole = fs::read(&pages).expect("an image");
    let file = File::options().write(true).open(&pages).expect("an image");
    file.set_len(whole.len() as u64 / 2)
        .expect("a shorter image");
    let name = pages
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    refused(&run, &format!("image {name} cannot be read"));
    fs::write(&pages, &whole).expect("an image");
    // Somebody ends the process that fills.
    let criu = std::mem::replace(
        &mut run.criu,
        Lethal::new(&folder, "submit,before,1,SELF").criu(),
    );
    refused(&run, "the process that fills buffer objects has ended");
    run.criu = criu;
    ends_well(restore(&run), &run, pid, &output);
}

/// A checkpoint of a program of Strobe's, which has ended.
fn checkpointed(folder: &Folder) -> u32 {
    let program = hip_program("mixed.cpp");
    let mut session = start(folder, &[&program, "1000000", "log"]);
    session
        .wait_for("log", "round 1 ", harness::LIMIT)
        .expect("it works");
    let pid = session.pid();
    harness::checkpoint(&session, &folder.join("images"), &[]).well();
    session.kill().expect("it is there");
    folder.rounds_enough();
    pid
}

fn restore_with(folder: &Folder, criu: &Criu) -> Child {
    let strobe = strobe();
    let mut command = strobe.command();
    command
        .args(["softgpu", "--"])
        .arg(strobe.path())
        .args(["restore", "--wait"])
        .arg(folder.join("images"))
        .env(CRIU_VARIABLE, &criu.path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().expect("strobe starts")
}

#[test]
fn criu_killed_in_the_middle_of_a_fill_leaves_nothing_and_another_restore_succeeds() {
    let folder = Folder::new("criu-parallel-killed");
    let pid = checkpointed(&folder);
    let log = text(&folder.join("log"));
    let restoring = restore_with(&folder, &Lethal::new(&folder, HELD).criu());
    // CRIU waits for nothing else by then.
    wait_until("process to be let go", || {
        process::tracer(pid).is_some_and(|_| process::stat(pid).is_ok_and(|stat| stat.state == 't'))
    });
    let below = process::tree(restoring.id()).expect("/proc");
    let found: Vec<u32> = below.into_iter().filter(is_filler).collect();
    let [filler] = found[..] else {
        panic!("{found:?}")
    };
    let criu = process::stat(filler).expect("it is there").parent;
    let criu = Pid::from_raw(criu.cast_signed());
    kill(criu, Signal::SIGKILL).expect("it is there");
    let output = restoring.wait_with_output().expect("it was ours");
    Ended::new(&output).badly(&["CRIU was ended by signal 9"]);
    wait_until("end of both", || {
        !process::exists(pid) && !process::exists(filler)
    });
    assert_eq!(text(&folder.join("log")), log, "it ran");
    harness::restore(&folder.join("images")).well();
}

#[test]
fn a_chunk_that_is_damaged_when_it_is_read_fails_the_restore_by_name() {
    let folder = Folder::new("criu-parallel-chunk");
    let pid = checkpointed(&folder);
    let log = text(&folder.join("log"));
    let kept = folder.join("kept");
    // After the command has verified them.
    let damage = format!(
        "mkdir {kept} && cp -a {chunks}/. {kept} && find {chunks} -type f -exec truncate -s 9 {{}} +",
        kept = kept.display(),
        chunks = folder.join("images/chunks").display(),
    );
    let installed = Criu::find(None).expect("CRIU is installed");
    let criu = criu_after(&folder, &installed, &damage);
    let output = restore_with(&folder, &criu).wait_with_output();
    let ended = Ended::new(&output.expect("it was ours")).badly(&["chunk"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    wait_until("end of the program", || !process::exists(pid));
    assert_eq!(text(&folder.join("log")), log, "it ran");
    let chunks = folder.join("images/chunks");
    fs::remove_dir_all(&chunks).expect("the chunks");
    fs::rename(kept, chunks).expect("the chunks");
    harness::restore(&folder.join("images")).well();
}
