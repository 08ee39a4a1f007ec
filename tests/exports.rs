//! The export list of `libstrobe.so`: exactly the symbols of `interpose/exports.txt`.

use expect_test::expect_file;
use goblin::elf::Elf;
use std::path::{Path, PathBuf};

/// `libstrobe.so` as cargo has built it for this test: beside the folder of test programs, or in it.
fn library() -> PathBuf {
    let own = std::env::current_exe().expect("own path");
    let deps = own.parent().expect("a folder");
    let beside = deps.parent().map(|folder| folder.join("libstrobe.so"));
    [Some(deps.join("libstrobe.so")), beside]
        .into_iter()
        .flatten()
        .find(|path| path.is_file())
        .expect("cargo builds libstrobe.so for the tests")
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("the library can be read")
}

#[test]
fn it_exports_exactly_this() {
    let bytes = read(&library());
    let elf = Elf::parse(&bytes).expect("an ELF file");
    let mut names: Vec<&str> = elf
        .dynsyms
        .iter()
        .filter(|symbol| !symbol.is_import() && symbol.st_value != 0)
        .filter_map(|symbol| elf.dynstrtab.get_at(symbol.st_name))
        .collect();
    names.sort_unstable();
    expect_file!["../interpose/exports.txt"].assert_eq(&format!("{}\n", names.join("\n")));
}

#[test]
fn it_is_never_unloaded_and_runs_nothing_when_it_is_loaded() {
    const NODELETE: u64 = 8;
    let bytes = read(&library());
    let elf = Elf::parse(&bytes).expect("an ELF file");
    let dynamic = elf.dynamic.as_ref().expect("a shared object");
    assert_ne!(
        dynamic.info.flags_1 & NODELETE,
        0,
        "not linked with -z nodelete"
    );
    // One entry is the compiler's own (frame_dummy).
    let constructors = dynamic.info.init_arraysz / 8;
    assert!(constructors <= 2, "{constructors} constructors");
}
