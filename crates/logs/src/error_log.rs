//! The error log: messages of the server itself. The process has one, because any part of it may write there.

use crate::file::{LogFile, Rotation};
use crate::text::{push_json_string, push_on_one_line};
use crate::timestamp::{Zone, push};
use arc_swap::ArcSwap;
use squall_types::clock::now_micros;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

/// How bad it is; as `log_error_verbosity` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something does not work.
    Error = 1,
    /// Something may not be as it was meant.
    Warning = 2,
    /// Good to know.
    Note = 3,
}

/// The process's error log.
#[derive(Debug)]
pub struct ErrorLog {
    file: LogFile,
    verbosity: AtomicU8,
    form: ArcSwap<Form>,
}

#[derive(Clone, Debug, Default)]
struct Form {
    path: Option<PathBuf>,
    json: bool,
    zone: Zone,
}

/// The one of this process. Until it is told otherwise it writes errors and warnings to standard error.
pub fn error_log() -> &'static ErrorLog {
    static LOG: OnceLock<ErrorLog> = OnceLock::new();
    LOG.get_or_init(|| ErrorLog {
        file: LogFile::new(Arc::default()),
        verbosity: AtomicU8::new(Severity::Warning as u8),
        form: ArcSwap::default(),
    })
}

impl ErrorLog {
    /// Sets file (`None` is standard error), form and `log_error_verbosity`.
    ///
    /// # Errors
    /// When the file cannot be opened; until it can be, everything goes to standard error.
    pub fn set(
        &self,
        path: Option<&Path>,
        json: bool,
        zone: Zone,
        verbosity: u8,
        rotation: Rotation,
    ) -> std::io::Result<()> {
        self.verbosity.store(verbosity, Ordering::Relaxed);
        let form = Form { path: path.map(Path::to_path_buf), json, zone };
        let result = self.file.set(path, b"", rotation, false);
        self.form.store(Arc::new(form));
        result
    }

    /// FLUSH ERROR LOGS.
    ///
    /// # Errors
    /// When the file cannot be opened; it goes on in the old one.
    pub fn reopen(&self) -> std::io::Result<()> {
        self.file.reopen()
    }

    /// Whether anything of that severity is written.
    pub fn takes(&self, severity: Severity) -> bool {
        severity as u8 <= self.verbosity.load(Ordering::Relaxed)
    }

    /// Writes a message.
    pub fn write(&self, severity: Severity, message: &str) {
        if !self.takes(severity) {
            return;
        }
        let now = now_micros();
        let form = self.form.load();
        let line = line(severity, message, now, form.json, &form.zone);
        let written = form.path.is_some() && self.file.append(&line, now);
        if !written {
            // There is nowhere left to say that this fails.
            let _ = std::io::stderr().write_all(&line);
        }
    }
}

fn line(severity: Severity, message: &str, now: i64, json: bool, zone: &Zone) -> Vec<u8> {
    let name = match severity {
        Severity::Error => "Error",
        Severity::Warning => "Warning",
        Severity::Note => "Note",
    };
    let mut line = Vec::new();
    if json {
        line.extend_from_slice(b"{\"time\":\"");
        push(&mut line, now, zone);
        line.extend_from_slice(format!("\",\"log\":\"error\",\"severity\":\"{name}\",\"text\":").as_bytes());
        push_json_string(&mut line, message.as_bytes());
        line.extend_from_slice(b"}\n");
    } else {
        push(&mut line, now, zone);
        line.extend_from_slice(format!(" 0 [{name}] [MY-000000] [Server] ").as_bytes());
        push_on_one_line(&mut line, message.as_bytes(), None);
        line.push(b'\n');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let text = |json| line(Severity::Warning, "a\nb", 1_339_837_200_000_000, json, &Zone::Utc);
        assert_eq!(text(false), b"2012-06-16T09:00:00.000000Z 0 [Warning] [MY-000000] [Server] a\\nb\n");
        let json: &[u8] =
            b"{\"time\":\"2012-06-16T09:00:00.000000Z\",\"log\":\"error\",\"severity\":\"Warning\",\"text\":\"a\\nb\"}\n";
        assert_eq!(text(true), json);
    }
}
