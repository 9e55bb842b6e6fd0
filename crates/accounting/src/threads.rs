//! Numbers of threads. They choose a thread's part of data that all threads write.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A number of this thread: they are given one after the other, so that threads are dealt evenly into parts by the rest.
pub fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}
