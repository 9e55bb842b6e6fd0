//! Jobs of a store: order, bounds, cancellation, restarts, outputs and retention.

use squall_catalog::{Catalog, Database, DatabaseId, TableEntry, TableId};
use squall_jobs::{
    Cancelled, DoneJob, Handler, JobInfo, JobState, JobSystem, Kind, KindSpec, NewJob, OnRestart, RunningJob,
};
use squall_row_store::{
    DdlChanges, Durability, IsolationLevel, RowStore, StoreOptions, Table, Transaction, TransactionOptions,
};
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn open(folder: &Path) -> (RowStore, JobSystem) {
    let store = RowStore::open(folder, StoreOptions::default()).expect("a store");
    let mut catalog: Catalog = store.load_catalog();
    if catalog.database("mysql").is_none() {
        let mut next = 0;
        let tables = squall_jobs::tables(
            || {
                next += 1;
                TableId(next)
            },
            0,
        );
        let entries = tables.into_iter().map(|table| (table.name.clone(), TableEntry::Table(Arc::new(table))));
        let tables: BTreeMap<String, TableEntry> = entries.collect();
        let collation = CollationId::UTF8MB4_0900_AI_CI;
        let database = Database { tables, ..Database::new(DatabaseId(1), "mysql", collation) };
        catalog.put_database(database);
        (catalog.next_database_id, catalog.next_table_id, catalog.version) = (2, 3, 1);
        store.commit_ddl(&catalog, &DdlChanges::default()).expect("tables");
    }
    let system = JobSystem::open(Arc::new(store.clone()), Arc::new(store.clone()), &catalog, || Durability::Os)
        .expect("a job system");
    (store, system)
}

/// Tells when it begins a job, and goes on when it is told to.
#[derive(Debug)]
struct Gate {
    begun: Mutex<Sender<u64>>,
    go_on: Mutex<Receiver<SqlResult<()>>>,
}

fn gate() -> (Arc<Gate>, Receiver<u64>, Sender<SqlResult<()>>) {
    let (begun, seen) = channel();
    let (go_on, told) = channel();
    (Arc::new(Gate { begun: Mutex::new(begun), go_on: Mutex::new(told) }), seen, go_on)
}

impl Handler for Gate {
    fn run(&self, job: &RunningJob) -> SqlResult<()> {
        job.set_progress(1, 2);
        let (cancelled, woken) = channel();
        job.on_cancel(Box::new(move || {
            let _listener_gone = cancelled.send(());
        }));
        self.begun.lock().expect("no panic").send(job.number()).expect("the test listens");
        if job.payload == b"until cancelled" {
            woken.recv().expect("a cancellation");
            return Err(SqlError::new(ErrorCode::QueryInterrupted, &[]));
        }
        let result = self.go_on.lock().expect("no panic").recv().expect("the test answers");
        job.add_output(job.payload.clone())?;
        job.add_output(vec![job.attempt as u8])?;
        result
    }
}

fn new(payload: &[u8]) -> NewJob {
    NewJob { payload: payload.to_vec(), owner: "me@here".to_string(), ..NewJob::default() }
}

fn submit(kind: &Kind, payload: &[u8]) -> u64 {
    kind.submit(new(payload)).expect("a place").wait().expect("durable")
}

fn info(kind: &Kind, number: u64) -> JobInfo {
    kind.get(number).expect("readable").expect("a job").0
}

const FINISH: SqlResult<()> = Ok(());

