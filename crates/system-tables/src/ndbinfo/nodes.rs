//! The nodes: this server.

use super::{NODE, NdbTable, Rows, node};
use crate::source::Source;
use crate::spec::{no_rows, s, u};
use squall_registry::VirtualScan;

const RESTART: &str = "node_id:w node_restart_status:v512 node_restart_status_int:w secs_to_complete_node_failure:w \
     secs_to_allocate_node_id:w secs_to_include_in_heartbeat_protocol:w secs_until_wait_for_ndbcntr_master:w \
     secs_wait_for_ndbcntr_master:w secs_to_get_start_permitted:w secs_to_wait_for_lcp_for_copy_meta_data:w secs_to_copy_meta_data:w \
     secs_to_include_node:w secs_starting_node_to_request_local_recovery:w secs_for_local_recovery:w secs_restore_fragments:w \
     secs_undo_disk_data:w secs_exec_redo_log:w secs_index_rebuild:w secs_to_synchronize_starting_node:w secs_wait_lcp_for_restart:w \
     secs_wait_subscription_handover:w total_restart_secs:w";

pub(super) const TABLES: &[NdbTable] = &[
    NdbTable {
        name: "nodes",
        comment: "servers, and how long they run",
        columns: "node_id:w uptime:u status:v512 start_phase:w config_generation:w",
        rows: |source, _| {
            let uptime = source.state.started.elapsed().as_secs();
            Ok(vec![vec![node(), u(uptime), s("STARTED"), u(0), u(source.state.globals.version())]])
        },
    },
    NdbTable {
        name: "membership",
        comment: "how servers see each other",
        columns: "node_id:w group_id:w left_node:w right_node:w president:w successor:w succession_order:w Conf_HB_order:w arbitrator:w \
                  arb_ticket:v512 arb_state:v512 arb_connected:v512 connected_rank1_arbs:v512 connected_rank2_arbs:v512",
        rows: membership,
    },
    // There is no other server, so none decides which ones go on.
    NdbTable {
        name: "arbitrator_validity_detail",
        comment: "the server that decides, as each server sees it",
        columns: "node_id:w arbitrator:w arb_ticket:v512 arb_connected:v512 arb_state:v512",
        rows: no_rows,
    },
    NdbTable {
        name: "arbitrator_validity_summary",
        comment: "the server that decides",
        columns: "arbitrator:w arb_ticket:v512 arb_connected:v512 consensus_count:u",
        rows: no_rows,
    },
    NdbTable {
        name: "transporters",
        comment: "connections between servers",
        columns: "node_id:w remote_node_id:w status:v512 remote_address:v512 bytes_sent:u bytes_received:u connect_count:w overloaded:w \
                  overload_count:w slowdown:w slowdown_count:w",
        rows: no_rows,
    },
    NdbTable {
        name: "restart_info",
        comment: "how long a server took to come back to others",
        columns: RESTART,
        rows: no_rows,
    },
];

fn membership(_: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let mut row = vec![node(), u(0), u(NODE), u(NODE), u(NODE), u(0), u(1), u(0), u(0)];
    row.extend(["", "ARBIT_NULL", "No", "-", "-"].map(s));
    Ok(vec![row])
}
