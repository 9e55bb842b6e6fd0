//! Backups of a directory with files that change and files that do not.

use squall_backup::{
    BackupHeader, BackupWriter, Error, Readers, Repository, Source, Unwatched, Watch, is_being_restored,
};
use std::fs;
use std::path::Path;

const SERVER: &str = "server";

/// A copy that is not to go on.
struct Stopped;

impl Watch for Stopped {
    fn add(&self, _bytes: u64) {}

    fn goes_on(&self) -> bool {
        false
    }
}

fn header() -> BackupHeader {
    BackupHeader { taken_micros: 1, version: "1".into(), server: SERVER.into(), seqno: 2 }
}

fn source(directory: &Path, name: &str) -> Source {
    let path = directory.join(name);
    Source { bytes: fs::metadata(&path).unwrap().len(), path, name: name.into() }
}

fn share(writer: &mut BackupWriter<'_>, directory: &Path, name: &str, identity: u128) {
    let source = source(directory, name);
    let path = source.path.clone();
    writer.write_shared(source, identity, false, || Ok(Box::new(fs::File::open(path)?)), &Unwatched).unwrap();
}

#[test]
fn files_that_stay_are_shared() {
    let (data, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(data.path().join("t")).unwrap();
    fs::write(data.path().join("t/1"), vec![7; 3 << 20]).unwrap();
    fs::write(data.path().join("log"), b"one").unwrap();
    let root = root.path().join("backups");
    for (time, log) in [("1", "one"), ("2", "two")] {
        fs::write(data.path().join("log"), log).unwrap();
        let repository = Repository::open_to_write(&root).unwrap();
        let mut writer = repository.begin(time, SERVER).unwrap();
        writer.write_bytes("key.pem".into(), b"secret", Readers::Owner).unwrap();
        let log = Source { bytes: 2, ..source(data.path(), "log") };
        writer.write_beginning(log, &Unwatched).unwrap();
        share(&mut writer, data.path(), "t/1", 5);
        let summary = writer.finish(header()).unwrap();
        assert_eq!((summary.name.as_str(), summary.files), (time, 3));
        assert_eq!(summary.copied_files, if time == "1" { 3 } else { 2 });
    }
    let repository = Repository::open_to_read(&root).unwrap();
    assert_eq!(repository.names().unwrap(), ["1", "2"]);
    for (name, log) in [(Some("1"), "on"), (None, "tw")] {
        let backup = repository.backup(name).unwrap();
        assert_eq!(backup.damages(&Unwatched).unwrap(), []);
        let target = root.with_file_name(format!("restored-{log}"));
        backup.restore(&target, &Unwatched).unwrap();
        assert_eq!(fs::read_to_string(target.join("log")).unwrap(), log);
        assert_eq!(fs::read(target.join("t/1")).unwrap(), vec![7; 3 << 20]);
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(target.join("key.pem")).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(backup.restore(&target, &Unwatched), Err(Error::NotEmpty(_))));
        assert!(!is_being_restored(&target));
    }
    assert!(matches!(Repository::open_to_write(&root), Err(Error::Busy(_))));
    assert!(matches!(repository.backup(Some("3")), Err(Error::Missing(_, Some(_)))));
}

