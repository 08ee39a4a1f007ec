//! `strobe inspect`, on files made here.

#[path = "../../analysis/footprint/tests/words/code.rs"]
mod code;
#[path = "../../analysis/code-object/tests/elf/mod.rs"]
mod elf;

use std::fs;

use code::{CALL, STORE};
use elf::KernelSource;

use crate::{one_sentence, output, strobe, text};

/// A code object for gfx906 in a folder that goes away.
fn file() -> (tempfile::TempDir, String) {
    let pointer = |name, code| KernelSource::new(name, code).args(&[(0, 8, "global_buffer")]);
    let kernels = [pointer("_Z5storePi", STORE), pointer("_Z4callPi", CALL)];
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("object");
    fs::write(&path, elf::write(&kernels, &[0; 64], false)).expect("a file");
    let path = path.to_str().expect("UTF-8").to_owned();
    (folder, path)
}

fn inspect(arguments: &[&str]) -> String {
    let ended = output(&[&["inspect"], arguments].concat());
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    text(&ended.stdout).to_owned()
}

#[test]
fn all_that_a_file_has_is_listed_unless_one_target_is_asked_for() {
    let (_folder, path) = file();
    let all = inspect(&[&path]);
    assert!(all.contains("2 kernels"), "{all}");
    assert!(all.ends_with("the file has code for gfx906\n"), "{all}");
    assert!(inspect(&[&path, "--target", "gfx906"]).contains("2 kernels"));
    let other = output(&["inspect", &path, "--target", "gfx90a"]);
    one_sentence(&other, 1, "has no code for gfx90a, but for gfx906");
}

#[test]
fn kernels_have_their_names_in_cpp_and_in_json_the_mangled_ones_beside() {
    let (_folder, path) = file();
    let all = inspect(&[&path]);
    assert!(
        all.starts_with("store(int*) (gfx906, 1 arguments)\n"),
        "{all}"
    );
    let all = inspect(&[&path, "--json"]);
    let all: serde_json::Value = serde_json::from_str(&all).expect("JSON");
    assert_eq!(all[1]["name"], "call(int*)");
    assert_eq!(all[1]["mangled"], "_Z4callPi");
    assert_eq!(all[2]["targets"][0], "gfx906");
}

#[test]
fn what_is_not_exact_has_its_instruction_and_is_counted_by_reason() {
    let (_folder, path) = file();
    let all = inspect(&[&path]);
    let call = "0x10030: s_swappc_b64 s[30:31], s[4:5]";
    assert!(
        all.contains(&format!("because of unresolved call:\n    {call}\n")),
        "{all}"
    );
    assert!(
        all.contains("  because of unresolved call: reads of 1, writes of 1\n"),
        "{all}"
    );
    let all = inspect(&[&path, "--json"]);
    let all: serde_json::Value = serde_json::from_str(&all).expect("JSON");
    assert_eq!(all[1]["why"][0]["instruction"], call);
    assert_eq!(all[2]["reasons"]["unresolved call"]["writes"], 1);
}

#[test]
fn a_listing_that_cannot_be_written_is_a_failure_and_a_reader_that_goes_away_is_none() {
    let (_folder, path) = file();
    let full = fs::File::options().write(true).open("/dev/full");
    let mut command = strobe(&["inspect", &path]);
    let ended = command.stdout(full.expect("it is there")).output();
    one_sentence(&ended.expect("strobe starts"), 1, "cannot write to stdout");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let ended = strobe(&["inspect", &path]).stdout(writer).output();
    let ended = ended.expect("strobe starts");
    assert!(ended.status.success());
    assert_eq!(text(&ended.stderr), "");
}
