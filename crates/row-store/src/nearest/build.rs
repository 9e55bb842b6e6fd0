//! Makes graphs, and adds changes to them.

use crate::engine::Slice;
use crate::index_key::{Direction, ValueRange};
use crate::read_view::ReadView;
use crate::store::RowStore;
use crate::table::{Row, Table};
use crate::vector_graphs::{Charge, Phase, VectorGraph, Vectors};
use rustc_hash::FxHashSet;
use squall_catalog::IndexId;
use squall_types::vector::dimensions;
use squall_types::{ErrorCode, SqlError, SqlResult};
use squall_vector_index::Graph;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Rows between two checks whether the work has to end.
const ROWS_PER_CHECK: usize = 256;
/// Rows whose vectors have other dimensions than the rest: with more of them the graph is of no use.
pub(super) const OTHERS_MAX: usize = 1024;
/// Changes that are folded while readers wait.
const FOLDED_AT_ONCE: usize = 16;
/// Removed vectors, beyond as many as there are, from which on a graph is made again.
const REMOVED_MIN: usize = 1024;
/// The bytes of an entry of a set of keys beside the key.
const KEY_BYTES: usize = 64;

/// Keeps others from working on a graph.
struct Working<'g>(&'g VectorGraph);

impl<'g> Working<'g> {
    fn begin(graph: &'g VectorGraph) -> Option<Working<'g>> {
        (!graph.is_worked_on.swap(true, Ordering::AcqRel)).then_some(Working(graph))
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.is_worked_on.store(false, Ordering::Release);
    }
}

impl RowStore {
    /// Makes the graph of a vector index, unless that is under way. `check` is called every few hundred rows with the number of those read since
    /// the last time; its error ends the work. What does not fit into memory is left: rows are read then.
    ///
    /// # Errors
    /// Those of `check` and of reading the table.
    pub fn build_vector_index(
        &self,
        table: &Arc<Table>,
        index: IndexId,
        check: &dyn Fn(u64) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let graph = table.data.vectors.get(index);
        let Some(_working) = Working::begin(&graph) else { return Ok(()) };
        self.make_graph(table, &graph, check)
    }

    fn make_graph(
        &self,
        table: &Arc<Table>,
        graph: &VectorGraph,
        check: &dyn Fn(u64) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let snapshot = {
            let _log = self.committer().log.lock();
            graph.changes.lock().begin();
            self.0.db.snapshot()
        };
        let seqno = snapshot.seqno();
        // Commits that were applied before changes were noted are not visible to all readers yet.
        let made = self.committer().advance_or_sync(snapshot.clone()).and_then(|()| {
            let view = ReadView { snapshot, own: None, step: 0 };
            self.vectors_of(table, graph.index, &view, check)
        });
        let mut vectors = graph.vectors.write();
        let mut changes = graph.changes.lock();
        match made {
            Ok(Some(made)) if changes.complete(seqno) => {
                *vectors = Some(made);
                Ok(())
            }
            made => {
                changes.give_up();
                *vectors = None;
                if matches!(made, Ok(None)) {
                    graph.lacked.store(self.0.vector_memory.max(), Ordering::Relaxed);
                }
                made.map(|_| ())
            }
        }
    }

    /// The vectors of all rows of a view; `None` if they do not fit into memory.
    fn vectors_of(
        &self,
        table: &Arc<Table>,
        index: IndexId,
        view: &ReadView,
        check: &dyn Fn(u64) -> SqlResult<()>,
    ) -> SqlResult<Option<Vectors>> {
        let source = Source::of(table, index)?;
        let charge = Charge::new(&self.0.vector_memory);
        let mut vectors = Vectors { graph: None, others: FxHashSet::default(), charge };
        let mut rows = view.scan(table, &table.range(IndexId(0), ValueRange::ALL)?, Direction::Forward);
        let mut read = 0;
        while let Some(row) = rows.next_row()? {
            source.put(&mut vectors, row.key_bytes(), Some(&row))?;
            read += 1;
            if read == ROWS_PER_CHECK {
                read = 0;
                self.check_goes_on(table)?;
                check(ROWS_PER_CHECK as u64)?;
                if !vectors.is_charged() {
                    return Ok(None);
                }
            }
        }
        Ok(vectors.is_charged().then_some(vectors))
    }

