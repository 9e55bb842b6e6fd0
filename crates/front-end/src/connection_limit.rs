//! Limits the number of connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many connections a listener may have.
#[derive(Debug, Clone)]
pub enum ConnectionLimit {
    /// `max_connections` of all listeners with this limit together, and one more for an account that administers connections.
    Server,
    /// A number of its own.
    Own(Arc<OwnLimit>),
    /// As many as come.
    Unlimited,
}

/// A limit of connections beside `max_connections`. It may change while there are connections, and stays the same when its listener is
/// closed and opened again.
#[derive(Debug)]
pub struct OwnLimit {
    connections_max: AtomicUsize,
    count: Arc<AtomicUsize>,
}

impl OwnLimit {
    /// This many connections at most.
    pub fn new(connections_max: usize) -> Self {
        Self { connections_max: AtomicUsize::new(connections_max), count: Arc::default() }
    }

    /// This many at most from now on. Those that are there stay.
    pub fn set_max(&self, connections_max: usize) {
        self.connections_max.store(connections_max, Ordering::Relaxed);
    }

    /// Connections that there are now.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    fn take(&self) -> Option<ConnectionPermit> {
        // The permit for one beyond the limit is not given here.
        let connections_max = self.connections_max.load(Ordering::Relaxed);
        ConnectionPermit::take(&self.count, connections_max.checked_sub(1)?)
    }
}

impl ConnectionLimit {
    /// A place for one more connection, if there is one. `count` and `connections_max` are those of [`ConnectionLimit::Server`].
    pub(crate) fn take(&self, count: &Arc<AtomicUsize>, connections_max: usize) -> Option<Place> {
        match self {
            Self::Server => ConnectionPermit::take(count, connections_max).map(Place::Limited),
            Self::Own(limit) => limit.take().map(Place::Own),
            Self::Unlimited => Some(Place::Unlimited),
        }
    }
}

/// Counts a connection, until it is given back or dropped.
#[derive(Debug)]
pub struct ConnectionPermit {
    count: Arc<AtomicUsize>,
    is_back: AtomicBool,
}

impl ConnectionPermit {
    /// Counts one more connection, unless there is one more than `connections_max` already: the last place is for an
    /// account that administers connections, which is not known before the client has logged in.
    fn take(count: &Arc<AtomicUsize>, connections_max: usize) -> Option<Self> {
        let more = |current| (current <= connections_max).then_some(current + 1);
        count.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        Some(Self { count: Arc::clone(count), is_back: AtomicBool::new(false) })
    }

    fn give_back(&self) {
        if !self.is_back.swap(true, Ordering::AcqRel) {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// A connection's place among those that there may be, for as long as it lives.
#[derive(Debug)]
pub enum Place {
    /// One of `max_connections`, or the one beyond them.
    Limited(ConnectionPermit),
    /// One of an [`OwnLimit`].
    Own(ConnectionPermit),
    /// There are as many as come.
    Unlimited,
}

impl Place {
    /// Whether there are more than `connections_max` now, so that this is the place for an administrator.
    pub fn is_beyond(&self, connections_max: usize) -> bool {
        match self {
            Self::Limited(permit) => permit.count.load(Ordering::Acquire) > connections_max,
            Self::Own(_) | Self::Unlimited => false,
        }
    }

    /// Gives the place back before the connection has ended: to a client that is only told goodbye any more.
    pub fn give_back(&self) {
        match self {
            Self::Limited(permit) | Self::Own(permit) => permit.give_back(),
            Self::Unlimited => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_than_the_limit_has_a_place() {
        let count: Arc<AtomicUsize> = Arc::default();
        let take = || ConnectionLimit::Server.take(&count, 1);
        let first = take().expect("a place");
        assert!(!first.is_beyond(1));
        let second = take().expect("the last place");
        assert!(second.is_beyond(1));
        assert!(take().is_none());
        drop(first);
        assert!(!second.is_beyond(1));
        let third = take().expect("a place");
        third.give_back();
        third.give_back();
        drop(third);
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_limit_of_ones_own_is_met_exactly_and_may_change() {
        let (others, own) = (Arc::default(), Arc::new(OwnLimit::new(1)));
        let take = || ConnectionLimit::Own(own.clone()).take(&others, 0);
        let first = take().expect("a place");
        assert!(!first.is_beyond(0));
        assert!(take().is_none());
        own.set_max(2);
        let _second = take().expect("another place");
        assert_eq!((own.count(), others.load(Ordering::Relaxed)), (2, 0));
        own.set_max(0);
        drop(first);
        assert!(take().is_none());
    }
}
