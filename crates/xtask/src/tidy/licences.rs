//! What the workspace is made of beside its own code: licences, sources, and two versions of one crate.
//!
//! Lists stand in the root manifest: `[workspace.metadata.licences]` names what is allowed, and
//! `[workspace.metadata.twice]` says why a crate is there in two versions.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use serde_json::Value;

use crate::shell;
use crate::workspace::Workspace;

/// What is built for.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";
/// The only source beside the workspace itself.
const SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Sentences about broken rules.
pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let all = [
        "metadata",
        "--format-version=1",
        "--locked",
        "--filter-platform",
        PLATFORM,
    ];
    let metadata: Value = serde_json::from_str(&shell::output(&mut workspace.cargo(&all))?)?;
    let packages = metadata["packages"].as_array().context("cargo metadata")?;
    Ok(check_packages(packages, &workspace.metadata))
}

fn check_packages(packages: &[Value], lists: &Value) -> Vec<String> {
    let allowed: BTreeSet<&str> = strings(&lists["licences"]["allow"]).collect();
    let mut broken = Vec::new();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut used = BTreeSet::new();
    for package in packages {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        let (name, version) = (text("name"), text("version"));
        let mut say = |what: String| broken.push(format!("{name} {version}: {what}"));
        versions.entry(name).or_default().push(version);
        match package["source"].as_str() {
            None | Some(SOURCE) => {}
            Some(source) => say(format!("comes from {source}")),
        }
        match holds(text("license"), &allowed) {
            Some(licences) => used.extend(licences),
            None => say(format!("its licence is {:?}", text("license"))),
        }
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let own = package["source"].is_null() && dependency["path"].is_null();
            if own && dependency["req"] == "*" {
                say(format!("takes any version of {}", dependency["name"]));
            }
        }
    }
    let twice = |name: &str| {
        versions
            .get(name)
            .is_some_and(|versions| versions.len() > 1)
    };
    let excused = |name: &str| !lists["twice"][name].as_str().unwrap_or_default().is_empty();
    for (name, versions) in &versions {
        if twice(name) && !excused(name) {
            broken.push(format!(
                "{name} is there in versions {}",
                versions.join(" and ")
            ));
        }
    }
    let idle = lists["twice"].as_object().into_iter().flatten();
    let idle = idle.filter(|(name, _)| !twice(name));
    broken.extend(idle.map(|(name, _)| format!("{name} is there once and needs no excuse")));
    let unused = allowed.iter().filter(|licence| !used.contains(**licence));
    broken.extend(unused.map(|licence| format!("no crate has the licence {licence}")));
    broken
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// The allowed licences by which an SPDX expression is kept; `None` if it is not. `/` is an old `OR`.
fn holds<'a>(expression: &str, allowed: &BTreeSet<&'a str>) -> Option<BTreeSet<&'a str>> {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader {
        words: &words,
        allowed,
    };
    let kept = reader.any()?;
    reader.words.is_empty().then_some(kept).flatten()
}

/// Reads an expression from the left. Each part answers `None` where there is no expression, and else the
/// licences that keep it, if it is kept.
struct Reader<'w, 'l> {
    words: &'w [&'w str],
    allowed: &'w BTreeSet<&'l str>,
}

type Kept<'l> = Option<BTreeSet<&'l str>>;

impl<'l> Reader<'_, 'l> {
    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        self.words = &self.words[usize::from(is_next)..];
        is_next
    }

    fn any(&mut self) -> Option<Kept<'l>> {
        let mut kept = self.all()?;
        while self.take("OR") {
            let other = self.all()?;
            kept = match (kept, other) {
                (Some(one), Some(other)) => Some(&one | &other),
                (one, other) => one.or(other),
            };
        }
        Some(kept)
    }

    fn all(&mut self) -> Option<Kept<'l>> {
        let mut kept = self.one()?;
        while self.take("AND") {
            let other = self.one()?;
            kept = kept.zip(other).map(|(one, other)| &one | &other);
        }
        Some(kept)
    }

    fn one(&mut self) -> Option<Kept<'l>> {
        if self.take("(") {
            let inner = self.any()?;
            return self.take(")").then_some(inner);
        }
        let (&first, rest) = self.words.split_first()?;
        self.words = rest;
        let name = match self.take("WITH") {
            true => {
                let (exception, rest) = self.words.split_first()?;
                self.words = rest;
                format!("{first} WITH {exception}")
            }
            false => first.to_owned(),
        };
        Some(
            self.allowed
                .get(name.as_str())
                .map(|&licence| BTreeSet::from([licence])),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_expression_is_kept_by_what_is_allowed() {
        let allowed = BTreeSet::from(["MIT", "Zlib", "A WITH x"]);
        let kept = |expression| {
            holds(expression, &allowed).map(|kept| kept.into_iter().collect::<Vec<_>>().join(" "))
        };
        assert_eq!(kept("MIT").as_deref(), Some("MIT"));
        assert_eq!(kept("GPL-3.0 OR MIT").as_deref(), Some("MIT"));
        assert_eq!(kept("GPL-3.0/MIT").as_deref(), Some("MIT"));
        assert_eq!(
            kept("(GPL-3.0 OR MIT) AND Zlib").as_deref(),
            Some("MIT Zlib")
        );
        assert_eq!(kept("A WITH x").as_deref(), Some("A WITH x"));
        // AND binds more than OR.
        assert_eq!(kept("MIT OR GPL-3.0 AND GPL-2.0").as_deref(), Some("MIT"));
        for refused in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "A",
            "A WITH y",
            "",
            "MIT OR",
            "(MIT",
            "MIT)",
            "MIT MIT",
        ] {
            assert_eq!(kept(refused), None, "{refused}");
        }
    }

    #[test]
    fn each_rule_finds_its_offence() {
        let package = |name: &str, version: &str, licence: &str, source: &str| {
            json!({"name": name, "version": version, "license": licence, "source": source,
                "dependencies": []})
        };
        let own = json!({"name": "own", "version": "1", "license": "MIT", "source": null,
            "dependencies": [{"name": "b", "req": "^1", "path": null}]});
        let good = vec![own, package("b", "1", "MIT OR GPL-3.0", SOURCE)];
        let lists = json!({"licences": {"allow": ["MIT"]}, "twice": {}});
        let broken = |packages: &[Value], lists: &Value| check_packages(packages, lists).join("; ");
        assert_eq!(broken(&good, &lists), "");
        let with = |package: Value| [&good[..], &[package]].concat();
        let gpl = with(package("c", "1", "GPL-3.0", SOURCE));
        assert_eq!(broken(&gpl, &lists), "c 1: its licence is \"GPL-3.0\"");
        let git = with(package("c", "1", "MIT", "git+https://example.org"));
        assert_eq!(
            broken(&git, &lists),
            "c 1: comes from git+https://example.org"
        );
        let twice = with(package("b", "2", "MIT", SOURCE));
        assert_eq!(broken(&twice, &lists), "b is there in versions 1 and 2");
        let excused = json!({"licences": {"allow": ["MIT"]}, "twice": {"b": "why"}});
        assert_eq!(broken(&twice, &excused), "");
        assert_eq!(
            broken(&good, &excused),
            "b is there once and needs no excuse"
        );
        let more = json!({"licences": {"allow": ["MIT", "Zlib"]}});
        assert_eq!(broken(&good, &more), "no crate has the licence Zlib");
        let mut any = good.clone();
        any[0]["dependencies"][0]["req"] = "*".into();
        assert_eq!(broken(&any, &lists), "own 1: takes any version of \"b\"");
    }
}
