//! KILL and time-outs of a statement.

use squall_types::SqlError;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio::sync::Notify;

/// Whether a statement has to stop.
#[derive(Debug, Default)]
pub struct KillState {
    state: AtomicU8,
    changed: Notify,
}

impl KillState {
    const QUERY: u8 = 1;
    const CONNECTION: u8 = 2;
    const TIMEOUT: u8 = 3;

    /// KILL QUERY.
    pub fn kill_query(&self) {
        // A connection that is to end stays so.
        let _ = self.state.compare_exchange(0, Self::QUERY, Ordering::Relaxed, Ordering::Relaxed);
        self.changed.notify_waiters();
    }

    /// KILL CONNECTION.
    pub fn kill_connection(&self) {
        self.state.store(Self::CONNECTION, Ordering::Relaxed);
        self.changed.notify_waiters();
    }

    /// `max_execution_time` ran out.
    pub fn time_out(&self) {
        let _ = self.state.compare_exchange(0, Self::TIMEOUT, Ordering::Relaxed, Ordering::Relaxed);
        self.changed.notify_waiters();
    }

    /// Whether the connection is to end.
    pub fn is_connection_killed(&self) -> bool {
        self.state.load(Ordering::Relaxed) == Self::CONNECTION
    }

    /// Whether the statement has to stop: [`KillState::check`] without an error to make.
    pub fn is_stopped(&self) -> bool {
        self.state.load(Ordering::Relaxed) != 0
    }

    /// Forgets a KILL QUERY or time-out: a new statement begins.
    pub fn reset(&self) {
        if !self.is_connection_killed() {
            self.state.store(0, Ordering::Relaxed);
        }
    }

    /// Waits until the statement has to stop, and says why.
    pub async fn stopped(&self) -> SqlError {
        loop {
            let changed = self.changed.notified();
            if let Err(error) = self.check() {
                return error;
            }
            changed.await;
        }
    }

    /// The error to stop with, if the statement has to. Long loops call this every few thousand rows.
    pub fn check(&self) -> Result<(), SqlError> {
        use squall_types::ErrorCode::{QueryInterrupted, QueryTimeout};
        match self.state.load(Ordering::Relaxed) {
            0 => Ok(()),
            Self::TIMEOUT => Err(SqlError::new(QueryTimeout, &[])),
            _ => Err(SqlError::new(QueryInterrupted, &[])),
        }
    }
}
