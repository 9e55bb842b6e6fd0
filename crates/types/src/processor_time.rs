//! How much processor time work takes, on whichever threads it is done.
//!
//! A [`Meter`] is attached to a thread for as long as the thread works for it; threads that are started for that work carry it
//! on. What runs without a meter costs a look at a variable of its thread where work is handed over, and nothing elsewhere.

use pin_project_lite::pin_project;
use rustix::time::{ClockId, clock_gettime};
use std::cell::RefCell;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

/// Processor time that something has taken on all threads.
#[derive(Debug, Default)]
pub struct Meter {
    /// Added to when a thread lets go of the meter.
    nanos: AtomicU64,
}

/// A meter that is attached to this thread, and what the thread's clock said when it was last read for it.
struct Running {
    meter: Arc<Meter>,
    since_nanos: u64,
}

impl Running {
    /// What has passed is the meter's.
    fn settle(&mut self, now_nanos: u64) {
        self.meter.nanos.fetch_add(now_nanos.saturating_sub(self.since_nanos), Ordering::Relaxed);
        self.since_nanos = now_nanos;
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

/// What the meter that this thread works for has come to on all threads, as far as they have told: others tell when they let
/// go of it. Nanoseconds; `None` if the thread works for none.
pub fn current_nanos() -> Option<u64> {
    RUNNING.with_borrow_mut(|running| {
        let running = running.as_mut()?;
        running.settle(of_this_thread());
        Some(running.meter.nanos.load(Ordering::Relaxed))
    })
}

/// What this thread does until this is dropped is its meter's, and nobody else's.
#[derive(Debug)]
#[must_use = "it measures until it is dropped"]
pub struct Attached {
    /// Whose turn it is afterwards.
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
    let since_nanos = of_this_thread();
    let next = meter.map(|meter| Running { meter, since_nanos });
    let mut before = RUNNING.replace(next)?;
    before.settle(since_nanos);
    Some(before.meter)
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

    /// Works until the thread has taken so many nanoseconds more.
    fn work(nanos: u64) {
        let end = of_this_thread() + nanos;
        while of_this_thread() < end {
            black_box(0);
        }
    }

    const MILLISECOND: u64 = 1_000_000;

    #[test]
    fn what_is_done_on_several_threads_is_added_up() {
        assert_eq!(current_nanos(), None);
        let meter = Arc::new(Meter::default());
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
        assert!(meter.nanos.load(Ordering::Relaxed) < 50 * MILLISECOND);
    }

    #[test]
    fn time_is_of_one_meter_only() {
        let (outer, inner) = (Arc::new(Meter::default()), Arc::new(Meter::default()));
        let attached = attach(outer.clone());
        work(MILLISECOND);
        let within = attach(inner.clone());
        work(50 * MILLISECOND);
        drop(within);
        work(MILLISECOND);
        drop(attached);
        let [outer, inner] = [outer, inner].map(|meter| meter.nanos.load(Ordering::Relaxed));
        assert!((2 * MILLISECOND..50 * MILLISECOND).contains(&outer), "{outer}");
        assert!(inner >= 50 * MILLISECOND, "{inner}");
    }

    #[test]
    fn futures_are_measured_while_they_are_polled() {
        let meter = Arc::new(Meter::default());
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
        let nanos = meter.nanos.load(Ordering::Relaxed);
        assert!((2 * MILLISECOND..50 * MILLISECOND).contains(&nanos), "{nanos}");
    }
}
