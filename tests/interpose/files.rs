//! Calls that name files, under `libstrobe.so`: they end as without us, and the journal tells of what they are about to do.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use strobe_evaluation::compile;
use strobe_proto::journal::{Entry, entries};

/// What calls have said, and what was noted of them: the letter of each entry and its path in the folder.
struct Made {
    said: String,
    noted: Vec<String>,
}

fn program() -> &'static Path {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
        let programs = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("programs");
        compile::host("interpose/files.c", &programs).expect("cc compiles it")
    });
    &PROGRAM
}

/// Makes calls in a folder that is filled by `fill`, once without us and once with us: they say the same.
#[track_caller]
fn made(fill: impl Fn(&Path), calls: &[&str]) -> Made {
    let program = program();
    let run = |command: &mut Command| {
        let folder = tempfile::tempdir().expect("a folder");
        fill(folder.path());
        let output = command
            .args(calls)
            .current_dir(folder.path())
            .output()
            .expect("it starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (said, errors) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{}: {said}{errors}", output.status);
        (said, folder)
    };
    let (alone, _) = run(&mut Command::new(program));
    let strobe = env!("CARGO_BIN_EXE_strobe");
    let (said, folder) = run(Command::new(strobe).args(["run", "--"]).arg(program));
    assert_eq!(said, alone, "as without us");
    let journal = fs::read(folder.path().join("journal")).expect("it was copied");
    let noted = entries(&journal).filter_map(|entry| described(entry, folder.path()));
    let noted = noted.collect();
    Made { said, noted }
}

fn described(entry: Entry<'_>, folder: &Path) -> Option<String> {
    let inside = |path: &[u8]| {
        let path = String::from_utf8_lossy(path).into_owned();
        let path = Path::new(&path).strip_prefix(folder).ok()?.to_owned();
        Some(path.display().to_string())
    };
    Some(match entry {
        Entry::Write(path) => format!("= {}", inside(path)?),
        Entry::Make(path) => format!("+ {}", inside(path)?),
        Entry::MakeFolder(path) => format!("/ {}", inside(path)?),
        Entry::Remove(named) => format!("- {}", inside(named.path)?),
        Entry::Rename(renamed) => format!("> {} {}", inside(renamed.old)?, inside(renamed.new)?),
        Entry::Unwatched(program) => format!("! {}", String::from_utf8_lossy(program)),
        Entry::UsesGpu | Entry::Cut(_) | Entry::Placed(_) | Entry::Restored(_) => return None,
    })
}

#[test]
fn what_is_no_file_is_not_written() {
    let fill = |folder: &Path| {
        fs::create_dir(folder.join("folder")).expect("room");
        fs::write(folder.join("file"), "").expect("room");
        std::os::unix::fs::symlink("file", folder.join("link")).expect("room");
    };
    let calls = [
        "open . T+",
        "open folder T+x",
        "open folder +",
        "open folder wct",
        "creat folder",
        "fopen folder w",
        "mkfifo fifo",
        "open fifo +n",
        "open file P+",
        "open link w",
        "open none w",
        "open made wc",
    ];
    let made = made(fill, &calls);
    assert_eq!(made.noted, ["+ fifo", "= file", "+ made"], "{}", made.said);
}

/// A link may lead elsewhere later.
#[test]
fn names_are_those_that_links_lead_to_now() {
    let fill = |folder: &Path| {
        fs::create_dir(folder.join("run")).expect("room");
        fs::write(folder.join("run/log"), "").expect("room");
        for (link, target) in [("cur", "run"), ("log", "cur/log"), ("again", "cur")] {
            std::os::unix::fs::symlink(target, folder.join(link)).expect("room");
        }
    };
    let calls = [
        "mkdir cur/made/",
        "open log w",
        "open again/log wc",
        "open cur/new wc",
        "rename again/new ./cur/../cur/moved",
        "unlink run/../cur/moved",
        "rmdir cur/made//",
        "unlink cur",
    ];
    let made = made(fill, &calls);
    let expected = [
        "/ run/made",
        "= run/log",
        "+ run/new",
        "> run/new run/moved",
        "- run/moved",
        "- run/made",
        "- cur",
    ];
    assert_eq!(made.noted, expected, "{}", made.said);
}

