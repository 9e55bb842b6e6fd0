//! Random transactions whose writes spill repeatedly, compared with a model that keeps all writes.

use super::*;
use crate::engine::{Engine, EngineOptions, Kind};
use crate::forward_scan::FilesSeen;
use crate::gate::WriteGate;
use crate::row_cache::RowCache;
use crate::table::LogicalTable;
use squall_test_support::random::Random;
use std::collections::BTreeMap;

/// Indexes: the rows, one of values, and one of terms.
const INDEXES: u64 = 3;
const TERMS: u64 = 2;
const KEYS: u64 = 30;
const STEPS: u64 = 300;

struct Fixture {
    _folder: tempfile::TempDir,
    place: Arc<SpillPlace>,
    tables: Vec<Arc<TableData>>,
}

impl Fixture {
    fn new(bytes_max: usize) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine");
        let options = || EngineOptions { cache_bytes: 1 << 20, threads: 1, filters: Arc::new(|_| None) };
        Engine::create(&path, options(), b"k", b"v").unwrap();
        let (db, ..) = Engine::open(&path, options()).unwrap();
        let table = |at: u32| {
            let keyspace = db.create_keyspace(&format!("t{at}"), Kind::Plain).unwrap();
            let (seen, cache) = (FilesSeen::new(db.seqno.clone()), Arc::new(RowCache::new(0)));
            Arc::new(TableData::new(
                TableId(at),
                Arc::new(LogicalTable::new(TableId(at))),
                1,
                keyspace,
                seen,
                Vec::new(),
                cache,
            ))
        };
        let gate = Arc::new(WriteGate::new(folder.path()));
        let place = Arc::new(SpillPlace::new(folder.path().join("temporary"), gate, bytes_max));
        Fixture { tables: vec![table(1), table(2)], place, _folder: folder }
    }
}

/// All versions of all keys of a table.
#[derive(Default)]
struct Model {
    versions: BTreeMap<Vec<u8>, Vec<(u64, Option<u8>)>>,
    deltas: Vec<(u64, i64)>,
}

impl Model {
    fn put(&mut self, key: &[u8], step: u64, value: Option<u8>, delta: i64) {
        let versions = self.versions.entry(key.to_vec()).or_default();
        versions.retain(|(at, _)| *at < step);
        versions.push((step, value));
        self.deltas.push((step, delta));
    }

    fn rollback_to(&mut self, step: u64) {
        self.deltas.retain(|(at, _)| *at <= step);
        for versions in self.versions.values_mut() {
            versions.retain(|(at, _)| *at <= step);
        }
    }

    fn get_at(&self, key: &[u8], step: u64) -> Option<Option<u8>> {
        self.versions.get(key)?.iter().rev().find(|(at, _)| *at <= step).map(|(_, value)| *value)
    }

    fn range(&self, low: &[u8], high: &[u8], step: u64) -> Vec<(Vec<u8>, Option<u8>)> {
        let within = self.versions.range(low.to_vec()..=high.to_vec());
        within.filter_map(|(key, _)| Some((key.clone(), self.get_at(key, step)?))).collect()
    }
}

fn value_of(change: &Change) -> Option<u8> {
    change.as_ref().map(|value| value[0])
}

fn pairs(written: Vec<Written>) -> Vec<(Vec<u8>, Option<u8>)> {
    written.iter().map(|written| (written.key.to_vec(), value_of(&written.change))).collect()
}

fn random_key(random: &mut Random, index: u64) -> Vec<u8> {
    vec![index as u8, random.below(KEYS) as u8]
}

struct Run {
    fixture: Fixture,
    writes: WriteSet,
    models: Vec<Model>,
    /// Steps that a scan reads at, or that may be rolled back to.
    views: Vec<u64>,
}

impl Run {
    fn put(&mut self, random: &mut Random) {
        let table = random.below(2) as usize;
        let (index, data) = (random.below(INDEXES), self.fixture.tables[table].clone());
        let key = random_key(random, index);
        let value = (random.below(4) > 0).then(|| random.number() as u8);
        let content = value.map(|value| vec![value; 1 + random.below(20) as usize]);
        let delta = if index == 0 { random.below(3) as i64 - 1 } else { 0 };
        self.models[table].put(&key, self.writes.step, value, delta);
        if index == TERMS {
            self.writes.put_posting(&data, &key, content.as_deref(), &self.fixture.place);
        } else {
            self.writes.put(&data, key.into(), content.map(Slice::from), delta);
        }
        self.writes.spill_if_large(data.id, &self.fixture.place).unwrap();
        assert_eq!(self.writes.bytes(), self.writes.tables.values().map(TableWrites::memory).sum::<usize>());
    }

