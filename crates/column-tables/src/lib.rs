//! The storage engine of column tables: segments as a level below the row store's tables.
//!
//! A column table is a table of the row store whose rows move into segments ([`ColumnTable::seal`]). Readers by key, changes and
//! transactions see no difference: the row store asks the level below it (`level`) for rows that it does not have. See
//! `docs/decisions/0015-column-tables.md`.
//!
//! Knows: table definitions, the row store, segments. Must not know: SQL text, plans, sessions.
//!
//! Reading order: `entry`, `rows`, `level` (with `load`), `seal`, `merge`, `background`, `tables`, `columns`,
//! `snapshot`, `address`, `bulk_change`, `chunk`, `places`, `segment_update`, `copy`, `row_sample`.

mod address;
mod background;
mod bulk_change;
mod chunk;
mod columns;
mod copy;
mod decode;
mod due_tables;
mod entry;
mod level;
mod listed_segment;
mod merge;
mod places;
mod row_sample;
mod rows;
mod seal;
mod segment_update;
mod snapshot;
mod tables;

pub use address::RowAddress;
pub use background::TableWork;
pub use bulk_change::BulkChange;
pub use chunk::{CHUNK_ROWS, ChunkVisit, SegmentChunk, SegmentRow, for_each_chunk};
pub use columns::{TableColumns, coded_column};
pub use decode::{ColumnDecoder, append_column, from_utc};
pub use level::load::SEGMENT_BYTES_MAX;
pub use level::{ColumnTable, SegmentManifest, TableState, TableStatus};
pub use listed_segment::ListedSegment;
pub use places::{FoundPlaces, Place};
pub use row_sample::{RowSample, is_short};
pub use seal::{SEAL_ROWS_MAX, SealOutcome};
pub use segment_update::{BULK_ROWS_MIN, SegmentUpdate, delete_segment_rows, value_bytes};
pub use snapshot::{COPY_CHANGES_MAX, ColumnSnapshot, VisibleSegment};
pub use tables::{COLUMN_ENGINE, ColumnTables, table_of_segment};

use squall_column_store::index::IndexChoice;
use squall_column_store::{ColumnSpec, ColumnType, Error};
use squall_types::{ErrorCode, SqlError, SqlResult};

/// The column of hidden row numbers, which is the key of tables without a primary key. Real columns are counted from 1.
const ROW_NUMBER: u32 = u32::MAX;
const ROW_NUMBER_NAME: &str = "__row_number";

/// Ordinals of the columns of a table's segments, or of its copy: the copied columns, and the key's.
pub(crate) fn segment_ordinals(table: &squall_row_store::Table, copy: bool) -> Vec<usize> {
    let def = table.def();
    if !copy {
        return (0..def.columns.len()).collect();
    }
    let copied = def.column_copy().map(|index| def.index_ordinals(index)).unwrap_or_default();
    let key = def.primary_key().map(|key| def.index_ordinals(key)).unwrap_or_default();
    let mut ordinals: Vec<usize> = copied.into_iter().chain(key).collect();
    ordinals.sort_unstable();
    ordinals.dedup();
    ordinals
}

/// The columns of a table's segments, or of its copy's, from now on.
pub(crate) fn segment_columns(table: &squall_row_store::Table, copy: bool) -> SqlResult<Vec<ColumnSpec>> {
    let asked: Vec<u32> = table
        .def()
        .indexes
        .iter()
        .filter(|index| index.is_bitmap())
        .flat_map(|index| index.parts.iter().map(|part| part.column.0))
        .collect();
    let spec = |id, name: &str, column_type, index| ColumnSpec { id, name: name.into(), column_type, index };
    let mut columns = Vec::with_capacity(table.def().columns.len() + 1);
    for column in segment_ordinals(table, copy).into_iter().map(|ordinal| &table.def().columns[ordinal]) {
        let column_type = ColumnType::of(&column.sql_type)
            .ok_or_else(|| SqlError::internal(format_args!("column {} has no stored type", column.name)))?;
        let index = match column.element_type() {
            Some(element_type) if asked.contains(&column.id.0) => IndexChoice::Elements(element_type.clone()),
            None if asked.contains(&column.id.0) => IndexChoice::Bitmap,
            _ => IndexChoice::Auto,
        };
        columns.push(spec(column.id.0, &column.name, column_type, index));
    }
    if table.has_hidden_row_id() {
        columns.push(spec(ROW_NUMBER, ROW_NUMBER_NAME, ColumnType::Unsigned(8), IndexChoice::Auto));
    }
    Ok(columns)
}

/// The error for clients about a segment that cannot be read or written.
pub fn sql_error(table: &str, error: Error) -> SqlError {
    match error {
        Error::Corrupt(_) => SqlError::new(ErrorCode::CorruptedRow, &[&format_args!("{table} ({error})")]),
        Error::Cancelled => SqlError::new(ErrorCode::QueryInterrupted, &[]),
        // The store has said no.
        Error::Io { ref source, .. } if let Some(refusal) = source.get_ref().and_then(|error| error.downcast_ref()) => {
            SqlError::clone(refusal)
        }
        Error::Io { ref path, ref source } if source.kind() == std::io::ErrorKind::StorageFull => {
            let number = source.raw_os_error().unwrap_or(0);
            SqlError::new(ErrorCode::DiskFull, &[&path.display(), &number, &"No space left on device"])
        }
        Error::Io { .. } | Error::Invalid(_) => SqlError::internal(format_args!("table {table}: {error}")),
    }
}
