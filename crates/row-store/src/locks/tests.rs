//! Locks of several owners: compatibility, queues, time-outs and deadlocks.

use super::*;
use std::time::Duration;

const SECOND: LockWait = LockWait::Timeout(Duration::from_secs(5));

fn owner(id: u64) -> Owner {
    Owner { id, family: id }
}

fn key(name: &str) -> LockKey {
    LockKey::new(TableId(1), name.as_bytes())
}

#[test]
fn shared_locks_go_together_and_exclusive_ones_do_not() {
    let locks = LockTable::new();
    let row = key("a");
    assert_eq!(locks.lock_row(owner(1), &row, LockMode::Shared, LockWait::Nowait), Ok(Acquired::New));
    assert_eq!(locks.lock_row(owner(2), &row, LockMode::Shared, LockWait::Nowait), Ok(Acquired::New));
    assert_eq!(locks.lock_row(owner(3), &row, LockMode::Exclusive, LockWait::Nowait), Err(LockFailure::Nowait));
    assert_eq!(locks.lock_row(owner(3), &row, LockMode::Exclusive, LockWait::SkipLocked), Err(LockFailure::Skipped));
    locks.release(owner(1), &row);
    let raised = locks.lock_row(owner(2), &row, LockMode::Exclusive, LockWait::Nowait);
    assert_eq!(raised, Ok(Acquired::Raised(Mode::Shared)));
    assert_eq!(locks.lock_row(owner(2), &row, LockMode::Shared, LockWait::Nowait), Ok(Acquired::Held));
    assert_eq!(locks.lock_row(owner(1), &row, LockMode::Shared, LockWait::WouldBlock), Err(LockFailure::WouldBlock));
    locks.release(owner(2), &row);
    assert!(locks.is_empty());
}

#[test]
fn what_is_given_back_is_what_was_taken() {
    let locks = LockTable::new();
    let row = key("a");
    let take = |mode| RowLock::of(locks.lock_row(owner(1), &row, mode, LockWait::Nowait).unwrap(), &row);
    let other = |mode| locks.lock_row(owner(2), &row, mode, LockWait::Nowait);
    let first = take(LockMode::Shared);
    let again = take(LockMode::Shared);
    assert!(again.key().is_none());
    assert_eq!(locks.give_back(owner(1), again), None);
    let stronger = take(LockMode::Exclusive);
    assert_eq!(other(LockMode::Shared), Err(LockFailure::Nowait));
    assert_eq!(locks.give_back(owner(1), stronger), None, "it is shared, as before");
    assert_eq!(other(LockMode::Exclusive), Err(LockFailure::Nowait));
    assert_eq!(other(LockMode::Shared), Ok(Acquired::New));
    locks.release(owner(2), &row);
    assert_eq!(locks.give_back(owner(1), first), Some(row.clone()));
    assert!(locks.is_empty());
}

#[test]
fn a_wait_ends_by_release_or_by_time() {
    let locks = LockTable::new();
    let row = key("a");
    locks.lock_row(owner(1), &row, LockMode::Exclusive, LockWait::Nowait).unwrap();
    let soon = LockWait::Timeout(Duration::from_millis(20));
    assert_eq!(locks.lock_row(owner(2), &row, LockMode::Exclusive, soon), Err(LockFailure::Timeout));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| locks.lock_row(owner(2), &row, LockMode::Exclusive, SECOND));
        std::thread::sleep(Duration::from_millis(20));
        locks.release(owner(1), &row);
        assert_eq!(waiting.join().unwrap(), Ok(Acquired::New));
    });
    locks.release(owner(2), &row);
    assert!(locks.is_empty());
}

#[test]
fn a_writer_in_line_is_not_overtaken_by_readers() {
    let locks = LockTable::new();
    let row = key("a");
    locks.lock_row(owner(1), &row, LockMode::Shared, LockWait::Nowait).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| locks.lock_row(owner(2), &row, LockMode::Exclusive, SECOND));
        await_waiters(&locks, 1);
        assert_eq!(locks.lock_row(owner(3), &row, LockMode::Shared, LockWait::Nowait), Err(LockFailure::Nowait));
        locks.release(owner(1), &row);
        writer.join().unwrap().unwrap();
    });
}

