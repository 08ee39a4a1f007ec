//! A program's standard files are on the software GPU what they are without it.

use std::fs;
use std::process::{Command, Stdio};

use super::harness::{Ended, Folder, strobe};

/// Writes to both in turns, in pieces that a lost position would cut.
const SPEAKER: &str =
    "i=0; while [ $i -lt 150 ]; do echo out $i; echo error $i >&2; i=$((i+1)); done";

/// Runs a script in an empty folder; `"$@"` in it is the speaker, alone or on a software GPU.
/// Answers what the script and its files say.
fn run(script: &str, on_device: bool) -> String {
    let folder = Folder::new("softgpu-stdio");
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]);
    if on_device {
        command.arg(strobe().command().get_program());
        command.args(["softgpu", "--"]);
    }
    command.args(["sh", "-c", SPEAKER]);
    let output = command
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("sh starts");
    let ended = Ended::new(&output).well();
    let mut text = format!("{}--\n{}", ended.stdout, ended.stderr);
    let mut files: Vec<_> = fs::read_dir(folder.path())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    for file in files {
        let name = file.file_name().expect("a name").to_string_lossy();
        let content = fs::read_to_string(&file).expect("text");
        text += &format!("{name}:\n{content}");
    }
    text
}

#[track_caller]
fn same_with_and_without(script: &str) {
    let (alone, on_device) = (run(script, false), run(script, true));
    assert!(alone.contains("out 149\n"), "{script}: {alone}");
    assert_eq!(alone, on_device, "{script}");
}

#[test]
fn both_in_one_file_lose_nothing() {
    same_with_and_without(r#""$@" > f 2>&1"#);
    same_with_and_without(r#""$@" 2> f >&2"#);
    same_with_and_without(r#""$@" 0<> f >&0 2>&0"#);
}

#[test]
fn what_was_there_before_and_comes_after_stays() {
    same_with_and_without(r#"{ echo before; "$@"; echo after; } > f 2>&1"#);
    same_with_and_without(r#"echo before > f; "$@" >> f 2>&1; echo after >> f"#);
    same_with_and_without(r#"{ "$@"; "$@"; } > f 2>&1"#);
}

#[test]
fn files_of_their_own_stay_apart() {
    same_with_and_without(r#""$@" > f 2> g"#);
    same_with_and_without(r#""$@" >> f 2>> f"#);
}

#[test]
fn pipes_and_devices_stay() {
    same_with_and_without(r#""$@" 2>&1 | cat > f"#);
    same_with_and_without(r#"{ "$@" 2>&1 >&3 | cat > f; } 3> g"#);
    same_with_and_without(r#""$@" 2> /dev/null > f"#);
    same_with_and_without(r#""$@" > f 2> /dev/full"#);
}

#[test]
fn a_file_without_a_name_stays_and_another_of_its_name_is_left_alone() {
    same_with_and_without(r#"exec 3<> f; rm f; : > "f (deleted)"; "$@" >&3 2>&3; cat /dev/fd/3"#);
    same_with_and_without(r#"exec 3<> f; mv f g; echo other > f; "$@" >&3 2>&3"#);
}

#[test]
fn a_closed_one_becomes_no_other_file() {
    let text = run(r#""$@" >&- 2> f < /dev/null || :"#, true);
    assert!(!text.contains("out"), "{text}");
    assert!(text.contains("error 149\n"), "{text}");
    let text = run(r#""$@" > f 2>&- || :"#, true);
    assert!(!text.contains("error"), "{text}");
    assert!(text.contains("out 149\n"), "{text}");
}

#[test]
fn a_terminal_is_one_to_all_three() {
    let strobe = strobe().command().get_program().to_owned();
    let test = "test -t 0 && test -t 1 && test -t 2 && echo one terminal; echo of both >&2";
    let line = format!("{} softgpu -- sh -c '{test}'", strobe.to_string_lossy());
    let output = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .stdin(Stdio::null())
        .output()
        .expect("script starts");
    let ended = Ended::new(&output).well();
    assert!(ended.stdout.contains("one terminal"), "{}", ended.stdout);
    assert!(ended.stdout.contains("of both"), "{}", ended.stdout);
}
