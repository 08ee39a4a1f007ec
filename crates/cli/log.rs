//! What the command reports while it works: one line an event on stderr, chosen by `STROBE_LOG`.

use std::fmt::{self, Write};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span;
use tracing::{Event, Metadata, Subscriber};

/// Starts reporting; by default errors and warnings.
pub(crate) fn start() {
    let level = std::env::var("STROBE_LOG")
        .ok()
        .and_then(|name| name.parse().ok());
    let lines = Lines {
        level: level.unwrap_or(LevelFilter::WARN),
    };
    // Fails only where a subscriber is set already; nobody but us sets one.
    let _ = tracing::subscriber::set_global_default(lines);
}

struct Lines {
    level: LevelFilter,
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = String::new();
        event.record(&mut Text(&mut line));
        let metadata = event.metadata();
        eprintln!("strobe: {} {}:{line}", metadata.level(), metadata.target());
    }

    // Events only: a command is one span.
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

struct Text<'a>(&'a mut String);

impl Visit for Text<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}
