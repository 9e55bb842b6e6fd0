//! Work that is done before a change of rows goes to another thread.

use squall_types::SqlResult;
use std::sync::atomic::{AtomicBool, Ordering};

/// The action before a change of rows goes to the query pool, where it may wait.
pub(crate) enum BeforePool {
    /// This is called, the first time.
    Announce { announce: Box<dyn Fn() -> SqlResult<()> + Send + Sync>, is_done: AtomicBool },
    /// It does not go: the session that runs it gives it up.
    GiveUp,
}

impl BeforePool {
    /// A change goes to the pool.
    pub async fn pass(&self) -> SqlResult<()> {
        match self {
            BeforePool::Announce { is_done, .. } if is_done.swap(true, Ordering::Relaxed) => Ok(()),
            BeforePool::Announce { announce, .. } => announce(),
            BeforePool::GiveUp => std::future::pending().await,
        }
    }
}

impl std::fmt::Debug for BeforePool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            BeforePool::Announce { .. } => "Announce",
            BeforePool::GiveUp => "GiveUp",
        })
    }
}
