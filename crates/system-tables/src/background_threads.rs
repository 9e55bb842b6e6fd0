//! Threads that serve no connection.

use std::collections::BTreeMap;

/// A background thread's number is that of the operating system above this, so that it is no connection's.
pub(crate) const BACKGROUND_THREADS_FROM: u64 = 1 << 32;
/// Where the operating system shows the process's threads.
pub(crate) const TASKS: &str = "/proc/self/task";

/// The process's threads, by the operating system's numbers, with their work, if it tells.
pub(crate) fn background_threads() -> BTreeMap<u64, String> {
    let mut threads = BTreeMap::new();
    let Ok(tasks) = std::fs::read_dir(TASKS) else { return threads };
    for task in tasks.flatten() {
        let number = task.file_name().to_str().and_then(|name| name.parse().ok());
        let name = std::fs::read_to_string(task.path().join("comm"));
        if let (Some(number), Ok(name)) = (number, name) {
            threads.insert(number, name.trim_end().to_string());
        }
    }
    threads
}
