//! Locks by name: `GET_LOCK` and related functions.

use crate::barriers::Barriers;
use crate::kill_state::KillState;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

/// Every named lock of a server. Sessions share one; the end of a session calls [`UserLocks::end_session`].
#[derive(Debug, Default)]
pub struct UserLocks {
    /// The barriers, which are named by users too.
    pub barriers: Barriers,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    held: HashMap<String, Holder>,
    /// Names that sessions wait for, and these sessions.
    wanted: Vec<(String, u64)>,
    /// Connections that wait for the end of others, with these.
    callers: Vec<(u64, u64)>,
    /// Connections that wait until another one takes a lock.
    watchers: Vec<Watcher>,
}

#[derive(Debug)]
struct Watcher {
    name: String,
    connection: u64,
    /// Who has taken it since.
    holder: Option<u64>,
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

/// The result of an attempt to take a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// It is the connection's.
    Yes,
    /// Another connection had it all the time.
    TimedOut,
    /// The statement was killed.
    Killed,
    /// Its holder waits, perhaps through others, for a lock of this connection.
    Deadlock,
}

/// What a session sees that waits until another one takes a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A connection took it, or had it.
    Taken(u64),
    /// None did in time.
    TimedOut,
    /// The statement was killed.
    Killed,
    /// The session has the lock itself.
    Own,
    /// The session was to give it back, but another one has it.
    NotOwn,
    /// The session was to give it back, but none has it.
    Free,
}

impl State {
    /// Takes a lock that no other connection has.
    fn take(&mut self, name: &str, connection: u64) {
        self.held.entry(name.to_string()).or_insert(Holder { connection, count: 0 }).count += 1;
        for watcher in self.watchers.iter_mut().filter(|watcher| watcher.name == name) {
            watcher.holder = watcher.holder.or(Some(connection).filter(|connection| *connection != watcher.connection));
        }
    }

    /// Whether another connection has a lock.
    fn is_others(&self, name: &str, connection: u64) -> bool {
        self.held.get(name).is_some_and(|holder| holder.connection != connection)
    }

    /// Whether a lock's holder waits, through however many others, for one of a connection's.
    fn closes_circle(&self, name: &str, connection: u64) -> bool {
        let Some(holder) = self.held.get(name) else { return false };
        let mut at = holder.connection;
        // Each connection waits for one lock or one other connection, so the way is no longer than there are waits.
        for _ in 0..=self.wanted.len() + self.callers.len() {
            if at == connection {
                return true;
            }
            let lock = self.wanted.iter().find(|(_, by)| *by == at).and_then(|(name, _)| self.held.get(name));
            let awaited = self.callers.iter().find(|(caller, _)| *caller == at).map(|(_, child)| *child);
            let Some(next) = lock.map(|holder| holder.connection).or(awaited) else { return false };
            at = next;
        }
        false
    }
}

impl UserLocks {
    /// Takes a lock, waiting for it at most so long (`None`: without end).
    pub fn acquire(&self, name: &str, connection: u64, wait: Option<Duration>, kill: &KillState) -> Acquired {
        let end = wait.and_then(|wait| Instant::now().checked_add(wait));
        let mut state = self.state.lock();
        let mut waits = false;
        let taken = loop {
            // Before anything is taken: the connection may have ended, and the lock would never be given back.
            if kill.check().is_err() {
                break Acquired::Killed;
            }
            if !state.is_others(name, connection) {
                state.take(name, connection);
                self.tell_watchers(&state);
                break Acquired::Yes;
            }
            let now = Instant::now();
            let step = match end {
                Some(end) if end <= now => break Acquired::TimedOut,
                Some(end) => (end - now).min(STEP),
                None => STEP,
            };
            if !waits {
                // The waiter that closes a circle gives up: the others have waited longer.
                if state.closes_circle(name, connection) {
                    break Acquired::Deadlock;
                }
                waits = true;
                state.wanted.push((name.to_string(), connection));
            }
            self.changed.wait_for(&mut state, step);
        };
        if waits && let Some(at) = state.wanted.iter().position(|(wanted, by)| wanted == name && *by == connection) {
            state.wanted.swap_remove(at);
        }
        taken
    }

