//! Progress of long work: a bar on stderr, only where stderr is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar over `bytes` bytes; the caller calls `inc` and `finish_and_clear`.
pub(crate) fn bytes(what: &'static str, bytes: u64) -> ProgressBar {
    bar(
        what,
        bytes,
        "{prefix:>12} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec}",
    )
}

/// Work whose length nobody knows.
pub(crate) fn spinner(what: &'static str) -> ProgressBar {
    let bar = bar(what, 0, "{prefix:>12} {spinner} {elapsed}");
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

fn bar(what: &'static str, length: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("a template of this file");
    // Hidden by itself where stderr is no terminal.
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    bar.set_style(style.progress_chars("=> "));
    bar.set_prefix(what);
    bar
}
