//! Jobs as others see them, and the marks that a running one and its observers share.

use parking_lot::Mutex;
use squall_types::clock::now_micros;
use squall_types::{ErrorCode, SqlError};
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It waits for a worker.
    Queued = 0,
    /// A worker runs it.
    Running = 1,
    /// Its handler has succeeded.
    Done = 2,
    /// Its handler has failed for the last time.
    Failed = 3,
    /// It was cancelled before it began, or its handler has stopped because of that.
    Cancelled = 4,
}

impl JobState {
    /// Whether nothing happens to the job any more.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }

    /// The state's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    pub(crate) fn of_number(number: i64) -> Option<JobState> {
        [Self::Queued, Self::Running, Self::Done, Self::Failed, Self::Cancelled]
            .into_iter()
            .find(|state| *state as i64 == number)
    }
}

/// The state of a job when it was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// No job of that number is queued or running.
    Nothing,
    /// It waited, and is ended now.
    Waiting,
    /// It runs, and is told to stop.
    Running,
}

/// The error of a job that failed by [`OnRestart::Fail`](crate::OnRestart::Fail).
pub fn restart_error() -> SqlError {
    let message = "The server was restarted while the job was running".to_string();
    SqlError::with_message(ErrorCode::UnknownError, message)
}

/// A job to be queued.
#[derive(Clone, Debug, Default)]
pub struct NewJob {
    /// Whose it is: an account, or empty for the server's own.
    pub owner: String,
    /// Whatever the handler needs.
    pub payload: Vec<u8>,
    /// Jobs of a higher one come first; among equals the older.
    pub priority: i16,
    /// Where a job with the same key is queued and has not begun, that one is the answer and nothing is queued.
    pub key: Option<String>,
}

impl NewJob {
    /// As others see it when it gets its number.
    pub(crate) fn info(&self, kind: &str, number: u64) -> JobInfo {
        JobInfo {
            kind: kind.to_string(),
            number,
            state: JobState::Queued,
            priority: self.priority,
            owner: self.owner.clone(),
            attempts: 0,
            created_micros: now_micros(),
            started_micros: None,
            finished_micros: None,
            progress: (0, 0),
            error: None,
            output_bytes: None,
        }
    }
}

/// A job as others see it.
#[derive(Clone, Debug, PartialEq)]
pub struct JobInfo {
    /// Name of its kind.
    pub kind: String,
    /// Its number within the kind, from 1.
    pub number: u64,
    /// Its state.
    pub state: JobState,
    /// See [`NewJob::priority`].
    pub priority: i16,
    /// See [`NewJob::owner`].
    pub owner: String,
    /// How often it was begun.
    pub attempts: u32,
    /// When it was queued, microseconds since 1970 UTC.
    pub created_micros: i64,
    /// When its last attempt began.
    pub started_micros: Option<i64>,
    /// When it came to its final state.
    pub finished_micros: Option<i64>,
    /// How far a running job is: units done, and how many there are (0: not known).
    pub progress: (u64, u64),
    /// Why it failed, or the failure of the attempt before.
    pub error: Option<SqlError>,
    /// Bytes of its output, once it has come to an end; `None` for one that an earlier version has done.
    pub output_bytes: Option<u64>,
}

/// How far a job is.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    pub fn set(&self, done: u64, total: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    pub fn get(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}

/// Tells a job that it should stop.
#[derive(Default)]
pub(crate) struct Cancel {
    set: AtomicBool,
    action: Mutex<Option<Box<dyn Fn() + Send>>>,
}

impl Debug for Cancel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cancel").field("set", &self.set).finish_non_exhaustive()
    }
}

impl Cancel {
    pub fn set(&self) {
        let action = self.action.lock();
        if !self.set.swap(true, Ordering::AcqRel)
            && let Some(action) = &*action
        {
            action();
        }
    }

    pub fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    pub fn on_set(&self, action: Box<dyn Fn() + Send>) {
        let mut place = self.action.lock();
        if self.is_set() {
            action();
        }
        *place = Some(action);
    }

    /// Forgets the action, with whatever it holds.
    pub fn forget(&self) {
        *self.action.lock() = None;
    }
}
