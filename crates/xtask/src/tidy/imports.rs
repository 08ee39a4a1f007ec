//! Which file takes something from which: no circle of more than three, and nothing by way of the
//! crate's root.
//!
//! A name that a module hands on (`use`, public or not) is taken from where it is defined. Code for
//! tests does not count, nor what stands within macros.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use serde_json::Value;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree};

use crate::workspace::Workspace;

/// So many files may import each other.
const LARGEST: usize = 3;
/// A name that is handed on more often is a circle of names.
const HANDED_ON: usize = 8;

/// Sentences about broken rules.
pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let mut broken = Vec::new();
    for package in &workspace.packages {
        for target in package["targets"].as_array().into_iter().flatten() {
            let root = Path::new(target["src_path"].as_str().unwrap_or_default());
            if is_shipped(target) {
                let sources = Crate::read(root, &workspace.root)?;
                broken.extend(sources.broken());
            }
        }
    }
    Ok(broken)
}

fn is_shipped(target: &Value) -> bool {
    let kinds = target["kind"].as_array().into_iter().flatten();
    kinds
        .filter_map(Value::as_str)
        .any(|kind| kind.ends_with("lib") || kind == "bin")
}

/// A name that a module takes from elsewhere; none is everything there.
#[derive(Debug)]
struct Import {
    name: Option<String>,
    path: Vec<String>,
}

#[derive(Debug, Default)]
struct Module {
    /// Where it stands: a place in [`Crate::files`].
    file: usize,
    parent: usize,
    children: BTreeMap<String, usize>,
    /// Names of its own items.
    defines: BTreeSet<String>,
    imports: Vec<Import>,
    /// All paths in it.
    paths: Vec<Vec<String>>,
}

/// The modules of a library or a program; the first is its root.
#[derive(Debug, Default)]
struct Crate {
    files: Vec<String>,
    modules: Vec<Module>,
}

impl Crate {
    fn read(root: &Path, repository: &Path) -> anyhow::Result<Self> {
        let mut all = Self::default();
        all.file(root, &root.with_file_name(""), 0, repository)?;
        Ok(all)
    }

