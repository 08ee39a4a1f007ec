//! What is reported while work is done: events, and the phases of a checkpoint and a restore as spans.
//!
//! `STROBE_LOG` (error, warn, info, debug, trace) says how much; from `debug` on, how long each phase
//! took. With `STROBE_LOG_FORMAT=json` it is JSON, an object a line. The command reports to stderr, the
//! plugin to CRIU's log, the agent to the program's stderr, and both of these only from `debug` on.
#![forbid(unsafe_code)]

mod stderr;

pub use stderr::{FileId, Stderr};

use std::env;

use tracing::level_filters::LevelFilter;
use tracing::subscriber::NoSubscriber;
use tracing::{Dispatch, Level};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;

/// What the environment asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    level: Option<LevelFilter>,
    is_json: bool,
}

impl Wanted {
    /// As `STROBE_LOG` and `STROBE_LOG_FORMAT` say.
    #[must_use]
    pub fn from_environment() -> Self {
        let level = env::var("STROBE_LOG").ok();
        Self {
            level: level.and_then(|name| name.parse().ok()),
            is_json: env::var_os("STROBE_LOG_FORMAT").is_some_and(|format| format == "json"),
        }
    }

    /// Whether the phases are asked for.
    #[must_use]
    pub fn phases(self) -> bool {
        self.level.is_some_and(|level| level >= Level::DEBUG)
    }

    /// For a command: warnings and errors where nothing else is asked for.
    pub fn of_command(self, writer: impl LineSink) -> Dispatch {
        self.dispatch(writer)
    }

    /// For what lives in another program: nothing, unless phases are asked for.
    pub fn of_guest(self, writer: impl LineSink) -> Dispatch {
        match self.phases() {
            true => self.dispatch(writer),
            false => Dispatch::new(NoSubscriber::new()),
        }
    }

    fn dispatch(self, writer: impl LineSink) -> Dispatch {
        let spans = match self.phases() {
            true => FmtSpan::CLOSE,
            false => FmtSpan::NONE,
        };
        let lines = tracing_subscriber::fmt()
            .with_writer(writer)
            .with_max_level(self.level.unwrap_or(LevelFilter::WARN))
            .with_span_events(spans)
            // A line that cannot be written is lost: nobody is told on another way.
            .log_internal_errors(false);
        match (self.is_json, self.phases()) {
            (true, _) => lines.json().into(),
            (false, true) => lines.into(),
            // A warning is for people.
            (false, false) => lines.without_time().into(),
        }
    }
}

/// Where lines go.
pub trait LineSink: for<'a> MakeWriter<'a> + Send + Sync + 'static {}

impl<W: for<'a> MakeWriter<'a> + Send + Sync + 'static> LineSink for W {}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("nobody panics").write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// What is said of a phase with an event in it.
    fn said(dispatch: impl FnOnce(Lines) -> Dispatch) -> String {
        let lines = Lines::default();
        let dispatch = dispatch(lines.clone());
        tracing::dispatcher::with_default(&dispatch, || {
            let _phase = tracing::debug_span!("drain").entered();
            tracing::warn!("late");
        });
        drop(dispatch);
        let bytes = lines.0.lock().expect("nobody panics").clone();
        String::from_utf8(bytes).expect("text")
    }

    fn writer(lines: Lines) -> impl LineSink {
        move || lines.clone()
    }

    #[test]
    fn phases_are_reported_when_they_are_asked_for() {
        let wanted = |level: Option<LevelFilter>, is_json| Wanted { level, is_json };
        let plain = wanted(None, false);
        assert!(said(|lines| plain.of_command(writer(lines))).contains("late"));
        assert!(!said(|lines| plain.of_command(writer(lines))).contains("close"));
        assert_eq!(said(|lines| plain.of_guest(writer(lines))), "");
        let info = wanted(Some(LevelFilter::INFO), true);
        assert_eq!(said(|lines| info.of_guest(writer(lines))), "");
        let phases = wanted(Some(LevelFilter::DEBUG), true);
        for said in [
            said(|lines| phases.of_command(writer(lines))),
            said(|lines| phases.of_guest(writer(lines))),
        ] {
            let lines: Vec<_> = said.lines().collect();
            assert_eq!(lines.len(), 2, "{said}");
            assert!(lines[1].contains("\"message\":\"close\"") && lines[1].contains("drain"));
        }
    }
}
