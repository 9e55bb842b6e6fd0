//! Many writers of one file: all entries are whole and none is missing, whatever happens to the file meanwhile.

use squall_logs::{LogFile, Rotation};
use squall_test_support::SetOnDrop;
use squall_test_support::random::Random;
use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const THREADS: u64 = 64;
/// Entries of each thread in the usual run.
const ENTRIES: u64 = 300;
/// Those of `a_long_run`, in parts that fit on a disk: 100,000 in all.
const LONG_ENTRIES: u64 = 10_000;
const LONG_PARTS: u64 = 10;
const ENTRY_BYTES_MIN: usize = 10;
const ENTRY_BYTES_MAX: usize = 64 << 10;

fn log_file(path: &Path, header: &[u8], rotation: Rotation) -> (Arc<LogFile>, Arc<AtomicU64>) {
    let lost = Arc::new(AtomicU64::new(0));
    let file = LogFile::new(lost.clone());
    file.set(Some(path), header, rotation, false).expect("the file opens");
    (Arc::new(file), lost)
}

/// Lengths from 10 bytes to 64 kB, most of them short.
struct Lengths(Random);

impl Lengths {
    fn next(&mut self) -> usize {
        let bits = 4 + self.0.below(13);
        ENTRY_BYTES_MIN.max(self.0.below(1 << bits) as usize).min(ENTRY_BYTES_MAX)
    }
}

/// An entry that says whose it is, how long it is, and has its own letter in every byte that is left.
fn entry(thread: u64, number: u64, length: usize) -> Vec<u8> {
    let letter = b'a' + (thread + number) as u8 % 26;
    let mut line = format!("{thread},{number},").into_bytes();
    line.resize(length.max(line.len() + 1), letter);
    line.push(b'\n');
    line
}

/// Checks every line of a file, and adds who has written it.
fn check(path: &Path, seen: &mut HashSet<(u64, u64)>) {
    let text = std::fs::read(path).expect("the log");
    assert!(text.is_empty() || text.ends_with(b"\n"), "the last entry of {} is torn", path.display());
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let mut parts = line.splitn(3, |byte| *byte == b',');
        let mut number = || -> u64 {
            let digits = parts.next().expect("a part");
            std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).expect("a number")
        };
        let (thread, number) = (number(), number());
        let rest = parts.next().expect("letters");
        let letter = b'a' + (thread + number) as u8 % 26;
        assert!(rest.iter().all(|byte| *byte == letter), "another entry is inside of {thread},{number}");
        assert!(seen.insert((thread, number)), "{thread},{number} is there twice");
    }
}

fn write_all(file: &Arc<LogFile>, entries: u64) {
    let mut random = Random::of_run("logs/tests/files.rs");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (file, mut lengths) = (file.clone(), Lengths(Random::new(random.number())));
            scope.spawn(move || {
                for number in 0..entries {
                    assert!(file.append(&entry(thread, number, lengths.next()), number as i64 * 20_000));
                }
            });
        }
    });
}

fn run(entries: u64, buffered: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("general.log");
    let (file, lost) = log_file(&path, b"", Rotation::default());
    file.set_buffered(buffered);
    write_all(&file, entries);
    file.drain();
    let mut seen = HashSet::new();
    check(&path, &mut seen);
    assert_eq!((seen.len() as u64, lost.load(Ordering::Relaxed)), (THREADS * entries, 0));
}

#[test]
fn entries_of_64_threads_stay_apart() {
    run(ENTRIES, false);
    run(ENTRIES, true);
}

/// `cargo test --release -p squall-logs -- --ignored`: writes some 30 GB, of which 3 GB are on the disk at once.
#[test]
#[ignore = "takes minutes and much of the disk"]
fn a_long_run() {
    for _ in 0..LONG_PARTS {
        run(LONG_ENTRIES, false);
    }
}

#[test]
fn renaming_and_reopening_loses_nothing() {
    rename_and_reopen(false);
    rename_and_reopen(true);
}

