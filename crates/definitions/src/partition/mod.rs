//! PARTITION BY: makes a [`Partitioning`] of it, with MySQL's rules.

mod scheme;
mod values;

use self::scheme::resolve_scheme;
use self::values::resolve_values;
use crate::context::DdlContext;
use squall_catalog::name::eq_ignore_case;
use squall_catalog::{
    IndexDef, PartitionDef, PartitionScheme, PartitionStorage, PartitionValues, Partitioning, TableDef, TableId,
};
use squall_parser::ast::{self, TableOption};
use squall_planner::partition::{BoundPartitioning, BoundScheme};
use squall_row_store::PartitionFunction;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType};
use std::sync::Arc;

/// Most partitions of a table, subpartitions counted.
const STORAGES_MAX: u64 = 8192;

/// Most characters of a name.
const NAME_CHARACTERS_MAX: usize = 64;

/// The id of a storage that is still to be made.
const NEW_STORAGE: TableId = TableId(0);

/// Gives the table the partitions that a statement says; ids of their storages are [to be given](assign_storages).
///
/// # Errors
/// 1479 to 1526, 1562 to 1567, 1652 to 1659, 1697: what MySQL says of such partitions.
pub fn resolve_partitioning(
    table: &mut TableDef,
    partitioning: &ast::Partitioning,
    context: &DdlContext<'_>,
) -> SqlResult<()> {
    if table.temporary {
        return Err(SqlError::new(ErrorCode::TemporaryPartitions, &[]));
    }
    let scheme = resolve_scheme(table, &partitioning.scheme)?;
    let subpartition = match &partitioning.subpartition {
        Some(_) if scheme.is_by_number() => return Err(SqlError::new(ErrorCode::WrongSubpartitioning, &[])),
        Some(sub) => Some(resolve_scheme(table, &sub.scheme)?),
        None => None,
    };
    let count = given_count(partitioning.count, "partitions")?;
    let subcount = given_count(partitioning.subpartition.as_ref().and_then(|sub| sub.count), "subpartitions")?;
    let is_counted = partitioning.partitions.is_empty();
    let mut resolved =
        Partitioning { scheme, subpartition, partitions: Vec::new(), is_counted, is_subpartition_counted: true };
    if is_counted {
        if !resolved.scheme.is_by_number() {
            let kind = if resolved.scheme.is_range() { "RANGE" } else { "LIST" };
            return Err(SqlError::new(ErrorCode::PartitionsMustBeDefined, &[&kind]));
        }
        check_count(count.unwrap_or(1) * subcount.unwrap_or(1))?;
        resolved.partitions = numbered(0..count.unwrap_or(1));
    } else {
        if count.is_some_and(|count| count != partitioning.partitions.len() as u64) {
            return Err(SqlError::new(ErrorCode::PartitionWrongCount, &[]));
        }
        let definitions = Definitions { table, context, subcount };
        definitions.add(&mut resolved, &partitioning.partitions)?;
    }
    table.partitioning = Some(Box::new(resolved));
    check_partitions(table, context)
}

/// Partitions of HASH and KEY with MySQL's names.
pub fn numbered(numbers: std::ops::Range<u64>) -> Vec<PartitionDef> {
    let partition = |number| PartitionDef {
        name: format!("p{number}"),
        values: PartitionValues::ByNumber,
        comment: String::new(),
        storages: vec![new_storage(String::new())],
    };
    numbers.map(partition).collect()
}

fn new_storage(name: String) -> PartitionStorage {
    PartitionStorage { id: NEW_STORAGE, name, comment: String::new() }
}

fn given_count(count: Option<u64>, what: &str) -> SqlResult<Option<u64>> {
    match count {
        Some(0) => Err(SqlError::new(ErrorCode::NoPartitions, &[&what])),
        Some(count) => check_count(count).map(|()| Some(count)),
        None => Ok(None),
    }
}

/// 1499 for more storages than a table may have.
pub fn check_count(count: u64) -> SqlResult<()> {
    if count > STORAGES_MAX { Err(SqlError::new(ErrorCode::TooManyPartitions, &[])) } else { Ok(()) }
}

/// What definitions of partitions are resolved with.
pub struct Definitions<'a> {
    /// The table.
    pub table: &'a TableDef,
    /// What resolving may look at.
    pub context: &'a DdlContext<'a>,
    /// SUBPARTITIONS n, or how many the table has.
    pub subcount: Option<u64>,
}

