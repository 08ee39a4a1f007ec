//! How long CRIU takes to bring four processes back, on a GPU each: with our plugin, which fills their memory while
//! CRIU goes on; with the same plugin where each process fills its own; and with CRIU's own plugin.
//!
//! All three restore the same images. What is measured is CRIU's: from its start to the line of its log that says
//! that the tasks run again.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::Serialize;
use strobe_criu::locate::{self, Criu};
use strobe_criu::plugin_folder::PluginFolder;
use strobe_criu::run::softgpu_library;
use strobe_evaluation::statistics::Spread;
use strobe_evaluation::table::{Table, ms};
use strobe_evaluation::{Rates, compile, session};

use super::setup::Setup;
use super::upstream::{self, Device, until};

const GPUS: usize = 4;
/// Of each process: on its GPU, and of the host's.
const DEVICE_MB: u64 = 64;
const HOST_MB: u64 = 192;
const LIMIT: Duration = Duration::from_secs(300);

#[derive(Debug, Serialize)]
pub(crate) struct Results {
    gpus: usize,
    device_mb: u64,
    host_mb: u64,
    link_bytes_per_s: u64,
    parallel_ms: Spread,
    off_ms: Spread,
    upstream_ms: Spread,
}

impl Results {
    pub(super) fn table(&self) -> String {
        let mut table = Table::default();
        table.row(["criu restore", "", "of CRIU's own plugin"]);
        for (name, spread) in [
            ("our plugin, filling meanwhile", &self.parallel_ms),
            ("our plugin, each process for itself", &self.off_ms),
            ("CRIU's own plugin", &self.upstream_ms),
        ] {
            let ratio = format!("{:.2}", spread.median / self.upstream_ms.median);
            table.row([name.into(), spread.show(ms), ratio]);
        }
        format!(
            "\nrestore of {GPUS} processes with {DEVICE_MB} MB on a GPU each and {HOST_MB} MB of host memory, time \
             model\n{}",
            table.text()
        )
    }
}

/// What a restore is done with.
#[derive(Clone, Copy)]
struct Way<'a> {
    name: &'a str,
    plugin: &'a Path,
    variable: Option<&'a str>,
}

/// Images of the programs, which have ended.
struct Dumped {
    criu: Criu,
    images: PathBuf,
    folder: PathBuf,
    nodes: PathBuf,
    softgpu: PathBuf,
    /// How much each has said by then.
    said: Vec<u64>,
    pids: Vec<u32>,
}

