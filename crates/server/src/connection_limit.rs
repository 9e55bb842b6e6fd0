//! Limits the number of connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts a connection for as long as it lives.
#[derive(Debug)]
pub(crate) struct ConnectionPermit(Arc<AtomicUsize>);

impl ConnectionPermit {
    /// Counts one more connection, unless there is one more than `connections_max` already: the last place is for an
    /// account that administers connections, which is not known before the client has logged in.
    pub(crate) fn take(count: &Arc<AtomicUsize>, connections_max: usize) -> Option<Self> {
        let more = |current| (current <= connections_max).then_some(current + 1);
        count.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        Some(Self(Arc::clone(count)))
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A connection's place among those that there may be.
#[derive(Debug)]
pub(crate) enum Place {
    /// One of `max_connections`, or the one beyond them.
    Limited(ConnectionPermit),
    /// The administrative interface has as many as come.
    Unlimited,
}

impl Place {
    /// Whether there are more than `connections_max` now, so that this is the place for an administrator.
    pub(crate) fn is_beyond(&self, connections_max: usize) -> bool {
        match self {
            Self::Limited(permit) => permit.0.load(Ordering::Acquire) > connections_max,
            Self::Unlimited => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_than_the_limit_has_a_place() {
        let count = Arc::default();
        let first = ConnectionPermit::take(&count, 1).map(Place::Limited).expect("a place");
        assert!(!first.is_beyond(1));
        let second = ConnectionPermit::take(&count, 1).map(Place::Limited).expect("the last place");
        assert!(second.is_beyond(1));
        assert!(ConnectionPermit::take(&count, 1).is_none());
        drop(first);
        assert!(!second.is_beyond(1));
        assert!(ConnectionPermit::take(&count, 1).is_some());
    }
}
