//! `cargo xtask tidy`: the rules of this repository, as far as a program can check them.

mod floors;
mod promises;
mod sources;

use anyhow::bail;

use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let mut broken = floors::check(workspace);
    broken.extend(sources::check(&workspace.root)?);
    broken.extend(promises::check(&workspace.root)?);
    for rule in &broken {
        eprintln!("tidy: {rule}");
    }
    if !broken.is_empty() {
        bail!("{} rules broken", broken.len());
    }
    println!("tidy: all rules kept");
    Ok(())
}
