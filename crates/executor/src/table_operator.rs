//! Operators that read tables, for EXPLAIN and MySQL's counters.

use crate::access::RowTable;
use crate::access::column_scan::ColumnScanExec;
use crate::access::scan::RowScanExec;
use crate::access::virtual_table::PartsExec;
use crate::document_values::DocumentValuesExec;
use crate::nearest::NearestRowsExec;
use crate::operators::lookup_join::IndexLookupJoinExec;
use crate::star::StarExec;
use datafusion::physical_plan::ExecutionPlan;

/// An operator that reads a table.
#[derive(Clone, Copy, Debug)]
pub enum TableOperator<'a> {
    /// A row table, along one of its indexes.
    Rows(&'a RowScanExec),
    /// A column table, or a copy of columns.
    Columns(&'a ColumnScanExec),
    /// Documents' values, from the index of documents alone.
    DocumentValues(&'a DocumentValuesExec),
    /// Rows of a row table, by a vector index.
    Nearest(&'a NearestRowsExec),
    /// A table of the server's own.
    Virtual(&'a PartsExec),
    /// The fact table of a star query, joined and aggregated at once.
    Star(&'a StarExec),
    /// A row table that is joined by looking rows up.
    Lookup(&'a IndexLookupJoinExec),
}

impl<'a> TableOperator<'a> {
    /// A plan's topmost operator, if it reads a table.
    pub fn of(plan: &'a dyn ExecutionPlan) -> Option<TableOperator<'a>> {
        plan.downcast_ref()
            .map(TableOperator::Rows)
            .or_else(|| plan.downcast_ref().map(TableOperator::Columns))
            .or_else(|| plan.downcast_ref().map(TableOperator::DocumentValues))
            .or_else(|| plan.downcast_ref().map(TableOperator::Nearest))
            .or_else(|| plan.downcast_ref().map(TableOperator::Virtual))
            .or_else(|| plan.downcast_ref().map(TableOperator::Star))
            .or_else(|| plan.downcast_ref().map(TableOperator::Lookup))
    }

    /// The table that it reads, if that is stored.
    pub fn table(&self) -> Option<&'a RowTable> {
        match self {
            TableOperator::Rows(scan) => Some(&scan.source),
            TableOperator::Columns(scan) => Some(&scan.source),
            TableOperator::DocumentValues(scan) => Some(&scan.source.table),
            TableOperator::Nearest(nearest) => Some(&nearest.scan.source),
            TableOperator::Virtual(_) => None,
            TableOperator::Star(star) => Some(&star.spec.fact),
            TableOperator::Lookup(join) => Some(&join.inner().scan.source),
        }
    }
}