#[test]
fn who_wants_a_table_alone_holds_nobody_up_while_a_definition_is_prepared() {
    let locks = &LockTable::new();
    let table = TableId(7);
    let lock = move |number, mode, wait| locks.lock_table(owner(number), table, mode, wait);
    lock(1, TableLock::Write, LockWait::Nowait).unwrap();
    lock(2, TableLock::Definition, LockWait::Nowait).unwrap();
    assert_eq!(lock(3, TableLock::Definition, LockWait::Nowait), Err(LockFailure::Nowait));
    std::thread::scope(|scope| {
        let alone = scope.spawn(|| lock(3, TableLock::Exclusive, SECOND));
        await_waiters(locks, 1);
        // Others write and read on.
        lock(4, TableLock::Write, LockWait::Nowait).unwrap();
        lock(5, TableLock::Read, LockWait::Nowait).unwrap();
        locks.release_table(owner(5), table);
        // The definition itself waits for writers, and they for it.
        let own = Owner { id: 20, family: 2 };
        let defining = scope.spawn(move || locks.lock_table(own, table, TableLock::Exclusive, SECOND));
        await_waiters(locks, 2);
        assert_eq!(lock(6, TableLock::Write, LockWait::Nowait), Err(LockFailure::Nowait));
        locks.release_table(owner(1), table);
        locks.release_table(owner(4), table);
        assert_eq!(defining.join().unwrap(), Ok(Acquired::New));
        assert_eq!(locks.waiter_count(), 1);
        locks.release_table(own, table);
        locks.release_table(owner(2), table);
        assert_eq!(alone.join().unwrap(), Ok(Acquired::New));
    });
    locks.release_table(owner(3), table);
    assert!(locks.is_empty());
}

#[test]
fn a_definition_that_wants_its_table_alone_goes_before_the_next_definition() {
    let locks = &LockTable::new();
    let table = TableId(7);
    let lock = move |number, mode, wait| locks.lock_table(owner(number), table, mode, wait);
    lock(1, TableLock::Write, LockWait::Nowait).unwrap();
    lock(2, TableLock::Definition, LockWait::Nowait).unwrap();
    std::thread::scope(|scope| {
        let next = scope.spawn(|| lock(3, TableLock::Definition, SECOND));
        await_waiters(locks, 1);
        let own = Owner { id: 20, family: 2 };
        let defining = scope.spawn(move || locks.lock_table(own, table, TableLock::Exclusive, SECOND));
        await_waiters(locks, 2);
        locks.release_table(owner(1), table);
        assert_eq!(defining.join().unwrap(), Ok(Acquired::New), "the next one waits for it, not it for the next one");
        locks.release_table(own, table);
        locks.release_table(owner(2), table);
        assert_eq!(next.join().unwrap(), Ok(Acquired::New));
    });
    locks.release_table(owner(3), table);
    assert!(locks.is_empty());
}

#[test]
fn who_has_left_the_line_holds_nobody_up() {
    let locks = &LockTable::new();
    let table = TableId(7);
    let lock = move |number, mode, wait| locks.lock_table(owner(number), table, mode, wait);
    lock(1, TableLock::Write, LockWait::Nowait).unwrap();
    lock(2, TableLock::Definition, LockWait::Nowait).unwrap();
    std::thread::scope(|scope| {
        let next = scope.spawn(|| lock(3, TableLock::Definition, SECOND));
        await_waiters(locks, 1);
        let own = Owner { id: 20, family: 2 };
        let piece = LockWait::Timeout(Duration::from_millis(100));
        let defining = scope.spawn(move || locks.lock_table(own, table, TableLock::Exclusive, piece));
        await_waiters(locks, 2);
        let writer = scope.spawn(|| lock(4, TableLock::Write, SECOND));
        assert_eq!(defining.join().unwrap(), Err(LockFailure::Timeout));
        assert_eq!(writer.join().unwrap(), Ok(Acquired::New), "though the next definition still waits before it");
        locks.release_table(owner(2), table);
        assert_eq!(next.join().unwrap(), Ok(Acquired::New));
    });
    [1, 3, 4].into_iter().for_each(|number| _ = locks.release_table(owner(number), table));
    assert!(locks.is_empty());
}

