//! Buffer objects that a program has made, or imported, at render nodes itself.

use std::fs;
use std::path::{Path, PathBuf};

use strobe_evaluation::Session;

use crate::harness::environment::Environment;
use crate::harness::{
    Folder, LIMIT, checkpoint, checkpoint_of, hip_program, restore_on, run, strobe, verify,
};

/// A program that has said "ready" on a software GPU with these options.
fn ready(folder: &Folder, device: &[&str], words: &[&str]) -> Session {
    let program = hip_program("gem.cpp");
    let options: Vec<String> = device.iter().map(|&option| option.to_owned()).collect();
    let words = [&[program.as_str()], words].concat();
    let session = Session::start(&strobe(), &options, &words, folder.path());
    let mut session = session.expect("the program starts");
    session
        .wait_for("stdout", "ready", LIMIT)
        .expect("it works");
    session
}

/// Saved, killed, and brought back on a new device, where it compares all with what it was.
fn comes_back(name: &str, device: &[&str], words: &[&str]) -> (Folder, PathBuf) {
    let folder = Folder::new(&format!("gem-{name}"));
    let session = ready(&folder, device, words);
    let images = folder.join("images");
    checkpoint(&session, &images, &["--kill"]).well();
    session.gone().expect("it was killed");
    verify(&images).well();
    fs::write(folder.join("go"), "").expect("it is our folder");
    restore_on(&images, device).well();
    (folder, images)
}

#[test]
fn buffer_objects_of_a_render_node_come_back_with_their_handles_and_mappings() {
    let (folder, images) = comes_back("own", &[], &["own"]);
    // As plain images, too: in the form of CRIU's own plugin.
    let to = folder.join("plain");
    run(["export".as_ref(), images.as_os_str(), to.as_os_str()]).well();
    assert_eq!(contents(&to.join("images")), 3);
}

/// Copy-on-write: what HIP has is copied while the program goes on, what it has by handles while it is frozen.
#[test]
fn a_program_goes_on_with_its_buffer_objects_and_comes_back() {
    let folder = Folder::new("gem-cow");
    let session = ready(&folder, &[], &["own"]);
    let images = folder.join("images");
    checkpoint(&session, &images, &[]).well();
    fs::write(folder.join("go"), "").expect("it is our folder");
    assert!(session.wait(LIMIT).expect("it ends").success());
    restore_on(&images, &[]).well();
}

#[test]
fn those_of_several_gpus_come_back_on_theirs() {
    comes_back("gpus", &["--gpus", "2"], &["own", "2"]);
}

/// Of how many buffer objects there is content in a folder of images.
fn contents(images: &Path) -> usize {
    let names = fs::read_dir(images).expect("images").flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| name.starts_with("amdgpu-drm-pages-"))
        .count()
}

#[test]
fn memory_of_the_compute_driver_that_was_imported_is_one_memory_again() {
    for (name, words) in [
        ("import", &["import"][..]),
        ("import-driver", &["import", "driver"]),
    ] {
        let (_folder, images) = comes_back(name, &[], words);
        // That of the one beside it.
        assert_eq!(contents(&images.join("criu")), 1, "{name}");
    }
}

#[test]
fn memory_that_another_process_has_a_handle_of_is_one_memory_again() {
    let (_folder, images) = comes_back("two", &[], &["two"]);
    assert_eq!(contents(&images.join("criu")), 2, "the maker's two");
    let (_folder, images) = comes_back("two-gpus", &["--gpus", "2"], &["foreign"]);
    assert_eq!(contents(&images.join("criu")), 2, "the maker's two");
}

#[test]
fn memory_of_another_device_that_nobody_of_the_program_has_is_refused() {
    let folder = Folder::new("gem-lends");
    let program = hip_program("gem.cpp");
    let mut place = Environment::new(&folder, &["--gpus", "2"]);
    let lender = place.start("lender", &[&program, "lend"]);
    lender.says("lends");
    let borrower = place.start_traced("borrower", &[&program, "borrow"]);
    borrower.says("ready");
    let images = folder.join("images");
    let refused = checkpoint_of(borrower.pid(), &images, &[]);
    let words = [
        "buffer object 1 of /dev/dri/renderD129",
        "outside of the program",
    ];
    assert_eq!(refused.badly(&words).code, Some(3));
    assert!(!images.exists());
    fs::write(folder.join("go"), "").expect("it is our folder");
    assert_eq!((lender.code(), borrower.code()), (0, 0));
}

/// The program goes on, and ends well.
#[test]
fn what_has_no_dma_buf_is_refused_by_its_handle() {
    let folder = Folder::new("gem-userptr");
    let session = ready(&folder, &[], &["userptr"]);
    let images = folder.join("images");
    let refused = checkpoint_of(session.pid(), &images, &[]);
    let words = [
        "buffer object 1 of /dev/dri/renderD128",
        "userptr",
        "close it",
    ];
    assert_eq!(refused.badly(&words).code, Some(3));
    assert!(!images.exists());
    fs::write(folder.join("go"), "").expect("it is our folder");
    assert!(session.wait(LIMIT).expect("it ends").success());
}
