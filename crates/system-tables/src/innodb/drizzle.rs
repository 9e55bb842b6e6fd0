//! Tables of Drizzle's InnoDB in `data_dictionary`, with its columns: parts of what information_schema and performance_schema have.

use super::{counters, definitions, transactions};
use crate::locks::{data_lock_waits, data_locks};
use crate::quoting::quote;
use crate::source::Source;
use crate::spec::{TableSpec, int, int32, long_text, no_rows, s, text, time, u, uint};
use squall_registry::VirtualScan;
use squall_types::{SqlResult, Value};
use std::collections::HashSet;

const DATABASE: &str = "data_dictionary";

/// Rows of a table.
type Rows = SqlResult<Vec<Vec<Value>>>;

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: DATABASE,
        name: "innodb_sys_tables",
        columns: &[uint("TABLE_ID"), text("NAME", 655), int32("FLAG"), int32("N_COLS"), int("SPACE")],
        rows: |source, scan| picked(definitions::tables(source, scan), &[0, 1, 2, 3, 4]),
    },
    TableSpec {
        database: DATABASE,
        name: "innodb_sys_tablestats",
        columns: &[
            uint("TABLE_ID"),
            text("NAME", 193),
            text("STATS_INITIALIZED", 193),
            uint("NUM_ROWS"),
            uint("CLUST_INDEX_SIZE"),
            uint("OTHER_INDEX_SIZE"),
            uint("MODIFIED_COUNTER"),
            uint("AUTOINC"),
            int32("HANDLES_OPENED"),
        ],
        rows: definitions::table_statistics,
    },
    TableSpec {
        database: DATABASE,
        name: "innodb_sys_indexes",
        columns: &[
            uint("INDEX_ID"),
            text("NAME", 193),
            uint("TABLE_ID"),
            int32("TYPE"),
            int32("N_FIELDS"),
            int32("PAGE_NO"),
            int32("SPACE"),
        ],
        rows: |source, scan| picked(definitions::indexes(source, scan), &[0, 1, 2, 3, 4, 5, 6]),
    },
    TableSpec {
        database: DATABASE,
        name: "innodb_sys_columns",
        columns: &[uint("TABLE_ID"), text("NAME", 193), uint("POS"), int32("MTYPE"), int32("PRTYPE"), int32("LEN")],
        rows: |source, scan| picked(definitions::columns(source, scan), &[0, 1, 2, 3, 4, 5]),
    },
    TableSpec {
        database: DATABASE,
        name: "innodb_sys_fields",
        columns: &[uint("INDEX_ID"), text("NAME", 64), uint("POS")],
        rows: fields,
    },
    TableSpec {
        database: DATABASE,
        name: "innodb_sys_foreign",
        columns: &[text("ID", 129), text("FOR_NAME", 129), text("REF_NAME", 129), int("N_COLS"), uint("TYPE")],
        rows: definitions::foreign_keys,
    },
    TableSpec {
        database: DATABASE,
        name: "innodb_sys_foreign_cols",
        columns: &[text("ID", 129), text("FOR_COL_NAME", 64), text("REF_COL_NAME", 64), uint("POS")],
        rows: definitions::foreign_key_columns,
    },
    TableSpec {
        database: DATABASE,
        name: "innodb_trx",
        columns: &[
            text("TRX_ID", 18),
            text("TRX_STATE", 13),
            time("TRX_STARTED"),
            text("TRX_REQUESTED_LOCK_ID", 105).or_null(),
            time("TRX_WAIT_STARTED").or_null(),
            uint("TRX_WEIGHT"),
            uint("TRX_DRIZZLE_THREAD_ID"),
            text("TRX_QUERY", 1024).or_null(),
            text("TRX_OPERATION_STATE", 64).or_null(),
            uint("TRX_TABLES_LOCKED"),
            uint("TRX_LOCK_STRUCTS"),
            uint("TRX_LOCK_MEMORY_BYTES"),
            uint("TRX_ROWS_LOCKED"),
            uint("TRX_ROWS_MODIFIED"),
            uint("TRX_CONCURRENCY_TICKETS"),
            text("TRX_ISOLATION_LEVEL", 16),
            int32("TRX_UNIQUE_CHECKS"),
            int32("TRX_FOREIGN_KEY_CHECKS"),
            text("TRX_LAST_FOREIGN_KEY_ERROR", 256).or_null(),
        ],
        rows: |source, scan| {
            let columns = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19];
            picked(transactions::transactions(source, scan), &columns)
        },
    },
    TableSpec {
        database: DATABASE,
        name: "innodb_locks",
        columns: &[
            text("LOCK_ID", 128),
            text("LOCK_TRX_ID", 18),
            text("LOCK_MODE", 32),
            text("LOCK_TYPE", 32),
            text("LOCK_TABLE", 1024),
            text("LOCK_INDEX", 1024).or_null(),
            uint("LOCK_SPACE").or_null(),
            uint("LOCK_PAGE").or_null(),
            uint("LOCK_REC").or_null(),
            long_text("LOCK_DATA").or_null(),
        ],
        rows: locks,
    },
    TableSpec {
        database: DATABASE,
        name: "innodb_lock_waits",
        columns: &[
            text("REQUESTING_TRX_ID", 18),
            text("REQUESTED_LOCK_ID", 128),
            text("BLOCKING_TRX_ID", 18),
            text("BLOCKING_LOCK_ID", 128),
        ],
        rows: lock_waits,
    },
    TableSpec { database: DATABASE, name: "innodb_cmp", columns: counters::COMPRESSIONS, rows: counters::page_sizes },
    TableSpec {
        database: DATABASE,
        name: "innodb_cmp_reset",
        columns: counters::COMPRESSIONS,
        rows: counters::page_sizes,
    },
    TableSpec {
        database: DATABASE,
        name: "innodb_cmpmem",
        columns: counters::COMPRESSED_MEMORY,
        rows: counters::page_sizes,
    },
    TableSpec {
        database: DATABASE,
        name: "innodb_cmpmem_reset",
        columns: counters::COMPRESSED_MEMORY,
        rows: counters::page_sizes,
    },
    // The store has neither tables of its own beside the users', nor a log in the form of a table.
    TableSpec {
        database: DATABASE,
        name: "innodb_internal_tables",
        columns: &[text("TABLE_NAME", 655)],
        rows: no_rows,
    },
    TableSpec {
        database: DATABASE,
        name: "innodb_replication_log",
        columns: &[
            uint("TRANSACTION_ID"),
            uint("TRANSACTION_SEGMENT_ID"),
            long_text("TRANSACTION_MESSAGE_STRING"),
            uint("TRANSACTION_LENGTH"),
        ],
        rows: no_rows,
    },
];

