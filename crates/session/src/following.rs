//! Following a table.

use crate::result::followed_table::FollowedTable;
use crate::session::Session;
use squall_catalog::TableEntry;
use squall_row_store::OnChanges;
use squall_types::{ErrorCode, SqlError, SqlResult};

impl Session {
    /// See [`Connection::follow_table`](crate::api::Connection::follow_table).
    pub(crate) fn followed_table(
        &mut self,
        database: &str,
        table: &str,
        from: Option<u64>,
        on_changes: OnChanges,
    ) -> SqlResult<Option<FollowedTable>> {
        self.refresh_access();
        if !self.identity.access.sees_table(database, table) {
            return Err(self.security().table_denied("SELECT", table));
        }
        let catalog = self.shared.catalog.load();
        let Some(TableEntry::Table(def)) = catalog.entry(database, table) else {
            return Err(SqlError::new(ErrorCode::NoSuchTable, &[&database, &table]));
        };
        let follower = self.shared.store.follow(&self.shared.store.table(def)?, from, on_changes);
        let time_zone = self.settings.bind.time_zone.clone();
        Ok(follower.ok().map(|follower| FollowedTable::new(follower, def, time_zone)))
    }
}
