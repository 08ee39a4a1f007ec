//! The same seed gives the same kernels and launches; what is kept as text comes back as it was.

use strobe_fuzz::program::file;
use strobe_fuzz::random::Random;
use strobe_fuzz::scene::Scene;
use strobe_fuzz::{hip, machine};

#[test]
fn a_seed_decides_everything() {
    let draw = |seed| {
        let mut random = Random::new(seed);
        let hip: Vec<_> = (0..20).map(|_| hip::kernel(&mut random)).collect();
        let machine: Vec<_> = (0..20).map(|_| machine::kernel(&mut random)).collect();
        (file(&hip), file(&machine), hip::scene(&mut random))
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1).0, draw(2).0);
    assert_ne!(draw(1).1, draw(2).1);
    assert_ne!(draw(1).2, draw(2).2);
}

#[test]
fn a_scene_comes_back_from_its_text() {
    for seed in 0..50 {
        let scene = machine::scene(&mut Random::new(seed));
        let mut again = Scene::default();
        for line in scene.to_string().lines() {
            let line = line.strip_prefix("//~ ").expect("marked lines");
            assert!(again.line(line).expect("a line of a scene"), "{line}");
        }
        assert_eq!(scene, again);
    }
}

#[test]
fn a_scene_that_reaches_outside_is_refused() {
    let mut scene = Scene::default();
    assert!(scene.line("buffer 256 0 0 0").expect("a buffer"));
    for line in [
        "word 0 256 8 0",
        "word 1 0 8 0",
        "word 0 0 3 0",
        "argument 4096 8 0",
        "argument 0 8 1+0",
    ] {
        assert!(scene.line(line).is_err(), "{line}");
    }
    assert!(!scene.line("hello 1").expect("no line of a scene"));
}

#[test]
fn what_is_smaller_differs() {
    use strobe_fuzz::program::Program;
    let mut random = Random::new(3);
    let (hip, machine) = (hip::kernel(&mut random), machine::kernel(&mut random));
    assert!(!hip.smaller().is_empty() && !hip.smaller().contains(&hip));
    assert!(!machine.smaller().is_empty() && !machine.smaller().contains(&machine));
}
