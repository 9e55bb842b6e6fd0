//! Indexes of row tables by which a join can find its rows, and what that costs. The unit is one row of a table scan.

use super::graph::{Graph, Input, Set, over};
use crate::access::path::is_usable;
use crate::rules::lookup_join::{InnerScan, cost_of_lookup, inner_scan, key_source, over_scan};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::PhysicalExpr;
use std::sync::Arc;

/// An index of an input by which partners of other inputs' rows can be looked up.
pub(super) struct Lookup {
    /// For each of its first columns: the inputs that have a key equal to it.
    keys: Vec<Set>,
    /// The cost of looking up the first column, the first two, and so on.
    costs: Vec<f64>,
}

impl Lookup {
    /// The cost for one row of some inputs; infinite if they do not have the first column's key.
    pub(super) fn cost(&self, outer: Set) -> f64 {
        let parts = self.keys.iter().take_while(|inputs| *inputs & outer != 0).count();
        parts.checked_sub(1).and_then(|last| self.costs.get(last)).copied().unwrap_or(f64::INFINITY)
    }
}

/// The scan of rows that an input is, below filters and projections.
fn row_scan(input: &Input) -> Option<InnerScan> {
    let is_usable = |(scan, ..): &InnerScan| !scan.source.table.traits().reads_by_column && scan.fetch.is_none();
    inner_scan(&input.plan).ok()?.filter(is_usable)
}

/// What reading an input by itself costs, if it is a scan of rows.
pub(super) fn scan_cost(input: &Input) -> f64 {
    row_scan(input).map_or(0.0, |(scan, ..)| scan.path.cost)
}

/// The indexes of an input that have keys of joins as their first columns.
pub(super) fn lookups_of(graph: &Graph, number: usize) -> Vec<Lookup> {
    let input = &graph.inputs[number];
    let Some((scan, _, output)) = row_scan(input) else { return Vec::new() };
    let own: Vec<Arc<dyn PhysicalExpr>> = (0..input.first + input.width)
        .map(|at| Arc::new(Column::new("", at.saturating_sub(input.first))) as _)
        .collect();
    // The keys of the joins over the scan's columns, and the inputs that have their equals.
    let keys: Vec<(Arc<dyn PhysicalExpr>, Set)> = graph
        .classes
        .iter()
        .filter_map(|class| {
            let key = class.iter().find(|key| key.input == number)?;
            let others = class.iter().filter(|key| key.input != number).fold(0, |set: Set, key| set | 1 << key.input);
            Some((over_scan(&over(&key.expr, &own).ok()?, output.as_deref())?, others))
        })
        .collect();
    let source = &scan.source;
    let usable = source.def.indexes.iter().enumerate();
    let usable = usable.filter(|(position, index)| is_usable(index) && source.hints.allows(*position));
    let lookup = |(_, index): (usize, &squall_catalog::IndexDef)| {
        let parts = source.def.index_ordinals(index).into_iter().zip(&index.parts);
        let parts = parts.take_while(|(_, part)| part.prefix.is_none());
        let of_part = |ordinal: usize| {
            let equal = keys.iter().filter(|(key, _)| key_source(key, &scan, ordinal).is_some());
            equal.fold(0, |set: Set, (_, inputs)| set | inputs)
        };
        let keys: Vec<Set> = parts.map(|(ordinal, _)| of_part(ordinal)).take_while(|inputs| *inputs != 0).collect();
        let cost = |parts| cost_of_lookup(source, index, source.rows_per_key(index, parts));
        let costs = (1..=keys.len()).map(cost).collect();
        (!keys.is_empty()).then_some(Lookup { keys, costs })
    };
    usable.filter_map(lookup).collect()
}
