//! What is read from outside, for a while, and every input that was once not read as it should be.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Some seconds.
const INPUTS: &str = "3000";

fn fuzz(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strobe-fuzz"));
    command.arg("inputs").args(words);
    command.output().expect("the fuzzer runs")
}

#[test]
fn everything_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().to_str().expect("a path");
    let output = fuzz(&["--inputs", INPUTS, "--seed", "1", "--folder", folder]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let read = said
        .lines()
        .filter(|line| line.ends_with(&format!(": {INPUTS} inputs")));
    assert_eq!(read.count(), strobe_fuzz::inputs::FORMATS.len(), "{said}");
}

#[test]
fn what_was_found_once_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../filetests/inputs");
    let mut inputs = 0;
    for file in fs::read_dir(folder).expect("saved inputs") {
        let path = file.expect("a file").path();
        let output = fuzz(&["--replay", path.to_str().expect("a path")]);
        assert!(output.status.success(), "{output:?}");
        inputs += 1;
    }
    assert!(inputs > 0, "no saved input was found");
}

/// A reader that breaks a rule is found out, and its input saved and read again with the same end.
#[test]
fn broken_readers_are_found_out() {
    for (format, how) in [
        ("panics", "it panicked"),
        ("allocates", "signal: 6"),
        ("hangs", "it read for more than"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().to_str().expect("a path");
        let output = fuzz(&[
            "--format", format, "--inputs", "100000", "--seed", "7", "--folder", path,
        ]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(how), "{said}");
        let saved = folder.path().join(format!("{format}-7.bin"));
        assert!(fs::read(&saved).expect("the input")[0] > 0xf0);
        if format == "hangs" {
            // It has waited long enough.
            continue;
        }
        let again = fuzz(&["--replay", saved.to_str().expect("a path")]);
        assert_eq!(again.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&again.stdout).contains(how));
    }
}
