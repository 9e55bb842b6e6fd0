//! The cheapest tree of joins, by estimates of rows.

use super::graph::{Graph, Input, Key, Set};
use super::lookup::{Lookup, lookups_of, scan_cost};
use crate::access::ColumnScanExec;
use crate::operator::Operator as _;
use crate::star::exec::StarExec;
use crate::stopping;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Trees of more inputs are found greedily: the others would take 3^n steps.
const INPUTS_SEARCHED_MAX: usize = 11;
/// The share of rows that an unknown condition leaves.
const SELECTIVITY: f64 = 0.2;
/// Costs of a row, in rows that are tested for a partner: put into a hash table, and made of two.
const COST_BUILD: f64 = 2.0;
/// See [`COST_BUILD`].
const COST_OUT: f64 = 1.0;
/// See [`COST_BUILD`]: a row of a row table that is read in the order of its key. Not fitted by measurement yet.
const COST_SCANNED: f64 = 8.0;
/// A row of a column table that the keys of the other side leave out.
const COST_SKIPPED: f64 = 0.2;

/// A tree of joins.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    Input(usize),
    /// The right one is the input of a semi join, if one is.
    Join(Box<Tree>, Box<Tree>),
}

impl Tree {
    pub(super) fn set(&self) -> Set {
        match self {
            Tree::Input(input) => 1 << input,
            Tree::Join(left, right) => left.set() | right.set(),
        }
    }
}

/// The cheapest tree; `None` if none can be told, or one would have a product of unrelated rows.
pub(super) fn cheapest(graph: &Graph) -> Option<Tree> {
    let search = Search::new(graph)?;
    match graph.inputs.len() {
        ..=INPUTS_SEARCHED_MAX => search.all_trees(),
        _ => search.greedily(),
    }
}

struct Search<'g> {
    graph: &'g Graph,
    rows: Vec<f64>,
    /// Whether keys of a join let the input read less.
    skips: Vec<bool>,
    /// The indexes by which the rows of an input can be looked up.
    lookups: Vec<Vec<Lookup>>,
    /// Distinct values of each class's keys, by input.
    classes: Vec<Vec<(usize, f64)>>,
    inputs_of_classes: Vec<ClassInputs>,
    /// Pairs of inputs with several equalities, and by how much more pairs of rows are partners than these alone tell.
    composite: Vec<(Set, f64)>,
    /// For inputs of semi joins: the share of rows of the others that stay.
    shares: Vec<f64>,
}

/// The inputs that have a key of a class.
struct ClassInputs {
    /// Those whose columns come out of the joins.
    joined: Set,
    /// Those of semi joins.
    tested: Set,
}

/// A part of the search.
#[derive(Clone, Debug)]
struct Found {
    cost: f64,
    rows: f64,
    /// The two sets that it is joined of; none if it is an input.
    of: Option<(Set, Set)>,
}

