//! Memory that a session's statements have reserved.

use squall_types::SqlResult;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The memory that all sessions share.
pub trait MemoryBudget: std::fmt::Debug + Send + Sync {
    /// Takes this many bytes of it; error 1041 if there are none left.
    fn take(&self, bytes: usize) -> SqlResult<()>;
    /// Gives them back.
    fn give_back(&self, bytes: usize);
}

/// The reservations of one session's statements, and their maximum, in bytes.
#[derive(Debug, Default)]
pub struct SessionMemory {
    reserved: AtomicUsize,
    statement_high: AtomicUsize,
    high: AtomicUsize,
    /// Where [`Charge`]s come from; without one they are counted and nothing else.
    budget: OnceLock<Arc<dyn MemoryBudget>>,
}

impl SessionMemory {
    /// The pool of its [`Charge`]s. The first one stays.
    pub fn set_budget(&self, budget: Arc<dyn MemoryBudget>) {
        let _ = self.budget.set(budget);
    }

    /// A charge of nothing yet, for something that gathers.
    pub fn charge(self: &Arc<Self>) -> Charge {
        Charge { memory: self.clone(), bytes: 0 }
    }

    /// So much more is reserved.
    pub fn grow(&self, bytes: usize) {
        let reserved = self.reserved.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.statement_high.fetch_max(reserved, Ordering::Relaxed);
        self.high.fetch_max(reserved, Ordering::Relaxed);
    }

    /// So much is released.
    pub fn shrink(&self, bytes: usize) {
        self.reserved.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The current reservation.
    pub fn reserved(&self) -> usize {
        self.reserved.load(Ordering::Relaxed)
    }

    /// The most there was since the session's begin.
    pub fn high(&self) -> usize {
        self.high.load(Ordering::Relaxed)
    }

    /// A statement begins.
    pub fn begin_statement(&self) {
        self.statement_high.store(self.reserved(), Ordering::Relaxed);
    }

    /// The most there was since then.
    pub fn statement_high(&self) -> usize {
        self.statement_high.load(Ordering::Relaxed)
    }
}

/// Memory that something holds which gathers outside of a plan's operators. It is released when this is dropped.
#[derive(Debug)]
pub struct Charge {
    memory: Arc<SessionMemory>,
    bytes: usize,
}

impl Charge {
    /// Sizes that differ by less than this count as the same.
    const STEP_BYTES: usize = 64 << 10;

    /// The charged bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// It holds this many bytes now; error 1041 if they are not available, and then what was charged before stays.
    pub fn resize(&mut self, bytes: usize) -> SqlResult<()> {
        let bytes = match bytes {
            0 => 0,
            bytes => bytes.checked_next_multiple_of(Self::STEP_BYTES).unwrap_or(bytes),
        };
        if bytes > self.bytes {
            let more = bytes - self.bytes;
            if let Some(budget) = self.memory.budget.get() {
                budget.take(more)?;
            }
            self.memory.grow(more);
        } else if bytes < self.bytes {
            self.give_back(self.bytes - bytes);
        }
        self.bytes = bytes;
        Ok(())
    }

    fn give_back(&self, bytes: usize) {
        if let Some(budget) = self.memory.budget.get() {
            budget.give_back(bytes);
        }
        self.memory.shrink(bytes);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.give_back(self.bytes);
    }
}

/// A charge for something that tells its size as it grows.
#[derive(Debug)]
pub struct GrowingCharge {
    charge: Charge,
    held: usize,
    /// The size at which more is charged.
    next: usize,
}

impl GrowingCharge {
    /// Bytes that are gathered between two charges.
    const STEP_BYTES: usize = 256 << 10;

    /// For something empty of a session.
    pub fn new(memory: &Arc<SessionMemory>) -> Self {
        Self { charge: memory.charge(), held: 0, next: Self::STEP_BYTES }
    }

    /// What is charged of it, bytes: nothing while it is small.
    pub fn bytes(&self) -> usize {
        self.charge.bytes()
    }

    /// It holds this many bytes more.
    pub fn grow(&mut self, bytes: usize) -> SqlResult<()> {
        self.held = self.held.saturating_add(bytes);
        if self.held < self.next {
            return Ok(());
        }
        self.charge.resize(self.held)?;
        self.next = self.held.saturating_add(Self::STEP_BYTES);
        Ok(())
    }

    /// It holds this many bytes less.
    pub fn shrink(&mut self, bytes: usize) {
        self.held = self.held.saturating_sub(bytes);
        if self.held + 2 * Self::STEP_BYTES < self.charge.bytes() {
            // Less is always available.
            let _ = self.charge.resize(self.held);
            self.next = self.held.saturating_add(Self::STEP_BYTES);
        }
    }

    /// It holds nothing any more.
    pub fn clear(&mut self) {
        self.shrink(self.held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_types::{ErrorCode, SqlError};

    /// A budget of this many bytes.
    #[derive(Debug)]
    struct Few(AtomicUsize);

    impl MemoryBudget for Few {
        fn take(&self, bytes: usize) -> SqlResult<()> {
            let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
            taken.map(|_| ()).map_err(|_| SqlError::new(ErrorCode::OutOfResources, &[]))
        }

        fn give_back(&self, bytes: usize) {
            self.0.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    #[test]
    fn charges_are_taken_and_given_back() {
        let (memory, few) = (Arc::new(SessionMemory::default()), Arc::new(Few(AtomicUsize::new(1 << 20))));
        memory.set_budget(few.clone());
        let mut charge = memory.charge();
        charge.resize(600_000).unwrap();
        assert!(charge.resize(2 << 20).unwrap_err().is(ErrorCode::OutOfResources));
        assert_eq!((charge.bytes(), memory.reserved()), (655_360, 655_360));
        let mut growing = GrowingCharge::new(&memory);
        growing.grow(300_000).unwrap();
        assert_eq!(memory.reserved(), 655_360 + 327_680);
        assert!(growing.grow(300_000).unwrap_err().is(ErrorCode::OutOfResources));
        charge.resize(10).unwrap();
        assert_eq!(charge.bytes(), 65_536);
        growing.grow(1).unwrap();
        drop((charge, growing));
        assert_eq!((memory.reserved(), few.0.load(Ordering::Relaxed)), (0, 1 << 20));
    }
}
