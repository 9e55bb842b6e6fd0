//! ALTER TABLE of partitions.

use crate::context::DdlContext;
use crate::partition::{Definitions, check_count, check_partitions, numbered, resolve_partitioning};
use squall_catalog::{PartitionValues, Partitioning, TableDef, TableId};
use squall_parser::ast::{self, AlterAction, Ident, PartitionNames};
use squall_types::{ErrorCode, SqlError, SqlResult};

/// The effect of an action on the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionChange {
    /// Nothing: the definition says it all.
    Metadata,
    /// All are copied as they are.
    Rebuild,
    /// All are copied.
    Copy,
    /// It is no action of partitions.
    None,
}

/// Applies an action to the table's partitions.
///
/// # Errors
/// 1505 to 1517, and errors of [`resolve_partitioning`]; 1235 for unsupported actions.
pub fn change_partitions(
    table: &mut TableDef,
    action: &AlterAction,
    context: &DdlContext<'_>,
) -> SqlResult<PartitionChange> {
    let change = match action {
        AlterAction::PartitionBy(partitioning) => {
            resolve_partitioning(table, partitioning, context)?;
            PartitionChange::Copy
        }
        AlterAction::RemovePartitioning => {
            partitions_of(table)?;
            table.partitioning = None;
            PartitionChange::Copy
        }
        AlterAction::AddPartition { definitions, count } => add(table, definitions, *count, context)?,
        AlterAction::DropPartition { if_exists, names } => drop_named(partitions_of(table)?, names, *if_exists)?,
        AlterAction::CoalescePartition(count) => coalesce(partitions_of(table)?, *count)?,
        AlterAction::ReorganizePartition { names, definitions } => reorganize(table, names, definitions, context)?,
        AlterAction::TruncatePartition(names) => {
            truncated_storages(table, names)?;
            PartitionChange::Metadata
        }
        AlterAction::RebuildPartition(names) => {
            named(partitions_of(table)?, names, "REBUILD")?;
            PartitionChange::Rebuild
        }
        AlterAction::ExchangePartition { .. } => {
            return Err(SqlError::unsupported("EXCHANGE PARTITION beside other changes"));
        }
        AlterAction::DiscardPartitionTablespace(_) | AlterAction::ImportPartitionTablespace(_) => {
            return Err(SqlError::unsupported("ALTER TABLE … TABLESPACE"));
        }
        _ => return Ok(PartitionChange::None),
    };
    Ok(change)
}

fn partitions_of(table: &mut TableDef) -> SqlResult<&mut Partitioning> {
    match &mut table.partitioning {
        Some(partitioning) => Ok(partitioning),
        None => Err(SqlError::new(ErrorCode::PartitionManagementOnNonPartitioned, &[])),
    }
}

fn add(
    table: &mut TableDef,
    definitions: &[ast::PartitionDefinition],
    count: Option<u64>,
    context: &DdlContext<'_>,
) -> SqlResult<PartitionChange> {
    let mut changed = partitions_of(table)?.clone();
    let has = changed.partitions.len() as u64;
    let subs = changed.storages_per_partition() as u64;
    if changed.scheme.is_by_number() {
        let more = count.unwrap_or(definitions.len() as u64);
        if more == 0 {
            return Err(SqlError::new(ErrorCode::AddNoPartition, &[]));
        }
        check_count(has + more)?;
        if definitions.is_empty() {
            changed.partitions.extend(numbered(has..has + more));
        } else {
            Definitions { table, context, subcount: None }.add(&mut changed, definitions)?;
            changed.is_counted = false;
        }
        table.partitioning = Some(Box::new(changed));
        return Ok(PartitionChange::Rebuild);
    }
    if count.is_some() {
        let kind = if changed.scheme.is_range() { "RANGE" } else { "LIST" };
        return Err(SqlError::new(ErrorCode::PartitionsMustBeDefined, &[&kind]));
    }
    let subcount = changed.subpartition.is_some().then_some(subs);
    if definitions
        .iter()
        .any(|definition| !definition.subpartitions.is_empty() && definition.subpartitions.len() as u64 != subs)
    {
        return Err(SqlError::new(ErrorCode::AddPartitionSubpartitions, &[]));
    }
    Definitions { table, context, subcount }.add(&mut changed, definitions)?;
    table.partitioning = Some(Box::new(changed));
    check_partitions(table, context)?;
    Ok(PartitionChange::Metadata)
}

fn drop_named(partitioning: &mut Partitioning, names: &[Ident], if_exists: bool) -> SqlResult<PartitionChange> {
    if partitioning.scheme.is_by_number() {
        return Err(SqlError::new(ErrorCode::OnlyRangeListPartition, &[&"DROP"]));
    }
    let unknown = names.iter().any(|name| partitioning.position(name).is_none());
    if unknown && !if_exists {
        return Err(SqlError::new(ErrorCode::PartitionsDoNotExist, &[&"DROP"]));
    }
    let stay = |partition: &squall_catalog::PartitionDef| {
        names.iter().all(|name| !squall_catalog::name::eq_ignore_case(name, &partition.name))
    };
    if !partitioning.partitions.iter().any(stay) {
        return Err(SqlError::new(ErrorCode::DropLastPartition, &[]));
    }
    partitioning.partitions.retain(stay);
    Ok(PartitionChange::Metadata)
}