    fn read(&mut self, random: &mut Random) {
        let table = random.below(2) as usize;
        let id = self.fixture.tables[table].id;
        let step = match self.views.len() as u64 {
            0 => u64::MAX,
            views if random.below(2) == 0 => self.views[random.below(views) as usize],
            _ => u64::MAX,
        };
        let index = random.below(TERMS);
        let key = random_key(random, index);
        let found = self.writes.get_at(id, &key, step).unwrap();
        assert_eq!(found.as_ref().map(value_of), self.models[table].get_at(&key, step), "{key:?} at {step}");
        let index = random.below(INDEXES);
        let (one, other) = (random_key(random, index), random_key(random, index));
        let (low, high) = (one.clone().min(other.clone()), one.max(other));
        let mut expected = self.models[table].range(&low, &high, step);
        let bounds = (Bound::Included(&low[..]), Bound::Included(&high[..]));
        if self.writes.has_buffered_postings(id, bounds) {
            self.writes.flush_postings(id).unwrap();
        }
        let limit = if random.below(2) == 0 { usize::MAX } else { random.below(5) as usize };
        for reverse in [false, true] {
            let found = pairs(self.writes.range(id, bounds, reverse, step, limit).unwrap());
            assert_eq!(found, expected[..limit.min(expected.len())], "{low:?} to {high:?} at {step}");
            expected.reverse();
        }
    }

    fn roll_back(&mut self, random: &mut Random) {
        if self.views.is_empty() {
            return;
        }
        let step = self.views[random.below(self.views.len() as u64) as usize];
        self.views.retain(|view| *view <= step);
        self.writes.rollback_to(step);
        self.models.iter_mut().for_each(|model| model.rollback_to(step));
    }

    fn check_committed(mut self, parts: usize) -> bool {
        let is_spilled = self.writes.is_spilled();
        let (tables, steps) = self.writes.take().into_tables();
        for mut table in tables {
            let model = &self.models[table.data.id.0 as usize - 1];
            let expected = model.range(&[0], &[u8::MAX], u64::MAX);
            assert_eq!(table.row_delta, model.deltas.iter().map(|(_, delta)| delta).sum::<i64>());
            if !table.is_spilled() {
                let mut found = Vec::new();
                table.for_each_change(|key, change| found.push((key.to_vec(), value_of(&change)))).unwrap();
                assert_eq!(found, expected);
                continue;
            }
            table.end_writing().unwrap();
            let cuts = table.cuts(parts);
            let starts = std::iter::once(Bound::Unbounded).chain(cuts.iter().map(|cut| Bound::Included(&cut[..])));
            let ends = cuts.iter().map(|cut| Bound::Excluded(&cut[..])).chain([Bound::Unbounded]);
            let mut found = Vec::new();
            for bounds in starts.zip(ends) {
                let mut newest = table.newest_within(bounds, &steps);
                while let Some(written) = newest.next().unwrap() {
                    found.push(written);
                }
            }
            assert_eq!(pairs(found), expected);
        }
        is_spilled
    }
}

#[test]
fn writes_that_leave_memory_are_those_that_were_written() {
    let mut random = Random::of_run("writes_that_leave_memory_are_those_that_were_written");
    let rounds = std::env::var("SQUALL_WRITE_SET_ROUNDS").map_or(60, |text| text.parse().unwrap());
    let mut spilled = 0;
    for round in 0..rounds {
        let fixture = Fixture::new([400, 3000, 20_000, 1 << 20][random.below(4) as usize]);
        let mut run = Run { fixture, writes: WriteSet::default(), models: Vec::new(), views: Vec::new() };
        run.models = vec![Model::default(), Model::default()];
        for _ in 0..STEPS {
            match random.below(20) {
                0..12 => run.put(&mut random),
                12..15 => run.views.push(run.writes.next_step()),
                15..19 => run.read(&mut random),
                _ => run.roll_back(&mut random),
            }
        }
        spilled += u64::from(run.check_committed(1 + round % 3));
    }
    assert!(spilled * 4 > rounds as u64, "{spilled} of {rounds} have left memory");
}
