//! Evaluates a condition: finds the rows that match.

use super::Test;
use super::mask::Mask;
use super::normal_form::Condition;
use super::prepared::{COST_OF_VALUE, PreparedTest};
use crate::coded::{CodedColumn, Dictionary};
use crate::domain::Datum;
use crate::error::{Error, Result};
use crate::index::{BitmapIndex, ElementIndex, Rows};
use crate::zone_map::{Bounds, ZONE_ROWS, Zone, ZoneMap, zone_rows};
use roaring::RoaringBitmap;
use std::ops::Bound;
use std::sync::Arc;

/// Where conditions find columns: a Segment through the cache, or delta rows in memory.
pub trait ColumnSource {
    /// Rows, deleted ones included.
    fn rows(&self) -> usize;
    /// A column's codes.
    ///
    /// # Errors
    /// If the column cannot be read, or does not exist.
    fn column(&self, ordinal: usize) -> Result<Arc<CodedColumn>>;
    /// A column's zone map, if it has one.
    fn zone_map(&self, ordinal: usize) -> Option<&ZoneMap>;
    /// A column's bitmap index, if it has one.
    ///
    /// # Errors
    /// If the index cannot be read.
    fn index(&self, ordinal: usize) -> Result<Option<Arc<BitmapIndex>>>;
    /// A column's index of elements, if it has one.
    ///
    /// # Errors
    /// If the index cannot be read.
    fn elements(&self, ordinal: usize) -> Result<Option<Arc<ElementIndex>>>;
    /// A column's dictionary, if it has one: its values but NULL, each of which some row has.
    ///
    /// # Errors
    /// If the dictionary cannot be read.
    fn dictionary(&self, ordinal: usize) -> Result<Option<Arc<Dictionary>>>;
}

/// Delta rows, which no segment has yet.
#[derive(Clone, Debug, Default)]
pub struct DeltaColumns {
    rows: usize,
    /// Those that are asked for, by ordinal.
    columns: Vec<Option<Arc<CodedColumn>>>,
}

impl DeltaColumns {
    /// Rows of some columns.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the columns have different numbers of rows.
    pub fn new(columns: Vec<Arc<CodedColumn>>) -> Result<DeltaColumns> {
        let rows = columns.first().map_or(0, |column| column.rows());
        DeltaColumns::of_some(rows, columns.into_iter().enumerate())
    }

    /// Some columns of rows, by their ordinals; the others must not be asked for.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a column has another number of rows.
    pub fn of_some(rows: usize, columns: impl IntoIterator<Item = (usize, Arc<CodedColumn>)>) -> Result<DeltaColumns> {
        let mut found = DeltaColumns { rows, columns: Vec::new() };
        for (ordinal, column) in columns {
            if column.rows() != rows {
                return Err(Error::invalid("columns have different numbers of rows"));
            }
            if found.columns.len() <= ordinal {
                found.columns.resize(ordinal + 1, None);
            }
            found.columns[ordinal] = Some(column);
        }
        Ok(found)
    }
}

impl ColumnSource for DeltaColumns {
    fn rows(&self) -> usize {
        self.rows
    }

    fn column(&self, ordinal: usize) -> Result<Arc<CodedColumn>> {
        self.columns
            .get(ordinal)
            .cloned()
            .flatten()
            .ok_or_else(|| Error::invalid(format!("there is no column {ordinal}")))
    }

    fn zone_map(&self, _ordinal: usize) -> Option<&ZoneMap> {
        None
    }

    fn index(&self, _ordinal: usize) -> Result<Option<Arc<BitmapIndex>>> {
        Ok(None)
    }

    fn elements(&self, _ordinal: usize) -> Result<Option<Arc<ElementIndex>>> {
        Ok(None)
    }

    fn dictionary(&self, ordinal: usize) -> Result<Option<Arc<Dictionary>>> {
        Ok(self.column(ordinal)?.dictionary().cloned())
    }
}

