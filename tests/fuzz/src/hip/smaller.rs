//! A kernel's tree with something left out.

use super::node::{Node, NodeKind, ScalarType, Sort};
use super::print;
use crate::compile::Language;
use crate::program::Program;

impl Program for Node {
    const LANGUAGE: Language = Language::Hip;
    const PRELUDE: &'static str = print::PRELUDE;

    fn source(&self, name: &str) -> String {
        print::source(self, name)
    }

    fn smaller(&self) -> Vec<Self> {
        let mut all = variants(self, false);
        all.retain(|tree| tree != self);
        all.sort_by_key(Node::size);
        all
    }
}

/// The trees that differ from `node` in one place, where something is left out.
fn variants(node: &Node, function: bool) -> Vec<Node> {
    let mut all = replacements(node, function);
    for (at, child) in node.children.iter().enumerate() {
        let function = function || child.kind.sort() == Sort::Function;
        for variant in variants(child, function) {
            let mut node = node.clone();
            node.children[at] = variant;
            all.push(node);
        }
    }
    all
}

/// What can stand in place of `node`.
fn replacements(node: &Node, function: bool) -> Vec<Node> {
    let sort = node.kind.sort();
    let mut all: Vec<Node> = match sort {
        Sort::Block => without_one(node),
        // Functions are called by number, so only those behind all others go.
        Sort::Function => match node.children.len() {
            2.. if node.kind == NodeKind::Kernel && !calls(node, node.children.len() - 2) => {
                let mut node = node.clone();
                node.children.remove(node.children.len() - 2);
                vec![node]
            }
            _ => Vec::new(),
        },
        Sort::Statement => Vec::new(),
        Sort::Number => leaves(
            node,
            &[NodeKind::Const(0), NodeKind::Const(1), NodeKind::Tid],
        ),
        Sort::Index => leaves(node, &[NodeKind::Own(false)]),
        Sort::Pointer if function => leaves(node, &[NodeKind::Parameter(5)]),
        Sort::Pointer => leaves(node, &[NodeKind::Parameter(0), NodeKind::Parameter(1)]),
        Sort::Record => Vec::new(),
    };
    if !matches!(sort, Sort::Function | Sort::Block) {
        let same = node
            .children
            .iter()
            .filter(|child| child.kind.sort() == sort);
        all.extend(same.cloned());
    }
    if sort == Sort::Number && node.kind == NodeKind::Lambda {
        // The body's parameter means nothing outside.
        all.retain(|node| !bound(node));
    }
    if let NodeKind::Store(ty) = node.kind
        && ty != ScalarType::I32
    {
        all.push(Node::new(
            NodeKind::Store(ScalarType::I32),
            node.children.clone(),
        ));
    }
    all
}

/// A block without one of its statements, and with the content of one instead of it.
fn without_one(block: &Node) -> Vec<Node> {
    let mut all = Vec::new();
    if block.children.len() > 3 {
        let half = block.children.len() / 2;
        let (first, second) = block.children.split_at(half);
        all.push(Node::new(NodeKind::Block, first.to_vec()));
        all.push(Node::new(NodeKind::Block, second.to_vec()));
    }
    for (at, statement) in block.children.iter().enumerate() {
        let mut without = block.clone();
        without.children.remove(at);
        all.push(without);
        for inner in &statement.children {
            let leaves_loop = statement.kind.is_loop() && jumps(inner);
            if inner.kind == NodeKind::Block && !inner.children.is_empty() && !leaves_loop {
                let mut with = block.clone();
                with.children
                    .splice(at..=at, inner.children.iter().cloned());
                all.push(with);
            }
        }
    }
    all
}

/// The leaves that are simpler than `node`.
fn leaves(node: &Node, kinds: &[NodeKind]) -> Vec<Node> {
    let rank = kinds.iter().position(|&kind| kind == node.kind);
    let kinds = &kinds[..rank.unwrap_or(kinds.len())];
    kinds.iter().map(|&kind| Node::leaf(kind)).collect()
}

fn any(node: &Node, what: &dyn Fn(NodeKind) -> bool) -> bool {
    what(node.kind) || node.children.iter().any(|child| any(child, what))
}

fn calls(node: &Node, function: usize) -> bool {
    any(node, &|kind| {
        kind == NodeKind::Call(function) || kind == NodeKind::CallPointer(function)
    })
}

fn bound(node: &Node) -> bool {
    any(node, &|kind| kind == NodeKind::Bound)
}

fn jumps(node: &Node) -> bool {
    any(node, &|kind| {
        matches!(kind, NodeKind::Break | NodeKind::Continue)
    })
}
