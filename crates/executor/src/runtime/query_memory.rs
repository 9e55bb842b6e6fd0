//! The memory pool of all queries, whose size can be changed while they run.

use datafusion::common::Result;
use datafusion::execution::memory_pool::{FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use parking_lot::Mutex;
use std::sync::Arc;

/// The size of the pool below: larger than any limit.
const WHOLE: usize = usize::MAX / 4;

/// A [`FairSpillPool`] of which a part is taken for good: so much that the rest is the limit. The pool's own size cannot be changed; what is
/// taken can.
#[derive(Debug)]
pub(crate) struct QueryMemoryPool {
    fair: Arc<dyn MemoryPool>,
    /// What no query gets.
    taken: Mutex<MemoryReservation>,
}

impl QueryMemoryPool {
    /// A pool of as many bytes.
    pub fn new(bytes_max: usize) -> Self {
        let fair: Arc<dyn MemoryPool> = Arc::new(FairSpillPool::new(WHOLE));
        let taken = MemoryConsumer::new("beyond the limit").register(&fair);
        taken.grow(WHOLE - bytes_max.min(WHOLE));
        QueryMemoryPool { fair, taken: Mutex::new(taken) }
    }

    /// Changes the size, bytes. Queries that hold more get no more until they have given it back.
    pub fn set_limit(&self, bytes_max: usize) {
        let wanted = WHOLE - bytes_max.min(WHOLE);
        let taken = self.taken.lock();
        let now = taken.size();
        match wanted > now {
            true => taken.grow(wanted - now),
            false => taken.shrink(now - wanted),
        }
    }

    /// The size, bytes.
    pub fn limit(&self) -> usize {
        WHOLE - self.taken.lock().size()
    }
}

impl std::fmt::Display for QueryMemoryPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "query memory of {} bytes", self.limit())
    }
}

impl MemoryPool for QueryMemoryPool {
    fn name(&self) -> &str {
        "query memory"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.fair.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.fair.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.fair.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.fair.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        self.fair.try_grow(reservation, additional)
    }

    fn reserved(&self) -> usize {
        // The two are not read at one moment.
        self.fair.reserved().saturating_sub(self.taken.lock().size())
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.limit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_can_be_moved_while_memory_is_held() {
        let memory = Arc::new(QueryMemoryPool::new(1000));
        let pool: Arc<dyn MemoryPool> = memory.clone();
        let held = MemoryConsumer::new("a query").register(&pool);
        assert!(held.try_grow(600).is_ok());
        assert!(held.try_grow(600).is_err());
        assert_eq!((memory.reserved(), memory.limit()), (600, 1000));
        memory.set_limit(2000);
        assert!(held.try_grow(600).is_ok());
        memory.set_limit(100);
        assert_eq!((memory.reserved(), memory.limit()), (1200, 100));
        assert!(held.try_grow(1).is_err());
        held.shrink(1150);
        assert!(held.try_grow(50).is_ok());
        assert!(held.try_grow(1).is_err());
        drop(held);
        assert_eq!(memory.reserved(), 0);
    }

    #[test]
    fn what_can_spill_has_equal_shares_of_the_limit() {
        let memory = Arc::new(QueryMemoryPool::new(1000));
        let pool: Arc<dyn MemoryPool> = memory.clone();
        let sort = |name| MemoryConsumer::new(name).with_can_spill(true).register(&pool);
        let (first, second) = (sort("first"), sort("second"));
        assert!(first.try_grow(500).is_ok() && first.try_grow(1).is_err());
        memory.set_limit(2000);
        assert!(first.try_grow(500).is_ok() && second.try_grow(1000).is_ok());
        assert!(second.try_grow(1).is_err());
    }
}
