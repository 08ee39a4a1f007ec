//! How long a restored program waits for its first kernel: when all its memory is loaded before, and on demand.
//!
//! One checkpoint of each size is restored by turns in both ways, under the time model. What counts is from the start of
//! `strobe softgpu -- strobe restore` to the end of a kernel that looks at a little of the second buffer, and to that of
//! kernels that look at all of everything.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use serde::Serialize;
use strobe_evaluation::statistics::Spread;
use strobe_evaluation::table::{Table, ms};
use strobe_evaluation::{Rates, Session, compile, session};

use super::bar::Bar;
use super::setup::Setup;

/// Of one buffer.
const BUFFER_MB: u64 = 16;
/// For what is not of the program.
const MORE_VRAM_MB: u64 = 512;
const LIMIT: Duration = Duration::from_secs(600);

#[derive(Debug, Serialize)]
pub(crate) struct Results {
    link_bytes_per_s: u64,
    sizes: Vec<Size>,
}

#[derive(Debug, Serialize)]
struct Size {
    state_mb: u64,
    eager: Waits,
    demand: Waits,
}

#[derive(Debug, Serialize)]
struct Waits {
    first_kernel_ms: Spread,
    all_ms: Spread,
}

impl Results {
    pub(super) fn table(&self) -> String {
        let mut table = Table::default();
        table.row([
            "state",
            "",
            "first kernel",
            "of eager",
            "of the smallest",
            "all read",
        ]);
        let least = self
            .sizes
            .first()
            .map(|size| size.demand.first_kernel_ms.median);
        for size in &self.sizes {
            let eager = size.eager.first_kernel_ms.median;
            for (name, waits) in [("eager", &size.eager), ("on demand", &size.demand)] {
                let first = &waits.first_kernel_ms;
                let flat = least
                    .filter(|_| name != "eager")
                    .map(|least| first.median / least);
                table.row([
                    format!("{} MB", size.state_mb),
                    name.into(),
                    first.show(ms),
                    format!("{:.3}", first.median / eager),
                    flat.map_or(String::new(), |flat| format!("{flat:.2}")),
                    waits.all_ms.show(ms),
                ]);
            }
        }
        format!(
            "\nrestore to the first kernel, time model\n{}",
            table.text()
        )
    }
}

impl Results {
    pub(super) fn bars(&self) -> Vec<Bar> {
        let (Some(least), Some(most)) = (self.sizes.first(), self.sizes.last()) else {
            return Vec::new();
        };
        let first = |size: &Size| size.demand.first_kernel_ms.median;
        let flat = first(most) / first(least);
        let of_eager = first(most) / most.eager.first_kernel_ms.median;
        let bar = |what, wanted: &str, measured, is_met| Bar {
            what,
            wanted: wanted.into(),
            measured,
            is_met,
        };
        vec![
            bar(
                format!(
                    "restore to the first kernel on demand, {} MB of {} MB",
                    most.state_mb, least.state_mb
                ),
                "1.2 times at most",
                format!("{flat:.2} times"),
                flat <= 1.2,
            ),
            bar(
                format!("the same of an eager restore, {} MB", most.state_mb),
                "2 % at most",
                format!("{:.1} %", 100.0 * of_eager),
                of_eager <= 0.02,
            ),
        ]
    }
}

/// Milliseconds from the start of one restore to the ends of both steps.
#[derive(Default)]
struct Took {
    first_kernel: Vec<f64>,
    all: Vec<f64>,
}

impl Took {
    fn waits(&self) -> Waits {
        Waits {
            first_kernel_ms: Spread::of(&self.first_kernel),
            all_ms: Spread::of(&self.all),
        }
    }
}

impl Setup {
    pub(super) fn demand(&self, state_mb: &[u64]) -> anyhow::Result<Results> {
        let sizes = state_mb.iter().map(|&state_mb| self.demand_of(state_mb));
        Ok(Results {
            link_bytes_per_s: Rates::MODEL.link,
            sizes: sizes.collect::<anyhow::Result<_>>()?,
        })
    }

    fn demand_of(&self, state_mb: u64) -> anyhow::Result<Size> {
        let folder = self.new_folder(&format!("demand-{state_mb}"))?;
        let images = self.saved(&folder, state_mb)?;
        let log = fs::read(folder.join("log"))?;
        let mut took: [Took; 2] = Default::default();
        // By turns: what else the machine does is shared out.
        for run in 0..self.repetitions {
            for (way, took) in ["--eager", "--demand"].into_iter().zip(&mut took) {
                fs::write(folder.join("log"), &log)?;
                let name = format!("demand-{state_mb}-{run}{way}");
                let ends = self.measured(&name, |said| {
                    self.restored(&folder, said, &images, way, state_mb)
                })?;
                took.first_kernel.push(ends[0]);
                took.all.push(ends[1]);
            }
        }
        fs::remove_dir_all(images)?;
        let [eager, demand] = took.map(|took| took.waits());
        Ok(Size {
            state_mb,
            eager,
            demand,
        })
    }

    /// A checkpoint of a program that has ended, and looks at its memory when it comes back.
    fn saved(&self, folder: &Path, state_mb: u64) -> anyhow::Result<PathBuf> {
        let program = compile::hip("arrives.cpp", "-O2", &self.programs)?;
        let program = program.display().to_string();
        let buffers = (state_mb / BUFFER_MB).to_string();
        let kilobytes = (BUFFER_MB << 10).to_string();
        let words = [program.as_str(), &buffers, &kilobytes, "end:1", "all:0"];
        let mut session = Session::start(&self.strobe, &vram(state_mb), &words, folder)?;
        session.wait_for("log", "holding", LIMIT)?;
        let images = folder.join("images");
        let mut command = self.strobe.command();
        command.arg("checkpoint").arg(session.pid().to_string());
        command.arg("-o").arg(&images).stdout(Stdio::null());
        ensure!(command.status()?.success(), "no checkpoint");
        session.kill()?;
        fs::write(folder.join("go"), "")?;
        Ok(images)
    }

    fn restored(
        &self,
        folder: &Path,
        said: &Path,
        images: &Path,
        way: &str,
        state_mb: u64,
    ) -> anyhow::Result<[f64; 2]> {
        let mut command = self.strobe.command();
        command.arg("softgpu").args(vram(state_mb));
        command.args(Rates::MODEL.measured_options(said)).arg("--");
        command
            .arg(self.strobe.path())
            .args(["restore", "--wait", way])
            .arg(images);
        // The clock that a restored program and we have in common.
        let begun = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let mut running = session::spawn(command, said)?;
        let status = session::wait(&mut running, LIMIT)?.context("it does not end")?;
        ensure!(status.success(), "{way}: {status}: {}", session::said(said));
        let log = fs::read_to_string(folder.join("log"))?;
        let when = |step: &str| -> anyhow::Result<f64> {
            let mut lines = log.lines();
            let when = lines.find_map(|line| line.strip_prefix(step)?.strip_prefix(" right "));
            let when: f64 = when
                .with_context(|| format!("no {step} in {log}"))?
                .parse()?;
            Ok(when - begun.as_secs_f64() * 1e3)
        };
        Ok([when("end:1")?, when("all:0")?])
    }
}

fn vram(state_mb: u64) -> Vec<String> {
    vec!["--vram".into(), format!("{}M", state_mb + MORE_VRAM_MB)]
}
