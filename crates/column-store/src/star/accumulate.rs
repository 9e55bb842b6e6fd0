//! Groups and their aggregates.

use super::bind::{BoundAggregate, BoundSource, Width};
use super::expression::Wide;
use super::known::KnownZone;
use super::rank::Ranks;
use super::selection::Selection;
use super::{Aggregate, StarQuery};
use crate::coded::{Code, CodedColumn, IntegerCodes, with_codes};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Up to as many possible groups have a place each; more are hashed.
const DENSE_GROUPS_MAX: u64 = 1 << 16;

/// The groups that one thread has met.
pub(super) struct Groups {
    places: Places,
    /// Groups that may be.
    groups_max: usize,
    /// Rows of each group.
    rows: Vec<u64>,
    states: Vec<State>,
    /// An argument's values for one block; kept for their memory.
    narrow: Vec<i64>,
    wide: Vec<i128>,
}

/// From a combined group index to a group's place.
enum Places {
    /// The index itself.
    Dense,
    /// In the order of first appearance.
    Hash { places: FxHashMap<u64, u32>, indexes: Vec<u64> },
}

/// One aggregate of all groups.
struct State {
    function: Function,
    /// Sum, minimum or maximum of each group.
    values: Vec<i128>,
    /// Rows of each group whose value is NULL.
    nulls: Vec<u64>,
    /// Sums of one block; all 0 between blocks.
    block_sums: Vec<i64>,
}

/// So few groups are summed in 64 bits block by block first.
const BLOCK_SUMS_MAX: usize = 1 << 10;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Function {
    CountRows,
    Count,
    Sum,
    Min,
    Max,
}

impl Function {
    /// The value of no values.
    fn start(self) -> i128 {
        match self {
            Function::Min => i128::MAX,
            Function::Max => i128::MIN,
            _ => 0,
        }
    }

    #[inline(always)]
    fn combine(self, total: i128, value: i128) -> i128 {
        match self {
            // Bounds were checked: a sum of all rows fits.
            Function::Sum => total.wrapping_add(value),
            Function::Min => total.min(value),
            Function::Max => total.max(value),
            Function::CountRows | Function::Count => total,
        }
    }
}

impl Groups {
    /// No rows yet; `possible` is the number of possible groups.
    pub(super) fn new(aggregates: &[Aggregate], possible: u64, groups_max: usize) -> Groups {
        let function = |aggregate: &Aggregate| match aggregate {
            Aggregate::CountRows => Function::CountRows,
            Aggregate::Count(_) => Function::Count,
            Aggregate::Sum(_) => Function::Sum,
            Aggregate::Min(_) | Aggregate::MinText(_) => Function::Min,
            Aggregate::Max(_) | Aggregate::MaxText(_) => Function::Max,
        };
        let state = |aggregate| State {
            function: function(aggregate),
            values: Vec::new(),
            nulls: Vec::new(),
            block_sums: Vec::new(),
        };
        let places = if possible <= DENSE_GROUPS_MAX {
            Places::Dense
        } else {
            Places::Hash { places: FxHashMap::default(), indexes: Vec::new() }
        };
        let mut groups = Groups {
            places,
            groups_max,
            rows: Vec::new(),
            states: aggregates.iter().map(state).collect(),
            narrow: Vec::new(),
            wide: Vec::new(),
        };
        if matches!(groups.places, Places::Dense) {
            groups.grow(possible as usize);
        }
        groups
    }

    fn grow(&mut self, groups: usize) {
        self.rows.resize(groups, 0);
        for state in &mut self.states {
            state.values.resize(groups, state.function.start());
            state.nulls.resize(groups, 0);
        }
    }

    fn place(&mut self, index: u64) -> u32 {
        let place = match &mut self.places {
            Places::Dense => return index as u32,
            Places::Hash { places, indexes } => *places.entry(index).or_insert_with(|| {
                indexes.push(index);
                indexes.len() as u32 - 1
            }),
        };
        if place as usize >= self.rows.len() {
            self.grow(place as usize + 1);
        }
        place
    }

    /// Whether groups are found by hashing.
    pub(super) fn are_hashed(&self) -> bool {
        matches!(self.places, Places::Hash { .. })
    }

    /// The places of combined group indexes.
    pub(super) fn find(&mut self, indexes: &[u64], slots: &mut Vec<u32>) {
        slots.clear();
        slots.extend(indexes.iter().map(|index| self.place(*index)));
    }

