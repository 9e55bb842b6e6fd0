//! The diagnostics area of a statement: its warnings, notes and errors.

use parking_lot::Mutex;
use squall_types::{Level, SqlError, Warning};
use std::sync::atomic::{AtomicU64, Ordering};

/// The diagnostics area that functions and operators add warnings to.
#[derive(Debug)]
pub struct Diagnostics {
    rows: Mutex<Vec<Warning>>,
    count: AtomicU64,
    max_rows: usize,
}

impl Diagnostics {
    /// Keeps `max_error_count` rows; counts all.
    pub fn new(max_error_count: usize) -> Self {
        Self { rows: Mutex::new(Vec::new()), count: AtomicU64::new(0), max_rows: max_error_count }
    }

    /// An area without rows that keeps as many.
    pub(crate) fn empty(&self) -> Self {
        Self::new(self.max_rows)
    }

    /// Adds a row.
    pub fn push(&self, level: Level, error: SqlError) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut rows = self.rows.lock();
        if rows.len() < self.max_rows {
            rows.push(Warning { level, error });
        }
    }

    /// Adds a warning.
    pub fn warn(&self, error: SqlError) {
        self.push(Level::Warning, error);
    }

    /// Adds a warning, unless it is the one that was added last.
    pub fn warn_unless_last(&self, error: SqlError) {
        let is_last = self.rows.lock().last().is_some_and(|last| last.level == Level::Warning && last.error == error);
        if !is_last {
            self.warn(error);
        }
    }

    /// How many were added, kept or not.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Forgets what was added since [`Diagnostics::count`] said `count`: for trying an expression out.
    pub fn truncate(&self, count: u64) {
        let mut rows = self.rows.lock();
        let added = self.count.load(Ordering::Relaxed).saturating_sub(count);
        self.count.store(count, Ordering::Relaxed);
        if count < self.max_rows as u64 {
            let kept = rows.len().saturating_sub(usize::try_from(added).unwrap_or(usize::MAX));
            rows.truncate(kept);
        }
    }

    /// Takes away what was added since [`Diagnostics::count`] said `count`: how much it was, and as much of it as was kept.
    pub fn take_since(&self, count: u64) -> (u64, Vec<Warning>) {
        let mut rows = self.rows.lock();
        let added = self.count.swap(count, Ordering::Relaxed).saturating_sub(count);
        let kept = rows.len().min(usize::try_from(count).unwrap_or(usize::MAX));
        (added, rows.split_off(kept))
    }

    /// Moves the rows of another area to the end of this one.
    pub fn absorb(&self, other: &Diagnostics) {
        if other.count() == 0 {
            return;
        }
        let count = other.count();
        let added = other.take();
        self.count.fetch_add(count, Ordering::Relaxed);
        let mut rows = self.rows.lock();
        let room = self.max_rows.saturating_sub(rows.len());
        rows.extend(added.into_iter().take(room));
    }

    /// Moves everything into an area of its own.
    pub fn split_off(&self) -> Diagnostics {
        let moved = self.empty();
        moved.absorb(self);
        moved
    }

    /// Takes the rows out.
    pub fn take(&self) -> Vec<Warning> {
        self.count.store(0, Ordering::Relaxed);
        std::mem::take(&mut *self.rows.lock())
    }
}
