//! What zone maps answer alone: the part of a zone in COUNT, MIN and MAX of all rows, without any column being read.

use super::{Aggregate, Expression, StarQuery, StarSource};
use crate::domain::Datum;
use crate::predicate::zone_verdicts;
use crate::zone_map::{ZONE_ROWS, zone_rows};

/// The part of a zone in an answer of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KnownZone {
    /// Rows that count.
    pub(super) rows: u64,
    /// For each aggregate: the least or greatest value, if it is MIN or MAX, and how many of the rows are NULL.
    pub(super) parts: Vec<(Option<i128>, u64)>,
}

/// For each zone of a source what it adds, where zone maps say it; nothing for queries that join or group.
pub(super) fn known_zones(query: &StarQuery, source: &StarSource<'_>) -> Vec<Option<KnownZone>> {
    let zones = source.columns.rows().div_ceil(ZONE_ROWS);
    if !query.joins.is_empty() || !query.groups.is_empty() {
        return vec![None; zones];
    }
    let verdicts = zone_verdicts(&query.condition, source.columns);
    verdicts.into_iter().enumerate().map(|(zone, verdict)| known_zone(query, source, zone, verdict)).collect()
}

fn known_zone(query: &StarQuery, source: &StarSource<'_>, zone: usize, verdict: (bool, bool)) -> Option<KnownZone> {
    let (some, all) = verdict;
    if !some {
        return Some(KnownZone { rows: 0, parts: vec![(None, 0); query.aggregates.len()] });
    }
    if !all {
        return None;
    }
    let rows = zone_rows(zone, source.columns.rows());
    let deleted = source.deleted.map_or(0, |deleted| deleted.range_cardinality(rows.start as u32..rows.end as u32));
    let part = |aggregate: &Aggregate| {
        let column = match aggregate {
            Aggregate::CountRows => return Some((None, 0)),
            Aggregate::Count(Expression::Column(column))
            | Aggregate::Min(Expression::Column(column))
            | Aggregate::Max(Expression::Column(column)) => *column,
            _ => return None,
        };
        let zone = source.columns.zone_map(column)?.zones.get(zone)?;
        let nulls = u64::from(zone.null_count);
        match (aggregate, &zone.bounds) {
            // Which rows are deleted, those that are NULL or others, the zone map does not say.
            (Aggregate::Count(_), _) => (deleted == 0 || nulls == 0).then_some((None, nulls)),
            (_, _) if deleted > 0 => None,
            (_, None) => Some((None, nulls)),
            (aggregate, Some(bounds)) => {
                let bound = if matches!(aggregate, Aggregate::Min(_)) { &bounds.min } else { &bounds.max };
                match bound {
                    Datum::Integer(value) if bounds.exact => Some((Some(*value), nulls)),
                    _ => None,
                }
            }
        }
    };
    let parts = query.aggregates.iter().map(part).collect::<Option<Vec<_>>>()?;
    Some(KnownZone { rows: rows.len() as u64 - deleted, parts })
}
