//! Writes messages of the program to the error log.

use std::fmt::{self, Write as _};

use squall_logs::error_log::{Severity, error_log};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

/// Hands events to the error log; spans are not kept.
struct ToErrorLog;

/// Has events logged from now on.
pub(crate) fn install() {
    // Only fails if something was installed before, which nothing does.
    let _already = tracing::subscriber::set_global_default(ToErrorLog);
}

fn severity(level: Level) -> Option<Severity> {
    match level {
        Level::ERROR => Some(Severity::Error),
        Level::WARN => Some(Severity::Warning),
        Level::INFO => Some(Severity::Note),
        _ => None,
    }
}

impl Subscriber for ToErrorLog {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        // `log_error_verbosity` may change at any time.
        if metadata.is_event() && severity(*metadata.level()).is_some() {
            Interest::sometimes()
        } else {
            Interest::never()
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && severity(*metadata.level()).is_some_and(|severity| error_log().takes(severity))
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::INFO)
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let Some(severity) = severity(*event.metadata().level()) else { return };
        let mut text = Text(String::new());
        event.record(&mut text);
        error_log().write(severity, text.0.trim_start());
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a String cannot fail.
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}
