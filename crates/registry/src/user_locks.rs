//! Locks that users name: `GET_LOCK` and its family.

use crate::context::KillState;
use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Every named lock of a server. Sessions share one; whoever ends a session calls [`UserLocks::release_all`].
#[derive(Debug, Default)]
pub struct UserLocks {
    held: Mutex<HashMap<String, Holder>>,
    released: Condvar,
}

#[derive(Debug)]
struct Holder {
    connection: u64,
    /// How many times the holder took it.
    count: u64,
}

/// Time between two looks at whether a waiting statement was killed.
const STEP: Duration = Duration::from_millis(50);

impl UserLocks {
    /// Takes a lock, waiting for it at most so long (`None`: without end); `None` if the statement was killed.
    pub fn acquire(&self, name: &str, connection: u64, wait: Option<Duration>, kill: &KillState) -> Option<bool> {
        let end = wait.and_then(|wait| Instant::now().checked_add(wait));
        let mut held = self.held.lock();
        loop {
            // Before anything is taken: the connection may have ended, and nobody would give it back.
            if kill.check().is_err() {
                return None;
            }
            match held.get_mut(name) {
                None => {
                    held.insert(name.to_string(), Holder { connection, count: 1 });
                    return Some(true);
                }
                Some(holder) if holder.connection == connection => {
                    holder.count += 1;
                    return Some(true);
                }
                Some(_) => {}
            }
            let now = Instant::now();
            let step = match end {
                Some(end) if end <= now => return Some(false),
                Some(end) => (end - now).min(STEP),
                None => STEP,
            };
            self.released.wait_for(&mut held, step);
        }
    }

    /// Gives a lock back once: whether the connection held it; `None` if nobody does.
    pub fn release(&self, name: &str, connection: u64) -> Option<bool> {
        let mut held = self.held.lock();
        let holder = held.get_mut(name)?;
        if holder.connection != connection {
            return Some(false);
        }
        holder.count -= 1;
        if holder.count == 0 {
            held.remove(name);
            self.released.notify_all();
        }
        Some(true)
    }

    /// Gives all locks of a connection back; how many times it had taken them.
    pub fn release_all(&self, connection: u64) -> u64 {
        let mut released = 0;
        self.held.lock().retain(|_, holder| {
            let keep = holder.connection != connection;
            if !keep {
                released += holder.count;
            }
            keep
        });
        if released > 0 {
            self.released.notify_all();
        }
        released
    }

    /// All locks that are held, and the connections that hold them.
    pub fn all(&self) -> Vec<(String, u64)> {
        self.held.lock().iter().map(|(name, holder)| (name.clone(), holder.connection)).collect()
    }

    /// The connection that holds a lock.
    pub fn holder(&self, name: &str) -> Option<u64> {
        self.held.lock().get(name).map(|holder| holder.connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn locks_are_held_by_one_connection_and_as_often_as_taken() {
        let locks = UserLocks::default();
        let kill = KillState::default();
        let now = Some(Duration::ZERO);
        assert_eq!(locks.acquire("a", 1, now, &kill), Some(true));
        assert_eq!(locks.acquire("a", 1, now, &kill), Some(true));
        assert_eq!(locks.acquire("a", 2, now, &kill), Some(false));
        assert_eq!(locks.release("a", 2), Some(false));
        assert_eq!(locks.release("a", 1), Some(true));
        assert_eq!(locks.holder("a"), Some(1));
        assert_eq!(locks.release_all(1), 1);
        assert_eq!(locks.release("a", 1), None);
    }

    #[test]
    fn a_waiter_gets_a_released_lock_and_a_killed_one_gives_up() {
        let locks = Arc::new(UserLocks::default());
        let kill = Arc::new(KillState::default());
        assert_eq!(locks.acquire("a", 1, None, &kill), Some(true));
        let waiter = std::thread::spawn({
            let (locks, kill) = (locks.clone(), kill.clone());
            move || locks.acquire("a", 2, None, &kill)
        });
        locks.release("a", 1);
        assert_eq!(waiter.join().unwrap(), Some(true));
        kill.kill_query();
        assert_eq!(locks.acquire("a", 1, None, &kill), None);
        // Nor does it take one that is free.
        locks.release("a", 2);
        assert_eq!(locks.acquire("a", 1, None, &kill), None);
        assert_eq!(locks.holder("a"), None);
    }
}