#[test]
fn a_thread_that_is_to_end_does_so_where_it_would_without_us() {
    let fill = |folder: &Path| fs::write(folder.join("file"), "").expect("room");
    let calls = [
        "cancel",
        "rename file other",
        "unlink other",
        "mkdir folder",
        "rmdir folder",
        "symlink to link",
        "mkfifo fifo",
        "link fifo second",
        "execv /nowhere",
        "open file wc",
        "unlink fifo",
    ];
    let made = made(fill, &calls);
    let expected = [
        "> file other",
        "- other",
        "/ folder",
        "- folder",
        "+ link",
        "+ fifo",
        "+ second",
        "+ file",
    ];
    assert_eq!(made.noted, expected, "{}", made.said);
    assert!(made.said.ends_with("cancelled\n"), "{}", made.said);
}

#[test]
fn a_file_that_is_there_is_not_written_by_who_wants_to_make_it() {
    let fill = |folder: &Path| {
        for lock in ["lock", "stream", "flock"] {
            fs::write(folder.join(lock), "").expect("room");
        }
    };
    let calls = [
        "open lock wcx",
        "open lock rcx",
        "fopen stream wx",
        "fopen stream a+x",
        "open flock rc",
        "fopen flock r,ccs=wa+",
        "open none rc",
        "open new wcx",
        "fopen third wx",
        "open lock rt",
        "fopen flock r+x",
    ];
    let made = made(fill, &calls);
    let expected = ["+ none", "+ new", "+ third", "= lock", "= flock"];
    assert_eq!(made.noted, expected, "{}", made.said);
}

#[test]
fn what_the_kernel_will_refuse_is_not_noted() {
    let fill = |folder: &Path| {
        let make = |name: &str, mode| {
            let path = folder.join(name);
            match name.contains('.') {
                true => fs::write(&path, "").expect("room"),
                false => fs::create_dir_all(&path).expect("room"),
            }
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(&path, mode).expect("it is ours");
        };
        make("", 0o755);
        make("theirs", 0o755);
        make("theirs/a.file", 0o644);
        make("theirs/an.open", 0o666);
        make("free", 0o777);
        make("free/a.file", 0o644);
    };
    let calls = [
        "user 65534",
        "open theirs/a.file +",
        "open theirs/a.file wc",
        "open theirs/none wc",
        "open none wc",
        "open none wcx",
        "mkdir theirs/folder/",
        "symlink to theirs/link",
        "unlink theirs/a.file",
        "rename theirs/a.file free/other",
        "open free/a.file w",
        "open theirs/an.open w",
        "open free/new wc",
        "rename free/new theirs/new",
        "rename free/new free/other",
        "rename free/a.file free/theirs",
        "unlink free/other",
        "mkdir free/folder/",
        "mkdir free/folder/inner/",
        "mkdir free/empty/",
        "rename free/empty free/folder",
        "rename free/folder free/folder/inner/in-itself",
        "rename free/folder/inner free/folder",
        "rmdir free/folder",
        "rename free/folder free/empty",
        "rmdir free/empty/inner",
        "user 0",
        "open theirs/a.file w",
        "open /none/none wc",
    ];
    let made = made(fill, &calls);
    let expected = [
        "= theirs/an.open",
        "+ free/new",
        "> free/new free/other",
        "> free/a.file free/theirs",
        "- free/other",
        "/ free/folder",
        "/ free/folder/inner",
        "/ free/empty",
        "> free/folder free/empty",
        "- free/empty/inner",
        "= theirs/a.file",
    ];
    let sorted = |mut all: Vec<String>| {
        // Two journals tell of it.
        all.sort();
        all
    };
    let expected = sorted(expected.map(str::to_owned).to_vec());
    assert_eq!(sorted(made.noted), expected, "{}", made.said);
}

