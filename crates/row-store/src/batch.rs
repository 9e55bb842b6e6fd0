//! Changes that are applied together, or not at all.

use crate::engine::{Keyspace, Slice};

/// A key and what becomes of it: a new value, or `None` to remove it.
pub(crate) type KeyChange = (Slice, Option<Slice>);

/// Changes of one keyspace.
pub(crate) struct Part {
    pub keyspace: Keyspace,
    pub changes: Vec<KeyChange>,
}

/// Changes that are applied together. A key should be in it once.
#[derive(Default)]
pub(crate) struct Batch {
    parts: Vec<Part>,
}

impl Batch {
    /// Writes a key.
    pub fn insert(&mut self, keyspace: &Keyspace, key: impl Into<Slice>, value: impl Into<Slice>) {
        self.push(keyspace, key.into(), Some(value.into()));
    }

    /// Removes a key.
    pub fn remove(&mut self, keyspace: &Keyspace, key: impl Into<Slice>) {
        self.push(keyspace, key.into(), None);
    }

    fn push(&mut self, keyspace: &Keyspace, key: Slice, value: Option<Slice>) {
        match self.parts.last_mut().filter(|part| part.keyspace.id() == keyspace.id()) {
            Some(part) => part.changes.push((key, value)),
            None => self.parts.push(Part { keyspace: keyspace.clone(), changes: vec![(key, value)] }),
        }
    }

    /// Adds many changes of one keyspace.
    pub fn push_part(&mut self, part: Part) {
        if !part.changes.is_empty() {
            self.parts.push(part);
        }
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// What changes, keyspace by keyspace.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Hands the changes over.
    pub fn into_parts(self) -> Vec<Part> {
        self.parts
    }
}