fn coalesce(partitioning: &mut Partitioning, count: u64) -> SqlResult<PartitionChange> {
    if !partitioning.scheme.is_by_number() {
        return Err(SqlError::new(ErrorCode::CoalesceOnlyHash, &[]));
    }
    if count == 0 {
        return Err(SqlError::new(ErrorCode::CoalesceNoPartition, &[]));
    }
    let left = (partitioning.partitions.len() as u64).checked_sub(count).filter(|left| *left > 0);
    let left = left.ok_or_else(|| SqlError::new(ErrorCode::DropLastPartition, &[]))?;
    partitioning.partitions.truncate(left as usize);
    Ok(PartitionChange::Rebuild)
}

fn reorganize(
    table: &mut TableDef,
    names: &[Ident],
    definitions: &[ast::PartitionDefinition],
    context: &DdlContext<'_>,
) -> SqlResult<PartitionChange> {
    let mut changed = partitions_of(table)?.clone();
    if names.is_empty() {
        return match changed.scheme.is_by_number() {
            true => Ok(PartitionChange::Rebuild),
            false => Err(SqlError::new(ErrorCode::ReorganizeWithoutNames, &[])),
        };
    }
    if names.len() > changed.partitions.len() {
        return Err(SqlError::new(ErrorCode::ReorganizeTooMany, &[]));
    }
    let mut places = Vec::with_capacity(names.len());
    for name in names {
        let place = changed.position(name);
        places.push(place.ok_or_else(|| SqlError::new(ErrorCode::PartitionsDoNotExist, &[&"REORGANIZE"]))?);
    }
    places.sort_unstable();
    let (first, last) = (places[0], places[places.len() - 1]);
    if changed.scheme.is_range() && places.windows(2).any(|pair| pair[0] + 1 != pair[1]) {
        return Err(SqlError::new(ErrorCode::ReorganizeOutOfSequence, &[]));
    }
    if changed.scheme.is_by_number() && definitions.len() != names.len() {
        return Err(SqlError::new(ErrorCode::ReorganizeHashSameNumber, &[]));
    }
    let mut fresh = Partitioning { partitions: Vec::new(), ..changed.clone() };
    let subcount = changed.subpartition.is_some().then_some(changed.storages_per_partition() as u64);
    Definitions { table, context, subcount }.add(&mut fresh, definitions)?;
    let ends_table = last + 1 == changed.partitions.len();
    let last_bound = |partitions: &[squall_catalog::PartitionDef]| match partitions.last().map(|last| &last.values) {
        Some(PartitionValues::LessThan(bounds)) => bounds.clone(),
        _ => Vec::new(),
    };
    if changed.scheme.is_range()
        && !ends_table
        && last_bound(&fresh.partitions) != last_bound(&changed.partitions[..=last])
    {
        return Err(SqlError::new(ErrorCode::ReorganizeOutsideRange, &[]));
    }
    let mut at = 0;
    changed.partitions.retain(|_| {
        at += 1;
        !places.contains(&(at - 1))
    });
    changed.partitions.splice(first..first, fresh.partitions);
    changed.is_counted = false;
    table.partitioning = Some(Box::new(changed));
    Ok(PartitionChange::Rebuild)
}

/// Numbers of the partitions that are named.
fn named(partitioning: &Partitioning, names: &PartitionNames, action: &str) -> SqlResult<Vec<usize>> {
    match names {
        PartitionNames::All => Ok((0..partitioning.partitions.len()).collect()),
        PartitionNames::Names(names) => names
            .iter()
            .map(|name| {
                let found = partitioning.position(name);
                found.ok_or_else(|| SqlError::new(ErrorCode::PartitionsDoNotExist, &[&action]))
            })
            .collect(),
    }
}

/// The storages that TRUNCATE PARTITION empties.
///
/// # Errors
/// 1505, 1735.
pub fn truncated_storages(table: &TableDef, names: &PartitionNames) -> SqlResult<Vec<TableId>> {
    let Some(partitioning) = &table.partitioning else {
        return Err(SqlError::new(ErrorCode::PartitionManagementOnNonPartitioned, &[]));
    };
    let storages: Vec<TableId> = partitioning.storages().collect();
    match names {
        PartitionNames::All => Ok(storages),
        PartitionNames::Names(names) => {
            let mut found = Vec::new();
            for name in names {
                let numbers = partitioning
                    .storages_named(name)
                    .ok_or_else(|| SqlError::new(ErrorCode::UnknownPartition, &[&name.as_str(), &table.name]))?;
                found.extend_from_slice(&storages[numbers]);
            }
            Ok(found)
        }
    }
}
