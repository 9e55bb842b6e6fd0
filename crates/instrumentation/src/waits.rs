//! Waits of sessions, named as MySQL names them: sums, and the last waits of each session.
//!
//! Only a real wait is an event: a commit until it is durable, a lock that another session holds, a file. A look-up has none.

use crate::events::{CountedEvents, Events};
use crate::timed::{Timed, merge_event};
use squall_accounting::file_use;
use squall_catalog::{IndexId, TableId};
use squall_row_store::{LockWaitEvent, LockWaits, WaitTimes};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A commit: from when it is applied until it is as durable as `durability` asks.
pub const COMMIT: &str = "wait/synch/cond/squall/commit";
/// The lock of a row or a unique entry.
pub const ROW_LOCK: &str = "wait/lock/row/squall/record";
/// The lock of a table.
pub const TABLE_LOCK: &str = "wait/lock/metadata/sql/mdl";
/// Rows of tables that are read and changed.
pub const TABLE_IO: &str = "wait/io/table/sql/handler";

/// Waits that sessions count themselves.
pub const OF_SESSIONS: &[&str] = &[TABLE_LOCK, ROW_LOCK, COMMIT];

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The store's times as they are counted here.
fn timed(times: &WaitTimes) -> Timed {
    Timed { count: times.count, sum_nanos: nanos(times.sum), min_nanos: nanos(times.min), max_nanos: nanos(times.max) }
}

/// One wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitEvent {
    /// Counts the session's waits, from 1.
    pub event_id: u64,
    /// MySQL's name of what was waited for.
    pub name: &'static str,
    /// The number of its statement in the session.
    pub statement: Option<u64>,
    /// Microseconds since 1970 UTC.
    pub start_micros: i64,
    /// How long it took; `None` while it lasts.
    pub nanos: Option<u64>,
    /// The object of the lock: a table, and the index if it was an entry of one.
    pub object: Option<(TableId, Option<IndexId>)>,
    /// Which histories it is in: [`OF_HISTORY`], [`OF_HISTORY_LONG`].
    pub kept: u8,
}

/// In `events_waits_history`.
pub const OF_HISTORY: u8 = 1;
/// In `events_waits_history_long`.
pub const OF_HISTORY_LONG: u8 = 2;

impl WaitEvent {
    /// A wait for a lock, as the store tells of it.
    pub fn of_lock(event: &LockWaitEvent, now_micros: i64) -> WaitEvent {
        let ago = i64::try_from(event.started.elapsed().as_micros()).unwrap_or(i64::MAX);
        WaitEvent {
            event_id: 0,
            name: if event.index.is_some() { ROW_LOCK } else { TABLE_LOCK },
            statement: None,
            start_micros: now_micros.saturating_sub(ago),
            nanos: event.time.map(nanos),
            object: Some((event.table, event.index)),
            kept: 0,
        }
    }
}

/// The consumers of waits, which can be turned off one by one.
#[derive(Debug)]
pub struct WaitConsumers {
    current: AtomicBool,
    history: AtomicBool,
    history_long: AtomicBool,
}

impl Default for WaitConsumers {
    fn default() -> Self {
        let on = || AtomicBool::new(true);
        WaitConsumers { current: on(), history: on(), history_long: on() }
    }
}

impl WaitConsumers {
    /// The switch of a consumer, if it is one of these.
    pub fn switch(&self, consumer: &str) -> Option<&AtomicBool> {
        Some(match consumer {
            "events_waits_current" => &self.current,
            "events_waits_history" => &self.history,
            "events_waits_history_long" => &self.history_long,
            _ => return None,
        })
    }

    /// Whether waits are shown while they last, and kept at all.
    pub fn is_current(&self) -> bool {
        self.current.load(Ordering::Relaxed)
    }

    /// Which histories a wait goes to.
    pub fn kept(&self) -> u8 {
        let flag = |switch: &AtomicBool, flag| if switch.load(Ordering::Relaxed) { flag } else { 0 };
        if !self.is_current() {
            return 0;
        }
        flag(&self.history, OF_HISTORY) | flag(&self.history_long, OF_HISTORY_LONG)
    }

    /// What is done with files follows, when a switch has been changed.
    pub fn apply(&self, is_on: bool) {
        file_use::keep_events(if is_on { self.kept() } else { 0 });
    }
}

/// The waits of one session.
pub type CountedWaits = CountedEvents<WaitEvent>;

