//! Memory by its use, and by thread, user and host.

use super::files::{THREAD, thread_user};
use super::source::{Row, Rows, Tables};
use super::sums::{Groups, descending, n, or_background};
use super::view::{Column, Names, View, bytes, count, event, host, name, number};
use squall_types::{SqlResult, Value};

const USED: &str = "CURRENT_COUNT_USED";
const ALLOCATED: &str = "CURRENT_NUMBER_OF_BYTES_USED";
const EVER: &str = "SUM_NUMBER_OF_BYTES_ALLOC";
const HIGH_USED: &str = "HIGH_COUNT_USED";
const HIGH_ALLOCATED: &str = "HIGH_NUMBER_OF_BYTES_USED";

const fn sums(who: Column) -> [Column; 6] {
    [
        who,
        number("current_count_used"),
        bytes("current_allocated"),
        bytes("current_avg_alloc"),
        bytes("current_max_alloc"),
        bytes("total_allocated"),
    ]
}

pub(super) const VIEWS: &[View] = &[
    View {
        name: "memory_by_host_by_current_bytes",
        names: Names::Both,
        columns: &sums(host("host")),
        rows: |tables| {
            let columns = &["HOST", "EVENT_NAME", USED, ALLOCATED, EVER];
            Ok(by(tables.get("memory_summary_by_host_by_event_name", columns)?, "HOST"))
        },
        over_time: true,
    },
    View {
        name: "memory_by_user_by_current_bytes",
        names: Names::Both,
        columns: &sums(name("user")),
        rows: |tables| {
            let columns = &["USER", "EVENT_NAME", USED, ALLOCATED, EVER];
            Ok(by(tables.get("memory_summary_by_user_by_event_name", columns)?, "USER"))
        },
        over_time: true,
    },
    View {
        name: "memory_by_thread_by_current_bytes",
        names: Names::Both,
        columns: &[
            count("thread_id"),
            host("user"),
            number("current_count_used"),
            bytes("current_allocated"),
            bytes("current_avg_alloc"),
            bytes("current_max_alloc"),
            bytes("total_allocated"),
        ],
        rows: by_thread,
        over_time: true,
    },
    View {
        name: "memory_global_by_current_bytes",
        names: Names::Both,
        columns: &[
            event("event_name"),
            number("current_count"),
            bytes("current_alloc"),
            bytes("current_avg_alloc"),
            number("high_count"),
            bytes("high_alloc"),
            bytes("high_avg_alloc"),
        ],
        rows: global,
        over_time: true,
    },
    View {
        name: "memory_global_total",
        names: Names::Both,
        columns: &[bytes("total_allocated")],
        rows: |tables| {
            let memory = tables.get("memory_summary_global_by_event_name", &["EVENT_NAME", ALLOCATED])?;
            Ok(vec![vec![n(memory.iter().map(|row| row.number(ALLOCATED)).sum())]])
        },
        over_time: true,
    },
];

#[derive(Default)]
struct Memory {
    used: u64,
    allocated: u64,
    largest: u64,
    ever: u64,
}

impl Memory {
    fn add(&mut self, row: &Row<'_>) {
        self.used += row.number(USED);
        self.allocated += row.number(ALLOCATED);
        self.largest = self.largest.max(row.number(ALLOCATED));
        self.ever += row.number(EVER);
    }

    fn values(&self) -> [Value; 5] {
        let average = super::sums::per(self.allocated, self.used);
        [n(self.used), n(self.allocated), n(average), n(self.largest), n(self.ever)]
    }
}

fn by(rows: Rows, who: &'static str) -> Vec<Vec<Value>> {
    let mut sums: Groups<String, Memory> = Groups::new();
    rows.iter().for_each(|row| sums.of(or_background(row.value(who))).add(&row));
    let rows = sums.into_vec().into_iter();
    let rows = rows.map(|(who, memory)| std::iter::once(Value::String(who)).chain(memory.values()).collect());
    descending(rows.collect(), 2)
}

fn by_thread(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let columns = &["THREAD_ID", "EVENT_NAME", USED, ALLOCATED, EVER];
    let memory = tables.get("memory_summary_by_thread_by_event_name", columns)?;
    if memory.iter().next().is_none() {
        return Ok(Vec::new());
    }
    let mut sums: Groups<u64, Memory> = Groups::new();
    memory.iter().for_each(|row| sums.of(row.number("THREAD_ID")).add(&row));
    let threads = tables.get("threads", THREAD)?;
    let rows = threads.iter().filter_map(|thread| {
        let id = thread.number("THREAD_ID");
        let memory = sums.find(&id)?;
        Some([n(id), thread_user(&thread)].into_iter().chain(memory.values()).collect())
    });
    Ok(descending(rows.collect(), 3))
}

fn global(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let columns = &["EVENT_NAME", USED, ALLOCATED, HIGH_USED, HIGH_ALLOCATED];
    let memory = tables.get("memory_summary_global_by_event_name", columns)?;
    let row = |row: Row<'_>| {
        let (used, allocated) = (row.number(USED), row.number(ALLOCATED));
        let (high, high_allocated) = (row.number(HIGH_USED), row.number(HIGH_ALLOCATED));
        let per = super::sums::per;
        vec![
            row.get("EVENT_NAME"),
            n(used),
            n(allocated),
            n(per(allocated, used)),
            n(high),
            n(high_allocated),
            n(per(high_allocated, high)),
        ]
    };
    Ok(descending(memory.iter().filter(|row| row.number(ALLOCATED) > 0).map(row).collect(), 2))
}
