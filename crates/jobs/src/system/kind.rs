//! Kinds of jobs, and the input of their handlers.

use crate::system::output::Output;
use crate::system::queue::Live;
use parking_lot::Mutex;
use squall_row_store::Transaction;
use squall_types::SqlResult;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// What happens to a durable job that was running when its process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRestart {
    /// It is queued again, in its old place: for work that can be done twice.
    Requeue,
    /// It has failed with [`restart_error`](crate::system::job::restart_error): for work that may have been done already.
    Fail,
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
    /// the job's end is. Until then a job is one that waits, should the process end, and is done again; and the workers that rest are
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

/// The announcement of a job, before work that may commit before its end, or may take long.
pub(crate) trait Announcement: Send + Sync {
    /// Says in the log that the job runs, unless that was said.
    ///
    /// # Errors
    /// If it cannot be written.
    fn make(&self) -> SqlResult<()>;
}

/// A job in the hands of its handler.
pub struct RunningJob {
    pub(crate) live: Arc<Live>,
    pub(crate) output: Mutex<Output>,
    pub(crate) transaction: Mutex<Option<Transaction>>,
    pub(crate) announcement: Arc<dyn Announcement>,
    /// See [`NewJob::payload`](crate::NewJob::payload).
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

    /// See [`NewJob::owner`](crate::NewJob::owner).
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