    /// Reads a module's file; its children have theirs in `folder`.
    fn file(
        &mut self,
        path: &Path,
        folder: &Path,
        parent: usize,
        repository: &Path,
    ) -> anyhow::Result<usize> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let syntax = syn::parse_file(&text).with_context(|| path.display().to_string())?;
        let name = path.strip_prefix(repository).unwrap_or(path);
        self.files.push(name.display().to_string());
        let file = self.files.len() - 1;
        self.module(&syntax.items, file, folder, parent, repository)
    }

    fn module(
        &mut self,
        items: &[Item],
        file: usize,
        folder: &Path,
        parent: usize,
        repository: &Path,
    ) -> anyhow::Result<usize> {
        let own = self.modules.len();
        let beside = repository.join(&self.files[file]).with_file_name("");
        self.modules.push(Module {
            file,
            parent,
            ..Module::default()
        });
        let mut reader = Reader::default();
        for item in items {
            reader.visit_item(item);
            if let Item::Mod(module) = item
                && !is_for_tests(&module.attrs)
            {
                let name = module.ident.to_string();
                let below = folder.join(&name);
                let child = match &module.content {
                    Some((_, items)) => self.module(items, file, &below, own, repository)?,
                    None => {
                        self.file(&file_of(module, folder, &beside), &below, own, repository)?
                    }
                };
                self.modules[own].children.insert(name, child);
            } else if let Some(name) = name_of(item) {
                self.modules[own].defines.insert(name);
            }
        }
        let module = &mut self.modules[own];
        module.imports = reader.imports;
        module.paths = reader.paths;
        Ok(own)
    }

    fn broken(&self) -> Vec<String> {
        let mut graph = DiGraph::<&str, ()>::new();
        let files: Vec<NodeIndex> = self.files.iter().map(|file| graph.add_node(file)).collect();
        let mut broken = BTreeSet::new();
        for (own, module) in self.modules.iter().enumerate() {
            let imported = module.imports.iter().map(|import| &import.path);
            for path in module.paths.iter().chain(imported) {
                let Some(found) = self.find(own, path, HANDED_ON) else {
                    continue;
                };
                let file = self.modules[found].file;
                if file == module.file {
                    continue;
                }
                graph.update_edge(files[module.file], files[file], ());
                if let Some(import) = self.by_root(own, path) {
                    let (path, import) = (path.join("::"), import.path.join("::"));
                    let from = &self.files[module.file];
                    broken.insert(format!("{from}: {path} is crate::{import}"));
                }
            }
        }
        let mut broken: Vec<String> = broken.into_iter().collect();
        for circle in tarjan_scc(&graph) {
            if circle.len() > LARGEST {
                let mut names: Vec<&str> = circle.iter().map(|file| graph[*file]).collect();
                names.sort_unstable();
                broken.push(format!(
                    "{} files import each other: {}",
                    names.len(),
                    names.join(", ")
                ));
            }
        }
        broken
    }

    /// The module in which the last name of a path is defined; none if it is another crate's.
    fn find(&self, from: usize, path: &[String], patience: usize) -> Option<usize> {
        let Some((mut at, mut rest)) = self.first(from, path) else {
            let (first, rest) = path.split_first()?;
            let mut whole = self.import(from, first)?.path.clone();
            whole.extend_from_slice(rest);
            return self.find(from, &whole, patience.checked_sub(1)?);
        };
        while let Some((name, after)) = rest.split_first() {
            if name == "super" {
                at = self.modules[at].parent;
            } else if let Some(child) = self.modules[at].children.get(name) {
                at = *child;
            } else {
                let handed_on = || self.handed_on(at, name, after, patience.checked_sub(1)?);
                return match self.modules[at].defines.contains(name) {
                    true => Some(at),
                    false => handed_on().or(Some(at)),
                };
            }
            rest = after;
        }
        Some(at)
    }

    /// Where a path begins, and what comes then.
    fn first<'a>(&self, from: usize, path: &'a [String]) -> Option<(usize, &'a [String])> {
        let (first, rest) = path.split_first()?;
        let at = match first.as_str() {
            "crate" => 0,
            "self" => from,
            "super" => self.modules[from].parent,
            name => *self.modules[from].children.get(name)?,
        };
        Some((at, rest))
    }

    fn handed_on(&self, at: usize, name: &str, after: &[String], patience: usize) -> Option<usize> {
        if let Some(import) = self.import(at, name) {
            let mut whole = import.path.clone();
            whole.extend_from_slice(after);
            return self.find(at, &whole, patience);
        }
        let everything = self.modules[at].imports.iter();
        everything
            .filter(|import| import.name.is_none())
            .filter_map(|import| self.find(at, &import.path, patience))
            .find(|found| self.modules[*found].defines.contains(name))
    }

    /// What the root imports from a module of its own, if that is what a path asks it for.
    fn by_root(&self, from: usize, path: &[String]) -> Option<&Import> {
        let (mut at, mut rest) = self.first(from, path)?;
        while let Some((name, after)) = rest.split_first()
            && name == "super"
        {
            (at, rest) = (self.modules[at].parent, after);
        }
        let name = rest.first()?;
        let root = &self.modules[0];
        let is_asked = at == 0 && from != 0;
        if !is_asked || root.children.contains_key(name) || root.defines.contains(name) {
            return None;
        }
        let mut imports = root.imports.iter();
        imports.find(|import| {
            import.name.as_ref() == Some(name) && self.first(0, &import.path).is_some()
        })
    }

    fn import(&self, at: usize, name: &str) -> Option<&Import> {
        let mut imports = self.modules[at].imports.iter();
        // `use x` of a crate x leads nowhere.
        imports.find(|import| {
            import.name.as_deref() == Some(name)
                && import.path.first().is_some_and(|first| first != name)
        })
    }
}

