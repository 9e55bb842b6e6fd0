//! How the plans of a query use its constants: which of them are parameters, and which are a part of the plan.
//!
//! That depends on the kinds of all constants. So it is known of a statement by [`ValueKinds`], and its plans are kept by
//! [`ParameterUse::constants`]: the kinds, and what is a part of the plan.

use crate::plans::Attempts;
use crate::plans::slot::SchemaVersions;
use squall_planner::ParameterKind;
use squall_types::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most constants of a query whose plans hold for other values.
pub(crate) const CONSTANTS_MAX: usize = 256;
/// Most sets of kinds that are known of one statement.
const KINDS_MAX: usize = 8;

/// The values of a query's normalized literals, or of its `?`.
#[derive(Clone, Debug)]
pub(crate) struct QueryValues {
    pub values: Vec<Value>,
    /// Whether they are those of a prepared statement: its columns may be called `?`, which columns of texts are not.
    pub are_of_prepared: bool,
}

/// The kinds of a query's constants, a byte for each, behind one that tells texts from prepared statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ValueKinds(Box<[u8]>);

impl QueryValues {
    /// Their kinds.
    pub fn kinds(&self) -> ValueKinds {
        let first = if self.are_of_prepared { b'?' } else { b'\'' };
        let kind = |value: &Value| match ParameterKind::of(value) {
            None => b'-',
            Some(ParameterKind::Null) => b'0',
            Some(ParameterKind::Int) => b'i',
            Some(ParameterKind::NonNegative) => b'n',
            Some(ParameterKind::UInt) => b'u',
            Some(ParameterKind::Double) => b'd',
            Some(ParameterKind::String) => b's',
            Some(ParameterKind::Bytes) => b'b',
        };
        ValueKinds(std::iter::once(first).chain(self.values.iter().map(kind)).collect())
    }
}

/// How plans use the constants of a query, if these are of some kinds.
#[derive(Debug)]
pub(crate) struct ParameterUse {
    kinds: ValueKinds,
    /// What each constant is.
    uses: Box<[ConstantUse]>,
    /// Whether plans with parameters are made. Those that are kept are used in any case.
    pub attempts: Attempts,
}

/// What a constant is in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ConstantUse {
    /// A part of it.
    Fixed,
    /// A parameter.
    Parameter,
    /// A parameter behind a minus, which belongs to its value.
    Negated,
}

impl ParameterUse {
    /// How plans use constants of these kinds.
    pub fn new(kinds: ValueKinds, uses: Box<[ConstantUse]>) -> Self {
        ParameterUse { kinds, uses, attempts: Attempts::default() }
    }

    /// What each constant is.
    pub fn uses(&self) -> &[ConstantUse] {
        &self.uses
    }

    /// The numbers of the parameters, from 0.
    pub fn numbers(&self) -> BTreeSet<u32> {
        let numbered = (0..).zip(&self.uses);
        numbered.filter(|(_, constant)| **constant != ConstantUse::Fixed).map(|(number, _)| number).collect()
    }

    /// Whether there is no parameter: plans are for their literals alone.
    pub fn has_none(&self) -> bool {
        self.uses.iter().all(|constant| *constant == ConstantUse::Fixed)
    }

    /// The values with which a plan runs. `None` if that is not possible: a zero behind a minus is not of the kind that numbers behind a
    /// minus have.
    pub fn parameters(&self, values: &[Value]) -> Option<Vec<Value>> {
        let parameter = |(constant, value): (&ConstantUse, &Value)| match (constant, value) {
            (ConstantUse::Negated, Value::Int(number @ 1..)) => Some(Value::Int(-number)),
            (ConstantUse::Negated, _) => None,
            _ => Some(value.clone()),
        };
        self.uses.iter().zip(values).map(parameter).collect()
    }

    /// By what plans for these values are kept: the kinds and uses of all constants, and the fixed ones as they are. `None` if a fixed one is of a
    /// kind whose values can be equal without being the same: decimals have digits, temporal values fractions.
    pub fn constants(&self, values: &[Value]) -> Option<Vec<u8>> {
        let mut key = self.kinds.0.to_vec();
        key.extend(self.uses.iter().map(|constant| *constant as u8));
        for (constant, value) in self.uses.iter().zip(values) {
            if *constant != ConstantUse::Fixed {
                continue;
            }
            let number;
            let bytes = match value {
                Value::Null => &[][..],
                Value::Int(value) => {
                    number = value.to_le_bytes();
                    &number
                }
                Value::UInt(value) => {
                    number = value.to_le_bytes();
                    &number
                }
                Value::String(text) => text.as_bytes(),
                Value::Bytes(bytes) => bytes,
                _ => return None,
            };
            key.extend_from_slice(&bytes.len().to_le_bytes());
            key.extend_from_slice(bytes);
        }
        Some(key)
    }
}

