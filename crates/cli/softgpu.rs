//! `strobe softgpu`: a program on software GPUs.

use std::fs;
use std::io::{IsTerminal, stderr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use serde_json::json;
use strobe_softgpu::environment;
use strobe_softgpu::environment::Ended;
use strobe_softgpu::options::{DEFAULT_GPU_IDS, Options, TimeModel};

use crate::arguments::SoftgpuArguments;
use crate::outcome::Outcome;
use crate::output::notice;
use crate::run::{library, program};

pub(crate) fn run(arguments: &SoftgpuArguments) -> Outcome {
    let command = program(&arguments.command)?;
    let options = Options {
        model: arguments.target,
        vram_bytes: arguments.vram,
        large_bar: !arguments.private_vram,
        gpu_ids: gpu_ids(arguments),
        links: arguments.links.into(),
        ipc: arguments.ipc,
        time: time_model(arguments),
        access_log: arguments.access_log.clone(),
        log_launches: arguments.log_launches,
        faults: arguments.faults.unwrap_or_default(),
    };
    let ended = environment::run(&options, &library("libsoftgpu.so")?, command)?;
    report(arguments, ended)?;
    Ok(ExitCode::from(u8::try_from(ended.code).unwrap_or(1)))
}

/// What was measured on a machine that was too slow for the time model is not what it says. That is said to a person
/// alone: what the program writes to a file stays what it is.
fn report(
    arguments: &SoftgpuArguments,
    Ended {
        pace, evictions, ..
    }: Ended,
) -> anyhow::Result<()> {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    if let Some(path) = &arguments.pace {
        let report = json!({
            "modelled_ms": ms(pace.modelled),
            "late_ms": ms(pace.late),
            "kept": pace.is_kept(),
            "evictions": evictions,
        });
        fs::write(path, format!("{report}\n"))
            .with_context(|| format!("write {}", path.display()))?;
    } else if !pace.is_kept() && stderr().is_terminal() {
        notice(format_args!(
            "the time model was not kept: copies of {:.0} ms in all ended {:.0} ms late, on a machine too slow or too busy",
            ms(pace.modelled),
            ms(pace.late)
        ));
    }
    Ok(())
}

/// Those that are named, or as many as are asked for.
fn gpu_ids(arguments: &SoftgpuArguments) -> Vec<u32> {
    if arguments.gpu_ids.is_empty() {
        let count = usize::from(arguments.gpus).min(DEFAULT_GPU_IDS.len());
        return DEFAULT_GPU_IDS[..count].to_vec();
    }
    arguments.gpu_ids.clone()
}

/// Rates that are not given do not limit.
fn time_model(arguments: &SoftgpuArguments) -> Option<TimeModel> {
    let given = arguments.link_rate.is_some()
        || arguments.peer_rate.is_some()
        || arguments.device_rate.is_some()
        || arguments.kernel_floor.is_some();
    given.then(|| TimeModel {
        link_bytes_per_s: arguments.link_rate.unwrap_or(u64::MAX),
        peer_bytes_per_s: arguments.peer_rate.unwrap_or(u64::MAX),
        device_bytes_per_s: arguments.device_rate.unwrap_or(u64::MAX),
        kernel_floor_ns: arguments.kernel_floor.unwrap_or(0).saturating_mul(1000),
    })
}
