//! Programs in containers of runc, and in a user namespace, with commands given from outside.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use strobe_criu::locate::Criu;
use strobe_program::process;

use crate::harness::environment::{number_of, wait_until};
use crate::harness::{Ended, Folder, checkpoint_of, hip_program, programs, run, strobe, verify};

const ROUNDS: &str = "200";
/// What a program has in a container, by runc's own default.
const FEW: &[&str] = &["CAP_AUDIT_WRITE", "CAP_KILL", "CAP_NET_BIND_SERVICE"];
/// What a restore in one needs: CRIU's, and the program's.
const MANY: &[&str] = &[
    "CAP_AUDIT_WRITE",
    "CAP_KILL",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_ADMIN",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETUID",
    "CAP_SYS_ADMIN",
    "CAP_SYS_CHROOT",
    "CAP_SYS_PTRACE",
    "CAP_SYS_TIME",
];
const NAME: &str = "box";

/// What a container has besides the program's own files.
#[derive(Clone, Copy)]
struct Contents<'a> {
    capabilities: &'a [&'a str],
    /// Where strobe's locks are.
    run: bool,
    namespaces: &'a [&'a str],
}

const USUAL: Contents = Contents {
    capabilities: FEW,
    run: true,
    namespaces: &["pid", "mount", "ipc", "uts", "network", "cgroup"],
};

/// A bundle whose root file system is the host's programs and libraries, Strobe and CRIU, all read-only, the
/// test's folder and a /tmp of its own. Processes, mounts, inter-process communication, host name, network and
/// control groups are its own.
struct Bundle {
    folder: PathBuf,
    work: PathBuf,
}

impl Bundle {
    fn new(folder: &Folder) -> Self {
        let work = folder.join("work");
        fs::create_dir_all(&work).expect("it is our folder");
        let bundle = folder.join("bundle");
        let root = bundle.join("rootfs");
        fs::create_dir_all(&root).expect("it is our folder");
        for name in ["bin", "sbin", "lib", "lib64"] {
            symlink(Path::new("usr").join(name), root.join(name)).expect("it is our folder");
        }
        Self {
            folder: bundle,
            work,
        }
    }

    fn runc(&self) -> Command {
        let mut command = Command::new("runc");
        command.arg("--root").arg(self.folder.join("state"));
        command
    }

    /// `strobe ...` in a container on a new software GPU.
    fn start(&self, contents: Contents, arguments: &[&str]) -> Child {
        let strobe = strobe();
        let mut command = vec![strobe.path().to_str().expect("a path in UTF-8")];
        command.extend(arguments);
        self.start_command(contents, &command)
    }

    fn start_command(&self, contents: Contents, arguments: &[&str]) -> Child {
        let strobe = strobe();
        let programs_of_strobe = strobe.path().parent().expect("a folder");
        let criu = Criu::find(None).expect("CRIU is installed").path;
        let mut mounts = vec![json!({"destination": "/proc", "type": "proc", "source": "proc"})];
        let own = |path: &str| json!({"destination": path, "type": "tmpfs", "source": "tmpfs"});
        mounts.push(own("/tmp"));
        if contents.run {
            mounts.push(own("/run"));
        }
        let mut bind = |path: &Path, options: &[&str]| {
            mounts.push(json!({
                "destination": path, "type": "bind", "source": path, "options": options,
            }));
        };
        for path in [
            Path::new("/usr"),
            Path::new("/etc"),
            programs_of_strobe,
            &programs(),
            criu.parent().expect("a folder"),
        ] {
            bind(path, &["rbind", "ro"]);
        }
        // The software GPU's, and with it its memory.
        for path in [Path::new("/dev"), Path::new("/sys"), &self.work] {
            bind(path, &["rbind"]);
        }
        let preload = programs_of_strobe.join("libsoftgpu.so");
        let home = std::env::var("HOME").expect("a home");
        let capabilities = contents.capabilities;
        let specification = json!({
            "ociVersion": "1.0.2",
            "process": {
                "user": {"uid": 0, "gid": 0},
                "args": arguments,
                "env": [
                    "PATH=/usr/sbin:/usr/bin",
                    format!("HOME={home}"),
                    format!("LD_PRELOAD={}", preload.display()),
                ],
                "cwd": self.work,
                "capabilities": {
                    "bounding": capabilities, "effective": capabilities, "permitted": capabilities,
                },
            },
            "root": {"path": "rootfs"},
            "hostname": NAME,
            "mounts": mounts,
            "linux": {
                "namespaces": contents.namespaces.iter().map(|kind| json!({"type": kind})).collect::<Vec<_>>(),
                "resources": {"devices": [{"allow": true, "access": "rwm"}]},
            },
        });
        let config = self.folder.join("config.json");
        fs::write(config, specification.to_string()).expect("it is our folder");
        let runc = self.runc();
        let mut command = strobe.command();
        command.args(["softgpu", "--"]).arg(runc.get_program());
        command.args(runc.get_args()).args(["run", "--bundle"]);
        command.arg(&self.folder).arg(NAME);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().expect("strobe starts")
    }