#[test]
fn a_small_stack_is_room_enough() {
    let fill = |folder: &Path| {
        std::os::unix::fs::symlink("made", folder.join("link")).expect("room");
        std::os::unix::fs::symlink("to", folder.join("other")).expect("room");
    };
    // `SIGSTKSZ`, which handlers of signals have.
    let calls = [
        "stack 8192",
        "execv /nowhere",
        "execvp nowhere",
        "open link wc",
        "rename made renamed",
        "rename renamed other",
        "mkdir folder",
        "unlink link",
        "bind socket",
        "crowd",
        "execv /nowhere",
    ];
    let made = made(fill, &calls);
    let expected = [
        "+ made",
        "> made renamed",
        "> renamed other",
        "/ folder",
        "- link",
        "+ socket",
    ];
    assert_eq!(made.noted, expected, "{}", made.said);
}

/// When it is started, and not when that is prepared.
#[test]
fn what_a_child_opens_before_its_program_begins_is_noted() {
    let fill = |folder: &Path| {
        fs::create_dir(folder.join("folder")).expect("room");
        fs::write(folder.join("file"), "").expect("room");
    };
    let calls = [
        "to prepared wc",
        "never",
        "to made wcx",
        "mkdir first",
        "spawn /bin/true",
        "to file wct",
        "to made r",
        "in folder",
        "to inside wc",
        "to ../beside wc",
        "spawnp true",
        "to file wcx",
        "spawn /bin/true",
        "spawn /bin/true",
    ];
    let made = made(fill, &calls);
    let expected = ["/ first", "+ made", "= file", "+ folder/inside", "+ beside"];
    assert_eq!(made.noted, expected, "{}", made.said);
}

#[test]
fn who_is_watched_by_another_run_is_named() {
    let calls = [
        "spawn /bin/true",
        "setenv STROBE_JOURNAL /nowhere/journal",
        "spawn /bin/true",
        "system :",
    ];
    let made = made(|_| {}, &calls);
    assert_eq!(made.noted, ["! /bin/true", "! :"], "{}", made.said);
}

#[test]
fn who_is_started_unwatched_is_named_and_nobody_else() {
    let fill = |folder: &Path| {
        fs::write(folder.join("no-program"), "").expect("room");
        fs::write(folder.join("file"), "").expect("room");
    };
    let calls = [
        "crowd",
        "spawn /nowhere/true",
        "spawn no-program",
        "spawn file/true",
        "execv /nowhere/false",
        "execvp nobody-has-this",
        "execvp ./no-program",
        "spawnp nobody-has-this",
        "spawnp true",
        "spawn /bin/true",
        "spawn ./echo /bin",
        "spawn /nowhere/echo /bin",
        "system :",
    ];
    let made = made(fill, &calls);
    let expected = ["! true", "! /bin/true", "! ./echo", "! :"];
    assert_eq!(made.noted, expected, "{}", made.said);
}

#[test]
fn a_path_begins_where_the_calling_thread_is() {
    let fill = |folder: &Path| fs::create_dir(folder.join("inside")).expect("room");
    let calls = ["mkdir one", "chdir inside", "mkdir two", "bind socket"];
    let made = made(fill, &calls);
    let expected = ["/ one", "/ inside/two", "+ inside/socket"];
    assert_eq!(made.noted, expected, "{}", made.said);
}

#[test]
fn what_could_not_be_noted_is_the_next_time() {
    let fill = |folder: &Path| fs::write(folder.join("file"), "").expect("room");
    let calls = [
        "descriptors 3",
        "mkdir first",
        "descriptors 100",
        "mkdir second",
        "bytes 0",
        "open file w",
        "bytes 1000000",
        "open file w",
        "open file w",
    ];
    let made = made(fill, &calls);
    assert_eq!(made.noted, ["/ second", "= file"], "{}", made.said);
}
