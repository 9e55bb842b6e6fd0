//! Reads and writes of files.

use super::source::Tables;
use super::sums::{self, AVG, COUNT, Groups, MAX, MIN, SUM, Waits, descending, n, per, quotient};
use super::view::{Names, View, bytes, count, event, file, host, number, ratio, time};
use squall_types::{SqlResult, Value};

/// Names of waits for files begin so.
pub(super) const FILE_EVENTS: &str = "wait/io/file/";

const READS: &str = "COUNT_READ";
const READ_TIME: &str = "SUM_TIMER_READ";
const READ_BYTES: &str = "SUM_NUMBER_OF_BYTES_READ";
const WRITES: &str = "COUNT_WRITE";
const WRITE_TIME: &str = "SUM_TIMER_WRITE";
const WRITTEN_BYTES: &str = "SUM_NUMBER_OF_BYTES_WRITE";
const OTHERS: &str = "COUNT_MISC";
const OTHER_TIME: &str = "SUM_TIMER_MISC";
const SUMS: &[&str] = &[
    "FILE_NAME",
    "EVENT_NAME",
    COUNT,
    SUM,
    MIN,
    AVG,
    MAX,
    READS,
    READ_TIME,
    READ_BYTES,
    WRITES,
    WRITE_TIME,
    WRITTEN_BYTES,
    OTHERS,
    OTHER_TIME,
];
const SUMS_BY_EVENT: &[&str] = &[
    "EVENT_NAME",
    COUNT,
    SUM,
    MIN,
    AVG,
    MAX,
    READS,
    READ_TIME,
    READ_BYTES,
    WRITES,
    WRITE_TIME,
    WRITTEN_BYTES,
    OTHERS,
    OTHER_TIME,
];

pub(super) const VIEWS: &[View] = &[
    View {
        name: "io_global_by_file_by_bytes",
        names: Names::Both,
        columns: &[
            file("file"),
            count("count_read"),
            bytes("total_read"),
            bytes("avg_read"),
            count("count_write"),
            bytes("total_written"),
            bytes("avg_write"),
            bytes("total"),
            ratio("write_pct", 2),
        ],
        rows: by_file_by_bytes,
        over_time: true,
    },
    View {
        name: "io_global_by_file_by_latency",
        names: Names::Both,
        columns: &[
            file("file"),
            count("total"),
            time("total_latency"),
            count("count_read"),
            time("read_latency"),
            count("count_write"),
            time("write_latency"),
            count("count_misc"),
            time("misc_latency"),
        ],
        rows: by_file_by_latency,
        over_time: true,
    },
    View {
        name: "io_global_by_wait_by_bytes",
        names: Names::Both,
        columns: &[
            event("event_name"),
            count("total"),
            time("total_latency"),
            time("min_latency"),
            time("avg_latency"),
            time("max_latency"),
            count("count_read"),
            bytes("total_read"),
            bytes("avg_read"),
            count("count_write"),
            bytes("total_written"),
            bytes("avg_written"),
            bytes("total_requested"),
        ],
        rows: by_wait_by_bytes,
        over_time: true,
    },
    View {
        name: "io_global_by_wait_by_latency",
        names: Names::Both,
        columns: &[
            event("event_name"),
            count("total"),
            time("total_latency"),
            time("avg_latency"),
            time("max_latency"),
            time("read_latency"),
            time("write_latency"),
            time("misc_latency"),
            count("count_read"),
            bytes("total_read"),
            bytes("avg_read"),
            count("count_write"),
            bytes("total_written"),
            bytes("avg_written"),
        ],
        rows: by_wait_by_latency,
        over_time: true,
    },
    View {
        name: "io_by_thread_by_latency",
        names: Names::Both,
        columns: &[
            host("user"),
            count("total"),
            time("total_latency"),
            time("min_latency"),
            time("avg_latency"),
            time("max_latency"),
            count("thread_id"),
            number("processlist_id"),
        ],
        rows: by_thread,
        over_time: true,
    },
    View {
        name: "latest_file_io",
        names: Names::Both,
        columns: &[host("thread"), file("file"), time("latency"), event("operation"), bytes("requested")],
        rows: latest,
        over_time: true,
    },
];

fn by_file_by_bytes(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let files = tables.get("file_summary_by_instance", SUMS)?;
    let row = |file: super::source::Row<'_>| {
        let (read, written) = (file.number(READ_BYTES), file.number(WRITTEN_BYTES));
        let (reads, writes) = (file.number(READS), file.number(WRITES));
        vec![
            file.get("FILE_NAME"),
            n(reads),
            n(read),
            n(per(read, reads)),
            n(writes),
            n(written),
            n(per(written, writes)),
            n(read + written),
            quotient(written as f64 * 100.0, (read + written) as f64, 2),
        ]
    };
    Ok(descending(files.iter().map(row).collect(), 7))
}

fn by_file_by_latency(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let files = tables.get("file_summary_by_instance", SUMS)?;
    let wanted = ["FILE_NAME", COUNT, SUM, READS, READ_TIME, WRITES, WRITE_TIME, OTHERS, OTHER_TIME];
    let row = |file: super::source::Row<'_>| wanted.iter().map(|name| file.get(name)).collect();
    Ok(descending(files.iter().map(row).collect(), 2))
}

