//! Containers of podman, by its own checkpoint and restore.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use strobe_program::{namespaces, process};

use crate::harness::environment::{Environment, wait_until};
use crate::harness::{Ended, Folder, hip_program, programs, strobe};

const NAME: &str = "box";
/// What shows the software GPU in a container; a GPU needs less.
const DEVICE: [&str; 8] = [
    "/dev/kfd",
    "/dev/dri",
    "/dev/softgpu/state",
    "/dev/softgpu/memory0",
    "/sys/class",
    "/sys/dev/char",
    "/sys/devices/virtual",
    "/sys/module",
];

/// A podman with nothing but the test's container, and with Strobe for its CRIU.
struct Podman {
    folder: PathBuf,
}

impl Podman {
    fn new(folder: &Folder) -> Self {
        let own = folder.join("podman");
        let root = own.join("rootfs");
        fs::create_dir_all(&root).expect("it is our folder");
        fs::create_dir(own.join("bin")).expect("it is our folder");
        for name in ["bin", "sbin", "lib", "lib64"] {
            symlink(format!("usr/{name}"), root.join(name)).expect("it is our folder");
        }
        symlink(strobe().path(), own.join("bin/criu")).expect("it is our folder");
        let settings = "[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n\
             lock_type = \"file\"\n";
        fs::write(own.join("containers.conf"), settings).expect("it is our folder");
        Self { folder: own }
    }

    /// `podman ...` where an environment's programs are.
    fn command(&self, environment: &Environment) -> Command {
        let inside = wait_until("shell", || {
            let below = process::tree(environment.keeper()).ok()?;
            below.into_iter().find(|pid| {
                let line = process::command_line(*pid).unwrap_or_default();
                line == ["sh"] && namespaces::is_elsewhere(*pid, "mnt").unwrap_or(false)
            })
        });
        let mut command = Command::new("nsenter");
        command.args(["-m", "-t", &inside.to_string()]);
        self.add_podman(&mut command);
        command
    }

    fn add_podman(&self, command: &mut Command) {
        let path = std::env::var("PATH").expect("a path");
        command.env("PATH", format!("{}/bin:{path}", self.folder.display()));
        command.env("CONTAINERS_CONF", self.folder.join("containers.conf"));
        command.args(["podman", "--storage-driver", "vfs"]);
        for option in ["root", "runroot", "tmpdir"] {
            command.arg(format!("--{option}"));
            command.arg(self.folder.join(option));
        }
    }

    fn run(&self, environment: &Environment, work: &Folder, program: &[&str]) {
        let mut command = self.command(environment);
        command.args(["run", "--detach", "--name", NAME, "--network", "none"]);
        // Without CAP_SYS_RESOURCE podman's own limits are too high.
        command.args([
            "--ulimit",
            "nofile=1024:1024",
            "--ulimit",
            "nproc=9999:9999",
        ]);
        command.args(["--volume", "/usr:/usr:ro", "--volume", "/etc:/etc:ro"]);
        let strobe = strobe();
        let built = strobe.path().parent().expect("a folder").to_owned();
        let own = [work.path().to_owned(), built.clone(), programs()];
        for path in own.into_iter().chain(DEVICE.map(PathBuf::from)) {
            let path = path.display();
            command.args(["--volume", &format!("{path}:{path}")]);
        }
        command.args(["--device-cgroup-rule", "b *:* rwm", "--env"]);
        command.arg(format!("LD_PRELOAD={}/libsoftgpu.so", built.display()));
        command.arg("--workdir").arg(work.path());
        command.arg("--rootfs").arg(self.folder.join("rootfs"));
        command.args(program);
        Ended::new(&command.output().expect("nsenter starts")).well();
    }

    /// `podman container ACTION NAME`.
    fn container(&self, environment: &Environment, action: &[&str]) {
        let mut command = self.command(environment);
        command.arg("container").args(action).arg(NAME);
        Ended::new(&command.output().expect("nsenter starts")).well();
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        // Outside of all environments: where the test has failed, its devices may be gone.
        let mut command = Command::new("env");
        self.add_podman(&mut command);
        let _ = command
            .args(["rm", "--force", "--time", "0", NAME])
            .output();
    }
}

#[test]
fn a_container_of_podman_comes_back_twice_on_other_devices() {
    let program = hip_program("holds.cpp");
    let folder = Folder::new("podman");
    let podman = Podman::new(&folder);
    let log = || fs::read_to_string(folder.join("log")).unwrap_or_default();
    let mut environment = Environment::new(&folder, &[]);
    let line = format!("exec {program} 4 7 > log 2>&1 < /dev/null");
    podman.run(&environment, &folder, &["sh", "-c", &line]);
    wait_until("program that holds", || {
        log().starts_with("holding").then_some(())
    });
    for id in ["4711", "4712"] {
        podman.container(&environment, &["checkpoint"]);
        // The devices go with it.
        drop(environment);
        environment = Environment::new(&folder, &["--gpu-ids", id]);
        podman.container(&environment, &["restore"]);
    }
    podman.container(&environment, &["kill", "--signal", "TERM"]);
    podman.container(&environment, &["wait"]);
    assert!(log().ends_with("kept\n"), "{}", log());
}
