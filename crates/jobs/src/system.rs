//! [`JobSystem`] and [`Kind`]: submitting jobs, cancelling them, waiting for them, and showing them.

pub(crate) mod at_once;
pub(crate) mod ended;
pub(crate) mod ending;
pub mod job;
pub(crate) mod keeper;
pub(crate) mod kept;
pub mod kind;
pub(crate) mod output;
pub mod pages;
pub(crate) mod queue;
pub(crate) mod record;
pub(crate) mod retention;
pub(crate) mod worker;

use crate::claims::claims;
use crate::system::ended::EndedJobs;
use crate::system::ending::Ending;
use crate::system::job::{Cancelled, JobInfo, JobState, NewJob, restart_error};
use crate::system::keeper::{Keeper, Note, keep};
use crate::system::kept::{Kept, bytes_of};
use crate::system::kind::{KindSpec, OnRestart, TRANSIENT_KEPT};
use crate::system::queue::{Live, Queue};
use crate::system::record::{JOB, JobRecord, OUTPUT, job_key};
use crate::system::worker::call_worker;
use parking_lot::{Condvar, Mutex, MutexGuard};
use squall_catalog::{Catalog, IndexId};
use squall_row_store::{
    CommitTicket, Direction, Durability, LockMode, LockRequest, LockWait, LockedRow, SystemChange, SystemRecords,
    Table, TableStore, Transaction, TransactionOptions, ValueRange,
};
use squall_types::clock::now_micros;
use squall_types::temporal::Interval;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::ops::{Bound, RangeInclusive};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

/// The records that hold the next number of a kind whose last jobs were removed.
const NUMBERS: &str = "job";

/// All kinds of jobs of a store. Dropping it lets running jobs end by themselves; see [`JobSystem::stop`].
pub struct JobSystem(Arc<SystemInner>);

impl fmt::Debug for JobSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobSystem").finish_non_exhaustive()
    }
}

pub(crate) struct SystemInner {
    /// Jobs and their outputs are rows.
    pub store: Arc<dyn TableStore>,
    /// Claims of workers, and next numbers, are records.
    pub records: Arc<dyn SystemRecords>,
    pub jobs: Arc<Table>,
    pub output: Arc<Table>,
    durability: Box<dyn Fn() -> Durability + Send + Sync>,
    kinds: Mutex<BTreeMap<&'static str, Arc<KindInner>>>,
    pub keeper: Arc<Keeper>,
}

/// A kind of job; cheap to clone.
#[derive(Clone)]
pub struct Kind {
    pub(crate) inner: Arc<KindInner>,
    system: Weak<SystemInner>,
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kind").field("name", &self.inner.spec.name).finish_non_exhaustive()
    }
}

pub(crate) struct KindInner {
    pub spec: KindSpec,
    pub system: Weak<SystemInner>,
    pub keeper: Arc<Keeper>,
    pub queue: Mutex<Queue>,
    pub workers_gone: Condvar,
    /// Jobs that have not ended.
    pub live: Mutex<BTreeMap<u64, Arc<Live>>>,
    /// Those that have a while ago. One comes in before it is not among the others any more.
    pub ended: Mutex<EndedJobs>,
    /// The next number. Held while a job's row is committed, so that rows come in order.
    pub next_number: Mutex<u64>,
    pub done_at_once: AtomicU64,
    recent: Mutex<VecDeque<JobInfo>>,
    retention_micros: AtomicU64,
    pub kept: Kept,
}

impl JobSystem {
    /// The jobs of a store, given by its tables and its records, whose catalog has [`tables`](crate::tables) in the database `mysql`. `durability` says how
    /// durable commits of jobs are to be.
    ///
    /// # Errors
    /// When the tables are not there, or no thread can be started.
    pub fn open(
        store: Arc<dyn TableStore>,
        records: Arc<dyn SystemRecords>,
        catalog: &Catalog,
        durability: impl Fn() -> Durability + Send + Sync + 'static,
    ) -> SqlResult<JobSystem> {
        let table = |name: &str| {
            let definition = catalog.table("mysql", name);
            store.table(definition.ok_or_else(|| SqlError::new(ErrorCode::NoSuchTable, &[&"mysql", &name]))?)
        };
        let (notes, told) = channel();
        let keeper = Arc::new(Keeper::new(notes));
        let inner = Arc::new(SystemInner {
            jobs: table(JOB)?,
            output: table(OUTPUT)?,
            store,
            records,
            durability: Box::new(durability),
            kinds: Mutex::default(),
            keeper: keeper.clone(),
        });
        let weak = Arc::downgrade(&inner);
        let thread = std::thread::Builder::new().name("job-keeper".to_string());
        thread.spawn(move || keep(&told, &keeper, &weak)).map_err(SqlError::internal)?;
        Ok(JobSystem(inner))
    }

