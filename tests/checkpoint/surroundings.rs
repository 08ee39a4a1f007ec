//! Programs in ordinary surroundings: left behind by a launcher, at a terminal, of another user; and commands that
//! lack what they need.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use nix::pty::openpty;
use nix::unistd::ttyname;
use strobe_evaluation::{Session, session};
use strobe_program::process;

use crate::harness::environment::{Environment, wait_until};
use crate::harness::{
    Ended, Folder, LIMIT, checkpoint, checkpoint_of, hip_program, restore, run, start, strobe,
};

/// Rounds that no program makes; `Folder::rounds_enough` ends it.
const MANY: &str = "1000000";
const USER: u32 = 1000;
const AS_USER: [&str; 4] = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"];

fn lines(log: &Path) -> usize {
    fs::read_to_string(log).unwrap_or_default().lines().count()
}

fn kill_all(root: u32) {
    let all = process::tree(root).expect("it runs");
    for pid in &all {
        // One may end with another.
        let _ = session::signal(*pid, "KILL");
    }
    wait_until("end of the program", || {
        all.iter().all(|pid| !session::is_alive(*pid)).then_some(())
    });
}

/// The program makes so many rounds, and all of them are in its log once.
fn is_whole(folder: &Folder, rounds: usize) {
    let log = fs::read_to_string(folder.join("log")).expect("its log");
    assert_eq!(log.lines().count(), rounds + 1, "{log}");
    assert!(log.ends_with(&format!("end rounds {rounds}\n")), "{log}");
}

/// A command at a terminal of its own, to its end.
fn at_a_terminal(folder: &Folder, command: &str) -> Ended {
    let mut script = Command::new("script");
    script.args(["-qec", command, "/dev/null"]);
    let script = script.current_dir(folder.path()).stdin(Stdio::null());
    Ended::new(&script.output().expect("script starts"))
}

fn restore_at_a_terminal(folder: &Folder) -> Ended {
    let strobe = strobe();
    let path = strobe.path().display();
    at_a_terminal(
        folder,
        &format!("{path} softgpu -- {path} restore --wait images"),
    )
}

/// Its launcher has ended, and so has the first process of its session.
#[test]
fn a_daemon_comes_back_twice_and_never_gets_a_terminal() {
    let program = hip_program("mixed.cpp");
    let folder = Folder::new("daemon");
    let (log, images) = (folder.join("log"), folder.join("images"));
    let leave = "'\"$0\" \"$@\" & echo $! > daemon.part; mv daemon.part daemon'";
    let mut environment = Environment::new(&folder, &[]);
    let command = ["setsid", "-f", "sh", "-c", leave, &program, MANY, "log"];
    let launcher = environment.start_traced("launcher", &command);
    assert_eq!(launcher.code(), 0);
    let pid = wait_until("daemon", || fs::read_to_string(folder.join("daemon")).ok());
    let pid: u32 = pid.trim().parse().expect("a number");
    wait_until("round", || (lines(&log) > 5).then_some(()));
    checkpoint_of(pid, &images, &[]).well();
    kill_all(pid);
    // Looked at while there is a terminal.
    let path = strobe().path().display().to_string();
    let look = format!("{path} restore images && cut -d' ' -f7 /proc/{pid}/stat > terminal\n");
    fs::write(folder.join("again.sh"), look).expect("it is our folder");
    let again = environment.start("again", &["script", "-qec", "'sh again.sh'", "/dev/null"]);
    assert_eq!(again.code(), 0, "{}", again.output());
    let terminal = fs::read_to_string(folder.join("terminal")).expect("it was looked at");
    assert_eq!(terminal, "0\n", "it has a terminal");
    let before = lines(&log);
    wait_until("round without that terminal", || {
        (lines(&log) > before).then_some(())
    });
    kill_all(pid);
    let rounds = folder.rounds_enough();
    let last = environment.start("last", &[&path, "restore", "--wait", "images"]);
    assert_eq!(last.code(), 0, "{}", last.output());
    is_whole(&folder, rounds);
}

