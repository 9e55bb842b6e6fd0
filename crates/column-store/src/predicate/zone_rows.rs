//! The rows of a source that a scan reads, zone by zone.

use super::evaluate::{ColumnSource, Prepared, SkippedRows, indexed_rows, zone_verdicts};
use super::mask::Mask;
use super::normal_form::Condition;
use crate::error::Result;
use crate::zone_map::{ZONE_ROWS, zone_rows};
use roaring::RoaringBitmap;
use std::ops::Range;

/// Rows of one zone, by their positions in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZoneRows {
    /// All of a range.
    Range(Range<u32>),
    /// Some, in order.
    Positions(Vec<u32>),
}

impl ZoneRows {
    fn of(mask: &Mask, rows: &Range<usize>) -> ZoneRows {
        let count = mask.count();
        if count == rows.len() {
            return ZoneRows::Range(rows.start as u32..rows.end as u32);
        }
        let mut positions = Vec::with_capacity(count);
        for (ordinal, word) in mask.words().iter().enumerate() {
            let mut left = *word;
            while left != 0 {
                positions.push((rows.start + ordinal * 64) as u32 + left.trailing_zeros());
                left &= left - 1;
            }
        }
        ZoneRows::Positions(positions)
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        match self {
            ZoneRows::Range(range) => range.len(),
            ZoneRows::Positions(positions) => positions.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The rows for which a condition is true, without those of `deleted`: of each zone that has any. And what told it of the others.
///
/// # Errors
/// If a column or an index cannot be read.
pub fn matching_zones(
    condition: &Condition,
    source: &dyn ColumnSource,
    deleted: Option<&RoaringBitmap>,
) -> Result<(Vec<ZoneRows>, SkippedRows)> {
    let verdicts = zone_verdicts(condition, source);
    let in_zone = |zone: usize| zone_rows(zone, source.rows()).len() as u64;
    let by_zone_maps = verdicts.iter().enumerate().filter(|(_, (some, _))| !some).map(|(zone, _)| in_zone(zone)).sum();
    if verdicts.iter().all(|(some, _)| !some) {
        return Ok((Vec::new(), SkippedRows { by_zone_maps, ..SkippedRows::default() }));
    }
    let mut found = indexed_rows(condition, source)?;
    let by_bitmaps = (source.rows() as u64 - by_zone_maps).saturating_sub(found.sure.len() + found.candidates.len());
    if let Some(deleted) = deleted {
        found.sure -= deleted;
        found.candidates -= deleted;
    }
    let left = found.sure.len() + found.candidates.len();
    let prepared = if found.candidates.is_empty() { None } else { Some(Prepared::new(condition, source)?) };
    let mut zones = Vec::new();
    for zone in 0..source.rows().div_ceil(ZONE_ROWS) {
        let rows = zone_rows(zone, source.rows());
        let mut mask = Mask::of_bitmap(&found.sure, zone);
        if let Some(prepared) = &prepared {
            let mut candidates = Mask::of_bitmap(&found.candidates, zone);
            prepared.retain(rows.clone(), &mut candidates);
            mask.or(&candidates);
        }
        let rows = ZoneRows::of(&mask, &rows);
        if !rows.is_empty() {
            zones.push(rows);
        }
    }
    let read: u64 = zones.iter().map(|rows| rows.len() as u64).sum();
    Ok((zones, SkippedRows { by_zone_maps, by_bitmaps, by_values: left.saturating_sub(read) }))
}
