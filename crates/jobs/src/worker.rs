//! Workers: threads that take jobs from a kind's queue and run them.

use crate::kind::{JobState, RunningJob};
use crate::queue::Live;
use crate::record::{JobRecord, job_key};
use crate::recorder::Ending;
use crate::system::{KindInner, Output, SystemInner, now_micros};
use parking_lot::{Mutex, MutexGuard};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a worker without work stays.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// How long it keeps what it may need for the next job.
const BREATHER: Duration = Duration::from_millis(20);
/// Stack of a worker: a plan is as deep as its statement is nested.
const STACK_BYTES: usize = 8 << 20;

/// Begins workers until there are enough for the work that waits.
pub(crate) fn add_workers(kind: &Arc<KindInner>) {
    let mut queue = kind.queue.lock();
    for _ in 0..queue.missing_workers() {
        let own = kind.clone();
        let name = format!("job-{}", kind.spec.name);
        let thread = std::thread::Builder::new().name(name).stack_size(STACK_BYTES);
        match thread.spawn(move || work(&own)) {
            Ok(_) => queue.workers += 1,
            // The next submission, or a worker that goes on, sees to the rest.
            Err(error) => {
                squall_logs::error_log::error_log().write(
                    squall_logs::error_log::Severity::Warning,
                    &format!("cannot start a worker for jobs of the kind {}: {error}", kind.spec.name),
                );
                break;
            }
        }
    }
}

/// A worker's life.
fn work(kind: &Arc<KindInner>) {
    while let Some(job) = next(kind) {
        match kind.system.upgrade() {
            Some(system) => run(kind, &system, job),
            None => break,
        }
    }
    let mut queue = kind.queue.lock();
    queue.workers -= 1;
    if queue.workers == 0 {
        kind.workers_gone.notify_all();
    }
}

/// The job whose turn it is; `None` when the worker is one too many or was idle for long.
fn next(kind: &KindInner) -> Option<Arc<Live>> {
    let mut queue = kind.queue.lock();
    let begun = Instant::now();
    let mut rests = false;
    loop {
        if queue.stopping || queue.workers > queue.limit {
            return None;
        }
        if let Some(job) = queue.pop() {
            return Some(job);
        }
        queue.idle += 1;
        let timed_out = kind.work.wait_until(&mut queue, begun + if rests { IDLE_MAX } else { BREATHER }).timed_out();
        queue.idle -= 1;
        match (timed_out && queue.len() == 0, rests) {
            (true, true) => return None,
            (true, false) => {
                rests = true;
                MutexGuard::unlocked(&mut queue, || kind.spec.handler.idle());
            }
            (false, _) => {}
        }
    }
}

fn run(kind: &Arc<KindInner>, system: &Arc<SystemInner>, live: Arc<Live>) {
    let started = now_micros();
    live.change(|status| {
        status.state = JobState::Running;
        status.attempts += 1;
        status.started_micros = Some(started);
    });
    let attempt = live.status().attempts;
    let mut output = Output::new(kind, system, live.number);
    let result = begin(kind, system, &live, attempt).and_then(|payload| {
        if live.cancel.is_set() {
            return Err(SqlError::new(ErrorCode::QueryInterrupted, &[]));
        }
        let job = RunningJob { live: live.clone(), output: Mutex::new(output.take()), payload, attempt };
        let handler = &kind.spec.handler;
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| handler.run(&job)))
            .unwrap_or_else(|_| Err(SqlError::internal("the job panicked")));
        live.cancel.forget();
        output = job.output.into_inner();
        result
    });
    let stopping = kind.queue.lock().stopping;
    let (state, error) = match result {
        Ok(()) => (JobState::Done, None),
        // It is left as running: the next start of the server decides, as its kind says.
        Err(_) if stopping && kind.spec.durable => return,
        Err(error) if live.cancel.is_set() => (JobState::Cancelled, Some(error)),
        Err(error) if attempt < kind.spec.attempts_max => {
            live.change(|status| {
                status.state = JobState::Queued;
                status.error = Some(error);
            });
            kind.enqueue(live);
            return;
        }
        Err(error) => (JobState::Failed, Some(error)),
    };
    let output = output.into_pending();
    system.end(Ending { kind: kind.clone(), live, state, error, finished_micros: now_micros(), output });
}

/// Marks a durable job as running and reads its payload. The mark is not waited for: the store's log has it before
/// whatever the job commits.
fn begin(kind: &KindInner, system: &SystemInner, live: &Live, attempt: u32) -> SqlResult<Vec<u8>> {
    if !kind.spec.durable {
        return Ok(live.payload().unwrap_or_default());
    }
    let mut transaction = system.begin();
    let payload =
        system.update_job(&mut transaction, &job_key(kind.spec.name, live.number), |record: &mut JobRecord| {
            record.info.state = JobState::Running;
            record.info.attempts = attempt;
            record.info.started_micros = live.status().started_micros;
            record.payload.clone()
        })?;
    if attempt > 1 {
        system.delete_output(&mut transaction, kind.spec.name, live.number)?;
    }
    drop(transaction.commit_async());
    payload.ok_or_else(|| SqlError::internal("the job's row is gone"))
}