    /// Takes several locks at once, each of them once, or none if another connection has one of them. It does not wait.
    pub fn acquire_all(&self, names: &BTreeSet<String>, connection: u64, kill: &KillState) -> Acquired {
        let mut state = self.state.lock();
        if kill.check().is_err() {
            return Acquired::Killed;
        }
        if names.iter().any(|name| state.is_others(name, connection)) {
            return Acquired::TimedOut;
        }
        for name in names {
            state.take(name, connection);
        }
        self.tell_watchers(&state);
        Acquired::Yes
    }

    /// Waits until another connection has a lock, at most so long (`None`: without end).
    pub fn wait_for_holder(&self, name: &str, connection: u64, wait: Option<Duration>, kill: &KillState) -> Seen {
        let mut state = self.state.lock();
        match state.held.get(name) {
            Some(holder) if holder.connection == connection => Seen::Own,
            Some(holder) => Seen::Taken(holder.connection),
            None => self.watch(&mut state, name, connection, wait, kill),
        }
    }

    /// Gives a lock back, however often it was taken, and waits until another connection takes it.
    pub fn release_and_wait(&self, name: &str, connection: u64, wait: Option<Duration>, kill: &KillState) -> Seen {
        let mut state = self.state.lock();
        match state.held.get(name) {
            None => return Seen::Free,
            Some(holder) if holder.connection != connection => return Seen::NotOwn,
            Some(_) => state.held.remove(name),
        };
        self.changed.notify_all();
        self.watch(&mut state, name, connection, wait, kill)
    }

    fn watch(
        &self,
        state: &mut MutexGuard<'_, State>,
        name: &str,
        connection: u64,
        wait: Option<Duration>,
        kill: &KillState,
    ) -> Seen {
        let end = wait.and_then(|wait| Instant::now().checked_add(wait));
        state.watchers.push(Watcher { name: name.to_string(), connection, holder: None });
        let is_this = |watcher: &Watcher| watcher.connection == connection && watcher.name == name;
        let seen = loop {
            if let Some(holder) = state.watchers.iter().find(|watcher| is_this(watcher)).and_then(|this| this.holder) {
                break Seen::Taken(holder);
            }
            if kill.check().is_err() {
                break Seen::Killed;
            }
            let now = Instant::now();
            let step = match end {
                Some(end) if end <= now => break Seen::TimedOut,
                Some(end) => (end - now).min(STEP),
                None => STEP,
            };
            self.changed.wait_for(state, step);
        };
        state.watchers.retain(|watcher| !is_this(watcher));
        seen
    }

    /// A lock was taken.
    fn tell_watchers(&self, state: &State) {
        if !state.watchers.is_empty() {
            self.changed.notify_all();
        }
    }

    /// A connection begins to wait for the end of what another one does: locks of the one are not waited for by the other.
    pub fn begin_call(&self, caller: u64, child: u64) {
        self.state.lock().callers.push((caller, child));
    }

    /// It waits no more.
    pub fn end_call(&self, caller: u64, child: u64) {
        self.state.lock().callers.retain(|call| *call != (caller, child));
    }

    /// Gives a lock back once: whether the connection held it; `None` if no connection does.
    pub fn release(&self, name: &str, connection: u64) -> Option<bool> {
        let mut state = self.state.lock();
        let holder = state.held.get_mut(name)?;
        if holder.connection != connection {
            return Some(false);
        }
        holder.count -= 1;
        if holder.count == 0 {
            state.held.remove(name);
            self.changed.notify_all();
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
            self.changed.notify_all();
        }
        released
    }

    /// A session ends, or is to be as a new one: gives its locks and its barriers back.
    pub fn end_session(&self, connection: u64) {
        self.release_all(connection);
        self.barriers.release_all(connection);
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
        assert_eq!(locks.acquire("a", 1, now, &kill), Acquired::Yes);
        assert_eq!(locks.acquire("a", 1, now, &kill), Acquired::Yes);
        assert_eq!(locks.acquire("a", 2, now, &kill), Acquired::TimedOut);
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
        assert_eq!(locks.acquire("a", 1, None, &kill), Acquired::Yes);
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
        assert_eq!(waiter.join().unwrap(), Acquired::Yes);
        assert_eq!(locks.all(), [lock(2, false)]);
        kill.kill_query();
        assert_eq!(locks.acquire("a", 1, None, &kill), Acquired::Killed);
        // Nor does it take one that is free.
        locks.release("a", 2);
        assert_eq!(locks.acquire("a", 1, None, &kill), Acquired::Killed);
        assert_eq!(locks.holder("a"), None);
    }

