//! The processor time of work and its use of files, on any threads.
//!
//! A [`Meter`] is attached to a thread while the thread works for it, and passed to threads that are started for that work. Work
//! without a meter costs one read of a thread-local variable when it is passed to another thread, and nothing elsewhere.

use crate::file_times::FileTimes;
use pin_project_lite::pin_project;
use rustix::time::{ClockId, clock_gettime};
use std::cell::RefCell;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

/// The cost of some work on all threads.
#[derive(Debug)]
pub struct Meter {
    /// Processor time, added to when a thread drops the meter; `None` if it is not measured.
    nanos: Option<AtomicU64>,
    /// The use of files.
    files: Arc<FileTimes>,
}

impl Meter {
    /// Of the owner of these sums of files; processor time only if it is asked for, as it takes a look at the clock of the thread
    /// whenever one begins or ends to work for the meter.
    pub fn new(files: Arc<FileTimes>, measures_time: bool) -> Meter {
        Meter { nanos: measures_time.then(AtomicU64::default), files }
    }
}

/// A meter that is attached to this thread, and the last reading of the thread's clock for it.
struct Running {
    meter: Arc<Meter>,
    since_nanos: u64,
}

impl Running {
    /// What has passed is the meter's.
    fn settle(&mut self, now_nanos: u64) {
        if let Some(nanos) = &self.meter.nanos {
            nanos.fetch_add(now_nanos.saturating_sub(self.since_nanos), Ordering::Relaxed);
            self.since_nanos = now_nanos;
        }
    }
}

thread_local! {
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
}

/// Processor time that this thread has taken since it began, nanoseconds.
pub fn of_this_thread() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(now.tv_nsec).unwrap_or(0))
}

/// The meter that this thread works for.
pub fn current() -> Option<Arc<Meter>> {
    RUNNING.with_borrow(|running| running.as_ref().map(|running| running.meter.clone()))
}

/// The sums of this thread's meter over all threads, as far as they are known: other threads report when they release it.
/// Nanoseconds; `None` if the thread works for none that measures time.
pub fn current_nanos() -> Option<u64> {
    RUNNING.with_borrow_mut(|running| {
        let running = running.as_mut().filter(|running| running.meter.nanos.is_some())?;
        running.settle(of_this_thread());
        running.meter.nanos.as_ref().map(|nanos| nanos.load(Ordering::Relaxed))
    })
}

/// Something was done with a file; `false` if this thread works for no meter.
pub(crate) fn count_file_use(event: &'static str, bytes: u64, nanos: u64) -> bool {
    // A thread that is about to end works for no session any more.
    let count = |running: &RefCell<Option<Running>>| match &*running.borrow() {
        Some(running) => {
            running.meter.files.add(event, bytes, nanos);
            true
        }
        None => false,
    };
    RUNNING.try_with(count).unwrap_or(false)
}

/// What this thread does until this is dropped is counted by its meter alone.
#[derive(Debug)]
#[must_use = "it measures until it is dropped"]
pub struct Attached {
    /// The meter that is attached afterwards.
    before: Option<Arc<Meter>>,
    /// It stays on its thread.
    of_thread: PhantomData<*const ()>,
}

/// Has this thread work for a meter. One that it worked for before waits meanwhile.
pub fn attach(meter: Arc<Meter>) -> Attached {
    Attached { before: change(Some(meter)), of_thread: PhantomData }
}

impl Drop for Attached {
    fn drop(&mut self) {
        change(self.before.take());
    }
}

fn change(meter: Option<Arc<Meter>>) -> Option<Arc<Meter>> {
    RUNNING.with_borrow_mut(|running| {
        let measures_time = |meter: &Meter| meter.nanos.is_some();
        let is_wanted = meter.as_deref().is_some_and(measures_time)
            || running.as_ref().is_some_and(|running| measures_time(&running.meter));
        let since_nanos = if is_wanted { of_this_thread() } else { 0 };
        let mut before = std::mem::replace(running, meter.map(|meter| Running { meter, since_nanos }))?;
        before.settle(since_nanos);
        Some(before.meter)
    })
}

/// Work for another thread, which there is for the meter that this one works for.
pub fn carried<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let meter = current();
    move || {
        let _attached = meter.map(attach);
        work()
    }
}

