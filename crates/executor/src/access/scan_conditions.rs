//! What a scan of rows is told of the conditions above it: by which it estimates how many rows they leave.

use super::column_filter::column_predicate;
use super::path::AccessPath;
use super::table::RowTable;
use datafusion::common::ColumnStatistics;
use datafusion::common::stats::Precision;
use datafusion::logical_expr::Expr;
use squall_column_store::predicate::{Condition, Predicate};
use squall_column_tables::RowSample;
use squall_types::temporal::TimeZone;
use std::sync::{Arc, OnceLock};

/// Smaller tables are not sampled: whatever is done with them is done soon.
const ROWS_MIN: f64 = 1000.0;
/// The share of rows that an unknown condition leaves: DataFusion's own guess.
const SELECTIVITY: f64 = 0.2;

/// The conditions above a scan.
#[derive(Debug, Default)]
pub(crate) struct ScanConditions {
    /// Those that can be tried on a sample.
    tried: Option<Condition>,
    is_all: bool,
    known: OnceLock<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    sample: Arc<RowSample>,
    /// The share of the table's rows that the conditions leave, and their number.
    share: f64,
    rows: f64,
}

impl ScanConditions {
    /// The conditions of a query on a table.
    pub fn new(source: &RowTable, filters: &[Expr], zone: &TimeZone) -> ScanConditions {
        let tried = filters.iter().filter_map(|filter| column_predicate(&source.def, filter, Some(zone)));
        let tried: Vec<Predicate> = tried.collect();
        let is_all = tried.len() == filters.len();
        let tried = (!tried.is_empty()).then(|| Condition::from(&Predicate::And(tried)));
        ScanConditions { tried, is_all, known: OnceLock::new() }
    }

    /// Rows that the conditions leave of those along a path.
    pub fn rows_left(&self, source: &RowTable, path: &AccessPath) -> f64 {
        match self.known(source, path) {
            Some(known) => path.rows.min(known.rows),
            None => path.rows,
        }
    }

    /// The share of the table's rows that the conditions leave; 1 if that is not known.
    pub fn share_left(&self, source: &RowTable, path: &AccessPath) -> f64 {
        self.known(source, path).map_or(1.0, |known| known.share)
    }

    /// What is known of a table's columns in these rows. DataFusion's filter reckons with the values of a column that it compares, so
    /// nothing is said of those: the rows are those that it leaves.
    pub fn columns(&self, source: &RowTable, path: &AccessPath, projection: &[usize]) -> Vec<ColumnStatistics> {
        let known = self.known(source, path);
        let compared = self.tried.as_ref().map(Condition::columns).unwrap_or_default();
        let of_column = |ordinal: &usize| {
            let mut column = ColumnStatistics::new_unknown();
            if let Some(known) = known
                && !compared.contains(ordinal)
                && let Some(distinct) = known.sample.distinct_values(*ordinal)
            {
                column.distinct_count = Precision::Inexact(distinct.min(known.rows).ceil() as usize);
            }
            column
        };
        projection.iter().map(of_column).collect()
    }

    /// Whether the number of rows has been estimated with all conditions above.
    pub fn is_known(&self, source: &RowTable, path: &AccessPath) -> bool {
        self.known(source, path).is_some()
    }

    fn known(&self, source: &RowTable, path: &AccessPath) -> Option<&Known> {
        if path.unique || path.rows < ROWS_MIN {
            return None;
        }
        self.known.get_or_init(|| self.estimate(source)).as_ref()
    }

    fn estimate(&self, source: &RowTable) -> Option<Known> {
        // What cannot be read is an error when the query runs.
        let whole = source.store.table(&source.def).ok()?;
        let sample = RowSample::of(&*source.store, &whole).ok()?;
        let tried = self.tried.as_ref().map_or(Some(1.0), |condition| sample.share(condition));
        let untried = if self.is_all && tried.is_some() { 1.0 } else { SELECTIVITY };
        let rows = source.store.table_stats(&source.table).row_count as f64;
        let share = tried.unwrap_or(1.0) * untried;
        Some(Known { sample, share, rows: (rows * share).max(1.0) })
    }
}
