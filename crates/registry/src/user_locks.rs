//! Locks that users name: `GET_LOCK` and its family.

use crate::context::KillState;
use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Every named lock of a server. Sessions share one; whoever ends a session calls [`UserLocks::release_all`].
#[derive(Debug, Default)]
pub struct UserLocks {
    state: Mutex<State>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct State {
    held: HashMap<String, Holder>,
    /// Names that are waited for, and who does.
    wanted: Vec<(String, u64)>,
}

/// A named lock that a connection holds or waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserLock {
    /// Its name.
    pub name: String,
    /// The connection.
    pub connection: u64,
    /// Whether the connection waits for it.
    pub is_waiting: bool,
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
        let mut state = self.state.lock();
        let mut waits = false;
        let taken = loop {
            // Before anything is taken: the connection may have ended, and nobody would give it back.
            if kill.check().is_err() {
                break None;
            }
            match state.held.get_mut(name) {
                None => {
                    state.held.insert(name.to_string(), Holder { connection, count: 1 });
                    break Some(true);
                }
                Some(holder) if holder.connection == connection => {
                    holder.count += 1;
                    break Some(true);
                }
                Some(_) => {}
            }
            let now = Instant::now();
            let step = match end {
                Some(end) if end <= now => break Some(false),
                Some(end) => (end - now).min(STEP),
                None => STEP,
            };
            if !waits {
                waits = true;
                state.wanted.push((name.to_string(), connection));
            }
            self.released.wait_for(&mut state, step);
        };
        if waits && let Some(at) = state.wanted.iter().position(|(wanted, by)| wanted == name && *by == connection) {
            state.wanted.swap_remove(at);
        }
        taken
    }

    /// Gives a lock back once: whether the connection held it; `None` if nobody does.
    pub fn release(&self, name: &str, connection: u64) -> Option<bool> {
        let mut state = self.state.lock();
        let holder = state.held.get_mut(name)?;
        if holder.connection != connection {
            return Some(false);
        }
        holder.count -= 1;
        if holder.count == 0 {
            state.held.remove(name);
            self.released.notify_all();
        }
        Some(true)
    }

    /// Gives all locks of a connection back; how many times it had taken them.
    pub fn release_all(&self, connection: u64) -> u64 {
        let mut released = 0;
        self.state.lock().held.retain(|_, holder| {
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

    /// All locks that are held or waited for.
    pub fn all(&self) -> Vec<UserLock> {
        let state = self.state.lock();
        let lock = |name: &String, connection, is_waiting| UserLock { name: name.clone(), connection, is_waiting };
        let held = state.held.iter().map(|(name, holder)| lock(name, holder.connection, false));
        held.chain(state.wanted.iter().map(|(name, connection)| lock(name, *connection, true))).collect()
    }

    /// The connection that holds a lock.
    pub fn holder(&self, name: &str) -> Option<u64> {
        self.state.lock().held.get(name).map(|holder| holder.connection)
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
        let lock = |connection, is_waiting| UserLock { name: "a".to_string(), connection, is_waiting };
        while locks.all().len() < 2 {
            std::thread::yield_now();
        }
        assert_eq!(locks.all(), [lock(1, false), lock(2, true)]);
        locks.release("a", 1);
        assert_eq!(waiter.join().unwrap(), Some(true));
        assert_eq!(locks.all(), [lock(2, false)]);
        kill.kill_query();
        assert_eq!(locks.acquire("a", 1, None, &kill), None);
        // Nor does it take one that is free.
        locks.release("a", 2);
        assert_eq!(locks.acquire("a", 1, None, &kill), None);
        assert_eq!(locks.holder("a"), None);
    }
}
