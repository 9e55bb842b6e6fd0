//! A history checker: transactions read lists and append their own number to some. The final lists give the order of all versions, and
//! so the dependencies of transactions. A cycle of dependencies is an anomaly.

use crate::fixture::*;
use parking_lot::Mutex;
use squall_row_store::{IsolationLevel, LockMode, LockRequest, LockWait, StoreOptions, StoreResult, Table};
use squall_test_support::random::Random;
use squall_types::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const KEYS: i64 = 5;
const THREADS: u64 = 4;
const TRANSACTIONS: u64 = 120;

/// A committed transaction: its number, and for each key the list that it found there before its own append.
struct Committed {
    number: u64,
    found: Vec<(i64, Vec<u64>)>,
    appended: BTreeSet<i64>,
}

fn list(values: &[Value]) -> Vec<u64> {
    let Value::String(text) = &values[2] else { panic!("a list is a text") };
    text.split(' ').filter(|number| !number.is_empty()).map(|number| number.parse().unwrap()).collect()
}

fn transact(
    fixture: &Fixture,
    table: &Table,
    level: IsolationLevel,
    number: u64,
    random: &mut Random,
) -> StoreResult<Committed> {
    let wait = LockWait::Timeout(Duration::from_secs(30));
    let mut txn = fixture.store.begin(level, false);
    txn.begin_statement(wait);
    let mut committed = Committed { number, found: Vec::new(), appended: BTreeSet::new() };
    for _ in 0..1 + random.below(4) {
        let id = random.below(KEYS as u64) as i64;
        let at = key(table, id);
        if random.below(2) == 0 {
            let values = txn.get(table, &at)?.expect("lists stay").values(table)?;
            let mut found = list(&values);
            if committed.appended.contains(&id) {
                assert_eq!(found.pop(), Some(number), "a transaction sees what it has written");
            }
            committed.found.push((id, found));
        } else if committed.appended.insert(id) {
            let request = LockRequest { mode: LockMode::Exclusive, wait };
            let old = txn.get_locked(table, &at, request)?.expect("lists stay");
            let mut values = old.values(table)?;
            let found = list(&values);
            let Value::String(text) = &mut values[2] else { panic!("a list is a text") };
            text.push_str(&format!(" {number}"));
            txn.update(table, &old, &values)?;
            committed.found.push((id, found));
        }
        std::thread::yield_now();
    }
    txn.commit()?;
    Ok(committed)
}

/// Runs transactions at a level; the lists that remain, and what the committed ones have seen.
fn run(level: IsolationLevel, options: StoreOptions) -> (BTreeMap<i64, Vec<u64>>, Vec<Committed>) {
    let (fixture, table) = Fixture::plain_with(options);
    let mut txn = fixture.store.begin(level, false);
    for id in 0..KEYS {
        txn.insert(&table, &row(id, id, "", None)).unwrap();
    }
    txn.commit().unwrap();
    let history = Mutex::new(Vec::new());
    let mut random = Random::of_run(&format!("a history at {level:?}"));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (fixture, table, history) = (&fixture, &table, &history);
            let mut random = Random::new(random.number());
            scope.spawn(move || {
                for at in 0..TRANSACTIONS {
                    if let Ok(committed) = transact(fixture, table, level, thread * TRANSACTIONS + at + 1, &mut random)
                    {
                        history.lock().push(committed);
                    }
                }
            });
        }
    });
    let mut txn = fixture.store.begin(level, true);
    let lists = (0..KEYS).map(|id| (id, list(&get(&mut txn, &table, id).unwrap()))).collect();
    (lists, history.into_inner())
}

/// Pairs of transactions of which the first must come before the second.
type Order = Vec<(u64, u64)>;

/// Checks reads against the final lists, and returns the dependencies of transactions: one wrote or read a version of the other, or
/// read a version that the other then changed.
fn dependencies(lists: &BTreeMap<i64, Vec<u64>>, history: &[Committed]) -> (Order, Order) {
    let numbers: BTreeSet<u64> = history.iter().map(|committed| committed.number).collect();
    let (mut after, mut before) = (Vec::new(), Vec::new());
    for list in lists.values() {
        assert!(list.iter().all(|number| numbers.contains(number)), "what was rolled back is nowhere");
        after.extend(list.windows(2).map(|pair| (pair[0], pair[1])));
    }
    for committed in history {
        for id in &committed.appended {
            let times = lists[id].iter().filter(|number| **number == committed.number).count();
            assert_eq!(times, 1, "no append is lost");
        }
        for (id, found) in &committed.found {
            let list = &lists[id];
            assert!(list.starts_with(found), "what was read is what was there once");
            if let Some(last) = found.last() {
                after.push((*last, committed.number));
            }
            if let Some(next) = list.get(found.len()).filter(|next| **next != committed.number) {
                before.push((committed.number, *next));
            }
        }
    }
    (after, before)
}

/// Whether a transaction must come before itself.
fn has_cycle(edges: &[(u64, u64)]) -> bool {
    let mut followers: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut waits: BTreeMap<u64, usize> = BTreeMap::new();
    for (first, then) in edges.iter().filter(|(first, then)| first != then) {
        followers.entry(*first).or_default().push(*then);
        waits.entry(*first).or_default();
        *waits.entry(*then).or_default() += 1;
    }
    let mut free: Vec<u64> = waits.iter().filter(|(_, count)| **count == 0).map(|(number, _)| *number).collect();
    let mut done = 0;
    while let Some(number) = free.pop() {
        done += 1;
        for follower in followers.get(&number).into_iter().flatten() {
            if let Some(count) = waits.get_mut(follower) {
                *count -= 1;
                if *count == 0 {
                    free.push(*follower);
                }
            }
        }
    }
    done < waits.len()
}

#[test]
fn a_cycle_is_found() {
    assert!(!has_cycle(&[(1, 2), (2, 3), (1, 3)]));
    assert!(has_cycle(&[(1, 2), (2, 3), (3, 1), (0, 1)]));
}

#[test]
fn serializable_histories_have_an_order() {
    let (lists, history) = run(IsolationLevel::Serializable, options());
    let (mut edges, anti) = dependencies(&lists, &history);
    edges.extend(anti);
    assert!(!has_cycle(&edges));
    assert!(history.len() > 20, "some transactions commit: {}", history.len());
}

#[test]
fn repeatable_read_histories_have_an_order_of_writes_and_reads_of_them() {
    for options in [options(), spilling_options()] {
        let (lists, history) = run(IsolationLevel::RepeatableRead, options);
        let (edges, _) = dependencies(&lists, &history);
        assert!(!has_cycle(&edges));
        assert!(history.len() > 20, "some transactions commit: {}", history.len());
    }
}
