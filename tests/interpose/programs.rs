//! Programs under `libstrobe.so` on the software GPU: their output is what it is without us, and
//! the agent's last words say what was traced.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use strobe_evaluation::compile;

/// A program of tests/programs/interpose, compiled.
fn program(source: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("programs");
    compile::hip(&format!("interpose/{source}"), "-O2", &folder).expect("hipcc compiles it")
}

/// What ended, and what the agent said about it.
struct Ended {
    output: Output,
    traced: Option<Traced>,
}

#[derive(Debug)]
struct Traced {
    launches: u64,
    checkpoints: u64,
}

impl Ended {
    fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    #[track_caller]
    fn well(self) -> Self {
        assert!(
            self.output.status.success(),
            "{}: {}{}",
            self.output.status,
            self.stdout(),
            self.stderr()
        );
        self
    }

    #[track_caller]
    fn launches(&self) -> u64 {
        match &self.traced {
            Some(traced) => traced.launches,
            None => panic!("nothing was traced: {}", self.stderr()),
        }
    }
}

/// Runs a command on a software GPU of its own, with us preloaded.
fn run(program: &Path, arguments: &[&str]) -> Ended {
    let output = Command::new(env!("CARGO_BIN_EXE_strobe"))
        .args(["softgpu", "--", env!("CARGO_BIN_EXE_strobe"), "run", "--"])
        .arg(program)
        .args(arguments)
        .env("STROBE_LOG", "debug")
        .output()
        .expect("strobe starts");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let words = stderr
        .lines()
        .rfind(|line| line.starts_with("strobe: pid "))
        .map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>());
    let number = |words: &[String], name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1)?.parse().ok()
    };
    let traced = words.and_then(|words| {
        Some(Traced {
            launches: number(&words, "launches")?,
            checkpoints: number(&words, "checkpoints")?,
        })
    });
    Ended { output, traced }
}

#[test]
fn a_linked_program_is_traced_and_computes_the_same() {
    let ended = run(&program("ways.cpp"), &["link"]).well();
    assert_eq!(ended.stdout(), "sum 2080\n");
    assert_eq!(ended.launches(), 3);
}

#[test]
fn launches_of_a_module_count_with_both_forms_of_arguments() {
    let ended = run(&program("ways.cpp"), &["module"]).well();
    assert_eq!(ended.stdout(), "sum 2080\n");
    assert_eq!(ended.launches(), 3);
}

#[test]
fn of_two_registrations_of_a_stub_hip_runs_the_first() {
    let ended = run(&program("registered_twice.cpp"), &[]).well();
    assert_eq!(ended.stdout(), "runs first nothing second\n");
    let alone = Command::new(env!("CARGO_BIN_EXE_strobe"))
        .args(["softgpu", "--"])
        .arg(program("registered_twice.cpp"))
        .output()
        .expect("strobe starts");
    assert_eq!(alone.stdout, ended.output.stdout, "without us");
}

#[test]
fn hip_found_by_dlopen_and_dlsym_is_traced() {
    for scope in ["local", "global", "deepbind"] {
        let ended = run(&program("looked_up.cpp"), &[scope]).well();
        assert_eq!(ended.stdout(), "sum 2080\n", "{scope}");
        assert_eq!(ended.launches(), 2, "{scope}");
    }
}

#[test]
fn what_hip_does_not_have_is_not_there_with_us_either() {
    let ended = run(&program("looked_up.cpp"), &["missing"]).well();
    assert_eq!(
        ended.stdout(),
        "missing: hipGetProcAddress hipNoSuchFunction\n"
    );
}

/// HIP 5.2 captures some calls, and runs others at once on a stream that captures.
#[test]
fn what_runs_at_once_on_a_stream_that_captures_is_announced() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let output = Command::new(env!("CARGO_BIN_EXE_strobe"))
        .args(["softgpu", "--", env!("CARGO_BIN_EXE_strobe"), "run"])
        .arg("--launch-log")
        .arg(&log)
        .arg("--")
        .arg(program("run_at_once.cpp"))
        .output()
        .expect("strobe starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "written 5 7\n");
    let log = std::fs::read_to_string(log).expect("a log");
    let records = log.lines().map(|line| {
        let record: serde_json::Value = serde_json::from_str(line).expect("JSON");
        record
    });
    let ends = |record: &serde_json::Value| {
        let end = |at: usize| record["write"][at].as_u64();
        Some(end(0)?..end(1)?)
    };
    let written: Vec<_> = records.filter_map(|record| ends(&record)).collect();
    let start = written[0].start;
    assert_eq!(written[1..], [start..start + 4, start + 8..start + 16]);
}

