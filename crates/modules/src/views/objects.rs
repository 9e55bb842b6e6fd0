//! Uses of tables and indexes.

use super::source::{Row, Tables};
use super::sums::{Groups, SUM, descending, n, order};
use super::view::{Column, Names, View, bytes, count, long, name, number, statement, time};
use squall_types::{SqlResult, Value};
use std::collections::HashMap;

const OBJECT: [&str; 2] = ["OBJECT_SCHEMA", "OBJECT_NAME"];
const BY_INDEX: &str = "table_io_waits_summary_by_index_usage";
const INDEX_USE: &[&str] = &[
    "OBJECT_SCHEMA",
    "OBJECT_NAME",
    "INDEX_NAME",
    "COUNT_STAR",
    SUM,
    "COUNT_READ",
    "COUNT_FETCH",
    "SUM_TIMER_FETCH",
    "COUNT_INSERT",
    "SUM_TIMER_INSERT",
    "COUNT_UPDATE",
    "SUM_TIMER_UPDATE",
    "COUNT_DELETE",
    "SUM_TIMER_DELETE",
];
const TABLE_USE: &[&str] = &[
    "OBJECT_SCHEMA",
    "OBJECT_NAME",
    SUM,
    "COUNT_FETCH",
    "SUM_TIMER_FETCH",
    "COUNT_INSERT",
    "SUM_TIMER_INSERT",
    "COUNT_UPDATE",
    "SUM_TIMER_UPDATE",
    "COUNT_DELETE",
    "SUM_TIMER_DELETE",
];
const FILE_USE: [&str; 8] = [
    "COUNT_READ",
    "SUM_NUMBER_OF_BYTES_READ",
    "SUM_TIMER_READ",
    "COUNT_WRITE",
    "SUM_NUMBER_OF_BYTES_WRITE",
    "SUM_TIMER_WRITE",
    "COUNT_MISC",
    "SUM_TIMER_MISC",
];

const LOCK_WAITS: &[Column] = &[
    name("object_schema"),
    name("object_name"),
    count("waiting_thread_id"),
    count("waiting_pid"),
    long("waiting_account"),
    name("waiting_lock_type"),
    name("waiting_lock_duration"),
    statement("waiting_query"),
    number("waiting_query_secs"),
    count("waiting_query_rows_affected"),
    count("waiting_query_rows_examined"),
    count("blocking_thread_id"),
    count("blocking_pid"),
    long("blocking_account"),
    name("blocking_lock_type"),
    name("blocking_lock_duration"),
    name("sql_kill_blocking_query"),
    name("sql_kill_blocking_connection"),
];

pub(super) const VIEWS: &[View] = &[
    View {
        name: "schema_index_statistics",
        names: Names::Both,
        columns: &[
            name("table_schema"),
            name("table_name"),
            name("index_name"),
            count("rows_selected"),
            time("select_latency"),
            count("rows_inserted"),
            time("insert_latency"),
            count("rows_updated"),
            time("update_latency"),
            count("rows_deleted"),
            time("delete_latency"),
        ],
        rows: indexes,
        over_time: true,
    },
    View {
        name: "schema_table_statistics",
        names: Names::Both,
        columns: &[
            name("table_schema"),
            name("table_name"),
            time("total_latency"),
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
        ],
        rows: table_use,
        over_time: true,
    },
    View {
        name: "ps_schema_table_statistics_io",
        names: Names::Raw,
        columns: &[
            name("table_schema"),
            name("table_name"),
            count("count_read"),
            bytes("sum_number_of_bytes_read"),
            time("sum_timer_read"),
            count("count_write"),
            bytes("sum_number_of_bytes_write"),
            time("sum_timer_write"),
            count("count_misc"),
            time("sum_timer_misc"),
        ],
        rows: |tables| {
            let row = |((schema, table), sums): ((String, String), [u64; 8])| {
                [Value::String(schema), Value::String(table)].into_iter().chain(sums.map(n)).collect()
            };
            Ok(file_use(tables)?.into_vec().into_iter().map(row).collect())
        },
        over_time: true,
    },
    View {
        name: "schema_tables_with_full_table_scans",
        names: Names::Both,
        columns: &[name("object_schema"), name("object_name"), count("rows_full_scanned"), time("latency")],
        rows: scanned,
        over_time: true,
    },
    View {
        name: "schema_unused_indexes",
        names: Names::Plain,
        columns: &[name("object_schema"), name("object_name"), name("index_name")],
        rows: unused_indexes,
        over_time: true,
    },
    View {
        name: "schema_table_lock_waits",
        names: Names::Both,
        columns: LOCK_WAITS,
        rows: lock_waits,
        over_time: true,
    },
];

