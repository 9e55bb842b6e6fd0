//! The buffer pool by schema and by table: empty, as `information_schema.INNODB_BUFFER_PAGE` has no rows.
//!
//! Squall's caches hold rows, columns and blocks of files, and no pages of tables.

use super::objects;
use super::source::Tables;
use super::view::{Names, View, bytes, count, name, ratio, time};
use squall_types::{SqlResult, Value};

pub(super) const VIEWS: &[View] = &[
    View {
        name: "innodb_buffer_stats_by_schema",
        names: Names::Both,
        columns: &[
            name("object_schema"),
            bytes("allocated"),
            bytes("data"),
            count("pages"),
            count("pages_hashed"),
            count("pages_old"),
            ratio("rows_cached", 0),
        ],
        rows: |_| Ok(Vec::new()),
        over_time: false,
    },
    View {
        name: "innodb_buffer_stats_by_table",
        names: Names::Both,
        columns: &[
            name("object_schema"),
            name("object_name"),
            bytes("allocated"),
            bytes("data"),
            count("pages"),
            count("pages_hashed"),
            count("pages_old"),
            ratio("rows_cached", 0),
        ],
        rows: |_| Ok(Vec::new()),
        over_time: false,
    },
    View {
        name: "schema_table_statistics_with_buffer",
        names: Names::Both,
        columns: &[
            name("table_schema"),
            name("table_name"),
            count("rows_fetched"),
            time("fetch_latency"),
            count("rows_inserted"),
            time("insert_latency"),
            count("rows_updated"),
            time("update_latency"),
            count("rows_deleted"),
            time("delete_latency"),
            count("io_read_requests"),
            bytes("io_read"),
            time("io_read_latency"),
            count("io_write_requests"),
            bytes("io_write"),
            time("io_write_latency"),
            count("io_misc_requests"),
            time("io_misc_latency"),
            bytes("innodb_buffer_allocated"),
            bytes("innodb_buffer_data"),
            bytes("innodb_buffer_free"),
            count("innodb_buffer_pages"),
            count("innodb_buffer_pages_hashed"),
            count("innodb_buffer_pages_old"),
            ratio("innodb_buffer_rows_cached", 0),
        ],
        rows: table_use,
        over_time: false,
    },
];

/// Columns of the pool in `schema_table_statistics_with_buffer`.
const POOL_COLUMNS: usize = 7;

/// The columns of `schema_table_statistics` but for the sum, and those of the pool, which knows nothing of any table.
fn table_use(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = objects::table_use(tables)?;
    for row in &mut rows {
        row.remove(objects::TABLE_USE_SUM);
        row.extend(std::iter::repeat_n(Value::Null, POOL_COLUMNS));
    }
    Ok(rows)
}
