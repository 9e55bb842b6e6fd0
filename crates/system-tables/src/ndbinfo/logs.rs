//! Logs and files.

use super::counters::status;
use super::{NdbTable, Rows, node};
use crate::performance_files::sums_by_event;
use crate::source::Source;
use crate::spec::{no_rows, s, u};
use squall_accounting::file_use::REDO_LOG;
use squall_registry::VirtualScan;
use squall_server_state::variables::Values;

const SPEED: &str = "node_id:w thr_no:w backup_lcp_speed_last_sec:u redo_speed_last_sec:u backup_lcp_speed_last_10sec:u \
     redo_speed_last_10sec:u std_dev_backup_lcp_speed_last_10sec:u std_dev_redo_speed_last_10sec:u backup_lcp_speed_last_60sec:u \
     redo_speed_last_60sec:u std_dev_backup_lcp_speed_last_60sec:u std_dev_redo_speed_last_60sec:u slowdowns_due_to_io_lag:u \
     slowdowns_due_to_high_cpu:u disk_write_speed_set_to_min:u current_target_disk_write_speed:u";

pub(super) const TABLES: &[NdbTable] = &[
    NdbTable {
        name: "logbuffers",
        comment: "committed changes in memory that are to go to files of tables",
        columns: "node_id:w log_type:v512 log_id:w log_part:w total:u used:u",
        rows: |source, _| {
            let used = source.state.store.write_buffers().1;
            Ok(vec![vec![
                node(),
                s("REDO"),
                u(0),
                u(0),
                u(number(source, "innodb_log_buffer_size").max(used)),
                u(used),
            ]])
        },
    },
    NdbTable {
        name: "logspaces",
        comment: "space of the redo log, and the bytes that were written to it",
        columns: "node_id:w log_type:v512 log_id:w log_part:w total:u used:u",
        rows: |source, _| {
            let used = sums_by_event(source).get(REDO_LOG).map_or(0, |totals| totals.written.bytes);
            let total = number(source, "innodb_redo_log_capacity").max(used);
            Ok(vec![vec![node(), s("REDO"), u(0), u(0), u(total), u(used)]])
        },
    },
    NdbTable {
        name: "diskpagebuffer",
        comment: "reads and writes of files of tables, and of rows that are kept in memory",
        columns: "node_id:w block_instance:w pages_written:u pages_written_lcp:u pages_read:u log_waits:u page_requests_direct_return:u \
                  page_requests_wait_queue:u page_requests_wait_io:u",
        rows: page_buffer,
    },
    // Nothing limits how fast files are written.
    NdbTable {
        name: "disk_write_speed_base",
        comment: "how fast files are written, by period",
        columns: "node_id:w thr_no:w millis_ago:u millis_passed:u backup_lcp_bytes_written:u redo_bytes_written:u target_disk_write_speed:u",
        rows: no_rows,
    },
    NdbTable {
        name: "disk_write_speed_aggregate",
        comment: "how fast files are written, by thread",
        columns: SPEED,
        rows: no_rows,
    },
    NdbTable {
        name: "disk_write_speed_aggregate_node",
        comment: "how fast files are written, by node",
        columns: "node_id:w backup_lcp_speed_last_sec:u redo_speed_last_sec:u backup_lcp_speed_last_10sec:u redo_speed_last_10sec:u \
                  backup_lcp_speed_last_60sec:u redo_speed_last_60sec:u",
        rows: no_rows,
    },
];

/// A global variable that is a number; 0 if there is none.
pub(super) fn number(source: &Source<'_>, name: &str) -> u64 {
    let id = source.state.registry.variables.find(name);
    id.map_or(0, |id| Values(&source.state.globals.load_values()).number(id))
}

fn page_buffer(source: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let status = status(source);
    let of = |name: &str| status.get(name).copied().unwrap_or(0);
    let mut row = vec![node(), u(0), u(of("Innodb_data_writes")), u(0), u(of("Innodb_data_reads")), u(0)];
    row.extend([u(of("Row_cache_hits")), u(0), u(of("Row_cache_misses"))]);
    Ok(vec![row])
}
