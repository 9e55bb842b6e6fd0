//! The progress of a transfer, on one line of the terminal.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::{Duration, Instant};

const PERIOD: Duration = Duration::from_millis(200);
const BAR_WIDTH: usize = 24;

/// Draws to standard error, if that is a terminal.
pub struct Progress {
    started: Instant,
    drawn: Option<Instant>,
    enabled: bool,
    total_bytes: Option<u64>,
}

impl Progress {
    /// `total_bytes` is what is to be read, if that is known.
    pub fn new(quiet: bool, total_bytes: Option<u64>) -> Progress {
        Progress { started: Instant::now(), drawn: None, enabled: !quiet && stderr().is_terminal(), total_bytes }
    }

    /// Draws, if it is time to.
    pub fn show(&mut self, bytes: u64, rows: u64) {
        if !self.enabled || self.drawn.is_some_and(|drawn| drawn.elapsed() < PERIOD) {
            return;
        }
        self.drawn = Some(Instant::now());
        let line = line(self.started.elapsed(), self.total_bytes, bytes, rows);
        // A terminal that is gone needs no progress.
        let _ = write!(stderr(), "\r\x1b[K{line}").and_then(|()| stderr().flush());
    }

    /// Draws a last word that stays until the next line is printed.
    pub fn say(&self, text: &str) {
        if self.enabled {
            let _ = write!(stderr(), "\r\x1b[K{text}").and_then(|()| stderr().flush());
        }
    }

    /// Removes what was drawn; the time since the beginning.
    pub fn clear(&self) -> Duration {
        self.say("");
        self.started.elapsed()
    }
}

fn line(elapsed: Duration, total: Option<u64>, bytes: u64, rows: u64) -> String {
    let seconds = elapsed.as_secs_f64().max(0.001);
    let mut line = String::new();
    if let Some(total) = total.filter(|total| *total > 0) {
        let part = (bytes as f64 / total as f64).min(1.0);
        let full = (part * BAR_WIDTH as f64) as usize;
        let _ = write!(line, "[{}{}] {:3.0}%  ", "=".repeat(full), " ".repeat(BAR_WIDTH - full), part * 100.0);
    }
    let _ = write!(line, "{} rows, {} rows/s", grouped(rows), grouped((rows as f64 / seconds) as u64));
    if let Some(total) = total.filter(|total| bytes > 0 && *total > bytes) {
        let left = (seconds * (total - bytes) as f64 / bytes as f64) as u64;
        let _ = write!(line, ", {}:{:02} left", left / 60, left % 60);
    }
    line
}

/// A number with commas between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_and_how_long() {
        let half = line(Duration::from_secs(10), Some(2000), 1000, 1_234_567);
        assert_eq!(half, "[============            ]  50%  1,234,567 rows, 123,456 rows/s, 0:10 left");
        assert_eq!(line(Duration::from_secs(1), None, 1000, 12), "12 rows, 12 rows/s");
        assert_eq!(grouped(1000), "1,000");
    }
}
