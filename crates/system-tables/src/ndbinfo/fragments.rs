//! What was done with partitions of tables, and their memory. A table's counts are shown at its first partition.

use super::catalogue::{USER_TABLE_NAME, base_tables, full_name};
use super::{NdbTable, Rows, node};
use crate::performance_objects::{all_of, rows_by_table};
use crate::source::Source;
use crate::spec::{no_rows, s, u};
use squall_catalog::{Database, TableDef};
use squall_registry::VirtualScan;
use squall_types::Value;
use std::sync::Arc;

pub(super) const TABLES: &[NdbTable] = &[
    NdbTable {
        name: "operations_per_fragment",
        comment: "rows that were read and changed, by partition",
        columns: "fq_name:v512 parent_fq_name:v512? type:v512 table_id:w node_id:w block_instance:w fragment_num:w tot_key_reads:u \
                  tot_key_inserts:u tot_key_updates:u tot_key_writes:u tot_key_deletes:u tot_key_refs:u tot_key_attrinfo_bytes:u \
                  tot_key_keyinfo_bytes:u tot_key_prog_bytes:u tot_key_inst_exec:u tot_key_bytes_returned:u tot_frag_scans:u \
                  tot_scan_rows_examined:u tot_scan_rows_returned:u tot_scan_bytes_returned:u tot_scan_prog_bytes:u \
                  tot_scan_bound_bytes:u tot_scan_inst_exec:u tot_qd_frag_scans:u conc_frag_scans:w conc_qd_frag_scans:w tot_commits:u",
        rows: operations,
    },
    NdbTable {
        name: "memory_per_fragment",
        comment: "bytes and rows, by partition",
        columns: "fq_name:v512 parent_fq_name:v512? type:v512 table_id:w node_id:w block_instance:w fragment_num:w \
                  fixed_elem_alloc_bytes:u fixed_elem_free_bytes:u fixed_elem_size_bytes:w fixed_elem_count:u fixed_elem_free_count:u \
                  var_elem_alloc_bytes:u var_elem_free_bytes:u var_elem_count:u hash_index_alloc_bytes:u",
        rows: memory,
    },
    // Locks are not counted by table.
    NdbTable {
        name: "locks_per_fragment",
        comment: "row locks, by partition",
        columns: "fq_name:v512 parent_fq_name:v512? type:v512 table_id:w node_id:w block_instance:w fragment_num:w ex_req:u ex_imm_ok:u \
                  ex_wait_ok:u ex_wait_fail:u sh_req:u sh_imm_ok:u sh_wait_ok:u sh_wait_fail:u wait_ok_millis:u wait_fail_millis:u",
        rows: no_rows,
    },
];

/// The columns that say which fragment it is.
fn identity(database: &Database, table: &TableDef) -> Vec<Value> {
    let mut row = vec![s(full_name(database, table)), Value::Null, s(USER_TABLE_NAME), u(u64::from(table.id.0))];
    row.extend([node(), u(0), u(0)]);
    row
}

fn operations(source: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let counted = rows_by_table(source);
    let row = |(database, table): (&Database, &Arc<TableDef>)| {
        let totals = all_of(&counted, table);
        let scanned = counted.get(&(table.id, None)).map_or(0, |scanned| scanned.fetched.count);
        let by_key = totals.fetched.count - scanned.min(totals.fetched.count);
        let mut row = identity(database, table);
        row.extend([by_key, totals.inserted.count, totals.updated.count, 0, totals.deleted.count].map(u));
        row.extend([0, 0, 0, 0, 0, 0, 0].map(u));
        row.extend([scanned, scanned, 0, 0, 0, 0, 0, 0, 0, totals.written().count].map(u));
        row
    };
    Ok(base_tables(source).map(row).collect())
}

fn memory(source: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let store = &source.state.store;
    let row = |(database, table): (&Database, &Arc<TableDef>)| {
        let data = store.table(table)?;
        let (sizes, level) = (store.table_stats(&data), store.level_bytes(&data)?);
        let mut row = identity(database, table);
        row.extend([0, 0, 0, 0, 0, sizes.data_bytes + level.data, 0, sizes.row_count].map(u));
        row.push(u(sizes.index_bytes + level.index));
        Ok(row)
    };
    base_tables(source).map(row).collect()
}