/// `setsid` waits for a program in a session of its own; what `nohup` has started does not end by SIGHUP.
#[test]
fn a_program_behind_setsid_or_nohup_comes_back_as_it_was() {
    let program = hip_program("mixed.cpp");
    for front in [&["setsid", "--wait"][..], &["nohup"]] {
        let folder = Folder::new(front[0]);
        let images = folder.join("images");
        let mut session = start(&folder, &[front, &[&program, MANY, "log"]].concat());
        session
            .wait_for("log", "round 5 ", LIMIT)
            .expect("it works");
        let root = session.pid();
        checkpoint_of(root, &images, &[]).well();
        kill_all(root);
        session.gone().expect("it was killed");
        let rounds = folder.rounds_enough();
        restore(&images).well();
        is_whole(&folder, rounds);
        let again = Session::restore(&strobe(), &[], &images, folder.path(), LIMIT);
        let again = again.expect("it comes back");
        if front == ["nohup"] {
            again.signal("HUP").expect("it runs");
        }
        assert!(again.wait(LIMIT).expect("it ends").success(), "{front:?}");
        is_whole(&folder, rounds);
    }
}

#[test]
fn a_program_that_was_started_at_a_terminal_comes_back_without_one_and_at_another() {
    let program = hip_program("mixed.cpp");
    let folder = Folder::new("terminal");
    let (log, images) = (folder.join("log"), folder.join("images"));
    let strobe = strobe();
    let path = strobe.path().display();
    let command = format!("{path} softgpu -- {path} run --pid-file pid -- {program} {MANY} log");
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]);
    let script = script.current_dir(folder.path()).stdin(Stdio::null());
    let mut script = script.stdout(Stdio::null()).spawn().expect("it starts");
    wait_until("round", || (lines(&log) > 5).then_some(()));
    let pid = fs::read_to_string(folder.join("pid")).expect("a pid file");
    let pid = pid.trim().parse().expect("a number");
    checkpoint_of(pid, &images, &[]).well();
    kill_all(pid);
    // The terminal goes with it.
    assert_eq!(script.wait().expect("it was ours").code(), Some(137));
    let rounds = folder.rounds_enough();
    restore(&images).well();
    is_whole(&folder, rounds);
    for _ in 0..2 {
        restore_at_a_terminal(&folder).well();
        is_whole(&folder, rounds);
    }
}