    /// Adds the selected rows of a block, the places of whose groups are given; none are where there is one group.
    pub(super) fn add(&mut self, source: &BoundSource<'_>, block: &Range<usize>, selection: &Selection, slots: &[u32]) {
        if slots.is_empty() {
            self.rows[0] += selection.len() as u64;
        } else {
            slots.iter().for_each(|slot| self.rows[*slot as usize] += 1);
        }
        for (state, aggregate) in self.states.iter_mut().zip(&source.aggregates) {
            let Some(BoundAggregate { expression, nullable, width }) = aggregate else { continue };
            let nulls = Nulls { columns: nullable, block, selection };
            if state.function == Function::Count {
                nulls.count(slots, &mut state.nulls);
                continue;
            }
            if slots.is_empty()
                && selection.is_whole()
                && let Some(integers) = expression.plain_codes()
            {
                state.add_codes(integers, block);
                continue;
            }
            match width {
                Width::Wide => {
                    expression.evaluate(block.clone(), selection, &mut self.wide);
                    state.add(slots, &self.wide, &nulls);
                }
                Width::Narrow { sum_fits } => {
                    expression.evaluate(block.clone(), selection, &mut self.narrow);
                    if *sum_fits && state.function == Function::Sum && nullable.is_empty() {
                        state.add_narrow_sums(slots, &self.narrow);
                    } else {
                        state.add(slots, &self.narrow, &nulls);
                    }
                }
            }
        }
    }

    /// Adds what zone maps say of a zone to the one group.
    pub(super) fn add_known(&mut self, query: &StarQuery, ranks: &Ranks, zone: &KnownZone) {
        if zone.rows == 0 {
            return;
        }
        self.rows[0] += zone.rows;
        for ((state, aggregate), (extreme, nulls)) in self.states.iter_mut().zip(&query.aggregates).zip(&zone.parts) {
            state.nulls[0] += nulls;
            if let Some(extreme) = extreme.as_ref().and_then(|extreme| ranks.number(aggregate, extreme)) {
                state.values[0] = state.function.combine(state.values[0], extreme);
            }
        }
    }

    /// Whether there are more groups than may be. A block adds at most its rows, so it is enough to ask between zones.
    pub(super) fn are_too_many(&self) -> bool {
        matches!(&self.places, Places::Hash { indexes, .. } if indexes.len() > self.groups_max)
    }

    /// Adds the groups of another thread.
    pub(super) fn merge(&mut self, other: &Groups) {
        for (from, rows) in other.rows.iter().enumerate().filter(|(_, rows)| **rows > 0) {
            let to = self.place(other.index(from)) as usize;
            self.rows[to] += rows;
            for (state, other) in self.states.iter_mut().zip(&other.states) {
                state.values[to] = state.function.combine(state.values[to], other.values[from]);
                state.nulls[to] += other.nulls[from];
            }
        }
    }

    /// The combined group index of a place.
    fn index(&self, place: usize) -> u64 {
        match &self.places {
            Places::Dense => place as u64,
            Places::Hash { indexes, .. } => indexes[place],
        }
    }

    /// The groups that have rows, by combined index, with their aggregates.
    pub(super) fn finish(&self) -> Vec<(u64, Vec<Option<i128>>)> {
        let with_rows = (0..self.rows.len()).filter(|place| self.rows[*place] > 0);
        let mut found: Vec<_> = with_rows.map(|place| (self.index(place), self.values(place))).collect();
        found.sort_unstable_by_key(|(index, _)| *index);
        found
    }

    /// The aggregates of the group at a place.
    fn values(&self, place: usize) -> Vec<Option<i128>> {
        let value = |state: &State| {
            let present = self.rows[place] - state.nulls[place];
            match state.function {
                Function::CountRows => Some(i128::from(self.rows[place])),
                Function::Count => Some(i128::from(present)),
                Function::Sum | Function::Min | Function::Max => (present > 0).then_some(state.values[place]),
            }
        };
        self.states.iter().map(value).collect()
    }

    /// The aggregates of no rows at all.
    pub(super) fn values_of_nothing(&self) -> Vec<Option<i128>> {
        let value = |state: &State| matches!(state.function, Function::CountRows | Function::Count).then_some(0);
        self.states.iter().map(value).collect()
    }
}

