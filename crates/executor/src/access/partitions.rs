//! Partition pruning: finds the partitions that a condition leaves.

use super::predicate::{CompareOp, Predicate};
use squall_catalog::PartitionSet;
use squall_row_store::{PartitionFunction, Table};
use squall_types::Value;
use std::ops::Bound;

/// Rows of equal values that are looked up one by one, at most.
const COMBINATIONS_MAX: usize = 256;

/// Of the named partitions, those that can have rows which satisfy a condition; `None` for a table without partitions.
pub fn pruned_partitions(table: &Table, predicate: &Predicate) -> Option<PartitionSet> {
    let function = table.partition_function()?;
    let mut meant = table.partition_set()?;
    let pruner = Pruner { function, columns: table.def().columns.len(), count: meant.capacity() };
    meant.intersect(&pruner.set(predicate));
    Some(meant)
}

struct Pruner<'a> {
    function: &'a dyn PartitionFunction,
    /// Columns of the table.
    columns: usize,
    /// Storages of the table.
    count: usize,
}

impl Pruner<'_> {
    fn set(&self, predicate: &Predicate) -> PartitionSet {
        let null = Value::Null;
        match predicate {
            Predicate::Never => PartitionSet::none(self.count),
            Predicate::And(parts) => {
                let mut set = self.by_values(parts).unwrap_or_else(|| PartitionSet::all(self.count));
                parts.iter().for_each(|part| set.intersect(&self.set(part)));
                self.function.columns().iter().for_each(|column| set.intersect(&self.by_interval(parts, *column)));
                set
            }
            Predicate::Or(parts) => {
                let mut set = PartitionSet::none(self.count);
                parts.iter().for_each(|part| set.unite(&self.set(part)));
                set
            }
            Predicate::In { column, values } => {
                let mut set = PartitionSet::none(self.count);
                for value in values {
                    set.unite(&self.between(*column, Bound::Included(value), Bound::Included(value)));
                }
                set
            }
            Predicate::IsNull(column) => self.between(*column, Bound::Included(&null), Bound::Included(&null)),
            Predicate::IsNotNull(column) => self.between(*column, Bound::Excluded(&null), Bound::Unbounded),
            Predicate::Compare { column, op, value } => {
                let (low, high) = match op {
                    CompareOp::Equal | CompareOp::NullSafeEqual => (Bound::Included(value), Bound::Included(value)),
                    CompareOp::Less => (Bound::Excluded(&null), Bound::Excluded(value)),
                    CompareOp::LessOrEqual => (Bound::Excluded(&null), Bound::Included(value)),
                    CompareOp::Greater => (Bound::Excluded(value), Bound::Unbounded),
                    CompareOp::GreaterOrEqual => (Bound::Included(value), Bound::Unbounded),
                };
                self.between(*column, low, high)
            }
            Predicate::SortKeys { .. } | Predicate::Terms { .. } | Predicate::Elements { .. } | Predicate::Unknown => {
                PartitionSet::all(self.count)
            }
        }
    }

    fn between(&self, column: usize, low: Bound<&Value>, high: Bound<&Value>) -> PartitionSet {
        match self.function.columns().contains(&column) {
            true => self.function.storages_between(column, low, high),
            false => PartitionSet::all(self.count),
        }
    }

    /// The storages of the rows between a lower and an upper bound of a column, if conditions give both.
    fn by_interval(&self, parts: &[Predicate], column: usize) -> PartitionSet {
        let (mut low, mut high) = (None, None);
        for part in parts {
            let Predicate::Compare { column: of, op, value } = part else { continue };
            match op {
                _ if *of != column => {}
                CompareOp::Greater => low = Some(Bound::Excluded(value)),
                CompareOp::GreaterOrEqual => low = Some(Bound::Included(value)),
                CompareOp::Less => high = Some(Bound::Excluded(value)),
                CompareOp::LessOrEqual => high = Some(Bound::Included(value)),
                CompareOp::Equal | CompareOp::NullSafeEqual => {}
            }
        }
        match (low, high) {
            (Some(low), Some(high)) => self.function.storages_between(column, low, high),
            _ => PartitionSet::all(self.count),
        }
    }

    /// The storages of the rows that conditions give all values of, if they do.
    fn by_values(&self, parts: &[Predicate]) -> Option<PartitionSet> {
        let mut rows = vec![vec![Value::Null; self.columns]];
        for column in self.function.columns() {
            let values = parts.iter().find_map(|part| values_of(part, *column))?;
            if rows.len() * values.len() > COMBINATIONS_MAX {
                return None;
            }
            rows = rows
                .iter()
                .flat_map(|row| {
                    values.iter().map(move |value| {
                        let mut row = row.clone();
                        row[*column] = value.clone();
                        row
                    })
                })
                .collect();
        }
        let mut set = PartitionSet::none(self.count);
        for row in rows {
            // A row without a place is in no partition.
            if let Ok(number) = self.function.storage_of(&row) {
                set.insert(number);
            }
        }
        Some(set)
    }
}

/// The values that a condition leaves a column.
fn values_of(predicate: &Predicate, column: usize) -> Option<Vec<Value>> {
    match predicate {
        Predicate::Compare { column: of, op: CompareOp::Equal | CompareOp::NullSafeEqual, value } if *of == column => {
            Some(vec![value.clone()])
        }
        Predicate::In { column: of, values } if *of == column => Some(values.clone()),
        Predicate::IsNull(of) if *of == column => Some(vec![Value::Null]),
        _ => None,
    }
}
