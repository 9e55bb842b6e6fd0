//! `information_schema.COLUMN_SEGMENTS`: the segments of column tables, and `information_schema.COLUMN_TABLES`: their
//! delta rows.

use super::{Source, TableSpec, local_micros, moment, s, s_or_null, text, u, uint, yes_no};
use squall_catalog::TableEntry;
use squall_column_tables::{COLUMN_ENGINE, ColumnTable, SegmentManifest};
use squall_registry::VirtualScan;
use squall_server_state::now_micros;
use squall_types::{SqlResult, Value};
use std::time::Duration;

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: "information_schema",
        name: "COLUMN_SEGMENTS",
        columns: &[
            text("TABLE_SCHEMA", 64),
            text("TABLE_NAME", 64),
            uint("SEGMENT"),
            text("COLUMN_NAME", 64).or_null(),
            uint("SEGMENT_ROWS"),
            uint("DELETED_ROWS"),
            uint("DATA_BYTES"),
            uint("INDEX_BYTES"),
            text("BITMAP_INDEX", 3),
            text("PARTITION_NAME", 64).or_null(),
        ],
        rows: segment_rows,
    },
    TableSpec {
        database: "information_schema",
        name: "COLUMN_TABLES",
        columns: &[
            text("TABLE_SCHEMA", 64),
            text("TABLE_NAME", 64),
            uint("SEGMENTS"),
            uint("SEALED_ROWS"),
            uint("DELETED_ROWS"),
            uint("FRESH_CHANGES"),
            uint("FILE_BYTES"),
            uint("SEALS"),
            uint("MERGES"),
            text("STATE", 16),
            uint("ROWS_SEALED"),
            moment("WORK_STARTED").or_null(),
            uint("WORK_MICROSECONDS").or_null(),
            text("LAST_ERROR", 512).or_null(),
            text("PARTITION_NAME", 64).or_null(),
        ],
        rows: table_rows,
    },
];

/// One row per segment and column.
fn segment_rows(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    each_table(source, scan, |Listed { database, name, partition, list, .. }| {
        for listed in list.segments() {
            let segment = listed.segment();
            for ordinal in 0..segment.column_count() {
                let (data, index) = segment.column_bytes(ordinal);
                rows.push(vec![
                    s(database),
                    s(name),
                    u(listed.number()),
                    s(segment.column_name(ordinal)),
                    u(segment.rows() as u64),
                    u(listed.deleted().len()),
                    u(data),
                    u(index),
                    yes_no(segment.has_index(ordinal)),
                    s_or_null(partition),
                ]);
            }
        }
    })?;
    Ok(rows)
}

fn table_rows(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    each_table(source, scan, |Listed { database, name, partition, table, list }| {
        let segments = list.segments();
        let status = table.status();
        let (started, micros) = match status.work {
            Some((began, took)) => {
                let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
                let ago = micros(began.elapsed());
                let now = now_micros();
                let started = local_micros(source.context, now.saturating_sub(i64::try_from(ago).unwrap_or(i64::MAX)));
                (started, u(took.map_or(ago, micros)))
            }
            None => (Value::Null, Value::Null),
        };
        rows.push(vec![
            s(database),
            s(name),
            u(segments.len() as u64),
            u(segments.iter().map(|segment| segment.live_rows()).sum()),
            u(segments.iter().map(|segment| segment.deleted().len()).sum()),
            u(table.delta_changes()),
            u(segments.iter().map(|segment| segment.file_bytes()).sum()),
            u(status.seals),
            u(status.merges),
            s(status.state.name()),
            u(status.rows_sealed),
            started,
            micros,
            s_or_null(status.last_error.as_deref()),
            s_or_null(partition),
        ]);
    })?;
    Ok(rows)
}

/// The segments of a table, or of one of its partitions.
struct Listed<'a> {
    database: &'a str,
    name: &'a str,
    /// The name of the partition or subpartition, if it is one.
    partition: Option<&'a str>,
    table: &'a ColumnTable,
    list: &'a SegmentManifest,
}

fn each_table(source: &Source<'_>, scan: &VirtualScan<'_>, mut visit: impl FnMut(Listed<'_>)) -> SqlResult<()> {
    let view = source.state.store.read_view();
    for (database, name, entry) in source.entries(scan.equal_text(0), scan.equal_text(1)) {
        let TableEntry::Table(def) = entry else { continue };
        if def.engine.as_str() != COLUMN_ENGINE && def.column_copy().is_none() {
            continue;
        }
        for storage in source.state.store.table(def)?.storages() {
            let (table, list) = match ColumnTable::of(&storage) {
                Some(table) => (table, ColumnTable::manifest_at(&view, &storage)?),
                None => match ColumnTable::of_copy(&storage) {
                    Some(copy) => (copy, ColumnTable::manifest_of_copy(&view, &storage)?),
                    None => continue,
                },
            };
            let partition = def.partitioning.as_ref().and_then(|all| all.name_of_storage(storage.storage_id()));
            if let Some(list) = list.as_deref() {
                visit(Listed { database: &database.name, name, partition, table: &table, list });
            }
        }
    }
    Ok(())
}
