//! Extends the stack for programs that run programs, so that the thread's stack does not limit them, and bounds it.

use squall_types::{ErrorCode, SqlError, SqlResult};
use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Stack that one call, statement or handler takes at most, without optimizations.
const RESERVE_BYTES: usize = 1 << 20;
/// Stack that is taken at once where that is not left.
const SEGMENT_BYTES: usize = 8 << 20;
/// CALLs inside of each other, and prepared statements that execute others, go this deep at most.
pub(crate) const CALLS_MAX: u32 = 128;
/// Pieces of stack that one statement of a client may take.
const SEGMENTS_MAX: u32 = 16;

thread_local! {
    /// Pieces of stack that this thread is on, beyond its own.
    static SEGMENTS: Cell<u32> = const { Cell::new(0) };
}

/// Runs the inner future on another piece of stack if the thread's own is nearly used up.
pub(crate) struct OnGrowingStack<F: ?Sized>(pub Pin<Box<F>>);

impl<F: Future + ?Sized> Future for OnGrowingStack<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        on_growing_stack(|| self.0.as_mut().poll(context))
    }
}

/// Runs a function on another piece of stack if the thread's own is nearly used up.
pub(crate) fn on_growing_stack<T>(run: impl FnOnce() -> T) -> T {
    /// The count is right again also where the work panics.
    struct Segment;

    impl Drop for Segment {
        fn drop(&mut self) {
            SEGMENTS.set(SEGMENTS.get() - 1);
        }
    }

    if stacker::remaining_stack().is_some_and(|left| left >= RESERVE_BYTES) {
        return run();
    }
    SEGMENTS.set(SEGMENTS.get() + 1);
    let _segment = Segment;
    stacker::grow(SEGMENT_BYTES, run)
}

/// Whether there is stack for one more level of statements in statements.
///
/// # Errors
/// 1436 if what runs on this thread has taken all that it may.
pub(crate) fn check_stack() -> SqlResult<()> {
    match SEGMENTS.get() < SEGMENTS_MAX {
        true => Ok(()),
        false => Err(SqlError::new(ErrorCode::StackOverrun, &[])),
    }
}
