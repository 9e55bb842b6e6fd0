//! Extends the stack for deep calls, so that the thread's stack does not limit them.

use std::pin::Pin;
use std::task::{Context, Poll};

/// Stack that one call takes at most, without optimizations.
const RESERVE_BYTES: usize = 1 << 20;
/// Stack that is taken at once where that is not left.
const SEGMENT_BYTES: usize = 8 << 20;

/// Drives what is inside on another piece of stack, where the thread's own is nearly used up.
pub(crate) struct OnGrowingStack<F: ?Sized>(pub Pin<Box<F>>);

impl<F: Future + ?Sized> Future for OnGrowingStack<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        stacker::maybe_grow(RESERVE_BYTES, SEGMENT_BYTES, || self.0.as_mut().poll(context))
    }
}
