//! What a manifest declares, the sources name; and what a library is for, its line says.
//!
//! A dependency of a crate must be named by a path or a `use` in the crate's own sources, outside of
//! its tests if it is not one for tests. What is declared for another reason stands in the root
//! manifest, under `[workspace.metadata.unnamed]`, as `"CRATE DEPENDENCY" = "REASON"`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

use super::sources;
use crate::workspace::Workspace;

const MANIFEST: &str = "Cargo.toml";
const TABLE: &str = "[workspace.dependencies]";

/// Sentences about broken rules.
pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let mut broken = Vec::new();
    let mut declared = BTreeSet::new();
    let mut unnamed = BTreeSet::new();
    for package in &workspace.packages {
        let own = package["name"].as_str().unwrap_or_default();
        let shipped = named_in(&sources_of(package, |kind| kind != "test")?)?;
        let all = named_in(&sources_of(package, |_| true)?)?;
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let name = dependency["name"].as_str().unwrap_or_default();
            let rename = dependency["rename"].as_str().unwrap_or(name);
            declared.insert(name.to_owned());
            let named = if dependency["kind"] == "dev" {
                &all
            } else {
                &shipped
            };
            if !named.contains(&rename.replace('-', "_")) {
                unnamed.insert(format!("{own} {name}"));
            }
        }
    }
    let text = fs::read_to_string(workspace.root.join(MANIFEST)).context(MANIFEST)?;
    for library in libraries(&text) {
        if !library.says_why {
            broken.push(format!("{MANIFEST}: what is {} for?", library.name));
        }
        if !declared.contains(library.name) {
            unnamed.insert(format!("workspace {}", library.name));
        }
    }
    broken.extend(excused(&unnamed, &workspace.metadata["unnamed"]));
    Ok(broken)
}

/// What no reason excuses, and reasons that excuse nothing.
fn excused(unnamed: &BTreeSet<String>, reasons: &Value) -> Vec<String> {
    let reason = |name: &String| reasons[name].as_str().unwrap_or_default();
    let names = unnamed.iter().filter(|name| reason(name).is_empty());
    let idle = reasons.as_object().into_iter().flatten();
    let idle = idle.filter(|(name, _)| !unnamed.contains(*name));
    let names =
        names.map(|name| format!("{MANIFEST}: \"{name}\" is declared, and nothing names it"));
    let idle = idle.map(|(name, _)| format!("{MANIFEST}: \"{name}\" needs no excuse"));
    names.chain(idle).collect()
}

/// The Rust files of a package's targets of these kinds, with all modules: the folders that their root
/// files are in, or the file alone where that folder is the package's own.
fn sources_of(package: &Value, wanted: impl Fn(&str) -> bool) -> anyhow::Result<BTreeSet<PathBuf>> {
    let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
    let mut files = Vec::new();
    for target in package["targets"].as_array().into_iter().flatten() {
        let root = Path::new(target["src_path"].as_str().unwrap_or_default());
        if !wanted(target["kind"][0].as_str().unwrap_or_default()) {
            continue;
        }
        match root.parent() {
            Some(folder) if Some(folder) != manifest.parent() => {
                sources::collect(folder, &mut files)?;
            }
            _ => files.push(root.to_owned()),
        }
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    Ok(files.into_iter().collect())
}

fn named_in(files: &BTreeSet<PathBuf>) -> anyhow::Result<BTreeSet<String>> {
    let mut named = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        named.extend(first_names(&text));
        // Modules of another package's folder.
        for elsewhere in text.lines().filter_map(path_of_module) {
            let elsewhere = file.with_file_name(elsewhere);
            let text =
                fs::read_to_string(&elsewhere).with_context(|| elsewhere.display().to_string())?;
            named.extend(first_names(&text));
        }
    }
    Ok(named)
}

fn path_of_module(line: &str) -> Option<&str> {
    line.trim().strip_prefix("#[path = \"")?.strip_suffix("\"]")
}

/// Names that a path can begin with: before `::`, and alone behind `use` or `extern crate`.
fn first_names(text: &str) -> impl Iterator<Item = String> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.lines().flat_map(move |line| {
        let code = line.split("//").next().unwrap_or_default();
        let paths = code.match_indices("::").filter_map(move |(at, _)| {
            let before = &code[..at];
            let start = before
                .rfind(|letter| !is_name(letter))
                .map_or(0, |at| at + 1);
            // Not in the midst of a path.
            (!before[..start].ends_with(':')).then(|| before[start..].to_owned())
        });
        let code = code.trim_start();
        let alone = ["use ", "extern crate "]
            .into_iter()
            .filter_map(move |word| {
                let rest = code.strip_prefix(word)?;
                rest.split(|letter| !is_name(letter))
                    .next()
                    .map(str::to_owned)
            });
        paths.chain(alone).filter(|name| !name.is_empty())
    })
}

