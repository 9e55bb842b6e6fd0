//! Kinds of jobs, and the input of their handlers.

use crate::system::output::Output;
use crate::system::queue::Live;
use crate::system::worker::Announcement;
use parking_lot::Mutex;
use squall_row_store::Transaction;
use squall_types::clock::now_micros;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

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

/// What happens to a durable job that was running when its process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRestart {
    /// It is queued again, in its old place: for work that can be done twice.
    Requeue,
    /// It has failed with [`restart_error`]: for work that may have been done already.
    Fail,
}

/// The error of a job that failed by [`OnRestart::Fail`].
pub fn restart_error() -> SqlError {
    let message = "The server was restarted while the job was running".to_string();
    SqlError::with_message(ErrorCode::UnknownError, message)
}

/// The code of a kind of job.
pub trait Handler: Debug + Send + Sync {
    /// Does a job, on a worker's thread. It may block; it looks at [`RunningJob::is_cancelled`] now and then, or has
    /// [`RunningJob::on_cancel`] called.
    ///
    /// # Errors
    /// Fails the job, or has it tried again if it has attempts left.
    fn run(&self, job: &RunningJob) -> SqlResult<()>;
    /// Called on a worker's thread without a job for a short time: it drops caches for the next job. `false` where it keeps that
    /// longer; it is called again then.
    fn idle(&self) -> bool {
        true
    }
}

/// A kind of job as it is declared.
#[derive(Clone, Debug)]
pub struct KindSpec {
    /// Its name, at most 64 bytes of ASCII. Numbers of jobs are counted by kind.
    pub name: &'static str,
    /// Its code.
    pub handler: Arc<dyn Handler>,
    /// Most jobs at once; see [`Kind::set_workers`](crate::Kind::set_workers). With 0 none begins before that is called.
    pub workers: usize,
    /// Whether jobs survive the process.
    pub durable: bool,
    /// For durable jobs.
    pub on_restart: OnRestart,
    /// How often a job that fails is tried; 1 for once.
    pub attempts_max: u32,
    /// How long a finished durable job is kept. Of transient ones the last [`TRANSIENT_KEPT`] are.
    pub retention: Duration,
    /// Most bytes that finished durable jobs may take with their payloads and outputs; the oldest go where there are more.
    pub kept_bytes_max: u64,
    /// Most jobs that may wait; more are refused.
    pub queued_max: usize,
    /// Whether the handler says by [`RunningJob::announce`] when it begins what may take long, or what may be in the store before
    /// the job's end is. Until then a job is one that waits, should the process end, and is done anew; and the workers that rest are
    /// not called for the few jobs behind it.
    pub announces: bool,
}

/// How many finished transient jobs of a kind are shown.
pub const TRANSIENT_KEPT: usize = 100;

impl KindSpec {
    /// Transient jobs, one at a time, tried once.
    pub fn new(name: &'static str, handler: Arc<dyn Handler>) -> Self {
        KindSpec {
            name,
            handler,
            workers: 1,
            durable: false,
            on_restart: OnRestart::Requeue,
            attempts_max: 1,
            retention: Duration::from_secs(7 * 24 * 3600),
            kept_bytes_max: u64::MAX,
            queued_max: 1_000_000,
            announces: false,
        }
    }
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

/// A job in the hands of its handler.
pub struct RunningJob {
    pub(crate) live: Arc<Live>,
    pub(crate) output: Mutex<Output>,
    pub(crate) transaction: Mutex<Option<Transaction>>,
    pub(crate) announcement: Arc<Announcement>,
    /// See [`NewJob::payload`].
    pub payload: Vec<u8>,
    /// Which attempt this is, from 1.
    pub attempt: u32,
}

impl Debug for RunningJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningJob").field("live", &self.live).field("attempt", &self.attempt).finish_non_exhaustive()
    }
}

impl RunningJob {
    /// Gives the job's last transaction, to be committed with the job's end, whatever that is: the store has both or none. Where the
    /// commit fails, the job has failed. It is rolled back if the job is to be tried again, or left to the next start.
    pub fn leave_transaction(&self, transaction: Transaction) {
        *self.transaction.lock() = Some(transaction);
    }

    /// Announces that its next work may take long, or may commit before its end; see [`KindSpec::announces`].
    ///
    /// # Errors
    /// If the announcement cannot be written: then the work must not be done.
    pub fn announce(&self) -> SqlResult<()> {
        self.announcement.make()
    }

    /// [`RunningJob::announce`], for others to call while the job runs.
    pub fn announcer(&self) -> impl Fn() -> SqlResult<()> + Send + Sync + 'static {
        let announcement = self.announcement.clone();
        move || announcement.make()
    }

    /// Its number within the kind.
    pub fn number(&self) -> u64 {
        self.live.number
    }

    /// See [`NewJob::owner`].
    pub fn owner(&self) -> &str {
        &self.live.owner
    }

    /// Whether a caller waits for its end now.
    pub fn is_awaited(&self) -> bool {
        self.live.is_awaited()
    }

    /// Says how far it is, in units of the handler's choice.
    pub fn set_progress(&self, done: u64, total: u64) {
        self.live.progress.set(done, total);
    }

    /// Whether it should stop: it was cancelled, or the server ends.
    pub fn is_cancelled(&self) -> bool {
        self.live.cancel.is_set()
    }

    /// Has `action` called once when the job should stop; at once if that is so already. A later action replaces it.
    pub fn on_cancel(&self, action: Box<dyn Fn() + Send>) {
        self.live.cancel.on_set(action);
    }

    /// Adds to the job's output, which is kept with a durable job and read by parts as they were given.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add_output(&self, part: Vec<u8>) -> SqlResult<()> {
        self.output.lock().add(part)
    }
}

/// How far a job is.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    fn set(&self, done: u64, total: u64) {
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

    fn on_set(&self, action: Box<dyn Fn() + Send>) {
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