    /// Kills all that runs in the container, and waits until runc has removed it.
    fn end(&self, container: Child) {
        let killed = self.runc().args(["kill", NAME, "KILL"]).status();
        assert!(killed.expect("runc starts").success());
        let ended = container.wait_with_output().expect("it was ours");
        assert_eq!(ended.status.code(), Some(137), "{ended:?}");
    }

    #[track_caller]
    fn is_gone(&self) {
        let listed = self.runc().args(["list", "-q"]).output();
        let listed = listed.expect("runc starts").stdout;
        assert!(listed.is_empty(), "{}", String::from_utf8_lossy(&listed));
    }

    fn log(&self) -> String {
        fs::read_to_string(self.work.join("log")).unwrap_or_default()
    }

    fn rounds(&self) -> usize {
        self.log().lines().count()
    }

    /// Waits until the program has made more rounds than now.
    fn goes_on(&self) {
        let before = self.rounds();
        wait_until("further round", || (self.rounds() > before).then_some(()));
    }
}

impl Drop for Bundle {
    fn drop(&mut self) {
        // Where a test has failed.
        let _ = self.runc().args(["delete", "--force", NAME]).output();
    }
}

/// A program of so many rounds that has made some, by the number that it has here.
fn in_a_container(folder: &Folder, contents: Contents, rounds: &str) -> (Bundle, Child, u32) {
    let program = hip_program("mixed.cpp");
    let bundle = Bundle::new(folder);
    let container = bundle.start(contents, &["run", "--", &program, rounds, "log"]);
    let pid = number_of(&container, &program);
    bundle.goes_on();
    (bundle, container, pid)
}

#[test]
fn a_program_in_a_container_is_saved_from_the_host_and_comes_back_in_another() {
    let folder = Folder::new("container");
    let (bundle, container, pid) = in_a_container(&folder, USUAL, ROUNDS);
    let images = bundle.work.join("images");
    let taken = checkpoint_of(pid, &images, &["--json"]).well();
    let report: Value = serde_json::from_str(&taken.stdout).expect("JSON");
    assert_ne!(report["pid"], pid, "it has a number of its own");
    verify(&images).well();
    bundle.goes_on();
    bundle.end(container);
    bundle.is_gone();
    let many = Contents {
        capabilities: MANY,
        ..USUAL
    };
    let images = images.to_str().expect("a path in UTF-8");
    let container = bundle.start(many, &["restore", "--wait", images]);
    let restored = container.wait_with_output().expect("it was ours");
    Ended::new(&restored).well();
    bundle.is_gone();
    let log = bundle.log();
    assert_eq!(log.lines().count(), 201, "{log}");
    assert!(log.ends_with(&format!("end rounds {ROUNDS}\n")), "{log}");
}

#[test]
fn a_checkpoint_that_would_go_with_the_container_is_refused() {
    let folder = Folder::new("container-own-place");
    let (bundle, container, pid) = in_a_container(&folder, USUAL, "100000");
    // Both have a /tmp, and they are two.
    let images = std::env::temp_dir().join(format!("strobe-container-{}", std::process::id()));
    let refused = checkpoint_of(pid, &images, &[]).badly(&["does not see", "choose a place"]);
    assert_eq!(refused.code, Some(3));
    let seen_in_there = Path::new("/proc").join(pid.to_string()).join("root");
    let in_there = seen_in_there.join(images.strip_prefix("/").expect("an absolute path"));
    assert!(!in_there.exists() && !images.exists());
    // This one it has alone.
    fs::create_dir(&in_there).expect("it has a /tmp");
    let refused = checkpoint_of(pid, &images.join("in-it"), &[]).badly(&["does not see"]);
    assert_eq!(refused.code, Some(3));
    assert!(!in_there.join("in-it").exists());
    bundle.goes_on();
    bundle.end(container);
}