#[test]
fn the_younger_of_a_deadlock_gives_way() {
    for _ in 0..50 {
        let locks = LockTable::new();
        let (a, b) = (key("a"), key("b"));
        locks.lock_row(owner(1), &a, LockMode::Exclusive, LockWait::Nowait).unwrap();
        locks.lock_row(owner(2), &b, LockMode::Exclusive, LockWait::Nowait).unwrap();
        std::thread::scope(|scope| {
            let older = scope.spawn(|| locks.lock_row(owner(1), &b, LockMode::Exclusive, SECOND));
            let younger = scope.spawn(|| {
                let result = locks.lock_row(owner(2), &a, LockMode::Exclusive, SECOND);
                locks.release(owner(2), &b);
                result
            });
            assert_eq!(younger.join().unwrap(), Err(LockFailure::Deadlock));
            assert!(older.join().unwrap().is_ok());
        });
    }
}

#[test]
fn who_waits_for_its_caller_gives_way() {
    let locks = LockTable::new();
    let (a, b) = (key("a"), key("b"));
    locks.lock_row(owner(1), &a, LockMode::Exclusive, LockWait::Nowait).unwrap();
    locks.begin_call(1, 2);
    assert_eq!(locks.lock_row(owner(2), &a, LockMode::Exclusive, SECOND), Err(LockFailure::Deadlock));
    // Also by way of somebody else, who waits for the caller.
    locks.lock_row(owner(3), &b, LockMode::Exclusive, LockWait::Nowait).unwrap();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let result = locks.lock_row(owner(3), &a, LockMode::Exclusive, SECOND);
            locks.release(owner(3), &b);
            result
        });
        await_waiters(&locks, 1);
        let child = locks.lock_row(owner(2), &b, LockMode::Exclusive, SECOND);
        locks.end_call(1, 2);
        locks.release(owner(1), &a);
        let other = other.join().unwrap();
        let deadlocks = [child, other].iter().filter(|result| **result == Err(LockFailure::Deadlock)).count();
        assert_eq!(deadlocks, 1, "{child:?} {other:?}");
    });
}

#[test]
fn two_upgrades_of_one_lock_are_a_deadlock() {
    let locks = LockTable::new();
    let row = key("a");
    locks.lock_row(owner(1), &row, LockMode::Shared, LockWait::Nowait).unwrap();
    locks.lock_row(owner(2), &row, LockMode::Shared, LockWait::Nowait).unwrap();
    std::thread::scope(|scope| {
        let older = scope.spawn(|| locks.lock_row(owner(1), &row, LockMode::Exclusive, SECOND));
        let younger = scope.spawn(|| {
            let result = locks.lock_row(owner(2), &row, LockMode::Exclusive, SECOND);
            locks.release(owner(2), &row);
            result
        });
        assert_eq!(younger.join().unwrap(), Err(LockFailure::Deadlock));
        assert_eq!(older.join().unwrap(), Ok(Acquired::Raised(Mode::Shared)));
    });
}

#[test]
fn table_locks_and_families() {
    let locks = &LockTable::new();
    let table = TableId(7);
    locks.lock_table(owner(1), table, TableLock::Write, LockWait::Nowait).unwrap();
    locks.lock_table(owner(2), table, TableLock::Write, LockWait::Nowait).unwrap();
    locks.lock_table(owner(3), table, TableLock::Read, LockWait::Nowait).unwrap();
    assert!(locks.lock_table(owner(4), table, TableLock::ReadOnly, LockWait::Nowait).is_err());
    assert!(locks.lock_table(owner(4), table, TableLock::Exclusive, LockWait::Nowait).is_err());
    for id in 1..=3 {
        locks.release_table(owner(id), table);
    }
    locks.lock_table(owner(4), table, TableLock::Exclusive, LockWait::Nowait).unwrap();
    let same_session = Owner { id: 9, family: 4 };
    assert!(locks.lock_table(same_session, table, TableLock::Write, LockWait::Nowait).is_ok());
    assert!(locks.lock_table(owner(5), table, TableLock::Read, LockWait::Nowait).is_err());
}

