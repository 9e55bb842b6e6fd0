//! The end of the log after a power cut: cut off, or full of zeros. All synced commits are there, and each commit is there as a whole
//! or not at all.

use crate::fixture::*;
use squall_row_store::{DdlChanges, Durability, IsolationLevel, RowStore, TransactionOptions};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Copies the files of an open store as they are at one time: again, where a merge has taken some away or made others
/// meanwhile.
pub fn copy(from: &Path, to: &Path) {
    while !try_copy(from, to) {
        std::fs::remove_dir_all(to).unwrap();
    }
}

/// Whether the same files were there before and after.
fn try_copy(from: &Path, to: &Path) -> bool {
    let before = files(from, Path::new(""));
    let is_copied = before.iter().all(|path| {
        let target = to.join(path);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(from.join(path), target).is_ok()
    });
    is_copied && files(from, Path::new("")) == before
}

/// Paths of all files in a folder of `root`, within it.
fn files(root: &Path, folder: &Path) -> BTreeSet<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else { return BTreeSet::new() };
    let paths = entries.flatten().map(|entry| folder.join(entry.file_name()));
    paths.flat_map(|path| if root.join(&path).is_dir() { files(root, &path) } else { [path].into() }).collect()
}

#[test]
fn a_torn_log_loses_only_its_end() {
    const COMMITS: i64 = 40;
    let (fixture, table) = Fixture::plain();
    for number in 0..COMMITS {
        let options = TransactionOptions {
            durability: Durability::Os,
            ..TransactionOptions::new(IsolationLevel::RepeatableRead)
        };
        let mut txn = fixture.store.begin_with(options, None);
        for at in 0..3 {
            let id = number * 3 + at;
            txn.insert(&table, &row(id, id, &"x".repeat((id % 90) as usize), Some(id))).unwrap();
        }
        txn.commit().unwrap();
    }
    let journal = Path::new("redo/1.redo");
    let log = std::fs::read(fixture.directory.path().join(journal)).unwrap();
    let written = log.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let first = log.windows(4).position(|window| window == b"xxxx").unwrap();
    let mut most = 0;
    for round in 0..24 {
        let directory = tempfile::tempdir().unwrap();
        copy(fixture.directory.path(), directory.path());
        let cut = first + (written - first) * round / 23;
        let mut torn = log.clone();
        match round % 3 {
            0 => torn.truncate(cut),
            1 => torn[cut..].fill(0),
            // The last page did not make it, what came after did.
            _ => {
                let end = (cut + 512).min(written);
                torn[cut..end].fill(0);
            }
        }
        std::fs::write(directory.path().join(journal), torn).unwrap();
        let store = match RowStore::open(directory.path(), options()) {
            Ok(store) => store,
            Err(error) => panic!("round {round}, cut at {cut} of {written}: {error}"),
        };
        let fixture = Fixture { directory, store };
        let table = fixture.table("t1");
        let mut txn = fixture.store.begin(IsolationLevel::RepeatableRead, false);
        let ids = ids(&mut txn, &table);
        assert_eq!(ids.len() % 3, 0, "round {round}: half of a commit");
        assert_eq!(ids, (0..ids.len() as i64).collect::<Vec<_>>(), "round {round}: a gap");
        assert!(ids.len() >= most || round % 3 == 2, "round {round}: more was there with less of the log");
        most = most.max(ids.len());
        // And the store goes on.
        txn.insert(&table, &row(1_000_000, 0, "", None)).unwrap();
        txn.commit().unwrap();
        drop(table);
        let fixture = fixture.reopen();
        fixture.store.commit_ddl(&catalog_of(&[]), &DdlChanges::default()).unwrap();
    }
    assert_eq!(most as i64, COMMITS * 3);
}