pin_project! {
    /// See [`measured`].
    #[derive(Debug)]
    #[must_use = "futures do nothing until they are polled"]
    pub struct Measured<F> {
        meter: Option<Arc<Meter>>,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Measured<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _attached = this.meter.clone().map(attach);
        this.future.poll(context)
    }
}

/// Attaches a meter, if there is one, to every thread that polls a future, while it does. An async function would hold the future
/// twice, and futures of statements are large.
pub fn measured<F: Future>(meter: Option<Arc<Meter>>, future: F) -> Measured<F> {
    Measured { meter, future }
}

/// Works on for the meter of this thread wherever the future is polled.
pub fn carried_future<F: Future>(future: F) -> Measured<F> {
    measured(current(), future)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::hint::black_box;
    use std::pin::pin;
    use std::task::Waker;

    /// Works until the thread has taken this many nanoseconds more.
    fn work(nanos: u64) {
        let end = of_this_thread() + nanos;
        while of_this_thread() < end {
            black_box(0);
        }
    }

    fn nanos_of(meter: &Meter) -> u64 {
        meter.nanos.as_ref().map_or(0, |nanos| nanos.load(Ordering::Relaxed))
    }

    const MILLISECOND: u64 = 1_000_000;

    #[test]
    fn what_is_done_on_several_threads_is_added_up() {
        assert_eq!(current_nanos(), None);
        let meter = Arc::new(Meter::new(Arc::default(), true));
        let attached = attach(meter.clone());
        work(MILLISECOND);
        std::thread::scope(|scope| {
            scope.spawn(carried(|| work(2 * MILLISECOND)));
            scope.spawn(|| work(50 * MILLISECOND));
        });
        let nanos = current_nanos().expect("attached");
        assert!((3 * MILLISECOND..50 * MILLISECOND).contains(&nanos), "{nanos}");
        drop(attached);
        work(50 * MILLISECOND);
        assert_eq!(current_nanos(), None);
        assert!(nanos_of(&meter) < 50 * MILLISECOND);
    }

    #[test]
    fn time_is_of_one_meter_only() {
        let (outer, inner) = (Arc::new(Meter::new(Arc::default(), true)), Arc::new(Meter::new(Arc::default(), true)));
        let attached = attach(outer.clone());
        work(MILLISECOND);
        let within = attach(inner.clone());
        work(50 * MILLISECOND);
        drop(within);
        work(MILLISECOND);
        drop(attached);
        let [outer, inner] = [outer, inner].map(|meter| nanos_of(&meter));
        assert!((2 * MILLISECOND..50 * MILLISECOND).contains(&outer), "{outer}");
        assert!(inner >= 50 * MILLISECOND, "{inner}");
    }

    #[test]
    fn futures_are_measured_while_they_are_polled() {
        let meter = Arc::new(Meter::new(Arc::default(), true));
        let mut future = pin!(measured(Some(meter.clone()), async {
            work(MILLISECOND);
            let mut is_first = true;
            poll_fn(|_| if std::mem::take(&mut is_first) { Poll::Pending } else { Poll::Ready(()) }).await;
            work(MILLISECOND);
        }));
        let mut context = Context::from_waker(Waker::noop());
        assert!(future.as_mut().poll(&mut context).is_pending());
        work(50 * MILLISECOND);
        assert!(future.as_mut().poll(&mut context).is_ready());
        let nanos = nanos_of(&meter);
        assert!((2 * MILLISECOND..50 * MILLISECOND).contains(&nanos), "{nanos}");
    }

    #[test]
    fn what_is_done_with_files_is_that_of_whom_it_is_done_for() {
        const EVENT: &str = "wait/io/file/test/meter";
        let files: Arc<FileTimes> = Arc::default();
        assert!(!count_file_use(EVENT, 1, 1));
        let attached = attach(Arc::new(Meter::new(files.clone(), false)));
        assert!(count_file_use(EVENT, 2, 3));
        std::thread::scope(|scope| {
            scope.spawn(carried(|| assert!(count_file_use(EVENT, 4, 5))));
            scope.spawn(|| assert!(!count_file_use(EVENT, 1, 1)));
        });
        assert_eq!(current_nanos(), None);
        drop(attached);
        assert!(!count_file_use(EVENT, 1, 1));
        let [(EVENT, sums)] = files.list()[..] else { panic!("{files:?}") };
        assert_eq!((sums.count, sums.bytes, sums.sum_nanos, sums.min_nanos, sums.max_nanos), (2, 6, 8, 3, 5));
    }
}
