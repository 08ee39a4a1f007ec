//! C++ names as people read them.
//!
//! By GNU's demangler first: LLVM's reads lambdas among template arguments as other types. It reads what GNU's
//! does not.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

const DEMANGLERS: [&str; 2] = ["c++filt", "llvm-cxxfilt-15"];

/// What each name is; `None` for those that are not C++'s, or that nobody can read.
pub(crate) fn demangle(names: &[&str]) -> anyhow::Result<Vec<Option<String>>> {
    let mut found: Vec<Option<String>> = vec![None; names.len()];
    for demangler in DEMANGLERS {
        let open: Vec<usize> = (0..names.len())
            .filter(|&at| found[at].is_none() && is_mangled(names[at]))
            .collect();
        let lines: Vec<&str> = open.iter().map(|&at| names[at]).collect();
        for (at, text) in open.into_iter().zip(through(demangler, &lines)?) {
            found[at] = (text != names[at]).then_some(text);
        }
    }
    Ok(found)
}

/// A line is a name.
fn is_mangled(name: &str) -> bool {
    name.starts_with("_Z") && !name.contains(['\n', '\r', ' '])
}

fn through(program: &str, lines: &[&str]) -> anyhow::Result<Vec<String>> {
    if lines.is_empty() {
        return Ok(Vec::new());
    }
    // A file: a pipe that nobody reads yet would hold up who writes.
    let mut input = tempfile::tempfile().context("make a file")?;
    input.write_all((lines.join("\n") + "\n").as_bytes())?;
    std::io::Seek::rewind(&mut input)?;
    let output = Command::new(program)
        .stdin(Stdio::from(input))
        .output()
        .with_context(|| format!("run {program} (`cargo xtask setup` installs LLVM)"))?;
    ensure!(
        output.status.success(),
        "{program} ended with {}",
        output.status
    );
    let text = String::from_utf8_lossy(&output.stdout);
    let demangled: Vec<String> = text.lines().map(str::to_owned).collect();
    ensure!(
        demangled.len() == lines.len(),
        "{program} wrote {} lines for {}",
        demangled.len(),
        lines.len()
    );
    Ok(demangled)
}