    /// Declares a kind. Its jobs of earlier processes are taken up again, as the kind says.
    ///
    /// # Errors
    /// When they cannot be read or changed, or a kind of that name is there already.
    pub fn register(&self, spec: KindSpec) -> SqlResult<Kind> {
        let kind = Arc::new(KindInner {
            queue: Mutex::new(Queue::new(spec.workers)),
            workers_gone: Condvar::new(),
            live: Mutex::default(),
            ended: Mutex::default(),
            next_number: Mutex::new(1),
            done_at_once: AtomicU64::new(0),
            recent: Mutex::default(),
            retention_micros: AtomicU64::new(spec.retention.as_micros() as u64),
            kept: Kept::new(spec.kept_bytes_max),
            system: Arc::downgrade(&self.0),
            keeper: self.0.keeper.clone(),
            spec,
        });
        if self.0.kinds.lock().contains_key(kind.spec.name) {
            return Err(SqlError::internal(format_args!("two kinds of jobs are called {}", kind.spec.name)));
        }
        if kind.spec.durable {
            kind.recover(&self.0)?;
        }
        self.0.kinds.lock().insert(kind.spec.name, kind.clone());
        call_worker(&kind, kind.queue.lock());
        self.0.keeper.sweep_in(Duration::ZERO);
        Ok(Kind { inner: kind, system: Arc::downgrade(&self.0) })
    }

    /// The kind of that name.
    pub fn kind(&self, name: &str) -> Option<Kind> {
        let inner = self.0.kinds.lock().get(name)?.clone();
        Some(Kind { inner, system: Arc::downgrade(&self.0) })
    }

    /// All kinds in the order of their names.
    pub fn kinds(&self) -> Vec<Kind> {
        let of = |inner| Kind { inner, system: Arc::downgrade(&self.0) };
        self.0.kinds().into_iter().map(of).collect()
    }

    /// Lets no job begin any more, tells running ones to stop, and waits until they have. Durable jobs that had to stop
    /// are as if the process had been killed.
    pub fn stop(&self) {
        let kinds = self.0.kinds();
        for kind in &kinds {
            kind.queue.lock().stop();
            let live: Vec<Arc<Live>> = kind.live.lock().values().cloned().collect();
            live.iter().for_each(|job| job.cancel.set());
        }
        for kind in &kinds {
            let mut queue = kind.queue.lock();
            while !queue.workers.is_empty() {
                kind.workers_gone.wait(&mut queue);
            }
            // They drop the kind, and with it what its handler has, after they have said that they are gone.
            let threads = std::mem::take(&mut queue.threads);
            drop(queue);
            for thread in threads.into_values() {
                // What a worker has panicked with is known to the log.
                let _panicked = thread.join();
            }
        }
        let (done, written) = channel();
        self.0.keeper.tell(Note::Flush(done));
        // An error means that the sender was dropped, which is the answer.
        let _written = written.recv();
    }
}

impl Drop for SystemInner {
    fn drop(&mut self) {
        for kind in self.kinds.get_mut().values() {
            kind.queue.lock().stop();
        }
        self.keeper.tell(Note::End);
    }
}

/// A job that was queued: awaited, it says when the job is as durable as commits are.
#[derive(Debug)]
#[must_use = "a job that could not be made durable is not run"]
pub struct Submitted {
    /// Its number.
    pub number: u64,
    pub(crate) ticket: Option<CommitTicket>,
}

impl Submitted {
    /// Waits on a thread that may block.
    ///
    /// # Errors
    /// When the job is not durable and will not be run.
    pub fn wait(self) -> SqlResult<u64> {
        self.ticket.map_or(Ok(()), |ticket| ticket.wait()).map(|()| self.number)
    }
}

