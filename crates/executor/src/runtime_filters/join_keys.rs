//! The keys of a join's build side, as a condition on the other side.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Int64Type, UInt64Type};
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use squall_column_store::Datum;
use squall_column_store::predicate::{Condition, Test};
use std::ops::Bound;

/// Up to this many distinct keys are a set; of more only the least and the greatest are used.
const KEYS_MAX: usize = 1 << 16;

/// The keys of one equality of a join, as its build side is read.
#[derive(Debug, Default)]
pub struct JoinKeys {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Partitions of the build side that have begun and ended in this run.
    begun: usize,
    ended: usize,
    partitions: usize,
    keys: Keys,
}

/// Values; no NULL is among them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    /// Distinct ones, until they are too many.
    values: FxHashSet<i128>,
    too_many: bool,
    /// The least and the greatest.
    ends: Option<(i128, i128)>,
}

impl Keys {
    fn add(&mut self, value: i128) {
        self.ends = Some(self.ends.map_or((value, value), |(least, greatest)| (least.min(value), greatest.max(value))));
        if !self.too_many {
            self.values.insert(value);
            if self.values.len() > KEYS_MAX {
                self.too_many = true;
                self.values = FxHashSet::default();
            }
        }
    }

    pub(crate) fn add_array(&mut self, array: &ArrayRef) {
        match array.data_type() {
            DataType::Int64 => array.as_primitive::<Int64Type>().iter().flatten().for_each(|key| self.add(key.into())),
            DataType::UInt64 => {
                array.as_primitive::<UInt64Type>().iter().flatten().for_each(|key| self.add(key.into()));
            }
            _ => {
                if let Some(keys) = array.as_primitive_opt::<Decimal128Type>() {
                    keys.iter().flatten().for_each(|key| self.add(key));
                }
            }
        }
    }

    fn merge(&mut self, other: Keys) {
        if let Some((least, greatest)) = other.ends {
            self.add(least);
            self.add(greatest);
        }
        if other.too_many {
            self.too_many = true;
            self.values = FxHashSet::default();
        }
        other.values.into_iter().for_each(|key| self.add(key));
    }
}

impl JoinKeys {
    /// A partition of the build side begins; the first one of a run forgets the run before.
    pub(crate) fn begin(&self, partitions: usize) {
        let mut state = self.state.lock();
        if state.begun == state.partitions {
            *state = State { partitions, ..State::default() };
        }
        state.begun += 1;
    }

    pub(crate) fn end(&self, keys: Keys) {
        let mut state = self.state.lock();
        state.ended += 1;
        state.keys.merge(keys);
    }

    /// The condition on a column to have a partner; `None` if that is not known.
    pub fn condition(&self, column: usize) -> Option<Condition> {
        let state = self.state.lock();
        if state.partitions == 0 || state.ended < state.partitions {
            return None;
        }
        let Some((least, greatest)) = state.keys.ends else { return Some(Condition::Constant(false)) };
        let bound = |value: i128| Bound::Included(Datum::Integer(value));
        let test = if state.keys.too_many {
            Test::Range { low: bound(least), high: bound(greatest) }
        } else {
            Test::AnyOf(state.keys.values.iter().map(|value| Datum::Integer(*value)).collect())
        };
        Some(Condition::Test { column, test, negated: false })
    }
}
