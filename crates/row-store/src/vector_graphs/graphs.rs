//! The graphs of a table's vector indexes.

use super::changes::Changes;
use crate::engine::{SeqNo, Slice};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashSet;
use squall_catalog::{IndexId, TableDef};
use squall_vector_index::Graph;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The memory of all graphs of a store, and its bound.
#[derive(Debug, Default)]
pub(crate) struct VectorMemory {
    used: AtomicUsize,
    max: AtomicUsize,
}

impl VectorMemory {
    /// This many bytes are allowed from now on. Graphs that are there stay.
    pub fn resize(&self, bytes_max: usize) {
        self.max.store(bytes_max, Ordering::Relaxed);
    }

    /// The bound, in bytes.
    pub fn max(&self) -> usize {
        self.max.load(Ordering::Relaxed)
    }
}

/// The share of a graph.
#[derive(Debug)]
pub(crate) struct Charge {
    memory: Arc<VectorMemory>,
    bytes: usize,
}

impl Charge {
    pub fn new(memory: &Arc<VectorMemory>) -> Charge {
        Charge { memory: memory.clone(), bytes: 0 }
    }

    /// Charges this number of bytes in place of the former one. Tells whether the limit allows it.
    pub fn set(&mut self, bytes: usize) -> bool {
        let used = &self.memory.used;
        let before = std::mem::replace(&mut self.bytes, bytes);
        let now = used.fetch_add(bytes, Ordering::Relaxed).wrapping_add(bytes).wrapping_sub(before);
        used.fetch_sub(before, Ordering::Relaxed);
        now <= self.memory.max()
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The vectors of a table's rows.
#[derive(Debug)]
pub(crate) struct Vectors {
    /// Those that have the dimensions of the first one; `None` where there is none yet.
    pub graph: Option<Graph>,
    /// Rows whose vectors have others.
    pub others: FxHashSet<Slice>,
    pub charge: Charge,
}

/// One vector index. Locked in the order of the fields.
#[derive(Debug)]
pub(crate) struct VectorGraph {
    pub index: IndexId,
    pub vectors: RwLock<Option<Vectors>>,
    pub changes: Mutex<Changes>,
    /// Whether a thread makes it or folds changes into it.
    pub is_worked_on: AtomicBool,
    /// The memory that was allowed when there was too little of it.
    pub lacked: AtomicUsize,
}

impl VectorGraph {
    /// No reader uses it from now on.
    pub fn give_up(&self) {
        self.changes.lock().give_up();
    }
}

/// The graphs of a table's vector indexes, as far as they have been asked for.
#[derive(Debug, Default)]
pub(crate) struct VectorGraphs {
    all: RwLock<Vec<Arc<VectorGraph>>>,
    /// Saves commits the lock.
    any: AtomicBool,
}

impl VectorGraphs {
    /// That of an index.
    pub(crate) fn get(&self, index: IndexId) -> Arc<VectorGraph> {
        let find = |all: &[Arc<VectorGraph>]| all.iter().find(|graph| graph.index == index).cloned();
        if let Some(graph) = find(&self.all.read()) {
            return graph;
        }
        let mut all = self.all.write();
        if let Some(graph) = find(&all) {
            return graph;
        }
        let graph = Arc::new(VectorGraph {
            index,
            vectors: RwLock::new(None),
            changes: Mutex::default(),
            is_worked_on: AtomicBool::new(false),
            lacked: AtomicUsize::new(usize::MAX),
        });
        all.push(graph.clone());
        self.any.store(true, Ordering::Release);
        graph
    }

    /// Takes note of rows that a commit has changed, applied and not yet seen. The caller holds the commit log.
    pub fn note(&self, keys: &[Slice], seqno: SeqNo) {
        if self.any.load(Ordering::Acquire) {
            self.all.read().iter().for_each(|graph| graph.changes.lock().note(keys, seqno));
        }
    }

    /// The same of rows that are not told. The caller holds the commit log.
    pub fn note_all(&self) {
        if self.any.load(Ordering::Acquire) {
            self.all.read().iter().for_each(|graph| graph.give_up());
        }
    }

    /// Forgets those whose indexes a definition does not have.
    pub fn retain(&self, def: &TableDef) {
        if self.any.load(Ordering::Acquire) {
            let is_there = |id| def.indexes.iter().any(|index| index.id == id && index.is_vector());
            self.all.write().retain(|graph| is_there(graph.index));
        }
    }
}
