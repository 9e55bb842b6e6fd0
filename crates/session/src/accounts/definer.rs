//! Views, triggers and events lose their definer when the account is dropped, and get it when the account is created.

use crate::database::Shared;
use crate::session::Session;
use squall_catalog::{AccountKey, TableDef, TableEntry};
use squall_server_state::accounts::quoted;
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, Level, SqlError, SqlResult};

impl Session {
    /// 4006 when one of several accounts is named as a definer; 4005 as a warning with ALLOW_NONEXISTENT_DEFINER. SUPER
    /// does not stand for it. The accounts are locked, so that nothing is made meanwhile that names them.
    pub(super) fn check_not_definers<'k>(
        &self,
        operation: &str,
        keys: impl IntoIterator<Item = &'k AccountKey>,
        context: &StatementContext,
    ) -> SqlResult<()> {
        let may_orphan = self.identity.access.dynamic.contains("ALLOW_NONEXISTENT_DEFINER");
        for key in keys {
            for kind in kinds_defined_by(&self.shared, key) {
                if !may_orphan {
                    let error = ErrorCode::CannotUserReferencedAsDefiner;
                    return Err(SqlError::new(error, &[&operation, &quoted(key), &kind]));
                }
                let warning = SqlError::new(ErrorCode::UserReferencedAsDefiner, &[&quoted(key), &kind]);
                context.diagnostics.push(Level::Warning, warning);
            }
        }
        Ok(())
    }
}

/// The kinds of objects that name an account as their definer.
fn kinds_defined_by(shared: &Shared, key: &AccountKey) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    if shared.events.list().iter().any(|event| event.definer == *key) {
        kinds.push("an event");
    }
    let definer = format!("{}@{}", key.user, key.host);
    let catalog = shared.catalog.load();
    let mut entries = catalog.databases().values().flat_map(|database| database.tables.values());
    if entries.any(|entry| matches!(entry, TableEntry::View(view) if view.definer == definer)) {
        kinds.push("a view");
    }
    let mut entries = catalog.databases().values().flat_map(|database| database.tables.values());
    let defines = |table: &TableDef| table.triggers.iter().any(|trigger| trigger.definer == *key);
    if entries.any(|entry| matches!(entry, TableEntry::Table(table) if defines(table))) {
        kinds.push("a trigger");
    }
    if catalog.databases().values().flat_map(|database| database.routines.values()).any(|def| def.definer == *key) {
        kinds.push("a stored routine");
    }
    kinds
}
