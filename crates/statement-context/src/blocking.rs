//! Runs work that occupies a thread of the query pool for long.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Waits, or computes for long, on a thread of the query pool: other statements that count on this thread are given
/// another meanwhile. Anywhere else the work is simply done.
pub fn off_pool<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => tokio::task::block_in_place(work),
        _ => work(),
    }
}
