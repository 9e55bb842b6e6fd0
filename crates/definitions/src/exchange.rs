//! EXCHANGE PARTITION: exchanges a partition with a table; the time does not depend on their size.

use crate::edit::change_catalog;
use crate::execute::{DdlEnv, QualifiedName, base_table};
use crate::locked::{LockedTable, lock_tables};
use squall_catalog::{ColumnDef, IndexDef, IndexId, TableDef};
use squall_parser::ast::Ident;
use squall_row_store::{Direction, ValueRange};
use squall_server_state::ServerState;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};

/// `ALTER TABLE name EXCHANGE PARTITION partition WITH TABLE other`. Checks the rows of the other table, also WITHOUT VALIDATION:
/// no query would find a row in a wrong partition.
///
/// # Errors
/// 1505, 1731 to 1737, 1740; 1235 for tables whose storages cannot be exchanged.
pub fn exchange_partition(
    state: &ServerState,
    env: &DdlEnv,
    name: &QualifiedName,
    partition: &Ident,
    other: &QualifiedName,
) -> SqlResult<()> {
    let tables = lock_tables(state, env, |catalog| {
        base_table(catalog, name)?;
        base_table(catalog, other)?;
        Ok(vec![name.clone(), other.clone()])
    })?;
    let (whole, table) = (tables.base_table(name)?, tables.base_table(other)?);
    let number = storage_number(whole, partition)?;
    check_exchange(whole, table)?;
    let is_referred_to = |name: &QualifiedName| tables.catalog().references_to(&name.0, &name.1).next().is_some();
    if !table.foreign_keys.is_empty() || is_referred_to(other) {
        return Err(SqlError::new(ErrorCode::PartitionExchangeForeignKey, &[&table.name]));
    }
    check_rows(state, env, whole, table, number)?;
    change_catalog(state, |catalog| catalog.exchange(whole, number, table))
}

/// The number of the storage that is exchanged.
fn storage_number(table: &TableDef, partition: &Ident) -> SqlResult<usize> {
    let Some(partitioning) = &table.partitioning else {
        return Err(SqlError::new(ErrorCode::PartitionManagementOnNonPartitioned, &[]));
    };
    let found = partitioning.storages_named(partition);
    let found = found.ok_or_else(|| SqlError::new(ErrorCode::UnknownPartition, &[&partition.as_str(), &table.name]))?;
    match found.len() {
        1 if partitioning.subpartition.is_none() || partitioning.position(partition).is_none() => Ok(found.start),
        _ => Err(SqlError::new(ErrorCode::PartitionInsteadOfSubpartition, &[])),
    }
}

/// Both have the same columns and keys, kept in the same way.
fn check_exchange(whole: &TableDef, table: &TableDef) -> SqlResult<()> {
    if table.partitioning.is_some() {
        return Err(SqlError::new(ErrorCode::PartitionExchangePartitioned, &[&table.name]));
    }
    if table.temporary {
        return Err(SqlError::new(ErrorCode::PartitionExchangeTemporary, &[&table.name]));
    }
    let different = |attribute: &str| Err(SqlError::new(ErrorCode::PartitionExchangeOption, &[&attribute]));
    if whole.engine != table.engine {
        return different("ENGINE");
    }
    if whole.collation != table.collation {
        return different("CHARACTER SET");
    }
    if whole.options != table.options {
        return different("ROW_FORMAT");
    }
    let columns = |def: &TableDef| def.columns.iter().map(shape_of_column).collect::<Vec<_>>();
    let keys = |def: &TableDef| def.indexes.iter().map(|index| shape_of_index(def, index)).collect::<Vec<_>>();
    let checks = |def: &TableDef| {
        let checks = def.checks.iter().map(|check| (check.expression.clone(), check.enforced));
        checks.collect::<Vec<_>>()
    };
    if columns(whole) != columns(table) || keys(whole) != keys(table) || checks(whole) != checks(table) {
        return Err(SqlError::new(ErrorCode::TablesDifferentMetadata, &[]));
    }
    let ids = |def: &TableDef| {
        let columns: Vec<_> =
            def.columns.iter().map(|column| (column.id, column.value_for_older_rows.clone())).collect();
        (columns, def.indexes.iter().map(|index| index.id).collect::<Vec<IndexId>>())
    };
    if ids(whole) != ids(table) {
        let what = "EXCHANGE PARTITION with a table that was altered otherwise (make it with CREATE TABLE … LIKE)";
        return Err(SqlError::unsupported(what));
    }
    if whole.primary_key().is_none() {
        return Err(SqlError::unsupported("EXCHANGE PARTITION of a table without a primary key"));
    }
    Ok(())
}

/// The properties of columns that have to be equal.
fn shape_of_column(column: &ColumnDef) -> ColumnDef {
    ColumnDef {
        id: squall_catalog::ColumnId(0),
        comment: String::new(),
        invisible: false,
        value_for_older_rows: Value::Null,
        ..column.clone()
    }
}

/// The properties of keys that have to be equal: a part by its column's position.
fn shape_of_index(def: &TableDef, index: &IndexDef) -> (IndexDef, Vec<usize>) {
    let shape =
        IndexDef { id: IndexId(0), parts: Vec::new(), comment: String::new(), invisible: false, ..index.clone() };
    (shape, def.index_ordinals(index))
}

/// 1737 unless all rows of a table belong to a storage of another one.
fn check_rows(
    state: &ServerState,
    env: &DdlEnv,
    whole: &LockedTable,
    table: &LockedTable,
    number: usize,
) -> SqlResult<()> {
    let function = squall_planner::partition::bind_partitions(whole.def())?;
    let rows = state.store.table(table.def())?;
    let range = rows.range(IndexId(0), ValueRange::ALL)?;
    let mut cursor = state.store.read_view().scan(&rows, &range, Direction::Forward);
    while let Some(row) = cursor.next_row()? {
        env.context.kill.check()?;
        if !function.storage_of(&row.values(&rows)?).is_ok_and(|found| found == number) {
            return Err(SqlError::new(ErrorCode::RowDoesNotMatchPartition, &[]));
        }
    }
    Ok(())
}
