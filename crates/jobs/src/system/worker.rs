//! Workers: threads that take jobs from a kind's queue and run them.

use crate::claims::{self, Claim};
use crate::system::ending::Ending;
use crate::system::job::JobState;
use crate::system::kind::{Announcement, RunningJob};
use crate::system::output::Output;
use crate::system::queue::{Live, Queue};
use crate::system::record::job_key;
use crate::system::{KindInner, SystemInner};
use parking_lot::{Condvar, Mutex, MutexGuard};
use squall_logs::error_log::{Severity, error_log};
use squall_row_store::CommitTicket;
use squall_types::clock::now_micros;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a worker without work stays.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// How long it keeps what it may need for the next job.
const BREATHER: Duration = Duration::from_millis(100);
/// Stack of a worker: a plan is as deep as its statement is nested.
const STACK_BYTES: usize = 8 << 20;

/// Calls one more worker if there is work: a worker that is called calls the next before it begins, so none is woken for a job that
/// another has taken by then.
pub(crate) fn call_worker(kind: &Arc<KindInner>, mut queue: MutexGuard<'_, Queue>) {
    if !queue.wants_worker() {
        return;
    }
    if let Some(bell) = queue.call_resting() {
        drop(queue);
        bell.notify_one();
    } else if queue.workers.len() < queue.limit {
        let own = kind.clone();
        let name = format!("job-{}", kind.spec.name);
        let thread = std::thread::Builder::new().name(name).stack_size(STACK_BYTES);
        let place = queue.free_place();
        match thread.spawn(move || work(&own, place)) {
            Ok(thread) => {
                queue.is_called = true;
                queue.workers.insert(place);
                queue.threads.insert(place, thread);
            }
            // The next submission, or a worker that goes on, sees to it.
            Err(error) => {
                let message = format!("cannot start a worker for jobs of the kind {}: {error}", kind.spec.name);
                error_log().write(Severity::Warning, &message);
            }
        }
    }
}

/// The life of the worker in a place.
fn work(kind: &Arc<KindInner>, place: u16) {
    let mut last: Option<CommitTicket> = None;
    let bell = Arc::default();
    let mut brief_micros = None;
    kind.queue.lock().is_called = false;
    while let Some(job) = next(kind, &bell, brief_micros) {
        let Some(system) = kind.system.upgrade() else { break };
        let announcement = Arc::new(WorkerAnnouncement::new(kind, &system, &job, place));
        last = run(kind, &system, job, &announcement).or(last);
        brief_micros = announcement.brief_micros();
    }
    // When there are no workers, all ends are known. The result is that of the job.
    let _written = last.map(|ticket| ticket.wait());
    let mut queue = kind.queue.lock();
    queue.workers.remove(&place);
    if queue.workers.is_empty() {
        kind.workers_gone.notify_all();
    }
    // It may have been called.
    call_worker(kind, queue);
}

/// The next job, for a worker; with the duration of the worker's last job if it was brief; `None` when the worker is one too many or was idle for
/// long.
fn next(kind: &Arc<KindInner>, bell: &Arc<Condvar>, brief_micros: Option<u32>) -> Option<Arc<Live>> {
    let mut queue = kind.queue.lock();
    if let Some(micros) = brief_micros {
        queue.end_brief(micros);
    }
    let begun = Instant::now();
    let mut has_let_go = false;
    loop {
        if queue.stopping || queue.workers.len() > queue.limit {
            return None;
        }
        if let Some(job) = queue.take() {
            call_worker(kind, queue);
            return Some(job);
        }
        queue.rest(bell);
        let pause = if has_let_go { IDLE_MAX } else { BREATHER };
        let timed_out = bell.wait_for(&mut queue, pause).timed_out();
        queue.rise(bell);
        if timed_out && queue.len() == 0 {
            if has_let_go && begun.elapsed() >= IDLE_MAX {
                return None;
            }
            has_let_go = MutexGuard::unlocked(&mut queue, || kind.spec.handler.idle());
        }
    }
}