struct Library<'a> {
    name: &'a str,
    says_why: bool,
}

/// Other people's crates among the workspace's dependencies; a comment stands right above each.
fn libraries(manifest: &str) -> Vec<Library<'_>> {
    let lines = manifest.lines().skip_while(|line| *line != TABLE).skip(1);
    let lines: Vec<&str> = lines.take_while(|line| !line.starts_with('[')).collect();
    let mut libraries = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some((name, value)) = line.split_once(" = ")
            && !line.starts_with('#')
            && !value.contains("path = ")
        {
            let says_why = at > 0 && lines[at - 1].starts_with("# ");
            libraries.push(Library { name, says_why });
        }
    }
    libraries
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A package with a library and a test, as cargo tells of it.
    fn package(folder: &Path) -> Value {
        let target =
            |kind: &str, path: &str| json!({"kind": [kind], "src_path": folder.join(path)});
        let dependency =
            |name: &str, kind: Value| json!({"name": name, "kind": kind, "rename": null});
        json!({
            "name": "own",
            "manifest_path": folder.join(MANIFEST),
            "targets": [target("lib", "src/lib.rs"), target("test", "tests/a.rs")],
            "dependencies": [
                dependency("used-here", Value::Null),
                dependency("in-comments", Value::Null),
                dependency("in-tests", Value::Null),
                dependency("for-tests", "dev".into()),
                dependency("for-nothing", "dev".into()),
            ],
        })
    }

    #[test]
    fn what_no_source_names_is_found() -> anyhow::Result<()> {
        let root = std::env::temp_dir().join(format!("strobe-tidy-{}", std::process::id()));
        fs::create_dir_all(root.join("src/deep"))?;
        fs::create_dir_all(root.join("tests"))?;
        fs::write(
            root.join(MANIFEST),
            format!("{TABLE}\n# For paths.\nused-here = \"1\"\nidle = \"1\"\n\n[x]\n"),
        )?;
        fs::write(root.join("src/lib.rs"), "mod deep; // in_comments::gone\n")?;
        fs::write(root.join("src/deep/mod.rs"), "fn f() { used_here::f() }\n")?;
        let elsewhere = "use for_tests as x;\nuse in_tests::y;\n";
        fs::write(root.join("elsewhere.rs"), elsewhere)?;
        fs::write(
            root.join("tests/a.rs"),
            "#[path = \"../elsewhere.rs\"]\nmod x;\n",
        )?;
        let mut workspace = Workspace {
            root: root.clone(),
            target: root.join("target"),
            packages: vec![package(&root)],
            metadata: Value::Null,
        };
        let broken = check(&workspace)?;
        workspace.metadata = json!({"unnamed": {
            "own for-nothing": "", "own in-comments": "why", "own in-tests": "why", "own used-here": "why",
            "workspace idle": "why",
        }});
        let excused = check(&workspace)?;
        fs::remove_dir_all(&root)?;
        let unnamed =
            |name: &str| format!("{MANIFEST}: \"{name}\" is declared, and nothing names it");
        let why = || format!("{MANIFEST}: what is idle for?");
        let names = [
            "own for-nothing",
            "own in-comments",
            "own in-tests",
            "workspace idle",
        ];
        let mut expected = vec![why()];
        expected.extend(names.map(unnamed));
        assert_eq!(broken, expected);
        // A reason of no words is none, and one that nothing needs is found.
        let idle = format!("{MANIFEST}: \"own used-here\" needs no excuse");
        assert_eq!(excused, [why(), unnamed(names[0]), idle]);
        Ok(())
    }

    #[test]
    fn a_name_is_one_at_the_beginning_of_a_path() {
        let names = |text: &str| first_names(text).collect::<Vec<_>>();
        assert_eq!(names("use a::b::c; // d::e"), ["a", "a"]);
        assert_eq!(names("let x = f(a::b::B, <c::D as E>::f);"), ["a", "c"]);
        assert_eq!(names("    extern crate a;"), ["a"]);
    }
}
