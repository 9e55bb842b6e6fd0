//! The log is written, replayed, cut and damaged.

use super::record::HEADER_BYTES;
use super::segment::{numbers, path_of};
use super::*;
use crate::engine::{EngineOptions, Keyspace, Kind, Slice};
use std::os::unix::fs::FileExt;

pub(super) struct Fixture {
    pub folder: tempfile::TempDir,
    pub db: Engine,
    pub keyspace: Keyspace,
}

impl Fixture {
    pub fn new() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine");
        let options = || EngineOptions { cache_bytes: 1 << 20, threads: 2, filters: std::sync::Arc::new(|_| None) };
        Engine::create(&path, options(), b"k", b"v").unwrap();
        let (db, ..) = Engine::open(&path, options()).unwrap();
        let keyspace = db.create_keyspace("k", Kind::Plain).unwrap();
        std::fs::create_dir(folder.path().join("redo")).unwrap();
        Fixture { folder, db, keyspace }
    }

    /// Sends a keyspace's buffer to a file.
    pub fn flush(keyspace: &Keyspace) {
        keyspace.rotate_memtable();
        while keyspace.sealed_memtable_count() > 0 {
            std::thread::yield_now();
        }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("redo")
    }

    fn begin(&self) -> RedoLog {
        RedoLog::begin(&self.path()).unwrap()
    }

    fn batch(&self, key: u64, value_bytes: usize) -> Batch {
        let mut batch = Batch::default();
        batch.insert(&self.keyspace, key.to_be_bytes(), vec![b'v'; value_bytes]);
        batch.remove(&self.keyspace, [b"gone", &key.to_be_bytes()[..]].concat());
        batch
    }

    /// Sequence numbers and numbers of changes of the batches that are read.
    pub fn replayed(&self) -> Result<Vec<(u64, usize)>, LogDamage> {
        let mut found = Vec::new();
        let contents = read_log(&self.path(), &mut |sequence, changes| found.push((sequence, changes.len()))).unwrap();
        assert_eq!(contents.batches, found.len() as u64);
        contents.damage.map_or(Ok(found), Err)
    }

    /// Appends a batch and applies it as committing does.
    pub fn apply(&self, log: &RedoLog, sequence: u64, batch: Batch) {
        log.append(sequence, &batch).unwrap();
        for part in batch.into_parts().0 {
            for (key, value) in part.changes {
                match value {
                    Some(value) => part.keyspace.tree.insert(key, value, sequence),
                    None => part.keyspace.tree.remove(key, sequence),
                };
            }
        }
        self.db.seqno.fetch_max(sequence + 1);
    }
}

/// Changes one bit of a file.
pub(super) fn flip(path: &Path, at: u64) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at).unwrap();
}

#[test]
fn what_was_appended_is_read() {
    let fixture = Fixture::new();
    let log = fixture.begin();
    for sequence in 1..=5 {
        log.append(sequence, &fixture.batch(sequence, 10)).unwrap();
    }
    log.sync().unwrap();
    log.append(6, &fixture.batch(6, 10)).unwrap();
    // The last one is in memory.
    assert_eq!(fixture.replayed().unwrap(), (1..=5).map(|sequence| (sequence, 2)).collect::<Vec<_>>());
    let mut changes = Vec::new();
    read_log(&fixture.path(), &mut |_, batch| changes.extend(batch)).unwrap();
    let id = fixture.keyspace.id();
    let of = |change| LoggedChange { keyspace: id, change: Logged::Key(change) };
    assert_eq!(changes[0], of((Slice::from(1u64.to_be_bytes()), Some(Slice::from([b'v'; 10])))));
    assert_eq!(changes[1], of((Slice::from([b"gone", &1u64.to_be_bytes()[..]].concat()), None)));
}

#[test]
fn a_batch_of_many_fragments_and_segments_is_read_whole_or_not_at_all() {
    let fixture = Fixture::new();
    let log = fixture.begin();
    let mut large = Batch::default();
    for key in 0..4000u64 {
        large.insert(&fixture.keyspace, key.to_be_bytes(), vec![key as u8; 1000]);
    }
    log.append(1, &fixture.batch(1, 10)).unwrap();
    log.append(2, &large).unwrap();
    let mut long = Batch::default();
    long.insert(&fixture.keyspace, "long", vec![1; 3 << 20]);
    log.append(3, &long).unwrap();
    log.sync().unwrap();
    assert_eq!(log.full_segments(), 1, "7 MiB, and room for one in the first segment");
    assert_eq!(fixture.replayed().unwrap(), [(1, 2), (2, 4000), (3, 1)]);
    // Without its last fragment nothing of the batch is there, nor what comes behind it.
    let last = *numbers(&fixture.path()).unwrap().last().unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(path_of(&fixture.path(), last)).unwrap();
    file.write_all_at(&[0; HEADER_BYTES], 0).unwrap();
    assert_eq!(fixture.replayed().unwrap(), [(1, 2)]);
}