#[test]
fn jobs_run_in_order_and_no_more_at_once_than_there_are_workers() {
    for durable in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let (_store, system) = open(folder.path());
        let (handler, begun, go_on) = gate();
        let kind = system.register(KindSpec { durable, ..KindSpec::new("k", handler) }).expect("a kind");
        let first = submit(&kind, b"a");
        assert_eq!(begun.recv(), Ok(1));
        for payload in [b"b", b"c"] {
            submit(&kind, payload);
        }
        let urgent = NewJob { priority: 1, ..new(b"d") };
        assert_eq!(kind.submit(urgent).expect("a place").wait(), Ok(4));
        while kind.waiting() < 3 {
            std::thread::yield_now();
        }
        assert_eq!((info(&kind, 1).state, info(&kind, 1).progress), (JobState::Running, (1, 2)));
        assert_eq!(info(&kind, 3).state, JobState::Queued);
        assert!(begun.try_recv().is_err(), "one worker");
        go_on.send(FINISH).expect("a worker");
        assert_eq!(begun.recv(), Ok(4));
        kind.set_workers(2);
        assert_eq!(begun.recv(), Ok(2));
        (0..3).for_each(|_| go_on.send(FINISH).expect("a worker"));
        assert_eq!(begun.recv(), Ok(3));
        (1..=4).for_each(|number| kind.wait(number));
        let done = info(&kind, first);
        assert_eq!((done.state, done.attempts, done.owner.as_str()), (JobState::Done, 1, "me@here"));
        assert!(done.finished_micros >= done.started_micros && done.started_micros >= Some(done.created_micros));
        let mut seen = Vec::new();
        kind.for_each(|info, _| {
            seen.push((info.number, info.state));
            Ok(())
        })
        .expect("readable");
        assert_eq!(seen, [1, 2, 3, 4].map(|number| (number, JobState::Done)));
        let some = |numbers| {
            let jobs = kind.pages(numbers).flat_map(|page| page.expect("readable"));
            jobs.map(|(info, _)| info.number).collect::<Vec<_>>()
        };
        assert_eq!([some(2..=3), some(5..=u64::MAX), some(4..=u64::MAX)], [vec![2, 3], vec![], vec![4]]);
        #[expect(clippy::reversed_empty_ranges, reason = "conditions may leave nothing")]
        let nothing = some(3..=2);
        assert_eq!(nothing, []);
        system.stop();
    }
}

#[test]
fn what_is_cancelled_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_store, system) = open(folder.path());
    let (handler, begun, _go_on) = gate();
    let kind = system.register(KindSpec { durable: true, ..KindSpec::new("k", handler) }).expect("a kind");
    let (running, waiting) = (submit(&kind, b"until cancelled"), submit(&kind, b"b"));
    begun.recv().expect("it begins");
    for number in [waiting, running] {
        assert_ne!(kind.cancel(number, SqlError::new(ErrorCode::QueryInterrupted, &[])), Ok(Cancelled::Nothing));
        kind.wait(number);
        let info = info(&kind, number);
        assert_eq!((info.state, info.error.map(|error| error.code)), (JobState::Cancelled, Some(1317)));
    }
    assert_eq!(kind.cancel(running, SqlError::new(ErrorCode::QueryInterrupted, &[])), Ok(Cancelled::Nothing));
    system.stop();
}

#[test]
fn what_is_cancelled_before_it_is_in_the_queue_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_store, system) = open(folder.path());
    let (handler, begun, _go_on) = gate();
    let kind = system.register(KindSpec { durable: true, ..KindSpec::new("k", handler) }).expect("a kind");
    let running = submit(&kind, b"until cancelled");
    begun.recv().expect("it begins");
    // The one worker is busy: only their cancelling ends these.
    for _ in 0..300 {
        let number = submit(&kind, b"b");
        assert_ne!(kind.cancel(number, SqlError::new(ErrorCode::QueryInterrupted, &[])), Ok(Cancelled::Nothing));
        kind.wait(number);
        assert_eq!(info(&kind, number).state, JobState::Cancelled);
    }
    assert_eq!(kind.cancel(running, SqlError::new(ErrorCode::QueryInterrupted, &[])), Ok(Cancelled::Running));
    kind.wait(running);
    system.stop();
}

#[test]
fn failures_are_tried_again_and_outputs_are_those_of_the_last_attempt() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_store, system) = open(folder.path());
    let (handler, begun, go_on) = gate();
    let spec = KindSpec { durable: true, attempts_max: 2, ..KindSpec::new("k", handler) };
    let kind = system.register(spec).expect("a kind");
    let number = submit(&kind, b"first part");
    begun.recv().expect("it begins");
    go_on.send(Err(SqlError::signal(*b"45000", "not yet"))).expect("a worker");
    begun.recv().expect("it begins again");
    go_on.send(FINISH).expect("a worker");
    kind.wait(number);
    assert_eq!((info(&kind, number).state, info(&kind, number).attempts), (JobState::Done, 2));
    let parts: Vec<_> = (0..3).map(|part| kind.output(number, part).expect("readable")).collect();
    assert_eq!(parts, [Some(b"first part".to_vec()), Some(vec![2]), None]);
    assert_eq!(kind.remove(number), Ok(true));
    assert_eq!((kind.get(number), kind.output(number, 0)), (Ok(None), Ok(None)));
    system.stop();
}

