//! The memory pool of all queries, as one session's queries see it: what they reserve is counted as the session's, too.

use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use squall_accounting::{MemoryBudget, SessionMemory};
use squall_functions::expr::sql_error_from;
use squall_types::SqlResult;
use std::sync::Arc;

/// The pool.
#[derive(Debug)]
pub(crate) struct CountedPool {
    pub pool: Arc<dyn MemoryPool>,
    pub session: Arc<SessionMemory>,
}

impl std::fmt::Display for CountedPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.pool.fmt(f)
    }
}

impl MemoryPool for CountedPool {
    fn name(&self) -> &str {
        self.pool.name()
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.pool.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.pool.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.pool.grow(reservation, additional);
        self.session.grow(additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.pool.shrink(reservation, shrink);
        self.session.shrink(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        self.pool.try_grow(reservation, additional)?;
        self.session.grow(additional);
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.pool.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.pool.memory_limit()
    }
}

/// The memory pool for what gathers outside of operators: all of it is one consumer that cannot spill.
#[derive(Debug)]
pub(crate) struct PoolBudget(MemoryReservation);

impl PoolBudget {
    pub fn new(pool: &Arc<dyn MemoryPool>) -> Self {
        Self(MemoryConsumer::new("what statements gather").register(pool))
    }
}

impl MemoryBudget for PoolBudget {
    fn take(&self, bytes: usize) -> SqlResult<()> {
        self.0.try_grow(bytes).map_err(sql_error_from)
    }

    fn give_back(&self, bytes: usize) {
        self.0.shrink(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::execution::memory_pool::FairSpillPool;

    #[test]
    fn reservations_are_the_pools_and_the_sessions() {
        let pool: Arc<dyn MemoryPool> = Arc::new(FairSpillPool::new(1000));
        let session = Arc::new(SessionMemory::default());
        let counted: Arc<dyn MemoryPool> = Arc::new(CountedPool { pool: pool.clone(), session: session.clone() });
        let reservation = MemoryConsumer::new("a sort").with_can_spill(true).register(&counted);
        reservation.try_grow(600).unwrap();
        assert!(reservation.try_grow(600).is_err());
        reservation.shrink(100);
        assert_eq!((pool.reserved(), session.reserved(), session.high()), (500, 500, 600));
        session.begin_statement();
        drop(reservation);
        assert_eq!((pool.reserved(), session.reserved(), session.statement_high()), (0, 0, 500));
    }
}
