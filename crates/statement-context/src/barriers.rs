//! Barriers by name, at which sessions of an account wait for each other: `CREATE_BARRIER` and related functions.

use crate::kill_state::KillState;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Barriers that one session may have at once.
pub const BARRIERS_MAX: usize = 256;

/// Time between two looks at whether a waiting statement was killed.
const STEP: Duration = Duration::from_millis(50);

/// Every barrier of a server. Each user has names of its own. The end of a session calls [`Barriers::release_all`].
#[derive(Debug, Default)]
pub struct Barriers {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// By user and name.
    barriers: HashMap<(String, String), Barrier>,
    /// Barriers made so far.
    made: u64,
}

#[derive(Debug)]
struct Barrier {
    /// Unlike that of a barrier that had the name before.
    number: u64,
    owner: u64,
    limit: u64,
    generation: u64,
    waiters: u64,
    observers: u64,
}

/// A barrier as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BarrierState {
    /// The user whose sessions may use it.
    pub user: String,
    /// Its name.
    pub name: String,
    /// The connection that has made it.
    pub owner: u64,
    /// It opens when so many wait; 0 if only a signal or its release opens it.
    pub limit: u64,
    /// How many times it has opened.
    pub generation: u64,
    /// Sessions that wait until it opens.
    pub waiters: u64,
    /// Sessions that wait for a number of waiters.
    pub observers: u64,
}

/// The result of an attempt to make a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// It is there.
    Yes,
    /// The user has one of this name.
    Exists,
    /// The session has [`BARRIERS_MAX`] of them.
    TooMany,
    /// The statement was killed.
    Killed,
}

/// The result of a wait at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// It has opened, or has as many waiters as were asked for.
    Yes,
    /// It did neither in time.
    TimedOut,
    /// The statement was killed.
    Killed,
    /// The user has no barrier of this name.
    Unknown,
    /// It is the session's own, which nobody else would open.
    Own,
}

impl State {
    fn get(&mut self, user: &str, name: &str) -> Option<&mut Barrier> {
        self.barriers.get_mut(&(user.to_string(), name.to_string()))
    }

    /// The barrier that had this number, if it has not opened since it had this generation.
    fn closed(&mut self, user: &str, name: &str, number: u64, generation: u64) -> Option<&mut Barrier> {
        self.get(user, name).filter(|barrier| barrier.number == number && barrier.generation == generation)
    }
}

impl Barrier {
    /// Lets all that wait go on.
    fn open(&mut self) {
        self.generation += 1;
        self.waiters = 0;
        self.observers = 0;
    }
}

impl Barriers {
    /// Makes a barrier for a user. It opens each time that `limit` sessions wait at it; never by itself for 0.
    pub fn create(&self, user: &str, name: &str, limit: u64, owner: u64, kill: &KillState) -> Created {
        let mut state = self.state.lock();
        // The connection may have ended, and nobody would release it.
        if kill.check().is_err() {
            return Created::Killed;
        }
        if state.get(user, name).is_some() {
            return Created::Exists;
        }
        if state.barriers.values().filter(|barrier| barrier.owner == owner).count() >= BARRIERS_MAX {
            return Created::TooMany;
        }
        state.made += 1;
        let barrier = Barrier { number: state.made, owner, limit, generation: 0, waiters: 0, observers: 0 };
        state.barriers.insert((user.to_string(), name.to_string()), barrier);
        Created::Yes
    }

    /// Removes a barrier of a connection, and lets all that wait at it go on: whether it was the connection's; `None` if there is none.
    pub fn release(&self, user: &str, name: &str, connection: u64) -> Option<bool> {
        let mut state = self.state.lock();
        if state.get(user, name)?.owner != connection {
            return Some(false);
        }
        state.barriers.remove(&(user.to_string(), name.to_string()));
        self.changed.notify_all();
        Some(true)
    }

    /// Removes all barriers of a connection.
    pub fn release_all(&self, connection: u64) {
        let mut state = self.state.lock();
        let before = state.barriers.len();
        state.barriers.retain(|_, barrier| barrier.owner != connection);
        if state.barriers.len() < before {
            self.changed.notify_all();
        }
    }

    /// Opens a barrier once: whether there is one.
    pub fn signal(&self, user: &str, name: &str) -> bool {
        let mut state = self.state.lock();
        let found = state.get(user, name).map(Barrier::open).is_some();
        self.changed.notify_all();
        found
    }

    /// Waits until a barrier opens, at most so long (`None`: without end). One that has opened since it had `generation` is not waited for.
    pub fn wait(
        &self,
        (user, name): (&str, &str),
        connection: u64,
        generation: Option<u64>,
        wait: Option<Duration>,
        kill: &KillState,
    ) -> Waited {
        let mut state = self.state.lock();
        let Some(barrier) = state.get(user, name) else { return Waited::Unknown };
        if barrier.owner == connection {
            return Waited::Own;
        }
        if generation.is_some_and(|known| barrier.generation > known) {
            return Waited::Yes;
        }
        barrier.waiters += 1;
        let (number, generation) = (barrier.number, barrier.generation);
        if barrier.limit > 0 && barrier.waiters >= barrier.limit {
            barrier.open();
        }
        self.changed.notify_all();
        let goes_on = |state: &mut State| state.closed(user, name, number, generation).is_none();
        let waited = self.until(&mut state, wait, kill, goes_on);
        if let Some(barrier) = state.closed(user, name, number, generation) {
            barrier.waiters -= 1;
        }
        waited
    }