    /// Works on a graph in the background.
    pub(super) fn work_on_graph(&self, table: &Arc<Table>, graph: &Arc<VectorGraph>) {
        if graph.is_worked_on.load(Ordering::Acquire) {
            return;
        }
        let (store, table, graph) = (self.clone(), table.clone(), graph.clone());
        let work = move || {
            let Some(_working) = Working::begin(&graph) else { return };
            let phase = graph.changes.lock().phase();
            let done = match phase {
                Phase::Ready => store.fold_changes(&table, &graph),
                _ => store.make_graph(&table, &graph, &|_| Ok(())),
            };
            if let Err(error) = done {
                graph.give_up();
                tracing::debug!("a vector index of table {}: {}", table.def().name, error.message);
            }
        };
        // Without a thread all rows are read, as they are until it is done.
        if let Err(error) = std::thread::Builder::new().name("squall-vectors".into()).spawn(work) {
            tracing::warn!("no thread for a vector index: {error}");
        }
    }

    /// Brings a graph up to what readers see now.
    fn fold_changes(&self, table: &Arc<Table>, graph: &VectorGraph) -> SqlResult<()> {
        let source = Source::of(table, graph.index)?;
        loop {
            self.check_goes_on(table)?;
            let view = self.read_view();
            let keys = graph.changes.lock().next_pending(view.snapshot.seqno(), FOLDED_AT_ONCE);
            if keys.is_empty() {
                break;
            }
            let rows = keys.iter().map(|key| view.get(table, key)).collect::<SqlResult<Vec<_>>>()?;
            let mut vectors = graph.vectors.write();
            let Some(contents) = vectors.as_mut() else { return Ok(()) };
            for (key, row) in keys.iter().zip(&rows) {
                source.put(contents, key, row.as_ref())?;
            }
            if !contents.is_charged() {
                graph.lacked.store(self.0.vector_memory.max(), Ordering::Relaxed);
                graph.give_up();
                *vectors = None;
                return Ok(());
            }
            graph.changes.lock().fold(keys.len());
        }
        let is_worn = graph.vectors.read().as_ref().is_some_and(Vectors::is_worn);
        if is_worn { self.make_graph(table, graph, &|_| Ok(())) } else { Ok(()) }
    }

    /// An error where the work is for nothing.
    fn check_goes_on(&self, table: &Table) -> SqlResult<()> {
        match table.data.is_retired() || self.committer().is_stopped() {
            true => Err(SqlError::new(ErrorCode::ServerShutdown, &[])),
            false => Ok(()),
        }
    }
}

impl Vectors {
    /// Charges its memory. Tells whether the limit allows it.
    fn is_charged(&mut self) -> bool {
        let others: usize = self.others.iter().map(|key| key.len() + KEY_BYTES).sum();
        let bytes = self.graph.as_ref().map_or(0, Graph::bytes) + others;
        self.charge.set(bytes)
    }

    /// Whether the graph has more removed nodes than others.
    fn is_worn(&self) -> bool {
        self.graph.as_ref().is_some_and(|graph| graph.removed_count() > graph.len() + REMOVED_MIN)
    }
}

/// Where vectors come from, and what their graph is like.
struct Source<'t> {
    table: &'t Table,
    ordinal: usize,
    graph: squall_catalog::VectorGraph,
}

impl<'t> Source<'t> {
    fn of(table: &'t Table, index: IndexId) -> SqlResult<Source<'t>> {
        let def = table.def();
        let found = def.indexes.iter().find(|candidate| candidate.id == index).and_then(|index| {
            let ordinal = index.parts.first().and_then(|part| def.ordinal(part.column))?;
            Some(Source { table, ordinal, graph: index.vector_graph()? })
        });
        found.ok_or_else(|| SqlError::internal(format_args!("table {} has no vector index {}", def.name, index.0)))
    }

    /// Uses the current version of a row; without one, the row is removed.
    fn put(&self, vectors: &mut Vectors, key: &[u8], row: Option<&Row>) -> SqlResult<()> {
        let Vectors { graph, others, .. } = vectors;
        others.remove(key);
        let vector = match row {
            Some(row) => row.view(self.table).get_bytes(self.ordinal)?,
            None => None,
        };
        let Some((vector, count)) = vector.and_then(|vector| Some((vector, dimensions(vector)?))) else {
            graph.as_mut().map(|graph| graph.remove(key));
            if row.is_some() {
                others.insert(Slice::from(key));
            }
            return Ok(());
        };
        let graph = graph.get_or_insert_with(|| Graph::new(self.graph.metric, count, self.graph.links));
        if graph.dimensions() == count {
            graph.insert(key, vector);
        } else {
            graph.remove(key);
            others.insert(Slice::from(key));
        }
        Ok(())
    }
}
