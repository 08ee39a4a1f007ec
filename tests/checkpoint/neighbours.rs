//! One of two programs on a device.

use std::fs;

use crate::harness::environment::{Environment, Program, wait_until};
use crate::harness::{Folder, checkpoint_of, hip_program, restore, strobe, verify};

const ROUNDS: &str = "150";

/// Two programs that do the same; both have begun.
fn pair(folder: &Folder) -> (Environment, Program, Program) {
    let program = hip_program("mixed.cpp");
    let mut place = Environment::new(folder, &[]);
    let [a, b] = ["a", "b"]
        .map(|name| place.start_traced(name, &[&program, ROUNDS, &format!("{name}.log")]));
    for name in ["a", "b"] {
        has_done(folder, name, 3);
    }
    (place, a, b)
}

fn log(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.join(&format!("{name}.log"))).unwrap_or_default()
}

/// Waits until a program has done so many rounds.
fn has_done(folder: &Folder, name: &str, rounds: usize) {
    wait_until("round", || {
        (log(folder, name).lines().count() > rounds).then_some(())
    });
}

/// Saves and kills `a`, to which `b` must be blind.
fn save(folder: &Folder, a: &Program, b: &Program) -> std::path::PathBuf {
    let images = folder.join("images");
    checkpoint_of(a.pid(), &images, &["--kill"]).well();
    verify(&images).well();
    assert_eq!(a.code(), 137, "{}", a.output());
    let rounds = log(folder, "b").lines().count();
    assert!(
        b.is_alive(),
        "too fast for the test, or dead: {}",
        b.output()
    );
    has_done(folder, "b", rounds + 2);
    images
}

#[test]
fn one_is_saved_and_comes_back_on_another_device_while_the_other_goes_on() {
    let folder = Folder::new("one-of-two");
    let (_place, a, b) = pair(&folder);
    let images = save(&folder, &a, &b);
    restore(&images).well();
    assert_eq!(b.code(), 0, "{}", b.output());
    assert_eq!(log(&folder, "a"), log(&folder, "b"));
    assert!(log(&folder, "a").ends_with(&format!("end rounds {ROUNDS}\n")));
}

#[test]
fn one_is_saved_and_comes_back_on_the_same_device_beside_the_other() {
    let folder = Folder::new("beside-the-other");
    let (mut place, a, b) = pair(&folder);
    let images = save(&folder, &a, &b);
    let strobe = strobe();
    let words = [
        strobe.path().to_str().expect("a path in UTF-8"),
        "restore",
        "--wait",
        images.to_str().expect("a path in UTF-8"),
    ];
    let back = place.start("back", &words);
    assert_eq!(back.code(), 0, "{}", back.output());
    assert_eq!(b.code(), 0, "{}", b.output());
    assert_eq!(log(&folder, "a"), log(&folder, "b"));
    assert!(log(&folder, "a").ends_with(&format!("end rounds {ROUNDS}\n")));
}
