//! A failure as a file: how it is compiled, what it is launched with, its source.

use anyhow::{Context, bail};

use crate::campaign::Bench;
use crate::compile::Language;
use crate::judge::Judgement;
use crate::program::{self, Program, name};
use crate::scene::Scene;
use crate::shrink::Failure;

const MARK: &str = "//~ ";

/// The text of a saved case.
pub fn text<P: Program>(failure: &Failure<P>) -> String {
    let source = program::file(std::slice::from_ref(&failure.program));
    format!(
        "{MARK}missed {}\n{MARK}flags {}\n{}{source}",
        failure.missed,
        failure.flags.trim(),
        failure.scene
    )
}

/// Compiles, runs and judges a saved case.
///
/// # Errors
/// If it is none, or the compiler does not take it.
pub fn replay(bench: &mut Bench, language: Language, text: &str) -> anyhow::Result<Judgement> {
    let mut scene = Scene::default();
    let mut flags = "";
    for line in text.lines().filter_map(|line| line.strip_prefix(MARK)) {
        match line.split_once(' ') {
            Some(("flags", rest)) => flags = rest,
            Some(("missed", _)) => {}
            _ if scene.line(line).with_context(|| line.to_owned())? => {}
            _ => bail!("what is {line}?"),
        }
    }
    let module = bench.load(language, text, flags)?;
    Ok(bench.launch(&module, &name(0), &scene))
}
