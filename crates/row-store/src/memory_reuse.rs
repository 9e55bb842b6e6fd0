//! Keeps freed memory for bulk work, which soon takes the same amount again. If the allocator returned it to the system, the system
//! would clear it each time: a third of the processor time of a load of six million rows.

use parking_lot::Mutex;
use std::sync::Arc;

/// Tells the allocator, through a function of the program's, when freed memory should be kept.
#[derive(Debug)]
pub(crate) struct MemoryReuse {
    tell: Option<fn(bool)>,
    /// How many are at bulk work now.
    users: Mutex<usize>,
}

/// Freed memory is kept for as long as there is one of these.
#[derive(Debug)]
pub(crate) struct MemoryKept(Arc<MemoryReuse>);

impl MemoryReuse {
    /// `tell` is called with `true` when the first begins, and with `false` when the last has ended.
    pub fn new(tell: Option<fn(bool)>) -> MemoryReuse {
        MemoryReuse { tell, users: Mutex::new(0) }
    }

    /// Begins.
    pub fn begin(self: &Arc<Self>) -> MemoryKept {
        let mut users = self.users.lock();
        *users += 1;
        if let Some(tell) = self.tell.filter(|_| *users == 1) {
            tell(true);
        }
        MemoryKept(self.clone())
    }
}

impl Drop for MemoryKept {
    fn drop(&mut self) {
        let mut users = self.0.users.lock();
        *users -= 1;
        if let Some(tell) = self.0.tell.filter(|_| *users == 0) {
            tell(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI64, Ordering};

    /// Calls with `true` less those with `false`, and 100 for each call.
    static TOLD: AtomicI64 = AtomicI64::new(0);

    fn tell(keep: bool) {
        TOLD.fetch_add(if keep { 101 } else { 99 }, Ordering::Relaxed);
    }

    #[test]
    fn the_first_and_the_last_are_told() {
        let reuse = Arc::new(MemoryReuse::new(Some(tell)));
        let (first, second) = (reuse.begin(), reuse.begin());
        assert_eq!(TOLD.load(Ordering::Relaxed), 101);
        drop(first);
        assert_eq!(TOLD.load(Ordering::Relaxed), 101);
        drop(second);
        assert_eq!(TOLD.load(Ordering::Relaxed), 200);
        drop(reuse.begin());
        assert_eq!(TOLD.load(Ordering::Relaxed), 400);
    }
}
