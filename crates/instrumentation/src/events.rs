//! Events of one kind of one session: sums by name, the current one, and the last ended ones.

use crate::timed::TimesByEvent;
use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;

/// How many that are over are kept, as in MySQL's defaults of `performance_schema_events_waits_history_size` and
/// `performance_schema_events_stages_history_size`.
pub(crate) const RECENT_MAX: usize = 10;

/// The events, under a lock that only readers share.
#[derive(Debug)]
pub struct CountedEvents<E>(Mutex<Events<E>>);

/// Their counts.
#[derive(Debug)]
pub(crate) struct Events<E> {
    pub totals: TimesByEvent,
    /// How many there have been.
    pub count: u64,
    pub current: Option<E>,
    /// The oldest first.
    pub recent: VecDeque<E>,
}

impl<E> Default for CountedEvents<E> {
    fn default() -> Self {
        let (totals, recent) = (TimesByEvent::default(), VecDeque::new());
        CountedEvents(Mutex::new(Events { totals, count: 0, current: None, recent }))
    }
}

impl<E> Events<E> {
    /// Makes room for one more among the last.
    pub fn make_room(&mut self) {
        if self.recent.len() >= RECENT_MAX {
            self.recent.pop_front();
        }
    }
}

impl<E: Copy> CountedEvents<E> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Events<E>> {
        self.0.lock()
    }

    /// Sums by name.
    pub fn list(&self) -> TimesByEvent {
        self.lock().totals.clone()
    }

    /// The one that the session is in, or the last.
    pub fn current(&self) -> Option<E> {
        let events = self.lock();
        events.current.or_else(|| events.recent.back().copied())
    }

    /// The last ones, the oldest first.
    pub fn recent(&self) -> Vec<E> {
        self.lock().recent.iter().copied().collect()
    }

    /// The last ones and the one that lasts, the oldest first.
    pub fn seen(&self) -> Vec<E> {
        let events = self.lock();
        events.recent.iter().chain(&events.current).copied().collect()
    }

    /// Forgets the sums.
    pub fn clear(&self) {
        self.lock().totals.clear();
    }

    /// Forgets the last ones.
    pub fn clear_recent(&self) {
        self.lock().recent.clear();
    }
}
