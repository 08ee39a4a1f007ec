//! A name means one thing: public types of libraries are called differently everywhere.
//!
//! What stands in a module within a file is named with its module (a message's parts).

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use syn::{Item, Visibility};

use super::sources;
use crate::workspace::Workspace;

/// Sentences about broken rules.
pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let mut files = BTreeMap::new();
    for package in &workspace.packages {
        for target in package["targets"].as_array().into_iter().flatten() {
            let root = Path::new(target["src_path"].as_str().unwrap_or_default());
            let kinds = target["kind"].as_array().into_iter().flatten();
            let mut kinds = kinds.filter_map(|kind| kind.as_str());
            if let (true, Some(folder)) = (kinds.any(|kind| kind.ends_with("lib")), root.parent()) {
                for (_, name, text) in sources::rust(&workspace.root, folder)? {
                    files.insert(name, text);
                }
            }
        }
    }
    twice(&files)
}

fn twice(files: &BTreeMap<String, String>) -> anyhow::Result<Vec<String>> {
    let mut named: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    // Tests beside the code they test are for nobody else.
    let files = files.iter().filter(|(file, _)| !file.contains("/tests/"));
    for (file, text) in files {
        let syntax = syn::parse_file(text).with_context(|| file.clone())?;
        for name in syntax.items.iter().filter_map(public_type) {
            named.entry(name).or_default().push(file);
        }
    }
    named.retain(|_, files| files.len() > 1);
    let sentence = |(name, files): (String, Vec<&str>)| {
        format!(
            "{name} is the name of {} types: {}",
            files.len(),
            files.join(", ")
        )
    };
    Ok(named.into_iter().map(sentence).collect())
}

fn public_type(item: &Item) -> Option<String> {
    let (visibility, name) = match item {
        Item::Enum(item) => (&item.vis, &item.ident),
        Item::Struct(item) => (&item.vis, &item.ident),
        Item::Trait(item) => (&item.vis, &item.ident),
        Item::Type(item) => (&item.vis, &item.ident),
        Item::Union(item) => (&item.vis, &item.ident),
        _ => return None,
    };
    matches!(visibility, Visibility::Public(_)).then(|| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_two_public_types_is_found() {
        let files = [
            (
                "a.rs",
                "pub struct Link; struct Own; pub(crate) enum Near {}",
            ),
            (
                "b.rs",
                "pub trait Link {} struct Own; enum Near {} pub mod m { pub enum Link {} }",
            ),
            ("b/tests/c.rs", "pub struct Link;"),
        ];
        let files = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let found = twice(&files.into()).expect("Rust");
        assert_eq!(found, ["Link is the name of 2 types: a.rs, b.rs"]);
    }
}
