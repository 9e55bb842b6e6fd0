//! What is in the buffer pool, by schema and by table: nothing, as `information_schema.INNODB_BUFFER_PAGE` has no rows.
//!
//! Squall's caches hold rows, columns and blocks of files, and no pages of tables. The views are what MySQL's make of that table.

use super::objects::{FILE_USE, OBJECT, TABLE_USE, file_use};
use super::source::{Row, Tables};
use super::sums::{Groups, SUM, descending, n, quotient};
use super::view::{Names, View, bytes, count, name, ratio, time};
use squall_types::{SqlResult, Value};
use std::collections::HashSet;

/// A page's size, where it is not compressed.
const PAGE_BYTES: u64 = 16_384;
/// The schema of pages that belong to no table.
const OF_SYSTEM: &str = "InnoDB System";

const PAGES: &[&str] =
    &["TABLE_NAME", "INDEX_NAME", "COMPRESSED_SIZE", "DATA_SIZE", "IS_HASHED", "IS_OLD", "NUMBER_RECORDS"];

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
        rows: |tables| {
            let rows = pages(tables, |schema, _| (schema, String::new()))?.into_vec().into_iter();
            let rows = rows.map(|((schema, _), pages)| [&[Value::String(schema)], &pages.values()[..]].concat());
            Ok(descending(rows.collect(), 1))
        },
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
        rows: |tables| {
            let rows = by_table(tables)?.into_vec().into_iter();
            let rows = rows.map(|((schema, table), pages)| {
                [&[Value::String(schema), Value::String(table)], &pages.values()[..]].concat()
            });
            Ok(descending(rows.collect(), 2))
        },
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

/// Pages of a table, or of a schema.
#[derive(Default)]
struct Pages {
    allocated: u64,
    data: u64,
    pages: u64,
    hashed: u64,
    old: u64,
    records: u64,
    indexes: HashSet<String>,
}

impl Pages {
    fn add(&mut self, page: &Row<'_>) {
        let compressed = page.number("COMPRESSED_SIZE");
        self.allocated += if compressed == 0 { PAGE_BYTES } else { compressed };
        self.data += page.number("DATA_SIZE");
        self.pages += 1;
        self.hashed += u64::from(page.text("IS_HASHED") == "YES");
        self.old += u64::from(page.text("IS_OLD") == "YES");
        self.records += page.number("NUMBER_RECORDS");
        self.indexes.insert(page.text("INDEX_NAME").to_string());
    }

    fn values(&self) -> [Value; 6] {
        let rows = quotient(self.records as f64, self.indexes.len() as f64, 0);
        [n(self.allocated), n(self.data), n(self.pages), n(self.hashed), n(self.old), rows]
    }
}

/// Pages by schema and table, or by what is made of these.
fn pages(
    tables: &mut Tables<'_>,
    group: fn(String, String) -> (String, String),
) -> SqlResult<Groups<(String, String), Pages>> {
    let mut groups: Groups<(String, String), Pages> = Groups::new();
    for page in tables.get_of("information_schema", "INNODB_BUFFER_PAGE", PAGES)?.iter() {
        let name = page.text("TABLE_NAME").replace('`', "");
        if page.is_null("TABLE_NAME") {
            continue;
        }
        let (schema, table) = name.split_once('.').unwrap_or((OF_SYSTEM, &name));
        groups.of(group(schema.to_string(), table.to_string())).add(&page);
    }
    Ok(groups)
}

fn by_table(tables: &mut Tables<'_>) -> SqlResult<Groups<(String, String), Pages>> {
    pages(tables, |schema, table| (schema, table))
}

/// The columns of `schema_table_statistics` but for the sum, and those of the pages.
fn table_use(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let (files, pages) = (file_use(tables)?, by_table(tables)?);
    let used = tables.get("table_io_waits_summary_by_table", TABLE_USE)?;
    let mut found: Vec<Row<'_>> = used.iter().collect();
    found.sort_by(|left, right| super::sums::order(Some(right.value(SUM)), Some(left.value(SUM))));
    let row = |row: Row<'_>| {
        let mut out: Vec<Value> = TABLE_USE.iter().filter(|name| **name != SUM).map(|name| row.get(name)).collect();
        let key = (row.text(OBJECT[0]).to_string(), row.text(OBJECT[1]).to_string());
        match files.find(&key) {
            Some(sums) => out.extend(sums.map(n)),
            None => out.extend(std::iter::repeat_n(Value::Null, FILE_USE.len())),
        }
        match pages.find(&key) {
            Some(pages) => {
                let [allocated, data, rest @ ..] = pages.values();
                out.extend([allocated, data, n(pages.allocated.saturating_sub(pages.data))]);
                out.extend(rest);
            }
            None => out.extend(std::iter::repeat_n(Value::Null, 7)),
        }
        out
    };
    Ok(found.into_iter().map(row).collect())
}
