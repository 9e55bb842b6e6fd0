//! The partitioning function of a table, bound from its definition.
//!
//! Rows are in the same partitions as in MySQL, except for KEY over columns that are not integers: their hash is our own.

mod key_hash;
mod scheme;

pub use self::scheme::{BoundScheme, integer_of};
use crate::bind::OwnExprs;
use squall_catalog::{PartitionSet, Partitioning, TableDef};
use squall_functions::register_all;
use squall_parser::ast::Ident;
use squall_registry::Registry;
use squall_row_store::PartitionFunction;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::ops::Bound;
use std::sync::{Arc, LazyLock};

/// The functions that a partitioning function may use: none of modules or stored ones, so that the same row always has the same place.
static FUNCTIONS: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry::default();
    register_all(&mut registry);
    registry
});

/// The binder of the expressions of a table's partitions.
pub fn own_exprs(def: &Arc<TableDef>) -> OwnExprs<'_> {
    OwnExprs::new(&FUNCTIONS, "", def)
}

/// The functions that a partitioning function may use.
pub fn functions() -> &'static Registry {
    &FUNCTIONS
}

/// Binds the partitioning function of a table, for [`squall_row_store::StoreOptions::bind_partitions`].
///
/// # Errors
/// Those of binding its expressions.
pub fn bind_partitions(def: &Arc<TableDef>) -> SqlResult<Arc<dyn PartitionFunction>> {
    let partitioning = def.partitioning.as_deref().ok_or_else(|| SqlError::internal("a table without partitions"))?;
    Ok(Arc::new(BoundPartitioning::bind(def, partitioning)?))
}

/// PARTITION (…): the storages of the partitions and subpartitions that are named; `None` if none are.
///
/// # Errors
/// 1747 for a table without partitions, 1735 for a name that none has.
pub fn selected_partitions(def: &TableDef, names: &[Ident]) -> SqlResult<Option<PartitionSet>> {
    if names.is_empty() {
        return Ok(None);
    }
    let Some(partitioning) = &def.partitioning else {
        return Err(SqlError::new(ErrorCode::PartitionClauseOnNonPartitioned, &[]));
    };
    let mut set = PartitionSet::none(partitioning.storages().count());
    for name in names {
        let found = partitioning.storages_named(name);
        let found = found.ok_or_else(|| SqlError::new(ErrorCode::UnknownPartition, &[&name.as_str(), &def.name]))?;
        found.for_each(|number| set.insert(number));
    }
    Ok(Some(set))
}

/// Where rows of a table lie.
pub struct BoundPartitioning {
    /// Of the partitions.
    pub scheme: BoundScheme,
    /// Of the subpartitions.
    pub subscheme: Option<BoundScheme>,
    columns: Vec<usize>,
    partitions: usize,
    per_partition: usize,
}

impl BoundPartitioning {
    /// Binds it.
    ///
    /// # Errors
    /// Those of binding its expressions.
    pub fn bind(def: &Arc<TableDef>, partitioning: &Partitioning) -> SqlResult<BoundPartitioning> {
        let scheme =
            BoundScheme::bind(def, &partitioning.scheme, &partitioning.partitions, partitioning.partitions.len())?;
        let per_partition = partitioning.storages_per_partition();
        let subscheme = partitioning.subpartition.as_ref();
        let subscheme = subscheme.map(|scheme| BoundScheme::bind(def, scheme, &[], per_partition)).transpose()?;
        let mut columns = scheme.columns();
        columns.extend(subscheme.iter().flat_map(BoundScheme::columns));
        columns.sort_unstable();
        columns.dedup();
        Ok(BoundPartitioning { scheme, subscheme, columns, partitions: partitioning.partitions.len(), per_partition })
    }
}

impl PartitionFunction for BoundPartitioning {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn storage_of(&self, values: &[Value]) -> SqlResult<usize> {
        let partition = self.scheme.number_of(values)?;
        let sub = self.subscheme.as_ref().map_or(Ok(0), |scheme| scheme.number_of(values))?;
        Ok(partition * self.per_partition + sub)
    }

    fn storages_between(&self, column: usize, low: Bound<&Value>, high: Bound<&Value>) -> PartitionSet {
        let partitions = self.scheme.numbers_between(self.partitions, column, low, high);
        let subs = match &self.subscheme {
            Some(scheme) => scheme.numbers_between(self.per_partition, column, low, high),
            None => PartitionSet::all(1),
        };
        let mut storages = PartitionSet::none(self.partitions * self.per_partition);
        for partition in partitions.iter() {
            subs.iter().for_each(|sub| storages.insert(partition * self.per_partition + sub));
        }
        storages
    }
}
