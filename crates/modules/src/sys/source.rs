//! Where the tables of the schema find the database.

use parking_lot::RwLock;
use squall_session::{Database, WeakDatabase};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

/// The database; none before the start. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Source(Arc<RwLock<Option<WeakDatabase>>>);

impl Source {
    /// The server has started.
    pub fn set(&self, database: &Database) {
        *self.0.write() = Some(database.downgrade());
    }

    /// # Errors
    /// 1053 before the start and after the end.
    pub fn database(&self) -> SqlResult<Database> {
        let database = self.0.read().as_ref().and_then(WeakDatabase::upgrade);
        database.ok_or_else(|| SqlError::new(ErrorCode::ServerShutdown, &[]))
    }
}
