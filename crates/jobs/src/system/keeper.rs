//! The thread that removes expired jobs. It also ends jobs that were cancelled by threads which may not wait for the disk.

use crate::system::SystemInner;
use crate::system::ending::Ending;
use crate::system::retention;
use squall_logs::error_log::{Severity, error_log};
use squall_row_store::CommitTicket;
use squall_types::SqlResult;
use squall_types::clock::now_micros;
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// A message to the keeper.
pub(crate) enum Note {
    /// A job has ended that was never begun.
    Ended(Box<Ending>),
    /// When jobs are to be removed has changed.
    Sweep,
    /// The system stops: whatever was told before is to be done, and nothing is removed any more. Dropping the sender says so.
    Flush(Sender<()>),
    /// The system is gone.
    End,
}

/// What others have of it.
pub(crate) struct Keeper {
    notes: Sender<Note>,
    /// When it removes jobs next, microseconds since 1970 UTC.
    sweep_micros: AtomicI64,
    /// The end of a job could not be written, and none has been since.
    is_failing: AtomicBool,
}

impl Keeper {
    pub fn new(notes: Sender<Note>) -> Keeper {
        Keeper { notes, sweep_micros: AtomicI64::new(0), is_failing: AtomicBool::new(false) }
    }

    /// Tells it something. After its end nothing is to be kept any more.
    pub fn tell(&self, note: Note) {
        let _keeper_gone = self.notes.send(note);
    }

    /// Has it look for jobs to remove when so much time is over.
    pub fn sweep_in(&self, wait: Duration) {
        let due = now_micros().saturating_add(i64::try_from(wait.as_micros()).unwrap_or(i64::MAX));
        if self.sweep_micros.fetch_min(due, Ordering::AcqRel) > due {
            self.tell(Note::Sweep);
        }
    }

    /// Whether it is news that ends of jobs can, or cannot, be written.
    pub fn is_news(&self, written: &SqlResult<()>) -> bool {
        let is_failing = written.is_err();
        self.is_failing.load(Ordering::Relaxed) != is_failing
            && self.is_failing.swap(is_failing, Ordering::AcqRel) != is_failing
    }

    /// Until the next sweep; `None` if none is due ever.
    fn pause(&self) -> Option<Duration> {
        match self.sweep_micros.load(Ordering::Acquire) {
            i64::MAX => None,
            due => Some(Duration::from_micros(due.saturating_sub(now_micros()).max(0) as u64)),
        }
    }
}

/// The keeper's life. It holds nothing of the system but when it has something to do.
pub(crate) fn keep(notes: &Receiver<Note>, keeper: &Keeper, system: &Weak<SystemInner>) {
    let (mut last, mut sweeps): (Option<CommitTicket>, bool) = (None, true);
    loop {
        let note = match keeper.pause().filter(|_| sweeps) {
            None => notes.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(pause) => notes.recv_timeout(pause),
        };
        match note {
            Ok(Note::Ended(ending)) => match system.upgrade() {
                Some(system) => last = Some(system.end(*ending)),
                None => return,
            },
            Ok(Note::Sweep) => {}
            Ok(Note::Flush(done)) => {
                // A failure is known to the error log.
                let _written = last.take().map(|ticket| ticket.wait());
                // The caller that stops the system may close the store now.
                sweeps = false;
                drop(done);
            }
            Ok(Note::End) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                // Whatever ends from now on says itself when it is to be removed.
                keeper.sweep_micros.store(i64::MAX, Ordering::Release);
                let Some(system) = system.upgrade() else { return };
                match retention::sweep(&system) {
                    Ok(Some(wait)) => keeper.sweep_in(wait),
                    Ok(None) => {}
                    Err(error) => {
                        error_log().write(Severity::Warning, &format!("old jobs cannot be removed: {error}"));
                    }
                }
            }
        }
    }
}
