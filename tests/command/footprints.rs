//! `strobe footprints compare`, on logs made here.

use std::fs;
use std::process::Output;

use crate::{one_sentence, output, text};

/// One launch that writes a buffer's first 64 bytes, and what was predicted of it.
fn compared(launches: &str, options: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let [predicted, seen] = ["launches", "accesses"].map(|name| folder.path().join(name));
    fs::write(&predicted, launches).expect("a file");
    let dispatch = r#"{"pid":1,"packet":0,"descriptor":"0a","kernarg":"","grid":[64,1,1],"workgroup":[64,1,1],"reads":[],"writes":[[4096,4160]]}"#;
    let dispatch = if launches.is_empty() { "" } else { dispatch };
    fs::write(&seen, dispatch).expect("a file");
    let [predicted, seen] = [&predicted, &seen].map(|path| path.to_str().expect("UTF-8"));
    output(&[&["footprints", "compare", predicted, seen], options].concat())
}

fn launch(writes: &str) -> String {
    format!(
        r#"{{"pid":1,"allocate":[4096,8192]}}
{{"pid":1,"kernel":"_Z5storePi","descriptor":"0a","grid":[64,1,1],"block":[64,1,1],"arguments":[],"reads":[],"writes":{writes}}}"#
    )
}

#[test]
fn a_byte_that_was_missed_is_code_1_and_stands_with_its_kernel() {
    let held = compared(&launch("[[4096,4224]]"), &[]);
    assert!(held.status.success(), "{}", text(&held.stderr));
    let row = text(&held.stdout).lines().nth(1).expect("a row");
    let row: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(
        row,
        ["1", "1", "1", "0", "2.00", "2.00", "64", "store(int*)"]
    );
    let missed = compared(&launch("[[4096,4159]]"), &["--json"]);
    assert_eq!(missed.status.code(), Some(1));
    let found: serde_json::Value = serde_json::from_slice(&missed.stdout).expect("JSON");
    assert_eq!(found["holds"], false);
    assert_eq!(found["kernels"][0]["missed_writes"], 1);
    assert_eq!(found["kernels"][0]["mangled"], "_Z5storePi");
}

#[test]
fn logs_without_a_launch_say_nothing_of_predictions() {
    one_sentence(&compared("", &[]), 1, "no launch");
}
