//! The data that MATCH … AGAINST reads from a FULLTEXT key: how often words occur, and the texts of some rows.

use parking_lot::RwLock;
use squall_catalog::TableDef;
use squall_types::SqlResult;
use squall_types::json::terms::TermRange;
use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Weak};

/// A FULLTEXT key.
#[derive(Clone)]
pub struct FulltextKey {
    /// Its table.
    pub table: Arc<TableDef>,
    /// Its position among the table's indexes.
    pub position: usize,
}

impl Debug for FulltextKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "FulltextKey {{ table: {:?}, position: {} }}", self.table.id, self.position)
    }
}

/// Reads the entries of FULLTEXT keys, all in one snapshot.
pub trait FulltextReader: Debug + Send + Sync {
    /// Rows of the key's table.
    fn row_count(&self, key: &FulltextKey) -> SqlResult<u64>;

    /// Entries in a range of terms. For one word these are the rows that have it; for several, the pairs of a word and a row.
    fn entry_count(&self, key: &FulltextKey, range: &TermRange) -> SqlResult<u64>;

    /// Hands over the texts of each row that has an entry in one of the ranges, once.
    fn visit_texts(
        &self,
        key: &FulltextKey,
        ranges: &[TermRange],
        visit: &mut dyn FnMut(&[String]) -> SqlResult<()>,
    ) -> SqlResult<()>;
}

/// The readers of a statement, for as long as what they read from is there. A query inside of a change has one of its own.
#[derive(Debug, Default)]
pub struct FulltextSlot(RwLock<Vec<Weak<dyn FulltextReader>>>);

impl Clone for FulltextSlot {
    fn clone(&self) -> Self {
        FulltextSlot(RwLock::new(self.0.read().clone()))
    }
}

impl FulltextSlot {
    /// From now on `reader` reads, until it is gone; its owner holds the snapshot, this does not.
    pub fn set(&self, reader: &Arc<dyn FulltextReader>) {
        let mut readers = self.0.write();
        readers.retain(|reader| reader.strong_count() > 0);
        readers.push(Arc::downgrade(reader));
    }

    /// The last reader that is there; `None` where nothing is read.
    pub fn get(&self) -> Option<Arc<dyn FulltextReader>> {
        let mut readers = self.0.write();
        while let Some(last) = readers.last() {
            if let Some(reader) = last.upgrade() {
                return Some(reader);
            }
            readers.pop();
        }
        None
    }

    /// Whether a reader is the statement's last one.
    pub fn is(&self, reader: &Weak<dyn FulltextReader>) -> bool {
        self.0.read().last().is_some_and(|current| Weak::ptr_eq(current, reader))
    }
}
