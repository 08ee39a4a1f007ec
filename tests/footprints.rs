//! Footprints against an oracle: what each launch really touched, as the software GPU has seen it,
//! is inside what was predicted for it when it was launched.
//!
//! `strobe footprints compare` joins two logs: `strobe run --launch-log` (predictions, in the order of the
//! calls) and `strobe softgpu --access-log` (accesses, to the byte).

#[path = "harness/mod.rs"]
mod harness;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use strobe_evaluation::compile;

use harness::{Folder, run, strobe};

/// What a comparison has found.
#[derive(Clone, Debug)]
struct Counts {
    launches: u64,
    exact: u64,
    reads_exact: u64,
    /// The rest, as the command says it.
    text: String,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Compares both logs; what is wrong, if anything is.
fn compare(launches: &Path, accesses: &Path) -> Result<Counts, String> {
    let command = [
        "footprints".as_ref(),
        "compare".as_ref(),
        launches,
        accesses,
    ];
    let ended = run(command);
    match ended.code {
        Some(0) => {}
        _ => return Err(ended.stdout + &ended.stderr),
    }
    let found = run(command.into_iter().chain(["--json".as_ref()])).well();
    let found: Value = serde_json::from_str(&found.stdout).expect("JSON");
    assert_eq!(found["holds"], true);
    let total = |key: &str| found["total"][key].as_u64().expect("a number");
    Ok(Counts {
        launches: total("launches"),
        exact: total("writes_exact"),
        reads_exact: total("reads_exact"),
        text: ended.stdout,
    })
}

/// Runs a program of tests/programs with both logs.
fn watch(folder: &Folder, source: &str, level: &str, arguments: &[&str]) -> Result<Counts, String> {
    watch_with(folder, source, level, arguments, &[])
}

/// Likewise, started by another command.
fn watch_with(
    folder: &Folder,
    source: &str,
    level: &str,
    arguments: &[&str],
    starter: &[&str],
) -> Result<Counts, String> {
    let program =
        compile::hip(source, level, &harness::programs()).expect("hipcc compiles the program");
    let [launches, accesses] = ["launches", "accesses"].map(|log| folder.join(log));
    let strobe = strobe().path().to_owned();
    let mut command = vec![
        "softgpu".into(),
        "--access-log".into(),
        accesses.clone().into_os_string(),
    ];
    command.push("--".into());
    command.extend(starter.iter().map(|word| word.into()));
    command.extend([strobe.into(), "run".into()]);
    command.extend(["--launch-log".into(), launches.clone().into_os_string()]);
    command.extend(["--".into(), program.into_os_string()]);
    command.extend(arguments.iter().map(|argument| argument.into()));
    run(command).well();
    compare(&launches, &accesses)
}

#[track_caller]
fn holds(name: &str, source: &str, level: &str, arguments: &[&str]) -> Counts {
    let folder = Folder::new(&format!("footprints-{name}{level}"));
    match watch(&folder, source, level, arguments) {
        Ok(counts) => {
            assert!(counts.launches > 0, "{source} {level} launched nothing");
            println!("{source} {level}:\n{counts}");
            counts
        }
        Err(why) => panic!("{source} {level}: {why}"),
    }
}

#[test]
fn every_generator_of_rocrand_touches_what_was_predicted() {
    let counts = holds("random", "random.cpp", "-O2", &["1024"]);
    assert!(counts.exact * 100 >= counts.launches * 95, "{counts}");
}

#[test]
fn functions_of_rocsparse_touch_what_was_predicted() {
    let counts = holds("sparse", "sparse.cpp", "-O2", &["6"]);
    assert!(counts.exact * 100 >= counts.launches * 95, "{counts}");
}

#[test]
fn algorithms_of_rocprim_touch_what_was_predicted() {
    let counts = holds("prim", "prim.cpp", "-O2", &["4"]);
    assert!(counts.exact * 100 >= counts.launches * 95, "{counts}");
}

const LEVELS: [&str; 4] = ["-O0", "-O1", "-O2", "-O3"];

#[test]
fn vector_addition_touches_what_was_predicted() {
    for level in LEVELS {
        holds("vadd", "vadd.cpp", level, &[]);
    }
}

#[test]
fn streams_atomics_and_pointer_tables_touch_what_was_predicted() {
    for level in LEVELS {
        holds("mixed", "mixed.cpp", level, &["3"]);
    }
}

/// Of the launches of a round one follows a table that is made in a loop.
#[test]
fn tables_that_kernels_make_are_followed() {
    for level in LEVELS {
        let counts = holds("tables", "tables.cpp", level, &["3"]);
        let not_known = counts.launches - counts.exact;
        if level != "-O0" {
            assert_eq!(not_known, 3, "{level}: {counts}");
        }
    }
}

/// The files in which what was learned of kernels is kept, with their inode numbers: a file is never written twice.
fn learned(cache: &Path) -> BTreeMap<PathBuf, u64> {
    let folders = fs::read_dir(cache.join("strobe/footprints")).expect("what was learned");
    let versions: Vec<PathBuf> = folders
        .map(|entry| entry.expect("a folder").path())
        .collect();
    let [version] = &versions[..] else {
        panic!("of one version: {versions:?}");
    };
    let files = fs::read_dir(version).expect("files");
    let files = files.map(|entry| entry.expect("a file"));
    files.map(|file| (file.path(), file.ino())).collect()
}

#[test]
fn what_was_learned_serves_later_runs_and_what_is_damaged_is_learned_again() {
    let cache = Folder::new("footprints-learned-cache");
    let variable = format!("XDG_CACHE_HOME={}", cache.path().display());
    let counts = || {
        let folder = Folder::new("footprints-learned");
        let counts = watch_with(&folder, "mixed.cpp", "-O2", &["3"], &["env", &variable]);
        let counts = counts.expect("nothing is missed");
        (counts.launches, counts.exact, counts.reads_exact)
    };
    let first = counts();
    let files = learned(cache.path());
    assert!(files.len() > 2, "{files:?}");
    assert_eq!(counts(), first, "the same is known");
    assert_eq!(learned(cache.path()), files, "nothing was learned again");
    // Cut, changed, and of another kernel.
    let paths: Vec<&PathBuf> = files.keys().collect();
    let whole = fs::read(paths[0]).expect("a file");
    fs::write(paths[0], &whole[..whole.len() / 2]).expect("it is cut");
    let mut bytes = fs::read(paths[1]).expect("a file");
    bytes[20] ^= 1;
    fs::write(paths[1], bytes).expect("it is changed");
    fs::write(paths[2], whole).expect("it is another's");
    assert_eq!(counts(), first, "the same is known");
    let later = learned(cache.path());
    let again = files
        .iter()
        .filter(|(path, inode)| later.get(*path) != Some(inode));
    assert_eq!(again.map(|(path, _)| path).collect::<Vec<_>>(), paths[..3]);
}

/// Four of its tables are written again by kernels that were enqueued before what fills them, three are not; two are
/// written by what was enqueued after the launch that follows them, and before that ran, one after it. The last launch that
/// is changed so changes the next one's table.
#[test]
fn tables_that_may_be_written_before_they_are_followed_are_not_known() {
    let counts = holds("overtaken", "overtaken.cpp", "-O2", &[]);
    assert_eq!(counts.launches - counts.exact, 8, "{counts}");
}

#[test]
fn calls_of_every_form_touch_what_was_predicted() {
    for source in [
        "interpose/ways.cpp",
        "interpose/threads.cpp",
        "launches.cpp",
    ] {
        holds("calls", source, "-O2", &[]);
    }
}

#[test]
fn of_two_registrations_of_a_stub_the_one_that_runs_is_predicted() {
    let counts = holds("twice", "interpose/registered_twice.cpp", "-O2", &["runs"]);
    assert_eq!((counts.launches, counts.exact), (2, 2), "{counts}");
}

#[test]
fn training_touches_what_was_predicted_and_nearly_all_of_it_is_exact() {
    for level in LEVELS {
        let counts = holds(
            "train",
            "train/train.cpp",
            level,
            &["--state-mb", "1", "--steps", "3"],
        );
        let least = counts.launches * 95 / 100;
        if level != "-O0" {
            assert!(
                counts.exact >= least && counts.reads_exact >= least,
                "{level}: {counts}"
            );
        }
    }
}

#[test]
fn a_footprint_that_lacks_a_byte_is_found_out() {
    let folder = Folder::new("footprints-lie");
    watch(&folder, "vadd.cpp", "-O2", &[]).expect("the truth holds");
    let [launches, accesses] = ["launches", "accesses"].map(|log| folder.join(log));
    for side in ["reads", "writes"] {
        let text = fs::read_to_string(&launches).expect("a log");
        let lied = text.lines().map(|line| {
            let mut record: Value = serde_json::from_str(line).expect("a record");
            if let Some(end) = record[side].pointer_mut("/0/1") {
                *end = (end.as_u64().expect("an address") - 1).into();
            }
            record.to_string()
        });
        let lied: Vec<String> = lied.collect();
        let lies = folder.join(side);
        fs::write(&lies, lied.join("\n")).expect("a file");
        let found = compare(&lies, &accesses).expect_err("a byte is missed");
        let said = "not every byte that was touched had been predicted";
        assert!(found.contains(said), "{side}: {found}");
    }
}
