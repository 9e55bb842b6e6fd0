//! Jobs that have not ended, and the queue of those that wait for a worker.

use crate::claims::Claim;
use crate::system::job::{Cancel, JobInfo, JobState, Progress};
use parking_lot::{Condvar, Mutex};
use squall_types::SqlError;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;
use tokio::sync::Notify;

/// Payloads up to this many bytes stay in memory while their job waits; longer ones are read again when it begins.
const PAYLOAD_BYTES_KEPT: usize = 1 << 10;

/// Jobs that take no more than this together may wait for a worker that is at something brief, microseconds: another would not be
/// there sooner, and to wake it takes about as long.
const WAITING_MICROS: u32 = 80;
/// A brief job is taken to need no less than this, microseconds.
const BRIEF_MICROS_MIN: u32 = 20;

/// A job that has not come to an end, or has just done so.
#[derive(Debug)]
pub(crate) struct Live {
    pub number: u64,
    pub owner: String,
    pub priority: i16,
    pub created_micros: i64,
    pub key: Option<String>,
    /// Its place among the jobs that wait, see [`StartTags`].
    start_tag: AtomicU64,
    pub progress: Progress,
    pub cancel: Cancel,
    status: Mutex<Status>,
    /// How many wait for its end.
    waiters: AtomicU32,
    ended: Condvar,
    ended_async: Notify,
}

/// The part of a job that changes.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    pub state: JobState,
    pub attempts: u32,
    pub started_micros: Option<i64>,
    /// That it runs is in the store's log, and with the system: if this process ends, the next one knows of it.
    pub is_announced: bool,
    pub finished_micros: Option<i64>,
    pub error: Option<SqlError>,
    /// Its end, or that it was put back, is in the store's log.
    pub is_recorded: bool,
    /// Bytes of its output, once it has ended.
    pub output_bytes: Option<u64>,
    /// Its output, once it has ended, if that is short.
    pub output: Option<Vec<u8>>,
    payload: Option<Vec<u8>>,
}

impl Live {
    /// Of a job that is known, with its payload where the caller has it.
    pub fn new(info: &JobInfo, key: Option<String>, payload: Option<Vec<u8>>) -> Live {
        Live {
            number: info.number,
            owner: info.owner.clone(),
            priority: info.priority,
            created_micros: info.created_micros,
            key,
            start_tag: AtomicU64::new(0),
            progress: Progress::default(),
            cancel: Cancel::default(),
            status: Mutex::new(Status {
                state: info.state,
                attempts: info.attempts,
                started_micros: info.started_micros,
                is_announced: false,
                finished_micros: info.finished_micros,
                error: info.error.clone(),
                is_recorded: false,
                output_bytes: info.output_bytes,
                output: None,
                payload,
            }),
            waiters: AtomicU32::new(0),
            ended: Condvar::new(),
            ended_async: Notify::new(),
        }
    }

    /// Forgets a payload that is long and can be read again.
    pub fn shed_payload(&self) {
        let mut status = self.status.lock();
        if status.payload.as_ref().is_some_and(|payload| payload.len() > PAYLOAD_BYTES_KEPT) {
            status.payload = None;
        }
    }

    /// The payload, if it is in memory.
    pub fn payload(&self) -> Option<Vec<u8>> {
        self.status.lock().payload.clone()
    }

    /// Its state.
    pub fn status(&self) -> Status {
        let status = self.status.lock();
        Status { error: status.error.clone(), payload: None, output: None, ..*status }
    }

    /// Whether it has ended.
    pub fn is_final(&self) -> bool {
        self.status.lock().state.is_final()
    }

    /// Its end, or that it was put back, is in the store's log.
    pub fn is_recorded(&self) -> bool {
        self.status.lock().is_recorded
    }

    /// Its end is in the store's log.
    pub fn set_recorded(&self) {
        self.status.lock().is_recorded = true;
    }

    /// Its output, if it has ended and that is short.
    pub fn output(&self) -> Option<Vec<u8>> {
        self.status.lock().output.clone()
    }

    /// Memory that it takes, roughly.
    pub fn bytes(&self) -> usize {
        let status = self.status.lock();
        let lengths = [&status.payload, &status.output].map(|bytes| bytes.as_ref().map_or(0, Vec::len));
        let message = status.error.as_ref().map_or(0, |error| error.message.len());
        size_of::<Live>() + self.owner.len() + lengths.iter().sum::<usize>() + message
    }

    /// That it runs is in the store's log.
    pub fn set_announced(&self) {
        self.status.lock().is_announced = true;
    }

    /// Changes its state, and wakes its waiters if it has ended.
    pub fn change<T>(&self, change: impl FnOnce(&mut Status) -> T) -> T {
        let mut status = self.status.lock();
        let changed = change(&mut status);
        if status.state.is_final() {
            self.ended.notify_all();
            self.ended_async.notify_waiters();
        }
        changed
    }

