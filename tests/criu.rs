//! The plugin in real CRIU, without an agent: it is a drop-in.
//!
//! | test | what must hold |
//! |---|---|
//! | `a_program_without_a_gpu_...` | the plugin is out of the way of programs that are none of its business |
//! | `a_gpu_program_without_an_agent_...` | everything is in images of CRIU's own form, and comes back |
//! | `a_dump_undoes_...` | queues that a killed dump has left stopped run after the next one |
//! | `a_program_that_is_stopped_...` | SIGSTOP does no harm while CRIU has the program in its hands |
//! | `gem` | what a program holds at render nodes itself comes back, also from an import |
//! | `shared` | memory that processes share is one memory again |
//! | `options` | what a user sets is obeyed, or named with what it may be |
//! | `parallel` | buffer objects are filled while CRIU goes on, and nothing runs before they are |
//! | `plain` | plain images of CRIU are made of a checkpoint, and a checkpoint of those |
//! | `stream` | images go through CRIU's image streamer, or the dump is refused |
//! | `underway` | kernels that are dumped in their middle go on, there and where they are restored |
//! | `upstream` | CRIU's own plugin and ours write the same, and restore what the other wrote |

#[path = "harness/mod.rs"]
mod harness;

#[path = "criu/gem.rs"]
mod gem;
#[path = "criu/options.rs"]
mod options;
#[path = "criu/parallel.rs"]
mod parallel;
#[path = "criu/plain.rs"]
mod plain;
#[path = "criu/shared.rs"]
mod shared;
#[path = "criu/stream.rs"]
mod stream;
#[path = "criu/underway.rs"]
mod underway;
#[path = "criu/upstream.rs"]
mod upstream;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use harness::lethal::Lethal;
use harness::{Folder, LIMIT, hip_program, strobe};
use strobe_criu::failure::PLUGIN_PREFIX;
use strobe_criu::locate::{self, Criu};
use strobe_criu::plugin_folder::PluginFolder;
use strobe_criu::run::{RunError, Setting, softgpu_library};
use strobe_program::process;
use strobe_proto::amdgpu::{CriuKfd, CriuRenderNode};
use strobe_proto::{TcpConnections, files, frame};

const VRAM: u32 = 1;
const GTT: u32 = 2;

/// Folders of one CRIU run, and the tools.
struct Run {
    criu: Criu,
    images: PathBuf,
    work: PathBuf,
    plugins: PluginFolder,
    plugin: PathBuf,
    softgpu: Option<PathBuf>,
}

impl Run {
    fn new(folder: &Folder, name: &str, softgpu: Option<PathBuf>) -> Self {
        let criu = Criu::find(None).expect("CRIU is installed");
        let plugin = locate::find_plugin().expect("the plugin is built");
        let (images, work) = (folder.join(name), folder.join(&format!("{name}-work")));
        for path in [&images, &work] {
            fs::create_dir_all(path).expect("a folder");
        }
        let mut plugins = vec![plugin.as_path()];
        plugins.extend(softgpu.as_deref());
        let plugins = PluginFolder::create(folder.join(&format!("{name}-plugins")), &plugins)
            .expect("a folder of plugins");
        Self {
            criu,
            images,
            work,
            plugins,
            plugin,
            softgpu,
        }
    }