impl Future for Submitted {
    type Output = SqlResult<u64>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<SqlResult<u64>> {
        let number = self.number;
        match &mut self.ticket {
            None => Poll::Ready(Ok(number)),
            Some(ticket) => Pin::new(ticket).poll(context).map(|result| result.map(|()| number)),
        }
    }
}

impl Kind {
    pub(crate) fn system(&self) -> SqlResult<Arc<SystemInner>> {
        self.system.upgrade().ok_or_else(|| SqlError::new(ErrorCode::ServerShutdown, &[]))
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.inner.spec.name
    }

    /// Queues a job. A transient one may begin at once; a durable one does when its row is durable, which
    /// [`Submitted`] waits for.
    ///
    /// # Errors
    /// When too many wait, or the row cannot be written.
    pub fn submit(&self, job: NewJob) -> SqlResult<Submitted> {
        let (system, kind) = (self.system()?, &self.inner);
        {
            let queue = kind.queue.lock();
            if queue.stopping {
                return Err(SqlError::new(ErrorCode::ServerShutdown, &[]));
            }
            if let Some(queued) = job.key.as_deref().and_then(|key| queue.find(key)) {
                return Ok(Submitted { number: queued.number, ticket: None });
            }
            if queue.len() >= kind.spec.queued_max {
                let message = format!("{} jobs of the kind {} are queued already", queue.len(), kind.spec.name);
                return Err(SqlError::with_message(ErrorCode::OutOfResources, message));
            }
        }
        let mut next_number = kind.next_number.lock();
        let number = *next_number;
        let info = job.info(kind.spec.name, number);
        let live = Arc::new(Live::new(&info, job.key, Some(job.payload.clone())));
        if !kind.spec.durable {
            kind.live.lock().insert(number, live.clone());
            *next_number += 1;
            drop(next_number);
            kind.enqueue(live);
            return Ok(Submitted { number, ticket: None });
        }
        let mut transaction = system.begin();
        let row = JobRecord { info, payload: job.payload, output: None }.into_row();
        transaction.put(&system.jobs, &row, true)?;
        kind.live.lock().insert(number, live.clone());
        kind.queue.lock().expect(live.clone());
        *next_number += 1;
        let ticket = transaction.commit_async();
        drop(next_number);
        let kind = kind.clone();
        ticket.when_done(move |committed| kind.arrived(live, committed));
        Ok(Submitted { number, ticket: Some(ticket) })
    }

    /// Most jobs at once from now on. Running ones are let end; there are fewer workers from then on.
    pub fn set_workers(&self, workers: usize) {
        let mut queue = self.inner.queue.lock();
        queue.limit = workers;
        queue.wake_all();
        call_worker(&self.inner, queue);
    }

    /// Most jobs at once.
    pub fn worker_limit(&self) -> usize {
        self.inner.queue.lock().limit
    }

    /// How long finished jobs are kept.
    pub fn retention(&self) -> Duration {
        self.inner.retention()
    }

    /// How long finished jobs are kept from now on.
    pub fn set_retention(&self, retention: Duration) {
        let micros = u64::try_from(retention.as_micros()).unwrap_or(u64::MAX);
        self.inner.retention_micros.store(micros, Ordering::Relaxed);
        if let Some(system) = self.system.upgrade() {
            system.keeper.sweep_in(Duration::ZERO);
        }
    }

    /// Bytes of the durable jobs that have ended: their payloads and outputs.
    pub fn kept_bytes(&self) -> u64 {
        self.inner.kept.bytes()
    }

    /// Most of them; see [`KindSpec::kept_bytes_max`].
    pub fn kept_bytes_max(&self) -> u64 {
        self.inner.kept.bytes_max()
    }

    /// Most of them from now on.
    pub fn set_kept_bytes_max(&self, bytes: u64) {
        self.inner.kept.set_bytes_max(bytes);
        if self.inner.kept.surplus().is_some()
            && let Some(system) = self.system.upgrade()
        {
            system.keeper.sweep_in(Duration::ZERO);
        }
    }

    /// How many jobs this process has removed because there were more.
    pub fn removed_for_room(&self) -> u64 {
        self.inner.kept.removed_for_room()
    }