    /// As others see it. A job whose kind does not survive a crash must not run again after users saw it running. So a job is shown
    /// as running only when the next server can know it.
    pub fn info(&self, kind: &str) -> JobInfo {
        let mut status = self.status();
        if status.state == JobState::Running && !status.is_announced {
            (status.state, status.started_micros) = (JobState::Queued, None);
        }
        JobInfo {
            kind: kind.to_string(),
            number: self.number,
            state: status.state,
            priority: self.priority,
            owner: self.owner.clone(),
            attempts: status.attempts,
            created_micros: self.created_micros,
            started_micros: status.started_micros,
            finished_micros: status.finished_micros,
            progress: self.progress.get(),
            error: status.error,
            output_bytes: status.output_bytes,
        }
    }

    /// Whether a caller waits for its end.
    pub fn is_awaited(&self) -> bool {
        self.waiters.load(Ordering::Relaxed) > 0
    }

    /// Waits until it has ended, on a thread that may block.
    pub fn wait(&self) {
        let _waiting = Waiting::new(&self.waiters);
        let mut status = self.status.lock();
        while !status.state.is_final() {
            self.ended.wait(&mut status);
        }
    }

    /// Waits until it has ended.
    pub async fn ended(&self) {
        let _waiting = Waiting::new(&self.waiters);
        loop {
            let woken = self.ended_async.notified();
            if self.status.lock().state.is_final() {
                return;
            }
            woken.await;
        }
    }
}