    /// Waits until so many sessions wait at a barrier, or until it opens.
    pub fn wait_until(
        &self,
        (user, name): (&str, &str),
        waiters: u64,
        wait: Option<Duration>,
        kill: &KillState,
    ) -> Waited {
        let mut state = self.state.lock();
        let Some(barrier) = state.get(user, name) else { return Waited::Unknown };
        barrier.observers += 1;
        let (number, generation) = (barrier.number, barrier.generation);
        let goes_on = |state: &mut State| {
            state.closed(user, name, number, generation).is_none_or(|barrier| barrier.waiters >= waiters)
        };
        let waited = self.until(&mut state, wait, kill, goes_on);
        if let Some(barrier) = state.closed(user, name, number, generation) {
            barrier.observers -= 1;
        }
        waited
    }

    /// Waits for a condition.
    fn until(
        &self,
        state: &mut MutexGuard<'_, State>,
        wait: Option<Duration>,
        kill: &KillState,
        goes_on: impl Fn(&mut State) -> bool,
    ) -> Waited {
        let end = wait.and_then(|wait| Instant::now().checked_add(wait));
        loop {
            if goes_on(state) {
                return Waited::Yes;
            }
            if kill.check().is_err() {
                return Waited::Killed;
            }
            let now = Instant::now();
            let step = match end {
                Some(end) if end <= now => return Waited::TimedOut,
                Some(end) => (end - now).min(STEP),
                None => STEP,
            };
            self.changed.wait_for(state, step);
        }
    }

    /// All barriers.
    pub fn all(&self) -> Vec<BarrierState> {
        let state = self.state.lock();
        let all = state.barriers.iter().map(|((user, name), barrier)| BarrierState {
            user: user.clone(),
            name: name.clone(),
            owner: barrier.owner,
            limit: barrier.limit,
            generation: barrier.generation,
            waiters: barrier.waiters,
            observers: barrier.observers,
        });
        all.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread::JoinHandle;

    fn barriers() -> Arc<Barriers> {
        Arc::new(Barriers::default())
    }

    fn waiter(barriers: &Arc<Barriers>, connection: u64, kill: &Arc<KillState>) -> JoinHandle<Waited> {
        let (barriers, kill) = (barriers.clone(), kill.clone());
        std::thread::spawn(move || barriers.wait(("u", "b"), connection, None, None, &kill))
    }

    fn counts(barriers: &Barriers) -> (u64, u64, u64) {
        let state = &barriers.all()[0];
        (state.generation, state.waiters, state.observers)
    }

    #[test]
    fn the_last_of_the_limit_opens_it_each_time() {
        let (barriers, kill) = (barriers(), Arc::new(KillState::default()));
        assert_eq!(barriers.create("u", "b", 2, 1, &kill), Created::Yes);
        assert_eq!(barriers.create("u", "b", 2, 2, &kill), Created::Exists);
        assert_eq!(barriers.wait(("v", "b"), 2, None, None, &kill), Waited::Unknown);
        assert_eq!(barriers.wait(("u", "b"), 1, None, None, &kill), Waited::Own);
        for round in 0..2 {
            let first = waiter(&barriers, 2, &kill);
            assert_eq!(barriers.wait_until(("u", "b"), 1, None, &kill), Waited::Yes);
            assert_eq!(counts(&barriers), (round, 1, 0));
            assert_eq!(barriers.wait(("u", "b"), 3, None, None, &kill), Waited::Yes);
            assert_eq!(first.join().unwrap(), Waited::Yes);
            assert_eq!(counts(&barriers), (round + 1, 0, 0));
        }
        // Who has seen an older generation does not wait.
        assert_eq!(barriers.wait(("u", "b"), 3, Some(1), None, &kill), Waited::Yes);
        assert_eq!(barriers.wait(("u", "b"), 3, Some(2), Some(Duration::ZERO), &kill), Waited::TimedOut);
    }

    #[test]
    fn a_signal_a_release_and_the_end_of_the_owner_open_it() {
        let (barriers, kill) = (barriers(), Arc::new(KillState::default()));
        let opens: [fn(&Barriers); 3] = [
            |barriers| assert!(barriers.signal("u", "b")),
            |barriers| assert_eq!(barriers.release("u", "b", 1), Some(true)),
            |barriers| barriers.release_all(1),
        ];
        for open in opens {
            barriers.create("u", "b", 0, 1, &kill);
            let first = waiter(&barriers, 2, &kill);
            assert_eq!(barriers.wait_until(("u", "b"), 1, None, &kill), Waited::Yes);
            assert_eq!(barriers.release("u", "b", 2), Some(false));
            open(&barriers);
            assert_eq!(first.join().unwrap(), Waited::Yes);
        }
        assert_eq!(barriers.release("u", "b", 1), None);
        assert!(!barriers.signal("u", "b"));
    }

    #[test]
    fn a_killed_waiter_leaves_and_a_session_has_a_bounded_number() {
        let (barriers, kill) = (barriers(), Arc::new(KillState::default()));
        barriers.create("u", "b", 0, 1, &kill);
        let killed = Arc::new(KillState::default());
        let first = waiter(&barriers, 2, &killed);
        assert_eq!(barriers.wait_until(("u", "b"), 1, None, &kill), Waited::Yes);
        killed.kill_query();
        assert_eq!(first.join().unwrap(), Waited::Killed);
        assert_eq!(counts(&barriers), (0, 0, 0));
        assert_eq!(barriers.create("u", "c", 0, 1, &killed), Created::Killed);
        for number in 1..BARRIERS_MAX {
            assert_eq!(barriers.create("u", &number.to_string(), 0, 1, &kill), Created::Yes);
        }
        assert_eq!(barriers.create("u", "c", 0, 1, &kill), Created::TooMany);
        assert_eq!(barriers.create("u", "c", 0, 2, &kill), Created::Yes);
    }
}
