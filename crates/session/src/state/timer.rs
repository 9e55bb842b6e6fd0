//! The time limit of a statement.

/// Stops a statement in time, unless it is dropped before.
#[derive(Debug)]
pub struct TimerGuard(pub(crate) tokio::task::JoinHandle<()>);

impl Drop for TimerGuard {
    fn drop(&mut self) {
        self.0.abort();
    }
}