fn device() -> Vec<String> {
    let mut options = vec!["--gpus".into(), GPUS.to_string()];
    options.extend(Rates::SLOW.options());
    options
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

impl Setup {
    pub(super) fn restore(&self) -> anyhow::Result<Results> {
        let ours = locate::find_plugin()?;
        let upstream = upstream::plugin()?;
        let dumped = self.dump_for_restore()?;
        let way = |name, plugin, variable| Way {
            name,
            plugin,
            variable,
        };
        let ways = [
            way("parallel", &ours, None),
            way("off", &ours, Some("STROBE_PARALLEL_RESTORE=NO")),
            way("upstream", &upstream, None),
        ];
        let mut took: [Vec<f64>; 3] = Default::default();
        // By turns: what else the machine does is shared out.
        for run in 0..self.repetitions {
            for (way, took) in ways.iter().zip(&mut took) {
                took.push(self.restored_in(&dumped, *way, run)?);
            }
        }
        let [parallel_ms, off_ms, upstream_ms] = took.map(|took| Spread::of(&took));
        Ok(Results {
            gpus: GPUS,
            device_mb: DEVICE_MB,
            host_mb: HOST_MB,
            link_bytes_per_s: Rates::SLOW.link,
            parallel_ms,
            off_ms,
            upstream_ms,
        })
    }

    /// The images are CRIU's own plugin's, which restores none where a GPU without contents has no file for them.
    fn dump_for_restore(&self) -> anyhow::Result<Dumped> {
        let folder = self.new_folder("restore")?;
        let program = compile::hip("holds.cpp", "-O2", &self.programs)?;
        let nodes = compile::shared("char_nodes.c", &self.programs)?;
        let script = format!(
            "echo $$ > pid\n\
             for gpu in $(seq 0 {last}); do\n\
             HIP_VISIBLE_DEVICES=$gpu {program} {DEVICE_MB} $gpu {HOST_MB} > output-$gpu 2>&1 & echo $! > pid-$gpu\n\
             done\n\
             wait",
            last = GPUS - 1,
            program = program.display(),
        );
        let mut command = self.strobe.command();
        command.arg("softgpu").args(device());
        command.args(["--", "/bin/sh", "-c", &script]);
        let mut running = Device(session::spawn(command, &folder)?);
        let outputs: Vec<PathBuf> = (0..GPUS).map(|gpu| output(&folder, gpu)).collect();
        until("device memory", LIMIT, || {
            ensure!(
                running.0.try_wait()?.is_none(),
                "it ended: {}",
                session::said(&folder)
            );
            Ok(outputs.iter().all(|path| text(path).contains("holding ")))
        })?;
        let number = |name: &str| -> anyhow::Result<u32> {
            let text = fs::read_to_string(folder.join(name))?;
            text.trim().parse().context("a process number")
        };
        let root = number("pid")?;
        let pids = (0..GPUS).map(|gpu| number(&format!("pid-{gpu}")));
        let pids: Vec<u32> = pids.collect::<Result<_, _>>()?;
        let softgpu = softgpu_library(pids[0])?.context("it is on the software GPU")?;
        let criu = Criu::find(None)?;
        upstream::dump((root, false), &nodes, &softgpu, &folder, LIMIT)?;
        drop(running);
        let said = outputs.iter().map(|path| text(path).len() as u64).collect();
        let dumped = Dumped {
            criu,
            images: folder.join(upstream::IMAGES),
            folder,
            nodes,
            softgpu,
            said,
            pids,
        };
        dumped.wait_for_numbers()?;
        Ok(dumped)
    }

    /// How long CRIU took, in milliseconds. The programs look at their memory afterwards, and end.
    fn restored_in(&self, dumped: &Dumped, way: Way<'_>, run: usize) -> anyhow::Result<f64> {
        for (gpu, said) in dumped.said.iter().enumerate() {
            let file = File::options()
                .write(true)
                .open(output(&dumped.folder, gpu))?;
            file.set_len(*said)?;
        }
        let work = dumped.folder.join(format!("{}-{run}", way.name));
        fs::create_dir(&work)?;
        let plugins = PluginFolder::create(work.join("plugins"), &[way.plugin, &dumped.softgpu])?;
        let mut command = self.strobe.command();
        command.arg("softgpu").args(device());
        command.args(["--", "/usr/bin/env"]);
        command.arg(format!(
            "LD_PRELOAD={}:{}",
            dumped.nodes.display(),
            dumped.softgpu.display()
        ));
        command.args(way.variable).arg(&dumped.criu.path);
        command.args(["restore", "--shell-job", "-v4", "-o", "restore.log", "-D"]);
        command.arg(&dumped.images).arg("-W").arg(&work);
        command.arg("-L").arg(plugins.path()).stdin(Stdio::null());
        let mut running = Device(command.spawn().context("strobe starts")?);
        let log = work.join("restore.log");
        let mut took = None;
        until("restore", LIMIT, || {
            let ended = running.0.try_wait()?.is_some();
            took = finished_after(&text(&log));
            if ended && took.is_none() {
                let said = text(&log);
                let why = said
                    .lines()
                    .find(|line| line.contains("Error (") && !line.contains("NOFILE"));
                bail!("{}: not restored: {}", way.name, why.unwrap_or_default());
            }
            Ok(took.is_some())
        })?;
        for pid in &dumped.pids {
            session::signal(*pid, "TERM")?;
        }
        let status = running.0.wait()?;
        ensure!(status.success(), "{}: ended with {status}", way.name);
        for gpu in 0..GPUS {
            let said = text(&output(&dumped.folder, gpu));
            ensure!(said.ends_with("kept\n"), "{}: GPU {gpu}: {said}", way.name);
        }
        dumped.wait_for_numbers()?;
        took.context("a time")
    }
}

fn output(folder: &Path, gpu: usize) -> PathBuf {
    folder.join(format!("output-{gpu}"))
}

impl Dumped {
    fn wait_for_numbers(&self) -> anyhow::Result<()> {
        let is_there = |pid: &u32| Path::new(&format!("/proc/{pid}")).exists();
        until("free process numbers", LIMIT, || {
            Ok(!self.pids.iter().any(is_there))
        })
    }
}

/// Milliseconds from CRIU's start, as its log has them: `(00.012345) Restore finished successfully`.
fn finished_after(log: &str) -> Option<f64> {
    let line = log
        .lines()
        .find(|line| line.contains("Restore finished successfully"))?;
    let seconds = line.strip_prefix('(')?.split(')').next()?;
    seconds.parse::<f64>().ok().map(|seconds| seconds * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::finished_after;

    #[test]
    fn the_time_of_a_restore_is_read_from_its_log() {
        let log = "(00.000030) Version: 4.1.1\n(12.345678) Restore finished successfully. Tasks resumed.\n";
        assert_eq!(finished_after(log), Some(12345.678));
        assert_eq!(finished_after("(00.1) Restoring FAILED.\n"), None);
    }
}
