//! CRIU's freeze of the program, against plain CRIU on a program without GPU of the same memory.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use strobe_criu::locate::Criu;
use strobe_criu::statistics::read_dump;
use strobe_evaluation::compile;
use strobe_evaluation::session::{self, spawn};
use strobe_evaluation::statistics::Spread;
use strobe_evaluation::strobe::succeed;
use strobe_evaluation::table::{Table, mib, ms};

use super::bar::Bar;
use super::setup::Setup;
use super::stalls;

const DUMPS: usize = 5;

#[derive(Debug, Serialize)]
pub(crate) struct Results {
    state_mb: u64,
    host_bytes: u64,
    /// Of the whole checkpoint; what follows is CRIU's part.
    stall_ms: Spread,
    strobe_ms: Spread,
    plain_ms: Spread,
}

impl Results {
    pub(super) fn table(&self) -> String {
        let mut table = Table::default();
        table.row(["CRIU's freeze", "", "ratio"]);
        let ratio = format!("{:.2}", self.strobe_ms.median / self.plain_ms.median);
        let strobe = self.strobe_ms.show(ms);
        table.row(["the program under strobe".into(), strobe, ratio]);
        let plain = self.plain_ms.show(ms);
        table.row(["plain CRIU, no GPU".into(), plain, String::new()]);
        format!(
            "\n{} of host memory\n{}",
            mib(self.host_bytes),
            table.text()
        )
    }
}

impl Results {
    pub(super) fn bars(&self) -> [Bar; 2] {
        let bar = |what: &str, wanted: &str, measured: f64, most: f64| Bar {
            what: format!("{what}, {} MB", self.state_mb),
            wanted: format!("{wanted}: {}", ms(most)),
            measured: ms(measured),
            is_met: measured <= most,
        };
        let plain = self.plain_ms.median;
        [
            bar(
                "total stall, copy-on-write, the GPU waited for",
                "plain CRIU's, of a program with as much host memory, + 25 ms",
                self.stall_ms.median,
                plain + 25.0,
            ),
            bar(
                "CRIU's freeze",
                "1.1 of plain CRIU's, or + 50 ms",
                self.strobe_ms.median,
                (1.1 * plain).max(plain + 50.0),
            ),
        ]
    }
}

impl Setup {
    pub(super) fn freeze(&self, stalls: &stalls::Results) -> anyhow::Result<Results> {
        let criu = Criu::find(None)?;
        let program = compile::host("hostmemory.c", &self.programs)?;
        let folder = self.new_folder(&format!("freeze-{}", stalls.state_mb))?;
        let mut setsid = Command::new("setsid");
        setsid
            .arg(program)
            .arg((stalls.host_bytes >> 20).max(1).to_string());
        let mut child = spawn(setsid, &folder)?;
        let result = self.plain_freezes(&criu, child.id(), &folder);
        child.kill()?;
        child.wait()?;
        let plain_ms = Spread::of(&result?);
        let strobe_ms = stalls.cow.criu_freeze_ms;
        Ok(Results {
            state_mb: stalls.state_mb,
            host_bytes: stalls.host_bytes,
            stall_ms: stalls.cow.stall_ms,
            strobe_ms,
            plain_ms,
        })
    }

    fn plain_freezes(
        &self,
        criu: &Criu,
        pid: u32,
        folder: &std::path::Path,
    ) -> anyhow::Result<Vec<f64>> {
        let ready = || fs::read_to_string(folder.join("stdout")).unwrap_or_default();
        while !ready().contains("ready") {
            anyhow::ensure!(
                session::is_alive(pid),
                "hostmemory ended: {}",
                session::said(folder)
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut frozen = Vec::new();
        for _ in 0..DUMPS {
            let images = folder.join("images");
            fs::create_dir(&images)?;
            let mut dump = Command::new(&criu.path);
            dump.args(["dump", "--leave-running", "-t", &pid.to_string(), "-D"]);
            succeed(dump.arg(&images).args(["-o", "dump.log"])).context("plain CRIU")?;
            frozen.push(f64::from(read_dump(&images)?.frozen_time) / 1000.0);
            fs::remove_dir_all(&images)?;
        }
        Ok(frozen)
    }
}
