//! `cargo xtask tidy`: the rules of this repository, as far as a program can check them.

mod dependencies;
mod errors;
mod floors;
mod ignored;
mod imports;
mod licences;
mod named_files;
mod names;
mod promises;
mod sources;
mod toolchain;

use anyhow::bail;

use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let mut broken = floors::check(workspace);
    broken.extend(dependencies::check(workspace)?);
    broken.extend(licences::check(workspace)?);
    broken.extend(errors::check(workspace)?);
    broken.extend(sources::check(&workspace.root)?);
    broken.extend(imports::check(workspace)?);
    broken.extend(ignored::check(workspace)?);
    broken.extend(toolchain::check(workspace)?);
    broken.extend(names::check(workspace)?);
    broken.extend(named_files::check(&workspace.root)?);
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
