//! Counters, and pools and pages.

use super::PAGE_BYTES;
use crate::source::Source;
use crate::spec::{ColumnSpec, TableSpec, double, int, int32, local_time, s, text, time, u, uint};
use crate::status::status_rows;
use squall_registry::VirtualScan;
use squall_types::words::STOP_WORDS;
use squall_types::{SqlResult, Value};
use std::collections::HashMap;

const DATABASE: &str = "information_schema";

pub(super) const COMPRESSIONS: &[ColumnSpec] = &[
    int32("page_size"),
    int32("compress_ops"),
    int32("compress_ops_ok"),
    int32("compress_time"),
    int32("uncompress_ops"),
    int32("uncompress_time"),
];

pub(super) const COMPRESSED_MEMORY: &[ColumnSpec] = &[
    int32("page_size"),
    int32("buffer_pool_instance"),
    int32("pages_used"),
    int32("pages_free"),
    int("relocation_ops"),
    int32("relocation_time"),
];

const COMPRESSIONS_PER_INDEX: &[ColumnSpec] = &[
    text("database_name", 192),
    text("table_name", 192),
    text("index_name", 192),
    int32("compress_ops"),
    int32("compress_ops_ok"),
    int32("compress_time"),
    int32("uncompress_ops"),
    int32("uncompress_time"),
];

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: DATABASE,
        name: "INNODB_FT_DEFAULT_STOPWORD",
        columns: &[text("value", 18)],
        rows: stop_words,
    },
    TableSpec { database: DATABASE, name: "INNODB_METRICS", columns: METRICS, rows: metrics },
    TableSpec { database: DATABASE, name: "INNODB_BUFFER_POOL_STATS", columns: POOL, rows: pool },
    TableSpec { database: DATABASE, name: "INNODB_CMP", columns: COMPRESSIONS, rows: page_sizes },
    TableSpec { database: DATABASE, name: "INNODB_CMP_RESET", columns: COMPRESSIONS, rows: page_sizes },
    TableSpec { database: DATABASE, name: "INNODB_CMPMEM", columns: COMPRESSED_MEMORY, rows: page_sizes },
    TableSpec { database: DATABASE, name: "INNODB_CMPMEM_RESET", columns: COMPRESSED_MEMORY, rows: page_sizes },
    TableSpec {
        database: DATABASE,
        name: "INNODB_CMP_PER_INDEX",
        columns: COMPRESSIONS_PER_INDEX,
        rows: crate::spec::no_rows,
    },
    TableSpec {
        database: DATABASE,
        name: "INNODB_CMP_PER_INDEX_RESET",
        columns: COMPRESSIONS_PER_INDEX,
        rows: crate::spec::no_rows,
    },
];

const METRICS: &[ColumnSpec] = &[
    text("NAME", 193),
    text("SUBSYSTEM", 193),
    int("COUNT"),
    int("MAX_COUNT").or_null(),
    int("MIN_COUNT").or_null(),
    double("AVG_COUNT").or_null(),
    int("COUNT_RESET"),
    int("MAX_COUNT_RESET").or_null(),
    int("MIN_COUNT_RESET").or_null(),
    double("AVG_COUNT_RESET").or_null(),
    time("TIME_ENABLED").or_null(),
    time("TIME_DISABLED").or_null(),
    int("TIME_ELAPSED").or_null(),
    time("TIME_RESET").or_null(),
    text("STATUS", 193),
    text("TYPE", 193),
    text("COMMENT", 193),
];

/// Counters, with their subsystem, their status variable, their kind, and their description.
const COUNTED: &[(&str, &str, &str, &str, &str)] = &[
    ("buffer_pool_bytes_data", "buffer", "Innodb_buffer_pool_bytes_data", "value", "Bytes of blocks that are kept"),
    ("buffer_data_reads", "buffer", "Innodb_data_read", "status_counter", "Bytes read from files of tables"),
    ("buffer_data_written", "buffer", "Innodb_data_written", "status_counter", "Bytes written to files"),
    ("os_data_reads", "os", "Innodb_data_reads", "status_counter", "Reads of files of tables"),
    ("os_data_writes", "os", "Innodb_data_writes", "status_counter", "Writes to files"),
    ("os_data_fsyncs", "os", "Innodb_data_fsyncs", "status_counter", "Syncs of files"),
    ("os_log_bytes_written", "os", "Innodb_os_log_written", "status_counter", "Bytes written to the redo log"),
    ("os_log_fsyncs", "os", "Innodb_os_log_fsyncs", "status_counter", "Syncs of the redo log"),
    ("log_writes", "log", "Innodb_log_writes", "status_counter", "Writes to the redo log"),
    (
        "lock_row_lock_current_waits",
        "lock",
        "Innodb_row_lock_current_waits",
        "status_counter",
        "Row locks that are waited for",
    ),
    ("lock_row_lock_time", "lock", "Innodb_row_lock_time", "status_counter", "Milliseconds waited for row locks"),
    ("lock_row_lock_time_avg", "lock", "Innodb_row_lock_time_avg", "value", "Milliseconds of a wait for a row lock"),
    (
        "lock_row_lock_time_max",
        "lock",
        "Innodb_row_lock_time_max",
        "value",
        "Milliseconds of the longest wait for a row lock",
    ),
    ("lock_row_lock_waits", "lock", "Innodb_row_lock_waits", "status_counter", "Waits for row locks"),
    ("dml_reads", "dml", "Innodb_rows_read", "status_counter", "Rows read"),
    ("dml_inserts", "dml", "Innodb_rows_inserted", "status_counter", "Rows inserted"),
    ("dml_deletes", "dml", "Innodb_rows_deleted", "status_counter", "Rows deleted"),
    ("dml_updates", "dml", "Innodb_rows_updated", "status_counter", "Rows updated"),
];