#[test]
fn restarts_keep_what_waited_and_do_with_the_rest_as_the_kind_says() {
    for (on_restart, state) in [(OnRestart::Fail, JobState::Failed), (OnRestart::Requeue, JobState::Done)] {
        let folder = tempfile::tempdir().expect("a folder");
        {
            let (store, system) = open(folder.path());
            let (handler, begun, go_on) = gate();
            let kind = system.register(KindSpec { durable: true, ..KindSpec::new("k", handler) }).expect("a kind");
            let done = submit(&kind, b"done");
            begun.recv().expect("it begins");
            go_on.send(FINISH).expect("a worker");
            kind.wait(done);
            submit(&kind, b"until cancelled");
            submit(&kind, b"waits");
            begun.recv().expect("it begins");
            system.stop();
            store.close().expect("closed");
        }
        let (_store, system) = open(folder.path());
        #[derive(Debug)]
        struct Works;
        impl Handler for Works {
            fn run(&self, _job: &RunningJob) -> SqlResult<()> {
                Ok(())
            }
        }
        let spec = KindSpec { durable: true, on_restart, ..KindSpec::new("k", Arc::new(Works)) };
        let kind = system.register(spec).expect("a kind");
        (1..=3).for_each(|number| kind.wait(number));
        let states = [1, 2, 3].map(|number| info(&kind, number).state);
        assert_eq!(states, [JobState::Done, state, JobState::Done]);
        let attempts = [1, 2, 3].map(|number| info(&kind, number).attempts);
        assert_eq!(attempts, [1, if on_restart == OnRestart::Fail { 1 } else { 2 }, 1]);
        assert_eq!(kind.output(1, 0), Ok(Some(b"done".to_vec())));
        // The last number is not given again though its job is gone.
        assert_eq!(kind.remove(3), Ok(true));
        system.stop();
        drop((kind, system));
        drop(_store);
        let (_store, system) = open(folder.path());
        let kind = system.register(KindSpec { durable: true, ..KindSpec::new("k", Arc::new(Works)) }).expect("a kind");
        assert_eq!(submit(&kind, b""), 4);
        system.stop();
    }
}

#[test]
fn jobs_of_one_key_wait_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_store, system) = open(folder.path());
    let (handler, begun, go_on) = gate();
    let kind = system.register(KindSpec { queued_max: 2, ..KindSpec::new("k", handler) }).expect("a kind");
    let keyed = || NewJob { key: Some("table 1".to_string()), ..new(b"") };
    let first = kind.submit(keyed()).expect("a place").number;
    begun.recv().expect("it begins");
    let second = kind.submit(keyed()).expect("a place").number;
    assert!(second > first, "the first has begun, and may have missed what the second is for");
    assert_eq!(kind.submit(keyed()).expect("a place").number, second);
    submit(&kind, b"");
    assert_eq!(kind.submit(new(b"")).map(|job| job.number).map_err(|error| error.code), Err(1041));
    (0..3).for_each(|_| go_on.send(FINISH).expect("a worker"));
    system.stop();
}

#[test]
fn finished_jobs_go_when_their_time_is_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_store, system) = open(folder.path());
    let (handler, begun, go_on) = gate();
    let kind = system.register(KindSpec { durable: true, ..KindSpec::new("k", handler) }).expect("a kind");
    let number = submit(&kind, b"a");
    begun.recv().expect("it begins");
    go_on.send(FINISH).expect("a worker");
    kind.wait(number);
    let waiting = submit(&kind, b"until cancelled");
    begun.recv().expect("it begins");
    kind.set_retention(Duration::ZERO);
    while kind.get(number).expect("readable").is_some() {
        std::thread::yield_now();
    }
    assert_eq!(kind.output(number, 0), Ok(None));
    assert_eq!(info(&kind, waiting).state, JobState::Running);
    system.stop();
}

/// Leaves a row behind, which its first attempt does not mean. `conflict` is a job whose row cannot be committed.
#[derive(Debug)]
struct Leaves {
    store: RowStore,
    table: Arc<Table>,
}

