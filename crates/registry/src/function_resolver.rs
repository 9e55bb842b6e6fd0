//! Functions that modules add and remove while the server runs.

use crate::function::ScalarFunction;
use std::fmt::Debug;
use std::sync::Arc;

/// Finds functions that were not declared at the start.
///
/// A declared function of the same name goes first. Expressions of table definitions (defaults, generated columns, CHECK) may not call
/// functions that are found here, since those may be gone when a row is written.
pub trait FunctionResolver: Debug + Send + Sync {
    /// The function of this name, which is in upper case, if there is one now.
    fn scalar(&self, name: &str) -> Option<Arc<dyn ScalarFunction>>;

    /// A number that grows whenever a function comes, goes or is replaced. Plans that were made at another number are not used again.
    fn version(&self) -> u64;
}
