//! Batches: changes that are applied together, or not at all.

use crate::engine::{Keyspace, Slice};
use crate::pending_files::PendingFiles;

/// A key and what happens to it: a new value, or `None` to remove it.
pub(crate) type KeyChange = (Slice, Option<Slice>);

/// Changes of one keyspace.
pub(crate) struct Part {
    pub keyspace: Keyspace,
    pub changes: Vec<KeyChange>,
}

/// Changes that are applied together. A key should be in it once, and a keyspace have either keys or files.
#[derive(Default)]
pub(crate) struct Batch {
    parts: Vec<Part>,
    files: Vec<PendingFiles>,
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

    /// Adds files with changes of one keyspace.
    pub fn push_files(&mut self, files: PendingFiles) {
        if !files.files().is_empty() {
            self.files.push(files);
        }
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.files.is_empty()
    }

    /// The changes by keys, keyspace by keyspace.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The changes by files.
    pub fn files(&self) -> &[PendingFiles] {
        &self.files
    }

    pub fn files_mut(&mut self) -> &mut [PendingFiles] {
        &mut self.files
    }

    /// The keyspaces that change.
    pub fn keyspaces(&self) -> impl Iterator<Item = &Keyspace> {
        self.parts.iter().map(|part| &part.keyspace).chain(self.files.iter().map(PendingFiles::keyspace))
    }

    /// Hands the changes over.
    pub fn into_parts(self) -> (Vec<Part>, Vec<PendingFiles>) {
        (self.parts, self.files)
    }
}
