//! The checker finds anomalies, and accepts all histories that a level allows.

use crate::check::check;
use crate::record::{Level, List, Operation, Outcome, Transaction};
use std::collections::HashMap;
use std::time::Duration;

/// `a 1 10` appends 10 to list 1, `r 1 10,11` reads it.
fn transaction(client: u64, began: u64, ended: u64, outcome: Outcome, operations: &[&str]) -> Transaction {
    let parse = |text: &&str| {
        let mut words = text.split(' ');
        let (kind, key) = (words.next(), words.next().unwrap().parse().unwrap());
        let list: List = words.next().unwrap_or("").split(',').filter_map(|element| element.parse().ok()).collect();
        match kind {
            Some("a") => Operation::Append { key, element: list[0] },
            _ => Operation::Read { key, found: list, sent: Duration::from_secs(began) },
        }
    };
    let operations = operations.iter().map(parse).collect();
    Transaction { client, began: Duration::from_secs(began), ended: Duration::from_secs(ended), outcome, operations }
}

use Level::{ReadCommitted, RepeatableRead, Serializable};
use Outcome::{Aborted, Committed, Unknown};

/// Checks a history at each level against those that allow it.
fn expect(history: &[Transaction], last: &[(u64, &[u64])], allowed: &[Level]) {
    let last: HashMap<u64, List> = last.iter().map(|(key, list)| (*key, list.to_vec())).collect();
    for level in Level::ALL {
        let result = check(level, history, &last);
        // READ UNCOMMITTED is served as READ COMMITTED.
        let as_served = if level == Level::ReadUncommitted { ReadCommitted } else { level };
        assert_eq!(result.is_ok(), allowed.contains(&as_served), "{level:?}: {:?}", result.err());
    }
}

#[test]
fn what_is_in_order() {
    let history = [
        transaction(1, 0, 5, Committed, &["a 1 10", "r 1 10", "a 1 11", "a 2 12"]),
        transaction(2, 3, 8, Committed, &["r 1 ", "r 2 "]),
        transaction(3, 6, 9, Committed, &["r 1 10,11", "a 1 13", "r 1 10,11,13"]),
        transaction(4, 7, 9, Aborted, &["a 2 14", "r 2 12,14"]),
        transaction(5, 7, 9, Unknown, &["a 2 15"]),
        transaction(6, 7, 9, Unknown, &["a 2 16"]),
    ];
    expect(&history, &[(1, &[10, 11, 13]), (2, &[12, 16])], &Level::ALL);
}

#[test]
fn what_no_level_allows() {
    let write = || transaction(1, 0, 1, Committed, &["a 1 10", "a 1 11", "a 2 12"]);
    // An acknowledged element is gone, or in part.
    expect(&[write()], &[(1, &[10, 11]), (2, &[])], &[]);
    expect(&[write()], &[(1, &[10]), (2, &[12])], &[]);
    // So is one that may not have been done, but of which a part is there.
    expect(&[transaction(1, 0, 1, Unknown, &["a 1 10", "a 2 12"])], &[(1, &[10]), (2, &[])], &[]);
    // Half of a transaction is seen.
    let reader = transaction(2, 0, 2, Committed, &["r 1 10"]);
    expect(&[write(), reader], &[(1, &[10, 11]), (2, &[12])], &[]);
    // What was rolled back is there, or is seen.
    let undone = || transaction(1, 0, 1, Aborted, &["a 1 10"]);
    expect(&[undone()], &[(1, &[10])], &[]);
    expect(&[undone(), transaction(2, 0, 2, Committed, &["r 1 10"])], &[(1, &[])], &[]);
    // Seen, and gone after a power cut.
    let cut = transaction(1, 0, 1, Unknown, &["a 1 10"]);
    expect(&[cut, transaction(2, 0, 2, Committed, &["r 1 10"])], &[(1, &[])], &[]);
    // An acknowledged write is not seen later, or not any more by the same client.
    let write = transaction(1, 0, 1, Committed, &["a 1 10"]);
    expect(&[write, transaction(2, 2, 3, Committed, &["r 1 "])], &[(1, &[10])], &[]);
    let slow = transaction(1, 0, 9, Committed, &["a 1 10"]);
    let twice = [transaction(2, 2, 3, Committed, &["r 1 10"]), transaction(2, 4, 5, Committed, &["r 1 "])];
    expect(&[&[slow], &twice[..]].concat(), &[(1, &[10])], &[]);
    // A transaction does not see its own.
    expect(&[transaction(1, 0, 1, Committed, &["a 1 10", "r 1 "])], &[(1, &[10])], &[]);
    // Two that each see the other's (G1c).
    let circle = [
        transaction(1, 0, 9, Committed, &["a 1 10", "r 2 20"]),
        transaction(2, 0, 9, Committed, &["a 2 20", "r 1 10"]),
    ];
    expect(&circle, &[(1, &[10]), (2, &[20])], &[]);
}

