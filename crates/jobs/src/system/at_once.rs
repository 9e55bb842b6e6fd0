//! Jobs that run where they are submitted, because handing them to a worker would take longer.
//!
//! Such a job gets its number when it is done, and its row is written as ended. One commit has the row and the job's changes. After a
//! crash the store has both or neither, so these jobs need no claim and are never repeated.

use crate::system::ending::Ending;
use crate::system::job::{JobState, NewJob};
use crate::system::output::EndedOutput;
use crate::system::queue::Live;
use crate::system::record::output_row;
use crate::system::{Kind, Submitted};
use squall_row_store::Transaction;
use squall_types::clock::now_micros;
use squall_types::{SqlError, SqlResult};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The result of a job that was done before it was submitted.
pub struct DoneJob {
    /// When it was begun, microseconds since 1970 UTC.
    pub started_micros: i64,
    /// Why it has failed, if it has.
    pub error: Option<SqlError>,
    /// Its output by parts, as they are to be read.
    pub output: Vec<Vec<u8>>,
    /// Its uncommitted changes.
    pub changes: Option<Transaction>,
}

impl fmt::Debug for DoneJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DoneJob").field("error", &self.error).finish_non_exhaustive()
    }
}

impl Kind {
    /// Whether a durable job that is submitted now would begin at once, beside others: none waits, and fewer run than may. The
    /// answer is no for a kind with one worker: each of its jobs must see the changes of earlier ones, which are visible only when
    /// they are durable. These jobs do not count as running: they take no longer than a look at the counts, and each submitting
    /// thread has at most one.
    pub fn is_free(&self) -> bool {
        let queue = self.inner.queue.lock();
        self.inner.spec.durable && queue.limit > 1 && queue.is_free()
    }

    /// How many jobs this process has [submitted as done](Kind::submit_done).
    pub fn done_at_once(&self) -> u64 {
        self.inner.done_at_once.load(Ordering::Relaxed)
    }

    /// Submits a job that is done already, with all that it has changed: [`Submitted`] waits until that is durable, and no session sees
    /// anything of it before. If it cannot be committed beside what others have done meanwhile, a worker does it again.
    ///
    /// # Errors
    /// When the row cannot be written, or jobs of the kind are transient. Nothing of the job remains then.
    pub fn submit_done(&self, job: NewJob, done: DoneJob) -> SqlResult<Submitted> {
        let (system, kind) = (self.system()?, &self.inner);
        if !kind.spec.durable {
            return Err(SqlError::internal(format_args!("jobs of the kind {} have no rows", kind.spec.name)));
        }
        let DoneJob { started_micros, error, mut output, changes } = done;
        if error.is_some() {
            output.clear();
        }
        let bytes = output.iter().map(|part| part.len() as u64).sum();
        let last = output.pop();
        let mut next_number = kind.next_number.lock();
        let number = *next_number;
        let mut info = job.info(kind.spec.name, number);
        (info.attempts, info.created_micros, info.started_micros) = (1, started_micros, Some(started_micros));
        let mut transaction = changes.unwrap_or_else(|| system.begin());
        let parts_written = output.len() as u64;
        for (part, content) in (0..).zip(output) {
            transaction.put(&system.output, &output_row(kind.spec.name, number, part, content), true)?;
        }
        *next_number += 1;
        let ticket = system.end(Ending {
            kind: kind.clone(),
            live: Arc::new(Live::new(&info, None, None)),
            state: if error.is_some() { JobState::Failed } else { JobState::Done },
            error,
            finished_micros: now_micros(),
            payload: Some(job.payload.clone()),
            output: EndedOutput { last, parts_written, bytes },
            kept_bytes: 0,
            transaction: Some(transaction),
            is_new: true,
        });
        drop(next_number);
        if matches!(ticket.poll_done(), Some(Err(_))) {
            return self.submit(job);
        }
        kind.done_at_once.fetch_add(1, Ordering::Relaxed);
        Ok(Submitted { number, ticket: Some(ticket) })
    }
}
