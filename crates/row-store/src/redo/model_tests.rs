//! Random logs, cut and damaged: all durable batches are read as a whole, and damage to them is never taken for the log's end.
//!
//! `SQUALL_LOG_ROUNDS=2000` makes a long run, `SQUALL_SEED=7` repeats one.

use super::segment::{numbers, path_of};
use super::tests::{Fixture, flip};
use super::*;
use crate::engine::{Keyspace, Kind, Slice};
use crate::pending_files::PendingFiles;
use crate::table_files::MadeFile;
use lsm_tree::Checksum;
use squall_test_support::random::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Small, so that a few kilobytes are several segments.
const SIZES: Sizes = Sizes { segment: 16 << 10, first_segment: 8 << 10, fragment: 1 << 10, buffer_max: 3 << 10 };
/// The bytes that a disk writes as a whole.
const SECTOR: usize = 512;
const TABLES: usize = 3;
const STEPS: u64 = 60;

/// The files of a folder.
type Files = BTreeMap<PathBuf, Vec<u8>>;

fn files_of(folder: &Path) -> Files {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

fn put_files(folder: &Path, files: &Files) {
    for path in files_of(folder).keys().filter(|path| !files.contains_key(*path)) {
        std::fs::remove_file(path).unwrap();
    }
    files.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
}

/// What a power cut may leave: each sector is as it was when the log was last synced, or as it is now.
fn torn(durable: &Files, now: &Files, random: &mut Random) -> Files {
    let mut torn = now.clone();
    for (path, bytes) in &mut torn {
        let before = durable.get(path).map_or(&[][..], |bytes| bytes);
        for (at, sector) in bytes.chunks_mut(SECTOR).enumerate() {
            let was = before.get(at * SECTOR..at * SECTOR + sector.len());
            if random.below(2) == 0 {
                match was {
                    Some(was) => sector.copy_from_slice(was),
                    None => sector.fill(0),
                }
            }
        }
    }
    torn
}

struct Model {
    fixture: Fixture,
    log: RedoLog,
    tables: Vec<Keyspace>,
    /// The tables of each batch, and how many changes it has; the first has the number 1.
    batches: Vec<(BTreeSet<usize>, usize)>,
    /// How many of them are durable, and the files as they were then.
    durable: usize,
    files: Files,
    /// The segment that was the last one then.
    begun: u64,
}

impl Model {
    fn new() -> Model {
        let fixture = Fixture::new();
        let tables = (0..TABLES).map(|at| fixture.db.create_keyspace(&format!("t{at}"), Kind::Plain));
        let tables = tables.map(Result::unwrap).collect();
        let log = RedoLog::begin_with(&fixture.path(), SIZES).unwrap();
        let files = files_of(&fixture.path());
        Model { fixture, log, tables, batches: Vec::new(), durable: 0, files, begun: 1 }
    }

    fn append(&mut self, random: &mut Random) {
        let changes = match random.below(8) {
            0 => random.below(120),
            1 => random.below(20),
            _ => 1,
        };
        self.append_changes(changes, if random.below(4) == 0 { 4 << 10 } else { 400 }, random);
    }

    fn append_changes(&mut self, changes: u64, length_max: u64, random: &mut Random) {
        let (mut batch, mut tables, mut count) = (Batch::default(), BTreeSet::new(), 0);
        let key = self.batches.len() as u64;
        let mut table = random.below(TABLES as u64) as usize;
        for change in 0..=changes {
            if random.below(10) == 0 {
                table = random.below(TABLES as u64) as usize;
            }
            let length = if random.below(200) == 0 { 5 * length_max } else { random.below(length_max) };
            let key = [key.to_be_bytes(), change.to_be_bytes()].concat();
            batch.insert(&self.tables[table], key, vec![random.number() as u8; length as usize]);
            tables.insert(table);
            count += 1;
        }
        self.batches.push((tables, count));
        self.fixture.apply(&self.log, self.batches.len() as u64, batch);
        self.note_begun();
    }

    /// A batch with a key of one table and files of another.
    fn append_files(&mut self, files: u64) {
        let sequence = self.batches.len() as u64 + 1;
        let made =
            |id| MadeFile { id, checksum: Checksum::from_raw(id.into()), first: Slice::empty(), last: Slice::empty() };
        let mut batch = Batch::default();
        batch.insert(&self.tables[0], sequence.to_be_bytes(), "a key");
        batch.push_files(PendingFiles::new(&self.tables[1], (0..files).map(made).collect()));
        self.batches.push((BTreeSet::from([0]), 1 + files as usize));
        self.fixture.apply(&self.log, sequence, batch);
        self.note_begun();
    }

    /// A segment is durable as a whole before the next is begun, and a new one is empty.
    fn note_begun(&mut self) {
        let current = path_of(&self.fixture.path(), self.log.tail.lock().segment.number);
        let before = path_of(&self.fixture.path(), self.begun);
        if current == before {
            return;
        }
        for (path, bytes) in files_of(&self.fixture.path()) {
            let is_full = self.log.full.lock().iter().any(|full| path_of(&self.fixture.path(), full.number) == path);
            if is_full {
                self.files.insert(path, bytes);
            } else {
                self.files.entry(path).or_insert_with(|| vec![0; bytes.len()]);
            }
        }
        self.begun = self.log.tail.lock().segment.number;
    }

    fn sync(&mut self) {
        self.log.sync().unwrap();
        self.note_durable();
    }

    fn note_durable(&mut self) {
        self.durable = self.batches.len();
        self.files = files_of(&self.fixture.path());
        self.begun = self.log.tail.lock().segment.number;
    }

    fn step(&mut self, random: &mut Random) {
        match random.below(12) {
            0..6 => self.append(random),
            6 => self.log.write().unwrap(),
            7 | 8 => self.sync(),
            9 => {
                // A buffer becomes a file when all of it is in the log.
                self.sync();
                Fixture::flush(&self.tables[random.below(TABLES as u64) as usize]);
            }
            10 => {
                self.log.maintain(self.log.take_unneeded(&self.fixture.db)).unwrap();
                // What happens to files is durable when it is done, and of what is in them nothing has changed.
                let now = files_of(&self.fixture.path());
                let durable = std::mem::take(&mut self.files);
                let before = |path: &PathBuf, bytes| durable.get(path).cloned().unwrap_or(bytes);
                self.files = now.into_iter().map(|(path, bytes)| (path.clone(), before(&path, bytes))).collect();
                let checkpoint = Checkpoint::path(&self.fixture.path());
                self.files.insert(checkpoint.clone(), std::fs::read(checkpoint).unwrap());
            }
            _ => {
                if self.log.state_durable().unwrap() {
                    self.sync();
                }
            }
        }
    }

    /// Reads the log as it is and compares: batches that are durable are in it or in tables' files, those that are in it are whole.
    /// Damage is returned.
    fn check(&self, durable: usize, what: &str) -> Option<LogDamage> {
        let mut found = BTreeMap::new();
        let contents = read_log(&self.fixture.path(), &mut |sequence, changes| {
            assert!(found.insert(sequence, changes.len()).is_none(), "{what}: batch {sequence} twice");
        });
        let contents = contents.unwrap();
        for (sequence, changes) in &found {
            assert_eq!(self.batches[*sequence as usize - 1].1, *changes, "{what}: batch {sequence} is not whole");
        }
        let sequences: Vec<u64> = found.keys().copied().collect();
        assert!(sequences.windows(2).all(|pair| pair[1] == pair[0] + 1), "{what}: a gap in {sequences:?}");
        if contents.damage.is_some() {
            return contents.damage;
        }
        for (sequence, (tables, _)) in (1..).zip(&self.batches).take(durable) {
            let is_in_files = |table: &usize| {
                self.tables[*table].tree.get_highest_persisted_seqno().is_some_and(|persisted| persisted >= sequence)
            };
            let is_there = found.contains_key(&sequence) || tables.iter().all(is_in_files);
            assert!(is_there, "{what}: batch {sequence} of {durable} durable ones is lost: {contents:?}");
        }
        None
    }

    /// The log is cut where it may be.
    fn cut_power(&self, random: &mut Random) {
        let now = files_of(&self.fixture.path());
        for _ in 0..4 {
            put_files(&self.fixture.path(), &torn(&self.files, &now, random));
            assert_eq!(self.check(self.durable, "power cut"), None);
        }
        put_files(&self.fixture.path(), &now);
    }

    /// The places of fragments that are durable, with what others say of them: file, bytes, and whether any says that it was.
    fn durable_fragments(&self) -> Vec<(PathBuf, Range<u64>, bool)> {
        let folder = self.fixture.path();
        let Found::Checkpoint(checkpoint) = Checkpoint::read(&folder).unwrap() else { panic!("no checkpoint") };
        let (mut fragments, mut stated) = (Vec::new(), checkpoint.place.fragment);
        for number in numbers(&folder).unwrap().into_iter().filter(|number| *number >= checkpoint.place.segment) {
            let bytes = &self.files[&path_of(&folder, number)];
            let from = if number == checkpoint.place.segment { checkpoint.place.byte } else { 0 };
            let mut at = from as usize;
            while let Some(header) = bytes[at..].first_chunk() {
                let Some(header) = record::read_header(checkpoint.seed(number), header) else { break };
                let end = at + HEADER_BYTES + header.length;
                fragments.push((path_of(&folder, number), at as u64..end as u64, header.fragment.number));
                stated = stated.max(header.fragment.durable);
                at = end;
            }
        }
        fragments.into_iter().map(|(path, bytes, number)| (path, bytes, number < stated)).collect()
    }

    /// One bit is wrong in what was durable: the log says so, with the place, or it reads all.
    fn damage(&self, random: &mut Random) {
        let now = files_of(&self.fixture.path());
        put_files(&self.fixture.path(), &self.files);
        let fragments = self.durable_fragments();
        for _ in 0..if fragments.is_empty() { 0 } else { 4 } {
            let (path, bytes, is_stated) = &fragments[random.below(fragments.len() as u64) as usize];
            let byte = bytes.start + random.below(bytes.end - bytes.start);
            flip(path, byte);
            let found = self.check(0, "damage");
            match found {
                Some(damage) => assert_eq!((&damage.file, damage.byte), (path, bytes.start)),
                None => assert!(!is_stated, "byte {byte} of {} is wrong, and the log ends there", path.display()),
            }
            flip(path, byte);
        }
        assert_eq!(self.check(self.durable, "without damage"), None);
        put_files(&self.fixture.path(), &now);
    }
}

fn rounds(default: u64) -> u64 {
    std::env::var("SQUALL_LOG_ROUNDS").map_or(default, |text| text.parse().unwrap())
}

#[test]
fn what_was_durable_is_read_whole_after_power_cuts_and_damage_is_told() {
    let mut random = Random::of_run("what_was_durable_is_read_whole_after_power_cuts_and_damage_is_told");
    let (mut batches, mut released) = (0, 0);
    // Of two fifths of the logs a part is let go.
    for _ in 0..rounds(30) {
        let mut model = Model::new();
        for _ in 0..STEPS {
            model.step(&mut random);
            if random.below(6) == 0 {
                model.cut_power(&mut random);
            }
            if random.below(12) == 0 {
                model.damage(&mut random);
            }
        }
        batches += model.batches.len();
        let Found::Checkpoint(checkpoint) = Checkpoint::read(&model.fixture.path()).unwrap() else { panic!() };
        released += u64::from(checkpoint.place.fragment > 0);
    }
    println!("{batches} batches, {released} logs of which a part was let go");
    assert!(batches > 0 && released > 0, "the run means nothing");
}

#[test]
fn a_log_that_is_cut_at_any_byte_has_whole_batches() {
    let mut random = Random::of_run("a_log_that_is_cut_at_any_byte_has_whole_batches");
    let mut model = Model::new();
    model.append_changes(3, 100, &mut random);
    model.sync();
    while model.batches.len() < 8 {
        model.append_changes(model.batches.len() as u64 % 3 * 4, 60, &mut random);
        model.append_files([1, 60][model.batches.len() % 2]);
    }
    model.log.write().unwrap();
    let now = files_of(&model.fixture.path());
    let last = path_of(&model.fixture.path(), *numbers(&model.fixture.path()).unwrap().last().unwrap());
    let used = now[&last].iter().rposition(|byte| *byte != 0).unwrap() + 1;
    // What was synced before the last segment was begun is not cut.
    let durable = if model.files.contains_key(&last) { model.durable } else { 0 };
    let begun =
        model.files.get(&last).map_or(0, |before| before.iter().zip(&now[&last]).take_while(|(a, b)| a == b).count());
    for cut in (begun.min(used)..=used).rev() {
        let mut bytes = now[&last].clone();
        match random.below(2) {
            0 => bytes.truncate(cut),
            _ => bytes[cut..].fill(0),
        }
        std::fs::write(&last, &bytes).unwrap();
        assert_eq!(model.check(durable, &format!("cut at byte {cut} of {used}")), None);
    }
}