#[test]
fn what_read_committed_allows() {
    // A lost update: both have read the same version, and both write.
    let lost =
        [transaction(1, 0, 9, Committed, &["r 1 ", "a 1 10"]), transaction(2, 0, 9, Committed, &["r 1 ", "a 1 20"])];
    expect(&lost, &[(1, &[10, 20])], &[ReadCommitted]);
    // Two lists at different moments.
    let skewed =
        [transaction(1, 0, 5, Committed, &["a 1 10", "a 2 11"]), transaction(2, 0, 9, Committed, &["r 1 ", "r 2 11"])];
    expect(&skewed, &[(1, &[10]), (2, &[11])], &[ReadCommitted]);
    // One list at different moments.
    let changed = [transaction(1, 0, 5, Committed, &["a 1 10"]), transaction(2, 0, 9, Committed, &["r 1 ", "r 1 10"])];
    expect(&changed, &[(1, &[10])], &[ReadCommitted]);
}

#[test]
fn what_snapshot_isolation_allows() {
    // Each writes what the other has read (write skew).
    let skew =
        [transaction(1, 0, 9, Committed, &["r 1 ", "a 2 10"]), transaction(2, 0, 9, Committed, &["r 2 ", "a 1 20"])];
    expect(&skew, &[(1, &[20]), (2, &[10])], &[ReadCommitted, RepeatableRead]);
    let serial =
        [transaction(1, 0, 9, Committed, &["r 1 ", "a 2 10"]), transaction(2, 0, 9, Committed, &["r 2 10", "a 1 20"])];
    expect(&serial, &[(1, &[20]), (2, &[10])], &[ReadCommitted, RepeatableRead, Serializable]);
}

/// What a cycle is called in the message.
fn named(level: Level, history: &[Transaction], last: &[(u64, &[u64])]) -> String {
    let last: HashMap<u64, List> = last.iter().map(|(key, list)| (*key, list.to_vec())).collect();
    let wrong = check(level, history, &last).err().expect("a cycle");
    wrong.split(',').next().unwrap_or_default().to_owned()
}

#[test]
fn cycles_have_names() {
    let g0 = [
        transaction(1, 0, 9, Committed, &["a 1 10", "a 2 11"]),
        transaction(2, 0, 9, Committed, &["a 1 20", "a 2 21"]),
    ];
    assert_eq!(named(ReadCommitted, &g0, &[(1, &[10, 20]), (2, &[21, 11])]), "G0");
    let g1c = [
        transaction(1, 0, 9, Committed, &["a 1 10", "r 2 20"]),
        transaction(2, 0, 9, Committed, &["a 2 20", "r 1 10"]),
    ];
    assert_eq!(named(ReadCommitted, &g1c, &[(1, &[10]), (2, &[20])]), "G1c");
    // A phantom: a condition finds no list 1, and then list 2 of who has made it.
    let single =
        [transaction(1, 0, 5, Committed, &["a 1 10", "a 2 11"]), transaction(2, 0, 9, Committed, &["r 1 ", "r 2 11"])];
    assert_eq!(named(RepeatableRead, &single, &[(1, &[10]), (2, &[11])]), "G-single");
    let skew =
        [transaction(1, 0, 9, Committed, &["r 1 ", "a 2 10"]), transaction(2, 0, 9, Committed, &["r 2 ", "a 1 20"])];
    assert_eq!(named(Serializable, &skew, &[(1, &[20]), (2, &[10])]), "G2");
}