/// It has opened one by its name.
#[test]
fn a_terminal_of_somebody_else_is_named_and_another_takes_its_place() {
    let program = hip_program("mixed.cpp");
    let folder = Folder::new("foreign-terminal");
    let images = folder.join("images");
    let pty = openpty(None, None).expect("a terminal");
    let terminal = ttyname(pty.slave.as_fd()).expect("its name");
    let terminal = terminal.to_str().expect("text").to_owned();
    // Whoever leads a session would get it as its own.
    let open = format!("(exec \"$0\" \"$@\" 9<>{terminal}); exit $?");
    let mut session = start(&folder, &["sh", "-c", &open, &program, MANY, "log"]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let root = session.pid();
    let taken = checkpoint_of(root, &images, &["--json"]).well();
    let report: serde_json::Value = serde_json::from_str(&taken.stdout).expect("JSON");
    let warnings = report["warnings"].to_string();
    assert!(
        warnings.contains(&format!("is {terminal}, a terminal"))
            && warnings.contains("descriptor 9"),
        "{warnings}"
    );
    kill_all(root);
    session.gone().expect("it was killed");
    drop(pty);
    let rounds = folder.rounds_enough();
    let before = fs::read(folder.join("log")).expect("its log");
    let refused = restore(&images);
    assert_ne!(refused.code, Some(0));
    assert!(
        refused.stderr.contains("restore it at a terminal")
            && !refused.stderr.contains("CRIU says"),
        "{}",
        refused.stderr
    );
    assert!(!process::exists(root), "a part of it is left");
    assert_eq!(fs::read(folder.join("log")).expect("its log"), before);
    for _ in 0..2 {
        restore_at_a_terminal(&folder).well();
        is_whole(&folder, rounds);
    }
}

#[test]
fn a_program_of_another_user_comes_back_as_that_user_with_its_files() {
    let program = hip_program("mixed.cpp");
    let folder = Folder::new("user");
    chown(folder.path(), Some(USER), Some(USER)).expect("root runs this");
    let (log, images) = (folder.join("log"), folder.join("images"));
    let mut session = start(
        &folder,
        &[&AS_USER, &[program.as_str(), MANY, "log"][..]].concat(),
    );
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let pid = session.pid();
    for capability in ["SETUID", "SETGID"] {
        let to = images.to_str().expect("a path in UTF-8");
        let ended = without(
            capability,
            false,
            &["checkpoint", &pid.to_string(), "-o", to],
        );
        assert_eq!(ended.code, Some(3), "{}", ended.stderr);
        ended.badly(&[&format!("CAP_{capability}")]);
    }
    checkpoint_of(pid, &images, &[]).well();
    session.kill().expect("it dies");
    let rounds = folder.rounds_enough();
    for removed in [false, true] {
        if removed {
            fs::remove_file(&log).expect("it is there");
        }
        let again = Session::restore(&strobe(), &[], &images, folder.path(), LIMIT);
        let again = again.expect("it comes back");
        // What it ended as, where it was faster.
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        if let Some(users) = status.lines().find_map(|line| line.strip_prefix("Uid:")) {
            let users: Vec<&str> = users.split_whitespace().collect();
            assert_eq!(users, ["1000"; 4]);
        }
        let status = again.wait(LIMIT).expect("it ends");
        assert!(
            status.success(),
            "{status}: {}",
            session::said(folder.path())
        );
        is_whole(&folder, rounds);
        let owner = fs::metadata(&log).expect("its log");
        assert_eq!((owner.uid(), owner.gid()), (USER, USER), "{removed}");
    }
}

/// Runs `strobe` without a capability, on a software GPU or on none.
fn without(capability: &str, softgpu: bool, arguments: &[&str]) -> Ended {
    let strobe = strobe();
    let lacking = format!("--bounding-set=-{}", capability.to_lowercase());
    let mut command = match softgpu {
        true => strobe.command(),
        false => Command::new("setpriv"),
    };
    if softgpu {
        command.args(["softgpu", "--", "setpriv"]);
    }
    command.arg(lacking).arg(strobe.path()).args(arguments);
    Ended::new(&command.output().expect("it starts"))
}

#[test]
fn a_capability_that_a_command_lacks_is_named_before_anything_is_changed() {
    let folder = Folder::new("capabilities");
    let images = folder.join("images");
    let images = images.to_str().expect("a path in UTF-8");
    // Of all it has this one.
    let few = ["setpriv", "--bounding-set=-all,+chown", "--inh-caps=-all"];
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &[&few[..], &[&program, MANY, "log"]].concat());
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let pid = session.pid().to_string();
    let take = ["checkpoint", &pid, "-o", images];
    for capability in ["SYS_ADMIN", "SYS_PTRACE", "SYS_CHROOT"] {
        let ended = without(capability, false, &take);
        assert_eq!(ended.code, Some(3), "{}", ended.stderr);
        ended.badly(&[
            &format!("CAP_{capability}"),
            &format!("--cap-add {capability}"),
        ]);
        assert!(!Path::new(images).exists());
    }
    let mut as_user = Command::new(AS_USER[0]);
    as_user.args(&AS_USER[1..]).arg(strobe().path()).args(take);
    let ended = Ended::new(&as_user.output().expect("it starts"));
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    ended.badly(&["run this command as root"]);
    let later = format!("round {} ", lines(&folder.join("log")) + 2);
    session.wait_for("log", &later, LIMIT).expect("it goes on");
    run(take).well();
    session.kill().expect("it dies");
    let rounds = folder.rounds_enough();
    let before = fs::read(folder.join("log")).expect("its log");
    // The last is needed by nobody but the program, which has it.
    for capability in [
        "SYS_ADMIN",
        "SYS_CHROOT",
        "SYS_TIME",
        "NET_ADMIN",
        "SETPCAP",
        "SETUID",
        "SETGID",
        "CHOWN",
    ] {
        let ended = without(capability, true, &["restore", images]);
        assert_eq!(ended.code, Some(3), "{}", ended.stderr);
        ended.badly(&[
            &format!("CAP_{capability}"),
            &format!("--cap-add {capability}"),
        ]);
        assert_eq!(fs::read(folder.join("log")).expect("its log"), before);
    }
    let ended = without("NET_ADMIN", false, &["doctor"]);
    let text = ended.stdout;
    assert!(text.contains("CAP_NET_ADMIN missing"), "{text}");
    for _ in 0..2 {
        restore(Path::new(images)).well();
        is_whole(&folder, rounds);
    }
}

