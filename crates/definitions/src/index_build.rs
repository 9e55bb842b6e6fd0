//! Builds the new keys of a definition, alone or beside writers.

use crate::alter_table::Alteration;
use crate::execute::DdlEnv;
use crate::progress::Progress;
use squall_catalog::{IndexDef, IndexId, TableDef};
use squall_row_store::OnlineIndexBuild;
use squall_server_state::ServerState;
use squall_statement_context::StatementContext;
use squall_types::{SqlError, SqlResult};
use std::sync::Arc;
use std::time::Instant;

/// Builds the new keys of a definition while others write to the table, up to the last changes.
pub(crate) fn build_keys_online(
    state: &ServerState,
    env: &DdlEnv,
    old: &Arc<TableDef>,
    alteration: &Alteration,
) -> SqlResult<OnlineIndexBuild> {
    let new = Arc::new(alteration.table.clone());
    let indexes = new_keys_with_entries(old, &new);
    let table = state.store.table(old)?;
    let progress = Progress::begin(state, env.session, &table);
    let check = |rows| {
        progress.add(rows);
        env.context.kill.check()
    };
    let began = Instant::now();
    let build = state.store.build_indexes_online(&new, &indexes, &check).map_err(SqlError::from)?;
    let rows = state.store.table_stats(&table).row_count;
    state.definition_times.build_index.note(rows.saturating_mul(indexes.len() as u64), began.elapsed());
    Ok(build)
}

/// The new keys of a definition that have entries in the table.
fn new_keys_with_entries(old: &TableDef, new: &TableDef) -> Vec<IndexId> {
    let is_new = |index: &&IndexDef| old.indexes.iter().all(|other| other.id != index.id);
    let has_entries = |index: &&IndexDef| !index.is_bitmap() && !index.has_no_entries();
    new.indexes.iter().filter(is_new).filter(has_entries).map(|index| index.id).collect()
}

/// Builds the new keys of a definition of a table that nobody else uses.
pub(crate) fn build_keys(
    state: &ServerState,
    context: &StatementContext,
    old: &TableDef,
    new: &Arc<TableDef>,
) -> SqlResult<()> {
    let table = state.store.table(new)?;
    let fresh = new_keys_with_entries(old, new);
    let progress = Progress::begin(state, context.connection_id, &table);
    let check = |rows| {
        progress.add(rows);
        context.kill.check()
    };
    let began = Instant::now();
    state.store.build_indexes(&table, &fresh, &check).map_err(SqlError::from)?;
    let rows = state.store.table_stats(&table).row_count;
    state.definition_times.build_index.note(rows.saturating_mul(fresh.len() as u64), began.elapsed());
    let is_new = |index: &&IndexDef| index.is_vector() && old.indexes.iter().all(|other| other.id != index.id);
    for index in new.indexes.iter().filter(is_new) {
        state.store.build_vector_index(&table, index.id, &check)?;
    }
    Ok(())
}
