//! Runs sessions on threads that serve no connection.

use squall_types::{SqlError, SqlResult};
use std::cell::RefCell;
use tokio::runtime::Runtime;

thread_local! {
    /// The runtime of sessions on a thread that serves no connection.
    static RUNTIME: RefCell<Option<Runtime>> = const { RefCell::new(None) };
}

/// Runs a session's future to its end, on a thread that may block and belongs to no runtime.
///
/// # Errors
/// If it cannot be run.
pub fn run_on_this_thread<T>(work: impl Future<Output = T>) -> SqlResult<T> {
    RUNTIME.with_borrow_mut(|runtime| {
        let runtime = match runtime {
            Some(runtime) => runtime,
            None => {
                let made = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.insert(made.map_err(SqlError::internal)?)
            }
        };
        Ok(runtime.block_on(work))
    })
}
