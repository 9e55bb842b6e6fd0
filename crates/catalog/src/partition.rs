//! The partitions of a table: the method, the expression or columns, and the values of each partition.

use crate::ids::{ColumnId, TableId};
use squall_types::Value;

/// PARTITION BY of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Partitioning {
    /// By what.
    pub scheme: PartitionScheme,
    /// SUBPARTITION BY: `Hash` or `Key`.
    pub subpartition: Option<PartitionScheme>,
    /// The partitions in their order.
    pub partitions: Vec<PartitionDef>,
    /// They were given by their number: SHOW CREATE TABLE shows no names.
    pub is_counted: bool,
    /// Subpartitions were given by their number.
    pub is_subpartition_counted: bool,
}

/// The partitioning function.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionScheme {
    /// HASH (expression).
    Hash {
        /// LINEAR.
        linear: bool,
        /// SQL text.
        expression: String,
    },
    /// KEY (columns).
    Key {
        /// LINEAR.
        linear: bool,
        /// ALGORITHM = 1 or 2, if it was given.
        algorithm: Option<u8>,
        /// The columns; those of the primary key, or of a unique one, if none were given.
        columns: Vec<ColumnId>,
        /// Whether they were given.
        is_given: bool,
    },
    /// RANGE (expression): SQL text.
    Range(String),
    /// RANGE COLUMNS.
    RangeColumns(Vec<ColumnId>),
    /// LIST (expression): SQL text.
    List(String),
    /// LIST COLUMNS.
    ListColumns(Vec<ColumnId>),
}

impl PartitionScheme {
    /// Whether partitions have no values, so that any number of them can be made.
    pub fn is_by_number(&self) -> bool {
        matches!(self, PartitionScheme::Hash { .. } | PartitionScheme::Key { .. })
    }

    /// Whether partitions have upper bounds.
    pub fn is_range(&self) -> bool {
        matches!(self, PartitionScheme::Range(_) | PartitionScheme::RangeColumns(_))
    }

    /// Whether partitions have lists of values.
    pub fn is_list(&self) -> bool {
        matches!(self, PartitionScheme::List(_) | PartitionScheme::ListColumns(_))
    }

    /// The columns it names; none for an expression.
    pub fn columns(&self) -> &[ColumnId] {
        match self {
            PartitionScheme::Key { columns, .. }
            | PartitionScheme::RangeColumns(columns)
            | PartitionScheme::ListColumns(columns) => columns,
            PartitionScheme::Hash { .. } | PartitionScheme::Range(_) | PartitionScheme::List(_) => &[],
        }
    }

    /// The SQL text of its expression.
    pub fn expression(&self) -> Option<&str> {
        match self {
            PartitionScheme::Hash { expression, .. }
            | PartitionScheme::Range(expression)
            | PartitionScheme::List(expression) => Some(expression),
            _ => None,
        }
    }

    /// As `information_schema.PARTITIONS` names it.
    pub fn name(&self) -> &'static str {
        match self {
            PartitionScheme::Hash { linear: false, .. } => "HASH",
            PartitionScheme::Hash { linear: true, .. } => "LINEAR HASH",
            PartitionScheme::Key { linear: false, .. } => "KEY",
            PartitionScheme::Key { linear: true, .. } => "LINEAR KEY",
            PartitionScheme::Range(_) => "RANGE",
            PartitionScheme::RangeColumns(_) => "RANGE COLUMNS",
            PartitionScheme::List(_) => "LIST",
            PartitionScheme::ListColumns(_) => "LIST COLUMNS",
        }
    }
}

/// A partition.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionDef {
    /// Its name as given.
    pub name: String,
    /// What its rows have.
    pub values: PartitionValues,
    /// COMMENT.
    pub comment: String,
    /// Where its rows are: one storage, or one for each subpartition.
    pub storages: Vec<PartitionStorage>,
}

/// The storage of a partition or subpartition.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionStorage {
    /// Its id in the store, from the numbers of tables.
    pub id: TableId,
    /// The subpartition's name; empty for a partition without.
    pub name: String,
    /// The subpartition's COMMENT.
    pub comment: String,
}

/// What rows of a partition have.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionValues {
    /// Whatever the number says.
    ByNumber,
    /// Less than these, one for each column.
    LessThan(Vec<PartitionBound>),
    /// One of these, each with a value for each column.
    In(Vec<Vec<Value>>),
}

/// An upper bound.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionBound {
    /// This value, not included.
    Value(Value),
    /// Above all values.
    MaxValue,
}

impl Partitioning {
    /// Ids of all storages, in the order of partitions and their subpartitions.
    pub fn storages(&self) -> impl Iterator<Item = TableId> {
        self.partitions.iter().flat_map(|partition| &partition.storages).map(|storage| storage.id)
    }

    /// Storages of each partition: 1, or the number of subpartitions.
    pub fn storages_per_partition(&self) -> usize {
        self.partitions.first().map_or(1, |partition| partition.storages.len())
    }

    /// The numbers of the storages of a partition, or of the one of a subpartition, by its name in any case.
    pub fn storages_named(&self, name: &str) -> Option<std::ops::Range<usize>> {
        let per = self.storages_per_partition();
        for (at, partition) in self.partitions.iter().enumerate() {
            if crate::name::eq_ignore_case(&partition.name, name) {
                return Some(at * per..(at + 1) * per);
            }
            let is_named = |storage: &PartitionStorage| crate::name::eq_ignore_case(&storage.name, name);
            if self.subpartition.is_some()
                && let Some(sub) = partition.storages.iter().position(is_named)
            {
                return Some(at * per + sub..at * per + sub + 1);
            }
        }
        None
    }

    /// The name of the subpartition that a storage is, or of the partition if it has none.
    pub fn name_of_storage(&self, id: TableId) -> Option<&str> {
        self.partitions.iter().find_map(|partition| {
            let storage = partition.storages.iter().find(|storage| storage.id == id)?;
            Some(if storage.name.is_empty() { &*partition.name } else { &*storage.name })
        })
    }

    /// The number of the partition of that name, in any case.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.partitions.iter().position(|partition| crate::name::eq_ignore_case(&partition.name, name))
    }
}

/// Which storages of a partitioned table are meant, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartitionSet(Vec<bool>);

impl PartitionSet {
    /// None of `count`.
    pub fn none(count: usize) -> PartitionSet {
        PartitionSet(vec![false; count])
    }

    /// All of `count`.
    pub fn all(count: usize) -> PartitionSet {
        PartitionSet(vec![true; count])
    }

    /// Adds one.
    pub fn insert(&mut self, number: usize) {
        if let Some(is_in) = self.0.get_mut(number) {
            *is_in = true;
        }
    }

    /// Whether it is in.
    pub fn contains(&self, number: usize) -> bool {
        self.0.get(number).copied().unwrap_or(false)
    }

    /// Keeps those that are in another one, too.
    pub fn intersect(&mut self, other: &PartitionSet) {
        for (at, is_in) in self.0.iter_mut().enumerate() {
            *is_in &= other.contains(at);
        }
    }

    /// Adds those of another one.
    pub fn unite(&mut self, other: &PartitionSet) {
        for (at, is_in) in self.0.iter_mut().enumerate() {
            *is_in |= other.contains(at);
        }
    }

    /// Their numbers.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().filter(|(_, is_in)| **is_in).map(|(at, _)| at)
    }

    /// Whether all are in.
    pub fn is_all(&self) -> bool {
        self.0.iter().all(|is_in| *is_in)
    }

    /// Of how many.
    pub fn capacity(&self) -> usize {
        self.0.len()
    }
}