/// What zone maps and bitmap indexes know of a condition; no column is read.
///
/// # Errors
/// If an index cannot be read.
pub fn indexed_rows(condition: &Condition, source: &dyn ColumnSource) -> Result<Rows> {
    let rows = source.rows();
    match condition {
        Condition::Constant(true) => Ok(Rows::sure(all_rows(rows))),
        Condition::Constant(false) => Ok(Rows::default()),
        Condition::And(parts) => {
            let mut found = Rows::sure(all_rows(rows));
            for part in parts {
                if found.sure.is_empty() && found.candidates.is_empty() {
                    break;
                }
                found = found.and(indexed_rows(part, source)?);
            }
            Ok(found)
        }
        Condition::Or(parts) => {
            parts.iter().try_fold(Rows::default(), |found, part| Ok(found.or(indexed_rows(part, source)?)))
        }
        Condition::Test { column, test: Test::Elements(keys), .. } => {
            Ok(Rows::sure(rows_with_elements(*column, keys, source)?.unwrap_or_else(|| all_rows(rows))))
        }
        Condition::Test { column, test, negated } => {
            let zones = source.zone_map(*column).map(|zones| decided_zones(&zones.zones, rows, test, *negated));
            // Where zone maps decide, nothing has to be read.
            if let Some(found) = zones.as_ref().filter(|found| found.candidates.is_empty()) {
                return Ok(found.clone());
            }
            let zones = zones.unwrap_or_else(|| Rows::candidates(all_rows(rows)));
            match source.index(*column)?.and_then(|index| bitmap_rows(&index, test, *negated)) {
                Some(found) => Ok(zones.and(found.clone()).or(Rows::sure(found.sure))),
                None => Ok(zones),
            }
        }
    }
}

/// Rows that a condition did not leave, by what told it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkippedRows {
    /// Least and greatest values of zones.
    pub by_zone_maps: u64,
    /// Bitmap indexes.
    pub by_bitmaps: u64,
    /// The column's codes themselves.
    pub by_values: u64,
}

impl SkippedRows {
    /// All together.
    pub fn total(self) -> u64 {
        self.by_zone_maps + self.by_bitmaps + self.by_values
    }
}

impl std::ops::AddAssign for SkippedRows {
    fn add_assign(&mut self, other: SkippedRows) {
        self.by_zone_maps += other.by_zone_maps;
        self.by_bitmaps += other.by_bitmaps;
        self.by_values += other.by_values;
    }
}

/// The rows for which a condition is true, without those of `deleted`.
///
/// # Errors
/// If a column or an index cannot be read.
pub fn matching_rows(
    condition: &Condition,
    source: &dyn ColumnSource,
    deleted: Option<&RoaringBitmap>,
) -> Result<RoaringBitmap> {
    let found = indexed_rows(condition, source)?;
    checked_rows(condition, source, deleted, found)
}

/// The share of a source's rows for which a condition is true, nearly: zone maps tell it of some zones, and the first `rows_max` rows of
/// up to `zones_max` of the others stand for these. `None` if there are no rows.
///
/// # Errors
/// If a column or an index cannot be read.
pub fn estimated_share(
    condition: &Condition,
    source: &dyn ColumnSource,
    zones_max: usize,
    rows_max: usize,
) -> Result<Option<f64>> {
    let verdicts = zone_verdicts(condition, source);
    let rows_of = |zone: usize| zone_rows(zone, source.rows()).len();
    let open: Vec<usize> = (0..verdicts.len()).filter(|zone| verdicts[*zone] == (true, false)).collect();
    let sure: usize = (0..verdicts.len()).filter(|zone| verdicts[*zone].1).map(rows_of).sum();
    if source.rows() == 0 {
        return Ok(None);
    }
    let (mut looked_at, mut found) = (0, 0);
    if !open.is_empty() {
        let prepared = Prepared::new(condition, source)?;
        // As far from each other as they can be.
        for zone in open.iter().step_by(open.len().div_ceil(zones_max.max(1))) {
            let start = zone * ZONE_ROWS;
            let rows = start..start + rows_of(*zone).min(rows_max);
            let mut mask = Mask::empty();
            mask.set_first(rows.len());
            looked_at += rows.len();
            prepared.retain(rows, &mut mask);
            found += mask.count();
        }
    }
    let share_of_open = found as f64 / looked_at.max(1) as f64;
    let rows_of_open: usize = open.into_iter().map(rows_of).sum();
    Ok(Some((sure as f64 + share_of_open * rows_of_open as f64) / source.rows() as f64))
}

/// Of the rows that indexes leave those for which the condition is true.
fn checked_rows(
    condition: &Condition,
    source: &dyn ColumnSource,
    deleted: Option<&RoaringBitmap>,
    mut found: Rows,
) -> Result<RoaringBitmap> {
    if let Some(deleted) = deleted {
        found.sure -= deleted;
        found.candidates -= deleted;
    }
    if found.candidates.is_empty() {
        return Ok(found.sure);
    }
    let prepared = Prepared::new(condition, source)?;
    let mut rows = found.sure;
    for zone in 0..source.rows().div_ceil(ZONE_ROWS) {
        let mut mask = Mask::of_bitmap(&found.candidates, zone);
        prepared.retain(zone_rows(zone, source.rows()), &mut mask);
        if !mask.is_empty() {
            rows |= mask.to_bitmap(zone);
        }
    }
    Ok(rows)
}

