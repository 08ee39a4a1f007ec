//! Series of checkpoints: their numbers, the newest, and what is removed.

use std::fs;
use std::path::{Path, PathBuf};
use strobe_proto::Manifest;
use strobe_store::{Checkpoint, CheckpointWriter, Series};

fn take(series: &Series, base: Option<&Path>) -> PathBuf {
    let path = series.next().unwrap();
    let mut writer = CheckpointWriter::create(&path, base).unwrap();
    writer.put(&[7; 4096]).unwrap();
    writer.commit(Manifest::default()).unwrap();
    path
}

fn names(paths: Vec<PathBuf>) -> Vec<String> {
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    paths.iter().map(name).collect()
}

#[test]
fn the_newest_are_kept_and_share_what_the_oldest_had() {
    let folder = tempfile::tempdir().unwrap();
    let series = Series::make(&folder.path().join("series")).unwrap();
    assert_eq!(names(series.checkpoints().unwrap()), [""; 0]);
    let mut last: Option<PathBuf> = None;
    for _ in 0..4 {
        let taken = take(&series, last.as_deref());
        series.point_at(&taken).unwrap();
        last = Some(taken);
    }
    assert_eq!(names(series.remove_but(2).unwrap()), ["000001", "000002"]);
    assert_eq!(names(series.checkpoints().unwrap()), ["000003", "000004"]);
    let latest = folder.path().join("series/latest");
    assert_eq!(fs::read_link(&latest).unwrap(), Path::new("000004"));
    Checkpoint::open(&latest)
        .unwrap()
        .verify(&mut |_| {})
        .unwrap();
    assert_eq!(series.next().unwrap().file_name().unwrap(), "000005");
}

#[test]
fn what_is_open_or_not_ours_or_not_complete_stays() {
    let folder = tempfile::tempdir().unwrap();
    let series = Series::of(folder.path());
    let open = take(&series, None);
    let others = take(&series, None);
    let removed = take(&series, None);
    take(&series, None);
    fs::write(others.join("owner"), "somebody else").unwrap();
    for name in ["000009", "1", "0000zz", "18446744073709551615"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let opened = Checkpoint::open(&open).unwrap();
    let foreseen = series.removable_but(1).unwrap();
    assert_eq!(series.remove_but(1).unwrap(), [removed]);
    assert_eq!(names(foreseen), ["000003"], "nothing else was foreseen");
    opened.verify(&mut |_| {}).unwrap();
    drop(opened);
    assert_eq!(series.remove_but(1).unwrap(), [open]);
    assert!(others.is_dir(), "it is not ours");
    let path = series.next().unwrap();
    assert_eq!(
        path.file_name().unwrap(),
        "000010",
        "a number is given once"
    );
}

#[test]
fn what_a_link_leads_to_and_what_somebody_has_put_into_a_checkpoint_stays() {
    let folder = tempfile::tempdir().unwrap();
    let series = Series::make(&folder.path().join("series")).unwrap();
    let moved = take(&series, None);
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(&moved, &elsewhere).unwrap();
    std::os::unix::fs::symlink("../elsewhere", &moved).unwrap();
    let shared = take(&series, None);
    assert_eq!(
        shared.file_name().unwrap(),
        "000002",
        "a number is given once"
    );
    fs::write(shared.join("notes"), "of the user").unwrap();
    take(&series, None);
    assert_eq!(names(series.checkpoints().unwrap()), ["000002", "000003"]);
    assert!(series.removable_but(1).unwrap().is_empty());
    assert!(series.remove_but(1).unwrap().is_empty());
    assert!(elsewhere.join("manifest.pb").exists() && moved.is_symlink());
    assert!(shared.join("manifest.pb").exists() && shared.join("notes").exists());
}

#[test]
fn what_is_called_latest_and_is_not_ours_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let series = Series::of(folder.path());
    let taken = take(&series, None);
    let latest = folder.path().join("latest");
    fs::write(&latest, "mine").unwrap();
    series.point_at(&taken).unwrap_err();
    assert_eq!(fs::read(&latest).unwrap(), b"mine");
    fs::remove_file(&latest).unwrap();
    std::os::unix::fs::symlink("../elsewhere", &latest).unwrap();
    series.point_at(&taken).unwrap_err();
    assert_eq!(fs::read_link(&latest).unwrap(), Path::new("../elsewhere"));
}

#[test]
fn what_is_left_of_a_removal_goes_with_what_is_left_of_a_writer() {
    let folder = tempfile::tempdir().unwrap();
    let series = Series::of(folder.path());
    let taken = take(&series, None);
    // As far as a removal came that was cut short.
    let left = folder.path().join(".000001.staging-0123456789abcdef");
    fs::rename(&taken, &left).unwrap();
    fs::remove_dir_all(left.join("chunks")).unwrap();
    strobe_store::remove_dead(folder.path()).unwrap();
    assert!(!left.exists());
}
