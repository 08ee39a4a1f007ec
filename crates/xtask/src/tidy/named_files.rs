//! Pages for people name files that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Context;

const PAGES: [&str; 4] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "tests/PROMISES.md",
];

/// Sentences about broken rules.
pub(super) fn check(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut folders = BTreeSet::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        // What is built is not there at first.
        if entry.path().is_dir() && entry.file_name() != "target" {
            folders.insert(entry.file_name().to_string_lossy().into_owned());
        }
    }
    let mut broken = Vec::new();
    for page in PAGES {
        let text = fs::read_to_string(root.join(page)).context(page)?;
        let gone = named(&text, &folders).filter(|(_, name)| !root.join(name).exists());
        broken.extend(gone.map(|(line, name)| format!("{page}:{line}: there is no {name}")));
    }
    Ok(broken)
}

/// Lines and paths between backticks that begin with one of the top folders. `FILE::NAME` names a file.
fn named<'a>(text: &'a str, folders: &BTreeSet<String>) -> impl Iterator<Item = (usize, &'a str)> {
    text.lines().enumerate().flat_map(move |(at, line)| {
        let words = line.split('`').skip(1).step_by(2);
        words.filter_map(move |word| {
            let path = word.split("::").next().unwrap_or_default();
            let (folder, _) = path.split_once('/')?;
            (folders.contains(folder) && !path.contains(' ')).then_some((at + 1, path))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_this_repository_are_read() {
        let folders = BTreeSet::from(["crates".to_owned(), "tests".to_owned()]);
        let text = "see `crates/a.rs` and `x/y`\n`tests/b.rs::c`, `/dev/kfd`, crates/c, `tests`\n";
        let found: Vec<_> = named(text, &folders).collect();
        assert_eq!(found, [(1, "crates/a.rs"), (2, "tests/b.rs")]);
    }

    #[test]
    fn a_file_that_is_gone_is_found() -> anyhow::Result<()> {
        let root = std::env::temp_dir().join(format!("strobe-pages-{}", std::process::id()));
        fs::create_dir_all(root.join("tests"))?;
        for page in PAGES {
            fs::write(root.join(page), "`tests/PROMISES.md`, `tests/gone.rs`\n")?;
        }
        let broken = check(&root)?;
        fs::remove_dir_all(&root)?;
        assert_eq!(
            broken,
            PAGES.map(|page| format!("{page}:1: there is no tests/gone.rs"))
        );
        Ok(())
    }
}
