//! EXPLAIN ALTER TABLE: the same checks as of the statement, and what it would do. Nothing is locked, and nothing changes.

use crate::alter::{check_rename, renamed_to};
use crate::alter_table::{Work, alter_table as resolve_alteration};
use crate::create::check_constraint_names;
use crate::execute::{DdlEnv, QualifiedName};
use squall_catalog::{Catalog, IndexDef, TableDef};
use squall_parser::ast::{AlterAction, AlterTable};
use squall_row_store::{RowStore, TableStatistics};
use squall_server_state::ServerState;
use squall_types::SqlResult;
use std::sync::Arc;

/// What an ALTER TABLE would do.
#[derive(Clone, Debug)]
pub struct AlterationEstimate {
    /// The table as it is, and as it would be.
    pub old: Arc<TableDef>,
    /// The definition afterwards.
    pub new: Arc<TableDef>,
    /// The work on the rows.
    pub work: Work,
    /// Whether others can write to the table meanwhile.
    pub is_online: bool,
    /// The keys that are built.
    pub new_keys: Vec<String>,
    /// Rows that the table has, by statistics.
    pub rows: u64,
    /// Bytes of its rows and keys.
    pub bytes: u64,
    /// Whether another ALTER TABLE can bring back what this one takes away.
    pub is_reversible: bool,
}

impl Work {
    /// The word of ALGORITHM= for it.
    pub fn algorithm(self) -> &'static str {
        match self {
            Work::Metadata => "INSTANT",
            Work::Indexes | Work::Rebuild => "INPLACE",
            Work::Copy => "COPY",
        }
    }
}

/// What ALTER TABLE of a base table, or of a TEMPORARY one, would do.
///
/// # Errors
/// Those that the statement has before it works on rows.
pub fn explain_alter(
    state: &ServerState,
    env: &DdlEnv,
    catalog: &Catalog,
    statement: &AlterTable,
    (name, old): (&QualifiedName, &Arc<TableDef>),
) -> SqlResult<AlterationEstimate> {
    let alteration = resolve_alteration(old, statement, &env.ddl_context(catalog, &name.0))?;
    if !old.temporary {
        check_constraint_names(catalog, &name.0, &alteration.table)?;
        check_rename(catalog, (name, old), renamed_to(env, name, statement)?.as_ref())?;
    }
    let is_new = |index: &&IndexDef| old.indexes.iter().all(|other| other.id != index.id);
    let new_keys = alteration.table.indexes.iter().filter(is_new).map(|index| index.name.clone()).collect();
    let sizes = sizes_of(&state.store, old)?;
    Ok(AlterationEstimate {
        old: old.clone(),
        work: alteration.work,
        is_online: alteration.is_online,
        new_keys,
        rows: sizes.row_count,
        bytes: sizes.data_bytes + sizes.index_bytes,
        is_reversible: is_reversible(statement, old, &alteration.table),
        new: Arc::new(alteration.table),
    })
}

fn sizes_of(store: &RowStore, table: &Arc<TableDef>) -> SqlResult<TableStatistics> {
    let data = store.table(table)?;
    let (statistics, level) = (store.table_stats(&data), store.level_bytes(&data)?);
    Ok(TableStatistics {
        data_bytes: statistics.data_bytes + level.data,
        index_bytes: statistics.index_bytes + level.index,
        ..statistics
    })
}

/// Whether no values go: columns stay, with their types, and partitions with their rows.
fn is_reversible(statement: &AlterTable, old: &TableDef, new: &TableDef) -> bool {
    let takes_rows =
        |action: &AlterAction| matches!(action, AlterAction::DropPartition { .. } | AlterAction::TruncatePartition(_));
    let keeps_column = |column: &squall_catalog::ColumnDef| {
        let now = new.ordinal(column.id).map(|ordinal| &new.columns[ordinal]);
        now.is_some_and(|now| now.sql_type == column.sql_type)
    };
    !statement.actions.iter().any(takes_rows) && old.columns.iter().all(keeps_column)
}
