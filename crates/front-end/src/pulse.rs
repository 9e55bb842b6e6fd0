//! Whether the event loops run.

use std::sync::mpsc as std_mpsc;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::protocol::{Inbox, Message};

/// Asks event loops for a sign of life. It keeps none of them alive.
#[derive(Debug, Clone)]
pub struct Pulse {
    event_loops: Weak<[Inbox]>,
}

impl Pulse {
    pub(crate) fn new(event_loops: &Arc<[Inbox]>) -> Self {
        Self { event_loops: Arc::downgrade(event_loops) }
    }

    /// Whether every event loop answers within that time. Waits for the slowest.
    pub fn beats_within(&self, time: Duration) -> bool {
        let begun = Instant::now();
        let (answer, answers) = std_mpsc::channel();
        let count = {
            let Some(event_loops) = self.event_loops.upgrade() else { return false };
            if event_loops.iter().any(|event_loop| event_loop.send(Message::Ping(answer.clone())).is_err()) {
                return false;
            }
            event_loops.len()
        };
        (0..count).all(|_| answers.recv_timeout(time.saturating_sub(begun.elapsed())).is_ok())
    }
}
