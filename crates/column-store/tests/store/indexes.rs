//! Indexes and zone maps against a look at every value.

use crate::generate::{column, write_and_open};
use proptest::prelude::*;
use roaring::RoaringBitmap;
use squall_column_store::{CodedColumn, Datum, zone_rows};
use std::ops::Bound;

/// The rows of a range, by looking at each.
fn naive(column: &CodedColumn, low: &Bound<Datum>, high: &Bound<Datum>) -> RoaringBitmap {
    let holds = |row: &u32| {
        let Some(value) = column.datum(*row as usize) else { return false };
        let above = match low {
            Bound::Unbounded => true,
            Bound::Included(low) => value.order(low).is_ge(),
            Bound::Excluded(low) => value.order(low).is_gt(),
        };
        let below = match high {
            Bound::Unbounded => true,
            Bound::Included(high) => value.order(high).is_le(),
            Bound::Excluded(high) => value.order(high).is_lt(),
        };
        above && below
    };
    (0..column.rows() as u32).filter(holds).collect()
}

fn bound(kind: u8, value: Option<Datum>) -> Bound<Datum> {
    match (kind, value) {
        (1, Some(value)) => Bound::Included(value),
        (2, Some(value)) => Bound::Excluded(value),
        _ => Bound::Unbounded,
    }
}

/// A value of the column, or one beside it.
fn near(column: &CodedColumn, row: usize, beside: i8) -> Option<Datum> {
    Some(match column.datum(row % column.rows())? {
        Datum::Integer(value) => Datum::Integer(value + i128::from(beside)),
        Datum::Float(value) => Datum::Float(value + f64::from(beside)),
        Datum::Bytes(value) if beside > 0 => Datum::Bytes([&value[..], b"!"].concat().into()),
        Datum::Bytes(value) if beside < 0 => Datum::Bytes(value[..value.len() / 2].into()),
        Datum::Bytes(value) => Datum::Bytes(value),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn ranges(
        column in (1..400usize).prop_flat_map(column),
        ranges in prop::collection::vec((0..3u8, 0..400usize, -1..2i8, 0..3u8, 0..400usize, -1..2i8), 20),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let segment = write_and_open(&folder.path().join("s.parquet"), std::slice::from_ref(&column));
        let coded = segment.column(0).unwrap();
        for (zone, known) in segment.zone_map(0).zones.iter().enumerate() {
            let values: Vec<Datum> = zone_rows(zone, coded.rows()).filter_map(|row| coded.datum(row)).collect();
            prop_assert_eq!(known.null_count as usize, zone_rows(zone, coded.rows()).len() - values.len());
            prop_assert_eq!(known.bounds.is_some(), !values.is_empty());
            if let Some(bounds) = &known.bounds {
                let min = values.iter().min_by(|a, b| a.order(b)).unwrap();
                let max = values.iter().max_by(|a, b| a.order(b)).unwrap();
                prop_assert!(bounds.min.order(min).is_le() && bounds.max.order(max).is_ge());
                prop_assert_eq!(bounds.exact, &bounds.min == min && &bounds.max == max);
            }
        }
        let Some(index) = segment.index(0).unwrap() else { return Ok(()) };
        let nulls: RoaringBitmap = (0..coded.rows() as u32).filter(|row| coded.is_null(*row as usize)).collect();
        prop_assert_eq!(index.nulls(), &nulls);
        for (low_kind, low_row, low_beside, high_kind, high_row, high_beside) in ranges {
            let low = bound(low_kind, near(&coded, low_row, low_beside));
            let high = bound(high_kind, near(&coded, high_row, high_beside));
            let expected = naive(&coded, &low, &high);
            let found = index.range(low.as_ref(), high.as_ref());
            prop_assert!(found.sure.is_subset(&expected), "{:?} {:?}: {:?}", low, high, found);
            prop_assert!(expected.is_subset(&found.possible()), "{:?} {:?}: {:?}", low, high, found);
            prop_assert!(found.sure.is_disjoint(&found.candidates));
            if let Some(all) = index.matching(|ordinal| ordinal % 2 == 0) {
                let odd = index.matching(|ordinal| ordinal % 2 == 1).unwrap();
                prop_assert!(found.candidates.is_empty() && all.is_disjoint(&odd));
                prop_assert_eq!((all | odd).len() + nulls.len(), coded.rows() as u64);
            }
        }
    }
}