/// The server's status variables that are numbers.
pub(super) fn numbers(source: &Source<'_>) -> HashMap<String, i64> {
    let rows = status_rows(source, true).into_iter();
    let pair = |row: Vec<Value>| match <[Value; 2]>::try_from(row) {
        Ok([Value::String(name), Value::String(value)]) => Some((name, value.parse().ok()?)),
        _ => None,
    };
    rows.filter_map(pair).collect()
}

fn metrics(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let numbers = numbers(source);
    let started = local_time(source.context, source.state.started_micros);
    let elapsed = i64::try_from(source.state.started.elapsed().as_secs()).unwrap_or(i64::MAX);
    let row = |(name, subsystem, status, kind, comment): &(&str, &str, &str, &str, &str)| {
        let count = numbers.get(*status).copied().unwrap_or(0);
        let average = count as f64 / elapsed.max(1) as f64;
        let mut row = vec![s(*name), s(*subsystem)];
        for _ in 0..2 {
            row.extend([Value::Int(count), Value::Int(count), Value::Null, Value::Double(average)]);
        }
        row.extend([started.clone(), Value::Null, Value::Int(elapsed), Value::Null]);
        row.extend([s("enabled"), s(*kind), s(*comment)]);
        row
    };
    Ok(COUNTED.iter().map(row).collect())
}

const POOL: &[ColumnSpec] = &[
    uint("POOL_ID"),
    uint("POOL_SIZE"),
    uint("FREE_BUFFERS"),
    uint("DATABASE_PAGES"),
    uint("OLD_DATABASE_PAGES"),
    uint("MODIFIED_DATABASE_PAGES"),
    uint("PENDING_DECOMPRESS"),
    uint("PENDING_READS"),
    uint("PENDING_FLUSH_LRU"),
    uint("PENDING_FLUSH_LIST"),
    uint("PAGES_MADE_YOUNG"),
    uint("PAGES_NOT_MADE_YOUNG"),
    double("PAGES_MADE_YOUNG_RATE"),
    double("PAGES_MADE_NOT_YOUNG_RATE"),
    uint("NUMBER_PAGES_READ"),
    uint("NUMBER_PAGES_CREATED"),
    uint("NUMBER_PAGES_WRITTEN"),
    double("PAGES_READ_RATE"),
    double("PAGES_CREATE_RATE"),
    double("PAGES_WRITTEN_RATE"),
    uint("NUMBER_PAGES_GET"),
    uint("HIT_RATE"),
    uint("YOUNG_MAKE_PER_THOUSAND_GETS"),
    uint("NOT_YOUNG_MAKE_PER_THOUSAND_GETS"),
    uint("NUMBER_PAGES_READ_AHEAD"),
    uint("NUMBER_READ_AHEAD_EVICTED"),
    double("READ_AHEAD_RATE"),
    double("READ_AHEAD_EVICTED_RATE"),
    uint("LRU_IO_TOTAL"),
    uint("LRU_IO_CURRENT"),
    uint("UNCOMPRESS_TOTAL"),
    uint("UNCOMPRESS_CURRENT"),
];

/// The cache of blocks, in pages of InnoDB's size: what is not known of it is zero.
fn pool(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let store = &source.state.store;
    let all = store.options().cache_bytes / PAGE_BYTES;
    let used = (store.block_cache_bytes() / PAGE_BYTES).min(all);
    let (changed_tables, changed) = store.write_buffers();
    let numbers = numbers(source);
    let pages = |name: &str| numbers.get(name).map_or(0, |bytes| bytes.unsigned_abs() / PAGE_BYTES);
    let row = POOL.iter().map(|column| match column.name {
        "POOL_SIZE" => u(all),
        "FREE_BUFFERS" => u(all - used),
        "DATABASE_PAGES" => u(used),
        "MODIFIED_DATABASE_PAGES" => u((changed / PAGE_BYTES).max(changed_tables)),
        "NUMBER_PAGES_READ" => u(pages("Innodb_data_read")),
        "NUMBER_PAGES_WRITTEN" => u(pages("Innodb_data_written")),
        name if name.ends_with("_RATE") && name != "HIT_RATE" => Value::Double(0.0),
        _ => u(0),
    });
    Ok(vec![row.collect()])
}

/// The words that FULLTEXT keys leave out.
fn stop_words(_: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    Ok(STOP_WORDS.iter().map(|word| vec![s(*word)]).collect())
}

/// Pages of each size that InnoDB knows: none is compressed.
pub(super) fn page_sizes(_: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let row = |kilobytes: i64| {
        let mut row = vec![Value::Int(kilobytes << 10)];
        row.resize(COMPRESSIONS.len(), Value::Int(0));
        row
    };
    Ok([1, 2, 4, 8, 16].map(row).into())
}