/// What is known of a statement's constants, of each set of kinds that it has come with.
#[derive(Debug, Default)]
pub(crate) struct KnownUses {
    made: Option<SchemaVersions>,
    /// The one that was asked for last is behind the others.
    uses: Vec<Arc<ParameterUse>>,
}

impl KnownUses {
    /// What is known at these versions.
    pub fn find(&mut self, now: SchemaVersions, kinds: &ValueKinds) -> Option<Arc<ParameterUse>> {
        if self.made != Some(now) {
            return None;
        }
        let at = self.uses.iter().rposition(|known| known.kinds == *kinds)?;
        let found = self.uses.remove(at);
        self.uses.push(found.clone());
        Some(found)
    }

    /// Remembers what was found out at these versions.
    pub fn put(&mut self, made: SchemaVersions, found: Arc<ParameterUse>) {
        if self.made != Some(made) {
            *self = KnownUses { made: Some(made), uses: Vec::new() };
        }
        self.uses.retain(|known| known.kinds != found.kinds);
        if self.uses.len() == KINDS_MAX {
            self.uses.remove(0);
        }
        self.uses.push(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_types::Decimal;

    fn values(values: &[Value]) -> QueryValues {
        QueryValues { values: values.to_vec(), are_of_prepared: false }
    }

    fn used(of: &QueryValues, uses: &[ConstantUse]) -> ParameterUse {
        ParameterUse::new(of.kinds(), uses.into())
    }

    #[test]
    fn plans_are_kept_by_kinds_and_fixed_constants() {
        use ConstantUse::{Fixed, Parameter};
        let made = values(&[Value::Int(5), Value::from("a"), Value::Int(10)]);
        let made_use = used(&made, &[Parameter, Parameter, Fixed]);
        let key = |other: &[Value]| {
            let other = values(other);
            (other.kinds() == made.kinds()).then(|| made_use.constants(&other.values).expect("a key"))
        };
        let made_key = key(&made.values);
        assert_eq!(key(&[Value::Int(7), Value::from("bc"), Value::Int(10)]), made_key);
        assert_ne!(key(&[Value::Int(7), Value::from("bc"), Value::Int(11)]), made_key);
        assert_eq!(key(&[Value::Int(-7), Value::from("b"), Value::Int(10)]), None, "an integer that is not negative");
        assert_eq!(key(&[Value::from("7"), Value::from("b"), Value::Int(10)]), None);
        assert_eq!(key(&[Value::Int(7), Value::from("b")]), None);
        let prepared = QueryValues { are_of_prepared: true, ..made.clone() };
        assert_ne!(prepared.kinds(), made.kinds());
    }

    #[test]
    fn fixed_constants_do_not_run_together() {
        use ConstantUse::Fixed;
        let key = |first: &str, second: &str| {
            let values = values(&[first.into(), second.into()]);
            used(&values, &[Fixed, Fixed]).constants(&values.values)
        };
        assert_eq!(key("a", "bc"), key("a", "bc"));
        assert_ne!(key("a", "bc"), key("ab", "c"));
    }

    #[test]
    fn equal_numbers_that_are_not_the_same_are_no_part_of_a_key() {
        for value in [Value::Double(0.0), Value::Decimal(Decimal::from(1i64))] {
            let values = values(&[value]);
            assert_eq!(used(&values, &[ConstantUse::Fixed]).constants(&values.values), None);
        }
    }

    #[test]
    fn a_minus_belongs_to_the_value() {
        let made = values(&[Value::Int(5)]);
        let negated = used(&made, &[ConstantUse::Negated]);
        assert_eq!(negated.parameters(&[Value::Int(7)]), Some(vec![Value::Int(-7)]));
        assert_eq!(negated.parameters(&[Value::Int(0)]), None);
    }

    #[test]
    fn the_kinds_that_were_not_asked_for_are_forgotten() {
        let now = SchemaVersions { catalog: 1, functions: 0 };
        let mut known = KnownUses::default();
        let of = |count: usize| values(&vec![Value::Int(1); count]);
        for count in 0..=KINDS_MAX {
            known.put(now, Arc::new(used(&of(count), &vec![ConstantUse::Fixed; count])));
            assert!(known.find(now, &of(0).kinds()).is_some());
        }
        assert!(known.find(now, &of(1).kinds()).is_none());
        assert!(known.find(SchemaVersions { catalog: 2, functions: 0 }, &of(0).kinds()).is_none());
    }
}