#[test]
fn a_kill_ends_a_wait() {
    let locks = LockTable::new();
    let row = key("a");
    locks.lock_row(owner(1), &row, LockMode::Exclusive, LockWait::Nowait).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| locks.lock_row(owner(2), &row, LockMode::Shared, SECOND));
        while !locks.interrupt(2) {
            std::thread::yield_now();
        }
        assert_eq!(waiting.join().unwrap(), Err(LockFailure::Interrupted));
    });
}

/// A search for a deadlock may meet a waiter that has just been given its lock.
#[test]
fn a_waiter_that_has_left_the_queue_waits_for_no_holder() {
    let holder = |id| Holder::new(owner(id), Mode::from(LockMode::Exclusive));
    let mut entry = Entry::held_by(holder(1));
    let (second, third) = (Arc::new(Waiter::new(holder(2))), Arc::new(Waiter::new(holder(3))));
    entry.enqueue(second.clone());
    entry.enqueue(third.clone());
    assert_eq!(entry.blockers_of(&second), [1]);
    assert_eq!(entry.blockers_of(&third), [1, 2]);
    entry.remove(owner(1));
    entry.grant_waiters();
    assert_eq!(entry.blockers_of(&second), [0; 0], "it has the lock");
    assert_eq!(entry.blockers_of(&third), [2]);
    entry.dequeue(&third);
    assert_eq!(entry.blockers_of(&third), [0; 0]);
}

/// Waits until this many transactions wait.
fn await_waiters(locks: &LockTable, count: usize) {
    let since = Instant::now();
    while locks.waiter_count() < count {
        assert!(since.elapsed() < Duration::from_secs(10), "{count} are to wait");
        std::thread::yield_now();
    }
}

#[test]
fn who_waits_for_several_may_be_in_several_deadlocks() {
    let locks = LockTable::new();
    let (shared, mine) = (key("shared"), key("mine"));
    locks.lock_row(owner(1), &mine, LockMode::Exclusive, LockWait::Nowait).unwrap();
    for id in 2..6 {
        locks.lock_row(owner(id), &shared, LockMode::Shared, LockWait::Nowait).unwrap();
    }
    std::thread::scope(|scope| {
        let younger: Vec<_> = (2..6)
            .map(|id| {
                let (locks, shared, mine) = (&locks, &shared, &mine);
                scope.spawn(move || {
                    let result = locks.lock_row(owner(id), mine, LockMode::Shared, SECOND);
                    locks.release(owner(id), shared);
                    result
                })
            })
            .collect();
        await_waiters(&locks, 4);
        // It closes four cycles at once.
        assert_eq!(locks.lock_row(owner(1), &shared, LockMode::Exclusive, SECOND), Ok(Acquired::New));
        for waiter in younger {
            assert_eq!(waiter.join().unwrap(), Err(LockFailure::Deadlock));
        }
    });
}

#[test]
fn a_lock_that_is_made_explicit_may_close_a_deadlock() {
    let locks = LockTable::new();
    let (range, row) = (key("range"), key("row"));
    // 3 searches the range; 2 waits for that alone; 1 waits for 2.
    locks.lock_row(owner(3), &range, LockMode::Shared, LockWait::Nowait).unwrap();
    locks.lock_row(owner(2), &row, LockMode::Exclusive, LockWait::Nowait).unwrap();
    std::thread::scope(|scope| {
        let younger = scope.spawn(|| {
            let result = locks.lock_row(owner(2), &range, LockMode::Exclusive, SECOND);
            locks.release(owner(2), &row);
            result
        });
        let older = scope.spawn(|| locks.lock_row(owner(1), &row, LockMode::Exclusive, SECOND));
        await_waiters(&locks, 2);
        // What 1 has put into the range is found only now.
        locks.make_explicit(owner(1), &crate::read_view::Uncommitted::default(), &range);
        assert_eq!(younger.join().unwrap(), Err(LockFailure::Deadlock));
        assert!(older.join().unwrap().is_ok());
    });
}
