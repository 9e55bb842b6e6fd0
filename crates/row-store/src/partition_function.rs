//! The function that gives each row of a partitioned table its partition.

use squall_catalog::{PartitionSet, TableDef};
use squall_types::{SqlResult, Value};
use std::ops::Bound;
use std::sync::Arc;

/// Where rows of a partitioned table lie.
pub trait PartitionFunction: Send + Sync {
    /// Ordinals of the columns that it needs.
    fn columns(&self) -> &[usize];

    /// The number of the storage of a row, in the order of the definition. `values` has a value for each column. The values of
    /// columns that the function does not need are ignored.
    ///
    /// # Errors
    /// 1526 if there is no partition for the row; those of the expression.
    fn storage_of(&self, values: &[Value]) -> SqlResult<usize>;

    /// The storages that rows may be in whose value in a column lies in an interval, for a scan to leave out the others. NULL is less than
    /// all values.
    fn storages_between(&self, column: usize, low: Bound<&Value>, high: Bound<&Value>) -> PartitionSet;
}

/// Makes the function of a partitioned table from its definition.
pub type PartitionBinder = fn(&Arc<TableDef>) -> SqlResult<Arc<dyn PartitionFunction>>;
