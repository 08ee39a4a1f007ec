//! What has another path than at the checkpoint is found where `strobe restore --map` says.

use std::fs;
use std::path::Path;
use std::process::Command;

use strobe_evaluation::Session;

use crate::harness::{Ended, Folder, LIMIT, checkpoint, hip_program, strobe};

/// `strobe restore` on a new software GPU, with more options.
fn restore_mapped(images: &Path, options: &[&str]) -> Ended {
    let strobe = strobe();
    let mut command = strobe.command();
    command.args(["softgpu", "--"]).arg(strobe.path());
    command.arg("restore").arg(images).args(options);
    Ended::new(&command.output().expect("strobe starts"))
}

fn start(folder: &Path, program: &[&str]) -> Session {
    Session::start(&strobe(), &[], program, folder).expect("the program starts")
}

fn rule(old: &Path, new: &Path) -> String {
    format!("{}={}", old.display(), new.display())
}

fn rounds(many: usize) -> String {
    (0..many).map(|round| format!("round {round}\n")).collect()
}

/// A Python program, all of whose things lie in a folder.
fn moves(home: &Path) -> Session {
    fs::create_dir_all(home.join("sub")).expect("our folder");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/moves.py");
    fs::copy(script, home.join("moves.py")).expect("our folder");
    fs::write(home.join("data"), "data that is mapped").expect("our folder");
    // As if it had been there for long: nobody's to change.
    let touched = ["-d", "2001-01-01"];
    let mut touch = Command::new("touch");
    touch.args(touched).arg(home.join("data"));
    assert!(touch.status().expect("touch starts").success());
    let script = home.join("moves.py");
    let script = script.to_str().expect("UTF-8");
    let mut session = start(home, &["python3", script, "1000000"]);
    let worked = session.wait_for("log", "round 5", LIMIT);
    worked.expect("it works");
    session
}

#[test]
fn a_program_whose_folder_was_moved_comes_back_where_it_is_now_as_often_as_wanted() {
    let folder = Folder::new("moved");
    let (old, new) = (folder.join("old"), folder.join("a new place"));
    let session = moves(&old);
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    session.kill().expect("it dies");
    fs::rename(&old, &new).expect("our folder");
    let map = rule(&old, &new);
    let missing = restore_mapped(&images, &["--check"]);
    assert_eq!(missing.code, Some(3), "{}", missing.stdout);
    let data = old.join("data");
    let words = format!("{} of the program is missing", data.display());
    assert!(missing.stdout.contains(&words), "{}", missing.stdout);
    restore_mapped(&images, &["--check", "--map", &map]).well();
    let made = fs::read_to_string(new.join("log"))
        .expect("its log")
        .lines()
        .count()
        + 10;
    fs::write(new.join("log.rounds"), made.to_string()).expect("our folder");
    for _ in 0..2 {
        restore_mapped(&images, &["--wait", "--tail", "drop", "--map", &map]).well();
        let log = fs::read_to_string(new.join("log")).expect("its log");
        let place = new.display();
        let end = format!("end {place} {place}/socket {place}/sub news\n");
        assert_eq!(log, rounds(made) + &end);
        assert!(!old.exists(), "nothing is made where it was");
    }
    // A copy is as good, and what is not what it was is found there, too.
    let other = folder.join("other");
    let copied = Command::new("cp").arg("-r").args([&new, &other]).status();
    assert!(copied.expect("cp starts").success());
    let map = rule(&old, &other);
    fs::write(other.join("data"), "DATA that is mapped").expect("our folder");
    let changed = restore_mapped(&images, &["--wait", "--map", &map]);
    let data = other.join("data");
    let changed = changed.badly(&[&format!("{} of the program has other", data.display())]);
    assert_eq!(changed.code, Some(3));
    fs::write(&data, "data that is mapped").expect("our folder");
    restore_mapped(&images, &["--wait", "--map", &map]).well();
    let log = fs::read_to_string(other.join("log")).expect("its log");
    assert!(log.contains(&format!("end {}", other.display())), "{log}");
}