/// Runs `strobe` on a software GPU under limits of prlimit(1).
fn limited(limits: &[&str], arguments: &[&str]) -> Command {
    let strobe = strobe();
    let mut command = strobe.command();
    command.args(["softgpu", "--", "prlimit"]).args(limits);
    command.arg(strobe.path()).args(arguments);
    command
}

/// Soft ones are raised, by everybody; hard ones only by who may.
#[test]
fn limits_of_the_shell_are_raised_or_named_and_the_program_keeps_its_own() {
    const SMALL: [&str; 4] = [
        "--nofile=64:",
        "--fsize=102400:",
        "--as=100000000:",
        "--cpu=1000:",
    ];
    let folder = Folder::new("limits");
    let log = folder.join("log");
    let images = folder.join("images");
    let images = images.to_str().expect("a path in UTF-8");
    let mut session = start(&folder, &[&hip_program("mixed.cpp"), MANY, "log"]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let pid = session.pid();
    let of_program = || fs::read_to_string(format!("/proc/{pid}/limits")).expect("its limits");
    let before = of_program();
    let number = pid.to_string();
    let checkpoint = ["checkpoint", &number, "--kill", "-o", images];
    let mut command = Command::new("prlimit");
    command.args(SMALL).arg(strobe().path()).args(checkpoint);
    Ended::new(&command.output().expect("it starts")).well();
    wait_until("end of the program", || {
        (!process::exists(pid)).then_some(())
    });
    for (limit, word) in [
        ("--nofile=64", "ulimit -n"),
        ("--fsize=102400", "ulimit -f"),
        ("--as=100000000", "ulimit -v"),
    ] {
        let hard = ["setpriv", "--bounding-set=-sys_resource", "prlimit", limit];
        let strobe = strobe();
        for arguments in [&["restore", images][..], &["restore", "--check", images]] {
            let mut command = strobe.command();
            command.args(["softgpu", "--"]).args(hard);
            command.arg(strobe.path()).args(arguments);
            let refused = Ended::new(&command.output().expect("it starts")).badly(&[word]);
            assert_eq!(refused.code, Some(3), "{}", refused.stderr);
        }
    }
    let rounds = lines(&log);
    let back = limited(&SMALL, &["restore", "--wait", images]).spawn();
    let mut back = back.expect("it starts");
    wait_until("round", || (lines(&log) > rounds + 2).then_some(()));
    assert_eq!(of_program(), before);
    folder.rounds_enough();
    assert!(back.wait().expect("it ends").success());
}

/// The kernel keeps 15 bytes of a program's name for that of its threads.
#[test]
fn a_program_whose_name_is_cut_within_a_letter_comes_back() {
    let folder = Folder::new("cut-name");
    let program = folder.join("aaaaaaaaaaaaaa\u{e9}");
    fs::copy(hip_program("mixed.cpp"), &program).expect("room for it");
    let name = program.to_str().expect("a path in UTF-8");
    let mut session = start(&folder, &[name, MANY, "log"]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let comm = format!("/proc/{}/comm", session.pid());
    assert_eq!(fs::read(comm).expect("it runs"), b"aaaaaaaaaaaaaa\xc3\n");
    let images = folder.join("images");
    checkpoint(&session, &images, &["--kill"]).well();
    session.wait(LIMIT).expect("it was killed");
    let rounds = folder.rounds_enough();
    restore(&images).well();
    is_whole(&folder, rounds);
}
