//! How far an ALTER TABLE is.

use squall_instrumentation::process::{Process, Transfer};
use squall_row_store::Table;
use squall_server_state::ServerState;
use std::sync::Arc;

/// How far a session's ALTER TABLE is with a table's rows, as the process list and events_stages_current show it.
pub(crate) struct Progress(Option<Arc<Process>>);

impl Progress {
    /// The work begins.
    pub fn begin(state: &ServerState, session: u64, table: &Table) -> Progress {
        let process = state.processes.get(session);
        if let Some(process) = &process {
            process.transfer.begin(Transfer::Copying);
            process.transfer.set_rows_total(state.store.table_stats(table).row_count);
        }
        Progress(process)
    }

    /// That many rows more are done.
    pub fn add(&self, rows: u64) {
        if let Some(process) = &self.0 {
            process.transfer.add_rows(rows);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(process) = &self.0 {
            process.transfer.end();
        }
    }
}
