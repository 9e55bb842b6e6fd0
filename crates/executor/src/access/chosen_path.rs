//! Access paths whose ranges depend on parameters of the statement.
//!
//! A plan that holds for other values has such a path chosen again before each run. If the choice is another one, or finds many more
//! or fewer rows, the whole plan may be a bad one for these values.

use super::filter::{has_parameter, with_constants};
use super::path::AccessPath;
use datafusion::logical_expr::Expr;
use std::sync::Arc;

/// A path may find so many times more or fewer rows than the one that the plan was made with …
const ROWS_FACTOR: f64 = 4.0;
/// … or this many more or fewer.
const ROWS_SLACK: f64 = 100.0;

/// The choice of a path by conditions with parameters.
#[derive(Clone, Debug)]
pub struct ChosenPath {
    /// The conditions, with their parameters.
    pub filters: Vec<Expr>,
    /// The path that was chosen for the values that the plan was made with.
    pub path: AccessPath,
}

impl ChosenPath {
    /// The choice of a path by some conditions; `None` if none of them has a parameter.
    pub fn new(filters: &[Expr], path: &AccessPath) -> Option<Arc<ChosenPath>> {
        let filters = filters.to_vec();
        filters.iter().any(has_parameter).then(|| Arc::new(ChosenPath { filters, path: path.clone() }))
    }
}

impl AccessPath {
    /// Whether a plan that was made with another path would be made the same way with this one: only the keys differ, and the number
    /// of rows is about the same.
    pub(super) fn is_alike(&self, other: &AccessPath) -> bool {
        let form = |path: &AccessPath| {
            let ranges = path.ranges.as_ref();
            let ranges = ranges.map(|found| (found.parts_used, found.parts_constant, found.points, found.repeats));
            (path.index, path.index_id, path.covering, path.unique, ranges)
        };
        let (fewer, more) = (self.rows.min(other.rows), self.rows.max(other.rows));
        form(self) == form(other) && more <= (fewer * ROWS_FACTOR).max(fewer + ROWS_SLACK)
    }
}

/// Conditions with the values that their parameters have now.
pub(super) fn filters_of_values(filters: &[Expr]) -> Vec<Expr> {
    filters.iter().map(|filter| if has_parameter(filter) { with_constants(filter) } else { filter.clone() }).collect()
}