#[test]
fn missing_segments_are_damage() {
    let fixture = Fixture::new();
    let log = fixture.begin();
    for sequence in 1..=40 {
        log.append(sequence, &fixture.batch(sequence, 700 << 10)).unwrap();
    }
    log.sync().unwrap();
    let numbers = numbers(&fixture.path()).unwrap();
    assert_eq!(numbers.len(), 3);
    for (number, missing) in numbers.iter().zip([0, 1, 25]) {
        let damaged = path_of(&fixture.path(), *number);
        flip(&damaged, 1000);
        let found = fixture.replayed();
        // All of a segment but the last is durable before the next is begun. In the last one a crash may leave anything.
        match number == &numbers[2] {
            true => assert!(found.unwrap().len() < 40),
            false => assert_eq!(found.unwrap_err().file, damaged),
        }
        flip(&damaged, 1000);
        let aside = damaged.with_extension("aside");
        std::fs::rename(&damaged, &aside).unwrap();
        let damage = fixture.replayed().unwrap_err();
        assert_eq!((damage.file, damage.byte, damage.what), (damaged.clone(), 0, "the file is missing"));
        assert!(damage.fragment >= missing, "{}", damage.fragment);
        std::fs::rename(&aside, &damaged).unwrap();
    }
    assert_eq!(fixture.replayed().unwrap().len(), 40);
}

#[test]
fn segments_go_when_files_have_them_and_are_used_again() {
    let fixture = Fixture::new();
    let log = fixture.begin();
    let apply = |sequence: u64| fixture.apply(&log, sequence, fixture.batch(sequence, 100 << 10));
    let mut sequence = 0;
    // Until there is a full segment of those that are made ahead.
    while numbers(&fixture.path()).unwrap().len() < 4 {
        sequence += 1;
        apply(sequence);
        log.sync().unwrap();
        log.maintain(log.take_unneeded(&fixture.db)).unwrap();
    }
    assert!(log.full_segments() >= 2, "nothing is in files yet");
    Fixture::flush(&fixture.keyspace);
    log.maintain(log.take_unneeded(&fixture.db)).unwrap();
    assert_eq!(log.full_segments(), 0);
    let sizes: Vec<u64> = numbers(&fixture.path())
        .unwrap()
        .into_iter()
        .map(|number| std::fs::metadata(path_of(&fixture.path(), number)).unwrap().len())
        .collect();
    assert_eq!(sizes, [Sizes::default().segment; 2], "the current one and the next");
    // What an old life has left in the next one is not read.
    assert!(fixture.replayed().unwrap().iter().all(|(found, _)| *found <= sequence));
    let newest = fixture.replayed().unwrap().last().map(|(newest, _)| *newest);
    assert_eq!(newest, Some(sequence));
    // A new run begins with an empty log, in a file that is there already.
    drop(log);
    let log = fixture.begin();
    assert_eq!(fixture.replayed().unwrap(), []);
    log.append(sequence + 1, &fixture.batch(1, 10)).unwrap();
    log.sync().unwrap();
    assert_eq!(fixture.replayed().unwrap(), [(sequence + 1, 2)]);
    assert_eq!(numbers(&fixture.path()).unwrap().len(), 1);
    log.clear().unwrap();
    assert_eq!(fixture.replayed().unwrap(), []);
}

#[test]
fn removed_rows_keep_no_segment() {
    let fixture = Fixture::new();
    let log = fixture.begin();
    let apply = |sequence: u64, value: Option<Slice>| {
        let mut batch = Batch::default();
        match &value {
            Some(value) => batch.insert(&fixture.keyspace, "k", value.clone()),
            None => batch.remove(&fixture.keyspace, "k"),
        }
        fixture.apply(&log, sequence, batch);
    };
    apply(1, Some(Slice::from(vec![1; 900 << 10])));
    apply(2, None);
    // The next segment is begun by another keyspace's change.
    let other = fixture.db.create_keyspace("other", Kind::Plain).unwrap();
    let mut batch = Batch::default();
    batch.insert(&other, "k", vec![2; 900 << 10]);
    fixture.apply(&log, 3, batch);
    fixture.db.snapshots.publish(3);
    assert_eq!((log.full_segments(), log.take_unneeded(&fixture.db).is_none()), (1, true));
    // The files have had the removal, and nothing is left of it or of the row.
    Fixture::flush(&fixture.keyspace);
    fixture.db.snapshots.publish(99);
    fixture.keyspace.tree.major_compact(64 << 20, 50).unwrap();
    assert!(fixture.keyspace.tree.get_highest_persisted_seqno().is_none_or(|persisted| persisted < 2));
    assert_eq!(log.take_unneeded(&fixture.db).unwrap().segments.len(), 1);
}

