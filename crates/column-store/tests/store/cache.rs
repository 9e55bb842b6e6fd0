//! The cache keeps within its bound and loads a column once.

use crate::generate::{Column, write_and_open};
use arrow::array::Int64Array;
use squall_column_store::index::IndexChoice;
use squall_column_store::{CacheStatus, ColumnCache, ColumnType, Error, Segment};
use std::path::Path;
use std::sync::Arc;

/// Ten columns of about 4,000 bytes in memory each.
fn segment(path: &Path) -> Segment {
    let array = Arc::new(Int64Array::from_iter_values((0..1000).map(|row| row * 1_000_003)));
    let column = Column { column_type: ColumnType::Signed(8), array, index: IndexChoice::None };
    write_and_open(path, &vec![column; 10])
}

#[test]
fn the_bound_holds() {
    let folder = tempfile::tempdir().unwrap();
    let segment = segment(&folder.path().join("s.parquet"));
    let cache = ColumnCache::new(20_000);
    for round in 0..3 {
        for column in 0..10 {
            cache.column(&segment, column).unwrap();
            assert!(cache.status().bytes <= 20_000, "round {round}: {:?}", cache.status());
        }
    }
    assert!(cache.status().entries >= 3 && cache.status().evictions > 0, "{:?}", cache.status());
    cache.resize(5_000);
    assert_eq!(cache.status().entries, 1);
    cache.resize(0);
    assert_eq!((cache.status().entries, cache.status().bytes), (0, 0));
    // What does not fit is answered all the same.
    assert_eq!(cache.column(&segment, 3).unwrap().rows(), 1000);
    assert_eq!((cache.status().entries, cache.status().bytes), (0, 0));
}

#[test]
fn a_column_is_loaded_once() {
    let folder = tempfile::tempdir().unwrap();
    let segment = segment(&folder.path().join("s.parquet"));
    let cache = ColumnCache::new(1 << 20);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..10).for_each(|column| assert_eq!(cache.column(&segment, column).unwrap().rows(), 1000)));
        }
    });
    let status = cache.status();
    assert_eq!((status.misses, status.hits, status.entries), (10, 30, 10));
    cache.forget(&segment);
    let rest = CacheStatus { entries: 0, bytes: 0, ..status };
    assert_eq!(cache.status(), rest);
}

#[test]
fn an_error_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.parquet");
    let segment = segment(&path);
    let sound = std::fs::read(&path).unwrap();
    let mut wrong = sound.clone();
    wrong[20] ^= 1;
    let cache = ColumnCache::new(1 << 20);
    std::fs::write(&path, &wrong).unwrap();
    assert!(matches!(cache.column(&segment, 0), Err(Error::Corrupt(_))));
    std::fs::write(&path, &sound).unwrap();
    assert_eq!(cache.column(&segment, 0).unwrap().rows(), 1000);
}