impl Leaves {
    fn begin(&self) -> Transaction {
        self.store.begin_with(TransactionOptions::new(IsolationLevel::Serializable), None)
    }

    fn insert(&self, transaction: &mut Transaction, number: u64, part: u64) {
        let row = [Value::from("left"), Value::UInt(number), Value::UInt(part), Value::Bytes(Vec::new())];
        transaction.insert(&self.table, &row).expect("a row");
    }

    fn has(&self, number: u64, part: u64) -> bool {
        let key = self.table.row_key(&[Value::from("left"), Value::UInt(number), Value::UInt(part)]).expect("a key");
        self.store.get(&self.table, &key).expect("readable").is_some()
    }

    /// Has a transaction read what is another's before it is committed.
    fn conflict(&self, transaction: &mut Transaction, part: u64) {
        let place = [Value::from("left"), Value::UInt(0), Value::UInt(part)];
        let key = self.table.row_key(&place).expect("a key");
        transaction.get(&self.table, &key).expect("readable");
        let mut other = self.begin();
        self.insert(&mut other, 0, part);
        other.commit().expect("committed");
    }
}

impl Handler for Leaves {
    fn run(&self, job: &RunningJob) -> SqlResult<()> {
        let mut transaction = self.begin();
        if job.payload == b"conflict" {
            self.conflict(&mut transaction, job.attempt.into());
        }
        self.insert(&mut transaction, job.number(), job.attempt.into());
        job.add_output(vec![1])?;
        job.leave_transaction(transaction);
        if job.attempt == 1 { Err(SqlError::signal(*b"45000", "not yet")) } else { Ok(()) }
    }
}

/// A store whose durable jobs leave something and are tried twice.
fn open_leaves(folder: &Path) -> (Arc<Leaves>, JobSystem, Kind) {
    let (store, system) = open(folder);
    let table = store.load_catalog().table("mysql", "job_output").cloned().expect("a table");
    let leaves = Arc::new(Leaves { table: store.table(&table).expect("a table"), store });
    let spec = KindSpec { durable: true, attempts_max: 2, ..KindSpec::new("k", leaves.clone()) };
    let kind = system.register(spec).expect("a kind");
    (leaves, system, kind)
}

#[test]
fn what_a_job_leaves_is_committed_with_its_end_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let (leaves, system, kind) = open_leaves(folder.path());
    let (done, failed) = (submit(&kind, b""), submit(&kind, b"conflict"));
    kind.wait(done);
    assert_eq!((info(&kind, done).state, info(&kind, done).attempts), (JobState::Done, 2));
    assert_eq!([leaves.has(done, 1), leaves.has(done, 2)], [false, true]);
    assert_eq!(kind.output(done, 0), Ok(Some(vec![1])));
    kind.wait(failed);
    let end = info(&kind, failed);
    assert_eq!((end.state, end.error.map(|error| error.code)), (JobState::Failed, Some(1213)));
    assert_eq!([leaves.has(failed, 1), leaves.has(failed, 2)], [false, false]);
    system.stop();
    // The end is kept.
    drop((kind, system, leaves));
    let (_leaves, system, kind) = open_leaves(folder.path());
    assert_eq!([done, failed].map(|number| info(&kind, number).state), [JobState::Done, JobState::Failed]);
    system.stop();
}

