//! What the shared objects offer and need: `libstrobe.so` exports exactly the symbols of
//! `interpose/exports.txt`, and all of them run with the C library of Debian 12.

use expect_test::expect_file;
use goblin::elf::Elf;
use std::path::{Path, PathBuf};

/// What programs and CRIU load.
const LOADED: [&str; 3] = ["libstrobe.so", "libsoftgpu.so", "libamdgpu_plugin.so"];
/// Debian 12 has glibc 2.36. README names the version that is needed.
const NEWEST_GLIBC: (u32, u32) = (2, 36);

/// A shared object as cargo has built it for this test: beside the folder of test programs, or in it.
fn library(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("own path");
    let deps = own.parent().expect("a folder");
    let beside = deps.parent().map(|folder| folder.join(name));
    [Some(deps.join(name)), beside]
        .into_iter()
        .flatten()
        .find(|path| path.is_file())
        .expect("cargo builds it for the tests")
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("the library can be read")
}

#[test]
fn it_exports_exactly_this() {
    let bytes = read(&library("libstrobe.so"));
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
    let bytes = read(&library("libstrobe.so"));
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

/// Versions of glibc whose symbols an object needs.
fn glibc(elf: &Elf) -> Vec<(u32, u32)> {
    let needed = elf.verneed.iter().flatten().flat_map(|file| {
        let names = file
            .iter()
            .filter_map(|version| elf.dynstrtab.get_at(version.vna_name));
        names.collect::<Vec<_>>()
    });
    let versions = needed.filter_map(|name| {
        let mut numbers = name.strip_prefix("GLIBC_")?.split('.');
        let mut number = || numbers.next()?.parse().ok();
        Some((number()?, number()?))
    });
    versions.collect()
}

#[test]
fn they_need_no_newer_c_library_than_is_said() {
    let mut newest = (0, 0);
    for name in LOADED {
        let bytes = read(&library(name));
        let versions = glibc(&Elf::parse(&bytes).expect("an ELF file"));
        let own = versions.into_iter().max().expect("it needs a C library");
        assert!(own <= NEWEST_GLIBC, "{name} needs glibc {own:?}");
        newest = newest.max(own);
    }
    let readme = include_str!("../README.md");
    let said = format!("glibc {}.{}", newest.0, newest.1);
    assert!(readme.contains(&said), "README does not say {said}");
}