/// Its output is in a file of its folder, what it had closed is renamed by it, and one name is not UTF-8.
#[test]
fn files_that_were_closed_before_the_cut_are_put_back_where_the_folder_is_now() {
    let folder = Folder::new("moved-closed");
    let (old, new) = (folder.join("old"), folder.join("new"));
    fs::create_dir(&old).expect("our folder");
    let mut session = start(&old, &[&hip_program("closes.cpp")]);
    let worked = session.wait_for("stdout", "closed", LIMIT);
    worked.expect("it works");
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    fs::write(old.join("go"), "").expect("our folder");
    let status = session.wait(LIMIT).expect("it ends");
    assert!(status.success(), "{status}");
    fs::rename(&old, &new).expect("our folder");
    let map = rule(&old, &new);
    for _ in 0..2 {
        let ended = restore_mapped(&images, &["--wait", "--map", &map]).well();
        let line = format!("{}, which was gone", new.join("made/part/model").display());
        assert!(ended.stderr.contains(&line), "{}", ended.stderr);
        let last = fs::read_to_string(new.join("last")).expect("it was renamed");
        assert_eq!(last, "second");
        let output = fs::read_to_string(new.join("stdout")).expect("its output");
        assert_eq!(output, "closed\nall as it was left\n");
        assert!(!old.exists(), "nothing is made where it was");
    }
}

#[test]
fn a_path_under_which_nothing_lay_is_named_and_what_is_no_path_is_wrong_usage() {
    let folder = Folder::new("moved-nothing");
    let home = folder.join("home");
    let session = moves(&home);
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    session.kill().expect("it dies");
    let before = fs::read(home.join("log")).expect("its log");
    // Half of a name is no folder.
    let half = rule(&folder.join("hom"), &folder.join("new"));
    let refused = restore_mapped(&images, &["--map", &half]);
    let named = format!("lay under {},", folder.join("hom").display());
    let refused = refused.badly(&["nothing that the program had", &named]);
    assert_eq!(refused.code, Some(3));
    let long = format!("{}=/{}", home.display(), "x".repeat(120));
    let refused = restore_mapped(&images, &["--check", "--map", &long]);
    assert_eq!(refused.code, Some(3), "{}", refused.stdout);
    let words = "is too long for the name of a socket";
    assert!(refused.stdout.contains(words), "{}", refused.stdout);
    for wrong in ["home=/new", "/home", "/=/new", "/dev=/new"] {
        let ended = restore_mapped(&images, &["--map", wrong]);
        assert_eq!(ended.code, Some(2), "{wrong}: {}", ended.stderr);
    }
    assert_eq!(fs::read(home.join("log")).expect("its log"), before);
}

/// Puts all that is not temporary below a directory, and goes on there outside.
const ROOT: &str = r#"
set -e
root=$1; shift
for path in /*; do
    if [ "$path" = /tmp ]; then continue
    elif [ -L "$path" ]; then cp -a "$path" "$root$path"
    elif [ -d "$path" ]; then mkdir -p "$root$path"; mount --rbind "$path" "$root$path"
    fi
done
exec "$@"
"#;

#[test]
fn a_program_comes_back_below_another_root_and_finds_all_there_by_its_old_names() {
    let folder = Folder::new("rooted");
    let home = folder.join("home");
    let session = moves(&home);
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    session.kill().expect("it dies");
    let root = folder.join("root");
    let inside = root.join(home.strip_prefix("/").expect("an absolute path"));
    fs::create_dir_all(inside.parent().expect("it has one")).expect("our folder");
    let copied = Command::new("cp").arg("-a").args([&home, &inside]).status();
    assert!(copied.expect("cp starts").success());
    let bare = restore_mapped(
        &images,
        &["--check", "--root", root.to_str().expect("UTF-8")],
    );
    assert_eq!(bare.code, Some(3), "{}", bare.stdout);
    let words = format!("mount --rbind /dev {}/dev", root.display());
    assert!(bare.stdout.contains(&words), "{}", bare.stdout);
    let made = fs::read_to_string(inside.join("log"))
        .expect("its log")
        .lines()
        .count()
        + 10;
    fs::write(inside.join("log.rounds"), made.to_string()).expect("our folder");
    fs::rename(&home, folder.join("away")).expect("our folder");
    for _ in 0..2 {
        let strobe = strobe();
        let mut command = strobe.command();
        command
            .args(["softgpu", "--", "sh", "-c", ROOT, "sh"])
            .arg(&root);
        command
            .arg(strobe.path())
            .args(["restore", "--wait", "--root"]);
        command.arg(&root).arg(&images);
        Ended::new(&command.output().expect("strobe starts")).well();
        let log = fs::read_to_string(inside.join("log")).expect("its log");
        let (old, socket) = (home.display(), inside.join("socket"));
        let end = format!("end {old} {} {old}/sub news\n", socket.display());
        assert_eq!(log, rounds(made) + &end);
        assert!(!home.exists(), "nothing is made in the other root");
    }
}
