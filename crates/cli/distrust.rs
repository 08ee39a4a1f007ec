//! Kernels that are not believed in later runs either: written into the cache folder of the user
//! whose program it was, as that user, beside what other checkpoints have noted.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use strobe_program::process;
use strobe_program::rights::Rights;
use strobe_proto::Suspect;
use strobe_proto::distrust::{MOST_BYTES, format, parse, relative_path};

/// Notes the suspects where the agent of the user's next program looks.
pub(crate) fn note(pid: u32, suspects: &[Suspect]) -> anyhow::Result<()> {
    let folder = cache_folder(pid)?;
    // It is the user's, and may lead anywhere.
    let user = Rights::of(pid).context("whose program it is")?;
    user.run(|| add_all(&folder, suspects))?
}

fn add_all(folder: &Path, suspects: &[Suspect]) -> anyhow::Result<()> {
    for code_object in suspects.iter().map(|s| &s.code_object) {
        let Ok(hash) = <&[u8; 16]>::try_from(code_object.as_slice()) else {
            continue;
        };
        let names = suspects
            .iter()
            .filter(|s| s.code_object == *code_object)
            .map(|s| s.kernel.as_str());
        add(&folder.join(relative_path(hash)), names)?;
    }
    Ok(())
}

/// Adds names to a file, which is replaced in one step.
fn add<'a>(path: &Path, names: impl Iterator<Item = &'a str>) -> anyhow::Result<()> {
    let parent = path.parent().context("a file has a folder")?;
    fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    let mut before = String::new();
    if let Ok(file) = fs::File::open(path) {
        // What is not of our making is replaced.
        let _ = file.take(MOST_BYTES as u64).read_to_string(&mut before);
    }
    let mut all: BTreeSet<String> = parse(&before).into_iter().map(str::to_owned).collect();
    all.extend(names.map(str::to_owned));
    let temporary = path.with_extension(std::process::id().to_string());
    let write = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)?;
        file.write_all(format(all.iter().map(String::as_str)).as_bytes())?;
        fs::rename(&temporary, path)
    };
    write()
        .inspect_err(|_| drop(fs::remove_file(&temporary)))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// The cache folder as the program sees it, from here.
fn cache_folder(pid: u32) -> anyhow::Result<PathBuf> {
    let variable = |name: &str| {
        let value = process::variable(pid, name)?;
        let path = value.filter(|value| value.starts_with('/'));
        Ok::<_, io::Error>(path.map(PathBuf::from))
    };
    let folder = variable("XDG_CACHE_HOME")?
        .or(variable("HOME")?.map(|home| home.join(".cache")))
        .context("the program has no home")?;
    let inside = folder.strip_prefix("/").unwrap_or(&folder);
    Ok(Path::new(&format!("/proc/{pid}/root")).join(inside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_together_and_rubbish_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("strobe/distrusted/ab");
        add(&path, ["b"].into_iter()).unwrap();
        add(&path, ["a", "b"].into_iter()).unwrap();
        assert_eq!(parse(&fs::read_to_string(&path).unwrap()), ["a", "b"]);
        fs::write(&path, [0xff; 100]).unwrap();
        add(&path, ["c"].into_iter()).unwrap();
        assert_eq!(parse(&fs::read_to_string(&path).unwrap()), ["c"]);
        let left = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(left, 1, "no temporary file stays");
    }
}
