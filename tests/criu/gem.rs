//! Buffer objects that a program without an agent has made at render nodes itself.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::Path;

use strobe_criu::run::softgpu_library;

use super::harness::{Ended, Folder, hip_program, run, strobe, verify};
use super::upstream::criu;
use super::{Run, start_bare, text, wait_until};

fn import(images: &Path, directory: &Path) -> Ended {
    run([
        OsStr::new("import"),
        images.as_os_str(),
        directory.as_os_str(),
    ])
}

/// By CRIU alone, and by an import of what that has dumped. The program compares.
fn come_back(version: &str) {
    let folder = Folder::new(&format!("criu-gem-{version}"));
    let (mut program, pid) = start_bare(&folder, &hip_program("gem.cpp"), &["own"]);
    let output = folder.join("output");
    wait_until("buffer objects", || text(&output) == "ready\n");
    let library = softgpu_library(pid).expect("its maps");
    let mut dumped = Run::new(&folder, "images", library);
    dumped.criu = criu(version);
    dumped.dump(pid, false).expect("CRIU dumps it");
    program.0.wait().expect("it was ours");
    fs::write(folder.join("go"), "").expect("it is our folder");
    let status = dumped.restore_on_new_device(&dumped.images, &[]);
    assert!(status.success(), "{status}: {}", text(&output));
    assert_eq!(text(&output), "ready\nkept\n");

    let forget = || {
        let file = File::options().write(true).open(&output);
        file.and_then(|file| file.set_len(6)).expect("its file");
    };
    forget();
    let directory = folder.join("checkpoint");
    import(&dumped.images, &directory).well();
    verify(&directory).well();
    let strobe = strobe();
    let mut command = strobe.command();
    command.env("STROBE_CRIU", &dumped.criu.path);
    command.args(["softgpu", "--"]).arg(strobe.path());
    command.args(["restore", "--wait"]).arg(&directory);
    Ended::new(&command.output().expect("strobe starts")).well();
    assert_eq!(text(&output), "ready\nkept\n");

    let names = fs::read_dir(&dumped.images).expect("images").flatten();
    let contents: Vec<_> = names
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().contains("amdgpu-drm-pages-"))
        .collect();
    assert_eq!(contents.len(), 3, "{contents:?}");
    for path in contents {
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let len = fs::metadata(&path).expect("an image").len();
        let file = File::options().write(true).open(&path).expect("an image");
        file.set_len(len - 1).expect("it is ours");
        let other = folder.join("other");
        let ended = import(&dumped.images, &other).badly(&[&name, "should have"]);
        assert_eq!(ended.code, Some(3));
        assert!(!other.exists());
        file.set_len(len).expect("it is ours");
    }
}

#[test]
fn what_a_program_has_by_handles_comes_back_by_criu_4_1_1_and_from_an_import() {
    come_back("4.1.1");
}

#[test]
fn what_a_program_has_by_handles_comes_back_by_criu_4_3_and_from_an_import() {
    come_back("4.3");
}
