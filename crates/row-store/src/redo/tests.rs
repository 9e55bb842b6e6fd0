use super::record::HEADER_BYTES;
use super::segment::{numbers, path_of};
use super::*;
use fjall::{Keyspace, KeyspaceCreateOptions, Slice};
use std::os::unix::fs::FileExt;

struct Fixture {
    folder: tempfile::TempDir,
    db: Database,
    keyspace: Keyspace,
}

impl Fixture {
    fn new() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::builder(folder.path().join("engine")).open().unwrap();
        let keyspace = db.keyspace("k", KeyspaceCreateOptions::default).unwrap();
        std::fs::create_dir(folder.path().join("redo")).unwrap();
        Fixture { folder, db, keyspace }
    }

    fn path(&self) -> PathBuf {
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
    fn replayed(&self) -> io::Result<Vec<(u64, usize)>> {
        let mut found = Vec::new();
        replay(&self.path(), &mut |sequence, changes| found.push((sequence, changes.len())))?;
        Ok(found)
    }
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
    replay(&fixture.path(), &mut |_, batch| changes.extend(batch)).unwrap();
    let id = fixture.keyspace.id();
    assert_eq!(changes[0], (id, Slice::from(1u64.to_be_bytes()), Some(Slice::from([b'v'; 10]))));
    assert_eq!(changes[1], (id, Slice::from([b"gone", &1u64.to_be_bytes()[..]].concat()), None));
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
    let damaged = path_of(&fixture.path(), numbers[1]);
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&damaged).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 1000).unwrap();
    file.write_all_at(&[byte[0] ^ 1], 1000).unwrap();
    assert_eq!(fixture.replayed().unwrap_err().kind(), io::ErrorKind::InvalidData);
    std::fs::remove_file(&damaged).unwrap();
    assert_eq!(fixture.replayed().unwrap_err().kind(), io::ErrorKind::InvalidData);
}

#[test]
fn segments_go_when_files_have_them_and_are_used_again() {
    let fixture = Fixture::new();
    let log = fixture.begin();
    let apply = |sequence: u64| {
        let batch = fixture.batch(sequence, 100 << 10);
        log.append(sequence, &batch).unwrap();
        for part in batch.into_parts() {
            for (key, value) in part.changes {
                part.keyspace.tree.insert(key, value.unwrap_or_else(Slice::empty), sequence);
            }
        }
    };
    let mut sequence = 0;
    // Until there is a full segment of those that are made ahead.
    while numbers(&fixture.path()).unwrap().len() < 4 {
        sequence += 1;
        apply(sequence);
        log.sync().unwrap();
        log.maintain(log.take_unneeded(&fixture.db)).unwrap();
    }
    assert!(log.full_segments() >= 2, "nothing is in files yet");
    fixture.db.supervisor.seqno.fetch_max(sequence + 1);
    fixture.keyspace.rotate_memtable_and_wait().unwrap();
    log.maintain(log.take_unneeded(&fixture.db)).unwrap();
    assert_eq!(log.full_segments(), 0);
    let sizes: Vec<u64> = numbers(&fixture.path())
        .unwrap()
        .into_iter()
        .map(|number| std::fs::metadata(path_of(&fixture.path(), number)).unwrap().len())
        .collect();
    assert_eq!(sizes, [SEGMENT_BYTES, SEGMENT_BYTES], "the current one and the next");
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
        log.append(sequence, &batch).unwrap();
        match value {
            Some(value) => fixture.keyspace.tree.insert("k", value, sequence),
            None => fixture.keyspace.tree.remove("k", sequence),
        };
    };
    apply(1, Some(Slice::from(vec![1; 900 << 10])));
    apply(2, None);
    // The next segment is begun by another keyspace's change.
    let other = fixture.db.keyspace("other", KeyspaceCreateOptions::default).unwrap();
    let mut batch = Batch::default();
    batch.insert(&other, "k", vec![2; 900 << 10]);
    log.append(3, &batch).unwrap();
    other.tree.insert("k", vec![2; 900 << 10], 3);
    fixture.db.supervisor.seqno.fetch_max(4);
    fixture.db.supervisor.snapshot_tracker.set(4);
    assert_eq!((log.full_segments(), log.take_unneeded(&fixture.db).len()), (1, 0));
    // The files have had the removal, and nothing is left of it or of the row.
    fixture.keyspace.rotate_memtable_and_wait().unwrap();
    fixture.db.supervisor.snapshot_tracker.set(100);
    fixture.keyspace.tree.major_compact(64 << 20, 50).unwrap();
    assert!(fixture.keyspace.tree.get_highest_persisted_seqno().is_none_or(|persisted| persisted < 2));
    assert_eq!(log.take_unneeded(&fixture.db).len(), 1);
}