/// Some columns of each row.
fn picked(rows: Rows, columns: &[usize]) -> Rows {
    let pick = |row: Vec<Value>| columns.iter().map(|column| row[*column].clone()).collect();
    Ok(rows?.into_iter().map(pick).collect())
}

fn fields(source: &Source<'_>, scan: &VirtualScan<'_>) -> Rows {
    let mut rows = definitions::fields(source, scan)?;
    for row in &mut rows {
        // MySQL's table has the number as a BLOB.
        if let Value::Bytes(digits) = &row[0] {
            row[0] = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).map_or(Value::Null, u);
        }
    }
    Ok(rows)
}

/// Columns of `data_locks`.
mod lock_column {
    pub const ID: usize = 1;
    pub const TRANSACTION: usize = 2;
    pub const DATABASE: usize = 5;
    pub const TABLE: usize = 6;
    pub const INDEX: usize = 9;
    pub const TYPE: usize = 11;
    pub const MODE: usize = 12;
    pub const DATA: usize = 14;
}

/// Columns of `data_lock_waits`.
mod wait_column {
    pub const REQUESTED: usize = 1;
    pub const REQUESTING: usize = 2;
    pub const BLOCKING_LOCK: usize = 6;
    pub const BLOCKING: usize = 7;
}

fn text_of(value: &Value) -> String {
    squall_server_state::check::text(value)
}

/// Locks that a transaction waits for, and those that it waits for the end of.
fn locks(source: &Source<'_>, scan: &VirtualScan<'_>) -> Rows {
    let waits = data_lock_waits(source, scan)?;
    let of_waits = |column: usize| waits.iter().map(move |row| text_of(&row[column]));
    let named: HashSet<String> = of_waits(wait_column::REQUESTED).chain(of_waits(wait_column::BLOCKING_LOCK)).collect();
    let row = |lock: Vec<Value>| {
        let name = |column: usize| quote(&text_of(&lock[column]));
        // Of a record alone, it has no further word.
        let mode = text_of(&lock[lock_column::MODE]);
        vec![
            lock[lock_column::ID].clone(),
            s(text_of(&lock[lock_column::TRANSACTION])),
            s(mode.trim_end_matches(",REC_NOT_GAP")),
            lock[lock_column::TYPE].clone(),
            s(format!("{}.{}", name(lock_column::DATABASE), name(lock_column::TABLE))),
            lock[lock_column::INDEX].clone(),
            // There are no pages.
            Value::Null,
            Value::Null,
            Value::Null,
            lock[lock_column::DATA].clone(),
        ]
    };
    let locks = data_locks(source, scan)?.into_iter();
    Ok(locks.filter(|lock| named.contains(&text_of(&lock[lock_column::ID]))).map(row).collect())
}

fn lock_waits(source: &Source<'_>, scan: &VirtualScan<'_>) -> Rows {
    let row = |wait: Vec<Value>| {
        vec![
            s(text_of(&wait[wait_column::REQUESTING])),
            wait[wait_column::REQUESTED].clone(),
            s(text_of(&wait[wait_column::BLOCKING])),
            wait[wait_column::BLOCKING_LOCK].clone(),
        ]
    };
    Ok(data_lock_waits(source, scan)?.into_iter().map(row).collect())
}
