//! Recovery adds the files that the log names to their tables, once.

use super::*;
use crate::engine::Slice;
use crate::pending_files::PendingFiles;
use crate::table_files::{FilePlan, TableFiles};

struct Fixture {
    folder: tempfile::TempDir,
    db: Engine,
    place: Place,
}

const OLD: &[u8] = &[0, 1];
const NEW: &[u8] = &[0, 2];
const GONE: &[u8] = &[0, 3];

fn open(folder: &Path) -> Engine {
    let options = EngineOptions { cache_bytes: 1 << 20, threads: 1, filters: Arc::new(|_| None) };
    Engine::open(&folder.join("engine"), options).unwrap().0
}

impl Fixture {
    /// An engine, and a log with three batches of a keyspace: keys, files, and a key. They are not applied when the process dies.
    fn new() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine");
        let options = EngineOptions { cache_bytes: 1 << 20, threads: 1, filters: Arc::new(|_| None) };
        Engine::create(&path, options, b"k", b"v").unwrap();
        let db = open(folder.path());
        let keyspace = db.create_keyspace("t", Kind::Plain).unwrap();
        std::fs::create_dir(folder.path().join("redo")).unwrap();
        let log = RedoLog::begin(&folder.path().join("redo")).unwrap();
        let mut keys = Batch::default();
        keys.insert(&keyspace, OLD, "before");
        keys.insert(&keyspace, GONE, "before");
        log.append(10, &keys).unwrap();
        let mut files = Batch::default();
        files.push_files(pending(&db, &keyspace, folder.path()));
        files.files_mut()[0].set_needed(true);
        log.append(20, &files).unwrap();
        let mut keys = Batch::default();
        keys.insert(&keyspace, NEW, "after");
        log.append(30, &keys).unwrap();
        log.sync().unwrap();
        Fixture { place: keyspace.place(), folder, db }
    }

    fn crash(self) -> Fixture {
        let Fixture { folder, db, place } = self;
        drop(db);
        Fixture { db: open(folder.path()), folder, place }
    }

    fn replay(&self) -> SqlResult<Keyspace> {
        let keyspace = match self.db.keyspace("t") {
            Some(keyspace) => keyspace,
            None => self.db.open_keyspace(self.place, "t", Kind::Plain, false).unwrap(),
        };
        pending_files::skip_numbers(&self.db, std::slice::from_ref(&keyspace)).unwrap();
        let newest = replay_into(&self.db, &self.folder.path().join("redo"), std::slice::from_ref(&keyspace))?.0;
        assert_eq!(newest, Some(30));
        self.db.seqno.fetch_max(31);
        self.db.snapshots.publish(30);
        Ok(keyspace)
    }
}

/// A file with a key that is new, one that changes, and one that goes.
fn pending(db: &Engine, keyspace: &Keyspace, folder: &Path) -> PendingFiles {
    let pending = pending_files::make_folder(db).unwrap();
    let plan = FilePlan {
        keyspace,
        gate: &WriteGate::new(folder),
        is_looked_up: &|_| true,
        path: &|id| pending_files::path_of(&pending, keyspace.id(), id),
    };
    let mut files = TableFiles::new(&plan);
    files.write(OLD.into(), Some(Slice::from("files"))).unwrap();
    files.write(NEW.into(), Some(Slice::from("files"))).unwrap();
    files.write(GONE.into(), None).unwrap();
    PendingFiles::new(keyspace, files.finish().unwrap())
}

fn check(keyspace: &Keyspace) {
    let value = |key| keyspace.get(key).unwrap().map(|value| String::from_utf8(value.to_vec()).unwrap());
    assert_eq!([OLD, NEW, GONE].map(value), [Some("files".into()), Some("after".into()), None]);
}

#[test]
fn files_that_the_log_names_become_their_tables_once() {
    let fixture = Fixture::new().crash();
    check(&fixture.replay().unwrap());
    // What is in files by now is not taken twice, what is not is.
    let fixture = fixture.crash();
    let keyspace = fixture.replay().unwrap();
    check(&keyspace);
    assert_eq!(keyspace.tree.table_count(), 2, "the key before the files, and the files");
    pending_files::clear(&fixture.db).unwrap();
    let fixture = fixture.crash();
    check(&fixture.replay().unwrap());
}

#[test]
fn a_file_that_the_log_names_and_that_is_not_there_is_told() {
    let fixture = Fixture::new().crash();
    pending_files::clear(&fixture.db).unwrap();
    let Err(error) = fixture.replay() else { panic!("a part of a transaction is missing") };
    assert!(error.message.contains("engine/pending/"), "{error}");
}
