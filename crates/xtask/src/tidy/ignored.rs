//! Ignored tests run all the same: each is run by another test, or by `cargo xtask test`.

use std::path::Path;

use super::sources;
use crate::test::ORACLE;
use crate::workspace::Workspace;

/// Of tests that another test of the same file runs on a device, by `inside("...::NAME", ..)`.
const INSIDE: &str = "#[ignore = \"runs inside an environment\"]";
/// Lines between the attribute and the function: other attributes.
const ATTRIBUTES: usize = 4;

/// Sentences about broken rules.
pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let mut broken = Vec::new();
    for (file, name, text) in sources::rust(&workspace.root, &workspace.root)? {
        for (line, what) in idle(&text, is_run_with_ignored(workspace, &file)) {
            broken.push(format!("{name}:{line}: {what}"));
        }
    }
    Ok(broken)
}

/// Whether the file is a test target of which `cargo xtask test` runs the ignored tests, too.
fn is_run_with_ignored(workspace: &Workspace, path: &Path) -> bool {
    let packages = workspace.packages.iter();
    let mut targets =
        packages.flat_map(|package| package["targets"].as_array().into_iter().flatten());
    targets.any(|target| {
        let needed = target["required-features"].as_array();
        target["src_path"].as_str().map(Path::new) == Some(path)
            && needed.is_some_and(|needed| needed.iter().any(|one| one == ORACLE))
    })
}

/// Lines of tests that nobody runs.
fn idle(text: &str, with_ignored: bool) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let marks = lines.iter().enumerate();
    let marks = marks.filter(|(_, line)| line.starts_with("#[ignore"));
    let idle = marks.filter_map(|(at, mark)| {
        let name = lines[at + 1..].iter().take(ATTRIBUTES).find_map(|line| {
            let (name, _) = line.strip_prefix("fn ")?.split_once('(')?;
            Some(name)
        });
        let is_run = match name {
            Some(name) if *mark == INSIDE => text.contains(&format!("::{name}\"")),
            Some(_) => with_ignored,
            None => false,
        };
        let what = format!("nobody runs the test {}", name.unwrap_or("here"));
        (!is_run).then_some((at + 1, what))
    });
    idle.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_test_that_nobody_runs_is_found() {
        let run = "fn a() { inside(\"m::b\", &[]); }\n";
        let inside = format!("    #[test]\n    {INSIDE}\n    fn b() {{}}\n");
        assert_eq!(idle(&format!("{run}{inside}"), false), []);
        assert_eq!(
            idle(&inside, true),
            [(2, "nobody runs the test b".to_owned())]
        );
        let corpus = "#[test]\n#[ignore = \"needs a corpus\"]\nfn c() {}\n";
        assert_eq!(idle(corpus, true), []);
        assert_eq!(idle(corpus, false).len(), 1);
    }
}