impl<'g> Search<'g> {
    fn new(graph: &'g Graph) -> Option<Search<'g>> {
        let rows = graph.inputs.iter().map(|input| Some(*input.statistics.num_rows.get_value()? as f64));
        let rows: Vec<f64> = rows.map(|rows| rows.map(|rows| rows.max(1.0))).collect::<Option<_>>()?;
        let skips = graph.inputs.iter().map(|input| reads_by_keys(&input.plan)).collect();
        let lookups = (0..graph.inputs.len()).map(|input| lookups_of(graph, input)).collect();
        let mut search = Search {
            graph,
            rows,
            skips,
            lookups,
            classes: Vec::new(),
            inputs_of_classes: Vec::new(),
            composite: Vec::new(),
            shares: Vec::new(),
        };
        let distinct = |key: &Key| (key.input, search.distinct(key));
        search.classes = graph.classes.iter().map(|class| class.iter().map(distinct).collect()).collect();
        search.inputs_of_classes = graph.classes.iter().map(|class| search.inputs_of(class)).collect();
        search.shares = (0..graph.inputs.len()).map(|input| search.share(input)).collect();
        search.composite = search.composite_keys();
        Some(search)
    }

    fn inputs_of(&self, class: &[Key]) -> ClassInputs {
        let of = |is_semi: bool| {
            let keys = class.iter().filter(|key| self.is_semi(key.input) == is_semi);
            keys.fold(0, |set: Set, key| set | 1 << key.input)
        };
        ClassInputs { joined: of(false), tested: of(true) }
    }

    fn is_semi(&self, input: usize) -> bool {
        self.graph.inputs[input].semi.is_some()
    }

    /// The share of the others' rows that stay after the semi join with an input; 1 if there is none.
    fn share(&self, input: usize) -> f64 {
        let Some(semi) = &self.graph.inputs[input].semi else { return 1.0 };
        let (mut share, mut keys) = (1.0_f64, 1.0_f64);
        for class in self.classes.iter().filter(|class| class.iter().any(|(of, _)| *of == input)) {
            let own = class.iter().filter(|(of, _)| *of == input).fold(1.0_f64, |_, (_, distinct)| *distinct);
            let others = class.iter().filter(|(of, _)| !self.is_semi(*of)).map(|(_, distinct)| *distinct);
            share *= (own / others.fold(f64::MAX, f64::min).max(1.0)).min(1.0);
            keys *= own;
        }
        if semi.filter.is_some() {
            // Each of the partners may meet it.
            let partners = (self.rows[input] / keys.min(self.rows[input])).max(1.0);
            share *= 1.0 - (1.0 - SELECTIVITY).powf(partners);
        }
        if semi.anti { (1.0 - share).max(SELECTIVITY / 2.0) } else { share }
    }

    /// Keys of several columns have no more values than there are rows.
    fn composite_keys(&self) -> Vec<(Set, f64)> {
        let inputs = 0..self.rows.len();
        let pairs = inputs.clone().flat_map(|left| (left + 1..inputs.end).map(move |right| (left, right)));
        let more =
            pairs.filter(|(left, right)| !self.is_semi(*left) && !self.is_semi(*right)).filter_map(|(left, right)| {
                let of = |class: &[(usize, f64)], input: usize| {
                    class.iter().find(|(of, _)| *of == input).map(|(_, distinct)| *distinct)
                };
                let common: Vec<(f64, f64)> =
                    self.classes.iter().filter_map(|class| of(class, left).zip(of(class, right))).collect();
                let by_columns: f64 = common.iter().map(|(left, right)| left.max(*right)).product();
                let values = |all: f64, rows: f64| all.min(rows);
                let left_values = values(common.iter().map(|(left, _)| left).product(), self.rows[left]);
                let right_values = values(common.iter().map(|(_, right)| right).product(), self.rows[right]);
                let more = by_columns / left_values.max(right_values).max(1.0);
                (common.len() > 1 && more > 1.0).then_some((1 << left | 1 << right, more))
            });
        more.collect()
    }

    /// Distinct values of a key: as many as rows, if nothing is known of it.
    fn distinct(&self, key: &Key) -> f64 {
        let input = &self.graph.inputs[key.input];
        let known = key.expr.downcast_ref::<Column>().and_then(|column| {
            input.statistics.column_statistics.get(column.index() - input.first)?.distinct_count.get_value()
        });
        known.map_or(self.rows[key.input], |distinct| (*distinct as f64).min(self.rows[key.input])).max(1.0)
    }

    /// Rows of the join of a set, however it is made.
    fn rows_of(&self, set: Set) -> f64 {
        let has = |input: usize| set >> input & 1 == 1;
        let inputs = (0..self.rows.len()).filter(|input| has(*input) && self.graph.inputs[*input].semi.is_none());
        let rows: f64 = inputs.map(|input| self.rows[input]).product();
        // Of each class, all but the key of the fewest values.
        let apart: f64 = self
            .classes
            .iter()
            .map(|class| {
                let keys = class.iter().filter(|(input, _)| has(*input) && !self.is_semi(*input));
                let (all, least) =
                    keys.fold((1.0, f64::MAX), |(all, least), (_, distinct)| (all * distinct, distinct.min(least)));
                all / if least == f64::MAX { 1.0 } else { least }
            })
            .product();
        let more: f64 = self.composite.iter().filter(|(pair, _)| pair & !set == 0).map(|(_, more)| more).product();
        let staying: f64 = (0..self.rows.len()).filter(|input| has(*input)).map(|input| self.shares[input]).product();
        let filters = self.graph.filters.iter().filter(|filter| filter.inputs & !set == 0).count();
        (rows / apart * more * staying * SELECTIVITY.powi(filters as i32)).max(1.0)
    }

    /// Whether a set is the input of a semi join alone.
    fn is_input_of_semi(&self, set: Set) -> bool {
        set.is_power_of_two() && self.input(set).semi.is_some()
    }

    /// The join of two parts, if there is one: the right one may be the input of a semi join. `rows` is what it gives.
    fn join(&self, (left_set, left): (Set, &Found), (right_set, right): (Set, &Found), rows: f64) -> Option<Found> {
        if self.is_input_of_semi(left_set) {
            return None;
        }
        // Keys of semi joins' inputs do not come out of these.
        let in_set =
            |of: &ClassInputs, set: Set| set & of.joined != 0 || (set & of.tested != 0 && set.is_power_of_two());
        if !self.inputs_of_classes.iter().any(|of| in_set(of, left_set) && in_set(of, right_set)) {
            return None;
        }
        if self.is_input_of_semi(right_set) {
            // All that its equalities and its condition read has to be there.
            let semi = self.input(right_set).semi.as_ref()?;
            let read = semi.filter.as_ref().map_or(0, |filter| filter.inputs & !right_set);
            let mut of_semi = self.inputs_of_classes.iter().filter(|of| in_set(of, right_set));
            if read & !left_set != 0 || !of_semi.all(|of| in_set(of, left_set)) {
                return None;
            }
        }
        let (build, probe) = match left.rows <= right.rows {
            true => (left, (right_set, right)),
            false => (right, (left_set, left)),
        };
        let (probe_set, probe) = probe;
        let skipped = if probe_set.is_power_of_two() && self.skips[probe_set.trailing_zeros() as usize] {
            (probe.rows - rows).max(0.0)
        } else {
            0.0
        };
        let probed = probe.rows - skipped + skipped * COST_SKIPPED;
        let hashed = left.cost + right.cost + COST_BUILD * build.rows + probed;
        let looked_up = self.cost_of_lookups((left_set, left), right_set);
        let looked_up = looked_up.min(self.cost_of_lookups((right_set, right), left_set));
        let cost = hashed.min(looked_up) + COST_OUT * rows;
        Some(Found { cost, rows, of: Some((left_set, right_set)) })
    }

    /// The cost of looking up the partners of a part's rows in an input, with that of the part.
    fn cost_of_lookups(&self, (outer_set, outer): (Set, &Found), inner: Set) -> f64 {
        if !inner.is_power_of_two() {
            return f64::INFINITY;
        }
        let costs = self.lookups[inner.trailing_zeros() as usize].iter().map(|lookup| lookup.cost(outer_set));
        outer.cost + outer.rows * COST_SCANNED * costs.fold(f64::INFINITY, f64::min)
    }

    fn input(&self, set: Set) -> &Input {
        &self.graph.inputs[set.trailing_zeros() as usize]
    }

    fn inputs(&self) -> FxHashMap<Set, Found> {
        let input = |(at, rows): (usize, &f64)| {
            let cost = COST_SCANNED * scan_cost(&self.graph.inputs[at]);
            (1 << at, Found { cost, rows: *rows, of: None })
        };
        self.rows.iter().enumerate().map(input).collect()
    }

    fn all_trees(&self) -> Option<Tree> {
        let all: Set = (1 << self.rows.len()) - 1;
        let mut found = self.inputs();
        for set in 1..=all {
            if set.is_power_of_two() {
                continue;
            }
            if set.is_multiple_of(64) && stopping::check().is_err() {
                return None;
            }
            let mut best: Option<Found> = None;
            let rows = self.rows_of(set);
            // Every way to divide it; the sides of an inner join are chosen later.
            let mut left = (set - 1) & set;
            while left > 0 {
                let right = set & !left;
                if (left > right || self.is_input_of_semi(right))
                    && let (Some(left_part), Some(right_part)) = (found.get(&left), found.get(&right))
                    && let Some(join) = self.join((left, left_part), (right, right_part), rows)
                    && best.as_ref().is_none_or(|best| join.cost < best.cost)
                {
                    best = Some(join);
                }
                left = (left - 1) & set;
            }
            if let Some(best) = best {
                found.insert(set, best);
            }
        }
        tree(&found, all)
    }

    /// Joins whatever leaves the fewest rows, until all is joined.
    fn greedily(&self) -> Option<Tree> {
        let mut found = self.inputs();
        let mut open: Vec<Set> = (0..self.rows.len()).map(|input| 1 << input).collect();
        while open.len() > 1 {
            stopping::check().ok()?;
            let mut best: Option<(usize, usize, Found)> = None;
            for left in 0..open.len() {
                for right in (0..open.len()).filter(|right| *right != left) {
                    let parts = ((open[left], &found[&open[left]]), (open[right], &found[&open[right]]));
                    let rows = self.rows_of(open[left] | open[right]);
                    if let Some(join) = self.join(parts.0, parts.1, rows)
                        && best.as_ref().is_none_or(|(.., best)| (join.rows, join.cost) < (best.rows, best.cost))
                    {
                        best = Some((left, right, join));
                    }
                }
            }
            let (left, right, join) = best?;
            let set = open[left] | open[right];
            found.insert(set, join);
            open.retain(|part| part & set == 0);
            open.push(set);
        }
        tree(&found, *open.first()?)
    }
}

fn tree(found: &FxHashMap<Set, Found>, set: Set) -> Option<Tree> {
    Some(match found.get(&set)?.of {
        Some((left, right)) => Tree::Join(Box::new(tree(found, left)?), Box::new(tree(found, right)?)),
        None => Tree::Input(set.trailing_zeros() as usize),
    })
}

/// Whether a plan is the scan of a column table, or an aggregation over one: perhaps with a filter over it. Keys of a join let both read less.
fn reads_by_keys(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return reads_by_keys(filter.input());
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return reads_by_keys(projection.input());
    }
    let is_grouped = plan.downcast_ref::<AggregateExec>().is_some_and(|aggregate| !aggregate.group_expr().is_empty());
    is_grouped || StarExec::of(plan.as_ref()).is_some() || ColumnScanExec::of(plan.as_ref()).is_some()
}
