//! The keys of a join's build side, as a condition on the other side.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Int64Type, UInt64Type};
use datafusion::execution::memory_pool::MemoryReservation;
use parking_lot::Mutex;
use squall_column_store::Datum;
use squall_column_store::predicate::{Condition, KeySet, Test};
use squall_types::{SqlType, Value};
use std::ops::Bound;
use std::sync::Arc;

/// Up to this many distinct keys are a set, of eight bytes for each while they are collected; of more only the least and the greatest are used.
const KEYS_MAX: usize = 1 << 21;
/// So many keys are looked through for equal ones at a time.
const KEYS_AT_ONCE: usize = 1 << 18;
/// So few are tested one by one, so that bitmap indexes can answer.
const KEYS_ONE_BY_ONE: usize = 64;

/// Whether a column's codes are the whole numbers that joins compare.
pub(crate) fn is_key_type(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Int { .. } | SqlType::Date | SqlType::DateTime { .. } | SqlType::Year => true,
        SqlType::Decimal { precision, .. } => *precision <= 18,
        _ => false,
    }
}

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
    /// What comes of them, once it has been asked for.
    test: Option<Test>,
    paid: Vec<MemoryReservation>,
}

/// Values; no NULL is among them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    /// The first `distinct` are in order and differ; the others are as they came. None once they are too many.
    values: Vec<i64>,
    distinct: usize,
    too_many: bool,
    /// The least and the greatest.
    ends: Option<(i128, i128)>,
}

impl Keys {
    fn add(&mut self, value: i128) {
        self.ends = Some(self.ends.map_or((value, value), |(least, greatest)| (least.min(value), greatest.max(value))));
        if self.too_many {
            return;
        }
        match i64::try_from(value) {
            Ok(value) => self.values.push(value),
            Err(_) => self.give_up(),
        }
        // As many again as differ before it is worth looking.
        if self.values.len() >= KEYS_AT_ONCE.max(2 * self.distinct) {
            self.compact();
        }
    }

    /// Leaves each value once.
    fn compact(&mut self) {
        self.values.sort_unstable();
        self.values.dedup();
        self.distinct = self.values.len();
        if self.distinct > KEYS_MAX {
            self.give_up();
        }
    }

    /// Keeps the ends alone.
    pub(crate) fn give_up(&mut self) {
        *self = Keys { too_many: true, ends: self.ends, ..Keys::default() };
    }

    /// Bytes that they take.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.values.capacity() * size_of::<i64>()
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
            self.give_up();
        }
        if !self.too_many {
            self.values.extend(other.values);
            self.compact();
        }
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

    /// A partition of the build side has ended; its keys are paid for as long as they may be asked for.
    pub(crate) fn end(&self, keys: Keys, paid: MemoryReservation) {
        let mut state = self.state.lock();
        state.ended += 1;
        state.paid.push(paid);
        state.keys.merge(keys);
    }

    /// All keys, each once and in order, if they are known and no more than `most`.
    pub fn few(&self, most: usize) -> Option<Vec<Value>> {
        let mut state = self.state.lock();
        let is_known = state.partitions > 0 && state.ended == state.partitions && !state.keys.too_many;
        if !is_known {
            return None;
        }
        state.keys.compact();
        let values = &state.keys.values;
        (values.len() <= most).then(|| values.iter().map(|value| Value::Int(*value)).collect())
    }

    /// The condition on a column to have a partner; `None` if that is not known.
    pub fn condition(&self, column: usize) -> Option<Condition> {
        let mut state = self.state.lock();
        let state = &mut *state;
        if state.partitions == 0 || state.ended < state.partitions {
            return None;
        }
        let Some((least, greatest)) = state.keys.ends else { return Some(Condition::Constant(false)) };
        let bound = |value: i128| Bound::Included(Datum::Integer(value));
        if state.keys.too_many {
            let test = Test::Range { low: bound(least), high: bound(greatest) };
            return Some(Condition::Test { column, test, negated: false });
        }
        // Made once for all partitions of the other side.
        let test = state.test.get_or_insert_with(|| {
            let values = std::mem::take(&mut state.keys.values);
            match KeySet::new(values) {
                Some(keys) if keys.count() > KEYS_ONE_BY_ONE => Test::Keys(Arc::new(keys)),
                Some(keys) => Test::AnyOf(keys.iter().map(Datum::Integer).collect()),
                None => Test::AnyOf(Vec::new()),
            }
        });
        Some(Condition::Test { column, test: test.clone(), negated: false })
    }
}
