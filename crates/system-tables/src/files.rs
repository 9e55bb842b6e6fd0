//! `information_schema.FILES`: files with their tables, and folders of row tables' files, by performance_schema's names.

use super::{ColumnSpec, Source, TableSpec, int, long_text, s, text, time};
use squall_accounting::file_use;
use squall_catalog::{TableDef, TableEntry, TableId};
use squall_column_tables::table_of_segment;
use squall_registry::VirtualScan;
use squall_types::{SqlResult, Value};
use std::collections::HashMap;
use std::path::PathBuf;

pub(crate) const TABLES: &[TableSpec] =
    &[TableSpec { database: "information_schema", name: "FILES", columns: FILES, rows: files }];

const FILES: &[ColumnSpec] = &[
    int("FILE_ID").or_null(),
    long_text("FILE_NAME").or_null(),
    text("FILE_TYPE", 256).or_null(),
    text("TABLESPACE_NAME", 268),
    text("TABLE_CATALOG", 1),
    text("TABLE_SCHEMA", 1).or_null(),
    text("TABLE_NAME", 1).or_null(),
    text("LOGFILE_GROUP_NAME", 256).or_null(),
    int("LOGFILE_GROUP_NUMBER").or_null(),
    text("ENGINE", 64),
    text("FULLTEXT_KEYS", 1).or_null(),
    text("DELETED_ROWS", 1).or_null(),
    text("UPDATE_COUNT", 1).or_null(),
    int("FREE_EXTENTS").or_null(),
    int("TOTAL_EXTENTS").or_null(),
    int("EXTENT_SIZE").or_null(),
    int("INITIAL_SIZE").or_null(),
    int("MAXIMUM_SIZE").or_null(),
    int("AUTOEXTEND_SIZE").or_null(),
    time("CREATION_TIME").or_null(),
    time("LAST_UPDATE_TIME").or_null(),
    time("LAST_ACCESS_TIME").or_null(),
    text("RECOVER_TIME", 1).or_null(),
    text("TRANSACTION_COUNTER", 1).or_null(),
    int("VERSION").or_null(),
    text("ROW_FORMAT", 256).or_null(),
    int("TABLE_ROWS").or_null(),
    int("AVG_ROW_LENGTH").or_null(),
    int("DATA_LENGTH").or_null(),
    int("MAX_DATA_LENGTH").or_null(),
    int("INDEX_LENGTH").or_null(),
    int("DATA_FREE").or_null(),
    time("CREATE_TIME").or_null(),
    time("UPDATE_TIME").or_null(),
    time("CHECK_TIME").or_null(),
    int("CHECKSUM").or_null(),
    text("STATUS", 256).or_null(),
    text("EXTRA", 256).or_null(),
];

/// Files of the tables that the reader sees: folders of row tables, and segments that have been used since the server was started.
fn files(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut by_table: HashMap<TableId, Vec<PathBuf>> = HashMap::new();
    for io in source.state.store.file_io().tables {
        if let Some(table) = io.table {
            by_table.entry(table).or_default().push(io.folder);
        }
    }
    let directory = &source.state.directory;
    let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.clone());
    for file in file_use::of_files(&directory) {
        if let Some(table) = table_of_segment(&file.path).filter(|_| file.event == file_use::COLUMN_SEGMENT) {
            by_table.entry(table).or_default().push(file.path);
        }
    }
    let mut rows = Vec::new();
    for (database, name, entry) in source.entries(None, None) {
        let TableEntry::Table(def) = entry else { continue };
        let paths = by_table.get(&def.id).map_or(&[][..], Vec::as_slice);
        rows.extend(paths.iter().map(|path| row(&database.name, name, def, path)));
    }
    Ok(rows)
}

fn row(database: &str, name: &str, def: &TableDef, path: &std::path::Path) -> Vec<Value> {
    let value = |column: &ColumnSpec| match column.name {
        "FILE_ID" => Value::Int(def.id.0.into()),
        "FILE_NAME" => s(path.to_string_lossy()),
        "FILE_TYPE" => s("TABLESPACE"),
        "TABLESPACE_NAME" => s(format!("{database}/{name}")),
        "TABLE_CATALOG" => s(""),
        "ENGINE" => s(def.engine.as_str()),
        "STATUS" => s("NORMAL"),
        _ => Value::Null,
    };
    FILES.iter().map(value).collect()
}
