//! `strobe softgpu`: a program on software GPUs.

use std::process::ExitCode;

use strobe_softgpu::environment;
use strobe_softgpu::options::{DEFAULT_GPU_IDS, Options, TimeModel};

use crate::arguments::SoftgpuArguments;
use crate::outcome::Outcome;
use crate::run::{library, program};

pub(crate) fn run(arguments: &SoftgpuArguments) -> Outcome {
    let command = program(&arguments.command)?;
    let options = Options {
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
    let code = environment::run(&options, &library("libsoftgpu.so")?, command)?;
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
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