    fn setting(&self) -> Setting<'_> {
        Setting {
            criu: &self.criu,
            images: &self.images,
            work: &self.work,
            plugins: self.plugins.path(),
            plugin: &self.plugin,
            softgpu: self.softgpu.as_deref(),
            tcp: TcpConnections::Refused,
            time_out: LIMIT,
        }
    }

    fn dump(&self, pid: u32, leave_running: bool) -> Result<(), RunError> {
        self.setting()
            .dump(pid, leave_running, 1 << 20)?
            .finish(|| false)
    }

    /// Runs to the end of the program. `device` are options of `strobe softgpu`.
    fn restore_on_new_device(&self, images: &Path, device: &[&str]) -> ExitStatus {
        let mut command = self.restore_command(images, device);
        command.status().expect("strobe starts")
    }

    fn restore_command(&self, images: &Path, device: &[&str]) -> Command {
        // What a restore that failed has left ends in its own time.
        let entries = fs::read_dir(images).expect("the images").flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let numbers: Vec<u32> = names.filter_map(|name| files::thread(&name)).collect();
        wait_until("free process numbers", || {
            !numbers.iter().any(|number| process::exists(*number))
        });
        let mut command = strobe().command();
        command.arg("softgpu").args(device);
        command.args(["--", "/usr/bin/env"]);
        if let Some(library) = &self.softgpu {
            command.arg(format!("LD_PRELOAD={}", library.display()));
        }
        command
            .arg(&self.criu.path)
            .args(["restore", "--shell-job", "-v4", "-o", "restore.log", "-D"])
            .arg(images)
            .arg("-W")
            .arg(&self.work)
            .arg("-L")
            .arg(self.plugins.path())
            .stdin(Stdio::null());
        command
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.work.join(name)).unwrap_or_default()
    }
}

