//! What is public fails with an error of its own type, not with words alone.

use std::path::Path;

use serde_json::Value;

use super::sources;
use crate::workspace::Workspace;

/// Types that say nothing but words.
const WORDS: [&str; 3] = ["String", "&str", "&'static str"];

/// Sentences about broken rules.
pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let mut broken = Vec::new();
    let targets = workspace.packages.iter();
    let targets = targets.flat_map(|package| package["targets"].as_array().into_iter().flatten());
    for library in targets.filter(|target| is_library(target)) {
        let root = Path::new(library["src_path"].as_str().unwrap_or_default());
        let Some(folder) = root.parent() else {
            continue;
        };
        for (_, name, text) in sources::rust(&workspace.root, folder)? {
            for (line, function) in words_alone(&text) {
                broken.push(format!("{name}:{line}: {function} fails with words alone"));
            }
        }
    }
    Ok(broken)
}

fn is_library(target: &Value) -> bool {
    let kinds = target["kind"].as_array().into_iter().flatten();
    kinds
        .filter_map(Value::as_str)
        .any(|kind| kind.ends_with("lib"))
}

/// Lines and names of public functions whose errors are.
fn words_alone(text: &str) -> Vec<(usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(item) = line.trim_start().strip_prefix("pub ") else {
            continue;
        };
        let named = item.strip_prefix("fn ");
        let Some(rest) = named.or_else(|| Some(item.split_once(" fn ")?.1)) else {
            continue;
        };
        let name = rest.split(['(', '<']).next().unwrap_or_default();
        // Up to the body.
        let mut signature = String::new();
        for line in &lines[at..] {
            signature.push_str(line.trim());
            signature.push(' ');
            if line.contains('{') || line.ends_with(';') {
                break;
            }
        }
        let result = signature.split_once("->").map_or("", |(_, result)| result);
        let result = result.split(['{', ';']).next().unwrap_or_default();
        let result = result.split(" where ").next().unwrap_or_default().trim();
        let error = result
            .strip_prefix("Result<")
            .and_then(|rest| rest.strip_suffix('>'))
            .and_then(|types| types.trim_end_matches([',', ' ']).rsplit_once(", "));
        if error.is_some_and(|(_, error)| WORDS.contains(&error.trim())) {
            found.push((at + 1, name));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::words_alone;

    #[test]
    fn words_are_no_error_of_a_public_function() {
        let text = "\
pub fn a() -> Result<u32, String> {
pub const fn b<T>(x: T) -> Result<Vec<(u8, u8)>, &'static str> {
    pub fn c(
        self,
    ) -> Result<
        Vec<String>,
        String,
    > {
fn private() -> Result<(), String> {
pub(crate) fn own() -> Result<(), String> {
pub fn d() -> Result<String, Error> {
pub fn e() -> Option<String> {
pub fn f(x: Result<u8, String>) -> u8 {
";
        let found: Vec<_> = words_alone(text);
        assert_eq!(found, [(1, "a"), (2, "b"), (3, "c")]);
    }
}