/// Runs a job; gives the commit of its end if it has come to one.
fn run(
    kind: &Arc<KindInner>,
    system: &Arc<SystemInner>,
    live: Arc<Live>,
    announcement: &Arc<WorkerAnnouncement>,
) -> Option<CommitTicket> {
    let attempt = announcement.claim.attempt;
    let mut output = Output::new(kind, system, live.number);
    let (mut transaction, mut payload) = (None, None);
    let result = begin(kind, system, &live, announcement).and_then(|content| {
        if live.cancel.is_set() {
            return Err(SqlError::new(ErrorCode::QueryInterrupted, &[]));
        }
        let output_of_job = Mutex::new(output.take());
        let job = RunningJob {
            live: live.clone(),
            output: output_of_job,
            transaction: Mutex::default(),
            announcement: announcement.clone(),
            payload: content,
            attempt,
        };
        let handler = &kind.spec.handler;
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| handler.run(&job)))
            .unwrap_or_else(|_| Err(SqlError::internal("the job panicked")));
        live.cancel.forget();
        output = job.output.into_inner();
        transaction = job.transaction.into_inner();
        payload = Some(job.payload);
        result
    });
    let (state, error) = match result {
        Ok(()) => (JobState::Done, None),
        // It is left as running: the next start of the server decides, as its kind says.
        Err(_) if kind.spec.durable && kind.queue.lock().stopping => return None,
        Err(error) if live.cancel.is_set() => (JobState::Cancelled, Some(error)),
        Err(error) if attempt < kind.spec.attempts_max => {
            let counted = put_back(kind, system, live.number, attempt);
            if let Err(lost) = &counted {
                // After a restart there may be an attempt more than there should be.
                error_log().write(Severity::Warning, &format!("an attempt of a job cannot be counted: {lost}"));
            }
            live.change(|status| {
                status.state = JobState::Queued;
                status.is_recorded = counted.is_ok();
                status.error = Some(error);
            });
            kind.enqueue(live);
            return None;
        }
        Err(error) => (JobState::Failed, Some(error)),
    };
    let (kind, output, finished_micros) = (kind.clone(), output.into_ended(), now_micros());
    Some(system.end(Ending {
        kind,
        live,
        state,
        error,
        finished_micros,
        payload,
        output,
        kept_bytes: 0,
        transaction,
        is_new: false,
    }))
}

/// Gets the payload of a job that begins, which says at once that it does unless its kind has it say so itself.
fn begin(kind: &KindInner, system: &SystemInner, live: &Live, announcement: &WorkerAnnouncement) -> SqlResult<Vec<u8>> {
    // What an earlier attempt has put out goes when that is said.
    if !kind.spec.announces || announcement.claim.attempt > 1 {
        announcement.make()?;
    }
    match live.payload() {
        Some(payload) => Ok(payload),
        None if kind.spec.durable => system.read_payload(kind.spec.name, live.number),
        None => Ok(Vec::new()),
    }
}

/// The announcement of a job, by the worker of a place.
struct WorkerAnnouncement {
    kind: Arc<KindInner>,
    system: Arc<SystemInner>,
    live: Arc<Live>,
    claim: Claim,
    place: u16,
    is_made: AtomicBool,
}

impl WorkerAnnouncement {
    /// Of a job that the worker of a place begins now.
    fn new(kind: &Arc<KindInner>, system: &Arc<SystemInner>, live: &Arc<Live>, place: u16) -> WorkerAnnouncement {
        let started_micros = now_micros();
        let attempt = live.change(|status| {
            status.state = JobState::Running;
            status.attempts += 1;
            status.started_micros = Some(started_micros);
            status.is_announced = false;
            status.is_recorded = false;
            status.attempts
        });
        WorkerAnnouncement {
            kind: kind.clone(),
            system: system.clone(),
            live: live.clone(),
            claim: Claim { number: live.number, attempt, started_micros },
            place,
            is_made: AtomicBool::new(false),
        }
    }

    /// How long the job has taken until now, if nothing was to be said of it.
    fn brief_micros(&self) -> Option<u32> {
        let micros = || u32::try_from(now_micros() - self.claim.started_micros).unwrap_or(0);
        (!self.is_made.load(Ordering::Relaxed)).then(micros)
    }
}

impl Announcement for WorkerAnnouncement {
    /// Calls a worker if there is work left, and says in the log that the job runs.
    fn make(&self) -> SqlResult<()> {
        let WorkerAnnouncement { kind, system, live, claim, place, is_made } = self;
        if is_made.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let (durable, name) = (kind.spec.durable, kind.spec.name);
        let mut queue = kind.queue.lock();
        queue.leave_brief();
        let begun = durable.then(|| queue.begin(*place, live, *claim));
        call_worker(kind, queue);
        if let Some(begun) = begun {
            claims::write(&*system.records, name, *place, &begun)?;
        }
        live.set_announced();
        if durable && claim.attempt > 1 {
            let mut transaction = system.begin();
            system.delete_output(&mut transaction, name, live.number)?;
            drop(transaction.commit_async());
        }
        Ok(())
    }
}

/// Counts an attempt of a durable job that waits for its next.
fn put_back(kind: &KindInner, system: &SystemInner, number: u64, attempt: u32) -> SqlResult<()> {
    if kind.spec.durable {
        let mut transaction = system.begin();
        system
            .update_job(&mut transaction, &job_key(kind.spec.name, number), |record| record.info.attempts = attempt)?;
        drop(transaction.commit_async());
    }
    Ok(())
}
