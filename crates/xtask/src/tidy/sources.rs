//! Rules about the text of files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

const MOST_LINES: usize = 800;
/// Lines between an unsafe block and the comment that explains it.
const SAFETY_DISTANCE: usize = 8;

/// Words of unfinished work. Split, so that this file keeps its own rule.
const UNFINISHED: [&str; 6] = [
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("db", "g!("),
    concat!("FIX", "ME"),
    concat!("XX", "X:"),
    concat!("HA", "CK"),
];
/// Places that exist on one machine only, and hosts that packages come from.
const PLACES: [&str; 6] = [
    concat!("/tmp/", "strobe/"),
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/."),
    concat!("deb.", "debian.org"),
    concat!("crates", ".io/"),
    concat!("static.", "rust-lang.org"),
];
/// Written by cargo.
const FOREIGN: &str = "Cargo.lock";

/// Sentences about broken rules.
pub(super) fn check(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut files = Vec::new();
    collect(root, &mut files)?;
    let mut broken = Vec::new();
    for file in files {
        let name = file
            .strip_prefix(root)
            .unwrap_or(&file)
            .display()
            .to_string();
        if name == FOREIGN {
            continue;
        }
        // Golden images and other data are not text.
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        broken.extend(check_text(&name, &text));
    }
    Ok(broken)
}

/// All files of the repository below a folder.
pub(super) fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_symlink() || name == "target" || name == ".git" {
            continue;
        }
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// Those of them that are Rust, with their names and texts.
pub(super) fn rust(root: &Path, folder: &Path) -> anyhow::Result<Vec<(PathBuf, String, String)>> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files
        .into_iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "rs"))
        .map(|file| {
            let text = fs::read_to_string(&file)?;
            let name = file.strip_prefix(root).unwrap_or(&file);
            let name = name.display().to_string();
            Ok((file, name, text))
        })
        .collect()
}

fn check_text(name: &str, text: &str) -> Vec<String> {
    let mut broken = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let is_source = [".rs", ".cpp", ".h", ".c", ".py", ".toml", ".proto"]
        .iter()
        .any(|extension| name.ends_with(extension));
    let is_table = name.contains("table") || text.contains("@generated");
    if is_source && !is_table && lines.len() > MOST_LINES {
        broken.push(format!(
            "{name} has {} lines, more than {MOST_LINES}",
            lines.len()
        ));
    }
    for (number, line) in lines.iter().enumerate() {
        let mut say = |what: &str| broken.push(format!("{name}:{}: {what}", number + 1));
        if is_source && !line.is_ascii() {
            say("not ASCII");
        }
        if let Some(word) = UNFINISHED.iter().find(|word| line.contains(**word)) {
            say(&format!("unfinished: {word}"));
        }
        if let Some(place) = PLACES.iter().find(|place| line.contains(**place)) {
            say(&format!(
                "names a place of one machine or a registry: {place}"
            ));
        }
        if name.ends_with(".rs") && needs_safety(line) && !has_safety(&lines[..=number]) {
            say("unsafe without a SAFETY comment");
        }
    }
    broken
}

fn needs_safety(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let block = concat!("unsafe", " {");
    let promise = concat!("unsafe", " impl");
    // In a literal it is no code.
    !code.contains('"') && (code.contains(block) || code.contains(promise))
}

/// Whether the comment stands on the last line or shortly above.
fn has_safety(lines: &[&str]) -> bool {
    let first = lines.len().saturating_sub(SAFETY_DISTANCE + 1);
    lines[first..]
        .iter()
        .any(|line| line.contains("SAFETY:") || line.contains("# Safety"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(name: &str, text: &str) -> usize {
        check_text(name, text).len()
    }

    #[test]
    fn each_rule_finds_its_offence() {
        assert_eq!(rules("a.rs", "fn main() {}\n"), 0);
        assert_eq!(rules("a.rs", &"\n".repeat(MOST_LINES + 1)), 1);
        assert_eq!(rules("table.rs", &"\n".repeat(MOST_LINES + 1)), 0);
        assert_eq!(rules("a.rs", "// caf\u{e9}\n"), 1);
        assert_eq!(rules("a.rs", UNFINISHED[0]), 1);
        assert_eq!(rules("README.md", PLACES[0]), 1);
    }

    #[test]
    fn an_unsafe_block_wants_its_comment_near() {
        let block = concat!("let x = unsafe", " { read(p) };\n");
        assert_eq!(rules("a.rs", block), 1);
        assert_eq!(rules("a.rs", &format!("// SAFETY: p is live.\n{block}")), 0);
        let far = "\n".repeat(SAFETY_DISTANCE + 1);
        assert_eq!(
            rules("a.rs", &format!("// SAFETY: p is live.\n{far}{block}")),
            1
        );
    }
}