/// The file of a module whose parent's children stand in `folder`, its parent's file in `beside`.
fn file_of(module: &ItemMod, folder: &Path, beside: &Path) -> PathBuf {
    let path = module.attrs.iter().find_map(|attribute| {
        let value = &attribute.meta.require_name_value().ok()?;
        let syn::Expr::Lit(literal) = &value.value else {
            return None;
        };
        match &literal.lit {
            syn::Lit::Str(text) if value.path.is_ident("path") => Some(text.value()),
            _ => None,
        }
    });
    if let Some(path) = path {
        return beside.join(path);
    }
    let name = module.ident.to_string();
    let nested = folder.join(&name).join("mod.rs");
    match nested.is_file() {
        true => nested,
        false => folder.join(format!("{name}.rs")),
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .meta
                .require_list()
                .is_ok_and(|list| list.tokens.to_string() == "test")
    })
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// The imports and paths of one module, without those of modules in it.
#[derive(Default)]
struct Reader {
    imports: Vec<Import>,
    paths: Vec<Vec<String>>,
}

impl Reader {
    fn tree(&mut self, tree: &UseTree, path: &mut Vec<String>) {
        let mut import = |name: Option<String>, path: &[String]| {
            let path = path.to_vec();
            self.imports.push(Import { name, path });
        };
        match tree {
            UseTree::Path(part) => {
                path.push(part.ident.to_string());
                self.tree(&part.tree, path);
                path.pop();
            }
            UseTree::Name(name) if name.ident == "self" => import(path.last().cloned(), path),
            UseTree::Name(name) => {
                path.push(name.ident.to_string());
                import(path.last().cloned(), path);
                path.pop();
            }
            UseTree::Rename(name) => {
                path.push(name.ident.to_string());
                import(Some(name.rename.to_string()), path);
                path.pop();
            }
            UseTree::Glob(_) => import(None, path),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(tree, path);
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            Item::Const(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.tree(&item.tree, &mut Vec::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|part| part.ident.to_string());
        let names: Vec<String> = names.collect();
        // A single name was imported, or is of this module.
        if names.len() > 1 {
            self.paths.push(names);
        }
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let root = folder.path().join("lib.rs");
        Crate::read(&root, folder.path()).expect("a crate").broken()
    }

    #[test]
    fn a_circle_of_four_files_is_found_and_one_of_three_is_none() {
        let three = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", "pub struct B; fn b() { super::c::c() }"),
            ("c.rs", "pub fn c() { let _ = crate::a::A::new; }"),
        ];
        assert!(broken(&three).is_empty());
        let four = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", "pub struct B; fn b() { super::c::c() }"),
            ("c.rs", "mod d; pub use d::c;"),
            ("c/d.rs", "pub fn c() { use crate::a; a::A::new() }"),
        ];
        // The name leads through c.rs, which is not in it.
        assert!(broken(&four).is_empty());
        let mut four = four.to_vec();
        four[4].1 = "use super::*; pub fn c() { crate::a::A::new(); }";
        four[3].1 = "mod d; pub use d::c; pub struct C(crate::b::B);";
        let found = broken(&four);
        assert_eq!(
            found,
            ["4 files import each other: a.rs, b.rs, c.rs, c/d.rs"]
        );
    }

    #[test]
    fn what_the_root_hands_on_is_for_other_crates() {
        let found = broken(&[
            ("lib.rs", "mod a; mod b; pub use a::A; pub struct Own;"),
            ("a.rs", "pub struct A; use crate::Own;"),
            ("b.rs", "use crate::A;"),
        ]);
        assert_eq!(found, ["b.rs: crate::A is crate::a::A"]);
    }

    #[test]
    fn tests_do_not_count() {
        let found = broken(&[
            ("lib.rs", "mod a; mod b; pub use a::A;"),
            ("a.rs", "pub struct A;"),
            (
                "b.rs",
                "#[cfg(test)] mod tests { use crate::A; }\n#[cfg(test)] use crate::A;",
            ),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }
}