    /// Whether a number has been given to a job, which may be gone.
    pub fn was_given(&self, number: u64) -> bool {
        number > 0 && number < *self.inner.next_number.lock()
    }

    /// Cancels a job: one that waits ends at once, one that runs is told to stop.
    pub fn cancel(&self, number: u64, reason: SqlError) -> SqlResult<Cancelled> {
        let kind = &self.inner;
        let Some(live) = kind.live.lock().get(&number).cloned() else { return Ok(Cancelled::Nothing) };
        // First: a job that is not in the queue yet is looked at when it comes.
        live.cancel.set();
        let waited = kind.queue.lock().remove(&live);
        if waited {
            kind.keeper.tell(Note::Ended(Box::new(Ending::cancelled(kind.clone(), live, reason))));
        }
        Ok(if waited { Cancelled::Waiting } else { Cancelled::Running })
    }

    /// How many jobs wait for a worker.
    pub fn waiting(&self) -> usize {
        self.inner.queue.lock().len()
    }

    /// A job that has not ended.
    pub fn is_live(&self, number: u64) -> bool {
        self.inner.is_live(number)
    }

    /// Waits until a job has ended; returns at once if no job of that number is queued or running.
    pub async fn ended(&self, number: u64) {
        if let Some(live) = self.inner.find(number) {
            live.ended().await;
        }
    }

    /// As [`Kind::ended`], on a thread that may block.
    pub fn wait(&self, number: u64) {
        if let Some(live) = self.inner.find(number) {
            live.wait();
        }
    }

