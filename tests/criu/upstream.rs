//! CRIU's own amdgpu plugin restores what ours has dumped, and the other way; other versions of CRIU; and its
//! pre-dump.
//!
//! Plugins and CRIUs are those of `cargo xtask setup --tests`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use strobe_criu::locate::{self, Criu};
use strobe_criu::plugin_folder::PluginFolder;
use strobe_criu::run::softgpu_library;
use strobe_evaluation::compile;
use strobe_program::process;
use strobe_proto::amdgpu::{CriuKfd, CriuRenderNode};
use strobe_proto::frame;

use super::harness::{Folder, hip_program, programs, strobe};
use super::parallel::FILLED;
use super::{Program, Run, criu_after, image_named, python, start_bare, text, wait_until};

/// In Strobe's own place for such things.
pub(super) fn installed(name: &str) -> PathBuf {
    let prefix = locate::private_prefix().expect("a home");
    let path = prefix.with_file_name(name);
    assert!(
        path.exists(),
        "no {}: cargo xtask setup --tests",
        path.display()
    );
    path
}

pub(super) fn criu(version: &str) -> Criu {
    let name = match version {
        "4.1.1" => "criu/criu".to_owned(),
        other => format!("criu-{other}/criu"),
    };
    let criu = Criu::find(Some(&installed(&name))).expect("it is CRIU");
    assert!(criu.version.to_string().starts_with(version), "{criu:?}");
    criu
}

/// A program that holds a pattern in device memory until it is told to look at it.
pub(super) struct Holder {
    pub(super) folder: Folder,
    device: Option<Program>,
    pub(super) pid: u32,
    library: PathBuf,
    said: u64,
}

impl Holder {
    pub(super) fn start(name: &str) -> Self {
        let folder = Folder::new(name);
        let program = hip_program("holds.cpp");
        let (device, pid) = start_bare(&folder, &program, &["24", "7"]);
        let output = folder.join("output");
        wait_until("memory", || text(&output).contains("holding "));
        let library = softgpu_library(pid)
            .expect("its maps")
            .expect("it is on the software GPU");
        Self {
            said: text(&output).len() as u64,
            folder,
            device: Some(device),
            pid,
            library,
        }
    }

    /// A run of this CRIU with this plugin, on nodes that look like character devices.
    pub(super) fn run(&self, name: &str, criu: &Criu, plugin: &Path) -> Run {
        let mut run = Run::new(&self.folder, name, Some(self.library.clone()));
        let folder = self.folder.join(&format!("{name}-chosen"));
        let plugins = [plugin, self.library.as_path()];
        run.plugins = PluginFolder::create(folder, &plugins).expect("a folder of plugins");
        run.criu = criu.clone();
        run.plugin = compile::shared("char_nodes.c", &programs()).expect("cc compiles it");
        run
    }

    /// The same plugin, with which a process fills its buffer objects itself: `how` tells CRIU so.
    fn without_filler(&self, run: &Run, how: &str) -> Run {
        let plugin = locate::find_plugin().expect("the plugin is built");
        let mut off = self.run("off", &run.criu, &plugin);
        off.criu = criu_after(&self.folder, &run.criu, how);
        off
    }

    pub(super) fn end(&mut self) {
        strobe_evaluation::session::signal(self.pid, "KILL").expect("it runs");
        self.device = None;
        wait_until("free process number", || !process::exists(self.pid));
    }

    /// Its output, without what it has said when it came back another time.
    pub(super) fn forget_what_was_said(&self) -> PathBuf {
        let output = self.folder.join("output");
        let file = File::options().write(true).open(&output).expect("its file");
        file.set_len(self.said).expect("its file");
        output
    }