    #[test]
    fn several_locks_are_taken_at_once_or_none() {
        let locks = UserLocks::default();
        let kill = KillState::default();
        let names = |names: [&str; 2]| names.map(str::to_string).into_iter().collect::<BTreeSet<_>>();
        assert_eq!(locks.acquire_all(&names(["a", "b"]), 1, &kill), Acquired::Yes);
        assert_eq!(locks.acquire_all(&names(["b", "c"]), 2, &kill), Acquired::TimedOut);
        assert_eq!((locks.holder("b"), locks.holder("c")), (Some(1), None));
        assert_eq!(locks.release_all(1), 2);
    }

    #[test]
    fn a_watcher_sees_who_takes_a_lock() {
        let locks = Arc::new(UserLocks::default());
        let kill = Arc::new(KillState::default());
        let short = Some(Duration::from_millis(1));
        assert_eq!(locks.release_and_wait("a", 1, None, &kill), Seen::Free);
        assert_eq!(locks.wait_for_holder("a", 1, short, &kill), Seen::TimedOut);
        assert_eq!(locks.acquire("a", 1, None, &kill), Acquired::Yes);
        assert_eq!(locks.wait_for_holder("a", 1, None, &kill), Seen::Own);
        assert_eq!(locks.wait_for_holder("a", 2, None, &kill), Seen::Taken(1));
        assert_eq!(locks.release_and_wait("a", 2, None, &kill), Seen::NotOwn);
        let watcher = std::thread::spawn({
            let (locks, kill) = (locks.clone(), kill.clone());
            move || locks.release_and_wait("a", 1, None, &kill)
        });
        // Whoever has it for a moment only is seen, too.
        assert_eq!(locks.acquire("a", 2, None, &kill), Acquired::Yes);
        locks.end_session(2);
        assert_eq!(watcher.join().unwrap(), Seen::Taken(2));
        kill.kill_query();
        assert_eq!(locks.wait_for_holder("a", 1, None, &kill), Seen::Killed);
    }

    #[test]
    fn two_sessions_do_not_wait_for_each_other() {
        let locks = UserLocks::default();
        let kill = KillState::default();
        assert_eq!(locks.acquire("a", 1, None, &kill), Acquired::Yes);
        locks.begin_call(1, 2);
        assert_eq!(locks.acquire("a", 2, None, &kill), Acquired::Deadlock);
        locks.end_call(1, 2);
        assert_eq!(locks.acquire("a", 2, Some(Duration::from_millis(1)), &kill), Acquired::TimedOut);
    }

    #[test]
    fn the_wait_that_closes_a_circle_gives_up() {
        let locks = Arc::new(UserLocks::default());
        let kill = Arc::new(KillState::default());
        for (name, connection) in [("a", 1), ("b", 2), ("c", 3)] {
            assert_eq!(locks.acquire(name, connection, None, &kill), Acquired::Yes);
        }
        let wait = |name: &'static str, connection| {
            let (locks, kill) = (locks.clone(), kill.clone());
            std::thread::spawn(move || locks.acquire(name, connection, None, &kill))
        };
        let waiters = [wait("b", 1), wait("c", 2)];
        while locks.all().len() < 5 {
            std::thread::yield_now();
        }
        assert_eq!(locks.acquire("a", 3, Some(Duration::ZERO), &kill), Acquired::TimedOut);
        assert_eq!(locks.acquire("a", 3, None, &kill), Acquired::Deadlock);
        // The others go on, one after the other.
        locks.release_all(3);
        let [first, second] = waiters;
        assert_eq!(second.join().unwrap(), Acquired::Yes);
        locks.release_all(2);
        assert_eq!(first.join().unwrap(), Acquired::Yes);
    }
}
