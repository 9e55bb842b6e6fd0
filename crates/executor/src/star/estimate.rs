//! What the planner is told of a star query's rows.

use super::spec::{GroupPart, StarSpec};
use crate::access::column_estimate;
use crate::env::StatementEnv;
use crate::operator::estimated;
use arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Statistics};
use squall_column_store::predicate::Condition;
use std::sync::Arc;

/// Values that a part of the group key is taken to have, if nothing tells.
const VALUES_UNKNOWN: f64 = 1000.0;

/// Its groups, and the values of their keys.
pub(super) fn estimate(spec: &StarSpec, schema: &SchemaRef, env: &StatementEnv) -> Statistics {
    let mut whole = Arc::unwrap_or_clone(estimated(schema, 1.0, None));
    if spec.groups.is_empty() || spec.counts_groups || spec.list.is_some() {
        return whole;
    }
    // What cannot be read is an error when the query runs.
    let Ok(Some(snapshot)) = spec.fact.column_snapshot(env) else { return Statistics::new_unknown(schema) };
    let rows: u64 = snapshot.segments.iter().map(|segment| segment.visible_rows()).sum();
    let rows = rows as f64 + snapshot.delta.len() as f64;
    let rows = rows * column_estimate::share(&Condition::from(&spec.condition), &spec.fact, &snapshot);
    let values = |part: &GroupPart| match part {
        GroupPart::Column { ordinal, .. } => {
            let known = column_estimate::columns(&spec.fact, &snapshot, &[*ordinal]);
            known.first().and_then(|known| known.distinct_count.get_value().copied())
        }
        GroupPart::Dimension { .. } | GroupPart::Text { .. } => None,
    };
    let values: Vec<Option<usize>> = spec.groups.iter().map(values).collect();
    let keys: f64 = values.iter().map(|values| values.map_or(VALUES_UNKNOWN, |values| values as f64)).product();
    let groups = keys.min(rows).max(1.0);
    whole = Arc::unwrap_or_clone(estimated(schema, groups, None));
    for (column, values) in whole.column_statistics.iter_mut().zip(values) {
        let distinct_count = values.map_or(Precision::Absent, |values| Precision::Inexact(values.min(groups as usize)));
        *column = ColumnStatistics { distinct_count, ..ColumnStatistics::new_unknown() };
    }
    whole
}
