//! The time of processors by thread. Samples are taken from the first reader on, and as long as somebody reads them.

use super::{NdbTable, Rows, node};
use crate::background_threads::{TASKS, background_threads};
use crate::processor_samples::{ThreadUse, uses};
use crate::source::Source;
use crate::spec::{s, u};
use squall_registry::VirtualScan;
use squall_server_state::now_micros;
use squall_types::Value;
use std::collections::BTreeMap;

const SAMPLE: &str = "node_id:w thr_no:w OS_user_time:w OS_system_time:w OS_idle_time:w exec_time:w sleep_time:w spin_time:w send_time:w \
     buffer_full_time:w elapsed_time:w";

pub(super) const TABLES: &[NdbTable] = &[
    NdbTable {
        name: "threads",
        comment: "threads of the server",
        columns: "node_id:w thr_no:w thread_name:v512 thread_description:v512",
        rows: threads,
    },
    NdbTable {
        name: "threadstat",
        comment: "what the system tells of threads",
        columns: "node_id:w thr_no:w thr_nm:v512 c_loop:u c_exec:u c_wait:u c_l_sent_prioa:u c_l_sent_priob:u c_r_sent_prioa:u \
                  c_r_sent_priob:u os_tid:u os_now:u os_ru_utime:u os_ru_stime:u os_ru_minflt:u os_ru_majflt:u os_ru_nvcsw:u os_ru_nivcsw:u",
        rows: statistics,
    },
    NdbTable {
        name: "cpustat",
        comment: "per cent of a processor that threads took in the last second",
        columns: "node_id:w thr_no:w OS_user:w OS_system:w OS_idle:w thread_exec:w thread_sleeping:w thread_spinning:w thread_send:w \
                  thread_buffer_full:w elapsed_time:w",
        rows: last_second,
    },
    NdbTable {
        name: "cpustat_50ms",
        comment: "time of processors in each of the last 50 milliseconds",
        columns: SAMPLE,
        rows: |source, _| samples(source, 0),
    },
    NdbTable {
        name: "cpustat_1sec",
        comment: "time of processors in each of the last seconds",
        columns: SAMPLE,
        rows: |source, _| samples(source, 1),
    },
    NdbTable {
        name: "cpustat_20sec",
        comment: "time of processors in each of the last 20 seconds",
        columns: SAMPLE,
        rows: |source, _| samples(source, 2),
    },
];

/// How often a thread gave its processor away by itself, and how often it was taken from it.
fn switches(thread: u64) -> (u64, u64) {
    let text = std::fs::read_to_string(format!("{TASKS}/{thread}/status")).unwrap_or_default();
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.trim().parse().ok()).unwrap_or(0)
    };
    (of("voluntary_ctxt_switches:"), of("nonvoluntary_ctxt_switches:"))
}

fn threads(_: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let row = |(number, name): (u64, &String)| vec![node(), u(number), s(name), s("a thread of the server")];
    Ok((0..).zip(background_threads().values()).map(row).collect())
}

fn statistics(_: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let (names, uses) = (background_threads(), uses());
    let now = u64::try_from(now_micros() / 1000).unwrap_or(0);
    let row = |(number, (id, name)): (u64, (&u64, &String))| {
        let thread = uses.get(id).cloned().unwrap_or_default();
        let mut row = vec![node(), u(number), s(name)];
        row.extend([0; 7].map(u));
        row.extend([u(*id), u(now), u(thread.user_micros), u(thread.system_micros), u(thread.soft_faults)]);
        let (voluntary, other) = switches(*id);
        row.extend([u(thread.hard_faults), u(voluntary), u(other)]);
        row
    };
    Ok((0..).zip(&names).map(row).collect())
}

/// The numbers of threads in the views: their places in the order of the system's.
fn thread_numbers() -> BTreeMap<u64, u64> {
    background_threads().into_keys().zip(0..).collect()
}

fn samples(source: &Source<'_>, list: usize) -> Rows {
    let sampler = &source.server.processor_sampler();
    sampler.note_reader()?;
    let numbers = thread_numbers();
    let mut rows = Vec::new();
    for (uses, elapsed) in sampler.samples(list) {
        rows.extend(uses.iter().filter_map(|(id, thread)| {
            let busy = thread.user_micros + thread.system_micros;
            let idle = elapsed.saturating_sub(busy);
            let mut row = vec![node(), u(*numbers.get(id)?), u(thread.user_micros), u(thread.system_micros), u(idle)];
            row.extend([busy, idle, 0, 0, 0, elapsed].map(u));
            Some(row)
        }));
    }
    Ok(rows)
}

fn last_second(source: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let sampler = &source.server.processor_sampler();
    sampler.note_reader()?;
    let numbers = thread_numbers();
    let Some((uses, elapsed)) = sampler.samples(1).into_iter().next() else { return Ok(Vec::new()) };
    let percent = |micros: u64| (micros * 100).checked_div(elapsed).unwrap_or(0).min(100);
    let row = |(id, thread): (&u64, &ThreadUse)| -> Option<Vec<Value>> {
        let (user, system) = (percent(thread.user_micros), percent(thread.system_micros));
        let busy = (user + system).min(100);
        let mut row = vec![node(), u(*numbers.get(id)?)];
        row.extend([user, system, 100 - busy, busy, 100 - busy, 0, 0, 0, elapsed].map(u));
        Some(row)
    };
    Ok(uses.iter().filter_map(row).collect())
}
