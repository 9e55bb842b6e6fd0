//! Outputs of jobs.

use crate::system::record::output_row;
use crate::system::{KindInner, SystemInner};
use squall_row_store::CommitTicket;
use squall_types::{SqlError, SqlResult};
use std::fmt;
use std::sync::Arc;

/// The output of a running job: all parts but the last are rows already.
pub(crate) struct Output {
    kind: Arc<KindInner>,
    system: Arc<SystemInner>,
    number: u64,
    pending: Option<Vec<u8>>,
    written: u64,
    /// Of all parts.
    bytes: u64,
    /// The commit of the part before.
    ticket: Option<CommitTicket>,
}

/// The output of a job that ends.
#[derive(Default)]
pub(crate) struct EndedOutput {
    /// The last part, to be written with the job's end.
    pub last: Option<Vec<u8>>,
    /// How many are written before it.
    pub parts_written: u64,
    /// Of all parts.
    pub bytes: u64,
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("written", &self.written).finish_non_exhaustive()
    }
}

impl Output {
    pub fn new(kind: &Arc<KindInner>, system: &Arc<SystemInner>, number: u64) -> Output {
        Output { kind: kind.clone(), system: system.clone(), number, pending: None, written: 0, bytes: 0, ticket: None }
    }

    pub fn take(&mut self) -> Output {
        let fresh = Output::new(&self.kind, &self.system, self.number);
        std::mem::replace(self, fresh)
    }

    /// Adds a part; the one before it is written. Two parts at most are in memory.
    pub fn add(&mut self, part: Vec<u8>) -> SqlResult<()> {
        if !self.kind.spec.durable {
            return Ok(());
        }
        self.bytes += part.len() as u64;
        if let Some(content) = self.pending.replace(part) {
            if let Some(ticket) = self.ticket.take() {
                ticket.wait()?;
            }
            let mut transaction = self.system.begin();
            let row = output_row(self.kind.spec.name, self.number, self.written, content);
            transaction.insert(&self.system.output, &row).map_err(SqlError::from)?;
            self.ticket = Some(transaction.commit_async());
            self.written += 1;
        }
        Ok(())
    }

    /// What is left of it when the job ends.
    pub fn into_ended(self) -> EndedOutput {
        EndedOutput { last: self.pending, parts_written: self.written, bytes: self.bytes }
    }
}