fn indexes(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let used = tables.get_where(BY_INDEX, INDEX_USE, &["INDEX_NAME"], |row| !row.is_null("INDEX_NAME"))?;
    let mut found: Vec<Row<'_>> = used.iter().collect();
    found.sort_by(|left, right| order(Some(right.value(SUM)), Some(left.value(SUM))));
    let shown = [
        "OBJECT_SCHEMA",
        "OBJECT_NAME",
        "INDEX_NAME",
        "COUNT_FETCH",
        "SUM_TIMER_FETCH",
        "COUNT_INSERT",
        "SUM_TIMER_INSERT",
        "COUNT_UPDATE",
        "SUM_TIMER_UPDATE",
        "COUNT_DELETE",
        "SUM_TIMER_DELETE",
    ];
    Ok(found.into_iter().map(|row| shown.map(|name| row.get(name)).to_vec()).collect())
}

/// Files of tables. What of them is of a table is told by `information_schema.FILES`, of which there is no history.
const TABLE_FILES: [&str; 2] = ["wait/io/file/squall/row_table", "wait/io/file/squall/column_segment"];

/// Use of files by table; of other files, by the last two parts of their names, the last one without what is behind its point.
fn file_use(tables: &mut Tables<'_>) -> SqlResult<Groups<(String, String), [u64; 8]>> {
    let known = tables.get_of("information_schema", "FILES", &["FILE_NAME", "TABLESPACE_NAME"])?;
    let known: HashMap<String, (String, String)> = known
        .iter()
        .filter_map(|file| {
            let (schema, table) = file.text("TABLESPACE_NAME").split_once('/')?;
            Some((file.text("FILE_NAME").to_string(), (schema.to_string(), table.to_string())))
        })
        .collect();
    let files = tables.get(
        "file_summary_by_instance",
        &[
            "FILE_NAME",
            "EVENT_NAME",
            "COUNT_READ",
            "SUM_NUMBER_OF_BYTES_READ",
            "SUM_TIMER_READ",
            "COUNT_WRITE",
            "SUM_NUMBER_OF_BYTES_WRITE",
            "SUM_TIMER_WRITE",
            "COUNT_MISC",
            "SUM_TIMER_MISC",
        ],
    )?;
    let mut sums = Groups::new();
    for file in files.iter() {
        let path = file.text("FILE_NAME");
        let table = match known.get(path) {
            Some(table) => table.clone(),
            None if TABLE_FILES.contains(&file.text("EVENT_NAME")) => continue,
            None => {
                let mut parts = path.rsplit('/');
                let (Some(name), Some(folder)) = (parts.next(), parts.next()) else { continue };
                (folder.to_string(), name.split('.').next().unwrap_or(name).to_string())
            }
        };
        let sum: &mut [u64; 8] = sums.of(table);
        sum.iter_mut().zip(FILE_USE).for_each(|(sum, column)| *sum += file.number(column));
    }
    Ok(sums)
}

/// Where the sum is in a row of [`table_use`].
pub(super) const TABLE_USE_SUM: usize = 2;

pub(super) fn table_use(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let files = file_use(tables)?;
    let used = tables.get("table_io_waits_summary_by_table", TABLE_USE)?;
    let row = |row: Row<'_>| {
        let mut out: Vec<Value> = TABLE_USE.iter().map(|name| row.get(name)).collect();
        let key = (row.text(OBJECT[0]).to_string(), row.text(OBJECT[1]).to_string());
        match files.find(&key) {
            Some(sums) => out.extend(sums.map(n)),
            None => out.extend(std::iter::repeat_n(Value::Null, FILE_USE.len())),
        }
        out
    };
    Ok(descending(used.iter().map(row).collect(), TABLE_USE_SUM))
}

fn scanned(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let used = tables.get_where(BY_INDEX, INDEX_USE, &["INDEX_NAME", "COUNT_READ"], |row| {
        row.is_null("INDEX_NAME") && row.number("COUNT_READ") > 0
    })?;
    let rows = used.iter().map(|row| vec![row.get(OBJECT[0]), row.get(OBJECT[1]), row.get("COUNT_READ"), row.get(SUM)]);
    Ok(descending(rows.collect(), 2))
}