impl Definitions<'_> {
    /// Adds partitions behind those that are there.
    pub fn add(&self, partitioning: &mut Partitioning, definitions: &[ast::PartitionDefinition]) -> SqlResult<()> {
        let named = definitions.iter().map(|definition| definition.subpartitions.len() as u64).max().unwrap_or(0);
        if named > 0 && partitioning.subpartition.is_none() {
            return Err(SqlError::new(ErrorCode::WrongSubpartitioning, &[]));
        }
        if named > 0 && definitions.iter().any(|definition| definition.subpartitions.is_empty()) {
            return Err(SqlError::new(ErrorCode::PartitionSubpartitionMix, &[]));
        }
        let per = self.subcount.unwrap_or(named.max(1));
        let wrong = |definition: &ast::PartitionDefinition| {
            !definition.subpartitions.is_empty() && definition.subpartitions.len() as u64 != per
        };
        if definitions.iter().any(wrong) {
            return Err(SqlError::new(ErrorCode::PartitionWrongSubpartitionCount, &[]));
        }
        check_count((partitioning.partitions.len() + definitions.len()) as u64 * per)?;
        partitioning.is_subpartition_counted &= named == 0;
        for (at, definition) in definitions.iter().enumerate() {
            let is_last = at + 1 == definitions.len();
            let values = resolve_values(self.table, &partitioning.scheme, definition, is_last, self.context)?;
            let comment = self.options(&definition.options)?;
            let storages = match &definition.subpartitions[..] {
                [] if partitioning.subpartition.is_some() => {
                    (0..per).map(|sub| new_storage(format!("{}sp{sub}", definition.name.as_str()))).collect()
                }
                [] => vec![new_storage(String::new())],
                subpartitions => subpartitions
                    .iter()
                    .map(|sub| {
                        check_name(&sub.name)?;
                        Ok(PartitionStorage {
                            comment: self.options(&sub.options)?,
                            ..new_storage(sub.name.to_string())
                        })
                    })
                    .collect::<SqlResult<_>>()?,
            };
            check_name(&definition.name)?;
            partitioning.partitions.push(PartitionDef { name: definition.name.to_string(), values, comment, storages });
        }
        Ok(())
    }

    /// The COMMENT among a partition's options. ENGINE has to be the table's; what says where files lie or how large they are has no meaning
    /// here and is refused.
    fn options(&self, options: &[TableOption]) -> SqlResult<String> {
        let mut comment = String::new();
        for option in options {
            match option {
                TableOption::Comment(text) => comment = text.to_string(),
                TableOption::Engine(name) => {
                    let engines = self.context.engines;
                    let engine = engines.named(name).or_else(|| Some(engines.in_place_of(name, false)?.0));
                    if engine.is_none_or(|engine| engine.name() != self.table.engine.as_str()) {
                        return Err(SqlError::new(ErrorCode::MixOfPartitionEngines, &[]));
                    }
                }
                // Groups of nodes of a cluster: all partitions are in the one that there is.
                TableOption::Other { name, value } if name.is("NODEGROUP") && matches!(&**value, "0" | "65535") => {}
                TableOption::MaxRows(_) | TableOption::MinRows(_) => {}
                _ => return Err(SqlError::unsupported("this option of a partition")),
            }
        }
        Ok(comment)
    }
}

fn check_name(name: &str) -> SqlResult<()> {
    if name.is_empty() || name.ends_with(' ') {
        return Err(SqlError::new(ErrorCode::WrongPartitionName, &[]));
    }
    if name.chars().count() > NAME_CHARACTERS_MAX {
        return Err(SqlError::new(ErrorCode::TooLongIdent, &[&name]));
    }
    Ok(())
}

/// The rules for a table with partitions, after any statement.
///
/// # Errors
/// 1495, 1493, 1502, 1503, 1506, 1517, 1214; 1235 for unsupported features.
pub fn check_partitions(table: &TableDef, context: &DdlContext<'_>) -> SqlResult<()> {
    let Some(partitioning) = &table.partitioning else { return Ok(()) };
    check_names(partitioning)?;
    if !table.foreign_keys.is_empty() {
        return Err(SqlError::new(ErrorCode::ForeignKeyOnPartitioned, &[]));
    }
    let seals_rows = context.engine_traits(table)?.seals_rows;
    for index in &table.indexes {
        if index.is_fulltext() {
            return Err(SqlError::new(ErrorCode::TableCannotHandleFulltext, &[]));
        }
        if index.is_vector() {
            return Err(SqlError::unsupported("VECTOR keys of tables with partitions"));
        }
        if index.is_columnar() || index.is_bitmap() && !seals_rows {
            return Err(SqlError::unsupported("a copy of columns of a table with partitions"));
        }
    }
    let bound = BoundPartitioning::bind(&Arc::new(table.clone()), partitioning)?;
    let expressions = std::iter::once(&bound.scheme).chain(&bound.subscheme).filter_map(BoundScheme::expr);
    for expr in expressions {
        if !matches!(expr.sql_type(), SqlType::Int { .. } | SqlType::Year) {
            return Err(SqlError::new(ErrorCode::PartitionFunctionType, &[&"PARTITION"]));
        }
    }
    let needed = bound.columns();
    for index in table.indexes.iter().filter(|index| index.unique || index.primary) {
        if !needed.iter().all(|ordinal| has_whole_column(index, table, *ordinal)) {
            let kind = if index.primary { "PRIMARY KEY" } else { "UNIQUE INDEX" };
            return Err(SqlError::new(ErrorCode::UniqueKeyNeedsPartitionColumns, &[&kind]));
        }
    }
    values::check_order(partitioning, &bound.scheme)
}

