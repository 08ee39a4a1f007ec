//! What Strobe does not do, and says so.

use std::fs;
use std::process::Command;

use strobe_evaluation::{compile, session};

use crate::harness::environment::{Environment, wait_until};
use crate::harness::{
    Ended, Folder, LIMIT, check, checkpoint, checkpoint_of, hip_program, programs, restore,
    restore_on, run, start, strobe, uninterrupted, verify,
};

fn absent(folder: &Folder, name: &str) {
    assert!(!folder.join(name).exists(), "{name} was left behind");
    let left: Vec<_> = fs::read_dir(folder.path())
        .expect("the folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.contains("staging"))
        .collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// Until it is told otherwise.
const FOR_EVER: &str = "1000000";

#[test]
fn a_process_that_is_not_under_strobe_is_refused() {
    let folder = Folder::new("not-strobe");
    let mut sleep = Command::new("sleep").arg("60").spawn().expect("sleep");
    let pid = sleep.id().to_string();
    let images = folder.join("images");
    run(["checkpoint", &pid, "-o", images.to_str().expect("UTF-8")])
        .badly(&[&pid, "not running under strobe"]);
    absent(&folder, "images");
    sleep.kill().expect("it runs");
    wait_until("zombie", || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.contains(") Z ").then_some(())
    });
    run(["checkpoint", &pid, "-o", images.to_str().expect("UTF-8")]).badly(&[&pid, "has ended"]);
    sleep.wait().expect("it ends");
    run(["checkpoint", &pid, "-o", images.to_str().expect("UTF-8")]).badly(&[&pid, "no process"]);
    absent(&folder, "images");
}

/// The program waits for nothing that is only the agent's; what waits there has descriptors that CRIU would take for its own.
#[test]
fn a_cache_folder_that_does_not_answer_holds_no_program_and_a_checkpoint_is_refused() {
    let folder = Folder::new("silent-disk");
    let cache = folder.join("cache");
    fs::create_dir_all(cache.join("strobe")).expect("our folder");
    let disk = compile::host("silent_disk.c", &programs()).expect("it compiles");
    let mut disk = Command::new(disk);
    disk.arg(&cache)
        .stdout(fs::File::create(folder.join("disk")).expect("our folder"));
    let mut disk = disk.spawn().expect("it starts");
    wait_until("silence", || {
        let said = fs::read_to_string(folder.join("disk")).ok()?;
        said.contains("silent").then_some(())
    });
    let cache = format!("XDG_CACHE_HOME={}", cache.display());
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &["env", &cache, &program, FOR_EVER, "log"]);
    let waited = session.wait_for("log", "round 5 ", LIMIT);
    let refused = checkpoint(&session, &folder.join("images"), &[]);
    disk.kill().expect("it runs");
    disk.wait().expect("it ends");
    waited.expect("it works");
    assert_eq!(
        refused
            .badly(&["cache of footprints", "XDG_CACHE_HOME"])
            .code,
        Some(3)
    );
    absent(&folder, "images");
    checkpoint(&session, &folder.join("images"), &[]).well();
    session.kill().expect("it dies");
    let rounds = folder.rounds_enough();
    restore(&folder.join("images")).well();
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert_eq!(log, uninterrupted(rounds));
}

/// CRIU makes a file in the program's name, which would end it by SIGXFSZ.
#[test]
fn a_program_that_may_not_write_large_files_is_refused_and_runs_on() {
    let folder = Folder::new("small-files");
    let program = hip_program("mixed.cpp");
    // After the start: the compiler of the runtime writes larger files.
    let mut session = start(&folder, &[&program, FOR_EVER, "log"]);
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    let pid = session.pid().to_string();
    let limited = Command::new("prlimit")
        .args(["--pid", &pid, "--fsize=100000"])
        .status()
        .expect("prlimit starts");
    assert!(limited.success());
    for mode in ["cow", "stop"] {
        let refused = checkpoint(&session, &folder.join("images"), &["--mode", mode])
            .badly(&["RLIMIT_FSIZE", "100000"]);
        assert_eq!(refused.code, Some(3));
    }
    absent(&folder, "images");
    folder.rounds_enough();
    let status = session.wait(LIMIT).expect("it ends");
    assert!(status.success(), "{status}");
}