fn unused_indexes(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let is_unused = |row: &Row<'_>| {
        let index = row.text("INDEX_NAME");
        !index.is_empty() && index != "PRIMARY" && row.number("COUNT_STAR") == 0 && row.text(OBJECT[0]) != "mysql"
    };
    let used = tables.get_where(BY_INDEX, INDEX_USE, &[OBJECT[0], "INDEX_NAME", "COUNT_STAR"], is_unused)?;
    let row = |row: Row<'_>| vec![row.get(OBJECT[0]), row.get(OBJECT[1]), row.get("INDEX_NAME")];
    let mut rows: Vec<Vec<Value>> = used.iter().map(row).collect();
    rows.sort_by(|left, right| order(left.first(), right.first()).then_with(|| order(left.get(1), right.get(1))));
    Ok(rows)
}

fn lock_waits(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let locks = tables.get(
        "metadata_locks",
        &[
            "OBJECT_TYPE",
            "OBJECT_SCHEMA",
            "OBJECT_NAME",
            "LOCK_TYPE",
            "LOCK_DURATION",
            "LOCK_STATUS",
            "OWNER_THREAD_ID",
        ],
    )?;
    let waiting: Vec<Row<'_>> = locks.iter().filter(|lock| lock.text("LOCK_STATUS") == "PENDING").collect();
    if waiting.is_empty() {
        return Ok(Vec::new());
    }
    let threads = tables.get(
        "threads",
        &[
            "THREAD_ID",
            "PROCESSLIST_ID",
            "PROCESSLIST_USER",
            "PROCESSLIST_HOST",
            "PROCESSLIST_TIME",
            "PROCESSLIST_INFO",
        ],
    )?;
    let statements = tables.get("events_statements_current", &["THREAD_ID", "ROWS_AFFECTED", "ROWS_EXAMINED"])?;
    let thread = |id: u64| threads.iter().find(|thread| thread.number("THREAD_ID") == id);
    let account = |thread: &Option<Row<'_>>| {
        thread.as_ref().map_or(Value::Null, |thread| {
            Value::String(format!("{}@{}", thread.text("PROCESSLIST_USER"), thread.text("PROCESSLIST_HOST")))
        })
    };
    let of = |thread: &Option<Row<'_>>, column: &'static str| {
        thread.as_ref().map_or(Value::Null, |thread| thread.get(column))
    };
    let mut rows = Vec::new();
    for waiting in waiting {
        let same = |lock: &Row<'_>| {
            lock.text("LOCK_STATUS") == "GRANTED"
                && ["OBJECT_TYPE", "OBJECT_SCHEMA", "OBJECT_NAME"]
                    .iter()
                    .all(|name| lock.value(name) == waiting.value(name))
                && lock.number("OWNER_THREAD_ID") != waiting.number("OWNER_THREAD_ID")
        };
        for blocking in locks.iter().filter(same) {
            let waiter = thread(waiting.number("OWNER_THREAD_ID"));
            let blocker = thread(blocking.number("OWNER_THREAD_ID"));
            let id = waiting.number("OWNER_THREAD_ID");
            let statement = statements.iter().find(|statement| statement.number("THREAD_ID") == id);
            let pid = blocker.as_ref().map_or(0, |thread| thread.number("PROCESSLIST_ID"));
            rows.push(vec![
                waiting.get("OBJECT_SCHEMA"),
                waiting.get("OBJECT_NAME"),
                waiting.get("OWNER_THREAD_ID"),
                of(&waiter, "PROCESSLIST_ID"),
                account(&waiter),
                waiting.get("LOCK_TYPE"),
                waiting.get("LOCK_DURATION"),
                of(&waiter, "PROCESSLIST_INFO"),
                of(&waiter, "PROCESSLIST_TIME"),
                of(&statement, "ROWS_AFFECTED"),
                of(&statement, "ROWS_EXAMINED"),
                blocking.get("OWNER_THREAD_ID"),
                of(&blocker, "PROCESSLIST_ID"),
                account(&blocker),
                blocking.get("LOCK_TYPE"),
                blocking.get("LOCK_DURATION"),
                Value::String(format!("KILL QUERY {pid}")),
                Value::String(format!("KILL {pid}")),
            ]);
        }
    }
    Ok(rows)
}
