//! Threads on which statements wait, and their bound.
//!
//! A statement that waits occupies a thread. What it waits for may be another statement that needs a thread, so a queue for threads could
//! wait for ever. There is none: [`WaitingThreads`] refuses what exceeds its bound with an error, and the statements that wait go on.

use squall_types::{ErrorCode, SqlError, SqlResult};
use std::cell::{Cell, RefCell};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::runtime::{Handle, RuntimeFlavor};

/// What the system answers where there is no thread any more (EAGAIN).
const NO_THREAD: i32 = 11;

thread_local! {
    /// The threads among which this one is.
    static THREADS: RefCell<Option<Arc<WaitingThreads>>> = const { RefCell::new(None) };
    /// This thread has a place among them.
    static HAS_PLACE: Cell<bool> = const { Cell::new(false) };
}

/// The places for threads that wait: for row and table locks, for nested statements, for clients, for other servers.
#[derive(Debug)]
pub struct WaitingThreads {
    taken: AtomicUsize,
    max: AtomicUsize,
}

impl WaitingThreads {
    /// With this many places.
    pub fn new(max: usize) -> Arc<WaitingThreads> {
        Arc::new(WaitingThreads { taken: AtomicUsize::new(0), max: AtomicUsize::new(max) })
    }

    /// Changes the number of places. Threads that have one beyond it keep it.
    pub fn set_max(&self, max: usize) {
        self.max.store(max, Ordering::Relaxed);
    }

    /// Takes a place.
    ///
    /// # Errors
    /// 1135 if there is none.
    pub fn take(self: &Arc<Self>) -> SqlResult<WaitingPlace> {
        let max = self.max.load(Ordering::Relaxed);
        let next = |taken: usize| (taken < max).then_some(taken + 1);
        match self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {
            Ok(_) => Ok(WaitingPlace(self.clone())),
            Err(_) => Err(SqlError::new(ErrorCode::CantCreateThread, &[&NO_THREAD])),
        }
    }

    /// Takes a place also beyond the bound: for the end of a transaction, which may not fail for want of a thread.
    pub fn take_beyond(self: &Arc<Self>) -> WaitingPlace {
        self.taken.fetch_add(1, Ordering::Relaxed);
        WaitingPlace(self.clone())
    }

    /// Counts this thread among these: [`off_pool`] takes a place of them.
    pub fn count_this_thread(self: &Arc<Self>) {
        THREADS.set(Some(self.clone()));
    }
}

/// A place for a thread that waits, until it is dropped.
#[derive(Debug)]
pub struct WaitingPlace(Arc<WaitingThreads>);

impl WaitingPlace {
    /// Does work on this thread, which has the place meanwhile.
    pub fn run<T>(self, work: impl FnOnce() -> T) -> T {
        /// The thread's mark, which goes also when the work panics.
        struct Mark(bool);

        impl Drop for Mark {
            fn drop(&mut self) {
                HAS_PLACE.set(self.0);
            }
        }

        let _mark = Mark(HAS_PLACE.replace(true));
        work()
    }
}

impl Drop for WaitingPlace {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The error of a statement whose thread cannot be started.
pub fn thread_error(error: &io::Error) -> SqlError {
    SqlError::new(ErrorCode::CantCreateThread, &[&error.raw_os_error().unwrap_or(NO_THREAD)])
}

/// Waits, or computes for long, on a thread of the query pool: other statements that count on this thread are given
/// another meanwhile. Anywhere else the work is simply done.
///
/// # Errors
/// 1135 if there is no other thread; then nothing is done.
pub fn off_pool<T>(work: impl FnOnce() -> T) -> SqlResult<T> {
    let is_on_pool = Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if !is_on_pool {
        return Ok(work());
    }
    let threads = match HAS_PLACE.get() {
        true => None,
        false => THREADS.with_borrow(Clone::clone),
    };
    match threads {
        Some(threads) => Ok(threads.take()?.run(|| tokio::task::block_in_place(work))),
        None => Ok(tokio::task::block_in_place(work)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_and_come_back() {
        let threads = WaitingThreads::new(2);
        let (first, second) = (threads.take().expect("a place"), threads.take().expect("a place"));
        let refused = threads.take().expect_err("there are two");
        assert!(refused.is(ErrorCode::CantCreateThread));
        assert_eq!(
            refused.message,
            "Can't create a new thread (errno 11); if you are not out of available memory, you can consult the manual for a possible \
             OS-dependent bug"
        );
        drop(first);
        let third = threads.take().expect("a place");
        threads.set_max(1);
        drop(second);
        assert!(threads.take().is_err(), "the bound is one, and the third has it");
        drop(third);
        assert!(threads.take().is_ok());
    }

    #[test]
    fn a_thread_with_a_place_takes_no_other() {
        let threads = WaitingThreads::new(1);
        let counted = threads.clone();
        let pool = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .on_thread_start(move || counted.count_this_thread())
            .build()
            .expect("a pool");
        let nested = || off_pool(|| off_pool(|| ()).and_then(|()| off_pool(|| ())));
        let ended = pool.block_on(async { tokio::spawn(async move { nested() }).await }).expect("no panic");
        assert_eq!(ended.map(|inner| inner.is_ok()), Ok(true));
        let _all = threads.take().expect("it was given back");
        let refused = pool.block_on(async { tokio::spawn(async { off_pool(|| ()) }).await }).expect("no panic");
        assert!(refused.is_err_and(|error| error.is(ErrorCode::CantCreateThread)));
    }
}
