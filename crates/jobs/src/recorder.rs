//! Two threads that wait for commits in the place of others: one lets jobs into their queue once their rows are durable,
//! the other writes what jobs have come to, as many of them in one commit as have ended meanwhile.

use crate::kind::{JobInfo, JobState};
use crate::queue::Live;
use crate::record::{job_key, output_row};
use crate::retention;
use crate::system::{KindInner, SystemInner, now_micros};
use crate::worker::add_workers;
use squall_logs::error_log::{Severity, error_log};
use squall_row_store::CommitTicket;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::time::Instant;

/// Most endings of one commit.
const GROUP_MAX: usize = 256;

/// A job whose row is being committed.
pub(crate) struct Submission {
    pub kind: Arc<KindInner>,
    pub live: Arc<Live>,
    pub ticket: CommitTicket,
}

/// Lets jobs into their queues, in the order of their submission.
pub(crate) fn publish(submissions: &Receiver<Submission>) {
    while let Ok(Submission { kind, live, ticket }) = submissions.recv() {
        match ticket.wait() {
            Ok(()) => {
                live.shed_payload();
                kind.enqueue(live);
            }
            Err(error) => {
                kind.live.lock().remove(&live.number);
                live.change(|status| {
                    status.state = JobState::Failed;
                    status.error = Some(error);
                });
            }
        }
    }
}

/// A job that has come to its final state.
pub(crate) struct Ending {
    pub kind: Arc<KindInner>,
    pub live: Arc<Live>,
    pub state: JobState,
    pub error: Option<SqlError>,
    pub finished_micros: i64,
    /// The last part of its output, with the part's number.
    pub output: Option<(u64, Vec<u8>)>,
    /// What it has committed last, if that may not be done yet.
    pub commit: Option<CommitTicket>,
}

/// What the recorder is told.
pub(crate) enum Note {
    /// A durable job has ended.
    Ended(Box<Ending>),
    /// How long jobs are kept has changed, or jobs were found whose time may be over.
    Retention,
    /// Whatever was told before is to be done; dropping the sender says that it is.
    Flush(Sender<()>),
}

/// Writes endings, and removes jobs whose time is over.
pub(crate) fn record(notes: &Receiver<Note>, system: &Weak<SystemInner>) {
    let mut next_sweep: Option<Instant> = Some(Instant::now());
    loop {
        let first = match next_sweep {
            None => notes.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => notes.recv_timeout(at.saturating_duration_since(Instant::now())),
        };
        let (mut endings, mut sweep, mut flushed) = (Vec::new(), false, Vec::new());
        let mut note = match first {
            Ok(note) => Some(note),
            Err(RecvTimeoutError::Timeout) => Some(Note::Retention),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        while let Some(told) = note {
            match told {
                Note::Ended(ending) => endings.push(*ending),
                Note::Retention => sweep = true,
                Note::Flush(done) => flushed.push(done),
            }
            note = if endings.len() < GROUP_MAX { notes.try_recv().ok() } else { None };
        }
        let Some(system) = system.upgrade() else { return };
        if !endings.is_empty() {
            let written = write(&system, &mut endings);
            if let Err(error) = &written {
                let message = format!("what {} jobs have come to cannot be written: {error}", endings.len());
                error_log().write(Severity::Error, &message);
            }
            for ending in endings {
                let retention = ending.kind.retention();
                publish_end(ending, written.is_ok());
                let expires = Instant::now() + retention;
                next_sweep = Some(next_sweep.map_or(expires, |at| at.min(expires)));
            }
        }
        if sweep {
            next_sweep = retention::sweep(&system).unwrap_or_else(|error| {
                error_log().write(Severity::Warning, &format!("old jobs cannot be removed: {error}"));
                None
            });
        }
    }
}

/// Makes the end of a job known. One whose row could not be written is remembered for as long as the process lives.
pub(crate) fn publish_end(ending: Ending, written: bool) {
    let Ending { kind, live, mut state, mut error, finished_micros, commit, .. } = ending;
    // It is done if the end is written, which is behind it in the log.
    if let Some(Err(lost)) = commit.map(|commit| commit.wait()) {
        (state, error) = (JobState::Failed, Some(lost));
    }
    let finished_micros = Some(finished_micros);
    if !kind.spec.durable || !written {
        kind.remember(JobInfo { state, error: error.clone(), finished_micros, ..live.info(kind.spec.name) });
    }
    // Before anybody who waits for it is woken: they find it where jobs are that have ended.
    kind.live.lock().remove(&live.number);
    live.change(|status| {
        status.state = state;
        status.error = error;
        status.finished_micros = finished_micros;
        status.is_recorded = written;
    });
}

fn write(system: &SystemInner, endings: &mut [Ending]) -> SqlResult<()> {
    let is_patient = !endings.iter().any(|ending| ending.live.is_awaited());
    let mut transaction = system.begin_with(is_patient);
    for ending in endings {
        let (name, number) = (ending.kind.spec.name, ending.live.number);
        let status = ending.live.status();
        system.update_job(&mut transaction, &job_key(name, number), |record| {
            record.info.state = ending.state;
            record.info.attempts = status.attempts;
            record.info.started_micros = status.started_micros;
            record.info.error = ending.error.clone();
            record.info.finished_micros = Some(ending.finished_micros);
        })?;
        if let Some((part, content)) = ending.output.take() {
            transaction.insert(&system.output, &output_row(name, number, part, content)).map_err(SqlError::from)?;
        }
    }
    transaction.commit()
}

impl KindInner {
    /// Lets a job in, and sees to it that there is somebody to do it.
    pub fn enqueue(self: &Arc<Self>, live: Arc<Live>) {
        let mut queue = self.queue.lock();
        queue.push(live.clone());
        // Whoever cancels it says so first and looks into the queue then, so one of the two finds it there. When all stops, what
        // waits is kept.
        let is_cancelled = !queue.stopping && live.cancel.is_set() && queue.remove(&live);
        self.work.notify_one();
        let missing = queue.missing_workers();
        drop(queue);
        if is_cancelled && let Some(system) = self.system.upgrade() {
            system.end(Ending {
                kind: self.clone(),
                live,
                state: JobState::Cancelled,
                error: Some(SqlError::new(ErrorCode::QueryInterrupted, &[])),
                finished_micros: now_micros(),
                output: None,
                commit: None,
            });
        }
        if missing > 0 {
            add_workers(self);
        }
    }
}
