//! performance_schema's tables of clients' sockets. They are counted and not timed, because no thread waits for them.

use super::performance_sums::timed;
use super::{DescribedTable, Source, s, u};
use squall_instrumentation::accounts::host_without_port;
use squall_instrumentation::process::Process;
use squall_instrumentation::socket_use::{SocketTotals, SocketUse};
use squall_instrumentation::timed::Timed;
use squall_registry::VirtualScan;
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// The socket of a client.
pub(crate) const CLIENT_SOCKET: &str = "wait/io/socket/sql/client_connection";

pub(crate) const TABLES: &[DescribedTable] = &[
    (
        "socket_instances",
        "EVENT_NAME:v128 OBJECT_INSTANCE_BEGIN:u THREAD_ID:u? SOCKET_ID:n IP:v64 PORT:n STATE:v6",
        instances,
    ),
    (
        "socket_summary_by_event_name",
        "EVENT_NAME:v128 * *READ SUM_NUMBER_OF_BYTES_READ:u *WRITE SUM_NUMBER_OF_BYTES_WRITE:u *MISC",
        by_event,
    ),
    (
        "socket_summary_by_instance",
        "EVENT_NAME:v128 OBJECT_INSTANCE_BEGIN:u * *READ SUM_NUMBER_OF_BYTES_READ:u *WRITE \
         SUM_NUMBER_OF_BYTES_WRITE:u *MISC",
        by_instance,
    ),
];

/// The connections that have sockets, and those.
fn sockets(source: &Source<'_>) -> Vec<(Arc<Process>, Arc<SocketUse>)> {
    let processes = source.state.processes.all().into_iter();
    processes.filter_map(|process| process.socket.clone().map(|socket| (process, socket))).collect()
}

/// The columns of sums over reads, writes and the rest.
fn sums(totals: &SocketTotals) -> Vec<Value> {
    let counted = |count| timed(&Timed { count, ..Timed::default() });
    let mut row = counted(totals.reads + totals.writes).to_vec();
    row.extend(counted(totals.reads));
    row.push(u(totals.read_bytes));
    row.extend(counted(totals.writes));
    row.push(u(totals.written_bytes));
    row.extend(counted(0));
    row
}

fn instances(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let row = |(process, socket): &(Arc<Process>, Arc<SocketUse>)| {
        let address = host_without_port(&process.host);
        let port = process.host.get(address.len() + 1..).and_then(|port| port.parse().ok());
        let is_idle = process.activity.lock().command == "Sleep";
        vec![
            s(CLIENT_SOCKET),
            u(process.id),
            u(process.id),
            Value::Int(i64::from(socket.descriptor())),
            s(process.peer.map_or(String::new(), |peer| peer.to_string())),
            Value::Int(port.unwrap_or(0)),
            s(if is_idle { "IDLE" } else { "ACTIVE" }),
        ]
    };
    Ok(sockets(source).iter().map(row).collect())
}

fn by_event(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    Ok(vec![[vec![s(CLIENT_SOCKET)], sums(&all(source))].concat()])
}

/// The traffic of all sockets, including closed ones.
pub(crate) fn all(source: &Source<'_>) -> SocketTotals {
    let mut totals = *source.state.statistics.sockets_of_gone.lock();
    sockets(source).iter().for_each(|(_, socket)| totals.merge(&socket.totals()));
    totals
}

fn by_instance(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let row = |(process, socket): &(Arc<Process>, Arc<SocketUse>)| {
        [vec![s(CLIENT_SOCKET), u(process.id)], sums(&socket.totals())].concat()
    };
    Ok(sockets(source).iter().map(row).collect())
}
