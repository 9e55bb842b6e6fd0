//! The blocks of a segment's file that are ours: directory, dictionary, bitmap index, index of elements. What decodes encodes to itself, and can be
//! asked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use squall_column_store::Domain;
use squall_column_store::coded::Dictionary;
use squall_column_store::index::{BitmapIndex, ElementIndex};
use squall_column_store::segment::Directory;
use std::ops::Bound;
use std::sync::Arc;

fuzz_target!(|input: (u8, u32, &[u8], &[u8])| {
    let (kind, rows, dictionary, bytes) = input;
    let dictionary = Dictionary::decode(dictionary).ok().map(Arc::new);
    if let Ok(directory) = Directory::decode(bytes) {
        assert_eq!(Directory::decode(&directory.encode()), Ok(directory));
    }
    if let Some(dictionary) = &dictionary {
        assert_eq!(Dictionary::decode(&dictionary.encode()).as_ref(), Ok(&**dictionary));
    }
    if let Ok(index) = ElementIndex::decode(bytes, rows % (1 << 20)) {
        assert_eq!(index.encode(), bytes);
        assert!(index.any_of([bytes, &[1], &[0, 0, 0, 0, 0, 0, 0, 7]]).len() <= u64::from(rows % (1 << 20)));
    }
    let domain = [Domain::Integer, Domain::Float, Domain::Bytes][usize::from(kind % 3)];
    if let Ok(index) = BitmapIndex::decode(bytes, domain, dictionary.as_ref(), rows % (1 << 20)) {
        let again = BitmapIndex::decode(&index.encode(), domain, dictionary.as_ref(), rows % (1 << 20));
        assert_eq!(again.as_ref().map(|index| index.nulls()), Ok(index.nulls()));
        let all = index.range(Bound::Unbounded, Bound::Unbounded);
        assert!(all.possible().is_disjoint(index.nulls()));
        index.matching(|ordinal| ordinal % 2 == 0);
    }
});