/// A directory that is there stays, since it may be another disk's, or of a folder that nothing can be made in.
#[test]
fn empty_directories_are_filled() {
    let (target, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let repository = Repository::open_to_write(root.path()).unwrap();
    let mut writer = repository.begin("1", SERVER).unwrap();
    writer.write_bytes("rows/log/1".into(), b"content", Readers::Default).unwrap();
    writer.finish(header()).unwrap();
    // What a killed restore leaves.
    fs::create_dir_all(target.path().join("restoring/rows/log")).unwrap();
    fs::write(target.path().join("restoring/rows/log/1"), b"cont").unwrap();
    assert!(is_being_restored(target.path()));
    let backup = repository.backup(None).unwrap();
    assert!(matches!(backup.restore(target.path(), &Stopped), Err(Error::Interrupted)));
    assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
    backup.restore(target.path(), &Unwatched).unwrap();
    assert_eq!(fs::read(target.path().join("rows/log/1")).unwrap(), b"content");
    assert!(!is_being_restored(target.path()));
}

#[test]
fn another_server_and_other_identities_share_nothing() {
    let (data, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(data.path().join("a"), b"same").unwrap();
    let repository = Repository::open_to_write(root.path()).unwrap();
    for (time, server, identity, copied) in [("1", "x", 1, 1), ("2", "y", 1, 1), ("3", "y", 2, 1), ("4", "y", 2, 0)] {
        let mut writer = repository.begin(time, server).unwrap();
        share(&mut writer, data.path(), "a", identity);
        let header = BackupHeader { server: server.into(), ..header() };
        assert_eq!(writer.finish(header).unwrap().copied_files, copied, "{time}");
    }
}

#[test]
fn damage_is_found_and_not_restored() {
    let (data, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(data.path().join("a"), b"content").unwrap();
    let repository = Repository::open_to_write(root.path()).unwrap();
    let mut writer = repository.begin("1", SERVER).unwrap();
    share(&mut writer, data.path(), "a", 1);
    writer.finish(header()).unwrap();
    let shared = glob_one(&root.path().join("files"));
    for damage in [&b"contenT"[..], b"conten", b""] {
        fs::write(&shared, damage).unwrap();
        let backup = repository.backup(None).unwrap();
        assert_eq!(backup.damages(&Unwatched).unwrap().len(), 1);
        let target = data.path().join("restored");
        assert!(matches!(backup.restore(&target, &Unwatched), Err(Error::Damaged(..))));
        assert!(!target.exists());
    }
    // What is damaged by its length is copied again.
    let mut writer = repository.begin("2", SERVER).unwrap();
    share(&mut writer, data.path(), "a", 1);
    assert_eq!(writer.finish(header()).unwrap().copied_files, 1);
    assert_eq!(repository.backup(Some("1")).unwrap().damages(&Unwatched).unwrap(), []);
}

fn glob_one(files: &Path) -> std::path::PathBuf {
    let folder = fs::read_dir(files).unwrap().next().unwrap().unwrap().path();
    fs::read_dir(folder).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn interrupted_backups_leave_none() {
    let (data, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(data.path().join("a"), b"content").unwrap();
    let repository = Repository::open_to_write(root.path()).unwrap();
    let mut writer = repository.begin("1", SERVER).unwrap();
    let stopped = writer.write_shared(source(data.path(), "a"), 1, false, || Ok(Box::new(&b"content"[..])), &Stopped);
    assert!(matches!(stopped, Err(Error::Interrupted)));
    drop(writer);
    assert_eq!(fs::read_dir(root.path().join("backups")).unwrap().count(), 0);
    assert!(matches!(repository.backup(None), Err(Error::Missing(_, None))));
    // What a killed process leaves is removed.
    fs::create_dir(root.path().join("backups/0.unfinished")).unwrap();
    drop(repository.begin("2", SERVER).unwrap());
    assert_eq!(fs::read_dir(root.path().join("backups")).unwrap().count(), 0);
}

#[test]
fn old_backups_go_with_their_files() {
    let (data, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for name in ["a", "b", "c"] {
        fs::write(data.path().join(name), name.repeat(10)).unwrap();
    }
    let repository = Repository::open_to_write(root.path()).unwrap();
    for (time, names) in [("1", ["a", "b"]), ("2", ["b", "c"])] {
        let mut writer = repository.begin(time, SERVER).unwrap();
        names.iter().for_each(|name| share(&mut writer, data.path(), name, 1));
        writer.finish(header()).unwrap();
    }
    let removed = repository.keep(1).unwrap();
    assert_eq!((removed.backups, removed.files, removed.bytes), (vec!["1".to_owned()], 1, 10));
    assert_eq!(repository.backup(None).unwrap().damages(&Unwatched).unwrap(), []);
    assert_eq!(repository.keep(5).unwrap().files, 0);
    assert_eq!(repository.keep(0).unwrap().files, 2);
}

#[test]
fn other_directories_are_left_alone() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("mine"), b"x").unwrap();
    assert!(matches!(Repository::open_to_write(root.path()), Err(Error::NotBackups(_))));
    assert!(matches!(Repository::open_to_read(root.path()), Err(Error::Missing(_, None))));
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
}