#[test]
fn what_a_container_lacks_is_named() {
    let folder = Folder::new("container-bare");
    let bare = Contents {
        run: false,
        ..USUAL
    };
    let (bundle, container, pid) = in_a_container(&folder, bare, "100000");
    let images = bundle.work.join("images");
    let words = [
        "in the namespaces of the program, where it is process",
        "/run has to be there",
    ];
    let refused = checkpoint_of(pid, &images, &[]).badly(&words);
    assert_eq!(refused.code, Some(3));
    assert!(!images.exists());
    bundle.goes_on();
    bundle.end(container);
}

#[test]
fn a_container_comes_back_from_runcs_own_checkpoint_by_the_plugin() {
    let program = hip_program("holds.cpp");
    let folder = Folder::new("container-runc");
    let bundle = Bundle::new(&folder);
    let line = format!("exec {program} 4 7 > log 2>&1 < /dev/null");
    let container = bundle.start_command(USUAL, &["/bin/sh", "-c", &line]);
    wait_until("program that holds", || {
        bundle.log().starts_with("holding").then_some(())
    });
    let strobe = strobe();
    let criu = folder.join("criu");
    symlink(strobe.path(), &criu).expect("it is our folder");
    let add = |command: &mut Command, action: &str| {
        command
            .args(bundle.runc().get_args())
            .arg("--criu")
            .arg(&criu);
        command.args([action, "--file-locks", "--image-path"]);
        command
            .arg(folder.join("images"))
            .arg("--work-path")
            .arg(folder.join("criu-work"));
    };
    let pid = number_of(&container, &program);
    let mut bind = Command::new("taskset");
    bind.args(["-cp", "1", &pid.to_string()]);
    Ended::new(&bind.output().expect("taskset starts")).well();
    let mut dump = Command::new("nsenter");
    dump.args([
        "-m",
        "-t",
        &process::stat(pid).expect("it runs").parent.to_string(),
        "runc",
    ]);
    add(&mut dump, "checkpoint");
    Ended::new(&dump.arg(NAME).output().expect("nsenter starts")).well();
    container.wait_with_output().expect("it was ours");
    let mut restore = strobe.command();
    restore.args(["softgpu", "--", "runc"]);
    add(&mut restore, "restore");
    restore.arg("--bundle").arg(&bundle.folder).arg(NAME);
    restore
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let restored = restore.spawn().expect("strobe starts");
    let pid = number_of(&restored, &program);
    wait_until("container that runs", || {
        let state = bundle.runc().args(["state", NAME]).output().ok()?;
        String::from_utf8_lossy(&state.stdout)
            .contains("running")
            .then_some(())
    });
    // CRIU may hold it still.
    wait_until("thread on the CPU that it was bound to", || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        status.contains("\nCpus_allowed_list:\t1\n").then_some(())
    });
    assert!(
        bundle
            .runc()
            .args(["kill", NAME, "TERM"])
            .status()
            .expect("runc starts")
            .success()
    );
    restored.wait_with_output().expect("it was ours");
    assert!(bundle.log().ends_with("kept\n"), "{}", bundle.log());
    bundle.is_gone();
}

#[test]
fn a_user_namespace_is_named() {
    let program = hip_program("mixed.cpp");
    let folder = Folder::new("own-users");
    let strobe = strobe();
    let mut command = strobe.command();
    command.args(["softgpu", "--", "unshare", "-U", "-r", "--kill-child"]);
    command.arg(strobe.path());
    command.args(["run", "--", &program, "100000", "log"]);
    command.current_dir(folder.path());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut keeper = command.spawn().expect("strobe starts");
    let pid = number_of(&keeper, &program);
    let rounds = || {
        let log = fs::read_to_string(folder.join("log"));
        log.unwrap_or_default().lines().count()
    };
    let goes_on = || {
        let before = rounds();
        wait_until("further round", || (rounds() > before).then_some(()));
    };
    goes_on();
    let words = ["another user namespace", "as root without one"];
    let images = folder.join("images");
    let refused = checkpoint_of(pid, &images, &[]).badly(&words);
    assert_eq!(refused.code, Some(3));
    let number = pid.to_string();
    let looks: [&[&str]; 3] = [
        &["checkpoint", &number, "--check"],
        &["graph", &number],
        &["release", &number],
    ];
    for arguments in looks {
        let refused = run(arguments.iter().map(OsStr::new)).badly(&words);
        assert_eq!(refused.code, Some(3), "{arguments:?}");
    }
    goes_on();
    keeper.kill().expect("it was ours");
    keeper.wait().expect("it was ours");
}
