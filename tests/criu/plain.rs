//! `strobe export` and `strobe import`: CRIU restores with its own plugin what Strobe has saved, and the
//! other way.
//!
//! Plugins and CRIUs are those of `cargo xtask setup --tests`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use strobe_criu::locate;
use strobe_criu::plugin_folder::PluginFolder;
use strobe_criu::run::softgpu_library;
use strobe_evaluation::{Session, session};
use strobe_program::process;

use super::harness::{
    Ended, Folder, LIMIT, checkpoint_of, hip_program, restore, run, start, strobe, uninterrupted,
    verify,
};
use super::upstream::{Holder, criu, installed};
use super::{Program, Run, criu_after, image_named, text, wait_until};

/// Until it is told that they are enough.
const ROUNDS: &str = "1000000";

/// A checkpoint of `mixed`, taken while it works, and its export; the program is dead.
struct Exported {
    folder: Folder,
    /// The software GPU's library.
    library: PathBuf,
    to: PathBuf,
    /// What the program had written at the cut.
    log_at_the_cut: PathBuf,
    pid: u32,
    /// The number that `strobe checkpoint` had.
    controller: u32,
}

impl Exported {
    fn of(name: &str) -> Self {
        let folder = Folder::new(name);
        let program = hip_program("mixed.cpp");
        let mut session = start(&folder, &[&program, ROUNDS, "log"]);
        session
            .wait_for("log", "round 5 ", LIMIT)
            .expect("it works");
        let (pid, library) = (session.pid(), library_of(&session));
        let images = folder.join("images");
        let command = strobe()
            .command()
            .args(["checkpoint", &pid.to_string(), "-o"])
            .arg(&images)
            .spawn()
            .expect("strobe starts");
        let controller = command.id();
        Ended::new(&command.wait_with_output().expect("it ends")).well();
        // The log grows after the cut; the script has to put back what it was.
        let beyond = format!("round {} ", lines(&folder) + 10);
        session.wait_for("log", &beyond, LIMIT).expect("it runs on");
        session.kill().expect("it dies");
        let to = folder.join("plain");
        let report = run([
            "export".as_ref(),
            images.as_os_str(),
            to.as_os_str(),
            "--json".as_ref(),
        ]);
        let report: serde_json::Value = serde_json::from_str(&report.well().stdout).expect("JSON");
        // The program's buffers, which were in chunks, and all else that is in device memory.
        let contents = report["contents_bytes"].as_u64();
        assert!(contents > Some(6 << 18), "{report}");
        assert_eq!(report["agents"], serde_json::json!([pid]));
        let log = folder.join("log");
        let files = report["files"].as_array().expect("a list");
        let log = files
            .iter()
            .find(|file| file["path"].as_str() == log.to_str());
        let stored = log.and_then(|log| log["stored"].as_str());
        let log_at_the_cut = to.join(stored.unwrap_or_else(|| panic!("no log in {report}")));
        Self {
            log_at_the_cut,
            folder,
            library,
            to,
            pid,
            controller,
        }
    }

    /// Starts the script of the export, with this CRIU and plugin.
    fn restore(&self, run: &Run) -> Program {
        let strobe = strobe();
        let mut command = strobe.command();
        command.args(["softgpu", "--", "/usr/bin/env"]);
        command.arg(format!("CRIU={}", run.criu.path.display()));
        command.arg("sh").arg(self.to.join("restore.sh"));
        command
            .args(["-v4", "-o", "restore.log", "-W"])
            .arg(&run.work);
        command.arg("-L").arg(run.plugins.path());
        command.stdin(Stdio::null());
        Program(command.spawn().expect("strobe starts"))
    }

    fn run(&self, version: &str, plugin: &Path) -> Run {
        run_with(&self.folder, version, plugin, &self.library)
    }
}

fn library_of(session: &Session) -> PathBuf {
    let library = softgpu_library(session.pid()).expect("its maps");
    library.expect("it is on the software GPU")
}

fn lines(folder: &Folder) -> usize {
    text(&folder.join("log")).lines().count()
}

/// Somebody else with this process number, unless there is one.
fn occupy(number: u32) -> Option<Program> {
    /// The last number that was given (proc_sys_kernel(5)).
    const LAST: &str = "/proc/sys/kernel/ns_last_pid";
    for _ in 0..1000 {
        if process::exists(number) {
            return None;
        }
        let last = text(Path::new(LAST));
        fs::write(LAST, (number - 1).to_string()).expect("we are root");
        let child = Command::new("sleep").arg("600").spawn().expect("it starts");
        let child = Program(child);
        // The program's own numbers, which come next, stay free.
        fs::write(LAST, last.trim()).expect("we are root");
        if child.0.id() == number {
            return Some(child);
        }
    }
    panic!("no process with the number {number}");
}

