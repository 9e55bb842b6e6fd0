//! `information_schema.COLUMN_SEGMENTS`: the segments of column tables, and `information_schema.COLUMN_TABLES`: their
//! delta rows.

use super::{Source, TableSpec, local_micros, moment, s, s_or_null, text, u, uint, yes_no};
use squall_catalog::TableEntry;
use squall_column_tables::{COLUMN_ENGINE, ColumnTable};
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
        ],
        rows: table_rows,
    },
];

/// One row per segment and column.
fn segment_rows(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    each_table(source, scan, |database, _, list| {
        let Some((name, list)) = list else { return };
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
                ]);
            }
        }
    })?;
    Ok(rows)
}

fn table_rows(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    each_table(source, scan, |database, table, list| {
        let Some((name, list)) = list else { return };
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
        ]);
    })?;
    Ok(rows)
}

/// A table's name and its segments.
type Listed<'a> = Option<(&'a str, &'a squall_column_tables::SegmentManifest)>;

fn each_table(
    source: &Source<'_>,
    scan: &VirtualScan<'_>,
    mut visit: impl FnMut(&str, &ColumnTable, Listed<'_>),
) -> SqlResult<()> {
    let view = source.state.store.read_view();
    for (database, name, entry) in source.entries(scan.equal_text(0), scan.equal_text(1)) {
        let TableEntry::Table(def) = entry else { continue };
        if def.engine.as_str() != COLUMN_ENGINE && def.column_copy().is_none() {
            continue;
        }
        let table = source.state.store.table(def)?;
        let (column_table, list) = match ColumnTable::of(&table) {
            Some(column_table) => (column_table, ColumnTable::manifest_at(&view, &table)?),
            None => match ColumnTable::of_copy(&table) {
                Some(copy) => (copy, ColumnTable::manifest_of_copy(&view, &table)?),
                None => continue,
            },
        };
        visit(&database.name, &column_table, list.as_deref().map(|list| (name, list)));
    }
    Ok(())
}