/// The rows that have one of some elements, and perhaps others; `None` if no index tells.
fn rows_with_elements(column: usize, keys: &[Box<[u8]>], source: &dyn ColumnSource) -> Result<Option<RoaringBitmap>> {
    Ok(source.elements(column)?.map(|index| index.any_of(keys.iter().map(|key| &**key))))
}

/// A condition in the codes of one segment.
pub(crate) enum Prepared {
    Constant(bool),
    /// Rows that an index has found.
    Rows(RoaringBitmap),
    Test(Arc<CodedColumn>, PreparedTest),
    And(Vec<Prepared>),
    Or(Vec<Prepared>),
}

impl Prepared {
    pub(crate) fn new(condition: &Condition, source: &dyn ColumnSource) -> Result<Prepared> {
        let parts = |parts: &[Condition]| parts.iter().map(|part| Prepared::new(part, source)).collect::<Result<_>>();
        Ok(match condition {
            Condition::Constant(value) => Prepared::Constant(*value),
            Condition::Test { column, test: Test::Elements(keys), .. } => {
                rows_with_elements(*column, keys, source)?.map_or(Prepared::Constant(true), Prepared::Rows)
            }
            Condition::Test { column, test, negated } => {
                let column = source.column(*column)?;
                let test = PreparedTest::new(test, *negated, &column);
                Prepared::Test(column, test)
            }
            Condition::And(all) => {
                let flat = |part| match part {
                    Prepared::And(parts) => parts,
                    part => vec![part],
                };
                let mut parts: Vec<Prepared> = all
                    .iter()
                    .map(|part| Prepared::new(part, source).map(flat))
                    .collect::<Result<Vec<_>>>()?
                    .into_iter()
                    .flatten()
                    .collect();
                // What is cheap leaves fewer rows to what is dear.
                parts.sort_by_key(Prepared::cost);
                Prepared::And(parts)
            }
            Condition::Or(any) => Prepared::Or(parts(any)?),
        })
    }

    /// The condition as that on codes and that on values, which is dear: both have to hold.
    pub(crate) fn of_codes_and_values(self) -> (Option<Prepared>, Option<Prepared>) {
        let parts = match self {
            Prepared::And(parts) => parts,
            other => vec![other],
        };
        let (codes, values): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part.cost() < COST_OF_VALUE);
        let all = |parts: Vec<Prepared>| (!parts.is_empty()).then_some(Prepared::And(parts));
        (all(codes), all(values))
    }

    /// Whether the condition is true of a row.
    pub(crate) fn holds(&self, row: usize) -> bool {
        match self {
            Prepared::Constant(value) => *value,
            Prepared::Rows(found) => found.contains(row as u32),
            Prepared::Test(column, test) => test.holds(column, row),
            Prepared::And(parts) => parts.iter().all(|part| part.holds(row)),
            Prepared::Or(parts) => parts.iter().any(|part| part.holds(row)),
        }
    }

    /// What a test of a row costs, in comparisons of codes.
    fn cost(&self) -> u32 {
        match self {
            Prepared::Constant(_) | Prepared::Rows(_) => 0,
            Prepared::Test(_, test) => test.cost(),
            Prepared::And(parts) | Prepared::Or(parts) => parts.iter().map(Prepared::cost).sum(),
        }
    }

    /// Keeps the rows of a mask for which the condition is true. The mask's row 0 is the first of `rows`.
    pub(crate) fn retain(&self, rows: std::ops::Range<usize>, mask: &mut Mask) {
        if mask.is_empty() {
            return;
        }
        match self {
            Prepared::Constant(true) => {}
            Prepared::Constant(false) => *mask = Mask::empty(),
            Prepared::Rows(found) => mask.and(&Mask::of_bitmap(found, rows.start / ZONE_ROWS)),
            Prepared::Test(column, test) => test.retain(column, rows, mask),
            Prepared::And(all) => all.iter().for_each(|part| part.retain(rows.clone(), mask)),
            Prepared::Or(any) => {
                let mut found = Mask::empty();
                for part in any {
                    // What is true already need not be asked again.
                    let mut open = mask.clone();
                    open.and_not(&found);
                    part.retain(rows.clone(), &mut open);
                    found.or(&open);
                }
                mask.and(&found);
            }
        }
    }
}

fn all_rows(rows: usize) -> RoaringBitmap {
    let mut all = RoaringBitmap::new();
    all.insert_range(0..rows as u32);
    all
}

