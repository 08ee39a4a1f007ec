//! `strobe verify`: is every byte of a checkpoint what was written?

use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;
use strobe_proto::Manifest;
use strobe_store::{Checkpoint, Damage};

use crate::arguments::VerifyArguments;
use crate::outcome::Outcome;
use crate::output::answer;
use crate::size::show_size;
use crate::{directory, progress};

pub(crate) fn run(arguments: &VerifyArguments) -> Outcome {
    let start = Instant::now();
    let result = verify(arguments);
    let seconds = start.elapsed().as_secs_f64();
    if !arguments.json {
        let (checkpoint, summary) = result?;
        let manifest = checkpoint.manifest();
        let text = format!(
            "{} is complete: {} of GPU memory, {} chunks, {} files, target {}",
            arguments.directory.display(),
            show_size(summary.tracked_bytes + residual_bytes(manifest)),
            summary.chunks,
            summary.files,
            match manifest.target.as_str() {
                "" => "not recorded",
                target => target,
            },
        );
        return answer(text, ExitCode::SUCCESS);
    }
    let (report, code) = match result {
        Ok((checkpoint, summary)) => {
            let report = json!({
                "complete": true,
                "tracked_bytes": summary.tracked_bytes,
                "residual_bytes": residual_bytes(checkpoint.manifest()),
                "chunks": summary.chunks,
                "files": summary.files,
                "target": checkpoint.manifest().target,
                "seconds": seconds,
            });
            (report, ExitCode::SUCCESS)
        }
        Err(damage) => {
            let path = damage.path.display().to_string();
            let reason = damage.to_string();
            (
                json!({ "complete": false, "path": path, "reason": reason }),
                ExitCode::FAILURE,
            )
        }
    };
    answer(format!("{report:#}"), code)
}

/// Of GPU memory, what is in an image of the plugin's.
fn residual_bytes(manifest: &Manifest) -> u64 {
    manifest.plugin.as_ref().map_or(0, |p| p.residual_bytes)
}

fn verify(
    arguments: &VerifyArguments,
) -> Result<(Checkpoint, strobe_store::VerifiedSummary), Damage> {
    let checkpoint = directory::open(&arguments.directory)?;
    let bar = progress::bytes("verifying", 0);
    let summary = checkpoint.verify(&mut |progress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    })?;
    bar.finish_and_clear();
    Ok((checkpoint, summary))
}
