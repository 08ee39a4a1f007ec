//! A program on the software GPU without our agent, and CRIU with its own plugin.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use strobe_criu::locate::{self, Criu};
use strobe_criu::plugin_folder::PluginFolder;
use strobe_criu::run::{Setting, softgpu_library};
use strobe_criu::statistics::read_dump;
use strobe_evaluation::{Strobe, session};
use strobe_proto::TcpConnections;

const PERIOD: Duration = Duration::from_millis(5);
/// Where a dump's images are, and what CRIU says of it.
pub(super) const IMAGES: &str = "images";
const WORK: &str = "work";

/// A `strobe softgpu` with all that runs on it, which ends with this.
pub(super) struct Device(pub(super) Child);

impl Drop for Device {
    fn drop(&mut self) {
        // Both fail when it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Looks every few milliseconds whether it holds.
pub(super) fn until(
    what: &str,
    limit: Duration,
    mut holds: impl FnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + limit;
    while !holds()? {
        ensure!(Instant::now() < deadline, "no {what} within {limit:?}");
        thread::sleep(PERIOD);
    }
    Ok(())
}

/// Where `cargo xtask setup --tests` puts CRIU's own plugin.
pub(super) fn plugin() -> anyhow::Result<PathBuf> {
    let prefix = locate::private_prefix().context("a home")?;
    let plugin = prefix.with_file_name("upstream-4.1.1/amdgpu_plugin.so");
    ensure!(
        plugin.exists(),
        "no {}: cargo xtask setup --tests",
        plugin.display()
    );
    Ok(plugin)
}

/// For how many milliseconds a program stands still that CRIU saves with its own plugin, when its log has a line that
/// begins so.
pub(super) fn frozen_ms(
    strobe: &Strobe,
    device: &[String],
    (program, line): (&[&str], &str),
    nodes: &Path,
    folder: &Path,
    limit: Duration,
) -> anyhow::Result<f64> {
    let mut command = strobe.command();
    command.arg("softgpu").args(device).arg("--");
    command.args(["/bin/sh", "-c", "echo $$ > pid; exec \"$@\"", "sh"]);
    command.args(program).stdin(Stdio::null());
    let mut running = Device(session::spawn(command, folder)?);
    until(line, limit, || {
        let ended = running.0.try_wait()?;
        ensure!(ended.is_none(), "it ended: {}", session::said(folder));
        let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
        Ok(log.lines().any(|one| one.starts_with(line)))
    })?;
    let pid = fs::read_to_string(folder.join("pid"))?;
    let pid = pid.trim().parse().context("a process number")?;
    let softgpu = softgpu_library(pid)?.context("it is on the software GPU")?;
    dump((pid, true), nodes, &softgpu, folder, limit)?;
    let frozen = f64::from(read_dump(&folder.join(WORK))?.frozen_time) / 1000.0;
    ensure!(session::is_alive(pid), "it did not go on");
    session::signal(pid, "KILL")?;
    fs::remove_dir_all(folder.join(IMAGES))?;
    Ok(frozen)
}

/// Saves a process tree on the software GPU into [`IMAGES`] of the folder. `nodes` makes of its devices what CRIU's own
/// plugin takes for a driver's (`char_nodes.c`).
pub(super) fn dump(
    (pid, leave_running): (u32, bool),
    nodes: &Path,
    softgpu: &Path,
    folder: &Path,
    limit: Duration,
) -> anyhow::Result<()> {
    let (images, work) = (folder.join(IMAGES), folder.join(WORK));
    for path in [&images, &work] {
        fs::create_dir(path)?;
    }
    let plugins = PluginFolder::create(folder.join("plugins"), &[&plugin()?, softgpu])?;
    let criu = Criu::find(None)?;
    let setting = Setting {
        criu: &criu,
        images: &images,
        work: &work,
        plugins: plugins.path(),
        plugin: nodes,
        softgpu: Some(softgpu),
        tcp: TcpConnections::Refused,
        time_out: limit,
    };
    setting
        .dump(pid, leave_running, 1 << 20)?
        .finish(|| false)?;
    Ok(())
}