/// By which `family` is refused; it goes on.
fn family_is_refused(how: &str, parts: &[&str]) {
    let folder = Folder::new(&format!("family-{how}"));
    let program = hip_program("family.cpp");
    let mut session = start(&folder, &[&program, FOR_EVER, "log", how]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    for mode in ["cow", "stop"] {
        let images = folder.join("images");
        let refused = checkpoint(&session, &images, &["--mode", mode]).badly(parts);
        assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    }
    absent(&folder, "images");
    folder.rounds_enough();
    let status = session.wait(LIMIT).expect("it ends");
    assert!(status.success(), "{status}");
}

/// A restore could not map it: only the process that opened the driver may.
#[test]
fn a_child_that_maps_its_parents_device_memory_is_named_and_both_go_on() {
    let parts = ["/dev/dri/renderD128", "forked", "cannot be restored"];
    family_is_refused("inherits", &parts);
}

/// CRIU keeps seven bits of an ended child's code.
#[test]
fn an_ended_child_whose_code_would_change_is_named_and_its_parent_goes_on() {
    family_is_refused("zombie", &["exit code 200", "waited"]);
}

#[test]
fn a_kernel_that_never_ends_is_named_and_the_program_goes_on() {
    let folder = Folder::new("endless");
    let program = hip_program("endless.cpp");
    let mut session = start(&folder, &[&program]);
    session
        .wait_for("stdout", "spinning", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    let options = ["--cut", "drain", "--drain-timeout", "1"];
    checkpoint(&session, &images, &options).badly(&["spin_forever"]);
    absent(&folder, "images");
    session.signal("TERM").expect("it runs on");
    let status = session.wait(LIMIT).expect("it ends");
    assert!(status.success(), "{status}");
}

#[test]
fn a_program_that_used_an_unmodelled_function_is_refused_by_its_name() {
    let folder = Folder::new("unmodelled");
    let program = hip_program("unmodelled.cpp");
    let mut session = start(&folder, &[&program]);
    session
        .wait_for("stdout", "ready", LIMIT)
        .expect("it works");
    checkpoint(&session, &folder.join("images"), &[]).badly(&["hipIpcGetEventHandle"]);
    absent(&folder, "images");
    assert!(session.is_alive());
}

#[test]
fn a_directory_that_is_there_is_never_overwritten() {
    let folder = Folder::new("occupied");
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &[&program, "100000", "log"]);
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    let images = folder.join("mine");
    fs::create_dir(&images).expect("a directory");
    fs::write(images.join("letter"), "dear").expect("a file");
    checkpoint(&session, &images, &[]).badly(&["mine"]);
    assert_eq!(
        fs::read_to_string(images.join("letter")).expect("the file"),
        "dear"
    );
    assert_eq!(fs::read_dir(&images).expect("the directory").count(), 1);
    verify(&images).badly(&["mine"]);
    restore(&images).badly(&["mine"]);
}

#[test]
fn a_full_disk_leaves_nothing_and_the_program_runs_on() {
    let folder = Folder::new("full-disk");
    let small = folder.join("small");
    fs::create_dir(&small).expect("a directory");
    let mount = |arguments: &[&str]| {
        let status = Command::new(arguments[0])
            .args(&arguments[1..])
            .arg(&small)
            .status();
        assert!(status.expect("it starts").success(), "{arguments:?}");
    };
    mount(&["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs"]);
    // The program's own mounts are a copy of those there are when it starts.
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &[&program, "100000", "log"]);
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    let ended = checkpoint(&session, &small.join("images"), &[]);
    let left = fs::read_dir(&small).expect("the directory").count();
    mount(&["umount", "--lazy"]);
    ended.badly(&["No space left"]);
    assert_eq!(left, 0, "something was left on the full disk");
    session
        .wait_for("log", "round 20 ", LIMIT)
        .expect("it runs on");
    // And it can still be saved where there is room.
    checkpoint(&session, &folder.join("images"), &[]).well();
}

#[test]
fn without_criu_or_plugin_the_command_says_which() {
    let folder = Folder::new("no-criu");
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &[&program, "100000", "log"]);
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    for (variable, word) in [("STROBE_CRIU", "CRIU"), ("STROBE_CRIU_PLUGIN", "plugin")] {
        let mut command = strobe().command();
        command
            .args(["checkpoint", &session.pid().to_string(), "-o"])
            .arg(folder.join("images"));
        let output = command
            .env(variable, "/nonexistent")
            .output()
            .expect("strobe starts");
        Ended::new(&output).badly(&[word, "/nonexistent"]);
        absent(&folder, "images");
    }
    assert!(session.is_alive());
}

