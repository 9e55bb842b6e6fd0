//! Limits the number of requests that run at once.

use parking_lot::Mutex;
use tokio::sync::Notify;

/// A bound that may change while requests wait.
#[derive(Debug, Default)]
pub struct Gate {
    running: Mutex<usize>,
    left: Notify,
}

/// A place within the gate, until it is dropped.
#[derive(Debug)]
pub struct Place<'g>(&'g Gate);

impl Gate {
    /// Waits until fewer than `max` are within.
    pub async fn enter(&self, max: usize) -> Place<'_> {
        loop {
            let left = self.left.notified();
            {
                let mut running = self.running.lock();
                if *running < max.max(1) {
                    *running += 1;
                    return Place(self);
                }
            }
            left.await;
        }
    }

    /// How many are within.
    pub fn running(&self) -> usize {
        *self.running.lock()
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.0.running.lock() -= 1;
        // All of them: a bound that has grown lets more than one in.
        self.0.left.notify_waiters();
    }
}