#[test]
fn what_is_done_before_it_is_submitted_is_there_with_its_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let (leaves, system, kind) = open_leaves(folder.path());
    assert!(!kind.is_free(), "one after the other");
    kind.set_workers(2);
    assert!(kind.is_free());
    let done = |error: Option<SqlError>, changes| {
        let output = vec![vec![1], vec![2, 3], vec![4]];
        let job = DoneJob { started_micros: 7, error, output, changes };
        kind.submit_done(new(b"xyz"), job).expect("a place").wait().expect("durable")
    };
    let changes = |part| {
        let mut transaction = leaves.begin();
        leaves.insert(&mut transaction, 100, part);
        transaction
    };
    assert_eq!(done(None, Some(changes(1))), 1);
    let end = info(&kind, 1);
    assert_eq!((end.state, end.attempts, end.started_micros, end.output_bytes), (JobState::Done, 1, Some(7), Some(4)));
    let parts: Vec<_> = (0..4).map(|part| kind.output(1, part).expect("readable")).collect();
    assert_eq!(parts, [Some(vec![1]), Some(vec![2, 3]), Some(vec![4]), None]);
    assert!(leaves.has(100, 1));
    let error = SqlError::signal(*b"45000", "no");
    assert_eq!(done(Some(error.clone()), None), 2);
    assert_eq!((info(&kind, 2).state, info(&kind, 2).error), (JobState::Failed, Some(error)));
    assert_eq!(kind.output(2, 0), Ok(None));
    assert_eq!(kind.done_at_once(), 2);
    // What is another's by now: a worker does the job, under a number of its own.
    let mut late = changes(2);
    leaves.conflict(&mut late, 9);
    assert_eq!(done(None, Some(late)), 4);
    kind.wait(4);
    assert_eq!((info(&kind, 4).state, info(&kind, 4).attempts), (JobState::Done, 2));
    assert_eq!([leaves.has(100, 2), leaves.has(4, 2)], [false, true]);
    assert!(kind.get(3).expect("readable").is_none());
    assert_eq!(kind.done_at_once(), 2);
    let bytes = kind.kept_bytes();
    system.stop();
    drop((kind, system, leaves));
    let (_leaves, system, kind) = open_leaves(folder.path());
    assert_eq!([1, 2, 4].map(|number| info(&kind, number).state), [JobState::Done, JobState::Failed, JobState::Done]);
    assert_eq!((kind.kept_bytes(), kind.output(1, 1)), (bytes, Ok(Some(vec![2, 3]))));
    system.stop();
}

/// As [`Gate`], but says of every second job that is to be cancelled, and of long ones, that they may take long.
#[derive(Debug)]
struct Announces(Arc<Gate>);

impl Handler for Announces {
    fn run(&self, job: &RunningJob) -> SqlResult<()> {
        if job.payload.starts_with(b"long") || job.payload == b"until cancelled" && job.number().is_multiple_of(2) {
            job.announce()?;
        }
        self.0.run(job)
    }
}

#[test]
fn workers_are_called_for_what_waits_behind_a_job_that_may_take_long() {
    let folder = tempfile::tempdir().expect("a folder");
    let states = {
        let (store, system) = open(folder.path());
        let (gate, begun, go_on) = gate();
        let spec =
            KindSpec { durable: true, workers: 8, announces: true, ..KindSpec::new("k", Arc::new(Announces(gate))) };
        let kind = system.register(spec).expect("a kind");
        // The worker of a brief one will be back soon.
        for payload in [b"brief 1", b"brief 2"] {
            submit(&kind, payload);
        }
        assert_eq!(begun.recv(), Ok(1));
        while kind.waiting() < 1 {
            std::thread::yield_now();
        }
        assert!(begun.recv_timeout(Duration::from_millis(50)).is_err());
        (0..2).for_each(|_| go_on.send(FINISH).expect("a worker"));
        assert_eq!(begun.recv(), Ok(2));
        kind.wait(2);
        // That of a long one will not.
        for payload in [b"long 3", b"long 4"] {
            submit(&kind, payload);
        }
        let two = || BTreeSet::from([(); 2].map(|()| begun.recv().expect("a job begins")));
        assert_eq!(two(), [3, 4].into());
        (0..2).for_each(|_| go_on.send(FINISH).expect("a worker"));
        kind.wait(3);
        kind.wait(4);
        // This many are too much for one.
        for _ in 0..8 {
            submit(&kind, b"brief");
        }
        // Which of them say first that they have begun is the scheduler's to decide.
        assert_eq!(two().len(), 2);
        (0..8).for_each(|_| go_on.send(FINISH).expect("a worker"));
        (5..=12).for_each(|number| kind.wait(number));
        // What is at work when the process ends has begun only if it has said so.
        let (brief, long) = (submit(&kind, b"until cancelled"), submit(&kind, b"until cancelled"));
        assert_eq!((brief, long), (13, 14));
        for _ in 0..6 {
            submit(&kind, b"waits");
        }
        (0..6).for_each(|_| go_on.send(FINISH).expect("a worker"));
        while begun.recv().expect("a job begins") != long {}
        system.stop();
        let states = [brief, long].map(|number| info(&kind, number).state);
        drop((kind, system));
        store.close().expect("closed");
        states
    };
    // What is seen to run is not run again.
    assert_eq!(states, [JobState::Queued, JobState::Running]);
    let (_store, system) = open(folder.path());
    let (handler, _begun, _go_on) = gate();
    let spec = KindSpec { durable: true, workers: 0, on_restart: OnRestart::Fail, ..KindSpec::new("k", handler) };
    let kind = system.register(spec).expect("a kind");
    assert_eq!([13, 14].map(|number| info(&kind, number).state), [JobState::Queued, JobState::Failed]);
    system.stop();
}

