//! Stored programs that a statement calls. If they run statements, these are parts of its transaction.

use std::any::Any;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The runner of such programs while the statement exists.
pub trait ProgramRunner: Any + Debug + Send + Sync {
    /// Programs may have the statement's transaction, until it is taken back; what it is lent as is the executor's `WeakTransaction`.
    fn lend(&self, transaction: Box<dyn Any + Send + Sync>);
}

/// The stored programs of a statement.
#[derive(Debug, Default)]
pub struct Programs {
    are_called: AtomicBool,
    may_assign: AtomicBool,
    variables_read: AtomicU64,
    runner: OnceLock<Arc<dyn ProgramRunner>>,
}

impl Clone for Programs {
    fn clone(&self) -> Self {
        Programs {
            are_called: AtomicBool::new(self.are_called()),
            may_assign: AtomicBool::new(self.may_assign()),
            variables_read: AtomicU64::default(),
            runner: self.runner.clone(),
        }
    }
}

impl Programs {
    /// The statement calls such a program: known when its expressions are bound, so its plan is kept for no other.
    pub fn note_call(&self) {
        self.are_called.store(true, Ordering::Relaxed);
        self.note_assignments();
    }

    /// Programs of the statement may assign user variables.
    pub fn note_assignments(&self) {
        self.may_assign.store(true, Ordering::Relaxed);
    }

    /// Whether user variables may have other values as the statement goes on.
    pub fn may_assign(&self) -> bool {
        self.may_assign.load(Ordering::Relaxed)
    }

    /// An expression that is bound reads a user variable.
    pub fn note_variable(&self) {
        self.variables_read.fetch_add(1, Ordering::Relaxed);
    }

    /// How often one did.
    pub fn variables_read(&self) -> u64 {
        self.variables_read.load(Ordering::Relaxed)
    }

    /// Whether it calls any.
    pub fn are_called(&self) -> bool {
        self.are_called.load(Ordering::Relaxed)
    }

    /// Their runner; `make` makes it at the first call.
    pub fn runner_or_make(&self, make: impl FnOnce() -> Arc<dyn ProgramRunner>) -> &Arc<dyn ProgramRunner> {
        self.runner.get_or_init(make)
    }

    /// Their runner, if it exists already.
    pub fn runner(&self) -> Option<&Arc<dyn ProgramRunner>> {
        self.runner.get()
    }
}
