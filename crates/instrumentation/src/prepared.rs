//! Prepared statements of a session, as performance_schema shows them.

use crate::totals::{Measured, Totals};
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// One prepared statement, for as long as it is prepared.
#[derive(Debug)]
pub struct PreparedUse {
    /// Its number in its session.
    pub id: u64,
    /// PREPARE's name; `None` for one of the protocol.
    pub name: Option<Box<str>>,
    /// Its text.
    pub text: Bytes,
    /// The statement that prepared it, as its session counts them; 0 for the protocol's command.
    pub owner_event: u64,
    /// How long that took.
    pub prepare_micros: u64,
    /// How often its plan was made again because something else has changed.
    pub reprepared: AtomicU64,
    executed: Mutex<Totals>,
}

impl PreparedUse {
    /// A statement that has just been prepared.
    pub fn new(id: u64, name: Option<&str>, text: &Bytes, owner_event: u64, prepare_micros: u64) -> PreparedUse {
        PreparedUse {
            id,
            name: name.map(Into::into),
            text: text.clone(),
            owner_event,
            prepare_micros,
            reprepared: AtomicU64::new(0),
            executed: Mutex::default(),
        }
    }

    /// Counts an execution.
    pub fn add(&self, measured: &Measured) {
        self.executed.lock().add(measured);
    }

    /// Its plan was made again.
    pub fn reprepare(&self) {
        self.reprepared.fetch_add(1, Ordering::Relaxed);
    }

    /// Sums of its executions.
    pub fn totals(&self) -> Totals {
        self.executed.lock().clone()
    }

    fn clear(&self) {
        *self.executed.lock() = Totals::default();
        self.reprepared.store(0, Ordering::Relaxed);
    }
}

/// Those of one session.
#[derive(Debug, Default)]
pub struct PreparedUses(Mutex<Vec<Weak<PreparedUse>>>);

impl PreparedUses {
    /// There is one more, for as long as the session holds on to it.
    pub fn add(&self, prepared: &Arc<PreparedUse>) {
        let mut list = self.0.lock();
        if list.len() == list.capacity() {
            list.retain(|known| known.strong_count() > 0);
        }
        list.push(Arc::downgrade(prepared));
    }

    /// All of them.
    pub fn list(&self) -> Vec<Arc<PreparedUse>> {
        self.0.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// Forgets their executions.
    pub fn clear(&self) {
        self.list().iter().for_each(|prepared| prepared.clear());
    }
}