/// A CRIU before which a shell does `first`, for a dump or a restore.
fn criu_after(folder: &Folder, criu: &Criu, first: &str) -> Criu {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in dump|restore) {first};; esac\nexec '{}' \"$@\"\n",
        criu.path.display()
    );
    let path = folder.join(&format!("criu-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
    fs::write(&path, script).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("made executable");
    Criu::find(Some(&path)).expect("it is CRIU")
}

/// Restores from images that say of no buffer object where it was mapped from. CRIU has to fail, or it
/// maps the memory of another one; what the plugin says.
fn restore_without_offsets(folder: &Folder, run: &Run) -> String {
    let images = folder.join("without-offsets");
    fs::create_dir(&images).expect("a folder");
    for entry in fs::read_dir(&run.images).expect("the images").flatten() {
        let to = images.join(entry.file_name());
        fs::hard_link(entry.path(), to).expect("a link");
    }
    let path = image_named(&images, "amdgpu-kfd-");
    let mut kfd: CriuKfd =
        frame::read_image(&mut File::open(&path).expect("an image")).expect("a kfd image");
    for bo in &mut kfd.bo_entries {
        bo.offset ^= 1 << 40;
    }
    fs::remove_file(&path).expect("a link");
    frame::write_image(&mut File::create(&path).expect("a file"), &kfd).expect("a kfd image");
    let status = run.restore_on_new_device(&images, &[]);
    assert!(!status.success(), "{}", run.log("restore.log"));
    let log = run.log("restore.log");
    let line = log.lines().find(|line| line.contains(PLUGIN_PREFIX));
    line.unwrap_or_else(|| panic!("it failed otherwise: {log}"))
        .to_owned()
}

/// The one image whose name starts so.
fn image_named(images: &Path, start: &str) -> PathBuf {
    let names = fs::read_dir(images).expect("the images").flatten();
    let mut paths = names.filter(|entry| entry.file_name().to_string_lossy().starts_with(start));
    let found = paths.next().unwrap_or_else(|| panic!("no {start}"));
    assert!(paths.next().is_none(), "several {start}");
    found.path()
}

/// A child that is killed when the test ends. What runs on the device of a `strobe softgpu` ends with
/// it.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < deadline, "no {what} within {LIMIT:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Starts a program on a software GPU, without Strobe's library in it; the program's number.
fn start_bare(folder: &Folder, program: &str, arguments: &[&str]) -> (Program, u32) {
    start_bare_on(&[], folder, program, arguments)
}

/// The same with options of `strobe softgpu`.
fn start_bare_on(
    options: &[&str],
    folder: &Folder,
    program: &str,
    arguments: &[&str],
) -> (Program, u32) {
    let pid_file = folder.join("pid");
    let script = format!("echo $$ > {} && exec {program} \"$@\"", pid_file.display());
    let output = File::create(folder.join("output")).expect("a file");
    let child = strobe()
        .command()
        .arg("softgpu")
        .args(options)
        .args(["--", "/bin/sh", "-c", &script, "sh"])
        .args(arguments)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(output.try_clone().expect("a copy"))
        .stderr(output)
        .spawn()
        .expect("strobe starts");
    let program = Program(child);
    wait_until("process number", || text(&pid_file).ends_with('\n'));
    let pid = text(&pid_file).trim().parse().expect("a number");
    (program, pid)
}

/// A program in a session of its own, which is to close the files that it inherits: CRIU saves none whose mount or leader it
/// cannot see, and what a test inherits may be of another namespace.
fn python(folder: &Folder, script: &str, output: &Path) -> Program {
    let child = Command::new("setsid")
        .args(["python3", "-c", script])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(File::create(output).expect("a file"))
        .stderr(Stdio::null())
        .spawn();
    Program(child.expect("python3 starts"))
}

/// Ends with a dump, and is restored.
fn is_moved_on(program: &mut Program, run: &Run) {
    let pid = program.0.id();
    run.dump(pid, false).expect("CRIU dumps it");
    program.0.wait().expect("it was ours");
    wait_until("free process number", || !process::exists(pid));
    let restored = run.setting().restore(false).expect("CRIU starts");
    restored.finish(|| false).expect("CRIU restores it");
}

#[test]
fn a_program_without_a_gpu_is_dumped_and_restored_as_without_the_plugin() {
    let folder = Folder::new("criu-cpu");
    let count = folder.join("count");
    let script = "import os, time\nos.closerange(3, 1024)\n\
                  for i in range(1, 401): print(i, flush=True); time.sleep(0.02)";
    let mut program = python(&folder, script, &count);
    wait_until("line", || text(&count).lines().count() > 3);
    let run = Run::new(&folder, "images", None);
    run.dump(program.0.id(), false).expect("CRIU dumps it");
    assert!(
        run.log("dump.log").contains("\"amdgpu_plugin\""),
        "the plugin was not loaded"
    );
    let pid = program.0.id();
    program.0.wait().expect("it was ours");
    wait_until("free process number", || !process::exists(pid));
    run.setting()
        .restore(false)
        .expect("CRIU starts")
        .finish(|| false)
        .expect("CRIU restores it");
    assert_eq!(run.setting().restored_pid().expect("a pid file"), pid);
    wait_until("end", || text(&count).lines().last() == Some("400"));
    let expected: String = (1..=400).map(|i| format!("{i}\n")).collect();
    assert_eq!(text(&count), expected);
}

/// CRIU writes it to the terminal once more, in the program that goes on, too.
#[test]
fn what_nobody_has_read_of_a_terminal_is_what_it_was_after_dumps_and_restores() {
    let folder = Folder::new("criu-terminal");
    let output = folder.join("output");
    let script = "import os, pty, sys, time\nos.closerange(3, 1024)\nm, s = pty.openpty()\n\
                  os.write(s, b'one\\ntwo\\n')\nos.write(m, b'three\\n')\n\
                  print('ready', flush=True)\n\
                  while not os.path.exists('go'): time.sleep(0.02)\n\
                  os.set_blocking(m, False)\n\
                  print(os.read(m, 99), os.read(s, 99), flush=True)";
    let mut program = python(&folder, script, &output);
    wait_until("line", || text(&output) == "ready\n");
    let pid = program.0.id();
    let first = Run::new(&folder, "first", None);
    first.dump(pid, true).expect("CRIU dumps it");
    is_moved_on(&mut program, &Run::new(&folder, "second", None));
    fs::write(folder.join("go"), "").expect("a file");
    wait_until("answer", || text(&output).lines().count() == 2);
    assert_eq!(
        text(&output),
        "ready\nb'one\\r\\ntwo\\r\\nthree\\r\\n' b'three\\n'\n"
    );
}

/// Brought back, a pending SIGCONT would stop the thread that gets it in the middle of that.
#[test]
fn a_program_with_pending_signals_comes_back_with_all_but_sigcont() {
    let folder = Folder::new("criu-pending");
    let output = folder.join("output");
    let script = "import os, signal as s, time\nos.closerange(3, 1024)\n\
                  s.pthread_sigmask(s.SIG_BLOCK, [s.SIGCONT, s.SIGUSR1, s.SIGUSR2])\n\
                  [os.kill(os.getpid(), n) for n in (s.SIGUSR1, s.SIGCONT, s.SIGUSR2)]\n\
                  print('ready', flush=True)\n\
                  while not os.path.exists('go'): time.sleep(0.02)\n\
                  print(sorted(n.name for n in s.sigpending()), flush=True)";
    let mut program = python(&folder, script, &output);
    wait_until("signals", || text(&output) == "ready\n");
    is_moved_on(&mut program, &Run::new(&folder, "images", None));
    fs::write(folder.join("go"), "").expect("a file");
    wait_until("answer", || text(&output).lines().count() == 2);
    assert_eq!(text(&output), "ready\n['SIGUSR1', 'SIGUSR2']\n");
}

#[test]
fn a_gpu_program_without_an_agent_comes_back_from_images_of_upstreams_form() {
    let folder = Folder::new("criu-bare");
    let dumped = Dumped::new(&folder, "mixed.cpp", 1, &[]);
    let sentence = restore_without_offsets(&folder, &dumped.run);
    assert!(
        sentence.contains("belongs to no buffer object"),
        "{sentence}"
    );
    dumped.comes_back_on(&[]);
}

/// The two GPUs that a program begins on, by their ids.
const TWO: &[&str] = &["--gpu-ids", "0x1111,0x2222"];

#[test]
fn a_program_on_two_gpus_without_an_agent_comes_back() {
    comes_back("criu-two", "several.cpp", 2, [TWO, TWO]);
}

#[test]
fn a_program_on_two_gpus_comes_back_on_gpus_of_other_numbers_and_in_another_order() {
    let other = &["--gpu-ids", "0x7777,0x5555"];
    comes_back("criu-two-renumbered", "several.cpp", 2, [TWO, other]);
    let order = &["--gpu-ids", "0x2222,0x1111"];
    comes_back("criu-two-reordered", "several.cpp", 2, [TWO, order]);
}

#[test]
fn a_program_on_two_gpus_without_large_bar_comes_back() {
    let two = &["--gpus", "2", "--private-vram"];
    comes_back("criu-two-private", "several.cpp", 2, [two, two]);
}

/// A program that writes a line a round is dumped on the device of the first options and restored on that
/// of the second ones, and all its lines are as if nothing had happened.
fn comes_back(name: &str, source: &str, gpus: usize, [before, after]: [&[&str]; 2]) {
    let folder = Folder::new(name);
    Dumped::new(&folder, source, gpus, before).comes_back_on(after);
}

/// A program that was dumped on the software GPU, and has ended.
struct Dumped {
    _device: Program,
    run: Run,
    log: PathBuf,
    /// What its log holds when it has ended right.
    expected: String,
}

impl Dumped {
    fn new(folder: &Folder, source: &str, gpus: usize, before: &[&str]) -> Self {
        const ROUNDS: usize = 150;
        let program = hip_program(source);
        let rounds = ROUNDS.to_string();
        let output = strobe()
            .command()
            .arg("softgpu")
            .args(before)
            .args(["--", &program, &rounds])
            .output()
            .expect("strobe starts");
        let expected = String::from_utf8(output.stdout).expect("text");
        assert!(
            expected.ends_with(&format!("end rounds {ROUNDS}\n")),
            "{expected}"
        );

        let (device, pid) = start_bare_on(before, folder, &program, &[&rounds, "log", "100"]);
        let log = folder.join("log");
        wait_until("round", || text(&log).contains("round 3 "));
        let library = softgpu_library(pid)
            .expect("its maps")
            .expect("it is on the software GPU");
        let run = Run::new(folder, "images", Some(library));
        run.dump(pid, false).expect("CRIU dumps it");
        assert!(
            text(&log).lines().count() < ROUNDS,
            "the program was too fast for the test"
        );
        check_images(&run.images, gpus);
        wait_until("free process number", || !process::exists(pid));
        Self {
            _device: device,
            run,
            log,
            expected,
        }
    }

    /// Restores it on a new device of these options; whether that succeeded, and it ended.
    fn restore(&self, options: &[&str]) -> bool {
        let run = &self.run;
        run.restore_on_new_device(&run.images, options).success()
    }

    /// All it has written at its end is as if nothing had happened.
    fn comes_back_on(&self, options: &[&str]) {
        assert!(self.restore(options), "{}", self.run.log("restore.log"));
        let log = text(&self.log);
        assert_eq!(log, self.expected, "it came back other than it was");
    }
}

#[test]
fn a_program_on_two_gpus_comes_back_only_where_two_are_linked_like_them() {
    let folder = Folder::new("criu-two-others");
    let dumped = Dumped::new(&folder, "several.cpp", 2, TWO);
    let before = text(&dumped.log);
    for (options, sentence) in [
        (
            ["--gpus", "1"].as_slice(),
            "the checkpoint needs 2 GPUs, this machine has 1",
        ),
        (
            &["--gpus", "3"],
            "the checkpoint needs 2 GPUs, this machine has 3",
        ),
        (
            &["--gpus", "2", "--links", "none"],
            "io_links_count was 0x2 and is 0x1 here",
        ),
        (
            &["--gpus", "2", "--private-vram"],
            "vram_public was 0x1 and is 0x0 here",
        ),
    ] {
        assert!(!dumped.restore(options), "restored with {options:?}");
        let log = dumped.run.log("restore.log");
        assert!(log.contains(sentence), "{options:?}: {log}");
        assert_eq!(text(&dumped.log), before, "it ran with {options:?}");
    }
    dumped.comes_back_on(TWO);
}

#[test]
fn a_dump_undoes_what_a_killed_one_has_left() {
    let folder = Folder::new("criu-killed");
    let program = hip_program("mixed.cpp");
    let (_device, pid) = start_bare(&folder, &program, &["100000", "log", "100"]);
    let log = folder.join("log");
    let rounds = || text(&log).lines().count();
    wait_until("round", || rounds() > 3);
    let library = softgpu_library(pid)
        .expect("its maps")
        .expect("it is on the software GPU");
    let lethal = Lethal::new(&folder, "checkpoint,after,1,KILL");
    let mut run = Run::new(&folder, "killed", Some(library.clone()));
    run.criu = lethal.criu();
    let sentence = run.dump(pid, true).expect_err("it is killed").to_string();
    assert!(
        sentence.starts_with("CRIU was ended by signal 9"),
        "{sentence}"
    );
    thread::sleep(Duration::from_millis(200));
    let before = rounds();
    thread::sleep(Duration::from_secs(1));
    assert_eq!(rounds(), before, "the queues were not stopped");
    let next = Run::new(&folder, "next", Some(library));
    next.dump(pid, true).expect("CRIU dumps it");
    wait_until("round after the next dump", || rounds() > before + 2);
}

/// Every file is what CRIU's own plugin would have written.
fn check_images(images: &Path, gpus: usize) {
    let names: Vec<String> = fs::read_dir(images)
        .expect("the images")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("text")
        })
        .collect();
    let named = |start: &str| -> Vec<File> {
        let found = names.iter().filter(|name| name.starts_with(start));
        let opened = found.map(|name| File::open(images.join(name)).expect("an image"));
        opened.collect()
    };
    let [mut kfd] = named("amdgpu-kfd-")
        .try_into()
        .unwrap_or_else(|_| panic!("one kfd image among {names:?}"));
    let kfd: CriuKfd = frame::read_image(&mut kfd).expect("a kfd image");
    assert_eq!(kfd.num_of_gpus as usize, gpus);
    assert_eq!(kfd.num_of_bos as usize, kfd.bo_entries.len());
    let entries = kfd.device_entries.iter();
    let ids: BTreeSet<u32> = entries.map(|e| e.gpu_id).filter(|id| *id != 0).collect();
    assert_eq!(ids.len(), gpus);
    let mut contents = Vec::new();
    for mut pages in named("amdgpu-pages-") {
        let content = frame::read_image_len(&mut pages).expect("a length");
        assert_eq!(pages.metadata().expect("its size").len(), 8 + content);
        contents.push(content);
    }
    let content_of = |id: &u32| -> u64 {
        let buffers = kfd.bo_entries.iter().filter(|bo| bo.gpu_id == *id);
        let kept = buffers.filter(|bo| bo.alloc_flags & (VRAM | GTT) != 0);
        kept.map(|bo| bo.size).sum()
    };
    let mut expected: Vec<u64> = ids.iter().map(content_of).collect();
    expected.sort_unstable();
    contents.sort_unstable();
    assert_eq!(contents, expected);
    let mut nodes = BTreeSet::new();
    for mut image in named("amdgpu-renderD-") {
        let node: CriuRenderNode = frame::read_image(&mut image).expect("a render node image");
        nodes.insert(node.gpu_id);
    }
    assert_eq!(nodes, ids);
    // CRIU's own plugin does not look at it.
    let mut ours = names.iter().filter(|name| name.starts_with("strobe-"));
    assert!(ours.all(|name| name == files::ATTRIBUTES), "{names:?}");
}