    /// A job with its payload.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn get(&self, number: u64) -> SqlResult<Option<(JobInfo, Vec<u8>)>> {
        let (system, kind) = (self.system()?, &self.inner);
        if let Some(ended) = kind.ended.lock().get(number)
            && let Some(payload) = ended.payload()
        {
            return Ok(Some((ended.info(kind.spec.name), payload)));
        }
        // Asked first: a job that ends meanwhile has a row by then.
        let live = kind.live.lock().get(&number).cloned();
        if !kind.spec.durable {
            let info = live.map(|live| (live.info(kind.spec.name), live.payload().unwrap_or_default()));
            return Ok(info.or_else(|| kind.recall(number).map(|info| (info, Vec::new()))));
        }
        let Some(JobRecord { mut info, payload, .. }) = system.read_job(kind.spec.name, number)? else {
            return Ok(None);
        };
        if let Some(newer) = live.map(|live| live.info(kind.spec.name)).or_else(|| kind.recall(number)) {
            info = newer;
        }
        Ok(Some((info, payload)))
    }

    /// What a durable job has come to, and its output if that is short: [`Kind::output`] has the others'.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn outcome(&self, number: u64) -> SqlResult<Option<(JobInfo, Option<Vec<u8>>)>> {
        let (system, kind) = (self.system()?, &self.inner);
        if let Some(job) = kind.find(number) {
            // A job that is not in its row yet is not shown.
            let is_known = job.is_final() || system.read_job(kind.spec.name, number)?.is_some();
            return Ok(is_known.then(|| (job.info(kind.spec.name), job.output())));
        }
        let Some(JobRecord { info, output, .. }) = system.read_job(kind.spec.name, number)? else { return Ok(None) };
        Ok(Some((kind.recall(number).unwrap_or(info), output)))
    }

    /// The first jobs of those with certain numbers, with their payloads: durable ones up to `most` of them, or until they have `bytes_max` bytes; all others. None if there are none.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn some(
        &self,
        numbers: RangeInclusive<u64>,
        most: usize,
        bytes_max: usize,
    ) -> SqlResult<Vec<(JobInfo, Vec<u8>)>> {
        let (system, kind) = (self.system()?, &self.inner);
        let mut found = Vec::new();
        if numbers.is_empty() {
            return Ok(found);
        }
        if !kind.spec.durable {
            let live: BTreeMap<u64, Arc<Live>> = kind.live.lock().clone();
            let recent = kind.recent.lock().clone();
            let ended = recent.into_iter().filter(|info| !live.contains_key(&info.number));
            found.extend(ended.map(|info| (info, Vec::new())));
            found.extend(live.values().map(|job| (job.info(kind.spec.name), job.payload().unwrap_or_default())));
            found.retain(|(info, _)| numbers.contains(&info.number));
            found.sort_unstable_by_key(|(info, _)| info.number);
            return Ok(found);
        }
        let [from, to] = [*numbers.start(), *numbers.end()].map(|number| job_key(kind.spec.name, number));
        let bounds = ValueRange { start: Bound::Included(&from), end: Bound::Included(&to) };
        let range = system.jobs.range(IndexId(0), bounds)?;
        let mut cursor = system.store.read_view().scan(&system.jobs, &range, Direction::Forward);
        let mut bytes = 0;
        while found.len() < most
            && bytes < bytes_max
            && let Some(row) = cursor.next_row()?
        {
            let JobRecord { info, payload, .. } = JobRecord::of_row(row.values(&system.jobs)?)?;
            let newer = kind.find(info.number).map(|job| job.info(kind.spec.name));
            let info = newer.or_else(|| kind.recall(info.number)).unwrap_or(info);
            bytes += payload.len();
            found.push((info, payload));
        }
        Ok(found)
    }

    /// A part of a job's output, from 0; `None` behind the last.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn output(&self, number: u64, part: u64) -> SqlResult<Option<Vec<u8>>> {
        let system = self.system()?;
        if part == 0
            && let Some((_, Some(content))) = self.outcome(number)?
        {
            return Ok(Some(content));
        }
        let [kind, number] = job_key(self.inner.spec.name, number);
        let key = system.output.row_key(&[kind, number, Value::UInt(part)])?;
        let Some(row) = system.store.get(&system.output, &key)? else { return Ok(None) };
        match row.values(&system.output)?.pop() {
            Some(Value::Bytes(content)) => Ok(Some(content)),
            _ => Err(SqlError::internal("a row of mysql.job_output is damaged")),
        }
    }

    /// Removes jobs that ended so long ago, with their outputs: those of one owner, or of all. Gives how many.
    ///
    /// # Errors
    /// When the store cannot be read or changed.
    pub fn purge(&self, age: Interval, owner: Option<&str>) -> SqlResult<u64> {
        match age.before(now_micros()) {
            Some(limit) => retention::purge(&*self.system()?, &self.inner, limit, owner),
            // Longer than time is.
            None => Ok(0),
        }
    }

    /// Removes a job that has ended, with its output; `false` if there is none.
    ///
    /// # Errors
    /// When the store cannot be changed.
    pub fn remove(&self, number: u64) -> SqlResult<bool> {
        let (system, kind) = (self.system()?, &self.inner);
        if self.is_live(number) || self.get(number)?.is_none() {
            return Ok(false);
        }
        kind.remove_rows(&system, &[number])?;
        Ok(true)
    }
}

impl KindInner {
    /// A job that has not ended, or has a while ago.
    fn find(&self, number: u64) -> Option<Arc<Live>> {
        let live = self.live.lock().get(&number).cloned();
        live.or_else(|| self.ended.lock().get(number))
    }

    /// A job that has not ended.
    pub fn is_live(&self, number: u64) -> bool {
        self.find(number).is_some_and(|job| !job.is_final())
    }

    /// Lets a job in.
    pub fn enqueue(self: &Arc<Self>, live: Arc<Live>) {
        self.admit(self.queue.lock(), vec![live]);
    }

    /// The commit of a job's row has ended; on the commit thread.
    pub fn arrived(self: &Arc<Self>, live: Arc<Live>, committed: SqlResult<()>) {
        live.shed_payload();
        let mut queue = self.queue.lock();
        let arrived = queue.arrive(live.number, committed.is_ok());
        self.admit(queue, arrived);
        if let Err(error) = committed {
            self.live.lock().remove(&live.number);
            live.change(|status| {
                status.state = JobState::Failed;
                status.error = Some(error);
            });
        }
    }