/// A waiter, counted while it lives.
struct Waiting<'a>(&'a AtomicU32);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicU32) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Waiting(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Priority, start tag and number of a job that waits.
type ReadyKey = (Reverse<i16>, u64, u64);

fn ready_key(job: &Live) -> ReadyKey {
    (Reverse(job.priority), job.start_tag.load(Ordering::Relaxed), job.number)
}

/// Start tags of accounts, so that one that queues thousands of jobs does not hold up those of others (start-time fair queueing: Goyal, Vin,
/// Cheng, 1996): the tag of an account's next job is one more than that of its last, and not less than the virtual time.
#[derive(Debug, Default)]
struct StartTags {
    virtual_time: u64,
    /// The last tag of each account that may have jobs waiting.
    last: HashMap<String, u64>,
    /// How many of them there were when those without were last left out.
    left: usize,
}

impl StartTags {
    fn next_of(&mut self, owner: &str) -> u64 {
        let last = self.last.get(owner).copied().unwrap_or(0);
        let tag = last.max(self.virtual_time) + 1;
        match self.last.get_mut(owner) {
            Some(last) => *last = tag,
            None => _ = self.last.insert(owner.to_string(), tag),
        }
        tag
    }

    /// A job with this tag begins.
    fn begin(&mut self, tag: u64) {
        /// The accounts that are remembered: this number, or twice the accounts with jobs left if that is more.
        const ACCOUNTS_MAX: usize = 1000;
        self.virtual_time = self.virtual_time.max(tag);
        if self.last.len() > ACCOUNTS_MAX.max(2 * self.left) {
            let now = self.virtual_time;
            self.last.retain(|_, last| *last > now);
            self.left = self.last.len();
        }
    }
}

/// Jobs that wait, and the workers.
#[derive(Debug)]
pub(crate) struct Queue {
    /// Jobs whose rows are being committed, in the order of their numbers, and whether the commit has succeeded where it has ended.
    arriving: VecDeque<(Arc<Live>, Option<bool>)>,
    ready: BTreeMap<ReadyKey, Arc<Live>>,
    start_tags: StartTags,
    /// Most workers.
    pub limit: usize,
    /// The places of the workers that there are.
    pub workers: BTreeSet<u16>,
    /// The last thread of each place.
    pub threads: BTreeMap<u16, JoinHandle<()>>,
    /// How many workers are at jobs that have not said that they may take long, and will look here when they are through.
    brief: usize,
    /// How long such jobs take, microseconds, those of late more than those before.
    brief_micros: u32,
    /// What they have begun and whose ends are not recorded, by place; for longer than a worker stays.
    begun: BTreeMap<u16, Vec<(Arc<Live>, Claim)>>,
    /// What those of them wait on that have no work, the last to rest last.
    resting: Vec<Arc<Condvar>>,
    /// One of them was woken, or one is being started, and has not looked here yet.
    pub is_called: bool,
    /// No job begins any more.
    pub stopping: bool,
}

impl Queue {
    pub fn new(limit: usize) -> Queue {
        Queue {
            arriving: VecDeque::new(),
            ready: BTreeMap::new(),
            start_tags: StartTags::default(),
            limit,
            workers: BTreeSet::new(),
            threads: BTreeMap::new(),
            brief: 0,
            brief_micros: 0,
            begun: BTreeMap::new(),
            resting: Vec::new(),
            is_called: false,
            stopping: false,
        }
    }

    pub fn push(&mut self, job: Arc<Live>) {
        job.start_tag.store(self.start_tags.next_of(&job.owner), Ordering::Relaxed);
        self.ready.insert(ready_key(&job), job);
    }

    /// A job is on its way: the next number's row is being committed.
    pub fn expect(&mut self, job: Arc<Live>) {
        self.arriving.push_back((job, None));
    }

    /// The commit of a job's row has ended. Jobs come out in the order of their numbers, whose rows are durable.
    pub fn arrive(&mut self, number: u64, is_durable: bool) -> Vec<Arc<Live>> {
        if let Ok(at) = self.arriving.binary_search_by_key(&number, |(job, _)| job.number) {
            self.arriving[at].1 = Some(is_durable);
        }
        let mut arrived = Vec::new();
        while let Some((job, Some(is_durable))) = self.arriving.pop_front_if(|(_, ended)| ended.is_some()) {
            arrived.extend(is_durable.then_some(job));
        }
        arrived
    }

    /// The next job, for a worker. Until that says [otherwise](Queue::leave_brief) it is taken to be back soon.
    pub fn take(&mut self) -> Option<Arc<Live>> {
        let ((_, tag, _), job) = self.ready.pop_first()?;
        self.start_tags.begin(tag);
        self.brief += 1;
        Some(job)
    }

    /// A worker's job may take long.
    pub fn leave_brief(&mut self) {
        self.brief = self.brief.saturating_sub(1);
    }

    /// A worker's job was brief, and has taken so long.
    pub fn end_brief(&mut self, micros: u32) {
        self.leave_brief();
        self.brief_micros = (self.brief_micros * 7 + micros.min(WAITING_MICROS * 8)) / 8;
    }

    /// How many jobs may wait for one worker that is at something brief.
    fn waiting_per_brief(&self) -> usize {
        (WAITING_MICROS / self.brief_micros.max(BRIEF_MICROS_MIN)) as usize
    }

    /// Takes a job out; `false` if it does not wait.
    pub fn remove(&mut self, job: &Live) -> bool {
        self.ready.remove(&ready_key(job)).is_some()
    }

    /// A waiting job of that key.
    pub fn find(&self, key: &str) -> Option<Arc<Live>> {
        self.ready.values().find(|job| job.key.as_deref() == Some(key)).cloned()
    }

    /// Whether none waits, and a worker has no work or could be started.
    pub fn is_free(&self) -> bool {
        let busy = self.workers.len().saturating_sub(self.resting.len());
        !self.stopping && self.ready.is_empty() && busy < self.limit
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.ready.len()
    }

    /// The worker of a place begins a job: all that the place has to answer for now.
    pub fn begin(&mut self, place: u16, job: &Arc<Live>, claim: Claim) -> Vec<Claim> {
        let begun = self.begun.entry(place).or_default();
        begun.retain(|(job, _)| !job.is_recorded());
        begun.push((job.clone(), claim));
        begun.iter().map(|(_, claim)| *claim).collect()
    }

    /// The lowest place that no worker has.
    pub fn free_place(&self) -> u16 {
        let taken = self.workers.iter().zip(0..).take_while(|(place, at)| *place == at).count();
        u16::try_from(taken).unwrap_or(u16::MAX)
    }

    /// Whether to wake a worker: there is work, no woken worker is coming, and it is too much for the workers that will soon be
    /// free.
    pub fn wants_worker(&self) -> bool {
        !self.stopping && !self.is_called && self.ready.len() > self.brief * self.waiting_per_brief()
    }

    /// A worker has no work, and waits on `bell`.
    pub fn rest(&mut self, bell: &Arc<Condvar>) {
        self.resting.push(bell.clone());
    }

    /// Calls the worker that has rested least: it has the most in its caches, and workers that are not needed rest until they end. Gives
    /// what it waits on, if there is one.
    pub fn call_resting(&mut self) -> Option<Arc<Condvar>> {
        let bell = self.resting.pop()?;
        self.is_called = true;
        Some(bell)
    }

    /// A worker has woken, by a call or by itself.
    pub fn rise(&mut self, bell: &Arc<Condvar>) {
        match self.resting.iter().position(|other| Arc::ptr_eq(other, bell)) {
            Some(at) => drop(self.resting.remove(at)),
            None => self.is_called = false,
        }
    }

    /// No job begins any more.
    pub fn stop(&mut self) {
        self.stopping = true;
        self.wake_all();
    }

    /// Has all workers that rest look whether they are to end.
    pub fn wake_all(&mut self) {
        self.resting.drain(..).for_each(|bell| {
            bell.notify_one();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_take_turns() {
        let mut tags = StartTags::default();
        assert_eq!([(); 3].map(|()| tags.next_of("many")), [1, 2, 3]);
        tags.begin(1);
        // It is next after those with the same tag that were there before, however many the other has.
        assert_eq!(tags.next_of("one"), 2);
        tags.begin(3);
        // An account that had no jobs gets no extra share.
        assert_eq!([tags.next_of("one"), tags.next_of("many"), tags.next_of("late")], [4, 4, 4]);
    }

    #[test]
    fn accounts_without_jobs_are_forgotten() {
        let mut tags = StartTags::default();
        let last = (0..5000).map(|account| tags.next_of(&account.to_string())).max().unwrap_or(0);
        tags.begin(last);
        assert!(tags.last.is_empty());
    }
}
