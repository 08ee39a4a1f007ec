//! Files of the program: what comes back works on them as they were at the cut, or not at all.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use crate::harness::environment::wait_until;
use crate::harness::{
    Ended, Folder, LIMIT, check, checkpoint, hip_program, restore, run, start, strobe,
};

const ROUNDS: &str = "100000";

/// Takes a checkpoint in the middle and lets the program end by itself.
fn run_past_a_checkpoint(folder: &Folder, way: &str, options: &[&str]) {
    let program = hip_program("shares.cpp");
    let mut session = start(folder, &[&program, ROUNDS, "log", "counter", way]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    checkpoint(&session, &folder.join("images"), options).well();
    folder.rounds_enough();
    let status = session.wait(LIMIT).expect("it ends");
    assert!(status.success(), "{status}");
}

fn log_of(folder: &Folder) -> String {
    fs::read_to_string(folder.join("log")).expect("a log")
}

/// Restores again and again: what the program wrote is each time what it was.
fn comes_back_each_time(folder: &Folder, times: u32) {
    let counter = || fs::read(folder.join("counter")).expect("a counter");
    let (log, count) = (log_of(folder), counter());
    assert!(log.ends_with("end\n"), "{log}");
    for _ in 0..times {
        let ended = restore(&folder.join("images")).well();
        assert_eq!(log_of(folder), log, "{}", ended.stderr);
        assert_eq!(counter(), count, "{}", ended.stderr);
    }
}

#[test]
fn a_log_that_a_child_holds_too_is_cut_back_and_written_again() {
    let folder = Folder::new("shared-log");
    run_past_a_checkpoint(&folder, "descriptor", &[]);
    comes_back_each_time(&folder, 10);
    let tails = fs::read_dir(folder.path()).expect("our folder");
    let tails = tails.filter(|entry| {
        let name = entry.as_ref().expect("an entry").file_name();
        name.to_string_lossy().starts_with("log.strobe-tail-")
    });
    assert_eq!(tails.count(), 10, "each tail is kept");
    // Whatever has become of them.
    fs::remove_file(folder.join("log")).expect("it is there");
    fs::write(folder.join("counter"), "another").expect("our folder");
    let again = restore_dropping(&folder);
    assert!(
        again.stderr.contains("log, which was gone"),
        "{}",
        again.stderr
    );
    assert!(
        !folder.join("counter.strobe-later-11").exists(),
        "it is dropped"
    );
    assert!(log_of(&folder).ends_with("end\n"), "{}", log_of(&folder));
}

fn restore_dropping(folder: &Folder) -> Ended {
    let strobe = strobe();
    let mut command = strobe.command();
    command.args(["softgpu", "--"]).arg(strobe.path());
    command.args(["restore", "--wait", "--tail", "drop"]);
    command.arg(folder.join("images"));
    Ended::new(&command.output().expect("strobe starts")).well()
}

#[test]
fn all_that_would_refuse_a_restore_is_said_at_once_and_nothing_is_changed() {
    let folder = Folder::new("readiness");
    let program = hip_program("shares.cpp");
    let mut session = start(&folder, &[&program, ROUNDS, "log", "counter", "descriptor"]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &["--files-limit", "9"]).well();
    folder.rounds_enough();
    let status = session.wait(LIMIT).expect("it ends");
    assert!(status.success(), "{status}");
    let whole = log_of(&folder);
    let ready = check(&images).well();
    assert!(
        ready.stdout.contains("can be restored here"),
        "{}",
        ready.stdout
    );
    for (name, what) in [("log", "has grown by"), ("counter", "has changed")] {
        let line = format!("{} {what}", folder.join(name).display());
        assert!(ready.stdout.contains(&line), "{}", ready.stdout);
    }
    fs::rename(folder.join("log"), folder.join("elsewhere")).expect("it is there");
    let stored = images.join("criu/files.img");
    let list = fs::read(&stored).expect("a list");
    fs::write(&stored, &list[1..]).expect("our checkpoint");
    let amiss = check(&images);
    assert_eq!(amiss.code, Some(3), "{}", amiss.stdout);
    for words in ["files.img: the file has", "log of the program is missing"] {
        assert!(amiss.stdout.contains(words), "no {words}: {}", amiss.stdout);
    }
    assert!(!folder.join("log").exists());
    fs::write(&stored, list).expect("our checkpoint");
    fs::rename(folder.join("elsewhere"), folder.join("log")).expect("our folder");
    restore(&images).well();
    assert_eq!(log_of(&folder), whole);
}

/// A trainer that has written its weights renames them next, to what its evaluation reads.
#[test]
fn files_that_were_closed_before_the_cut_come_back_where_they_were_renamed_or_removed_after_it() {
    let folder = Folder::new("closed-files");
    let mut session = start(&folder, &[&hip_program("closes.cpp")]);
    session
        .wait_for("stdout", "closed", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    fs::write(folder.join("go"), "").expect("our folder");
    let status = session.wait(LIMIT).expect("it ends");
    assert!(status.success(), "{status}");
    for _ in 0..3 {
        let ended = restore(&images).well();
        for name in [
            "descriptor.tmp",
            "relative.tmp",
            "created.tmp",
            "stream.tmp",
            "again.tmp",
            "library.tmp",
            "copied.tmp",
            "linked.tmp",
            "made/part/model",
        ] {
            let line = format!("{name}, which was gone");
            assert!(ended.stderr.contains(&line), "{}", ended.stderr);
        }
        let last = fs::read_to_string(folder.join("last")).expect("it was renamed");
        assert_eq!(last, "second");
    }
}

#[test]
fn a_closed_file_that_is_too_much_is_named_and_missed_by_no_restore() {
    let folder = Folder::new("closed-too-much");
    let mut session = start(&folder, &[&hip_program("closes.cpp")]);
    session
        .wait_for("stdout", "closed", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    let taken = checkpoint(&session, &images, &["--files-limit", "100"]).well();
    let line = "descriptor.tmp are not in the checkpoint (--files-limit): a restored program finds";
    assert!(taken.stdout.contains(line), "{}", taken.stdout);
    session.kill().expect("it dies");
    fs::write(folder.join("go"), "").expect("our folder");
    restore(&images).well();
}

/// What a script does beside its program: `copied` is written by a process that has ended, long before the cut; what
/// is made behind it must not be there.
const SCRIPT: &str = r#"
set -eC
"$0" 1000000 log > /dev/null & program=$!
echo first > kept
cp kept copied
echo one >> lines
touch -d '2 hours ago' kept copied lines
touch ready
until [ -e go ]; do sleep 0.02; done
echo two >> lines
echo new > exclusive
echo new > $'two\nlines'
mkdir made made/inner
echo new > made/inner/file
cat kept copied lines exclusive >| seen
echo three >> lines
echo second >| kept
cp kept copied
wait $program
"#;

/// Each restore does the same again, also where the program was killed in between.
#[test]
fn what_a_script_and_its_commands_have_written_is_as_it_was_and_what_they_made_later_is_not_in_their_way()
 {
    let folder = Folder::new("script-files");
    let mut session = start(&folder, &["bash", "-c", SCRIPT, &hip_program("mixed.cpp")]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let exists = |name: &str| folder.join(name).exists();
    wait_until("the script waits", || exists("ready").then_some(()));
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    fs::write(folder.join("go"), "").expect("our folder");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    wait_until("the script is done", || {
        (read("copied") == "second\n").then_some(())
    });
    session.kill().expect("it dies");
    // Who else works here is in nobody's way.
    fs::write(folder.join("else"), "mine").expect("our folder");
    folder.rounds_enough();
    for times in 1..=3 {
        let checked = check(&images).well();
        for name in ["exclusive", "made", "two\\nlines"] {
            let line = format!("{name} was made since, and will be moved aside");
            assert!(checked.stdout.contains(&line), "{}", checked.stdout);
        }
        assert!(!checked.stdout.contains("else"), "{}", checked.stdout);
        let ended = restore(&images).well();
        assert_eq!(read("seen"), "first\nfirst\none\ntwo\nnew\n");
        assert_eq!(read("lines"), "one\ntwo\nthree\n");
        assert_eq!(read("made/inner/file"), "new\n");
        assert_eq!(read("else"), "mine");
        let kept = format!("made.strobe-later-{times}");
        assert!(ended.stderr.contains(&kept), "{}", ended.stderr);
        assert!(exists(&kept));
    }
}

/// Jobs that are begun by `strobe run`, below another, with nothing of its environment; one is at work at the cut.
const JOBS: &str = r#"
"$0" 1000000 log > /dev/null & program=$!
bare() { env -i PATH="$PATH" STROBE_UNWATCHED=1 "$STROBE" run "$@"; }
job() { bare --pid-file "pid$1" -- sh -c 'echo "$$" > "own$0"; mkdir "job$0" && echo done' "$1" | cat >> said; }
job 1
"$STROBE" run -- sh -c 'echo begun; touch ready; until [ -e go ]; do sleep 0.02; done; mkdir inner; echo ended' | cat >> said
job 2
touch over
wait $program
"#;

#[test]
fn what_runs_within_another_run_is_that_run_s() {
    let folder = Folder::new("nested");
    let program = hip_program("mixed.cpp");
    let variable = format!("STROBE={}", env!("CARGO_BIN_EXE_strobe"));
    let words = ["env", &variable, "bash", "-c", JOBS, &program];
    let mut session = start(&folder, &words);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let exists = |name: &str| folder.join(name).exists();
    wait_until("the second job is at work", || {
        exists("ready").then_some(())
    });
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    fs::write(folder.join("go"), "").expect("our folder");
    wait_until("all jobs are done", || exists("over").then_some(()));
    session.kill().expect("it dies");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    assert_eq!(read("pid1"), read("own1"), "it became the program");
    assert_eq!(read("said"), "done\nbegun\nended\ndone\n");
    folder.rounds_enough();
    for _ in 0..3 {
        let ended = restore(&images).well();
        assert_eq!(
            read("said"),
            "done\nbegun\nended\ndone\n",
            "{}",
            ended.stderr
        );
        assert!(exists("job2") && exists("inner"), "{}", ended.stderr);
    }
}

/// Commands of another user, who may not write the journal of a `strobe run` of root's.
const OTHER_USER: &str = r#"
"$0" 1000000 log > /dev/null & program=$!
mkdir own; chown 1000 own
as="setpriv --reuid=1000 --regid=1000 --clear-groups"
mkdir shared; chmod 777 shared; echo zero > shared/log; chmod 666 shared/log
$as sh -c 'echo first > own/kept; echo one > own/lines; echo one >> shared/log'
$as sh -c 'mkdir own/folder; echo in > own/folder/it; echo gone > own/gone; chmod 440 own/gone'
echo "$STROBE_JOURNAL" > journal
touch ready
until [ -e go ]; do sleep 0.02; done
$as sh -c 'cat own/kept > own/seen; echo two >> own/lines; mkdir own/made; mv own/kept own/other; echo second > own/other'
$as sh -c 'cat own/gone own/folder/it shared/log > own/all; stat -c "%u:%g %a" own/gone own/folder shared/log > own/whose'
$as sh -c 'rm -rf own/gone own/folder; echo two >> shared/log'
touch over
wait $program
"#;

#[test]
fn what_commands_of_another_user_have_written_is_as_it_was_and_their_journal_goes_with_the_run() {
    let folder = Folder::new("other-user");
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &["bash", "-c", OTHER_USER, &program]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let exists = |name: &str| folder.join(name).exists();
    wait_until("the script waits", || exists("ready").then_some(()));
    let images = folder.join("images");
    let taken = checkpoint(&session, &images, &[]).well();
    assert!(!taken.stdout.contains("journal"), "{}", taken.stdout);
    fs::write(folder.join("go"), "").expect("our folder");
    wait_until("the script is done", || exists("over").then_some(()));
    session.kill().expect("it dies");
    let expected = tree(&folder.join("own"));
    folder.rounds_enough();
    for _ in 0..3 {
        let ended = restore(&images).well();
        assert_eq!(tree(&folder.join("own")), expected, "{}", ended.stderr);
    }
    let name = fs::read_to_string(folder.join("journal")).expect("its name");
    let name = Path::new(name.trim()).file_name().expect("a name");
    let journals = Path::new("/var/tmp/strobe-1000");
    let meta = fs::symlink_metadata(journals.join(name)).expect("a checkpoint needs it");
    assert_eq!((meta.uid(), meta.mode() & 0o777), (1000, 0o600));
    // A run of which nobody needs it any more.
    let words =
        "echo > own/file; echo \"$STROBE_JOURNAL\" > own/name; ls /var/tmp/strobe-1000 > own/list";
    let other = ["setpriv", "--reuid=1000", "--clear-groups"];
    let session = start(&folder, &[&other[..], &["sh", "-c", words]].concat());
    let status = session.wait(LIMIT).expect("it ends");
    assert!(status.success(), "{status}");
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("it was written");
    let name = read("own/name");
    let name = Path::new(name.trim()).file_name().expect("a name");
    let name = name.to_str().expect("letters and digits");
    assert!(read("own/list").lines().any(|line| line == name));
    assert!(!journals.join(name).exists());
}

/// Commands in environments of their own: `env -i` has emptied its own, Python gives another. One has too many variables.
const OWN_ENVIRONMENTS: &str = r#"
"$0" 1000000 log > /dev/null & program=$!
mkdir at; cd at
env -i /bin/sh -c 'echo first > kept; echo one > lines'
own() { python3 -c 'import subprocess as s, sys; s.check_call(sys.argv[1:], env={"PATH": "/usr/bin:/bin"})' "$@"; }
own sh -c 'echo text > given.tmp; mv given.tmp given'
python3 -c 'import subprocess as s; s.check_call(["/bin/true"], env={f"V{i}": "" for i in range(1100)})'
touch ../ready
until [ -e ../go ]; do sleep 0.02; done
env -i /bin/sh -c 'cat kept > seen; echo two >> lines; mkdir made'
own sh -c 'mv kept other; rm given; echo second > other'
touch ../over
wait $program
"#;

#[test]
fn what_commands_in_environments_of_their_own_have_written_is_as_it_was() {
    let folder = Folder::new("own-environments");
    let program = hip_program("mixed.cpp");
    let mut session = start(&folder, &["bash", "-c", OWN_ENVIRONMENTS, &program]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let exists = |name: &str| folder.join(name).exists();
    wait_until("the script waits", || exists("ready").then_some(()));
    let images = folder.join("images");
    let taken = checkpoint(&session, &images, &[]).well();
    let named = "is not known, and not put back: /bin/true (";
    assert!(taken.stdout.contains(named), "{}", taken.stdout);
    fs::write(folder.join("go"), "").expect("our folder");
    wait_until("the script is done", || exists("over").then_some(()));
    session.kill().expect("it dies");
    let expected = tree(&folder.join("at"));
    folder.rounds_enough();
    for _ in 0..3 {
        let ended = restore(&images).well();
        assert_eq!(tree(&folder.join("at")), expected, "{}", ended.stderr);
    }
}

/// What trainers and tools do to names. Each line of it fails, or does something else, where a name is not that of the
/// cut; `unsaved` is too old and too large to be saved.
const NAMES: &str = r#"
set -e
"$0" 1000000 log > /dev/null & program=$!
mkdir -p at/ckpt at/D at/lock; cd at
echo v1 > ckpt/w; echo f > D/f; echo a > a; ln a b; echo v1 > v1; echo v2 > v2; ln -s v1 latest
head -c 2000000 /dev/zero > unsaved; echo text > text; echo gone > gone; mkfifo fifo
sleep 0.1
touch ../ready
until [ -e ../go ]; do sleep 0.02; done
echo 1 > new; mkdir tmp-10; echo w > tmp-10/w; mv -T tmp-10 ckpt-10
mkdir ckpt.tmp; echo v2 > ckpt.tmp/w; mv -T ckpt ckpt.old; mv -T ckpt.tmp ckpt
mv -T D E; mkdir D; echo other > D/f
echo + >> a; rm a
echo + >> latest; ln -sf v2 latest.new; mv -T latest.new latest; echo ++ >> latest
mkdir N; mv unsaved N/; rmdir lock; rm fifo; mkfifo fifo2; sed -i s/text/other/ text; mv gone gone.now; rm gone.now
if mkfifo fifo3 2> /dev/null; then rm fifo3; fi
cd ..; touch over
wait $program
"#;

#[test]
fn names_that_were_changed_since_are_those_of_the_cut_each_time() {
    let folder = Folder::new("changed-names");
    let mut session = start(&folder, &["bash", "-c", NAMES, &hip_program("mixed.cpp")]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let exists = |name: &str| folder.join(name).exists();
    wait_until("the script waits", || exists("ready").then_some(()));
    let images = folder.join("images");
    checkpoint(&session, &images, &["--files-limit", "1000000"]).well();
    fs::write(folder.join("go"), "").expect("our folder");
    wait_until("the script is done", || exists("over").then_some(()));
    session.kill().expect("it dies");
    let mut expected = tree(&folder.join("at"));
    assert!(
        expected.contains(&"latest -> v2".to_owned()),
        "{expected:?}"
    );
    folder.rounds_enough();
    // Somebody else's, where there is one that the program has removed.
    fs::write(folder.join("at/fifo3"), "mine").expect("our folder");
    expected.push("fifo3 1 \"mine\"".into());
    expected.sort();
    for drops in [false, true, true] {
        let ended = match drops {
            true => restore_dropping(&folder),
            false => restore(&images).well(),
        };
        let moved = "at/E has its name of the checkpoint again";
        assert!(ended.stderr.contains(moved), "{}", ended.stderr);
        assert_eq!(tree(&folder.join("at")), expected, "{}", ended.stderr);
    }
}

/// All names below a folder, with what they lead to or hold; not what is kept there.
fn tree(folder: &Path) -> Vec<String> {
    let (mut all, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(inside) = folders.pop() {
        for entry in fs::read_dir(inside).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path
                .strip_prefix(folder)
                .expect("it is in there")
                .display()
                .to_string();
            let meta = fs::symlink_metadata(&path).expect("it is there");
            let kind = meta.file_type();
            if name.contains(".strobe-") {
                continue;
            } else if kind.is_dir() {
                all.push(format!("{name}/"));
                folders.push(path);
            } else if kind.is_symlink() {
                all.push(format!(
                    "{name} -> {}",
                    fs::read_link(&path).expect("a link").display()
                ));
            } else if kind.is_file() && meta.len() < 100 {
                let text = fs::read_to_string(&path).expect("a file");
                all.push(format!("{name} {} {text:?}", meta.nlink()));
            } else {
                all.push(format!("{name} {}", meta.len()));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn a_file_that_is_changed_through_a_mapping_comes_back() {
    let folder = Folder::new("mapped-counter");
    run_past_a_checkpoint(&folder, "mapping", &[]);
    comes_back_each_time(&folder, 2);
}

#[test]
fn what_was_too_much_to_be_saved_is_named_and_refused_once_it_has_changed() {
    let folder = Folder::new("unsaved-files");
    let program = hip_program("shares.cpp");
    let mut session = start(&folder, &[&program, ROUNDS, "log", "counter", "descriptor"]);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    let report = checkpoint(&session, &images, &["--files-limit", "1"]).well();
    let rounds = folder.rounds_enough() as u64;
    for name in ["log", "counter"] {
        let path = folder.join(name).display().to_string();
        assert!(
            report.stdout.contains(&path),
            "no {name}: {}",
            report.stdout
        );
    }
    let status = session.wait(LIMIT).expect("it ends");
    assert!(status.success(), "{status}");
    let whole = log_of(&folder);
    let refused = restore(&images).badly(&["counter", "other contents"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert_eq!(
        log_of(&folder),
        whole,
        "a restore that is refused changes nothing"
    );
    // As it was at the cut: the log says how often it had been counted up.
    let count = (1..rounds).find(|count| {
        fs::write(folder.join("counter"), count.to_le_bytes()).expect("the counter");
        restore(&images).code == Some(0)
    });
    assert!(count.is_some(), "no count is that of the cut");
    assert_eq!(log_of(&folder), whole);
}

#[test]
fn a_program_or_its_data_that_has_changed_is_refused_by_name() {
    let folder = Folder::new("changed-program");
    let program = folder.join("program");
    fs::copy(hip_program("shares.cpp"), &program).expect("a copy");
    let command = [
        program.to_str().expect("UTF-8"),
        ROUNDS,
        "log",
        "counter",
        "descriptor",
    ];
    let mut session = start(&folder, &command);
    session
        .wait_for("log", "round 5 ", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &["--kill"]).well();
    folder.rounds_enough();
    let code = fs::read(&program).expect("a program");
    let word = b"round %u";
    let at = code.windows(word.len()).position(|bytes| bytes == word);
    let mut other = code.clone();
    other[at.expect("it says so")] = b'R';
    for changed in [&other[..], &code[..code.len() - 1]] {
        write_program(&program, changed);
        let refused = restore(&images).badly(&["changed-program", "other contents"]);
        assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    }
    write_program(&program, &code);
    restore(&images).well();
    assert!(log_of(&folder).ends_with("end\n"), "{}", log_of(&folder));
}

/// Once nobody runs it any more: its child takes a moment to end.
fn write_program(program: &Path, code: &[u8]) {
    wait_until("a program that nobody runs", || {
        match fs::write(program, code) {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => None,
            written => {
                written.expect("our folder");
                Some(())
            }
        }
    });
}

#[test]
fn a_compilation_is_over_or_has_not_begun_at_a_cut() {
    let folder = Folder::new("compilation");
    let mut session = start(&folder, &[&hip_program("compiles.cpp"), ROUNDS, "stdout"]);
    let mut images = Vec::new();
    for round in ["round 1 ", "round 4 ", "round 7 "] {
        session.wait_for("stdout", round, LIMIT).expect("it works");
        // It compiles nearly all the time.
        let folder = folder.join(&format!("images-{}", images.len()));
        checkpoint(&session, &folder, &[]).well();
        images.push(folder);
    }
    let said = fs::read_to_string(folder.join("stdout")).expect("what it said");
    let part = folder.join("stdout.rounds.part");
    fs::write(&part, (said.lines().count() + 3).to_string()).expect("our folder");
    fs::rename(part, folder.join("stdout.rounds")).expect("our folder");
    let status = session.wait(LIMIT).expect("it ends");
    assert!(status.success(), "{status}");
    let whole = fs::read_to_string(folder.join("stdout")).expect("what it said");
    for images in images {
        restore(&images).well();
        let again = fs::read_to_string(folder.join("stdout")).expect("what it said");
        assert_eq!(again, whole);
    }
}

/// What is put back needs room beside what is there, which is kept.
#[test]
fn a_full_file_system_of_the_program_is_named_before_anything_is_changed() {
    let folder = Folder::new("full-file-system");
    let small = folder.join("small");
    fs::create_dir(&small).expect("a directory");
    let mount = |arguments: &[&str]| mount_at(&small, arguments);
    mount(&["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs"]);
    let program = hip_program("mixed.cpp");
    let session = start(&folder, &[&program, ROUNDS, "small/log"]);
    let lines = || {
        let log = fs::read_to_string(small.join("log"));
        log.map_or(0, |log| log.lines().count())
    };
    wait_until("rounds", || (lines() > 3).then_some(()));
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    let saved = lines();
    wait_until("rounds", || (lines() > saved + 3).then_some(()));
    session.kill().expect("it dies");
    let before = fs::read(small.join("log")).expect("its log");
    fill(&small);
    let checked = check(&images);
    let refused = restore(&images);
    let after = fs::read(small.join("log")).expect("its log");
    mount(&["umount", "--lazy"]);
    assert_eq!(checked.code, Some(3), "{}", checked.stdout);
    assert!(checked.stdout.contains("0 B left"), "{}", checked.stdout);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    refused.badly(&["0 B left", "small"]);
    assert!(before == after, "the log was changed");
}

fn mount_at(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new(arguments[0]);
    let status = command.args(&arguments[1..]).arg(folder).status();
    assert!(status.expect("it starts").success(), "{arguments:?}");
}

fn fill(folder: &Path) {
    let full = Command::new("dd")
        .args(["if=/dev/zero", "bs=4096"])
        .arg(format!("of={}", folder.join("other").display()))
        .output();
    assert!(!full.expect("dd starts").status.success(), "it is full");
}

#[test]
fn where_the_disk_of_the_journal_is_full_it_is_kept_elsewhere() {
    let folder = Folder::new("full-state");
    let state = folder.join("state");
    fs::create_dir(&state).expect("a directory");
    mount_at(&state, &["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs"]);
    let journal = || {
        let mut command = strobe().command();
        command.env("XDG_STATE_HOME", &state);
        command.args([
            "run",
            "--",
            "sh",
            "-c",
            "echo $STROBE_JOURNAL; touch made; stat -c %s $STROBE_JOURNAL",
        ]);
        let output = command.current_dir(folder.path()).output();
        String::from_utf8(output.expect("it starts").stdout).expect("paths")
    };
    let lasting = journal();
    fill(&state);
    let elsewhere = journal();
    mount_at(&state, &["umount", "--lazy"]);
    let is_inside = |said: &str| said.starts_with(&*state.to_string_lossy());
    assert!(is_inside(&lasting), "{lasting}");
    assert!(
        elsewhere.starts_with('/') && !is_inside(&elsewhere),
        "{elsewhere}"
    );
    for said in [lasting, elsewhere] {
        assert_ne!(said.lines().nth(1), Some("0"), "{said}");
    }
}

/// Who reads the file of a lease for writing breaks it, which ends a program that does not expect that.
#[test]
fn a_lease_for_writing_is_refused_unbroken_and_one_for_reading_comes_back() {
    const LEASES: &str = "\
import ctypes, fcntl, os, time
hip = ctypes.CDLL('libamdhip64.so.5')
place = ctypes.c_void_p()
hip.hipMalloc(ctypes.byref(place), ctypes.c_size_t(4096))
file = open('leased')
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('ready', flush=True)
while not os.path.exists('change'):
    time.sleep(.01)
kept = fcntl.fcntl(file, fcntl.F_GETLEASE) == fcntl.F_WRLCK
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
print('changed', kept, flush=True)
while not os.path.exists('end'):
    time.sleep(.01)
print('end', fcntl.fcntl(file, fcntl.F_GETLEASE) == fcntl.F_RDLCK, flush=True)
";
    let folder = Folder::new("leases");
    fs::write(folder.join("leased"), "hello").expect("our folder");
    let mut session = start(&folder, &["python3", "-c", LEASES]);
    session
        .wait_for("stdout", "ready", LIMIT)
        .expect("it works");
    let images = folder.join("images");
    let pid = session.pid().to_string();
    let words = ["a file with a lease for writing", "F_UNLCK"];
    let prospects = run(["checkpoint", "--check", &pid]);
    assert_eq!(prospects.code, Some(3), "{}", prospects.stdout);
    assert!(prospects.stdout.contains(words[0]), "{}", prospects.stdout);
    let refused = checkpoint(&session, &images, &[]).badly(&words);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    fs::write(folder.join("change"), "").expect("our folder");
    session
        .wait_for("stdout", "changed True", LIMIT)
        .expect("its lease was not broken");
    checkpoint(&session, &images, &["--kill"]).well();
    session.wait(LIMIT).expect("it was killed");
    fs::write(folder.join("end"), "").expect("our folder");
    restore(&images).well();
    let said = fs::read_to_string(folder.join("stdout")).expect("its output");
    assert!(said.ends_with("end True\n"), "{said}");
}
