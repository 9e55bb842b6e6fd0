//! Runs searches of readers.

use super::build::OTHERS_MAX;
use crate::index_key::index_range;
use crate::read_view::ReadView;
use crate::store::RowStore;
use crate::table::Table;
use crate::vector_graphs::Phase;
use rustc_hash::FxHashSet;
use squall_catalog::IndexId;
use squall_types::SqlResult;
use squall_types::vector::dimensions;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The most changed rows that are read by their keys besides those of the graph; if more have changed, all rows are read.
const CHANGED_MAX: usize = 4096;
/// Changes that the graph does not have from which on they are folded into it.
const PENDING_MAX: usize = 64;
/// Rows of which a graph is made while the reader waits.
const ROWS_AT_ONCE: i64 = 512;

/// Keys of rows that may be nearest to a vector.
#[derive(Debug, Default)]
pub struct Nearest {
    /// The keys that the graph finds, the nearest first.
    pub found: Vec<Arc<[u8]>>,
    /// The keys whose rows differ from the reader's version, or that are missing in the graph.
    pub changed: Vec<Box<[u8]>>,
    /// Whether these are all rows of the table.
    pub is_all: bool,
}

impl ReadView {
    /// Keys of up to `width` rows whose vectors are nearest to one, by a vector index; `None` if all rows have to be read. The rows that this
    /// view has at these keys are those to be measured.
    ///
    /// # Errors
    /// Those of reading the transaction's own writes.
    pub(crate) fn nearest(
        &self,
        store: &RowStore,
        table: &Arc<Table>,
        index: IndexId,
        vector: &[u8],
        width: usize,
    ) -> SqlResult<Option<Nearest>> {
        if table.partitions.is_some() {
            return Ok(None);
        }
        // What is nearest depends on all rows.
        self.note(table, || index_range(IndexId(0)));
        table.check_seqno(&[], self.snapshot.seqno())?;
        let graph = table.data.vectors.get(index);
        if graph.changes.lock().phase() == Phase::None {
            if graph.lacked.load(Ordering::Relaxed) == store.0.vector_memory.max() {
                return Ok(None);
            }
            if table.data.row_count.load(Ordering::Relaxed) > ROWS_AT_ONCE {
                store.work_on_graph(table, &graph);
                return Ok(None);
            }
            store.build_vector_index(table, index, &|_| Ok(()))?;
        }
        let Some(own) = self.own_keys(table)? else { return Ok(None) };
        let vectors = graph.vectors.read();
        let Some(contents) = vectors.as_ref() else { return Ok(None) };
        let mut changed: FxHashSet<Box<[u8]>> = own.into_iter().collect();
        let pending = {
            let changes = graph.changes.lock();
            let Some(unknown) = changes.unknown_at(self.snapshot.seqno()) else { return Ok(None) };
            for key in unknown {
                changed.insert(key[..].into());
                if changed.len() > CHANGED_MAX {
                    break;
                }
            }
            changes.pending()
        };
        let is_worth_it = changed.len() <= CHANGED_MAX && contents.others.len() <= OTHERS_MAX;
        let has_dimensions = contents.graph.as_ref().is_none_or(|graph| dimensions(vector) == Some(graph.dimensions()));
        let mut nearest = None;
        if is_worth_it && has_dimensions {
            let mut found = contents.graph.as_ref().map_or_else(Vec::new, |graph| graph.nearest(vector, width));
            let is_all = contents.graph.as_ref().is_none_or(|graph| found.len() == graph.len());
            found.retain(|key| !changed.contains(&**key));
            changed.extend(contents.others.iter().map(|key| key[..].into()));
            nearest = Some(Nearest { found, changed: changed.into_iter().collect(), is_all });
        }
        drop(vectors);
        if pending > PENDING_MAX {
            store.work_on_graph(table, &graph);
        }
        Ok(nearest)
    }

    /// Keys of rows that the view's own transaction has written; `None` if they are too many.
    fn own_keys(&self, table: &Table) -> SqlResult<Option<Vec<Box<[u8]>>>> {
        let Some(own) = self.own.as_ref().filter(|own| own.any.load(Ordering::Acquire)) else {
            return Ok(Some(Vec::new()));
        };
        let range = index_range(IndexId(0));
        fn bound(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
            bound.as_ref().map(Vec::as_slice)
        }
        let bounds = (bound(&range.start), bound(&range.end));
        let written = own.range(table.storage_id(), bounds, false, self.step, CHANGED_MAX + 1)?;
        let written = written.filter(|written| written.len() <= CHANGED_MAX);
        Ok(written.map(|written| written.into_iter().map(|written| written.key[..].into()).collect()))
    }
}
