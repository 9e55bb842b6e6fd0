//! Decoders of blocks take any bytes: they return what encodes to itself again, or an error, and do not panic.

use crate::generate::{Column, column, specs};
use proptest::prelude::*;
use squall_column_store::coded::{CodedValues, Dictionary};
use squall_column_store::index::{BitmapIndex, build_index};
use squall_column_store::segment::Directory;
use squall_column_store::{CodedColumn, Segment, SegmentWriter};
use std::ops::Bound;

/// Changes some bytes and cuts the end off.
pub fn damage(bytes: &mut Vec<u8>, changes: &[(u16, u8)], keep: u16) {
    for (position, value) in changes {
        let length = bytes.len().max(1);
        if let Some(byte) = bytes.get_mut(usize::from(*position) % length) {
            *byte = *value;
        }
    }
    if keep < 1000 {
        bytes.truncate(bytes.len() * usize::from(keep) / 1000);
    }
}

/// The directory's block of a segment of one column.
fn directory(column: &Column) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.parquet");
    let specs = specs(std::slice::from_ref(column));
    let identity = SegmentWriter::new(&path, &specs, Default::default()).write(std::slice::from_ref(&column.array));
    let segment = Segment::open(&path, identity.unwrap()).unwrap();
    segment.directory().encode()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn damaged(
        column in (1..200usize).prop_flat_map(column),
        damages in prop::collection::vec((prop::collection::vec(any::<(u16, u8)>(), 0..4), 0..2000u16), 40),
    ) {
        let coded = CodedColumn::from_arrays(column.column_type, std::slice::from_ref(&column.array)).unwrap();
        let index = build_index(&coded, &column.index);
        let dictionary = match coded.values() {
            CodedValues::Dictionary { dictionary, .. } => Some(dictionary.clone()),
            _ => None,
        };
        let directory = directory(&column);
        for (changes, keep) in damages {
            let mut bytes = directory.clone();
            damage(&mut bytes, &changes, keep);
            if let Ok(found) = Directory::decode(&bytes) {
                prop_assert_eq!(found.encode(), bytes);
            }
            if let Some(dictionary) = &dictionary {
                let mut bytes = dictionary.encode();
                damage(&mut bytes, &changes, keep);
                if let Ok(found) = Dictionary::decode(&bytes) {
                    prop_assert_eq!(found.encode(), bytes);
                }
            }
            if let Some(index) = &index {
                let mut bytes = index.encode();
                damage(&mut bytes, &changes, keep);
                let rows = coded.rows() as u32;
                if let Ok(found) = BitmapIndex::decode(&bytes, coded.domain(), dictionary.as_ref(), rows) {
                    let all = found.range(Bound::Unbounded, Bound::Unbounded).possible();
                    prop_assert_eq!(all.len() + found.nulls().len(), u64::from(rows));
                    found.matching(|ordinal| ordinal % 2 == 0);
                }
            }
        }
    }
}
