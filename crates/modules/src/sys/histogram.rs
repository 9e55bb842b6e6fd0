//! `sys.ps_statement_avg_latency_histogram()`: a histogram of statements by their time, drawn as text.

use super::statements::{message, texts};
use squall_session::{Failure, ProcedureCall};
use std::fmt::Write;

const COLUMN: &str = "Performance Schema Statement Digest Average Latency Histogram";
/// Bars of the picture.
const BUCKETS: usize = 16;
/// From this many statements on, a character stands for two of them.
const TWO_UNITS: usize = 40;
/// From this many on, for three.
const THREE_UNITS: usize = 80;

/// The average latencies of all digests.
pub(super) async fn show(call: &mut ProcedureCall<'_>) -> Result<(), Failure> {
    let sql = "SELECT AVG_TIMER_WAIT DIV 1000000 FROM performance_schema.events_statements_summary_by_digest";
    let rows = texts(call, sql).await?;
    let micros: Vec<u64> = rows.iter().filter_map(|row| row.first()?.parse().ok()).collect();
    message(call, COLUMN, &picture(&micros)).await
}

/// Latencies in microseconds, in parts of equal width from nothing to the longest.
fn picture(micros: &[u64]) -> String {
    let width = micros.iter().max().copied().unwrap_or(0) as f64 / BUCKETS as f64;
    let mut counts = [0_usize; BUCKETS];
    for &latency in micros {
        let bucket = if width > 0.0 { (latency as f64 / width) as usize } else { 0 };
        counts[bucket.min(BUCKETS - 1)] += 1;
    }
    let edge = |bucket: usize| (bucket as f64 * width / 1000.0).round() as u64;
    let label = |bucket: usize| format!("({} - {}ms)", edge(bucket), edge(bucket + 1));
    let longest = (0..BUCKETS).map(|bucket| label(bucket).len()).max().unwrap_or(0);
    let mut text = String::from("\n\n  . = 1 unit\n  * = 2 units\n  # = 3 units\n\n");
    for (bucket, &count) in counts.iter().enumerate() {
        let (mark, units) = match count {
            THREE_UNITS.. => ("#", 3),
            TWO_UNITS.. => ("*", 2),
            _ => (".", 1),
        };
        let bar = mark.repeat(count / units);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:<longest$} {count:<4}| {bar}", label(bucket));
    }
    let _ = writeln!(
        text,
        "\n  Total Statements: {}; Buckets: {BUCKETS}; Bucket Size: {} ms;",
        micros.len(),
        (width / 1000.0).round() as u64
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_there_are_statements() {
        let mut micros = vec![100; 240];
        micros.extend([40_000; 38]);
        micros.extend([120_000; 62]);
        micros.push(614_400);
        let text = picture(&micros);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2..5], ["  . = 1 unit", "  * = 2 units", "  # = 3 units"]);
        assert_eq!(lines[6], format!("(0 - 38ms)    240 | {}", "#".repeat(80)));
        assert_eq!(lines[7], format!("(38 - 77ms)   38  | {}", ".".repeat(38)));
        assert_eq!(lines[9], format!("(115 - 154ms) 62  | {}", "*".repeat(31)));
        assert_eq!(lines[21], "(576 - 614ms) 1   | .");
        assert_eq!(lines[23], "  Total Statements: 341; Buckets: 16; Bucket Size: 38 ms;");
        assert!(picture(&[]).contains("Total Statements: 0;"));
        assert!(picture(&[0, 0]).contains("(0 - 0ms) 2   | .."));
    }
}
