//! The rows that a statement reads and changes, by table and index. Sessions add them up for performance_schema.

use parking_lot::Mutex;
use squall_catalog::{IndexId, TableId};
use std::time::Duration;

/// A use of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableOperation {
    /// It is read.
    Fetch,
    /// It is made.
    Insert,
    /// It gets new values.
    Update,
    /// It is removed.
    Delete,
}

/// Rows of a table with which the same was done along the same index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableUse {
    /// The table.
    pub table: TableId,
    /// The index by which the rows were found; `None` for all rows of the table, and for new ones.
    pub index: Option<IndexId>,
    /// The use.
    pub operation: TableOperation,
    /// With how many rows. A look-up that finds nothing is one, too.
    pub rows: u64,
    /// How long it took; `None` if that was not measured by itself.
    pub time: Option<Duration>,
}

/// The number of different uses of one statement; further ones are not counted.
const USES_MAX: usize = 256;

/// The uses of tables by a statement so far. Its threads note what they did by batches, not row by row.
#[derive(Debug, Default)]
pub struct TableUses(Mutex<Vec<TableUse>>);

impl TableUses {
    /// Notes that something was done with rows.
    pub fn note(
        &self,
        table: TableId,
        index: Option<IndexId>,
        operation: TableOperation,
        rows: u64,
        time: Option<Duration>,
    ) {
        let mut uses = self.0.lock();
        let same = |known: &TableUse| {
            known.table == table
                && known.index == index
                && known.operation == operation
                && known.time.is_some() == time.is_some()
        };
        if let Some(at) = uses.iter().position(same) {
            uses[at].rows += rows;
            if let (Some(sum), Some(time)) = (&mut uses[at].time, time) {
                *sum += time;
            }
        } else if uses.len() < USES_MAX {
            uses.push(TableUse { table, index, operation, rows, time });
        }
    }

    /// Takes the recorded uses.
    pub fn take(&self) -> Vec<TableUse> {
        std::mem::take(&mut self.0.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_added_up() {
        let uses = TableUses::default();
        let millis = |millis| Some(Duration::from_millis(millis));
        uses.note(TableId(1), None, TableOperation::Fetch, 3, millis(1));
        uses.note(TableId(1), None, TableOperation::Fetch, 4, millis(2));
        uses.note(TableId(1), Some(IndexId(0)), TableOperation::Fetch, 1, None);
        let taken = uses.take();
        assert_eq!(taken.len(), 2);
        assert_eq!((taken[0].rows, taken[0].time), (7, millis(3)));
        assert!(uses.take().is_empty());
    }
}