#[test]
fn criu_without_our_plugin_cannot_dump_the_program() {
    let folder = Folder::new("naive");
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &[&program, "100000", "log"]);
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    let criu = strobe_criu::locate::Criu::find(None).expect("CRIU is installed");
    let images = folder.join("naive");
    fs::create_dir(&images).expect("a directory");
    // In the program's own mounts, so that nothing but the device is in the way.
    let status = Command::new("nsenter")
        .args(["-m", "-t", &session.pid().to_string()])
        .arg(&criu.path)
        .args([
            "dump",
            "--leave-running",
            "-o",
            "dump.log",
            "-t",
            &session.pid().to_string(),
            "-D",
        ])
        .arg(&images)
        .status()
        .expect("nsenter starts");
    assert!(
        !status.success(),
        "plain CRIU must not believe it can save a GPU"
    );
    let log = fs::read_to_string(images.join("dump.log")).expect("CRIU's log");
    let device = ["Can't dump file", "Can't handle non-regular mapping"];
    assert!(
        device.iter().any(|reason| log.contains(reason)),
        "another reason than the device: {log}"
    );
    session
        .wait_for("log", "round 10 ", LIMIT)
        .expect("it runs on");
}

#[test]
fn a_pid_that_is_in_use_is_named() {
    let folder = Folder::new("pid-in-use");
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &[&program, "100000", "log"]);
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    let pid = session.pid().to_string();
    restore(&images).badly(&[&pid, "in use"]);
    assert!(session.is_alive(), "the running program was harmed");
    session
        .wait_for("log", "round 30 ", LIMIT)
        .expect("it runs on");
}

/// Nobody has the number of the program as a process any more, and yet it cannot be given.
#[test]
fn a_number_that_is_only_a_session_by_now_is_named_with_who_is_in_it() {
    let folder = Folder::new("session-in-use");
    let program = hip_program("mixed.cpp");
    let script = "(sleep 600 <&- >&- 2>&- & echo $! > other) && exec \"$0\" 100000 log";
    let mut session = start(&folder, &["sh", "-c", script, &program]);
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    let other = fs::read_to_string(folder.join("other")).expect("its number");
    let (pid, other) = (session.pid(), other.trim());
    let images = folder.join("images");
    checkpoint(&session, &images, &["--kill"]).well();
    wait_until("end of the program", || {
        (!strobe_program::process::exists(pid)).then_some(())
    });
    let words = [
        &*format!("process number {pid} is in use"),
        &format!("session of process {other} (sleep 600)"),
    ];
    let checked = check(&images);
    assert_eq!(checked.code, Some(3), "{}", checked.stdout);
    for word in words {
        assert!(checked.stdout.contains(word), "{}", checked.stdout);
    }
    let refused = restore(&images).badly(&words);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    session::signal(other.parse().expect("a number"), "KILL").expect("it sleeps");
    folder.rounds_enough();
    restore(&images).well();
}

#[test]
fn threads_that_criu_would_bring_back_otherwise_are_refused_by_name() {
    let folder = Folder::new("threads-apart");
    let program = hip_program("apart.cpp");
    let mut environment = Environment::new(&folder, &[]);
    for (kind, words) in [
        ("files", "table of open files of its own"),
        ("folder", "working directory and umask of its own"),
        ("leader", "first thread of process"),
    ] {
        let apart = environment.start_traced(kind, &[&program, kind]);
        apart.says("apart");
        checkpoint_of(apart.pid(), &folder.join("images"), &[]).badly(&[words]);
        absent(&folder, "images");
        apart.signal("TERM");
        assert_eq!(apart.code(), 0, "{kind}: {}", apart.output());
    }
}

#[test]
fn descriptors_that_criu_would_bring_back_otherwise_are_refused_or_named() {
    let folder = Folder::new("descriptors");
    let program = hip_program("descriptors.cpp");
    let mut environment = Environment::new(&folder, &[]);
    for (kind, words) in [
        ("semaphore", "is a semaphore (eventfd, EFD_SEMAPHORE)"),
        ("boottime", "is a timer (timerfd) of clock 7"),
        ("news", "has events that were not read yet"),
        ("nameless", "is a file without a name (O_TMPFILE)"),
    ] {
        let session = environment.start_traced(kind, &[&program, kind]);
        session.says("ready");
        let images = folder.join(&format!("images-{kind}"));
        let ended = checkpoint_of(session.pid(), &images, &[]);
        match kind {
            "news" | "nameless" => assert!(ended.well().stdout.contains(words)),
            _ => {
                let refused = ended.badly(&[words]);
                assert_eq!(refused.code, Some(3), "{}", refused.stderr);
                absent(&folder, &format!("images-{kind}"));
            }
        }
        session.signal("TERM");
        assert_eq!(session.code(), 0, "{kind}: {}", session.output());
    }
}