fn export(images: &Path, to: &Path) -> Ended {
    run(["export".as_ref(), images.as_os_str(), to.as_os_str()])
}

/// A run of this CRIU with this plugin.
fn run_with(folder: &Folder, version: &str, plugin: &Path, library: &Path) -> Run {
    let name = plugin.parent().and_then(Path::file_name).expect("a name");
    let name = format!("{version}-{}", name.to_string_lossy());
    let mut run = Run::new(folder, &name, Some(library.to_owned()));
    let plugins = folder.join(&format!("{name}-chosen"));
    run.plugins = PluginFolder::create(plugins, &[plugin, library]).expect("a folder");
    let library = library.display();
    let first = format!("export LD_PRELOAD={library}");
    run.criu = criu_after(folder, &criu(version), &first);
    run
}

/// Waits for the end of a restored program.
fn ends_well(child: &mut Child, run: &Run) {
    let mut status = None;
    wait_until("end of the program", || {
        status = child.try_wait().expect("it is ours");
        status.is_some()
    });
    let status = status.expect("it has ended");
    assert!(status.success(), "{status}: {}", run.log("restore.log"));
}

fn comes_back_by(name: &str, version: &str, plugin: &Path) {
    let exported = Exported::of(name);
    let rounds = exported.folder.rounds_enough();
    let run = exported.run(version, plugin);
    let mut program = exported.restore(&run);
    ends_well(&mut program.0, &run);
    let log = text(&exported.folder.join("log"));
    assert_eq!(log, uninterrupted(rounds));
}

#[test]
fn criu_4_1_1_restores_an_export_with_its_own_plugin() {
    let upstream = installed("upstream-4.1.1/amdgpu_plugin.so");
    comes_back_by("export-4.1.1", "4.1.1", &upstream);
}

#[test]
fn criu_4_2_1_restores_an_export_with_its_own_plugin() {
    let upstream = installed("upstream-4.2.1/amdgpu_plugin.so");
    comes_back_by("export-4.2.1", "4.2.1", &upstream);
}

#[test]
fn criu_alone_restores_an_export_with_our_plugin() {
    let ours = locate::find_plugin().expect("the plugin is built");
    comes_back_by("export-ours", "4.1.1", &ours);
}

/// The agent is told nothing, and whoever asked for the checkpoint seems to be there still.
#[test]
fn what_criu_alone_has_restored_can_be_checkpointed_again() {
    let exported = Exported::of("export-again");
    let (folder, pid) = (&exported.folder, exported.pid);
    let _somebody = occupy(exported.controller);
    let upstream = installed("upstream-4.1.1/amdgpu_plugin.so");
    let run = exported.run("4.1.1", &upstream);
    let at_the_cut = text(&exported.log_at_the_cut).lines().count();
    let mut program = exported.restore(&run);
    wait_until("rounds after the cut", || {
        let ended = program.0.try_wait().expect("it is ours");
        assert!(ended.is_none(), "{}", run.log("restore.log"));
        lines(folder) > at_the_cut && run.log("restore.log").contains("finished successfully")
    });
    let again = folder.join("again");
    checkpoint_of(pid, &again, &["--kill"]).well();
    let _ = program.0.wait();
    wait_until("end", || !session::is_alive(pid));
    let rounds = folder.rounds_enough();
    restore(&again).well();
    assert_eq!(text(&folder.join("log")), uninterrupted(rounds));
}

#[test]
fn an_export_is_complete_or_absent_and_replaces_nothing() {
    let exported = Exported::of("export-damaged");
    let (images, to) = (
        exported.folder.join("images"),
        exported.folder.join("other"),
    );
    let refused = export(&images, &exported.to).badly(&["plain exists already"]);
    assert_eq!(refused.code, Some(3));
    export(&images, &to).well();
    fs::remove_dir_all(&to).expect("it was ours");
    let chunk = fs::read_dir(images.join("chunks"))
        .expect("chunks")
        .flatten();
    let chunk = chunk.flat_map(|inner| fs::read_dir(inner.path()).expect("a folder").flatten());
    let chunk = chunk.map(|file| file.path()).next().expect("a chunk");
    let core = images.join(format!("criu/core-{}.img", exported.pid));
    for damaged in [chunk, core] {
        let whole = fs::read(&damaged).expect("a file");
        let mut bytes = whole.clone();
        *bytes.last_mut().expect("it is not empty") ^= 1;
        fs::write(&damaged, bytes).expect("it is ours");
        let name = damaged.file_name().expect("a name").to_string_lossy();
        let refused = export(&images, &to).badly(&[&name, "does not match its hash"]);
        assert_eq!(refused.code, Some(3));
        let left = fs::read_dir(exported.folder.path())
            .expect("our folder")
            .flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        let is_of_it = |name: &std::ffi::OsString| name.to_string_lossy().contains("other");
        assert!(!left.iter().any(is_of_it), "{left:?}");
        fs::write(&damaged, whole).expect("it is ours");
    }
}

