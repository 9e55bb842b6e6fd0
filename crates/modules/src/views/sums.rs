//! Grouping and ordering of a view's rows.

use super::source::Row;
use squall_types::{Decimal, Value};
use std::collections::HashMap;
use std::hash::Hash;

/// Things by key, in the order in which the keys were met.
pub(crate) struct Groups<K, V> {
    places: HashMap<K, usize>,
    groups: Vec<(K, V)>,
}

impl<K: Clone + Eq + Hash, V: Default> Groups<K, V> {
    /// None yet.
    pub fn new() -> Self {
        Groups { places: HashMap::new(), groups: Vec::new() }
    }

    /// What belongs to a key.
    pub fn of(&mut self, key: K) -> &mut V {
        let place = *self.places.entry(key.clone()).or_insert(self.groups.len());
        if place == self.groups.len() {
            self.groups.push((key, V::default()));
        }
        &mut self.groups[place].1
    }

    /// What belongs to a key, if anything does.
    pub fn find(&self, key: &K) -> Option<&V> {
        Some(&self.groups[*self.places.get(key)?].1)
    }

    /// All of them.
    pub fn into_vec(self) -> Vec<(K, V)> {
        self.groups
    }
}

/// Sums of waits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waits {
    pub count: u64,
    pub sum: u64,
    /// The least above zero.
    pub min: Option<u64>,
    pub max: u64,
}

/// The columns that [`Waits::add`] looks at.
pub(crate) const COUNT: &str = "COUNT_STAR";
pub(crate) const SUM: &str = "SUM_TIMER_WAIT";
pub(crate) const MIN: &str = "MIN_TIMER_WAIT";
pub(crate) const AVG: &str = "AVG_TIMER_WAIT";
pub(crate) const MAX: &str = "MAX_TIMER_WAIT";

impl Waits {
    /// Adds the sums of a row.
    pub fn add(&mut self, row: &Row<'_>) {
        self.count += row.number(COUNT);
        self.sum = self.sum.saturating_add(row.number(SUM));
        let least = row.number(MIN);
        if least > 0 {
            self.min = Some(self.min.map_or(least, |min| min.min(least)));
        }
        self.max = self.max.max(row.number(MAX));
    }

    /// The average.
    pub fn average(&self) -> u64 {
        per(self.sum, self.count)
    }
}

/// A whole number of one for each of others; 0 if there are none.
pub(crate) fn per(sum: u64, count: u64) -> u64 {
    sum.checked_div(count).unwrap_or(0)
}

/// A number of a row.
pub(crate) fn n(number: u64) -> Value {
    Value::UInt(number)
}

/// A quotient with digits behind the point; 0 for one by zero.
pub(crate) fn quotient(dividend: f64, divisor: f64, digits: u8) -> Value {
    let quotient = if divisor == 0.0 { 0.0 } else { dividend / divisor };
    let scaled = quotient * 10f64.powi(i32::from(digits));
    Value::Decimal(Decimal::from_i128(scaled.round() as i128, digits))
}

/// A name that may be absent.
pub(crate) fn or_background(name: &Value) -> String {
    match name {
        Value::String(name) => name.clone(),
        _ => "background".to_string(),
    }
}

/// Rows in the order of a column, the greatest first; others keep their order.
pub(crate) fn descending(mut rows: Vec<Vec<Value>>, column: usize) -> Vec<Vec<Value>> {
    rows.sort_by(|left, right| order(right.get(column), left.get(column)));
    rows
}

/// How two values of a column follow each other.
pub(crate) fn order(left: Option<&Value>, right: Option<&Value>) -> std::cmp::Ordering {
    let as_number = |value: Option<&Value>| match value {
        Some(Value::UInt(number)) => *number as f64,
        Some(Value::Int(number)) => *number as f64,
        Some(Value::Decimal(number)) => number.to_f64(),
        _ => f64::MIN,
    };
    match (left, right) {
        (Some(Value::UInt(left)), Some(Value::UInt(right))) => left.cmp(right),
        (Some(Value::String(left)), Some(Value::String(right))) => left.cmp(right),
        _ => as_number(left).total_cmp(&as_number(right)),
    }
}