#[test]
fn a_segment_stays_while_a_part_of_a_batch_that_goes_on_behind_it_is_in_no_file() {
    let fixture = Fixture::new();
    let log = fixture.begin();
    let other = fixture.db.create_keyspace("other", Kind::Plain).unwrap();
    // Three segments, and a last row of another table.
    let mut batch = Batch::default();
    for key in 0..36u64 {
        batch.insert(&fixture.keyspace, key.to_be_bytes(), vec![1; 512 << 10]);
    }
    batch.insert(&other, "x", "one row");
    fixture.apply(&log, 1, batch);
    log.sync().unwrap();
    assert_eq!(log.full_segments(), 2);
    Fixture::flush(&fixture.keyspace);
    log.maintain(log.take_unneeded(&fixture.db)).unwrap();
    assert_eq!(log.full_segments(), 2, "the other table's row is in the log alone");
    assert_eq!(fixture.replayed().unwrap(), [(1, 37)]);
    // Begun in the segment that the last one ends in.
    fixture.apply(&log, 2, fixture.batch(7, 10));
    log.sync().unwrap();
    Fixture::flush(&other);
    log.maintain(log.take_unneeded(&fixture.db)).unwrap();
    assert_eq!(log.full_segments(), 0);
    assert_eq!(fixture.replayed().unwrap(), [(2, 2)], "without the rest of the one before");
}

#[test]
fn a_batch_without_its_beginning_is_damage() {
    let fixture = Fixture::new();
    let log = fixture.begin();
    let mut batch = Batch::default();
    for key in 0..6u64 {
        batch.insert(&fixture.keyspace, key.to_be_bytes(), vec![1; 300 << 10]);
    }
    log.append(1, &batch).unwrap();
    log.append(2, &fixture.batch(2, 10)).unwrap();
    log.sync().unwrap();
    // As if the segment with its beginning had been let go.
    let second = numbers(&fixture.path()).unwrap()[1];
    let Found::Checkpoint(checkpoint) = Checkpoint::read(&fixture.path()).unwrap() else { panic!() };
    let mut first = [0; HEADER_BYTES];
    let file = std::fs::File::open(path_of(&fixture.path(), second)).unwrap();
    file.read_exact_at(&mut first, 0).unwrap();
    let header = record::read_header(checkpoint.seed(second), &first).unwrap();
    let place = LogPlace { segment: second, byte: 0, fragment: header.fragment.number };
    Checkpoint { place, ..checkpoint }.write(&fixture.path()).unwrap();
    let damage = fixture.replayed().unwrap_err();
    assert_eq!(damage.what, "the beginning of its batch is missing");
    assert_eq!((damage.byte, damage.fragment), (0, place.fragment));
}

#[test]
fn what_was_durable_is_said_before_a_pause() {
    let fixture = Fixture::new();
    let log = fixture.begin();
    assert!(!log.state_durable().unwrap(), "there is nothing to say");
    log.append(1, &fixture.batch(1, 10)).unwrap();
    assert!(!log.state_durable().unwrap(), "it is not durable");
    log.sync().unwrap();
    assert!(log.state_durable().unwrap());
    log.sync().unwrap();
    assert!(!log.state_durable().unwrap(), "it has been said");
    let path = path_of(&fixture.path(), 1);
    flip(&path, HEADER_BYTES as u64 + 3);
    let damage = fixture.replayed().unwrap_err();
    assert_eq!((damage.file, damage.byte, damage.fragment), (path, 0, 0));
    end_at(&fixture.path(), 0).unwrap();
    assert_eq!(fixture.replayed().unwrap(), []);
}

#[test]
fn a_log_without_its_checkpoint_is_not_empty() {
    let fixture = Fixture::new();
    let log = fixture.begin();
    log.append(1, &fixture.batch(1, 10)).unwrap();
    log.sync().unwrap();
    let path = Checkpoint::path(&fixture.path());
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, vec![0; whole.len()]).unwrap();
    assert_eq!(fixture.replayed().unwrap_err().file, path);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(fixture.replayed().unwrap_err().file, path);
    end_at(&fixture.path(), 0).unwrap();
    assert_eq!(fixture.replayed().unwrap(), []);
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(fixture.replayed().unwrap(), [(1, 2)]);
}

/// Bytes that are written again are unchanged, from the beginning of the log to its end, over several segments and blocks.
#[test]
fn what_is_made_durable_is_what_was_read() {
    let fixture = Fixture::new();
    let sizes = Sizes { segment: 3 << 20, first_segment: 64 << 10, fragment: 16 << 10, buffer_max: 32 << 10 };
    let log = RedoLog::begin_with(&fixture.path(), sizes).unwrap();
    let contents = || read_log(&fixture.path(), &mut |_, _| {}).unwrap();
    let files = || -> Vec<Vec<u8>> {
        let numbers = numbers(&fixture.path()).unwrap();
        numbers.into_iter().map(|number| std::fs::read(path_of(&fixture.path(), number)).unwrap()).collect()
    };
    let mut segments = Vec::new();
    for sequence in 1..40 {
        log.append(sequence, &fixture.batch(sequence, 200_000)).unwrap();
        log.write().unwrap();
        let (read, before) = (contents(), files());
        assert_eq!(read.batches, sequence);
        make_durable(&read).unwrap();
        assert!(files() == before && contents() == read, "batch {sequence}");
        segments.push(read.end.segment);
    }
    segments.dedup();
    assert!(segments.len() > 2, "{segments:?}");
    // Behind a checkpoint, too, and where there is nothing.
    log.clear().unwrap();
    let read = contents();
    make_durable(&read).unwrap();
    assert_eq!((read.batches, contents()), (0, read));
    make_durable(&LogContents::default()).unwrap();
}
