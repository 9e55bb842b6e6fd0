//! Stored programs that a statement calls. If they run statements, these are parts of its transaction.

use squall_types::SqlResult;
use std::any::Any;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The runner of such programs while the statement exists.
pub trait ProgramSession: Any + Debug + Send + Sync {
    /// Programs may have the statement's transaction, until it is taken back; what it is lent as is the executor's `WeakTransaction`.
    fn lend(&self, transaction: Box<dyn Any + Send + Sync>);
}

/// The stored programs of a statement.
#[derive(Debug, Default)]
pub struct Programs {
    are_called: AtomicBool,
    session: OnceLock<Arc<dyn ProgramSession>>,
}

impl Clone for Programs {
    fn clone(&self) -> Self {
        Programs { are_called: AtomicBool::new(self.are_called()), session: self.session.clone() }
    }
}

impl Programs {
    /// The statement calls such a program: known when its expressions are bound, so its plan is kept for no other.
    pub fn note_call(&self) {
        self.are_called.store(true, Ordering::Relaxed);
    }

    /// Whether it calls any.
    pub fn are_called(&self) -> bool {
        self.are_called.load(Ordering::Relaxed)
    }

    /// Their runner; `make` makes it at the first call.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn session_or_make(
        &self,
        make: impl FnOnce() -> SqlResult<Arc<dyn ProgramSession>>,
    ) -> SqlResult<&Arc<dyn ProgramSession>> {
        match self.session.get() {
            Some(session) => Ok(session),
            None => {
                let made = make()?;
                Ok(self.session.get_or_init(|| made))
            }
        }
    }

    /// Their runner, if it exists already.
    pub fn session(&self) -> Option<&Arc<dyn ProgramSession>> {
        self.session.get()
    }
}
