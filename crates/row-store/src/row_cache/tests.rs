//! The row cache gives each reader the version of its snapshot, and keeps its size.

use super::*;
use std::sync::atomic::AtomicBool;

const MB: u64 = 1 << 20;

fn insert(cache: &RowCache, key: &[u8], row: &[u8], written: u64, read: u64) {
    cache.insert(&Place::new(1, key), Version { row, written, read });
}

fn get(cache: &RowCache, key: &[u8], seqno: u64) -> Option<Vec<u8>> {
    cache.get(&Place::new(1, key), seqno).map(|row| row.to_vec())
}

#[test]
fn rows_of_all_lengths_come_back() {
    let cache = RowCache::new(64 * MB);
    for length in 0..600 {
        let key = vec![7; length % 30];
        let row: Vec<u8> = (0..length).map(|at| (at * 31) as u8).collect();
        insert(&cache, &key, &row, 5, 10);
        assert_eq!(get(&cache, &key, 10), Some(row));
    }
    assert_eq!(get(&cache, b"another", 10), None);
    assert_eq!(cache.get(&Place::new(2, &[7; 3]), 10), None, "another table's");
    let status = cache.status();
    assert_eq!((status.hits, status.misses), (600, 2));
}

#[test]
fn readers_of_earlier_snapshots_do_not_see_later_versions() {
    let cache = RowCache::new(4 * MB);
    insert(&cache, b"k", b"row", 5, 10);
    assert_eq!(get(&cache, b"k", 6), Some(b"row".to_vec()));
    assert_eq!(get(&cache, b"k", 5), None);
}

#[test]
fn a_change_removes_a_row_and_keeps_older_readers_from_bringing_it_back() {
    let cache = RowCache::new(4 * MB);
    insert(&cache, b"k", b"old", 5, 10);
    cache.forget(&Place::new(1, b"k"), 12);
    assert_eq!(get(&cache, b"k", 20), None);
    insert(&cache, b"k", b"old", 5, 11);
    assert_eq!(get(&cache, b"k", 20), None, "read before the change");
    insert(&cache, b"k", b"new", 11, 12);
    assert_eq!(get(&cache, b"k", 20), Some(b"new".to_vec()));
}

#[test]
fn a_resized_cache_takes_nothing_that_was_read_before() {
    let cache = RowCache::new(0);
    insert(&cache, b"k", b"row", 5, 10);
    assert_eq!((get(&cache, b"k", 10), cache.status()), (None, RowCacheStatus::default()), "it is off");
    cache.resize(4 * MB, 11);
    insert(&cache, b"k", b"row", 5, 10);
    assert_eq!(get(&cache, b"k", 20), None);
    insert(&cache, b"k", b"row", 5, 11);
    assert_eq!(get(&cache, b"k", 20), Some(b"row".to_vec()));
    cache.resize(2 * MB, 11);
    assert_eq!(get(&cache, b"k", 20), None);
}

#[test]
fn a_full_cache_keeps_to_its_size_and_to_the_newest_rows() {
    let cache = RowCache::new(4 * MB);
    let keys = 100_000_u32;
    for key in 0..keys {
        insert(&cache, &key.to_be_bytes(), &[key as u8; 200], 5, 10);
    }
    let bytes = cache.status().bytes;
    assert!(bytes > 3 * MB && bytes < 5 * MB, "{bytes}");
    let found = |range: std::ops::Range<u32>| {
        range.filter(|key| get(&cache, &key.to_be_bytes(), 10) == Some(vec![*key as u8; 200])).count()
    };
    assert_eq!(found(0..50_000), 0);
    assert!(found(keys - 5_000..keys) > 4_500);
}

/// Writers overwrite what readers copy all the time: a reader gets a row of its key, whole, or none.
#[test]
fn readers_never_get_half_a_row() {
    let cache = RowCache::new(2 * MB);
    let done = AtomicBool::new(false);
    let row_of =
        |key: u32, round: u64| vec![(key as u64 ^ round) as u8; 100 + (key as usize * 7 + round as usize) % 900];
    let found = std::thread::scope(|scope| {
        for writer in 0..2_u32 {
            let (cache, done) = (&cache, &done);
            scope.spawn(move || {
                for round in 0..40 {
                    for key in (writer * 2000)..(writer * 2000 + 2000) {
                        insert(cache, &key.to_be_bytes(), &row_of(key, round), 5, 10);
                    }
                }
                done.store(true, Ordering::Release);
            });
        }
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let (cache, done) = (&cache, &done);
                scope.spawn(move || {
                    let mut found = 0_u64;
                    while !done.load(Ordering::Acquire) {
                        for key in 0..4000_u32 {
                            let Some(row) = get(cache, &key.to_be_bytes(), 10) else { continue };
                            found += 1;
                            assert!((0..40).any(|round| row == row_of(key, round)), "key {key}: {row:?}");
                        }
                    }
                    found
                })
            })
            .collect();
        readers.into_iter().map(|reader| reader.join().expect("a reader")).sum::<u64>()
    });
    assert!(found > 0);
}