fn rename_and_reopen(buffered: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("general.log");
    let (file, lost) = log_file(&path, b"", Rotation::default());
    file.set_buffered(buffered);
    let done = AtomicBool::new(false);
    let mut parts: Vec<PathBuf> = Vec::new();
    std::thread::scope(|scope| {
        let end = SetOnDrop(&done);
        let rotator = scope.spawn(|| {
            let mut parts = Vec::new();
            while !done.load(Ordering::Acquire) || parts.is_empty() {
                let part = folder.path().join(format!("general.log.{}", parts.len()));
                std::fs::rename(&path, &part).expect("rename");
                file.reopen().expect("a new file");
                // No thread writes to the old file any more: it can be read, packed or moved away at once.
                let length = std::fs::metadata(&part).expect("the part").len();
                parts.push((part, length));
            }
            parts
        });
        write_all(&file, ENTRIES);
        drop(end);
        for (part, length) in rotator.join().expect("no panic") {
            assert_eq!(std::fs::metadata(&part).expect("the part").len(), length, "written to after it was let go of");
            parts.push(part);
        }
    });
    file.drain();
    parts.push(path);
    let mut seen = HashSet::new();
    parts.iter().for_each(|part| check(part, &mut seen));
    assert_eq!((seen.len() as u64, lost.load(Ordering::Relaxed)), (THREADS * ENTRIES, 0));
}

#[test]
fn rotation_by_size_and_age() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("general.log");
    let (file, lost) = log_file(&path, b"", Rotation { bytes: 1 << 16, seconds: 0 });
    write_all(&file, ENTRIES);
    let mut seen = HashSet::new();
    let parts: Vec<PathBuf> =
        std::fs::read_dir(folder.path()).expect("the folder").flatten().map(|part| part.path()).collect();
    assert!(parts.len() > 1, "{parts:?}");
    parts.iter().for_each(|part| check(part, &mut seen));
    assert_eq!((seen.len() as u64, lost.load(Ordering::Relaxed)), (THREADS * ENTRIES, 0));
}

#[test]
fn files_are_their_owners_and_begin_with_the_header() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("general.log");
    let (file, _) = log_file(&path, b"header\n", Rotation::default());
    assert!(file.append(b"entry\n", 0));
    file.reopen().expect("the same file again");
    assert_eq!(std::fs::read(&path).expect("the log"), b"header\nentry\nheader\n");
    let mode = std::fs::metadata(&path).expect("the log").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    file.set(None, b"", Rotation::default(), false).expect("closed");
    assert!(!file.append(b"entry\n", 0));
}

#[test]
fn a_deleted_file_is_made_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("general.log");
    let (file, lost) = log_file(&path, b"", Rotation::default());
    assert!(file.append(b"before\n", 1_000_000));
    std::fs::remove_file(&path).expect("removed");
    assert!(file.append(b"to nobody\n", 1_500_000));
    assert!(file.append(b"after\n", 3_000_000));
    assert_eq!(std::fs::read(&path).expect("the log"), b"after\n");
    assert_eq!(lost.load(Ordering::Relaxed), 1);
    // With its folder gone there is nowhere to make it; when the folder comes back, there is.
    std::fs::remove_dir_all(folder.path()).expect("removed");
    assert!(!file.append(b"lost\n", 5_000_000));
    assert!(lost.load(Ordering::Relaxed) > 1);
    std::fs::create_dir(folder.path()).expect("a folder again");
    assert!(file.append(b"again\n", 7_000_000));
    assert_eq!(std::fs::read(&path).expect("the log"), b"again\n");
}

#[test]
fn a_full_disk_is_counted() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        squall_test_support::skip("a_full_disk_is_counted", "/dev/full");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("general.log");
    std::os::unix::fs::symlink(full, &path).expect("a link");
    let (file, lost) = log_file(&path, b"header\n", Rotation::default());
    for number in 0..10 {
        assert!(!file.append(b"entry\n", number));
    }
    assert_eq!(lost.load(Ordering::Relaxed), 10);
    file.set_buffered(true);
    for number in 0..10 {
        assert!(file.append(b"entry\n", number));
    }
    file.drain();
    assert_eq!(lost.load(Ordering::Relaxed), 20);
    std::fs::remove_file(&path).expect("removed");
    file.reopen().expect("a file");
    assert!(file.append(b"entry\n", 10));
    file.drain();
    assert_eq!(std::fs::read(&path).expect("the log"), b"header\nentry\n");
}

#[test]
fn what_cannot_be_opened_is_an_error_and_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let lost = Arc::new(AtomicU64::new(0));
    let file = LogFile::new(lost.clone());
    let path = folder.path().join("missing/general.log");
    assert!(file.set(Some(&path), b"", Rotation::default(), false).is_err());
    assert!(!file.append(b"entry\n", 0));
    assert_eq!(lost.load(Ordering::Relaxed), 1);
    // A pipe without a reader must not hold anything up.
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success());
    if made {
        assert!(file.set(Some(&pipe), b"", Rotation::default(), false).is_err());
    }
}
