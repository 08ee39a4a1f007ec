//! `strobe softgpu`: a program on the software GPU.

use std::process::{Command, ExitCode};

use anyhow::Context;
use strobe_softgpu::environment;
use strobe_softgpu::options::{Options, TimeModel};

use crate::arguments::SoftgpuArguments;
use crate::outcome::Outcome;
use crate::run::library;

pub(crate) fn run(arguments: &SoftgpuArguments) -> Outcome {
    let (program, rest) = arguments
        .command
        .split_first()
        .context("no program is named")?;
    let mut command = Command::new(program);
    command.args(rest);
    let options = Options {
        vram_bytes: arguments.vram,
        large_bar: !arguments.private_vram,
        time: time_model(arguments),
        access_log: arguments.access_log.clone(),
        faults: arguments.faults.unwrap_or_default(),
        ..Options::default()
    };
    let code = environment::run(&options, &library("libsoftgpu.so")?, command)?;
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Rates that are not given do not limit.
fn time_model(arguments: &SoftgpuArguments) -> Option<TimeModel> {
    let given = arguments.link_rate.is_some()
        || arguments.device_rate.is_some()
        || arguments.kernel_floor.is_some();
    given.then(|| TimeModel {
        link_bytes_per_s: arguments.link_rate.unwrap_or(u64::MAX),
        device_bytes_per_s: arguments.device_rate.unwrap_or(u64::MAX),
        kernel_floor_ns: arguments.kernel_floor.unwrap_or(0).saturating_mul(1000),
    })
}