#[test]
fn a_program_that_is_stopped_at_any_moment_of_a_dump_is_whole_and_stopped_after_it() {
    let folder = Folder::new("criu-stop");
    let program = hip_program("holds.cpp");
    let (mut device, pid) = start_bare(&folder, &program, &["8", "7"]);
    let output = folder.join("output");
    wait_until("memory", || text(&output).contains("holding "));
    let library = softgpu_library(pid)
        .expect("its maps")
        .expect("it is on the software GPU");
    let state = || process::stat(pid).expect("the program is there").state;
    // CRIU moves threads by ptrace, first to a stop, then to run code of its own; and in a hook of the
    // plugin that code waits for CRIU.
    let mut runs = 0;
    let mut stop = |point: &str, how: &str| {
        runs += 1;
        let mut run = Run::new(&folder, &format!("images-{runs}"), Some(library.clone()));
        run.criu = Lethal::new(&folder, &format!("{point},{how}")).criu();
        let result = run.dump(pid, true);
        // On a busy machine it may take a while.
        let is_stopped = (0..50).any(|_| {
            thread::sleep(Duration::from_millis(10));
            state() == 'T'
        });
        strobe_evaluation::session::signal(pid, "CONT").expect("it is there");
        wait_until("running", || matches!(state(), 'R' | 'S'));
        (is_stopped, result)
    };
    let numbers = || std::iter::successors(Some(1), |number| Some(number + number / 12 + 1));
    let ptrace = |number: u32| format!("ptrace,after,{number}");
    // It is CRIU that does not take a stop while it seizes the threads: the first numbers.
    let (mut seized, mut last) = (None, 0);
    for number in numbers() {
        let (is_stopped, result) = stop(&ptrace(number), "PROGRAM");
        match (seized, result) {
            (None, Ok(())) => seized = Some(number),
            (Some(_), Err(error)) => panic!("{number}: {error}"),
            _ => {}
        }
        last = number;
        if !is_stopped {
            break;
        }
    }
    let seized = seized.expect("a dump");
    assert!(
        last > 2 * seized && last > 100,
        "dumped from {seized} to {last}"
    );
    let file = "dump_file,before,1";
    let (is_stopped, result) = stop(file, "PROGRAM");
    result.expect("a dump");
    assert!(is_stopped, "no file of ours");
    // Whoever lets it go on again finds it running: the dump makes no stop of what is over.
    for when in ["before", "after"] {
        for number in numbers().take_while(|number| *number < last) {
            let (is_stopped, result) = stop(&format!("ptrace,{when},{number}"), "RESUMED");
            assert!(!is_stopped, "{when} {number}: it is stopped");
            if let (true, Err(error)) = (number > seized, result) {
                panic!("{when} {number}: {error}");
            }
        }
    }
    let (is_stopped, result) = stop(file, "RESUMED");
    result.expect("a dump");
    assert!(!is_stopped, "it is stopped");
    strobe_evaluation::session::signal(pid, "TERM").expect("it runs");
    let status = device.0.wait().expect("it was ours");
    assert!(status.success(), "{status}: {}", text(&output));
    assert!(text(&output).ends_with("kept\n"), "{}", text(&output));
}