/// Puts out as many bytes as its payload says, in parts of a thousand.
#[derive(Debug)]
struct Fills;

impl Handler for Fills {
    fn run(&self, job: &RunningJob) -> SqlResult<()> {
        let bytes: usize = String::from_utf8_lossy(&job.payload).parse().expect("a number");
        for at in (0..bytes).step_by(1000) {
            job.add_output(vec![at as u8; (bytes - at).min(1000)])?;
        }
        if bytes % 10 == 7 { Err(SqlError::signal(*b"45000", "seven")) } else { Ok(()) }
    }
}

#[test]
fn the_oldest_go_when_there_is_too_much_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let register = |system: &JobSystem, kept_bytes_max| {
        let spec = KindSpec { durable: true, kept_bytes_max, ..KindSpec::new("k", Arc::new(Fills)) };
        system.register(spec).expect("a kind")
    };
    let done = |kind: &Kind, bytes: usize| {
        let number = submit(kind, bytes.to_string().as_bytes());
        kind.wait(number);
        number
    };
    let numbers = |kind: &Kind| {
        let mut numbers = Vec::new();
        kind.for_each(|info, _| {
            numbers.push(info.number);
            Ok(())
        })
        .expect("readable");
        numbers
    };
    let until = |kind: &Kind, expected: &[u64], removed: u64| {
        let mut looks = 0;
        while numbers(kind) != expected || kind.removed_for_room() != removed {
            looks += 1;
            assert!(looks < 3000, "{:?} are there", numbers(kind));
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    {
        let (store, system) = open(folder.path());
        let kind = register(&system, 100_000);
        // Short ones, those of several parts, and one that fails: its output is not kept.
        for (bytes, kept) in [(10, 12), (3000, 3016), (5007, 3025), (1500, 4529)] {
            done(&kind, bytes);
            assert_eq!(kind.kept_bytes(), kept);
        }
        assert_eq!((kind.output(3, 0), info(&kind, 3).output_bytes), (Ok(None), Some(0)));
        assert_eq!(info(&kind, 4).output_bytes, Some(1500));
        assert_eq!((kind.remove(2), kind.kept_bytes()), (Ok(true), 1525));
        system.stop();
        store.close().expect("closed");
    }
    {
        let (store, system) = open(folder.path());
        let kind = register(&system, 100_000);
        assert_eq!(kind.kept_bytes(), 1525);
        done(&kind, 90_000);
        done(&kind, 5_000);
        assert_eq!((kind.kept_bytes(), kind.removed_for_room()), (96_534, 0));
        // A little more than has to go, but nothing large.
        done(&kind, 4_000);
        until(&kind, &[5, 6, 7], 3);
        assert_eq!(kind.kept_bytes(), 99_013);
        done(&kind, 4_000);
        until(&kind, &[6, 7, 8], 4);
        kind.set_kept_bytes_max(8_100);
        until(&kind, &[7, 8], 5);
        assert_eq!(kind.kept_bytes(), 8_008);
        assert_eq!((kind.outcome(6), kind.was_given(6), kind.was_given(9)), (Ok(None), true, false));
        // One that takes all the space.
        done(&kind, 8_096);
        until(&kind, &[9], 7);
        assert_eq!(kind.kept_bytes(), 8_100);
        done(&kind, 10);
        until(&kind, &[10], 8);
        assert_eq!(kind.kept_bytes(), 12);
        system.stop();
        store.close().expect("closed");
    }
    // What is too much at the start goes then.
    let (_store, system) = open(folder.path());
    let kind = register(&system, 10);
    until(&kind, &[], 1);
    assert_eq!((kind.kept_bytes(), submit(&kind, b"0")), (0, 11));
    system.stop();
}
