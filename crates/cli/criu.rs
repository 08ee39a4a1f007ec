//! `strobe criu`: CRIU with Strobe's plugin, for those that start CRIU themselves, like podman and runc.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use strobe_criu::locate::{self, Criu};
use strobe_criu::run::softgpu_library;
use strobe_criu::stand_in;

use crate::outcome::Outcome;
use crate::run::library;

/// By which it is looked for.
const NAME: &str = "criu";

/// What CRIU is to do, where this command was started by CRIU's name.
pub(crate) fn by_name() -> Option<Vec<OsString>> {
    let mut arguments = env::args_os();
    let name = arguments.next()?;
    (Path::new(&name).file_name()? == NAME).then(|| arguments.collect())
}

/// CRIU takes the place of this process: what it restores becomes a child of who has asked for it.
pub(crate) fn run(arguments: &[OsString]) -> Outcome {
    if stand_in::is_within() {
        bail!("the criu that was found leads back here: name CRIU itself by STROBE_CRIU");
    }
    let criu = Criu::find(None)?;
    let plugin = locate::find_plugin()?;
    let mut command = stand_in::command(&criu, &plugin, softgpu()?.as_deref())
        .context("cannot make a folder for CRIU's plugins")?;
    let error = command.args(arguments).exec();
    Err(error).with_context(|| format!("cannot run {}", criu.path.display()))
}

/// The library of the software GPU, where this is in its place. Who starts CRIU may not pass `LD_PRELOAD` on; without
/// it the device is seen as what it is.
fn softgpu() -> anyhow::Result<Option<PathBuf>> {
    if let Some(library) = softgpu_library(std::process::id())? {
        return Ok(Some(library));
    }
    match std::fs::metadata("/dev/kfd") {
        Ok(device) if device.file_type().is_block_device() => library("libsoftgpu.so").map(Some),
        _ => Ok(None),
    }
}