/// A program may have anything as descriptor 2: a file of its own, or the GPU's driver.
#[test]
fn what_has_become_descriptor_2_gets_none_of_our_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    let path = file.to_str().expect("UTF-8");
    let ended = run(&program("late_stderr.cpp"), &[path]).well();
    assert_eq!((&*ended.stdout(), &*ended.stderr()), ("last 189\n", ""));
    assert_eq!(std::fs::read_to_string(file).expect("its file"), "mine\n");
    let ended = run(&program("late_stderr.cpp"), &[]).well();
    assert_eq!((&*ended.stdout(), &*ended.stderr()), ("last 189\n", ""));
}

#[test]
fn python_reaches_hip_through_us() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/interpose/launch.py");
    let ended = run(Path::new("python3"), &[script.to_str().expect("UTF-8")]).well();
    assert_eq!(ended.stdout(), "sum 2080\n");
    assert_eq!(ended.launches(), 1);
}

#[test]
fn threads_streams_and_callbacks_work_and_every_launch_counts() {
    let ended = run(&program("threads.cpp"), &[]).well();
    assert_eq!(ended.stdout(), "threads 4 callbacks 4 bad 0\n");
    assert_eq!(ended.launches(), 4 * 25);
}

/// Five launches of what was captured, three kernels each, and one of what was made of it. What is captured
/// counts as launched, too: HIP may do either.
#[test]
fn a_graph_does_what_was_captured_until_it_is_changed() {
    let ended = |change| {
        let ended = run(&program("graph.cpp"), &[change]).well();
        (ended.launches(), ended.stdout())
    };
    for (change, launches, said) in [
        ("none", 21, "graph 12 7\n"),
        // Of another capture, of one kernel.
        ("update", 21, "graph 10 16\n"),
        // Whatever these do is one thing that may write anything, and is no launch that counts.
        ("exec", 18, "graph 41 7\n"),
        ("graph", 18, "graph 42 7\n"),
        ("inside", 20, "graph 40 9\n"),
        ("clone", 18, "graph 12 7\n"),
    ] {
        assert_eq!(ended(change), (launches, said.to_owned()), "{change}");
    }
}

#[test]
fn children_in_an_environment_of_their_own_are_watched_and_errors_stay_what_they_are() {
    let program = program("children.cpp");
    for arguments in [
        &["execve"][..],
        &["vfork"],
        &["execv"],
        &["execvp"],
        &["execvpe"],
        &["execveat"],
        &["fexecve"],
        &["posix_spawn"],
        &["posix_spawnp"],
        &["execve", "overwrite"],
        &["posix_spawn", "overwrite"],
    ] {
        let function = arguments.join(" ");
        let ended = run(&program, arguments).well();
        let stdout = ended.stdout();
        let (variables, answers) = stdout.split_at(stdout.find("0 ").expect("an answer"));
        let expected = "0 No such file or directory\nBad address\nBad address\n";
        assert_eq!(answers, expected, "{function}");
        let names = variables
            .lines()
            .map(|line| line.split_once('=').expect("a variable"));
        let (names, values): (Vec<_>, Vec<_>) = names.unzip();
        let expected = ["A", "LD_PRELOAD", "STROBE_JOURNAL", "STROBE_TREE"];
        assert_eq!(names, expected, "{function}");
        // The software GPU's library comes to nobody whose program has left it out.
        assert!(
            values[1].ends_with("libstrobe.so"),
            "{function}: {}",
            values[1]
        );
    }
}

#[test]
fn forked_children_do_not_talk_for_us() {
    let ended = run(&program("forks.cpp"), &[]).well();
    assert_eq!(ended.stdout(), "child 0 exec 0 parent 2\n");
    let lines = ended
        .stderr()
        .lines()
        .filter(|l| l.starts_with("strobe: pid "))
        .count();
    assert_eq!(lines, 1, "only the parent has an agent: {}", ended.stderr());
}

#[test]
fn errors_and_the_current_device_stay_as_the_program_left_them() {
    let ended = run(&program("unseen.cpp"), &[]).well();
    assert_eq!(ended.stdout(), "errors ok device 0 cancelled ok\n");
}

#[test]
fn a_process_without_gpu_calls_has_no_agent() {
    let ended = run(Path::new("/bin/true"), &[]).well();
    assert!(ended.traced.is_none(), "{:?}", ended.traced);
    assert_eq!(ended.traced.map(|t| t.checkpoints), None);
}
