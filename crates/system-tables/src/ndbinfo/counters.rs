//! Counters since the start, and how long statements take.

use super::blocks::{SQL, WIRE};
use super::{NODE, NdbTable, Rows, node};
use crate::performance::histogram;
use crate::source::Source;
use crate::spec::{s, u};
use crate::status::status_rows;
use squall_registry::VirtualScan;
use squall_types::Value;
use std::collections::HashMap;

pub(super) const TABLES: &[NdbTable] = &[
    NdbTable {
        name: "counters",
        comment: "counters since the start",
        columns: "node_id:w block_name:v512 block_instance:w counter_id:w counter_name:v512 val:u",
        rows: counters,
    },
    NdbTable {
        name: "tc_time_track_stats",
        comment: "statements by the time that they take",
        columns: "node_id:w block_number:w block_instance:w comm_node_id:w upper_bound:u scans:u scan_errors:u scan_fragments:u \
                  scan_fragment_errors:u transactions:u transaction_errors:u read_key_ops:u write_key_ops:u index_key_ops:u key_op_errors:u",
        rows: times,
    },
];

/// Number and name of a counter, and the status variables that it is the sum of. The numbers are NDB's.
const COUNTERS: &[(u64, &str, &str, &[&str])] = &[
    (1, WIRE, "ATTRINFO", &["Bytes_received"]),
    (2, SQL, "TRANSACTIONS", &["Handler_commit", "Handler_rollback"]),
    (3, SQL, "COMMITS", &["Handler_commit"]),
    (4, SQL, "READS", &["Handler_read_key"]),
    (5, SQL, "SIMPLE_READS", &[]),
    (6, SQL, "WRITES", &["Handler_write", "Handler_update", "Handler_delete"]),
    (7, SQL, "ABORTS", &["Handler_rollback"]),
    (8, SQL, "TABLE_SCANS", &["Select_scan"]),
    (9, SQL, "RANGE_SCANS", &["Select_range"]),
    (10, SQL, "OPERATIONS", &["Handler_read_key", "Handler_write", "Handler_update", "Handler_delete"]),
    (11, SQL, "READS_RECEIVED", &["Handler_read_key"]),
    (21, SQL, "SCAN_ROWS_RETURNED", &["Handler_read_rnd_next"]),
    (24, SQL, "LOCAL_READS", &["Handler_read_key"]),
    (25, SQL, "LOCAL_WRITES", &["Handler_write", "Handler_update", "Handler_delete"]),
];

/// Numbers of the server's status, by name.
pub(super) fn status(source: &Source<'_>) -> HashMap<String, u64> {
    let text = |value: &Value| squall_server_state::check::text(value);
    let numbers = status_rows(source, true).into_iter();
    numbers.filter_map(|row| Some((text(row.first()?), text(row.get(1)?).parse().ok()?))).collect()
}

fn counters(source: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let status = status(source);
    let row = |(id, block, name, sum): &(u64, &str, &str, &[&str])| {
        let value: u64 = sum.iter().filter_map(|name| status.get(*name)).sum();
        vec![node(), s(*block), u(0), u(*id), s(*name), u(value)]
    };
    Ok(COUNTERS.iter().map(row).collect())
}

/// Microseconds below which the first interval ends; each further one is half as long again. NDB's intervals.
const FIRST_BOUND: u64 = 50;
/// How many intervals there are.
const INTERVALS: usize = 32;
const PICOS_PER_MICRO: u64 = 1_000_000;

/// The end of each interval, microseconds.
fn bounds() -> Vec<u64> {
    let next = |bound: &u64| Some(bound + bound / 2);
    std::iter::successors(Some(FIRST_BOUND), next).take(INTERVALS).collect()
}

/// Statements are counted as transactions: what each is made of is not timed.
fn times(source: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let bounds = bounds();
    let mut counts = vec![0_u64; bounds.len()];
    for (end_picos, count) in histogram(source) {
        let end = end_picos / PICOS_PER_MICRO;
        let place = bounds.iter().position(|bound| end <= *bound).unwrap_or(bounds.len() - 1);
        counts[place] += count;
    }
    let row = |(bound, count): (u64, u64)| {
        let mut row = vec![node(), u(2), u(0), u(NODE), u(bound)];
        row.extend([0, 0, 0, 0, count, 0, 0, 0, 0, 0].map(u));
        row
    };
    Ok(bounds.into_iter().zip(counts).map(row).collect())
}