fn has_whole_column(index: &IndexDef, table: &TableDef, ordinal: usize) -> bool {
    index.parts.iter().any(|part| part.prefix.is_none() && table.ordinal(part.column) == Some(ordinal))
}

fn check_names(partitioning: &Partitioning) -> SqlResult<()> {
    let mut names: Vec<&str> = Vec::new();
    for partition in &partitioning.partitions {
        names.push(&partition.name);
        names.extend(partition.storages.iter().map(|storage| storage.name.as_str()).filter(|name| !name.is_empty()));
    }
    names.sort_by_key(|name| name.to_lowercase());
    match names.windows(2).find(|pair| eq_ignore_case(pair[0], pair[1])) {
        Some(pair) => Err(SqlError::new(ErrorCode::DuplicatePartitionName, &[&pair[1]])),
        None => Ok(()),
    }
}

/// Whether rows may belong to other partitions after an ALTER: a column that the partitioning function needs has another type.
///
/// # Errors
/// 1235 for a type that the bounds of COLUMNS do not support.
pub fn moves_rows(old: &TableDef, new: &TableDef) -> SqlResult<bool> {
    let (Some(before), Some(after)) = (&old.partitioning, &new.partitioning) else { return Ok(false) };
    let mut moves = false;
    for column in &new.columns {
        let Some(at) = old.ordinal(column.id) else { continue };
        let was = &old.columns[at].sql_type;
        if *was == column.sql_type || refuse_partition_column(old, &old.columns[at].name).is_ok() {
            continue;
        }
        moves = true;
        let has_values = !after.scheme.is_by_number() && after.scheme.columns().contains(&column.id);
        if has_values
            && before.scheme == after.scheme
            && std::mem::discriminant(was) != std::mem::discriminant(&column.sql_type)
        {
            return Err(SqlError::unsupported("another type for a column of RANGE COLUMNS or LIST COLUMNS"));
        }
    }
    Ok(moves)
}

/// 3855 for a column that the partitioning function needs.
pub fn refuse_partition_column(table: &TableDef, name: &str) -> SqlResult<()> {
    let Some(partitioning) = &table.partitioning else { return Ok(()) };
    let of_scheme = |scheme: &PartitionScheme| {
        let mut columns = Vec::new();
        if let Some(text) = scheme.expression() {
            crate::constant::columns_of_text(text, &mut columns);
        }
        let by_id = scheme.columns().iter().filter_map(|id| table.ordinal(*id));
        columns.extend(by_id.map(|ordinal| table.columns[ordinal].name.clone()));
        columns.iter().any(|column| eq_ignore_case(column, name))
    };
    match std::iter::once(&partitioning.scheme).chain(&partitioning.subpartition).any(of_scheme) {
        true => Err(SqlError::new(ErrorCode::DependentByPartitionFunction, &[&name])),
        false => Ok(()),
    }
}

/// Gives storages that are to be made their ids.
pub fn assign_storages(table: &mut TableDef, mut next_id: impl FnMut() -> TableId) {
    for partition in table.partitioning.iter_mut().flat_map(|partitioning| &mut partitioning.partitions) {
        for storage in partition.storages.iter_mut().filter(|storage| storage.id == NEW_STORAGE) {
            storage.id = next_id();
        }
    }
}

/// Has all storages of a table made again: it is copied.
pub fn forget_storages(table: &mut TableDef) {
    for partition in table.partitioning.iter_mut().flat_map(|partitioning| &mut partitioning.partitions) {
        partition.storages.iter_mut().for_each(|storage| storage.id = NEW_STORAGE);
    }
}

/// The definitions after an exchange: the partitioned table has the other's storage, which has the partition's.
pub fn exchanged(whole: &TableDef, number: usize, table: &TableDef) -> SqlResult<(TableDef, TableDef)> {
    let (mut whole, mut table) = (whole.clone(), table.clone());
    let storages = whole.partitioning.iter_mut().flat_map(|partitioning| &mut partitioning.partitions);
    let storage = storages.flat_map(|partition| &mut partition.storages).nth(number);
    let storage = storage.ok_or_else(|| SqlError::internal("a partition that the table does not have"))?;
    std::mem::swap::<TableId>(&mut storage.id, &mut table.id);
    whole.version += 1;
    table.version = whole.version.max(table.version + 1);
    Ok((whole, table))
}
