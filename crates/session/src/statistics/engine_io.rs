//! What the storage engine's own threads read and write: buffers that become files of row tables, and merges of those.
//!
//! The engine does not tell by file, nor how long it took; but the system knows of each thread what it has read and written
//! (`proc_pid_io(5)`), and these threads do nothing else. What queries read of row tables is not in it, nor what bulk loads write.

use parking_lot::Mutex;
use squall_types::file_use::FileTotals;

/// How the names of these threads begin.
const THREAD: &str = "fjall:worker";

/// What they had done when the counters were last cleared.
static CLEARED: Mutex<Option<FileTotals>> = Mutex::new(None);

/// Counts and bytes of reads and writes since the counters were cleared; nothing where the system does not tell.
pub(crate) fn totals() -> FileTotals {
    let mut totals = of_threads();
    if let Some(before) = &*CLEARED.lock() {
        for (now, before) in [(&mut totals.read, &before.read), (&mut totals.written, &before.written)] {
            now.count = now.count.saturating_sub(before.count);
            now.bytes = now.bytes.saturating_sub(before.bytes);
        }
    }
    totals
}

/// Counts from 0 again.
pub(crate) fn clear() {
    *CLEARED.lock() = Some(of_threads());
}

fn of_threads() -> FileTotals {
    let mut totals = FileTotals::default();
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return totals };
    for thread in threads.flatten().map(|thread| thread.path()) {
        let is_engine = std::fs::read_to_string(thread.join("comm")).is_ok_and(|name| name.starts_with(THREAD));
        let Some(io) = is_engine.then(|| std::fs::read_to_string(thread.join("io")).ok()).flatten() else { continue };
        for (name, number) in io.lines().filter_map(|line| line.split_once(": ")) {
            let number: u64 = number.trim().parse().unwrap_or(0);
            match name {
                "rchar" => totals.read.bytes += number,
                "wchar" => totals.written.bytes += number,
                "syscr" => totals.read.count += number,
                "syscw" => totals.written.count += number,
                _ => {}
            }
        }
    }
    totals
}