impl Events<WaitEvent> {
    /// Keeps a wait that is over. Those for locks become known at the end of their statement, when its commit is: they are put and
    /// counted before it.
    fn push(&mut self, mut event: WaitEvent, kept: u8) {
        event.kept = kept;
        self.count += 1;
        self.make_room();
        let at = self.recent.iter().rposition(|other| other.start_micros <= event.start_micros).map_or(0, |at| at + 1);
        self.recent.insert(at, event);
        let first = self.count - self.recent.len() as u64 + 1;
        for (event, number) in self.recent.iter_mut().zip(first..).skip(at) {
            event.event_id = number;
        }
    }
}

impl CountedWaits {
    /// A commit begins to wait, in a statement of the session.
    pub fn begin_commit(&self, statement: u64, now_micros: i64) {
        let mut counted = self.lock();
        counted.current = Some(WaitEvent {
            event_id: counted.count + 1,
            name: COMMIT,
            statement: Some(statement),
            start_micros: now_micros,
            nanos: None,
            object: None,
            kept: 0,
        });
    }

    /// The commit has waited so long.
    pub fn end_commit(&self, nanos: u64, consumers: &WaitConsumers) {
        let mut times = Timed::default();
        times.add(nanos);
        let mut counted = self.lock();
        merge_event(&mut counted.totals, COMMIT, &times);
        if let Some(event) = counted.current.take().filter(|_| consumers.is_current()) {
            counted.push(WaitEvent { nanos: Some(nanos), ..event }, consumers.kept());
        }
    }

    /// A statement that began at some time, and is over now, has waited for locks. Waits of before are of no statement.
    pub fn add_locks(
        &self,
        waited: &LockWaits,
        (statement, since_micros): (u64, i64),
        now_micros: i64,
        consumers: &WaitConsumers,
    ) {
        let mut counted = self.lock();
        for (name, times) in [(ROW_LOCK, &waited.rows), (TABLE_LOCK, &waited.tables)] {
            if times.count > 0 {
                merge_event(&mut counted.totals, name, &timed(times));
            }
        }
        if !consumers.is_current() {
            return;
        }
        for lock in &waited.last {
            let event = WaitEvent::of_lock(lock, now_micros);
            let statement = (event.start_micros >= since_micros).then_some(statement);
            counted.push(WaitEvent { statement, ..event }, consumers.kept());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::RECENT_MAX;
    use std::time::Instant;

    #[test]
    fn the_last_waits_are_kept_as_consumers_want_them() {
        let (waits, consumers) = (CountedWaits::default(), WaitConsumers::default());
        waits.begin_commit(3, 100);
        assert_eq!(waits.current().map(|event| (event.name, event.nanos)), Some((COMMIT, None)));
        waits.end_commit(5_000, &consumers);
        let add_lock = |statement, now_micros| {
            let (table, index) = (TableId(7), Some(IndexId(0)));
            let lock = LockWaitEvent { table, index, started: Instant::now(), time: Some(Duration::from_micros(2)) };
            let locks = LockWaits {
                rows: WaitTimes { count: 1, ..WaitTimes::default() },
                last: [lock].into(),
                ..LockWaits::default()
            };
            waits.add_locks(&locks, (statement, 0), now_micros, &consumers);
        };
        const MINUTE: i64 = 60_000_000;
        for switch in ["events_waits_history_long", "events_waits_history", "events_waits_current"] {
            add_lock(4, MINUTE);
            consumers.switch(switch).unwrap().store(false, Ordering::Relaxed);
        }
        add_lock(4, MINUTE);
        let seen = |event: &WaitEvent| (event.event_id, event.name, event.kept);
        let kept: Vec<_> = waits.recent().iter().map(seen).collect();
        assert_eq!(kept.len(), 4);
        assert_eq!(kept[0], (1, COMMIT, 3));
        assert_eq!(kept.iter().map(|(.., kept)| u64::from(*kept)).sum::<u64>(), 3 + 3 + 1);
        consumers.switch("events_waits_current").unwrap().store(true, Ordering::Relaxed);
        waits.begin_commit(6, 9 * MINUTE);
        add_lock(6, 5 * MINUTE);
        waits.end_commit(7, &consumers);
        add_lock(6, 7 * MINUTE);
        let order: Vec<_> = waits.recent().iter().skip(4).map(|event| (event.event_id, event.name)).collect();
        assert_eq!(order, [(5, ROW_LOCK), (6, ROW_LOCK), (7, COMMIT)]);
        for _ in 0..20 {
            waits.begin_commit(5, 10 * MINUTE);
            waits.end_commit(1, &consumers);
        }
        assert_eq!(waits.recent().len(), RECENT_MAX);
    }
}