#[test]
fn the_number_of_a_thread_is_refused_at_once() {
    let folder = Folder::new("thread-number");
    let mut session = start(&folder, &[&hip_program("endless.cpp")]);
    session
        .wait_for("stdout", "spinning", LIMIT)
        .expect("it works");
    let threads = fs::read_dir(format!("/proc/{}/task", session.pid())).expect("its threads");
    for thread in threads {
        let number = thread.expect("a thread").file_name();
        let number: u32 = number.to_string_lossy().parse().expect("a number");
        if number != session.pid() {
            let refused = checkpoint_of(number, &folder.join("images"), &[]);
            let refused = refused.badly(&["is a thread of process"]);
            assert_eq!(refused.code, Some(3), "{}", refused.stderr);
        }
    }
    session.signal("TERM").expect("it runs on");
    let status = session.wait(LIMIT).expect("it ends");
    assert!(status.success(), "{status}");
}

#[test]
fn a_device_that_is_too_small_is_refused() {
    let folder = Folder::new("small-device");
    let program = hip_program("leaves.cpp");
    let mut session = start(&folder, &[&program, "exit"]);
    session
        .wait_for("stdout", "ready", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &["--kill"]).well();
    session.wait(LIMIT).expect("it was killed");
    let ended = restore_on(&images, &["--vram", "8M"]);
    assert_ne!(ended.code, Some(0), "restored into 8 MiB");
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}

#[test]
fn another_target_than_at_the_checkpoint_is_refused_by_name() {
    let folder = Folder::new("target");
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &[&program, "100000", "log"]);
    session
        .wait_for("log", "round 1 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &["--kill"]).well();
    session.wait(LIMIT).expect("it was killed");
    // A checkpoint of a machine with another GPU: the manifest says so.
    crate::damage::rewrite_manifest(&images, |manifest| manifest.target = "gfx90a".into());
    restore(&images).badly(&["gfx90a", "gfx906"]);
}

/// What `--check` says of a process, and its code.
fn prospects(pid: u32) -> (serde_json::Value, Option<i32>) {
    let ended = run(["checkpoint", &pid.to_string(), "--check", "--json"]);
    let report = serde_json::from_str(&ended.stdout);
    (report.expect(&ended.stderr), ended.code)
}

#[test]
fn all_that_would_refuse_a_checkpoint_is_said_at_once_and_the_program_goes_on() {
    let folder = Folder::new("prospects");
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &[&program, "100000", "log"]);
    session
        .wait_for("log", "round 2 ", LIMIT)
        .expect("it works");
    let (report, code) = prospects(session.pid());
    assert_eq!(
        (&report["ready"], code),
        (&true.into(), Some(0)),
        "{report}"
    );
    assert_eq!(report["findings"], serde_json::json!([]));
    // It has left nothing behind that a checkpoint would meet.
    checkpoint(&session, &folder.join("images"), &[]).well();
    session.kill().expect("it dies");

    let folder = Folder::new("bad-prospects");
    let connected = "\
import ctypes, socket, time
hip = ctypes.CDLL('libamdhip64.so.5')
place = ctypes.c_void_p()
hip.hipMalloc(ctypes.byref(place), ctypes.c_size_t(4096))
handle = ctypes.create_string_buffer(64)
hip.hipIpcGetEventHandle(handle, None)
server = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(server.getsockname())
print('ready', flush=True)
time.sleep(1000)
";
    let mut session = start(&folder, &["python3", "-c", connected]);
    session
        .wait_for("stdout", "ready", LIMIT)
        .expect("it works");
    let (report, code) = prospects(session.pid());
    assert_eq!(
        (&report["ready"], code),
        (&false.into(), Some(3)),
        "{report}"
    );
    let findings = report["findings"].to_string();
    for part in ["a connected TCP socket", "hipIpcGetEventHandle"] {
        assert!(findings.contains(part), "no {part:?} in {findings}");
    }
    assert!(session.is_alive());
}
