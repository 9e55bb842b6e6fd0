//! Distinct values of one column for COUNT(DISTINCT) and DISTINCT: from dictionaries and indexes, without reading codes.

use super::{Group, GroupBy, GroupKey, StarQuery, StarSource};
use crate::domain::Datum;
use crate::error::Result;
use crate::index::Keys;
use crate::predicate::zone_verdicts;

/// The column whose distinct values are all that is asked for.
pub(super) fn distinct_column(query: &StarQuery) -> Option<usize> {
    match query.groups.as_slice() {
        [GroupBy::Column(column)] if query.joins.is_empty() && query.aggregates.is_empty() => Some(*column),
        _ => None,
    }
}

/// The values of a column in a source of which every row counts, NULL among them; `None` if only the rows tell.
///
/// # Errors
/// If a dictionary or an index cannot be read.
pub(super) fn values_of(
    query: &StarQuery,
    source: &StarSource<'_>,
    column: usize,
) -> Result<Option<Vec<Option<Datum>>>> {
    let Some(zones) = source.columns.zone_map(column) else { return Ok(None) };
    let visible = source.deleted.is_none_or(|deleted| deleted.is_empty())
        && zone_verdicts(&query.condition, source.columns).iter().all(|(_, all)| *all);
    if !visible {
        return Ok(None);
    }
    let mut values: Vec<Option<Datum>> = if let Some(dictionary) = source.columns.dictionary(column)? {
        dictionary.iter().map(|value| Some(Datum::Bytes(value.into()))).collect()
    } else {
        match source.columns.index(column)?.as_deref().map(|index| index.keys()) {
            Some(Keys::Values(values)) => values.iter().cloned().map(Some).collect(),
            _ => return Ok(None),
        }
    };
    if zones.null_count() > 0 {
        values.push(None);
    }
    Ok(Some(values))
}

/// The groups of these values, with the groups of the pass over the other sources.
pub(super) fn merged(mut values: Vec<Option<Datum>>, found: Vec<Group>) -> Vec<Group> {
    for group in found {
        if let [GroupKey::Value(value)] = group.keys.as_slice() {
            values.push(value.clone());
        }
    }
    values.sort_by(|left, right| match (left, right) {
        (Some(left), Some(right)) => left.order(right),
        (left, right) => right.is_some().cmp(&left.is_some()),
    });
    values.dedup();
    values.into_iter().map(|value| Group { keys: vec![GroupKey::Value(value)], values: Vec::new() }).collect()
}
