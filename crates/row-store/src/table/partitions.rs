//! The partitions of a table.

use super::Table;
use crate::partition_function::PartitionFunction;
use crate::table::row::Row;
use squall_catalog::PartitionSet;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;

/// The partitions of a table, or those of them that are meant.
#[derive(Clone)]
pub(crate) struct Partitions {
    /// All of them.
    all: Arc<[Arc<Table>]>,
    /// Those that are meant, in order.
    meant: Arc<[Arc<Table>]>,
    /// Their numbers; `None` for all.
    set: Option<Arc<PartitionSet>>,
    function: Arc<dyn PartitionFunction>,
}

impl Partitions {
    pub fn new(all: Vec<Arc<Table>>, function: Arc<dyn PartitionFunction>) -> Partitions {
        let all: Arc<[Arc<Table>]> = all.into();
        Partitions { meant: all.clone(), all, set: None, function }
    }

    /// All of them.
    pub fn all(&self) -> &[Arc<Table>] {
        &self.all
    }

    /// Those that are meant.
    pub fn meant(&self) -> &[Arc<Table>] {
        &self.meant
    }

    fn restricted(&self, set: &PartitionSet) -> Partitions {
        let mut set = set.clone();
        if let Some(before) = &self.set {
            set.intersect(before);
        }
        let meant = set.iter().filter_map(|number| self.all.get(number).cloned()).collect();
        Partitions { meant, set: Some(Arc::new(set)), ..self.clone() }
    }

    /// The partition of a row with these values, of those that are meant.
    fn place(&self, values: &[Value]) -> SqlResult<&Arc<Table>> {
        let number = self.function.storage_of(values)?;
        if self.set.as_ref().is_some_and(|set| !set.contains(number)) {
            return Err(SqlError::new(ErrorCode::RowDoesNotMatchGivenPartitionSet, &[]));
        }
        self.at(number)
    }

    fn at(&self, number: usize) -> SqlResult<&Arc<Table>> {
        self.all.get(number).ok_or_else(|| SqlError::internal("a partition that the table does not have"))
    }
}

impl Table {
    /// The partitions that are meant; `None` for a table without.
    pub(crate) fn partitions(&self) -> Option<&[Arc<Table>]> {
        self.partitions.as_deref().map(Partitions::meant)
    }

    /// Where its rows are: the partitions that are meant, or the table itself if it has none.
    pub fn storages(self: &Arc<Table>) -> Vec<Arc<Table>> {
        self.partitions().map_or_else(|| vec![self.clone()], <[_]>::to_vec)
    }

    /// Whether it has partitions.
    pub fn is_partitioned(&self) -> bool {
        self.partitions.is_some()
    }

    /// Where rows of a partitioned table lie.
    pub fn partition_function(&self) -> Option<&dyn PartitionFunction> {
        self.partitions.as_ref().map(|partitions| &*partitions.function)
    }

    /// The partitions that are meant, of a partitioned table.
    pub fn partition_set(&self) -> Option<PartitionSet> {
        let partitions = self.partitions.as_ref()?;
        Some(partitions.set.as_ref().map_or_else(|| PartitionSet::all(partitions.all.len()), |set| (**set).clone()))
    }

    /// The same table with some of its partitions only: what is read is read of these, and rows that belong to others are refused (1748). A
    /// table without partitions is all there is.
    pub fn restricted(self: &Arc<Table>, set: &PartitionSet) -> Arc<Table> {
        match &self.partitions {
            Some(partitions) if !set.is_all() => {
                Arc::new(self.with_partitions(Some(Box::new(partitions.restricted(set)))))
            }
            _ => self.clone(),
        }
    }

    /// The storage that a row with these values belongs to.
    pub(crate) fn storage_for(&self, values: &[Value]) -> SqlResult<&Table> {
        match &self.partitions {
            Some(partitions) => Ok(partitions.place(values)?),
            None => Ok(self),
        }
    }

    /// The storage that a row was read from.
    pub(crate) fn storage_of_row(&self, row: &Row) -> SqlResult<&Table> {
        let Some(partitions) = &self.partitions else { return Ok(self) };
        let mut values = vec![Value::Null; self.def.columns.len()];
        let view = row.view(self);
        for ordinal in partitions.function.columns() {
            values[*ordinal] = view.get_value(*ordinal)?;
        }
        Ok(partitions.at(partitions.function.storage_of(&values)?)?)
    }

    /// The storages that may have a record at a key: the one that the key's values belong to if they tell, or all that are meant.
    pub(crate) fn storages_for_key<'a>(&'a self, partitions: &'a Partitions, key: &[u8]) -> &'a [Arc<Table>] {
        let Some(number) = self.storage_of_key(partitions, key) else { return partitions.meant() };
        if partitions.set.as_ref().is_some_and(|set| !set.contains(number)) {
            return &[];
        }
        partitions.all.get(number..=number).unwrap_or_default()
    }

    fn storage_of_key(&self, partitions: &Partitions, key: &[u8]) -> Option<usize> {
        let (index, _) = crate::index_key::split_index_id(key)?;
        let codec = self.index_codec(index).ok().filter(|codec| !codec.parts.is_empty() && !codec.has_terms())?;
        let decoded = self.decode_key(index, key).ok()?;
        let mut values = vec![Value::Null; self.def.columns.len()];
        let mut known = vec![false; self.def.columns.len()];
        for (part, value) in codec.parts.iter().zip(decoded) {
            if let Some(value) = value {
                values[part.ordinal] = value;
                known[part.ordinal] = true;
            }
        }
        if !partitions.function.columns().iter().all(|ordinal| known[*ordinal]) {
            return None;
        }
        partitions.function.storage_of(&values).ok()
    }
}
