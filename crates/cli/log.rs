//! What the command reports while it works, on stderr: `STROBE_LOG` says how much, and with
//! `STROBE_LOG_FORMAT=json` it is JSON, an object a line. From `debug` on, how long each phase took.

use std::{env, io};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::format::FmtSpan;

/// Starts reporting; by default errors and warnings.
pub(crate) fn start() {
    let level = env::var("STROBE_LOG")
        .ok()
        .and_then(|name| name.parse().ok())
        .unwrap_or(LevelFilter::WARN);
    let phases = match level >= LevelFilter::DEBUG {
        true => FmtSpan::CLOSE,
        false => FmtSpan::NONE,
    };
    let lines = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_max_level(level)
        .with_span_events(phases);
    let is_json = env::var_os("STROBE_LOG_FORMAT").is_some_and(|format| format == "json");
    // Each fails only where there is a subscriber already; nobody but us makes one.
    let _ = match (is_json, level >= LevelFilter::DEBUG) {
        (true, _) => lines.json().try_init(),
        (false, true) => lines.try_init(),
        // A warning is for people.
        (false, false) => lines.without_time().try_init(),
    };
}
