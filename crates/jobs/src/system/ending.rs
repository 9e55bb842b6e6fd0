//! The ends of jobs: written by the task that ended the job, published when they are durable.

use crate::system::job::{JobInfo, JobState};
use crate::system::kept::bytes_of;
use crate::system::output::EndedOutput;
use crate::system::queue::Live;
use crate::system::record::{JobRecord, OUTPUT_BYTES_IN_ROW, output_row};
use crate::system::{KindInner, SystemInner};
use squall_logs::error_log::{Severity, error_log};
use squall_row_store::{CommitTicket, Transaction};
use squall_types::clock::now_micros;
use squall_types::{SqlError, SqlResult};
use std::sync::Arc;
use std::time::Duration;

/// A job that has come to its final state.
pub(crate) struct Ending {
    pub kind: Arc<KindInner>,
    pub live: Arc<Live>,
    pub state: JobState,
    pub error: Option<SqlError>,
    pub finished_micros: i64,
    /// Its payload, where it is at hand.
    pub payload: Option<Vec<u8>>,
    pub output: EndedOutput,
    /// Bytes that count of what is kept of it, once its row is written.
    pub kept_bytes: u64,
    /// Its last changes, to be committed with its end.
    pub transaction: Option<Transaction>,
    /// It has no row yet, and its submitter waits for that.
    pub is_new: bool,
}

impl Ending {
    /// Of a job that ends now without having been begun.
    pub fn cancelled(kind: Arc<KindInner>, live: Arc<Live>, reason: SqlError) -> Ending {
        let finished_micros = now_micros();
        let (state, error) = (JobState::Cancelled, Some(reason));
        let output = EndedOutput::default();
        Ending {
            kind,
            live,
            state,
            error,
            finished_micros,
            payload: None,
            output,
            kept_bytes: 0,
            transaction: None,
            is_new: false,
        }
    }

    /// Makes the job failed: its changes could not be committed.
    fn fail(&mut self, lost: SqlError) {
        (self.state, self.error) = (JobState::Failed, Some(lost));
        self.output.last = None;
    }

    /// Bytes of the output that it leaves: that of a job that has failed is of no use.
    fn output_bytes(&self) -> u64 {
        if self.state == JobState::Done { self.output.bytes } else { 0 }
    }

    fn info(&self) -> JobInfo {
        JobInfo {
            state: self.state,
            error: self.error.clone(),
            finished_micros: Some(self.finished_micros),
            output_bytes: Some(self.output_bytes()),
            ..self.live.info(self.kind.spec.name)
        }
    }
}

impl SystemInner {
    /// A job has come to its end: it is in the log when this returns, unless that fails, and known to others when it is durable, as the
    /// ticket tells. On a thread that may read the disk.
    pub fn end(&self, mut ending: Ending) -> CommitTicket {
        if !ending.kind.spec.durable {
            publish_end(ending, Ok(()));
            return CommitTicket::ready(Ok(()));
        }
        // Of a job without a row nothing is left where that fails.
        let is_new = ending.is_new;
        let has_changes = ending.transaction.is_some() && !is_new;
        let mut ticket = self.write_end(&mut ending);
        if let Some(Err(lost)) = ticket.poll_done()
            && has_changes
        {
            // They may be what could not be committed.
            ending.fail(lost);
            ticket = self.write_end(&mut ending);
        }
        if !matches!(ticket.poll_done(), Some(Err(_))) {
            // Should the sync fail, nothing more is ever written.
            ending.live.set_recorded();
        }
        ticket.when_done(move |written| {
            if is_new && written.is_err() {
                return;
            }
            if let Err(lost) = &written
                && has_changes
            {
                ending.fail(lost.clone());
            }
            publish_end(ending, written);
        });
        ticket
    }

    fn write_end(&self, ending: &mut Ending) -> CommitTicket {
        let transaction = ending.transaction.take();
        match self.end_in(transaction, ending) {
            Ok(transaction) => transaction.commit_async(),
            Err(error) => CommitTicket::ready(Err(error)),
        }
    }

    /// The transaction that has changed something for a job, or a new one, with the job's end.
    fn end_in(&self, changes: Option<Transaction>, ending: &mut Ending) -> SqlResult<Transaction> {
        let (name, number) = (ending.kind.spec.name, ending.live.number);
        let allows_commit_delay = !ending.is_new && !ending.live.is_awaited();
        let mut transaction = changes.unwrap_or_else(|| self.begin());
        transaction.allow_commit_delay(allows_commit_delay);
        let payload = match ending.payload.take().or_else(|| ending.live.payload()) {
            Some(payload) => payload,
            None => self.read_payload(name, number)?,
        };
        let mut output = None;
        if ending.state != JobState::Done {
            if ending.output.parts_written > 0 {
                self.delete_output(&mut transaction, name, number)?;
            }
        } else if let Some(last) = ending.output.last.take() {
            if ending.output.parts_written == 0 && last.len() <= OUTPUT_BYTES_IN_ROW {
                ending.live.change(|status| status.output = Some(last.clone()));
                output = Some(last);
            } else {
                let row = output_row(name, number, ending.output.parts_written, last);
                transaction.put(&self.output, &row, true)?;
            }
        }
        let info = ending.info();
        ending.kept_bytes = bytes_of(&info, &payload);
        transaction.put(&self.jobs, &JobRecord { info, payload, output }.into_row(), ending.is_new)?;
        Ok(transaction)
    }
}

/// Makes the end of a job known. One whose row could not be written is remembered for as long as the process lives.
fn publish_end(ending: Ending, written: SqlResult<()>) {
    let kind = ending.kind.clone();
    if kind.keeper.is_news(&written)
        && let Err(error) = &written
    {
        error_log().write(Severity::Error, &format!("what jobs have come to cannot be written: {error}"));
    }
    if !kind.spec.durable || written.is_err() {
        kind.remember(ending.info());
    }
    let output_bytes = ending.output_bytes();
    let is_kept = kind.spec.durable && written.is_ok();
    let is_too_much = is_kept && kind.kept.add(ending.kept_bytes);
    let Ending { live, state, error, finished_micros, .. } = ending;
    // Before its waiters are woken: they find it among the jobs that have ended.
    if is_kept {
        kind.ended.lock().insert(&live);
    }
    kind.live.lock().remove(&live.number);
    live.change(|status| {
        status.state = state;
        status.error = error;
        status.finished_micros = Some(finished_micros);
        status.is_recorded = written.is_ok();
        status.output_bytes = Some(output_bytes);
    });
    if kind.spec.durable {
        kind.keeper.sweep_in(if is_too_much { Duration::ZERO } else { kind.retention() });
    }
}