/// The last two parts of an event's name.
fn short_name(event: &str) -> Value {
    let parts: Vec<&str> = event.rsplitn(3, '/').collect();
    match parts[..] {
        [last, before, _] => Value::String(format!("{before}/{last}")),
        _ => Value::from(event),
    }
}

fn by_wait_by_bytes(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let events =
        tables.get_where("file_summary_by_event_name", SUMS_BY_EVENT, &[COUNT], |event| event.number(COUNT) > 0)?;
    let rows = events.iter().map(|event| {
        let (read, written) = (event.number(READ_BYTES), event.number(WRITTEN_BYTES));
        let (reads, writes) = (event.number(READS), event.number(WRITES));
        vec![
            short_name(event.text("EVENT_NAME")),
            n(event.number(COUNT)),
            n(event.number(SUM)),
            n(event.number(MIN)),
            n(event.number(AVG)),
            n(event.number(MAX)),
            n(reads),
            n(read),
            n(per(read, reads)),
            n(writes),
            n(written),
            n(per(written, writes)),
            n(read + written),
        ]
    });
    Ok(descending(rows.collect(), 12))
}

fn by_wait_by_latency(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let events =
        tables.get_where("file_summary_by_event_name", SUMS_BY_EVENT, &[COUNT], |event| event.number(COUNT) > 0)?;
    let rows = events.iter().map(|event| {
        let (read, written) = (event.number(READ_BYTES), event.number(WRITTEN_BYTES));
        let (reads, writes) = (event.number(READS), event.number(WRITES));
        vec![
            short_name(event.text("EVENT_NAME")),
            n(event.number(COUNT)),
            n(event.number(SUM)),
            n(event.number(AVG)),
            n(event.number(MAX)),
            n(event.number(READ_TIME)),
            n(event.number(WRITE_TIME)),
            n(event.number(OTHER_TIME)),
            n(reads),
            n(read),
            n(per(read, reads)),
            n(writes),
            n(written),
            n(per(written, writes)),
        ]
    });
    Ok(descending(rows.collect(), 2))
}

/// The columns of threads that tell a thread's account.
pub(super) const THREAD: &[&str] = &["THREAD_ID", "NAME", "PROCESSLIST_ID", "PROCESSLIST_USER", "PROCESSLIST_HOST"];

/// `user@host` of a connection, the last part of the name of any other thread.
pub(super) fn thread_user(thread: &super::source::Row<'_>) -> Value {
    if thread.is_null("PROCESSLIST_ID") || thread.is_null("PROCESSLIST_USER") {
        let name = thread.text("NAME");
        return Value::from(name.rsplit('/').next().unwrap_or(name));
    }
    Value::String(format!("{}@{}", thread.text("PROCESSLIST_USER"), thread.text("PROCESSLIST_HOST")))
}

fn by_thread(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let waits = tables.get_where(
        "events_waits_summary_by_thread_by_event_name",
        &["THREAD_ID", "EVENT_NAME", COUNT, SUM, MIN, AVG, MAX],
        &["EVENT_NAME", SUM],
        |wait| wait.text("EVENT_NAME").starts_with(FILE_EVENTS) && wait.number(SUM) > 0,
    )?;
    if waits.iter().next().is_none() {
        return Ok(Vec::new());
    }
    let mut sums: Groups<u64, Waits> = Groups::new();
    waits.iter().for_each(|wait| sums.of(wait.number("THREAD_ID")).add(&wait));
    let threads = tables.get("threads", THREAD)?;
    let rows = threads.iter().filter_map(|thread| {
        let waits = sums.find(&thread.number("THREAD_ID"))?;
        Some(vec![
            thread_user(&thread),
            n(waits.count),
            n(waits.sum),
            n(waits.min.unwrap_or(0)),
            n(waits.average()),
            n(waits.max),
            n(thread.number("THREAD_ID")),
            thread.get("PROCESSLIST_ID"),
        ])
    });
    Ok(sums::descending(rows.collect(), 2))
}

fn latest(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let waits = tables.get_where(
        "events_waits_history_long",
        &["THREAD_ID", "EVENT_NAME", "OBJECT_NAME", "TIMER_START", "TIMER_WAIT", "OPERATION", "NUMBER_OF_BYTES"],
        &["EVENT_NAME", "OBJECT_NAME"],
        |wait| wait.text("EVENT_NAME").starts_with(FILE_EVENTS) && !wait.is_null("OBJECT_NAME"),
    )?;
    let mut found: Vec<_> = waits.iter().collect();
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let threads = tables.get("threads", THREAD)?;
    found.sort_by_key(|wait| wait.number("TIMER_START"));
    let name = |id: u64| {
        let thread = threads.iter().find(|thread| thread.number("THREAD_ID") == id);
        let user = thread.as_ref().map_or(Value::Null, thread_user);
        match user {
            Value::String(user) => Value::String(format!("{user}:{id}")),
            other => other,
        }
    };
    let row = |wait: super::source::Row<'_>| {
        vec![
            name(wait.number("THREAD_ID")),
            wait.get("OBJECT_NAME"),
            wait.get("TIMER_WAIT"),
            wait.get("OPERATION"),
            wait.get("NUMBER_OF_BYTES"),
        ]
    };
    Ok(found.into_iter().map(row).collect())
}
