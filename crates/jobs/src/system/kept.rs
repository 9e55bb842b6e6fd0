//! The bytes that the ended durable jobs of a kind use.

use crate::system::job::JobInfo;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts, of one kind.
#[derive(Debug)]
pub(crate) struct Kept {
    bytes: AtomicU64,
    bytes_max: AtomicU64,
    /// Jobs that were removed to free space.
    removed_for_room: AtomicU64,
    /// No job has a lower number, and none will.
    first: AtomicU64,
}

/// The bytes of an ended job: its payload, its output, and the text of its failure.
pub(crate) fn bytes_of(info: &JobInfo, payload: &[u8]) -> u64 {
    let message = info.error.as_ref().map_or(0, |error| error.message.len());
    (payload.len() + message) as u64 + info.output_bytes.unwrap_or(0)
}

/// What has to go, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Surplus {
    pub needed: u64,
    /// So much should go too, so that it is not soon too much again.
    pub slack: u64,
}

impl Kept {
    pub fn new(bytes_max: u64) -> Kept {
        Kept {
            bytes: AtomicU64::new(0),
            bytes_max: AtomicU64::new(bytes_max),
            removed_for_room: AtomicU64::new(0),
            first: AtomicU64::new(0),
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// A job has ended; whether that is too much now.
    pub fn add(&self, bytes: u64) -> bool {
        self.bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > self.bytes_max()
    }

    /// A job that had ended is removed.
    pub fn subtract(&self, bytes: u64) {
        let less = |kept: u64| Some(kept.saturating_sub(bytes));
        let _known = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    pub fn bytes_max(&self) -> u64 {
        self.bytes_max.load(Ordering::Relaxed)
    }

    pub fn set_bytes_max(&self, bytes: u64) {
        self.bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// What has to go, if anything has.
    pub fn surplus(&self) -> Option<Surplus> {
        let (bytes, most) = (self.bytes(), self.bytes_max());
        (bytes > most).then(|| Surplus { needed: bytes - most, slack: most / 16 })
    }

    pub fn count_removed_for_room(&self, jobs: u64) {
        self.removed_for_room.fetch_add(jobs, Ordering::Relaxed);
    }

    pub fn removed_for_room(&self) -> u64 {
        self.removed_for_room.load(Ordering::Relaxed)
    }

    /// Where to begin to look for the oldest jobs.
    pub fn first(&self) -> u64 {
        self.first.load(Ordering::Relaxed)
    }

    pub fn set_first(&self, number: u64) {
        self.first.fetch_max(number, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_goes_and_a_little_more() {
        let kept = Kept::new(1600);
        assert!(!kept.add(1600) && kept.surplus().is_none());
        assert!(kept.add(10));
        assert_eq!(kept.surplus(), Some(Surplus { needed: 10, slack: 100 }));
        kept.subtract(110);
        assert_eq!((kept.bytes(), kept.surplus()), (1500, None));
        kept.set_bytes_max(u64::MAX);
        kept.subtract(u64::MAX);
        assert!(!kept.add(u64::MAX) && kept.surplus().is_none());
    }
}
