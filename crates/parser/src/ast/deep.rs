//! Deep trees that can be walked on a small stack.
//!
//! The derived `Clone`, `PartialEq` and `Debug`, and dropping, recurse through the levels of a tree. Each level that may have many
//! levels below it is behind a [`Deep`], which checks the free stack and allocates more if necessary.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Stack that must be left before a walk goes down into a [`Deep`]: the levels up to the next one need no more of it, in a
/// build without optimizations.
const STACK_RESERVE: usize = 2 << 20;
/// How much more is taken if not; only what is touched becomes memory.
const STACK_SEGMENT: usize = 32 << 20;

/// Runs `f` with enough stack for the levels of a tree that are not parted by a [`Deep`].
pub fn with_stack<T>(f: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK_RESERVE, STACK_SEGMENT, f)
}

/// A `Box` whose content is walked with enough stack.
pub struct Deep<T: Default>(Option<Box<T>>);

impl<T: Default> Deep<T> {
    pub fn new(content: T) -> Self {
        Self(Some(Box::new(content)))
    }

    pub fn into_inner(mut self) -> T {
        self.0.take().map_or_else(T::default, |content| *content)
    }
}

impl<T: Default> Deref for Deep<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Some(content) => content,
            None => unreachable!("only into_inner and drop take the content"),
        }
    }
}

impl<T: Default> DerefMut for Deep<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_with(Box::default)
    }
}

impl<T: Default> Drop for Deep<T> {
    fn drop(&mut self) {
        if let Some(content) = self.0.take() {
            with_stack(|| drop(content));
        }
    }
}

impl<T: Default + Clone> Clone for Deep<T> {
    fn clone(&self) -> Self {
        with_stack(|| Self(self.0.clone()))
    }
}

impl<T: Default + PartialEq> PartialEq for Deep<T> {
    fn eq(&self, other: &Self) -> bool {
        with_stack(|| self.0 == other.0)
    }
}

impl<T: Default + fmt::Debug> fmt::Debug for Deep<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_stack(|| (**self).fmt(f))
    }
}
