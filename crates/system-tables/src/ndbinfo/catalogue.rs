//! Tables and keys, as the reader may see them.

use super::{NODE, NdbTable, Rows, node};
use crate::source::Source;
use crate::spec::{no_rows, s, s_or_null, u};
use squall_catalog::{Database, IndexDef, TableDef, TableEntry};
use squall_registry::VirtualScan;
use std::sync::Arc;

/// NDB's numbers of kinds of objects.
const SYSTEM_TABLE: u64 = 1;
const USER_TABLE: u64 = 2;
const UNIQUE_INDEX: u64 = 3;
const ORDERED_INDEX: u64 = 6;

const TYPES: [(u64, &str); 8] = [
    (SYSTEM_TABLE, "System table"),
    (USER_TABLE, "User table"),
    (UNIQUE_INDEX, "Unique hash index"),
    (4, "Hash index"),
    (5, "Unique ordered index"),
    (ORDERED_INDEX, "Ordered index"),
    (7, "Hash index trigger"),
    (8, "Subscription trigger"),
];

/// NDB's number for an object that is in use.
const ONLINE: u64 = 4;

const REPLICA: &str = "node_id:w table_id:w fragment_id:w initial_gci:w replica_node_id:w is_lcp_ongoing:w num_crashed_replicas:w \
     last_max_gci_started:w last_max_gci_completed:w last_lcp_id:w prev_lcp_id:w prev_max_gci_started:w prev_max_gci_completed:w \
     last_create_gci:w last_replica_gci:w is_replica_alive:w";

pub(super) const TABLES: &[NdbTable] = &[
    NdbTable {
        name: "dict_obj_types",
        comment: "kinds of objects of the dictionary",
        columns: "type_id:w type_name:v512",
        rows: |_, _| Ok(TYPES.iter().map(|(id, name)| vec![u(*id), s(*name)]).collect()),
    },
    NdbTable {
        name: "dict_obj_info",
        comment: "tables and keys",
        columns: "type:w id:w version:w state:w parent_obj_type:w parent_obj_id:w fq_name:v512",
        rows: objects,
    },
    NdbTable {
        name: "table_info",
        comment: "how tables are stored",
        columns: "table_id:w logged_table:w row_contains_gci:w row_contains_checksum:w read_backup:w fully_replicated:w storage_type:v512 \
                  hashmap_id:w partition_balance:v512? create_gci:w",
        rows: table_info,
    },
    NdbTable {
        name: "table_distribution_status",
        comment: "partitions of tables, and what is done with them",
        columns: "node_id:w table_id:w tab_copy_status:v512 tab_update_status:v512 tab_lcp_status:v512 tab_status:v512 tab_storage:v512 \
                  tab_partitions:w tab_fragments:w current_scan_count:w scan_count_wait:w is_reorg_ongoing:w",
        rows: distribution,
    },
    NdbTable {
        name: "table_fragments",
        comment: "where partitions are",
        columns: "node_id:w table_id:w partition_id:w fragment_id:w partition_order:w log_part_id:w no_of_replicas:w current_primary:w \
                  preferred_primary:w current_first_backup:w current_second_backup:w current_third_backup:w num_alive_replicas:w \
                  num_dead_replicas:w num_lcp_replicas:w",
        rows: fragments,
    },
    // A partition has no copies on other nodes.
    NdbTable { name: "table_replicas", comment: "copies of partitions", columns: REPLICA, rows: no_rows },
];

/// The base tables that the reader may see.
pub(super) fn base_tables<'s>(source: &'s Source<'_>) -> impl Iterator<Item = (&'s Database, &'s Arc<TableDef>)> {
    source.entries(None, None).filter_map(|(database, _, entry)| match entry {
        TableEntry::Table(table) => Some((database, table)),
        TableEntry::View(_) => None,
    })
}

/// The name that NDB gives a table.
pub(super) fn full_name(database: &Database, table: &TableDef) -> String {
    format!("{}/def/{}", database.name, table.name)
}

/// The word for a table among [`TYPES`].
pub(super) const USER_TABLE_NAME: &str = "User table";

/// How many partitions a table has; one if it has none.
pub(super) fn fragment_count(table: &TableDef) -> u64 {
    table.partitioning.as_ref().map_or(1, |partitioning| partitioning.storages().count() as u64).max(1)
}

fn objects(source: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let mut rows = Vec::new();
    for (database, table) in base_tables(source) {
        let id = u64::from(table.id.0);
        let name = full_name(database, table);
        rows.push(vec![u(USER_TABLE), u(id), u(table.version), u(ONLINE), u(0), u(0), s(&name)]);
        rows.extend(table.indexes.iter().filter(|index| !index.primary).map(|index: &IndexDef| {
            let kind = if index.unique { UNIQUE_INDEX } else { ORDERED_INDEX };
            let own = format!("sys/def/{id}/{}", index.name);
            vec![u(kind), u(u64::from(index.id.0)), u(table.version), u(ONLINE), u(USER_TABLE), u(id), s(own)]
        }));
    }
    Ok(rows)
}

fn table_info(source: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let row = |(_, table): (&Database, &Arc<TableDef>)| {
        let mut row = vec![u(u64::from(table.id.0)), u(1), u(0), u(1), u(0), u(0), s("DISK")];
        row.extend([u(0), s_or_null(None::<&str>), u(0)]);
        row
    };
    Ok(base_tables(source).map(row).collect())
}

fn distribution(source: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let row = |(_, table): (&Database, &Arc<TableDef>)| {
        let mut row = vec![node(), u(u64::from(table.id.0))];
        row.extend(["IDLE", "IDLE", "COMPLETED", "ACTIVE", "NORMAL"].map(s));
        row.extend([u(fragment_count(table)), u(fragment_count(table)), u(0), u(0), u(0)]);
        row
    };
    Ok(base_tables(source).map(row).collect())
}

fn fragments(source: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let mut rows = Vec::new();
    for (_, table) in base_tables(source) {
        for fragment in 0..fragment_count(table) {
            let mut row = vec![node(), u(u64::from(table.id.0)), u(fragment), u(fragment), u(0), u(0), u(1)];
            row.extend([u(NODE), u(NODE), u(0), u(0), u(0), u(1), u(0), u(0)]);
            rows.push(row);
        }
    }
    Ok(rows)
}