    /// Brings it back on a new device, and lets it look at its memory.
    fn comes_back(&self, run: &Run, images: &Path) {
        let output = self.forget_what_was_said();
        let log = run.work.join("restore.log");
        let _ = fs::remove_file(&log);
        let preload = format!(
            "LD_PRELOAD={}:{}",
            run.plugin.display(),
            self.library.display()
        );
        let child = strobe()
            .command()
            .args(["softgpu", "--", "/usr/bin/env", &preload])
            .arg(&run.criu.path)
            .args(["restore", "--shell-job", "-v4", "-o", "restore.log", "-D"])
            .arg(images)
            .arg("-W")
            .arg(&run.work)
            .arg("-L")
            .arg(run.plugins.path())
            .stdin(Stdio::null())
            .spawn()
            .expect("strobe starts");
        let mut child = Program(child);
        // A signal before that would end it.
        let done = || text(&log).contains("finished successfully");
        wait_until("restored program", || {
            let ended = child.0.try_wait().expect("it was ours").is_some();
            assert!(!ended || done(), "{}", text(&log));
            done()
        });
        strobe_evaluation::session::signal(self.pid, "TERM").expect("it runs");
        let status = child.0.wait().expect("it was ours");
        assert!(status.success(), "{status}: {}", text(&output));
        assert!(text(&output).ends_with("kept\n"), "{}", text(&output));
    }
}

fn kfd(run: &Run) -> CriuKfd {
    let path = image_named(&run.images, "amdgpu-kfd-");
    frame::read_image(&mut File::open(path).expect("an image")).expect("a kfd image")
}

fn node(run: &Run) -> CriuRenderNode {
    let path = image_named(&run.images, "amdgpu-renderD-");
    frame::read_image(&mut File::open(path).expect("an image")).expect("a render node image")
}

/// Two dumps of one state.
#[track_caller]
fn are_equal(ours: &Run, upstream: &Run) {
    let name = |run: &Run, start| {
        image_named(&run.images, start)
            .file_name()
            .map(ToOwned::to_owned)
    };
    for start in ["amdgpu-kfd-", "amdgpu-pages-", "amdgpu-renderD-"] {
        assert_eq!(name(ours, start), name(upstream, start));
    }
    let pages = |run: &Run| fs::read(image_named(&run.images, "amdgpu-pages-")).expect("an image");
    assert!(pages(ours) == pages(upstream), "contents differ");
    let mut of_ours = kfd(ours);
    for bo in &mut of_ours.bo_entries {
        // CRIU 4.3 has this field and wants it; these versions have not.
        assert_eq!(bo.handle.take(), Some(u32::MAX));
    }
    assert_eq!(of_ours, kfd(upstream));
    // What it is besides is of CRIU 4.3, too.
    assert_eq!(node(ours).gpu_id, node(upstream).gpu_id);
    let only_gpu = CriuRenderNode {
        gpu_id: node(upstream).gpu_id,
        ..CriuRenderNode::default()
    };
    assert_eq!(node(upstream), only_gpu);
}

/// Whether a process beside CRIU has filled the buffer objects.
#[track_caller]
fn is_filled_meanwhile(run: &Run, expected: bool) {
    let log = run.log("restore.log");
    assert_eq!(log.contains(FILLED), expected, "{log}");
}

/// What our plugin says that it has is what this CRIU knows.
#[track_caller]
fn is_declared(run: &Run, version: u32, hooks: u32) {
    let line = format!("Plugin \"amdgpu_plugin\" (version {version} hooks {hooks})");
    let log = run.log("restore.log");
    assert!(log.contains(&line), "{log}");
}

fn either_restores_what_the_other_has_dumped(version: &str, declared: (u32, u32)) {
    let mut program = Holder::start(&format!("criu-upstream-{version}"));
    let criu = criu(version);
    let ours = locate::find_plugin().expect("the plugin is built");
    let upstream = installed(&format!("upstream-{version}/amdgpu_plugin.so"));
    let ours = program.run("ours", &criu, &ours);
    let upstream = program.run("upstream", &criu, &upstream);
    for run in [&ours, &upstream] {
        run.dump(program.pid, true).expect("CRIU dumps it");
    }

    are_equal(&ours, &upstream);
    program.end();
    program.comes_back(&ours, &upstream.images);
    is_filled_meanwhile(&ours, true);
    let off = program.without_filler(&ours, "export STROBE_PARALLEL_RESTORE=NO");
    program.comes_back(&off, &upstream.images);
    is_filled_meanwhile(&off, false);
    let (version, hooks) = declared;
    is_declared(&ours, version, hooks);
    program.comes_back(&upstream, &ours.images);
    for name in ["dump.log", "restore.log"] {
        let is_upstreams = |run: &Run| run.log(name).contains("amdgpu_plugin: ");
        assert!(is_upstreams(&upstream), "{}", upstream.log(name));
        assert!(!is_upstreams(&ours), "{}", ours.log(name));
    }
}

