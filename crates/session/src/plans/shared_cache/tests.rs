//! Entries of the cache: settings, bounds, replacement and counts.

use super::*;

fn settings(database: &str) -> Arc<BindSettings> {
    Arc::new(BindSettings { database: Some(database.into()), ..BindSettings::default() })
}

#[test]
fn a_text_is_found_under_its_settings_only() {
    let cache = SharedPlanCache::new(1 << 20);
    let (one, other) = (settings("one"), settings("other"));
    assert!(cache.find(b"SELECT ?", &one).is_none());
    let entry = cache.find_or_insert(b"SELECT ?", &one).expect("room");
    assert!(Arc::ptr_eq(&entry, &cache.find(b"SELECT ?", &settings("one")).expect("kept")));
    assert!(Arc::ptr_eq(&entry, &cache.find_or_insert(b"SELECT ?", &one).expect("kept")));
    assert!(cache.find(b"SELECT ?", &other).is_none());
    assert!(cache.find(b"SELECT ? ", &one).is_none());
    cache.clear();
    assert!(cache.find(b"SELECT ?", &one).is_none());
}

#[test]
fn plans_with_parameters_are_kept_by_the_constants_that_are_a_part_of_them() {
    let (cache, one) = (SharedPlanCache::new(1 << 20), settings("one"));
    let key = |constants| PlanKey { text: b"SELECT ?", constants };
    let entry = cache.find_or_insert(key(b"a"), &one).expect("room");
    assert!(cache.find(key(b"b"), &one).is_none());
    assert!(cache.find(b"SELECT ?", &one).is_none(), "the text alone is another statement");
    assert!(Arc::ptr_eq(&entry, &cache.find(key(b"a"), &one).expect("kept")));
    assert!(!cache.planned_before(key(b"a"), &one));
    assert!(cache.planned_before(key(b"a"), &one));
    assert!(!cache.planned_before(key(b"b"), &one));
    assert!(!cache.met_before(b"SELECT ?", &one), "planned is not met");
}

#[test]
fn a_text_is_met_once_then_again() {
    let (cache, one) = (SharedPlanCache::new(1 << 20), settings("one"));
    assert!(!cache.met_before(b"SELECT ?", &one));
    assert!(cache.met_before(b"SELECT ?", &one));
}

#[test]
fn room_is_bounded_and_what_is_asked_for_stays_longer() {
    let (cache, one) = (SharedPlanCache::new(1 << 20), settings("one"));
    for number in 0..10_000 {
        cache.find_or_insert(format!("SELECT {number}").as_bytes(), &one);
        cache.find(b"SELECT 0", &one).expect("always asked for");
        assert!(cache.size().bytes <= 1 << 20);
    }
    let size = cache.size();
    assert_eq!(size.entries + size.evictions, 10_000);
    cache.resize(0);
    let size = cache.size();
    assert_eq!((size.entries, size.bytes, size.evictions), (0, 0, 10_000));
    assert!(cache.find_or_insert(b"SELECT 1", &one).is_none());
    assert!(SharedPlanCache::new(1 << 30).find_or_insert(&vec![b'x'; TEXT_BYTES_MAX + 1], &one).is_none());
}

#[test]
fn counts_outlive_the_sessions_that_made_them() {
    let (cache, one) = (SharedPlanCache::new(1 << 20), settings("one"));
    let entry = cache.find_or_insert(b"SELECT ?", &one).expect("room");
    let uses = [PlanUse::new(entry.clone()), PlanUse::new(entry.clone())];
    uses[0].learned(false, 1);
    uses[1].learned(true, 5);
    uses[1].hit(7);
    assert_eq!(entry.retired().hits, 0);
    drop(uses);
    let totals = entry.retired();
    assert_eq!((totals.hits, totals.shared_hits, totals.misses, totals.last_used_micros), (1, 1, 1, 7));
}
