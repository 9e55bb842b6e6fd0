//! Shared code of the end-to-end tests: a server process on a fresh data directory, and golden scripts.
//!
//! The client is the `mysql` crate, which is not ours, so that the same scripts can be run on another server.

#[cfg(unix)]
pub mod faults;
pub mod golden;
pub mod mariadb;
#[cfg(unix)]
pub mod power_cuts;
pub mod privileges;
pub mod random;
pub mod server;
mod skip;
pub mod web_peer;

pub use skip::skip;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Sets a flag when it is dropped: at the end of a test's scope of threads, also if the end is a panic. What runs until the flag is set would run
/// for ever otherwise, since the scope waits for it, and the test would never tell what it has found.
pub struct SetOnDrop<'a>(pub &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Waits for a moment of a test's choice, and on a busy machine until something has been done by then.
pub fn let_work(time: Duration, mut is_done: impl FnMut() -> bool) {
    const WAIT_MAX: Duration = Duration::from_secs(60);
    let begun = Instant::now();
    std::thread::sleep(time);
    while !is_done() && begun.elapsed() < WAIT_MAX {
        // Long enough that the kill does not always come behind an acknowledgement.
        std::thread::sleep(time / 4 + Duration::from_millis(5));
    }
}

/// Waits until a condition holds, for a minute at most.
///
/// # Panics
/// If it does not hold by then; the message names `what` was waited for.
pub fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    wait_within(Duration::from_secs(60), what, condition);
}

/// [`wait_until`] for as long as `limit`, where a longer wait would have another reason.
///
/// # Panics
/// If the condition does not hold by then.
pub fn wait_within(limit: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// How many rounds a test of killed servers makes: `SQUALL_CRASH_ROUNDS`, for long runs, or else this many.
pub fn crash_rounds(otherwise: u64) -> u64 {
    std::env::var("SQUALL_CRASH_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(otherwise)
}