impl State {
    fn add<W: Wide>(&mut self, slots: &[u32], values: &[W], nulls: &Nulls<'_>) {
        if slots.is_empty() && nulls.columns.is_empty() && matches!(self.function, Function::Min | Function::Max) {
            // Within the block in the values' own width.
            let extreme = if self.function == Function::Min { values.iter().min() } else { values.iter().max() };
            if let Some(extreme) = extreme {
                self.values[0] = self.function.combine(self.values[0], (*extreme).into());
            }
            return;
        }
        match self.function {
            Function::Sum => self.add_with(slots, values, nulls, |total, value| total.wrapping_add(value)),
            Function::Min => self.add_with(slots, values, nulls, |total: i128, value| total.min(value)),
            Function::Max => self.add_with(slots, values, nulls, |total: i128, value| total.max(value)),
            Function::CountRows | Function::Count => {}
        }
    }

    #[inline(always)]
    fn add_with<W: Wide>(
        &mut self,
        slots: &[u32],
        values: &[W],
        nulls: &Nulls<'_>,
        combine: impl Fn(i128, i128) -> i128,
    ) {
        let slot = |at: usize| slots.get(at).map_or(0, |slot| *slot as usize);
        if !nulls.columns.is_empty() {
            for (at, value) in values.iter().enumerate() {
                let slot = slot(at);
                if nulls.is_null(at) {
                    self.nulls[slot] += 1;
                } else {
                    self.values[slot] = combine(self.values[slot], (*value).into());
                }
            }
        } else if slots.is_empty() {
            self.values[0] = values.iter().fold(self.values[0], |total, value| combine(total, (*value).into()));
        } else {
            for (slot, value) in slots.iter().zip(values) {
                let total = &mut self.values[*slot as usize];
                *total = combine(*total, (*value).into());
            }
        }
    }

    /// Adds all rows of a block to the one group, in the codes' own width: codes order and add up as values do.
    fn add_codes(&mut self, integers: &IntegerCodes, block: &Range<usize>) {
        let value = with_codes!(&integers.codes, codes => {
            let codes = &codes[block.clone()];
            match self.function {
                Function::Min => codes.iter().min().map(|code| integers.value(code.to_u64())),
                Function::Max => codes.iter().max().map(|code| integers.value(code.to_u64())),
                Function::Sum => {
                    let distances = sum_of_codes(codes) << integers.shift;
                    Some(integers.base * codes.len() as i128 + distances)
                }
                Function::CountRows | Function::Count => None,
            }
        });
        if let Some(value) = value {
            self.values[0] = self.function.combine(self.values[0], value);
        }
    }

    /// Adds values whose sum over a block fits 64 bits.
    fn add_narrow_sums(&mut self, slots: &[u32], values: &[i64]) {
        if slots.is_empty() {
            let sum = values.iter().fold(0i64, |sum, value| sum.wrapping_add(*value));
            self.values[0] = self.values[0].wrapping_add(i128::from(sum));
        } else if self.values.len() <= BLOCK_SUMS_MAX {
            self.block_sums.resize(self.values.len(), 0);
            for (slot, value) in slots.iter().zip(values) {
                let sum = &mut self.block_sums[*slot as usize];
                *sum = sum.wrapping_add(*value);
            }
            for (total, sum) in self.values.iter_mut().zip(&mut self.block_sums) {
                *total = total.wrapping_add(i128::from(std::mem::take(sum)));
            }
        } else {
            for (slot, value) in slots.iter().zip(values) {
                let total = &mut self.values[*slot as usize];
                *total = total.wrapping_add(i128::from(*value));
            }
        }
    }
}

/// The sum of a block's codes: 2^13 of up to 32 bits fit 64 bits.
fn sum_of_codes<C: Code>(codes: &[C]) -> i128 {
    if C::MAX <= u64::from(u32::MAX) {
        i128::from(codes.iter().fold(0u64, |sum, code| sum.wrapping_add(code.to_u64())))
    } else {
        codes.iter().map(|code| i128::from(code.to_u64())).sum()
    }
}

/// Which selected rows are NULL in one of an expression's columns.
struct Nulls<'a> {
    columns: &'a [std::sync::Arc<CodedColumn>],
    block: &'a Range<usize>,
    selection: &'a Selection,
}

impl Nulls<'_> {
    fn is_null(&self, at: usize) -> bool {
        let row = self.block.start + usize::from(self.selection.rows()[at]);
        self.columns.iter().any(|column| column.is_null(row))
    }

    fn count(&self, slots: &[u32], nulls: &mut [u64]) {
        if !self.columns.is_empty() {
            for at in 0..self.selection.len() {
                let slot = slots.get(at).map_or(0, |slot| *slot as usize);
                nulls[slot] += u64::from(self.is_null(at));
            }
        }
    }
}