    /// Lets jobs in, and makes sure that a worker runs them.
    fn admit(self: &Arc<Self>, mut queue: MutexGuard<'_, Queue>, jobs: Vec<Arc<Live>>) {
        for live in jobs {
            queue.push(live.clone());
            // A task that cancels it says so first and looks into the queue then, so one of the two finds it there. When all stops, what
            // waits is kept.
            if !queue.stopping && live.cancel.is_set() && queue.remove(&live) {
                let reason = SqlError::new(ErrorCode::QueryInterrupted, &[]);
                self.keeper.tell(Note::Ended(Box::new(Ending::cancelled(self.clone(), live, reason))));
            }
        }
        call_worker(self, queue);
    }

    pub fn retention(&self) -> Duration {
        Duration::from_micros(self.retention_micros.load(Ordering::Relaxed))
    }

    /// Keeps a finished job in memory, and the oldest of them no more.
    pub fn remember(&self, info: JobInfo) {
        let mut recent = self.recent.lock();
        if recent.len() == TRANSIENT_KEPT {
            recent.pop_front();
        }
        recent.push_back(info);
    }

    fn recall(&self, number: u64) -> Option<JobInfo> {
        self.recent.lock().iter().find(|info| info.number == number).cloned()
    }

    /// Takes up the jobs of earlier processes.
    fn recover(&self, system: &SystemInner) -> SqlResult<()> {
        let name = [Value::from(self.spec.name)];
        let range = system.jobs.range(IndexId(0), ValueRange::prefix(&name))?;
        let mut cursor = system.store.read_view().scan(&system.jobs, &range, Direction::Forward);
        let mut transaction = system.begin();
        let mut next = match system.records.system_get(NUMBERS, self.spec.name.as_bytes())? {
            Some(bytes) => u64::from_le_bytes(bytes.try_into().unwrap_or([1, 0, 0, 0, 0, 0, 0, 0])),
            None => 1,
        };
        let claimed = claims(&*system.records, self.spec.name)?;
        while let Some(row) = cursor.next_row()? {
            let JobRecord { mut info, payload, .. } = JobRecord::of_row(row.values(&system.jobs)?)?;
            next = next.max(info.number + 1);
            let claim = claimed.get(&info.number).filter(|claim| claim.attempt > info.attempts);
            if let Some(claim) = claim.filter(|_| info.state == JobState::Queued) {
                info.attempts = claim.attempt;
                info.started_micros = Some(claim.started_micros);
                let fails = self.spec.on_restart == OnRestart::Fail || info.attempts >= self.spec.attempts_max.max(2);
                info.state = if fails { JobState::Failed } else { JobState::Queued };
                info.error = Some(restart_error());
                info.finished_micros = fails.then(now_micros);
                info.output_bytes = fails.then_some(0);
                system.update_job(&mut transaction, &job_key(self.spec.name, info.number), |record| {
                    record.info = info.clone();
                })?;
                system.delete_output(&mut transaction, self.spec.name, info.number)?;
            }
            if info.state.is_final() {
                if info.output_bytes.is_none() {
                    info.output_bytes = Some(system.output_bytes(self.spec.name, info.number)?);
                }
                self.kept.add(bytes_of(&info, &payload));
            }
            if info.state == JobState::Queued {
                let live = Arc::new(Live::new(&info, None, None));
                self.live.lock().insert(info.number, live.clone());
                self.queue.lock().push(live);
            }
        }
        transaction.commit()?;
        *self.next_number.lock() = next;
        Ok(())
    }

    /// Removes the rows of finished jobs; gives how many were there.
    pub fn remove_rows(&self, system: &SystemInner, numbers: &[u64]) -> SqlResult<u64> {
        let next = *self.next_number.lock();
        if numbers.contains(&(next - 1)) {
            // No number is given twice, though nothing else remembers the last one.
            system.records.commit_system(&[SystemChange {
                space: NUMBERS,
                key: self.spec.name.as_bytes().to_vec(),
                value: Some(next.to_le_bytes().to_vec()),
            }])?;
        }
        let mut transaction = system.begin();
        let (mut removed, mut bytes) = (0, 0);
        for number in numbers {
            let key = system.jobs.row_key(&job_key(self.spec.name, *number))?;
            if let Some(row) = transaction.get_locked(&system.jobs, &key, EXCLUSIVE).map_err(SqlError::from)? {
                let JobRecord { mut info, payload, .. } = JobRecord::of_row(row.values(&system.jobs)?)?;
                transaction.delete(&system.jobs, &row).map_err(SqlError::from)?;
                let in_parts = system.delete_output(&mut transaction, self.spec.name, *number)?;
                info.output_bytes.get_or_insert(in_parts);
                (removed, bytes) = (removed + 1, bytes + bytes_of(&info, &payload));
            }
        }
        transaction.commit()?;
        self.kept.subtract(bytes);
        self.recent.lock().retain(|info| !numbers.contains(&info.number));
        let mut ended = self.ended.lock();
        numbers.iter().for_each(|number| ended.remove(*number));
        Ok(removed)
    }
}