/// What a bitmap index says; `None` if it cannot answer such a test.
fn bitmap_rows(index: &BitmapIndex, test: &Test, negated: bool) -> Option<Rows> {
    if !test.values().all(|value| Some(value.domain()) == index.domain()) {
        return None;
    }
    let matching = match test {
        Test::IsNull if negated => return Some(index.range(Bound::Unbounded, Bound::Unbounded)),
        Test::IsNull => return Some(Rows::sure(index.nulls().clone())),
        Test::Range { low, high } => index.range(low.as_ref(), high.as_ref()),
        Test::AnyOf(values) => index.any_of(values),
        Test::Matches(matches) => Rows::sure(index.matching_strings(&**matches)?),
        // So many that their bitmaps would take longer than the codes.
        Test::Keys(_) | Test::Elements(_) => return None,
    };
    if !negated {
        return Some(matching);
    }
    let present = index.range(Bound::Unbounded, Bound::Unbounded).sure;
    Some(Rows { sure: present - matching.possible(), candidates: matching.candidates })
}

/// For each zone, by its zone maps: whether some row may match a condition, and whether every row does.
pub(crate) fn zone_verdicts(condition: &Condition, source: &dyn ColumnSource) -> Vec<(bool, bool)> {
    (0..source.rows().div_ceil(ZONE_ROWS)).map(|zone| verdict(condition, source, zone)).collect()
}

fn verdict(condition: &Condition, source: &dyn ColumnSource, zone: usize) -> (bool, bool) {
    match condition {
        Condition::Constant(value) => (*value, *value),
        Condition::And(parts) => parts.iter().fold((true, true), |(some, all), part| {
            let part = verdict(part, source, zone);
            (some && part.0, all && part.1)
        }),
        Condition::Or(parts) => parts.iter().fold((false, false), |(some, all), part| {
            let part = verdict(part, source, zone);
            (some || part.0, all || part.1)
        }),
        Condition::Test { column, test, negated } => match source.zone_map(*column) {
            Some(zones) => zone_verdict(&zones.zones[zone], test, *negated),
            None => (true, false),
        },
    }
}

/// The rows for which zone maps decide a test, and the other rows.
fn decided_zones(zones: &[Zone], rows: usize, test: &Test, negated: bool) -> Rows {
    let mut found = Rows::default();
    for (number, zone) in zones.iter().enumerate() {
        let rows = zone_rows(number, rows);
        let (some, all) = zone_verdict(zone, test, negated);
        let target = if all { &mut found.sure } else { &mut found.candidates };
        if some {
            target.insert_range(rows.start as u32..rows.end as u32);
        }
    }
    found
}

/// Whether a zone may have rows for which a test is true, and whether all of its rows are.
fn zone_verdict(zone: &Zone, test: &Test, negated: bool) -> (bool, bool) {
    let nulls = zone.null_count as usize;
    let Some(bounds) = &zone.bounds else {
        let matches = matches!(test, Test::IsNull) && !negated;
        return (matches, matches);
    };
    let (some, all) = match test {
        Test::IsNull if negated => return (true, nulls == 0),
        // A zone with bounds has rows that are not NULL.
        Test::IsNull => return (nulls > 0, false),
        Test::Range { low, high } => range_verdict(bounds, low, high),
        Test::AnyOf(values) => values.iter().fold((false, false), |(some, all), value| {
            let point = range_verdict(bounds, &Bound::Included(value.clone()), &Bound::Included(value.clone()));
            (some || point.0, all || point.1)
        }),
        Test::Keys(keys) => match (&bounds.min, &bounds.max) {
            (Datum::Integer(min), Datum::Integer(max)) => keys.among(*min, *max),
            _ => (false, false),
        },
        // Bounds are those of whole documents.
        Test::Elements(_) => return (true, false),
        Test::Matches(_) => (true, false),
    };
    let (some, all) = if negated { (!all, !some) } else { (some, all) };
    (some, all && nulls == 0)
}

/// Whether some value within bounds may lie in a range, and whether every value does.
fn range_verdict(bounds: &Bounds, low: &Bound<Datum>, high: &Bound<Datum>) -> (bool, bool) {
    let domain = bounds.min.domain();
    let same_domain = |bound: &Bound<Datum>| match bound {
        Bound::Included(value) | Bound::Excluded(value) => value.domain() == domain,
        Bound::Unbounded => true,
    };
    if !same_domain(low) || !same_domain(high) {
        return (false, false);
    }
    let above = |value: &Datum| match low {
        Bound::Unbounded => true,
        Bound::Included(low) => value.order(low).is_ge(),
        Bound::Excluded(low) => value.order(low).is_gt(),
    };
    let below = |value: &Datum| match high {
        Bound::Unbounded => true,
        Bound::Included(high) => value.order(high).is_le(),
        Bound::Excluded(high) => value.order(high).is_lt(),
    };
    let some = above(&bounds.max) && below(&bounds.min);
    (some, some && above(&bounds.min) && below(&bounds.max))
}
