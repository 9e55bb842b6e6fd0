//! Answers from zone maps and dictionaries: COUNT, MIN and MAX of a zone without reading a column.

use super::expression::Expression;
use super::text_order::TextOrder;
use super::{Aggregate, StarQuery, StarSource};
use crate::domain::Datum;
use crate::error::Result;
use crate::predicate::zone_verdicts;
use crate::zone_map::{Bounds, ZONE_ROWS, zone_rows};
use std::cmp::Ordering;

/// The part of a zone in an answer of one group.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KnownZone {
    /// Rows that count.
    pub(super) rows: u64,
    /// For each aggregate: the least or greatest value, if it is MIN or MAX, and how many of the rows are NULL.
    pub(super) parts: Vec<(Option<Datum>, u64)>,
}

/// What is known of a source without its columns.
#[derive(Debug, Default)]
pub(super) struct KnownSource {
    /// The known contribution of each zone to the result.
    pub(super) zones: Vec<Option<KnownZone>>,
    /// Whether a dictionary told the extremes of a text.
    pub(super) by_dictionary: bool,
}

/// The contribution of each zone of a source, if zone maps and dictionaries tell it; nothing for queries that join or group.
///
/// # Errors
/// If a dictionary cannot be read.
pub(super) fn known_source(query: &StarQuery, source: &StarSource<'_>) -> Result<KnownSource> {
    let zones = source.columns.rows().div_ceil(ZONE_ROWS);
    if !query.joins.is_empty() || !query.groups.is_empty() {
        return Ok(KnownSource { zones: vec![None; zones], by_dictionary: false });
    }
    let verdicts = zone_verdicts(&query.condition, source.columns);
    let extremes = text_extremes(query, source, &verdicts)?;
    let zones =
        verdicts.into_iter().enumerate().map(|(zone, verdict)| known_zone(query, source, &extremes, zone, verdict));
    Ok(KnownSource { zones: zones.collect(), by_dictionary: extremes.iter().any(Option::is_some) })
}

/// For each extreme of a text that zone maps do not order: the extreme of the whole source, if every row counts and a dictionary
/// has the distinct values.
fn text_extremes(query: &StarQuery, source: &StarSource<'_>, verdicts: &[(bool, bool)]) -> Result<Vec<Option<Datum>>> {
    let mut extremes = vec![None; query.aggregates.len()];
    let visible = source.deleted.is_none_or(|deleted| deleted.is_empty()) && verdicts.iter().all(|(_, all)| *all);
    if !visible {
        return Ok(extremes);
    }
    for (aggregate, extreme) in query.aggregates.iter().zip(&mut extremes) {
        let (text, wanted) = match aggregate {
            Aggregate::MinText(text) => (text, Ordering::Less),
            Aggregate::MaxText(text) => (text, Ordering::Greater),
            _ => continue,
        };
        let Some(column) = text.column().filter(|_| matches!(text.order, TextOrder::SortKeys(_))) else { continue };
        // Delta rows have no zone map, and are in memory anyway.
        if source.columns.zone_map(column).is_some()
            && let Some(dictionary) = source.columns.dictionary(column)?
        {
            *extreme = text.order.extreme(dictionary.iter(), wanted).map(|text| Datum::Bytes(text.into()));
        }
    }
    Ok(extremes)
}

fn known_zone(
    query: &StarQuery,
    source: &StarSource<'_>,
    extremes: &[Option<Datum>],
    zone: usize,
    verdict: (bool, bool),
) -> Option<KnownZone> {
    let (some, all) = verdict;
    if !some {
        return Some(KnownZone { rows: 0, parts: vec![(None, 0); query.aggregates.len()] });
    }
    if !all {
        return None;
    }
    let rows = zone_rows(zone, source.columns.rows());
    let deleted = source.deleted.map_or(0, |deleted| deleted.range_cardinality(rows.start as u32..rows.end as u32));
    let part = |(aggregate, extreme): (&Aggregate, &Option<Datum>)| {
        let column = match aggregate {
            Aggregate::CountRows => return Some((None, 0)),
            Aggregate::Count(Expression::Column(column))
            | Aggregate::Min(Expression::Column(column))
            | Aggregate::Max(Expression::Column(column)) => *column,
            Aggregate::MinText(text) | Aggregate::MaxText(text) => text.column()?,
            _ => return None,
        };
        let zone = source.columns.zone_map(column)?.zones.get(zone)?;
        let nulls = u64::from(zone.null_count);
        match (aggregate, &zone.bounds) {
            // The zone map does not tell whether the deleted rows are NULL.
            (Aggregate::Count(_), _) => (deleted == 0 || nulls == 0).then_some((None, nulls)),
            (_, _) if deleted > 0 => None,
            (_, None) => Some((None, nulls)),
            // That of the whole source, in which every row counts, will do for each of its zones.
            (Aggregate::MinText(_) | Aggregate::MaxText(_), Some(_)) if extreme.is_some() => {
                Some((extreme.clone(), nulls))
            }
            (aggregate, Some(bounds)) => Some((Some(known_bound(aggregate, bounds)?), nulls)),
        }
    };
    let parts = query.aggregates.iter().zip(extremes).map(part).collect::<Option<Vec<_>>>()?;
    Some(KnownZone { rows: rows.len() as u64 - deleted, parts })
}

/// The extreme of a zone if its bound is one of its values, in the order that is asked for.
fn known_bound(aggregate: &Aggregate, bounds: &Bounds) -> Option<Datum> {
    let bound = match aggregate {
        Aggregate::Min(_) | Aggregate::MinText(_) => &bounds.min,
        _ => &bounds.max,
    };
    let known = match (bound, aggregate) {
        _ if !bounds.exact => false,
        (Datum::Integer(_) | Datum::Float(_), Aggregate::Min(_) | Aggregate::Max(_)) => true,
        (Datum::Bytes(_), Aggregate::MinText(text) | Aggregate::MaxText(text)) => {
            matches!(text.order, TextOrder::Bytes)
        }
        _ => false,
    };
    known.then(|| bound.clone())
}