const EXCLUSIVE: LockRequest =
    LockRequest { mode: LockMode::Exclusive, wait: LockWait::Timeout(Duration::from_secs(50)) };

impl SystemInner {
    pub fn kinds(&self) -> Vec<Arc<KindInner>> {
        self.kinds.lock().values().cloned().collect()
    }

    /// A transaction of the job system's own.
    pub fn begin(&self) -> Transaction {
        self.begin_with(false)
    }

    /// The same, whose commit may be delayed: see [`TransactionOptions::allows_commit_delay`].
    pub fn begin_with(&self, allows_commit_delay: bool) -> Transaction {
        let durability = (self.durability)();
        self.store.begin_with(
            TransactionOptions { durability, allows_commit_delay, ..TransactionOptions::autocommit() },
            None,
        )
    }

    /// The record of a job; `None` if there is none.
    pub fn read_job(&self, kind: &str, number: u64) -> SqlResult<Option<JobRecord>> {
        let key = self.jobs.row_key(&job_key(kind, number))?;
        let row = self.store.get(&self.jobs, &key)?;
        row.map(|row| JobRecord::of_row(row.values(&self.jobs)?)).transpose()
    }

    /// The payload of a job that is there.
    pub fn read_payload(&self, kind: &str, number: u64) -> SqlResult<Vec<u8>> {
        let record = self.read_job(kind, number)?;
        record.map(|record| record.payload).ok_or_else(|| SqlError::internal("the job's row is gone"))
    }

    /// Changes a job's row; `None` if there is none.
    pub fn update_job<T>(
        &self,
        transaction: &mut Transaction,
        key: &[Value],
        change: impl FnOnce(&mut JobRecord) -> T,
    ) -> SqlResult<Option<T>> {
        let key = self.jobs.row_key(key)?;
        let Some(row) = transaction.get_locked(&self.jobs, &key, EXCLUSIVE).map_err(SqlError::from)? else {
            return Ok(None);
        };
        let mut record = JobRecord::of_row(row.values(&self.jobs)?)?;
        let value = change(&mut record);
        transaction.update(&self.jobs, &row, &record.into_row()).map_err(SqlError::from)?;
        Ok(Some(value))
    }

    /// Bytes of a job's output, as far as it is in parts.
    fn output_bytes(&self, kind: &str, number: u64) -> SqlResult<u64> {
        let range = self.output.range(IndexId(0), ValueRange::prefix(&job_key(kind, number)))?;
        let mut cursor = self.store.read_view().scan(&self.output, &range, Direction::Forward);
        let mut bytes = 0;
        while let Some(row) = cursor.next_row()? {
            bytes += content_bytes(&row.values(&self.output)?);
        }
        Ok(bytes)
    }

    /// Removes a job's output; gives its bytes, as far as it is in parts.
    pub fn delete_output(&self, transaction: &mut Transaction, kind: &str, number: u64) -> SqlResult<u64> {
        let range = self.output.range(IndexId(0), ValueRange::prefix(&job_key(kind, number)))?;
        let mut scan = transaction.scan_locked(&self.output, &range, Direction::Forward, EXCLUSIVE);
        let mut bytes = 0;
        while let Some(LockedRow { row, .. }) = scan.next(transaction).map_err(SqlError::from)? {
            bytes += content_bytes(&row.values(&self.output)?);
            transaction.delete(&self.output, &row).map_err(SqlError::from)?;
        }
        Ok(bytes)
    }
}

/// Of a row of `mysql.job_output`.
fn content_bytes(row: &[Value]) -> u64 {
    match row.last() {
        Some(Value::Bytes(content)) => content.len() as u64,
        _ => 0,
    }
}