fn import(images: &Path, directory: &Path) -> Ended {
    run(["import".as_ref(), images.as_os_str(), directory.as_os_str()])
}

/// A program without Strobe's library, dumped by CRIU with its own plugin.
fn comes_back_from_an_import(version: &str) {
    let mut program = Holder::start(&format!("import-{version}"));
    let plugin = installed(&format!("upstream-{version}/amdgpu_plugin.so"));
    let dumped = program.run("upstream", &criu(version), &plugin);
    dumped.dump(program.pid, true).expect("CRIU dumps it");
    program.end();
    let directory = program.folder.join("checkpoint");
    let said = import(&dumped.images, &directory).well().stdout;
    for word in [
        "no agent is recorded",
        "no files of the program",
        "not started by strobe run",
    ] {
        assert!(said.contains(word), "{said}");
    }
    verify(&directory).well();
    run(["graph".as_ref(), directory.as_os_str()]).badly(&["was imported"]);

    // The nodes looked like character devices to CRIU when it dumped, and do so again.
    let first = format!("export LD_PRELOAD={}:$LD_PRELOAD", dumped.plugin.display());
    let wrapped = criu_after(&program.folder, &criu(version), &first);
    let output = program.forget_what_was_said();
    let stderr = program.folder.join("restore.err");
    let strobe = strobe();
    let child = strobe
        .command()
        .env("STROBE_CRIU", &wrapped.path)
        .args(["softgpu", "--"])
        .arg(strobe.path())
        .args(["restore", "--wait"])
        .arg(&directory)
        .stderr(File::create(&stderr).expect("a file"))
        .stdin(Stdio::null())
        .spawn()
        .expect("strobe starts");
    let mut child = Program(child);
    wait_until("restored program", || {
        let ended = child.0.try_wait().expect("it is ours");
        assert!(ended.is_none(), "{}", text(&stderr));
        text(&stderr).contains("restored ")
    });
    session::signal(program.pid, "TERM").expect("it runs");
    let status = child.0.wait().expect("it was ours");
    assert!(status.success(), "{status}: {}", text(&stderr));
    assert!(text(&output).ends_with("kept\n"), "{}", text(&output));

    // There and back they are the same.
    let to = program.folder.join("plain");
    export(&directory, &to).well();
    for entry in fs::read_dir(&dumped.images).expect("images").flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().ends_with(".img") {
            let copy = fs::read(to.join("images").join(&name)).expect("it was exported");
            assert!(
                copy == fs::read(entry.path()).expect("an image"),
                "{name:?}"
            );
        }
    }

    for (name, words) in [
        ("amdgpu-pages-", &["amdgpu-pages-", "and should have"][..]),
        ("pages-", &["image pages-", "is missing"]),
        ("pstree", &["image pstree.img is missing"]),
    ] {
        let image = image_named(&dumped.images, name);
        match name {
            "amdgpu-pages-" => {
                let len = fs::metadata(&image).expect("an image").len();
                let file = File::options().write(true).open(&image).expect("an image");
                file.set_len(len - 1).expect("it is ours");
                let ended = import(&dumped.images, &program.folder.join("other")).badly(words);
                assert_eq!(ended.code, Some(3));
                // The byte was of memory that nothing has written.
                file.set_len(len).expect("it is ours");
            }
            _ => {
                let aside = program.folder.join("aside");
                fs::rename(&image, &aside).expect("it is ours");
                let ended = import(&dumped.images, &program.folder.join("other")).badly(words);
                assert_eq!(ended.code, Some(3));
                fs::rename(&aside, &image).expect("it is ours");
            }
        }
    }
    assert!(!program.folder.join("other").exists());
}

#[test]
fn a_dump_by_criu_4_1_1_and_its_plugin_is_imported_and_restored() {
    comes_back_from_an_import("4.1.1");
}

#[test]
fn a_dump_by_criu_4_2_1_and_its_plugin_is_imported_and_restored() {
    comes_back_from_an_import("4.2.1");
}

/// There is an agent in it, of which the checkpoint knows nothing.
#[test]
fn an_export_that_is_imported_comes_back() {
    let exported = Exported::of("export-import");
    let directory = exported.folder.join("imported");
    import(&exported.to, &directory).badly(&["those of an export are in"]);
    let said = import(&exported.to.join("images"), &directory)
        .well()
        .stdout;
    assert!(said.contains("it can be checkpointed again"), "{said}");
    let rounds = exported.folder.rounds_enough();
    let log = exported.folder.join("log");
    // In its place: CRIU looks at the mode too.
    let at_the_cut = fs::read(&exported.log_at_the_cut).expect("the log as it was");
    fs::write(&log, at_the_cut).expect("our folder");
    restore(&directory).well();
    assert_eq!(text(&log), uninterrupted(rounds));
}