#[test]
fn either_plugin_of_criu_4_1_1_restores_what_the_other_has_dumped() {
    either_restores_what_the_other_has_dumped("4.1.1", (0x200, 12));
}

#[test]
fn either_plugin_of_criu_4_2_1_restores_what_the_other_has_dumped() {
    either_restores_what_the_other_has_dumped("4.2.1", (0x200, 13));
}

/// CRIU 4.3 has more hooks, another argument of one, and options for plugins.
#[test]
fn a_program_comes_back_by_criu_4_3_which_has_options_for_plugins() {
    let mut program = Holder::start("criu-4.3");
    let criu = criu("4.3");
    let plugin = locate::find_plugin().expect("the plugin is built");
    let run = program.run("images", &criu, &plugin);
    let mut with = program.run("wrong", &criu, &plugin);
    let option = "--plugin-option=amdgpu_plugin.KFD_MAX_BUFFER_SIZE";
    with.criu = criu_after(
        &program.folder,
        &criu,
        &format!("set -- \"$@\" {option}=much"),
    );
    let error = with.dump(program.pid, true).expect_err("a wrong value");
    let sentence = error.to_string();
    let expected = "KFD_MAX_BUFFER_SIZE is \"much\"; it may be a number of bytes";
    assert!(sentence.starts_with(expected), "{sentence}");
    run.dump(program.pid, true).expect("CRIU dumps it");
    program.end();
    program.comes_back(&run, &run.images);
    is_filled_meanwhile(&run, true);
    is_declared(&run, 0x300, 17);
    with.criu = criu_after(
        &program.folder,
        &criu,
        &format!("set -- \"$@\" {option}=64K"),
    );
    program.comes_back(&with, &run.images);
    is_filled_meanwhile(&with, true);
    let off = "set -- \"$@\" --plugin-option=amdgpu_plugin.STROBE_PARALLEL_RESTORE=NO";
    let off = program.without_filler(&run, off);
    program.comes_back(&off, &run.images);
    is_filled_meanwhile(&off, false);
}

/// CRIU alone ends by a signal then.
#[test]
fn a_pre_dump_passes_or_is_refused_by_name() {
    let folder = Folder::new("criu-pre-dump");
    let ready = folder.join("ready");
    let script = "import os, time\nos.closerange(3, 1024)\nprint(1, flush=True)\ntime.sleep(60)";
    let mut program = python(&folder, script, &ready);
    wait_until("line", || text(&ready) == "1\n");
    let run = Run::new(&folder, "images", None);
    let of_criu = |arguments: &[&str]| {
        let mut command = Command::new(&run.criu.path);
        command.args(arguments).stdin(Stdio::null());
        command.output().expect("CRIU starts").status
    };
    let is_tracked = of_criu(&["check", "--feature", "mem_dirty_track"]).success();
    let pid = program.0.id().to_string();
    let path = |path: &Path| path.to_str().expect("text").to_owned();
    let (images, work, plugins) = (path(&run.images), path(&run.work), path(run.plugins.path()));
    let status = of_criu(&[
        "pre-dump", "-t", &pid, "-D", &images, "-W", &work, "-L", &plugins, "-o", "dump.log", "-v4",
    ]);
    let log = run.log("dump.log");
    assert_eq!(status.success(), is_tracked, "{status}: {log}");
    let sentence = "keeps no track of pages that are written (CONFIG_MEM_SOFT_DIRTY)";
    assert_eq!(log.contains(sentence), !is_tracked, "{log}");
    assert!(status.code().is_some(), "it ended by a signal");
    assert!(
        program.0.try_wait().expect("it was ours").is_none(),
        "the program has ended"
    );
}
