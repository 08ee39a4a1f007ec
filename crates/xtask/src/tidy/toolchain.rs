//! The oldest Rust that manifests name is the one that everything is built and tested with.

use std::fs;
use std::path::Path;

use anyhow::Context;

use crate::workspace::Workspace;

const FILE: &str = "rust-toolchain.toml";

/// Sentences about broken rules.
pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let text = fs::read_to_string(workspace.root.join(FILE)).context(FILE)?;
    let packages = workspace.packages.iter().map(|package| {
        let name = package["name"].as_str().unwrap_or_default();
        (name, package["rust_version"].as_str())
    });
    Ok(check_text(&text, packages))
}

/// `packages` are names and what they call the oldest Rust.
fn check_text<'a>(
    text: &str,
    packages: impl Iterator<Item = (&'a str, Option<&'a str>)>,
) -> Vec<String> {
    let channel = text
        .lines()
        .find_map(|line| line.strip_prefix("channel = "));
    let channel = channel.unwrap_or_default().trim_matches('"');
    // Of 1.95.0, 1.95.
    let used = Path::new(channel)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    let broken = packages.filter(|(_, oldest)| *oldest != Some(&*used));
    broken
        .map(|(name, oldest)| {
            let oldest = oldest.unwrap_or("none");
            format!("{name} says that the oldest Rust is {oldest}; {FILE} has {channel:?}")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::check_text;

    #[test]
    fn another_version_is_found() {
        let text = "[toolchain]\nchannel = \"1.95.0\"\n";
        let broken = |oldest| check_text(text, [("a", oldest)].into_iter()).len();
        assert_eq!(broken(Some("1.95")), 0);
        assert_eq!(broken(Some("1.9")), 1);
        assert_eq!(broken(None), 1);
        assert_eq!(check_text("", [("a", Some("1.95"))].into_iter()).len(), 1);
    }
}
