//! Waits by class, by event, and by user, host or thread.

use super::source::{Row, Tables};
use super::sums::{AVG, COUNT, Groups, MAX, MIN, SUM, Waits, descending, n, or_background};
use super::view::{Names, View, count, event, host, name, time};
use squall_types::{SqlResult, Value};

/// Waiting for work is no wait.
const IDLE: &str = "idle";

pub(super) const VIEWS: &[View] = &[
    View {
        name: "wait_classes_global_by_latency",
        names: Names::Both,
        columns: &[
            event("event_class"),
            count("total"),
            time("total_latency"),
            time("min_latency"),
            time("avg_latency"),
            time("max_latency"),
        ],
        rows: |tables| Ok(descending(classes(tables)?, 2)),
        over_time: true,
    },
    View {
        name: "wait_classes_global_by_avg_latency",
        names: Names::Both,
        columns: &[
            event("event_class"),
            count("total"),
            time("total_latency"),
            time("min_latency"),
            time("avg_latency"),
            time("max_latency"),
        ],
        rows: |tables| Ok(descending(classes(tables)?, 4)),
        over_time: true,
    },
    View {
        name: "waits_global_by_latency",
        names: Names::Both,
        columns: &[event("events"), count("total"), time("total_latency"), time("avg_latency"), time("max_latency")],
        rows: global,
        over_time: true,
    },
    View {
        name: "waits_by_host_by_latency",
        names: Names::Both,
        columns: &[
            host("host"),
            event("event"),
            count("total"),
            time("total_latency"),
            time("avg_latency"),
            time("max_latency"),
        ],
        rows: |tables| {
            let columns = &["HOST", "EVENT_NAME", COUNT, SUM, AVG, MAX];
            by(tables.get_where("events_waits_summary_by_host_by_event_name", columns, TESTED, is_wait)?, "HOST")
        },
        over_time: true,
    },
    View {
        name: "waits_by_user_by_latency",
        names: Names::Both,
        columns: &[
            name("user"),
            event("event"),
            count("total"),
            time("total_latency"),
            time("avg_latency"),
            time("max_latency"),
        ],
        rows: |tables| {
            let columns = &["USER", "EVENT_NAME", COUNT, SUM, AVG, MAX];
            by(tables.get_where("events_waits_summary_by_user_by_event_name", columns, TESTED, is_wait)?, "USER")
        },
        over_time: true,
    },
];

/// The columns that [`is_wait`] looks at.
const TESTED: &[&str] = &["EVENT_NAME", SUM];

fn is_wait(wait: &Row<'_>) -> bool {
    wait.number(SUM) > 0 && wait.text("EVENT_NAME") != IDLE
}

/// The first three parts of an event's name.
fn class(event: &str) -> &str {
    event.match_indices('/').nth(2).map_or(event, |(end, _)| &event[..end])
}

fn classes(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let columns = &["EVENT_NAME", COUNT, SUM, MIN, MAX];
    let waits = tables.get_where("events_waits_summary_global_by_event_name", columns, TESTED, is_wait)?;
    let mut sums: Groups<String, Waits> = Groups::new();
    for wait in waits.iter() {
        sums.of(class(wait.text("EVENT_NAME")).to_string()).add(&wait);
    }
    let row = |(class, waits): (String, Waits)| {
        let least = n(waits.min.unwrap_or(0));
        vec![Value::String(class), n(waits.count), n(waits.sum), least, n(waits.average()), n(waits.max)]
    };
    Ok(sums.into_vec().into_iter().map(row).collect())
}

fn global(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let columns = &["EVENT_NAME", COUNT, SUM, AVG, MAX];
    let waits = tables.get_where("events_waits_summary_global_by_event_name", columns, TESTED, is_wait)?;
    let rows = waits.iter().map(|wait| ["EVENT_NAME", COUNT, SUM, AVG, MAX].map(|name| wait.get(name)).to_vec());
    Ok(descending(rows.collect(), 2))
}

fn by(waits: super::source::Rows, who: &'static str) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for wait in waits.iter() {
        let mut row = vec![Value::String(or_background(wait.value(who)))];
        row.extend(["EVENT_NAME", COUNT, SUM, AVG, MAX].map(|name| wait.get(name)));
        rows.push(row);
    }
    let mut rows = descending(rows, 3);
    rows.sort_by(|left, right| super::sums::order(left.first(), right.first()));
    Ok(rows)
}
